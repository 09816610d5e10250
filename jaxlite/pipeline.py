"""The spine: stages 4 to 6 of 7. In: a closed jaxpr. Out: ``Compilation``, every stage kept.

    jaxpr -> optimise -> fuse -> lower -> plan memory -> emit -> load -> executable

``JAXLITE_CHECK=1`` runs the checkers between the stages; ``JAXLITE_DUMP=jaxpr,fuse,kernel,source``
writes their text to a folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

from jaxlite import events
from jaxlite.compiler.block import consts_of
from jaxlite.compiler.emit_cuda import emit_cuda
from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.compiler.fuse import fuse
from jaxlite.compiler.lower import lower
from jaxlite.compiler.optimise import optimise
from jaxlite.compiler.plan import FusionPlan
from jaxlite.compiler.plan_memory import plan_memory
from jaxlite.kernel_ir.check import check_program
from jaxlite.kernel_ir.program import Branch, Copy, Loop, Program, Step, While
from jaxlite.language.check import check_jaxpr
from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, jaxprs_in_params
from jaxlite.runtime import cuda
from jaxlite.runtime.cpu import host_target, load
from jaxlite.runtime.cuda import CudaExecutable
from jaxlite.runtime.launch import Executable
from jaxlite.settings import config

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compilation:
    """What every stage made of one jaxpr, and how long it took; ``executable.run`` runs it."""

    name: str
    jaxpr: ClosedJaxpr
    optimised: ClosedJaxpr
    plan: FusionPlan
    program: Program
    consts: tuple[np.ndarray[Any, Any], ...]
    source: str
    executable: Executable
    seconds: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Compilation({self.name}: {self.n_operations} operations, {self.n_kernels} kernels)"

    @property
    def n_operations(self) -> int:
        """Number of operations the program asks for, calls inlined, loop bodies counted once."""
        return count_operations(self.jaxpr.jaxpr)

    @property
    def n_kernels(self) -> int:
        """Number of kernels, library and host calls in the program's text (loop bodies once)."""
        return sum(not isinstance(s, Copy) for s in leaf_steps(self.program.steps))

    def text(self, stage: str) -> str:
        """Return one stage as text: 'jaxpr', 'optimised', 'fusion', 'kernels', 'llvm' or 'cuda'.

        'cuda' is what a GPU would run: it needs none to be written.
        """
        if stage == "cuda":
            return "\n".join(kernel.source for kernel in emit_cuda(self.program))
        stages = {
            "jaxpr": self.jaxpr,
            "optimised": self.optimised,
            "fusion": self.plan,
            "kernels": self.program,
            "llvm": self.source,
        }
        return str(stages[stage])


def count_operations(jaxpr: Jaxpr) -> int:
    """Return the number of equations; a call counts as its body, a loop as itself and its body."""
    total = 0
    for eqn in jaxpr.eqns:
        inner = [
            j.jaxpr if isinstance(j, ClosedJaxpr) else j for _, j in jaxprs_in_params(eqn.params)
        ]
        is_call = getattr(eqn.primitive, "role", "") == "call"
        total += sum(map(count_operations, inner)) + (not is_call)
    return total


def leaf_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the steps that do work, also those inside loops and branches."""
    for step in steps:
        match step:
            case Loop(body=body):
                yield from leaf_steps(body)
            case While(cond=cond, body=body):
                yield from leaf_steps(cond + body)
            case Branch(branches=branches):
                for branch in branches:
                    yield from leaf_steps(branch)
            case _:
                yield step


def load_on_gpu(closed: ClosedJaxpr, name: str, device: int) -> CudaExecutable:
    """Return ``closed`` ready to run on a GPU: the same stages with the CUDA back end."""
    program, values = lower(fuse(optimise(closed)), name)
    program = plan_memory(program)
    if config.frame.check:
        check_program(program)
    return cuda.load(program, emit_cuda(program), tuple(map(consts_of, values)), device)


def compile_jaxpr(closed: ClosedJaxpr, *, name: str = "main") -> Compilation:
    """Return the executable of ``closed`` with every stage on the way.

    The executable takes one C-contiguous array per argument of the jaxpr; its constants are inside.
    """
    seconds: dict[str, float] = {}
    optimised = _stage(name, "optimise", seconds, lambda: optimise(closed))
    plan = _stage(name, "fuse", seconds, lambda: fuse(optimised, is_on=config.frame.fuse != "off"))
    program, values = _stage(name, "lower", seconds, lambda: lower(plan, name))
    program = _stage(name, "plan_memory", seconds, lambda: plan_memory(program))
    if config.frame.check:
        check_jaxpr(optimised)
        check_program(program)
    target = host_target()
    text = _stage(name, "emit", seconds, lambda: emit_llvm(program, target))
    consts = tuple(map(consts_of, values))
    executable = _stage(name, "load", seconds, lambda: load(text, program, consts))
    if config.frame.dump:
        _dump(name, {"jaxpr": optimised, "fuse": plan, "kernel": program, "source": text})
    return Compilation(name, closed, optimised, plan, program, consts, text, executable, seconds)


def _stage(name: str, stage: str, seconds: dict[str, float], run: Callable[[], T]) -> T:
    """Run one stage, note its time, tell the listeners."""
    start = perf_counter()
    result = run()
    seconds[stage] = perf_counter() - start
    if events.listeners:
        events.publish(events.PassEnded(name, stage, seconds[stage]))
    return result


def _dump(name: str, stages: dict[str, Any]) -> None:
    """Write the stages that ``JAXLITE_DUMP`` names as text files."""
    folder = config.frame.dump_dir or "jaxlite_dump"
    os.makedirs(folder, exist_ok=True)
    wanted = config.frame.dump.split(",")
    name = "".join(c if c.isalnum() else "_" for c in name)  # "<lambda>" is no file name everywhere
    for stage, value in stages.items():
        if stage in wanted or "all" in wanted:
            with open(os.path.join(folder, f"{name}.{stage}.txt"), "w", encoding="utf-8") as file:
                file.write(f"{value}\n")
