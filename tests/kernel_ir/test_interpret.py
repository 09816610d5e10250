"""The oracle itself: the semantics written down in ``nodes.py``, on values worked out by hand."""

from typing import Any

import numpy as np
import pytest

from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.interpret import interpret_kernel, interpret_program
from jaxlite.kernel_ir.program import Buffer, Launch, Program, View

F32 = np.dtype(np.float32)
I8 = np.dtype(np.int8)
U8 = np.dtype(np.uint8)
ZERO = ir.i64(0)
I = ir.index("i")


def evaluate(e: ir.Expr) -> Any:
    out = np.zeros(1, e.dtype)
    kernel = ir.Kernel(
        "one", (ir.Param("y", e.dtype, 1, is_output=True),), (ir.Store("y", ZERO, e),)
    )
    interpret_kernel(kernel, {"y": out})
    return out[0]


def i8(op: str, x: int, y: int) -> int:
    return int(evaluate(ir.binary(op, ir.const(x, I8), ir.const(y, I8))))


@pytest.mark.parametrize(
    ("op", "x", "y", "result"),
    [
        ("add", 127, 1, -128),
        ("mul", 100, 3, 44),
        ("div", -7, 2, -3),
        ("div", 7, -2, -3),
        ("div", 5, 0, -1),
        ("div", -128, -1, -128),
        ("rem", -7, 2, -1),
        ("rem", 7, -2, 1),
        ("rem", 5, 0, 5),
        ("rem", -128, -1, 0),
        ("shl", 1, 7, -128),
        ("shl", 1, 8, 0),
        ("shl", 1, -1, 0),
        ("shr_logical", -1, 4, 15),
        ("shr_logical", -1, 8, 0),
        ("shr_arithmetic", -100, 2, -25),
        ("shr_arithmetic", -100, 99, -1),
        ("mulhi", 100, 100, 39),
        ("mulhi", -100, 100, -40),
        ("min", -3, 2, -3),
    ],
)
def test_integers_wrap_and_are_total(op: str, x: int, y: int, result: int) -> None:
    assert i8(op, x, y) == result


def test_unsigned_division_by_zero_is_all_ones() -> None:
    assert evaluate(ir.binary("div", ir.const(5, U8), ir.const(0, U8))) == 255


@pytest.mark.parametrize(
    ("x", "dtype", "result"),
    [
        (300.7, "uint8", 255),
        (-3.9, "uint8", 0),
        (-3.9, "int8", -3),
        (np.nan, "int32", 0),
        (np.inf, "int32", 2**31 - 1),
        (-np.inf, "int64", -(2**63)),
        (1e30, "uint64", 2**64 - 1),
    ],
)
def test_floats_saturate_in_casts_to_integers(x: float, dtype: str, result: int) -> None:
    assert int(evaluate(ir.cast(ir.const(x, np.float64), dtype))) == result


def test_min_and_max_propagate_nan() -> None:
    nan, one = ir.const(np.nan, F32), ir.const(1, F32)
    for op in ("min", "max"):
        assert np.isnan(evaluate(ir.binary(op, nan, one)))
        assert np.isnan(evaluate(ir.binary(op, one, nan)))


def test_casts_to_bool_ask_for_nonzero() -> None:
    for value, expected in ((0.0, False), (-0.0, False), (0.1, True), (np.nan, True)):
        assert bool(evaluate(ir.cast(ir.const(value, F32), np.bool_))) is expected
    assert evaluate(ir.cast(ir.const(1j, np.complex64), np.bool_))
    assert evaluate(ir.cast(ir.const(2 + 1j, np.complex64), F32)) == 2


def test_sign_keeps_zeros_and_nan() -> None:
    for value in (0.0, -0.0, np.nan):
        result = evaluate(ir.unary("sign", ir.const(value, F32)))
        np.testing.assert_array_equal(result, np.float32(value))
        assert np.signbit(result) == np.signbit(np.float32(value))


def test_loads_see_earlier_stores() -> None:
    # y[i + 1] = y[i] + 1, a chain
    y = np.zeros(5, F32)
    step = ir.binary("add", ir.load("y", I, F32), ir.const(1, F32))
    body = (ir.For("i", 4, (ir.Store("y", ir.binary("add", I, ir.i64(1)), step),)),)
    interpret_kernel(ir.Kernel("chain", (ir.Param("y", F32, 5, is_output=True),), body), {"y": y})
    assert y.tolist() == [0, 1, 2, 3, 4]


def test_indices_out_of_range_are_errors() -> None:
    kernel = ir.Kernel(
        "far",
        (ir.Param("y", F32, 2, is_output=True),),
        (ir.For("i", 3, (ir.Store("y", I, ir.const(1, F32)),)),),
    )
    with pytest.raises(IndexError, match=r"far: y\[2\] is out of range, size is 2"):
        interpret_kernel(kernel, {"y": np.zeros(2, F32)})


def test_temps_start_as_garbage_in_the_workspace() -> None:
    kernel = ir.Kernel(
        "copy",
        (ir.Param("x", U8, 2), ir.Param("y", U8, 2, is_output=True)),
        (ir.For("i", 2, (ir.Store("y", I, ir.load("x", I, U8)),)),),
    )
    buffers = (Buffer("t", U8, (2,), "temp", 8), Buffer("y", U8, (2,), "output"))
    launch = Launch(kernel, (View("t", (2,)), View("y", (2,))))
    (y,) = interpret_program(Program("p", buffers, (), ("y",), (launch,), 16), [])
    assert y.tolist() == [0xA5, 0xA5]
