"""Counting distributions. In: a key, rates, probabilities. Out: whole numbers.

Poisson: Knuth's product of uniform numbers for small rates, Hoermann's transformed rejection PTRS
(1993) for large ones. Binomial: sums of geometric waiting times, and Hoermann's BTRS. All samples
of a call share one sequence of keys: each round draws for everybody, and those that were accepted
before keep their value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.primitives.single_rounding import cephes_log, cephes_log1p, fma
from jaxlite.random.arguments import (
    check_one_device,
    choose_dtype,
    choose_shape,
    plain_shape,
    require_array,
    to_float,
)
from jaxlite.random.basic import unit_uniform
from jaxlite.random.keys import key_impl, split_key, to_key

__all__ = ["binomial", "multinomial", "poisson"]


def poisson(
    key: Value, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of the Poisson distribution, probability ``lam**k exp(-lam) / k!``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        lam: rate, a float or an array.
        shape: shape of the result, by default that of ``lam``.
        dtype: an integer type, int32 by default.
        out_sharding: must be None.

    Returns:
        ``dtype[*shape]``; -1 where the rate is negative or NaN.

    Raises:
        ValueError: ``dtype`` is no integer type; ``lam`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> poisson(jaxlite.random.key(0), 0.0, (2,))
        Array([0, 0], dtype=int32)
    """
    check_one_device(out_sharding, "poisson")
    typed, _ = to_key(key, "poisson")
    if typed.dtype is not dtypes.KEY_FRY:
        raise NotImplementedError(
            f"`poisson` is only implemented for the threefry2x32 RNG, not {key_impl(typed)}"
        )
    wanted = np.dtype(int) if dtype is None else dtypes.as_dtype(dtype)
    if dtypes.kind_of(wanted) not in "iu":
        raise ValueError(f"Invalid integer data type {dtypes.kind_of(wanted)!r}.")
    dtype = choose_dtype(dtype, "poisson", "iu")
    lam = to_float(lam, "float32", "broadcast_to", 0)
    shape = lam.shape if shape is None else plain_shape(shape)
    lam = jnp.broadcast_to(lam, shape)
    # Each algorithm gets harmless rates where the other one's result is taken.
    is_small = jnp.isnan(lam) | (lam < 10)
    small = _poisson_knuth(typed, jnp.where(is_small, lam, 0.0), dtype)
    large = _poisson_rejection(typed, jnp.where(is_small, 1e5, lam), dtype)
    return jnp.where(lam == 0, 0, jnp.where(is_small, small, large)).astype(dtype)


def _poisson_knuth(key: Value, lam: Value, dtype: Any) -> Value:
    """Count uniform factors until their product is below ``exp(-lam)`` (Knuth, TAOCP 2, 3.4.1)."""

    def draw(state: tuple[Value, ...]) -> tuple[Value, ...]:
        k, key, log_product = state
        key, subkey = split_key(key)
        k = jnp.where(log_product > -lam, k + 1, k)
        return k, key, log_product + cephes_log(unit_uniform(subkey, lam.shape, lam.dtype))

    start = (jnp.zeros(lam.shape, dtype), key, jnp.zeros_like(lam))
    k, _, _ = lax.while_loop(lambda state: jnp.any(state[2] > -lam), draw, start)
    return k - 1


def _poisson_rejection(key: Value, lam: Value, dtype: Any) -> Value:
    """Transformed rejection with squeeze; the constants are those of the paper's algorithm PTRS."""
    log_lam = cephes_log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def propose(state: tuple[Value, ...]) -> tuple[Value, ...]:
        k_out, is_done, key = state
        key, u_key, v_key = split_key(key, 3)
        u = unit_uniform(u_key, lam.shape, lam.dtype) - 0.5
        v = unit_uniform(v_key, lam.shape, lam.dtype)
        u_shifted = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / u_shifted + b) * u + lam + 0.43)
        s = cephes_log(v * inv_alpha / (a / (u_shifted * u_shifted) + b))
        log_density = -lam + k * log_lam - _log_factorial(k)
        squeeze = (u_shifted >= 0.07) & (v <= v_r)
        reject = (k < 0) | ((u_shifted < 0.013) & (v > u_shifted))
        accept = squeeze | (~reject & (s <= log_density))
        return jnp.where(accept, k, k_out), is_done | accept, key

    start = (jnp.full_like(lam, -1), jnp.zeros(lam.shape, bool), key)
    k, _, _ = lax.while_loop(lambda state: jnp.any(~state[1]), propose, start)
    return lax.convert_element_type(k, dtype)


