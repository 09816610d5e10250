"""The normal distribution cut to ``[a, b]`` (in units of ``scale`` from ``loc``)."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats import norm
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def _log_difference(larger: Value, smaller: Value) -> Value:
    """Return ``log(exp(larger) - exp(smaller))``."""
    return larger + jnp.log1p(-jnp.exp(jnp.minimum(smaller - larger, 0)))


def _log_mass(a: Value, b: Value) -> Value:
    """Return the logarithm of the normal distribution's mass between ``a`` and ``b``.

    Each tail is measured from its own side, where it is small; so nothing cancels.
    """
    a, b = jnp.broadcast_arrays(a, b)
    is_left, is_right = b <= 0, a > 0
    is_tail = is_left | is_right
    near = jnp.where(is_left, b, -a)
    far = jnp.where(is_left, a, -b)
    near, far = jnp.where(is_tail, near, -1.0), jnp.where(is_tail, far, -2.0)
    tail = _log_difference(special.log_ndtr(near), special.log_ndtr(far))
    low, high = jnp.where(is_tail, -1.0, a), jnp.where(is_tail, 1.0, b)
    middle = jnp.log1p(-special.ndtr(low) - special.ndtr(-high))
    return jnp.where(is_tail, tail, middle).astype(a.dtype)


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, a, b, loc, scale = floats("truncnorm.logpdf", x, a, b, loc, scale)
    z = (x - loc) / scale
    out = norm.logpdf(z) - jnp.log(scale) - _log_mass(a, b)
    out = jnp.where((z < a) | (z > b), jnp.asarray(-jnp.inf, out.dtype), out)
    return inside(a < b, out, jnp.nan)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def _log_share(z: Value, a: Value, b: Value, is_below: bool) -> Value:
    """Return the logarithm of the share of the mass below (or above) ``z``."""
    z = jnp.clip(z, a, b)
    low, high = _log_mass(a, z), _log_mass(z, b)
    mine, other = (low, high) if is_below else (high, low)
    total = _log_mass(a, b)
    direct, rest = mine - total, other - total
    # A share near 1 is what the other side leaves.
    by_rest = jnp.log1p(-jnp.exp(jnp.minimum(rest, 0)))
    out = jnp.where(direct > -0.1, by_rest, direct)
    return inside(a < b, out, jnp.nan)


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``cdf``."""
    x, a, b, loc, scale = floats("truncnorm.logcdf", x, a, b, loc, scale)
    return _log_share((x - loc) / scale, a, b, True)


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of at most ``x``."""
    return jnp.exp(logcdf(x, a, b, loc, scale))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of ``sf``."""
    x, a, b, loc, scale = floats("truncnorm.logsf", x, a, b, loc, scale)
    return _log_share((x - loc) / scale, a, b, False)


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the chance of more than ``x``."""
    return jnp.exp(logsf(x, a, b, loc, scale))
