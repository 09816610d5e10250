"""Rounding floats to whole numbers. In: floats. Out: floats of the same dtype. All slopes are 0."""

from __future__ import annotations

import enum
from typing import Any

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, not_differentiable
from jaxlite.primitives.families import FLOAT, Elementwise, in_float32, provide, quiet


class RoundingMethod(enum.IntEnum):
    """What ``round`` does halfway between two whole numbers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


_FLAT = not_differentiable("constant wherever it has a derivative")


class Floor(Elementwise):
    """The greatest whole number not above ``x``."""

    name = "floor"
    accepts = (FLOAT,)
    jvp = _FLAT

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.floor(x)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("floor", x)


class Ceil(Elementwise):
    """The least whole number not below ``x``."""

    name = "ceil"
    accepts = (FLOAT,)
    jvp = _FLAT

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.ceil(x)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("ceil", x)


class Round(Elementwise):
    """The nearest whole number."""

    name = "round"
    accepts = (FLOAT,)
    jvp = _FLAT

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, rounding_method: RoundingMethod) -> Any:
        if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
            return in_float32(xp.rint, x)
        return in_float32(lambda v: _round_half_away(xp, v), x)

    def lower(self, x: ir.Expr, *, rounding_method: RoundingMethod) -> ir.Expr:
        is_even = rounding_method == RoundingMethod.TO_NEAREST_EVEN
        return ir.unary("round_half_even" if is_even else "round_half_away", x)


def _round_half_away(xp: ArrayModule, x: Any) -> Any:
    whole = xp.trunc(x)
    # x - whole is exact, so 0.49999997 is not rounded up as floor(x + 0.5) would.
    step = xp.copysign((xp.abs(x - whole) >= 0.5).astype(x.dtype), x)
    return xp.where(xp.isfinite(x), whole + step, x)


class IsFinite(Elementwise):
    """False for infinities and NaN."""

    name = "is_finite"
    accepts = (FLOAT,)
    widens_half = True
    jvp = not_differentiable("boolean result")

    def result_dtype(self, dtype: Any, **params: Any) -> Any:
        return ir.BOOL

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.isfinite(x)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("isfinite", x)


class ReducePrecision(Elementwise):
    """Round to a float format of ``exponent_bits`` and ``mantissa_bits``, kept in ``x``'s dtype."""

    name = "reduce_precision"
    accepts = (FLOAT,)
    widens_half = False

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        out = super().abstract_eval(*avals)
        for what, least, words in (("exponent", 1, "positive"), ("mantissa", 0, "non-negative")):
            bits = params[f"{what}_bits"]
            if bits < least:
                raise ValueError(f"reduce_precision: {what}_bits must be {words}; got {bits}")
        return out

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
        return in_float32(lambda v: _reduced(xp, v, exponent_bits, mantissa_bits), x)

    def jvp(self, out: Value, x: Value, **params: Any) -> Any:
        return (lambda t: self.bind(t, **params),)

    def transpose(self, ct: Value, x: Any, **params: Any) -> tuple[Any, ...]:
        return (self.bind(ct, **params),)

    def lower(self, x: ir.Expr, *, exponent_bits: int, mantissa_bits: int) -> ir.Expr:
        if x.dtype.itemsize == 2:
            wide = ir.cast(x, "float32")
            return ir.cast(_reduced_expr(wide, exponent_bits, mantissa_bits), x.dtype)
        return _reduced_expr(x, exponent_bits, mantissa_bits)


#: itemsize -> (mantissa bits, exponent bits)
_FORMAT = {4: (23, 8), 8: (52, 11)}


def _limits(itemsize: int, exponent_bits: int) -> tuple[int, int]:
    """Return the least and greatest biased exponent of normal numbers with ``exponent_bits``."""
    bias, small_bias = (1 << (_FORMAT[itemsize][1] - 1)) - 1, (1 << (exponent_bits - 1)) - 1
    return bias - small_bias + 1, bias + small_bias


