"""The Dirichlet distribution of chances that sum to 1, with exponents ``alpha``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.numpy.promotion import promote_all_inexact
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import inside

__all__ = ["logpdf", "pdf"]

#: How far the sum of chances may be from 1.
_TOLERANCE = 1e-3


def logpdf(x: Any, alpha: Any) -> Value:
    """Return the logarithm of the density, -inf where ``x`` is no point of the simplex.

    Args:
        x: ``T[n, *b]``, or ``T[n - 1, *b]``, whose last chance is the rest.
        alpha: ``T[n]``.

    Raises:
        ValueError: shapes that do not fit.
    """
    x, alpha = promote_all_inexact("dirichlet.logpdf", x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    n = alpha.shape[0]
    if x.shape[0] not in (n, n - 1):
        raise ValueError(
            "`x` must have either the same number of entries as `alpha` or one entry fewer; got "
            f"x.shape={x.shape}, alpha.shape={alpha.shape}"
        )
    if x.shape[0] != n:
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)], 0)
    size = special.gammaln(jnp.sum(alpha)) - jnp.sum(special.gammaln(alpha))
    exponents = alpha.reshape((n,) + (1,) * (x.ndim - 1))
    out = size + jnp.sum(special.xlogy(exponents - 1, x), 0)
    is_simplex = jnp.all(x > 0, 0) & (jnp.abs(jnp.sum(x, 0) - 1) < _TOLERANCE)
    return inside(is_simplex, out, -jnp.inf)


def pdf(x: Any, alpha: Any) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, alpha))
