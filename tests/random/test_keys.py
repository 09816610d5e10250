"""Keys of both kinds: made, split, folded and checked as in JAX."""

import warnings

import jax
import numpy as np
import pytest

import jaxlite as jl
from jaxlite import settings
from tests.random.oracle import check, check_error

pytestmark = pytest.mark.jax_oracle

r, jr = jl.random, jax.random


def words(keys):
    return np.asarray(r.key_data(keys)).tolist()


def jax_words(keys):
    return np.asarray(jr.key_data(keys)).tolist()


SEEDS = [0, -1, 7, 2**31, 2**32 + 5, 2**40 + 5, -(2**63), True, np.uint8(7), np.int64(2**40 + 7)]


@pytest.mark.parametrize("seed", SEEDS)
def test_key_of_a_seed(seed):
    assert words(r.key(seed)) == jax_words(jr.key(seed))
    assert np.asarray(r.PRNGKey(seed)).tolist() == np.asarray(jr.PRNGKey(seed)).tolist()


def test_key_of_an_array_and_of_a_traced_seed():
    assert words(r.key(jl.numpy.int32(-3))) == jax_words(jr.key(np.int32(-3)))
    assert words(jl.jit(r.key)(5)) == [0, 5]
    assert words(jl.vmap(r.key)(np.arange(3, dtype=np.int32))) == [[0, 0], [0, 1], [0, 2]]


def test_wide_seeds_with_64_bit_integers():
    for seed in (2**40 + 5, -1, np.int32(-1), np.uint64(2**64 - 2)):
        with jl.enable_x64(True), jax.enable_x64(True):
            assert words(r.key(seed)) == jax_words(jr.key(seed))


@pytest.mark.parametrize("num", [2, 0, 5, (3, 2), np.int64(3)])
def test_split(num):
    key, raw = r.key(3), r.PRNGKey(3)
    assert words(r.split(key, num)) == jax_words(jr.split(jr.key(3), num))
    assert np.asarray(r.split(raw, num)).tolist() == words(r.split(key, num))


@pytest.mark.parametrize("data", [0, 3, 2**32 - 1, 2.5, np.int64(7)])
def test_fold_in(data):
    assert words(r.fold_in(r.key(3), data)) == jax_words(jr.fold_in(jr.key(3), data))
    assert np.asarray(r.fold_in(r.PRNGKey(3), data)).tolist() == words(r.fold_in(r.key(3), data))


@pytest.mark.parametrize("dtype", [None, np.uint8, np.uint16, np.uint32])
def test_bits(dtype):
    check("bits", (101,), dtype)
    check("bits", (3, 2), dtype, raw=True)


def test_kinds_of_keys():
    key, raw = r.key(0), r.PRNGKey(0)
    assert str(key.dtype) == "key<fry>"
    assert r.key_dtype() is key.dtype
    assert r.key_impl(key) == r.key_impl(raw) == "threefry2x32"
    assert words(r.wrap_key_data(raw)) == [0, 0]
    assert r.wrap_key_data(np.zeros((3, 2), np.uint32)).shape == (3,)
    assert r.clone(raw).dtype == np.uint32
    assert r.clone(key).dtype == key.dtype
    assert words(r.key(1, impl="threefry2x32")) == words(r.key(1, dtype=key.dtype)) == [0, 1]


def test_settings_change_keys():
    with settings.override(random_seed_offset=7):
        assert words(r.key(1)) == [0, 8]


def test_raw_keys_can_be_forbidden():
    with (
        settings.override(legacy_prng_key="warn"),
        pytest.warns(UserWarning, match="Legacy uint32"),
    ):
        r.uniform(r.PRNGKey(0))
    with (
        settings.override(legacy_prng_key="error"),
        pytest.raises(ValueError, match="Legacy uint32 key array"),
    ):
        r.uniform(r.PRNGKey(0))
    with settings.override(enable_custom_prng=True):
        assert str(r.PRNGKey(0).dtype) == "key<fry>"


CALLS = {
    "float seed": lambda l: l.random.key(1.5),
    "word seed": lambda l: l.random.key("a"),
    "array seed": lambda l: l.random.key(np.arange(2)),
    "key seed": lambda l: l.random.key(l.random.key(0)),
    "wide seed": lambda l: l.random.key(2**64 + 5),
    "bad data shape": lambda l: l.random.wrap_key_data(np.zeros(3, np.uint32)),
    "bad data dtype": lambda l: l.random.wrap_key_data(np.zeros((3, 2), np.int32)),
    "key data of a key": lambda l: l.random.wrap_key_data(l.random.key(0)),
    "float num": lambda l: l.random.split(l.random.key(0), 2.5),
    "several raw keys": lambda l: l.random.split(np.zeros((3, 2), np.uint32)),
    "several keys": lambda l: l.random.split(l.random.split(l.random.key(0))),
    "number as key": lambda l: l.random.split(3),
    "float key": lambda l: l.random.split(np.zeros(2, np.float32)),
    "list key": lambda l: l.random.split([0, 1]),
    "negative data": lambda l: l.random.fold_in(l.random.key(0), -1),
    "wide data": lambda l: l.random.fold_in(l.random.key(0), 2**32),
    "key_data of a number": lambda l: l.random.key_data(3),
    "uniform of several keys": lambda l: l.random.uniform(l.random.split(l.random.key(0))),
    "uniform of a number": lambda l: l.random.uniform(3),
}


@pytest.mark.parametrize("name", CALLS)
def test_mistakes_raise_as_in_jax(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:  # noqa: PT011 - the oracle says which
            CALLS[name](jax)
    with pytest.raises(Exception) as ours:  # noqa: PT011
        CALLS[name](jl)
    assert ours.type.__name__ == theirs.type.__name__
    assert str(ours.value)[:28] == str(theirs.value)[:28]


def test_bits_of_another_type_and_unknown_generators():
    check_error("bits", (2,), np.int32)
    check_error("bits", (2,), np.float32)
    for call in (r.key, r.PRNGKey):
        with pytest.raises(ValueError, match='unrecognized PRNG implementation "foo"'):
            call(0, impl="foo")
    with pytest.raises(TypeError, match="fold_in accepts a scalar"):
        r.fold_in(r.key(0), np.arange(3))
    with pytest.raises(ValueError, match="negative"):
        r.split(r.key(0), -1)
