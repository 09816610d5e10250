"""Where temps lie: they may share memory only if they never live at the same time."""

from itertools import combinations
from typing import Any

import numpy as np

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.compiler.in_place import reads_and_writes
from jaxlite.compiler.optimise import optimise
from jaxlite.compiler.plan_memory import ALIGNMENT, plan_memory
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import Buffer, Copy, Launch, Loop, Program, View
from tests.compiler.programs import f32, make_program

F32 = np.dtype(np.float32)
N = 100


def buffer(name: str, kind: Any) -> Buffer:
    return Buffer(name, F32, (N,), kind)


def view(name: str) -> View:
    return View(name, (N,))


def step(source: str, target: str) -> Launch:
    """Return the launch of ``target = source``."""
    i = ir.index("i")
    params = (ir.Param("in0", F32, N), ir.Param("out0", F32, N, is_output=True))
    store = ir.Store("out0", i, ir.load("in0", i, F32))
    return Launch(
        ir.Kernel("move", params, (ir.For("i", N, (store,), "vector"),)),
        (view(source), view(target)),
    )


def program(temps: str, *steps: Any) -> Program:
    buffers = [buffer("x", "input"), buffer("y", "output"), *(buffer(t, "temp") for t in temps)]
    return plan_memory(Program("p", tuple(buffers), ("x",), ("y",), steps))


def offsets(p: Program) -> dict[str, int]:
    return {b.name: b.offset_bytes for b in p.buffers if b.kind == "temp"}


def test_a_chain_needs_two_places() -> None:
    p = program(
        "abcd", step("x", "a"), step("a", "b"), step("b", "c"), step("c", "d"), step("d", "y")
    )
    at = offsets(p)
    assert at["a"] == at["c"] != at["b"] == at["d"]
    assert p.workspace_bytes == 2 * 448  # 400 bytes, rounded up to 64
    assert all(o % ALIGNMENT == 0 for o in at.values())


def test_what_lives_together_does_not_overlap() -> None:
    p = program(
        "abc", step("x", "a"), step("x", "b"), step("a", "c"), step("b", "y"), step("c", "y")
    )
    at = offsets(p)
    assert at["b"] not in (at["a"], at["c"])


def test_what_a_loop_hands_on_lives_through_it() -> None:
    # a is written at the end of a round and read at the beginning of the next.
    body = (step("a", "b"), step("b", "a"), step("x", "c"), step("c", "y"))
    p = program("abc", step("x", "a"), Loop("n", 3, body), step("a", "y"))
    at = offsets(p)
    assert at["a"] not in (at["b"], at["c"])
    assert at["b"] == at["c"]


def test_what_is_read_after_a_loop_lives_through_it() -> None:
    body = (step("x", "b"), step("b", "a"))
    p = program("ab", Loop("n", 3, body), step("a", "y"))
    assert offsets(p)["a"] != offsets(p)["b"]


def test_a_copy_of_a_dead_temp_goes() -> None:
    p = program("a", step("x", "a"), Copy(view("a"), view("y")))
    assert len(p.steps) == 1
    assert isinstance(p.steps[0], Launch)
    assert p.steps[0].args[1] == view("y")
    assert offsets(p) == {}


def test_a_copy_of_a_temp_that_is_needed_stays() -> None:
    p = program("ab", step("x", "a"), Copy(view("a"), view("b")), step("a", "y"), step("b", "y"))
    assert sum(isinstance(s, Copy) for s in p.steps) == 1


def test_unused_temps_have_no_place() -> None:
    p = program("ab", step("x", "a"), step("a", "y"))
    assert set(offsets(p)) == {"a"}


def test_temps_of_real_programs_do_not_overlap_while_they_live() -> None:
    def f(w: Any, x: Any) -> Any:
        h = x
        for _ in range(4):
            h = jnp.sort(jnp.tanh(h @ w), 1)
        return h.sum()

    _, p, _ = make_program(optimise(jax.make_jaxpr(jax.grad(f))(f32(40, 40), f32(40, 40))))
    touched: dict[str, list[int]] = {}
    for n, s in enumerate(p.steps):
        reads, writes = reads_and_writes(s)
        for v in (*reads, *writes):
            touched.setdefault(v.buffer, []).append(n)
    temps = [b for b in p.buffers if b.kind == "temp"]
    assert p.workspace_bytes < sum(b.nbytes for b in temps)
    for a, b in combinations(temps, 2):
        share = (
            a.offset_bytes < b.offset_bytes + b.nbytes
            and b.offset_bytes < a.offset_bytes + a.nbytes
        )
        if share:
            lives = sorted([touched[a.name], touched[b.name]])
            assert lives[0][-1] < lives[1][0], (a, b)
