"""Factorisations with SciPy's signatures. In: matrices. Out: factors.

``overwrite_a``, ``check_finite`` and the like are SciPy's; they are accepted and change nothing.
"""

from __future__ import annotations

from typing import Any

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import linalg as lax_linalg
from jaxlite.numpy.promotion import check_arraylike, promote_all_inexact

__all__ = [
    "cho_factor", "cholesky", "det", "eigh", "eigh_tridiagonal", "hessenberg", "inv", "lu",
    "lu_factor", "polar", "qr", "qr_multiply", "rsf2csf", "schur", "svd",
]  # fmt: skip


def matrix_of(name: str, a: Any) -> Value:
    """Return ``a`` as an array of floats (or complex numbers)."""
    check_arraylike(name, a)
    return promote_all_inexact(name, a)[0]


def adjoint(x: Value) -> Value:
    """Return the conjugate transpose of the last two axes."""
    return jnp.conj(jnp.matrix_transpose(x))


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Value:
    """Return U with ``U.H @ U = a`` (``lower``: L with ``L @ L.H``): ``T[*b, n, n]``.

    >>> import numpy as np
    >>> cholesky(np.float32([[4, 2], [2, 5]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    value = matrix_of("cholesky", a)
    factor = lax_linalg.cholesky(value if lower else adjoint(value), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Value, bool]:
    """Return the Cholesky factor of ``a`` and ``lower``, as ``cho_solve`` takes them."""
    return cholesky(a, lower), lower


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Return ``(U, s, V.H)`` with ``U @ diag(s) @ V.H = a``, or ``s`` alone."""
    out = lax_linalg.svd(
        matrix_of("svd", a),
        full_matrices=full_matrices,
        compute_uv=compute_uv,
    )
    return tuple(out) if compute_uv else out


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the determinant of square matrices."""
    return jnp.linalg.det(matrix_of("det", a))


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """Return the inverse of square matrices."""
    return jnp.linalg.inv(matrix_of("inv", a))


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Return ascending eigenvalues and eigenvectors (columns) of Hermitian matrices.

    Args:
        a: ``T[*b, n, n]``.
        b: only None.
        lower: which triangle is read.
        eigvals_only: return the eigenvalues alone.
        overwrite_a: accepted.
        overwrite_b: accepted.
        turbo: accepted.
        eigvals: only None.
        type: only 1.
        check_finite: accepted.

    Raises:
        NotImplementedError: what SciPy has and JAX does not.
    """
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented")
    vectors, values = lax_linalg.eigh(matrix_of("eigh", a), lower=lower)
    return values if eigvals_only else (values, vectors)


