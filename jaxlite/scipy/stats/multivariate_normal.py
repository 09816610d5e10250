"""The normal distribution of vectors with mean ``mean`` and covariance ``cov``."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.lax import linalg as lax_linalg
from jaxlite.numpy.promotion import promote_all_inexact

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Value:
    """Return the logarithm of the density.

    Args:
        x: ``T[*b, n]``.
        mean: ``T[*b, n]``, or one number.
        cov: ``T[*b, n, n]``, or one number.
        allow_singular: only None.

    Raises:
        ValueError: shapes that do not fit.
        NotImplementedError: ``allow_singular``.
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    x, mean, cov = promote_all_inexact("multivariate_normal.logpdf", x, mean, cov)
    if mean.ndim == 0:
        return -((x - mean) ** 2) / cov / 2 - (math.log(2 * math.pi) + jnp.log(cov)) / 2
    n = mean.shape[-1]
    if cov.ndim == 0:
        gap = x - mean
        size = n * (math.log(2 * math.pi) + jnp.log(cov))
        return -(jnp.sum(gap * gap, -1) / cov + size) / 2
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes")
    factor = lax_linalg.cholesky(cov)
    gap = jnp.subtract(*_same_rank(x, mean))
    batch = jnp.broadcast_shapes(gap.shape[:-1], factor.shape[:-2])
    gap = jnp.broadcast_to(gap, (*batch, n))
    stretched = jnp.broadcast_to(factor, (*batch, n, n))
    y = lax_linalg.triangular_solve(stretched, gap[..., None], left_side=True, lower=True)
    size = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-1, axis2=-2)), -1)
    size = jnp.broadcast_to(size, batch)
    return -jnp.sum(y * y, (-2, -1)) / 2 - n / 2 * math.log(2 * math.pi) - size


def _same_rank(x: Value, y: Value) -> tuple[Value, Value]:
    rank = max(x.ndim, y.ndim)
    return (
        x.reshape((1,) * (rank - x.ndim) + x.shape),
        y.reshape((1,) * (rank - y.ndim) + y.shape),
    )


def pdf(x: Any, mean: Any, cov: Any) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, mean, cov))
