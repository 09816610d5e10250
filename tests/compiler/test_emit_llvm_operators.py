"""Every operator on every dtype: machine code gives the interpreter's bits, scalar and vector."""

from typing import Any

import numpy as np
import pytest

from jaxlite.kernel_ir import nodes as ir
from tests.compiler.kernel_tools import (
    ALL,
    COMPLEXES,
    FLOATS,
    INTS,
    I,
    assert_close,
    assert_same,
    both,
    loop_program,
    values_of,
    with_width,
)

BOOL = ir.BOOL
#: One element is scalar code; 37 is no multiple of a register.
SIZES = (1, 37)
INT_BINARY = [
    "and",
    "or",
    "xor",
    "min",
    "max",
    "add",
    "sub",
    "mul",
    "div",
    "rem",
    "shl",
    "shr_logical",
    "shr_arithmetic",
    "mulhi",
]
FLOAT_BINARY = ["add", "sub", "mul", "div", "rem", "min", "max", "nextafter"]
FLOAT_UNARY = [
    "neg",
    "abs",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "round_half_even",
    "round_half_away",
    "sqrt",
    "isnan",
    "isfinite",
]


def ids(dtype: np.dtype[Any]) -> str:
    return dtype.name


def unary(op: str, dtype: np.dtype[Any], n: int, bits: int) -> tuple[Any, Any]:
    e = ir.unary(op, ir.load("x", I, dtype))
    body = (ir.Store("y", I, e),)
    program = loop_program(n, {"x": (dtype, n)}, {"y": (e.dtype, n)}, body)
    return both(program, [values_of(dtype, n)], with_width(bits))


def binary(e: ir.Expr, n: int, bits: int, seeds: tuple[int, int] = (0, 5)) -> tuple[Any, Any]:
    dtype = e.args[0].dtype
    body = (ir.Store("out", I, e),)
    program = loop_program(n, {"x": (dtype, n), "y": (dtype, n)}, {"out": (e.dtype, n)}, body)
    return both(program, [values_of(dtype, n, s) for s in seeds], with_width(bits))


def operands(dtype: np.dtype[Any]) -> tuple[ir.Expr, ir.Expr]:
    return ir.load("x", I, dtype), ir.load("y", I, dtype)


@pytest.mark.parametrize("bits", [128, 512])
@pytest.mark.parametrize("dtype", INTS, ids=ids)
def test_integer_operators_wrap_and_are_total(dtype: np.dtype[Any], bits: int) -> None:
    for n in SIZES:
        for op in ("neg", "not", "abs", "sign", "popcount", "clz"):
            assert_same(*unary(op, dtype, n, bits))
        for op in INT_BINARY:
            assert_same(*binary(ir.binary(op, *operands(dtype)), n, bits))


@pytest.mark.parametrize("dtype", FLOATS, ids=ids)
def test_float_operators_round_once(dtype: np.dtype[Any]) -> None:
    for n in SIZES:
        for op in FLOAT_UNARY:
            assert_same(*unary(op, dtype, n, 512))
        for op in FLOAT_BINARY:
            assert_same(*binary(ir.binary(op, *operands(dtype)), n, 512))
        assert_close(*unary("rsqrt", dtype, n, 512), ulps=1)


@pytest.mark.parametrize("dtype", [np.dtype("float32"), np.dtype("float64")], ids=ids)
def test_fused_product_and_sum_rounds_once(dtype: np.dtype[Any]) -> None:
    x, y = operands(dtype)
    # The product's own rounding error is all that is left; then every kind of value.
    for n in SIZES:
        for e in (ir.fma(x, y, ir.unary("neg", ir.binary("mul", x, y))), ir.fma(x, y, y)):
            assert_same(*binary(e, n, 512))


@pytest.mark.parametrize("dtype", [BOOL, *INTS, *FLOATS], ids=ids)
def test_comparisons(dtype: np.dtype[Any]) -> None:
    for n in SIZES:
        for op in sorted(ir.COMPARE_OPS):
            assert_same(*binary(ir.compare(op, *operands(dtype)), n, 512))


def test_bool_operators() -> None:
    for n in SIZES:
        assert_same(*unary("not", BOOL, n, 512))
        for op in ("and", "or", "xor", "min", "max"):
            assert_same(*binary(ir.binary(op, *operands(BOOL)), n, 512))


