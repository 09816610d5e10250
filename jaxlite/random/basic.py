"""What distributions are made of. In: a key. Out: uniform, normal, integer and bool samples.

A uniform float is random mantissa bits behind the exponent of 1, minus 1: all multiples of 2^-23
in [0, 1) are equally likely. ``uniform`` and ``normal`` equal JAX's numbers bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import Shape
from jaxlite.language.trace import Tracer, to_concrete
from jaxlite.primitives.single_rounding import fma
from jaxlite.primitives.special import eigen_erf
from jaxlite.random.arguments import (
    check_one_device,
    choose_dtype,
    choose_shape,
    plain_shape,
    require_array,
    to_float,
)
from jaxlite.random.keys import random_bits, split_key, to_key

__all__ = ["bernoulli", "normal", "rademacher", "randint", "truncated_normal", "uniform"]


def uniform(
    key: Value,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return floats uniform in [minval, maxval).

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: a float type, float32 by default.
        minval: lower end; broadcasts to ``shape``; differentiable.
        maxval: upper end; the same.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type.

    Example:
        >>> import jaxlite
        >>> uniform(jaxlite.random.key(0), (3,))
        Array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
    """
    check_one_device(out_sharding, "uniform")
    typed, _ = to_key(key, "uniform")
    dtype = choose_dtype(dtype, "uniform")
    return uniform_between(
        typed,
        plain_shape(shape),
        dtype,
        to_float(minval, dtype, "uniform", 3),
        to_float(maxval, dtype, "uniform", 4),
    )


def unit_uniform(key: Value, shape: Shape, dtype: Any) -> Value:
    """Return floats uniform in [0, 1) of the canonical ``dtype``."""
    return random_floats(key, shape, dtype)


def random_floats(key: Value, shape: Shape, dtype: Any) -> Value:
    """Return multiples of 2^-(mantissa bits) in [0, 1)."""
    info = dtypes.finfo(dtype)
    n_bits, n_mantissa = int(info.bits), int(info.nmant)
    word = np.dtype(f"uint{n_bits}")
    # Eight random bits are enough for the seven of a bfloat16's mantissa.
    n_random = 8 if n_mantissa < 8 else n_bits
    bits = random_bits(key, shape, np.dtype(f"uint{n_random}"))
    if n_random != n_bits:
        bits = lax.convert_element_type(bits, word)
    one = np.asarray(1, dtype).view(word)
    bits = lax.bitwise_or(
        lax.shift_right_logical(bits, jnp.full_like(bits, n_random - n_mantissa)),
        jnp.full_like(bits, one),
    )
    floats = lax.bitcast_convert_type(bits, dtype)
    return lax.sub(floats, jnp.full_like(floats, 1))


def uniform_between(key: Value, shape: Shape, dtype: Any, low: Value, high: Value) -> Value:
    """Return floats uniform in [low, high), arrays of ``dtype`` that broadcast to the result.

    Here and below ``key`` may be an array of keys: then each gives samples of ``shape`` behind its
    own axes.
    """
    u = random_floats(key, shape, dtype)
    shape = u.shape
    lows, spans = jnp.broadcast_to(low, shape), jnp.broadcast_to(high - low, shape)
    once = _product_rounds(low, high, dtype)
    scaled = fma(u, spans, lows) if once else lax.add(lax.mul(u, spans), lows)
    # Rounding must not lead below the lower end.
    return lax.max(lows, scaled)


def _product_rounds(low: Value, high: Value, dtype: Any) -> bool:
    """Return whether one rounding in ``u * (high - low) + low``, as in JAX, may matter."""
    if dtype.name not in ("float32", "float64"):
        return False
    lows, highs = _known_value(low), _known_value(high)
    if lows is None or highs is None:
        return True
    if not np.any(lows):
        return False
    mantissas, _ = np.frexp(highs - lows)
    return bool(np.any(np.abs(mantissas) != 0.5))


def _known_value(x: Value) -> Any:
    """Return the numbers of ``x`` as a NumPy array; None if they are known at run time only."""
    value = x.concrete_value() if isinstance(x, Tracer) else x
    return None if value is None else np.asarray(to_concrete(value)._data)


