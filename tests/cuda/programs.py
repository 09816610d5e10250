"""Run a program's CUDA C in the simulator. In: a program and its inputs. Out: its results.

Library and host calls are made with NumPy, loops and branches in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.compiler.emit_cuda import CudaKernel, emit_cuda
from jaxlite.kernel_ir.nodes import Kernel
from jaxlite.kernel_ir.program import (
    Branch,
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
from tests.cuda.simulator import Module

Arrays = Sequence[np.ndarray[Any, Any]]


def compile_programs(programs: Sequence[Program]) -> tuple[Module, dict[Kernel, CudaKernel]]:
    """Compile the kernels of several programs at once."""
    kernels = {k.kernel: k for program in programs for k in emit_cuda(program)}
    return Module(list(kernels.values())), kernels


class Run:
    """One call of a program."""

    def __init__(
        self, program: Program, module: Module, kernels: dict[Kernel, CudaKernel], inputs: Arrays
    ) -> None:
        self.program, self.module, self.kernels = program, module, kernels
        self.buffers = {
            n: np.ascontiguousarray(x) for n, x in zip(program.inputs, inputs, strict=True)
        }
        for b in program.buffers:
            if b.name not in self.buffers:  # rubbish, so that a read before a write is seen
                raw = np.full(b.size * b.dtype.itemsize, 0xAB, np.uint8)
                self.buffers[b.name] = raw.view(b.dtype).reshape(b.shape)
        self.counters: dict[str, int] = {}

    def results(self) -> list[np.ndarray[Any, Any]]:
        """Run all steps and return the outputs."""
        self.steps(self.program.steps)
        return [self.buffers[n] for n in self.program.outputs]

    def array(self, view: View, size: int | None = None) -> np.ndarray[Any, Any]:
        """Return the part of a buffer that ``view`` shows (``size`` elements from its start)."""
        start = view.offset + sum(self.counters[c] * s for c, s in view.counters)
        n = int(np.prod(view.shape)) if size is None else size
        flat = self.buffers[view.buffer].reshape(-1)[start : start + n]
        return flat.reshape(view.shape) if size is None else flat

    def steps(self, steps: Sequence[Step]) -> None:
        """Run steps in order."""
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """Run one step."""
        match step:
            case Launch(kernel, args):
                arrays = [self.array(v, p.size) for v, p in zip(args, kernel.params, strict=True)]
                self.module.run(self.kernels[kernel], arrays)
            case Copy(src, dst):
                self.array(dst)[...] = self.array(src).reshape(dst.shape)
            case HostCall(primitive, params, ins, outs):
                found = primitive.impl(np, *map(self.array, ins), **dict(params))
                for view, out in zip(
                    outs, found if type(found) is tuple else (found,), strict=True
                ):
                    self.array(view)[...] = out
            case LibraryCall("gemm", ins, (out,), params):
                self.array(out)[...] = _product(*map(self.array, ins), **dict(params)).reshape(
                    out.shape
                )
            case Loop(counter, trip, body, reverse):
                for i in reversed(range(trip)) if reverse else range(trip):
                    self.counters[counter] = i
                    self.steps(body)
            case While(cond, flag, body):
                self.steps(cond)
                while self.array(flag).item():
                    self.steps(body)
                    self.steps(cond)
            case Branch(index, branches):
                self.steps(branches[self.array(index).item()])


def _product(
    a: Any, b: Any, *, batch: int, m: int, n: int, k: int, trans_a: bool, trans_b: bool
) -> Any:
    a = a.reshape((batch, k, m)).swapaxes(1, 2) if trans_a else a.reshape((batch, m, k))
    b = b.reshape((batch, n, k)).swapaxes(1, 2) if trans_b else b.reshape((batch, k, n))
    return a @ b
