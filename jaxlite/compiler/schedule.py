"""Where each shared value is computed. In: loops and expressions. Out: statements with ``Let``.

A value is bound by ``Let`` in the outermost loop that knows its indices if it is used more than
once or if that loop is further out than the use (so it is hoisted). Everything else stays inside
the expression that uses it, up to a depth that people can read::

    For i in 8:
      Let t0 = exp(in0[i])
      For j in 4 (vector):
        Store out0[i*4 + j] = in1[i*4 + j] * t0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxlite.kernel_ir import nodes as ir

#: Longest chain of operations written as one expression.
MAX_DEPTH = 8


@dataclass(slots=True)
class LoopSpec:
    """One loop of a nest."""

    index: ir.Expr
    extent: int
    kind: ir.LoopKind = "serial"

    def around(self, body: Sequence[ir.Stmt]) -> ir.For:
        """Return the loop with this body."""
        return ir.For(self.index.attrs[0], self.extent, tuple(body), self.kind)


@dataclass(slots=True)
class Scope:
    """Names already bound around the nest, and the counter for new ones (shared by a kernel)."""

    names: dict[ir.Expr, ir.Expr] = field(default_factory=dict)
    counter: list[int] = field(default_factory=lambda: [0])

    def inner(self) -> Scope:
        """Return a scope that sees the same names and may add some."""
        return Scope(dict(self.names), self.counter)

    def fresh(self, prefix: str = "t") -> str:
        """Return a name not used before in the kernel."""
        self.counter[0] += 1
        return f"{prefix}{self.counter[0] - 1}"


class _Analysis:
    """Depth in loops, number of uses and height of every node under some roots."""

    def __init__(
        self,
        roots: Sequence[ir.Expr],
        level_of: dict[ir.Expr, int],
        scope: Scope,
        written: set[str],
    ) -> None:
        depth = max(level_of.values(), default=0)
        self.order: list[ir.Expr] = []
        self.level: dict[ir.Expr, int] = {}
        self.uses: dict[ir.Expr, int] = {}
        self.user_level: dict[ir.Expr, int] = {}
        self.unsteady: set[ir.Expr] = set()  # depends on what the statements write
        level, uses, names = self.level, self.uses, scope.names
        stack: list[ir.Expr] = list(reversed(roots))
        while stack:
            e = stack[-1]
            if e in level:
                stack.pop()
                continue
            args = () if e in names else e.args
            waiting = [a for a in args if a not in level]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            own = level_of.get(e, 0)
            for a in args:
                own = max(own, level[a])
            if e.kind in ("load", "name") and e.attrs[0] in written:
                own = depth  # another value in every round
                self.unsteady.add(e)
            elif not self.unsteady.isdisjoint(args):
                self.unsteady.add(e)
            level[e] = own
            self.order.append(e)
            for a in args:
                uses[a] = uses.get(a, 0) + 1
                self.user_level[a] = max(self.user_level.get(a, 0), own)


def schedule(
    loops: Sequence[LoopSpec],
    statements: Sequence[ir.Stmt],
    scope: Scope,
    bind_stores: bool | None = None,
) -> list[ir.Stmt]:
    """Return the nest of ``loops`` around ``statements`` (no loops among them).

    Args:
        loops: outermost first.
        statements: they run in the innermost loop, in order.
        scope: names visible around the nest; those bound outside the first loop are added to it.
        bind_stores: compute all values before the first store (default: if there are several
            stores).
    """
    depth = len(loops)
    level_of = {loop.index: n + 1 for n, loop in enumerate(loops)}
    roots = [e for s in statements for e in expressions_of(s)]
    if bind_stores is None:
        bind_stores = sum(isinstance(s, ir.Store) for s in statements) > 1
    values = {s.value for s in statements if isinstance(s, ir.Store)} if bind_stores else set()
    analysis = _Analysis(roots, level_of, scope, written_by(statements))
    for root in roots:
        analysis.uses[root] = analysis.uses.get(root, 0) + 1
        analysis.user_level[root] = depth
    lets: list[list[ir.Stmt]] = [[] for _ in range(depth + 1)]
    renamed: dict[ir.Expr, ir.Expr] = dict(scope.names)
    height: dict[ir.Expr, int] = {}
    for e in analysis.order:
        if e in renamed:
            continue
        if not e.args:
            renamed[e] = e
            continue
        args = tuple([renamed[a] for a in e.args])
        new = e if args == e.args else ir.with_args(e, args)
        level = analysis.level[e]
        tall = 1 + max([height.get(a, 0) for a in args])
        shared = analysis.uses[e] > 1 or level < analysis.user_level[e] or e in values
        if (shared and not _is_free(new, level == depth)) or tall > MAX_DEPTH:
            bound = ir.name(scope.fresh(), e.dtype)
            lets[level].append(ir.Let(bound.attrs[0], new))
            new = bound
            if level == 0 and e not in analysis.unsteady:
                scope.names[e] = bound
        else:
            height[new] = tall
        renamed[e] = new
    body: list[ir.Stmt] = [*lets[depth], *(_renamed(s, renamed) for s in statements)]
    for n in range(depth, 0, -1):
        body = [*lets[n - 1], loops[n - 1].around(body)]
    return body


def _is_free(e: ir.Expr, is_innermost: bool) -> bool:
    """Say whether computing ``e`` again costs nothing: constants, converted indices, index sums."""
    if not e.args or (e.kind == "cast" and e.args[0].kind in ("const", "index")):
        return True
    is_sum = e.kind == "binary" and e.dtype == ir.I64 and e.attrs[0] in ("add", "mul")
    return is_sum and is_innermost and all(not a.args or _is_free(a, True) for a in e.args)


def written_by(statements: Sequence[ir.Stmt]) -> set[str]:
    """Return the buffers and accumulators that some statements change."""
    names: set[str] = set()
    for s in statements:
        match s:
            case ir.Store(name, _, _) | ir.Set(name, _) | ir.Combine(name, _):
                names.add(name)
            case ir.If(_, body, orelse):
                names |= written_by(body) | written_by(orelse)
            case ir.For(_, _, body, _):
                names |= written_by(body)
    return names


def expressions_of(s: ir.Stmt) -> tuple[ir.Expr, ...]:
    """Return the expressions a statement evaluates (those of a nested body included)."""
    match s:
        case ir.Store(_, at, value):
            return at, value
        case ir.Combine(_, value) | ir.Set(_, value) | ir.Let(_, value) | ir.Acc(_, value, _):
            return (value,)
        case ir.If(condition, body, orelse):
            nested = [e for t in (*body, *orelse) for e in expressions_of(t)]
            return (condition, *nested)
        case ir.For():
            raise AssertionError("a loop is not a statement of the innermost body")


def _renamed(s: ir.Stmt, names: dict[ir.Expr, ir.Expr]) -> ir.Stmt:
    match s:
        case ir.Store(buffer, at, value):
            return ir.Store(buffer, names[at], names[value])
        case ir.Combine(name, value):
            return ir.Combine(name, names[value])
        case ir.Set(name, value):
            return ir.Set(name, names[value])
        case ir.Let(name, value):
            return ir.Let(name, names[value])
        case ir.Acc(name, init, combiner):
            return ir.Acc(name, names[init], combiner)
        case ir.If(condition, body, orelse):
            return ir.If(
                names[condition],
                tuple(_renamed(t, names) for t in body),
                tuple(_renamed(t, names) for t in orelse),
            )
        case ir.For():
            raise AssertionError("a loop is not a statement of the innermost body")


def around(loops: Sequence[LoopSpec], body: list[ir.Stmt]) -> list[ir.Stmt]:
    """Return loops around a body, each ``Let`` in the outermost loop that knows its indices."""
    level_of = {loop.index.attrs[0]: n + 1 for n, loop in enumerate(loops)}
    depth = len(loops)
    levels: list[list[ir.Stmt]] = [[] for _ in range(depth + 1)]
    fixed = {s.name for s in body if isinstance(s, ir.Acc)} | written_by(body)
    for s in body:
        level = depth
        if isinstance(s, ir.Let):
            level = 0
            for e in ir.walk(s.value):
                if e.kind == "index":
                    level = max(level, level_of.get(e.attrs[0], 0))
                elif e.kind in ("name", "load") and e.attrs[0] in fixed:
                    level = depth
                elif e.kind == "name":
                    level = max(level, level_of.get(e.attrs[0], 0))
            level_of[s.name] = level
        levels[level].append(s)
    inside = levels[depth]
    for n in range(depth - 1, -1, -1):
        inside = [*levels[n], loops[n].around(inside)]
    return inside
