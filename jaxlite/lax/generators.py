"""``lax`` generators of random bits. In: a state, or bounds. Out: bits, or numbers.

``jaxlite.random`` is made for use; these are the generators under JAX's names.
"""

from __future__ import annotations

import enum
import functools
import math
from typing import Any

import numpy as np

from jaxlite.api.callbacks import io_callback
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray, canonical_shape
from jaxlite.lax import elementwise, shapes, slicing
from jaxlite.lax.operands import as_array
from jaxlite.primitives import philox
from jaxlite.primitives.convert import convert_element_type
from jaxlite.primitives.random_bits import threefry2x32

__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]


class RandomAlgorithm(enum.IntEnum):
    """Generators: the default one is Philox."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


_U32 = np.dtype(np.uint32)


def rng_bit_generator(
    key: Any,
    shape: Any,
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> list[Value]:
    """Return the next state and random bits.

    Args:
        key: the state, ``u32[4]`` or ``u64[2]``: first the key, then the counter.
        shape: shape of the bits.
        dtype: an unsigned integer type.
        algorithm: a ``RandomAlgorithm``.
        out_sharding: must be None.

    Returns:
        The next state, and ``dtype[*shape]``.

    Raises:
        TypeError: another dtype, or another state.

    Example:
        >>> state, bits = rng_bit_generator(np.uint32([1, 2, 3, 4]), (2,))
        >>> state.tolist(), bits.tolist()
        ([1, 2, 4, 4], [512747620, 1298009047])
    """
    wanted = dtypes.requested_dtype(dtype, "rng_bit_generator")
    if dtypes.kind_of(wanted) != "u" or dtypes.bit_width(wanted) < 8:
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtypes.name_of(wanted)}")
    state = as_array(key, "rng_bit_generator")
    words = state
    if state.dtype == np.uint64:
        words = shapes.bitcast_convert_type(state, _U32)
        words = shapes.reshape(words, (*state.shape[:-1], 2 * state.shape[-1]))
    bits = dtypes.bit_width(wanted)
    sizes = canonical_shape(shape)
    if RandomAlgorithm(algorithm) is RandomAlgorithm.RNG_THREE_FRY:
        new_words, out = _threefry(words, bits, sizes)
    else:
        new_words, out = philox.rng_bit_generator(words, bits, sizes)
    if state.dtype == np.uint64:
        pairs = shapes.reshape(new_words, (*state.shape, 2))
        new_words = shapes.bitcast_convert_type(pairs, state.dtype)
    return [new_words, shapes.convert_element_type(out, wanted)]


def _threefry(words: Value, bits: int, shape: tuple[int, ...]) -> tuple[Value, Value]:
    """Return the next state and the bits."""
    # The two words of a block are neighbours along an even axis, else along the longest one.
    axis = next((d for d, n in enumerate(shape) if n and n % 2 == 0), None)
    if axis is None and shape:
        axis = shape.index(max(shape))
    if bits == 64 or axis is None:
        blocks: tuple[int, ...] = shape
    else:
        blocks = tuple(-(-n // 2) if d == axis else n for d, n in enumerate(shape))
    n_blocks = math.prod(blocks)
    k0, k1, low, high = (words[i] for i in range(4))
    at = shapes.reshape(shapes.iota(_U32, n_blocks), blocks)
    counter = _advance(low, high, at)
    keys = [shapes.broadcast_in_dim(k, blocks, ()) for k in (k0, k1)]
    first, second = threefry2x32(keys[0], keys[1], *counter)
    next_low, next_high = _advance(low, high, shapes.full((), n_blocks, _U32))
    state = shapes.stack([k0, k1, next_low, next_high])
    if bits == 64:
        pair = shapes.stack([first, second], len(blocks))
        return state, shapes.bitcast_convert_type(pair, np.uint64)
    out = first
    if axis is not None:
        doubled = tuple(2 * n if d == axis else n for d, n in enumerate(blocks))
        out = shapes.reshape(shapes.stack([first, second], axis + 1), doubled)
        out = slicing.slice_in_dim(out, 0, shape[axis], axis=axis)
    return state, convert_element_type(out, np.dtype(f"uint{bits}"))


def _advance(low: Value, high: Value, by: Value) -> tuple[Value, Value]:
    """Return the 64-bit number ``(low, high)`` plus the uint32 ``by``."""
    low, high = (shapes.broadcast_in_dim(w, by.shape, ()) for w in (low, high))
    total = elementwise.add(low, by)
    carry = convert_element_type(elementwise.lt(total, low), _U32)
    return total, elementwise.add(high, carry)


@functools.cache
def _hidden_generator() -> np.random.Generator:
    # Made on first use: NumPy's generators take a while to import.
    return np.random.default_rng(0)


def rng_uniform(a: Any, b: Any, shape: Any) -> Value:
    """Return numbers uniform in ``[a, b)`` from a generator with a hidden state.

    The numbers differ from call to call; use ``jaxlite.random``.

    Args:
        a: a scalar.
        b: a scalar of the same dtype.
        shape: shape of the result.

    Raises:
        ValueError: dtypes that differ, or bounds that are no scalars.

    Example:
        >>> rng_uniform(0.0, 1.0, (3,)).shape
        (3,)
    """
    low, high = as_array(a, "rng_uniform"), as_array(b, "rng_uniform", 1)
    if low.dtype != high.dtype:
        names = " and ".join(dtypes.name_of(x.dtype) for x in (low, high))
        raise ValueError(f"Arguments to rng_uniform must have identical dtypes, got {names}.")
    if low.ndim or high.ndim:
        raise ValueError(
            f"Arguments to rng_uniform must be scalars; got shapes {low.shape} and {high.shape}."
        )
    sizes = canonical_shape(shape)
    dtype = low.dtype

    def draw(low: Any, high: Any) -> Any:
        low, high = np.asarray(low), np.asarray(high)
        if dtypes.kind_of(dtype) == "f":
            wide = float(low) + _hidden_generator().random(sizes) * (float(high) - float(low))
            return wide.astype(dtype)
        return _hidden_generator().integers(int(low), int(high), size=sizes).astype(dtype)

    return io_callback(draw, ShapedArray(sizes, dtype), low, high)
