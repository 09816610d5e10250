"""Linear equations, inverses and determinants of ``jaxlite.numpy.linalg``. In: matrices."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import elementwise, shapes
from jaxlite.lax.barriers import stop_gradient
from jaxlite.numpy import arithmetic, reductions, ufuncs
from jaxlite.numpy.creation import zeros
from jaxlite.numpy.decompositions import as_inexact, svd
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_shapes,
    check_arraylike,
    promote_all_inexact,
)
from jaxlite.numpy.ranges import arange, eye
from jaxlite.numpy.rearrange import broadcast_to, moveaxis, reshape
from jaxlite.numpy.selection import where
from jaxlite.primitives import linear_solve, matrices
from jaxlite.primitives.reflections import geqrf

_SIGNATURES = {
    1: ("'m'", "(m,m),(m)->(m)"),
    2: ("'m', 'n'", "(m,m),(m,n)->(m,n)"),
}


class SlogdetResult(NamedTuple):
    """What ``slogdet`` returns."""

    sign: Value
    logabsdet: Value


def solve(a: Any, b: Any) -> Value:
    """Return x with ``a @ x = b``; NaN or inf if ``a`` is singular.

    Args:
        a: ``T[*b, n, n]``.
        b: one vector ``U[n]``, or matrices ``U[*c, n, k]``; leading axes broadcast.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> solve(np.float32([[2, 0], [1, 1]]), np.float32([2, 3]))
        Array([1., 2.], dtype=float32)
    """
    check_arraylike("jnp.linalg.solve", a, b)
    matrix, side = promote_all_inexact("jnp.linalg.solve", a, b)
    if matrix.ndim < 2:
        raise ValueError(
            f"left hand array must be at least two dimensional; got a.shape={matrix.shape}"
        )
    axes, signature = _SIGNATURES[1 if side.ndim == 1 else 2]
    suffix = f"on vectorized function with excluded=frozenset() and signature={signature!r}"
    if side.ndim == 0:
        raise ValueError(
            f"input with shape {side.shape} does not have enough dimensions for all core "
            f"dimensions ({axes}) {suffix}"
        )
    rows = side.shape[0] if side.ndim == 1 else side.shape[-2]
    n = matrix.shape[-2]
    for size in (matrix.shape[-1], rows):
        if size != n:
            raise ValueError(f"inconsistent size for core dimension 'm': {size} vs {n} {suffix}")
    return _solve(matrix, side)


def _solve(a: Value, b: Value) -> Value:
    """Return x with ``a @ x = b`` for operands of one dtype."""
    n = a.shape[-1]
    if a.ndim == 2 and b.ndim != 1:
        # All right-hand sides become columns beside each other: one factorisation.
        moved = moveaxis(b, -2, 0)
        out = linear_solve.linear_solve(
            a, reshape(moved, (n, math.prod(moved.shape[1:]))), _fixed(a)
        )
        return moveaxis(reshape(out, moved.shape), 0, -2)
    columns = shapes.expand_dims(b, (1,)) if b.ndim == 1 else b
    batch = broadcast_shapes("solve", a.shape[:-2], columns.shape[:-2])
    a = broadcast_to(a, (*batch, n, n))
    columns = broadcast_to(columns, (*batch, *columns.shape[-2:]))
    out = linear_solve.linear_solve(a, columns, _fixed(a))
    return shapes.squeeze(out, (out.ndim - 1,)) if b.ndim == 1 else out


def _fixed(a: Value) -> Value:
    out: Value = stop_gradient(a)
    return out


def inv(a: Any) -> Value:
    """Return the inverse of square matrices; NaN or inf if they are singular.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> inv(np.float32([[2, 0], [0, 4]]))
        Array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    x = as_inexact("inv", a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {x.shape}.")
    return _solve(x, broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape))


# --- determinants ---


def _check_square(name: str, x: Value) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Argument to {name}() must have shape [..., n, n], got {x.shape}")


