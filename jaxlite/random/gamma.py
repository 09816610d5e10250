"""The gamma distribution and those made from it. In: a key, concentrations. Out: samples.

Marsaglia and Tsang (2000): for a >= 1 accept ``d * v`` with ``d = a - 1/3``, ``v = (1 + c x)**3``,
``c = 1 / sqrt(9 d)`` and x normal; for a < 1 sample a + 1 and multiply by ``u**(1/a)``. Every
sample has a key of its own, so that its numbers do not depend on how often its neighbours are
rejected. Derivatives: implicit reparametrisation (Figurnov, Mohamed and Mnih 2018).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language.array import Value
from jaxlite.language.avals import Shape
from jaxlite.primitives.single_rounding import cephes_exp, cephes_log, fma
from jaxlite.primitives.special import random_gamma_grad
from jaxlite.random.arguments import (
    check_one_device,
    choose_dtype,
    choose_shape,
    plain_shape,
    require_array,
    to_float,
)
from jaxlite.random.basic import signs, standard_normal, unit_uniform
from jaxlite.random.continuous import exponential_samples
from jaxlite.random.generators import split_keys
from jaxlite.random.keys import split_key, to_key

__all__ = [
    "ball",
    "beta",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "generalized_normal",
    "loggamma",
    "t",
]


def gamma(
    key: Value, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the gamma distribution, density ``x**(a-1) exp(-x) / Gamma(a)``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        a: concentration, a float or an array; differentiable.
        shape: shape of the result, by default that of ``a``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; ``a`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> gamma(jaxlite.random.key(0), 2.5, (3,)).shape
        (3,)
    """
    return _gamma(key, a, shape, dtype, out_sharding, log_space=False)