def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """Return ascending eigenvalues (and eigenvectors) of a tridiagonal Hermitian matrix.

    Args:
        d: the diagonal, ``T[n]``.
        e: the diagonal above, ``T[n - 1]``.
        eigvals_only: return the eigenvalues alone.
        select: "a" all, "i" those numbered by ``select_range`` (both ends in), "v" those in the
            interval ``select_range``.
        select_range: two numbers.
        tol: accepted; results are exact to rounding.
        key: accepted; nothing is random here.

    Raises:
        ValueError: lengths or ``select`` that do not fit.

    >>> import numpy as np
    >>> eigh_tridiagonal(np.float32([1, 2]), np.float32([0]), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    diagonal, above = matrix_of("eigh_tridiagonal", d), matrix_of("eigh_tridiagonal", e)
    if diagonal.dtype != above.dtype:
        raise TypeError(
            "diagonal and off-diagonal values must have same dtype, got "
            f"{diagonal.dtype} and {above.dtype}"
        )
    if diagonal.ndim != 1 or above.ndim != 1:
        raise ValueError("diagonal and off-diagonal must be 1D arrays")
    n = diagonal.shape[0]
    if above.shape[0] != max(n - 1, 0):
        raise ValueError(
            f"len(e) must be one less than len(d); got e.shape={above.shape}, d.shape={(n,)}"
        )
    if select not in ("a", "i", "v"):
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    matrix = jnp.diag(diagonal) + jnp.diag(above, 1) + jnp.diag(jnp.conj(above), -1)
    vectors, values = lax_linalg.eigh(matrix, symmetrize_input=False)
    if select == "i":
        if select_range is None or select_range[0] > select_range[1]:
            raise ValueError("Got empty index range in select_range.")
        first, last = int(select_range[0]), int(select_range[1]) + 1
        values, vectors = values[first:last], vectors[:, first:last]
    return values if eigvals_only else (values, vectors)


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Value, ...]:
    """Return ``(P, L, U)`` with ``P @ L @ U = a``, or ``(P @ L, U)`` if ``permute_l``."""
    x = matrix_of("lu", a)
    packed, _, order = lax_linalg.lu(x)
    m, n = x.shape[-2:]
    k = min(m, n)
    permutation = jnp.swapaxes(jnp.eye(m, dtype=dtypes.to_real_dtype(x.dtype))[order], -1, -2)
    lower = jnp.tril(packed, -1)[..., :, :k] + jnp.eye(m, k, dtype=x.dtype)
    upper = jnp.triu(packed)[..., :k, :]
    if permute_l:
        return jnp.matmul(permutation.astype(x.dtype), lower), upper
    return permutation, lower, upper


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Value, Value]:
    """Return L and U in one matrix, and the row swaps, as ``lu_solve`` takes them."""
    packed, pivots, _ = lax_linalg.lu(matrix_of("lu_factor", a))
    return packed, pivots


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Value, ...]:
    """Return ``(Q, R)`` with ``Q @ R = a``; ``pivoting`` adds p with ``Q @ R = a[:, p]``.

    Args:
        a: ``T[*b, m, n]``.
        overwrite_a: accepted.
        lwork: accepted.
        mode: "full", "economic" (min(m, n) columns of Q) or "r" (no Q).
        pivoting: exchange columns, so that R's diagonal descends.
        check_finite: accepted.

    Raises:
        ValueError: another mode.
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    x = matrix_of("qr", a)
    out = lax_linalg.qr(x, pivoting=pivoting, full_matrices=mode != "economic")
    return out[1:] if mode == "r" else out


def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Value, ...]:
    """Return ``(c @ Q, R)`` (or ``(Q @ c, R)`` in mode "left") for the QR factors of ``a``.

    Args:
        a: ``T[*b, m, n]``.
        c: ``T[*b, k, m]`` ("right"), ``T[*b, min(m, n), k]`` ("left"), or one vector.
        mode: the side of Q.
        pivoting: exchange columns; adds the permutation to the results.
        conjugate: conjugate Q.
        overwrite_a: accepted.
        overwrite_c: accepted.

    Raises:
        ValueError: another mode.
    """
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    check_arraylike("qr_multiply", a, c)
    x, side = promote_all_inexact("qr_multiply", a, c)
    is_vector = side.ndim == 1
    q, *rest = lax_linalg.qr(x, pivoting=pivoting, full_matrices=False)
    expected = q.shape[-1] if mode == "left" else q.shape[-2]
    given = side.shape[-2] if mode == "left" and not is_vector else side.shape[-1]
    if expected != given:
        how, what = ("Q @ c", "columns") if mode == "left" else ("c @ Q", "rows")
        which = "rows" if mode == "left" else "columns"
        raise ValueError(
            f"Array shapes are not compatible for {how} operation: a has shape {x.shape} so Q has "
            f"{expected} {what}, but c has {given} {which} (expected {expected})."
        )
    if conjugate:
        q = jnp.conj(q)
    product = jnp.matmul(q, side) if mode == "left" else jnp.matmul(side, q)
    return (product, *rest)


