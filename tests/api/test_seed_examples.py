"""The examples that started this project, exactly."""

from __future__ import annotations

import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax

g = 0.0


def test_global_is_read_when_the_function_is_traced() -> None:
    global g
    g = 0.0
    f = lambda x: x + g  # noqa: E731
    assert float(jax.jit(f)(4.0)) == 4.0
    g = 10.0
    assert float(jax.jit(f)(5.0)) == 5.0
    assert jax.jit(f)(jnp.array([4.0])).tolist() == [14.0]


def test_loop_over_an_array_sums_it() -> None:
    array = jnp.arange(10)
    assert int(lax.fori_loop(0, 10, lambda i, x: x + array[i], 0)) == 45


def test_loop_over_an_iterator_draws_once() -> None:
    iterator = iter(range(10))
    assert int(lax.fori_loop(0, 10, lambda i, x: x + next(iterator), 0)) == 0


def test_item_assignment_says_immutable_and_shows_at() -> None:
    a = jnp.zeros((3, 3))
    with pytest.raises(TypeError, match="immutable") as caught:
        a[1, :] = 1.0
    assert "a.at[1, :].set(1.0)" in str(caught.value)
    assert a.at[1, :].set(1.0).tolist() == [[0.0] * 3, [1.0] * 3, [0.0] * 3]


def test_sum_of_a_list_is_a_type_error() -> None:
    message = r"sum requires ndarray or scalar arguments, got <class 'list'> at position 0"
    with pytest.raises(TypeError, match=message):
        jnp.sum([1, 2, 3])
