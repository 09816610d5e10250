"""Exponentials, logarithms, roots. In: floats or complexes. Out: the same dtype.

The side trip of the reading order: ``Exp`` shows every rule a primitive has. Complex numbers have
impl and derivatives but no kernel IR, so the compiler runs them as a host step.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language.array import Value
from jaxlite.language.primitive import ArrayModule, TangentMaps
from jaxlite.primitives.arithmetic import add, div, integer_pow, mul, sub
from jaxlite.primitives.families import (
    FLOAT,
    INEXACT,
    Accepts,
    Elementwise,
    in_float32,
    provide,
    quiet,
    scalar_like,
)


class UnaryMath(Elementwise):
    """A function that NumPy and the kernel IR know by name."""

    accepts: ClassVar[Accepts] = (INEXACT,)
    #: name in NumPy and CuPy
    ufunc: ClassVar[str] = ""
    #: name in the kernel IR
    op: ClassVar[str] = ""

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return in_float32(getattr(xp, self.ufunc), x)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary(self.op, x)


class Exp(UnaryMath):
    """``e**x``."""

    name = ufunc = op = "exp"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        return (lambda t: mul(t, out),)


class Exp2(UnaryMath):
    """``2**x``."""

    name = ufunc = op = "exp2"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = mul(out, scalar_like(out, math.log(2)))
        return (lambda t: mul(t, slope),)

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        if x.dtype.kind == "c":
            return xp.exp(x * x.dtype.type(math.log(2)))
        return in_float32(xp.exp2, x)


class Log(UnaryMath):
    """Natural logarithm; -inf at 0, NaN below."""

    name = ufunc = op = "log"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        return (lambda t: div(t, x),)


class Expm1(UnaryMath):
    """``e**x - 1`` without cancellation near 0."""

    name = ufunc = op = "expm1"

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        out = in_float32(xp.expm1, x)
        if x.dtype.kind == "c":
            # A real number stays one: inf * sin(0) would be NaN.
            is_real = x.imag == 0
            out = xp.where(is_real, xp.expm1(x.real) + x.real.dtype.type(0), out).astype(x.dtype)
        return out

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = add(out, scalar_like(out, 1))
        return (lambda t: mul(t, slope),)


class Log1p(UnaryMath):
    """``log(1 + x)`` without cancellation near 0."""

    name = ufunc = op = "log1p"

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return _complex_log1p(xp, x) if x.dtype.kind == "c" else in_float32(xp.log1p, x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        denominator = add(x, scalar_like(x, 1))
        return (lambda t: div(t, denominator),)


def _complex_log1p(xp: ArrayModule, x: Any) -> Any:
    # log|1+z| = log1p(2a + a*a + b*b) / 2 for z = a + ib: NumPy's cancels near 0.
    a, b = x.real, x.imag
    out = xp.empty(x.shape, x.dtype)
    near = xp.log1p(a * (a + 2) + b * b) / 2
    out.real = xp.where((xp.abs(a) < 0.5) & (xp.abs(b) < 0.5), near, xp.log(xp.hypot(1 + a, b)))
    out.imag = xp.arctan2(b, 1 + a)
    return out


class Tanh(UnaryMath):
    """Hyperbolic tangent."""

    name = ufunc = op = "tanh"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        # (1 + y)(1 - y) keeps its digits where 1 - y*y cancels.
        one = scalar_like(out, 1)
        slope = mul(add(out, one), sub(one, out))
        return (lambda t: mul(t, slope),)


class Logistic(UnaryMath):
    """The sigmoid ``1 / (1 + e**-x)``."""

    name = "logistic"

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        def compute(x: Any) -> Any:
            one = x.dtype.type(1)
            return xp.divide(one, one + xp.exp(-x))

        return in_float32(compute, x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = mul(out, sub(scalar_like(out, 1), out))
        return (lambda t: mul(t, slope),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        one = ir.const(1, x.dtype)
        return ir.binary("div", one, ir.binary("add", one, ir.unary("exp", ir.unary("neg", x))))


class Sqrt(UnaryMath):
    """Square root; the slope at 0 is infinite."""

    name = ufunc = op = "sqrt"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = div(scalar_like(out, 0.5), out)
        return (lambda t: mul(t, slope),)


class Rsqrt(UnaryMath):
    """``1 / sqrt(x)``."""

    name = op = "rsqrt"

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return in_float32(lambda v: xp.divide(v.dtype.type(1), xp.sqrt(v)), x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = mul(div(out, x), scalar_like(out, -0.5))
        return (lambda t: mul(t, slope),)


class Cbrt(UnaryMath):
    """Cube root, negative for negative numbers."""

    name = ufunc = op = "cbrt"
    accepts = (FLOAT,)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = mul(integer_pow(out, -2), scalar_like(out, 1 / 3))
        return (lambda t: mul(t, slope),)


exp_p, exp2_p, log_p, expm1_p, log1p_p = Exp(), Exp2(), Log(), Expm1(), Log1p()
tanh_p, logistic_p, sqrt_p, rsqrt_p, cbrt_p = Tanh(), Logistic(), Sqrt(), Rsqrt(), Cbrt()


def exp(x: Value) -> Value:
    """Return ``e**x``: ``T[*s] -> T[*s]`` for floats and complexes."""
    return exp_p.bind(x)


def exp2(x: Value) -> Value:
    """Return ``2**x``: ``T[*s] -> T[*s]`` for floats and complexes."""
    return exp2_p.bind(x)


def log(x: Value) -> Value:
    """Return the natural logarithm: ``T[*s] -> T[*s]`` for floats and complexes."""
    return log_p.bind(x)


def expm1(x: Value) -> Value:
    """Return ``e**x - 1``: ``T[*s] -> T[*s]`` for floats and complexes."""
    return expm1_p.bind(x)


def log1p(x: Value) -> Value:
    """Return ``log(1 + x)``: ``T[*s] -> T[*s]`` for floats and complexes."""
    return log1p_p.bind(x)


def tanh(x: Value) -> Value:
    """Return the hyperbolic tangent: ``T[*s] -> T[*s]`` for floats and complexes."""
    return tanh_p.bind(x)


def logistic(x: Value) -> Value:
    """Return ``1 / (1 + e**-x)``: ``T[*s] -> T[*s]`` for floats and complexes."""
    return logistic_p.bind(x)


def sqrt(x: Value) -> Value:
    """Return the square root: ``T[*s] -> T[*s]`` for floats and complexes."""
    return sqrt_p.bind(x)


def rsqrt(x: Value) -> Value:
    """Return ``1 / sqrt(x)``: ``T[*s] -> T[*s]`` for floats and complexes."""
    return rsqrt_p.bind(x)


def cbrt(x: Value) -> Value:
    """Return the cube root: ``T[*s] -> T[*s]`` for floats."""
    return cbrt_p.bind(x)


provide(exp=exp, log=log, log1p=log1p, sqrt=sqrt, rsqrt=rsqrt)

__all__ = [
    "UnaryMath", "cbrt", "cbrt_p", "exp", "exp2", "exp2_p", "exp_p", "expm1", "expm1_p", "log",
    "log1p", "log1p_p", "log_p", "logistic", "logistic_p", "rsqrt", "rsqrt_p", "sqrt", "sqrt_p",
    "tanh", "tanh_p",
]  # fmt: skip
