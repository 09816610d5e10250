"""Parts and kin of factorisations, by LAPACK. In: matrices. Out: matrices without derivatives.

Householder reflections are kept as LAPACK keeps them: vectors below the diagonal, scales apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import absent
from jaxlite.primitives.families import FLOAT
from jaxlite.primitives.matrices import MatrixPrimitive, check_square, lapack

_NO_JVP = absent("Differentiation rule", "JAX has none either; differentiate qr, eigh or cholesky")


class Geqrf(MatrixPrimitive):
    """R and the reflections of a QR factorisation in one matrix, and the scales."""

    name = "geqrf"
    jvp = _NO_JVP

    def results(self, a: Any) -> tuple[ShapedArray, ShapedArray]:
        *batch, m, n = a.shape
        return ShapedArray(a.shape, a.dtype), ShapedArray((*batch, min(m, n)), a.dtype)

    def one(self, a: Any) -> Any:
        if a.size == 0:
            return a, np.zeros(0, a.dtype)
        packed, taus, *_ = lapack("geqrf", a.dtype)(a, lwork=64 * a.shape[1])
        return packed, taus


class HouseholderProduct(MatrixPrimitive):
    """The first columns of the product of reflections."""

    name = "householder_product"
    ranks = (2, 1)
    jvp = _NO_JVP

    def results(self, a: Any, taus: Any) -> ShapedArray:
        m, n = a.shape[-2:]
        if m < n:
            raise ValueError(
                "The first argument to householder_product must have at least as many rows as "
                f"columns, got shape {a.shape[-2:]}"
            )
        if taus.shape[-1] > n:
            raise ValueError(
                "The second argument to householder_product must not have more rows than the "
                "minimum of the first argument's rows and columns."
            )
        return ShapedArray(a.shape, a.dtype)

    def one(self, a: Any, taus: Any) -> Any:
        return a if a.size == 0 else lapack("orgqr", a.dtype)(a, taus, lwork=64 * a.shape[1])[0]


class Ormqr(MatrixPrimitive):
    """A matrix times the product of reflections, from the left or the right."""

    name = "ormqr"
    ranks = (2, 1, 2)
    jvp = _NO_JVP

    def results(self, a: Any, taus: Any, c: Any, *, left: bool, **params: Any) -> ShapedArray:
        if left and c.shape[-2] != a.shape[-2]:
            raise ValueError(
                "ormqr with left=True expects c to have the same number of rows as the Householder "
                f"matrix a. Got a shape {a.shape} and c shape {c.shape}."
            )
        if not left and c.shape[-1] != a.shape[-2]:
            raise ValueError(
                "ormqr with left=False expects c to have the same number of columns as the number "
                f"of rows in the Householder matrix a. Got a shape {a.shape} and c shape {c.shape}."
            )
        return ShapedArray(c.shape, c.dtype)

    def one(self, a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
        if c.size == 0 or taus.size == 0:
            return c
        trans = ("C" if dtypes.kind_of(a.dtype) == "c" else "T") if transpose else "N"
        work = 64 * max(c.shape)
        return lapack("ormqr", a.dtype)(
            "L" if left else "R", trans, a[:, : len(taus)], taus, c, work
        )[0]


class Hessenberg(MatrixPrimitive):
    """A similar matrix with zeros below the first subdiagonal, with the reflections there."""

    name = "hessenberg"
    jvp = _NO_JVP

    def results(self, a: Any) -> tuple[ShapedArray, ShapedArray]:
        check_square(
            a, "Argument to Hessenberg reduction must have shape [..., n, n], got shape {shape}"
        )
        taus = ShapedArray((*a.shape[:-2], max(a.shape[-1] - 1, 0)), a.dtype)
        return ShapedArray(a.shape, a.dtype), taus

    def one(self, a: Any) -> Any:
        n = len(a)
        if n < 2:
            return a, np.zeros(max(n - 1, 0), a.dtype)
        packed, taus, info = lapack("gehrd", a.dtype)(a, lwork=64 * n)
        return (packed, taus) if info == 0 else None


class Schur(MatrixPrimitive):
    """Quasi-triangular T and unitary V with ``V @ T @ V.H = x``."""

    name = "schur"
    jvp = _NO_JVP

    def results(self, x: Any, *, compute_schur_vectors: bool, **params: Any) -> Any:
        check_square(x, "The input to schur must be a square matrix. Got shape {shape}.")
        if params["sort_eig_vals"]:
            raise NotImplementedError(
                "The sort feature of LAPACK's gees routine is not implemented."
            )
        out = ShapedArray(x.shape, x.dtype)
        return (out, out) if compute_schur_vectors else out

    def one(self, x: Any, *, compute_schur_vectors: bool, **params: Any) -> Any:
        if x.size == 0:
            return (x, x) if compute_schur_vectors else x
        triangular, *_, vectors, _, info = lapack("gees", x.dtype)(
            lambda *_: False, x, compute_v=compute_schur_vectors
        )
        if info != 0:
            return None
        return (triangular, vectors) if compute_schur_vectors else triangular


class Tridiagonal(MatrixPrimitive):
    """A tridiagonal matrix similar to a Hermitian one: reflections, two diagonals, scales."""

    name = "tridiagonal"
    jvp = _NO_JVP

    def results(self, a: Any, **params: Any) -> Any:
        check_square(a, "The input to tridiagonal must be a square matrix. Got shape {shape}.")
        *batch, n, _ = a.shape
        if n == 0:
            raise TypeError(
                f"The input to tridiagonal must have a nonzero last dimension. Got shape {a.shape}."
            )
        real = dtypes.to_real_dtype(a.dtype)
        return (
            ShapedArray(a.shape, a.dtype),
            ShapedArray((*batch, n), real),
            ShapedArray((*batch, n - 1), real),
            ShapedArray((*batch, n - 1), a.dtype),
        )

    def one(self, a: Any, *, lower: bool) -> Any:
        n = len(a)
        packed, d, e, taus, info = lapack("sytrd", a.dtype)(a, lower=int(lower), lwork=64 * n)
        return (packed, d, e[: n - 1], taus[: n - 1]) if info == 0 else None


class CholeskyUpdate(MatrixPrimitive):
    """Upper triangular R' with ``R'.T @ R' = R.T @ R + w w.T``, by plane rotations."""

    name = "cholesky_update"
    accepts = FLOAT
    ranks = (2, 1)
    jvp = _NO_JVP

    def results(self, r: Any, w: Any) -> ShapedArray:
        if r.shape[-1] != r.shape[-2] or r.shape[-1] != w.shape[-1]:
            raise ValueError(
                "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the "
                f"same size as input. Got shapes {r.shape} and {w.shape} instead"
            )
        return ShapedArray(r.shape, r.dtype)

    def one(self, r: Any, w: Any) -> Any:
        r, w = r.copy(), w.copy()
        for k in range(len(w)):
            length = np.hypot(r[k, k], w[k])
            cosine, sine = (r[k, k] / length, w[k] / length) if length else (1, 0)
            r[k], w = cosine * r[k] + sine * w, cosine * w - sine * r[k]
        return r