#: Lanczos' coefficients for g = 7 (Godfrey 2001).
_LANCZOS = (
    676.520368121885098567,
    -1259.13921672240287047,
    771.3234287776530788487,
    -176.615029162140599066,
    12.5073432786869048145,
    -0.138571095265720116896,
    9.98436957801957085956e-6,
    1.50563273514931155834e-7,
)


def _log_factorial(k: Value) -> Value:
    """Return ``log(k!)``, k >= 0, rounded as JAX's ``lgamma``: it decides what is accepted."""
    total = jnp.full_like(k, 0.999999999999809932277)
    for i, c in enumerate(_LANCZOS):
        total = total + np.asarray(c, k.dtype) / (k + (i + 1.0))
    one = np.asarray(1, k.dtype)
    log_t = np.asarray(np.log(7.5), k.dtype) + cephes_log1p(k * (one / np.asarray(7.5, k.dtype)))
    power = k + 0.5 - (k + 7.5) / log_t
    return fma(power, log_t, jnp.full_like(k, 0.5 * np.log(2 * np.pi))) + cephes_log(total)


def binomial(key: Value, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Value:
    """Return the number of successes in ``n`` trials, each of probability ``p``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        n: number of trials, a number or an array.
        p: probability of success, likewise.
        shape: shape of the result, by default that of the parameters together.
        dtype: a float type, float32 by default.

    Returns:
        ``dtype[*shape]``, whole numbers; NaN where ``n`` or ``p`` is not possible.

    Raises:
        ValueError: ``dtype`` is no float type; the parameters do not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> binomial(jaxlite.random.key(0), 10, 0.5)
        Array(6., dtype=float32)
    """
    typed, _ = to_key(key, "binomial")
    dtype = choose_dtype(dtype, "binomial")
    n = require_array(n, "binomial", 1)
    p = require_array(p, "binomial", 2)
    shape = choose_shape("binomial", shape, n.shape, p.shape)
    n, p = (
        jnp.broadcast_to(lax.convert_element_type(x, dtypes.to_inexact_dtype(x.dtype)), shape)
        for x in (n, p)
    )
    return _binomial_samples(typed, n, p).astype(dtype)


def _binomial_samples(key: Value, n: Value, p: Value) -> Value:
    # Count the rarer of success and failure.
    is_swapped = p >= 0.5
    q = jnp.where(is_swapped, 1 - p, p)
    n_invalid = jnp.isnan(n) | (n < 0)
    n_infinite = jnp.isinf(n)
    q_invalid = jnp.isnan(q) | (q < 0)
    q = jnp.where(q_invalid, 0.01, q).astype(p.dtype)
    few = n_invalid | (n * q.astype(n.dtype) <= 10)
    n_whole = lax.floor(n)
    waiting = _binomial_inversion(key, jnp.where(few, n_whole, 0.0), q)
    rejection = _binomial_rejection(
        key, jnp.where(few, 10000.0, n_whole), jnp.where(few, 0.5, q).astype(p.dtype)
    )
    count = jnp.where(few, waiting, rejection)
    invalid = q_invalid | n_invalid
    count = jnp.where(invalid, jnp.nan, count)
    count = jnp.where(n_infinite & ~invalid, jnp.inf, count)
    keep = ~is_swapped | n_invalid | jnp.isnan(p) | n_infinite
    return jnp.where(keep, count, n_whole - count).astype(n.dtype)


def _binomial_inversion(key: Value, n: Value, p: Value) -> Value:
    """Count successes by the geometric number of trials between them (Devroye 1986, X.4.3)."""
    log_fail = cephes_log1p(-p).astype(n.dtype)

    def draw(state: tuple[Value, ...]) -> tuple[Value, ...]:
        count, trials, key = state
        subkey, key = split_key(key)
        count = jnp.where(trials <= n, count + 1, count)
        steps = lax.ceil(cephes_log(unit_uniform(subkey, n.shape, n.dtype)) / log_fail)
        return count, trials + steps, key

    start = (jnp.zeros_like(n), jnp.zeros_like(n), key)
    count, _, _ = lax.while_loop(lambda state: jnp.any(state[1] <= n), draw, start)
    return count - 1


def _stirling_tails(dtype: Any) -> Value:
    """Return ``log(k!)`` minus Stirling's formula for k = 0..9."""
    values = (
        0.0810614667953272,
        0.0413406959554092,
        0.0276779256849983,
        0.0207906721037650,
        0.0166446911898211,
        0.0138761288230707,
        0.0118967099458917,
        0.0104112652619720,
        0.0092554621827127,
        0.0083305634333628,
    )
    return jnp.array(values, dtype)


def _stirling_tail(k: Value, table: Value) -> Value:
    """Return ``log(k!)`` minus Stirling's formula: from the table, for k > 9 by its series."""
    k_table = jnp.clip(k, 0.0, 9.0)
    x = k_table + 1
    x_sq = x * x
    series = (1 / 12 - (1 / 360 - 1 / 1260 / x_sq) / x_sq) / x
    return jnp.where(k <= 9, jnp.take(table, k_table.astype("int32")), series)


def _binomial_rejection(key: Value, n: Value, p: Value) -> Value:
    """Transformed rejection with squeeze; the constants are those of Hoermann's algorithm BTRS."""
    p = p.astype(n.dtype)
    stddev = lax.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    r = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * stddev
    m = lax.floor((n + 1) * p)
    table = _stirling_tails(n.dtype)

    def propose(state: tuple[Value, ...]) -> tuple[Value, ...]:
        k_out, is_done, key = state
        key, u_key, v_key = split_key(key, 3)
        u = unit_uniform(u_key, n.shape, n.dtype) - 0.5
        v = unit_uniform(v_key, n.shape, n.dtype)
        us = 0.5 - lax.abs(u)
        k = lax.floor((2 * a / us + b) * u + c)
        bound = cephes_log(v * alpha / (a / (us * us) + b))
        log_density = (
            (m + 0.5) * cephes_log((m + 1) / (r * (n - m + 1)))
            + (n + 1) * cephes_log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * cephes_log(r * (n - k + 1) / (k + 1))
            + _stirling_tail(m, table)
            + _stirling_tail(n - m, table)
            - _stirling_tail(k, table)
            - _stirling_tail(n - k, table)
        )
        reject = (k < 0) | (k > n)
        accept = ((us >= 0.07) & (v <= v_r)) | (~reject & (bound <= log_density))
        return jnp.where(accept, k, k_out), is_done | accept, key

    start = (jnp.full_like(n, -1), jnp.zeros(n.shape, bool), key)
    k, _, _ = lax.while_loop(lambda state: jnp.any(~state[1]), propose, start)
    return k


def multinomial(
    key: Value,
    n: Any,
    p: Any,
    *,
    shape: Any = None,
    dtype: Any = None,
    unroll: int | bool = 1,
) -> Value:
    """Return how often each of several outcomes comes in ``n`` trials.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        n: number of trials, a number or an array ``f32[*b]``.
        p: probability of each outcome, ``f32[*b, k]``.
        shape: shape of the result, its last axis being the outcomes; by default that of the
            parameters.
        dtype: type of the result, float32 by default.
        unroll: how many outcomes to draw in one step of the loop over them.

    Raises:
        ValueError: the parameters do not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> multinomial(jaxlite.random.key(0), 10, jnp.array([1.0, 0.0]))
        Array([10., 0.], dtype=float32)
    """
    typed, _ = to_key(key, "multinomial")
    dtype = (
        dtypes.default_dtype(float)
        if dtype is None
        else dtypes.requested_dtype(dtype, "multinomial")
    )
    n = require_array(n, "multinomial", 1)
    p = require_array(p, "multinomial", 2)
    if not p.ndim:
        raise ValueError("axis -1 is out of bounds for array of dimension 0")
    kind = dtypes.result_type(n, p, float)
    if shape is None:
        shape = (*lax.broadcast_shapes(n.shape, p.shape[:-1]), p.shape[-1])
    shape = plain_shape(shape)
    n = jnp.broadcast_to(n.astype(kind), shape[:-1])
    p = jnp.broadcast_to(p.astype(kind), shape)
    # Each outcome is binomial among the trials that are left, with its share of the probability
    # left.
    remaining = lax.cumsum(p, axis=p.ndim - 1, reverse=True)
    ratios = jnp.moveaxis(p / jnp.where(remaining == 0, 1, remaining), -1, 0)
    keys = jnp.stack(split_key(typed, shape[-1])) if shape[-1] else None
    if keys is None:
        return jnp.zeros(shape, dtype)

    def draw(left: Value, key_and_ratio: tuple[Value, Value]) -> tuple[Value, Value]:
        key, ratio = key_and_ratio
        count = _binomial_samples(key, left, jnp.clip(ratio, 0, 1))
        return left - count, count

    _, counts = lax.scan(draw, n, (keys, ratios), unroll=unroll)
    return jnp.moveaxis(counts, 0, -1).astype(dtype)
