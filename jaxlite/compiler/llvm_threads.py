"""Stage 6 of 7, emit: a loop that several threads share. In: pointers. Out: a call, a range.

The loop is a function ``@part(ptr %context, i32 %thread, i32 %threads)`` of its own. ``%context``
is a table of the kernel's buffers and of a block of scalars that the loop needs from the code
before it. ``@jaxlite_parallel``, bound by ``runtime/threads.py``, calls it in every thread; it
takes its part of the range from ``%lo`` to ``%hi``. Next: ``llvm_kernel.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jaxlite.compiler import llvm_memory
from jaxlite.compiler.llvm_text import Code, Lanes, Value
from jaxlite.kernel_ir.nodes import DType

PARAMETERS: Final = "ptr %context, i32 %thread, i32 %threads"
_SLOT_BYTES: Final = 16
_MOST: Final = 1024


def call_in_threads(code: Code, name: str, pointers: Sequence[str], most: int) -> None:
    """Emit the call that runs ``@name`` on ``pointers`` in at most ``most`` threads."""
    context = _array(code, f"[{max(len(pointers), 1)} x ptr]")
    for number, pointer in enumerate(pointers):
        code.do(f"store ptr {pointer}, ptr {_slot(code, context, number)}")
    run = code.module.declare("jaxlite_parallel", "void", "ptr", "ptr", "i32")
    code.do(f"call void {run}(ptr @{name}, ptr {context}, i32 {min(most, _MOST)})")


def store_scalars(code: Code, values: Sequence[tuple[DType, Value]]) -> str:
    """Emit the block of scalars for a context and return its address."""
    block = _array(code, f"[{max(_SLOT_BYTES * len(values), 1)} x i8], align 16")
    one = Lanes(code, 1)
    for number, (dtype, value) in enumerate(values):
        llvm_memory.store(one, dtype, _scalar_address(code, block, number), value)
    return block


def load_scalar(code: Code, block: str, number: int, dtype: DType) -> Value:
    """Emit the load of a scalar from the block."""
    return llvm_memory.load(Lanes(code, 1), dtype, _scalar_address(code, block, number))


def load_pointers(code: Code, names: Sequence[str]) -> None:
    """Emit the start of a part: the pointers of the context, as registers ``%name``."""
    for number, name in enumerate(names):
        code.block.lines.append(f"  %{name} = load ptr, ptr {_slot(code, '%context', number)}")


def own_range(code: Code, extent: int, step: int) -> tuple[str, str]:
    """Emit (lo, hi) of this thread: a part of ``range(extent)`` cut at multiples of ``step``.

    Code goes on where there is something to do; otherwise the function returns.
    """
    put = code.put
    units = -(-extent // step)
    thread, threads = (put(f"zext i32 {r} to i64") for r in ("%thread", "%threads"))
    bounds = []
    for edge in (thread, put(f"add i64 {thread}, 1")):
        share = put(f"udiv i64 {put(f'mul i64 {edge}, {units}')}, {threads}")
        bounds.append(put(f"mul i64 {share}, {step}"))
    lo, hi = bounds
    inside = put(f"icmp ult i64 {hi}, {extent}")
    hi = put(f"select i1 {inside}, i64 {hi}, i64 {extent}")
    run, idle = code.new_block("run"), code.new_block("idle")
    some = put(f"icmp ult i64 {lo}, {hi}")
    code.do(f"br i1 {some}, label %{run.label}, label %{idle.label}")
    code.place(idle)
    code.do("ret void")
    code.place(run)
    return lo, hi


def _slot(code: Code, table: str, number: int) -> str:
    return code.put(f"getelementptr ptr, ptr {table}, i64 {number}") if number else table


def _scalar_address(code: Code, block: str, number: int) -> str:
    if number == 0:
        return block
    return code.put(f"getelementptr i8, ptr {block}, i64 {_SLOT_BYTES * number}")


def _array(code: Code, kind: str) -> str:
    """Emit an array on the stack, in the first block so that loops do not repeat it."""
    name = code.fresh()
    code.blocks[0].lines.insert(0, f"  {name} = alloca {kind}")
    return name
