"""Questions about elements: closeness, finiteness, truth. In: arrays. Out: bools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.primitive import Primitive
from jaxlite.lax.operands import constant
from jaxlite.lax.shapes import full
from jaxlite.numpy.choosing import choose_between, truth
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.promotion import (
    as_operand,
    bind_broadcast,
    check_arraylike,
    promote,
    promote_all,
    promote_inexact,
)
from jaxlite.primitives import (
    arithmetic as ar,
)
from jaxlite.primitives import (
    bitwise,
    rounding,
)
from jaxlite.primitives import (
    comparison as cmp,
)
from jaxlite.primitives import (
    complex as parts,
)
from jaxlite.primitives.convert import bitcast_convert_type_p, convert_element_type_p
from jaxlite.primitives.reduction import reduce_and_p

_BOOL = np.dtype(np.bool_)


def _kind(x: Value) -> str:
    return dtypes.kind_of(x.aval.dtype)


def _constant_answer(x: Value, answer: bool) -> Value:
    return full(x.aval.shape, answer, _BOOL)


def _logical(name: str, primitive: Primitive, text: str) -> Callable[[Any, Any], Value]:
    def function(x: Any, y: Any, /) -> Value:
        check_arraylike(name, x, y)
        a, b = truth(as_operand(name, x)), truth(as_operand(name, y, 1))
        return bind_broadcast(primitive, name, a, b)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {text} of the truth of two arrays, elementwise: ``-> bool[*s]``."
    return function


logical_and = _logical("logical_and", bitwise.and_p, "and")
logical_or = _logical("logical_or", bitwise.or_p, "or")
logical_xor = _logical("logical_xor", bitwise.xor_p, "exclusive or")


def logical_not(x: Any, /) -> Value:
    """Return whether elements are 0 (False): ``T[*s] -> bool[*s]``."""
    return bitwise.not_p.bind(truth(as_operand("logical_not", x)))


def isnan(x: Any, /) -> Value:
    """Return whether elements are NaN: ``T[*s] -> bool[*s]``.

    Example:
        >>> isnan(np.float32([1, np.nan]))
        Array([False,  True], dtype=bool)
    """
    x = as_operand("isnan", x)
    return cmp.ne_p.bind(x, x)


def isfinite(x: Any, /) -> Value:
    """Return whether elements are neither infinite nor NaN: ``T[*s] -> bool[*s]``."""
    x = as_operand("isfinite", x)
    match _kind(x):
        case "f":
            return rounding.is_finite_p.bind(x)
        case "c":
            re = rounding.is_finite_p.bind(parts.real_p.bind(x))
            return bitwise.and_p.bind(re, rounding.is_finite_p.bind(parts.imag_p.bind(x)))
        case _:
            return _constant_answer(x, True)


def isinf(x: Any, /) -> Value:
    """Return whether elements are infinite: ``T[*s] -> bool[*s]``."""
    x = as_operand("isinf", x)
    match _kind(x):
        case "f":
            return cmp.eq_p.bind(ar.abs_p.bind(x), constant(np.inf, x.aval.dtype, x.aval.weak_type))
        case "c":
            return bitwise.or_p.bind(isinf(parts.real_p.bind(x)), isinf(parts.imag_p.bind(x)))
        case _:
            return _constant_answer(x, False)


def _signed_infinity(name: str, value: float) -> Callable[..., Value]:
    def function(x: Any, /, out: None = None) -> Value:
        x = as_operand(name, x)
        if out is not None:
            raise NotImplementedError("The 'out' argument to isneginf/isposinf is not supported.")
        match _kind(x):
            case "f":
                return cmp.eq_p.bind(x, constant(value, x.aval.dtype, x.aval.weak_type))
            case "c":
                raise ValueError("isposinf/isneginf are not well defined for complex types")
            case _:
                return _constant_answer(x, False)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return whether elements are {value}: ``T[*s] -> bool[*s]``."
    return function


isposinf = _signed_infinity("isposinf", np.inf)
isneginf = _signed_infinity("isneginf", -np.inf)


def _imaginary(x: Value) -> Value:
    return parts.imag_p.bind(x)


def iscomplex(x: Any) -> Value:
    """Return whether elements have an imaginary part other than 0: ``T[*s] -> bool[*s]``."""
    x = as_operand("iscomplex", x)
    return truth(_imaginary(x)) if _kind(x) == "c" else _constant_answer(x, False)


def isreal(x: Any) -> Value:
    """Return whether elements have no imaginary part: ``T[*s] -> bool[*s]``."""
    return bitwise.not_p.bind(iscomplex(as_operand("isreal", x)))


def iscomplexobj(x: Any) -> bool:
    """Return whether ``x`` has a complex dtype.

    Example:
        >>> iscomplexobj(1j), iscomplexobj(1.0)
        (True, False)
    """
    if isinstance(x, list | tuple):
        return any(iscomplexobj(item) for item in x)
    try:
        return dtypes.kind_of(dtypes.dtype(x)) == "c"
    except TypeError:
        return bool(np.iscomplexobj(x))


def isrealobj(x: Any) -> bool:
    """Return whether ``x`` has no complex dtype."""
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Return whether ``element`` is a number or an array without axes."""
    if isinstance(element, Array | np.ndarray | np.generic) or hasattr(element, "__jax_array__"):
        return bool(np.ndim(element) == 0) if not isinstance(element, Array) else element.ndim == 0
    return bool(np.isscalar(element))


