"""Laws over random programs: fused = unfused = interpreted = native = eager."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxlite.higher_order.scan import scan_p
from jaxlite.language.trace import get_aval
from jaxlite.primitives.arithmetic import add, max_, mul, neg, sub
from jaxlite.primitives.comparison import gt
from jaxlite.primitives.convert import convert_element_type
from jaxlite.primitives.cumulative import cumsum
from jaxlite.primitives.dot import dot_general
from jaxlite.primitives.elementwise import exp, tanh
from jaxlite.primitives.joining import concatenate, pad
from jaxlite.primitives.reduction import reduce_max, reduce_sum
from jaxlite.primitives.select import select_n
from jaxlite.primitives.shape import broadcast_in_dim, reshape, rev, transpose
from jaxlite.primitives.slicing import dynamic_slice, dynamic_update_slice, slice
from jaxlite.primitives.trigonometric import sin
from tests.compiler.programs import check_stages, run_eagerly, staged

F32 = np.float32
SIZES = st.sampled_from([1, 2, 3, 4, 5, 9, 17])
MAX_ELEMENTS = 400

#: One line per kind of step: (name, number of operands).
STEPS = (
    ("sin", 1), ("tanh", 1), ("neg", 1), ("exp", 1), ("scale", 1), ("add", 2), ("mul", 2),
    ("max", 2), ("select", 2), ("sum", 1), ("maximum", 1), ("spread", 1), ("transpose", 1),
    ("reshape", 1),
    ("slice", 1), ("rev", 1), ("pad", 1), ("concatenate", 2), ("dot", 2), ("cumsum", 1),
    ("dynamic_slice", 1), ("update", 2), ("round_trip", 1),
)  # fmt: skip


@st.composite
def programs(draw: Any) -> tuple[list[tuple[int, ...]], list[tuple[Any, ...]], list[int]]:
    """Return input shapes, steps (name, operand numbers, a seed), and which values are results."""
    shapes = draw(st.lists(st.lists(SIZES, min_size=0, max_size=3), min_size=1, max_size=3))
    n_steps = draw(st.integers(1, 9))
    steps = []
    for k in range(n_steps):
        name, arity = draw(st.sampled_from(STEPS))
        operands = [draw(st.integers(0, len(shapes) + k - 1)) for _ in range(arity)]
        steps.append((name, operands, draw(st.integers(0, 2**20))))
    total = len(shapes) + n_steps
    outs = draw(st.lists(st.integers(0, total - 1), min_size=1, max_size=3))
    return [tuple(s) for s in shapes], steps, [*outs, total - 1]


def bounded(x: Any) -> Any:
    """Keep values small, so that no step overflows."""
    return max_(sub(x, full(x, 0)), full(x, -3.0))


def full(x: Any, value: float) -> Any:
    return broadcast_in_dim(F32(value), get_aval(x).shape, ())


def fitted(y: Any, shape: tuple[int, ...]) -> Any:
    """Return something of ``shape`` that depends on ``y``."""
    have = get_aval(y).shape
    if have == shape:
        return y
    if have == shape[len(shape) - len(have) :]:
        return broadcast_in_dim(y, shape, tuple(range(len(shape) - len(have), len(shape))))
    axes = tuple(range(len(have)))
    return broadcast_in_dim(reduce_max(y, axes) if axes else y, shape, ())


def apply(name: str, xs: list[Any], seed: int) -> Any:
    """Apply one step; sizes that do not fit it make it something simpler."""
    x = xs[0]
    shape = get_aval(x).shape
    rank = len(shape)
    axis = seed % rank if rank else 0
    simple = {"sin": sin, "tanh": tanh, "neg": neg}
    if name in simple:
        return simple[name](x)
    if name == "exp":
        return exp(tanh(x))
    if name == "scale":
        return mul(x, F32(0.5 + seed % 3))
    if name == "round_trip":
        return convert_element_type(convert_element_type(x, np.int32), F32)
    if name in ("add", "mul", "max", "select"):
        y = fitted(xs[1], shape)
        if name == "select":
            return select_n(gt(x, y), y, tanh(x))
        return {"add": add, "mul": lambda a, b: mul(tanh(a), b), "max": max_}[name](x, y)
    if not rank:
        return broadcast_in_dim(x, (3,), ()) if name == "spread" else sin(x)
    if name in ("sum", "maximum"):
        axes = tuple(sorted({axis, (seed // 7) % rank}))
        return reduce_sum(tanh(x), axes) if name == "sum" else reduce_max(x, axes)
    if name == "spread":
        extra = 2 + seed % 3
        if get_aval(x).size * extra > MAX_ELEMENTS or rank > 3:
            return x
        places = tuple(a + (a >= axis) for a in range(rank))
        return broadcast_in_dim(x, (*shape[:axis], extra, *shape[axis:]), places)
    return apply_shape_step(name, xs, seed, shape, axis)


def apply_shape_step(name: str, xs: list[Any], seed: int, shape: tuple[int, ...], axis: int) -> Any:
    """Apply a step that moves elements."""
    x, rank = xs[0], len(shape)
    size, n = get_aval(x).size, shape[axis]
    if name == "transpose":
        return transpose(x, tuple(np.random.default_rng(seed).permutation(rank).tolist()))
    if name == "reshape":
        options = [(size,), (1, size), (*shape, 1)]
        options += [(d, size // d) for d in (2, 3, 4, 6) if size % d == 0]
        return reshape(x, options[seed % len(options)])
    if name == "slice":
        starts, limits, strides = [0] * rank, list(shape), [1] * rank
        starts[axis], strides[axis] = (seed // 2) % n, 1 + seed % 2
        limits[axis] -= (seed // 5) % (n - starts[axis])
        return slice(x, tuple(starts), tuple(limits), tuple(strides))
    if name == "rev":
        return rev(x, (axis,))
    if name == "pad":
        config = [(0, 0, 0)] * rank
        config[axis] = (seed % 3, seed % 2, seed % 2)
        return pad(x, F32(0.5), tuple(config)) if size * 3 < MAX_ELEMENTS else x
    if name == "concatenate":
        if 2 * size > MAX_ELEMENTS:
            return x
        return concatenate([x, fitted(xs[1], shape)], axis)
    if name == "cumsum":
        return cumsum(tanh(x), axis, bool(seed % 2))
    if name == "dynamic_slice":
        sizes = list(shape)
        sizes[axis] = 1 + seed % n
        start = convert_element_type(reduce_max(x, tuple(range(rank))), np.int32)
        starts = [np.int32(0)] * rank
        starts[axis] = start
        return dynamic_slice(x, tuple(starts), tuple(sizes))
    if name == "update":
        part = fitted(xs[1], (*shape[:axis], 1, *shape[axis + 1 :]))
        starts = [np.int32(0)] * rank
        starts[axis] = np.int32(seed % n)
        return dynamic_update_slice(x, part, tuple(starts))
    assert name == "dot"
    y = fitted(xs[1], (n, 1 + seed % 4))
    return dot_general(tanh(x), tanh(y), (((axis,), (0,)), ((), ())))


@pytest.mark.slow
@settings(max_examples=150)
@given(programs())
def test_all_ways_of_running_a_program_agree(
    program: tuple[list[tuple[int, ...]], list[tuple[Any, ...]], list[int]],
) -> None:
    shapes, steps, outs = program

    def f(*args: Any) -> list[Any]:
        values = make_values(list(args), steps)
        return [values[k] for k in outs]

    rng = np.random.default_rng(0)
    arrays = [np.asarray(rng.standard_normal(s), F32) for s in shapes]
    check_stages(f, *arrays)


def make_values(args: list[Any], steps: list[tuple[Any, ...]]) -> list[Any]:
    values = list(args)
    for name, operands, seed in steps:
        values.append(bounded(apply(name, [values[k] for k in operands], seed)))
    return values


@pytest.mark.slow
@settings(max_examples=100)
@given(programs(), st.integers(0, 3), st.booleans())
def test_loops_over_random_bodies_agree(
    program: tuple[list[tuple[int, ...]], list[tuple[Any, ...]], list[int]],
    length: int,
    is_reverse: bool,
) -> None:
    """Scan a random body: its inputs are carries and one scanned array, its results feed them."""
    shapes, steps, outs = program
    n_carry = len(shapes) - 1

    def body(*args: Any) -> list[Any]:
        values = make_values(list(args), steps)
        new = [fitted(values[outs[k % len(outs)]], shapes[k]) for k in range(n_carry)]
        return [*new, values[-1]]

    rng = np.random.default_rng(0)
    carry = [np.asarray(rng.standard_normal(s), F32) for s in shapes[:n_carry]]
    xs = np.asarray(rng.standard_normal((length, *shapes[-1])), F32)
    closed = staged(body, *carry, np.zeros(shapes[-1], F32))

    def f(*args: Any) -> Any:
        return scan_p.bind_all(
            *args, jaxpr=closed, length=length, reverse=is_reverse, num_consts=0, num_carry=n_carry
        )

    state, ys = list(carry), []
    for x in xs[::-1] if is_reverse else xs:
        *state, y = run_eagerly(closed, [*state, x])
        ys.append(y)
    y_shape = closed.jaxpr.outvars[-1].aval.shape
    stacked = np.zeros((length, *y_shape), F32)
    for k, y in enumerate(ys):
        stacked[length - 1 - k if is_reverse else k] = y
    check_stages(f, *carry, xs, expected=[*state, stacked])
