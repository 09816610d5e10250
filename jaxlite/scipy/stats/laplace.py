"""The Laplace distribution: exponential on both sides of ``loc``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy.stats.floats import floats

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, loc, scale = floats("laplace.logpdf", x, loc, scale)
    return -jnp.abs((x - loc) / scale) - jnp.log(2 * scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, loc, scale = floats("laplace.cdf", x, loc, scale)
    z = (x - loc) / scale
    tail = jnp.exp(-jnp.abs(z)) / 2
    return jnp.where(z <= 0, tail, 1 - tail)
