"""The Pareto distribution: densities like ``x**-(b + 1)`` from ``loc + scale`` on."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, b, loc, scale = floats("pareto.logpdf", x, b, loc, scale)
    z = (x - loc) / scale
    out = jnp.log(b) - jnp.log(scale) - (b + 1) * jnp.log(z)
    return jnp.where(z < 1, jnp.asarray(-jnp.inf, out.dtype), out)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, b, loc, scale))


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, b, loc, scale = floats("pareto.cdf", x, b, loc, scale)
    z = (x - loc) / scale
    return inside(z >= 1, 1 - z ** (-b), 0)


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    x, b, loc, scale = floats("pareto.logcdf", x, b, loc, scale)
    z = (x - loc) / scale
    return inside(z >= 1, jnp.log1p(-(z ** (-b))), -jnp.inf)


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the quantile: the inverse of ``cdf``."""
    q, b, loc, scale = floats("pareto.ppf", q, b, loc, scale)
    return loc + scale * (1 - q) ** (-1 / b)


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    return jnp.exp(logsf(x, b, loc, scale))


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    x, b, loc, scale = floats("pareto.logsf", x, b, loc, scale)
    z = (x - loc) / scale
    return inside(z >= 1, -b * jnp.log(z), 0)
