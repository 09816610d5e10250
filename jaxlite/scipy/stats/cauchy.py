"""The Cauchy distribution around ``loc``, of width ``scale``."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy.stats.floats import floats

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, loc, scale = floats("cauchy.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -jnp.log(math.pi * scale) - jnp.log1p(z * z)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, loc, scale = floats("cauchy.cdf", x, loc, scale)
    z = (x - loc) / scale
    return 0.5 + jnp.arctan(z) / math.pi


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    return jnp.log(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    x, loc, scale = floats("cauchy.sf", x, loc, scale)
    z = (x - loc) / scale
    return 0.5 - jnp.arctan(z) / math.pi


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    return jnp.log(sf(x, loc, scale))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the quantile: the inverse of ``cdf``."""
    q, loc, scale = floats("cauchy.ppf", q, loc, scale)
    return loc + scale * jnp.tan(math.pi * (q - 0.5))


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the inverse of ``sf``."""
    q, loc, scale = floats("cauchy.isf", q, loc, scale)
    return loc + scale * jnp.tan(math.pi * (0.5 - q))
