"""Long loops shared by threads: the same numbers for any number, and no hang after a fork."""

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import Program
from jaxlite.runtime import cpu, threads
from jaxlite.settings import override
from tests.compiler.kernel_tools import F32, I, loop_program

N = 1_000_003
X = np.random.default_rng(0).standard_normal(N).astype(F32)

needs_openmp = pytest.mark.skipif(threads.openmp() is None, reason="needs libgomp")


def long_loop() -> Program:
    x = ir.load("x", I, F32)
    value = ir.binary("add", ir.binary("mul", x, x), ir.unary("exp", ir.unary("neg", x)))
    return loop_program(N, {"x": (F32, N)}, {"y": (F32, N)}, (ir.Store("y", I, value),))


def run(n_threads: int) -> Any:
    with override(num_threads=n_threads):
        program = long_loop()
        return cpu.load(emit_llvm(program, cpu.host_target()), program).run((X,))[0]


@needs_openmp
def test_every_number_of_threads_gives_the_same_bits() -> None:
    alone = run(1)
    for n_threads in (2, 3, 7, 16):
        np.testing.assert_array_equal(run(n_threads), alone)


@needs_openmp
def test_short_loops_and_single_threads_are_plain_code() -> None:
    with override(num_threads=2):
        assert "jaxlite_parallel" in emit_llvm(long_loop(), cpu.host_target())
        body = (ir.Store("y", I, ir.load("x", I, F32)),)
        short = loop_program(100, {"x": (F32, 100)}, {"y": (F32, 100)}, body)
        assert "jaxlite_parallel" not in emit_llvm(short, cpu.host_target())
    with override(num_threads=1):
        assert "jaxlite_parallel" not in emit_llvm(long_loop(), cpu.host_target())


@needs_openmp
def test_python_threads_may_run_shared_loops_at_once() -> None:
    expected = run(1)
    with override(num_threads=2):
        program = long_loop()
        shared = cpu.load(emit_llvm(program, cpu.host_target()), program)
    results: list[Any] = []
    workers = [
        threading.Thread(target=lambda: results.append(shared.run((X,))[0])) for _ in range(4)
    ]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(results) == 4
    for y in results:
        np.testing.assert_array_equal(y, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
# JAX, where another test has imported it, warns of every fork.
@pytest.mark.filterwarnings("ignore:.*_at_fork.*:pytest.PytestUnraisableExceptionWarning")
def test_a_forked_child_runs_serially() -> None:
    with override(num_threads=2):
        program = long_loop()
        executable = cpu.load(emit_llvm(program, cpu.host_target()), program)
        expected = executable.run((X,))[0]
        child = os.fork()
        if child == 0:
            good = np.array_equal(executable.run((X,))[0], expected)
            os._exit(0 if good and not cpu.host_target().threads else 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def test_without_openmp_everything_is_serial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "openmp", lambda: None)
    alone = threads.Threads(None, lambda: None, lambda text: text)
    with override(num_threads=8):
        assert alone.update() == 1


def test_processors_are_those_this_process_may_use() -> None:
    assert 1 <= threads.processors() <= (os.cpu_count() or 1)
