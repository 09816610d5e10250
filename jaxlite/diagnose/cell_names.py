"""Which names a cell reads and binds. In: a parsed cell.

Out: inputs and outputs with lines, by definite assignment.

A name is an input if on some path it is read before it is surely assigned. ``symtable`` alone
cannot tell: it calls the target of ``acc += i`` assigned only, and it hides ``(m := q)`` inside a
comprehension.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["CellNames", "names_of"]


@dataclass
class CellNames:
    """``reads``: outside names with the line of their first read.

    ``binds``: names bound at the top level.
    """

    reads: dict[str, ast.Name] = field(default_factory=dict)
    binds: dict[str, int] = field(default_factory=dict)


def names_of(tree: ast.Module) -> CellNames:
    """Return what ``tree`` reads from outside and what it binds."""
    walker = _Walker()
    walker.block(tree.body, set())
    return walker.names


class _Walker:
    """Walks statements in order, carrying the set of names that are surely assigned."""

    def __init__(self) -> None:
        self.names = CellNames()

    # --- statements: each returns the names surely assigned after it ---

    def block(self, body: Iterable[ast.stmt], sure: set[str]) -> set[str]:
        for statement in body:
            sure = self.statement(statement, sure)
        return sure

    def statement(self, s: ast.stmt, sure: set[str]) -> set[str]:
        """Walk one statement: assignments and definitions here, control flow in ``compound``."""
        match s:
            case ast.Assign(targets=targets, value=value):
                sure = self.expression(value, sure)
                for t in targets:
                    sure = self.target(t, sure)
                return sure
            case ast.AugAssign(target=target, value=value):
                self.read_target(target, sure)
                sure = self.expression(value, sure)
                return self.target(target, sure)
            case ast.AnnAssign(target=target, value=value):
                if value is None:
                    return sure
                sure = self.expression(value, sure)
                return self.target(target, sure)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self.function(s, sure)
            case ast.ClassDef():
                return self.class_(s, sure)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                return sure | {self.bind(a.asname or a.name.split(".")[0], s) for a in aliases}
            case ast.Delete(targets=targets):
                for t in targets:
                    self.read_target(t, sure)
                return sure
            case _:
                return self.compound(s, sure)

    def compound(self, s: ast.stmt, sure: set[str]) -> set[str]:
        """Walk a statement with blocks: what is sure after it is sure on every path."""
        match s:
            case ast.If(test=test, body=body, orelse=orelse):
                sure = self.expression(test, sure)
                return self.block(body, set(sure)) & self.block(orelse, set(sure))
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                sure = self.expression(iterable, sure)
                inside = self.target(target, set(sure))
                self.block(body, inside)
                self.block(orelse, set(sure))
                return sure
            case ast.While(test=test, body=body, orelse=orelse):
                sure = self.expression(test, sure)
                self.block(body, set(sure))
                self.block(orelse, set(sure))
                return sure
            case ast.With(items=items, body=body):
                for item in items:
                    sure = self.expression(item.context_expr, sure)
                    if item.optional_vars is not None:
                        sure = self.target(item.optional_vars, sure)
                return self.block(body, sure)
            case ast.Try():
                return self.try_statement(s, sure)
            case ast.Match():
                return self.match_statement(s, sure)
            case _:
                for child in ast.iter_child_nodes(s):
                    if isinstance(child, ast.expr):
                        sure = self.expression(child, sure)
                return sure

    def try_statement(self, s: ast.Try, sure: set[str]) -> set[str]:
        after = self.block(s.orelse, self.block(s.body, set(sure)))
        for handler in s.handlers:
            inside = set(sure)
            if handler.type is not None:
                inside = self.expression(handler.type, inside)
            if handler.name:
                inside.add(self.bind(handler.name, handler))
            after &= self.block(handler.body, inside)
        return self.block(s.finalbody, after)

    def match_statement(self, s: ast.Match, sure: set[str]) -> set[str]:
        sure = self.expression(s.subject, sure)
        ends = [set(sure)]
        for case in s.cases:
            inside = set(sure)
            for node in ast.walk(case.pattern):
                if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
                    inside.add(self.bind(node.name, s))
                elif isinstance(node, ast.MatchMapping) and node.rest:
                    inside.add(self.bind(node.rest, s))
                elif isinstance(node, ast.MatchValue):
                    self.expression(node.value, inside)
            if case.guard is not None:
                inside = self.expression(case.guard, inside)
            ends.append(self.block(case.body, inside))
        return set.intersection(*ends)

    def function(self, s: ast.FunctionDef | ast.AsyncFunctionDef, sure: set[str]) -> set[str]:
        for d in s.decorator_list:
            sure = self.expression(d, sure)
        self.defaults(s.args, sure)
        self.inner(s.body, _parameters(s.args), sure | {s.name})
        return sure | {self.bind(s.name, s)}

    def class_(self, s: ast.ClassDef, sure: set[str]) -> set[str]:
        for d in [*s.decorator_list, *s.bases, *(k.value for k in s.keywords)]:
            sure = self.expression(d, sure)
        inner = _Walker()
        inner.block(s.body, set(sure))
        self.merge(inner, sure)
        return sure | {self.bind(s.name, s)}

    # --- expressions: walrus targets are the only names they bind ---

    def expression(self, e: ast.expr, sure: set[str]) -> set[str]:
        match e:
            case ast.Name(id=name):
                if name not in sure:
                    self.names.reads.setdefault(name, e)
                return sure
            case ast.NamedExpr(target=target, value=value):
                sure = self.expression(value, sure)
                return self.target(target, sure)
            case ast.Lambda(args=args, body=body):
                self.defaults(args, sure)
                self.inner([ast.Expr(body)], _parameters(args), sure)
                return sure
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self.comprehension(e, sure)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                sure = self.expression(test, sure)
                return self.expression(body, set(sure)) & self.expression(orelse, set(sure))
            case ast.BoolOp(values=values):
                first = self.expression(values[0], sure)
                inside = set(first)
                for v in values[1:]:
                    inside = self.expression(v, inside)
                return first
            case _:
                for child in ast.iter_child_nodes(e):
                    if isinstance(child, ast.expr):
                        sure = self.expression(child, sure)
                    elif isinstance(child, ast.keyword):
                        sure = self.expression(child.value, sure)
                return sure

    def comprehension(
        self, e: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, sure: set[str]
    ) -> set[str]:
        inside = set(sure)
        own: set[str] = set()
        for generator in e.generators:
            inside = self.expression(generator.iter, inside)
            own |= _target_names(generator.target)
            inside |= own
            for condition in generator.ifs:
                inside = self.expression(condition, inside)
        parts = [e.key, e.value] if isinstance(e, ast.DictComp) else [e.elt]
        for part in parts:
            inside = self.expression(part, inside)
        return sure  # a walrus inside may never run

    def inner(self, body: Iterable[ast.stmt], parameters: set[str], sure: set[str]) -> None:
        """Walk a nested function: what it reads from outside counts, what it binds does not."""
        inner = _Walker()
        inner.block(body, set(parameters))
        for name, node in inner.names.reads.items():
            # Any assignment inside makes a name local there, wherever it stands.
            if name not in inner.names.binds and name not in sure:
                self.names.reads.setdefault(name, node)

    def merge(self, inner: _Walker, sure: set[str]) -> None:
        for name, node in inner.names.reads.items():
            if name not in sure:
                self.names.reads.setdefault(name, node)

    def defaults(self, args: ast.arguments, sure: set[str]) -> None:
        for d in [*args.defaults, *args.kw_defaults]:
            if d is not None:
                self.expression(d, sure)

    # --- targets ---

    def target(self, t: ast.expr, sure: set[str]) -> set[str]:
        match t:
            case ast.Name(id=name):
                return sure | {self.bind(name, t)}
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                for e in elts:
                    sure = self.target(e, sure)
                return sure
            case ast.Starred(value=value):
                return self.target(value, sure)
            case _:
                # x[i] = v and x.a = v read x; %%jit binds x anew for the first form.
                sure = self.expression(t, sure)
                if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name):
                    self.bind(t.value.id, t)
                return sure

    def read_target(self, t: ast.expr, sure: set[str]) -> None:
        if isinstance(t, ast.Name):
            if t.id not in sure:
                self.names.reads.setdefault(t.id, t)
        else:
            self.expression(t, sure)

    def bind(self, name: str, node: ast.AST) -> str:
        self.names.binds.setdefault(name, getattr(node, "lineno", 0))
        return name


def _parameters(args: ast.arguments) -> set[str]:
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    names = {a.arg for a in every}
    return names | {a.arg for a in (args.vararg, args.kwarg) if a is not None}


def _target_names(t: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(t) if isinstance(n, ast.Name)}
