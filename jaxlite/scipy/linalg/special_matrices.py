"""Matrices with names. In: sizes, or the vectors that they are made of. Out: matrices."""

from __future__ import annotations

import importlib
import operator
from typing import Any

import numpy as np

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.numpy.promotion import as_operand, check_arraylike, promote_all, promote_all_inexact

__all__ = [
    "block_diag", "circulant", "companion", "convolution_matrix", "dft", "fiedler",
    "fiedler_companion", "hadamard", "hankel", "helmert", "hilbert", "invhilbert", "invpascal",
    "leslie", "pascal", "toeplitz",
]  # fmt: skip


_KINDS = ("symmetric", "lower", "upper")


def _constant(name: str, *args: Any, dtype: Any = float, **keywords: Any) -> Value:
    """Return SciPy's matrix of that name, in ``dtype`` (floats: the default precision)."""
    function = getattr(importlib.import_module("scipy.linalg"), name)
    return jnp.asarray(np.asarray(function(*args, **keywords)), dtype=dtype)


def block_diag(*arrs: Any) -> Value:
    """Return matrices along the diagonal of a large one, zeros elsewhere.

    Raises:
        ValueError: operands with more than two axes.

    >>> block_diag(np.float32([[1]]), np.float32([[2, 3]]))
    Array([[1., 0., 0.],
           [0., 2., 3.]], dtype=float32)
    """
    if not arrs:
        arrs = (jnp.zeros((1, 0)),)
    check_arraylike("block_diag", *arrs)
    bad = [k for k, a in enumerate(arrs) if np.ndim(a) > 2]
    if bad:
        raise ValueError(
            "Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got "
            f"{arrs[bad[0]]} at argument {bad[0]}."
        )
    blocks = [jnp.atleast_2d(a) for a in promote_all("block_diag", *arrs)]
    width = sum(b.shape[1] for b in blocks)
    rows, left = [], 0
    for block in blocks:
        right = width - left - block.shape[1]
        rows.append(jnp.pad(block, ((0, 0), (left, right))))
        left += block.shape[1]
    return jnp.concatenate(rows, 0)


def _vector(name: str, x: Any) -> Value:
    check_arraylike(name, x)
    return as_operand(name, x)


def _toeplitz(values: Value, rows: int, columns: int) -> Value:
    """Return ``out[i, j] = values[i - j + columns - 1]`` along the last axis."""
    places = np.arange(rows)[:, None] - np.arange(columns) + columns - 1
    return values[..., places]


def toeplitz(c: Any, r: Any = None) -> Value:
    """Return the matrices with first column ``c`` and first row ``r``, constant along diagonals.

    Args:
        c: ``T[*b, m]``.
        r: ``T[*b, n]``, whose first element is not read; None takes the conjugate of ``c``.

    >>> toeplitz(np.float32([1, 2]))
    Array([[1., 2.],
           [2., 1.]], dtype=float32)
    """
    if r is None:
        column = jnp.atleast_1d(_vector("toeplitz", c))
        row = jnp.conj(column)
    else:
        check_arraylike("toeplitz", c, r)
        column, row = (jnp.atleast_1d(x) for x in promote_all("toeplitz", c, r))
    m, n = column.shape[-1], row.shape[-1]
    batch = jnp.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    if m == 0 or n == 0:
        return jnp.zeros((*batch, m, n), column.dtype)
    column = jnp.broadcast_to(column, (*batch, m))
    row = jnp.broadcast_to(row, (*batch, n))
    return _toeplitz(jnp.concatenate([jnp.flip(row[..., 1:], -1), column], -1), m, n)


