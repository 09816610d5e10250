"""Decompositions of ``jaxlite.numpy.linalg``. In: matrices. Out: factors, in named tuples.

Thin: check and promote, then ``jaxlite.lax.linalg``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxlite.language.array import Value
from jaxlite.lax import linalg as lax_linalg
from jaxlite.numpy import arithmetic, ufuncs
from jaxlite.numpy.ordering import argsort, sort
from jaxlite.numpy.promotion import check_arraylike, promote_all_inexact
from jaxlite.numpy.rearrange import expand_dims, flip, matrix_transpose
from jaxlite.numpy.selection import take_along_axis
from jaxlite.primitives import matrices
from jaxlite.primitives.linalg import svdvals as singular_values
from jaxlite.primitives.reflections import geqrf


class EigResult(NamedTuple):
    """What ``eig`` returns."""

    eigenvalues: Value
    eigenvectors: Value


class EighResult(NamedTuple):
    """What ``eigh`` returns."""

    eigenvalues: Value
    eigenvectors: Value


class QRResult(NamedTuple):
    """What ``qr`` returns."""

    Q: Value
    R: Value


class SVDResult(NamedTuple):
    """What ``svd`` returns."""

    U: Value
    S: Value
    Vh: Value


def as_inexact(name: str, x: Any) -> Value:
    """Return ``x`` as an array of floats (or complex numbers)."""
    check_arraylike(f"jnp.linalg.{name}", x)
    return promote_all_inexact(f"jnp.linalg.{name}", x)[0]


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Value:
    """Return lower triangular L with ``L @ L.H = a``, NaN if a is not positive definite.

    Args:
        a: ``T[*b, n, n]``, Hermitian.
        upper: return ``L.H`` instead.
        symmetrize_input: take ``(a + a.H) / 2`` first.

    Raises:
        TypeError: no array, or fewer than two axes.

    Example:
        >>> import numpy as np
        >>> cholesky(np.float32([[4, 2], [2, 5]]))
        Array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    out = lax_linalg.cholesky(as_inexact("cholesky", a), symmetrize_input=symmetrize_input)
    return matrices.adjoint(out) if upper else out


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Return ascending eigenvalues and eigenvectors (columns) of Hermitian matrices.

    Args:
        a: ``T[*b, n, n]``.
        UPLO: "L" or "U", the triangle that is read if ``symmetrize_input`` is False.
        symmetrize_input: take ``(a + a.H) / 2`` first.

    Raises:
        ValueError: another ``UPLO``.

    Example:
        >>> import numpy as np
        >>> eigh(np.float32([[2, 0], [0, 1]])).eigenvalues
        Array([1., 2.], dtype=float32)
    """
    check_arraylike("jnp.linalg.eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    vectors, values = lax_linalg.eigh(
        as_inexact("eigh", a), lower=UPLO != "U", symmetrize_input=symmetrize_input
    )
    return EighResult(values, vectors)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Value:
    """Return the ascending eigenvalues of Hermitian matrices: ``T[*b, n, n] -> R[*b, n]``."""
    check_arraylike("jnp.linalg.eigvalsh", a)
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: Any) -> EigResult:
    """Return complex eigenvalues and eigenvectors (columns) of square matrices.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> import numpy as np
        >>> eig(np.float32([[0, 1], [-1, 0]])).eigenvalues
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    values, vectors = lax_linalg.eig(as_inexact("eig", a), compute_left_eigenvectors=False)
    return EigResult(values, vectors)


def eigvals(a: Any) -> Value:
    """Return the complex eigenvalues of square matrices: ``T[*b, n, n] -> C[*b, n]``."""
    value = as_inexact("eigvals", a)
    return lax_linalg.eig(value, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[
        0
    ]


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Return ``(U, S, Vh)`` with ``U @ diag(S) @ Vh = a``, or ``S`` alone.

    Args:
        a: ``T[*b, m, n]``.
        full_matrices: square U and Vh instead of min(m, n) columns and rows.
        compute_uv: False returns the singular values alone.
        hermitian: ``a`` is Hermitian; its eigenvectors are used.
        subset_by_index: only None or all of them.

    Raises:
        NotImplementedError: a subset, or a derivative with ``full_matrices`` of a long matrix.

    Example:
        >>> import numpy as np
        >>> svd(np.float32([[0, 3], [4, 0]])).S
        Array([4., 3.], dtype=float32)
    """
    value = as_inexact("svd", a)
    if hermitian:
        return _hermitian_svd(value, compute_uv)
    out = lax_linalg.svd(
        value,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
    )
    return SVDResult(*out) if compute_uv else out


def _hermitian_svd(x: Value, compute_uv: bool) -> Any:
    values, vectors = eigh(x)
    sizes = arithmetic.abs(values)
    if not compute_uv:
        return flip(sort(sizes), -1)
    order = flip(argsort(sizes), -1)
    vectors = take_along_axis(vectors, expand_dims(order, -2), -1)
    signs = expand_dims(take_along_axis(ufuncs.sign(values), order, -1), -2)
    signed = ufuncs.multiply(vectors, signs)
    return SVDResult(vectors, take_along_axis(sizes, order, -1), matrices.adjoint(signed))


def svdvals(x: Any, /) -> Value:
    """Return the singular values, descending: ``T[*b, m, n] -> R[*b, min(m, n)]``."""
    return singular_values(as_inexact("svdvals", x))


def qr(a: Any, mode: str = "reduced") -> Any:
    """Return unitary Q and upper triangular R with ``Q @ R = a``.

    Args:
        a: ``T[*b, m, n]``.
        mode: "reduced" (min(m, n) columns of Q), "complete" (m), "r" (R alone), or "raw" (the
            transposed reflections and their scales, as LAPACK keeps them).

    Raises:
        ValueError: another mode.

    Example:
        >>> import numpy as np
        >>> [f.shape for f in qr(np.ones((3, 2), np.float32))]
        [(3, 2), (2, 2)]
    """
    value = as_inexact("qr", a)
    if mode == "raw":
        packed, taus = geqrf(value)
        return QRResult(matrix_transpose(packed), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = lax_linalg.qr(value, full_matrices=mode in ("full", "complete"))
    return r if mode == "r" else QRResult(q, r)


__all__ = [
    "EigResult", "EighResult", "QRResult", "SVDResult", "as_inexact", "cholesky", "eig", "eigh",
    "eigvals", "eigvalsh", "qr", "svd", "svdvals",
]  # fmt: skip