def det(a: Any) -> Value:
    """Return the determinant of square matrices: ``T[*b, n, n] -> T[*b]``.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> det(np.float32([[1, 2], [3, 4]]))
        Array(-2., dtype=float32)
    """
    x = as_inexact("det", a)
    _check_square("_det", x)
    n = x.shape[-1]
    if n == 0:
        return shapes.full(x.shape[:-2], 1, x.dtype)
    if n > 3:
        return _det(x)

    def e(i: int, j: int) -> Value:
        return x[..., i, j]

    if n == 1:
        return e(0, 0)
    if n == 2:
        return e(0, 0) * e(1, 1) - e(0, 1) * e(1, 0)
    return (
        e(0, 0) * e(1, 1) * e(2, 2)
        + e(0, 1) * e(1, 2) * e(2, 0)
        + e(0, 2) * e(1, 0) * e(2, 1)
        - e(0, 2) * e(1, 1) * e(2, 0)
        - e(0, 0) * e(1, 2) * e(2, 1)
        - e(0, 1) * e(1, 0) * e(2, 2)
    )


def _swap_sign(pivots: Value, negative: Value | None, dtype: Any) -> Value:
    """Return -1 to the number of row swaps (and of negative elements), in ``dtype``."""
    odd = reductions.count_nonzero(
        ufuncs.not_equal(
            pivots, broadcast_to(arange(pivots.shape[-1], dtype=np.int32), pivots.shape)
        ),
        -1,
    )
    if negative is not None:
        odd = odd + reductions.count_nonzero(negative, -1)
    return (-2 * (odd % 2) + 1).astype(dtype)


@custom_jvp
def _det(x: Value) -> Value:
    factors, pivots, _ = linear_solve.lu(x)
    return _det_of_factors(factors, pivots)


def _det_of_factors(factors: Value, pivots: Value) -> Value:
    product = reductions.prod(matrices.diagonal(factors), -1)
    return product * _swap_sign(pivots, None, factors.dtype)


@_det.defjvp
def _det_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    # d det(A) = tr(adj(A) dA), adj(A) = det(A) U^-1 L^-1 P. The last pivot of U may be zero: it is
    # divided out by hand, so that singular matrices of rank n - 1 have their derivative.
    (x,), (t,) = primals, tangents
    factors, pivots, permutation = linear_solve.lu(x)
    out = _det_of_factors(factors, pivots)
    n = x.shape[-1]
    pivot = matrices.diagonal(factors)
    is_last = broadcast_to(arange(n, dtype=np.int32) == n - 1, pivot.shape)
    but_last = reductions.prod(where(is_last, 1, pivot), -1) * _swap_sign(pivots, None, x.dtype)
    scale = where(is_last, shapes.expand_dims(but_last, (out.ndim,)), out[..., None])
    replaced = where(is_last | (pivot == 0), 1, pivot)
    upper = matrices.upper_triangle(factors, True) + matrices.keep(
        matrices.on_diagonal(factors), matrices.like_rows(replaced, factors)
    )
    moved = linear_solve.take_rows(t, permutation)
    solved = linear_solve.triangular_solve(
        factors, moved, left_side=True, lower=True, unit_diagonal=True
    )
    solved = linear_solve.triangular_solve(upper, scale[..., None] * solved, left_side=True)
    return out, reductions.sum(matrices.diagonal(solved), -1)


