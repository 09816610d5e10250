"""Gamma and beta functions, zeta, and counting. In: floats that broadcast. Out: floats."""

from __future__ import annotations

import importlib
import math
import operator
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.api.callbacks import pure_callback
from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapeDtypeStruct
from jaxlite.language.dtypes import kind_of
from jaxlite.numpy.promotion import promote_all_inexact

__all__ = [
    "bernoulli", "beta", "betainc", "betaln", "comb", "digamma", "factorial", "gamma", "gammainc",
    "gammaincc", "gammaln", "gammasgn", "loggamma", "multigammaln", "poch", "polygamma", "zeta",
]  # fmt: skip


def operands(name: str, *args: Any) -> list[Value]:
    """Return arguments as floats of one dtype and shape; TypeError if one is no array."""
    return list(jnp.broadcast_arrays(*promote_all_inexact(name, *args)))


def real_floats(name: str, x: Any, hint: str = ", see docstring for supported types") -> Value:
    """Return ``x`` as an array of real floats; integers and complex numbers raise TypeError."""
    (value,) = operands(name, x)
    given = jnp.result_type(x)
    if kind_of(given) != "f":
        raise TypeError(
            f"x.dtype={given} is not supported{hint}.\n"
            f"  {name} takes real floating-point numbers\n"
            "  fix: write the argument as a float, for instance 1.0 instead of 1"
        )
    return value


def gammaln(x: Any) -> Value:
    """Return ``log |gamma(x)|``.

    >>> gammaln(3.0).round(4)
    Array(0.6931, dtype=float32, weak_type=True)
    """
    (x,) = promote_all_inexact("gammaln", x)
    return lax.lgamma(x)


def loggamma(x: Any) -> Value:
    """Return ``log gamma(x)``; of real ``x`` NaN where it is complex."""
    (x,) = promote_all_inexact("loggamma", x)
    if kind_of(x.dtype) == "c":
        return _complex_loggamma(x)
    return jnp.where(gammasgn(x) > 0, lax.lgamma(x), jnp.nan)


def gammasgn(x: Any) -> Value:
    """Return the sign of ``gamma(x)``; NaN at negative whole numbers.

    >>> gammasgn(np.float32([2.5, -0.5]))
    Array([ 1., -1.], dtype=float32)
    """
    (x,) = promote_all_inexact("gammasgn", x)
    floor = lax.floor(x)
    is_pole = ((x < 0) & (x == floor)) | jnp.isnan(x)
    is_odd = floor - 2 * lax.floor(floor / 2) != 0
    sign = jnp.where((x < 0) & is_odd, -1, 1).astype(x.dtype)
    at_zero = jnp.where(x == 0, jnp.copysign(jnp.ones_like(x), x), sign)
    return jnp.where(is_pole | (x == -jnp.inf), jnp.nan, at_zero).astype(x.dtype)


