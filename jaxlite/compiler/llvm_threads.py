"""Stage 6 of 7, emit: a loop that several threads share. In: a function of a range. Out: its call.

The loop is a function ``@part(buffers ..., ptr %live, i64 %lo, i64 %hi)`` of its own. ``%live``
holds the scalars it needs from the code before it. ``@jaxlite_parallel``, bound by
``runtime/threads.py``, calls ``@part_share(context, thread, threads)`` in every thread, which cuts
the range and calls ``@part``. Next: ``emit_llvm.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from jaxlite.compiler import llvm_memory
from jaxlite.compiler.llvm_text import Code, Lanes, Module, Value
from jaxlite.kernel_ir.nodes import DType

_SLOT_BYTES: Final = 16


def live_address(code: Code, base: str, number: int) -> str:
    """Emit the address of the ``number``-th live scalar."""
    return code.put(f"getelementptr i8, ptr {base}, i64 {_SLOT_BYTES * number}")


@dataclass(frozen=True, slots=True)
class Part:
    """A loop over ``range(extent)`` that may be cut at multiples of ``step``."""

    name: str
    params: list[str]
    extent: int
    step: int

    def call(self, code: Code, values: list[tuple[DType, Value]], most: int) -> None:
        """Emit the call that runs all of the loop in at most ``most`` threads."""
        one = Lanes(code, 1)
        live = self._array(code, f"[{max(_SLOT_BYTES * len(values), 1)} x i8], align 16")
        for number, (dtype, value) in enumerate(values):
            llvm_memory.store(one, dtype, live_address(code, live, number), value)
        context = self._array(code, f"[{len(self.params) + 1} x ptr]")
        pointers = [*(f"%{p}" for p in self.params), live]
        for number, name in enumerate(pointers):
            slot = code.put(f"getelementptr ptr, ptr {context}, i64 {number}")
            code.do(f"store ptr {name}, ptr {slot}")
        run = code.module.declare("jaxlite_parallel", "void", "ptr", "ptr", "i32")
        share = f"@{self.name}_share"
        code.do(f"call void {run}(ptr {share}, ptr {context}, i32 {min(most, 1 << 20)})")

    @staticmethod
    def _array(code: Code, kind: str) -> str:
        """Emit an array on the stack, in the first block so that loops do not repeat it."""
        name = code.fresh()
        code.blocks[0].lines.insert(0, f"  {name} = alloca {kind}")
        return name

    def function(self, module: Module) -> str:
        """Return ``@<name>_share``: the part of one thread."""
        code = Code(module)
        put = code.put
        loaded = []
        for number in range(len(self.params) + 1):
            slot = put(f"getelementptr ptr, ptr %context, i64 {number}")
            loaded.append(put(f"load ptr, ptr {slot}"))
        units = -(-self.extent // self.step)
        thread, threads = (put(f"zext i32 {r} to i64") for r in ("%thread", "%threads"))
        bounds = []
        for edge in (thread, put(f"add i64 {thread}, 1")):
            share = put(f"udiv i64 {put(f'mul i64 {edge}, {units}')}, {threads}")
            bounds.append(put(f"mul i64 {share}, {self.step}"))
        lo, hi = bounds
        inside = put(f"icmp ult i64 {hi}, {self.extent}")
        hi = put(f"select i1 {inside}, i64 {hi}, i64 {self.extent}")
        run, done = code.new_block("run"), code.new_block("done")
        some = put(f"icmp ult i64 {lo}, {hi}")
        code.do(f"br i1 {some}, label %{run.label}, label %{done.label}")
        code.place(run)
        args = ", ".join(f"ptr {p}" for p in loaded)
        code.do(f"call void @{self.name}({args}, i64 {lo}, i64 {hi})")
        code.do(f"br label %{done.label}")
        code.place(done)
        code.do("ret void")
        params = "ptr %context, i32 %thread, i32 %threads"
        return f"define internal void @{self.name}_share({params}) #0 {{\n{code.body()}\n}}"
