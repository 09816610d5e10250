"""Elementwise functions that are one primitive each. In: arrays of any dtypes and shapes.

Out: one array.

Families in tables: a name, its primitive, what it computes. ``_float_unary`` turns integers into
floats first, ``_unary`` keeps the dtype, ``_binary`` promotes and broadcasts two operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.primitive import Primitive
from jaxlite.numpy.promotion import (
    as_operand,
    bind_broadcast,
    broadcast_arrays_to,
    convert,
    promote,
    promote_inexact,
)
from jaxlite.primitives import arithmetic, bitwise, comparison, elementwise, trigonometric
from jaxlite.primitives import complex as complex_parts
from jaxlite.primitives.random_bits import compare_keys
from jaxlite.primitives.select import select_n_p

Unary = Callable[[Any], Value]
Binary = Callable[[Any, Any], Value]

_BOOL = dtypes.as_dtype(bool)


def _named(function: Any, name: str, text: str, types: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return {text}, elementwise: ``{types}``.\n\n"
        "Raises:\n    TypeError: an argument is a list, None or another object that is no array."
    )


def _float_unary(name: str, primitive: Primitive, text: str, **params: Any) -> Unary:
    bind = primitive.bind

    def function(x: Any, /) -> Value:
        if not isinstance(x, Array):
            x = as_operand(name, x)
        dtype = x.aval.dtype
        inexact = dtypes.to_inexact_dtype(dtype)
        if inexact != dtype:
            x = convert(x, inexact, x.aval.weak_type)
        return bind(x, **params)

    _named(function, name, text, "T[*s] -> T[*s], integers give floats")
    return function


def _unary(name: str, primitive: Primitive, text: str) -> Unary:
    bind = primitive.bind

    def function(x: Any, /) -> Value:
        return bind(x if isinstance(x, Array) else as_operand(name, x))

    _named(function, name, text, "T[*s] -> T[*s]")
    return function


def _binary(
    name: str, primitive: Primitive, text: str, inexact: bool = False, keys: bool = False
) -> Binary:
    together = promote_inexact if inexact else promote

    def function(x: Any, y: Any, /) -> Value:
        x, y = together(name, x, y)
        if keys and isinstance(x.aval.dtype, dtypes.KeyDType):
            return compare_keys(primitive, *broadcast_arrays_to(name, x, y))
        return bind_broadcast(primitive, name, x, y)

    def numbered(x1: Any, x2: Any, /) -> Value:
        return function(x1, x2)

    # Some of NumPy's functions call their operands x1 and x2.
    chosen = numbered if inexact and name != "nextafter" else function
    _named(chosen, name, text, "T[*s], U[*t] -> promoted[*broadcast]")
    return chosen


def _arithmetic(name: str, primitive: Primitive, on_bool: Primitive, text: str) -> Binary:
    """Like ``_binary``; bools have an operation of their own (or, and)."""

    def function(x: Any, y: Any, /) -> Value:
        x, y = promote(name, x, y)
        chosen = on_bool if x.aval.dtype == _BOOL else primitive
        return bind_broadcast(chosen, name, x, y)

    _named(function, name, text, "T[*s], U[*t] -> promoted[*broadcast]")
    return function


def _shift(name: str, signed: Primitive, unsigned: Primitive, text: str) -> Binary:
    def function(x: Any, y: Any, /) -> Value:
        x, y = promote(name, x, y)
        if x.aval.dtype == _BOOL:
            x, y = (convert(a, dtypes.default_dtype(int)) for a in (x, y))
        chosen = unsigned if dtypes.kind_of(x.aval.dtype) == "u" else signed
        return bind_broadcast(chosen, name, x, y)

    def numbered(x1: Any, x2: Any, /) -> Value:
        return function(x1, x2)

    chosen = numbered if signed is not unsigned else function
    _named(chosen, name, text, "T[*s], U[*t] -> promoted[*broadcast]")
    return chosen


sin = _float_unary("sin", trigonometric.sin_p, "the sine")
cos = _float_unary("cos", trigonometric.cos_p, "the cosine")
tan = _float_unary("tan", trigonometric.tan_p, "the tangent")
asin = _float_unary("asin", trigonometric.asin_p, "the inverse sine")
acos = _float_unary("acos", trigonometric.acos_p, "the inverse cosine")
atan = _float_unary("atan", trigonometric.atan_p, "the inverse tangent")
arcsin = _float_unary("arcsin", trigonometric.asin_p, "the inverse sine")
arccos = _float_unary("arccos", trigonometric.acos_p, "the inverse cosine")
arctan = _float_unary("arctan", trigonometric.atan_p, "the inverse tangent")
sinh = _float_unary("sinh", trigonometric.sinh_p, "the hyperbolic sine")
cosh = _float_unary("cosh", trigonometric.cosh_p, "the hyperbolic cosine")
tanh = _float_unary("tanh", elementwise.tanh_p, "the hyperbolic tangent")
asinh = _float_unary("asinh", trigonometric.asinh_p, "the inverse hyperbolic sine")
acosh = _float_unary("acosh", trigonometric.acosh_p, "the inverse hyperbolic cosine")
atanh = _float_unary("atanh", trigonometric.atanh_p, "the inverse hyperbolic tangent")
arcsinh = _float_unary("arcsinh", trigonometric.asinh_p, "the inverse hyperbolic sine")
arccosh = _float_unary("arccosh", trigonometric.acosh_p, "the inverse hyperbolic cosine")
arctanh = _float_unary("arctanh", trigonometric.atanh_p, "the inverse hyperbolic tangent")
exp = _float_unary("exp", elementwise.exp_p, "e**x")
exp2 = _float_unary("exp2", elementwise.exp2_p, "2**x")
expm1 = _float_unary("expm1", elementwise.expm1_p, "e**x - 1, accurate near 0")
log = _float_unary("log", elementwise.log_p, "the natural logarithm")
log1p = _float_unary("log1p", elementwise.log1p_p, "log(1 + x), accurate near 0")
sqrt = _float_unary("sqrt", elementwise.sqrt_p, "the square root")
cbrt = _float_unary("cbrt", elementwise.cbrt_p, "the cube root")
reciprocal = _float_unary("reciprocal", arithmetic.integer_pow_p, "1/x", y=-1)

negative = _unary("negative", arithmetic.neg_p, "-x")
sign = _unary("sign", arithmetic.sign_p, "-1, 0 or 1 (x/|x| if complex)")
invert = _unary("invert", bitwise.not_p, "x with every bit flipped")
bitwise_not = _unary("bitwise_not", bitwise.not_p, "x with every bit flipped")
bitwise_invert = _unary("bitwise_invert", bitwise.not_p, "x with every bit flipped")

add = _arithmetic("add", arithmetic.add_p, bitwise.or_p, "x + y (or, of bools)")
multiply = _arithmetic("multiply", arithmetic.mul_p, bitwise.and_p, "x * y (and, of bools)")
subtract = _binary("subtract", arithmetic.sub_p, "x - y")
true_divide = _binary("true_divide", arithmetic.div_p, "x / y, integers give floats", inexact=True)
divide = _binary("divide", arithmetic.div_p, "x / y, integers give floats", inexact=True)
maximum = _binary("maximum", arithmetic.max_p, "the greater of x and y; NaN wins")
minimum = _binary("minimum", arithmetic.min_p, "the lesser of x and y; NaN wins")
arctan2 = _binary("arctan2", trigonometric.atan2_p, "the angle of the point (y, x)", inexact=True)
atan2 = _binary("atan2", trigonometric.atan2_p, "the angle of the point (y, x)", inexact=True)
nextafter = _binary("nextafter", arithmetic.nextafter_p, "the float after x toward y", inexact=True)
bitwise_and = _binary("bitwise_and", bitwise.and_p, "x & y")
bitwise_or = _binary("bitwise_or", bitwise.or_p, "x | y")
bitwise_xor = _binary("bitwise_xor", bitwise.xor_p, "x ^ y")
_LEFT = (bitwise.shift_left_p, bitwise.shift_left_p, "x << y")
_RIGHT = (bitwise.shift_right_arithmetic_p, bitwise.shift_right_logical_p, "x >> y")
left_shift = _shift("left_shift", *_LEFT)
bitwise_left_shift = _shift("bitwise_left_shift", *_LEFT)
right_shift = _shift("right_shift", *_RIGHT)
bitwise_right_shift = _shift("bitwise_right_shift", *_RIGHT)


def _order(name: str, primitive: Primitive, text: str) -> Binary:
    """Like ``_binary``; complex numbers are ordered by real part, then by imaginary part."""

    def function(x: Any, y: Any, /) -> Value:
        x, y = promote(name, x, y)
        if dtypes.kind_of(x.aval.dtype) != "c":
            return bind_broadcast(primitive, name, x, y)
        x, y = broadcast_arrays_to(name, x, y)
        (a, b), (c, d) = (
            (complex_parts.real_p.bind(v), complex_parts.imag_p.bind(v)) for v in (x, y)
        )
        same = comparison.eq_p.bind(a, c)
        return select_n_p.bind(same, primitive.bind(a, c), primitive.bind(b, d))

    _named(function, name, text, "T[*s], U[*t] -> bool[*broadcast]")
    return function


equal = _binary("equal", comparison.eq_p, "x == y", keys=True)
not_equal = _binary("not_equal", comparison.ne_p, "x != y", keys=True)
less = _order("less", comparison.lt_p, "x < y")
less_equal = _order("less_equal", comparison.le_p, "x <= y")
greater = _order("greater", comparison.gt_p, "x > y")
greater_equal = _order("greater_equal", comparison.ge_p, "x >= y")

__all__ = [
    "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "asin", "asinh", "atan", "atan2", "atanh", "bitwise_invert", "bitwise_left_shift",
    "bitwise_not", "bitwise_right_shift", "cbrt", "cos", "cosh", "divide", "equal", "exp",
    "exp2", "expm1", "greater", "greater_equal", "invert", "left_shift", "less", "less_equal",
    "log", "log1p", "nextafter", "not_equal", "reciprocal", "right_shift", "sign", "sin",
    "sinh", "sqrt", "tan", "tanh", "true_divide",
]  # fmt: skip
