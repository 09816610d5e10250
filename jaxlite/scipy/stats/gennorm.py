"""The normal distribution generalised: densities like ``exp(-|x|**beta)``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats

__all__ = ["cdf", "logpdf", "pdf"]


def logpdf(x: Any, beta: Any) -> Value:
    """Return the logarithm of the density."""
    x, beta = floats("gennorm.logpdf", x, beta)
    return jnp.log(beta / 2) - special.gammaln(1 / beta) - jnp.abs(x) ** beta


def pdf(x: Any, beta: Any) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, beta))


def cdf(x: Any, beta: Any) -> Value:
    """Return the chance of at most ``x``."""
    x, beta = floats("gennorm.cdf", x, beta)
    return 0.5 * (1 + jnp.sign(x) * special.gammainc(1 / beta, jnp.abs(x) ** beta))
