"""The distribution of the sum of ``df`` squares of normal numbers."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, df, loc, scale = floats("chi2.logpdf", x, df, loc, scale)
    z = inside(x >= loc, (x - loc) / scale / 2, 1)
    out = special.xlogy(df / 2 - 1, z) - z - special.gammaln(df / 2) - jnp.log(2 * scale)
    return jnp.where(x < loc, jnp.asarray(-jnp.inf, out.dtype), out)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, df, loc, scale = floats("chi2.cdf", x, df, loc, scale)
    z = jnp.maximum((x - loc) / scale, 0)
    return special.gammainc(df / 2, z / 2)


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    return jnp.log(cdf(x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    x, df, loc, scale = floats("chi2.sf", x, df, loc, scale)
    z = jnp.maximum((x - loc) / scale, 0)
    return special.gammaincc(df / 2, z / 2)


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    return jnp.log(sf(x, df, loc, scale))
