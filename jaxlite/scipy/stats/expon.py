"""The exponential distribution from ``loc`` on, with mean ``scale`` beyond it."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, loc, scale = floats("expon.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return inside(x >= loc, -z - jnp.log(scale), -jnp.inf)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, loc, scale = floats("expon.cdf", x, loc, scale)
    z = (x - loc) / scale
    return inside(x >= loc, -jnp.expm1(-z), 0)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    x, loc, scale = floats("expon.logcdf", x, loc, scale)
    z = (x - loc) / scale
    return inside(x >= loc, jnp.log(-jnp.expm1(-z)), -jnp.inf)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    return jnp.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    x, loc, scale = floats("expon.logsf", x, loc, scale)
    z = (x - loc) / scale
    return inside(x >= loc, -z, 0)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the quantile: the inverse of ``cdf``."""
    q, loc, scale = floats("expon.ppf", q, loc, scale)
    is_chance = (q >= 0) & (q <= 1)
    return inside(is_chance, loc - scale * jnp.log1p(-q), jnp.nan)
