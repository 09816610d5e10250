"""Events that happen ``mu`` times on average, each on its own."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "entropy", "logpmf", "pmf"]

#: Up to this mean the entropy is summed, beyond it Stirling's series is exact.
_SUMMED = 60
_TERMS = 160


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Value:
    """Return the logarithm of the chance of ``k``."""
    k, mu, loc = floats("poisson.logpmf", k, mu, loc)
    x = k - loc
    out = special.xlogy(x, mu) - special.gammaln(x + 1) - mu
    return inside((x >= 0) & (x == jnp.round(x)), out, -jnp.inf)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Value:
    """Return the chance of ``k``."""
    return jnp.exp(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Value:
    """Return the chance of at most ``k``."""
    k, mu, loc = floats("poisson.cdf", k, mu, loc)
    x = k - loc
    return inside(x >= 0, special.gammaincc(jnp.floor(x + 1), mu), 0)


def entropy(mu: Any, loc: Any = 0) -> Value:
    """Return the entropy in nats; NaN for negative ``mu``.

    >>> entropy(1.0).round(3)
    Array(1.305, dtype=float32)
    """
    mu, loc = jnp.broadcast_arrays(*floats("poisson.entropy", mu, loc))
    small = jnp.clip(mu, 0, _SUMMED)[..., None]
    k = jnp.arange(_TERMS, dtype=mu.dtype).reshape((1,) * mu.ndim + (_TERMS,))
    logarithm = special.xlogy(k, small) - special.gammaln(k + 1) - small
    summed = -jnp.sum(jnp.exp(logarithm) * logarithm, -1)
    large = jnp.maximum(mu, _SUMMED)
    # Evans, Boersma, Blachman and Jagers (1988): the entropy of a Poisson distribution.
    tail = 1 / (12 * large) + 1 / (24 * large**2) + 19 / (360 * large**3)
    series = 0.5 * jnp.log(2 * math.pi * math.e * large) - tail
    out = jnp.where(mu <= _SUMMED, summed, series)
    return inside(mu >= 0, jnp.where(mu == 0, 0, out).astype(mu.dtype), jnp.nan)
