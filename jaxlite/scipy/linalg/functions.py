"""Functions of square matrices. In: matrices ``T[n, n]``. Out: matrices of that size."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import linalg as lax_linalg
from jaxlite.numpy.promotion import check_arraylike, promote_all_inexact
from jaxlite.scipy.linalg.factors import adjoint, matrix_of, schur

__all__ = ["expm", "expm_frechet", "funm", "sqrtm"]

#: Higham (2005), table 2.3: the 1-norm up to which the Pade approximant of each order is exact.
_ORDERS = {
    32: ((3, 4.258730016922831e-1), (5, 1.880152677804762), (7, 3.925724783138660)),
    64: (
        (3, 1.495585217958292e-2), (5, 2.539398330063230e-1), (7, 9.504178996162932e-1),
        (9, 2.097847961257068), (13, 5.371920351148152),
    ),
}  # fmt: skip


def _pade(order: int) -> list[float]:
    """Return the coefficients of the numerator of exp's Pade approximant, the last of them 1."""
    top = 2 * order
    scale = math.factorial(order)
    return [
        math.factorial(top - k) / (math.factorial(order - k) * math.factorial(k)) / scale * 1.0
        for k in range(order + 1)
    ]


def _exponential(a: Value, order: int, is_upper: bool) -> Value:
    """Return exp(a) by the approximant of ``order``, for matrices of small norm."""
    c = _pade(order)
    n = a.shape[-1]
    unit = jnp.eye(n, dtype=a.dtype)
    square = a @ a
    odd, even, power = c[1] * unit, c[0] * unit, unit
    for k in range(2, order + 1, 2):
        power = power @ square if k > 2 else square
        even = even + c[k] * power
        if k < order:
            odd = odd + c[k + 1] * power
    u = a @ odd
    top, bottom = even + u, even - u
    if is_upper:
        return lax_linalg.triangular_solve(bottom, top, left_side=True)
    return jnp.linalg.solve(bottom, top)


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Value:
    """Return the exponential of matrices, by Higham (2005): scaling and squaring.

    Args:
        A: ``T[*b, n, n]``.
        upper_triangular: the matrices are upper triangular.
        max_squarings: NaN if more squarings are needed.

    Raises:
        ValueError: matrices that are not square.

    >>> expm(np.zeros((2, 2), np.float32))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    a = matrix_of("expm", A)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got {A.shape=}.")
    one = functools.partial(_expm, upper_triangular, int(max_squarings))
    out: Value = jnp.vectorize(one, signature="(n,n)->(n,n)")(a)
    return out


def _expm(is_upper: bool, max_squarings: int, a: Value) -> Value:
    if a.shape[-1] == 0:
        return a
    bits = 64 if dtypes.finfo(a.dtype).bits == 64 else 32
    orders = _ORDERS[bits]
    size = jnp.max(jnp.sum(jnp.abs(a), 0))
    size = lax.stop_gradient(size)
    limit = orders[-1][1]
    ratio = jnp.log2(jnp.where(size > limit, size / limit, 1))
    n_squarings = jnp.where(jnp.isfinite(size), jnp.ceil(ratio), 0).astype(np.int32)
    scaled = a / (2.0 ** n_squarings.astype(size.dtype)).astype(a.dtype)
    index = sum(((size > top).astype(np.int32) for _, top in orders[:-1]), jnp.int32(0))
    branches = [functools.partial(_exponential, order=m, is_upper=is_upper) for m, _ in orders]
    start = lax.switch(index, branches, scaled)

    def square(x: Value, k: Value) -> tuple[Value, None]:
        return lax.cond(k < n_squarings, lambda y: y @ y, lambda y: y, x), None

    out, _ = lax.scan(square, start, jnp.arange(max_squarings, dtype=np.int32))
    return jnp.where(n_squarings > max_squarings, jnp.nan, out).astype(a.dtype)


def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """Return exp(A) (if ``compute_expm``) and its derivative in the direction E.

    Both are blocks of ``exp([[A, E], [0, A]])`` (Higham 2008, eq. 3.16).

    Args:
        A: ``T[n, n]``.
        E: ``T[n, n]``.
        method: accepted.
        compute_expm: return exp(A) too.

    Raises:
        ValueError: matrices that are not square or of different sizes.
    """
    check_arraylike("expm_frechet", A, E)
    a, e = promote_all_inexact("expm_frechet", A, E)
    for name, x in (("A", a), ("E", e)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(
                f"expected {name} to be a (batched) square matrix, got {name}.shape={x.shape}"
            )
    if a.shape != e.shape:
        raise ValueError(
            f"expected A and E to be the same shape, got A.shape={a.shape} E.shape={e.shape}"
        )
    n = a.shape[-1]
    top = jnp.concatenate([a, e], -1)
    bottom = jnp.concatenate([jnp.zeros_like(a), a], -1)
    both = expm(jnp.concatenate([top, bottom], -2))
    value, slope = both[..., :n, :n], both[..., :n, n:]
    return (value, slope) if compute_expm else slope


def _by_diagonals(diagonal: Value, entries: Callable[[Value], Value]) -> Value:
    """Return an upper triangular matrix, one diagonal after the other from the main one.

    ``entries`` gives all entries from the known ones above the main diagonal.
    """
    n = diagonal.shape[0]
    start = jnp.zeros((n, n), diagonal.dtype)
    distance = jnp.arange(n)[None, :] - jnp.arange(n)[:, None]

    def step(k: Value, above: Value) -> Value:
        return jnp.where(distance == k, entries(above), above)

    above = lax.fori_loop(1, n, step, start) if n > 1 else start
    return above + jnp.diag(diagonal)


def sqrtm(A: Any, blocksize: int = 1) -> Value:
    """Return the principal square root, complex, by Bjorck and Hammarling (1983).

    Args:
        A: ``T[n, n]``.
        blocksize: only 1.

    Raises:
        NotImplementedError: another block size.

    >>> sqrtm(np.float32([[4, 0], [0, 9]])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    t, z = schur(matrix_of("sqrtm", A), "complex")
    diagonal = jnp.sqrt(jnp.diagonal(t))
    sums = diagonal[:, None] + diagonal[None, :]
    is_zero = sums == 0
    safe = jnp.where(is_zero, 1, sums)

    def entries(known: Value) -> Value:
        # t_ij = sum over i <= k <= j of u_ik u_kj
        rest = t - known @ known
        return jnp.where(is_zero & (rest == 0), 0, rest / jnp.where(rest == 0, safe, sums))

    root = _by_diagonals(diagonal, entries)
    return z @ root @ adjoint(z)


def funm(A: Any, func: Callable[[Value], Value], disp: bool = True) -> Any:
    """Return the function of a matrix that ``func`` is of numbers, by Parlett's recurrence.

    Args:
        A: ``T[n, n]``.
        func: takes and returns an array, element by element.
        disp: True returns the matrix alone; False also an estimate of its relative error.

    Raises:
        ValueError: matrices that are not square.
    """
    a = matrix_of("funm", A)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected square array_like input")
    t, z = schur(a, "complex")
    diagonal = func(jnp.diagonal(t)).astype(t.dtype)
    strict = jnp.triu(t, 1)
    values = jnp.diagonal(t)
    gaps = values[None, :] - values[:, None]
    safe = jnp.where(gaps == 0, 1, gaps)
    steps = (diagonal[None, :] - diagonal[:, None]) * t

    def entries(known: Value) -> Value:
        return (steps + strict @ known - known @ strict) / safe

    out = _by_diagonals(diagonal, entries)
    n = a.shape[0]
    is_above = jnp.triu(jnp.ones((n, n), np.bool_), 1)
    nearest = jnp.min(jnp.where(is_above, jnp.abs(gaps), jnp.inf), initial=1)
    nearest = jnp.where(nearest == 0, dtypes.finfo(a.dtype).eps, nearest)
    result = z @ out @ adjoint(z)
    tolerance = 1e3 if dtypes.finfo(a.dtype).bits == 32 else 1e6
    if dtypes.kind_of(a.dtype) != "c":
        error = jnp.max(jnp.abs(result.imag), initial=0)
        is_real = error <= tolerance * dtypes.finfo(a.dtype).eps
        result = jnp.where(is_real, result.real.astype(result.dtype), result)
    if disp:
        return result
    size = jnp.max(jnp.sum(jnp.abs(strict), 0), initial=0)
    eps = dtypes.finfo(a.dtype).eps
    estimate = jnp.minimum(1, jnp.maximum(eps, eps / nearest * size))
    return result, jnp.where(jnp.all(jnp.isfinite(result)), estimate, jnp.inf)
