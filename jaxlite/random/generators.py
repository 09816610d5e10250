"""The three kinds of keys. In: keys, integers. Out: keys, bits; one function per thing keys do.

``threefry2x32`` keys are two words. ``rbg`` and ``unsafe_rbg`` keys are four words, a state of the
Philox generator (``lax.rng_bit_generator``), from which their bits come. ``rbg`` derives keys with
Threefry on each half of the state; ``unsafe_rbg`` takes derived keys from its own bits, which is
faster and not known to be independent. Under ``vmap``, bits of both come from the first key of the
batch, as in JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.primitives import philox
from jaxlite.primitives import random_bits as threefry

__all__ = ["KEY_DTYPES", "draw_bits", "fold_key", "seed_key", "split_keys", "wrap_words"]

#: The dtype of the keys of each generator, under the name that users give.
KEY_DTYPES = {
    "threefry2x32": dtypes.KEY_FRY,
    "rbg": dtypes.KEY_RBG,
    "unsafe_rbg": dtypes.KEY_UNSAFE_RBG,
}
#: Of each block of this many keys that ``unsafe_rbg`` draws, one is used.
_STRIDE = 10
_U32 = np.dtype(np.uint32)


def wrap_words(words: Value, dtype: dtypes.KeyDType) -> Value:
    """Return the keys of ``dtype`` with these words: ``uint32[*s, n] -> key[*s]``."""
    return threefry.random_wrap(words, impl=dtype.tag)


def seed_key(seed: Value, dtype: dtypes.KeyDType) -> Value:
    """Return the key of an integer seed: ``[] -> key[]``."""
    key = threefry.random_seed(seed)
    if dtype is dtypes.KEY_FRY:
        return key
    words = threefry.random_unwrap(key)
    return wrap_words(jnp.concatenate([words, words], axis=-1), dtype)


def split_keys(keys: Value, shape: tuple[int, ...]) -> Value:
    """Return ``shape`` new keys for every key: ``key[*s] -> key[*s, *shape]``."""
    dtype = keys.dtype
    if dtype is dtypes.KEY_FRY:
        return threefry.random_split(keys, shape=shape)
    if dtype is dtypes.KEY_RBG:
        halves = threefry.random_split(_halves(keys), shape=shape)
        return _of_halves(halves, keys.ndim, dtype)

    def split(key: Value) -> Value:
        rows = _philox(key, 32, (_STRIDE * math.prod(shape), 4))[::_STRIDE]
        return wrap_words(rows.reshape((*shape, 4)), dtype)

    return _each(split, keys)


def fold_key(key: Value, number: Value) -> Value:
    """Return a new key for a key and a ``uint32[]``."""
    dtype = key.dtype
    if dtype is dtypes.KEY_FRY:
        return threefry.random_fold_in(key, number)
    if dtype is dtypes.KEY_RBG:
        return _of_halves(threefry.random_fold_in(_halves(key), number), 0, dtype)
    drawn = _philox(seed_key(number, dtype), 32, (_STRIDE, 4))[-1]
    return wrap_words(threefry.random_unwrap(key) ^ drawn, dtype)


def draw_bits(keys: Value, bit_width: int, shape: tuple[int, ...]) -> Value:
    """Return unsigned integers: ``key[*s] -> uint<bit_width>[*s, *shape]``."""
    if keys.dtype is dtypes.KEY_FRY:
        return threefry.random_bits(keys, bit_width=bit_width, shape=shape)
    return _each(lambda key: _philox(key, bit_width, shape), keys)


def _philox(key: Value, bit_width: int, shape: tuple[int, ...]) -> Value:
    return philox.rng_bit_generator(threefry.random_unwrap(key), bit_width, shape)[1]


def _each(function: Callable[[Value], Value], keys: Value) -> Value:
    """Map a function over an array of keys, one key after the other.

    ``vmap`` would give another result: a batch draws with its first key.
    """
    if not keys.ndim:
        return function(keys)
    flat: Any = lax.map(function, keys.reshape(-1))
    out: Value = flat.reshape((*keys.shape, *flat.shape[1:]))
    return out


def _halves(keys: Value) -> Value:
    """Return both halves of keys as Threefry's keys: ``key<rbg>[*s] -> key<fry>[*s, 2]``."""
    words = threefry.random_unwrap(keys)
    return wrap_words(words.reshape((*keys.shape, 2, 2)), dtypes.KEY_FRY)


def _of_halves(halves: Value, axis: int, dtype: dtypes.KeyDType) -> Value:
    """Put halves along ``axis`` together again: the inverse of ``_halves``."""
    words = jnp.moveaxis(threefry.random_unwrap(halves), axis, -2)
    return wrap_words(words.reshape((*words.shape[:-2], 4)), dtype)
