"""CUDA C, parts: which loops of a kernel the threads of a GPU share. In: a kernel. Out: parts.

The statements of a kernel run in order, and threads of different blocks cannot wait for each other:
what must wait is a part, a ``__global__`` function, of its own.

* A loop whose iterations are independent is shared by the whole grid. If an iteration is a row
  (sums, then what is made of them), the lanes of a warp or all threads of a block share the row.
* Everything else runs in one block, whose threads share its inner loops.

Names that one part binds and a later one reads travel through a scratch buffer. Next:
``cuda_body.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from jaxlite.compiler.cuda_expr import is_narrow
from jaxlite.kernel_ir.nodes import (
    I64,
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
    walk,
    with_args,
)

#: Threads of a block, lanes of a warp, most blocks of a grid (then threads take several turns).
THREADS: Final = 256
WARP: Final = 32
MOST_BLOCKS: Final = 16384
#: Longest row that one warp takes, and shortest that is shared at all.
LONGEST_WARP_ROW: Final = 1024
SHORTEST_SHARED_ROW: Final = 9
#: A kernel with no more iterations than this runs in one block: a launch costs more than they do.
SMALL: Final = 4096


@dataclass(slots=True)
class Part:
    """One ``__global__`` function.

    Attributes:
        loops: (index, extent) of the loops that the grid shares; empty: one block runs ``body``.
        body: what one iteration does.
        lanes: threads that share an iteration.
        threads: threads of a block.
        blocks: blocks of the grid.
        prologue: bindings from further out, computed again here.
        reads: names that earlier parts left in the scratch buffer.
        leaves: names that later parts will read there.
    """

    loops: list[tuple[str, int]]
    body: tuple[Stmt, ...]
    lanes: int = 1
    threads: int = THREADS
    blocks: int = 1
    prologue: list[Let] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)

    @property
    def extent(self) -> int:
        """Number of iterations that the grid shares."""
        n = 1
        for _, extent in self.loops:
            n *= extent
        return n


def parts_of(kernel: Kernel) -> list[Part]:
    """Return the parts of ``kernel`` in the order in which they run."""
    stored = set(stored_buffers(kernel.body))
    accs = {s.name for s in kernel.body if isinstance(s, Acc)}
    known: dict[str, Let] = {}
    parts: list[Part] = []
    waiting: list[Stmt] = []

    def flush() -> None:
        if waiting:
            parts.append(_one_block(tuple(waiting)))
            waiting.clear()

    is_small = sum(map(iterations, kernel.body)) <= SMALL
    for statement in kernel.body:
        if isinstance(statement, Let) and _is_steady(statement.value, stored, accs, known):
            known[statement.name] = statement
            continue
        loop = None if is_small else _shareable(statement)
        if loop is None:
            waiting.append(statement)
            continue
        flush()
        parts.append(_grid(loop))
    flush()
    if not parts:  # nothing but bindings: a kernel over an empty domain
        parts.append(_one_block(()))
    _connect(parts, known)
    return parts


# --- the grid ---


def _shareable(statement: Stmt) -> For | None:
    """Return the statement as a loop that the grid can share, None if it is no such loop."""
    if not isinstance(statement, For):
        return None
    if statement.kind == "serial":
        return _interchanged(statement)
    return None if combined_outside(statement.body) else statement


def _grid(loop: For) -> Part:
    """Return the part that shares ``loop`` and the independent loops directly inside it."""
    loops = [(loop.index, loop.extent)]
    lets: list[Stmt] = []
    kind, body = loop.kind, loop.body
    while True:
        inner_lets, inner = _only_loop(body)
        if inner is None or inner.kind == "serial" or combined_outside(inner.body):
            break
        loops.append((inner.index, inner.extent))
        lets += inner_lets
        kind, body = inner.kind, inner.body
    part = Part(loops, (*lets, *body))
    row = max((f.extent for f in shared_loops(body)), default=0)
    if kind != "vector" and row >= SHORTEST_SHARED_ROW:
        part.lanes = WARP if row <= LONGEST_WARP_ROW else THREADS
    per_block = part.threads // part.lanes
    part.blocks = max(1, min(MOST_BLOCKS, -(-part.extent // per_block)))
    return part


def _one_block(body: tuple[Stmt, ...]) -> Part:
    row = max((f.extent for f in shared_loops(body)), default=1)
    threads = 1 if row < SHORTEST_SHARED_ROW else WARP if row <= WARP else THREADS
    if row >= 8 * THREADS:
        threads = 4 * THREADS
    return Part([], body, lanes=threads, threads=threads)


def _only_loop(body: Sequence[Stmt]) -> tuple[list[Stmt], For | None]:
    """Return bindings and the one loop after them, if that is all of ``body``."""
    lets = list(body[:-1])
    last = body[-1] if body else None
    if isinstance(last, For) and all(isinstance(s, Let) for s in lets):
        return lets, last
    return [], None


def _interchanged(loop: For) -> For | None:
    """Return a serial loop around an independent one the other way round, if nothing changes.

    A column sum ``for i: for j: out[j] += x[i, j]``: every thread keeps to one column, so each
    element of ``out`` belongs to one thread.
    """
    lets, inner = _only_loop(loop.body)
    if inner is None or combined_outside(inner.body):
        return None
    target = inner if inner.kind != "serial" else _interchanged(inner)
    if target is None:
        return None
    bindings = {s.name: s.value for s in (*lets, *inner.body, *target.body) if isinstance(s, Let)}
    if not _is_private(target, bindings):
        return None
    serial = For(loop.index, loop.extent, (*lets, *target.body), "serial")
    return For(target.index, target.extent, (serial,), "vector")


def _is_private(loop: For, bindings: dict[str, Expr]) -> bool:
    """Say whether each written element is used by one iteration of ``loop`` only."""
    stored = set(stored_buffers(loop.body))
    places: dict[str, set[Expr]] = {}
    for buffer, at in accesses(loop.body):
        if buffer in stored:
            places.setdefault(buffer, set()).add(_written_out(at, bindings))
    return all(
        len(found) == 1 and _depends_only_on(next(iter(found)), loop.index)
        for found in places.values()
    )


def _written_out(e: Expr, bindings: dict[str, Expr]) -> Expr:
    """Return ``e`` with names replaced by what they are bound to."""
    if e.kind == "name" and e.attrs[0] in bindings:
        return _written_out(bindings[e.attrs[0]], bindings)
    if not e.args:
        return e
    return with_args(e, tuple([_written_out(a, bindings) for a in e.args]))


def _depends_only_on(e: Expr, index: str) -> bool:
    """Say whether ``e`` is ``index``, or grows with it and depends on no other."""
    if e.kind == "index":
        return bool(e.attrs[0] == index)
    if e.kind != "binary" or e.attrs[0] not in ("add", "mul"):
        return False
    a, b = e.args
    if a.kind == "const":
        a, b = b, a
    return b.kind == "const" and _depends_only_on(a, index)


# --- walking over statements ---


def nested(statements: Iterable[Stmt]) -> Iterator[Stmt]:
    """Yield all statements, those inside others too."""
    for s in statements:
        yield s
        match s:
            case For(_, _, body, _):
                yield from nested(body)
            case If(_, body, orelse):
                yield from nested(body)
                yield from nested(orelse)


def shared_loops(statements: Iterable[Stmt]) -> Iterator[For]:
    """Yield the outermost independent loops."""
    for s in statements:
        match s:
            case For(_, _, body, kind):
                if kind == "serial":
                    yield from shared_loops(body)
                else:
                    yield s
            case If(_, body, orelse):
                yield from shared_loops(body)
                yield from shared_loops(orelse)


def values_of(statement: Stmt) -> tuple[Expr, ...]:
    """Return the expressions of a statement, without those of statements inside it."""
    match statement:
        case Let(_, value) | Combine(_, value) | Set(_, value):
            return (value,)
        case Acc(_, init, _):
            return (init,)
        case Store(_, at, value):
            return (at, value)
        case If(condition, _, _):
            return (condition,)
    return ()


def stored_buffers(statements: Iterable[Stmt]) -> Iterator[str]:
    """Yield the buffers that are written."""
    return (s.buffer for s in nested(statements) if isinstance(s, Store))


def loaded_buffers(statements: Iterable[Stmt]) -> Iterator[str]:
    """Yield the buffers that are read."""
    for s in nested(statements):
        for value in values_of(s):
            yield from (e.attrs[0] for e in walk(value) if e.kind == "load")


def accesses(statements: Iterable[Stmt]) -> Iterator[tuple[str, Expr]]:
    """Yield (buffer, position) of everything that is read or written."""
    for s in nested(statements):
        if isinstance(s, Store):
            yield s.buffer, s.at
        for value in values_of(s):
            yield from ((e.attrs[0], e.args[0]) for e in walk(value) if e.kind == "load")


def combined_outside(statements: Sequence[Stmt]) -> set[str]:
    """Return the accumulators that statements change and that are declared outside of them."""
    inside = {s.name for s in nested(statements) if isinstance(s, Acc)}
    changed = {s.name for s in nested(statements) if isinstance(s, Combine | Set)}
    return changed - inside


def iterations(statement: Stmt) -> int:
    """Return how often the innermost statements run."""
    match statement:
        case For(_, extent, body, _):
            return extent * max(1, sum(map(iterations, body)))
        case If(_, body, orelse):
            return max(sum(map(iterations, body)), sum(map(iterations, orelse)))
    return 1


# --- names ---


def position_names(kernel: Kernel) -> set[str]:
    """Return the names that are made of loop indices and say nothing but where an element is."""
    bound = {s.name: s.value for s in nested(kernel.body) if isinstance(s, Let)}
    found = {n for n, e in bound.items() if e.dtype == I64 and is_narrow(e)}
    while True:
        as_values = _value_names(
            s for s in nested(kernel.body) if getattr(s, "name", "") not in found
        )
        if not found & as_values:
            return found
        found -= as_values


def _value_names(statements: Iterable[Stmt]) -> set[str]:
    """Return the names whose values, not only places, the statements use."""
    used: set[str] = set()
    for s in statements:
        for e in values_of(s)[1 if isinstance(s, Store) else 0 :]:
            waiting = [e]
            while waiting:
                x = waiting.pop()
                if x.kind == "name":
                    used.add(x.attrs[0])
                elif x.kind != "load":
                    waiting += x.args
    return used


def _is_steady(value: Expr, stored: set[str], accs: set[str], known: dict[str, Let]) -> bool:
    """Say whether a value is the same wherever in the kernel it is computed."""
    for e in walk(value):
        if e.kind == "load" and e.attrs[0] in stored:
            return False
        if e.kind == "name" and (e.attrs[0] in accs or e.attrs[0] not in known):
            return False
    return True


def names_in(statements: Iterable[Stmt]) -> set[str]:
    """Return the names that statements read."""
    found: set[str] = set()
    for s in nested(statements):
        for value in values_of(s):
            found.update(e.attrs[0] for e in walk(value) if e.kind == "name")
    return found


def _connect(parts: list[Part], known: dict[str, Let]) -> None:
    """Fill in what each part computes again, reads and leaves."""
    bound: dict[str, Part] = {}
    for part in parts:
        wanted = names_in(part.body) | combined_outside(part.body)
        again: list[Let] = []
        for let in reversed(known.values()):
            if let.name in wanted:
                again.append(let)
                wanted |= names_in([let])
        part.prologue = again[::-1]
        for name in sorted(wanted & bound.keys()):
            part.reads.append(name)
            if name not in bound[name].leaves:
                bound[name].leaves.append(name)
        if not part.loops:
            bound |= {s.name: part for s in part.body if isinstance(s, Let | Acc)}
