"""Where temps lie in the workspace. In: Program. Out: Program with offsets. Next: ``emit_llvm.py``.

A temp lives from the first step that touches it to the last. Temps whose lives do not overlap share
memory. Invariant: temps that live at the same time do not overlap; offsets are multiples of 64
bytes.

Steps are numbered in program order, those inside a loop too. A temp that is touched only inside a
loop's body is written in each round before it is read; one that is also touched outside lives
through the whole loop, because rounds hand it on.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import replace

from jaxlite.compiler.in_place import coalesce, reads_and_writes
from jaxlite.kernel_ir.program import Branch, Loop, Program, Step, While

ALIGNMENT = 64


def plan_memory(program: Program) -> Program:
    """Return ``program`` without copies of dead temps and with an offset for every temp."""
    fixed = {b.name for b in program.buffers if b.kind == "input"}
    kinds = {b.name: b.kind for b in program.buffers}
    steps = tuple(coalesce(list(program.steps), fixed, kinds))
    lives = _Lives(steps)
    temps = [b for b in program.buffers if b.kind == "temp" and b.name in lives.first]
    temps.sort(key=lambda b: lives.first[b.name])
    space = _Space()
    offsets: dict[str, int] = {}
    ends: list[tuple[int, int, int]] = []  # (last touch, offset, size), sorted
    for b in temps:
        while ends and ends[0][0] < lives.first[b.name]:
            _, offset, size = ends.pop(0)
            space.free(offset, size)
        size = max(-(-b.nbytes // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
        offsets[b.name] = space.take(size)
        bisect.insort(ends, (lives.last[b.name], offsets[b.name], size))
    buffers = tuple(
        replace(b, offset_bytes=offsets[b.name]) if b.name in offsets else b
        for b in program.buffers
        if b.kind != "temp" or b.name in offsets
    )
    return replace(program, buffers=buffers, steps=steps, workspace_bytes=space.size)


class _Lives:
    """First and last touch of every buffer."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.now = 0
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.loops: list[tuple[int, int, set[str]]] = []  # inner ones first
        self._walk(steps)
        for start, end, names in self.loops:
            for name in names:
                # Also touched outside: what one round leaves must still be there in the next, and
                # after.
                if self.first[name] < start or self.last[name] > end:
                    self.first[name] = min(self.first[name], start)
                    self.last[name] = max(self.last[name], end)

    def _touch(self, name: str) -> None:
        self.first.setdefault(name, self.now)
        self.last[name] = self.now

    def _walk(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self.now += 1
            match step:
                case Loop(_, _, body, _):
                    self._loop([body])
                case While(cond, flag, body):
                    self._loop([cond, body], flag.buffer)
                case Branch(index, branches):
                    self._touch(index.buffer)
                    for branch in branches:
                        self._walk(branch)
                case _:
                    reads, writes = reads_and_writes(step)
                    for view in (*reads, *writes):
                        self._touch(view.buffer)

    def _loop(self, parts: list[tuple[Step, ...]], flag: str = "") -> None:
        start = self.now
        for n, part in enumerate(parts):
            self._walk(part)
            if flag and n == 0:
                self.now += 1
                self._touch(flag)
        self.now += 1
        names = {flag} if flag else set()
        names.update(
            v.buffer
            for r in map(reads_and_writes, (s for part in parts for s in part))
            for vs in r
            for v in vs
        )
        self.loops.append((start, self.now, names))


class _Space:
    """First-fit allocation in one growing block."""

    def __init__(self) -> None:
        self.size = 0
        self.holes: list[tuple[int, int]] = []  # (offset, size), sorted, never adjacent

    def take(self, size: int) -> int:
        """Return the offset of ``size`` free bytes."""
        best = None
        for n, (_, hole) in enumerate(self.holes):
            if hole >= size and (best is None or hole < self.holes[best][1]):
                best = n
        if best is not None:
            offset, hole = self.holes[best]
            if hole == size:
                del self.holes[best]
            else:
                self.holes[best] = (offset + size, hole - size)
            return offset
        if self.holes and sum(self.holes[-1]) == self.size:
            offset, hole = self.holes.pop()
            self.size += size - hole
            return offset
        offset = self.size
        self.size += size
        return offset

    def free(self, offset: int, size: int) -> None:
        """Give bytes back."""
        at = bisect.bisect(self.holes, (offset, 0))
        if at < len(self.holes) and self.holes[at][0] == offset + size:
            size += self.holes.pop(at)[1]
        if at and sum(self.holes[at - 1]) == offset:
            before, length = self.holes.pop(at - 1)
            offset, size, at = before, length + size, at - 1
        self.holes.insert(at, (offset, size))
