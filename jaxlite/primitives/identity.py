"""Primitives that return their operands and say something to a transformation. In = out."""

from __future__ import annotations

from typing import Any

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import (
    ArrayModule,
    Dims,
    Primitive,
    TangentMaps,
    Zero,
    is_linear,
    not_differentiable,
)
from jaxlite.primitives.families import NOT_LINEAR, Pull


class StopGradient(Primitive):
    """The same values, constant to differentiation."""

    name = "stop_gradient"
    jvp = not_differentiable("its purpose")
    transpose = NOT_LINEAR

    def abstract_eval(self, operand: ShapedArray) -> ShapedArray:
        return operand

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return x

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return self.bind(*args), dims[0]

    def pull(self, operands: tuple[Pull, ...], index: tuple[ir.Expr, ...]) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        return operands[0](index)


class Copy(Primitive):
    """The same values as a new array."""

    name = "copy"

    def abstract_eval(self, operand: ShapedArray) -> ShapedArray:
        return operand

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return x.copy()

    def jvp(self, out: Any, operand: Value) -> TangentMaps:
        return (self.bind,)

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        return (self.bind(ct),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return self.bind(*args), dims[0]

    def pull(self, operands: tuple[Pull, ...], index: tuple[ir.Expr, ...]) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        return operands[0](index)


class OptimizationBarrier(Primitive):
    """The operands, none of which the optimiser may move or merge across this point."""

    name = "optimization_barrier"
    barrier_reason = "optimization_barrier"

    def abstract_eval(self, *avals: ShapedArray) -> tuple[ShapedArray, ...]:
        return avals

    def impl(self, xp: ArrayModule, *args: Any) -> tuple[Any, ...]:
        return args

    def jvp(self, out: Any, *primals: Value) -> TangentMaps:
        raise AssertionError("optimization_barrier has its own jvp_rule")

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        outs = self.bind_all(*primals)
        moved = iter(self.bind_all(*(t for t in tangents if type(t) is not Zero)))
        return outs, tuple(t if type(t) is Zero else next(moved) for t in tangents)

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Any, params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Any]:
        outs = self.bind_all(*primals)

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            moved = iter(self.bind_all(*tangents))
            return tuple(
                next(moved) if nz else Zero(ShapedArray.to_tangent_aval(o.aval))
                for o, nz in zip(outs, nonzero, strict=True)
            )

        return outs, tangent_fn

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        cts = ct if isinstance(ct, tuple) else (ct,)
        moved = iter(self.bind_all(*(c for c in cts if type(c) is not Zero)))
        return tuple(
            (None if type(c) is Zero else next(moved)) if is_linear(x) else None
            for c, x in zip(cts, operands, strict=True)
        )

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return self.bind_all(*args), dims


class LinearZeros(Primitive):
    """Zeros of ``aval`` that count as a linear function of the operand.

    A loop's carry may start with a zero tangent and grow: its transpose needs each to be linear.
    """

    name = "linear_zeros"

    def abstract_eval(self, operand: ShapedArray, *, aval: ShapedArray) -> ShapedArray:
        return aval

    def impl(self, xp: ArrayModule, x: Any, *, aval: ShapedArray) -> Any:
        return xp.zeros(aval.shape, aval.dtype)

    def jvp(self, out: Any, x: Value, *, aval: ShapedArray) -> TangentMaps:
        return (lambda dx: self.bind(dx, aval=aval),)

    def transpose(self, ct: Any, x: Any, *, aval: ShapedArray) -> tuple[Any, ...]:
        return (None,)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return self.bind(*args, **params), None

    def pull(
        self, operands: tuple[Pull, ...], index: tuple[ir.Expr, ...], *, aval: ShapedArray
    ) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        return ir.const(0, aval.dtype)


stop_gradient_p, optimization_barrier_p = StopGradient(), OptimizationBarrier()
linear_zeros_p, copy_p = LinearZeros(), Copy()


def copy(x: Value) -> Value:
    """Return a new array with the values of ``x``: ``T[*s] -> T[*s]``."""
    return copy_p.bind(x)


def stop_gradient(x: Value) -> Value:
    """Return ``x``, constant to differentiation: ``T[*s] -> T[*s]``."""
    return stop_gradient_p.bind(x)


def optimization_barrier(*operands: Value) -> tuple[Value, ...]:
    """Return the operands unchanged; the optimiser moves nothing across."""
    return optimization_barrier_p.bind_all(*operands)


__all__ = [
    "copy", "copy_p",
    "linear_zeros_p",
    "optimization_barrier", "optimization_barrier_p", "stop_gradient", "stop_gradient_p",
]  # fmt: skip
