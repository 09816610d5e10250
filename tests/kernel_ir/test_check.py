"""Every rule of the loop language has a kernel that breaks it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.check import KernelError, check_kernel, check_program
from jaxlite.kernel_ir.program import (
    Branch,
    Buffer,
    Copy,
    HostCall,
    Launch,
    Loop,
    Program,
    Step,
    View,
    While,
)

F32 = np.dtype(np.float32)
I32 = np.dtype(np.int32)
I = ir.index("i")
ZERO = ir.i64(0)
ONE = ir.const(1, F32)
X = ir.load("x", I, F32)
ACC = ir.name("acc", F32)
PARAMS = (ir.Param("x", F32, 4), ir.Param("y", F32, 4, is_output=True))


def loop(*body: ir.Stmt, kind: Any = "serial", index: str = "i") -> ir.For:
    return ir.For(index, 4, body, kind)


def kernel(*body: ir.Stmt, params: Sequence[ir.Param] = PARAMS) -> ir.Kernel:
    return ir.Kernel("broken", tuple(params), body)


def test_a_good_kernel_passes() -> None:
    check_kernel(
        kernel(
            ir.Acc("acc", ONE, "add"),
            loop(ir.Combine("acc", X), kind="vector"),
            loop(ir.Let("t", X), ir.Store("y", I, ir.binary("mul", ir.name("t", F32), ACC))),
            ir.If(ir.compare("lt", ACC, ONE), (ir.Store("y", ZERO, ONE),)),
        )
    )


BROKEN = {
    "x is an input": kernel(loop(ir.Store("x", I, ONE))),
    "z is not a parameter": kernel(loop(ir.Store("z", I, ONE))),
    "w is not a parameter": kernel(loop(ir.Store("y", I, ir.load("w", I, F32)))),
    "x of float32 is read as int32": kernel(loop(ir.Let("t", ir.load("x", I, I32)))),
    "y of float32 stores int32": kernel(loop(ir.Store("y", I, ir.const(1, I32)))),
    "no loop has the index i": kernel(ir.Store("y", I, ONE)),
    "index of dtype int32": kernel(ir.Store("y", ir.const(0, I32), ONE)),
    "y[4] is out of range": kernel(ir.Store("y", ir.i64(4), ONE)),
    "x[-1] is out of range": kernel(ir.Let("t", ir.load("x", ir.i64(-1), F32))),
    "t is not bound here": kernel(loop(ir.Let("t", X)), ir.Store("y", ZERO, ir.name("t", F32))),
    "t is bound twice": kernel(ir.Let("t", ONE), ir.Let("t", ONE)),
    "x is the name of a buffer": kernel(ir.Let("x", ONE)),
    "t is a float32": kernel(ir.Let("t", ONE), ir.Let("u", ir.name("t", I32))),
    "t is not an accumulator": kernel(ir.Let("t", ONE), ir.Set("t", ONE)),
    "acc := int32 value": kernel(ir.Acc("acc", ONE), ir.Set("acc", ir.const(1, I32))),
    "acc is set and combined": kernel(ir.Acc("acc", ONE, "add"), ir.Set("acc", ONE)),
    "combiner sub": kernel(ir.Acc("acc", ONE, "sub")),
    "loop index i is in use": kernel(loop(loop())),
    "in a vector loop": kernel(loop(loop(kind="vector", index="j"), kind="vector")),
    "vector loop i sets acc from outside": kernel(
        ir.Acc("acc", ONE), loop(ir.Set("acc", X), kind="vector")
    ),
    "loop i has extent -1": kernel(ir.For("i", -1, ())),
    "condition of dtype float32": kernel(ir.If(ONE, ())),
    "two parameters have one name": kernel(params=(PARAMS[0], PARAMS[0])),
    "parameter x has the dtype object": kernel(params=(ir.Param("x", np.dtype(object), 1),)),
    "and of float32": kernel(ir.Let("t", ir.binary("and", ONE, ONE))),
    "exp of int32": kernel(ir.Let("t", ir.unary("exp", ir.const(1, I32)))),
    "add of bool": kernel(ir.Let("t", ir.unary("neg", ir.const(True, np.bool_)))),
    "max of complex64": kernel(ir.Let("t", ir.binary("max", *[ir.const(1j, np.complex64)] * 2))),
}
BROKEN["neg of bool"] = BROKEN.pop("add of bool")


@pytest.mark.parametrize("message", BROKEN)
def test_broken_kernels(message: str) -> None:
    with pytest.raises(KernelError) as caught:
        check_kernel(BROKEN[message])
    assert message in str(caught.value)
    assert "in kernel broken" in str(caught.value)


def test_names_may_be_used_in_sibling_loops_only_for_indices() -> None:
    check_kernel(kernel(loop(ir.Store("y", I, X)), loop(ir.Store("y", I, ONE))))


COPY = ir.Kernel("copy", PARAMS, (loop(ir.Store("y", I, X), kind="vector"),))
FOUR = (4,)


def program(*steps: Step, outputs: tuple[str, ...] = ("b",), workspace: int = 64) -> Program:
    buffers = (
        Buffer("a", F32, FOUR, "input"),
        Buffer("flag", ir.BOOL, (), "input"),
        Buffer("t", F32, (2, 4), "temp", 0),
        Buffer("b", F32, FOUR, "output"),
    )
    return Program("broken", buffers, ("a", "flag"), outputs, steps, workspace)


def launch(src: View, dst: View) -> Launch:
    return Launch(COPY, (src, dst))


A, B, T = View("a", FOUR), View("b", FOUR), View("t", FOUR, 0, (("k", 4),))
FLAG = View("flag", ())


def test_a_good_program_passes() -> None:
    check_program(program(Loop("k", 2, (launch(A, T),)), launch(View("t", FOUR, 4), B)))


BROKEN_PROGRAMS = {
    "output b is never written": program(launch(A, View("t", FOUR))),
    "t is read before it is written": program(launch(View("t", FOUR), B)),
    "input a is written": program(launch(A, A)),
    "no buffer z": program(launch(View("z", FOUR), B)),
    "no loop has the counter k": program(launch(A, T)),
    "leaves its buffer of 8": program(Loop("k", 3, (launch(A, T),))),
    "leaves its buffer of 4": program(launch(View("a", FOUR, 1), B)),
    "counter k is in use": program(Loop("k", 2, (Loop("k", 2, (launch(A, T),)),))),
    "copy: number of arguments": program(Launch(COPY, (A,))),
    "copy: x is float32[4], given": program(launch(View("a", (3,)), B)),
    "is not a bool scalar": program(While((), View("a", (1,)), ()), launch(A, B)),
    "is not a int32 scalar": program(Branch(FLAG, ((),)), launch(A, B)),
    "copy of": program(Copy(A, View("b", (3,)))),
    "t ends at byte 32": program(launch(A, B), workspace=16),
    "outputs ('c',), buffers ['b']": program(launch(A, B), outputs=("c",)),
    "input flag is written": program(HostCall(None, (), (A,), (FLAG,)), launch(A, B)),
}


@pytest.mark.parametrize("message", BROKEN_PROGRAMS)
def test_broken_programs(message: str) -> None:
    with pytest.raises(KernelError) as caught:
        check_program(BROKEN_PROGRAMS[message])
    assert message in str(caught.value)
    assert "in program broken" in str(caught.value)
