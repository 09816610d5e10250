"""JL105, JL107, JL111: what happens once, while tracing, and not per call. In: a body. Out: lines.

Changing a container outside, drawing from a stateful random generator, reading the clock, printing
a traced value.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxlite.diagnose.cell_history import MUTATORS, base_name
from jaxlite.diagnose.cell_names import names_of
from jaxlite.diagnose.jitted import ABSENT, Body
from jaxlite.diagnose.lint_reads import LintMessage

__all__ = ["changed_names", "messages"]

_CONTAINERS = (list, dict, set, bytearray, deque, np.ndarray)
#: What is known of a traced value while tracing.
_STATIC_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "size", "aval", "weak_type", "nbytes"})
_STATIC_CALLS = frozenset({"len", "type", "isinstance", "callable", "hasattr", "id"})
_RANDOM_CLASSES = (np.random.Generator, np.random.RandomState)


def messages(jitted: Body, body: Body) -> Iterator[LintMessage]:
    """Yield what ``body``, traced as part of ``jitted``, does once instead of per call."""
    rules = [_writes(jitted, body), _draws(jitted, body)]
    if body is jitted:
        rules.append(_prints(jitted, body))
    for rule in rules:
        for message in rule:
            here = body.is_silenced(message.code, message.line)
            if not here and not jitted.is_silenced(message.code, -1):
                yield message


def changed_names(jitted: Body, body: Body) -> set[str]:
    """Return the outside names whose values ``body`` changes in place, silenced or not."""
    return {m.name for m in _writes(jitted, body)}


def _where(jitted: Body, body: Body) -> str:
    return "" if body is jitted else f", in {body.via}"


# --- JL105 ---


def _writes(jitted: Body, body: Body) -> Iterator[LintMessage]:
    shared = {
        n: s.lineno
        for s in ast.walk(body.node)
        if isinstance(s, ast.Global | ast.Nonlocal)
        for n in s.names
    }
    is_cell = isinstance(body.node, ast.Module)
    own = set() if is_cell else {*body.parameters, *body.local_names()}
    own |= _inner_names(body)
    own -= shared.keys()
    for node in ast.walk(body.node):
        for name, what in _written(node, shared):
            if name in own or (name not in shared and not _is_container(body, name)):
                continue
            if is_cell and what.endswith("= ..."):
                continue  # a cell makes a new array or dict and assigns it
            text = (
                f"{what} runs once, while tracing, not per call{_where(jitted, body)}. "
                "Return the value instead."
            )
            yield LintMessage("JL105", jitted.name, name, getattr(node, "lineno", 0), text)


def _written(node: ast.AST, shared: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Yield (name, what) for the changes that one node makes."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in MUTATORS:
            name = base_name(value)
            if name is not None:
                yield name, f"{ast.unparse(value)}.{attr}"
            return
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            pass
        case ast.AugAssign(target=target):
            targets = [target]
        case _:
            return
    for t in targets:
        if isinstance(t, ast.Name) and t.id in shared:
            yield t.id, f"{t.id} = ..."
        elif isinstance(t, ast.Subscript):
            name = base_name(t)
            if name is not None:
                yield name, f"{ast.unparse(t.value)}[...] = ..."


def _inner_names(body: Body) -> set[str]:
    """Return the parameters of the functions inside ``body`` and what they assign."""
    found: set[str] = set()
    for node in ast.walk(body.node):
        if node is body.node:
            continue
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            args = node.args
            found |= {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        if isinstance(node, ast.FunctionDef):
            found |= names_of(ast.Module(node.body, [])).binds.keys()
    return found


def _is_container(body: Body, name: str) -> bool:
    """Say whether an outside name holds something that can change in place."""
    if name in body.outer:
        return True  # a closed-over name with an item or a method that changes it
    if isinstance(body.node, ast.Module):
        # The name may be that of a list of the cell's own.
        if name in names_of(body.node).binds and name not in body.parameters:
            return False
        value: Any = body.names.namespace.get(name, ABSENT)
        return isinstance(value, list | dict | set | deque)
    return isinstance(body.names.value(name), _CONTAINERS)


# --- JL107 ---


def _draws(jitted: Body, body: Body) -> Iterator[LintMessage]:
    own = {*body.parameters, *body.outer}
    for node in ast.walk(body.node):
        if not isinstance(node, ast.Call):
            continue
        base = base_name(node.func) if isinstance(node.func, ast.Attribute) else None
        if isinstance(node.func, ast.Name):
            base = node.func.id
        if base is None or base in own:
            continue
        path = body.names.path(node.func) or ""
        shown = ast.unparse(node.func)
        where = _where(jitted, body)
        if path.startswith(("numpy.random.", "random.")) or (
            isinstance(node.func, ast.Attribute)
            and isinstance(body.names.value(base), _RANDOM_CLASSES)
        ):
            text = (
                f"{shown} runs once, at trace time{where}: every call gets the same numbers. "
                "Use jaxlite.random with a key."
            )
        elif path.startswith("time."):
            text = (
                f"{shown} runs once, at trace time{where}: every call gets the same time. "
                "Measure outside the function."
            )
        else:
            continue
        yield LintMessage("JL107", jitted.name, shown, node.lineno, text)


# --- JL111 ---


def _prints(jitted: Body, body: Body) -> Iterator[LintMessage]:
    traced = {p for p in body.parameters if p not in body.static and p not in ("self", "cls")}
    finder = _Printed(traced)
    for statement in body.statements:
        finder.visit(statement)
    for node, value, what in finder.found:
        text = f'{what} runs once, at trace time. Use jaxlite.debug.print("{{}}", {value}).'
        yield LintMessage("JL111", jitted.name, value, node.lineno, text)


class _Printed(ast.NodeVisitor):
    """Follows traced values through assignments and finds where they are made into text."""

    def __init__(self, traced: set[str]) -> None:
        self.traced = traced
        self.found: list[tuple[ast.expr, str, str]] = []

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        self._assign(node.targets, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if self.is_traced(node.value):
            self._assign([node.target], node.value)

    def visit_For(self, node: ast.For) -> None:
        match node:
            case ast.For(
                target=ast.Tuple(elts=[_, *values]), iter=ast.Call(func=ast.Name(id="enumerate"))
            ):
                self._assign(values, node.iter)  # the number is a Python number
            case _:
                self._assign([node.target], node.iter)
        self.generic_visit(node)

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        if self.is_traced(value):
            self.traced |= names
        else:
            self.traced -= names

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages of errors are made while tracing, as they should be."""

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Functions inside have parameters of their own: nothing is known of them."""

    visit_Lambda = visit_FunctionDef  # type: ignore[assignment]

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "print":
            for a in node.args:
                shown = self.shown_in(a)
                if shown:
                    self.found.append((node, shown, "print"))
                    return
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        shown = self.shown_in(node)
        if shown:
            self.found.append((node, shown, "the f-string"))

    def shown_in(self, e: ast.expr) -> str:
        """Return the source of the first traced value that ``e`` turns into text, or ''."""
        if isinstance(e, ast.JoinedStr):
            parts = [v.value for v in e.values if isinstance(v, ast.FormattedValue)]
            return next((s for s in map(self.shown_in, parts) if s), "")
        return ast.unparse(e) if self.is_traced(e) else ""

    def is_traced(self, e: ast.AST) -> bool:
        match e:
            case ast.Name(id=name):
                return name in self.traced
            case ast.Attribute(attr=attr) if attr in _STATIC_ATTRIBUTES:
                return False
            case ast.Call(func=ast.Name(id=name)) if name in _STATIC_CALLS:
                return False
            case ast.Lambda() | ast.FunctionDef():
                return False
        return any(self.is_traced(child) for child in ast.iter_child_nodes(e))
