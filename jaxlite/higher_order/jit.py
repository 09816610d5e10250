"""The ``jit`` primitive: a call of a traced function. In: a closed jaxpr and its arguments.

Out: its results.

Transforming the call transforms its jaxpr; the transformed jaxprs are remembered with the original,
so a second ``grad(jit(f))`` traces nothing.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jaxlite.higher_order.compiling import compile_jaxpr
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.primitive import Dims, Primitive, Zero, is_linear
from jaxlite.language.trace import state
from jaxlite.transforms.jvp import jvp_jaxpr
from jaxlite.transforms.linearize import LinearizedJaxpr, linearize_jaxpr
from jaxlite.transforms.transpose import transpose_jaxpr
from jaxlite.transforms.vmap import batch_jaxpr

if TYPE_CHECKING:
    from jaxlite.pipeline import Compilation

_derived: weakref.WeakKeyDictionary[ClosedJaxpr, dict[Any, Any]] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def derived(closed: ClosedJaxpr, key: Any, make: Callable[[], Any]) -> Any:
    """Return what ``make`` makes of ``closed``: once per ``key``, as long as ``closed`` lives."""
    table = _derived.get(closed)
    if table is not None and key in table:
        return table[key]
    with _lock:  # two threads that need the same thing make it once
        table = _derived.setdefault(closed, {})
        if key not in table:
            table[key] = make()
        return table[key]


def clear_derived() -> None:
    """Forget all transformed jaxprs and executables."""
    with _lock:
        _derived.clear()


def compiled(closed: ClosedJaxpr, name: str) -> Compilation:
    """Return the executable of ``closed``, compiled once."""
    result: Compilation = derived(closed, "executable", lambda: compile_jaxpr(closed, name=name))
    return result


class Jit(Primitive):
    """Call ``jaxpr`` (a ``ClosedJaxpr``) named ``name``.

    ``donated_invars``, if some are donated, is there to be seen: only a call of the function itself
    deletes arrays.
    """

    name = "jit"
    role = "call"
    call_param = "jaxpr"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of the body."""
        effects: frozenset[str] = params["jaxpr"].effects
        return effects

    def abstract_eval(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **_: Any) -> Any:
        return tuple(jaxpr.out_avals)

    def impl(self, xp: Any, *arrays: Any, jaxpr: ClosedJaxpr, name: str, **_: Any) -> Any:
        return compiled(jaxpr, name).executable.run(arrays)

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        closed: ClosedJaxpr = params["jaxpr"]
        nonzero = tuple([type(t) is not Zero for t in tangents])
        jvp, out_nonzero = derived(
            closed, ("jvp", nonzero), lambda: jvp_jaxpr(closed, nonzero, instantiate_outs=False)
        )
        given = [t for t in tangents if type(t) is not Zero]
        outs = self.bind_all(*primals, *given, jaxpr=jvp, name=params["name"])
        n = len(closed.out_avals)
        return outs[:n], fill_zeros(outs[n:], out_nonzero, closed.out_avals)

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        closed: ClosedJaxpr = params["jaxpr"]
        lin: LinearizedJaxpr = derived(
            closed, ("linearize", tuple(nonzero)), lambda: linearize_jaxpr(closed, nonzero)
        )
        all_outs = self.bind_all(*primals, jaxpr=lin.primal, name=params["name"])
        n = len(closed.out_avals)
        residuals = all_outs[n:]

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            outs = self.bind_all(*residuals, *tangents, jaxpr=lin.linear, name=params["name"])
            return fill_zeros(outs, lin.out_nonzero, closed.out_avals)

        return all_outs[:n], tangent_fn

    def transpose(self, ct: Any, *operands: Any, jaxpr: ClosedJaxpr, name: str, **_: Any) -> Any:
        return transpose_call(self, ct, operands, jaxpr, {"name": name})

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        jaxpr: ClosedJaxpr = params.pop("jaxpr")
        size = batch_size(args, dims)
        batched, out_dims = derived(
            jaxpr,
            ("batch", size, dims, state.batched_axis),
            lambda: batch_jaxpr(jaxpr, size, dims),
        )
        return self.bind_all(*args, jaxpr=batched, **params), tuple(out_dims)


def transpose_call(
    primitive: Primitive,
    ct: Any,
    operands: Sequence[Any],
    jaxpr: ClosedJaxpr,
    params: dict[str, Any],
) -> tuple[Any, ...]:
    """Transpose a call: call the transposed jaxpr on the nonlinear operands and the cotangents."""
    cts = ct if isinstance(ct, tuple) else (ct,)
    mask = tuple([is_linear(x) for x in operands])
    nonzero = tuple([type(c) is not Zero for c in cts])
    back, present = derived(
        jaxpr,
        ("transpose", mask, nonzero),
        lambda: transpose_jaxpr(jaxpr, mask, nonzero, instantiate_all=False),
    )
    given = [c for c in cts if type(c) is not Zero]
    values = [x for x in operands if not is_linear(x)]
    outs = iter(primitive.bind_all(*values, *given, jaxpr=back, **params))
    flags = iter(present)
    return tuple([next(outs) if lin and next(flags) else None for lin in mask])


def fill_zeros(
    given: Sequence[Any], nonzero: Sequence[bool], avals: Sequence[ShapedArray]
) -> tuple[Any, ...]:
    """Return tangents for all ``avals``.

    The ``given`` ones where ``nonzero``, else symbolic zeros.
    """
    values = iter(given)
    return tuple(
        [
            next(values) if nz else Zero(a.to_tangent_aval())
            for nz, a in zip(nonzero, avals, strict=True)
        ]
    )


def batch_size(args: Sequence[Any], dims: Sequence[int | None]) -> int:
    """Return the mapped size of batched operands."""
    if state.batched_axis is not None:
        return state.batched_axis[1]
    for x, d in zip(args, dims, strict=True):
        if d is not None:
            size: int = x.shape[d]
            return size
    raise AssertionError("no operand is batched")


jit_p = Jit()

__all__ = [
    "batch_size",
    "clear_derived",
    "compiled",
    "derived",
    "fill_zeros",
    "jit_p",
    "transpose_call",
]
