"""Two programs by hand, for golden files: a kernel with three sweeps, and every kind of step."""

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import (
    Branch,
    Buffer,
    Copy,
    HostCall,
    Launch,
    LibraryCall,
    Loop,
    Program,
    View,
    While,
)

F32 = np.dtype(np.float32)
I32 = np.dtype(np.int32)
I = ir.index("i")
J = ir.index("j")
ZERO = ir.i64(0)


def softmax(rows: int = 4, columns: int = 37) -> Program:
    """Return a softmax over rows: maximum, sum of exponentials, quotient."""
    at = ir.binary("add", ir.binary("mul", I, ir.i64(columns)), J)
    shifted = ir.binary("sub", ir.load("x", at, F32), ir.name("top", F32))
    e = ir.unary("exp", shifted)
    body = (
        ir.Acc("top", ir.const(-np.inf, F32), "max"),
        ir.For("j", columns, (ir.Combine("top", ir.load("x", at, F32)),), "vector"),
        ir.Acc("total", ir.const(0, F32), "add"),
        ir.For("j", columns, (ir.Combine("total", e), ir.Store("y", at, e)), "vector"),
        ir.Let("scale", ir.binary("div", ir.const(1, F32), ir.name("total", F32))),
        ir.For(
            "j",
            columns,
            (ir.Store("y", at, ir.binary("mul", ir.load("y", at, F32), ir.name("scale", F32))),),
            "vector",
        ),
    )
    n = rows * columns
    kernel = ir.Kernel(
        "softmax",
        (ir.Param("x", F32, n), ir.Param("y", F32, n, is_output=True)),
        (ir.For("i", rows, body, "parallel"),),
        comments=("b = softmax a  # model.py:3",),
    )
    shape = (rows, columns)
    buffers = (Buffer("a", F32, shape, "input"), Buffer("b", F32, shape, "output"))
    return Program(
        "softmax", buffers, ("a",), ("b",), (Launch(kernel, (View("a", shape), View("b", shape))),)
    )


class Print:
    """Stands for a primitive."""

    name = "print"


def training_loop() -> Program:
    """Return a program with every kind of step: a product per turn, a while loop, a branch."""
    twice = _map("double", 16, lambda x: ir.binary("mul", x, ir.const(2, F32)))
    halve = _map("halve", 16, lambda x: ir.binary("div", x, ir.const(2, F32)))
    small = ir.Kernel(
        "is_large",
        (ir.Param("x", F32, 16), ir.Param("flag", ir.BOOL, 1, is_output=True)),
        (ir.Store("flag", ZERO, ir.compare("gt", ir.load("x", ZERO, F32), ir.const(1, F32))),),
    )
    w, t, square = View("w", (4, 4)), View("t", (4, 4)), (4, 4)
    product = LibraryCall(
        "gemm",
        (View("xs", square, 0, (("k", 16),)), w),
        (t,),
        tuple({"batch": 1, "m": 4, "n": 4, "k": 4, "trans_a": False, "trans_b": True}.items()),
    )
    steps = (
        Copy(View("w0", square), w),
        Loop("k", 3, (product, Launch(twice, (t, w))), reverse=True),
        While((Launch(small, (w, View("flag", ()))),), View("flag", ()), (Launch(halve, (w, w)),)),
        Branch(
            View("choice", ()),
            ((Copy(w, View("out", square)),), (Launch(twice, (w, View("out", square))),)),
        ),
        HostCall(Print(), (("label", "w"),), (View("out", square),), ()),
    )
    buffers = (
        Buffer("w0", F32, square, "input"),
        Buffer("xs", F32, (3, 4, 4), "input"),
        Buffer("choice", I32, (), "input"),
        Buffer("w", F32, square, "temp", 0),
        Buffer("t", F32, square, "temp", 64),
        Buffer("flag", ir.BOOL, (), "temp", 128),
        Buffer("out", F32, square, "output"),
    )
    return Program(
        "train", buffers, ("w0", "xs", "choice"), ("out",), steps, 192, ("made by hand",)
    )


def _map(name: str, n: int, f: object) -> ir.Kernel:
    assert callable(f)
    body = (ir.Store("y", I, f(ir.load("x", I, F32))),)
    params = (ir.Param("x", F32, n), ir.Param("y", F32, n, is_output=True))
    return ir.Kernel(name, params, (ir.For("i", n, body, "vector"),))
