"""Bits from Philox-4x32 with 10 rounds. In: a state, a shape. Out: the next state and the bits.

A block cipher that encrypts a counter under a key (Salmon, Moraes, Dror and Shaw 2011, "Parallel
random numbers: as easy as 1, 2, 3"), here as JAX on the CPU uses it: the state is four uint32
words, a key of two and a counter of two, low word first. Block ``i`` encrypts
``(counter + i, key)`` to four words; each element of up to 32 bits takes one word, each of 64 bits
two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, not_differentiable
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import NOT_LINEAR, Pull, move_batch_dim, quiet
from jaxlite.primitives.shape import flat_index

__all__ = ["philox_bits", "philox_element", "rng_bit_generator", "rng_bit_generator_p"]

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_UINTS = {bits: np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}


def _low(x: Any) -> Any:
    return x.astype(_U32)


def _high(x: Any) -> Any:
    return (x >> _U64.type(32)).astype(_U32)


@quiet
def _encrypt(xp: ArrayModule, key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """Return the four words (uint32 arrays) that encrypt ``counter`` under ``key``."""
    c, (k0, k1) = [xp.asarray(w, dtype=_U32) for w in counter], key
    low, half = _U64.type(0xFFFFFFFF), _U64.type(32)
    for _ in range(_ROUNDS):
        p, q = (x.astype(_U64) * _U64.type(m) for x, m in zip(c[::2], _MULTIPLIERS, strict=True))
        c = [
            (q >> half).astype(_U32) ^ c[1] ^ k0,
            (q & low).astype(_U32),
            (p >> half).astype(_U32) ^ c[3] ^ k1,
            (p & low).astype(_U32),
        ]
        k0, k1 = (k + _U32.type(s) for k, s in zip((k0, k1), _KEY_STEPS, strict=True))
    return c


@quiet
def philox_bits(xp: ArrayModule, state: Any, bit_width: int, size: int) -> Any:
    """Return ``size`` numbers of ``bit_width`` bits from the state ``uint32[4]``."""
    per_block = 2 if bit_width == 64 else 4
    blocks = -(-size // per_block)
    key = [state[i : i + 1] for i in (0, 1)]
    whole, start = (
        low.astype(_U64) | (high.astype(_U64) << _U64.type(32))
        for low, high in ((state[0:1], state[1:2]), (state[2:3], state[3:4]))
    )
    at = start + xp.arange(blocks, dtype=_U64)
    upper = whole + (at < start).astype(_U64)
    counter = [f(x) for x in (at, upper) for f in (_low, _high)]
    words = xp.stack([w + xp.zeros_like(key[0]) for w in _encrypt(xp, key, counter)], axis=-1)
    if bit_width == 64:
        words = words.astype(_U64)
        words = words[:, ::2] | (words[:, 1::2] << _U64.type(32))
    return words.reshape(-1)[:size].astype(_UINTS[bit_width])


def _join(low: ir.Expr, high: ir.Expr) -> ir.Expr:
    return ir.binary(
        "or", ir.cast(low, _U64), ir.binary("shl", ir.cast(high, _U64), ir.const(32, _U64))
    )


def philox_element(state: Sequence[ir.Expr], bit_width: int, at: ir.Expr) -> ir.Expr:
    """Return the kernel IR of number ``at`` (int64) from the four words of the state."""
    k0, k1, low, high = state

    def binary(op: str, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary(op, x, y)

    def upper(x: ir.Expr) -> ir.Expr:
        return ir.cast(binary("shr_logical", x, ir.const(32, _U64)), _U32)

    shift = 1 if bit_width == 64 else 2
    block = ir.cast(binary("shr_logical", at, ir.i64(shift)), _U64)
    start, whole = (_join(*pair) for pair in ((low, high), (k0, k1)))
    counter = binary("add", start, block)
    # What runs over the counter of 64 bits goes on in the copy of the key behind it.
    carry = ir.cast(ir.compare("lt", counter, start), _U64)
    above = binary("add", whole, carry)
    c = [ir.cast(counter, _U32), upper(counter), ir.cast(above, _U32), upper(above)]
    for _ in range(_ROUNDS):
        p, q = (
            binary("mul", ir.cast(x, _U64), ir.const(m, _U64))
            for x, m in zip(c[::2], _MULTIPLIERS, strict=True)
        )
        c = [
            binary("xor", binary("xor", upper(q), c[1]), k0),
            ir.cast(q, _U32),
            binary("xor", binary("xor", upper(p), c[3]), k1),
            ir.cast(p, _U32),
        ]
        k0, k1 = (
            binary("add", k, ir.const(s, _U32)) for k, s in zip((k0, k1), _KEY_STEPS, strict=True)
        )
    within = binary("and", at, ir.i64((1 << shift) - 1))
    if bit_width == 64:
        pairs = _join(c[0], c[1]), _join(c[2], c[3])
        return ir.select(ir.compare("eq", within, ir.i64(0)), *pairs)
    word = c[3]
    for i in (2, 1, 0):
        word = ir.select(ir.compare("eq", within, ir.i64(i)), c[i], word)
    return ir.cast(word, _UINTS[bit_width])


class RngBitGenerator(Primitive):
    """The next state and ``shape`` numbers of ``bit_width`` bits: ``uint32[*b, 4]``.

    Of a batch of states only the first one is used and changed, as in JAX.
    """

    name = "rng_bit_generator"
    jvp = not_differentiable("random bits are not real numbers")
    transpose = NOT_LINEAR

    def abstract_eval(
        self, state: ShapedArray, *, bit_width: int, shape: tuple[int, ...]
    ) -> tuple[ShapedArray, ShapedArray]:
        if state.dtype != _U32 or not state.ndim or state.shape[-1] != 4:
            raise TypeError(
                "rng_bit_generator: the state must be uint32[4] or uint64[2], "
                f"got {state.str_short()}"
            )
        return (
            ShapedArray(state.shape, _U32),
            ShapedArray((*state.shape[:-1], *shape), _UINTS[bit_width]),
        )

    @quiet
    def impl(
        self, xp: ArrayModule, state: Any, *, bit_width: int, shape: tuple[int, ...]
    ) -> tuple[Any, Any]:
        out_shape = (*state.shape[:-1], *shape)
        size = math.prod(out_shape)
        if not state.size:
            return state, xp.zeros(out_shape, _UINTS[bit_width])
        states = xp.array(state).reshape(-1, 4)
        bits = philox_bits(xp, states[0], bit_width, size).reshape(out_shape)
        counter = states[0, 2].astype(_U64) | (states[0, 3].astype(_U64) << _U64.type(32))
        counter = counter + _U64.type(self._blocks(bit_width, size))
        states[0, 2], states[0, 3] = _low(counter), _high(counter)
        return states.reshape(state.shape), bits

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (dim,) = dims
        assert dim is not None
        return self.bind_all(move_batch_dim(args[0], dim, 0), **params), (0, 0)

    @staticmethod
    def _blocks(bit_width: int, size: int) -> int:
        return -(-size // (2 if bit_width == 64 else 4))

    def pull(
        self,
        operands: tuple[Pull, ...],
        index: tuple[ir.Expr, ...],
        *,
        bit_width: int,
        shape: tuple[int, ...],
        result: int = 0,
    ) -> ir.Expr:
        """Return element ``index`` of result number ``result``."""
        (state,) = operands
        batch = state.aval.shape[:-1]
        out_shape = (*batch, *shape)
        words = [state((*[ir.i64(0)] * len(batch), ir.i64(i))) for i in range(4)]
        if result == 1:
            return philox_element(words, bit_width, flat_index(index, out_shape))
        counter = _join(words[2], words[3])
        blocks = self._blocks(bit_width, math.prod(out_shape))
        counter = ir.binary("add", counter, ir.const(blocks, _U64))
        high = ir.cast(ir.binary("shr_logical", counter, ir.const(32, _U64)), _U32)
        word = state(index)
        # Words 2 and 3 of the first state, flat positions 2 and 3, are the counter.
        at = flat_index(index, state.aval.shape)
        word = ir.select(ir.compare("eq", at, ir.i64(2)), ir.cast(counter, _U32), word)
        return ir.select(ir.compare("eq", at, ir.i64(3)), high, word)


rng_bit_generator_p = RngBitGenerator()


def rng_bit_generator(state: Value, bit_width: int, shape: tuple[int, ...]) -> tuple[Value, Value]:
    """Return the next state and the bits: ``uint32[4] -> uint32[4], uint<bit_width>[*shape]``."""
    assert dtypes.kind_of(get_aval(state).dtype) == "u"
    new_state, bits = rng_bit_generator_p.bind_all(state, bit_width=bit_width, shape=shape)
    return new_state, bits
