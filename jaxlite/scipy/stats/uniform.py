"""The uniform distribution on ``[loc, loc + scale]``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logpdf", "pdf", "ppf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, loc, scale = floats("uniform.logpdf", x, loc, scale)
    is_inside = (x >= loc) & (x <= loc + scale)
    return inside(is_inside, -jnp.log(scale) + jnp.zeros_like(x), -jnp.inf)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, loc, scale = floats("uniform.cdf", x, loc, scale)
    z = (x - loc) / scale
    return jnp.where(x < loc, 0, jnp.where(x > loc + scale, 1, z)).astype(z.dtype)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the quantile: the inverse of ``cdf``."""
    q, loc, scale = floats("uniform.ppf", q, loc, scale)
    is_chance = (q >= 0) & (q <= 1)
    return inside(is_chance, loc + q * scale, jnp.nan)
