"""Mathematical functions made of several primitives. In: arrays of any dtypes.

Out: arrays, elementwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.api.loops import while_loop
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax.operands import constant
from jaxlite.numpy.arithmetic import imag, real
from jaxlite.numpy.choosing import choose_between
from jaxlite.numpy.logic import isnan, signbit
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
from jaxlite.numpy.reductions import any as any_of
from jaxlite.primitives import arithmetic as ar
from jaxlite.primitives import bitwise, special
from jaxlite.primitives import comparison as cmp
from jaxlite.primitives import complex as parts
from jaxlite.primitives import elementwise as el
from jaxlite.primitives import trigonometric as trig


def _kind(x: Value) -> str:
    return dtypes.kind_of(x.aval.dtype)


def _like(x: Value, value: Any) -> Value:
    return constant(value, x.aval.dtype, x.aval.weak_type)


def hypot(x1: Any, x2: Any, /) -> Value:
    """Return sqrt(x1**2 + x2**2) without overflow on the way, elementwise.

    Raises:
        ValueError: complex arguments.

    Example:
        >>> hypot(3, 4)
        Array(5., dtype=float32, weak_type=True)
    """
    x, y = promote_inexact("hypot", x1, x2)
    if _kind(x) == "c":
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs. Please convert to real "
            "values first, "
            "such as by using abs(x)"
        )
    x, y = broadcast_arrays_to("hypot", ar.abs_p.bind(x), ar.abs_p.bind(y))
    infinite = bitwise.or_p.bind(
        cmp.eq_p.bind(x, _like(x, np.inf)), cmp.eq_p.bind(y, _like(y, np.inf))
    )
    high, low = ar.max_p.bind(x, y), ar.min_p.bind(x, y)
    is_zero = cmp.eq_p.bind(high, _like(high, 0))
    ratio = ar.div_p.bind(low, choose_between(is_zero, _like(high, 1), high))
    scaled = el.sqrt_p.bind(ar.add_p.bind(ar.square_p.bind(ratio), _like(ratio, 1)))
    out = choose_between(is_zero, high, ar.mul_p.bind(high, scaled))
    return choose_between(infinite, _like(out, np.inf), out)


def _log_add(name: str, exp: Any, factor: float) -> Callable[[Any, Any], Value]:
    """log_b(b**x + b**y) = max + log1p(b**-|x - y|) / log(b), with no overflow."""

    def function(x1: Any, x2: Any, /) -> Value:
        return value(*broadcast_arrays_to(name, *promote_inexact(name, x1, x2)))

    @custom_jvp
    def value(x: Value, y: Value) -> Value:
        high = ar.max_p.bind(x, y)
        if _kind(x) == "c":
            return _complex_log_add(x, y, high, exp, factor)
        distance = ar.sub_p.bind(x, y)
        rest = el.log1p_p.bind(exp.bind(ar.neg_p.bind(ar.abs_p.bind(distance))))
        if factor != 1.0:
            rest = ar.mul_p.bind(rest, _like(rest, factor))
        # Equal infinities differ by NaN; their sum is right.
        return choose_between(isnan(distance), ar.add_p.bind(x, y), ar.add_p.bind(high, rest))

    @value.defjvp
    def derivative(primals: Any, tangents: Any) -> tuple[Value, Value]:
        out = value(*primals)
        # b**x / (b**x + b**y): smooth where x equals y, 1 where both are infinite.
        shares = [
            exp.bind(ar.sub_p.bind(_without_infinity(x), _without_infinity(out))) for x in primals
        ]
        parts_ = [ar.mul_p.bind(t, share) for t, share in zip(tangents, shares, strict=True)]
        return out, ar.add_p.bind(*parts_)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return {_LOG_TEXT[name]} without overflow, elementwise; integers give floats."
    )
    return function


def _without_infinity(x: Value) -> Value:
    infinite = cmp.eq_p.bind(x, _like(x, np.inf))
    return choose_between(infinite, _like(x, 0), x)


_LOG_TEXT = {"logaddexp": "log(e**x1 + e**x2)", "logaddexp2": "log2(2**x1 + 2**x2)"}


def _complex_log_add(x: Value, y: Value, high: Value, exp: Any, factor: float) -> Value:
    distance = ar.sub_p.bind(ar.add_p.bind(x, y), ar.mul_p.bind(high, _like(high, 2)))
    rest = el.log1p_p.bind(exp.bind(distance))
    out = ar.add_p.bind(high, ar.mul_p.bind(rest, _like(rest, factor)))
    re, im = parts.real_p.bind(out), parts.imag_p.bind(out)
    turn = 2 * np.pi * factor
    shifted = ar.rem_p.bind(ar.add_p.bind(im, _like(im, turn / 2)), _like(im, turn))
    is_negative = cmp.lt_p.bind(shifted, _like(shifted, 0))
    wrapped = choose_between(is_negative, ar.add_p.bind(shifted, _like(shifted, turn)), shifted)
    return parts.complex_p.bind(re, ar.sub_p.bind(wrapped, _like(wrapped, turn / 2)))


logaddexp = _log_add("logaddexp", el.exp_p, 1.0)
logaddexp2 = _log_add("logaddexp2", el.exp2_p, float(1 / np.log(2)))


def sinc(x: Any, /) -> Value:
    """Return sin(pi x) / (pi x), and 1 at 0, elementwise.

    Example:
        >>> sinc(np.float32([0, 0.5]))
        Array([1.       , 0.6366198], dtype=float32)
    """
    (x,) = promote_all_inexact("sinc", x)
    is_zero = cmp.eq_p.bind(x, _like(x, 0))
    angle = ar.mul_p.bind(_like(x, np.pi), x)
    safe = choose_between(is_zero, _like(x, 1), angle)
    ratio = ar.div_p.bind(trig.sin_p.bind(safe), safe)
    # The series at 0 has the right value and derivatives: 1 - y/6 + y**2/120, y = (pi x)**2.
    y = ar.square_p.bind(angle)
    inner = ar.sub_p.bind(ar.mul_p.bind(y, _like(y, 1 / 120)), _like(y, 1 / 6))
    series = ar.add_p.bind(ar.mul_p.bind(y, inner), _like(y, 1))
    return choose_between(is_zero, series, ratio)


def heaviside(x1: Any, x2: Any, /) -> Value:
    """Return 0 where x1 < 0, 1 where x1 > 0, x2 where x1 is 0, elementwise."""
    check_arraylike("heaviside", x1, x2)
    x, y = promote_inexact("heaviside", x1, x2)
    zero = _like(x, 0)
    out = choose_between(isnan(x), x, y)
    out = choose_between(cmp.gt_p.bind(x, zero), _like(out, 1), out)
    return choose_between(cmp.lt_p.bind(x, zero), _like(out, 0), out)


def copysign(x1: Any, x2: Any, /) -> Value:
    """Return |x1| with the sign of x2, elementwise; integers give floats."""
    x, y = promote_inexact("copysign", x1, x2)
    if _kind(x) == "c":
        raise TypeError("copysign does not support complex-valued inputs")
    size = ar.abs_p.bind(x)
    return choose_between(signbit(y), ar.neg_p.bind(size), size)


def fmax(x1: Any, x2: Any) -> Value:
    """Return the greater of x1 and x2, elementwise; a number wins over NaN."""
    return _ignoring_nan("fmax", x1, x2, greater=True)


def fmin(x1: Any, x2: Any) -> Value:
    """Return the lesser of x1 and x2, elementwise; a number wins over NaN."""
    return _ignoring_nan("fmin", x1, x2, greater=False)


def _ignoring_nan(name: str, x1: Any, x2: Any, greater: bool) -> Value:
    x, y = promote(name, x1, x2)
    if _kind(x) == "c":
        first = _complex_before(x, y, greater)
    else:
        first = bind_broadcast(cmp.gt_p if greater else cmp.lt_p, name, x, y)
    takes_x = bind_broadcast(bitwise.or_p, name, first, isnan(y))
    return choose_between(takes_x, x, y, name)


def _complex_before(x: Value, y: Value, greater: bool) -> Value:
    compare = cmp.gt_p if greater else cmp.lt_p
    (a, b), (c, d) = ((real(v), imag(v)) for v in (x, y))
    by_imag = bind_broadcast(compare, "fmax", b, d)
    by_real = bind_broadcast(compare, "fmax", a, c)
    return choose_between(bind_broadcast(cmp.eq_p, "fmax", a, c), by_imag, by_real)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Value:
    """Return ``x`` with NaN and infinities replaced by numbers, elementwise.

    Args:
        x: ``T[*s]``.
        copy: accepted.
        nan: in place of NaN.
        posinf: in place of inf (the greatest number).
        neginf: in place of -inf (the least number).

    Example:
        >>> nan_to_num(np.float32([np.nan, np.inf]), posinf=9.0)
        Array([0., 9.], dtype=float32)
    """
    check_arraylike("nan_to_num", x)
    value = as_operand("nan_to_num", x)
    if _kind(value) in "biu":
        return value
    value = retype(value, value.aval.dtype)
    if _kind(value) == "c":
        pair = [nan_to_num(p, copy, nan, posinf, neginf) for p in (real(value), imag(value))]
        return parts.complex_p.bind(*pair)
    info = dtypes.finfo(value.aval.dtype)
    out = choose_between(isnan(value), _replacement(nan, value), value)
    limits = (
        (np.inf, info.max if posinf is None else posinf),
        (-np.inf, info.min if neginf is None else neginf),
    )
    for infinity, limit in limits:
        hit = cmp.eq_p.bind(out, _like(out, infinity))
        out = choose_between(hit, _replacement(limit, value), out)
    return out


def _replacement(value: Any, like: Value) -> Value:
    if isinstance(value, int | float | np.generic):
        return constant(float(value), like.aval.dtype)
    return retype(as_operand("nan_to_num", value), like.aval.dtype)


def i0(x: Any) -> Value:
    """Return the modified Bessel function of order 0, elementwise."""
    (value,) = promote_all_inexact("i0", x)
    if _kind(value) == "c":
        raise ValueError(
            f"Unsupported input type to jax.numpy.i0: {dtypes.name_of(value.aval.dtype)}"
        )
    size = ar.abs_p.bind(value)
    return ar.mul_p.bind(el.exp_p.bind(size), special.bessel_i0e_p.bind(value))


def spacing(x: Any, /) -> Value:
    """Return the distance to the next number away from 0, elementwise."""
    (value,) = promote_all_inexact("spacing", x)
    value = retype(value, value.aval.dtype)
    if _kind(value) == "c":
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    away = copysign(constant(np.inf, value.aval.dtype), value)
    return ar.sub_p.bind(bind_broadcast(ar.nextafter_p, "spacing", value, away), value)


def bitwise_count(x: Any, /) -> Value:
    """Return the number of 1 bits of the absolute value, elementwise, as uint8."""
    value = as_operand("bitwise_count", x)
    if _kind(value) == "b":
        value = convert(value, dtypes.default_dtype(int))
    if _kind(value) != "u":
        value = ar.abs_p.bind(value)
    return retype(bitwise.population_count_p.bind(value), np.dtype(np.uint8))


# --- divisors ---


def _integers(name: str, x1: Any, x2: Any) -> tuple[Value, Value]:
    check_arraylike(name, x1, x2)
    x, y = promote(name, x1, x2)
    if _kind(x) not in "iu":
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers.")
    x, y = broadcast_arrays_to(name, x, y)
    return x, y


def _size(x: Value) -> Value:
    return x if _kind(x) == "u" else ar.abs_p.bind(x)


def gcd(x1: Any, x2: Any) -> Value:
    """Return the greatest common divisor, elementwise (Euclid's algorithm).

    Raises:
        ValueError: arguments that are no integers.

    Example:
        >>> gcd(12, 18)
        Array(6, dtype=int32, weak_type=True)
    """
    x, y = _integers("gcd", x1, x2)

    def step(state: tuple[Value, Value]) -> tuple[Value, Value]:
        a, b = state
        is_done = cmp.eq_p.bind(b, _like(b, 0))
        rest = ar.rem_p.bind(a, choose_between(is_done, _like(b, 1), b))
        return choose_between(is_done, a, b), choose_between(is_done, _like(b, 0), rest)

    out: Value = while_loop(
        lambda s: any_of(cmp.ne_p.bind(s[1], _like(s[1], 0))), step, (_size(x), _size(y))
    )[0]
    return out


def lcm(x1: Any, x2: Any) -> Value:
    """Return the least common multiple, elementwise; ValueError unless integers."""
    x, y = _integers("lcm", x1, x2)
    x, y = _size(x), _size(y)
    divisor = gcd(x, y)
    is_zero = cmp.eq_p.bind(divisor, _like(divisor, 0))
    safe = choose_between(is_zero, _like(divisor, 1), divisor)
    product = ar.mul_p.bind(x, ar.div_p.bind(y, safe))
    return choose_between(is_zero, _like(product, 0), product)


__all__ = [
    "bitwise_count", "copysign", "fmax", "fmin", "gcd", "heaviside", "hypot", "i0", "lcm",
    "nan_to_num", "sinc", "spacing",
]  # fmt: skip
