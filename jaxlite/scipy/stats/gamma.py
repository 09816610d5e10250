"""The gamma distribution with shape ``a`` from ``loc`` on."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, a, loc, scale = floats("gamma.logpdf", x, a, loc, scale)
    z = inside(x >= loc, (x - loc) / scale, 1)
    out = special.xlogy(a - 1, z) - z - special.gammaln(a) - jnp.log(scale)
    return jnp.where(x < loc, jnp.asarray(-jnp.inf, out.dtype), out)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, a, loc, scale = floats("gamma.cdf", x, a, loc, scale)
    z = jnp.maximum((x - loc) / scale, 0)
    return special.gammainc(a, z)


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    return jnp.log(cdf(x, a, loc, scale))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    x, a, loc, scale = floats("gamma.sf", x, a, loc, scale)
    z = jnp.maximum((x - loc) / scale, 0)
    return special.gammaincc(a, z)


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    return jnp.log(sf(x, a, loc, scale))
