"""``jaxlite.numpy.linalg``: NumPy's linear algebra. In: arrays. Out: arrays.

Here are norms, ranks and products; ``decompositions`` and ``solving`` have the rest.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import elementwise, shapes
from jaxlite.numpy import decompositions, logic, reductions, ufuncs
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from jaxlite.numpy.diagonals import diagonal as general_diagonal
from jaxlite.numpy.diagonals import trace as general_trace
from jaxlite.numpy.einstein import einsum
from jaxlite.numpy.products import cross as general_cross
from jaxlite.numpy.products import matmul as general_matmul
from jaxlite.numpy.products import outer as general_outer
from jaxlite.numpy.products import tensordot as general_tensordot
from jaxlite.numpy.products import vecdot
from jaxlite.numpy.promotion import as_operand, check_arraylike, promote_all_inexact
from jaxlite.numpy.ranges import eye
from jaxlite.numpy.rearrange import broadcast_to, matrix_transpose, moveaxis
from jaxlite.numpy.selection import where
from jaxlite.numpy.solving import (
    det,
    inv,
    lstsq,
    pinv,
    slogdet,
    solve,
    tensorinv,
    tensorsolve,
)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the norm of vectors or matrices.

    Args:
        x: ``T[*s]``; integers give floats.
        ord: of vectors: a number, inf, -inf (None is 2); of matrices: "fro" (None), 1, -1, inf,
            -inf, 2, -2 and "nuc" (largest, smallest and sum of the singular values).
        axis: one axis for vectors, two for matrices; None takes all of a vector or matrix.
        keepdims: leave the axes with length 1.

    Raises:
        ValueError: an order that does not exist, or more than two axes with an order.

    Example:
        >>> norm(np.float32([3, 4]))
        Array(5., dtype=float32)
    """
    check_arraylike("jnp.linalg.norm", x)
    (value,) = promote_all_inexact("jnp.linalg.norm", x)
    rank = value.ndim
    if axis is None and ord is None:
        out = _root(_squares(value), tuple(range(rank)))
        return shapes.reshape(out, (1,) * rank) if keepdims else out
    if axis is None:
        axes = tuple(range(rank))
    elif hasattr(axis, "__index__"):
        axes = (canonical_axis(axis, rank),)
    else:
        axes = tuple(canonical_axis(a, rank) for a in axis)
    if len(axes) == 1:
        return _vector(value, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix(value, ord, axes, keepdims)
    raise ValueError(
        f"Improper number of axes for norm: axis={axes}. Pass one axis to compute a vector-norm, "
        "or "
        "two axes to compute a matrix-norm."
    )


def _squares(x: Value) -> Value:
    if dtypes.kind_of(x.dtype) == "c":
        re, im = elementwise.real(x), elementwise.imag(x)
        return ufuncs.add(ufuncs.multiply(re, re), ufuncs.multiply(im, im))
    return ufuncs.multiply(x, x)


def _root(squares: Value, axes: tuple[int, ...], keepdims: bool = False) -> Value:
    return ufuncs.sqrt(reductions.sum(squares, axes, keepdims=keepdims))


def _vector(x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Value:
    if isinstance(ord, str):
        raise ValueError(f"Invalid order '{ord}' for vector norm.")
    if ord is None or ord == 2:
        return _root(_squares(x), axes, keepdims)
    size = elementwise.abs(x)
    if ord == np.inf:
        return reductions.max(size, axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return reductions.min(size, axes, keepdims=keepdims)
    if ord == 0:
        return reductions.sum(ufuncs.not_equal(x, 0), axes, dtype=size.dtype, keepdims=keepdims)
    if ord == 1:
        return reductions.sum(size, axes, keepdims=keepdims)
    power = elementwise.pow(size, shapes.full((), ord, size.dtype))
    total = reductions.sum(power, axes, keepdims=keepdims)
    return elementwise.pow(total, shapes.full((), 1 / ord, size.dtype))


def _matrix(x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Value:
    rows, columns = axes
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if ord is None or ord in ("f", "fro"):
        return _root(_squares(x), axes, keepdims)
    if ord in (2, -2, "nuc"):
        values = decompositions.svdvals(moveaxis(x, axes, (-2, -1)))
        if ord == 2:
            best = reductions.max(values, -1, initial=0)
        else:
            best = (reductions.min if ord == -2 else reductions.sum)(values, -1)
        return shapes.expand_dims(best, tuple(sorted(axes))) if keepdims else best
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = reductions.sum(elementwise.abs(x), first, keepdims=True)
    if ord > 0:
        best = reductions.max(sums, second, keepdims=True, initial=0)
    else:
        best = reductions.min(sums, second, keepdims=True)
    return best if keepdims else shapes.squeeze(best, axes)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Value:
    """Return the norm of vectors along ``axis`` (None: of all elements as one vector)."""
    check_arraylike("jnp.linalg.vector_norm", x)
    if axis is None or isinstance(axis, tuple):
        value = as_operand("jnp.linalg.vector_norm", x)
        rank = value.ndim
        axes = tuple(range(rank)) if axis is None else tuple(canonical_axis(a, rank) for a in axis)
        rest = tuple(k for k in range(rank) if k not in axes)
        moved = moveaxis(value, axes, tuple(range(rank - len(axes), rank)))
        flat = shapes.collapse(moved, len(rest)) if axes else shapes.expand_dims(moved, (rank,))
        out = norm(flat, ord, -1)
        return shapes.expand_dims(out, axes) if keepdims else out
    return norm(x, ord, axis, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Value:
    """Return the norm of the matrices along the last two axes."""
    check_arraylike("jnp.linalg.matrix_norm", x)
    return norm(x, ord, (-2, -1), keepdims)


def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Value:
    """Return how many singular values of matrices are not zero: ``T[*b, m, n] -> int32[*b]``.

    Args:
        M: the matrices; of a vector or number, whether it is not zero.
        rtol: values up to this count as zero (absolute, as in JAX); None: ``max(m, n)`` roundings
            of the largest.
        hermitian: the matrices are Hermitian.
        tol: another name of ``rtol``.

    Raises:
        ValueError: both ``rtol`` and ``tol``.

    Example:
        >>> matrix_rank(np.float32([[1, 2], [2, 4]]))
        Array(1, dtype=int32)
    """
    check_arraylike("jnp.linalg.matrix_rank", M)
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    (x,) = promote_all_inexact("jnp.linalg.matrix_rank", M)
    if x.ndim < 2:
        return reductions.any(ufuncs.not_equal(x, 0)).astype(np.int32)
    values = svd(x, full_matrices=False, compute_uv=False, hermitian=hermitian)
    tol = rtol if tol is None else tol
    if tol is None:
        tol = reductions.max(values, -1) * max(x.shape[-2:]) * dtypes.finfo(values.dtype).eps
    limit = shapes.expand_dims(as_operand("matrix_rank", tol), (np.ndim(tol),))
    return reductions.sum(ufuncs.greater(values, limit), -1, dtype=np.int32)


def cond(x: Any, p: Any = None) -> Value:
    """Return the condition number of matrices: norm times norm of the inverse.

    Args:
        x: ``T[*b, m, n]``; square unless ``p`` is None, 2 or -2.
        p: the order of the norm; None is 2.

    Raises:
        ValueError: an empty or not square matrix, fewer than two axes, an unknown order.

    Example:
        >>> cond(np.float32([[4, 0], [0, 2]]))
        Array(2., dtype=float32)
    """
    check_arraylike("jnp.linalg.cond", x)
    (value,) = promote_all_inexact("jnp.linalg.cond", x)
    what = "jnp.linalg.cond:"
    if value.ndim < 2:
        raise ValueError(f"{what} input array must be at least 2D; got arr.shape={value.shape}")
    if value.size == 0:
        raise ValueError(f"{what} input array must not be empty; got arr.shape={value.shape}")
    if p is None or p in (2, -2):
        values = decompositions.svdvals(value)
        first, last = values[..., 0], values[..., -1]
        return ufuncs.divide(last, first) if p == -2 else ufuncs.divide(first, last)
    if value.shape[-1] != value.shape[-2]:
        raise ValueError(f"{what} for p={p}, array must be square; got arr.shape={value.shape}")
    out = ufuncs.multiply(norm(value, p, (-2, -1)), norm(inv(value), p, (-2, -1)))
    # The inverse of a singular matrix may be NaN, although the matrix is not.
    is_nan = reductions.any(logic.isnan(value), (-2, -1))
    is_singular = logic.logical_and(logic.isnan(out), logic.logical_not(is_nan))
    return where(is_singular, np.array(np.inf, out.dtype), out)


def matrix_power(a: Any, n: int) -> Value:
    """Return square matrices multiplied ``n`` times (by repeated squaring), inverted if negative.

    Raises:
        TypeError: matrices that are not square.

    Example:
        >>> matrix_power(np.array([[1, 1], [0, 1]]), 3)
        Array([[1, 3],
               [0, 1]], dtype=int32)
    """
    check_arraylike("jnp.linalg.matrix_power", a)
    x = as_operand("jnp.linalg.matrix_power", a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise TypeError(f"Last 2 dimensions of the array must be square; got shape {x.shape}")
    n = operator.index(n)
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        return broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape)
    out: Value | None = None
    while n:
        if n % 2:
            out = x if out is None else general_matmul(out, x)
        n //= 2
        if n:
            x = general_matmul(x, x)
    assert out is not None
    return out


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Value:
    """Return the product of several matrices, in the cheapest order.

    Example:
        >>> multi_dot([np.ones((2, 9)), np.ones((9, 9)), np.ones((9, 1))]).shape
        (2, 1)
    """
    check_arraylike("jnp.linalg.multi_dot", *arrays)
    values = [as_operand("jnp.linalg.multi_dot", a) for a in arrays]
    if not values:
        raise ValueError("multi_dot: requires at least one array; got len(arrays)=0")
    if any(v.ndim != 2 for v in values[1:-1]) or any(v.ndim not in (1, 2) for v in values):
        raise ValueError(
            "multi_dot: input arrays must all be two-dimensional, except for the first and last "
            "array "
            f"which may be 1 or 2 dimensional. Got array shapes {[v.shape for v in values]}"
        )
    operands: list[Any] = []
    last = len(values)
    for k, v in enumerate(values):
        operands += [v, [k, k + 1] if v.ndim == 2 else ([1] if k == 0 else [k])]
    first_axis = [] if values[0].ndim == 1 else [0]
    last_axis = [] if values[-1].ndim == 1 else [last]
    out: Value = einsum(*operands, first_axis + last_axis, optimize="auto", precision=precision)
    return out


def matmul(
    x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: Any = None
) -> Value:
    """Return the matrix product of ``T[*b, n, k]`` and ``T[*b, k, m]``, as ``jnp.matmul``.

    Raises:
        TypeError: shapes that do not fit, or operands that are no arrays.

    Example:
        >>> matmul(np.float32([[1, 2]]), np.float32([[3], [4]]))
        Array([[11.]], dtype=float32)
    """
    check_arraylike("jnp.linalg.matmul", x1, x2)
    return general_matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def outer(x1: Any, x2: Any, /) -> Value:
    """Return all products ``T[n, m]`` of two vectors ``T[n]`` and ``T[m]``.

    Raises:
        ValueError: an operand that is no vector (``jnp.outer`` flattens it).

    Example:
        >>> outer(np.float32([1, 2]), np.float32([3, 4]))
        Array([[3., 4.],
               [6., 8.]], dtype=float32)
    """
    check_arraylike("jnp.linalg.outer", x1, x2)
    x1, x2 = (as_operand("jnp.linalg.outer", x) for x in (x1, x2))
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, "
            f"but they are x1.ndim={x1.ndim} x2.ndim={x2.ndim}"
        )
    return general_outer(x1, x2)


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the sum of products over ``axes`` of both operands, as ``jnp.tensordot``.

    Raises:
        ValueError: axes that do not fit the operands.
        TypeError: lengths that differ along summed axes.

    Example:
        >>> tensordot(np.float32([1, 2]), np.float32([3, 4]), axes=1)
        Array(11., dtype=float32)
    """
    check_arraylike("jnp.linalg.tensordot", x1, x2)
    return general_tensordot(
        x1,
        x2,
        axes=axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    """Return the cross product of vectors of length 3 along ``axis``."""
    check_arraylike("jnp.linalg.outer", x1, x2)
    a, b = as_operand("cross", x1), as_operand("cross", x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"{a.shape[axis]=} and {b.shape[axis]=}"
        )
    return general_cross(a, b, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Value:
    """Return a diagonal of the matrices along the last two axes."""
    check_arraylike("jnp.linalg.diagonal", x)
    return general_diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Value:
    """Return the sum of a diagonal of the matrices along the last two axes."""
    check_arraylike("jnp.linalg.trace", x)
    return general_trace(x, offset, -2, -1, dtype)


__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose",
    "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip
