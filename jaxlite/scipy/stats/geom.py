"""The number of the first trial that succeeds, each with chance ``p``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, p: Any, loc: Any = 0) -> Value:
    """Return the logarithm of the chance of ``k``."""
    k, p, loc = floats("geom.logpmf", k, p, loc)
    x = k - loc
    out = special.xlog1py(x - 1, -p) + jnp.log(p)
    return inside(x > 0, out, -jnp.inf)


def pmf(k: Any, p: Any, loc: Any = 0) -> Value:
    """Return the chance of ``k``."""
    return jnp.exp(logpmf(k, p, loc))
