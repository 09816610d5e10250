"""Run kernels and programs slowly, element by element. In: Kernel or Program, arrays. Out: arrays.

The oracle for every emitter: plain NumPy scalars, one operation at a time, every index checked.
Temporaries start as garbage, so reading one too early shows. Transcendental functions are computed
in float64.

>>> import numpy as np
>>> from jaxlite.kernel_ir import nodes as ir
>>> i, f32 = ir.index("i"), np.dtype("float32")
>>> twice = ir.binary("mul", ir.load("x", i, f32), ir.const(2, f32))
>>> kernel = ir.Kernel(
...     "double", (ir.Param("x", f32, 3), ir.Param("y", f32, 3, is_output=True)),
...     (ir.For("i", 3, (ir.Store("y", i, twice),), "vector"),),
... )
>>> y = np.zeros(3, "float32")
>>> interpret_kernel(kernel, {"x": np.array([1, 2, 3], "float32"), "y": y}); y
array([2., 4., 6.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np

from jaxlite.kernel_ir.interpret_ops import operation
from jaxlite.kernel_ir.nodes import (
    Acc,
    Combine,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Set,
    Stmt,
    Store,
    const_value,
)
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

_GARBAGE = 0xA5


def interpret_kernel(kernel: Kernel, buffers: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Run ``kernel`` on flat arrays by parameter name; outputs are written in place.

    Raises:
        IndexError: a load or store is out of range.
    """
    with np.errstate(all="ignore"):
        _KernelRun(kernel, buffers).block(kernel.body)


