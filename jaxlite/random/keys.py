"""Random keys. In: seeds, keys of either kind. Out: keys, raw key data, random bits.

A key is a scalar of dtype ``key<fry>`` (from ``key``), or, as in older programs, a ``uint32[2]``
array (from ``PRNGKey``). Every function takes both; ``split``, ``fold_in`` and ``clone`` return
the kind they were given. The generator is threefry2x32 in JAX's partitionable layout, bit for bit
JAX's numbers, unless a key says otherwise (``generators``). Raw keys are of the default generator.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.primitives import random_bits as threefry
from jaxlite.random.arguments import check_one_device, choose_dtype, plain_shape
from jaxlite.random.generators import (
    KEY_DTYPES,
    draw_bits,
    fold_key,
    seed_key,
    split_keys,
    wrap_words,
)
from jaxlite.settings import config

__all__ = [
    "PRNGKey",
    "bits",
    "clone",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "split",
    "split_key",
    "to_key",
    "wrap_key_data",
]

_NAME_OF = {dtype: name for name, dtype in KEY_DTYPES.items()}
_LEGACY = (
    "Legacy uint32 key array passed as key to jax.random function. Please create keys using "
    'jax.random.key(). If use of a raw key array was intended, set jax_legacy_prng_key="allow".'
)


def is_key_array(x: Any) -> bool:
    """Return whether ``x`` is an array of typed keys."""
    return isinstance(x, Array) and dtypes.issubdtype(x.dtype, dtypes.prng_key)


def _implementation(impl: Any) -> dtypes.KeyDType:
    """Return the dtype of the keys that ``impl`` names; None is the default generator's."""
    if impl is None:
        return KEY_DTYPES[config.frame.default_prng_impl]
    if isinstance(impl, dtypes.KeyDType):
        return impl
    if not isinstance(impl, str):
        raise TypeError(f"unrecognized type {type(impl)} for specifying PRNG implementation.")
    if impl not in KEY_DTYPES:
        known = ", ".join(f'"{name}"' for name in KEY_DTYPES)
        raise ValueError(
            f'unrecognized PRNG implementation "{impl}". Did you mean one of: {known}?'
        )
    return KEY_DTYPES[impl]


def _choose(impl: Any, dtype: Any, name: str) -> dtypes.KeyDType:
    """Return the dtype that one of ``impl`` and ``dtype`` names."""
    if impl is not None and dtype is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to jax.random.{name}")
    return _implementation(dtype if impl is None else impl)


def _to_seed(seed: Any, name: str) -> Value:
    """Return a scalar integer array that stands for ``seed``; TypeError if it cannot."""
    if is_key_array(seed):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, (bool, np.bool_)):
        if not -(2**63) <= seed < 2**64:
            raise OverflowError("Python int too large to convert to C long")
        if not config.frame.enable_x64:
            # The high word of a seed is lost without 64-bit integers, as in JAX.
            seed = np.uint32(int(seed) & 0xFFFFFFFF)
    seed = jnp.asarray(seed)
    if seed.ndim:
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {seed.shape} != (). "
            "Use jax.vmap for batching"
        )
    if dtypes.kind_of(seed.dtype) not in "biu":
        raise TypeError(f"PRNG key seed must be an integer; got {seed}")
    return lax.convert_element_type(seed, "int32") if seed.dtype == np.bool_ else seed


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Value:
    """Return a random key made from ``seed``.

    Args:
        seed: a Python or NumPy integer, or an integer array ``i32[]``, possibly traced.
        impl: "threefry2x32" (the default), "rbg" or "unsafe_rbg".
        dtype: a key dtype, in place of ``impl``.

    Returns:
        ``key<fry>[]``.

    Raises:
        TypeError: the seed is no integer scalar.
        ValueError: an unknown ``impl``.

    Example:
        >>> key_data(key(42))
        Array([ 0, 42], dtype=uint32)
    """
    return _from_seed(seed, "key", _choose(impl, dtype, "key"))


def _from_seed(seed: Any, name: str, dtype: dtypes.KeyDType) -> Value:
    offset = config.frame.random_seed_offset
    return seed_key(_to_seed(seed + offset if offset else seed, name), dtype)


def PRNGKey(seed: Any, *, impl: Any = None) -> Value:
    """Return a raw random key ``uint32[2]`` made from ``seed``, as older programs use; see ``key``.

    Example:
        >>> PRNGKey(42)
        Array([ 0, 42], dtype=uint32)
    """
    typed = _from_seed(seed, "PRNGKey", _implementation(impl))
    return typed if config.frame.enable_custom_prng else threefry.random_unwrap(typed)


def key_dtype(impl_spec: Any = None) -> Any:
    """Return the dtype of keys.

    Example:
        >>> key_dtype()
        key<fry>
    """
    return _implementation(impl_spec)


def wrap_key_data(key_bits_array: Value, *, impl: Any = None, dtype: Any = None) -> Value:
    """Return the keys whose data is ``key_bits_array``: ``uint32[*s, 2] -> key<fry>[*s]``.

    Raises:
        TypeError: another shape or dtype.

    Example:
        >>> wrap_key_data(jnp.zeros((3, 2), "uint32")).shape
        (3,)
    """
    kind = _choose(impl, dtype, "wrap_key_data")
    return wrap_words(_check_data(key_bits_array, kind), kind)