@pytest.mark.parametrize("dtype", COMPLEXES, ids=ids)
def test_complex_operators(dtype: np.dtype[Any]) -> None:
    for n in SIZES:
        for op in ("neg", "conj", "real", "imag"):
            assert_same(*unary(op, dtype, n, 512))
        for op in ("add", "sub", "mul"):
            assert_close(*binary(ir.binary(op, *operands(dtype)), n, 512))
        for op in ("eq", "ne"):
            assert_same(*binary(ir.compare(op, *operands(dtype)), n, 512))
        assert_close(*unary("abs", dtype, n, 512))


@pytest.mark.parametrize("dtype", COMPLEXES, ids=ids)
def test_complex_quotients_do_not_overflow_early(dtype: np.dtype[Any]) -> None:
    part = np.float32 if dtype.itemsize == 8 else np.float64
    big = float(np.finfo(part).max) / 8
    x = np.array([1 + 2j, big + big * 1j, 1e-3 - 5j, 3, 0], dtype)
    y = np.array([3 - 4j, big + big * 1j, 7j, -2, 1 + 1j], dtype)
    e = ir.binary("div", *operands(dtype))
    ins = {"x": (dtype, 5), "y": (dtype, 5)}
    program = loop_program(5, ins, {"out": (dtype, 5)}, (ir.Store("out", I, e),))
    assert_close(*both(program, [x, y]))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("source", ALL, ids=ids)
def test_casts_by_value(source: np.dtype[Any], n: int) -> None:
    for target in ALL:
        if target != source:
            e = ir.cast(ir.load("x", I, source), target)
            body = (ir.Store("y", I, e),)
            program = loop_program(n, {"x": (source, n)}, {"y": (target, n)}, body)
            assert_same(*both(program, [values_of(source, n)]))


def test_float64_is_rounded_to_float16_once() -> None:
    # 1 + 2**-11 is a tie between two float16; a little more, lost in float32, has to go up.
    x = np.array([1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11, 1 + 2.0**-11 - 2.0**-40, 65519.99999])
    e = ir.cast(ir.load("x", I, x.dtype), np.float16)
    program = loop_program(
        4, {"x": (x.dtype, 4)}, {"y": (np.dtype(np.float16), 4)}, (ir.Store("y", I, e),)
    )
    native, _ = both(program, [x])
    assert native[0].tolist() == [1.0009765625, 1.0, 1.0, 65504.0]


@pytest.mark.parametrize("source", [*INTS, *FLOATS], ids=ids)
def test_bitcasts_keep_bits(source: np.dtype[Any]) -> None:
    for n in SIZES:
        for target in (*INTS, *FLOATS):
            if target != source and target.itemsize == source.itemsize:
                e = ir.bitcast(ir.load("x", I, source), target)
                body = (ir.Store("y", I, e),)
                program = loop_program(n, {"x": (source, n)}, {"y": (target, n)}, body)
                assert_same(*both(program, [values_of(source, n)]))


@pytest.mark.parametrize("bits", [128, 512])
@pytest.mark.parametrize("dtype", ALL, ids=ids)
def test_reductions_at_every_kind_of_length(dtype: np.dtype[Any], bits: int) -> None:
    for n in (1, 2, 5, 16, 17, 64, 67, 200, 513):
        for op in sorted(ir.COMBINERS):
            floats = dtype not in (BOOL, *INTS)
            if floats and (op in ("and", "or", "xor") or (op != "add" and dtype.kind == "c")):
                continue
            start = ir.const(1 if op in ("mul", "min", "and") else 0, dtype)
            body = (
                ir.Acc("acc", start, op),
                ir.For("i", n, (ir.Combine("acc", ir.load("x", I, dtype)),), "vector"),
                ir.Store("y", ir.i64(0), ir.name("acc", dtype)),
            )
            program = loop_program(n, {"x": (dtype, n)}, {"y": (dtype, 1)}, body, loop=None)
            x = values_of(dtype, n)
            if floats and op in ("add", "mul"):
                # Powers of two: exact in any order.
                x = np.random.default_rng(0).choice([0.5, 1.0, 2.0, -1.0], n).astype(dtype)
                x = x if op == "add" else np.where(np.arange(n) < 4, x, dtype.type(1)).astype(dtype)
            native, oracle = both(program, [x], with_width(bits))
            # A 16-bit sum rounds at every step, so its order matters.
            if dtype.itemsize == 2 and floats and op == "add":
                assert abs(float(native[0][0]) - float(oracle[0][0])) <= n * 2.0**-5
            else:
                assert_same(native, oracle)
