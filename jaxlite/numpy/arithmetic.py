"""Elementwise functions made of several primitives. In: arrays of any dtypes and shapes.

Out: arrays.

Integer division rounds down and the remainder has the divisor's sign, as in Python; the primitives
truncate.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl, Value
from jaxlite.language.primitive import Primitive
from jaxlite.lax.operands import constant
from jaxlite.numpy.choosing import choose_between, truth
from jaxlite.numpy.promotion import (
    as_operand,
    bind_broadcast,
    broadcast_arrays_to,
    check_arraylike,
    convert,
    promote,
    promote_all_inexact,
    promote_inexact,
    retype,
)
from jaxlite.primitives import arithmetic as ar
from jaxlite.primitives import bitwise, rounding
from jaxlite.primitives import comparison as cmp
from jaxlite.primitives import complex as parts
from jaxlite.primitives import elementwise as el
from jaxlite.primitives import trigonometric as trig
from jaxlite.primitives.convert import bitcast_convert_type_p
from jaxlite.primitives.rounding import RoundingMethod


def _kind(x: Value) -> str:
    return dtypes.kind_of(x.aval.dtype)


def _scalar(x: Value, value: Any) -> Value:
    """Return a number as a scalar of ``x``'s dtype and weakness."""
    return constant(value, x.aval.dtype, x.aval.weak_type)


def _no_bools(x: Value, y: Value) -> tuple[Value, Value]:
    if _kind(x) != "b":
        return x, y
    integer = dtypes.default_dtype(int)
    return convert(x, integer), convert(y, integer)


def _bin(primitive: Primitive, x: Value, y: Value) -> Value:
    return bind_broadcast(primitive, primitive.name, x, y)


# --- division ---


def floor_divide(x1: Any, x2: Any, /) -> Value:
    """Return the greatest whole number that is not greater than x1 / x2, elementwise.

    Raises:
        TypeError: complex arguments.

    Example:
        >>> floor_divide(-7, 2), floor_divide(7.5, 2)
        (Array(-4, dtype=int32, weak_type=True), Array(3., dtype=float32, weak_type=True))
    """
    x, y = _no_bools(*promote("floor_divide", x1, x2))
    kind = _kind(x)
    if kind == "c":
        raise TypeError("floor_divide does not support complex-valued inputs")
    if kind == "u":
        return _bin(ar.div_p, x, y)
    if kind == "i":
        quotient = _bin(ar.div_p, x, y)
        signs_differ = _bin(cmp.ne_p, ar.sign_p.bind(x), ar.sign_p.bind(y))
        rest = _bin(ar.rem_p, x, y)
        is_inexact = cmp.ne_p.bind(rest, _scalar(rest, 0))
        wraps = _bin(bitwise.and_p, signs_differ, is_inexact)
        return choose_between(wraps, ar.sub_p.bind(quotient, _scalar(quotient, 1)), quotient)
    return _float_divmod(x, y)[0]


def _float_divmod(x: Value, y: Value) -> tuple[Value, Value]:
    rest = _bin(ar.rem_p, x, y)
    whole = _bin(ar.sub_p, x, rest)
    is_zero = cmp.eq_p.bind(y, _scalar(y, 0))
    quotient = _bin(ar.div_p, choose_between(is_zero, x, whole), y)
    signs_differ = _bin(cmp.ne_p, ar.sign_p.bind(y), ar.sign_p.bind(rest))
    wraps = _bin(bitwise.and_p, cmp.ne_p.bind(rest, _scalar(rest, 0)), signs_differ)
    rest = choose_between(wraps, _bin(ar.add_p, rest, y), rest)
    quotient = choose_between(wraps, ar.sub_p.bind(quotient, _scalar(quotient, 1)), quotient)
    rounded = rounding.round_p.bind(quotient, rounding_method=RoundingMethod.AWAY_FROM_ZERO)
    return rounded, rest


