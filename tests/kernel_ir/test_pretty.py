"""Kernels and programs as text."""

from collections.abc import Callable

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.pretty import format_expr
from tests.compiler.sample_programs import softmax, training_loop

F32 = np.dtype(np.float32)


def test_parentheses_only_where_needed() -> None:
    a, b, c = (ir.name(n, F32) for n in "abc")
    add, mul, sub = (lambda x, y, op=op: ir.binary(op, x, y) for op in ("add", "mul", "sub"))
    assert format_expr(add(a, mul(b, c))) == "a + b * c"
    assert format_expr(mul(add(a, b), c)) == "(a + b) * c"
    assert format_expr(sub(a, sub(b, c))) == "a - (b - c)"
    assert format_expr(sub(sub(a, b), c)) == "a - b - c"
    assert format_expr(ir.unary("neg", add(a, b))) == "-(a + b)"
    assert format_expr(ir.compare("le", add(a, b), c)) == "a + b <= c"


def test_constants() -> None:
    for value, dtype, text in (
        (1.5, np.float32, "1.5"),
        (np.nan, np.float64, "nan"),
        (True, np.bool_, "True"),
        (255, np.uint8, "255"),
        (1 - 2j, np.complex64, "(1-2j)"),
    ):
        assert format_expr(ir.const(value, dtype)) == text


def test_deep_expressions_print() -> None:
    e = ir.name("x", F32)
    for _ in range(5000):
        e = ir.unary("sin", e)
    assert format_expr(e).count("sin(") == 5000


def test_programs_print(golden: Callable[[str, str], None]) -> None:
    golden("kernel_ir/softmax", str(softmax()))
    golden("kernel_ir/training_loop", str(training_loop()))
