"""``lax.rng_bit_generator`` bit for bit, ``lax.rng_uniform``, and functions about platforms."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxlite
from tests.nn.oracle import check

pytestmark = pytest.mark.jax_oracle

STATE = np.uint32([1, 2, 3, 4])
LAST = np.uint32([1, 2, 2**32 - 1, 2**32 - 1])
X = np.float32([1, 2])


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("algorithm", [0, 1, 2])
def test_bits_are_those_of_jax(algorithm: int, x64: bool) -> None:
    states = [STATE, LAST, *([np.uint64([1, 2])] if x64 else [])]
    with jax.enable_x64(x64), jaxlite.enable_x64(x64):
        for bits in (8, 32, 64):
            for shape in ((5,), (), (3, 5)):
                for state in states if shape == (5,) else states[:1]:
                    ours, theirs = (
                        lib.lax.rng_bit_generator(
                            state,
                            shape,
                            f"uint{bits}" if x64 or bits < 64 else "uint32",
                            lib.lax.RandomAlgorithm(algorithm),
                        )
                        for lib in (jaxlite, jax)
                    )
                    for a, b in zip(ours, theirs, strict=True):
                        assert a.dtype == b.dtype
                        np.testing.assert_array_equal(a, b)


def test_compiled_and_batched_bits_are_those_of_jax() -> None:
    states = np.arange(12, dtype=np.uint32).reshape(3, 4)

    def draw(lib: Any) -> Any:
        def each(state: Any) -> Any:
            return lib.lax.rng_bit_generator(state, (3, 2))

        return lib.jit(lib.vmap(each))(states), lib.jit(each)(LAST)

    for ours, theirs in zip(*(jax.tree.leaves(draw(lib)) for lib in (jaxlite, jax)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_other_types_of_bits_are_refused() -> None:
    check(lambda lib: lib.lax.rng_bit_generator(STATE, (3,), np.int32)[1])
    check(lambda lib: lib.lax.rng_bit_generator(STATE, (3,), np.float32)[1])
    with pytest.raises(TypeError, match="the state must be uint32"):
        jaxlite.lax.rng_bit_generator(STATE[:3], (3,))


def test_uniform_numbers_lie_between_the_bounds_and_differ() -> None:
    draw = jaxlite.jit(lambda a: jaxlite.lax.rng_uniform(a, 5.0, (100,)))
    first, second = np.asarray(draw(2.0)), np.asarray(draw(2.0))
    assert ((first >= 2) & (first < 5)).all()
    assert (first != second).any()
    assert jaxlite.lax.rng_uniform(0, 10, (3,)).dtype == np.int32
    check(lambda lib: lib.lax.rng_uniform(np.float32(0), 1, (3,)))
    check(lambda lib: lib.lax.rng_uniform(np.float32([0]), np.float32(1), (3,)))


CALLS = [
    lambda lib: lib.lax.platform_dependent(
        lib.numpy.asarray(X), cpu=lambda x: x + 1, default=lambda x: x - 1
    ),
    lambda lib: lib.lax.platform_dependent(
        lib.numpy.asarray(X), cuda=lambda x: x + 1, default=lambda x: x - 1
    ),
    lambda lib: lib.lax.platform_dependent(X, cuda=lambda x: x + 1),
    lambda lib: lib.lax.platform_dependent(X, cpu=3),
    lambda lib: lib.grad(lambda x: lib.lax.platform_dependent(x, cpu=lambda x: x * x).sum())(X),
    lambda lib: lib.lax.composite(lambda x, *, k: lib.lax.sin(x) * k, name="my.t")(X, k=2.0),
    lambda lib: lib.lax.stage(3),
    lambda lib: lib.lax.random_gamma_grad(X, X),
    lambda lib: lib.lax.exp(X, accuracy=3),
    lambda lib: lib.lax.exp(X, accuracy=lib.lax.Tolerance(0.1)),
    lambda lib: lib.lax.dot(X, X, precision="F16"),
    lambda lib: lib.lax.dot(X, X, precision="F16_F16_F32"),
    lambda lib: lib.lax.dot(X, X, precision=lib.lax.DotAlgorithmPreset.F32_F32_F32),
]


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_functions_about_platforms_and_precision(case: int) -> None:
    check(CALLS[case], tolerance=1e-5)


def test_left_out_names_say_why() -> None:
    for name in ("create_token", "psend", "with_sharding_constraint"):
        with pytest.raises(AttributeError, match=f"lax.{name} is left out on purpose"):
            getattr(jaxlite.lax, name)
    with pytest.raises(AttributeError, match=r"nn.scaled_matmul is left out on purpose"):
        jaxlite.nn.scaled_matmul  # noqa: B018
    with pytest.raises(AttributeError, match=r"random.random_gamma_p is left out on purpose"):
        jaxlite.random.random_gamma_p  # noqa: B018
    for module in (jaxlite.lax, jaxlite.nn, jaxlite.random):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            module.nothing  # noqa: B018
    with pytest.raises(ValueError, match="Tolerances must be non-negative"):
        jaxlite.lax.Tolerance(-1)
