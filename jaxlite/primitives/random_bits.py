"""Random keys and bits. In: keys and counters. Out: JAX's random bits, bit for bit.

The generator is Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, 2011, "Parallel random
numbers: as easy as 1, 2, 3"): a block cipher that encrypts a counter under the key. Element ``i``
    of the result encrypts ``i``, so each element is computed alone, in any order, inside whatever
    kernel uses it.

A key is two uint32 words, kept as one uint64 element, the first word in the high half. Keys of
other generators have four words (see ``KeyDType``); here they are wrapped and unwrapped only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import (
    ArrayModule,
    Dims,
    Primitive,
    not_differentiable,
)
from jaxlite.language.trace import get_aval
from jaxlite.primitives import comparison
from jaxlite.primitives.families import (
    NOT_LINEAR,
    Pull,
    batch_size,
    bdim_at_front,
    move_batch_dim,
    provide,
    quiet,
)
from jaxlite.primitives.reduction import reduce_and, reduce_or
from jaxlite.primitives.shape import broadcast_in_dim, flat_index

Index = tuple[ir.Expr, ...]
Words = tuple[Any, Any]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_U32 = np.dtype(np.uint32)
_U64 = np.dtype(np.uint64)
_UINTS = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}
_NO_TANGENT = "keys and random bits are not real numbers"


# --- the cipher: on arrays and as kernel IR ---


@quiet
def encrypt(xp: ArrayModule, key: Words, counter: Words) -> Words:
    """Return the two words that encrypt ``counter`` under ``key``; all uint32 arrays, broadcast."""
    k0, k1 = key
    schedule = (k0, k1, k0 ^ k1 ^ _U32.type(_PARITY))
    x0, x1 = (xp.asarray(a) + b for a, b in zip(counter, (k0, k1), strict=True))
    shape = np.broadcast_shapes(x0.shape, x1.shape)
    x0, x1 = (xp.array(xp.broadcast_to(x, shape)) for x in (x0, x1))
    turned = xp.empty_like(x1)
    for group in range(5):
        for bits in _ROTATIONS[group % 2]:
            xp.add(x0, x1, out=x0)
            xp.right_shift(x1, _U32.type(32 - bits), out=turned)
            xp.left_shift(x1, _U32.type(bits), out=x1)
            xp.bitwise_or(x1, turned, out=x1)
            xp.bitwise_xor(x1, x0, out=x1)
        x0 += schedule[(group + 1) % 3]
        x1 += schedule[(group + 2) % 3] + _U32.type(group + 1)
    return x0, x1


def encrypt_expr(key: Words, counter: Words) -> tuple[ir.Expr, ir.Expr]:
    """Return ``encrypt`` as kernel IR on uint32 expressions."""

    def binary(op: str, x: ir.Expr, y: ir.Expr | int) -> ir.Expr:
        return ir.binary(op, x, ir.const(y, _U32) if isinstance(y, int) else y)

    k0, k1 = key
    schedule = (k0, k1, binary("xor", binary("xor", k0, k1), _PARITY))
    x0, x1 = binary("add", counter[0], k0), binary("add", counter[1], k1)
    for group in range(5):
        for bits in _ROTATIONS[group % 2]:
            x0 = binary("add", x0, x1)
            turned = binary("or", binary("shl", x1, bits), binary("shr_logical", x1, 32 - bits))
            x1 = binary("xor", turned, x0)
        x0 = binary("add", x0, schedule[(group + 1) % 3])
        x1 = binary("add", x1, binary("add", schedule[(group + 2) % 3], group + 1))
    return x0, x1


def words_of(keys: Any) -> Words:
    """Return the two uint32 words of keys stored as uint64."""
    return (keys >> _U64.type(32)).astype(_U32), keys.astype(_U32)


def keys_of(words: Words) -> Any:
    """Return keys, stored as uint64, from their two uint32 words."""
    return (words[0].astype(_U64) << _U64.type(32)) | words[1].astype(_U64)


def _words_expr(key: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    high = ir.binary("shr_logical", key, ir.const(32, _U64))
    return ir.cast(high, _U32), ir.cast(key, _U32)


def _keys_expr(words: tuple[ir.Expr, ir.Expr]) -> ir.Expr:
    high = ir.binary("shl", ir.cast(words[0], _U64), ir.const(32, _U64))
    return ir.binary("or", high, ir.cast(words[1], _U64))


def _counter_expr(index: Index, shape: tuple[int, ...]) -> tuple[ir.Expr, ir.Expr]:
    """Return the words of the row-major position of ``index``."""
    at = flat_index(index, shape)
    high = ir.const(0, _U32)
    if math.prod(shape) > 2**32:
        high = ir.cast(ir.binary("shr_logical", at, ir.i64(32)), _U32)
    return high, ir.cast(at, _U32)


#: Numbers encrypted at a time: three buffers of this many words stay in the second-level cache.
_BLOCK = 1 << 15


def _encrypt_positions(xp: ArrayModule, keys: Any, shape: tuple[int, ...]) -> Words:
    """Return the words for every key (leading axes) and position in ``shape`` (trailing axes)."""
    size = math.prod(shape)
    key = words_of(keys[..., None])
    outs = tuple(xp.empty((*keys.shape, size), _U32) for _ in range(2))
    step = max(1, _BLOCK // max(1, keys.size))
    for start in range(0, size, step):
        at = xp.arange(start, min(start + step, size), dtype=_U64)
        for out, words in zip(outs, encrypt(xp, key, words_of(at)), strict=True):
            out[..., start : start + step] = words
    return tuple(out.reshape((*keys.shape, *shape)) for out in outs)


# --- primitives ---


def _check_keys(name: str, aval: ShapedArray) -> None:
    if not isinstance(aval.dtype, dtypes.KeyDType):
        raise TypeError(
            f"{name} must be called with a key array, got {aval.str_short()}\n"
            "  Fix: jax.random.key(0) makes a key; jax.random.wrap_key_data wraps raw uint32 data."
        )


class KeyPrimitive(Primitive):
    """What all share: no derivative, and a batch dim in front is one more axis of keys."""

    jvp = not_differentiable(_NO_TANGENT)
    transpose = NOT_LINEAR

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        dim = dims[0]
        assert dim is not None
        return self.bind(move_batch_dim(args[0], dim, 0), **params), 0


class RandomBits(KeyPrimitive):
    """Unsigned integers of ``bit_width`` bits, ``shape`` of them for every key."""

    name = "random_bits"

    def abstract_eval(
        self, keys: ShapedArray, *, bit_width: int, shape: tuple[int, ...]
    ) -> ShapedArray:
        _check_keys("random_bits", keys)
        if bit_width not in _UINTS:
            raise TypeError("requires 8-, 16-, 32- or 64-bit field width.")
        return ShapedArray((*keys.shape, *shape), _UINTS[bit_width])

    def impl(self, xp: ArrayModule, keys: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
        words = _encrypt_positions(xp, keys, shape)
        if bit_width == 64:
            return keys_of(words)
        return (words[0] ^ words[1]).astype(_UINTS[bit_width], copy=False)

    def pull(
        self, operands: tuple[Pull, ...], index: Index, *, bit_width: int, shape: tuple[int, ...]
    ) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        rank = operands[0].aval.ndim
        key = _words_expr(operands[0](index[:rank]))
        words = encrypt_expr(key, _counter_expr(index[rank:], shape))
        if bit_width == 64:
            return _keys_expr(words)
        return ir.cast(ir.binary("xor", *words), _UINTS[bit_width])


class RandomSplit(KeyPrimitive):
    """New keys, ``shape`` of them for every key."""

    name = "random_split"

    def abstract_eval(self, keys: ShapedArray, *, shape: tuple[int, ...]) -> ShapedArray:
        _check_keys("random_split", keys)
        return ShapedArray((*keys.shape, *shape), keys.dtype)

    def impl(self, xp: ArrayModule, keys: Any, *, shape: tuple[int, ...]) -> Any:
        return keys_of(_encrypt_positions(xp, keys, shape))

    def pull(self, operands: tuple[Pull, ...], index: Index, *, shape: tuple[int, ...]) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        rank = operands[0].aval.ndim
        key = _words_expr(operands[0](index[:rank]))
        return _keys_expr(encrypt_expr(key, _counter_expr(index[rank:], shape)))


class RandomFoldIn(KeyPrimitive):
    """A new key for every key and uint32 number (equal shapes, or one of them a scalar)."""

    name = "random_fold_in"

    def abstract_eval(self, keys: ShapedArray, numbers: ShapedArray) -> ShapedArray:
        _check_keys("random_fold_in", keys)
        if numbers.dtype != _U32:
            raise TypeError(f"random_fold_in folds uint32 numbers, got {numbers.str_short()}")
        if keys.shape and numbers.shape and keys.shape != numbers.shape:
            raise TypeError(
                "random_fold_in got incompatible shapes for broadcasting: "
                f"{keys.shape}, {numbers.shape}."
            )
        return ShapedArray(keys.shape or numbers.shape, keys.dtype)

    def impl(self, xp: ArrayModule, keys: Any, numbers: Any) -> Any:
        return keys_of(encrypt(xp, words_of(keys), (xp.zeros_like(numbers), numbers)))

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        rank = max(get_aval(x).ndim - (d is not None) for x, d in zip(args, dims, strict=True))
        if rank == 0:
            fronts = [
                x if d is None else move_batch_dim(x, d, 0) for x, d in zip(args, dims, strict=True)
            ]
            return self.bind(*fronts), 0
        shape = max(
            (get_aval(bdim_at_front(x, d, size)).shape for x, d in zip(args, dims, strict=True)),
            key=len,
        )
        fronts = [
            _at_least(bdim_at_front(x, d, size), shape) for x, d in zip(args, dims, strict=True)
        ]
        return self.bind(*fronts), 0

    def pull(self, operands: tuple[Pull, ...], index: Index) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        keys, numbers = (x(index if x.aval.shape else ()) for x in operands)
        return _keys_expr(encrypt_expr(_words_expr(keys), (ir.const(0, _U32), numbers)))


def _at_least(x: Value, shape: tuple[int, ...]) -> Value:
    """Return ``x`` of shape ``shape`` or ``shape[:1]`` as one of ``shape``."""
    return x if get_aval(x).shape == shape else broadcast_in_dim(x, shape, (0,))


class RandomSeed(KeyPrimitive):
    """A key from an integer: its high and low 32 bits are the words."""

    name = "random_seed"

    def abstract_eval(self, seeds: ShapedArray, *, impl: str) -> ShapedArray:
        if dtypes.kind_of(seeds.dtype) not in "iu":
            raise TypeError(f"PRNG key seed must be an integer; got {seeds.str_short()}")
        return ShapedArray(seeds.shape, dtypes.KEY_FRY)

    def impl(self, xp: ArrayModule, seeds: Any, *, impl: str) -> Any:
        if seeds.dtype.itemsize == 8:
            return seeds.astype(_U64)
        return seeds.astype(_U32).astype(_U64)

    def pull(self, operands: tuple[Pull, ...], index: Index, *, impl: str) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        seed = operands[0](index)
        return ir.cast(seed if seed.dtype.itemsize == 8 else ir.cast(seed, _U32), _U64)


class RandomWrap(KeyPrimitive):
    """Keys from their words: ``uint32[*s, 2] -> key<fry>[*s]``, or four words for others."""

    name = "random_wrap"

    def abstract_eval(self, data: ShapedArray, *, impl: str) -> ShapedArray:
        start = "JAX encountered invalid PRNG key data: expected"
        if data.ndim < 1:
            raise TypeError(f"{start} key_data.ndim >= 1; got ndim=0")
        dtype = dtypes.KeyDType(f"key<{impl}>")
        if data.shape[-1] != dtype.n_words:
            raise TypeError(
                f"{start} key_data.shape to end with ({dtype.n_words},); got shape={data.shape}"
            )
        if data.dtype != _U32:
            raise TypeError(
                f"{start} key_data.dtype = uint32; got dtype={dtypes.name_of(data.dtype)}"
            )
        return ShapedArray(data.shape[:-1], dtype)

    def impl(self, xp: ArrayModule, data: Any, *, impl: str) -> Any:
        if data.shape[-1] == 4:
            return xp.ascontiguousarray(data).view(np.complex128)[..., 0]
        return keys_of((data[..., 0], data[..., 1]))

    def pull(self, operands: tuple[Pull, ...], index: Index, *, impl: str) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        words = [operands[0]((*index, ir.i64(i))) for i in range(operands[0].aval.shape[-1])]
        if len(words) == 2:
            return _keys_expr((words[0], words[1]))
        real, imag = (
            ir.bitcast(_keys_expr((high, low)), np.dtype(np.float64))
            for low, high in (words[:2], words[2:])
        )
        return ir.binary("complex", real, imag)


class RandomUnwrap(KeyPrimitive):
    """The words of keys: ``key<fry>[*s] -> uint32[*s, 2]``, or four words of others."""

    name = "random_unwrap"

    def abstract_eval(self, keys: ShapedArray) -> ShapedArray:
        _check_keys("random_unwrap", keys)
        return ShapedArray((*keys.shape, keys.dtype.n_words), _U32)

    def impl(self, xp: ArrayModule, keys: Any) -> Any:
        if keys.dtype.itemsize == 16:
            return xp.array(keys, order="C")[..., None].view(_U32)
        return xp.stack(words_of(keys), axis=-1)

    def pull(self, operands: tuple[Pull, ...], index: Index) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        key, wanted = operands[0](index[:-1]), index[-1]
        if key.dtype.kind == "c":
            parts = [ir.bitcast(ir.unary(op, key), _U64) for op in ("real", "imag")]
            words = [w for part in parts for w in reversed(_words_expr(part))]
            word = words[3]
            for i in (2, 1, 0):
                word = ir.select(ir.compare("eq", wanted, ir.i64(i)), words[i], word)
            return word
        high, low = _words_expr(key)
        if index[-1].kind == "const":
            return low if ir.const_value(index[-1]) else high
        return ir.select(ir.compare("eq", index[-1], ir.i64(0)), high, low)


class RandomClone(KeyPrimitive):
    """The same keys, to be used once more on purpose."""

    name = "random_clone"

    def abstract_eval(self, keys: ShapedArray) -> ShapedArray:
        _check_keys("random_clone", keys)
        return keys

    def impl(self, xp: ArrayModule, keys: Any) -> Any:
        return keys

    def pull(self, operands: tuple[Pull, ...], index: Index) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        return operands[0](index)


class Threefry2x32(Primitive):
    """The cipher on raw words: key words, counter words (uint32, equal shapes) -> two words."""

    name = "threefry2x32"
    jvp = not_differentiable(_NO_TANGENT)
    transpose = NOT_LINEAR

    def abstract_eval(self, *avals: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
        if any(a.dtype != _U32 for a in avals):
            names = ", ".join(dtypes.name_of(a.dtype) for a in avals)
            raise TypeError(f"Arguments to threefry2x32 must have uint32 type, got {names}")
        shapes = {a.shape for a in avals if a.shape}
        if len(shapes) > 1:
            listed = ", ".join(str(a.shape) for a in avals)
            raise TypeError(f"threefry2x32 got incompatible shapes for broadcasting: {listed}.")
        out = ShapedArray(next(iter(shapes), ()), _U32)
        return out, out

    def impl(self, xp: ArrayModule, k0: Any, k1: Any, x0: Any, x1: Any) -> Any:
        return encrypt(xp, (k0, k1), (x0, x1))

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        fronts = [bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        shape = max((get_aval(x).shape for x in fronts), key=len)
        return self.bind_all(*(_at_least(x, shape) for x in fronts)), (0, 0)

    def pull(self, operands: tuple[Pull, ...], index: Index, *, result: int = 0) -> ir.Expr:
        """Return element ``index`` of result number ``result``."""
        k0, k1, x0, x1 = (x(index if x.aval.shape else ()) for x in operands)
        return encrypt_expr((k0, k1), (x0, x1))[result]


random_bits_p = RandomBits()
random_split_p = RandomSplit()
random_fold_in_p = RandomFoldIn()
random_seed_p = RandomSeed()
random_wrap_p = RandomWrap()
random_unwrap_p = RandomUnwrap()
random_clone_p = RandomClone()
threefry2x32_p = Threefry2x32()


def random_bits(keys: Value, bit_width: int, shape: tuple[int, ...]) -> Value:
    """Return ``uint<bit_width>[*keys.shape, *shape]``; ``bit_width`` is 8, 16, 32 or 64.

    Example:
        >>> random_bits_p.abstract_eval(ShapedArray((), dtypes.KEY_FRY), bit_width=32, shape=(3,))
        ShapedArray(uint32[3])
    """
    return random_bits_p.bind(keys, bit_width=bit_width, shape=shape)


def random_split(keys: Value, shape: tuple[int, ...]) -> Value:
    """Return new keys ``key<fry>[*keys.shape, *shape]``."""
    return random_split_p.bind(keys, shape=shape)


def random_fold_in(keys: Value, numbers: Value) -> Value:
    """Return a new key for every key and uint32 number."""
    return random_fold_in_p.bind(keys, numbers)


def random_seed(seeds: Value) -> Value:
    """Return the keys of integer ``seeds``."""
    return random_seed_p.bind(seeds, impl="fry")


def random_wrap(data: Value, impl: str = "fry") -> Value:
    """Return the keys whose words are the last axis: ``uint32[*s, 2] -> key<fry>[*s]``."""
    return random_wrap_p.bind(data, impl=impl)


def random_unwrap(keys: Value) -> Value:
    """Return the words of ``keys``: ``key<fry>[*s] -> uint32[*s, 2]``."""
    return random_unwrap_p.bind(keys)


def compare_keys(primitive: Primitive, x: Value, y: Value) -> Value:
    """Return where keys of equal dtype and shape are equal (``eq_p``) or differ (``ne_p``)."""
    if get_aval(x).dtype.n_words == 2:
        return primitive.bind(x, y)
    # The storage of four words is complex: its own comparison would take some words for a NaN.
    words = primitive.bind(random_unwrap(x), random_unwrap(y))
    reduce = reduce_and if primitive is comparison.eq_p else reduce_or
    return reduce(words, (get_aval(x).ndim,))


def random_clone(keys: Value) -> Value:
    """Return ``keys``, to be used once more on purpose."""
    return random_clone_p.bind(keys)


def threefry2x32(k0: Value, k1: Value, x0: Value, x1: Value) -> tuple[Value, Value]:
    """Return the two words that encrypt the counter ``(x0, x1)`` under the key ``(k0, k1)``."""
    first, second = threefry2x32_p.bind_all(k0, k1, x0, x1)
    return first, second


provide(random_bits=random_bits, random_split=random_split, random_fold_in=random_fold_in)
provide(random_wrap=random_wrap, random_unwrap=random_unwrap)

__all__ = [
    "compare_keys",
    "random_bits",
    "random_bits_p",
    "random_clone",
    "random_clone_p",
    "random_fold_in",
    "random_fold_in_p",
    "random_seed",
    "random_seed_p",
    "random_split",
    "random_split_p",
    "random_unwrap",
    "random_unwrap_p",
    "random_wrap",
    "random_wrap_p",
    "threefry2x32",
    "threefry2x32_p",
]
