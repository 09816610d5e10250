"""Loading programs: once per text, from disk if possible, from many threads, with limits."""

import gc
import threading
import timeit
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.errors import AllocationError, KernelCompileError
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import Program
from jaxlite.runtime import cpu
from jaxlite.settings import override
from tests.compiler.kernel_tools import F32, I, loop_program


def add_constant(amount: float, n: int = 8, comments: tuple[str, ...] = ()) -> Program:
    value = ir.binary("add", ir.load("x", I, F32), ir.const(amount, F32))
    program = loop_program(n, {"x": (F32, n)}, {"y": (F32, n)}, (ir.Store("y", I, value),))
    (launch,) = program.steps
    kernel = ir.Kernel("add", launch.kernel.params, launch.kernel.body, comments)  # type: ignore[union-attr]
    steps = (type(launch)(kernel, launch.args),)  # type: ignore[union-attr, call-arg]
    return Program("main", program.buffers, program.inputs, program.outputs, steps)


def load(program: Program) -> Any:
    return cpu.load(emit_llvm(program, cpu.host_target()), program)


def test_equal_texts_share_machine_code_whatever_their_comments() -> None:
    first, second = (
        load(add_constant(1.5)),
        load(add_constant(1.5, comments=("mul a b  # f.py:7",))),
    )
    assert first.code is second.code
    assert load(add_constant(2.5)).code is not first.code


def test_object_code_is_found_on_disk(tmp_path: Path) -> None:
    program = add_constant(3.25)
    text = emit_llvm(program, cpu.host_target())
    with override(cache_dir=str(tmp_path / "objects"), enable_compilation_cache=True):
        first = cpu.Compiler()
        first.compile(text)
        first.background.wait()  # the careful code is kept, not the quick one
        (file,) = (tmp_path / "objects").glob("*.o")
        written = file.stat().st_mtime_ns
        compiler = cpu.Compiler()
        compiler._machines = {}  # compiling again would fail
        code = compiler.compile(text)
    assert file.stat().st_mtime_ns == written
    executable = cpu.launch.Executable(program, (), cpu.host_target(), code)
    code.add_user(executable)
    (y,) = executable.run((np.zeros(8, F32),))
    assert y.tolist() == [3.25] * 8


def test_many_programs_stay_apart() -> None:
    executables = [load(add_constant(float(k))) for k in range(150)]  # several engines
    x = np.zeros(8, F32)
    assert [int(e.run((x,))[0][0]) for e in executables] == list(range(150))


def test_machine_code_is_freed_with_its_executables() -> None:
    compiler = cpu.Compiler()
    code = compiler.compile(emit_llvm(add_constant(77.0), cpu.host_target()))
    compiler.background.wait()
    engines = [weakref.ref(e) for e in code.engines]
    compiler.clear()
    assert all(e() is not None for e in engines)
    del code
    gc.collect()
    assert all(e() is None for e in engines)


def test_quick_code_is_replaced_by_careful_code_while_it_is_in_use() -> None:
    x = ir.load("x", I, F32)
    e = ir.binary("mul", ir.unary("exp", x), ir.unary("tanh", x))
    e = ir.binary("add", e, ir.const(0.8125, F32))  # a text no other test has
    program = loop_program(999, {"x": (F32, 999)}, {"y": (F32, 999)}, (ir.Store("y", I, e),))
    with override(cache_dir="off"):
        executable = load(program)
    values = np.linspace(-5, 5, 999, dtype=F32)
    run = executable.run  # callers may keep it
    quick, address = run((values,))[0], executable.code.address
    cpu.compiler().background.wait()
    assert executable.code.address != address
    np.testing.assert_array_equal(run((values,))[0], quick)
    assert load(program).code is executable.code


def test_long_programs_are_compiled_with_care_at_once() -> None:
    assert cpu.estimate_us("; program f\n; one call takes about 1234 us on one core\n") == 1234
    assert cpu.estimate_us("define void @f()") == 0
    n = 1 << 26
    x = ir.load("x", I, F32)
    e = ir.unary("exp", ir.unary("sin", ir.unary("exp", x)))
    program = loop_program(n, {"x": (F32, n)}, {"y": (F32, n)}, (ir.Store("y", I, e),))
    code = load(program).code
    cpu.compiler().background.wait()
    assert len(code.engines) == 1


def test_threads_may_compile_and_run_at_once() -> None:
    program = add_constant(1.0, n=1000)
    shared = load(program)
    failures: list[Any] = []

    def work(seed: int) -> None:
        x = np.full(1000, seed, F32)
        for k in range(20):
            own = load(add_constant(float(seed * 100 + k)))
            good = (shared.run((x,))[0] == seed + 1).all()
            if not good or own.run((x[:8],))[0][0] != seed + seed * 100 + k:
                failures.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_a_rejected_text_is_shown_around_the_fault() -> None:
    program = add_constant(1.0)
    text = emit_llvm(program, cpu.host_target()).replace("fadd", "fadf", 1)
    with pytest.raises(KernelCompileError) as caught:
        cpu.load(text, program)
    message = str(caught.value)
    assert "LLVM rejected the program" in message
    assert any(line.startswith(">") and "fadf" in line for line in message.splitlines())


def test_allocation_limit_is_checked_before_anything_runs() -> None:
    program = add_constant(1.0, n=1000)
    with override(max_allocation_bytes=4000):
        load(program)
    with override(max_allocation_bytes=3999), pytest.raises(AllocationError) as caught:
        load(program)
    assert "would allocate 4000 bytes" in str(caught.value)
    assert "float32[1000]" in str(caught.value)


def test_a_cached_call_takes_about_a_microsecond() -> None:
    value = ir.binary("add", ir.load("x", ir.i64(0), F32), ir.load("y", ir.i64(0), F32))
    one = {"x": (F32, 1), "y": (F32, 1)}
    body = (ir.Store("z", ir.i64(0), value),)
    run = load(loop_program(1, one, {"z": (F32, 1)}, body, loop=None)).run
    datas = (np.ones(1, F32), np.ones(1, F32))
    best_us = min(timeit.repeat(lambda: run(datas), number=2000, repeat=20)) / 2000 * 1e6
    # 0.7 us on an idle machine; the margin is for a busy one.
    assert best_us < 5
