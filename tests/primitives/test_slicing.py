"""Slices with static and dynamic starts agree with JAX."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax
from jax.extend.core import primitives as theirs

from jaxlite.primitives import slicing
from jaxlite.transforms.vmap import MappedAxis, batch_flat
from tests.primitives.against_jax import (
    Case,
    check,
    check_pull,
    check_values,
    data_of,
    to_ours,
)

pytestmark = pytest.mark.jax_oracle
RNG = np.random.default_rng(2)


def f32(*sizes: int) -> np.ndarray:
    return RNG.normal(size=sizes).astype(np.float32)


SLICES = [
    ((0, 0), (3, 7), None),
    ((1, 2), (3, 6), None),
    ((0, 1), (3, 7), (2, 3)),
    ((1, 1), (1, 4), None),
    ((2, 0), (3, 7), (1, 7)),
]


@pytest.mark.parametrize(("start", "limit", "strides"), SLICES)
def test_slice(start, limit, strides):
    check(
        Case(
            lambda x: slicing.slice(x, start, limit, strides),
            lambda x: lax.slice(x, start, limit, strides),
            [f32(3, 7)],
        )
    )


def their_slice(sizes):
    return lambda x, *starts: theirs.dynamic_slice_p.bind(x, *starts, slice_sizes=sizes)


def their_update(x, update, *starts):
    return theirs.dynamic_update_slice_p.bind(x, update, *starts)


@pytest.mark.parametrize("starts", [(0, 0), (1, 2), (-5, 1), (9, 9)])
def test_dynamic_slice_clamps_its_start(starts):
    check(
        Case(
            lambda x, *s: slicing.dynamic_slice(x, s, (2, 3)),
            their_slice((2, 3)),
            [f32(3, 5), *map(np.int32, starts)],
        )
    )


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint32"])
def test_dynamic_slice_start_of_every_integer_type(dtype):
    for start in (0, 2, np.iinfo(dtype).max, np.iinfo(dtype).min):
        case = Case(
            lambda x, s: slicing.dynamic_slice(x, (s,), (3,)),
            their_slice((3,)),
            [f32(300), np.dtype(dtype).type(start)],
        )
        check_values(case)
        check_pull(case)


@pytest.mark.parametrize("starts", [(0, 0), (1, -1), (9, 3)])
@pytest.mark.parametrize("size", [(2, 3), (1, 5), (3, 5), (0, 2)])
def test_dynamic_update_slice(starts, size):
    check(
        Case(
            lambda x, u, *s: slicing.dynamic_update_slice(x, u, s),
            their_update,
            [f32(3, 5), f32(*size), *map(np.int32, starts)],
        )
    )


def test_scalars_have_no_start():
    check_values(Case(lambda x: slicing.dynamic_slice(x, (), ()), their_slice(()), [f32()]))
    check(
        Case(
            lambda x, u: slicing.dynamic_update_slice(x, u, ()),
            their_update,
            [f32(), f32()],
            open_sets=[(0,)],
        )
    )


@pytest.mark.parametrize("index", range(4))
def test_dynamic_slice_of_every_place(index):
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    for j in range(5):
        case = Case(
            lambda x, *s: slicing.dynamic_slice(x, s, (1, 2)),
            their_slice((1, 2)),
            [x, np.int32(index), np.int32(j)],
        )
        check_values(case)
        check_pull(case)


def test_vmap_of_vmap_of_dynamic_slice():
    x, starts = f32(2, 3, 6), RNG.integers(-2, 8, (2, 3)).astype(np.int32)

    def one(x, start):
        return (slicing.dynamic_slice(x, (start,), (2,)),)

    def row(x, start):
        dims = []
        outs = batch_flat(one, MappedAxis(3), (0, 0), dims)(x, start)
        assert dims == [0]
        return outs

    dims = []
    (out,) = batch_flat(row, MappedAxis(2), (0, 0), dims)(to_ours(x), to_ours(starts))
    assert dims == [0]
    np.testing.assert_array_equal(data_of(out), jax.vmap(jax.vmap(their_slice((2,))))(x, starts))
