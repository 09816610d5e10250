"""Rules on a cell before it runs. In: source and the names that exist.

Out: messages JL101 and JL102.

A jitted function keeps the globals it read when it was traced. Reading a module, a function, a
class, a constant in CAPS that is assigned once, a frozen dataclass or a tuple of constants is fine;
a number, array, list or dict that cells assign is worth a word.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.diagnose.captured import is_mutable, is_plain, type_text
from jaxlite.diagnose.cell_names import names_of
from jaxlite.language.array import Array

__all__ = ["LintMessage", "lint_cell"]

_SILENCE = re.compile(r"#\s*jaxlite:\s*ok\s*((?:JL\d+[ ,]*)*)")


@dataclass(frozen=True, slots=True)
class LintMessage:
    """One finding: ``code``, the function and name it is about, the line in the cell, the text."""

    code: str
    function: str
    name: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.code} {self.text}"


def lint_cell(
    source: str, namespace: Mapping[str, Any], cells: Mapping[str, tuple[int, int]]
) -> list[LintMessage]:
    """Return the messages for the jitted functions that a cell defines.

    ``namespace`` holds the names that exist before the cell runs, ``cells`` maps a name to the
    number of the cell that assigned it last and how many cells have assigned it. Cells that do not
    parse give nothing.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    silenced = _silenced(source)
    bound_here = names_of(tree).binds
    literals = _literal_values(tree)
    found: list[LintMessage] = []
    for name, parameters, body, line in jitted_functions(tree):
        for read, node in _free_names(parameters, body).items():
            value = (
                literals.get(read, namespace.get(read, _ABSENT))
                if read in bound_here
                else namespace.get(read, _ABSENT)
            )
            message = _judge(name, parameters, read, value, cells.get(read), node.lineno)
            if message is not None and not _is_silenced(silenced, message, line):
                found.append(message)
    return found


_ABSENT = object()


def _judge(
    function: str,
    parameters: list[str],
    name: str,
    value: Any,
    cell: tuple[int, int] | None,
    line: int,
) -> LintMessage | None:
    if value is _ABSENT or isinstance(value, types.ModuleType | type) or callable(value):
        return None
    if name.isupper() and (cell is None or cell[1] <= 1):
        return None
    where = f", cell {cell[0]}" if cell else ""
    if isinstance(value, list | dict | set | np.ndarray) or (
        not is_plain(value) and is_mutable(value)
    ):
        kind = type_text(value)
        text = (
            f"{function} reads mutable global {name} ({kind}{where}). Changes after the first call "
            "may not be "
            f"seen. Pass {name}, or freeze it."
        )
        return LintMessage("JL102", function, name, line, text)
    if isinstance(value, Array | int | float | complex | np.generic) and not isinstance(
        value, bool
    ):
        better = (
            f"{function}({', '.join([*parameters, name])})"
            if function != "lambda"
            else f"pass {name}"
        )
        text = f"{function} reads global {name} ({_short(value)}{where}). Better: {better}"
        return LintMessage("JL101", function, name, line, text)
    return None


def _short(value: Any) -> str:
    return type_text(value) if isinstance(value, Array | np.ndarray) else repr(value)


def jitted_functions(
    tree: ast.Module,
) -> Iterator[tuple[str, list[str], list[ast.stmt], int]]:
    """Yield name, parameters, body and line of every function that the cell jits."""
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    lambdas = {
        t.id: n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Lambda)
        for t in n.targets
        if isinstance(t, ast.Name)
    }
    seen: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(_is_jit(d) for d in node.decorator_list):
            if id(node) not in seen:
                seen.add(id(node))
                yield node.name, _parameters(node.args), node.body, node.lineno
        elif isinstance(node, ast.Call) and _is_jit(node.func) and node.args:
            target = node.args[0]
            if isinstance(target, ast.Lambda):
                yield "lambda", _parameters(target.args), [ast.Expr(target.body)], target.lineno
            elif isinstance(target, ast.Name) and target.id in lambdas:
                found = lambdas[target.id]
                yield target.id, _parameters(found.args), [ast.Expr(found.body)], found.lineno
            elif isinstance(target, ast.Name) and target.id in functions:
                function = functions[target.id]
                if id(function) not in seen:
                    seen.add(id(function))
                    yield function.name, _parameters(function.args), function.body, function.lineno


def _is_jit(e: ast.expr) -> bool:
    """Say whether ``e`` is ``jit``, ``jax.jit``, ``jit(...)`` or ``partial(jax.jit, ...)``."""
    if isinstance(e, ast.Name):
        return e.id == "jit"
    if isinstance(e, ast.Attribute):
        return e.attr == "jit"
    if isinstance(e, ast.Call):
        is_partial = getattr(e.func, "id", getattr(e.func, "attr", "")) == "partial"
        if is_partial:
            return bool(e.args) and _is_jit(e.args[0])
        return _is_jit(e.func) and not e.args
    return False


def _parameters(args: ast.arguments) -> list[str]:
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return [a.arg for a in every] + [a.arg for a in (args.vararg, args.kwarg) if a is not None]


def _free_names(parameters: list[str], body: list[ast.stmt]) -> dict[str, ast.Name]:
    """Return the names that a function body reads from outside."""
    names = names_of(ast.Module(body, []))
    return {
        n: node for n, node in names.reads.items() if n not in parameters and n not in names.binds
    }


def _literal_values(tree: ast.Module) -> dict[str, Any]:
    """Return the values of names that the cell assigns a literal to.

    ``g = 0.`` before ``jit(lambda x: x + g)``.
    """
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            try:
                value = ast.literal_eval(node.value)
            except (ValueError, TypeError, SyntaxError):
                continue
            found.update({t.id: value for t in node.targets if isinstance(t, ast.Name)})
    return found


def _silenced(source: str) -> dict[int, set[str]]:
    """Return line -> codes for ``# jaxlite: ok JL101`` comments (no code: all)."""
    found: dict[int, set[str]] = {}
    for number, line in enumerate(source.splitlines(), 1):
        match = _SILENCE.search(line)
        if match:
            found[number] = set(re.findall(r"JL\d+", match.group(1))) or {"*"}
    return found


def _is_silenced(silenced: dict[int, set[str]], message: LintMessage, first_line: int) -> bool:
    for line in (message.line, first_line, first_line - 1):
        if silenced.get(line, set()) & {message.code, "*"}:
            return True
    return False