def signbit(x: Any, /) -> Value:
    """Return whether the sign bit is set (also that of -0.0): ``T[*s] -> bool[*s]``."""
    x = as_operand("signbit", x)
    match _kind(x):
        case "f":
            bits = dtypes.bit_width(x.aval.dtype)
            integer = np.dtype(f"int{bits}")
            word = bitcast_convert_type_p.bind(x, new_dtype=integer)
            top = bitwise.shift_right_arithmetic_p.bind(word, constant(bits - 1, integer))
            return convert_element_type_p.bind(top, new_dtype=_BOOL, weak_type=False, sharding=None)
        case "i":
            return cmp.lt_p.bind(x, constant(0, x.aval.dtype, x.aval.weak_type))
        case "u" | "b":
            return _constant_answer(x, False)
        case _:
            raise ValueError(
                f"jax.numpy.signbit is not well defined for {dtypes.name_of(x.aval.dtype)}"
            )


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Value:
    """Return whether |a - b| <= atol + rtol * |b|, elementwise; equal infinities are close.

    Args:
        a: ``T[*s]``.
        b: ``U[*t]``, broadcast against ``a``.
        rtol: relative tolerance.
        atol: absolute tolerance.
        equal_nan: whether two NaNs are close.

    Example:
        >>> isclose(1.0, 1.0 + 1e-6)
        Array(True, dtype=bool)
    """
    check_arraylike("isclose", a, b)
    a, b = promote("isclose", a, b)
    if isinstance(a.aval.dtype, dtypes.KeyDType):
        return bind_broadcast(cmp.eq_p, "isclose", a, b)
    if _kind(a) in "iu":
        a, b = promote_inexact("isclose", a, b)
    if _kind(a) == "b":
        return bind_broadcast(cmp.eq_p, "isclose", *_strong(a, b))
    real_dtype = dtypes.to_real_dtype(a.aval.dtype)
    rtol, atol = (_tolerance(t, real_dtype) for t in (rtol, atol))
    a, b = _strong(a, b)
    distance = ar.abs_p.bind(bind_broadcast(ar.sub_p, "isclose", a, b))
    allowed = bind_broadcast(
        ar.add_p, "isclose", atol, bind_broadcast(ar.mul_p, "isclose", rtol, ar.abs_p.bind(b))
    )
    is_near = bind_broadcast(cmp.le_p, "isclose", distance, allowed)
    finite = bind_broadcast(bitwise.and_p, "isclose", isfinite(a), isfinite(b))
    same = bind_broadcast(cmp.eq_p, "isclose", a, b)
    out = choose_between(finite, is_near, same)
    if equal_nan:
        both = bind_broadcast(bitwise.and_p, "isclose", isnan(a), isnan(b))
        out = bitwise.or_p.bind(out, both)
    return out


def _strong(*arrays: Value) -> list[Value]:
    return [
        convert_element_type_p.bind(
            x, new_dtype=x.aval.dtype, weak_type=False, sharding=None
        ) if x.aval.weak_type else x
        for x in arrays
    ]  # fmt: skip


def _tolerance(t: Any, dtype: Any) -> Value:
    if isinstance(t, int | float):
        return constant(t, dtype)
    (out,) = promote_all("isclose", t)
    return convert_element_type_p.bind(out, new_dtype=dtype, weak_type=False, sharding=None)


def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Value:
    """Return whether all elements are close (see ``isclose``): ``-> bool[]``.

    Example:
        >>> allclose(np.float32([1, 2]), np.float32([1, 2.1]))
        Array(False, dtype=bool)
    """
    check_arraylike("allclose", a, b)
    return all_of(isclose(a, b, rtol, atol, equal_nan))


def all_of(x: Value) -> Value:
    """Return whether all elements of a bool array hold: ``bool[*s] -> bool[]``."""
    return reduce_and_p.bind(x, axes=tuple(range(x.aval.ndim)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Value:
    """Return whether two arrays have the same shape and elements: ``-> bool[]``.

    Example:
        >>> array_equal(np.arange(3), np.float32([0, 1, 2]))
        Array(True, dtype=bool)
    """
    a, b = asarray(a1), asarray(a2)
    if a.shape != b.shape:
        return constant(False, _BOOL)
    a, b = promote("array_equal", a, b)
    same = cmp.eq_p.bind(*_strong(a, b))
    if equal_nan:
        same = bitwise.or_p.bind(same, bitwise.and_p.bind(*(isnan(x) for x in _strong(a, b))))
    return all_of(same)


def array_equiv(a1: Any, a2: Any) -> Value:
    """Return whether two arrays are equal after broadcasting: ``-> bool[]``."""
    a, b = promote("array_equiv", asarray(a1), asarray(a2))
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return constant(False, _BOOL)
    return all_of(bind_broadcast(cmp.eq_p, "array_equiv", *_strong(a, b)))


__all__ = [
    "allclose", "array_equal", "array_equiv", "isclose", "iscomplex", "iscomplexobj",
    "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "isscalar",
    "logical_not", "signbit",
]  # fmt: skip
