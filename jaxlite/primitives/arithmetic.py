"""Arithmetic of integers, floats and complex numbers. In: operands of one dtype. Out: the same.

Integers wrap around, and division is total as in XLA: it truncates toward zero, ``x / 0`` is -1
(all ones), ``MIN / -1`` is ``MIN``, ``x % 0`` is ``x``. Derivatives at special points follow JAX:
``abs`` has slope 1 at 0, a tie of ``max`` gives each operand one half.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import (
    ArrayModule,
    Dims,
    TangentMap,
    TangentMaps,
    absent,
    is_linear,
    not_differentiable,
    set_adder,
    set_zero_maker,
)
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import (
    ANY,
    FLOAT,
    INEXACT,
    NUMBER,
    REAL,
    Accepts,
    Elementwise,
    NaryElementwise,
    accepts_text,
    batch_size,
    bdim_at_front,
    full_like,
    in_float32,
    is_accepted,
    ops,
    provide,
    quiet,
    scalar_like,
    zeros_of,
)

_SIGNED_OR_INEXACT = ("floating", "complexfloating", "signedinteger")
_COMPLEX_PARTS = {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}


def _is_kind(x: Any, letters: str) -> bool:
    return dtypes.kind_of(x.dtype) in letters


# --- one operand ---


class Neg(Elementwise):
    """``-x``; unsigned integers wrap."""

    name = "neg"
    accepts = (NUMBER,)
    lowers_complex = True
    widens_half = False

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.negative(x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        return (neg,)

    def transpose(self, ct: Value, x: Any) -> tuple[Any, ...]:
        return (neg(ct),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("neg", x)


class Sign(Elementwise):
    """-1, 0 or 1 (``x / |x|`` for complex numbers); keeps -0.0 and NaN."""

    name = "sign"
    accepts = (NUMBER,)
    jvp = not_differentiable("constant wherever it has a derivative")

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        out = in_float32(xp.sign, x)
        # NumPy turns -0.0 into 0.0; multiplying by |x| != 0 cannot, copysign can.
        return xp.copysign(out, x) if _is_kind(x, "f") and x.dtype.kind != "V" else _signed(out, x)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("sign", x)


def _signed(out: Any, x: Any) -> Any:
    """Restore the sign of zero for bfloat16, which has no copysign in NumPy."""
    return np.where(x == 0, x, out) if x.dtype.kind == "V" else out


class Abs(Elementwise):
    """``|x|``; the magnitude, a float, for complex numbers."""

    name = "abs"
    accepts = (_SIGNED_OR_INEXACT,)
    lowers_complex = True
    widens_half = False

    def result_dtype(self, dtype: Any, **params: Any) -> Any:
        return _COMPLEX_PARTS.get(dtype.name, dtype)

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.abs(x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        if not _is_kind(get_aval(x), "c"):
            # JAX's choice at 0 is +1 (also at -0.0).
            is_positive = ops.ge(x, scalar_like(x, 0))
            return (lambda t: ops.select_n(is_positive, neg(t), t),)
        # d|z| = Re(conj(z) dz) / |z|, and 0 at 0.
        at_zero = ops.eq(out, scalar_like(out, 0))
        safe = ops.select_n(at_zero, out, full_like(out, 1))
        direction = ops.conj(div(x, ops.complex(safe, zeros_of(get_aval(safe)))))
        return (lambda t: ops.real(mul(t, direction)),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("abs", x)


class Square(Elementwise):
    """``x * x``."""

    name = "square"
    accepts = (NUMBER,)
    lowers_complex = True

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.multiply(x, x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = mul(x, scalar_like(x, 2))
        return (lambda t: mul(t, slope),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.binary("mul", x, x)


def power_by_squaring(x: Any, y: int, one: Any, times: Callable[[Any, Any], Any]) -> Any:
    """Return ``x**y`` for ``y >= 0`` with few products, always in the same order."""
    result = None
    while y:
        if y & 1:
            result = x if result is None else times(result, x)
        y >>= 1
        if y:
            x = times(x, x)
    return one if result is None else result


class IntegerPow(Elementwise):
    """``x**y`` for a fixed integer ``y``, by repeated multiplication."""

    name = "integer_pow"
    accepts = (NUMBER,)
    lowers_complex = True

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        out = super().abstract_eval(*avals, **params)
        if params["y"] < 0 and dtypes.kind_of(out.dtype) in "iu":
            raise TypeError(
                "Integers cannot be raised to negative powers, "
                f"got integer_pow({avals[0].str_short(False)}, {params['y']})"
            )
        return out

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, y: int) -> Any:
        def compute(x: Any) -> Any:
            power = power_by_squaring(x, abs(y), xp.ones_like(x), xp.multiply)
            return xp.divide(x.dtype.type(1), power) if y < 0 else power

        return in_float32(compute, x)

    def jvp(self, out: Value, x: Value, *, y: int) -> TangentMaps:
        if y == 0:
            return (None,)
        slope = mul(integer_pow(x, y - 1), scalar_like(x, y)) if y != 1 else full_like(x, 1)
        return (lambda t: mul(t, slope),)

    def lower(self, x: ir.Expr, *, y: int) -> ir.Expr:
        one = ir.const(1, x.dtype)
        power = power_by_squaring(x, abs(y), one, lambda a, b: ir.binary("mul", a, b))
        return ir.binary("div", one, power) if y < 0 else power


# --- two operands ---


class Add(NaryElementwise):
    """``x + y``."""

    name = "add"
    accepts: ClassVar[Accepts] = (NUMBER, NUMBER)
    lowers_complex = True

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return xp.add(x, y)

    def partial(self, k: int, out: Value, x: Value, y: Value) -> TangentMap:
        return _identity

    def adjoints(self, ct: Value, x: Any, y: Any) -> tuple[Any, ...]:
        return (ct if is_linear(x) else None), (ct if is_linear(y) else None)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("add", x, y)


def _identity(t: Value) -> Value:
    return t


class AddAny(Add):
    """Sum of two tangents or cotangents that arrived at one variable; any dtype, equal avals."""

    name = "add_any"
    accepts = (ANY, ANY)

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        first, second = avals
        assert (first.shape, first.dtype) == (second.shape, second.dtype), avals
        weak = first.weak_type and second.weak_type
        return ShapedArray(first.shape, first.dtype, weak)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        # Unlike add, both operands must have the batch: a sum of avals that are equal stays one.
        size = batch_size(args, dims)
        moved = [bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return self.bind(*moved), 0

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("or" if x.dtype == ir.BOOL else "add", x, y)


class Sub(NaryElementwise):
    """``x - y``."""

    name = "sub"
    accepts = (NUMBER, NUMBER)
    lowers_complex = True

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return xp.subtract(x, y)

    def partial(self, k: int, out: Value, x: Value, y: Value) -> TangentMap:
        return _identity if k == 0 else neg

    def adjoints(self, ct: Value, x: Any, y: Any) -> tuple[Any, ...]:
        return (ct if is_linear(x) else None), (neg(ct) if is_linear(y) else None)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("sub", x, y)


class Mul(NaryElementwise):
    """``x * y``. Bilinear: linear in one operand while the other is fixed."""

    name = "mul"
    accepts = (NUMBER, NUMBER)
    lowers_complex = True

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return xp.multiply(x, y)

    def partial(self, k: int, out: Value, x: Value, y: Value) -> TangentMap:
        # dz = dx y + x dy
        return (lambda t: mul(t, y)) if k == 0 else (lambda t: mul(x, t))

    def adjoints(self, ct: Value, x: Any, y: Any) -> tuple[Any, ...]:
        return (mul(ct, y), None) if is_linear(x) else (None, mul(x, ct))

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("mul", x, y)


class Div(NaryElementwise):
    """``x / y``; integers truncate toward zero. Linear in ``x``."""

    name = "div"
    accepts = (NUMBER, NUMBER)
    lowers_complex = True

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return integer_quotient(xp, x, y) if _is_kind(x, "iu") else xp.divide(x, y)

    def partial(self, k: int, out: Value, x: Value, y: Value) -> TangentMap:
        # The slope by y is -(x/y)/y.
        if k == 0:
            return lambda t: div(t, y)
        slope = div(neg(out), y)
        return lambda t: mul(t, slope)

    def adjoints(self, ct: Value, x: Any, y: Any) -> tuple[Any, ...]:
        return (div(ct, y), None)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("div", x, y)


def integer_quotient(xp: ArrayModule, x: Any, y: Any) -> Any:
    """Return ``x / y`` truncated; ``x / 0`` is -1 (all ones), ``MIN / -1`` is ``MIN``."""
    if x.dtype.kind == "u":
        return xp.where(y == 0, ~x.dtype.type(0), x // xp.where(y == 0, x.dtype.type(1), y))
    one, minus_one = x.dtype.type(1), x.dtype.type(-1)
    is_special = (y == 0) | (y == minus_one)
    safe = xp.where(is_special, one, y)
    quotient = (x - xp.fmod(x, safe)) // safe
    return xp.where(is_special, xp.where(y == 0, minus_one, -x), quotient)


class Rem(NaryElementwise):
    """Remainder of the truncated quotient, signed as ``x``; for integers ``x % 0`` is ``x``."""

    name = "rem"
    accepts = (REAL, REAL)

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        if not _is_kind(x, "iu"):
            return in_float32(xp.fmod, x, y)
        zero, one = x.dtype.type(0), x.dtype.type(1)
        is_special = (y == 0) | (y == x.dtype.type(-1)) if x.dtype.kind == "i" else y == 0
        rest = xp.fmod(x, xp.where(is_special, one, y))
        return xp.where(is_special, xp.where(y == 0, x, zero), rest)

    def partial(self, k: int, out: Value, x: Value, y: Value) -> TangentMap:
        # x = q y + r with q constant almost everywhere: dr = dx - q dy.
        if k == 0:
            return _identity
        quotient = div(x, y)
        slope = neg(mul(sign(quotient), ops.floor(abs_(quotient))))
        return lambda t: mul(t, slope)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("rem", x, y)


class _Extremum(NaryElementwise):
    """Maximum or minimum; NaN wins, complex numbers are ordered by real, then imaginary part."""

    accepts = (ANY, ANY)
    widens_half = False
    #: name of the NumPy function
    ufunc: ClassVar[str]

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return getattr(xp, self.ufunc)(x, y)

    def partial(self, k: int, out: Value, x: Value, y: Value) -> TangentMap:
        # 1 where this operand is the result, 1/2 where both are, else 0 (also where a NaN is).
        mine, other = (x, y) if k == 0 else (y, x)
        one, half, zero = (full_like(out, value) for value in (1, 0.5, 0))
        won = ops.select_n(ops.eq(other, out), one, half)
        share = ops.select_n(ops.eq(mine, out), zero, won)
        return lambda t: mul(t, share)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        if x.dtype == ir.BOOL:
            return ir.binary("or" if self.name == "max" else "and", x, y)
        return ir.binary(self.name, x, y)


class Max(_Extremum):
    """The greater of two numbers."""

    name = "max"
    ufunc = "maximum"


class Min(_Extremum):
    """The lesser of two numbers."""

    name = "min"
    ufunc = "minimum"


class Pow(NaryElementwise):
    """``x**y``; ``y`` has the dtype of ``x`` or any integer dtype."""

    name = "pow"
    accepts = (INEXACT, NUMBER)

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        x, y = avals
        for position, aval in enumerate(avals):
            if not is_accepted(self.accepts[position], aval.dtype):
                raise TypeError(
                    accepts_text(self.name, self.accepts[position], aval.dtype, position)
                )
        if dtypes.kind_of(y.dtype) not in "iu" and x.dtype != y.dtype:
            raise TypeError(
                "the first argument to pow must have an inexact dtype (float or complex), and the "
                "second argument must have an inexact or integer dtype, and two inexact dtypes "
                f"must match, but got {dtypes.name_of(x.dtype)} and {dtypes.name_of(y.dtype)} "
                "respectively."
            )
        weak = x.weak_type and y.weak_type
        return ShapedArray(self._common_shape(avals), x.dtype, weak)

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return in_float32(xp.power, x, y.astype(x.dtype))

    def partial(self, k: int, out: Value, x: Value, y: Value) -> TangentMap:
        slope = _base_slope(x, y) if k == 0 else _exponent_slope(out, x, y)
        return None if slope is None else lambda t: mul(t, slope)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("pow", x, ir.cast(y, x.dtype))


def _base_slope(x: Value, y: Value) -> Value:
    # y x**(y-1); for an integer y of 0, x**-1 must not spoil the result at x == 0.
    one = scalar_like(y, 1)
    if _is_kind(get_aval(y), "iu"):
        is_zero = ops.eq(y, scalar_like(y, 0))
        reduced = ops.select_n(is_zero, sub(y, one), full_like(y, 1))
        return mul(ops.convert_element_type(y, get_aval(x).dtype), pow_(x, reduced))
    return mul(y, pow_(x, sub(y, one)))


def _exponent_slope(out: Value, x: Value, y: Value) -> Value | None:
    if _is_kind(get_aval(y), "iu"):
        return None
    # log(x) x**y, and 0 where x == 0.
    safe = ops.select_n(ops.eq(x, scalar_like(x, 0)), x, full_like(x, 1))
    return mul(ops.log(safe), out)


class NextAfter(NaryElementwise):
    """The floating point number after ``x`` in the direction of ``y``."""

    name = "nextafter"
    accepts = (FLOAT, FLOAT)
    widens_half = False
    jvp = absent("Differentiation rule", "a step of one unit in the last place has no slope")

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return xp.nextafter(x, y)

    def can_lower(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> bool:
        return avals[0].dtype.name in ("float32", "float64")

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("nextafter", x, y)


neg_p, sign_p, abs_p, square_p, integer_pow_p = Neg(), Sign(), Abs(), Square(), IntegerPow()
add_p, add_any_p, sub_p, mul_p, div_p, rem_p = Add(), AddAny(), Sub(), Mul(), Div(), Rem()
max_p, min_p, pow_p, nextafter_p = Max(), Min(), Pow(), NextAfter()


def neg(x: Value) -> Value:
    """Return ``-x``: ``T[*s] -> T[*s]`` for numbers."""
    return neg_p.bind(x)


def sign(x: Value) -> Value:
    """Return the sign of ``x``: ``T[*s] -> T[*s]`` for numbers."""
    return sign_p.bind(x)


def abs_(x: Value) -> Value:
    """Return ``|x|``: ``T[*s] -> T[*s]``, a float for complex numbers."""
    return abs_p.bind(x)


def square(x: Value) -> Value:
    """Return ``x * x``: ``T[*s] -> T[*s]`` for numbers."""
    return square_p.bind(x)


def integer_pow(x: Value, y: int) -> Value:
    """Return ``x**y`` for a Python integer ``y``: ``T[*s] -> T[*s]`` for numbers."""
    return integer_pow_p.bind(x, y=y)


def add(x: Value, y: Value) -> Value:
    """Return ``x + y``: ``T[*s], T[*s] -> T[*s]`` for numbers (an operand may be a scalar)."""
    return add_p.bind(x, y)


def add_any(x: Value, y: Value) -> Value:
    """Return the sum of two tangents of equal avals."""
    return add_any_p.bind(x, y)


def sub(x: Value, y: Value) -> Value:
    """Return ``x - y``: ``T[*s], T[*s] -> T[*s]`` for numbers (an operand may be a scalar)."""
    return sub_p.bind(x, y)


def mul(x: Value, y: Value) -> Value:
    """Return ``x * y``: ``T[*s], T[*s] -> T[*s]`` for numbers (an operand may be a scalar)."""
    return mul_p.bind(x, y)


def div(x: Value, y: Value) -> Value:
    """Return ``x / y``: ``T[*s], T[*s] -> T[*s]`` for numbers; integers truncate."""
    return div_p.bind(x, y)


def rem(x: Value, y: Value) -> Value:
    """Return the remainder of ``x / y`` with the sign of ``x``: ``T[*s], T[*s] -> T[*s]``."""
    return rem_p.bind(x, y)


def max_(x: Value, y: Value) -> Value:
    """Return the greater of ``x`` and ``y``: ``T[*s], T[*s] -> T[*s]``; NaN wins."""
    return max_p.bind(x, y)


def min_(x: Value, y: Value) -> Value:
    """Return the lesser of ``x`` and ``y``: ``T[*s], T[*s] -> T[*s]``; NaN wins."""
    return min_p.bind(x, y)


def pow_(x: Value, y: Value) -> Value:
    """Return ``x**y``: ``T[*s], T[*s] -> T[*s]`` for floats, complexes; ``y`` may be integers."""
    return pow_p.bind(x, y)


def nextafter(x: Value, y: Value) -> Value:
    """Return the float after ``x`` toward ``y``: ``T[*s], T[*s] -> T[*s]``."""
    return nextafter_p.bind(x, y)


set_adder(add_any)
set_zero_maker(zeros_of)
provide(neg=neg, sign=sign, abs=abs_, square=square, integer_pow=integer_pow, add=add, sub=sub)
provide(mul=mul, div=div, rem=rem, max=max_, min=min_, pow=pow_, add_any=add_any)

__all__ = [
    "abs_", "abs_p", "add", "add_any", "add_any_p", "add_p", "div", "div_p", "integer_pow",
    "integer_pow_p", "max_", "max_p", "min_", "min_p", "mul", "mul_p", "neg",
    "neg_p", "nextafter", "nextafter_p", "pow_", "pow_p", "rem", "rem_p", "sign", "sign_p",
    "square", "square_p", "sub", "sub_p",
]  # fmt: skip
