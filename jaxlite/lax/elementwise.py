"""Elementwise ``lax`` functions. In: arrays of one dtype, scalars beside them. Out: one array.

Tables: each row is a public name, its primitive and what it computes. Nothing is promoted:
integers do not become floats, and dtypes that differ are an error (``jnp`` promotes).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.primitive import Primitive
from jaxlite.lax.operands import as_array, broadcast_operands
from jaxlite.lax.shapes import convert_type
from jaxlite.primitives import (
    arithmetic,
    bitwise,
    comparison,
    rounding,
    special,
)
from jaxlite.primitives import (
    complex as complex_parts,
)
from jaxlite.primitives import (
    elementwise as math,
)
from jaxlite.primitives import (
    select as selection,
)
from jaxlite.primitives import (
    trigonometric as trig,
)
from jaxlite.primitives.random_bits import compare_keys
from jaxlite.primitives.rounding import RoundingMethod

Unary = Callable[..., Value]
Binary = Callable[..., Value]


def _document(function: Any, name: str, text: str, types: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return {text}, elementwise: ``{types}``.\n\n"
        "Raises:\n    TypeError: a dtype or shape that does not fit, or no array."
    )


def _unary(name: str, primitive: Primitive, text: str) -> Unary:
    def function(x: Any) -> Value:
        return primitive.bind(as_array(x, name))

    _document(function, name, text, "T[*s] -> T[*s]")
    return function


class AccuracyMode(enum.Enum):
    """How exactly an accelerator may compute; the results here are the most exact ones anyway."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """Errors that an accelerator may make: absolute, relative, in units of the last place."""

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        if atol < 0 or rtol < 0 or ulps < 0:
            raise ValueError("Tolerances must be non-negative.")
        self.atol, self.rtol, self.ulps = atol, rtol, ulps


def _accurate(name: str, primitive: Primitive, text: str) -> Unary:
    """Like ``_unary``, with XLA's ``accuracy``, which changes nothing here."""

    def function(x: Any, *, accuracy: Any = None) -> Value:
        if not (accuracy is None or isinstance(accuracy, (AccuracyMode, Tolerance))):
            raise NotImplementedError(
                f"Accuracy {accuracy} not supported\n  Fix: lax.AccuracyMode or lax.Tolerance."
            )
        return primitive.bind(as_array(x, name))

    _document(function, name, text, "T[*s] -> T[*s]")
    return function


def _nary(name: str, primitive: Primitive, text: str, n: int = 2) -> Binary:
    if n == 2:

        def function(x: Any, y: Any) -> Value:
            return primitive.bind(*broadcast_operands(name, x, y))

    else:

        def function(a: Any, b: Any, x: Any) -> Value:  # type: ignore[misc]
            return primitive.bind(*broadcast_operands(name, a, b, x))

    _document(function, name, text, ", ".join(["T[*s]"] * n) + " -> T[*s]")
    return function


def _equality(name: str, primitive: Primitive, text: str) -> Binary:
    def function(x: Any, y: Any) -> Value:
        x, y = broadcast_operands(name, x, y)
        is_key = x.dtype == y.dtype and isinstance(x.dtype, dtypes.KeyDType)
        return compare_keys(primitive, x, y) if is_key else primitive.bind(x, y)

    _document(function, name, text, "T[*s], T[*s] -> bool[*s]")
    return function


