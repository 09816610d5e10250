"""``jaxlite.scipy.integrate``: integrals of samples. In: samples. Out: integrals."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value

__all__ = ["trapezoid"]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Value:
    """Return the integral of the straight lines through samples ``y`` along ``axis``.

    Args:
        y: samples.
        x: their places (None: ``dx`` apart).
        dx: distance of samples.
        axis: along which to integrate.

    Example:
        >>> trapezoid(jnp.array([1.0, 2.0, 3.0]))
        Array(4., dtype=float32)
    """
    return jnp.trapezoid(y, x, dx, axis)
