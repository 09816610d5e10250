"""Random bits and keys are JAX's, bit for bit, alone, under vmap and as kernel IR."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.extend import random as jax_prng
from jax.extend.core import primitives as theirs

from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl, asarray_eager
from jaxlite.language.avals import ShapedArray
from jaxlite.primitives import random_bits as ours
from tests.primitives.against_jax import (
    Case,
    Keys,
    check,
    check_pull,
    check_values,
    data_of,
    to_ours,
)

pytestmark = pytest.mark.jax_oracle
RNG = np.random.default_rng(5)
SHAPES = [(), (1,), (7,), (2, 3), (5, 1, 4), (0,), (3, 0)]


def keys(*shape: int) -> Keys:
    return Keys(RNG.integers(0, 2**32, (*shape, 2), dtype=np.uint32))


def bits_case(key: Keys, width: int, shape: tuple[int, ...]) -> Case:
    dtype = f"uint{width}"
    f = lambda k: jax.random.bits(k, shape, dtype)  # noqa: E731
    for _ in range(key.data.ndim - 1):
        f = jax.vmap(f)
    return Case(lambda k: ours.random_bits(k, width, shape), f, [key])


@pytest.mark.parametrize("width", [8, 16, 32])
@pytest.mark.parametrize("shape", SHAPES)
def test_bits_of_one_key(width, shape):
    check_values(bits_case(keys(), width, shape))
    check_pull(bits_case(keys(), width, shape))


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_bits_of_many_keys(shape):
    case = bits_case(keys(2, 3), 32, shape)
    check_values(case)
    check_pull(case)


def test_bits_of_64_bits():
    key = keys()
    with jax.enable_x64(True):
        expected = np.asarray(jax.random.bits(jax.random.wrap_key_data(key.data), (3, 5), "uint64"))
    np.testing.assert_array_equal(
        ours.random_bits_p.impl(np, to_ours(key)._data, bit_width=64, shape=(3, 5)), expected
    )


def test_many_bits_cross_block_borders():
    check_values(bits_case(keys(), 32, (100_003,)))
    check_values(bits_case(keys(5), 32, (20_001,)))


def test_vmap_over_keys():
    check(bits_case(keys(), 32, (3, 2)))
    check(bits_case(keys(2), 32, (3,)))


@pytest.mark.parametrize("shape", SHAPES)
def test_split(shape):
    check(
        Case(
            lambda k: ours.random_split(k, shape),
            lambda k: theirs.random_split_p.bind(k, shape=shape),
            [keys()],
        )
    )


def test_split_of_many_keys():
    check(
        Case(
            lambda k: ours.random_split(k, (2,)),
            lambda k: theirs.random_split_p.bind(k, shape=(2,)),
            [keys(3)],
        )
    )


@pytest.mark.parametrize("number", [0, 1, 2**31, 2**32 - 1])
def test_fold_in(number):
    check(
        Case(
            ours.random_fold_in,
            jax.random.fold_in,
            [keys(), np.uint32(number)],
        )
    )


def test_fold_in_of_many():
    numbers = RNG.integers(0, 2**32, 4, dtype=np.uint32)
    check(Case(ours.random_fold_in, jax.vmap(jax.random.fold_in), [keys(4), numbers]))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
def test_seed(dtype):
    info = np.iinfo(dtype)
    for seed in (0, 1, 42, info.max, info.min):
        case = Case(ours.random_seed, jax.random.key, [np.dtype(dtype).type(seed)])
        check_values(case)
        check_pull(case)
    check(Case(ours.random_seed, jax.random.key, [np.dtype(dtype).type(7)]))


def test_seed_of_64_bits_keeps_the_high_word():
    for seed in (2**40 + 5, -3):
        out = ours.random_seed_p.impl(np, np.asarray(seed, np.int64), impl="fry")
        with jax.enable_x64(True):
            expected = np.asarray(jax.random.key_data(jax.random.key(seed)), np.uint64)
        assert int(out) == (int(expected[0]) << 32) | int(expected[1])


def test_wrap_and_unwrap():
    data = keys(3, 2).data
    check(Case(ours.random_wrap, jax.random.wrap_key_data, [data]))
    check(Case(ours.random_unwrap, jax.random.key_data, [keys(3, 2)]))
    check(Case(ours.random_clone, jax.random.clone, [keys(3)]))
    again = ours.random_unwrap(ours.random_wrap(asarray_eager(data)))
    np.testing.assert_array_equal(data_of(again), data)


def test_first_word_is_the_high_half():
    key = ours.random_wrap(asarray_eager(np.array([1, 2], np.uint32)))
    assert int(data_of(key)) == (1 << 32) | 2
    assert key.aval.dtype is dtypes.KEY_FRY


def test_threefry_on_raw_words():
    words = [RNG.integers(0, 2**32, 6, dtype=np.uint32) for _ in range(4)]
    case = Case(ours.threefry2x32, jax_prng.threefry2x32_p.bind, words)
    check_values(case)
    check_pull(case)


def test_vmap_of_threefry_over_counters_or_keys():
    k0, k1, x0, x1 = RNG.integers(0, 2**32, (4, 3), dtype=np.uint32)
    expected = ours.encrypt(np, (k0[0], k1[0]), (x0, x1))
    scalars = [to_ours(w) for w in (k0[0], k1[0])]
    for args, dims in (
        ((*scalars, to_ours(x0), to_ours(x1)), (None, None, 0, 0)),
        ((*scalars, to_ours(np.stack([x0] * 2)), to_ours(np.stack([x1] * 2))), (None, None, 1, 1)),
    ):
        outs, out_dims = ours.threefry2x32_p.batch(args, dims)
        assert out_dims == (0, 0)
        for mine, other in zip(outs, expected, strict=True):
            rows = data_of(mine).reshape(3, -1)
            np.testing.assert_array_equal(rows, np.broadcast_to(other[:, None], rows.shape))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((0, 0, 0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF,) * 4, (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_published_test_vectors(words, expected):
    out = ours.encrypt(np, words_of(words[:2]), words_of(words[2:]))
    assert tuple(int(w) for w in out) == expected


def words_of(pair):
    return tuple(np.asarray(w, np.uint32) for w in pair)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ours.random_bits(x, 32, ()), "random_bits must be called with a key array"),
        (lambda x: ours.random_split(x, (2,)), "random_split must be called with a key array"),
        (lambda x: ours.random_unwrap(x), "random_unwrap must be called with a key array"),
        (lambda x: ours.random_wrap(x), r"expected key_data.dtype = uint32; got dtype=int32"),
        (lambda x: ours.threefry2x32(x, x, x, x), "must have uint32 type"),
    ],
)
def test_wrong_operands(call, message):
    with pytest.raises(TypeError, match=message):
        call(asarray_eager(np.zeros(2, np.int32)))


def test_odd_bit_width():
    key = ArrayImpl(np.uint64(0), ShapedArray((), dtypes.KEY_FRY))
    with pytest.raises(TypeError, match=r"requires 8-, 16-, 32- or 64-bit field width\."):
        ours.random_bits(key, 7, ())
