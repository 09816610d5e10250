"""Polynomials as vectors of coefficients, the highest power first. In: coefficients.

Out: values or coefficients.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.api.loops import scan
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import shapes
from jaxlite.lax.operands import constant
from jaxlite.numpy import ufuncs
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.indexing import concrete_data
from jaxlite.numpy.joining import concatenate
from jaxlite.numpy.promotion import (
    broadcast_value,
    check_arraylike,
    promote_all,
    promote_all_inexact,
    retype,
)
from jaxlite.numpy.ranges import arange
from jaxlite.numpy.rearrange import atleast_1d
from jaxlite.numpy.repeating import trim_zeros
from jaxlite.numpy.signal import convolve


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Value:
    """Return the value of a polynomial at ``x`` (Horner's rule).

    Args:
        p: coefficients ``T[n, *t]``, the highest power first.
        x: ``U[*s]``.
        unroll: how many steps of the loop are written out.

    Example:
        >>> polyval(np.array([1, 0, 2]), 3)
        Array(11, dtype=int32)
    """
    check_arraylike("polyval", p, x)
    coefficients, value = promote_all("polyval", p, x)
    coefficients, value = retype(coefficients, coefficients.dtype), retype(value, value.dtype)
    shape = shapes.broadcast_shapes(coefficients.shape[1:], value.shape)
    start = shapes.full(shape, 0, value.dtype)
    at = broadcast_value(value, shape)

    def step(total: Value, c: Value) -> tuple[Value, None]:
        return ufuncs.add(ufuncs.multiply(total, at), c), None

    out: Value = scan(step, start, coefficients, unroll=unroll)[0]
    return out


def polyadd(a1: Any, a2: Any) -> Value:
    """Return the coefficients of the sum of two polynomials."""
    check_arraylike("polyadd", a1, a2)
    return ufuncs.add(*_same_degree(*promote_all("polyadd", a1, a2)))


def polysub(a1: Any, a2: Any) -> Value:
    """Return the coefficients of the difference of two polynomials."""
    check_arraylike("polysub", a1, a2)
    return ufuncs.subtract(*_same_degree(*promote_all("polysub", a1, a2)))


def _same_degree(a: Value, b: Value) -> tuple[Value, Value]:
    a, b = atleast_1d(a, b)
    n = max(a.shape[0], b.shape[0])
    padded = [
        shapes.pad(v, constant(0, v.dtype), ((n - v.shape[0], 0, 0),)) if v.shape[0] < n else v
        for v in (a, b)
    ]
    return padded[0], padded[1]


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Value:
    """Return the coefficients of the product of two polynomials."""
    check_arraylike("polymul", a1, a2)
    a, b = promote_all_inexact("polymul", a1, a2)
    if trim_leading_zeros and min(a.size, b.size) > 1:
        a, b = trim_zeros(a, "f"), trim_zeros(b, "f")
    zero = shapes.full((1,), 0, a.dtype)
    return convolve(a if a.size else zero, b if b.size else zero)


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Value, Value]:
    """Return (quotient, remainder) of two polynomials."""
    check_arraylike("polydiv", u, v)
    a, b = promote_all_inexact("polydiv", u, v)
    m, n = a.shape[0] - 1, b.shape[0] - 1
    quotient = []
    rest = a
    for k in range(m - n + 1):
        factor = ufuncs.divide(rest[k], b[0])
        quotient.append(factor)
        window = (k, m - n - k, 0)
        rest = ufuncs.subtract(
            rest, shapes.pad(ufuncs.multiply(factor, b), constant(0, b.dtype), (window,))
        )
    q = shapes.stack(quotient) if quotient else shapes.full((1,), 0, a.dtype)
    return q, trim_zeros(rest, "f") if trim_leading_zeros else rest


def polyder(p: Any, m: int = 1) -> Value:
    """Return the coefficients of the ``m``-th derivative."""
    check_arraylike("polyder", p)
    (c,) = promote_all_inexact("polyder", p)
    m = operator.index(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    for _ in range(m):
        n = c.shape[0]
        powers = arange(n - 1, 0, -1, dtype=dtypes.to_real_dtype(c.dtype))
        c = ufuncs.multiply(c[:-1], powers)
    return c


def polyint(p: Any, m: int = 1, k: Any = None) -> Value:
    """Return the coefficients of the ``m``-th integral, with constants ``k`` (0)."""
    m = operator.index(m)
    check_arraylike("polyint", p, 0 if k is None else k)
    c, constants = promote_all_inexact("polyint", p, 0 if k is None else k)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = atleast_1d(constants)
    if constants.shape[0] == 1:
        constants = broadcast_value(constants, (m,)) if m else constants
    if m and constants.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    for step in range(m):
        n = c.shape[0]
        powers = arange(n, 0, -1, dtype=dtypes.to_real_dtype(c.dtype))
        c = concatenate([ufuncs.divide(c, powers), constants[step : step + 1]])
    return c


def poly(seq_of_zeros: Any) -> Value:
    """Return the coefficients of the polynomial with these zeros (a vector)."""
    check_arraylike("poly", seq_of_zeros)
    (zeros,) = promote_all_inexact("poly", seq_of_zeros)
    zeros = atleast_1d(zeros)
    if zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    out = shapes.full((1,), 1, zeros.dtype)
    for k in range(zeros.shape[0]):
        factor = concatenate([shapes.full((1,), 1, zeros.dtype), ufuncs.negative(zeros[k : k + 1])])
        out = convolve(out, factor)
    return out


def roots(p: Any, *, strip_zeros: bool = True) -> Value:
    """Return the zeros of a polynomial (eigenvalues of its companion matrix), computed on the host.

    Raises:
        ConcretizationTypeError: traced coefficients.
    """
    check_arraylike("roots", p)
    (c,) = promote_all_inexact("roots", p)
    if c.ndim != 1:
        raise ValueError(f"Input must be a rank-1 array, got shape {c.shape}")
    data = concrete_data(c)
    if data is None:
        raise errors.ConcretizationTypeError(c, "jnp.roots needs the values of its argument.\n")
    found = np.roots(data)
    return asarray(found.astype(dtypes.to_complex_dtype(c.dtype)))


__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval", "roots",
]  # fmt: skip
