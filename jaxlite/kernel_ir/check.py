"""Is a kernel or program well formed? In: Kernel or Program. Out: nothing, or an error.

Checked: every name is bound before it is used and once per kernel; dtypes agree; buffers are
parameters of the right dtype and only outputs are stored; accumulators with a combiner are
combined, others set; vector loops hold no vector loop and set no accumulator from outside; constant
indices are in range; every view stays inside its buffer. Runs after each pass in tests and under
``JAXLITE_CHECK=1``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

import numpy as np

from jaxlite.kernel_ir.nodes import (
    BOOL,
    COMBINERS,
    I64,
    Acc,
    Combine,
    DType,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Set,
    Stmt,
    Store,
    const_value,
    walk,
)
from jaxlite.kernel_ir.pretty import format_expr
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

_DTYPES = frozenset(
    {
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "bfloat16", "float32", "float64", "complex64", "complex128",
    }
)  # fmt: skip
_INT_ONLY = frozenset(
    ["not", "and", "or", "xor", "shl", "shr_logical", "shr_arithmetic", "popcount", "clz", "mulhi"]
)
_ANY_NUMBER = frozenset(["add", "sub", "mul", "div", "neg", "abs", "sign", "isfinite", "isnan"])
_REAL = frozenset({"min", "max", "rem"})
_COMPLEX = frozenset({"conj", "real", "imag"})


class KernelError(ValueError):
    """A kernel or program breaks a rule of the loop language: a bug in the pass that made it."""


def check_kernel(kernel: Kernel) -> None:
    """Check ``kernel``.

    Raises:
        KernelError: it is malformed; the message names the statement.
    """
    _KernelCheck(kernel).run()


class _KernelCheck:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.params = {p.name: p for p in kernel.params}
        self.names: dict[str, DType] = {}  # visible Let and Acc
        self.accs: dict[str, str | None] = {}
        self.ever: set[str] = set()
        self.indices: dict[str, int] = {}
        self.known: set[Expr] = set()  # checked where they are visible

    def fail(self, what: str) -> None:
        raise KernelError(f"{what}\n  in kernel {self.kernel.name}\n{self.kernel}")

    def need(self, condition: bool, what: str) -> None:
        if not condition:
            self.fail(what)

    def run(self) -> None:
        self.need(len(self.params) == len(self.kernel.params), "two parameters have one name")
        for p in self.kernel.params:
            self.need(p.dtype.name in _DTYPES, f"parameter {p.name} has the dtype {p.dtype}")
        self.block(self.kernel.body, None)

    def block(self, body: tuple[Stmt, ...], vector: For | None) -> None:
        names, accs = dict(self.names), dict(self.accs)
        for stmt in body:
            self.statement(stmt, vector)
        self.names, self.accs = names, accs
        self.known.clear()

    def declare(self, name: str, dtype: DType) -> None:
        self.need(name not in self.ever, f"{name} is bound twice")
        self.need(name not in self.params, f"{name} is the name of a buffer")
        self.ever.add(name)
        self.names[name] = dtype

    def statement(self, stmt: Stmt, vector: For | None) -> None:
        match stmt:
            case Let(name, value):
                self.expr(value)
                self.declare(name, value.dtype)
            case Acc(name, init, combiner):
                self.expr(init)
                self.need(combiner is None or combiner in COMBINERS, f"combiner {combiner}")
                self.declare(name, init.dtype)
                self.accs[name] = combiner
            case Combine(name, value) | Set(name, value):
                self.assign(name, value, isinstance(stmt, Combine), vector)
            case Store(buffer, at, value):
                self.store(buffer, at, value)
            case If(condition, body, orelse):
                self.expr(condition)
                self.need(condition.dtype == BOOL, f"condition of dtype {condition.dtype}")
                self.block(body, vector)
                self.block(orelse, vector)
            case For():
                self.loop(stmt, vector)
            case _:
                assert_never(stmt)

    def assign(self, name: str, value: Expr, combines: bool, vector: For | None) -> None:
        self.expr(value)
        self.need(name in self.accs, f"{name} is not an accumulator")
        self.need(self.names[name] == value.dtype, f"{name} := {value.dtype} value")
        self.need((self.accs[name] is not None) == combines, f"{name} is set and combined")
        if vector is not None and not combines:
            inside = any(isinstance(s, Acc) and s.name == name for s in vector.body)
            self.need(inside, f"vector loop {vector.index} sets {name} from outside")

    def store(self, buffer: str, at: Expr, value: Expr) -> None:
        self.expr(at)
        self.expr(value)
        self.need(buffer in self.params, f"{buffer} is not a parameter")
        p = self.params[buffer]
        self.need(p.is_output, f"{buffer} is an input")
        self.need(p.dtype == value.dtype, f"{buffer} of {p.dtype} stores {value.dtype}")
        self.place(buffer, at)

    def place(self, buffer: str, at: Expr) -> None:
        self.need(at.dtype == I64, f"index of dtype {at.dtype} into {buffer}")
        if at.kind == "const":
            number, size = int(const_value(at)), self.params[buffer].size
            self.need(0 <= number < size, f"{buffer}[{number}] is out of range, size is {size}")

    def loop(self, loop: For, vector: For | None) -> None:
        self.need(loop.extent >= 0, f"loop {loop.index} has extent {loop.extent}")
        self.need(loop.index not in self.indices, f"loop index {loop.index} is in use")
        is_vector = loop.kind == "vector"
        self.need(not (is_vector and vector), f"vector loop {loop.index} in a vector loop")
        self.indices[loop.index] = loop.extent
        if loop.extent:  # the body of an empty loop may index empty buffers
            self.block(loop.body, loop if is_vector else vector)
        del self.indices[loop.index]
        self.known.clear()

    def expr(self, e: Expr) -> None:
        if e in self.known:
            return
        for node in walk(e):
            if node not in self.known:
                self.known.add(node)
                self.node(node)

    def node(self, e: Expr) -> None:
        self.need(e.dtype.name in _DTYPES, f"{format_expr(e)} has the dtype {e.dtype}")
        match e.kind:
            case "index":
                self.need(e.attrs[0] in self.indices, f"no loop has the index {e.attrs[0]}")
            case "name":
                name = e.attrs[0]
                self.need(name in self.names, f"{name} is not bound here")
                self.need(self.names[name] == e.dtype, f"{name} is a {self.names[name]}")
            case "load":
                buffer = e.attrs[0]
                self.need(buffer in self.params, f"{buffer} is not a parameter")
                p = self.params[buffer]
                self.need(p.dtype == e.dtype, f"{buffer} of {p.dtype} is read as {e.dtype}")
                self.place(buffer, e.args[0])
            case "unary" | "binary":
                self.operator(e)

    def operator(self, e: Expr) -> None:
        op, dtype = e.attrs[0], e.args[0].dtype
        integer = dtype.kind in "iub"
        if op in _INT_ONLY:
            allowed = integer
        elif op in _ANY_NUMBER:
            allowed = dtype.kind != "b"
        elif op in _REAL:
            allowed = dtype.kind != "c"
        elif op in _COMPLEX:
            allowed = not integer
        else:
            allowed = not integer and dtype.kind != "c"
        allowed = allowed or (dtype.kind == "b" and op in COMBINERS)
        self.need(allowed, f"{op} of {dtype}: {format_expr(e)}")


def check_program(program: Program) -> None:
    """Check ``program`` and its kernels.

    Raises:
        KernelError: it is malformed.
    """
    _ProgramCheck(program).run()


class _ProgramCheck:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.buffers = {b.name: b for b in program.buffers}
        self.written = set(program.inputs)
        self.counters: dict[str, int] = {}
        self.checked: set[Kernel] = set()

    def need(self, condition: bool, what: str) -> None:
        if not condition:
            raise KernelError(f"{what}\n  in program {self.program.name}\n{self.program}")

    def run(self) -> None:
        program = self.program
        self.need(len(self.buffers) == len(program.buffers), "two buffers have one name")
        for kind, names in (("input", program.inputs), ("output", program.outputs)):
            found = [b.name for b in program.buffers if b.kind == kind]
            self.need(sorted(found) == sorted(names), f"{kind}s {names}, buffers {found}")
        for b in program.buffers:
            if b.kind == "temp" and b.offset_bytes >= 0:
                end = b.offset_bytes + b.nbytes
                self.need(end <= program.workspace_bytes, f"{b.name} ends at byte {end}")
        self.steps(program.steps)
        for n in program.outputs:
            empty = self.buffers[n].size == 0
            self.need(n in self.written or empty, f"output {n} is never written")

    def view(self, view: View) -> Buffer:
        """Check that ``view`` lies inside its buffer, which is returned."""
        self.need(view.buffer in self.buffers, f"no buffer {view.buffer}")
        low = high = view.offset
        for counter, stride in view.counters:
            self.need(counter in self.counters, f"no loop has the counter {counter}")
            far = (self.counters[counter] - 1) * stride
            low, high = low + min(far, 0), high + max(far, 0)
        buffer = self.buffers[view.buffer]
        end = high + _size(view.shape)
        self.need(low >= 0 and end <= buffer.size, f"{view} leaves its buffer of {buffer.size}")
        return buffer

    def read(self, views: Iterable[View]) -> None:
        for v in views:
            self.view(v)
            known = v.buffer in self.written or not _size(v.shape)
            self.need(known, f"{v.buffer} is read before it is written")

    def write(self, views: Iterable[View]) -> None:
        for v in views:
            buffer = self.view(v)
            self.need(buffer.kind != "input", f"input {v.buffer} is written")
            self.written.add(v.buffer)

    def steps(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        match step:
            case Launch():
                self.launch(step)
            case LibraryCall(_, ins, outs) | HostCall(_, _, ins, outs):
                self.read(ins)
                self.write(outs)
            case Copy(src, dst):
                self.read([src])
                self.write([dst])
                same = self.view(src).dtype == self.view(dst).dtype
                same = same and _size(src.shape) == _size(dst.shape)
                self.need(same, f"copy of {src} to {dst}")
            case Loop(counter, trip, body, _):
                self.need(counter not in self.counters, f"counter {counter} is in use")
                self.counters[counter] = max(trip, 1)
                self.steps(body)
                del self.counters[counter]
            case While(cond, flag, body):
                self.steps(cond)
                self.scalar(flag, BOOL)
                self.steps(body)
            case Branch(index, branches):
                self.scalar(index, np.dtype(np.int32))
                self.need(len(branches) > 0, "a branch without cases")
                for branch in branches:
                    self.steps(branch)
            case _:
                assert_never(step)

    def scalar(self, view: View, dtype: DType) -> None:
        self.read([view])
        found = self.buffers[view.buffer].dtype
        self.need(_size(view.shape) == 1 and found == dtype, f"{view} is not a {dtype} scalar")

    def launch(self, step: Launch) -> None:
        kernel = step.kernel
        if kernel not in self.checked:
            self.checked.add(kernel)
            check_kernel(kernel)
        self.need(len(kernel.params) == len(step.args), f"{kernel.name}: number of arguments")
        for p, v in zip(kernel.params, step.args):
            dtype = self.view(v).dtype
            fits = dtype == p.dtype and _size(v.shape) == p.size
            self.need(fits, f"{kernel.name}: {p.name} is {p.dtype}[{p.size}], given {v} of {dtype}")
        pairs = list(zip(kernel.params, step.args))
        self.read(v for p, v in pairs if not p.is_output)
        self.write(v for p, v in pairs if p.is_output)


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for d in shape:
        n *= d
    return n
