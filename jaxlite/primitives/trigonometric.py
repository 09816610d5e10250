"""Trigonometric, hyperbolic and inverse functions. In: floats or complexes. Out: the same."""

from __future__ import annotations

from typing import Any

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language.array import Value
from jaxlite.language.primitive import ArrayModule, TangentMap, TangentMaps
from jaxlite.primitives.arithmetic import add, div, integer_pow, mul, neg, square, sub
from jaxlite.primitives.elementwise import UnaryMath, rsqrt
from jaxlite.primitives.families import (
    INEXACT,
    NaryElementwise,
    in_float32,
    quiet,
    scalar_like,
)


class Sin(UnaryMath):
    """Sine."""

    name = ufunc = op = "sin"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = cos(x)
        return (lambda t: mul(t, slope),)


class Cos(UnaryMath):
    """Cosine."""

    name = ufunc = op = "cos"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = neg(sin(x))
        return (lambda t: mul(t, slope),)


class Tan(UnaryMath):
    """Tangent."""

    name = ufunc = op = "tan"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = add(square(out), scalar_like(out, 1))
        return (lambda t: mul(t, slope),)


class Asin(UnaryMath):
    """Inverse sine."""

    name = op = "asin"
    ufunc = "arcsin"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = rsqrt(sub(scalar_like(x, 1), square(x)))
        return (lambda t: mul(t, slope),)


class Acos(UnaryMath):
    """Inverse cosine."""

    name = op = "acos"
    ufunc = "arccos"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = neg(rsqrt(sub(scalar_like(x, 1), square(x))))
        return (lambda t: mul(t, slope),)


class Atan(UnaryMath):
    """Inverse tangent."""

    name = op = "atan"
    ufunc = "arctan"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        denominator = add(square(x), scalar_like(x, 1))
        return (lambda t: div(t, denominator),)


class Sinh(UnaryMath):
    """Hyperbolic sine."""

    name = ufunc = op = "sinh"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = cosh(x)
        return (lambda t: mul(t, slope),)


class Cosh(UnaryMath):
    """Hyperbolic cosine."""

    name = ufunc = op = "cosh"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = sinh(x)
        return (lambda t: mul(t, slope),)


class Asinh(UnaryMath):
    """Inverse hyperbolic sine."""

    name = op = "asinh"
    ufunc = "arcsinh"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = rsqrt(add(square(x), scalar_like(x, 1)))
        return (lambda t: mul(t, slope),)


class Acosh(UnaryMath):
    """Inverse hyperbolic cosine."""

    name = op = "acosh"
    ufunc = "arccosh"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = rsqrt(sub(square(x), scalar_like(x, 1)))
        return (lambda t: mul(t, slope),)


class Atanh(UnaryMath):
    """Inverse hyperbolic tangent."""

    name = op = "atanh"
    ufunc = "arctanh"

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        # 1 / ((1 + x)(1 - x)) keeps its digits where 1 - x*x cancels.
        one = scalar_like(x, 1)
        slope = mul(integer_pow(add(one, x), -1), integer_pow(sub(one, x), -1))
        return (lambda t: mul(t, slope),)


class Atan2(NaryElementwise):
    """The angle of the point ``(y, x)``: first operand ``y``, as in C."""

    name = "atan2"
    accepts = (INEXACT, INEXACT)

    @quiet
    def impl(self, xp: ArrayModule, y: Any, x: Any) -> Any:
        if y.dtype.kind == "c":
            # -i log((x + iy) / sqrt(x*x + y*y)): the principal branch.
            return (-1j * xp.log((x + 1j * y) / xp.sqrt(x * x + y * y))).astype(y.dtype)
        return in_float32(xp.arctan2, y, x)

    def partial(self, k: int, out: Value, y: Value, x: Value) -> TangentMap:
        # d angle = (x dy - y dx) / (x*x + y*y)
        norm = add(square(x), square(y))
        slope = div(x, norm) if k == 0 else div(neg(y), norm)
        return lambda t: mul(t, slope)

    def lower(self, y: ir.Expr, x: ir.Expr) -> ir.Expr:
        return ir.binary("atan2", y, x)


sin_p, cos_p, tan_p, asin_p, acos_p, atan_p = Sin(), Cos(), Tan(), Asin(), Acos(), Atan()
sinh_p, cosh_p, asinh_p, acosh_p, atanh_p = Sinh(), Cosh(), Asinh(), Acosh(), Atanh()
atan2_p = Atan2()


def sin(x: Value) -> Value:
    """Return the sine: ``T[*s] -> T[*s]`` for floats and complexes."""
    return sin_p.bind(x)


def cos(x: Value) -> Value:
    """Return the cosine: ``T[*s] -> T[*s]`` for floats and complexes."""
    return cos_p.bind(x)


def tan(x: Value) -> Value:
    """Return the tangent: ``T[*s] -> T[*s]`` for floats and complexes."""
    return tan_p.bind(x)


def asin(x: Value) -> Value:
    """Return the inverse sine: ``T[*s] -> T[*s]`` for floats and complexes."""
    return asin_p.bind(x)


def acos(x: Value) -> Value:
    """Return the inverse cosine: ``T[*s] -> T[*s]`` for floats and complexes."""
    return acos_p.bind(x)


def atan(x: Value) -> Value:
    """Return the inverse tangent: ``T[*s] -> T[*s]`` for floats and complexes."""
    return atan_p.bind(x)


def sinh(x: Value) -> Value:
    """Return the hyperbolic sine: ``T[*s] -> T[*s]`` for floats and complexes."""
    return sinh_p.bind(x)


def cosh(x: Value) -> Value:
    """Return the hyperbolic cosine: ``T[*s] -> T[*s]`` for floats and complexes."""
    return cosh_p.bind(x)


def asinh(x: Value) -> Value:
    """Return the inverse hyperbolic sine: ``T[*s] -> T[*s]`` for floats and complexes."""
    return asinh_p.bind(x)


def acosh(x: Value) -> Value:
    """Return the inverse hyperbolic cosine: ``T[*s] -> T[*s]`` for floats and complexes."""
    return acosh_p.bind(x)


def atanh(x: Value) -> Value:
    """Return the inverse hyperbolic tangent: ``T[*s] -> T[*s]`` for floats and complexes."""
    return atanh_p.bind(x)


def atan2(y: Value, x: Value) -> Value:
    """Return the angle of ``(y, x)``: ``T[*s], T[*s] -> T[*s]`` for floats and complexes."""
    return atan2_p.bind(y, x)


__all__ = [
    "acos", "acos_p", "acosh", "acosh_p", "asin", "asin_p", "asinh", "asinh_p", "atan", "atan2",
    "atan2_p", "atan_p", "atanh", "atanh_p", "cos", "cos_p", "cosh", "cosh_p", "sin", "sin_p",
    "sinh", "sinh_p", "tan", "tan_p",
]  # fmt: skip
