"""How often each of several outcomes with chances ``p`` happens in ``n`` trials."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.numpy.promotion import promote_all_inexact
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import inside

__all__ = ["logpmf", "pmf"]


def logpmf(x: Any, n: Any, p: Any) -> Value:
    """Return the logarithm of the chance of counts ``x`` along the last axis.

    Raises:
        ValueError: ``x`` or ``n`` are no integers.
    """
    (chances,) = promote_all_inexact("multinomial.logpmf", p)
    x, n = (jnp.asarray(v) for v in (x, n))
    if not (jnp.issubdtype(x.dtype, jnp.integer) and jnp.issubdtype(n.dtype, jnp.integer)):
        raise ValueError(
            f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}"
        )
    counts = x.astype(chances.dtype)
    total = special.gammaln(n.astype(chances.dtype) + 1)
    rank = max(counts.ndim, chances.ndim)
    counts, chances = (v.reshape((1,) * (rank - v.ndim) + v.shape) for v in (counts, chances))
    out = total + jnp.sum(special.xlogy(counts, chances) - special.gammaln(counts + 1), -1)
    return inside(jnp.sum(x, -1) == n, out, -jnp.inf)


def pmf(x: Any, n: Any, p: Any) -> Value:
    """Return the chance of counts ``x`` along the last axis."""
    return jnp.exp(logpmf(x, n, p))
