"""``debug_callback``: call Python with values while the program runs. In: values. Out: nothing.

The effect keeps the equation alive and in order. Derivatives look at the primal values only; under
``vmap`` the callback is called once per example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.higher_order.jit import batch_size
from jaxlite.language.primitive import Primitive, absent

__all__ = ["DebugCallback", "debug_callback_p"]


@dataclass(frozen=True)
class PerExample:
    """Calls ``callback`` for each example along ``dims``."""

    callback: Callable[..., Any]
    dims: tuple[int | None, ...]
    size: int

    def __call__(self, *arrays: Any) -> None:
        for i in range(self.size):
            self.callback(
                *[a if d is None else np.take(a, i, d) for a, d in zip(arrays, self.dims)]
            )


class DebugCallback(Primitive):
    """Operands: what ``callback`` is called with, as NumPy arrays."""

    name = "debug_callback"
    effects = frozenset({"debug"})
    barrier_reason = "extern"

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        return ()

    def impl(self, xp: Any, *arrays: Any, callback: Callable[..., Any], **_: Any) -> Any:
        callback(*arrays)
        return ()

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return self.bind_all(*primals, **params), ()

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        return self.bind_all(*primals, **params), lambda *_: ()

    transpose = absent("Transpose rule", "a callback has no result")

    def batch(self, args: tuple[Any, ...], dims: tuple[int | None, ...], **params: Any) -> Any:
        per_example = PerExample(params["callback"], tuple(dims), batch_size(args, dims))
        return self.bind_all(*args, **{**params, "callback": per_example}), ()


debug_callback_p = DebugCallback()
