"""``jaxlite.lax.linalg``: matrix factorisations with ``jax.lax.linalg``'s names. In: arrays.

Out: factors. Leading axes are batches; the work is LAPACK's. Where an algorithm fails, the result
is NaN.
"""

from __future__ import annotations

import enum
import operator
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import elementwise, shapes
from jaxlite.lax.linear_algebra import dot
from jaxlite.lax.operands import as_array, constant
from jaxlite.primitives import convert, matrices
from jaxlite.primitives import linalg as factors
from jaxlite.primitives import linear_solve as solving
from jaxlite.primitives.linalg import cholesky_p, eig_p, eigh_p, qr_p, svd_p
from jaxlite.primitives.linear_solve import (
    lu_p,
    lu_pivots_to_permutation_p,
    triangular_solve_p,
    tridiagonal_solve_p,
)
from jaxlite.primitives.reflections import (
    cholesky_update_p,
    hessenberg_p,
    householder_product_p,
    ormqr_p,
    schur_p,
    symmetric_product_p,
    tridiagonal_p,
)


class EigImplementation(enum.Enum):
    """Libraries for ``eig``; the CPU has LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """Algorithms for ``eigh``; the CPU has QR."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """Algorithms for ``svd``; the CPU always divides and conquers."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _symmetric(x: Value) -> Value:
    """Return ``(x + x.H) / 2``; integers become floats."""
    if dtypes.kind_of(x.dtype) in "biu":
        x = convert.convert_element_type(x, dtypes.to_inexact_dtype(x.dtype))
    other = shapes.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    total = elementwise.add(x, matrices.conjugate(other))
    return elementwise.div(total, shapes.full((), 2, x.dtype))


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Value:
    """Return lower triangular L with ``L @ L.H = x``, NaN if x is not positive definite.

    Args:
        x: ``T[*b, n, n]``, Hermitian.
        symmetrize_input: take ``(x + x.H) / 2`` first, else the lower triangle alone is read.

    Raises:
        TypeError: fewer than two axes.
        ValueError: matrices that are not square.

    Example:
        >>> import numpy as np
        >>> cholesky(np.float32([[4, 2], [2, 5]]))
        Array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    value = as_array(x, "cholesky")
    return factors.cholesky(_symmetric(value) if symmetrize_input else value)


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Value, Value]:
    """Return eigenvectors (columns) and ascending eigenvalues of Hermitian matrices.

    Args:
        x: ``T[*b, n, n]``.
        lower: which triangle is read if ``symmetrize_input`` is False.
        symmetrize_input: take ``(x + x.H) / 2`` first.
        sort_eigenvalues: accepted; they are always sorted.
        subset_by_index: only None or all of them.
        implementation: only None or QR.

    Raises:
        NotImplementedError: a subset, or another implementation.

    Example:
        >>> import numpy as np
        >>> eigh(np.float32([[2, 0], [0, 1]]))[1]
        Array([1., 2.], dtype=float32)
    """
    value = as_array(x, "eigh")
    if implementation is EighImplementation.QDWH:
        raise NotImplementedError("QDWH implementation is only supported on TPU")
    if implementation is EighImplementation.JACOBI:
        raise NotImplementedError("Jacobi implementation is not supported on CPU")
    vectors, values = eigh_p.bind_all(
        _symmetric(value) if symmetrize_input else value,
        algorithm=implementation,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
        subset_by_index=subset_by_index,
    )
    return vectors, values


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Value]:
    """Return complex eigenvalues, then left and right eigenvectors (columns) as wanted.

    Raises:
        ValueError: matrices that are not square, or another library than LAPACK.

    Example:
        >>> import numpy as np
        >>> eig(np.float32([[0, 1], [-1, 0]]), compute_left_eigenvectors=False)[0]
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    if implementation not in (None, EigImplementation.LAPACK) or use_magma:
        raise ValueError("Only the lapack implementation is supported on CPU.")
    return factors.eig(
        as_array(x, "eig"),
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=bool(enable_eigvec_derivs),
    )


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Return ``(U, s, V.H)`` with ``U @ diag(s) @ V.H = x``, or only the singular values.

    Args:
        x: ``T[*b, m, n]``.
        full_matrices: square U and V instead of min(m, n) columns.
        compute_uv: False returns ``s`` alone.
        subset_by_index: only None or all of them.
        algorithm: accepted, except those the CPU lacks.

    Raises:
        NotImplementedError: a subset, or the Jacobi or polar algorithm.

    Example:
        >>> import numpy as np
        >>> svd(np.float32([[0, 3], [4, 0]]), compute_uv=False)
        Array([4., 3.], dtype=float32)
    """
    value = as_array(x, "svd")
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise NotImplementedError("The SVD Jacobi and Polar algorithms are not implemented on CPU.")
    out = svd_p.bind_all(
        value,
        algorithm=algorithm,
        compute_uv=bool(compute_uv),
        full_matrices=bool(full_matrices),
        subset_by_index=subset_by_index,
    )
    return (out[1], out[0], out[2]) if compute_uv else out[0]


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Value, ...]:
    """Return ``(Q, R)`` with ``Q @ R = x``, or ``(Q, R, p)`` with ``Q @ R = x[:, p]`` if pivoting.

    Example:
        >>> import numpy as np
        >>> [f.shape for f in qr(np.ones((3, 2), np.float32), full_matrices=False)]
        [(3, 2), (2, 2)]
    """
    out: tuple[Value, ...] = qr_p.bind_all(
        as_array(x, "qr"),
        full_matrices=bool(full_matrices),
        pivoting=bool(pivoting),
        use_magma=use_magma,
    )
    return out


def lu(x: Any) -> list[Value]:
    """Return L and U in one matrix, the row swaps, and p with ``L @ U = x[p]``.

    Example:
        >>> import numpy as np
        >>> lu(np.float32([[0, 1], [2, 3]]))[2]
        Array([1, 0], dtype=int32)
    """
    return list(solving.lu(as_array(x, "lu")))


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Value:
    """Return the permutation made by the row swaps that ``lu`` gives: ``int32[*b, n]``.

    Example:
        >>> import numpy as np
        >>> lu_pivots_to_permutation(np.int32([2, 2]), 3)
        Array([2, 0, 1], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(
        as_array(pivots, "lu_pivots_to_permutation"),
        permutation_size=operator.index(permutation_size),
    )


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Value:
    """Return X with ``op(a) @ X = b`` (left side) or ``X @ op(a) = b``.

    Args:
        a: ``T[*b, n, n]``; only the triangle that ``lower`` names is read.
        b: ``T[*b, n, k]``, ``T[*b, k, n]`` on the right side, or one vector ``T[*b, n]``.
        left_side: whether ``a`` stands left of X.
        lower: lower triangle instead of upper.
        transpose_a: solve with the transpose of ``a``.
        conjugate_a: solve with the conjugate of ``a``.
        unit_diagonal: take the diagonal as ones without reading it.

    Raises:
        TypeError: fewer than two axes, or different dtypes.
        ValueError: shapes that do not fit.

    Example:
        >>> import numpy as np
        >>> triangular_solve(np.float32([[2, 0], [1, 1]]), np.float32([2, 3]), left_side=True,
        ...                  lower=True)
        Array([1., 2.], dtype=float32)
    """
    matrix = as_array(a, "triangular_solve")
    side = as_array(b, "triangular_solve", 1)
    is_vector = side.ndim == matrix.ndim - 1
    axis = side.ndim if left_side else side.ndim - 1
    if is_vector:
        side = shapes.expand_dims(side, (axis,))
    out = solving.triangular_solve(
        matrix,
        side,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and dtypes.kind_of(matrix.dtype) == "c",
        unit_diagonal=bool(unit_diagonal),
    )
    return shapes.squeeze(out, (axis,)) if is_vector else out


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Value:
    """Return X with ``A @ X = b`` for A with diagonals ``dl`` (below), ``d`` and ``du`` (above).

    Args:
        dl: ``T[*b, n]``, the first element is not read.
        d: ``T[*b, n]``.
        du: ``T[*b, n]``, the last element is not read.
        b: ``T[*b, n, k]``.
        perturb_singular: accepted; singular matrices give NaN.

    Raises:
        TypeError: shapes that do not fit.

    Example:
        >>> import numpy as np
        >>> one = np.ones(2, np.float32)
        >>> tridiagonal_solve(0 * one, 2 * one, 0 * one, one[:, None])
        Array([[0.5],
               [0.5]], dtype=float32)
    """
    arrays = [as_array(x, "tridiagonal_solve", k) for k, x in enumerate((dl, d, du, b))]
    return tridiagonal_solve_p.bind(*arrays, perturb_singular=bool(perturb_singular))


def householder_product(a: Any, taus: Any) -> Value:
    """Return the first columns of the product of reflections: ``T[*b, m, n], T[*b, k]``.

    Raises:
        ValueError: fewer rows than columns, or more scales than columns.
    """
    return householder_product_p.bind(
        as_array(a, "householder_product"), as_array(taus, "householder_product", 1)
    )


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Value:
    """Return ``Q @ c`` (or ``c @ Q``) for Q given as reflections; ``transpose``: with ``Q.H``.

    Raises:
        ValueError: shapes that do not fit.
    """
    arrays = [as_array(x, "ormqr", k) for k, x in enumerate((a, taus, c))]
    return ormqr_p.bind(*arrays, left=bool(left), transpose=bool(transpose))


def hessenberg(a: Any) -> list[Value]:
    """Return a similar Hessenberg matrix with the reflections below it, and their scales.

    Raises:
        ValueError: matrices that are not square.
    """
    return list(hessenberg_p.bind_all(as_array(a, "hessenberg")))


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> list[Value]:
    """Return quasi-triangular T and, if wanted, unitary V with ``V @ T @ V.H = x``.

    Raises:
        ValueError: matrices that are not square.
        NotImplementedError: ``sort_eig_vals``.
    """
    return list(
        schur_p.bind_all(
            as_array(x, "schur"),
            compute_schur_vectors=bool(compute_schur_vectors),
            select_callable=select_callable,
            sort_eig_vals=bool(sort_eig_vals),
        )
    )


def tridiagonal(a: Any, *, lower: bool = True) -> list[Value]:
    """Return (reflections, diagonal, off-diagonal, scales) of a Hermitian matrix made tridiagonal.

    Raises:
        ValueError: matrices that are not square.
    """
    return list(tridiagonal_p.bind_all(as_array(a, "tridiagonal"), lower=bool(lower)))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Value:
    """Return upper triangular R' with ``R'.T @ R' = R.T @ R + w w.T``: ``T[n, n], T[n]``.

    Raises:
        ValueError: shapes that do not fit.
    """
    r, w = as_array(r_matrix, "cholesky_update"), as_array(w_vector, "cholesky_update", 1)
    if w.ndim != 1:
        raise TypeError(
            "Input 1 to cholesky_update must have a rank of exactly 1, but got "
            f"shape={tuple(w.shape)}"
        )
    return cholesky_update_p.bind(r, w)


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Value, Value, Value, Value]:
    """Return the polar decomposition ``x = u @ h``: u with orthonormal columns, h Hermitian.

    Computed from the singular value decomposition, so there is one iteration and it converged.

    Args:
        x: ``T[m, n]``, m >= n.
        is_hermitian: accepted.
        max_iterations: accepted.
        eps: accepted.
        dynamic_shape: only None.

    Returns:
        u, h, the number of iterations (1) and whether they converged (True).

    Raises:
        ValueError: fewer rows than columns.
    """
    matrix = as_array(x, "qdwh")
    m, n = matrix.shape[-2:]
    if m < n:
        raise ValueError(f"The input matrix of shape M x N must have M >= N.\n  got {m} x {n}")
    if dynamic_shape is not None:
        raise NotImplementedError("qdwh: dynamic_shape is for padded matrices on TPU")
    left, values, right = svd(matrix, full_matrices=False)
    adjoint = shapes.transpose(right, (1, 0))
    if dtypes.kind_of(matrix.dtype) == "c":
        adjoint = elementwise.conj(adjoint)
    row = shapes.expand_dims(shapes.convert_type(values, matrix.dtype, False), (0,))
    scaled = elementwise.mul(adjoint, shapes.broadcast_in_dim(row, adjoint.shape, (0, 1)))
    u, h = dot(left, right), dot(scaled, right)
    return u, h, constant(1, np.dtype(np.int32)), constant(True, np.dtype(np.bool_))


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Value:
    """Return ``alpha A @ A.T + beta C``: ``T[*b, m, n], T[*b, m, m] -> T[*b, m, m]``.

    ``symmetrize_output`` copies the lower triangle to the upper one.
    """
    out = symmetric_product_p.bind(
        as_array(a_matrix, "symmetric_product"),
        as_array(c_matrix, "symmetric_product", 1),
        alpha=float(alpha),
        beta=float(beta),
    )
    if not symmetrize_output:
        return out
    below = matrices.swapped(matrices.lower_triangle(out, True))
    return elementwise.add(matrices.lower_triangle(out), below)


__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_p",
    "cholesky_update", "cholesky_update_p", "eig", "eig_p", "eigh", "eigh_p", "hessenberg",
    "hessenberg_p", "householder_product", "householder_product_p", "lu", "lu_p",
    "lu_pivots_to_permutation", "lu_pivots_to_permutation_p", "ormqr", "ormqr_p", "qdwh", "qr",
    "qr_p", "schur", "schur_p", "svd", "svd_p", "symmetric_product", "symmetric_product_p",
    "triangular_solve", "triangular_solve_p", "tridiagonal", "tridiagonal_p", "tridiagonal_solve",
    "tridiagonal_solve_p",
]  # fmt: skip