def remainder(x1: Any, x2: Any, /) -> Value:
    """Return x1 - x2 * floor(x1 / x2), elementwise: the remainder with the sign of x2.

    Example:
        >>> remainder(-7, 2), remainder(7, -2)
        (Array(1, dtype=int32, weak_type=True), Array(-1, dtype=int32, weak_type=True))
    """
    x, y = _no_bools(*promote("remainder", x1, x2))
    zero = _scalar(y, 0)
    if _kind(y) in "iu":
        y = choose_between(cmp.eq_p.bind(y, zero), _scalar(y, 1), y)
    rest = _bin(ar.rem_p, x, y)
    is_inexact = cmp.ne_p.bind(rest, zero)
    signs_differ = _bin(cmp.ne_p, cmp.lt_p.bind(rest, zero), cmp.lt_p.bind(y, zero))
    wraps = _bin(bitwise.and_p, signs_differ, is_inexact)
    return choose_between(wraps, _bin(ar.add_p, rest, y), rest)


def mod(x1: Any, x2: Any, /) -> Value:
    """Return what ``remainder`` does."""
    return remainder(x1, x2)


def fmod(x1: Any, x2: Any, /) -> Value:
    """Return the remainder of x1 / x2 with the sign of x1, elementwise."""
    x, y = promote("fmod", x1, x2)
    was_bool = _kind(x) == "b"
    x, y = _no_bools(x, y)
    if _kind(y) in "iu" and not was_bool:
        y = choose_between(cmp.eq_p.bind(y, _scalar(y, 0)), _scalar(y, 1), y)
    return _bin(ar.rem_p, x, y)


def divmod(x1: Any, x2: Any, /) -> tuple[Value, Value]:
    """Return (floor_divide(x1, x2), remainder(x1, x2)).

    Example:
        >>> divmod(7, 2)
        (Array(3, dtype=int32, weak_type=True), Array(1, dtype=int32, weak_type=True))
    """
    x, y = _no_bools(*promote("divmod", x1, x2))
    if _kind(x) in "iu":
        return floor_divide(x, y), remainder(x, y)
    if _kind(x) == "c":
        raise TypeError("floor_divide does not support complex-valued inputs")
    return _float_divmod(x, y)


# --- powers ---


def _static_exponent(y: Any) -> int | None:
    """Return an integer exponent that is known now."""
    if isinstance(y, int) and not isinstance(y, bool):
        return y
    if type(y) is ArrayImpl and not y.aval.shape and _kind(y) in "iu":
        return int(y._data)
    if isinstance(y, np.integer) or (
        isinstance(y, np.ndarray) and y.ndim == 0 and y.dtype.kind in "iu"
    ):
        return int(y)
    return None


def power(x1: Any, x2: Any, /) -> Value:
    """Return x1**x2, elementwise; a Python integer exponent gives repeated multiplication.

    Raises:
        TypeError: an integer to a negative Python integer.

    Example:
        >>> power(np.float32([1, 2]), 3)
        Array([1., 8.], dtype=float32)
    """
    check_arraylike("power", x1, x2)
    exponent = _static_exponent(x2)
    if exponent is not None:
        # The exponent takes part in promotion (bool**2 is an integer) but not in the computation.
        base = as_operand("power", x1)
        if _kind(base) == "b":
            base = convert(base, dtypes.default_dtype(int))
        elif not isinstance(x2, int | ArrayImpl):
            base = promote("power", base, x2)[0]
        return ar.integer_pow_p.bind(base, y=exponent)
    x, y = as_operand("power", x1), as_operand("power", x2, 1)
    kind_x, kind_y = _kind(x), _kind(y)
    if kind_x in "biu" and kind_y in "biu":
        return _integer_power(*_no_bools(*promote("power", x1, x2)))
    if kind_y in "iu":
        # The exponent stays an integer; only the base takes the common dtype.
        base = promote("power", x1, x2)[0]
        return _bin(ar.pow_p, base, y)
    base, exponent_array = promote("power", x1, x2)
    return _bin(ar.pow_p, base, exponent_array)


def pow(x1: Any, x2: Any, /) -> Value:
    """Return what ``power`` does."""
    return power(x1, x2)


def _integer_power(base: Value, exponent: Value) -> Value:
    """Square and multiply over the 6 low bits of ``exponent``, as JAX does."""
    base, exponent = broadcast_arrays_to("power", base, exponent)
    zero, one = _scalar(exponent, 0), _scalar(exponent, 1)
    is_zero_power = _bin(
        bitwise.and_p, cmp.eq_p.bind(base, _scalar(base, 0)), cmp.ne_p.bind(exponent, zero)
    )
    out = choose_between(is_zero_power, _scalar(base, 0), _scalar(base, 1))
    for step in range(6):
        if step:
            base = ar.mul_p.bind(base, base)
            exponent = bitwise.shift_right_logical_p.bind(exponent, one)
        bit = bitwise.and_p.bind(exponent, one)
        out = choose_between(truth(bit), ar.mul_p.bind(out, base), out)
    return out


