"""Stage 5, lower: kernels of every shape compute what the primitives do."""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from jaxlite.compiler.optimise import optimise
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import Launch, Program
from jaxlite.language.trace import get_aval
from jaxlite.primitives.argreduce import argmax, argmin
from jaxlite.primitives.arithmetic import add, div, mul, neg, sub
from jaxlite.primitives.bitwise import bitwise_and
from jaxlite.primitives.comparison import gt
from jaxlite.primitives.convert import convert_element_type
from jaxlite.primitives.cumulative import cummax, cumprod, cumsum
from jaxlite.primitives.dot import dot_general
from jaxlite.primitives.elementwise import exp, tanh
from jaxlite.primitives.indexing import ScatterDimensionNumbers
from jaxlite.primitives.joining import concatenate, pad
from jaxlite.primitives.reduction import reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum
from jaxlite.primitives.scatter import scatter_add
from jaxlite.primitives.shape import broadcast_in_dim, broadcasted_iota, reshape, rev, transpose
from jaxlite.primitives.slicing import dynamic_slice, dynamic_update_slice
from jaxlite.primitives.slicing import slice as slice_
from jaxlite.primitives.trigonometric import cos, sin
from tests.compiler.programs import check_stages, f32, make_program, staged

F32 = np.float32
ROWS_OF_VECTOR = ScatterDimensionNumbers((), (0,), (0,))
X = f32(8, 16)
I3 = np.int32(3)
Case = tuple[Callable[..., Sequence[Any]], tuple[Any, ...]]


def along(x: Any, shape: tuple[int, ...], *axes: int) -> Any:
    return broadcast_in_dim(x, shape, axes)


def softmax(x: Any) -> list[Any]:
    shape = get_aval(x).shape
    e = exp(sub(x, along(reduce_max(x, (1,)), shape, 0)))
    return [div(e, along(reduce_sum(e, (1,)), shape, 0))]


def layer_norm(x: Any) -> list[Any]:
    shape = get_aval(x).shape
    n = F32(shape[1])
    centred = sub(x, along(div(reduce_sum(x, (1,)), n), shape, 0))
    variance = div(reduce_sum(mul(centred, centred), (1,)), n)
    return [div(centred, along(add(variance, F32(1)), shape, 0)), variance]


def squared_error(a: Any, b: Any) -> list[Any]:
    r = sub(a, b)
    return [reduce_sum(mul(r, r), (0,)), mul(r, F32(2))]


def product(*numbers: Any) -> Callable[..., list[Any]]:
    return lambda a, b: [tanh(dot_general(tanh(a), tanh(b), numbers))]


def stencil(x: Any) -> list[Any]:
    left = pad(x, F32(0), ((1, -1, 0),))
    right = pad(x, F32(0), ((-1, 1, 0),))
    return [add(mul(x, F32(0.5)), add(left, right))]


