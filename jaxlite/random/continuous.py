"""Continuous distributions by transformation. In: uniform and normal samples. Out: samples.

Each function applies the inverse of the distribution function (or another exact map) to the basic
samples, in JAX's order of operations, and is differentiable in its parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import Shape
from jaxlite.primitives.single_rounding import cephes_exp, cephes_log, cephes_log1p, fma
from jaxlite.random.arguments import (
    check_one_device,
    choose_dtype,
    choose_shape,
    plain_shape,
    require_array,
    to_float,
)
from jaxlite.random.basic import signs, standard_normal, uniform_between, unit_uniform
from jaxlite.random.keys import split_key, to_key

__all__ = [
    "cauchy",
    "double_sided_maxwell",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "pareto",
    "rayleigh",
    "triangular",
    "wald",
    "weibull_min",
]


def _begin(
    key: Value, shape: Any, dtype: Any, name: str, out_sharding: Any
) -> tuple[Value, Shape, Any]:
    """Return the typed key, the shape and the dtype of a distribution without parameters."""
    check_one_device(out_sharding, name)
    typed, _ = to_key(key, name)
    return typed, plain_shape(shape), choose_dtype(dtype, name)


def _begin_with(
    key: Value, shape: Any, dtype: Any, name: str, out_sharding: Any, *parameters: Any
) -> tuple[Any, ...]:
    """Return the typed key, the shape, the dtype and the parameters as arrays of it."""
    check_one_device(out_sharding, name)
    typed, _ = to_key(key, name)
    dtype = choose_dtype(dtype, name)
    arrays = [to_float(x, dtype, name, i + 1) for i, x in enumerate(parameters)]
    return typed, choose_shape(name, shape, *(x.shape for x in arrays)), dtype, *arrays


def _open_uniform(key: Value, shape: Shape, dtype: Any, low: Any) -> Value:
    """Return uniform samples in [low, 1) for a constant ``low``."""
    return uniform_between(key, shape, dtype, jnp.asarray(low, dtype), jnp.asarray(1, dtype))


def exponential(
    key: Value, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the exponential distribution with rate 1, density ``exp(-x)``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> exponential(jaxlite.random.key(0), (2,))
        Array([2.9501..., 3.8434...], dtype=float32)
    """
    return exponential_samples(*_begin(key, shape, dtype, "exponential", out_sharding))


def exponential_samples(key: Value, shape: Shape, dtype: Any) -> Value:
    """Return exponential samples from a typed key."""
    # 1 - u lies in (0, 1], so the logarithm is finite.
    return lax.neg(cephes_log1p(lax.neg(unit_uniform(key, shape, dtype))))