class SymmetricProduct(MatrixPrimitive):
    """``alpha A @ A.T + beta C``."""

    name = "symmetric_product"
    accepts = FLOAT
    ranks = (2, 2)
    jvp = _NO_JVP

    def results(self, a: Any, c: Any, **params: Any) -> ShapedArray:
        if not a.shape[-2] == c.shape[-2] == c.shape[-1]:
            raise ValueError(
                "symmetric_update expects a rectangular matrix of shape (m, n) and a square matrix "
                f"of shape (n, n). Got shapes {a.shape} and {c.shape}."
            )
        return ShapedArray(c.shape, c.dtype)

    def one(self, a: Any, c: Any, *, alpha: float, beta: float) -> Any:
        out = a.dtype.type(alpha) * (a @ a.T)
        return out + a.dtype.type(beta) * c if beta else out


geqrf_p, householder_product_p, ormqr_p = Geqrf(), HouseholderProduct(), Ormqr()
hessenberg_p, schur_p, tridiagonal_p = Hessenberg(), Schur(), Tridiagonal()
cholesky_update_p, symmetric_product_p = CholeskyUpdate(), SymmetricProduct()


def geqrf(a: Value) -> tuple[Value, Value]:
    """Return R with the reflections below it, and their scales: ``T[*b, m, n], T[*b, k]``."""
    packed, taus = geqrf_p.bind_all(a)
    return packed, taus


__all__ = [
    "cholesky_update_p", "geqrf", "geqrf_p", "hessenberg_p", "householder_product_p", "ormqr_p",
    "schur_p", "symmetric_product_p", "tridiagonal_p",
]  # fmt: skip