REDUCTIONS: dict[str, Case] = {
    "rows": (lambda x: [reduce_sum(exp(x), (1,))], (X,)),
    "rows, several axes": (lambda x: [reduce_max(x, (1, 2))], (f32(3, 5, 7),)),
    "outer and inner axis": (lambda x: [reduce_sum(x, (0, 2))], (f32(10, 5, 20),)),
    "middle axis": (lambda x: [reduce_max(neg(x), (1,))], (f32(6, 11, 20),)),
    "middle axis, short last": (lambda x: [reduce_sum(x, (1,))], (f32(6, 11, 4),)),
    "columns": (lambda x: [reduce_sum(x, (0,))], (f32(20, 530),)),
    "columns, epilogue": (lambda x: [exp(reduce_sum(mul(x, x), (0,)))], (f32(20, 33),)),
    "columns, several": (lambda x: [reduce_sum(x, (0,)), reduce_min(x, (0,))], (f32(20, 33),)),
    "columns with a map": (lambda x: [reduce_sum(x, (0,)), sin(x)], (f32(20, 33),)),
    "few columns": (lambda x: [reduce_sum(x, (0,))], (f32(100, 3),)),
    "short rows": (softmax, (f32(40, 4),)),
    "short columns": (lambda x: [reduce_prod(x, (0,))], (f32(3, 40),)),
    "everything": (lambda x: [div(reduce_sum(x, (0, 1)), F32(7))], (X,)),
    "softmax": (softmax, (X,)),
    "layer norm": (layer_norm, (X,)),
    "one row": (softmax, (f32(1, 50),)),
    "one column": (softmax, (f32(50, 1),)),
    "argmax rows": (lambda x: [argmax(mul(x, x), 1, np.int32)], (X,)),
    "argmin columns": (lambda x: [argmin(x, 0, np.int32)], (f32(50, 40),)),
    "argmax few": (lambda x: [argmax(x, 1, np.int32)], (f32(50, 4),)),
    "argmax unit": (lambda x: [argmax(x, 1, np.int32)], (f32(50, 1),)),
    "argmax ties and NaN": (
        lambda x: [argmax(x, 1, np.int32), argmin(x, 1, np.int32)],
        (np.array([[1, 3, 3, 0, 0] * 3, [2, np.nan, 9, np.nan, 1] * 3], F32),),
    ),
    "argmax bool": (lambda x: [argmax(gt(x, F32(0)), 1, np.int32)], (X,)),
    "argmax columns, int8": (
        lambda x: [argmax(x, 0, np.int32)],
        (np.full((9, 20), -128, np.int8),),
    ),
    "max with NaN": (
        lambda x: [reduce_max(x, (0,)), reduce_min(x, (0,))],
        (np.array([1, np.nan, 2] * 10, F32),),
    ),
    "or": (lambda x: [reduce_or(gt(x, F32(2)), (1,))], (X,)),
    "int sum wraps": (lambda x: [reduce_sum(x, (0,))], (np.full(20, 100, np.int8),)),
    "float16": (lambda x: [reduce_sum(x, (1,))], (np.full((3, 4000), 1, np.float16),)),
    "bfloat16": (
        lambda x: [reduce_sum(x, (0,))],
        (np.full((700, 20), 1, ml_dtypes.bfloat16),),
    ),
    "complex": (lambda x: [reduce_sum(mul(x, x), (1,))], (X.astype(np.complex64) * (1 + 2j),)),
    "complex product": (lambda x: [reduce_prod(x, (0,))], (X.astype(np.complex64) * (1 + 2j),)),
    "max of bool": (
        lambda x: [reduce_max(gt(x, F32(1)), (1,)), reduce_min(gt(x, F32(-2)), (1,))],
        (X,),
    ),
    "keepdims": (lambda x: [mul(along(reduce_sum(x, (1,)), (8, 1), 0), F32(2))], (X,)),
    "sum beside a map": (squared_error, (f32(99), f32(99, seed=1))),
}
INDEX_MAPS: dict[str, Case] = {
    "transpose": (lambda x: [add(transpose(x, (1, 0)), F32(1))], (X,)),
    "transpose 3": (lambda x: [sin(transpose(x, (2, 0, 1)))], (f32(3, 4, 5),)),
    "merge and split": (lambda x: [exp(reshape(mul(x, x), (4, 32)))], (X,)),
    "split and merge": (
        lambda x: [mul(reshape(exp(reshape(x, (4, 2, 16))), (16, 8)), F32(2))],
        (X,),
    ),
    "uneven reshape": (lambda x: [sin(reshape(transpose(x, (1, 0)), (32, 4)))], (X,)),
    "rev": (lambda x: [sin(rev(x, (0, 1)))], (X,)),
    "slice": (lambda x: [neg(slice_(x, (1, 2), (7, 15), (2, 3)))], (X,)),
    "first half": (lambda x: [sin(slice_(x, (0, 0), (8, 8), None))], (X,)),
    "pad": (lambda x: [exp(pad(x, F32(0), ((1, 2, 0), (3, 1, 0))))], (X,)),
    "pad inside": (lambda x: [exp(pad(x, F32(0), ((1, 2, 2), (-3, 1, 1))))], (X,)),
    "stencil": (stencil, (f32(100),)),
    "concatenate": (lambda x: [mul(concatenate([x, neg(x), x], 0), F32(3))], (X,)),
    "concatenate columns": (lambda x: [sin(concatenate([exp(x), x], 1))], (X,)),
    "concatenate many": (
        lambda x: [concatenate([slice_(x, (k,), (k + 1,), None) for k in range(19, -1, -1)], 0)],
        (f32(20),),
    ),
    "concatenate many maps": (
        lambda x: [neg(concatenate([mul(x, F32(k)) for k in range(12)], 1))],
        (f32(5, 3),),
    ),
    "concatenate nothing": (
        lambda x: [concatenate([slice_(x, (0, 0), (5, k % 2), None) for k in range(12)], 1)],
        (f32(5, 3),),
    ),
    "iota": (lambda x: [add(x, broadcasted_iota(np.dtype(F32), (8, 16), 1))], (X,)),
    "broadcast rows": (lambda x, b: [mul(x, along(exp(b), (8, 16), 0))], (X, X[:, 0])),
    "broadcast columns": (lambda x, b: [mul(x, along(exp(b), (8, 16), 1))], (X, X[0])),
    "scalar": (lambda x, b: [mul(x, exp(b))], (X, F32(2))),
    "dynamic slice": (
        lambda x, i: [mul(dynamic_slice(x, (i, np.int32(2)), (2, 5)), F32(2))],
        (X, np.int32(30)),
    ),
    "update": (
        lambda x, u, i: [dynamic_update_slice(x, sin(u), (i, np.int32(2)))],
        (X, f32(2, 3), I3),
    ),
    "update of a map": (
        lambda x, u, i: [dynamic_update_slice(exp(x), u, (i, np.int32(-2)))],
        (X, f32(2, 3), I3),
    ),
    "two updates": (
        lambda x, u: [
            dynamic_update_slice(dynamic_update_slice(x, u, (I3, I3)), u, (np.int32(0), I3))
        ],
        (X, f32(2, 3)),
    ),
    "add to one place": (
        lambda x, u: [scatter_add(x, along(np.int32(1), (9, 1)), u, ROWS_OF_VECTOR)],
        (f32(3), f32(9)),
    ),
    "cumsum": (lambda x: [cumsum(mul(x, x), 1, False)], (X,)),
    "cumsum down, reversed": (lambda x: [neg(cumsum(x, 0, True))], (X,)),
    "cumprod in the middle": (lambda x: [cumprod(x, 1, False)], (f32(3, 4, 5),)),
    "cumsum of one value": (lambda x: [cumsum(along(exp(x), (3,)), 0, False)], (F32(2),)),
    "cummax": (lambda x: [cummax(x, 0, True)], (f32(30),)),
    "cumsum of bfloat16": (
        lambda x: [cumsum(x, 0, False)],
        (np.ones((300, 3), ml_dtypes.bfloat16),),
    ),
}
PRODUCTS: dict[str, Case] = {
    "blas": (product(((1,), (0,)), ((), ())), (f32(64, 32), f32(32, 48))),
    "blas, both transposed": (product(((0,), (1,)), ((), ())), (f32(32, 64), f32(48, 32))),
    "short": (product(((1,), (0,)), ((), ())), (f32(32, 8), f32(8, 16))),
    "columns": (product(((0,), (0,)), ((), ())), (f32(32, 8), f32(32, 16))),
    "rows": (product(((1,), (1,)), ((), ())), (f32(8, 32), f32(16, 32))),
    "matrix vector": (product(((1,), (0,)), ((), ())), (f32(64, 30), f32(30))),
    "vector matrix": (product(((0,), (0,)), ((), ())), (f32(64), f32(64, 30))),
    "inner": (product(((0,), (0,)), ((), ())), (f32(64), f32(64))),
    "outer": (product(((), ()), ((), ())), (f32(20), f32(30))),
    "batch": (product(((2,), (1,)), ((0,), (0,))), (f32(3, 30, 20), f32(3, 20, 40))),
    "batch, packed": (
        product(((1,), (3,)), ((0, 2), (0, 1))),
        (f32(2, 30, 4, 20), f32(2, 4, 40, 30)),
    ),
    "two contracted": (product(((1, 2), (1, 0)), ((), ())), (f32(30, 8, 9), f32(9, 8, 20))),
    "unit axes": (product(((1,), (0,)), ((), ())), (f32(64, 1), f32(1, 48))),
    "empty contraction": (product(((1,), (0,)), ((), ())), (f32(4, 0), f32(0, 3))),
    "complex": (
        lambda a, b: [dot_general(a, b, (((1,), (0,)), ((), ())))],
        (f32(30, 20).astype(np.complex64) * 1j, f32(20, 30).astype(np.complex64)),
    ),
    "int": (
        lambda a, b: [dot_general(a, b, (((1,), (0,)), ((), ())))],
        (
            np.arange(600, dtype=np.int32).reshape(20, 30),
            np.arange(900, dtype=np.int32).reshape(30, 30),
        ),
    ),
    "bfloat16": (
        lambda a, b: [dot_general(a, b, (((1,), (0,)), ((), ())))],
        (f32(20, 30).astype(ml_dtypes.bfloat16), f32(30, 20).astype(ml_dtypes.bfloat16)),
    ),
}
SHAPES: dict[str, Case] = {
    "no elements": (lambda x: [exp(x), reduce_sum(x, (0,)), reduce_sum(x, (1,))], (f32(0, 5),)),
    "empty rows": (lambda x: [mul(reduce_sum(exp(x), (1,)), F32(2))], (f32(5, 0),)),
    "empty maximum": (lambda x: [reduce_max(x, (1,))], (f32(5, 0),)),
    "scalars": (lambda x, y: [mul(x, y), sin(x)], (F32(2), F32(3))),
    "unit axes": (
        lambda x: [mul(x, along(reduce_sum(x, (2,)), (1, 9, 1, 1), 0, 1, 3))],
        (f32(1, 9, 1, 1),),
    ),
    "same value twice": (lambda x: [x, x, sin(x), sin(x), F32(3)], (X,)),
    "renamed shape twice": (lambda x: [reshape(sin(x), (16, 8)), reshape(sin(x), (128,))], (X,)),
    "two results": (lambda x: [sin(x), cos(x), reduce_sum(mul(x, x), (1,))], (X,)),
    "bool": (lambda x: [bitwise_and(gt(x, F32(0)), gt(F32(1), x))], (X,)),
}
ALL = REDUCTIONS | INDEX_MAPS | PRODUCTS | SHAPES


