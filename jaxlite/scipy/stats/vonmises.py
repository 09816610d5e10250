"""The von Mises distribution of angles, concentrated by ``kappa`` around 0."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["logpdf", "pdf"]


def logpdf(x: Any, kappa: Any) -> Value:
    """Return the logarithm of the density."""
    x, kappa = floats("vonmises.logpdf", x, kappa)
    size = jnp.log(2 * math.pi) + jnp.log(special.i0e(kappa))
    return inside(kappa > 0, kappa * (jnp.cos(x) - 1) - size, jnp.nan)


def pdf(x: Any, kappa: Any) -> Value:
    """Return the density."""
    return jnp.exp(logpdf(x, kappa))
