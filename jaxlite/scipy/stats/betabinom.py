"""Successes in ``n`` trials whose chance has the beta distribution of ``a`` and ``b``."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.scipy import special
from jaxlite.scipy.stats.floats import floats, inside

__all__ = ["logpmf", "pmf"]


def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Value:
    """Return the logarithm of the chance of ``k``."""
    k, n, a, b, loc = floats("betabinom.logpmf", k, n, a, b, loc)
    x = jnp.floor(k) - loc
    ways = -jnp.log(n + 1) - special.betaln(n - x + 1, x + 1)
    out = ways + special.betaln(x + a, n - x + b) - special.betaln(a, b)
    out = inside((x >= 0) & (x <= n), out, -jnp.inf)
    return inside((n >= 0) & (a > 0) & (b > 0), out, jnp.nan)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Value:
    """Return the chance of ``k``."""
    return jnp.exp(logpmf(k, n, a, b, loc))
