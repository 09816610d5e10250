"""Stage 6 of 7, emit. In: Program and Target. Out: text of one LLVM module. No llvmlite here.

The module has one internal function per distinct kernel and one entry, ``@jaxlite_run``, that does
all steps of the program: kernels, library calls, copies, loops and branches. No Python runs in
between except in host calls. The entry takes one Python tuple,

    (inputs and constants ..., outputs ..., workspace, host state)

of NumPy arrays (the host state is any object, handed to the host-call trampoline) and reads the
data pointers itself; for a target that cannot, it takes a table of the same pointers. It returns 0,
or ``HOST_FAILED`` when a host call has raised, or ``INTERRUPTED`` when a signal handler has. Next:
``runtime/cpu.py``.
"""

from __future__ import annotations

from typing import Final, assert_never

from jaxlite.compiler import llvm_library
from jaxlite.compiler.llvm_cost import Costs
from jaxlite.compiler.llvm_kernel import emit_kernel
from jaxlite.compiler.llvm_lines import NotedModule
from jaxlite.compiler.llvm_text import Code, Module
from jaxlite.compiler.llvm_threads import call_in_threads
from jaxlite.kernel_ir.nodes import Kernel
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
from jaxlite.kernel_ir.target import ENTRY, HOST_FAILED, INTERRUPTED, OK, Target

#: Programs that are shorter keep the GIL.
_SHORT_NS: Final = 10_000.0
#: Time between two looks for signals.
_POLL_NS: Final = 1_000_000.0


def emit_llvm(program: Program, target: Target, *, with_lines: bool = False) -> str:
    """Return ``program`` as LLVM text for ``target``.

    ``with_lines``: instructions say which line of their kernel's loop nest they compute.
    """
    module = NotedModule(target) if with_lines else Module(target)
    entry = _Entry(program, module)
    text = entry.function()
    bits = target.vector_bits
    head = [
        f"; program {program.name} for {target.name}, {bits}-bit vectors",
        f"; one call takes about {entry.estimate_ns / 1000:.0f} us on one core",
        *(f"; {note}" for note in program.notes),
        "",
    ]
    attributes = (
        # Without a frame pointer LLVM does not align spilled vectors: half the speed.
        f'attributes #0 = {{ nounwind "frame-pointer"="all" "prefer-vector-width"="{bits}" '
        f'"min-legal-vector-width"="{bits}" }}\n'
    )
    module.functions.append(text)
    return "\n".join([*head, str(module), attributes])