def schur(a: Any, output: str = "real") -> tuple[Value, Value]:
    """Return T, upper triangular (real: with 2x2 blocks), and unitary Z: ``Z @ T @ Z.H = a``.

    Args:
        a: ``T[*b, n, n]``.
        output: "real" or "complex".

    Raises:
        ValueError: another ``output``.
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    x = matrix_of("schur", a)
    if output == "complex" and dtypes.kind_of(x.dtype) != "c":
        x = x.astype(dtypes.to_complex_dtype(x.dtype))
    triangular, vectors = lax_linalg.schur(x)
    return triangular, vectors


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Value, Value]:
    """Return the complex Schur factors that belong to real ones.

    Each 2x2 block of ``T`` is made triangular by a rotation, from the last to the first.

    Raises:
        ValueError: matrices that are not square, or of different sizes.
    """
    check_arraylike("rsf2csf", T, Z)
    t, z = matrix_of("rsf2csf", T), matrix_of("rsf2csf", Z)
    for name, x in (("Z", z), ("T", t)):
        if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
            raise ValueError(f"Input '{name}' must be square.")
    if t.shape[-1] != z.shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    wide = max((dtypes.to_complex_dtype(x.dtype) for x in (t, z)), key=lambda d: d.itemsize)
    both = jnp.vectorize(_rsf2csf, signature="(n,n),(n,n)->(n,n),(n,n)")
    out: tuple[Value, Value] = both(t.astype(wide), z.astype(wide))
    return out


def _rsf2csf(t: Value, z: Value) -> tuple[Value, Value]:
    n, wide = t.shape[0], t.dtype
    numbers = jnp.arange(n)
    eps = dtypes.finfo(wide).eps

    def rotate(k: Value, both: tuple[Value, Value]) -> tuple[Value, Value]:
        t, z = both
        m = n - 1 - k
        block = lax.dynamic_slice(t, (m - 1, m - 1), (2, 2))
        below, size = block[1, 0], jnp.abs(jnp.diagonal(block)).sum()
        shift = jnp.linalg.eigvals(block)[0] - block[1, 1]
        length = jnp.sqrt(jnp.abs(shift) ** 2 + jnp.abs(below) ** 2)
        is_block = jnp.abs(below) > eps * size
        c, s = (v / jnp.where(is_block, length, 1).astype(wide) for v in (shift, below))
        g = jnp.array([[jnp.conj(c), s], [-s, c]])
        g = jnp.where(is_block, g, jnp.eye(2, dtype=wide))
        rows = lax.dynamic_slice(t, (m - 1, 0), (2, n))
        rows = jnp.where((numbers >= m - 1)[None, :], g @ rows, rows)
        t = lax.dynamic_update_slice(t, rows, (m - 1, 0))

        def turned(x: Value, n_rows: Value | int) -> Value:
            columns = lax.dynamic_slice(x, (0, m - 1), (n, 2))
            columns = jnp.where((numbers < n_rows)[:, None], columns @ jnp.conj(g.T), columns)
            return lax.dynamic_update_slice(x, columns, (0, m - 1))

        return turned(t, m + 1).at[m, m - 1].set(0), turned(z, n)

    return lax.fori_loop(0, n - 1, rotate, (t, z)) if n > 1 else (t, z)


def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return H, zero below its first subdiagonal, (and unitary Q) with ``Q @ H @ Q.H = a``."""
    x = matrix_of("hessenberg", a)
    n = x.shape[-1]
    if n == 0:
        if x.shape[-2] != 0:
            raise ValueError(f"The input must be square: {x.shape}")
        return (x, x) if calc_q else x
    packed, taus = lax_linalg.hessenberg(x)
    h = jnp.triu(packed, -1)
    if not calc_q:
        return h
    if n == 1:
        return h, jnp.ones_like(x)
    small = lax_linalg.householder_product(packed[..., 1:, :-1], taus)
    q = jnp.zeros_like(x).at[..., 0, 0].set(1).at[..., 1:, 1:].set(small)
    return h, q


def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Value, Value]:
    """Return unitary U and positive P with ``U @ P = a`` ("right") or ``P @ U = a`` ("left").

    Args:
        a: ``T[*b, m, n]``.
        side: the side of P.
        method: "qdwh" or "svd"; both take the singular value decomposition.
        eps: accepted.
        max_iterations: accepted.

    Raises:
        ValueError: another side or method.
        NotImplementedError: "qdwh" with the longer axis on the side of P.
    """
    x = matrix_of("polar", a)
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    m, n = x.shape[-2:]
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method}.")
    if method == "qdwh" and (m < n if side == "right" else m > n):
        raise NotImplementedError(
            "method='qdwh' only supports mxn matrices where m < n where side='right' and m >= n "
            f"side='left', got {x.shape} with side={side!r}\n"
            "  fix: method='svd' takes them all"
        )
    u, s, vh = lax_linalg.svd(x, full_matrices=False)
    s = s.astype(u.dtype)[..., None, :]
    p = (adjoint(vh) * s) @ vh if side == "right" else (u * s) @ adjoint(u)
    return u @ vh, p