def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Return the sign and the logarithm of the absolute value of determinants.

    Args:
        a: ``T[*b, n, n]``.
        method: "lu" (None) or "qr": the factorisation used.

    Raises:
        ValueError: matrices that are not square, or another method.

    Example:
        >>> slogdet(np.float32([[2, 0], [0, -1]])).sign
        Array(-1., dtype=float32)
    """
    x = as_inexact("slogdet", a)
    _check_square("slogdet", x)
    if method not in (None, "lu", "qr"):
        raise ValueError(
            f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'."
        )
    sign, size = (_slogdet_qr if method == "qr" else _slogdet_lu)(x)
    return SlogdetResult(sign, size)


@custom_jvp
def _slogdet_lu(x: Value) -> tuple[Value, Value]:
    factors, pivots, _ = linear_solve.lu(x)
    diagonal = matrices.diagonal(factors)
    is_singular = reductions.any(diagonal == 0, -1)
    if matrices.is_complex(x):
        phase = reductions.prod(diagonal / arithmetic.abs(diagonal).astype(x.dtype), -1)
        sign = _swap_sign(pivots, None, x.dtype) * phase
    else:
        sign = _swap_sign(pivots, diagonal < 0, x.dtype)
    size = reductions.sum(ufuncs.log(arithmetic.abs(diagonal)), -1)
    minus_infinity = np.array(-np.inf, size.dtype)
    return (
        where(is_singular, np.array(0, x.dtype), sign),
        where(is_singular, minus_infinity, size),
    )


@custom_jvp
def _slogdet_qr(x: Value) -> tuple[Value, Value]:
    packed, taus = geqrf(x)
    # Each reflection, one per scale that is not zero, has determinant -1.
    diagonal = matrices.diagonal(packed)
    size = reductions.sum(ufuncs.log(arithmetic.abs(diagonal)), -1)
    used = taus if matrices.is_complex(x) else taus[..., : max(x.shape[-1] - 1, 0)]
    sign = reductions.prod(ufuncs.sign(diagonal), -1)
    if matrices.is_complex(x):
        # 1 - tau v.H v is the eigenvalue of the reflection along v.
        lower = matrices.lower_triangle(packed, True)
        lengths = 1 + reductions.sum(arithmetic.abs(lower) ** 2, -2)
        flips = 1 - used * lengths.astype(x.dtype)
    else:
        flips = where(used != 0, -1, 1).astype(x.dtype)
    return sign * reductions.prod(flips, -1), size


def _slogdet_jvp(primals: tuple[Value], tangents: tuple[Value]) -> Any:
    # d log det(A) = tr(A^-1 dA): its real part changes the size, its imaginary part the phase.
    (x,), (t,) = primals, tangents
    sign, size = _slogdet_lu(x)
    total = reductions.sum(matrices.diagonal(_solve(x, t)), -1)
    if not matrices.is_complex(x):
        return (sign, size), (shapes.full(sign.shape, 0, sign.dtype), total)
    re = elementwise.real(total)
    return (sign, size), ((total - re.astype(total.dtype)) * sign, re)


_slogdet_lu.defjvp(_slogdet_jvp)
_slogdet_qr.defjvp(_slogdet_jvp)


# --- least squares ---


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Value:
    """Return the pseudo-inverse of matrices, by singular values.

    Args:
        a: ``T[*b, m, n]``.
        rtol: singular values up to this times the largest count as zero; None takes
            ``10 * max(m, n)`` roundings.
        hermitian: ``a`` is Hermitian.
        rcond: another name of ``rtol``.

    Raises:
        ValueError: both ``rtol`` and ``rcond``.

    Example:
        >>> pinv(np.float32([[2], [0]]))
        Array([[0.5, 0. ]], dtype=float32)
    """
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: only one of rtol and rcond may be specified.")
    x = as_inexact("pinv", a)
    return _pinv(x, rcond if rtol is None else rtol, bool(hermitian))


@functools.partial(custom_jvp, nondiff_argnums=(1, 2))
def _pinv(x: Value, rtol: Any, hermitian: bool) -> Value:
    m, n = x.shape[-2:]
    if m == 0 or n == 0:
        return zeros((*x.shape[:-2], n, m), x.dtype)
    u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
    if rtol is None:
        rtol = np.asarray(10 * max(m, n) * dtypes.finfo(x.dtype).eps, s.dtype)
    limit = as_operand("pinv", rtol)[..., None] * s[..., :1]
    s = where(s > limit, s, np.array(np.inf, s.dtype))
    out: Value = matrices.adjoint(vh) @ (matrices.adjoint(u) / s[..., None].astype(u.dtype))
    return out


@_pinv.defjvp
def _pinv_jvp(
    rtol: Any, hermitian: bool, primals: tuple[Value], tangents: tuple[Value]
) -> tuple[Value, Value]:
    # Golub and Pereyra (1973), eq. 4.12: with P the pseudo-inverse of A,
    # dP = -P dA P + P P.H dA.H (I - A P) + (I - P A) dA.H P.H P.
    (x,), (t,) = primals, tangents
    p = _pinv(x, rtol, hermitian)
    p_h, t_h = matrices.adjoint(p), matrices.adjoint(t)
    out = -(p @ t @ p)
    first = (p @ p_h) @ t_h
    last = t_h @ (p_h @ p)
    out = out + (first - (first @ x) @ p)
    return p, out + (last - p @ (x @ last))


def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Value, Value, Value, Value]:
    """Return (x, residuals, rank, singular values) for x that minimises ``|a @ x - b|``.

    Args:
        a: ``T[m, n]``.
        b: ``U[m]`` or ``U[m, k]``.
        rcond: singular values below this times the largest count as zero; None takes
            ``max(m, n)`` roundings, a negative number one.
        numpy_resid: no residuals if the rank is not full, as in NumPy.

    Raises:
        ValueError: lengths that differ.
        TypeError: ranks other than these.

    Example:
        >>> lstsq(np.float32([[1, 0], [0, 2], [0, 0]]), np.float32([1, 2, 3]))[0]
        Array([1., 1.], dtype=float32)
    """
    check_arraylike("jnp.linalg.lstsq", a, b)
    x, side = promote_all_inexact("jnp.linalg.lstsq", a, b)
    if x.shape[:1] != side.shape[:1]:
        raise ValueError("Leading dimensions of input arrays must match")
    if x.ndim != 2:
        raise TypeError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    if side.ndim not in (1, 2):
        raise TypeError(
            f"{side.ndim}-dimensional array given. Array must be one or two-dimensional"
        )
    m, n = x.shape
    columns = side[:, None] if side.ndim == 1 else side
    eps = dtypes.finfo(x.dtype).eps
    solution, rank, s = _least_squares(x, columns, eps * max(m, n) if rcond is None else rcond)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = zeros((0,), s.dtype)
    else:
        gap = columns - x @ solution
        residuals = reductions.sum(arithmetic.abs(gap) ** 2, 0)
    return (solution[:, 0] if side.ndim == 1 else solution), residuals, rank, s


def _least_squares(x: Value, b: Value, rcond: Any) -> tuple[Value, Value, Value]:
    m, n = x.shape
    if m == 0 or n == 0:
        real = dtypes.to_real_dtype(x.dtype)
        return zeros((n, b.shape[1]), x.dtype), zeros((), np.int32), zeros((0,), real)
    u, s, vh = svd(x, full_matrices=False)
    limit = as_operand("lstsq", rcond).astype(s.dtype)
    limit = where(limit < 0, np.array(dtypes.finfo(x.dtype).eps, s.dtype), limit)
    is_used = (s > 0) & (s >= limit * s[0])
    rank = reductions.sum(is_used, dtype=np.int32)
    inverse = where(is_used, 1 / where(is_used, s, 1), 0)
    product = matrices.adjoint(u) @ b
    scaled = inverse[:, None].astype(product.dtype) * product
    return matrices.adjoint(vh) @ scaled, rank, s


def tensorinv(a: Any, ind: int = 2) -> Value:
    """Return the inverse of a tensor seen as a matrix of its first ``ind`` and its other axes.

    Raises:
        ValueError: the matrix is not square, or ``ind`` is not positive.

    Example:
        >>> tensorinv(np.eye(4, dtype=np.float32).reshape(2, 2, 4)).shape
        (4, 2, 2)
    """
    check_arraylike("tensorinv", a)
    x = as_operand("tensorinv", a)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    front, back = x.shape[:ind], x.shape[ind:]
    if math.prod(front) != math.prod(back):
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions equals that "
            f"of the remaining dimensions. got arr.shape={x.shape} with ind={ind}."
        )
    out = inv(reshape(x, (math.prod(front), math.prod(back))))
    return reshape(out, (*back, *front))


def tensorsolve(a: Any, b: Any, axes: tuple[int, ...] | None = None) -> Value:
    """Return the tensor x whose product with ``a`` over all axes of x is ``b``.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> tensorsolve(np.eye(4, dtype=np.float32).reshape(2, 2, 4), np.ones((2, 2))).shape
        (4,)
    """
    check_arraylike("tensorsolve", a, b)
    x, side = as_operand("tensorsolve", a), as_operand("tensorsolve", b, 1)
    if axes is not None:
        x = moveaxis(x, axes, tuple(range(-len(axes), 0)))
    front, rest = x.shape[: side.ndim], x.shape[side.ndim :]
    if front != side.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. got "
            f"a.shape={x.shape}, b.shape={side.shape}"
        )
    if side.size != math.prod(rest):
        raise ValueError(
            "Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got "
            f"a.shape={x.shape}, b.ndim={side.ndim}."
        )
    flat = solve(reshape(x, (side.size, side.size)), reshape(side, (side.size,)))
    return reshape(flat, rest)


__all__ = [
    "SlogdetResult", "det", "inv", "lstsq", "pinv", "slogdet", "solve", "tensorinv", "tensorsolve",
]  # fmt: skip