class _Entry:
    def __init__(self, program: Program, module: Module) -> None:
        self.program = program
        self.module = module
        self.code = Code(module)
        self.buffers = {b.name: b for b in program.buffers}
        self.bases: dict[str, str] = {}
        self.counters: dict[str, str] = {}
        self.kernels: dict[tuple[Kernel, tuple[tuple[str, str], ...]], str] = {}
        self.threads: dict[str, int] = {}  # most threads of a kernel's function, 0 for a plain one
        self.costs = Costs()
        self.estimate_ns = self.costs.steps_ns(program.steps)
        self.host_calls = 0
        self.polls = 0
        self.thread_state = ""  # what PyEval_SaveThread returned, where the GIL is released
        self.failed = self.code.new_block("failed")
        self.interrupted = self.code.new_block("interrupted")

    def function(self) -> str:
        """Return the text of the entry function; kernels go to the module on the way."""
        self._read_arguments()
        if self.estimate_ns > _SHORT_NS:
            save = self.module.declare("PyEval_SaveThread", "ptr")
            self.thread_state = self.code.put(f"call ptr {save}()")
        self.steps(self.program.steps)
        self._return(OK)
        exits = (
            (self.host_calls, self.failed, HOST_FAILED),
            (self.polls, self.interrupted, INTERRUPTED),
        )
        for uses, block, status in exits:
            if uses:
                self.code.place(block)
                self._return(status)
        return f"define i32 @{ENTRY}(ptr %args) #0 {{\n{self.code.body()}\n}}"

    def _return(self, status: int) -> None:
        if self.thread_state:
            restore = self.module.declare("PyEval_RestoreThread", "void", "ptr")
            self.code.do(f"call void {restore}(ptr {self.thread_state})")
        self.code.do(f"ret i32 {status}")

    def _read_arguments(self) -> None:
        """Load every data pointer that some step uses."""
        program, code = self.program, self.code
        names = [*program.inputs, *program.outputs]
        for number, name in enumerate(names):
            self.bases[name] = self._pointer(number)
        if program.workspace_bytes:
            workspace = self._pointer(len(names))
            for b in program.buffers:
                if b.kind == "temp" and b.offset_bytes == 0:
                    self.bases[b.name] = workspace
                elif b.kind == "temp":
                    at = f"getelementptr i8, ptr {workspace}, i64 {b.offset_bytes}"
                    self.bases[b.name] = code.put(at)
        self.host_slot = len(names) + 1

    def _pointer(self, number: int) -> str:
        put, target = self.code.put, self.module.target
        if not target.reads_python_objects:
            slot = put(f"getelementptr ptr, ptr %args, i64 {number}")
            return put(f"load ptr, ptr {slot}")
        offset = target.tuple_items + 8 * number
        item = put(f"load ptr, ptr {put(f'getelementptr i8, ptr %args, i64 {offset}')}")
        return put(f"load ptr, ptr {put(f'getelementptr i8, ptr {item}, i64 {target.array_data}')}")

    # Steps

    def steps(self, steps: tuple[Step, ...]) -> None:
        """Emit steps in order."""
        for step in steps:
            match step:
                case Launch():
                    self._launch(step)
                case LibraryCall():
                    ins = [self.view(v) for v in step.ins]
                    outs = [self.view(v) for v in step.outs]
                    dtype = self.buffers[step.outs[0].buffer].dtype
                    llvm_library.emit_call(self.code, step, dtype, ins, outs)
                case HostCall():
                    self._host_call(step)
                case Copy():
                    self._copy(step)
                case Loop():
                    self._loop(step)
                case While():
                    self._while(step)
                case Branch():
                    self._branch(step)
                case _:
                    assert_never(step)

    def view(self, view: View) -> str:
        """Emit the address of the first element of ``view``."""
        buffer, put = self.buffers[view.buffer], self.code.put
        size, address = buffer.dtype.itemsize, self.bases[view.buffer]
        if view.offset:
            address = put(f"getelementptr i8, ptr {address}, i64 {view.offset * size}")
        for counter, stride in view.counters:
            offset = put(f"mul i64 {self.counters[counter]}, {stride * size}")
            address = put(f"getelementptr i8, ptr {address}, i64 {offset}")
        return address

    def _launch(self, step: Launch) -> None:
        groups = tuple(sorted(self._overlaps(step).items()))
        key = (step.kernel, groups)
        name = self.kernels.get(key)
        if name is None:
            name = self.kernels[key] = f"k{len(self.kernels)}_{step.kernel.name}"
            self.threads[name] = emit_kernel(self.module, step.kernel, name, dict(groups))
        pointers = [self.view(v) for v in step.args]
        if self.threads[name]:
            call_in_threads(self.code, name, pointers, self.threads[name])
        else:
            args = ", ".join(f"ptr {p}" for p in pointers)
            self.code.do(f"call void @{name}({args})")

    def _overlaps(self, step: Launch) -> dict[str, str]:
        """Return a group for every parameter whose memory another parameter may write."""
        places = [(p, self._place(v)) for p, v in zip(step.kernel.params, step.args)]
        groups: dict[str, str] = {}
        for p, (where, start, stop) in places:
            for q, (other, first, last) in places:
                if p is q or where != other or not (p.is_output or q.is_output):
                    continue
                if start < last and first < stop:
                    groups[p.name] = groups[q.name] = groups.get(q.name, groups.get(p.name, where))
        return groups

    def _place(self, view: View) -> tuple[str, int, int]:
        """Return (memory, first byte, end) that ``view`` may touch."""
        buffer = self.buffers[view.buffer]
        start, stop = 0, buffer.nbytes
        if not view.counters:
            size = buffer.dtype.itemsize
            start = view.offset * size
            stop = start + size * Buffer("", buffer.dtype, view.shape, "temp").size
        if buffer.kind == "temp":
            return ".workspace", buffer.offset_bytes + start, buffer.offset_bytes + stop
        return view.buffer, start, stop

    def _copy(self, step: Copy) -> None:
        buffer = self.buffers[step.src.buffer]
        n = Buffer("", buffer.dtype, step.src.shape, "temp").nbytes
        if n:
            copy = self.module.declare("llvm.memmove.p0.p0.i64", "void", "ptr", "ptr", "i64", "i1")
            dst, src = self.view(step.dst), self.view(step.src)
            self.code.do(f"call void {copy}(ptr {dst}, ptr {src}, i64 {n}, i1 false)")

    def _host_call(self, step: HostCall) -> None:
        """Call the trampoline with the call's number and a table of its buffers."""
        code, put = self.code, self.code.put
        views = [*step.ins, *step.outs]
        table = f"%host.{self.host_calls}"
        # In the first block, so that a call inside a loop does not grow the stack.
        code.blocks[0].lines.insert(0, f"  {table} = alloca [{max(len(views), 1)} x ptr]")
        for number, v in enumerate(views):
            slot = put(f"getelementptr ptr, ptr {table}, i64 {number}")
            code.do(f"store ptr {self.view(v)}, ptr {slot}")
        target = self.module.target
        base = target.tuple_items if target.reads_python_objects else 0
        state = put(f"getelementptr i8, ptr %args, i64 {base + 8 * self.host_slot}")
        state = put(f"load ptr, ptr {state}")
        trampoline = self.module.declare("jaxlite_host_call", "i32", "ptr", "i32", "ptr")
        status = put(f"call i32 {trampoline}(ptr {state}, i32 {self.host_calls}, ptr {table})")
        self.host_calls += 1
        bad = put(f"icmp ne i32 {status}, 0")
        on = code.new_block("on")
        code.do(f"br i1 {bad}, label %{self.failed.label}, label %{on.label}")
        code.place(on)

    def _loop(self, step: Loop) -> None:
        if step.trip <= 0:
            return
        code, put = self.code, self.code.put
        self._report_now(step.progress, "0", step.trip)
        header, after, before = code.new_block("loop"), code.new_block("done"), code.block
        code.do(f"br label %{header.label}")
        code.place(header)
        i = code.fresh()
        counter = put(f"sub i64 {step.trip - 1}, {i}") if step.reverse else i
        self.counters[step.counter] = counter
        self.steps(step.body)
        turn_ns = self.costs.steps_ns(step.body)
        following = put(f"add nuw nsw i64 {i}, 1")
        if step.trip * turn_ns > _POLL_NS or step.progress:
            self._poll(turn_ns, self._report(step.progress, following, step.trip))
        more = put(f"icmp ult i64 {following}, {step.trip}")
        code.do(f"br i1 {more}, label %{header.label}, label %{after.label}")
        phi = f"  {i} = phi i64 [ 0, %{before.label} ], [ {following}, %{code.block.label} ]"
        header.lines.insert(0, phi)
        code.place(after)
        self._report_now(step.progress, str(-1 - step.trip), step.trip)

    def _while(self, step: While) -> None:
        code, put = self.code, self.code.put
        header, body, after = (code.new_block(h) for h in ("while", "body", "done"))
        count = self._new_count() if step.progress else ""
        self._report_now(step.progress, "0", 0)
        code.do(f"br label %{header.label}")
        code.place(header)
        self.steps(step.cond)
        flag = put(f"load i8, ptr {self.view(step.flag)}")
        go_on = put(f"icmp ne i8 {flag}, 0")
        code.do(f"br i1 {go_on}, label %{body.label}, label %{after.label}")
        code.place(body)
        self.steps(step.body)
        turn_ns = self.costs.steps_ns(step.cond) + self.costs.steps_ns(step.body)
        done = ""
        if step.progress:
            done = put(f"add i64 {put(f'load i64, ptr {count}')}, 1")
            code.do(f"store i64 {done}, ptr {count}")
        self._poll(turn_ns, self._report(step.progress, done, 0))
        code.do(f"br label %{header.label}")
        code.place(after)
        if step.progress:
            ended = put(f"sub i64 -1, {put(f'load i64, ptr {count}')}")
            self._report_now(step.progress, ended, 0)

    def _new_count(self) -> str:
        """Emit a counter of turns that is 0 now."""
        code = self.code
        count = f"%count{code.fresh()[1:]}"
        code.blocks[0].lines.insert(0, f"  {count} = alloca i64")
        code.do(f"store i64 0, ptr {count}")
        return count

    # Looking for signals, and telling how far a loop is

    def _report(self, progress: int, done: str, total: int) -> str:
        """Return the call that tells that ``done`` turns are done; '' without progress."""
        if not progress:
            return ""
        tell = self.module.declare("jaxlite_progress", "void", "i32", "i64", "i64")
        return f"call void {tell}(i32 {progress}, i64 {done}, i64 {total})"

    def _report_now(self, progress: int, done: str, total: int) -> None:
        """Emit a report outside a loop."""
        call = self._report(progress, done, total)
        if call:
            state = self._take_gil()
            self.code.do(call)
            self._drop_gil(state)

    def _take_gil(self) -> str:
        return self.code.put(f"call i32 {self.module.declare('PyGILState_Ensure', 'i32')}()")

    def _drop_gil(self, state: str) -> None:
        release = self.module.declare("PyGILState_Release", "void", "i32")
        self.code.do(f"call void {release}(i32 {state})")

    def _poll(self, turn_ns: float, report: str = "") -> None:
        """Look for signals (Ctrl-C) about every ``_POLL_NS``; a turn takes ``turn_ns``.

        ``report`` is a call to make at the same time.
        """
        code, put, declare = self.code, self.code.put, self.module.declare
        turns = max(1, int(_POLL_NS / max(turn_ns, 1.0)))
        left = f"%turns.{self.polls}"
        self.polls += 1
        code.blocks[0].lines.insert(0, f"  store i64 {turns}, ptr {left}")
        code.blocks[0].lines.insert(0, f"  {left} = alloca i64")
        count = put(f"sub i64 {put(f'load i64, ptr {left}')}, 1")
        code.do(f"store i64 {count}, ptr {left}")
        look, go_on = code.new_block("look"), code.new_block("on")
        now = put(f"icmp eq i64 {count}, 0")
        code.do(f"br i1 {now}, label %{look.label}, label %{go_on.label}")
        code.place(look)
        code.do(f"store i64 {turns}, ptr {left}")
        state = self._take_gil()
        raised = put(f"call i32 {declare('PyErr_CheckSignals', 'i32')}()")
        self._drop_gil(state)
        stop = put(f"icmp ne i32 {raised}, 0")
        if report:
            # Only now: a signal that is waiting would be raised inside the callback and be lost.
            tell = code.new_block("tell")
            code.do(f"br i1 {stop}, label %{self.interrupted.label}, label %{tell.label}")
            code.place(tell)
            state = self._take_gil()
            code.do(report)
            self._drop_gil(state)
            code.do(f"br label %{go_on.label}")
            code.place(go_on)
            return
        code.do(f"br i1 {stop}, label %{self.interrupted.label}, label %{go_on.label}")
        code.place(go_on)

    def _branch(self, step: Branch) -> None:
        code, put = self.code, self.code.put
        index = put(f"load i32, ptr {self.view(step.index)}")
        blocks = [code.new_block("case") for _ in step.branches]
        after = code.new_block("endcase")
        cases = " ".join(f"i32 {n}, label %{b.label}" for n, b in enumerate(blocks))
        code.do(f"switch i32 {index}, label %{blocks[-1].label} [ {cases} ]")
        for block, body in zip(blocks, step.branches):
            code.place(block)
            self.steps(body)
            code.do(f"br label %{after.label}")
        code.place(after)
