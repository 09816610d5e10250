"""``pure_callback`` and ``io_callback``: Python functions as equations. In: values.

Out: what the function returns, as the avals that were promised. Pure calls may be left out, merged
or repeated; the effect of the others keeps them alive and in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.errors import JaxRuntimeError
from jaxlite.higher_order.jit import batch_size
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Primitive, absent
from jaxlite.primitives.families import bdim_at_front, broadcast_to_batch
from jaxlite.primitives.shape import broadcast_in_dim

__all__ = ["VMAP_METHODS", "io_callback_p", "pure_callback_p"]

VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
    None,
)

Flat = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class OneByOne:
    """Calls ``callback`` for each example along axis 0 of the batched operands."""

    callback: Flat
    batched: tuple[bool, ...]
    size: int

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        rows = [
            self.callback(*[a[i] if b else a for a, b in zip(arrays, self.batched, strict=True)])
            for i in range(self.size)
        ]
        return tuple(np.stack(column) for column in zip(*rows, strict=True))


class PythonCall(Primitive):
    """Operands: what ``callback`` is called with; it returns a tuple that fits ``result_avals``."""

    barrier_reason = "extern"
    no_derivative = ""

    def abstract_eval(
        self, *avals: Any, result_avals: tuple[ShapedArray, ...], **params: Any
    ) -> Any:
        return result_avals

    def impl(
        self,
        xp: Any,
        *arrays: Any,
        callback: Flat,
        result_avals: tuple[ShapedArray, ...],
        **_: Any,
    ) -> Any:
        results = callback(*arrays)
        if len(results) != len(result_avals):
            raise JaxRuntimeError(
                f"{self.name}: the function returned {len(results)} arrays where "
                f"result_shape_dtypes has {len(result_avals)}"
            )
        for result, aval in zip(results, result_avals):
            if np.shape(result) != aval.shape:
                raise JaxRuntimeError(
                    f"{self.name}: the function returned an array of shape {np.shape(result)} "
                    f"where result_shape_dtypes promises {aval.shape}"
                )
        return tuple(np.asarray(r).astype(a.dtype) for r, a in zip(results, result_avals))

    def jvp_rule(self, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
        raise ValueError(self.no_derivative)

    def linearize_rule(self, primals: Any, nonzero: Any, params: dict[str, Any]) -> Any:
        raise ValueError(self.no_derivative)

    transpose = absent("Transpose rule", "a Python function is not known to be linear")

    def one_by_one(
        self, args: tuple[Any, ...], dims: tuple[int | None, ...], params: dict[str, Any]
    ) -> Any:
        """Batch by one call per example."""
        size = batch_size(args, dims)
        batched = tuple(d is not None for d in dims)
        moved = [bdim_at_front(x, d, size) if b else x for x, d, b in zip(args, dims, batched)]
        return self.call_batched(moved, OneByOne(params["callback"], batched, size), size, params)

    def call_batched(
        self, args: list[Any], callback: Flat, size: int, params: dict[str, Any]
    ) -> Any:
        """Bind a call whose results have a batch dim in front."""
        avals = tuple(
            ShapedArray((size, *a.shape), a.dtype, a.weak_type) for a in params["result_avals"]
        )
        outs = self.bind_all(*args, **{**params, "callback": callback, "result_avals": avals})
        return outs, (0,) * len(avals)


class PureCallback(PythonCall):
    """Without effects: not called at all where nobody needs the results."""

    name = "pure_callback"
    no_derivative = (
        "Pure callbacks do not support JVP. "
        "Please use `jax.custom_jvp` to use callbacks while taking gradients."
    )

    def batch(self, args: tuple[Any, ...], dims: tuple[int | None, ...], **params: Any) -> Any:
        method = params["vmap_method"]
        if method is None:
            raise NotImplementedError(
                "vmap is only supported for the pure_callback primitive when vmap_method is one "
                "of 'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', or "
                f"'legacy_vectorized'. Got vmap_method={method}."
            )
        if method.startswith("sequential"):
            return self.one_by_one(args, dims, params)
        size = batch_size(args, dims)
        moved = []
        for x, d in zip(args, dims, strict=True):
            if d is not None:
                moved.append(bdim_at_front(x, d, size))
            elif method == "broadcast_all":
                moved.append(broadcast_to_batch(x, size))
            elif method == "expand_dims":
                moved.append(broadcast_in_dim(x, (1, *x.shape), tuple(range(1, x.ndim + 1))))
            else:
                moved.append(x)
        return self.call_batched(moved, params["callback"], size, params)


class IOCallback(PythonCall):
    """With an effect: called once for every time the equation is reached."""

    name = "io_callback"
    effects = frozenset({"io"})
    no_derivative = "IO callbacks do not support JVP."

    def batch(self, args: tuple[Any, ...], dims: tuple[int | None, ...], **params: Any) -> Any:
        if params["ordered"]:
            raise ValueError("Cannot `vmap` ordered IO callback.")
        return self.one_by_one(args, dims, params)


pure_callback_p = PureCallback()
io_callback_p = IOCallback()
