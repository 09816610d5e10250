"""Linear equations with SciPy's signatures. In: matrices or their factors. Out: solutions."""

from __future__ import annotations

import functools
from typing import Any

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import linalg as lax_linalg
from jaxlite.numpy.promotion import check_arraylike, promote_all_inexact
from jaxlite.scipy.linalg.factors import adjoint, cho_factor, schur

__all__ = ["cho_solve", "lu_solve", "solve", "solve_sylvester", "solve_triangular"]

_ASSUMED = ("gen", "sym", "her", "pos")
_TRANSPOSED = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Value:
    """Return x with ``a @ x = b``, given ``cho_factor(a)``.

    >>> import numpy as np
    >>> cho_solve(cho_factor(np.float32([[4, 0], [0, 2]])), np.float32([4, 2])).round(3)
    Array([1., 1.], dtype=float32)
    """
    factor, lower = c_and_lower
    first = solve_triangular(factor, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(factor, first, trans=2 if lower else 0, lower=lower)


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Value:
    """Return x with ``a @ x = b``.

    Args:
        a: ``T[*b, n, n]``.
        b: one vector ``T[n]``, or matrices ``T[*b, n, k]``.
        lower: the triangle read if ``assume_a`` is "pos".
        overwrite_a: accepted.
        overwrite_b: accepted.
        debug: accepted.
        check_finite: accepted.
        assume_a: "gen", "sym", "her", or "pos" (positive definite: by Cholesky factors).

    Raises:
        ValueError: another ``assume_a``, or shapes that do not fit.
    """
    if assume_a not in _ASSUMED:
        raise ValueError(f"Expected assume_a to be one of {list(_ASSUMED)}; got {assume_a!r}")
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    check_arraylike("solve", a, b)
    x, side = promote_all_inexact("solve", a, b)
    rows = side.shape[-1:] if side.ndim == x.ndim - 1 else side.shape[-2:-1]
    is_square = x.ndim >= 2 and x.shape[-2] == x.shape[-1]
    if not is_square or side.ndim not in (x.ndim, x.ndim - 1) or rows != x.shape[-1:]:
        raise ValueError(
            "The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or "
            f"b=[..., m]; got a={x.shape} and b={side.shape}"
        )
    # The factors give the value; the derivatives are those of any solution.
    factor = cho_factor(lax.stop_gradient(x), lower)
    is_vector = side.ndim == x.ndim - 1
    out: Value = lax.custom_linear_solve(
        lambda v: jnp.matmul(x, v),
        side[..., None] if is_vector else side,
        lambda _, v: cho_solve(factor, v),
        lambda _, v: jnp.conj(cho_solve(factor, jnp.conj(v))),
    )
    return out[..., 0] if is_vector else out


def _as_side(matrix: Value, side: Value) -> tuple[Value, Value, bool]:
    """Return both as matrices of one batch, and whether the right-hand side was a vector."""
    is_vector = side.ndim == 1 or side.shape == matrix.shape[:-1]
    columns = side[..., None] if is_vector else side
    n, rows = matrix.shape[-1], columns.shape[-2]
    if rows != n:
        raise ValueError(
            f"inconsistent size for core dimension 'n': {rows} vs {n} on vectorized function with "
            "excluded=frozenset() and signature="
            f"{'(n,n),(n)->(n)' if is_vector else '(n,n),(n,k)->(n,k)'!r}"
        )
    batch = jnp.broadcast_shapes(matrix.shape[:-2], columns.shape[:-2])
    matrix = jnp.broadcast_to(matrix, (*batch, *matrix.shape[-2:]))
    return matrix, jnp.broadcast_to(columns, (*batch, *columns.shape[-2:])), is_vector


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Value:
    """Return x with ``op(a) @ x = b``, given ``lu_factor(a)``.

    Args:
        lu_and_piv: L and U in one matrix ``T[*b, n, n]``, and the row swaps ``int32[*b, n]``.
        b: ``T[n]`` or ``T[*b, n, k]``.
        trans: 0 solves with a, 1 with its transpose, 2 with its conjugate transpose.
        overwrite_b: accepted.
        check_finite: accepted.

    Raises:
        ValueError: another ``trans``.
    """
    packed, pivots = lu_and_piv
    check_arraylike("lu_solve", packed, pivots, b)
    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    factors, side = promote_all_inexact("lu_solve", packed, b)
    n = factors.shape[-1]
    order = lax_linalg.lu_pivots_to_permutation(jnp.asarray(pivots), n)
    factors, columns, is_vector = _as_side(factors, side)
    order = jnp.broadcast_to(order, (*columns.shape[:-2], n))
    kinds = {"left_side": True, "transpose_a": trans != 0, "conjugate_a": trans == 2}
    unit: dict[str, Any] = {"lower": True, "unit_diagonal": True, **kinds}
    upper: dict[str, Any] = {"lower": False, **kinds}
    if trans == 0:
        x = jnp.take_along_axis(columns, order[..., None], -2)
        x = lax_linalg.triangular_solve(factors, x, **unit)
        x = lax_linalg.triangular_solve(factors, x, **upper)
    else:
        x = lax_linalg.triangular_solve(factors, columns, **upper)
        x = lax_linalg.triangular_solve(factors, x, **unit)
        x = jnp.take_along_axis(x, jnp.argsort(order)[..., None], -2)
    return x[..., 0] if is_vector else x


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Value:
    """Return x with ``op(a) @ x = b`` for triangular ``a``.

    Args:
        a: ``T[*b, n, n]``; only one triangle is read.
        b: ``T[n]`` or ``T[*b, n, k]``.
        trans: 0 or "N" solves with a, 1 or "T" with its transpose, 2 or "C" with its conjugate
            transpose.
        lower: lower triangle instead of upper.
        unit_diagonal: take the diagonal as ones.
        overwrite_b: accepted.
        debug: accepted.
        check_finite: accepted.

    Raises:
        ValueError: another ``trans``.
    """
    check_arraylike("solve_triangular", a, b)
    matrix, side = promote_all_inexact("solve_triangular", a, b)
    kind = _TRANSPOSED.get(trans)
    if kind is None:
        raise ValueError(f"Invalid 'trans' value {trans}")
    matrix, columns, is_vector = _as_side(matrix, side)
    out = lax_linalg.triangular_solve(
        matrix,
        columns,
        left_side=True,
        lower=lower,
        transpose_a=kind != 0,
        conjugate_a=kind == 2,
        unit_diagonal=unit_diagonal,
    )
    return out[..., 0] if is_vector else out


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Value:
    """Return X with ``A @ X + X @ B = C``, by Bartels and Stewart (1972).

    Args:
        A: ``T[*b, m, m]``.
        B: ``T[*b, n, n]``.
        C: ``T[*b, m, n]``.
        method: "schur" or "eigen" (by eigenvectors, less exact).
        tol: X is NaN where the sum of an eigenvalue of A and one of B is smaller than this.

    Raises:
        ValueError: shapes that do not fit, or another method.
    """
    check_arraylike("solve_sylvester", A, B, C)
    a, b, c = promote_all_inexact("solve_sylvester", A, B, C)
    m, n = c.shape[-2:] if c.ndim > 1 else (-1, -1)
    if a.shape[-2:] != (m, m) or b.shape[-2:] != (n, n):
        raise ValueError(
            f"Incompatible shapes for Sylvester equation:\nA: {a.shape}\nB: {b.shape}\nC: {c.shape}"
        )
    if method not in ("schur", "eigen"):
        raise ValueError(
            f'Unrecognized method {method}. The two valid methods are either "schur" or "eigen".'
        )
    one = functools.partial(_sylvester, method, tol)
    out: Value = jnp.vectorize(one, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, c)
    return out


def _sylvester(method: str, tol: float, a: Value, b: Value, c: Value) -> Value:
    wide = dtypes.to_complex_dtype(a.dtype)
    if method == "schur":
        r, u = schur(a, "complex")
        s, v = schur(b, "complex")
        right = adjoint(u) @ c.astype(wide) @ v
        x = u @ _triangular_sylvester(r, s, right) @ adjoint(v)
        sums = jnp.diagonal(r)[:, None] + jnp.diagonal(s)[None, :]
    else:
        p, u = jnp.linalg.eig(a)
        q, v = jnp.linalg.eig(b)
        sums = p[:, None] + q[None, :]
        right = jnp.linalg.solve(u, c.astype(wide) @ v)
        x = jnp.linalg.solve(v.T, (u @ (right / sums)).T).T
    x = jnp.where(jnp.any(jnp.abs(sums) < tol), jnp.nan, x).astype(wide)
    return x if dtypes.kind_of(a.dtype) == "c" else x.real


def _triangular_sylvester(r: Value, s: Value, f: Value) -> Value:
    """Return Y with ``r @ Y + Y @ s = f`` for upper triangular r and s, column after column."""
    m, n = f.shape
    unit = jnp.eye(m, dtype=r.dtype)

    def column(k: Value, y: Value) -> Value:
        # The columns of y from k on are still zero.
        known = f[:, k] - y @ s[:, k]
        solved = lax_linalg.triangular_solve(r + s[k, k] * unit, known, left_side=True)
        return y.at[:, k].set(solved)

    out: Value = lax.fori_loop(0, n, column, jnp.zeros_like(f))
    return out
