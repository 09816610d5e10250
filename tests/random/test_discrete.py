"""Permutations, choices and categories are JAX's."""

import numpy as np
import pytest

import jaxlite as jl
from tests.random.oracle import N, check, check_error, slow

pytestmark = pytest.mark.jax_oracle

TABLE = np.arange(1.0, 13, dtype=np.float32).reshape(3, 4)
LOGITS = np.log(TABLE)
WEIGHTS = np.float32([0.1, 0.2, 0.3, 0.2, 0.2])


@pytest.mark.parametrize("n", [0, 10, 1626, *slow(-1, 1, 2, 1625, np.int32(7))])
def test_permutation_of_a_range(n):
    check("permutation", n)


@pytest.mark.parametrize("x", [TABLE, TABLE.astype(np.int8), np.arange(7.0, dtype=np.float32)])
@pytest.mark.parametrize("independent", [False, *slow(True)])
@pytest.mark.parametrize("axis", [0, -1])
def test_permutation_of_an_array(x, axis, independent):
    check("permutation", x, axis, independent)


def test_permutation_of_keys_permutes_whole_keys():
    keys = jl.random.split(jl.random.key(0), 5)
    words = {tuple(pair) for pair in np.asarray(jl.random.key_data(keys)).tolist()}
    shuffled = jl.random.permutation(jl.random.key(1), keys)
    assert {tuple(pair) for pair in np.asarray(jl.random.key_data(shuffled)).tolist()} == words


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((10,), {}),
        ((10, (7,)), {}),
        ((10, (3, 3), False), {}),
        ((TABLE, (2, 3)), {"axis": 1}),
        ((TABLE, (2, 2), False), {"axis": 1}),
        ((TABLE, (2, 2), False), {"axis": -1, "p": np.arange(4, dtype=np.float32)}),
        ((5, (N,)), {"p": WEIGHTS}),
        ((5, (3,), False), {"p": WEIGHTS}),
        *slow(
            ((TABLE, (2,)), {"p": np.ones(3, np.float32) / 3}),
            ((TABLE, ()), {"axis": 1}),
            ((TABLE, (0,)), {"axis": 1}),
            ((0, (0,)), {}),
            ((5, (3,), False), {"p": np.arange(1, 6, dtype=np.int32)}),
            ((5, (3,), False), {"p": WEIGHTS, "mode": "high"}),
            ((5.0,), {}),
        ),
    ],
)
def test_choice(args, kwargs):
    check("choice", *args, **kwargs)


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"axis": 0},
        {"axis": 0, "shape": (50, 4)},
        {"axis": 1, "shape": (50, 3)},
        {"axis": 1, "shape": (2, 2, 3), "replace": False},
        {"axis": 0, "shape": (4,), "replace": False},
        {"mode": "high"},
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float16, marks=pytest.mark.slow)])
def test_categorical(kwargs, dtype):
    check("categorical", LOGITS.astype(dtype), **kwargs)


@pytest.mark.parametrize(
    "args", [(0.2, (N,)), *slow(((0.2, (N,), np.uint8),), ((np.float32([0, 1, 0.5]),),), ((1,),))]
)
def test_geometric(args):
    check("geometric", *args)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("permutation", (2.5,), {}),
        ("permutation", (TABLE, 2), {}),
        ("permutation", ([1, 2],), {}),
        ("choice", (0,), {}),
        ("choice", (5, (6,), False), {}),
        ("choice", (5, (3,)), {"p": np.ones(4, np.float32)}),
        ("choice", (3, (2,)), {"p": np.ones((3, 1), np.float32)}),
        ("choice", (TABLE, (2,)), {"axis": 2}),
        ("choice", ([1, 2],), {}),
        ("categorical", (LOGITS,), {"axis": 2}),
        ("categorical", (LOGITS,), {"shape": ()}),
        ("categorical", (LOGITS,), {"shape": (4, 3), "replace": False, "axis": 0}),
        ("categorical", (np.arange(3),), {}),
        ("categorical", ([0.0],), {}),
        ("geometric", (0.5, (3,), np.float32), {}),
        ("geometric", (np.ones(2, np.float32), (3,)), {}),
    ],
)
def test_bad_arguments_raise_as_in_jax(name, args, kwargs):
    check_error(name, *args, **kwargs)


@pytest.mark.parametrize("name", ["permutation", "choice"])
def test_a_traced_length_is_refused(name):
    draw = getattr(jl.random, name)
    with pytest.raises(jl.errors.ConcretizationTypeError):
        jl.jit(lambda n: draw(jl.random.key(0), n))(3)