def _check_data(data: Any, dtype: dtypes.KeyDType) -> Value:
    """Return ``data`` as an array; raise in JAX's words unless it has the words of such keys."""
    what = "JAX encountered invalid PRNG key data: expected"
    if not all(hasattr(data, name) for name in ("ndim", "shape", "dtype")):
        if not isinstance(data, (int, float, complex)):
            raise TypeError(f"unexpected PRNG key type {type(data)}")
        raise TypeError(f"{what} key_data to have ndim, shape, and dtype attributes. Got {data}")
    if data.ndim < 1:
        raise TypeError(f"{what} key_data.ndim >= 1; got ndim={data.ndim}")
    if data.shape[-1:] != (dtype.n_words,):
        raise TypeError(
            f"{what} key_data.shape to end with ({dtype.n_words},); got shape={data.shape} "
            f"for impl={_NAME_OF[dtype]}"
        )
    if data.dtype != np.uint32:
        raise TypeError(f"{what} key_data.dtype = uint32; got dtype={dtypes.name_of(data.dtype)}")
    return jnp.asarray(data)


def key_data(keys: Value) -> Value:
    """Return the words of typed or raw keys: ``key<fry>[*s] -> uint32[*s, 2]``.

    Example:
        >>> key_data(key(7))
        Array([0, 7], dtype=uint32)
    """
    if is_key_array(keys):
        return threefry.random_unwrap(keys)
    return _check_data(keys, _implementation(None))


def key_impl(keys: Value) -> str:
    """Return the name of the generator that the keys are for.

    Example:
        >>> key_impl(key(0))
        'threefry2x32'
    """
    if is_key_array(keys):
        return _NAME_OF[keys.dtype]
    _check_data(keys, _implementation(None))
    return str(config.frame.default_prng_impl)


def to_key(key: Any, name: str) -> tuple[Value, bool]:
    """Return the typed key for ``key`` and whether it was raw; errors speak of ``name``."""
    raw = not is_key_array(key)
    kind = _implementation(None)
    typed = wrap_words(_check_data(key, kind), kind) if raw else key
    if typed.ndim:
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {tuple(key.shape)} "
            "!= (). Use jax.vmap for batching."
        )
    if raw and config.frame.legacy_prng_key != "allow":
        if config.frame.legacy_prng_key == "error":
            raise ValueError(_LEGACY)
        warnings.warn(_LEGACY, UserWarning, stacklevel=3)
    return typed, raw


def _back(typed: Value, raw: bool) -> Value:
    return threefry.random_unwrap(typed) if raw else typed


def split(key: Value, num: int | tuple[int, ...] = 2) -> Value:
    """Return ``num`` new keys made from ``key``; do not use ``key`` again.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        num: how many, or the shape of the array of keys.

    Returns:
        ``key<fry>[*num]``, or ``uint32[*num, 2]`` for a raw key.

    Example:
        >>> first, second = split(key(0))
        >>> key_data(first)
        Array([1797259609, 2579123966], dtype=uint32)
    """
    typed, raw = to_key(key, "split")
    return _back(split_keys(typed, _split_shape(num)), raw)


def _split_shape(num: Any) -> tuple[int, ...]:
    sizes = num if isinstance(num, (tuple, list)) else (num,)
    shape = tuple(operator.index(size) for size in sizes)
    if any(size < 0 for size in shape):
        raise ValueError(f"split: the number of keys must not be negative, got {num}.")
    return shape


def split_key(key: Value, num: int = 2) -> tuple[Value, ...]:
    """Return ``num`` new keys for each key as a tuple: ``key<fry>[*s] -> key<fry>[*s], ...``."""
    keys, axis = split_keys(key, (num,)), key.ndim
    return tuple(
        lax.squeeze(lax.slice_in_dim(keys, i, i + 1, axis=axis), (axis,)) for i in range(num)
    )


def fold_in(key: Value, data: Any) -> Value:
    """Return a new key made from ``key`` and the integer ``data``, for example a step number.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        data: an integer in the range of uint32, possibly traced.

    Raises:
        TypeError: ``data`` is no scalar.
        OverflowError: it is a Python number that uint32 cannot hold.

    Example:
        >>> key_data(fold_in(key(0), 3))
        Array([2467461003, 3840466878], dtype=uint32)
    """
    typed, raw = to_key(key, "fold_in")
    if isinstance(data, (int, float)):
        number = int(data)
        if not 0 <= number < 2**32:
            raise OverflowError(f"Python integer {number} out of bounds for uint32")
        data = np.uint32(number)
    data = jnp.asarray(data)
    if data.ndim:
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {data.shape} != (). "
            "Use jax.vmap for batching."
        )
    return _back(fold_key(typed, lax.convert_element_type(data, "uint32")), raw)


def clone(key: Value) -> Value:
    """Return ``key`` itself: a second use of it on purpose, said aloud.

    Example:
        >>> key_data(clone(key(1)))
        Array([0, 1], dtype=uint32)
    """
    return jnp.asarray(key) if not is_key_array(key) else key


def bits(key: Value, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Value:
    """Return uniformly random unsigned integers.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        shape: shape of the result.
        dtype: uint8, uint16, uint32 or uint64; None is the widest that is enabled.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no unsigned integer type.

    Example:
        >>> bits(key(0), (2,))
        Array([4070199207, 4202968722], dtype=uint32)
    """
    check_one_device(out_sharding, "bits")
    typed, _ = to_key(key, "bits")
    return random_bits(typed, plain_shape(shape), choose_dtype(dtype, "bits", "u"))


def random_bits(key: Value, shape: tuple[int, ...], dtype: Any) -> Value:
    """Return bits of the canonical unsigned ``dtype``: ``key<fry>[*s] -> dtype[*s, *shape]``."""
    return draw_bits(key, dtypes.bit_width(dtype), shape)