def normal(key: Value, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Value:
    """Return samples of the normal distribution with mean 0 and variance 1.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: a float or complex type, float32 by default. The variance of a complex sample is 1
            in all.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is neither.

    Example:
        >>> import jaxlite
        >>> normal(jaxlite.random.key(0), (3,))
        Array([ 1.6226422 ,  2.0252647 , -0.43359444], dtype=float32)
    """
    check_one_device(out_sharding, "normal")
    typed, _ = to_key(key, "normal")
    return standard_normal(typed, plain_shape(shape), choose_dtype(dtype, "normal", "fc"))


def standard_normal(key: Value, shape: Shape, dtype: Any) -> Value:
    """Return normal samples of the canonical float or complex ``dtype`` from a typed key."""
    if dtypes.kind_of(dtype) == "f":
        # erf_inv of a uniform number in (-1, 1): the inverse of the normal's distribution function.
        low = _next_to(-1, dtype)
        u = uniform_between(key, shape, dtype, jnp.asarray(low), jnp.asarray(1, dtype))
        return lax.mul(jnp.full_like(u, np.sqrt(2)), lax.erf_inv(u))
    real_key, imag_key = split_key(key)
    real_dtype = dtypes.to_real_dtype(dtype)
    parts = (standard_normal(part, shape, real_dtype) for part in (real_key, imag_key))
    # Both parts have variance 1/2.
    scale = np.asarray(1, real_dtype) / np.asarray(np.sqrt(2), real_dtype)
    return lax.complex(*(lax.mul(part, jnp.full_like(part, scale)) for part in parts))


def _next_to(x: float, dtype: Any) -> np.ndarray[Any, Any]:
    """Return the float of ``dtype`` next to ``x`` towards zero."""
    return np.asarray(np.nextafter(np.asarray(x, dtype), np.asarray(0, dtype)), dtype)


def truncated_normal(
    key: Value,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return normal samples on condition that they lie between ``lower`` and ``upper``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        lower: lower bound, a float or an array.
        upper: upper bound, a float or an array.
        shape: shape of the result, by default that of the bounds together.
        dtype: a float type, float32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no float type; the bounds do not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> truncated_normal(jaxlite.random.key(0), -1.0, 1.0, (2,))
        Array([0.8618594, 0.9412883], dtype=float32)
    """
    check_one_device(out_sharding, "truncated_normal")
    typed, _ = to_key(key, "truncated_normal")
    dtype = choose_dtype(dtype, "truncated_normal")
    low = to_float(lower, dtype, "truncated_normal", 1)
    high = to_float(upper, dtype, "truncated_normal", 2)
    shape = choose_shape("truncated_normal", shape, low.shape, high.shape)
    sqrt2 = np.asarray(np.sqrt(2), dtype)
    # The normal's distribution function maps the bounds to those of a uniform number.
    inverse = np.asarray(1, dtype) / sqrt2
    u = uniform_between(typed, shape, dtype, eigen_erf(low * inverse), eigen_erf(high * inverse))
    samples = lax.mul(jnp.full_like(u, sqrt2), lax.erf_inv(u))
    infinity = np.asarray(np.inf, dtype)
    inner_low = lax.nextafter(lax.stop_gradient(low), jnp.full_like(low, infinity))
    inner_high = lax.nextafter(lax.stop_gradient(high), jnp.full_like(high, -infinity))
    return jnp.clip(samples, inner_low, inner_high)


def bernoulli(
    key: Value, p: Any = 0.5, shape: Any = None, mode: str = "low", *, out_sharding: Any = None
) -> Value:
    """Return truth values that are True with probability ``p``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        p: probability, a float or an array of floats.
        shape: shape of the result, by default that of ``p``.
        mode: "low" resolves probabilities to about 2^-23, "high" further.
        out_sharding: must be None.

    Raises:
        TypeError: ``p`` is no float.
        ValueError: ``p`` does not broadcast to ``shape``; an unknown ``mode``.

    Example:
        >>> import jaxlite
        >>> bernoulli(jaxlite.random.key(1), 0.5, (4,)).dtype
        dtype('bool')
    """
    check_one_device(out_sharding, "bernoulli")
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    typed, _ = to_key(key, "bernoulli")
    p = require_array(p, "bernoulli", 1)
    if dtypes.kind_of(p.dtype) != "f":
        raise TypeError(
            f"bernoulli probability `p` must have a floating dtype, got {dtypes.name_of(p.dtype)}."
        )
    shape = choose_shape("bernoulli", shape, p.shape)
    return bernoulli_samples(typed, lax.convert_element_type(p, p.dtype), shape, mode)


def bernoulli_samples(key: Value, p: Value, shape: Shape, mode: str = "low") -> Value:
    """Return truth values from a typed key; ``p`` is a float array that broadcasts to ``shape``."""
    p = jnp.broadcast_to(p, shape)
    if mode == "low":
        return lax.lt(random_floats(key, shape, p.dtype), p)
    # Two uniform numbers: the second continues the bits of the first.
    u = random_floats(key, (2, *shape), p.dtype)
    return lax.lt(u[1] * dtypes.finfo(p.dtype).eps, p - u[0])


def rademacher(
    key: Value, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return samples of -1 and 1, both equally likely.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: any numeric type, int32 by default.
        out_sharding: must be None.

    Example:
        >>> import jaxlite
        >>> rademacher(jaxlite.random.key(0), (3,))
        Array([-1, -1,  1], dtype=int32)
    """
    check_one_device(out_sharding, "rademacher")
    typed, _ = to_key(key, "rademacher")
    wanted = (
        choose_dtype(None, "rademacher", "iu")
        if dtype is None
        else dtypes.requested_dtype(dtype, "rademacher")
    )
    return signs(typed, plain_shape(shape), wanted)


def signs(key: Value, shape: Shape, dtype: Any) -> Value:
    """Return -1 and 1 of the canonical ``dtype`` from a typed key."""
    half = jnp.asarray(0.5, dtypes.default_dtype(float))
    heads = lax.convert_element_type(bernoulli_samples(key, half, shape), dtype)
    if dtypes.kind_of(dtype) == "b":
        return jnp.ones_like(heads)  # both -1 and 1 are True
    return lax.sub(lax.mul(jnp.full_like(heads, 2), heads), jnp.full_like(heads, 1))


def randint(
    key: Value, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return integers uniform in [minval, maxval), up to a bias of maxval * 2^-64.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        minval: least value; an integer or an array that broadcasts to ``shape``.
        maxval: one more than the greatest value; ``minval`` is returned if it is not greater.
        dtype: an integer type, int32 by default.
        out_sharding: must be None.

    Raises:
        TypeError: ``dtype`` is no integer type.
        OverflowError: a bound is a Python number that the integer type cannot hold.

    Example:
        >>> import jaxlite
        >>> randint(jaxlite.random.key(0), (3,), 0, 10)
        Array([9, 0, 2], dtype=int32)
    """
    check_one_device(out_sharding, "randint")
    typed, _ = to_key(key, "randint")
    shape = plain_shape(shape)
    wanted = dtypes.default_dtype(int) if dtype is None else dtypes.as_dtype(dtype)
    if dtypes.kind_of(wanted) not in "iu":
        narrow = dtypes.requested_dtype(dtype, "randint")
        raise TypeError(f"randint only accepts integer dtypes, got {dtypes.name_of(narrow)}")
    wanted = dtypes.requested_dtype(wanted, "randint")
    low = _to_integer(minval, "randint", 2)
    high = _to_integer(maxval, "randint", 3)
    choose_shape("randint", shape, low.shape, high.shape)
    if dtypes.bit_width(wanted) >= 32:
        return _randint(typed, shape, low, high, wanted)
    info = dtypes.iinfo(wanted)
    low = jnp.clip(low, int(info.min), int(info.max))
    high = jnp.clip(high, int(info.min), int(info.max) + 1)
    return lax.convert_element_type(_randint(typed, shape, low, high, np.dtype("int32")), wanted)


def _to_integer(x: Any, name: str, position: int) -> Value:
    x = require_array(int(x) if isinstance(x, float) else x, name, position)
    if dtypes.kind_of(x.dtype) in "iu":
        return x
    return lax.convert_element_type(x, dtypes.default_dtype(int))


def _to_range_of(x: Value, dtype: Any) -> Value:
    """Return the integers ``x`` as ``dtype``, those out of range moved to its ends."""
    have, want = dtypes.iinfo(x.dtype), dtypes.iinfo(dtype)
    low, high = max(int(have.min), int(want.min)), min(int(have.max), int(want.max))
    ends = np.asarray(low, x.dtype), np.asarray(high, x.dtype)
    return lax.convert_element_type(jnp.clip(x, *ends), dtype)


def _randint(key: Value, shape: Shape, low: Value, high: Value, dtype: Any) -> Value:
    """Return integers of a 32- or 64-bit ``dtype``, uniform in [low, high)."""
    width = dtypes.bit_width(dtype)
    unsigned = np.dtype(f"uint{width}")
    # An upper end past the last integer of the type cannot be held: remember to include the last
    # one.
    biggest = min(int(dtypes.iinfo(dtype).max), int(dtypes.iinfo(high.dtype).max))
    beyond = lax.gt(high, jnp.full_like(high, biggest))
    low, high = _to_range_of(low, dtype), _to_range_of(high, dtype)
    span = lax.convert_element_type(high - low, unsigned)
    one = jnp.ones_like(span)
    span = jnp.where(high <= low, one, span)
    span = jnp.where(beyond & (high > low), span + one, span)
    first, second = split_key(key)
    high_bits = random_bits(first, shape, unsigned)
    low_bits = random_bits(second, shape, unsigned)
    # (high_bits * 2^width + low_bits) mod span, by modular arithmetic on words.
    half = jnp.full_like(span, 2 ** (width // 2))
    multiplier = lax.rem(half, span)
    multiplier = lax.rem(lax.mul(multiplier, multiplier), span)
    spans, multipliers = jnp.broadcast_to(span, shape), jnp.broadcast_to(multiplier, shape)
    offset = lax.add(lax.mul(lax.rem(high_bits, spans), multipliers), lax.rem(low_bits, spans))
    offset = lax.convert_element_type(lax.rem(offset, spans), dtype)
    return lax.add(jnp.broadcast_to(low, shape), offset)
