"""Steps of a program: loops, branches, views, copies, products, host calls, shared memory."""

import dataclasses
import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.interpret import interpret_program
from jaxlite.kernel_ir.program import (
    Branch,
    Buffer,
    Copy,
    HostCall,
    Launch,
    LibraryCall,
    Loop,
    Program,
    Step,
    View,
    While,
)
from jaxlite.runtime import cpu
from jaxlite.runtime.launch import Executable
from tests.compiler.kernel_tools import (
    F32,
    F64,
    I32,
    I,
    assert_close,
    assert_same,
    both,
    run_native,
)

ZERO = ir.i64(0)


def program(
    ins: dict[str, tuple[Any, tuple[int, ...]]],
    outs: dict[str, tuple[Any, tuple[int, ...]]],
    temps: dict[str, tuple[Any, tuple[int, ...]]],
    *steps: Step,
) -> Program:
    """Return a program; every temp has its own place in the workspace."""
    buffers = [Buffer(n, np.dtype(d), s, "input") for n, (d, s) in ins.items()]
    buffers += [Buffer(n, np.dtype(d), s, "output") for n, (d, s) in outs.items()]
    offset = 0
    for n, (d, s) in temps.items():
        buffers.append(Buffer(n, np.dtype(d), s, "temp", offset))
        offset += -(-buffers[-1].nbytes // 64) * 64
    return Program("test", tuple(buffers), tuple(ins), tuple(outs), steps, offset)


def add_kernel(n: int, amount: float = 1.0) -> ir.Kernel:
    """``y = x + amount`` on n elements."""
    value = ir.binary("add", ir.load("x", I, F32), ir.const(amount, F32))
    params = (ir.Param("x", F32, n), ir.Param("y", F32, n, is_output=True))
    return ir.Kernel("add", params, (ir.For("i", n, (ir.Store("y", I, value),), "vector"),))


def less_kernel(limit: float) -> ir.Kernel:
    """``flag = x < limit``."""
    value = ir.compare("lt", ir.load("x", ZERO, F32), ir.const(limit, F32))
    params = (ir.Param("x", F32, 1), ir.Param("flag", ir.BOOL, 1, is_output=True))
    return ir.Kernel("less", params, (ir.Store("flag", ZERO, value),))


def counting(limit: float) -> Program:
    """Count from x to limit in a while loop."""
    state = View("state", ())
    return program(
        {"x": (F32, ())},
        {"y": (F32, ())},
        {"state": (F32, ()), "flag": (np.bool_, ())},
        Copy(View("x", ()), state),
        While(
            (Launch(less_kernel(limit), (state, View("flag", ()))),),
            View("flag", ()),
            (Launch(add_kernel(1), (state, state)),),
        ),
        Copy(state, View("y", ())),
    )


def test_while_loop() -> None:
    assert_same(*both(counting(100.5), [np.array(0.25, F32)]))
    assert_same(*both(counting(-1), [np.array(0.25, F32)]))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("trip", [0, 1, 5])
def test_loop_over_rows(trip: int, reverse: bool) -> None:
    # ys[i] = carry; carry = xs[i] + 1 on row i
    rows = max(trip, 1)
    row = (("t", 3),)
    body = (
        Copy(View("carry", (3,)), View("ys", (3,), 0, row)),
        Launch(add_kernel(3), (View("xs", (3,), 0, row), View("carry", (3,)))),
    )
    steps = (
        Launch(add_kernel(3), (View("xs", (3,)), View("carry", (3,)))),
        Launch(add_kernel(3 * rows), (View("xs", (3 * rows,)), View("ys", (3 * rows,)))),
        Loop("t", trip, body, reverse),
    )
    p = program({"xs": (F32, (rows, 3))}, {"ys": (F32, (rows, 3))}, {"carry": (F32, (3,))}, *steps)
    assert_same(*both(p, [np.arange(3 * rows, dtype=F32).reshape(rows, 3)]))


def test_nested_loops_move_views_by_both_counters() -> None:
    element = (("a", 4), ("b", 1))
    inner = Launch(add_kernel(1), (View("x", (), 0, element), View("y", (), 0, element)))
    steps = Loop("a", 3, (Loop("b", 4, (inner,), reverse=True),))
    p = program({"x": (F32, (3, 4))}, {"y": (F32, (3, 4))}, {}, steps)
    assert_same(*both(p, [np.arange(12, dtype=F32).reshape(3, 4)]))


@pytest.mark.parametrize("case", [0, 1, 2])
def test_branch(case: int) -> None:
    x, y = View("x", (2,)), View("y", (2,))
    branches = tuple((Launch(add_kernel(2, amount), (x, y)),) for amount in (1.0, 10.0))
    p = program(
        {"x": (F32, (2,)), "index": (I32, ())},
        {"y": (F32, (2,))},
        {},
        Branch(View("index", ()), (*branches, (Copy(x, y),))),
    )
    assert_same(*both(p, [np.array([1, 2], F32), np.array(case, I32)]))


@pytest.mark.parametrize("n", [1, 16, 37, 200])
def test_kernel_in_place(n: int) -> None:
    state = View("state", (n,))
    steps = (Copy(View("x", (n,)), state), Launch(add_kernel(n), (state, state)))
    p = program(
        {"x": (F32, (n,))},
        {"y": (F32, (n,))},
        {"state": (F32, (n,))},
        *steps,
        Copy(state, View("y", (n,))),
    )
    assert_same(*both(p, [np.arange(n, dtype=F32)]))


@pytest.mark.parametrize(
    "dtype", [F32, F64, np.dtype(np.complex64), np.dtype(np.complex128)], ids=str
)
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
def test_gemm(dtype: np.dtype[Any], trans_a: bool, trans_b: bool) -> None:
    for batch, m, n, k in ((1, 3, 5, 4), (3, 1, 5, 4), (2, 3, 1, 1), (1, 4, 4, 0), (0, 2, 2, 2)):
        params = {"batch": batch, "m": m, "n": n, "k": k, "trans_a": trans_a, "trans_b": trans_b}
        check_gemm(dtype, params, batch * m * k, batch * k * n)


def test_gemm_with_strides_and_accumulation() -> None:
    params: dict[str, Any] = {"batch": 3, "m": 2, "n": 4, "k": 5, "trans_a": False, "trans_b": True}
    check_gemm(F32, {**params, "stride_b": 0}, 30, 20)
    check_gemm(F32, {**params, "stride_a": 3}, 16, 60)
    check_gemm(F64, {**params, "batch": 1, "accumulate": True}, 10, 20)


def check_gemm(dtype: np.dtype[Any], params: dict[str, Any], size_a: int, size_b: int) -> None:
    rng = np.random.default_rng(0)
    size = params["batch"] * params["m"] * params["n"]
    a, b, c = (rng.integers(-4, 5, s).astype(dtype) for s in (size_a, size_b, size))
    call = LibraryCall(
        "gemm",
        (View("a", a.shape), View("b", b.shape)),
        (View("out", c.shape),),
        tuple(params.items()),
    )
    ins = {"a": (dtype, a.shape), "b": (dtype, b.shape), "c": (dtype, c.shape)}
    p = program(
        ins, {"out": (dtype, c.shape)}, {}, Copy(View("c", c.shape), View("out", c.shape)), call
    )
    assert_close(*both(p, [a, b, c]))


class Square:
    """Stands for a primitive that only has ``impl``; it may fail, or keep its operands."""

    name = "square"

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.seen: list[Any] = []

    def impl(self, xp: Any, x: Any, *, power: int) -> Any:
        self.seen.append(x)
        if self.error:
            raise self.error
        return x**power, x.sum(keepdims=True)


def host_program(square: Square, trip: int = 1) -> Program:
    call = HostCall(square, (("power", 2),), (View("x", (3,)),), (View("y", (3,)), View("z", (1,))))
    return program(
        {"x": (F64, (3,))}, {"y": (F64, (3,)), "z": (F64, (1,))}, {}, Loop("t", trip, (call,))
    )


def test_host_call() -> None:
    assert_same(*both(host_program(Square()), [np.array([1.0, 2, 3])]))


def test_host_calls_keep_their_operands() -> None:
    square = Square()
    x = np.array([1.0, 2, 3])
    run_native(host_program(square, trip=3), [x])
    x[:] = 0
    assert [s.tolist() for s in square.seen] == [[1.0, 2, 3]] * 3


@pytest.mark.parametrize("error", [KeyError("no"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
def test_an_exception_in_a_host_call_ends_the_run(error: BaseException) -> None:
    square = Square(error)
    with pytest.raises(type(error)) as caught:
        run_native(host_program(square, trip=5), [np.ones(3)])
    assert caught.value is error
    assert len(square.seen) == 1


def endless() -> Executable:
    p = counting(np.inf)  # a float32 stops growing at 2**24
    return cpu.load(emit_llvm(p, cpu.host_target()), p)


def test_keyboard_interrupt_stops_a_native_loop() -> None:
    executable = endless()
    sender = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    sender.start()
    start_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        executable.run((np.array(0, F32),))
    assert time.monotonic() - start_s < 5
    sender.join()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
def test_the_exception_of_a_signal_handler_comes_through() -> None:
    executable = endless()

    def raise_timeout(*_: Any) -> None:
        raise TimeoutError("too slow")

    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError, match="too slow"):
            executable.run((np.array(0, F32),))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_native_loop_lets_other_threads_run() -> None:
    executable = endless()
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        for _ in range(20):
            time.sleep(0.002)
            ticks += 1
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=tick)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        executable.run((np.array(0, F32),))
    other.join()
    assert ticks == 20


def test_entry_by_table_of_pointers() -> None:
    # Where the layout of Python objects is not the one we know.
    target = dataclasses.replace(cpu.host_target(), tuple_items=-1, array_data=-1)
    square = Square()
    for p, x in ((counting(9), np.array(2, F32)), (host_program(square, 2), np.ones(3))):
        assert_same(run_native(p, [x], target), list(interpret_program(p, [x])))


def test_constants_are_the_last_inputs() -> None:
    p = program(
        {"x": (F32, (4,)), "c": (F32, (4,))},
        {"y": (F32, (4,))},
        {},
        Copy(View("c", (4,)), View("y", (4,))),
    )
    constant = np.arange(4, dtype=F32)
    executable = cpu.load(emit_llvm(p, cpu.host_target()), p, (constant,))
    (y,) = executable.run((np.zeros(4, F32),))
    assert y.tolist() == constant.tolist()
    assert not np.shares_memory(y, constant)
