"""Error functions and the normal distribution. In: floats. Out: floats."""

from __future__ import annotations

import math
from typing import Any

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.numpy.promotion import promote_all_inexact
from jaxlite.primitives import scipy_special as prim
from jaxlite.scipy.special.gamma import operands, real_floats
from jaxlite.scipy.special.integrals import wofz

__all__ = [
    "dawsn", "erf", "erfc", "erfcx", "erfinv", "expit", "log_ndtr", "logit", "ndtr", "ndtri",
    "owens_t",
]  # fmt: skip


def _float(name: str, x: Any) -> Value:
    (value,) = promote_all_inexact(name, x)
    if dtypes.kind_of(value.dtype) != "f":
        raise TypeError(f"{name} requires floating-point inputs, got {value.dtype}.")
    return value


def erf(x: Any) -> Value:
    """Return the error function.

    >>> erf(0.5).round(4)
    Array(0.5205, dtype=float32, weak_type=True)
    """
    return lax.erf(_float("erf", x))


def erfc(x: Any) -> Value:
    """Return ``1 - erf(x)``."""
    return lax.erfc(_float("erfc", x))


def erfinv(x: Any) -> Value:
    """Return the inverse error function."""
    return lax.erf_inv(_float("erfinv", x))


def erfcx(x: Any) -> Value:
    """Return ``exp(x**2) * erfc(x)``.

    >>> erfcx(1.0).round(4)
    Array(0.4276, dtype=float32, weak_type=True)
    """
    (value,) = promote_all_inexact("erfcx", x)
    if dtypes.kind_of(value.dtype) == "c":
        return wofz(1j * value)  # DLMF 7.2.3
    return prim.erfcx_p.bind(value)


def dawsn(x: Any) -> Value:
    """Return Dawson's integral."""
    return prim.dawsn_p.bind(_float("dawsn", x))


def expit(x: Any) -> Value:
    """Return the logistic function ``1 / (1 + exp(-x))``."""
    (x,) = promote_all_inexact("expit", x)
    return lax.logistic(x)


def logit(x: Any) -> Value:
    """Return ``log(x / (1 - x))``, the inverse of ``expit``."""
    (x,) = promote_all_inexact("logit", x)
    return lax.log(x) - lax.log1p(-x)


def ndtr(x: Any) -> Value:
    """Return the normal distribution function.

    >>> ndtr(0.0)
    Array(0.5, dtype=float32)
    """
    value = real_floats("ndtr", x)
    half = jnp.asarray(0.5 * math.sqrt(2.0), value.dtype)
    w = value * half
    z = lax.abs(w)
    tail = lax.erfc(z)
    y = jnp.where(z < half, 1 + lax.erf(w), jnp.where(w > 0, 2 - tail, tail))
    return (y * 0.5).astype(value.dtype)


def log_ndtr(x: Any, series_order: int = 3) -> Value:
    """Return the logarithm of ``ndtr``, exact far to the left.

    Args:
        x: floats.
        series_order: accepted as in JAX; the value is exact without it.
    """
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    return prim.log_ndtr_p.bind(real_floats("log_ndtr", x, ""))


def ndtri(p: Any) -> Value:
    """Return the quantile of the normal distribution, the inverse of ``ndtr``.

    >>> ndtri(0.975).round(3)
    Array(1.96, dtype=float32, weak_type=True)
    """
    return prim.ndtri_p.bind(real_floats("ndtri", p))


def owens_t(h: Any, a: Any) -> Value:
    """Return Owen's T: the chance that X > h and 0 < Y < a X for normal X and Y."""
    return prim.owens_t_p.bind(*operands("owens_t", h, a))
