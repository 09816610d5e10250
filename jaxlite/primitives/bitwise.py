"""Operations on the bits of integers and on bools. In: integers of one dtype. Out: the same.

A shift by the bit width or more (a negative count is a huge unsigned one) leaves no bit: 0, or all
sign bits for ``shift_right_arithmetic``, which copies the top bit of unsigned integers too.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language.array import Value
from jaxlite.language.primitive import ArrayModule, not_differentiable
from jaxlite.primitives.families import (
    INT_OR_BOOL,
    INTEGER,
    Elementwise,
    NaryElementwise,
    provide,
    quiet,
)


class Not(Elementwise):
    """All bits flipped; logical not of a bool."""

    name = "not"
    accepts = (INT_OR_BOOL,)
    jvp = not_differentiable("integer result")

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.invert(x)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("not", x)


class PopulationCount(Elementwise):
    """Number of bits that are 1."""

    name = "population_count"
    accepts = (INTEGER,)
    jvp = not_differentiable("integer result")

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.bitwise_count(_unsigned(x)).astype(x.dtype)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("popcount", x)


class Clz(Elementwise):
    """Number of leading zero bits."""

    name = "clz"
    accepts = (INTEGER,)
    jvp = not_differentiable("integer result")

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        # Smear the highest 1 to the right; the zeros that remain are the leading ones.
        bits, smeared = x.dtype.itemsize * 8, _unsigned(x)
        step = 1
        while step < bits:
            smeared = smeared | (smeared >> smeared.dtype.type(step))
            step *= 2
        return (bits - xp.bitwise_count(smeared)).astype(x.dtype)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("clz", x)


def _unsigned(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


class _Bitwise(NaryElementwise):
    """A function of each pair of bits; ``ufunc`` is NumPy's name, the kernel IR's is ours."""

    accepts = (INT_OR_BOOL, INT_OR_BOOL)
    jvp = not_differentiable("integer result")
    ufunc: ClassVar[str]

    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return getattr(xp, self.ufunc)(x, y)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary(self.name, x, y)


class And(_Bitwise):
    """Bits set in both."""

    name = "and"
    ufunc = "bitwise_and"


class Or(_Bitwise):
    """Bits set in one or both."""

    name = "or"
    ufunc = "bitwise_or"


class Xor(_Bitwise):
    """Bits set in exactly one."""

    name = "xor"
    ufunc = "bitwise_xor"


class _Shift(NaryElementwise):
    """Move bits by ``y`` places; ``op`` is the kernel IR's name."""

    accepts = (INTEGER, INTEGER)
    jvp = not_differentiable("integer result")
    op: ClassVar[str]

    def shift(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        """Shift the unsigned ``x`` by ``y`` in ``0 .. bits - 1``."""
        raise NotImplementedError(self.name)

    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        bits = x.dtype.itemsize * 8
        count, pattern = _unsigned(y), _unsigned(x)
        is_out = count >= bits
        inside = xp.where(is_out, count.dtype.type(bits - 1), count)
        shifted = self.shift(xp, pattern, inside)
        if self.op == "shr_arithmetic":  # by bits - 1, all bits are the sign already
            return shifted.view(x.dtype)
        return xp.where(is_out, pattern.dtype.type(0), shifted).view(x.dtype)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary(self.op, x, y)


class ShiftLeft(_Shift):
    """Bits move toward the high end."""

    name = "shift_left"
    op = "shl"

    def shift(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return xp.left_shift(x, y)


class ShiftRightLogical(_Shift):
    """Bits move toward the low end, zeros follow."""

    name = "shift_right_logical"
    op = "shr_logical"

    def shift(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return xp.right_shift(x, y)


class ShiftRightArithmetic(_Shift):
    """Bits move toward the low end, copies of the top bit follow."""

    name = "shift_right_arithmetic"
    op = "shr_arithmetic"

    def shift(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        signed = np.dtype(f"i{x.dtype.itemsize}")
        return xp.asarray(xp.right_shift(x.view(signed), y.view(signed)))


class MulHi(NaryElementwise):
    """The upper half of the double-width product of two integers."""

    name = "mulhi"
    accepts = (INTEGER, INTEGER)
    jvp = not_differentiable("integer result")

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        dtype, bits = x.dtype, x.dtype.itemsize * 8
        if bits < 64:
            wide = np.int64 if dtype.kind == "i" else np.uint64
            return ((x.astype(wide) * y.astype(wide)) >> wide(bits)).astype(dtype)
        return _mulhi_64(xp, x, y)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("mulhi", x, y)


def _mulhi_64(xp: ArrayModule, x: Any, y: Any) -> Any:
    # Schoolbook product of 32-bit halves, unsigned; then the correction for negative operands.
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a, b = x.astype(np.uint64), y.astype(np.uint64)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    carry = a0 * b1 + (middle & low)
    high = a1 * b1 + (middle >> half) + (carry >> half)
    if x.dtype.kind == "i":
        zero = np.uint64(0)
        high = high - xp.where(x < 0, b, zero) - xp.where(y < 0, a, zero)
    return high.astype(x.dtype)


not_p, population_count_p, clz_p = Not(), PopulationCount(), Clz()
and_p, or_p, xor_p, mulhi_p = And(), Or(), Xor(), MulHi()
shift_left_p = ShiftLeft()
shift_right_logical_p, shift_right_arithmetic_p = ShiftRightLogical(), ShiftRightArithmetic()


def bitwise_not(x: Value) -> Value:
    """Return ``~x``: ``T[*s] -> T[*s]`` for integers and bools."""
    return not_p.bind(x)


def population_count(x: Value) -> Value:
    """Return the number of 1 bits: ``T[*s] -> T[*s]`` for integers."""
    return population_count_p.bind(x)


def clz(x: Value) -> Value:
    """Return the number of leading 0 bits: ``T[*s] -> T[*s]`` for integers."""
    return clz_p.bind(x)


def bitwise_and(x: Value, y: Value) -> Value:
    """Return ``x & y``: ``T[*s], T[*s] -> T[*s]`` for integers and bools."""
    return and_p.bind(x, y)


def bitwise_or(x: Value, y: Value) -> Value:
    """Return ``x | y``: ``T[*s], T[*s] -> T[*s]`` for integers and bools."""
    return or_p.bind(x, y)


def bitwise_xor(x: Value, y: Value) -> Value:
    """Return ``x ^ y``: ``T[*s], T[*s] -> T[*s]`` for integers and bools."""
    return xor_p.bind(x, y)


def shift_left(x: Value, y: Value) -> Value:
    """Return ``x << y``: ``T[*s], T[*s] -> T[*s]`` for integers."""
    return shift_left_p.bind(x, y)


def shift_right_logical(x: Value, y: Value) -> Value:
    """Return ``x >> y`` filled with zeros: ``T[*s], T[*s] -> T[*s]`` for integers."""
    return shift_right_logical_p.bind(x, y)


def shift_right_arithmetic(x: Value, y: Value) -> Value:
    """Return ``x >> y`` filled with the top bit: ``T[*s], T[*s] -> T[*s]`` for integers."""
    return shift_right_arithmetic_p.bind(x, y)


def mulhi(x: Value, y: Value) -> Value:
    """Return the upper half of the integer product: ``T[*s], T[*s] -> T[*s]``."""
    return mulhi_p.bind(x, y)


provide(bitwise_not=bitwise_not, bitwise_and=bitwise_and, bitwise_or=bitwise_or)

__all__ = [
    "and_p", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clz", "clz_p", "mulhi",
    "mulhi_p", "not_p", "or_p", "population_count", "population_count_p", "shift_left",
    "shift_left_p", "shift_right_arithmetic", "shift_right_arithmetic_p", "shift_right_logical",
    "shift_right_logical_p", "xor_p",
]  # fmt: skip