abs = _unary("abs", arithmetic.abs_p, "the absolute value")
neg = _unary("neg", arithmetic.neg_p, "-x")
sign = _unary("sign", arithmetic.sign_p, "-1, 0 or 1 (x/|x| if complex)")
square = _unary("square", arithmetic.square_p, "x*x")
floor = _unary("floor", rounding.floor_p, "the greatest whole number that is not greater")
ceil = _unary("ceil", rounding.ceil_p, "the least whole number that is not less")
is_finite = _unary("is_finite", rounding.is_finite_p, "whether x is neither infinite nor NaN")
acos = _unary("acos", trig.acos_p, "the inverse cosine")
acosh = _unary("acosh", trig.acosh_p, "the inverse hyperbolic cosine")
asin = _unary("asin", trig.asin_p, "the inverse sine")
asinh = _unary("asinh", trig.asinh_p, "the inverse hyperbolic sine")
atan = _unary("atan", trig.atan_p, "the inverse tangent")
atanh = _unary("atanh", trig.atanh_p, "the inverse hyperbolic tangent")
cosh = _unary("cosh", trig.cosh_p, "the hyperbolic cosine")
sinh = _unary("sinh", trig.sinh_p, "the hyperbolic sine")
cos = _accurate("cos", trig.cos_p, "the cosine")
sin = _accurate("sin", trig.sin_p, "the sine")
tan = _accurate("tan", trig.tan_p, "the tangent")
cbrt = _accurate("cbrt", math.cbrt_p, "the cube root")
exp = _accurate("exp", math.exp_p, "e**x")
exp2 = _accurate("exp2", math.exp2_p, "2**x")
expm1 = _accurate("expm1", math.expm1_p, "e**x - 1, accurate near 0")
log = _accurate("log", math.log_p, "the natural logarithm")
log1p = _accurate("log1p", math.log1p_p, "log(1 + x), accurate near 0")
logistic = _accurate("logistic", math.logistic_p, "1/(1 + e**-x)")
rsqrt = _accurate("rsqrt", math.rsqrt_p, "1/sqrt(x)")
sqrt = _accurate("sqrt", math.sqrt_p, "the square root")
tanh = _accurate("tanh", math.tanh_p, "the hyperbolic tangent")
bitwise_not = _unary("bitwise_not", bitwise.not_p, "x with every bit flipped")
population_count = _unary("population_count", bitwise.population_count_p, "the number of 1 bits")
clz = _unary("clz", bitwise.clz_p, "the number of leading 0 bits")
real = _unary("real", complex_parts.real_p, "the real part")
imag = _unary("imag", complex_parts.imag_p, "the imaginary part")
erf = _unary("erf", special.erf_p, "the error function")
erfc = _unary("erfc", special.erfc_p, "1 - erf(x)")
erf_inv = _unary("erf_inv", special.erf_inv_p, "the inverse error function")
lgamma = _unary("lgamma", special.lgamma_p, "log |gamma(x)|")
digamma = _unary("digamma", special.digamma_p, "the derivative of lgamma")
bessel_i0e = _unary("bessel_i0e", special.bessel_i0e_p, "e**-|x| I0(x)")
bessel_i1e = _unary("bessel_i1e", special.bessel_i1e_p, "e**-|x| I1(x)")

add = _nary("add", arithmetic.add_p, "x + y")
sub = _nary("sub", arithmetic.sub_p, "x - y")
div = _nary("div", arithmetic.div_p, "x / y (toward zero for integers)")
rem = _nary("rem", arithmetic.rem_p, "the remainder of x / y with the sign of x")
max = _nary("max", arithmetic.max_p, "the greater of x and y (NaN wins)")
min = _nary("min", arithmetic.min_p, "the lesser of x and y (NaN wins)")


def nextafter(x1: Any, x2: Any) -> Value:
    """Return the float after x toward y, elementwise: ``T[*s], T[*s] -> T[*s]``."""
    return arithmetic.nextafter_p.bind(*broadcast_operands("nextafter", x1, x2))


def mulhi(x: Any, y: Any, /) -> Value:
    """Return the high half of the product, elementwise: ``T[*s], T[*s] -> T[*s]``."""
    return bitwise.mulhi_p.bind(*broadcast_operands("mulhi", x, y))


atan2 = _nary("atan2", trig.atan2_p, "the angle of the point (y, x)")
bitwise_and = _nary("bitwise_and", bitwise.and_p, "x & y")
bitwise_or = _nary("bitwise_or", bitwise.or_p, "x | y")
bitwise_xor = _nary("bitwise_xor", bitwise.xor_p, "x ^ y")
shift_left = _nary("shift_left", bitwise.shift_left_p, "x << y")
shift_right_arithmetic = _nary(
    "shift_right_arithmetic", bitwise.shift_right_arithmetic_p, "x >> y, filled with the top bit"
)
shift_right_logical = _nary(
    "shift_right_logical", bitwise.shift_right_logical_p, "x >> y, filled with zeros"
)
eq = _equality("eq", comparison.eq_p, "x == y")
ne = _equality("ne", comparison.ne_p, "x != y")
lt = _nary("lt", comparison.lt_p, "x < y")
le = _nary("le", comparison.le_p, "x <= y")
gt = _nary("gt", comparison.gt_p, "x > y")
ge = _nary("ge", comparison.ge_p, "x >= y")
complex = _nary("complex", complex_parts.complex_p, "x + iy")


def igamma(a: Any, x: Any) -> Value:
    """Return the regularized lower incomplete gamma function: ``T[*s], T[*s] -> T[*s]``."""
    return special.igamma_p.bind(*broadcast_operands("igamma", a, x))


def igammac(a: Any, x: Any) -> Value:
    """Return the regularized upper incomplete gamma function: ``T[*s], T[*s] -> T[*s]``."""
    return special.igammac_p.bind(*broadcast_operands("igammac", a, x))


def igamma_grad_a(a: Any, x: Any) -> Value:
    """Return the derivative of igamma by a, elementwise: ``T[*s], T[*s] -> T[*s]``."""
    return special.igamma_grad_a_p.bind(*broadcast_operands("igamma_grad_a", a, x))


def random_gamma_grad(a: Any, sample: Any) -> Value:
    """Return the derivative of a sample of Gamma(a) by a: ``T[*s], T[*s] -> T[*s]``."""
    return special.random_gamma_grad_p.bind(*broadcast_operands("random_gamma_grad", a, sample))


def polygamma(m: Any, x: Any) -> Value:
    """Return the m-th derivative of digamma, elementwise: ``T[*s], T[*s] -> T[*s]``."""
    return special.polygamma_p.bind(*broadcast_operands("polygamma", m, x))