def float_power(x: Any, y: Any, /) -> Value:
    """Return x**y computed in floating point, elementwise."""
    x, y = promote_inexact("float_power", x, y)
    return _bin(ar.pow_p, x, y)


def square(x: Any, /) -> Value:
    """Return x*x, elementwise; bools give integers."""
    x = as_operand("square", x)
    if _kind(x) == "b":
        x = convert(x, dtypes.default_dtype(int))
    return ar.square_p.bind(x)


def ldexp(x1: Any, x2: Any, /) -> Value:
    """Return x1 * 2**x2, elementwise, for integer x2.

    Raises:
        ValueError: ``x2`` is not of integer dtype.

    Example:
        >>> ldexp(0.75, 3)
        Array(6., dtype=float32)
    """
    check_arraylike("ldexp", x1, x2)
    x, n = as_operand("ldexp", x1), as_operand("ldexp", x2, 1)
    if _kind(n) not in "iu" or _kind(x) == "c":
        raise ValueError(f"ldexp not supported for input types {(x.aval.dtype, n.aval.dtype)}")
    (x,) = promote_all_inexact("ldexp", x)
    x = retype(x, x.aval.dtype)
    # Two halves, so that neither power of two overflows where the product does not.
    half = bitwise.shift_right_arithmetic_p.bind(n, _scalar(n, 1))
    other = ar.sub_p.bind(n, half)
    for exponent in (half, other):
        factor = el.exp2_p.bind(convert(exponent, x.aval.dtype, exponent.aval.weak_type))
        x = _bin(ar.mul_p, x, factor)
    return x


def frexp(x: Any, /) -> tuple[Value, Value]:
    """Return (mantissa in [0.5, 1) with the sign of x, exponent): x = mantissa * 2**exponent.

    Example:
        >>> frexp(10.0)
        (Array(0.625, dtype=float32), Array(4, dtype=int32))
    """
    (x,) = promote_all_inexact("frexp", x)
    if _kind(x) == "c":
        raise TypeError("frexp does not support complex-valued inputs")
    out: tuple[Value, Value] = _frexp(retype(x, x.aval.dtype))
    return out


