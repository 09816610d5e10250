"""The beta distribution with shapes ``a`` and ``b`` on ``[loc, loc + scale]``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, a, b, loc, scale = floats("beta.logpdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    shape = special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z)
    out = shape - special.betaln(a, b) - jnp.log(scale)
    out = jnp.where((z < 0) | (z > 1), jnp.asarray(-jnp.inf, out.dtype), out)
    return inside((a > 0) & (b > 0) & (scale > 0), out, jnp.nan)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    x, a, b, loc, scale = floats("beta.cdf", x, a, b, loc, scale)
    z = jnp.clip((x - loc) / scale, 0, 1)
    return special.betainc(a, b, z)


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    return jnp.log(cdf(x, a, b, loc, scale))


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    x, a, b, loc, scale = floats("beta.sf", x, a, b, loc, scale)
    z = jnp.clip((x - loc) / scale, 0, 1)
    return special.betainc(b, a, 1 - z)


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    return jnp.log(sf(x, a, b, loc, scale))
