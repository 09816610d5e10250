"""The text of a ``%%jit`` cell. In: source. Out: a checked syntax tree, and code of a function.

    h = tanh(x @ w)          def cell(x, w):
    h.sum()            ->        h = tanh(x @ w)
                                 return collect(locals(), h.sum())

Line numbers stay those of the cell, so errors and pictures point at the user's lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from types import CodeType
from typing import Any

from jaxlite.errors import CellError, located

__all__ = [
    "COLLECT",
    "SET_ITEM",
    "cell_error",
    "character",
    "comments_below",
    "compile_cell",
    "parse_cell",
]

#: Names under which a cell's code finds its helpers.
COLLECT, SET_ITEM = "__jaxlite_outputs__", "__jaxlite_set__"
_VALUE = "__jaxlite_value__"

FORBIDDEN = {
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Await: "await",
    ast.AsyncFor: "async for",
    ast.AsyncWith: "async with",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.Return: "return",
}


def comments_below(lines: list[str]) -> list[str]:
    """Return a cell with the comments in front of ``%%jit`` below it; IPython wants it on top.

    The number of lines, and so the place of the code, stays.
    """
    first = 0
    while first < len(lines) and lines[first].lstrip()[:1] in ("", "#"):
        first += 1
    if first == len(lines) or not re.match(r"%%jit\b", lines[first]):
        return lines
    return [lines[first], *lines[:first], *lines[first + 1 :]]


def parse_cell(source: str, filename: str) -> ast.Module:
    """Parse a cell; syntax errors are Python's own.

    Constructs that cannot be traced raise ``CellError``.
    """
    _check_magics(source)
    tree = ast.parse(source, filename)
    for node in _outside_functions(tree):
        word = FORBIDDEN.get(type(node))
        is_star = isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)
        if is_star:
            word = "import *"
        if word is not None:
            raise cell_error(
                source,
                node,
                "JL011",
                f"{word} cannot be used in a %%jit cell",
                "move this line to an ordinary cell.",
            )
    return tree


def _outside_functions(tree: ast.AST) -> Iterable[ast.AST]:
    """Yield nodes.

    Inside nested functions ``return`` and ``yield`` are the function's own business.
    """
    for node in ast.iter_child_nodes(tree):
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from (n for n in ast.walk(node) if isinstance(n, ast.Global | ast.Nonlocal))
        else:
            yield from _outside_functions(node)


def _check_magics(source: str) -> None:
    """Raise ``CellError`` for lines that are IPython's and not Python's."""
    for number, line in enumerate(source.splitlines(), 1):
        text = line.lstrip()
        if text.startswith(("%", "!", "?")) and not _is_continued(source, number):
            word = text.split()[0]
            error = CellError(
                f"{word} cannot be used in a %%jit cell (line {number})\n    {text}\n"
                "  Fix: move this line to an ordinary cell."
            )
            raise located(error, "JL011")


def _is_continued(source: str, line: int) -> bool:
    """Say whether ``line`` goes on with a string or an expression (then it is no magic)."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return False
    return any(
        isinstance(n, ast.expr) and n.lineno < line <= (n.end_lineno or 0) for n in ast.walk(tree)
    )


def cell_error(source: str, node: ast.AST, code: str, text: str, fix: str) -> CellError:
    """Return an error with the user's line, a caret and a fix."""
    number = getattr(node, "lineno", 1)
    lines = source.splitlines()
    line = lines[number - 1] if number <= len(lines) else ""
    # Columns of the parser count bytes; a caret stands under a character.
    start = character(line, getattr(node, "col_offset", 0))
    is_one_line = getattr(node, "end_lineno", number) == number
    stop = character(line, getattr(node, "end_col_offset", 0))
    width = max(1, (stop if is_one_line else len(line)) - start)
    message = f"{text} (line {number})\n    {line}\n    {' ' * start}{'^' * width}\n  Fix: {fix}"
    return located(CellError(message), code)


def character(line: str, column: int) -> int:
    """Return the number of characters before byte ``column`` of a line."""
    return len(line.encode()[:column].decode(errors="ignore"))


def compile_cell(tree: ast.Module, inputs: tuple[str, ...], filename: str) -> CodeType:
    """Return the code that defines ``cell``, a function of ``inputs``."""
    body: list[ast.stmt] = [_rebind_items(s) for s in tree.body]
    value: ast.expr = ast.Constant(None)
    if body and isinstance(body[-1], ast.Expr):
        # The value is computed before the outputs are collected: a walrus in it may bind one.
        last = body.pop()
        assert isinstance(last, ast.Expr)
        body.append(ast.Assign([ast.Name(_VALUE, ast.Store())], last.value))
        value = ast.Name(_VALUE, ast.Load())
    local = ast.Call(ast.Name("locals", ast.Load()), [], [])
    body.append(ast.Return(_call(COLLECT, [local, value])))
    # A parsed template has every field that this version of Python wants.
    definition = ast.parse("def cell(): pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.args.args = [ast.arg(n) for n in inputs]
    definition.body = body
    module = ast.Module([definition], [])
    end = (tree.body[-1].end_lineno or 1) if tree.body else 1
    for node in ast.walk(module):
        if isinstance(node, ast.expr | ast.stmt | ast.arg) and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = end
            node.col_offset = node.end_col_offset = 0
    definition.lineno = 1
    return compile(module, filename, "exec")


def _call(name: str, args: list[ast.expr]) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), args, [])


class _ItemAssignment(ast.NodeTransformer):
    """Turns ``x[i] = v`` into ``x = __jaxlite_set__(x, i, v)``.

    Arrays are immutable, names are not.
    """

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        target = node.targets[0]
        if (
            len(node.targets) == 1
            and isinstance(target, ast.Subscript)
            and isinstance(target.value, ast.Name)
        ):
            return ast.copy_location(_item_set(target, node.value), node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        target = node.target
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            read = ast.Subscript(ast.Name(target.value.id, ast.Load()), target.slice, ast.Load())
            value = ast.BinOp(read, node.op, node.value)
            return ast.copy_location(_item_set(target, value), node)
        return node


def _item_set(target: ast.Subscript, value: ast.expr) -> ast.Assign:
    assert isinstance(target.value, ast.Name)
    name = target.value.id
    call = _call(SET_ITEM, [ast.Name(name, ast.Load()), _index(target.slice), value])
    return ast.Assign([ast.Name(name, ast.Store())], call)


def _index(index: ast.expr) -> ast.expr:
    """Return an index as an expression of its own: ``1:`` is ``slice(1, None, None)``."""
    if isinstance(index, ast.Slice):
        parts = (index.lower, index.upper, index.step)
        return _call("slice", [p if p is not None else ast.Constant(None) for p in parts])
    if isinstance(index, ast.Tuple):
        return ast.Tuple([_index(e) for e in index.elts], ast.Load())
    return index


def _rebind_items(statement: ast.stmt) -> ast.stmt:
    result = _ItemAssignment().visit(statement)
    assert isinstance(result, ast.stmt)
    return ast.fix_missing_locations(result)