@custom_jvp
def _frexp(x: Value) -> tuple[Value, Value]:
    info = dtypes.finfo(x.aval.dtype)
    integer = np.dtype(f"int{info.bits}")
    bits = bitcast_convert_type_p.bind
    tiny = cmp.lt_p.bind(ar.abs_p.bind(x), constant(float(info.smallest_normal), x.aval.dtype))
    scaled = ar.mul_p.bind(x, constant(2.0**info.nmant, x.aval.dtype))
    normal = choose_between(tiny, scaled, x)
    word = bits(normal, new_dtype=integer)
    field = (1 << info.nexp) - 1
    exponent = bitwise.and_p.bind(
        bitwise.shift_right_arithmetic_p.bind(word, constant(info.nmant, integer)),
        constant(field, integer),
    )
    exponent = ar.sub_p.bind(exponent, constant(field // 2 - 1, integer))
    offset = choose_between(tiny, constant(-info.nmant, integer), constant(0, integer))
    exponent = convert(ar.add_p.bind(exponent, offset), np.dtype(np.int32))
    kept = bitwise.and_p.bind(word, constant(_signed(~(field << info.nmant), info.bits), integer))
    half = bitwise.or_p.bind(kept, constant((field // 2 - 1) << info.nmant, integer))
    mantissa = bits(half, new_dtype=x.aval.dtype)
    special = bitwise.or_p.bind(
        bitwise.not_p.bind(rounding.is_finite_p.bind(x)), cmp.eq_p.bind(x, _scalar(x, 0))
    )
    return (
        choose_between(special, x, mantissa),
        choose_between(special, constant(0, np.dtype(np.int32)), exponent),
    )


@_frexp.defjvp
def _frexp_jvp(primals: Any, tangents: Any) -> Any:
    # The exponent is constant between powers of two, so the mantissa is x times a constant.
    mantissa, exponent = _frexp(*primals)
    power = convert(ar.neg_p.bind(exponent), mantissa.aval.dtype)
    tangent = ar.mul_p.bind(tangents[0], el.exp2_p.bind(power))
    return (mantissa, exponent), (tangent, np.zeros(exponent.aval.shape, dtypes.float0))


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


# --- rounding and parts ---


def _whole(name: str, primitive: Primitive, text: str) -> Any:
    def function(x: Any, /) -> Value:
        x = as_operand(name, x)
        return x if _kind(x) in "biu" else primitive.bind(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {text}, elementwise; integers stay as they are: ``T[*s] -> T[*s]``."
    return function


floor = _whole("floor", rounding.floor_p, "the greatest whole number that is not greater")
ceil = _whole("ceil", rounding.ceil_p, "the least whole number that is not less")


def trunc(x: Any) -> Value:
    """Return x without its fraction (toward zero), elementwise."""
    x = as_operand("trunc", x)
    if _kind(x) in "biu":
        return x
    is_negative = cmp.lt_p.bind(x, _scalar(x, 0))
    return choose_between(is_negative, rounding.ceil_p.bind(x), rounding.floor_p.bind(x))


def _round_even(x: Value) -> Value:
    if _kind(x) == "c":
        real, imag = parts.real_p.bind(x), parts.imag_p.bind(x)
        return parts.complex_p.bind(_round_even(real), _round_even(imag))
    return rounding.round_p.bind(x, rounding_method=RoundingMethod.TO_NEAREST_EVEN)


def rint(x: Any, /) -> Value:
    """Return the nearest whole number (halves: the even one); integers give floats."""
    x = as_operand("rint", x)
    if _kind(x) in "biu":
        return convert(x, dtypes.default_dtype(float), x.aval.weak_type)
    return _round_even(x)


def round(a: Any, decimals: int = 0, out: None = None) -> Value:
    """Return numbers rounded to ``decimals`` digits after the point, halves to even.

    Raises:
        NotImplementedError: integers and negative ``decimals``.

    Example:
        >>> round(np.float32([2.5, 3.5, 2.567]), 1)
        Array([2.5, 3.5, 2.6], dtype=float32)
    """
    check_arraylike("round", a)
    decimals = operator.index(decimals)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.round is not supported.")
    x = as_operand("round", a)
    if _kind(x) in "iu":
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return x
    if _kind(x) == "b":
        raise ValueError(f"data type {np.bool_} not inexact")
    if decimals == 0:
        return _round_even(x)
    wide = x
    is_half = x.aval.dtype.itemsize == 2
    if is_half:
        wide = convert(x, np.dtype(np.float32), x.aval.weak_type)
    factor = _scalar(wide, 10.0 ** (decimals if decimals > 0 else -decimals))
    up, down = (ar.mul_p, ar.div_p) if decimals > 0 else (ar.div_p, ar.mul_p)
    rounded = down.bind(_round_even(up.bind(wide, factor)), factor)
    return convert(rounded, x.aval.dtype, x.aval.weak_type) if is_half else rounded


def around(a: Any, decimals: int = 0, out: None = None) -> Value:
    """Return what ``round`` does."""
    return round(a, decimals, out)


def modf(x: Any, /, out: None = None) -> tuple[Value, Value]:
    """Return (fraction, whole part), both with the sign of x."""
    (x,) = promote_all_inexact("modf", x)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.modf is not supported.")
    is_positive = cmp.ge_p.bind(x, _scalar(x, 0))
    whole = choose_between(is_positive, rounding.floor_p.bind(x), rounding.ceil_p.bind(x))
    return ar.sub_p.bind(x, whole), whole


def positive(x: Any, /) -> Value:
    """Return x itself."""
    return as_operand("positive", x)


def abs(x: Any, /) -> Value:
    """Return the absolute value, elementwise: ``T[*s] -> T[*s]`` (``c64 -> f32``).

    Example:
        >>> abs(3 - 4j)
        Array(5., dtype=float32, weak_type=True)
    """
    x = as_operand("abs", x)
    return x if _kind(x) in "bu" else ar.abs_p.bind(x)


def absolute(x: Any, /) -> Value:
    """Return the absolute value, elementwise."""
    return abs(as_operand("absolute", x))


def fabs(x: Any, /) -> Value:
    """Return the absolute value as a float, elementwise; TypeError for complex numbers."""
    (x,) = promote_all_inexact("fabs", x)
    if _kind(x) == "c":
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return ar.abs_p.bind(x)


def conjugate(x: Any, /) -> Value:
    """Return the complex conjugate, elementwise; real numbers stay as they are."""
    x = as_operand("conjugate", x)
    return parts.conj_p.bind(x, input_dtype=x.aval.dtype) if _kind(x) == "c" else x


def conj(x: Any, /) -> Value:
    """Return what ``conjugate`` does."""
    return conjugate(x)


def real(val: Any, /) -> Value:
    """Return the real part, elementwise."""
    x = as_operand("real", val)
    return parts.real_p.bind(x) if _kind(x) == "c" else x


def imag(val: Any, /) -> Value:
    """Return the imaginary part, elementwise; zeros for real numbers."""
    x = as_operand("imag", val)
    return parts.imag_p.bind(x) if _kind(x) == "c" else broadcast_like(_scalar(x, 0), x)


def broadcast_like(scalar: Value, x: Value) -> Value:
    """Return a scalar repeated to the shape of ``x``."""
    return broadcast_arrays_to("broadcast", scalar, x)[0]


def angle(z: Any, deg: bool = False) -> Value:
    """Return the angle of complex numbers in radians (degrees if ``deg``).

    Example:
        >>> angle(1j, deg=True)
        Array(90., dtype=float32, weak_type=True)
    """
    re, im = real(as_operand("angle", z)), imag(as_operand("angle", z))
    if _kind(re) in "biu":
        floating = dtypes.default_dtype(float)
        re, im = convert(re, floating), convert(im, floating)
    if _kind(as_operand("angle", z)) != "c":
        re, im = retype(re, re.aval.dtype), retype(im, im.aval.dtype)
    out = trig.atan2_p.bind(im, re)
    return rad2deg(out) if deg else out


def _scaled(name: str, factor: float, text: str) -> Any:
    def function(x: Any, /) -> Value:
        (x,) = promote_all_inexact(name, x)
        return ar.mul_p.bind(x, _scalar(x, factor))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {text}, elementwise; integers give floats."
    return function


deg2rad = _scaled("deg2rad", float(np.pi / 180), "degrees as radians")
radians = _scaled("radians", float(np.pi / 180), "degrees as radians")
rad2deg = _scaled("rad2deg", float(180 / np.pi), "radians as degrees")
degrees = _scaled("degrees", float(180 / np.pi), "radians as degrees")


def log2(x: Any, /) -> Value:
    """Return the logarithm to base 2, elementwise; integers give floats."""
    (x,) = promote_all_inexact("log2", x)
    return _over_log(x, 2.0)


def _over_log(x: Value, base: float) -> Value:
    dtype = x.aval.dtype
    real_dtype = dtypes.to_real_dtype(dtype)
    divisor = el.log_p.bind(constant(base, real_dtype))
    logarithm = el.log_p.bind(x)
    if _kind(x) == "c":
        re, im = parts.real_p.bind(logarithm), parts.imag_p.bind(logarithm)
        return parts.complex_p.bind(ar.div_p.bind(re, divisor), ar.div_p.bind(im, divisor))
    return ar.div_p.bind(logarithm, divisor)


def log10(x: Any, /) -> Value:
    """Return the logarithm to base 10, elementwise; integers give floats."""
    (x,) = promote_all_inexact("log10", x)
    logarithm = el.log_p.bind(x)
    factor = constant(float(1 / np.log(10)), dtypes.to_real_dtype(x.aval.dtype))
    if _kind(x) == "c":
        re, im = parts.real_p.bind(logarithm), parts.imag_p.bind(logarithm)
        return parts.complex_p.bind(ar.mul_p.bind(re, factor), ar.mul_p.bind(im, factor))
    return ar.mul_p.bind(logarithm, factor)


__all__ = [
    "abs",
    "absolute",
    "angle",
    "around",
    "ceil",
    "conj",
    "conjugate",
    "deg2rad",
    "degrees",
    "divmod",
    "fabs",
    "float_power",
    "floor",
    "floor_divide",
    "fmod",
    "frexp",
    "imag",
    "ldexp",
    "log2",
    "log10",
    "mod",
    "modf",
    "positive",
    "pow",
    "power",
    "rad2deg",
    "radians",
    "real",
    "remainder",
    "rint",
    "round",
    "square",
    "trunc",
]  # fmt: skip
