"""Successes in ``n`` trials, each with chance ``p``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Value:
    """Return the logarithm of the chance of ``k``."""
    k, n, p, loc = floats("binom.logpmf", k, n, p, loc)
    x = k - loc
    ways = -special.betaln(1 + n - x, 1 + x) - jnp.log(n + 1)
    out = ways + special.xlogy(x, p) + special.xlog1py(n - x, -p)
    return inside((x >= 0) & (x <= n), out, -jnp.inf)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Value:
    """Return the chance of ``k``."""
    return jnp.exp(logpmf(k, n, p, loc))