def laplace(key: Value, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Value:
    """Return samples of the Laplace distribution, density ``exp(-|x|) / 2``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> laplace(jaxlite.random.key(0), (3,)).shape
        (3,)
    """
    typed, shape, dtype = _begin(key, shape, dtype, "laplace", out_sharding)
    low = np.asarray(-1, dtype) + np.asarray(dtypes.finfo(dtype).epsneg, dtype)
    u = _open_uniform(typed, shape, dtype, low)
    return lax.mul(lax.sign(u), cephes_log1p(lax.neg(lax.abs(u))))


def logistic(key: Value, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Value:
    """Return samples of the logistic distribution, density ``exp(-x) / (1 + exp(-x))**2``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> logistic(jaxlite.random.key(0), (3,)).shape
        (3,)
    """
    typed, shape, dtype = _begin(key, shape, dtype, "logistic", out_sharding)
    u = _open_uniform(typed, shape, dtype, dtypes.finfo(dtype).tiny)
    return lax.sub(cephes_log(u), cephes_log1p(lax.neg(u)))


def gumbel(
    key: Value,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return samples of the Gumbel distribution, density ``exp(-(x + exp(-x)))``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: a float type, float32 by default.
        mode: "low" (the default) or "high", which resolves the upper tail further.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; an unknown ``mode``.

    Example:
        >>> import jaxlite
        >>> gumbel(jaxlite.random.key(0), (3,)).shape
        (3,)
    """
    if mode not in (None, "low", "high"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return gumbel_samples(*_begin(key, shape, dtype, "gumbel", out_sharding), mode or "low")


def gumbel_samples(key: Value, shape: Shape, dtype: Any, mode: str) -> Value:
    """Return Gumbel samples from a typed key."""
    info = dtypes.finfo(dtype)
    if mode == "low":
        u = _open_uniform(key, shape, dtype, info.tiny)
        return lax.neg(cephes_log(lax.neg(cephes_log(u))))
    # Below 1/2 a second uniform number continues the bits of the first, so that the tail is not
    # cut off.
    coarse, fine = unit_uniform(key, (2, *shape), dtype)
    tiny, eps = np.asarray(info.tiny, dtype), np.asarray(info.eps, dtype)
    x = jnp.where(coarse >= 0.5, coarse, coarse + eps * fine + tiny)
    return lax.neg(cephes_log(lax.neg(cephes_log1p(lax.neg(x)))))


def cauchy(key: Value, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Value:
    """Return samples of the Cauchy distribution, density ``1 / (pi * (x**2 + 1))``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> cauchy(jaxlite.random.key(0), (3,)).shape
        (3,)
    """
    typed, shape, dtype = _begin(key, shape, dtype, "cauchy", out_sharding)
    u = _open_uniform(typed, shape, dtype, dtypes.finfo(dtype).eps)
    angle = lax.mul(jnp.full_like(u, np.pi), lax.sub(u, jnp.full_like(u, 0.5)))
    return lax.tan(angle)


def maxwell(key: Value, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Value:
    """Return samples of the Maxwell distribution, density ``sqrt(2/pi) x**2 exp(-x**2 / 2)``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> maxwell(jaxlite.random.key(0), (3,)).shape
        (3,)
    """
    return _maxwell_samples(*_begin(key, shape, dtype, "maxwell", out_sharding))


def _maxwell_samples(key: Value, shape: Shape, dtype: Any) -> Value:
    """Return the length of a vector of three normal samples."""
    x = standard_normal(key, (*shape, 3), dtype)
    return lax.sqrt(jnp.sum(lax.mul(x, x), axis=-1))


def double_sided_maxwell(
    key: Value, loc: Any, scale: Any, shape: Any = (), dtype: Any = None
) -> Value:
    """Return Maxwell samples of either sign, times ``scale``, plus ``loc``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        loc: centre, a float or an array.
        scale: scale, a float or an array.
        shape: shape of the samples for each parameter; the parameters' shape is appended to it.
        dtype: a float type, float32 by default.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> double_sided_maxwell(jaxlite.random.key(0), 0.0, 2.0, (3,)).shape
        (3,)
    """
    typed, shape, dtype = _begin(key, shape, dtype, "double_sided_maxwell", None)
    loc = require_array(loc, "double_sided_maxwell", 1)
    scale = require_array(scale, "double_sided_maxwell", 2)
    shape = (*shape, *lax.broadcast_shapes(loc.shape, scale.shape))
    length_key, sign_key = split_key(typed)
    lengths = _maxwell_samples(length_key, shape, dtype)
    return signs(sign_key, shape, dtype) * lengths * scale + loc


def weibull_min(
    key: Value, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Value:
    """Return samples of the Weibull distribution, density ``c/s (x/s)**(c-1) exp(-(x/s)**c)``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        scale: scale s, a float or an array that broadcasts with ``shape``.
        concentration: shape parameter c, likewise.
        shape: shape of the uniform samples.
        dtype: a float type, float32 by default.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> weibull_min(jaxlite.random.key(0), 1.0, 2.0, (3,)).shape
        (3,)
    """
    typed, shape, dtype = _begin(key, shape, dtype, "weibull_min", None)
    scale = require_array(scale, "weibull_min", 1)
    concentration = require_array(concentration, "weibull_min", 2)
    return jnp.power(exponential_samples(typed, shape, dtype), 1.0 / concentration) * scale


def pareto(
    key: Value, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the Pareto distribution, density ``b / x**(b+1)`` for x >= 1.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        b: exponent, a float or an array.
        shape: shape of the result, by default that of ``b``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; ``b`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> pareto(jaxlite.random.key(0), 3.0, (3,)).shape
        (3,)
    """
    typed, shape, dtype, b = _begin_with(key, shape, dtype, "pareto", out_sharding, b)
    return cephes_exp(exponential_samples(typed, shape, dtype) * (1 / b))


def rayleigh(
    key: Value, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the Rayleigh distribution, density ``x / s**2 exp(-x**2 / (2 s**2))``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        scale: scale s, a float or an array.
        shape: shape of the result, by default that of ``scale``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; ``scale`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> rayleigh(jaxlite.random.key(0), 2.0, (3,)).shape
        (3,)
    """
    typed, shape, dtype, scale = _begin_with(key, shape, dtype, "rayleigh", out_sharding, scale)
    log_u = cephes_log(unit_uniform(typed, shape, dtype))
    return lax.mul(jnp.broadcast_to(scale, shape), lax.sqrt(log_u * np.asarray(-2, dtype)))


def wald(
    key: Value, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the Wald (inverse Gaussian) distribution with the given mean and scale 1.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        mean: mean, a float or an array.
        shape: shape of the result, by default that of ``mean``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; ``mean`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> wald(jaxlite.random.key(0), 2.0, (3,)).shape
        (3,)
    """
    typed, shape, dtype, mean = _begin_with(key, shape, dtype, "wald", out_sharding, mean)
    normal_key, uniform_key = split_key(typed)
    mean = jnp.broadcast_to(mean, shape)
    v = standard_normal(normal_key, shape, dtype)
    z = unit_uniform(uniform_key, shape, dtype)
    # Michael, Schucany and Haas (1976): of the two roots x and mean**2 / x, choose by z.
    y = lax.integer_pow(v, 2)
    y_sq, mean_sq = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    sqrt_term = lax.sqrt(fma(4.0 * mean, y, mean_sq * y_sq))
    x = fma(-(mean / 2.0), sqrt_term, mean + mean_sq * y / 2.0)
    return jnp.where(z <= mean / (mean + x), x, mean_sq / x)


def triangular(
    key: Value,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return samples of the triangular distribution on [left, right] with its peak at ``mode``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        left: lower end, a float or an array.
        mode: peak.
        right: upper end.
        shape: shape of the result, by default that of the parameters together.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; the parameters do not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> triangular(jaxlite.random.key(0), 0.0, 1.0, 2.0, (3,)).shape
        (3,)
    """
    typed, shape, dtype, left, mode, right = _begin_with(
        key, shape, dtype, "triangular", out_sharding, left, mode, right
    )
    left, mode, right = (jnp.broadcast_to(x, shape) for x in (left, mode, right))
    at_mode = (mode - left) / (right - left)
    u = unit_uniform(typed, shape, dtype)
    rising = left + lax.sqrt(u * (right - left) * (mode - left))
    falling = right - lax.sqrt((1.0 - u) * (right - left) * (right - mode))
    return jnp.where(u < at_mode, rising, falling)


def lognormal(
    key: Value, sigma: Any = 1.0, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return ``exp`` of normal samples with standard deviation ``sigma``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        sigma: standard deviation of the logarithm, a float or an array.
        shape: shape of the result, by default that of ``sigma``.
        dtype: a float or complex type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is neither; ``sigma`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> lognormal(jaxlite.random.key(0), 0.5, (3,)).shape
        (3,)
    """
    check_one_device(out_sharding, "lognormal")
    typed, _ = to_key(key, "lognormal")
    dtype = choose_dtype(dtype, "lognormal", "fc")
    sigma = to_float(sigma, dtype, "lognormal", 1)
    shape = choose_shape("lognormal", shape, sigma.shape)
    return cephes_exp(standard_normal(typed, shape, dtype) * sigma)
