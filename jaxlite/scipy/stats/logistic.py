"""The logistic distribution around ``loc``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, loc, scale = floats("logistic.logpdf", x, loc, scale)
    half = (x - loc) / scale / 2
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, loc, scale = floats("logistic.cdf", x, loc, scale)
    z = (x - loc) / scale
    return special.expit(z)


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    x, loc, scale = floats("logistic.sf", x, loc, scale)
    z = (x - loc) / scale
    return special.expit(-z)


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the quantile: the inverse of ``cdf``."""
    x, loc, scale = floats("logistic.ppf", x, loc, scale)
    return special.logit(x) * scale + loc


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the inverse of ``sf``."""
    x, loc, scale = floats("logistic.isf", x, loc, scale)
    return -special.logit(x) * scale + loc