def hankel(c: Any, r: Any = None) -> Value:
    """Return the matrices with first column ``c`` and last row ``r``, constant along antidiagonals.

    Args:
        c: ``T[*b, m]``.
        r: ``T[*b, n]``, whose first element is not read; None takes zeros.
    """
    if r is None:
        column = jnp.atleast_1d(_vector("hankel", c))
        row = jnp.zeros_like(column)
    else:
        check_arraylike("hankel", c, r)
        column, row = (jnp.atleast_1d(x) for x in promote_all("hankel", c, r))
    m, n = column.shape[-1], row.shape[-1]
    batch = jnp.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    if m == 0 or n == 0:
        return jnp.zeros((*batch, m, n), column.dtype)
    column = jnp.broadcast_to(column, (*batch, m))
    row = jnp.broadcast_to(row, (*batch, n))
    values = jnp.concatenate([column, row[..., 1:]], -1)
    return values[..., np.arange(m)[:, None] + np.arange(n)]


def circulant(c: Any) -> Value:
    """Return the matrices whose columns are ``c``, each turned one further: ``T[*b, n, n]``."""
    x = jnp.atleast_1d(_vector("circulant", c))
    n = x.shape[-1]
    places = np.arange(n)[:, None] - np.arange(n)
    return x[..., places % max(n, 1)]


