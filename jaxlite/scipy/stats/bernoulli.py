"""One trial that succeeds (1) with chance ``p`` or fails (0)."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logpmf", "pmf", "ppf"]


def logpmf(k: Any, p: Any, loc: Any = 0) -> Value:
    """Return the logarithm of the chance of ``k``."""
    k, p, loc = floats("bernoulli.logpmf", k, p, loc)
    x = k - loc
    out = special.xlogy(x, p) + special.xlog1py(1 - x, -p)
    return inside((x == 0) | (x == 1), out, -jnp.inf)


def pmf(k: Any, p: Any, loc: Any = 0) -> Value:
    """Return the chance of ``k``."""
    return jnp.exp(logpmf(k, p, loc))


def cdf(k: Any, p: Any) -> Value:
    """Return the chance of at most ``k``; NaN if ``p`` is no chance."""
    k, p = floats("bernoulli.cdf", k, p)
    out = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1)).astype(p.dtype)
    return inside((p >= 0) & (p <= 1) & ~jnp.isnan(k), out, jnp.nan)


def ppf(q: Any, p: Any) -> Value:
    """Return the quantile, 0 or 1; NaN if ``q`` or ``p`` is no chance."""
    q, p = floats("bernoulli.ppf", q, p)
    out = jnp.where(q <= 1 - p, 0, 1).astype(p.dtype)
    return inside((q >= 0) & (q <= 1) & (p >= 0) & (p <= 1), out, jnp.nan)
