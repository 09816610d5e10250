"""Move a ``jit`` out of the code that repeats it. In: where it was made. Out: edits.

for i in range(3):                 compiled = jit(lambda x, i: x * i)
    jit(lambda x: x * i)(y)   ->   for i in range(3):
                                       compiled(y, i)
"""

from __future__ import annotations

import ast
import textwrap
from typing import Any

from jaxlite.diagnose.cell_names import names_of
from jaxlite.diagnose.source_edits import Edit, FunctionNode, Source
from jaxlite.language.source import SourceLine

__all__ = ["hoist", "with_parameters"]


def hoist(source: Source, made_at: SourceLine) -> list[Edit] | None:
    """Return the edits that make the function once, or None if that cannot be done safely."""
    node = _jit_at(source, made_at)
    if node is None:
        return None
    scopes = [
        n
        for n in source.around(node)
        if isinstance(n, ast.For | ast.While | ast.FunctionDef | ast.ClassDef | ast.Lambda)
    ]
    if not scopes or not isinstance(scopes[0], ast.For | ast.While | ast.FunctionDef):
        return None
    free = set(names_of(_module(node)).reads)
    outermost: Any = None
    missing: set[str] = set()
    for scope in scopes:
        if not isinstance(scope, ast.For | ast.While | ast.FunctionDef):
            break
        bound = _bound(scope) - _own_names(node)
        if outermost is not None and (free & bound or not _is_defined_before(source, node, scope)):
            break
        outermost, missing = scope, free & bound
        if missing:
            break
    edits: list[Edit] = []
    if not _is_defined_before(source, node, outermost):
        return None
    if missing:
        function = _function_of(node)
        if function is None:
            return None
        calls = _calls_of(source, node, outermost)
        new = with_parameters(source, function, sorted(missing), calls)
        if new is None:
            return None
        edits = new
    return _move(source, node, outermost, edits)


def _jit_at(source: Source, made_at: SourceLine) -> Any:
    """Return the ``jit(...)`` call, or the function that it decorates."""
    line = made_at.line
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef):
            for d in node.decorator_list:
                if d.lineno <= line <= (d.end_lineno or 0):
                    return node
    return source.call_at(made_at)


def _module(node: Any) -> ast.Module:
    return ast.Module([node if isinstance(node, ast.stmt) else ast.Expr(node)], [])


def _is_defined_before(source: Source, node: Any, scope: Any) -> bool:
    """Say whether what ``node`` needs when it is made exists above ``scope``.

    The body of the function needs its names later, when it is called.
    """
    if not isinstance(scope, ast.FunctionDef):
        return True  # a loop runs where it stands
    parts = node.decorator_list if isinstance(node, ast.FunctionDef) else [node.func, *node.args]
    parts = [p for p in parts if not isinstance(p, ast.Lambda)]
    needed = set().union(*(names_of(_module(p)).reads for p in parts))
    here = {n for n in names_of(source.tree).binds if n in needed}
    known = names_of(ast.Module([s for s in source.tree.body if s.lineno < scope.lineno], [])).binds
    return here <= set(known)


def _own_names(node: Any) -> set[str]:
    return {node.name} if isinstance(node, ast.FunctionDef) else set()


def _bound(scope: Any) -> set[str]:
    if isinstance(scope, ast.FunctionDef):
        a = scope.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        return {p.arg for p in every} | set(names_of(ast.Module(scope.body, [])).binds)
    return set(names_of(ast.Module([scope], [])).binds)


def _function_of(node: Any) -> FunctionNode | None:
    if isinstance(node, ast.FunctionDef):
        return node
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Lambda):
        return first
    return None


def _calls_of(source: Source, node: Any, scope: Any) -> list[ast.Call] | None:
    """Return all calls of the function that ``node`` makes, or None if it is used otherwise."""
    parent = source.parents[node]
    if isinstance(parent, ast.Call) and parent.func is node:
        return [parent]
    if isinstance(node, ast.FunctionDef):
        name = node.name
    elif (
        isinstance(parent, ast.Assign)
        and len(parent.targets) == 1
        and isinstance(parent.targets[0], ast.Name)
    ):
        name = parent.targets[0].id
    else:
        return None
    calls = []
    for n in ast.walk(scope):
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load):
            call = source.parents[n]
            if not (isinstance(call, ast.Call) and call.func is n):
                return None
            calls.append(call)
    return calls


def with_parameters(
    source: Source, function: FunctionNode, names: list[str], calls: list[ast.Call] | None
) -> list[Edit] | None:
    """Return the edits that add parameters to a function and pass them in its calls."""
    a = function.args
    plain = not (a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.posonlyargs)
    if not plain or not calls or any(c.keywords for c in calls):
        return None
    if any(isinstance(x, ast.Starred) for c in calls for x in c.args):
        return None
    if {p.arg for p in a.args} & set(names):
        return None
    added = ", ".join(names)
    edits: list[Edit] = []
    if a.args:
        end = source.span(a.args[-1])[1]
        edits.append((end, end, f", {added}"))
    else:
        start, stop = source.span(function)
        word = b":" if isinstance(function, ast.Lambda) else b"("
        at = source.data.index(word, start, stop)
        at += word == b"("
        edits.append((at, at, f" {added}" if word == b":" else added))
    for call in calls:
        if call.args:
            end = source.span(call.args[-1])[1]
            edits.append((end, end, f", {added}"))
        else:
            end = source.span(call)[1] - 1
            edits.append((end, end, added))
    return edits


def _move(source: Source, node: Any, scope: Any, edits: list[Edit]) -> list[Edit]:
    """Return the edits that put ``node`` (itself edited) in front of ``scope``."""
    at = source.line_span(scope)[0]
    indent = source.indent(scope)
    parent = source.parents[node]
    is_statement = isinstance(node, ast.FunctionDef) or (
        isinstance(parent, ast.Assign)
        and parent.value is node
        and len(parent.targets) == 1
        and isinstance(parent.targets[0], ast.Name)
    )
    if is_statement:
        statement: Any = node if isinstance(node, ast.FunctionDef) else parent
        is_alone = source.is_alone(statement)
        is_all = len(getattr(source.parents[statement], "body", [])) == 1
        if is_alone and not is_all:
            start, end = source.line_span(statement)
            moved, left = textwrap.dedent(_edited(source, start, end, edits)), ""
        else:
            start, end = source.span(statement)
            moved, left = f"{_edited(source, start, end, edits)}\n", "pass"
            if not is_all:
                end, left = source.span_with_semicolon(statement)[1], ""
        rest = [e for e in edits if not start <= e[0] < end]
        return [*rest, (start, end, left), (at, at, textwrap.indent(moved, indent))]
    start, end = source.span(node)
    name = _free_name(source)
    text = f"{indent}{name} = {_edited(source, start, end, edits)}\n"
    rest = [e for e in edits if not start <= e[0] < end]
    return [*rest, (start, end, name), (at, at, text)]


def _edited(source: Source, start: int, end: int, edits: list[Edit]) -> str:
    data = source.data[start:end]
    for s, e, text in sorted(edits, reverse=True):
        if start <= s < end:
            data = data[: s - start] + text.encode() + data[e - start :]
    return data.decode()


def _free_name(source: Source) -> str:
    used = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    name = "compiled"
    while name in used:
        name += "_"
    return name
