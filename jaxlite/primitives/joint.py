"""Primitives linear in several operands at once. In: which operands. Out: their tangent rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from jaxlite.language.primitive import Primitive, TangentMaps, Zero
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import zeros_of

__all__ = ["JointlyLinear"]


class JointlyLinear(Primitive):
    """``f(t + t1, u + u1) = f(t, u) + f(t1, u1)``: the tangent is the primitive on all tangents.

    One equation on all tangents (zeros filled in) instead of one per operand and a sum of the
    results.
    """

    #: Positions of the operands it is linear in; None means all. The others (indices) are kept.
    linear_operands: ClassVar[tuple[int, ...] | None] = None

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        outs = self.bind_all(*primals, **params)
        linear = self._linear(len(primals))
        if not any(nonzero[k] for k in linear):
            zeros = tuple(Zero(get_aval(o).to_tangent_aval()) for o in outs)
            return outs, lambda *tangents: zeros
        avals = {k: get_aval(primals[k]).to_tangent_aval() for k in linear}
        given = [k for k, nz in enumerate(nonzero) if nz]

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            known = dict(zip(given, tangents, strict=True))
            return self.bind_all(*self._filled(primals, avals, known), **params)

        return outs, tangent_fn

    def jvp(self, out: Any, *primals: Any, **params: Any) -> TangentMaps:
        linear = self._linear(len(primals))
        avals = {k: get_aval(primals[k]).to_tangent_aval() for k in linear}

        def map_of(k: int) -> Callable[[Any], Any]:
            return lambda t: self.bind(*self._filled(primals, avals, {k: t}), **params)

        return tuple(map_of(k) if k in avals else None for k in range(len(primals)))

    def _linear(self, n_operands: int) -> tuple[int, ...]:
        return tuple(range(n_operands)) if self.linear_operands is None else self.linear_operands

    def _filled(
        self, primals: tuple[Any, ...], avals: dict[int, Any], tangents: dict[int, Any]
    ) -> list[Any]:
        """Return the operands, linear ones replaced by their tangents (zeros if not given)."""
        operands = list(primals)
        for k, aval in avals.items():
            operands[k] = tangents[k] if k in tangents else zeros_of(aval)
        return operands