def _reduced(xp: ArrayModule, x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    mantissa, exponent = _FORMAT[x.dtype.itemsize]
    word = xp.dtype(f"u{x.dtype.itemsize}")
    bits = xp.ascontiguousarray(x).view(word).reshape(x.shape)
    sign = bits & word.type(1 << (mantissa + exponent))
    magnitude = bits ^ sign
    dropped = mantissa - mantissa_bits
    if dropped > 0:
        # Round to nearest even by adding half a unit (less one where the kept bit is even).
        odd = (magnitude >> word.type(dropped)) & word.type(1)
        magnitude = magnitude + word.type((1 << (dropped - 1)) - 1) + odd
        magnitude = magnitude & word.type(~((1 << dropped) - 1) & ((1 << (8 * word.itemsize)) - 1))
    if exponent_bits < exponent:
        low, high = _limits(word.itemsize, exponent_bits)
        size = magnitude >> word.type(mantissa)
        infinity = word.type(((1 << exponent) - 1) << mantissa)
        magnitude = xp.where(size > high, infinity, magnitude)
        magnitude = xp.where(size < low, word.type(0), magnitude)
    out = (magnitude | sign).view(x.dtype)
    return xp.where(xp.isnan(x), x, out)


def _reduced_expr(x: ir.Expr, exponent_bits: int, mantissa_bits: int) -> ir.Expr:
    mantissa, exponent = _FORMAT[x.dtype.itemsize]
    word = f"uint{8 * x.dtype.itemsize}"

    def number(value: int) -> ir.Expr:
        return ir.const(value, word)

    bits = ir.bitcast(x, word)
    sign = ir.binary("and", bits, number(1 << (mantissa + exponent)))
    magnitude = ir.binary("xor", bits, sign)
    dropped = mantissa - mantissa_bits
    if dropped > 0:
        odd = ir.binary("and", ir.binary("shr_logical", magnitude, number(dropped)), number(1))
        magnitude = ir.binary("add", magnitude, number((1 << (dropped - 1)) - 1))
        magnitude = ir.binary("add", magnitude, odd)
        mask = ~((1 << dropped) - 1) & ((1 << (8 * x.dtype.itemsize)) - 1)
        magnitude = ir.binary("and", magnitude, number(mask))
    if exponent_bits < exponent:
        low, high = _limits(x.dtype.itemsize, exponent_bits)
        size = ir.binary("shr_logical", magnitude, number(mantissa))
        infinity = number(((1 << exponent) - 1) << mantissa)
        magnitude = ir.select(ir.compare("gt", size, number(high)), infinity, magnitude)
        magnitude = ir.select(ir.compare("lt", size, number(low)), number(0), magnitude)
    out = ir.bitcast(ir.binary("or", magnitude, sign), x.dtype)
    return ir.select(ir.unary("isnan", x), x, out)


floor_p, ceil_p, round_p = Floor(), Ceil(), Round()
is_finite_p, reduce_precision_p = IsFinite(), ReducePrecision()


def floor(x: Value) -> Value:
    """Return the greatest whole number not above ``x``: ``T[*s] -> T[*s]`` for floats."""
    return floor_p.bind(x)


def ceil(x: Value) -> Value:
    """Return the least whole number not below ``x``: ``T[*s] -> T[*s]`` for floats."""
    return ceil_p.bind(x)


def round_(x: Value, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Value:
    """Return the nearest whole number: ``T[*s] -> T[*s]`` for floats."""
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def is_finite(x: Value) -> Value:
    """Return whether ``x`` is neither infinite nor NaN: ``T[*s] -> bool[*s]`` for floats."""
    return is_finite_p.bind(x)


def reduce_precision(x: Value, exponent_bits: int, mantissa_bits: int) -> Value:
    """Return ``x`` rounded to a smaller float format: ``T[*s] -> T[*s]`` for floats."""
    return reduce_precision_p.bind(x, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


provide(floor=floor, is_finite=is_finite)

__all__ = [
    "RoundingMethod", "ceil", "ceil_p", "floor", "floor_p", "is_finite", "is_finite_p",
    "reduce_precision", "reduce_precision_p", "round_", "round_p",
]  # fmt: skip
