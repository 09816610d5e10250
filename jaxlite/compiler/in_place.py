"""Which copies are not needed. In: steps. Out: fewer steps, writing where a copy would have gone.

``Copy(a, b)`` at the end of a body can go if the step that makes ``a`` may write ``b`` at once:
nobody reads the old ``b`` after that step, and the step itself reads an element of the old ``b``
only before it writes that same element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import (
    Branch,
    Copy,
    HostCall,
    Launch,
    LibraryCall,
    Loop,
    Step,
    View,
    While,
)


def reads_and_writes(step: Step) -> tuple[list[View], list[View]]:
    """Return the views a step reads and those it writes, nested steps included."""
    match step:
        case Launch(kernel, args):
            # What a kernel loads from its outputs is its own, or it updates them in place: a write.
            pairs = list(zip(kernel.params, args, strict=True))
            return [v for p, v in pairs if not p.is_output], [v for p, v in pairs if p.is_output]
        case LibraryCall(_, ins, outs, _, _) | HostCall(_, _, ins, outs, _):
            return list(ins), list(outs)
        case Copy(src, dst):
            return [src], [dst]
        case Loop(_, _, body, _):
            return _of_all(body)
        case While(cond, flag, body):
            reads, writes = _of_all((*cond, *body))
            return [*reads, flag], writes
        case Branch(index, branches):
            reads, writes = _of_all(s for b in branches for s in b)
            return [index, *reads], writes


def _of_all(steps: Iterable[Step]) -> tuple[list[View], list[View]]:
    reads: list[View] = []
    writes: list[View] = []
    for step in steps:
        r, w = reads_and_writes(step)
        reads += r
        writes += w
    return reads, writes


def loaded_buffers(kernel: ir.Kernel) -> set[str]:
    """Return the names of the parameters a kernel loads from."""
    return {
        e.attrs[0]
        for root in all_expressions(kernel.body)
        for e in ir.walk(root)
        if e.kind == "load"
    }


def all_expressions(body: Sequence[ir.Stmt]) -> list[ir.Expr]:
    """Return all expressions of a body, in order."""
    out: list[ir.Expr] = []
    for s in body:
        match s:
            case ir.Store(_, at, value):
                out += (at, value)
            case ir.Combine(_, value) | ir.Set(_, value) | ir.Let(_, value) | ir.Acc(_, value, _):
                out.append(value)
            case ir.If(condition, yes, no):
                out += [condition, *all_expressions(yes), *all_expressions(no)]
            case ir.For(_, _, inner, _):
                out += all_expressions(inner)
    return out


def drop_copies(steps: list[Step], n_copies: int) -> list[Step]:
    """Remove as many as possible of the last ``n_copies`` steps, all ``Copy(temp, state)``."""
    body, copies = steps[: len(steps) - n_copies], steps[len(steps) - n_copies :]
    kept: list[Step] = []
    for copy in copies:
        assert isinstance(copy, Copy)
        # Copies that stay read other temps and write other states; they cannot be in the way.
        done = _write_directly(body, copy.src, copy.dst)
        if done is None:
            kept.append(copy)
        else:
            body = done
    return [*body, *kept]


def _write_directly(body: list[Step], temp: View, state: View) -> list[Step] | None:
    """Return the body with ``state`` for ``temp``, or None if an old value would be lost."""
    touching = [n for n, s in enumerate(body) if _touches(s, temp.buffer)]
    if not touching:
        return None
    first = touching[0]
    step = body[first]
    starts_as_copy = isinstance(step, Copy) and step.src == state and step.dst == temp
    if not starts_as_copy:
        _, writes = reads_and_writes(step)
        if not isinstance(step, Launch | Copy | LibraryCall | HostCall):
            return None
        if all(w.buffer != temp.buffer for w in writes) or not _allows(step, temp, state):
            return None
    for later in body[first + 1 :]:
        if _touches(later, state.buffer) and not (starts_as_copy and _allows(later, temp, state)):
            return None
    rest = body[:first] + body[first + 1 :] if starts_as_copy else body
    return [_renamed(s, temp.buffer, state) for s in rest]


def _touches(step: Step, buffer: str) -> bool:
    reads, writes = reads_and_writes(step)
    return any(v.buffer == buffer for v in (*reads, *writes))


def _allows(step: Step, temp: View, state: View) -> bool:
    """Say whether a step that writes ``temp`` may write ``state`` instead although it reads it."""
    reads, writes = reads_and_writes(step)
    if any(w.buffer == state.buffer for w in writes):
        return False
    if all(r.buffer != state.buffer for r in reads):
        return True
    return isinstance(step, Launch) and _is_safe(step, temp, state)


def coalesce(steps: list[Step], fixed: set[str], kinds: Mapping[str, str]) -> list[Step]:
    """Drop copies of temps that nobody reads afterwards: their maker writes the target.

    ``fixed`` are buffers that also live outside these steps.
    """
    position: dict[str, list[int]] = {}
    for n, step in enumerate(steps):
        reads, writes = reads_and_writes(step)
        for name in dict.fromkeys(v.buffer for v in (*reads, *writes)):
            position.setdefault(name, []).append(n)
    dropped: set[int] = set()
    for n, step in enumerate(steps):
        if not isinstance(step, Copy) or step.src.counters or step.src.offset:
            continue
        source, target = step.src.buffer, step.dst.buffer
        if source in fixed or target in fixed or kinds.get(source) != "temp" or source == target:
            continue
        if position[source][-1] != n or position[target][0] != n:
            continue
        if step.dst.counters or step.dst.offset:
            continue
        touched = position.pop(source)
        for m in touched:
            steps[m] = _renamed(steps[m], source, step.dst)
        dropped.add(n)
        position[target] = sorted({*touched, *position[target]} - {n})
    return [s for n, s in enumerate(steps) if n not in dropped]


def _is_safe(step: Launch, temp: View, state: View) -> bool:
    """Say whether a kernel may overwrite ``state`` while it reads it."""
    if any(v.buffer == state.buffer and v != state for v in step.args):
        return False
    outs = [
        p.name
        for p, v in zip(step.kernel.params, step.args, strict=True)
        if v.buffer == temp.buffer
    ]
    ins = [
        p.name
        for p, v in zip(step.kernel.params, step.args, strict=True)
        if v.buffer == state.buffer
    ]
    if len(outs) != 1 or outs[0] in loaded_buffers(step.kernel):
        return False
    return all(reads_before_write(step.kernel.body, i, outs[0]) for i in ins)


def reads_before_write(body: Sequence[ir.Stmt], source: str, target: str) -> bool:
    """Say whether each element of ``source`` is loaded before that of ``target`` is stored.

    True for a body without loops that stores last, and for a single loop nest whose loads of
    ``source`` have the index of the only store to ``target``.
    """
    whole = body
    while True:
        inner = [s for s in body if isinstance(s, ir.For)]
        rest = [s for s in body if not isinstance(s, ir.For)]
        touches = [
            s for s in rest if _loads(s, source) or (isinstance(s, ir.Store) and s.buffer == target)
        ]
        if not inner:
            break
        if len(inner) > 1 or touches:
            return False
        body = inner[0].body
    stores = [n for n, s in enumerate(body) if isinstance(s, ir.Store) and s.buffer == target]
    if any(isinstance(s, ir.If) for s in body) or len(stores) != 1:
        return False
    is_straight = body is whole
    first = stores[0]
    store = body[first]
    assert isinstance(store, ir.Store)
    if any(_loads(s, source) for s in body[first + 1 :]):
        return False
    return is_straight or all(e.args[0] is store.at for s in body for e in _loads(s, source))


def _loads(s: ir.Stmt, source: str) -> list[ir.Expr]:
    return [
        e
        for root in all_expressions([s])
        for e in ir.walk(root)
        if e.kind == "load" and e.attrs[0] == source
    ]


def _renamed(step: Step, old: str, new: View) -> Step:
    """Return the step with every view of buffer ``old`` (a whole temp) replaced by ``new``."""

    def view(v: View) -> View:
        if v.buffer != old:
            return v
        return View(new.buffer, v.shape, new.offset + v.offset, (*new.counters, *v.counters))

    def views(vs: tuple[View, ...]) -> tuple[View, ...]:
        return tuple([view(v) for v in vs])

    match step:
        case Launch(_, args):
            return replace(step, args=views(args))
        case LibraryCall(_, ins, outs, _, _) | HostCall(_, _, ins, outs, _):
            return replace(step, ins=views(ins), outs=views(outs))
        case Copy(src, dst):
            return Copy(view(src), view(dst))
        case Loop(_, _, body, _):
            return replace(step, body=tuple([_renamed(s, old, new) for s in body]))
        case While(cond, flag, body):
            parts = [tuple([_renamed(s, old, new) for s in part]) for part in (cond, body)]
            return replace(step, cond=parts[0], flag=view(flag), body=parts[1])
        case Branch(index, branches):
            return Branch(
                view(index), tuple(tuple(_renamed(s, old, new) for s in b) for b in branches)
            )
