"""The Gumbel distribution of least values around ``loc``; NaN unless ``scale`` > 0."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, loc, scale = floats("gumbel_l.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return inside(scale > 0, z - jnp.exp(z) - jnp.log(scale), jnp.nan)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    return jnp.log(cdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, loc, scale = floats("gumbel_l.cdf", x, loc, scale)
    z = (x - loc) / scale
    return inside(scale > 0, -jnp.expm1(-jnp.exp(z)), jnp.nan)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the quantile: the inverse of ``cdf``."""
    p, loc, scale = floats("gumbel_l.ppf", p, loc, scale)
    return inside(scale > 0, loc + scale * jnp.log(-jnp.log1p(-p)), jnp.nan)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    return jnp.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    x, loc, scale = floats("gumbel_l.logsf", x, loc, scale)
    z = (x - loc) / scale
    return inside(scale > 0, -jnp.exp(z), jnp.nan)
