"""Exponential, Fresnel and sine integrals, hypergeometric functions. In: floats. Out: floats."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from jaxlite import numpy as jnp
from jaxlite.api.callbacks import pure_callback
from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapeDtypeStruct
from jaxlite.language.dtypes import kind_of
from jaxlite.numpy.promotion import promote_all_inexact
from jaxlite.primitives import scipy_special as prim
from jaxlite.scipy.special.gamma import operands, real_floats

__all__ = [
    "exp1", "expi", "expn", "fresnel", "hyp1f1", "hyp2f1", "sici", "spence", "wofz",
]  # fmt: skip


def exp1(x: Any) -> Value:
    """Return the exponential integral E1.

    >>> exp1(1.0).round(4)
    Array(0.2194, dtype=float32, weak_type=True)
    """
    (x,) = promote_all_inexact("exp1", x)
    return prim.exp1_p.bind(x)


def expi(x: Any) -> Value:
    """Return the exponential integral Ei."""
    (x,) = promote_all_inexact("expi", x)
    return prim.expi_p.bind(x)


def expn(n: Any, x: Any) -> Value:
    """Return the generalized exponential integral E_n; ``n`` is a whole number."""
    return prim.expn_p.bind(*operands("expn", n, x))


def spence(x: Any) -> Value:
    """Return Spence's function, the dilogarithm of ``1 - x``."""
    return prim.spence_p.bind(real_floats("spence", x))


def fresnel(x: Any) -> tuple[Value, Value]:
    """Return the Fresnel integrals (S, C)."""
    (x,) = promote_all_inexact("fresnel", x)
    if kind_of(x.dtype) == "c":
        raise NotImplementedError("Support for complex-valued inputs is not implemented yet.")
    return prim.fresnel_sin_p.bind(x), prim.fresnel_cos_p.bind(x)


def sici(x: Any) -> tuple[Value, Value]:
    """Return the sine and cosine integrals (Si, Ci)."""
    (x,) = promote_all_inexact("sici", x)
    if kind_of(x.dtype) == "c":
        raise ValueError(f"Argument `x` to sici must be real-valued. Got dtype {x.dtype}.")
    return prim.sici_sin_p.bind(x), prim.sici_cos_p.bind(x)


def hyp1f1(a: Any, b: Any, x: Any) -> Value:
    """Return Kummer's confluent hypergeometric function; derivatives by ``x`` only."""
    return prim.hyp1f1_p.bind(*operands("hyp1f1", a, b, x))


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Value:
    """Return Gauss' hypergeometric function; derivatives by ``x`` only.

    >>> hyp2f1(1.0, 1.0, 2.0, 0.5).round(4)
    Array(1.3863, dtype=float32, weak_type=True)
    """
    return prim.hyp2f1_p.bind(*operands("hyp2f1", a, b, c, x))


@custom_jvp
def _wofz(z: Value) -> Value:
    shape = ShapeDtypeStruct(z.shape, z.dtype)

    def compute(x: Any) -> Any:
        return np.asarray(importlib.import_module("scipy.special").wofz(np.asarray(x)), z.dtype)

    return pure_callback(compute, shape, z, vmap_method="expand_dims")


@_wofz.defjvp
def _wofz_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (dz,) = primals, tangents
    out = _wofz(z)
    # DLMF 7.10.2
    return out, dz * (2j / math.sqrt(math.pi) - 2 * z * out).astype(z.dtype)


def wofz(z: Any) -> Value:
    """Return Faddeeva's function ``exp(-z**2) * erfc(-i z)``, complex."""
    (z,) = promote_all_inexact("wofz", z)
    if kind_of(z.dtype) != "c":
        z = z.astype(jnp.complex128 if z.dtype == jnp.float64 else jnp.complex64)
    return _wofz(z)
