"""Matrix factorisations by LAPACK. In: ``T[*b, m, n]``, float or complex. Out: the factors.

Derivatives: Giles, "Collected matrix derivative results" (2008), and Walter and Lehmann (2010) for
QR. Each is linear in ``dA`` through products with the factors, so it transposes by the rules of
``dot_general``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps, absent
from jaxlite.language.trace import get_aval
from jaxlite.primitives.arithmetic import add, div, mul, neg, sub
from jaxlite.primitives.comparison import eq, gt
from jaxlite.primitives.complex import conj
from jaxlite.primitives.convert import convert_element_type
from jaxlite.primitives.dot import dot_general
from jaxlite.primitives.families import (
    INEXACT,
    NOT_LINEAR,
    accepts_text,
    full_like,
    is_accepted,
    move_batch_dim,
    quiet,
)
from jaxlite.primitives.select import select_n
from jaxlite.primitives.shape import broadcast_in_dim, broadcasted_iota, transpose


class Factorisation(Primitive):
    """A function of matrices on the last two axes, mapped over the others."""

    barrier_reason = "extern"
    transpose = NOT_LINEAR
    is_square: bool = True

    def abstract_eval(self, x: ShapedArray, **params: Any) -> Any:
        if not is_accepted(INEXACT, x.dtype):
            raise TypeError(accepts_text(self.name, INEXACT, x.dtype, None))
        if x.ndim < 2:
            raise ValueError(f"Argument to {self.name} must have ndim >= 2, got shape {x.shape}")
        if self.is_square and x.shape[-1] != x.shape[-2]:
            raise ValueError(
                f"Argument to {self.name} must have shape [..., n, n], got shape {x.shape}"
            )
        if x.dtype.name not in ("float32", "float64", "complex64", "complex128"):
            raise NotImplementedError(f"Unsupported dtype {dtypes.name_of(x.dtype)}.")
        return self.results(x, **params)

    def results(self, x: ShapedArray, **params: Any) -> Any:
        """Return the aval(s) of the factors."""
        raise NotImplementedError(self.name)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (x,), (dim,) = args, dims
        assert dim is not None
        outs = self.bind_all(move_batch_dim(x, dim, 0), **params)
        return (outs[0], 0) if len(outs) == 1 else (outs, (0,) * len(outs))


# --- products of matrices ---


def _dot(x: Value, y: Value) -> Value:
    """Return ``x @ y`` over equal leading axes."""
    ndim = get_aval(x).ndim
    batch = tuple(range(ndim - 2))
    return dot_general(
        x, y, (((ndim - 1,), (ndim - 2,)), (batch, batch)), preferred_element_type=get_aval(x).dtype
    )


def _adjoint(x: Value) -> Value:
    """Return the conjugate transpose."""
    aval = get_aval(x)
    swapped = transpose(x, (*range(aval.ndim - 2), aval.ndim - 1, aval.ndim - 2))
    return conj(swapped) if dtypes.kind_of(aval.dtype) == "c" else swapped


def _like_rows(v: Value, like: Value) -> Value:
    """Return ``T[*b, n]`` repeated as the rows of ``like``, in its dtype: ``T[*b, m, n]``."""
    aval = get_aval(like)
    kept = (*range(aval.ndim - 2), aval.ndim - 1)
    return broadcast_in_dim(convert_element_type(v, aval.dtype), aval.shape, kept)


def _like_columns(v: Value, like: Value) -> Value:
    """Return ``T[*b, m]`` repeated as the columns of ``like``."""
    aval = get_aval(like)
    kept = tuple(range(aval.ndim - 1))
    return broadcast_in_dim(convert_element_type(v, aval.dtype), aval.shape, kept)


def _rows_minus_columns(like: Value) -> tuple[Value, Value]:
    """Return the row and the column numbers of each element."""
    aval = get_aval(like)
    rows = broadcasted_iota(np.int32, aval.shape, aval.ndim - 2)
    return rows, broadcasted_iota(np.int32, aval.shape, aval.ndim - 1)


def _strictly_lower(x: Value) -> Value:
    rows, columns = _rows_minus_columns(x)
    return select_n(gt(rows, columns), full_like(x, 0), x)


def _lower_half_diagonal(x: Value) -> Value:
    """Return the lower triangle with half of the diagonal."""
    rows, columns = _rows_minus_columns(x)
    half = select_n(eq(rows, columns), full_like(x, 0), mul(x, full_like(x, 0.5)))
    return add(_strictly_lower(x), half)


def _diagonal_matrix(x: Value) -> Value:
    rows, columns = _rows_minus_columns(x)
    return select_n(eq(rows, columns), full_like(x, 0), x)


def _diagonal(x: Value) -> Value:
    """Return the real diagonal of square matrices as vectors."""
    aval = get_aval(x)
    ones = broadcast_in_dim(aval.dtype.type(1), (*aval.shape[:-2], aval.shape[-1]), ())
    batch = tuple(range(aval.ndim - 2))
    out = dot_general(
        _diagonal_matrix(x),
        ones,
        (((aval.ndim - 1,), (aval.ndim - 2,)), (batch, batch)),
        preferred_element_type=aval.dtype,
    )
    return convert_element_type(out, dtypes.to_real_dtype(aval.dtype))


# --- the factorisations ---


class Inverse(Factorisation):
    """Inverse matrix; NaN if singular. Used by the derivatives of the others."""

    name = "inv"

    def results(self, x: ShapedArray, **params: Any) -> ShapedArray:
        return ShapedArray(x.shape, x.dtype)

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        try:
            return xp.linalg.inv(x)
        except np.linalg.LinAlgError:
            return _one_by_one(xp.linalg.inv, x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        # d(A^-1) = -A^-1 dA A^-1
        return (lambda t: neg(_dot(_dot(out, t), out)),)


def _one_by_one(function: Any, x: Any) -> Any:
    """Apply ``function`` to each matrix, giving NaN where it fails."""
    out = np.full(x.shape, np.nan, x.dtype)
    for i in np.ndindex(x.shape[:-2]):
        try:
            out[i] = function(x[i])
        except np.linalg.LinAlgError:
            continue
    return out


class Cholesky(Factorisation):
    """Lower triangular L with ``L @ L.H = x``; NaN if x is not positive definite."""

    name = "cholesky"

    def results(self, x: ShapedArray, **params: Any) -> ShapedArray:
        return ShapedArray(x.shape, x.dtype)

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        try:
            return xp.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            return xp.tril(_one_by_one(xp.linalg.cholesky, x))

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        # dL = L Phi(L^-1 dA L^-H), Phi: the lower triangle with half of the diagonal.
        inverse = inv_p.bind(out)
        inverse_h = _adjoint(inverse)
        return (lambda t: _dot(out, _lower_half_diagonal(_dot(_dot(inverse, t), inverse_h))),)


class Eigh(Factorisation):
    """Eigenvectors (columns) and ascending eigenvalues of a Hermitian matrix."""

    name = "eigh"

    def results(self, x: ShapedArray, **params: Any) -> tuple[ShapedArray, ShapedArray]:
        values = ShapedArray(x.shape[:-1], dtypes.to_real_dtype(x.dtype))
        return ShapedArray(x.shape, x.dtype), values

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, lower: bool, **params: Any) -> Any:
        values, vectors = xp.linalg.eigh(x, "L" if lower else "U")
        return vectors, values

    def jvp(self, out: Any, x: Value, **params: Any) -> TangentMaps:
        # dw = diag(V.H dA V);  dV = V (F * (V.H dA V)), F[i, j] = 1 / (w[j] - w[i]), 0 on the
        # diagonal.
        vectors, values = out
        vectors_h = _adjoint(vectors)
        rows, columns = _rows_minus_columns(vectors)
        gaps = sub(_like_rows(values, vectors), _like_columns(values, vectors))
        on_diagonal = eq(rows, columns)
        one = full_like(vectors, 1)
        inverse_gaps = div(one, select_n(on_diagonal, gaps, one))
        factor = select_n(on_diagonal, inverse_gaps, full_like(vectors, 0))

        def tangent(t: Value) -> tuple[Value, Value]:
            turned = _dot(_dot(vectors_h, t), vectors)
            return _dot(vectors, mul(factor, turned)), _diagonal(turned)

        return (tangent,)


class QR(Factorisation):
    """Unitary Q and upper triangular R with ``Q @ R = x``."""

    name = "qr"
    is_square = False

    def results(self, x: ShapedArray, **params: Any) -> tuple[ShapedArray, ShapedArray]:
        *batch, m, n = x.shape
        k = m if params["full_matrices"] else min(m, n)
        return ShapedArray((*batch, m, k), x.dtype), ShapedArray((*batch, k, n), x.dtype)

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, full_matrices: bool, **params: Any) -> Any:
        return tuple(xp.linalg.qr(x, "complete" if full_matrices else "reduced"))

    def jvp(self, out: Any, x: Value, *, full_matrices: bool, **params: Any) -> TangentMaps:
        q, r = out
        *_, m, n = get_aval(x).shape
        if m < n or (full_matrices and m != n):
            raise NotImplementedError(
                "Unimplemented case of QR decomposition derivative: "
                "it exists for full_matrices=False and at least as many rows as columns."
            )
        r_inverse, q_h = inv_p.bind(r), _adjoint(q)

        def tangent(t: Value) -> tuple[Value, Value]:
            # With M = Q.H dA R^-1:  dQ = Q (W - M) + dA R^-1,  dR = (M - W) R,  W antihermitian.
            scaled = _dot(t, r_inverse)
            inner = _dot(q_h, scaled)
            lower = _strictly_lower(inner)
            turn = sub(lower, _adjoint(lower))
            if dtypes.kind_of(get_aval(t).dtype) == "c":
                diagonal = _diagonal_matrix(inner)
                half = full_like(diagonal, 0.5)
                turn = add(turn, mul(sub(diagonal, _adjoint(diagonal)), half))
            return add(_dot(q, sub(turn, inner)), scaled), _dot(sub(inner, turn), r)

        return (tangent,)


class SVD(Factorisation):
    """Singular values (descending) and vectors: ``(s, U, V.H)`` with ``U @ diag(s) @ V.H = x``."""

    name = "svd"
    is_square = False
    jvp = absent("Differentiation rule", "take eigh of the Hermitian product instead")

    def results(self, x: ShapedArray, **params: Any) -> Any:
        *batch, m, n = x.shape
        k = min(m, n)
        rows, columns = (m, n) if params["full_matrices"] else (k, k)
        return (
            ShapedArray((*batch, k), dtypes.to_real_dtype(x.dtype)),
            ShapedArray((*batch, m, rows), x.dtype),
            ShapedArray((*batch, columns, n), x.dtype),
        )

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, full_matrices: bool, **params: Any) -> Any:
        u, s, vh = xp.linalg.svd(x, full_matrices)
        return s, u, vh


inv_p, cholesky_p, eigh_p, qr_p, svd_p = Inverse(), Cholesky(), Eigh(), QR(), SVD()


def cholesky(x: Value) -> Value:
    """Return lower triangular L with ``L @ L.H = x``: ``T[*b, n, n] -> T[*b, n, n]``."""
    return cholesky_p.bind(x)


def eigh(x: Value) -> tuple[Value, Value]:
    """Return (vectors, values) of Hermitian matrices: ``T[*b, n, n] -> T[*b, n, n], R[*b, n]``."""
    vectors, values = eigh_p.bind_all(
        x, algorithm=None, lower=True, sort_eigenvalues=True, subset_by_index=None
    )
    return vectors, values


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


__all__ = [
    "cholesky", "cholesky_p", "eigh", "eigh_p", "inv_p", "qr", "qr_p", "svd", "svd_p",
]  # fmt: skip