def loggamma(
    key: Value, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return logarithms of gamma samples, accurate where the samples would underflow (small ``a``).

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        a: concentration, a float or an array; differentiable.
        shape: shape of the result, by default that of ``a``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; ``a`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> bool(jnp.isfinite(loggamma(jaxlite.random.key(0), 1e-3)))
        True
    """
    return _gamma(key, a, shape, dtype, out_sharding, log_space=True)


def _gamma(key: Value, a: Any, shape: Any, dtype: Any, out_sharding: Any, log_space: bool) -> Value:
    check_one_device(out_sharding, "gamma")
    typed, _ = to_key(key, "gamma")
    a = to_float(a, choose_dtype(dtype, "gamma"), "gamma", 1)
    return gamma_samples(typed, a, choose_shape("gamma", shape, a.shape), log_space)


def gamma_samples(key: Value, a: Value, shape: Shape, log_space: bool) -> Value:
    """Return gamma samples (or their logarithms); ``a`` broadcasts to ``shape``."""
    keys = split_keys(key, (math.prod(shape),)).reshape(shape)
    return _differentiable_gamma(log_space, keys, jnp.broadcast_to(a, shape))


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _differentiable_gamma(log_space: bool, keys: Value, a: Value) -> Value:
    key, boost_key = split_key(keys)
    # Gamma(a) = Gamma(a + 1) u**(1/a) for a < 1.
    is_large = a >= 1
    d = jnp.where(is_large, a, a + 1) - np.asarray(1 / 3, a.dtype)
    v = _accepted_cubes(key, d)
    if log_space:
        log_u = lax.neg(exponential_samples(boost_key, (), a.dtype))
        boost = jnp.where(is_large | (log_u == 0), 0, log_u * (1 / a))
        return cephes_log(d) + cephes_log(v) + boost
    u = 1 - unit_uniform(boost_key, (), a.dtype)
    return d * v * jnp.where(is_large, 1, jnp.power(u, 1 / a))


@_differentiable_gamma.defjvp
def _gamma_jvp(
    log_space: bool, primals: tuple[Value, Value], tangents: tuple[Value, Value]
) -> tuple[Value, Value]:
    (keys, a), (_, a_dot) = primals, tangents
    samples = _differentiable_gamma(log_space, keys, a)
    if log_space:
        # d log(x) = dx / x
        x = cephes_exp(samples)
        return samples, a_dot * (random_gamma_grad(a, x) / jnp.where(x == 0, 1, x))
    return samples, a_dot * random_gamma_grad(a, samples)


def _accepted_cubes(keys: Value, d: Value) -> Value:
    """Return the accepted ``v = (1 + c x)**3`` of each sample."""
    c = np.asarray(1 / 3, d.dtype) / lax.sqrt(d)

    def is_rejected(x_sq: Value, v: Value, u: Value) -> Value:
        # The first test is a cheap bound on the second.
        squeeze = u >= 1 - 0.0331 * (x_sq * x_sq)
        return squeeze & (cephes_log(u) >= x_sq * 0.5 + d * ((1 - v) + cephes_log(v)))

    def propose(state: tuple[Value, ...]) -> tuple[Value, ...]:
        keys, x_sq, v, u = state
        rejected = is_rejected(x_sq, v, u)
        next_keys, x_keys, u_keys = split_key(keys, 3)
        x, root = _positive_roots(x_keys, c)
        new = (next_keys, x * x, root * root * root, unit_uniform(u_keys, (), d.dtype))
        return tuple(jnp.where(rejected, b, a) for a, b in zip(state, new, strict=True))

    start = (keys, jnp.zeros_like(d), jnp.ones_like(d), jnp.full_like(d, 2))
    return lax.while_loop(lambda state: jnp.any(is_rejected(*state[1:])), propose, start)[2]


def _positive_roots(keys: Value, c: Value) -> tuple[Value, Value]:
    """Return normal x with ``1 + c x > 0``, and that."""

    def draw(state: tuple[Value, ...]) -> tuple[Value, ...]:
        keys, _, root = state
        next_keys, x_keys = split_key(keys)
        new_x = standard_normal(x_keys, (), c.dtype)
        new = (next_keys, new_x, fma(new_x, c, jnp.ones_like(c)))
        return tuple(jnp.where(root <= 0, b, a) for a, b in zip(state, new, strict=True))

    start = (keys, jnp.zeros_like(c), jnp.full_like(c, -1))
    _, normals, roots = lax.while_loop(lambda state: jnp.any(state[2] <= 0), draw, start)
    return normals, roots


def beta(
    key: Value, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the beta distribution, density proportional to ``x**(a-1) (1-x)**(b-1)``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        a: first parameter, a float or an array; differentiable.
        b: second parameter, likewise.
        shape: shape of the result, by default that of the parameters together.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; the parameters do not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> beta(jaxlite.random.key(0), 2.0, 3.0, (3,)).shape
        (3,)
    """
    check_one_device(out_sharding, "beta")
    typed, _ = to_key(key, "beta")
    dtype = choose_dtype(dtype, "beta")
    a, b = to_float(a, dtype, "beta", 1), to_float(b, dtype, "beta", 2)
    shape = choose_shape("beta", shape, a.shape, b.shape)
    a_key, b_key = split_key(typed)
    log_a = gamma_samples(a_key, a, shape, log_space=True)
    log_b = gamma_samples(b_key, b, shape, log_space=True)
    # x_a / (x_a + x_b), with the larger logarithm taken off both.
    largest = lax.max(log_a, log_b)
    x_a, x_b = cephes_exp(log_a - largest), cephes_exp(log_b - largest)
    return x_a / (x_a + x_b)


def dirichlet(
    key: Value, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the Dirichlet distribution: positive vectors that sum to 1.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        alpha: concentrations ``f32[*b, n]``; differentiable.
        shape: shape of the result without the last axis, by default ``b``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``alpha`` has no axis or does not broadcast; ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> dirichlet(jaxlite.random.key(0), jnp.ones(3), (2,)).shape
        (2, 3)
    """
    check_one_device(out_sharding, "dirichlet")
    typed, _ = to_key(key, "dirichlet")
    dtype = choose_dtype(dtype, "dirichlet")
    alpha = to_float(alpha, dtype, "dirichlet", 1)
    if not alpha.ndim:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {alpha.ndim}")
    shape = choose_shape("dirichlet", shape, alpha.shape[:-1])
    logs = gamma_samples(typed, alpha, (*shape, alpha.shape[-1]), log_space=True)
    x = cephes_exp(
        logs - lax.stop_gradient(jnp.max(logs, axis=-1, keepdims=True, initial=-jnp.inf))
    )
    return x / jnp.sum(x, axis=-1, keepdims=True)


def chisquare(
    key: Value, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the chi-square distribution with ``df`` degrees of freedom.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        df: degrees of freedom, a float or an array; differentiable.
        shape: shape of the result, by default that of ``df``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; ``df`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> chisquare(jaxlite.random.key(0), 3.0, (3,)).shape
        (3,)
    """
    check_one_device(out_sharding, "chisquare")
    typed, _ = to_key(key, "chisquare")
    df = to_float(df, choose_dtype(dtype, "chisquare"), "chisquare", 1)
    return _chisquare_samples(typed, df, choose_shape("chisquare", shape, df.shape))


def _chisquare_samples(key: Value, df: Value, shape: Shape) -> Value:
    return cephes_exp(gamma_samples(key, df / 2, shape, log_space=True)) * 2


def t(
    key: Value, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of Student's t distribution with ``df`` degrees of freedom.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        df: degrees of freedom, a float or an array; differentiable.
        shape: shape of the result, by default that of ``df``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; ``df`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> t(jaxlite.random.key(0), 3.0, (3,)).shape
        (3,)
    """
    check_one_device(out_sharding, "t")
    typed, _ = to_key(key, "t")
    dtype = choose_dtype(dtype, "t")
    df = to_float(df, dtype, "t", 1)
    shape = choose_shape("t", shape, df.shape)
    normal_key, gamma_key = split_key(typed)
    half = df / 2
    ratio = half / gamma_samples(gamma_key, half, shape, log_space=False)
    return standard_normal(normal_key, shape, dtype) * lax.sqrt(ratio)


def f(
    key: Value,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return samples of the F distribution: a ratio of chi-square samples per degree of freedom.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        dfnum: degrees of freedom of the numerator, a float or an array; differentiable.
        dfden: degrees of freedom of the denominator, likewise.
        shape: shape of the result, by default that of the parameters together.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; the parameters do not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> f(jaxlite.random.key(0), 3.0, 5.0, (3,)).shape
        (3,)
    """
    check_one_device(out_sharding, "f")
    typed, _ = to_key(key, "f")
    dtype = choose_dtype(dtype, "f")
    dfnum, dfden = to_float(dfnum, dtype, "f", 1), to_float(dfden, dtype, "f", 2)
    shape = choose_shape("f", shape, dfnum.shape, dfden.shape)
    den_key, num_key = split_key(typed)
    num = _chisquare_samples(num_key, dfnum, shape) / dfnum
    return num / (_chisquare_samples(den_key, dfden, shape) / dfden)


def generalized_normal(
    key: Value, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the generalised normal distribution, density ``~ exp(-|x|**p)``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        p: exponent, a float.
        shape: shape of the result.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> generalized_normal(jaxlite.random.key(0), 1.5, (3,)).shape
        (3,)
    """
    check_one_device(out_sharding, "generalized_normal")
    typed, _ = to_key(key, "generalized_normal")
    dtype = choose_dtype(dtype, "gamma")
    return _generalized_normal_samples(typed, _inverse(p, dtype), plain_shape(shape), dtype)


def _inverse(p: Any, dtype: Any) -> Value:
    return 1 / to_float(require_array(p, "generalized_normal", 1), dtype, "generalized_normal", 1)


def _generalized_normal_samples(key: Value, inverse_p: Value, shape: Shape, dtype: Any) -> Value:
    gamma_key, sign_key = split_key(key)
    magnitude = gamma_samples(gamma_key, inverse_p, shape, log_space=False)
    return signs(sign_key, shape, dtype) * jnp.power(magnitude, inverse_p)


def ball(
    key: Value,
    d: int,
    p: Any = 2,
    shape: Any = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return points uniform in the unit ball of the p-norm.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        d: dimension of the space.
        p: order of the norm, a number.
        shape: shape of the array of points; the result has one more axis of size ``d``.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> ball(jaxlite.random.key(0), 2, shape=(3,)).shape
        (3, 2)
    """
    check_one_device(out_sharding, "ball")
    typed, _ = to_key(key, "ball")
    dtype = choose_dtype(dtype, "gamma")
    shape = plain_shape(shape)
    # Barthe, Guedon, Mendelson and Naor (2005).
    point_key, radius_key = split_key(typed)
    inverse_p = _inverse(p, dtype)
    points = _generalized_normal_samples(point_key, inverse_p, (*shape, d), dtype)
    radius = exponential_samples(radius_key, shape, dtype)
    exponent = p if isinstance(p, int) else to_float(p, dtype, "ball", 2)
    total = jnp.sum(jnp.abs(points) ** exponent, axis=-1) + radius
    return points / jnp.power(total, inverse_p)[..., None]
