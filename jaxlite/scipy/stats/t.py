"""Student's t distribution with ``df`` degrees of freedom."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the logarithm of the density."""
    x, df, loc, scale = floats("t.logpdf", x, df, loc, scale)
    z = (x - loc) / scale
    half = (df + 1) / 2
    size = special.gammaln(df / 2) - special.gammaln(half) + jnp.log(df * math.pi) / 2
    return -size - jnp.log(scale) - half * jnp.log1p(z * z / df)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, df, loc, scale))
