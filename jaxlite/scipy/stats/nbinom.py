"""Failures before ``n`` trials have succeeded, each with chance ``p``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Value:
    """Return the logarithm of the chance of ``k``."""
    k, n, p, loc = floats("nbinom.logpmf", k, n, p, loc)
    x = k - loc
    ways = special.gammaln(x + n) - special.gammaln(n) - special.gammaln(x + 1)
    out = ways + n * jnp.log(p) + special.xlog1py(x, -p)
    return inside(x >= 0, out, -jnp.inf)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Value:
    """Return the chance of ``k``."""
    return jnp.exp(logpmf(k, n, p, loc))
