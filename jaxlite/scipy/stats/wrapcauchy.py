"""The Cauchy distribution wrapped around the circle ``[0, 2 pi]``, 0 < c < 1."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, c: Any) -> Value:
    """Return the logarithm of the density."""
    x, c = floats("wrapcauchy.logpdf", x, c)
    size = jnp.log(1 - c * c) - jnp.log(2 * math.pi)
    out = size - jnp.log(1 + c * c - 2 * c * jnp.cos(x))
    out = inside((x >= 0) & (x <= 2 * math.pi), out, -jnp.inf)
    return inside((c > 0) & (c < 1), out, jnp.nan)


def pdf(x: Any, c: Any) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, c))
