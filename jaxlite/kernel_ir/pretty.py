"""Kernels and programs as text for people. In: Kernel, Program or Expr. Out: lines.

An expression used twice in a statement is shown once, under a temporary name::

    kernel fused_mul_exp(x: f32[8], out y: f32[8])
      for i in 8, vector:
        s0 = x[i]
        y[i] = s0 * exp(-s0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, assert_never

from jaxlite.kernel_ir.nodes import (
    PRINTER,
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
from jaxlite.language.dtypes import short_name

_INDENT: Final = "  "
#: Infix operators: text and how tightly they bind.
_INFIX: Final = {
    "mul": ("*", 6),
    "div": ("/", 6),
    "rem": ("%", 6),
    "add": ("+", 5),
    "sub": ("-", 5),
    "shl": ("<<", 4),
    "shr_logical": (">>>", 4),
    "shr_arithmetic": (">>", 4),
    "and": ("&", 3),
    "xor": ("^", 2),
    "or": ("|", 1),
    "eq": ("==", 0),
    "ne": ("!=", 0),
    "lt": ("<", 0),
    "le": ("<=", 0),
    "gt": (">", 0),
    "ge": (">=", 0),
}
_PREFIX: Final = {"neg": "-", "not": "~"}
_ATOM: Final = 9
_UNARY_LEVEL: Final = 7


def format_expr(e: Expr, names: dict[Expr, str] | None = None) -> str:
    """Return ``e`` on one line; ``names`` are sub-expressions to show by name.

    >>> from jaxlite.kernel_ir import nodes as ir
    >>> i = ir.index("i")
    >>> format_expr(ir.binary("mul", ir.binary("add", i, ir.i64(1)), ir.i64(8)))
    '(i + 1) * 8'
    """
    done: dict[Expr, tuple[str, int]] = {n: (text, _ATOM) for n, text in (names or {}).items()}
    stack = [e]
    while stack:
        node = stack[-1]
        missing = [a for a in node.args if a not in done]
        if node in done:
            stack.pop()
        elif missing:
            stack.extend(missing)
        else:
            done[stack.pop()] = _node(node, [done[a] for a in node.args])
    return done[e][0]


def _wrap(part: tuple[str, int], level: int) -> str:
    text, own = part
    return text if own >= level else f"({text})"


def _node(e: Expr, args: list[tuple[str, int]]) -> tuple[str, int]:
    match e.kind:
        case "const":
            return _constant(e), _ATOM
        case "index" | "name":
            return str(e.attrs[0]), _ATOM
        case "load":
            return f"{e.attrs[0]}[{args[0][0]}]", _ATOM
        case "select":
            condition, x, y = (a[0] for a in args)
            return f"select({condition}, {x}, {y})", _ATOM
        case "fma":
            return f"fma({', '.join(a[0] for a in args)})", _ATOM
        case "cast" | "bitcast":
            bits = "" if e.kind == "cast" else "bits_"
            return f"{bits}{short_name(e.dtype)}({args[0][0]})", _ATOM
        case _:
            return _operator(e.attrs[0], args)


def _operator(op: str, args: list[tuple[str, int]]) -> tuple[str, int]:
    if op in _PREFIX:
        return f"{_PREFIX[op]}{_wrap(args[0], _UNARY_LEVEL)}", _UNARY_LEVEL
    if op in _INFIX:
        symbol, level = _INFIX[op]
        left, right = _wrap(args[0], level), _wrap(args[1], level + 1)
        return f"{left} {symbol} {right}", level
    return f"{op}({', '.join(a[0] for a in args)})", _ATOM


def _constant(e: Expr) -> str:
    value: Any = const_value(e)
    if e.dtype.kind == "b":
        return str(bool(value))
    if e.dtype.kind in "iu":
        return str(int(value))
    if e.dtype.kind == "c":
        return str(complex(value))
    return repr(float(value)) if e.dtype.itemsize > 4 else str(value)


def _shared(roots: list[Expr]) -> list[Expr]:
    """Return the nodes under ``roots`` that are worth a name: used twice and longer than a name."""
    uses: dict[Expr, int] = {}
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(e, False) for e in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
            continue
        uses[node] = uses.get(node, 0) + 1
        if uses[node] == 1:
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args))
    return [e for e in order if uses[e] > 1 and e.kind not in ("const", "index", "name")]


class _Lines:
    def __init__(self) -> None:
        self.temporaries = 0

    def block(self, body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
        for stmt in body:
            yield from self.statement(stmt, depth)

    def statement(self, stmt: Stmt, depth: int) -> Iterator[str]:
        pad = _INDENT * depth
        match stmt:
            case Let(name, value):
                yield from self.assignment(f"{name} =", [value], pad)
            case Acc(name, init, combiner):
                by = f" ({combiner})" if combiner else ""
                yield from self.assignment(f"acc {name}{by} =", [init], pad)
            case Combine(name, value):
                yield from self.assignment(f"{name} <-", [value], pad)
            case Set(name, value):
                yield from self.assignment(f"{name} =", [value], pad)
            case Store(buffer, at, value):
                yield from self.assignment(buffer, [value], pad, at)
            case If(condition, body, orelse):
                yield f"{pad}if {format_expr(condition)}:"
                yield from self.block(body, depth + 1)
                if orelse:
                    yield f"{pad}else:"
                    yield from self.block(orelse, depth + 1)
            case For(index, extent, body, kind):
                how = "" if kind == "serial" else f", {kind}"
                yield f"{pad}for {index} in {extent}{how}:"
                yield from self.block(body, depth + 1)
            case _:
                assert_never(stmt)

    def assignment(
        self, target: str, values: list[Expr], pad: str, at: Expr | None = None
    ) -> Iterator[str]:
        names: dict[Expr, str] = {}
        for e in _shared([*values, *([at] if at else [])]):
            text = format_expr(e, names)
            names[e] = f"s{self.temporaries}"
            self.temporaries += 1
            yield f"{pad}{names[e]} = {text}"
        if at is not None:
            target = f"{target}[{format_expr(at, names)}] ="
        yield f"{pad}{target} {', '.join(format_expr(v, names) for v in values)}"


def format_kernel(kernel: Kernel, depth: int = 0) -> str:
    """Return the loop nest of ``kernel`` as text."""
    pad = _INDENT * depth
    params = ", ".join(
        f"{'out ' if p.is_output else ''}{p.name}: {short_name(p.dtype)}[{p.size}]"
        for p in kernel.params
    )
    lines = [f"{pad}kernel {kernel.name}({params})"]
    lines += [f"{pad}{_INDENT}# {c}" for c in kernel.comments]
    lines += _Lines().block(kernel.body, depth + 1)
    return "\n".join(lines)


def statement_lines(kernel: Kernel) -> dict[int, int]:
    """Return for each statement, by identity, its line in the kernel's text without comments.

    A statement with temporaries has the last of its lines, a loop its first.
    """
    numbered = _NumberedLines()
    for _ in numbered.block(kernel.body, 1):
        numbered.n_lines += 1
    return numbered.numbers


class _NumberedLines(_Lines):
    def __init__(self) -> None:
        super().__init__()
        self.n_lines = 1  # the head
        self.numbers: dict[int, int] = {}

    def block(self, body: tuple[Stmt, ...], depth: int) -> Iterator[str]:
        for stmt in body:
            if isinstance(stmt, For | If):
                self.numbers[id(stmt)] = self.n_lines + 1
                yield from self.statement(stmt, depth)
            else:
                yield from self.statement(stmt, depth)
                self.numbers[id(stmt)] = self.n_lines


def format_view(view: View) -> str:
    """Return ``buffer`` or ``buffer[start: shape]``.

    >>> format_view(View("xs", (4,), 2, (("i", 4),)))
    'xs[2 + 4*i: 4]'
    """
    terms = [str(view.offset)] if view.offset or not view.counters else []
    terms += [f"{stride}*{counter}" for counter, stride in view.counters]
    if terms == ["0"]:
        return view.buffer
    return f"{view.buffer}[{' + '.join(terms)}: {'x'.join(map(str, view.shape)) or 'scalar'}]"


def format_program(program: Program) -> str:
    """Return the buffers, steps and kernels of ``program`` as text."""
    lines = [f"program {program.name}"]
    lines += [f"{_INDENT}# {note}" for note in program.notes]
    for b in program.buffers:
        shape = ",".join(map(str, b.shape))
        place = f" at byte {b.offset_bytes}" if b.offset_bytes >= 0 else ""
        lines.append(f"{_INDENT}{b.kind} {b.name}: {short_name(b.dtype)}[{shape}]{place}")
    if program.workspace_bytes:
        lines.append(f"{_INDENT}workspace: {program.workspace_bytes} bytes")
    kernels: dict[Kernel, None] = {}
    lines += _steps(program.steps, 1, kernels)
    lines.append(f"{_INDENT}return {', '.join(program.outputs)}")
    return "\n".join([*lines, *("\n" + format_kernel(k) for k in kernels)])


def _steps(steps: tuple[Step, ...], depth: int, kernels: dict[Kernel, None]) -> Iterator[str]:
    for step in steps:
        yield from _step(step, depth, kernels)


def _step(step: Step, depth: int, kernels: dict[Kernel, None]) -> Iterator[str]:
    pad = _INDENT * depth
    match step:
        case Launch(kernel, args):
            kernels[kernel] = None
            yield f"{pad}launch {kernel.name}({', '.join(map(format_view, args))})"
        case LibraryCall(routine, ins, outs, params):
            yield f"{pad}{_results(outs)} = {routine}({_call(ins, params)})"
        case HostCall(primitive, params, ins, outs):
            name = getattr(primitive, "name", str(primitive))
            yield f"{pad}{_results(outs)} = host {name}({_call(ins, params)})"
        case Copy(src, dst):
            yield f"{pad}{format_view(dst)} = copy {format_view(src)}"
        case Loop(counter, trip, body, reverse, progress):
            more = f"{', reverse' if reverse else ''}{', progress' if progress else ''}"
            yield f"{pad}loop {counter} in {trip}{more}:"
            yield from _steps(body, depth + 1, kernels)
        case While(cond, flag, body, progress):
            yield f"{pad}while{', progress' if progress else ''}:"
            yield from _steps(cond, depth + 1, kernels)
            yield f"{pad}{_INDENT}leave unless {format_view(flag)}"
            yield from _steps(body, depth + 1, kernels)
        case Branch(index, branches):
            for number, branch in enumerate(branches):
                yield f"{pad}case {format_view(index)} == {number}:"
                yield from _steps(branch, depth + 1, kernels)
        case _:
            assert_never(step)


def _results(views: tuple[View, ...]) -> str:
    return ", ".join(map(format_view, views)) or "()"


def _call(ins: tuple[View, ...], params: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join([*map(format_view, ins), *(f"{k}={v}" for k, v in params)])


PRINTER["kernel"] = format_kernel
PRINTER["program"] = format_program
