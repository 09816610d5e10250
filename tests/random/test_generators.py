"""Keys of the generators ``rbg`` and ``unsafe_rbg``: JAX's numbers, and keys as elements."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxlite

pytestmark = pytest.mark.jax_oracle

IMPLS = ("rbg", "unsafe_rbg")
LAST = np.uint32([2**32 - 1] * 4)


def _programs(lib: Any, key: Any) -> Any:
    """Return what is made of one key."""
    r = lib.random
    return {
        "split": r.key_data(r.split(key, (2, 3))),
        "fold_in": r.key_data(r.fold_in(key, 99)),
        "bits": [r.bits(key, (5,), f"uint{n}") for n in (8, 16, 32)],
        "normal": r.normal(key, (3, 2)),
        "randint": r.randint(key, (4,), 0, 100),
        "gamma": r.gamma(key, np.float32([0.5, 2.0]), (2,)),
        "equal": [key == key, key != r.split(key)[0]],
    }


@pytest.mark.parametrize("impl", IMPLS)
def test_numbers_are_those_of_jax(impl: str) -> None:
    def run(lib: Any) -> Any:
        key = lib.random.key(5, impl=impl)
        return lib.jit(lambda k: _programs(lib, k))(key), lib.random.uniform(key, (3,))

    ours, theirs = run(jaxlite), run(jax)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("impl", IMPLS)
def test_a_batch_draws_with_its_first_key(impl: str) -> None:
    def run(lib: Any) -> Any:
        keys = lib.random.split(lib.random.key(5, impl=impl), 3)
        numbers = np.arange(3)
        return (
            lib.vmap(lambda k: lib.random.bits(k, (2,)))(keys),
            lib.random.key_data(lib.vmap(lambda k: lib.random.split(k, 2))(keys)),
            lib.random.key_data(lib.vmap(lib.random.fold_in)(keys, numbers)),
        )

    for a, b in zip(run(jaxlite), run(jax), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("impl", IMPLS)
def test_keys_are_elements_whatever_their_words(impl: str) -> None:
    def run(lib: Any) -> Any:
        # The words of the second key, read as floating-point numbers, are NaNs.
        words = np.stack([np.uint32([1, 2, 3, 4]), LAST])
        keys = lib.random.wrap_key_data(words, impl=impl)
        chosen = lib.jit(lambda k: lib.numpy.where(k == k[1], k, k[::-1]))(keys)
        outside = lib.jit(lambda k: k.at[100].get(mode="fill"))(keys)
        return [
            keys == keys,
            *map(lib.random.key_data, (chosen, outside, keys.at[0].set(keys[1]))),
            lib.random.key_data(lib.numpy.full((2,), 7, keys.dtype)),
            lib.random.key_data(lib.numpy.ones_like(keys)),
        ]

    ours, theirs = run(jaxlite), run(jax)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    key = jaxlite.random.key(3, impl=impl)
    assert repr(key) == repr(jax.random.key(3, impl=impl))
    assert (key.dtype.itemsize, jaxlite.random.key_impl(key)) == (16, impl)


def test_the_default_generator_is_a_setting() -> None:
    with jaxlite.default_prng_impl("rbg"), jax.default_prng_impl("rbg"):
        for lib in (jaxlite, jax):
            raw = lib.random.PRNGKey(3)
            assert raw.shape == (4,)
            assert str(lib.random.key(3).dtype) == "key<rbg>"
        ours, theirs = (lib.random.normal(lib.random.PRNGKey(3)) for lib in (jaxlite, jax))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_errors_about_generators() -> None:
    key = jaxlite.random.key(0, impl="rbg")
    with pytest.raises(ValueError, match="Cannot specify both `impl` and `dtype` arguments"):
        jaxlite.random.wrap_key_data(LAST, impl="rbg", dtype=key.dtype)
    with pytest.raises(TypeError, match=r"to end with \(4,\); got shape=\(2,\)"):
        jaxlite.random.wrap_key_data(LAST[:2], impl="rbg")
    with pytest.raises(NotImplementedError, match="`poisson` is only implemented for the three"):
        jaxlite.random.poisson(key, 2.0)
    with pytest.raises(ValueError, match=r'unrecognized PRNG implementation "bla". Did you'):
        jaxlite.random.key(0, impl="bla")
    with pytest.raises(TypeError, match="multiply does not accept dtypes key<rbg>, int32"):
        key * 2
    with pytest.raises(ValueError, match="is not a valid dtype for JAX type promotion"):
        jaxlite.numpy.stack([key, jaxlite.random.key(0)])
