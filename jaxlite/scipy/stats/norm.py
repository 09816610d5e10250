"""The normal distribution with mean ``loc`` and standard deviation ``scale``."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density.

    >>> logpdf(0.0).round(4)
    Array(-0.9189, dtype=float32, weak_type=True)
    """
    x, loc, scale = floats("norm.logpdf", x, loc, scale)
    variance = scale * scale
    return -(jnp.log(2 * math.pi * variance) + (x - loc) ** 2 / variance) / 2


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``.

    >>> cdf(0.0)
    Array(0.5, dtype=float32)
    """
    x, loc, scale = floats("norm.cdf", x, loc, scale)
    return special.ndtr((x - loc) / scale)


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    x, loc, scale = floats("norm.logcdf", x, loc, scale)
    return special.log_ndtr((x - loc) / scale)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the quantile: the inverse of ``cdf``."""
    q, loc, scale = floats("norm.ppf", q, loc, scale)
    return special.ndtri(q) * scale + loc


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    x, loc, scale = floats("norm.sf", x, loc, scale)
    return special.ndtr((loc - x) / scale)


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    x, loc, scale = floats("norm.logsf", x, loc, scale)
    return special.log_ndtr((loc - x) / scale)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the inverse of ``sf``."""
    q, loc, scale = floats("norm.isf", q, loc, scale)
    return special.ndtri(1 - q) * scale + loc