def zeta(x: Any, q: Any) -> Value:
    """Return the Hurwitz zeta function, elementwise: ``T[*s], T[*s] -> T[*s]``."""
    return special.zeta_p.bind(*broadcast_operands("zeta", x, q))


betainc = _nary(
    "betainc", special.regularized_incomplete_beta_p, "the regularized incomplete beta function", 3
)


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Value:
    """Return x * y, elementwise: ``T[*s], T[*s] -> T[*s]``.

    Raises:
        TypeError: dtypes differ, or shapes do.

    Example:
        >>> mul(2.0, 3.0)
        Array(6., dtype=float32, weak_type=True)
    """
    x, y = broadcast_operands("mul", x, y)
    if out_dtype is not None:
        dtype = dtypes.requested_dtype(out_dtype, "mul")
        x, y = convert_type(x, dtype, False), convert_type(y, dtype, False)
    return arithmetic.mul_p.bind(x, y)


def pow(x: Any, y: Any) -> Value:
    """Return x**y, elementwise; ``y`` may be an integer array beside a float ``x``.

    Example:
        >>> pow(2.0, 3)
        Array(8., dtype=float32, weak_type=True)
    """
    return arithmetic.pow_p.bind(*broadcast_operands("pow", x, y))


def integer_pow(x: Any, y: int) -> Value:
    """Return x**y for a Python integer y, by repeated multiplication: ``T[*s] -> T[*s]``.

    Example:
        >>> integer_pow(3, 2)
        Array(9, dtype=int32, weak_type=True)
    """
    return arithmetic.integer_pow_p.bind(as_array(x, "integer_pow"), y=int(y))


def reciprocal(x: Any) -> Value:
    """Return 1/x, elementwise: ``T[*s] -> T[*s]``."""
    return integer_pow(x, -1)


def conj(x: Any) -> Value:
    """Return the complex conjugate, elementwise; floats become complex."""
    array = as_array(x, "conj")
    return complex_parts.conj_p.bind(array, input_dtype=array.dtype)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Value:
    """Return the nearest whole number; ``rounding_method`` says where halves go.

    Example:
        >>> round(2.5), round(2.5, RoundingMethod.TO_NEAREST_EVEN)
        (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    return rounding.round_p.bind(
        as_array(x, "round"), rounding_method=RoundingMethod(rounding_method)
    )


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Value:
    """Return floats rounded to a format with so many bits, in the dtype they had."""
    return rounding.reduce_precision_p.bind(
        as_array(operand, "reduce_precision"),
        exponent_bits=int(exponent_bits),
        mantissa_bits=int(mantissa_bits),
    )


def select_n(which: Any, *cases: Any) -> Value:
    """Return ``cases[which]``, elementwise; ``which`` is bool (two cases) or integer.

    Raises:
        TypeError: shapes or dtypes of the cases differ.
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    arrays = [as_array(x, "select_n", i) for i, x in enumerate((which, *cases))]
    return selection.select_n_p.bind(*arrays)


def select(pred: Any, on_true: Any, on_false: Any) -> Value:
    """Return ``on_true`` where ``pred`` holds, else ``on_false``.

    Example:
        >>> select(True, 1.0, 2.0)
        Array(1., dtype=float32, weak_type=True)
    """
    which = as_array(pred, "select")
    if dtypes.kind_of(which.dtype) in "iu":
        which = comparison.ne_p.bind(which, which.dtype.type(0))
    return select_n(which, on_false, on_true)


def clamp(min: Any, x: Any, max: Any) -> Value:
    """Return ``x`` raised to at least ``min``, then lowered to at most ``max`` (scalars or arrays).

    Example:
        >>> clamp(0.0, 1.5, 1.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return selection.clamp_p.bind(
        as_array(min, "clamp"), as_array(x, "clamp", 1), as_array(max, "clamp", 2)
    )


__all__ = [
    "AccuracyMode", "RoundingMethod", "Tolerance", "abs", "acos", "acosh", "add", "asin", "asinh",
    "atan", "atan2", "atanh", "bessel_i0e", "bessel_i1e", "betainc", "bitwise_and", "bitwise_not",
    "bitwise_or", "bitwise_xor", "cbrt", "ceil", "clamp", "clz", "complex", "conj", "cos", "cosh",
    "digamma", "div", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "ge", "gt",
    "igamma", "igamma_grad_a", "igammac", "imag", "integer_pow", "is_finite", "le", "lgamma", "log",
    "log1p", "logistic", "lt", "max", "min", "mul", "mulhi", "ne", "neg", "nextafter", "polygamma",
    "population_count", "pow", "random_gamma_grad", "real", "reciprocal", "reduce_precision", "rem",
    "round", "rsqrt", "select", "select_n", "shift_left", "shift_right_arithmetic",
    "shift_right_logical", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh", "zeta",
]  # fmt: skip
