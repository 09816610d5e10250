"""Primitives that move elements agree with JAX in every respect."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from jaxlite.primitives import joining, shape
from tests.primitives.against_jax import (
    Case,
    Keys,
    check,
    check_pull,
    check_types,
    check_values,
    data_of,
    to_ours,
    vjp_ours,
)

pytestmark = pytest.mark.jax_oracle
RNG = np.random.default_rng(1)


def f32(*sizes: int) -> np.ndarray:
    return RNG.normal(size=sizes).astype(np.float32)


DTYPES = [np.bool_, np.int8, np.uint32, ml_dtypes.bfloat16, np.float16, np.complex64]

BROADCASTS = [
    ((3,), (2, 3), (1,)),
    ((3, 1), (3, 4), (0, 1)),
    ((), (2, 2), ()),
    ((1, 1), (1, 1), (0, 1)),
    ((0, 3), (2, 0, 3), (1, 2)),
    ((1,), (0,), (0,)),
]


@pytest.mark.parametrize(("size", "target", "dims"), BROADCASTS)
def test_broadcast_in_dim(size, target, dims):
    check(
        Case(
            lambda x: shape.broadcast_in_dim(x, target, dims),
            lambda x: lax.broadcast_in_dim(x, target, dims),
            [f32(*size)],
        )
    )


def test_broadcast_in_dim_to_axes_in_another_order():
    x, dims = f32(3, 4, 1), (2, 0, 1)
    case = Case(
        lambda x: shape.broadcast_in_dim(x, (4, 5, 3), dims),
        lambda x: lax.broadcast_in_dim(x, (4, 5, 3), dims),
        [x],
        open_sets=[],
    )
    check(case)
    # JAX fails in the transpose, which is the adjoint all the same: <ct, f(x)> = <f'(ct), x>.
    ct = f32(4, 5, 3)
    (back,) = vjp_ours(case.ours, [to_ours(x)], [to_ours(ct)])
    forward = data_of(case.ours(to_ours(x)))
    np.testing.assert_allclose((ct * forward).sum(), (data_of(back) * x).sum(), rtol=1e-5)


RESHAPES = [
    ((6,), (2, 3), None),
    ((2, 3), (6,), None),
    ((2, 3, 4), (4, 6), None),
    ((2, 3, 4), (2, 12), None),
    ((2, 6), (2, 3, 2), None),
    ((1, 3, 1), (3,), None),
    ((3,), (1, 3, 1, 1), None),
    ((4, 1, 6), (2, 2, 1, 3, 2), None),
    ((), (1, 1), None),
    ((0, 3), (2, 0), None),
    ((0, 3), (0,), None),
    ((2, 3, 4), (24,), (2, 0, 1)),
    ((2, 3, 4), (8, 3), (2, 0, 1)),
]


@pytest.mark.parametrize(("size", "target", "dims"), RESHAPES)
def test_reshape(size, target, dims):
    check(
        Case(
            lambda x: shape.reshape(x, target, dims),
            lambda x: lax.reshape(x, target, dims),
            [f32(*size)],
        )
    )


@pytest.mark.parametrize("permutation", [(0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0)])
def test_transpose(permutation):
    check(
        Case(
            lambda x: shape.transpose(x, permutation),
            lambda x: lax.transpose(x, permutation),
            [f32(2, 3, 4)],
        )
    )


@pytest.mark.parametrize("dims", [(), (0,), (2,), (0, 2), (2, 0)])
def test_squeeze(dims):
    check(Case(lambda x: shape.squeeze(x, dims), lambda x: lax.squeeze(x, dims), [f32(1, 3, 1, 2)]))


@pytest.mark.parametrize("dims", [(), (0,), (1, -1), (3, 0)])
def test_expand_dims(dims):
    check(
        Case(lambda x: shape.expand_dims(x, dims), lambda x: lax.expand_dims(x, dims), [f32(3, 2)])
    )


@pytest.mark.parametrize("dims", [(), (0,), (0, 1), (1,)])
def test_rev(dims):
    check(Case(lambda x: shape.rev(x, dims), lambda x: lax.rev(x, dims), [f32(3, 4)]))


@pytest.mark.parametrize("reps", [(1, 1), (2, 1), (1, 3), (2, 2), (0, 2)])
def test_tile(reps):
    check(Case(lambda x: shape.tile(x, reps), lambda x: lax.tile(x, reps), [f32(3, 4)]))


@pytest.mark.parametrize("dtype", ["int8", "uint32", "bfloat16", "float16", "float32", "complex64"])
@pytest.mark.parametrize("dimension", [0, 1])
def test_iota(dtype, dimension):
    check(
        Case(
            lambda: shape.broadcasted_iota(dtype, (300, 2), dimension),
            lambda: lax.broadcasted_iota(dtype, (300, 2), dimension),
            [],
        )
    )


@pytest.mark.parametrize("dimension", [0, 1])
def test_concatenate_several_operands(dimension):
    parts = [f32(2, 2), f32(2, 2), f32(2, 2)]
    parts[1] = f32(0, 2) if dimension == 0 else f32(2, 5)
    check(
        Case(
            lambda *xs: joining.concatenate(xs, dimension),
            lambda *xs: lax.concatenate(xs, dimension),
            parts,
        )
    )


@pytest.mark.parametrize(("sizes", "axis"), [((1, 3), 1), ((3,), 0), ((2, 0, 2), 1)])
def test_split(sizes, axis):
    check(
        Case(
            lambda x: joining.split(x, sizes, axis),
            lambda x: lax.split(x, sizes, axis),
            [f32(3, 4)],
        )
    )


PADDINGS = [
    ((0, 0, 0), (0, 0, 0)),
    ((1, 2, 0), (0, 0, 0)),
    ((0, 0, 1), (2, 0, 2)),
    ((-1, 2, 0), (1, -2, 0)),
    ((-2, -1, 0), (0, 0, 1)),
    ((-1, 1, 2), (-3, -1, 1)),
    ((1, -4, 1), (3, 3, 3)),
    ((-2, -2, 0), (0, 1, 0)),
    ((0, 0, 0), (-2, -3, 0)),
]


@pytest.mark.parametrize("config", PADDINGS)
@pytest.mark.parametrize("size", [(4, 5), pytest.param((5, 0), marks=pytest.mark.slow)])
def test_pad(config, size):
    try:
        jax.eval_shape(lambda x: lax.pad(x, np.float32(0), config), f32(*size))
    except ValueError:
        pytest.skip("JAX rejects the negative size")
    check(
        Case(
            lambda x, v: joining.pad(x, v, config),
            lambda x, v: lax.pad(x, v, config),
            [f32(*size), f32()],
            open_sets=[(0,), (0, 1)],  # JAX fails on the padding value alone
        )
    )


MOVES = {
    "broadcast_in_dim": (
        lambda x: shape.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
        lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
    ),
    "reshape": (lambda x: shape.reshape(x, (2, 6)), lambda x: lax.reshape(x, (2, 6))),
    "transpose": (lambda x: shape.transpose(x, (1, 0)), lambda x: lax.transpose(x, (1, 0))),
    "rev": (lambda x: shape.rev(x, (1,)), lambda x: lax.rev(x, (1,))),
    "concatenate": (
        lambda x: joining.concatenate((x, x), 1),
        lambda x: lax.concatenate((x, x), 1),
    ),
    "split": (lambda x: joining.split(x, (1, 2), 0), lambda x: lax.split(x, (1, 2), 0)),
    "tile": (lambda x: shape.tile(x, (2, 1)), lambda x: lax.tile(x, (2, 1))),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_moves(name, dtype):
    ours, theirs = MOVES[name]
    case = Case(ours, theirs, [RNG.integers(0, 100, (3, 4)).astype(dtype)])
    check_values(case)
    check_pull(case)


@pytest.mark.parametrize("name", MOVES)
def test_random_keys_move(name):
    if name == "tile":
        pytest.skip("JAX cannot tile keys")
    ours, theirs = MOVES[name]
    keys = Keys(RNG.integers(0, 2**32, (3, 4, 2), dtype=np.uint32))
    case = Case(ours, theirs, [keys])
    check_values(case)
    check_types(case)