@pytest.mark.parametrize("name", ALL)
def test_kernels_compute_what_primitives_do(name: str) -> None:
    f, arrays = ALL[name]
    check_stages(f, *arrays)


LARGE: dict[str, Case] = {
    "blocks": (lambda x: [reduce_sum(mul(x, x), (0,))], (f32(200001),)),
    "blocks of rows": (lambda x: [reduce_max(x, (0, 1)), reduce_sum(x, (0, 1))], (f32(300, 400),)),
    "blocks with a map": (squared_error, (f32(100001), f32(100001, seed=1))),
    "parallel rows": (softmax, (f32(100, 700),)),
    "parallel columns": (lambda x: [reduce_sum(x, (0,))], (f32(300, 1100),)),
    "parallel maps": (
        lambda x, b: [add(transpose(x, (1, 0)), along(b, (900, 300), 1))],
        (f32(300, 900), f32(300)),
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_kernels(name: str) -> None:
    f, arrays = LARGE[name]
    check_stages(f, *arrays, is_interpreted=False)


DTYPES = ["bool", "float16", "float32", "float64", "complex64", "complex128"]
DTYPES += [f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_every_dtype_moves_and_converts(dtype: str) -> None:
    x = (np.arange(40).reshape(5, 8) % 3).astype(np.dtype(dtype))

    def f(a: Any, zero: Any) -> list[Any]:
        moved = pad(transpose(a, (1, 0)), zero, ((1, 0, 0), (0, 1, 0)))
        return [moved, convert_element_type(a, np.dtype(np.int32)), concatenate([a, a], 0)]

    check_stages(f, x, x.dtype.type(0))


# --- what the kernels look like ---


def kernels_of(program: Program) -> list[ir.Kernel]:
    return [s.kernel for s in program.steps if isinstance(s, Launch)]


def program_of(f: Callable[..., Sequence[Any]], *arrays: Any) -> Program:
    return make_program(optimise(staged(f, *arrays)))[1]


def test_an_elementwise_kernel_is_one_flat_vector_loop() -> None:
    (kernel,) = kernels_of(program_of(lambda x: [sin(mul(x, x))], f32(40, 30)))
    (loop,) = kernel.body
    assert isinstance(loop, ir.For)
    assert (loop.extent, loop.kind) == (1200, "vector")


def test_axes_that_run_on_are_one_loop() -> None:
    f = lambda x, b: [mul(reshape(x, (40, 3, 10)), along(b, (40, 3, 10), 0))]  # noqa: E731
    (kernel,) = kernels_of(program_of(f, f32(40, 30), f32(40)))
    loop = kernel.body[-1]
    assert isinstance(loop, ir.For)
    assert loop.extent == 40
    inner = loop.body[-1]
    assert isinstance(inner, ir.For)
    assert (inner.extent, inner.kind) == (30, "vector")


def test_padding_is_decided_by_cutting_the_domain() -> None:
    (kernel,) = kernels_of(program_of(stencil, f32(1000)))
    text = str(kernel)
    assert "select" not in text
    assert "min" not in text
    assert "for i in 998, vector" in text


def test_equal_kernels_are_one() -> None:
    def f(x: Any) -> list[Any]:
        for axis in (0, 1, 0):
            x = cumsum(x, axis, False)
        return [x]

    first, second, third = kernels_of(program_of(f, f32(5, 6)))
    assert first is third
    assert first is not second


def test_a_cached_exponential_is_not_computed_twice() -> None:
    (kernel,) = kernels_of(program_of(softmax, X))
    assert str(kernel).count("exp(") == 1


def test_names_and_comments_tell_what_a_kernel_does() -> None:
    (kernel,) = kernels_of(program_of(lambda x: [sin(mul(x, x))], X))
    assert kernel.name == "fused_mul_sin"
    assert kernel.comments[0].startswith("b:f32[8,16] = mul a a  # test_lower.py:")


def test_long_sums_have_blocks_of_a_fixed_length() -> None:
    # So the result does not depend on the number of threads.
    text = str(program_of(lambda x: [reduce_sum(x, (0,))], f32(100000)))
    assert "for b in 6, parallel" in text
    assert "for c in 16384, vector" in text
