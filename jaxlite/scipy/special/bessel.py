"""Bessel functions and spherical harmonics. In: floats. Out: floats (harmonics are complex)."""

from __future__ import annotations

import importlib
import operator
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.api.callbacks import pure_callback
from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapeDtypeStruct
from jaxlite.numpy.promotion import promote_all_inexact

__all__ = ["bessel_jn", "i0", "i0e", "i1", "i1e", "sph_harm_y"]


def i0e(x: Any) -> Value:
    """Return ``exp(-|x|) I0(x)`` of the modified Bessel function."""
    (x,) = promote_all_inexact("i0e", x)
    return lax.bessel_i0e(x)


def i0(x: Any) -> Value:
    """Return the modified Bessel function I0.

    >>> i0(1.0).round(4)
    Array(1.2661, dtype=float32, weak_type=True)
    """
    (x,) = promote_all_inexact("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


def i1e(x: Any) -> Value:
    """Return ``exp(-|x|) I1(x)`` of the modified Bessel function."""
    (x,) = promote_all_inexact("i1e", x)
    return lax.bessel_i1e(x)


def i1(x: Any) -> Value:
    """Return the modified Bessel function I1."""
    (x,) = promote_all_inexact("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Value:
    """Return the Bessel functions J_0 to J_v: ``T[*s] -> T[v + 1, *s]``.

    Args:
        z: real points, an array of at most one axis.
        v: highest order.
        n_iter: accepted as in JAX; the value is exact without it.

    Raises:
        ValueError: ``v`` is negative or ``z`` complex.
    """
    order = operator.index(v)
    (z,) = promote_all_inexact("bessel_jn", z)
    if z.ndim > 1:
        raise ValueError("z must be a vector.")
    if jnp.iscomplexobj(z):
        raise ValueError("complex input not supported.")
    if order < 0:
        raise ValueError("Argument v must be non-negative.")
    return _orders(z, order)[: order + 1]


def _orders(z: Value, v: int) -> Value:
    """Return J_0 to J_(v+1), differentiable."""
    shape = ShapeDtypeStruct((v + 2, *z.shape), z.dtype)

    def compute(x: Any) -> Any:
        points = np.asarray(x)
        orders = np.arange(v + 2).reshape(-1, *[1] * points.ndim)
        return np.asarray(
            importlib.import_module("scipy.special").jv(orders, points.astype(np.float64)), z.dtype
        )

    @custom_jvp
    def functions(z: Value) -> Value:
        return pure_callback(compute, shape, z, vmap_method="sequential")

    @functions.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (z,), (dz,) = primals, tangents
        # DLMF 10.6.1 and 10.6.3; one order more, so that every slope has its right neighbour.
        more = _orders(z, v + 1)
        slopes = jnp.concatenate([-more[1:2], (more[: v + 1] - more[2 : v + 3]) / 2])
        return functions(z), slopes * dz

    return functions(z)


def sph_harm_y(
    n: Any, m: Any, theta: Any, phi: Any, diff_n: int | None = None, n_max: int | None = None
) -> Value:
    """Return the spherical harmonics of degree ``n`` and order ``m`` at polar angle ``theta``.

    Args:
        n: degrees, ``int[k]``.
        m: orders, ``int[k]``.
        theta: polar angles (colatitudes), ``T[k]``.
        phi: azimuths, ``T[k]``.
        diff_n: only None.
        n_max: accepted as in JAX; the value is exact without it.

    Raises:
        NotImplementedError: ``diff_n``.
    """
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y with diff_n")
    colatitude, azimuth = promote_all_inexact("sph_harm_y", theta, phi)
    degree, order = jnp.asarray(n), jnp.asarray(m)
    target = jnp.broadcast_shapes(degree.shape, order.shape, colatitude.shape, azimuth.shape)
    dtype = jnp.complex128 if colatitude.dtype == jnp.float64 else jnp.complex64

    def compute(*values: Any) -> Any:
        special = importlib.import_module("scipy.special")
        return np.asarray(special.sph_harm_y(*map(np.asarray, values)), dtype)

    return pure_callback(
        compute, ShapeDtypeStruct(target, dtype), degree, order, colatitude, azimuth,
        vmap_method="broadcast_all",
    )  # fmt: skip
