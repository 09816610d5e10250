"""Printed equations and error messages of structural primitives are JAX's."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import jaxlite.language.pretty  # noqa: F401 (installs the printer)
from jaxlite.language.avals import ShapedArray
from jaxlite.primitives import (
    dot,
    gather,
    joining,
    random_bits,
    scatter,
    shape,
    slicing,
    sort,
)
from jaxlite.primitives.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from jaxlite.transforms.stage_out import stage_out
from tests.primitives.against_jax import flat

pytestmark = pytest.mark.jax_oracle

X = ("float32", (3, 4))
V = ("float32", (4,))
XI = ("int32", (3, 4))
S = ("float32", ())
I = ("int32", ())
INDICES = ("int32", (2, 1))
ROWS = ("float32", (2, 4))
ROW_NUMBERS = ((1,), (0,), (0,))
MATMUL = (((1,), (0,)), ((), ()))


def avals_of(args: tuple[Any, ...]) -> list[ShapedArray]:
    return [ShapedArray(size, np.dtype(dtype)) for dtype, size in args]


def structs_of(args: tuple[Any, ...]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(size, dtype) for dtype, size in args]


def our_gather(numbers, sizes, **params):
    return lambda x, i: gather.gather(x, i, GatherDimensionNumbers(*numbers), sizes, **params)


def their_gather(numbers, sizes, **params):
    return lambda x, i: lax.gather(x, i, lax.GatherDimensionNumbers(*numbers), sizes, **params)


def our_scatter(numbers, kind="scatter", **params):
    function = getattr(scatter, kind)
    return lambda x, i, u: function(x, i, u, ScatterDimensionNumbers(*numbers), **params)


def their_scatter(numbers, kind="scatter", **params):
    function = getattr(lax, kind)
    return lambda x, i, u: function(x, i, u, lax.ScatterDimensionNumbers(*numbers), **params)


PRINTED = [
    (
        lambda x: shape.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
        lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
        (X,),
    ),
    (
        lambda x: shape.broadcast_in_dim(x, (2,), ()),
        lambda x: lax.broadcast_in_dim(x, (2,), ()),
        (S,),
    ),
    (lambda x: shape.reshape(x, (12,)), lambda x: lax.reshape(x, (12,)), (X,)),
    (lambda x: shape.transpose(x, (1, 0)), lambda x: lax.transpose(x, (1, 0)), (X,)),
    (lambda x: shape.rev(x, (0,)), lambda x: lax.rev(x, (0,)), (X,)),
    (lambda x: shape.tile(x, (1, 2)), lambda x: lax.tile(x, (1, 2)), (X,)),
    (
        lambda: shape.broadcasted_iota("int32", (3, 4), 1),
        lambda: lax.broadcasted_iota("int32", (3, 4), 1),
        (),
    ),
    (lambda x: joining.concatenate([x, x], 0), lambda x: lax.concatenate([x, x], 0), (X,)),
    (lambda x: joining.split(x, (1, 3), 1), lambda x: lax.split(x, (1, 3), 1), (X,)),
    (
        lambda x, v: joining.pad(x, v, ((1, 0, 0), (-1, 2, 1))),
        lambda x, v: lax.pad(x, v, ((1, 0, 0), (-1, 2, 1))),
        (X, S),
    ),
    (
        lambda x: slicing.slice(x, (0, 1), (2, 4), (1, 2)),
        lambda x: lax.slice(x, (0, 1), (2, 4), (1, 2)),
        (X,),
    ),
    (our_gather(ROW_NUMBERS, (1, 4)), their_gather(ROW_NUMBERS, (1, 4)), (X, INDICES)),
    (
        our_gather(ROW_NUMBERS, (1, 4), mode="fill", fill_value=3.0),
        their_gather(ROW_NUMBERS, (1, 4), mode="fill", fill_value=3.0),
        (X, INDICES),
    ),
    *(
        (our_scatter(ROW_NUMBERS, kind), their_scatter(ROW_NUMBERS, kind), (X, INDICES, ROWS))
        for kind in ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_max")
    ),
    (
        lambda x, y: dot.dot_general(x, y, MATMUL),
        lambda x, y: lax.dot_general(x, y, MATMUL),
        (X, ("float32", (4, 2))),
    ),
    (
        lambda x, y: dot.dot_general(x, y, MATMUL, "high", np.dtype("float32")),
        lambda x, y: lax.dot_general(x, y, MATMUL, "high", np.dtype("float32")),
        (X, ("float32", (4, 2))),
    ),
    (
        lambda x: sort.sort((x, x), 1, num_keys=2),
        lambda x: lax.sort((x, x), num_keys=2),
        (X,),
    ),
    (lambda x: sort.top_k(x, 2, 1), lambda x: lax.top_k(x, 2), (X,)),
    (
        lambda s: random_bits.random_bits(random_bits.random_seed(s), 32, (3,)),
        lambda s: jax.random.bits(jax.random.key(s), (3,)),
        (I,),
    ),
    (
        lambda d: random_bits.random_split(random_bits.random_wrap(d), (3,)),
        lambda d: jax.random.split(jax.random.wrap_key_data(d), 3),
        (("uint32", (2,)),),
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "args"), PRINTED)
def test_printed_equations(ours, theirs, args):
    mine = str(stage_out(flat(ours), avals_of(args)))
    expected = str(jax.make_jaxpr(theirs)(*structs_of(args)))
    # JAX leaves a blank after an equation without operands.
    assert mine == "\n".join(map(str.rstrip, expected.split("\n")))


def broadcast(*params):
    return (
        lambda x: shape.broadcast_in_dim(x, *params),
        lambda x: lax.broadcast_in_dim(x, *params),
    )


def pads(config):
    return lambda x, v: joining.pad(x, v, config), lambda x, v: lax.pad(x, v, config)


def concatenates(dimension):
    return (
        lambda *xs: joining.concatenate(xs, dimension),
        lambda *xs: lax.concatenate(xs, dimension),
    )


def slices(*params):
    return lambda x: slicing.slice(x, *params), lambda x: lax.slice(x, *params)


def dynamic(sizes):
    return (
        lambda x, *s: slicing.dynamic_slice(x, s, sizes),
        lambda x, *s: lax.dynamic_slice(x, s, sizes),
    )


UPDATE = (
    lambda x, u, *s: slicing.dynamic_update_slice(x, u, s),
    lambda x, u, *s: lax.dynamic_update_slice(x, u, s),
)


def gathers(numbers, sizes=(1, 4)):
    return our_gather(numbers, sizes), their_gather(numbers, sizes)


def scatters(numbers, kind="scatter"):
    return our_scatter(numbers, kind), their_scatter(numbers, kind)


def dots(*params):
    return (
        lambda x, y: dot.dot_general(x, y, *params),
        lambda x, y: lax.dot_general(x, y, *params),
    )


ERRORS = [
    (*broadcast((2, 3), (0,)), (X,)),
    (*broadcast((3,), (0, 1)), (X,)),
    (*broadcast((2, 5, 4), (1, 2)), (X,)),
    (*broadcast((2, 3, 4), (1, 3)), (X,)),
    (*broadcast((2, 3, 4), (-2, 2)), (X,)),
    (*broadcast((3, 4), (1, 1)), (X,)),
    (*broadcast((-1, 4), (1,)), (V,)),
    (lambda x: shape.reshape(x, (-1, 2)), lambda x: lax.reshape(x, (-1, 2)), (X,)),
    (lambda x: shape.reshape(x, (12,), (0, 0)), lambda x: lax.reshape(x, (12,), (0, 0)), (X,)),
    (lambda x: shape.transpose(x, (0, 2)), lambda x: lax.transpose(x, (0, 2)), (X,)),
    (lambda x: shape.squeeze(x, (0,)), lambda x: lax.squeeze(x, (0,)), (X,)),
    (lambda x: shape.squeeze(x, (5,)), lambda x: lax.squeeze(x, (5,)), (X,)),
    (lambda x: shape.expand_dims(x, (0, 0)), lambda x: lax.expand_dims(x, (0, 0)), (X,)),
    (lambda x: shape.expand_dims(x, (7,)), lambda x: lax.expand_dims(x, (7,)), (X,)),
    (lambda x: shape.rev(x, (0, 0)), lambda x: lax.rev(x, (0, 0)), (X,)),
    (lambda x: shape.rev(x, (5,)), lambda x: lax.rev(x, (5,)), (X,)),
    (lambda x: shape.rev(x, (-1,)), lambda x: lax.rev(x, (-1,)), (X,)),
    (lambda x: shape.tile(x, (2,)), lambda x: lax.tile(x, (2,)), (X,)),
    (
        lambda: shape.broadcasted_iota("int32", (3,), 1),
        lambda: lax.broadcasted_iota("int32", (3,), 1),
        (),
    ),
    (
        lambda: shape.broadcasted_iota("int32", (-3,), 0),
        lambda: lax.broadcasted_iota("int32", (-3,), 0),
        (),
    ),
    (
        lambda: shape.broadcasted_iota("bool", (3,), 0),
        lambda: lax.broadcasted_iota("bool", (3,), 0),
        (),
    ),
    (*concatenates(0), ()),
    (*concatenates(0), (X, V)),
    (*concatenates(2), (X, X)),
    (*concatenates(0), (X, ("float32", (3, 2)))),
    (*concatenates(0), (X, XI)),
    (*pads(((0, 0, 0),) * 2), (X, I)),
    (*pads(((0, 0, 0),) * 2), (X, V)),
    (*pads(((0, 0, 0),)), (X, S)),
    (*pads(((0, 0, 0), (0, 0, -1))), (X, S)),
    (*pads(((0, 0, 0), (-3, -3, 0))), (X, S)),
    (lambda x: joining.split(x, (1, 2), 1), lambda x: lax.split(x, (1, 2), 1), (X,)),
    (lambda x: joining.split(x, (1, -2, 5), 1), lambda x: lax.split(x, (1, -2, 5), 1), (X,)),
    (*slices((0,), (1,)), (X,)),
    (*slices((0, 0), (1,)), (X,)),
    (*slices((0, 0), (4, 1)), (X,)),
    (*slices((0, -1), (3, 1)), (X,)),
    (*slices((2, 0), (1, 1)), (X,)),
    (*slices((0, 0), (1, 1), (1,)), (X,)),
    (*slices((0, 0), (3, 4), (2, -1)), (X,)),
    (*dynamic((2, 3)), (X, I)),
    (*dynamic((4, 3)), (X, I, I)),
    (*dynamic((-1, 3)), (X, I, I)),
    (*dynamic((1, 3)), (X, S, I)),
    (*dynamic((1, 3)), (X, V, I)),
    (*dynamic((1, 3)), (X, ("int8", ()), I)),
    (*UPDATE, (X, V, I, I)),
    (*UPDATE, (X, XI, I, I)),
    (*UPDATE, (X, ("float32", (4, 4)), I, I)),
    (*UPDATE, (X, X, I)),
    (*UPDATE, (X, X, S, I)),
    (*gathers(ROW_NUMBERS), (X, ROWS)),
    (*gathers(ROW_NUMBERS), (X, I)),
    (*gathers(((2, 1), (0,), (0,)), (1, 3, 4)), (("float32", (1, 3, 4)), INDICES)),
    (*gathers(((1, 1), (0,), (0,)), (1, 3, 4)), (("float32", (1, 3, 4)), INDICES)),
    (*gathers(((3,), (0,), (0,))), (X, INDICES)),
    (*gathers(((1,), (0,), (0, 1))), (X, INDICES)),
    (*gathers(((1,), (0,), (2,))), (X, INDICES)),
    (*gathers(((1,), (0,), (0, 0))), (X, ("int32", (2, 2)))),
    (*gathers(((), (1, 0), (0,)), (1, 1)), (X, INDICES)),
    (*gathers(((), (0, 0), (0,)), (1, 1)), (X, INDICES)),
    (*gathers(((1,), (5,), (0,))), (X, INDICES)),
    (*gathers(ROW_NUMBERS, (1,)), (X, INDICES)),
    (*gathers(((1, 2), (0,), (0,))), (X, INDICES)),
    (*gathers(ROW_NUMBERS, (1, 5)), (X, INDICES)),
    (*gathers(ROW_NUMBERS, (2, 4)), (X, INDICES)),
    (*gathers(((), (0,), (0,))), (X, INDICES)),
    (*gathers(((), (), (), (0, 3), (0, 1)), (1, 1)), (X, ("int32", (3, 4, 0)))),
    (*gathers(((1,), (0,), (), (0,), (0,))), (X, ("int32", (3, 0)))),
    (*gathers(((1,), (), (0,), (0,), (0,))), (X, ("int32", (3, 1)))),
    (*gathers(((1,), (), (1,), (0,), (0,)), (2, 4)), (X, ("int32", (3, 1)))),
    (*gathers(((1,), (), (1,), (0,), (2,))), (X, ("int32", (3, 1)))),
    (*gathers(((), (), (), (0, 1), (0, 0)), (1, 1)), (X, ("int32", (3, 3, 0)))),
    (*gathers(((1,), (), (1,), (0,), (2,))), (X, ("int32", (2, 3, 1)))),
    (*gathers(((1,), (), (1,), (0,), ())), (X, ("int32", (3, 1)))),
    (*gathers(((1,), (), (1,), (0,), (0,))), (X, INDICES)),
    (*scatters(ROW_NUMBERS), (X, INDICES, ("int32", (2, 4)))),
    (*scatters(ROW_NUMBERS), (X, ROWS, ROWS)),
    (*scatters(ROW_NUMBERS), (X, I, ROWS)),
    (*scatters(((1, 1), (0,), (0,))), (("float32", (1, 3, 4)), INDICES, ("float32", (2, 3, 4)))),
    (*scatters(((3,), (0,), (0,))), (X, INDICES, ROWS)),
    (*scatters(((), (1, 0), (0,))), (X, INDICES, ("float32", (2,)))),
    (*scatters(((1,), (4,), (0,))), (X, INDICES, ROWS)),
    (*scatters(((1,), (), (0,))), (X, INDICES, ROWS)),
    (*scatters(((1,), (0,), (0, 1))), (X, INDICES, ROWS)),
    (*scatters(((1,), (0,), (3,))), (X, INDICES, ROWS)),
    (*scatters(((1,), (0,), (0, 0))), (X, ("int32", (2, 2)), ROWS)),
    (*scatters(ROW_NUMBERS), (X, ("int32", (3, 1)), ROWS)),
    (*scatters(ROW_NUMBERS), (X, INDICES, ("float32", (2, 5)))),
    (*scatters(ROW_NUMBERS), (X, INDICES, ("float32", (2, 5, 3)))),
    (*scatters(((1,), (), (1,), (0,), (0,))), (X, INDICES, ROWS)),
    (*scatters(((1,), (), (1,), (0,), ())), (X, ("int32", (3, 1)), X)),
    (*scatters(ROW_NUMBERS, "scatter_add"), (("bool", (3, 4)), INDICES, ("bool", (2, 4)))),
    (*dots(MATMUL), (X, X)),
    (*dots((((1,), (0, 1)), ((), ()))), (X, ("float32", (4, 3)))),
    (*dots((((1,), (0,)), ((0,), ()))), (X, ("float32", (4, 3)))),
    (*dots((((1, 1), (0, 1)), ((), ()))), (X, ("float32", (4, 3)))),
    (*dots((((), ()), ((0, 0), (0, 1)))), (X, ("float32", (4, 3)))),
    (*dots((((1,), (0,)), ((1,), (0,)))), (X, ("float32", (4, 3)))),
    (*dots((((2,), (0,)), ((), ()))), (X, ("float32", (4, 3)))),
    (*dots((((1,), (-1,)), ((), ()))), (X, ("float32", (4, 3)))),
    (*dots((((), ()), ((0,), (0,)))), (X, ("float32", (4, 3)))),
    (*dots(MATMUL, None, np.dtype("int8")), (XI, ("int32", (4, 3)))),
    (*dots(MATMUL, "foo"), (X, ("float32", (4, 3)))),
    (lambda *x: sort.sort(x, 1), lambda *x: lax.sort(x, dimension=1), (X, V)),
    (lambda x: sort.sort((x,), 3), lambda x: lax.sort((x,), dimension=3), (X,)),
    (lambda x: sort.sort((x,), 1, num_keys=2), lambda x: lax.sort((x,), num_keys=2), (X,)),
    (lambda: sort.sort((), 0), lambda: lax.sort((), dimension=0), ()),
    (lambda x: sort.top_k(x, 5, 1), lambda x: lax.top_k(x, 5), (X,)),
    (lambda x: sort.top_k(x, -1, 1), lambda x: lax.top_k(x, -1), (X,)),
    (lambda x: sort.top_k(x, 1, 0), lambda x: lax.top_k(x, 1), (("complex64", (3,)),)),
    (
        lambda d: random_bits.random_wrap(d),
        lambda d: jax.random.wrap_key_data(d),
        (("float32", (2,)),),
    ),
    (
        lambda d: random_bits.random_wrap(d),
        lambda d: jax.random.wrap_key_data(d),
        (("uint32", (3,)),),
    ),
]


def first_sentence(error: BaseException) -> str:
    """The part people search for; JAX's own objects inside a message are left out."""
    line = str(error).split("\n")[0].split(" for impl=")[0]
    return line.split(". (Tip")[0].replace("np.int64", "")


@pytest.mark.parametrize(("ours", "theirs", "args"), ERRORS)
def test_error_class_and_first_sentence(ours, theirs, args):
    try:
        jax.eval_shape(theirs, *structs_of(args))
    except Exception as error:
        expected = error
    else:
        pytest.fail("JAX accepts this")
    with pytest.raises(type(expected)) as caught:
        stage_out(flat(ours), avals_of(args))
    assert first_sentence(caught.value).startswith(first_sentence(expected))


def test_reshape_to_another_size():
    # JAX's lax.reshape fails in its compiler; the words are those of its older releases.
    with pytest.raises(TypeError, match="reshape total size must be unchanged") as caught:
        stage_out(lambda x: (shape.reshape(x, (5,)),), avals_of((X,)))
    assert "f32[3,4] has 12 elements, the new shape 5." in str(caught.value)
