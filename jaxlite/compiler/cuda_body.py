"""CUDA C, statements. In: a part of a kernel. Out: the text of its ``__global__`` function.

Two ways of running a statement: by one thread, or by ``lanes`` threads together. Together they all
compute what is outside of loops, one of them stores it, and they share the iterations of
independent loops; accumulators are combined over the lanes at the end of a loop, always in the same
order. Next: ``emit_cuda.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.compiler.cuda_expr import Expressions
from jaxlite.compiler.cuda_parts import (
    WARP,
    Part,
    combined_outside,
    loaded_buffers,
    stored_buffers,
)
from jaxlite.compiler.cuda_types import is_float, literal, memory_type
from jaxlite.kernel_ir.nodes import (
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
    const,
    nested_names,
)


class Body:
    """Writes one part."""

    def __init__(self, kernel: Kernel, part: Part, expressions: Expressions) -> None:
        self.kernel, self.part, self.ex = kernel, part, expressions
        self.dtypes = {p.name: p.dtype for p in kernel.params}
        self.accs: dict[str, tuple[DType, str | None]] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.named: dict[str, DType] = nested_names(kernel)

    def put(self, line: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("  " * self.depth + line)

    # --- the function ---

    def text(self, entry: str, slots: dict[str, int]) -> str:
        """Return the function; ``slots`` are places of names in the scratch buffer, in bytes."""
        part = self.part
        self._declare_all()
        for let in part.prologue:
            self.statement(let, shared=False)
        for name in part.reads:
            t = self.ex.type_of(self.named[name])
            self.put(f"{t} {name} = *({t}*)(scratch + {slots[name]});")
        if part.loops:
            self._grid_loop()
        else:
            if part.threads > 1:
                self.put("const int lane = threadIdx.x;")
            self.statements(part.body, shared=part.threads > 1)
        for name in part.leaves:
            t = self.ex.type_of(self.named[name])
            first = "if (threadIdx.x == 0) " if part.threads > 1 else ""
            self.put(f"{first}*({t}*)(scratch + {slots[name]}) = {name};")
        head = f'extern "C" __global__ void __launch_bounds__({part.threads})'
        return (
            f"{head}\n{entry}({self._parameters(bool(slots))}) {{\n" + "\n".join(self.lines) + "\n}"
        )

    def _parameters(self, has_scratch: bool) -> str:
        written = set(stored_buffers(self.kernel.body))
        words = []
        for p in self.kernel.params:
            if p.dtype.kind == "c":
                self.ex.used.add("complex")
            const_word = "" if p.name in written else "const "
            words.append(f"{const_word}{memory_type(p.dtype)}* {p.name}")
        if has_scratch:
            words.append("unsigned char* scratch")
        return ", ".join(words)

    def _declare_all(self) -> None:
        for s in _flat(self.kernel.body):
            if isinstance(s, Acc):
                self.accs[s.name] = (s.init.dtype, s.combiner)

    def _grid_loop(self) -> None:
        """Write the loop over this thread's (or group's) share of the iterations."""
        part, i = self.part, self.ex.index_type
        per_block = part.threads // part.lanes
        if part.lanes == 1:
            start, step = f"({i})blockIdx.x * {part.threads} + threadIdx.x", part.threads
        elif part.lanes == WARP:
            self.put(f"const int lane = threadIdx.x % {WARP};")
            start = f"({i})blockIdx.x * {per_block} + threadIdx.x / {WARP}"
            step = per_block
        else:
            self.put("const int lane = threadIdx.x;")
            start, step = "blockIdx.x", 1
        turn = f"({i})gridDim.x * {step}" if step > 1 else f"({i})gridDim.x"
        several = part.blocks * per_block < part.extent
        if several:
            self.put(f"for ({i} task = {start}; task < {part.extent}; task += {turn}) {{")
        else:
            self.put(f"const {i} task = {start};")
            self.put(f"if (task < {part.extent}) {{")
        self.depth += 1
        self._decode()
        self.statements(part.body, shared=part.lanes > 1)
        self.depth -= 1
        self.put("}")

    def _decode(self) -> None:
        """Write the loop indices in terms of ``task``."""
        rest, inner = "task", self.part.extent
        for number, (name, extent) in enumerate(self.part.loops):
            inner //= extent
            text = rest if inner == 1 else f"{rest} / {inner}"
            if (number and inner > 1) or (number and extent * inner != self.part.extent):
                text = f"{rest} % {extent * inner}" + (f" / {inner}" if inner > 1 else "")
            self.put(f"const {self.ex.index_type} {name} = {text};")

    # --- statements ---

    def statements(self, body: Sequence[Stmt], shared: bool) -> None:
        """Write statements in order, with barriers where lanes read what others have written."""
        for number, s in enumerate(body):
            self.statement(s, shared)
            if shared and self._must_wait(s, body[number + 1 :]):
                self.barrier()

    def _must_wait(self, s: Stmt, later: Sequence[Stmt]) -> bool:
        written = set(stored_buffers([s]))
        return bool(written and not written.isdisjoint(loaded_buffers(later)))

    def barrier(self) -> None:
        """Write a barrier for the lanes that work together."""
        self.put("__syncthreads();" if self.part.lanes > WARP else "__syncwarp();")

    def statement(self, s: Stmt, shared: bool) -> None:
        """Write one statement."""
        ex = self.ex
        match s:
            case Let(name, value) if name in ex.positions:
                self.put(f"const {ex.index_type} {name} = {_outer(ex.position(value))};")
            case Let(name, value):
                self.put(f"const {ex.type_of(value.dtype)} {name} = {_outer(ex.value(value))};")
            case Acc(name, init, _):
                self.put(f"{ex.type_of(init.dtype)} {name} = {_outer(ex.value(init))};")
            case Combine(name, value):
                dtype, combiner = self.accs[name]
                assert combiner is not None, name
                own = ex.names.get(name, name)
                self.put(f"{own} = {_outer(ex.combine(combiner, own, ex.value(value), dtype))};")
            case Set(name, value):
                self.put(f"{name} = {_outer(ex.value(value))};")
            case Store(buffer, at, value):
                text = ex.to_memory(ex.value(value), self.dtypes[buffer])
                place = f"{buffer}[{_outer(ex.position(at))}]"
                self.put(f"{'if (lane == 0) ' if shared else ''}{place} = {_outer(text)};")
            case If(condition, then, orelse):
                self._if(condition, then, orelse, shared)
            case For():
                if shared and s.kind != "serial":
                    self._shared_loop(s)
                else:
                    self._loop(s, shared)

    def _if(
        self, condition: Expr, then: Sequence[Stmt], orelse: Sequence[Stmt], shared: bool
    ) -> None:
        self.put(f"if ({_outer(self.ex.value(condition))}) {{")
        self._indented(then, shared)
        if orelse:
            self.put("} else {")
            self._indented(orelse, shared)
        self.put("}")

    def _indented(self, body: Sequence[Stmt], shared: bool) -> None:
        self.depth += 1
        self.statements(body, shared)
        self.depth -= 1

    def _loop(self, loop: For, shared: bool) -> None:
        """Write a loop that every thread runs from beginning to end."""
        i = loop.index
        self.put(f"for ({self.ex.index_type} {i} = 0; {i} < {loop.extent}; ++{i}) {{")
        self._indented(loop.body, shared)
        # The next round may read, in other lanes, what this one has written.
        if shared and self._must_wait(loop, loop.body):
            self.depth += 1
            self.barrier()
            self.depth -= 1
        self.put("}")

    def _shared_loop(self, loop: For) -> None:
        """Write a loop whose iterations the lanes share."""
        ex, i = self.ex, loop.index
        partial = sorted(combined_outside(loop.body))
        if partial:  # a block, because another loop may combine into the same name
            self.put("{")
            self.depth += 1
        for name in partial:
            dtype, combiner = self.accs[name]
            assert combiner is not None, name
            start = literal(_identity(combiner, dtype))
            if "from_bits" in start:
                ex.used.add("from_bits")
            self.put(f"{ex.type_of(dtype)} {name}_own = lane == 0 ? {name} : {start};")
            ex.names[name] = f"{name}_own"
        lanes = self.part.lanes
        self.put(f"for ({ex.index_type} {i} = lane; {i} < {loop.extent}; {i} += {lanes}) {{")
        self._indented(loop.body, shared=False)
        self.put("}")
        for name in partial:
            del ex.names[name]
            self._combine_lanes(name)
        if partial:
            self.depth -= 1
            self.put("}")

    def _combine_lanes(self, name: str) -> None:
        """Write ``name`` = the lanes' parts combined, in every lane."""
        ex = self.ex
        dtype, combiner = self.accs[name]
        assert combiner is not None, name
        own = f"{name}_own"
        other = self._from_lane(own, dtype)
        lanes = min(self.part.lanes, WARP)
        self.put(f"for (int distance = {lanes // 2}; distance > 0; distance /= 2)")
        self.put(f"  {own} = {_outer(ex.combine(combiner, own, other, dtype))};")
        warps = self.part.lanes // WARP
        if warps <= 1:
            self.put(f"{name} = {own};")
            return
        self.put(f"__shared__ {ex.type_of(dtype)} {name}_warps[{warps}];")
        self.put(f"if (lane % {WARP} == 0) {name}_warps[lane / {WARP}] = {own};")
        self.put("__syncthreads();")
        self.put(f"{name} = {name}_warps[0];")
        total = ex.combine(combiner, name, f"{name}_warps[w]", dtype)
        self.put(f"for (int w = 1; w < {warps}; ++w) {name} = {_outer(total)};")
        self.put("__syncthreads();")

    def _from_lane(self, own: str, dtype: DType) -> str:
        if dtype.kind == "c":
            self.ex.used.add("shuffle_complex")
            return f"complex_from_lane({own}, distance)"
        if dtype.itemsize < 4 and not is_float(dtype):
            self.ex.used.add("shuffle_small")
            return f"small_from_lane({own}, distance)"
        self.ex.used.add("shuffle")
        return f"from_lane({own}, distance)"


def _flat(statements: Sequence[Stmt]) -> list[Stmt]:
    out: list[Stmt] = []
    for s in statements:
        out.append(s)
        match s:
            case For(_, _, body, _):
                out += _flat(body)
            case If(_, body, orelse):
                out += [*_flat(body), *_flat(orelse)]
    return out


def _identity(combiner: str, dtype: DType) -> Expr:
    """Return the neutral element of a combiner."""
    value: Any
    if combiner in ("add", "or", "xor"):
        value = 0
    elif combiner == "mul":
        value = 1
    elif combiner == "and":
        value = True if dtype.kind == "b" else -1 if dtype.kind == "i" else np.iinfo(dtype).max
    elif dtype.kind == "b":
        value = combiner == "min"
    elif is_float(dtype):
        value = np.inf if combiner == "min" else -np.inf
    else:
        info = np.iinfo(dtype)
        value = info.max if combiner == "min" else info.min
    return const(value, dtype)


def _outer(text: str) -> str:
    """Return ``text`` without parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]