def companion(a: Any) -> Value:
    """Return the matrix whose eigenvalues are the roots of a polynomial, highest power first.

    Raises:
        ValueError: fewer than two coefficients.
    """
    check_arraylike("companion", a)
    (x,) = promote_all_inexact("companion", a)
    n = x.shape[-1] if x.ndim else 0
    if n < 2:
        raise ValueError(
            f"The length of `a` along the last axis must be at least 2; got shape {x.shape}."
        )
    first = -x[..., 1:] / x[..., :1]
    rest = jnp.broadcast_to(jnp.eye(n - 2, n - 1, dtype=x.dtype), (*x.shape[:-1], n - 2, n - 1))
    return jnp.concatenate([first[..., None, :], rest], -2)


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Value:
    """Return the matrix whose product with a vector of length ``n`` is its convolution with ``a``.

    Args:
        a: ``T[*b, m]``.
        n: the length of the vector.
        mode: "full", "same" or "valid".

    Raises:
        ValueError: nothing in ``a``, ``n`` below 1, or another mode.
    """
    n = operator.index(n)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    x = _vector("convolution_matrix", a)
    if x.ndim == 0:
        raise ValueError("convolution_matrix: a must be at least 1-dimensional, got a scalar.")
    m = x.shape[-1]
    if m == 0:
        raise ValueError(f"len(a) must be at least 1; got shape {x.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    extra = [(0, 0)] * (x.ndim - 1)
    full = _toeplitz(jnp.pad(x, [*extra, (n - 1, n - 1)]), m + n - 1, n)
    if mode == "full":
        return full
    start = min(m, n) - 1 if mode == "valid" else (m + n - 1 - max(m, n)) // 2
    size = max(m, n) - min(m, n) + 1 if mode == "valid" else max(m, n)
    return full[..., start : start + size, :]


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Value:
    """Return the matrix of the discrete Fourier transform: ``C[n, n]``.

    Raises:
        ValueError: ``scale`` is not None, "sqrtn" or "n".
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    if dtype is not None and not jnp.issubdtype(dtype, jnp.complexfloating):
        name = np.dtype(dtype).name
        raise ValueError(f"dtype must be a complex floating-point type; got {name}.")
    kind = complex if dtype is None else dtype
    return _constant("dft", max(operator.index(n), 0), scale, dtype=kind)


def fiedler(a: Any) -> Value:
    """Return ``out[i, j] = |a[i] - a[j]|`` along the last axis."""
    x = jnp.atleast_1d(_vector("fiedler", a))
    return jnp.abs(x[..., :, None] - x[..., None, :])


def fiedler_companion(a: Any) -> Value:
    """Return pentadiagonal matrices whose eigenvalues are the roots of polynomials (Fiedler 2003).

    Args:
        a: coefficients ``T[*b, n + 1]``, highest power first.

    Raises:
        ValueError: no coefficients.
    """
    check_arraylike("fiedler_companion", a)
    (x,) = promote_all_inexact("fiedler_companion", a)
    x = jnp.atleast_1d(x)
    if x.shape[-1] == 0:
        raise ValueError(
            "fiedler_companion requires the last axis of 'a' to have nonzero length, but got an "
            f"array of shape {x.shape}."
        )
    n = x.shape[-1] - 1
    out = jnp.zeros((*x.shape[:-1], n, n), x.dtype)
    if n == 0:
        return out
    x = x / x[..., :1]
    if n == 1:
        return -x[..., 1:, None]
    odd, even = np.arange(3, n + 1, 2), np.arange(2, n + 1, 2)
    out = out.at[..., np.arange(0, n - 2, 2), np.arange(2, n, 2)].set(1)
    out = out.at[..., np.arange(3, n, 2), np.arange(1, n - 2, 2)].set(1)
    out = out.at[..., even - 2, even - 1].set(-x[..., even])
    out = out.at[..., odd - 1, odd - 2].set(-x[..., odd])
    return out.at[..., 0, 0].set(-x[..., 1]).at[..., 1, 0].set(1)


def hadamard(n: int, dtype: Any = int) -> Value:
    """Return the Hadamard matrix of 1 and -1, ``n`` a power of 2.

    Raises:
        ValueError: ``n`` is no power of 2.
    """
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    return _constant("hadamard", n, dtype=dtype)


def helmert(n: int, full: bool = False) -> Value:
    """Return the Helmert matrix, without its first row unless ``full``.

    Raises:
        ValueError: ``n`` is not positive.
    """
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    return _constant("helmert", n, full=full)


def hilbert(n: int) -> Value:
    """Return ``out[i, j] = 1 / (i + j + 1)``.

    >>> hilbert(2).round(2)
    Array([[1.  , 0.5 ],
           [0.5 , 0.33]], dtype=float32)
    """
    if n < 0:
        raise TypeError(
            f"iota shape must have every element be nonnegative, got {(n, 1)}.\n  the size is {n}"
        )
    return _constant("hilbert", operator.index(n))


def invhilbert(n: int) -> Value:
    """Return the inverse of the Hilbert matrix."""
    return _constant("invhilbert", operator.index(n))


def invpascal(n: int, kind: str | None = None) -> Value:
    """Return the inverse of the Pascal matrix."""
    return _pascal("invpascal", n, kind)


def pascal(n: int, kind: str | None = None) -> Value:
    """Return the Pascal matrix of binomial coefficients.

    Args:
        n: the size.
        kind: "symmetric" (None), "lower" or "upper".

    Raises:
        ValueError: another kind.
    """
    return _pascal("pascal", n, kind)


def _pascal(name: str, n: int, kind: str | None) -> Value:
    kind = "symmetric" if kind is None else kind
    if kind not in _KINDS:
        # JAX spells the two differently.
        one = "one" if name == "invpascal" else "on"
        raise ValueError(f"Expected kind to be {one} of: {[*_KINDS]}; got {kind}")
    n = operator.index(n)
    return jnp.zeros((0, 0)) if n == 0 else _constant(name, n, kind)


def leslie(f: Any, s: Any) -> Value:
    """Return the Leslie matrix of fecundities ``T[*b, n]`` and survival rates ``T[*b, n - 1]``.

    Raises:
        ValueError: lengths that do not fit.
    """
    check_arraylike("leslie", f, s)
    top, below = promote_all("leslie", f, s)
    top, below = jnp.atleast_1d(top), jnp.atleast_1d(below)
    n = top.shape[-1]
    if n < 2:
        raise ValueError(
            f"The length of f along the last axis must be at least 2; got shape {top.shape}."
        )
    if n != below.shape[-1] + 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less "
            f"than the length of f; got f shape {top.shape} and s shape {below.shape}."
        )
    batch = jnp.broadcast_shapes(top.shape[:-1], below.shape[:-1])
    out = jnp.zeros((*batch, n, n), top.dtype).at[..., 0, :].set(top)
    places = np.arange(n - 1)
    return out.at[..., places + 1, places].set(below)
