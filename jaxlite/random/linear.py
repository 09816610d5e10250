"""Vectors and matrices by linear algebra. In: a key, a covariance. Out: samples."""

from __future__ import annotations

import operator
from typing import Any

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.primitives import linalg
from jaxlite.random.arguments import (
    check_one_device,
    choose_dtype,
    choose_shape,
    plain_shape,
    to_float,
)
from jaxlite.random.basic import standard_normal
from jaxlite.random.keys import to_key

__all__ = ["multivariate_normal", "orthogonal"]


def multivariate_normal(
    key: Value,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Value:
    """Return normal vectors with the given mean and covariance.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        mean: ``f32[*b, n]``.
        cov: ``f32[*b, n, n]``, symmetric and positive definite.
        shape: shape of the result without the last axis, by default ``b``.
        dtype: a float type, float32 by default.
        method: how the covariance is factored: "cholesky", "eigh" or "svd" (both take
            semi-definite ones).
        out_sharding: must be None.

    Returns:
        ``dtype[*shape, n]``.

    Raises:
        ValueError: shapes that do not fit; an unknown ``method``; ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> multivariate_normal(jaxlite.random.key(0), jnp.zeros(2), jnp.eye(2), (5,)).shape
        (5, 2)
    """
    check_one_device(out_sharding, "multivariate_normal")
    typed, _ = to_key(key, "multivariate_normal")
    dtype = choose_dtype(dtype, "multivariate_normal")
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    mean = to_float(mean, dtype, "multivariate_normal", 1)
    cov = to_float(cov, dtype, "multivariate_normal", 2)
    if mean.ndim < 1:
        raise ValueError(
            f"multivariate_normal requires mean.ndim >= 1, got mean.ndim == {mean.ndim}"
        )
    if cov.ndim < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {cov.ndim}")
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got "
            f"cov.shape == {cov.shape}."
        )
    shape = choose_shape("normal", shape, mean.shape[:-1], cov.shape[:-2])
    normals = standard_normal(typed, (*shape, n), dtype)
    return mean + jnp.einsum("...ij,...j->...i", _square_root(cov, method), normals)


def _square_root(cov: Value, method: str) -> Value:
    """Return a matrix A with ``A @ A.T = cov``."""
    if method == "svd":
        values, vectors, _ = linalg.svd(cov)
    else:
        symmetric = (cov + jnp.swapaxes(cov, -2, -1)) / 2
        if method == "cholesky":
            return linalg.cholesky(symmetric)
        vectors, values = linalg.eigh(symmetric)
    return vectors * jnp.sqrt(values[..., None, :])


def orthogonal(
    key: Value,
    n: int,
    shape: Any = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return matrices uniform among those with orthonormal rows or columns (all of them if square).

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        n: number of rows.
        shape: shape of the array of matrices.
        dtype: a float or complex type, float32 by default.
        m: number of columns, by default ``n``.
        out_sharding: must be None.

    Returns:
        ``dtype[*shape, n, m]``.

    Raises:
        TypeError: ``n`` or ``m`` is no integer.
        ValueError: ``dtype`` is neither float nor complex.

    Example:
        >>> import jaxlite
        >>> q = orthogonal(jaxlite.random.key(0), 3)
        >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
        True
    """
    check_one_device(out_sharding, "orthogonal")
    typed, _ = to_key(key, "orthogonal")
    dtype = choose_dtype(dtype, "normal", "fc")
    n = operator.index(n)
    m = n if m is None else operator.index(m)
    tall, thin = max(n, m), min(n, m)
    z = standard_normal(typed, (*plain_shape(shape), tall, thin), dtype)
    q, r = linalg.qr(z)
    # The signs of R's diagonal make the decomposition unique, and so Q uniform (Mezzadri 2007).
    diagonal = jnp.diagonal(r, axis1=-2, axis2=-1)
    q = q * lax.sign(diagonal)[..., None, :]
    return q if n >= m else jnp.swapaxes(q, -2, -1)
