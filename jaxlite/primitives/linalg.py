"""Matrix factorisations by LAPACK. In: ``T[*b, m, n]``, float or complex. Out: the factors.

Derivatives: Giles, "Collected matrix derivative results" (2008), and Walter and Lehmann (2010) for
QR. Each is linear in ``dA`` through products with the factors, so it transposes by the rules of
``dot_general``. Where an algorithm fails, the factors are NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import TangentMaps, as_tuple
from jaxlite.language.trace import get_aval
from jaxlite.primitives.argreduce import argmax
from jaxlite.primitives.arithmetic import add, div, mul, sub
from jaxlite.primitives.comparison import eq
from jaxlite.primitives.complex import complex_, imag, real
from jaxlite.primitives.convert import convert_element_type
from jaxlite.primitives.families import full_like, ops
from jaxlite.primitives.linear_solve import linear_solve_p, lu, take_rows, triangular_solve
from jaxlite.primitives.matrices import (
    MatrixPrimitive,
    adjoint,
    block,
    check_square,
    diagonal,
    dot,
    identity_like,
    is_complex,
    keep,
    lapack,
    like_columns,
    like_rows,
    lower_triangle,
    on_diagonal,
    rows_and_columns,
    swapped,
)
from jaxlite.primitives.select import select_n


def _by_numpy(function: Any, *args: Any) -> tuple[Any, ...] | None:
    """Return the results of a stacked NumPy function, None where it raises LinAlgError."""
    try:
        out = function(*args)
        return tuple(out) if isinstance(out, tuple) else (out,)
    except np.linalg.LinAlgError:
        return None


def _real_diagonal(x: Value) -> Value:
    out = diagonal(x)
    return real(out) if is_complex(x) else out


class Cholesky(MatrixPrimitive):
    """Lower triangular L with ``L @ L.H = x``; NaN if x is not positive definite."""

    name = "cholesky"

    def results(self, x: Any, **params: Any) -> ShapedArray:
        check_square(x, "The input to cholesky must be a square matrix. Got shape {shape}.")
        return ShapedArray(x.shape, x.dtype)

    def all_at_once(self, arrays: Any, avals: Any, **params: Any) -> tuple[Any, ...] | None:
        return _by_numpy(np.linalg.cholesky, *arrays)

    def one(self, x: Any) -> Any:
        found = _by_numpy(np.linalg.cholesky, x)
        return np.tril(np.full_like(x, np.nan)) if found is None else found

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        # dL = L Phi(L^-1 dA L^-H), Phi: the lower triangle with half of the diagonal.
        def tangent(t: Value) -> Value:
            inner = triangular_solve(out, t, lower=True, transpose_a=True, conjugate_a=True)
            inner = triangular_solve(out, inner, lower=True, left_side=True)
            half = select_n(on_diagonal(inner), full_like(inner, 1), full_like(inner, 0.5))
            return dot(out, mul(lower_triangle(inner), half))

        return (tangent,)


class Eigh(MatrixPrimitive):
    """Eigenvectors (columns) and ascending eigenvalues of a Hermitian matrix."""

    name = "eigh"

    def results(self, x: Any, *, subset_by_index: Any, **params: Any) -> Any:
        check_square(x, "Argument to symmetric eigendecomposition must have shape [..., n, n], "
                        "got shape {shape}")  # fmt: skip
        if subset_by_index not in (None, (0, x.shape[-1])):
            raise NotImplementedError("subset_by_index not supported on CPU and GPU")
        values = ShapedArray(x.shape[:-1], dtypes.to_real_dtype(x.dtype))
        return ShapedArray(x.shape, x.dtype), values

    def one(self, x: Any, *, lower: bool, **params: Any) -> Any:
        if x.size == 0:
            return x, np.zeros(0, dtypes.to_real_dtype(x.dtype))
        values, vectors, info = lapack("syevd", x.dtype)(x, lower=int(lower))
        return (vectors, values) if info == 0 else None

    def jvp(self, out: Any, x: Value, **params: Any) -> TangentMaps:
        # dw = diag(V.H dA V);  dV = V (F * (V.H dA V)), F[i, j] = 1 / (w[j] - w[i]), 0 on the
        # diagonal.
        vectors, values = out
        vectors_h = adjoint(vectors)
        factor = _inverse_gaps(
            sub(like_rows(values, vectors), like_columns(values, vectors)), on_diagonal(vectors)
        )

        def tangent(t: Value) -> tuple[Value, Value]:
            turned = dot(dot(vectors_h, t), vectors)
            return dot(vectors, mul(factor, turned)), _real_diagonal(turned)

        return (tangent,)


def _inverse_gaps(gaps: Value, excluded: Value) -> Value:
    """Return ``1 / gaps``, 0 where ``excluded``."""
    one = full_like(gaps, 1)
    return select_n(excluded, div(one, select_n(excluded, gaps, one)), full_like(gaps, 0))


class Eig(MatrixPrimitive):
    """Complex eigenvalues, left and right eigenvectors (columns) of any square matrix."""

    name = "eig"

    def results(self, x: Any, **params: Any) -> Any:
        check_square(x, "The input to eig must be a square matrix. Got shape {shape}.")
        dtype = dtypes.to_complex_dtype(x.dtype)
        n_vectors = _sides(params).count(True)
        values = ShapedArray(x.shape[:-1], dtype)
        return (values, *[ShapedArray(x.shape, dtype)] * n_vectors)

    def one(self, x: Any, **params: Any) -> Any:
        left, right = _sides(params)
        n = len(x)
        if n == 0:
            return (x[0:0].reshape(0), *[x] * (left + right))
        out = lapack("geev", x.dtype)(x, compute_vl=left, compute_vr=right, lwork=34 * n)
        *values, vl, vr, info = out
        if info != 0:
            return None
        w = values[0] if len(values) == 1 else values[0] + 1j * values[1]
        if len(values) == 2:
            vl, vr = (_paired(v, values[1]) if v.size else v for v in (vl, vr))
        return (w, *[v for v, wanted in ((vl, left), (vr, right)) if wanted])

    def jvp(self, out: Any, x: Value, **params: Any) -> TangentMaps:
        left, right = _sides(params)
        if left or (right and not params["enable_eigvec_derivs"]):
            raise NotImplementedError(
                "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the "
                "input that JAX cannot check (see the enable_eigvec_derivs argument to "
                "jax.lax.linalg.eig).\n"
                "  Fix: differentiate the eigenvalues alone, or pass enable_eigvec_derivs=True "
                "and compute_left_eigenvectors=False to lax.linalg.eig."
            )
        values, *found = as_tuple(out)
        if found:
            vectors = found[0]
        else:
            vectors = eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)[1]
        factors, _, permutation = lu(vectors)

        def turned(t: Value) -> Value:
            # V^-1 dA V
            product = dot(convert_element_type(t, get_aval(vectors).dtype), vectors)
            return linear_solve_p.bind(vectors, factors, permutation, product, transpose_a=False)

        if not right:
            return (lambda t: diagonal(turned(t)),)
        gaps = sub(like_rows(values, vectors), like_columns(values, vectors))
        factor = _inverse_gaps(gaps, on_diagonal(vectors))

        vectors_h, anchor = adjoint(vectors), _anchor(vectors)
        anchored = _sum_over_rows(real(keep(anchor, vectors)))

        def tangent(t: Value) -> tuple[Value, Value]:
            # dV = V (F * V^-1 dA V), minus what would change the length of a column (1) or the
            # phase of its largest element (0).
            inner = turned(t)
            free = dot(vectors, mul(factor, inner))
            along = real(diagonal(dot(vectors_h, free)))
            phase = div(_sum_over_rows(imag(keep(anchor, free))), anchored)
            drift = like_rows(complex_(along, phase), vectors)
            return diagonal(inner), sub(free, mul(vectors, drift))

        return (tangent,)


def _sum_over_rows(x: Value) -> Value:
    """Return the sum of each column: ``T[*b, m, n] -> T[*b, n]``."""
    return ops.reduce_sum(x, (get_aval(x).ndim - 2,))


def _anchor(vectors: Value) -> Value:
    """Return where the largest element of each column is, the one that LAPACK makes real."""
    rows, _ = rows_and_columns(vectors)
    sizes = ops.abs(vectors)
    largest = argmax(sizes, get_aval(sizes).ndim - 2, np.int32)
    return eq(rows, like_rows(largest, rows))


def _sides(params: dict[str, Any]) -> tuple[bool, bool]:
    return params["compute_left_eigenvectors"], params["compute_right_eigenvectors"]


def _paired(v: Any, imaginary: Any) -> Any:
    """Return complex eigenvectors: LAPACK keeps a conjugate pair as real and imaginary part."""
    out = v.astype(np.result_type(v.dtype, np.complex64))
    first = np.flatnonzero(imaginary > 0)
    out[:, first] = v[:, first] + 1j * v[:, first + 1]
    out[:, first + 1] = out[:, first].conj()
    return out


class QR(MatrixPrimitive):
    """Unitary Q and upper triangular R with ``Q @ R = x`` (``x[:, p]`` if pivoting)."""

    name = "qr"

    def results(self, x: Any, *, full_matrices: bool, pivoting: bool, **params: Any) -> Any:
        *batch, m, n = x.shape
        k = m if full_matrices else min(m, n)
        out = ShapedArray((*batch, m, k), x.dtype), ShapedArray((*batch, k, n), x.dtype)
        return (*out, ShapedArray((*batch, n), np.dtype(np.int32))) if pivoting else out

    def one(self, x: Any, *, full_matrices: bool, pivoting: bool, **params: Any) -> Any:
        m, n = x.shape
        k = m if full_matrices else min(m, n)
        if x.size == 0:
            out = np.eye(m, k, dtype=x.dtype), np.zeros((k, n), x.dtype)
            return (*out, np.arange(n, dtype=np.int32)) if pivoting else out
        if pivoting:
            packed, places, taus, *_ = lapack("geqp3", x.dtype)(x)
        else:
            packed, taus, *_ = lapack("geqrf", x.dtype)(x, lwork=64 * n)
        reflectors = np.zeros((m, k), x.dtype)
        reflectors[:, : min(m, n)] = packed[:, : min(m, n)]
        q = lapack("orgqr", x.dtype)(reflectors, taus, lwork=64 * k)[0]
        out = q, np.triu(packed[:k])
        return (*out, places - 1) if pivoting else out

    def jvp(self, out: Any, x: Value, *, full_matrices: bool, pivoting: bool, **_: Any) -> Any:
        m, n = get_aval(x).shape[-2:]
        whole, k = out[0], min(m, n)
        q, r = block(whole, slice(m), slice(k)), block(out[1], slice(k), slice(n))
        square, q_h = block(r, slice(k), slice(k)), adjoint(q)
        complete = _completion(whole, q) if full_matrices and m > n else None

        def tangent(t: Value) -> tuple[Value, ...]:
            # With M = Q.H dA R^-1:  dQ = Q (W - M) + dA R^-1,  dR = (M - W) R,  W antihermitian.
            # Columns beyond the square part of R follow from dA = dQ R + Q dR.
            t = swapped(take_rows(swapped(t), out[2])) if pivoting else t
            scaled = triangular_solve(square, block(t, slice(m), slice(k)))
            inner = dot(q_h, scaled)
            lower = lower_triangle(inner, True)
            turn = sub(lower, adjoint(lower))
            if is_complex(t):
                half = select_n(on_diagonal(inner), full_like(inner, 0), full_like(inner, 0.5))
                turn = add(turn, mul(sub(inner, adjoint(inner)), half))
            d_q = add(dot(q, sub(turn, inner)), scaled)
            d_r = dot(sub(inner, turn), square) if m >= n else dot(q_h, sub(t, dot(d_q, r)))
            if complete is not None:
                d_q, d_r = complete(d_q), _zero_rows(d_r, m - n)
            return (d_q, d_r, None) if pivoting else (d_q, d_r)

        return (tangent,)


def _zero_rows(x: Value, count: int) -> Value:
    aval = get_aval(x)
    config = (*[(0, 0, 0)] * (aval.ndim - 2), (0, count, 0), (0, 0, 0))
    return ops.pad(x, aval.dtype.type(0), config)


def _completion(whole: Value, q: Value) -> Any:
    """Return the map from the tangent of the first columns of a square Q to that of all.

    Householder's Q is ``I - V T V.H``. With Q's first columns split into Q1 (square) and Q2, the
    last columns are ``E + [Q1 - I; Q2] W.H`` where ``W (Q1 - I) = Q2``.
    """
    m, n = get_aval(q).shape[-2:]
    top, bottom = block(q, slice(n), slice(n)), block(q, slice(n, m), slice(n))
    reflected = sub(top, identity_like(top))
    factors, _, permutation = lu(reflected)

    def divided(x: Value) -> Value:
        """Return ``x (Q1 - I)^-1``."""
        out = linear_solve_p.bind(reflected, factors, permutation, swapped(x), transpose_a=True)
        return swapped(out)

    rest = divided(bottom)
    columns = ops.concatenate((reflected, bottom), get_aval(q).ndim - 2)
    rest_h = adjoint(rest)

    def complete(t: Value) -> Value:
        d_top, d_bottom = block(t, slice(n), slice(n)), block(t, slice(n, m), slice(n))
        d_rest = divided(sub(d_bottom, dot(rest, d_top)))
        last = add(dot(t, rest_h), dot(columns, adjoint(d_rest)))
        return ops.concatenate((t, last), get_aval(t).ndim - 1)

    return complete


class SVD(MatrixPrimitive):
    """Singular values (descending) and vectors: ``(s, U, V.H)`` with ``U @ diag(s) @ V.H = x``."""

    name = "svd"

    def results(
        self, x: Any, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any, **params: Any
    ) -> Any:
        *batch, m, n = x.shape
        k = min(m, n)
        if subset_by_index not in (None, (0, k)):
            if full_matrices and compute_uv:
                raise ValueError("full_matrices and subset_by_index cannot both be set")
            raise NotImplementedError("subset_by_index not implemented for CPU and GPU")
        values = ShapedArray((*batch, k), dtypes.to_real_dtype(x.dtype))
        if not compute_uv:
            return values
        rows, columns = (m, n) if full_matrices else (k, k)
        return (
            values,
            ShapedArray((*batch, m, rows), x.dtype),
            ShapedArray((*batch, columns, n), x.dtype),
        )

    def one(self, x: Any, *, full_matrices: bool, compute_uv: bool, **params: Any) -> Any:
        m, n = x.shape
        k = min(m, n)
        if k == 0:
            rows, columns = (m, n) if full_matrices else (0, 0)
            unit = np.eye(m, rows, dtype=x.dtype), np.eye(columns, n, dtype=x.dtype)
            s = np.zeros(0, dtypes.to_real_dtype(x.dtype))
            return (s, *unit) if compute_uv else s
        # More than the least workspace, for the routines that work on blocks of columns.
        work = 4 * k * k + 16 * k + 1024 + 64 * (m + n)
        u, s, vh, info = lapack("gesdd", x.dtype)(
            x, compute_uv=int(compute_uv), full_matrices=int(full_matrices), lwork=work
        )
        if info != 0 or not np.isfinite(x).all():
            return None
        return (s, u, vh) if compute_uv else s

    def jvp(self, out: Any, x: Value, **params: Any) -> TangentMaps:
        m, n = get_aval(x).shape[-2:]
        if not params["compute_uv"]:
            _, u, vh = svd(x, False)
        elif params["full_matrices"] and m != n:
            raise NotImplementedError(
                "Singular value decomposition JVP not implemented for full matrices.\n"
                "  Fix: full_matrices=False."
            )
        else:
            u, vh = out[1:]
        u_h, v = adjoint(u), adjoint(vh)
        if not params["compute_uv"]:
            return (lambda t: _real_diagonal(dot(dot(u_h, t), v)),)
        return (_SingularTangent(out[0], u, u_h, v, vh),)


class _SingularTangent:
    """The linear map from dA to (ds, dU, dV.H).

    With M = U.H dA V, ds = diag(M). dU = U (F * (M s + (M s).H)) + U D + the part of dA V / s
    outside the columns of U, likewise dV. F[i, j] = 1 / (s[j]^2 - s[i]^2). D, half of the
    antihermitian diagonal of M over s, is the free phase, given to U.
    """

    def __init__(self, s: Value, u: Value, u_h: Value, v: Value, vh: Value) -> None:
        self.u, self.u_h, self.v, self.vh = u, u_h, v, vh
        self.m, self.n = get_aval(u).shape[-2], get_aval(v).shape[-2]
        square = dot(u_h, u)
        rows, columns = like_rows(s, square), like_columns(s, square)
        self.rows, self.columns = rows, columns
        gaps = mul(add(rows, columns), sub(rows, columns))
        self.factor = _inverse_gaps(gaps, on_diagonal(square))
        zero = eq(s, full_like(s, 0))
        inverse = _inverse_gaps(s, zero)
        phase = like_rows(inverse, square)
        self.phase = select_n(on_diagonal(square), full_like(phase, 0), phase)
        self.safe = select_n(zero, s, full_like(s, 1))
        self.inverse = inverse

    def __call__(self, t: Value) -> tuple[Value, Value, Value]:
        u, v = self.u, self.v
        inner = dot(dot(self.u_h, t), v)
        left, right = mul(inner, self.rows), mul(self.columns, inner)
        turn = mul(self.factor, add(left, adjoint(left)))
        half = full_like(inner, 0.5)
        turn = add(turn, mul(mul(sub(inner, adjoint(inner)), half), self.phase))
        d_u = dot(u, turn)
        d_v = dot(v, mul(self.factor, add(right, adjoint(right))))
        if self.m > self.n:
            d_u = add(d_u, self._outside(dot(t, v), u, self.u_h))
        if self.n > self.m:
            d_v = add(d_v, self._outside(dot(adjoint(t), u), v, self.vh))
        return _real_diagonal(inner), d_u, adjoint(d_v)

    def _outside(self, moved: Value, basis: Value, basis_h: Value) -> Value:
        rest = sub(moved, dot(basis, dot(basis_h, moved)))
        return div(rest, like_rows(self.safe, rest))


cholesky_p, eigh_p, eig_p, qr_p, svd_p = Cholesky(), Eigh(), Eig(), QR(), SVD()


def cholesky(x: Value) -> Value:
    """Return lower triangular L with ``L @ L.H = x``: ``T[*b, n, n] -> T[*b, n, n]``."""
    return cholesky_p.bind(x)


def eigh(x: Value, lower: bool = True) -> tuple[Value, Value]:
    """Return (vectors, values) of Hermitian matrices: ``T[*b, n, n] -> T[*b, n, n], R[*b, n]``."""
    vectors, values = eigh_p.bind_all(
        x, algorithm=None, lower=lower, sort_eigenvalues=True, subset_by_index=None
    )
    return vectors, values


def eig(
    x: Value,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
) -> list[Value]:
    """Return eigenvalues and the wanted vectors: ``T[*b, n, n] -> C[*b, n], C[*b, n, n], ...``."""
    return list(
        eig_p.bind_all(
            x,
            compute_left_eigenvectors=compute_left_eigenvectors,
            compute_right_eigenvectors=compute_right_eigenvectors,
            enable_eigvec_derivs=enable_eigvec_derivs,
            implementation=None,
        )
    )


def qr(x: Value, full_matrices: bool = False) -> tuple[Value, Value]:
    """Return (Q, R): ``T[*b, m, n] -> T[*b, m, k], T[*b, k, n]``, k = m or min(m, n)."""
    q, r = qr_p.bind_all(x, full_matrices=full_matrices, pivoting=False, use_magma=None)
    return q, r


def svd(x: Value, full_matrices: bool = True) -> tuple[Value, Value, Value]:
    """Return (s, U, V.H): ``T[*b, m, n] -> R[*b, k], T[*b, m, m], T[*b, n, n]``, k = min(m, n)."""
    s, u, vh = svd_p.bind_all(
        x, algorithm=None, compute_uv=True, full_matrices=full_matrices, subset_by_index=None
    )
    return s, u, vh


def svdvals(x: Value) -> Value:
    """Return the singular values, descending: ``T[*b, m, n] -> R[*b, min(m, n)]``."""
    return svd_p.bind(
        x, algorithm=None, compute_uv=False, full_matrices=False, subset_by_index=None
    )


__all__ = [
    "cholesky", "cholesky_p", "eig", "eig_p", "eigh", "eigh_p", "qr", "qr_p", "svd", "svd_p",
    "svdvals",
]  # fmt: skip