def gamma(x: Any) -> Value:
    """Return the gamma function.

    >>> gamma(np.float32([3, 4])).round(3)
    Array([2., 6.], dtype=float32)
    """
    (x,) = promote_all_inexact("gamma", x)
    if kind_of(x.dtype) == "c":
        return _complex_gamma(x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


def _on_host(name: str, z: Value) -> Value:
    """Return a complex function of SciPy."""

    def compute(x: Any) -> Any:
        function = getattr(importlib.import_module("scipy.special"), name)
        with np.errstate(all="ignore"):
            return np.asarray(function(np.asarray(x)), z.dtype)

    shape = ShapeDtypeStruct(z.shape, z.dtype)
    return pure_callback(compute, shape, z, vmap_method="expand_dims")


@custom_jvp
def _complex_loggamma(z: Value) -> Value:
    return _on_host("loggamma", z)


@_complex_loggamma.defjvp
def _complex_loggamma_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (dz,) = primals, tangents
    return _complex_loggamma(z), dz * _on_host("digamma", z)


@custom_jvp
def _complex_gamma(z: Value) -> Value:
    out = _on_host("gamma", z)
    is_pole = (z.imag == 0) & (z.real <= 0) & (z.real == lax.floor(z.real))
    return jnp.where(is_pole, complex(math.nan, math.nan), out).astype(z.dtype)


@_complex_gamma.defjvp
def _complex_gamma_jvp(primals: Any, tangents: Any) -> Any:
    (z,), (dz,) = primals, tangents
    out = _complex_gamma(z)
    return out, dz * out * _on_host("digamma", z)


def factorial(n: Any, exact: bool = False) -> Value:
    """Return ``n!`` as a float, 0 for negative ``n``.

    Raises:
        NotImplementedError: ``exact``, which needs integers of any size.
    """
    if exact:
        raise NotImplementedError("factorial with exact=True")
    (n,) = promote_all_inexact("factorial", n)
    return jnp.where(n < 0, 0, lax.exp(lax.lgamma(n + 1))).astype(n.dtype)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Value:
    """Return in how many ways ``k`` things are chosen from ``N``, with ``repetition`` or without.

    >>> comb(5.0, 2.0).round(3)
    Array(10., dtype=float32)
    """
    n, chosen = operands("comb", N, k)
    if repetition:
        n = n + chosen - 1
    found = lax.exp(-betaln(1 + n - chosen, 1 + chosen) - lax.log(n + 1))
    # With repetition there is one way to choose nothing from nothing.
    is_possible = (n >= chosen) & (n >= 0) & (chosen >= 0)
    if repetition:
        is_possible = is_possible | ((n >= -1) & (chosen == 0))
    certain = jnp.where(chosen == 0, 1, found)
    return jnp.where(is_possible, certain, 0).astype(n.dtype)


def betaln(a: Any, b: Any) -> Value:
    """Return ``log |beta(a, b)|``."""
    a, b = operands("betaln", a, b)
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    direct = lax.lgamma(low) + (lax.lgamma(high) - lax.lgamma(low + high))
    # Where both terms of the difference are large, Stirling's series of it (DLMF 5.11.13) is exact.
    is_large = high > 1e3
    safe = jnp.where(is_large, high, 1e3)
    ratio = _log_gamma_ratio(low, safe)
    return jnp.where(is_large, lax.lgamma(low) + ratio, direct).astype(a.dtype)


def _log_gamma_ratio(a: Value, b: Value) -> Value:
    """Return ``lgamma(b) - lgamma(a + b)`` for large ``b``."""

    def correction(x: Value) -> Value:
        return (1 / 12 - (1 / 360) / (x * x)) / x

    total = a + b
    return (
        -a * lax.log(total) - (b - 0.5) * lax.log1p(a / b) + a + correction(b) - correction(total)
    )


def beta(a: Any, b: Any) -> Value:
    """Return the beta function ``gamma(a) gamma(b) / gamma(a + b)``.

    >>> beta(2.0, 3.0).round(4)
    Array(0.0833, dtype=float32)
    """
    a, b = operands("beta", a, b)
    sign = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    return sign * lax.exp(betaln(a, b))


def betainc(a: Any, b: Any, x: Any) -> Value:
    """Return the regularized incomplete beta function I_x(a, b)."""
    return lax.betainc(*operands("betainc", a, b, x))


def digamma(x: Any) -> Value:
    """Return the derivative of ``gammaln``."""
    (x,) = promote_all_inexact("digamma", x)
    return lax.digamma(x)


def polygamma(n: Any, x: Any) -> Value:
    """Return derivative ``n`` of ``digamma``; ``n`` is a whole number.

    Raises:
        TypeError: ``n`` is no integer.
    """
    order, x = operands("polygamma", jnp.asarray(n), x)
    return lax.polygamma(order, x)


def gammainc(a: Any, x: Any) -> Value:
    """Return the regularized lower incomplete gamma function P(a, x)."""
    a, x = operands("gammainc", a, x)
    return jnp.where(_is_undefined(a, x), jnp.nan, lax.igamma(a, x)).astype(x.dtype)


def _is_undefined(a: Value, x: Value) -> Value:
    return ((a == 0) & (x == 0)) | jnp.isnan(a) | jnp.isnan(x)


def gammaincc(a: Any, x: Any) -> Value:
    """Return the regularized upper incomplete gamma function Q(a, x)."""
    a, x = operands("gammaincc", a, x)
    return jnp.where(_is_undefined(a, x), jnp.nan, lax.igammac(a, x)).astype(x.dtype)


def multigammaln(a: Any, d: Any) -> Value:
    """Return the logarithm of the multivariate gamma function of dimension ``d`` (an int)."""
    d = operator.index(d)
    (a,) = promote_all_inexact("multigammaln", a)
    steps = jnp.arange(d, dtype=a.dtype) / 2
    terms = lax.lgamma(jnp.expand_dims(a, -1) - steps)
    return jnp.sum(terms, -1) + d * (d - 1) / 4 * math.log(math.pi)


def poch(z: Any, m: Any) -> Value:
    """Return Pochhammer's ``gamma(z + m) / gamma(z)``."""
    z, m = operands("poch", z, m)
    sign = gammasgn(z) * gammasgn(z + m)
    found = sign * lax.exp(lax.lgamma(z + m) - lax.lgamma(z))
    return jnp.where(m == 0, 1, found).astype(z.dtype)


def zeta(x: Any, q: Any = None) -> Value:
    """Return Hurwitz' zeta function, Riemann's if ``q`` is None.

    >>> zeta(2.0).round(4)
    Array(1.6449, dtype=float32, weak_type=True)
    """
    return lax.zeta(*operands("zeta", x, 1.0 if q is None else q))


def bernoulli(n: int) -> Value:
    """Return the first ``n + 1`` Bernoulli numbers.

    >>> bernoulli(2).round(4)
    Array([ 1.    , -0.5   ,  0.1667], dtype=float32)
    """
    n = operator.index(n)
    if n < 0:
        raise ValueError("n must be a non-negative integer.")
    numbers = importlib.import_module("scipy.special").bernoulli(max(n, 1))[: n + 1]
    return jnp.asarray(np.asarray(numbers))
