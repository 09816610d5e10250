"""sort and top_k agree with JAX: order of NaN and signed zeros, ties, several operands."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from jax import lax

from jaxlite.primitives import sort
from tests.primitives.against_jax import (
    Case,
    check,
    check_types,
    check_values,
    data_of,
    to_ours,
)

pytestmark = pytest.mark.jax_oracle
RNG = np.random.default_rng(4)
SPECIAL = np.array([1.0, np.nan, -np.nan, np.inf, -0.0, 0.0, -0.0, -np.inf, -2, 1, 0, np.nan])
DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "bfloat16", "float16", "float32"]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def sort_case(args, dimension=0, num_keys=1, is_stable=True) -> Case:
    return Case(
        lambda *xs: sort.sort(xs, dimension, is_stable, num_keys),
        lambda *xs: lax.sort(xs, dimension=dimension, num_keys=num_keys, is_stable=is_stable),
        list(args),
    )


@pytest.mark.parametrize("dimension", [0, 1])
def test_sort_alone(dimension):
    check(sort_case([normal(4, 3)], dimension))


@pytest.mark.parametrize("num_keys", [1, 2, 3])
def test_sort_of_several_operands(num_keys):
    keys = [RNG.integers(0, 3, (9, 2)).astype(np.int32), RNG.integers(0, 2, (9, 2)) > 0]
    case = sort_case([*keys, normal(9, 2)], 0, num_keys)
    check(case)


def test_sort_carries_tangents_of_keys_and_values():
    check(sort_case([normal(2, 5), normal(2, 5)], 1))


@pytest.mark.parametrize("name", DTYPES)
def test_sort_dtypes(name):
    check_values(sort_case([RNG.integers(0, 100, 300).astype(dtype_of(name))]))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_special_values(name):
    x = SPECIAL.astype(dtype_of(name))
    check_values(sort_case([x]))
    check_values(sort_case([x, np.arange(x.size, dtype=np.int32)]))
    check_values(sort_case([x, x[::-1].copy(), np.arange(x.size, dtype=np.int32)], num_keys=2))


def test_complex_numbers_are_ordered_by_real_then_imaginary_part():
    parts = RNG.choice(SPECIAL, (2, 40)).astype(np.float32)
    x = np.empty(40, np.complex64)
    x.real, x.imag = parts
    check_values(sort_case([x, np.arange(40, dtype=np.int32)]))
    check_values(sort_case([x]))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1,)])
def test_empty_arrays(shape):
    check_values(sort_case([normal(*shape)]))
    check_values(sort_case([normal(*shape), normal(*shape)]))


@pytest.mark.parametrize("descending", [False, True])
def test_argsort_keeps_the_order_of_equal_elements(descending):
    x = RNG.integers(0, 4, 30).astype(np.int32)
    order = data_of(sort.argsort(to_ours(x), 0, descending=descending))
    expected = np.argsort(-x if descending else x, kind="stable")
    np.testing.assert_array_equal(order, expected)
    assert order.dtype == np.int32


def top_k_case(x, k, axis) -> Case:
    return Case(lambda x: sort.top_k(x, k, axis), lambda x: tuple(lax.top_k(x, k, axis=axis)), [x])


@pytest.mark.parametrize(("k", "axis"), [(2, 1), (4, 1), (0, 1), (3, 0)])
def test_top_k(k, axis):
    check(top_k_case(normal(3, 4), k, axis))


@pytest.mark.parametrize("name", DTYPES)
def test_top_k_dtypes_and_ties(name):
    x = RNG.integers(0, 50, 400).astype(dtype_of(name))
    for k in (3, 300):
        check_values(top_k_case(x, k, 0))
    check_types(top_k_case(x, 3, 0))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_top_k_of_special_values(name):
    x = np.tile(SPECIAL, 10).astype(dtype_of(name))
    for k in (5, 120):
        check_values(top_k_case(x, k, 0))