class _KernelRun:
    def __init__(self, kernel: Kernel, buffers: Mapping[str, np.ndarray[Any, Any]]) -> None:
        self.kernel = kernel
        self.buffers = {p.name: buffers[p.name].reshape(-1) for p in kernel.params}
        self.names: dict[str, Any] = {}
        self.indices: dict[str, int] = {}
        self.combiners: dict[str, str | None] = {}

    def block(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Let(name, value):
                self.names[name] = self.value(value)
            case Store(buffer, at, value):
                result, place = self.value(value), int(self.value(at))
                self.check(buffer, place)
                self.buffers[buffer][place] = result
            case Acc(name, init, combiner):
                self.names[name] = self.value(init)
                self.combiners[name] = combiner
            case Combine(name, value):
                combiner = self.combiners[name]
                assert combiner is not None, f"{name} has no combiner"
                old, new = self.names[name], self.value(value)
                self.names[name] = operation("binary", combiner, value.dtype, [old, new])
            case Set(name, value):
                self.names[name] = self.value(value)
            case If(condition, then, orelse):
                self.block(then if self.value(condition) else orelse)
            case For(index, extent, body, _):
                for i in range(extent):
                    self.indices[index] = i
                    self.block(body)
            case _:
                assert_never(stmt)

    def check(self, buffer: str, place: int) -> None:
        size = self.buffers[buffer].size
        if not 0 <= place < size:
            where = f"{self.kernel.name}: {buffer}[{place}]"
            raise IndexError(f"{where} is out of range, size is {size}")

    def value(self, e: Expr) -> Any:
        """Return the NumPy scalar ``e``; operands first, each node once."""
        done: dict[Expr, Any] = {}
        stack = [e]
        while stack:
            node = stack[-1]
            missing = [a for a in node.args if a not in done]
            if missing:
                stack.extend(missing)
            else:
                done[stack.pop()] = self.node(node, [done[a] for a in node.args])
        return done[e]

    def node(self, e: Expr, args: list[Any]) -> Any:
        match e.kind:
            case "const":
                return const_value(e)
            case "index":
                return np.int64(self.indices[e.attrs[0]])
            case "name":
                return self.names[e.attrs[0]]
            case "load":
                self.check(e.attrs[0], int(args[0]))
                return self.buffers[e.attrs[0]][int(args[0])]
            case _:
                return operation(e.kind, e.attrs[0] if e.attrs else "", e.dtype, args)


def interpret_program(
    program: Program, inputs: Sequence[np.ndarray[Any, Any]]
) -> tuple[np.ndarray[Any, Any], ...]:
    """Run ``program`` on arrays in the order of ``program.inputs`` and return its outputs."""
    run = _ProgramRun(program, inputs)
    with np.errstate(all="ignore"):
        run.steps(program.steps)
    by_name = {b.name: b for b in program.buffers}
    return tuple(run.arrays[n].reshape(by_name[n].shape) for n in program.outputs)


class _ProgramRun:
    def __init__(self, program: Program, inputs: Sequence[np.ndarray[Any, Any]]) -> None:
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.counters: dict[str, int] = {}
        given = dict(zip(program.inputs, inputs))
        workspace = np.full(program.workspace_bytes, _GARBAGE, np.uint8)
        for b in program.buffers:
            if b.kind == "input":
                flat = np.ascontiguousarray(given[b.name]).reshape(-1)
                assert (flat.dtype, flat.size) == (b.dtype, b.size), f"argument for {b}"
            else:
                flat = self._fresh(b, workspace)
            self.arrays[b.name] = flat

    def _fresh(self, b: Buffer, workspace: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if b.kind == "temp" and b.offset_bytes >= 0:
            end = b.offset_bytes + b.nbytes
            assert end <= workspace.size, f"{b.name} ends outside the workspace"
            return workspace[b.offset_bytes : end].view(b.dtype)
        return np.full(b.nbytes, _GARBAGE, np.uint8).view(b.dtype)

    def view(self, view: View) -> np.ndarray[Any, Any]:
        """Return the elements of ``view`` in its shape; writing to it writes the buffer."""
        start = view.offset + sum(self.counters[c] * stride for c, stride in view.counters)
        size = int(np.prod(view.shape, dtype=np.int64))
        whole = self.arrays[view.buffer]
        if not 0 <= start <= start + size <= whole.size:
            raise IndexError(f"{view} is out of range, size is {whole.size}")
        return whole[start : start + size].reshape(view.shape)

    def steps(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        match step:
            case Launch(kernel, args):
                views = {p.name: self.view(v) for p, v in zip(kernel.params, args, strict=True)}
                interpret_kernel(kernel, views)
            case LibraryCall():
                self.library_call(step)
            case HostCall(primitive, params, ins, outs):
                results = primitive.impl(np, *(self.view(v).copy() for v in ins), **dict(params))
                results = results if type(results) is tuple else (results,)
                for v, r in zip(outs, results, strict=True):
                    self.view(v)[...] = r
            case Copy(src, dst):
                self.view(dst).reshape(-1)[:] = self.view(src).reshape(-1).copy()
            case Loop(counter, trip, body, reverse):
                for i in reversed(range(trip)) if reverse else range(trip):
                    self.counters[counter] = i
                    self.steps(body)
            case While(cond, flag, body):
                self.steps(cond)
                while self.view(flag).item():
                    self.steps(body)
                    self.steps(cond)
            case Branch(index, branches):
                self.steps(branches[int(self.view(index).item())])
            case _:
                assert_never(step)

    def library_call(self, step: LibraryCall) -> None:
        """Run ``gemm``: out[b] = op(a[b]) @ op(b[b]), see ``compiler/llvm_library.py``."""
        assert step.routine == "gemm", step.routine
        p = dict(step.params)
        batch, m, n, k = (p[name] for name in ("batch", "m", "n", "k"))
        a, b = (self.view(v).reshape(-1) for v in step.ins)
        out = self.view(step.outs[0]).reshape(batch, m, n)
        for i in range(batch):
            start_a, start_b = i * p.get("stride_a", m * k), i * p.get("stride_b", k * n)
            x, y = a[start_a : start_a + m * k], b[start_b : start_b + k * n]
            x = x.reshape(k, m).T if p["trans_a"] else x.reshape(m, k)
            y = y.reshape(n, k).T if p["trans_b"] else y.reshape(k, n)
            product = np.matmul(x, y)
            out[i] = out[i] + product if p.get("accumulate") else product
