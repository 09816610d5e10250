"""JL101 to JL104, JL106, JL108: what a jitted function reads from outside. In: a body. Out: lines.

Reading a module, a function, a class, a constant in CAPS that is assigned once, a frozen dataclass
or a tuple of constants is fine; a number, array, list, dict or open object is worth a word.
"""

from __future__ import annotations

import ast
import enum
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.diagnose.captured import MISSING, getattr_static, is_mutable, is_plain, type_text
from jaxlite.diagnose.cell_history import CellHistory
from jaxlite.diagnose.jitted import ABSENT, Body
from jaxlite.language.array import Array

__all__ = ["LintMessage", "messages"]

#: Arrays of at least this size are told with it: compiled code holds them as constants.
_LARGE_BYTES = 64 * 1024

#: Objects with state of their own that a random or plotting library made are judged elsewhere.
_LIBRARY = ("jaxlite", "numpy", "matplotlib", "builtins")


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


def messages(jitted: Body, body: Body, history: CellHistory) -> Iterator[LintMessage]:
    """Yield what ``body``, traced as part of ``jitted``, reads and had better not."""
    for message in _every(jitted, body, history):
        here = body.is_silenced(message.code, message.line)
        if not here and not jitted.is_silenced(message.code, -1):
            yield message


def _every(jitted: Body, body: Body, history: CellHistory) -> Iterator[LintMessage]:
    who = jitted.name if body is jitted else f"{jitted.name} (through {body.via})"
    for name, node in body.free_names().items():
        if name in body.loops:
            text = (
                f"{who} captures loop variable {name}. It keeps the value of the first trace. "
                f"Pass {name}."
            )
            yield LintMessage("JL106", jitted.name, name, node.lineno, text)
            continue
        if name in body.outer or name in body.functions:
            continue
        yield from _global(jitted, body, who, name, node.lineno, history)
    yield from _attributes_of_self(jitted, body, who)


def _global(
    jitted: Body, body: Body, who: str, name: str, line: int, history: CellHistory
) -> Iterator[LintMessage]:
    value = body.names.value(name)
    if value is ABSENT or not _can_go_stale(value):
        return
    found = history.assigned(name)
    if name.isupper() and (found is None or found.times <= 1):
        return
    where = f", cell {found.number}" if found else ""
    mutation = history.mutated(name)
    attributes = _attributes_read(body, name, value)
    if isinstance(value, Array | int | float | complex | np.generic):
        text = (
            f"{who} reads global {name} ({_short(value)}{where}). "
            f"Better: {_better(jitted, body, name)}"
        )
        if isinstance(value, int):
            text += f", with {name} static if it is a shape"
        yield LintMessage("JL101", jitted.name, name, line, text)
    elif attributes is not None:
        for path, at in attributes:
            text = f"{who} reads {path}. Pass {name} as an argument."
            yield LintMessage("JL104", jitted.name, path, at, text)
    elif mutation is None:
        kind = _short(value) if isinstance(value, np.ndarray) else type_text(value)
        text = (
            f"{who} reads mutable global {name} ({kind}{where}). Changes after the "
            f"first call may not be seen. Pass {name}, or freeze it."
        )
        yield LintMessage("JL102", jitted.name, name, line, text)
    if mutation is not None:
        text = (
            f"{name} is changed in cell {mutation.number}, line {mutation.line}, and {who} "
            f"depends on it. Pass {name} as an argument."
        )
        yield LintMessage("JL103", jitted.name, name, line, text)
    if found is not None and history.is_gone(name):
        text = (
            f"{name} has no cell in this notebook any more, and {who} reads it. Restart and run "
            f"all would fail. Assign {name} in a cell."
        )
        yield LintMessage("JL108", jitted.name, name, line, text)


def _can_go_stale(value: Any) -> bool:
    """Say whether a global of this value is worth a word."""
    if isinstance(value, bool | str | bytes | enum.Enum | types.ModuleType | type) or value is None:
        return False
    if isinstance(value, Array | int | float | complex | np.generic):
        return True
    if isinstance(value, list | dict | set | bytearray | np.ndarray):
        return True
    if is_plain(value) or isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        return False
    if type(value).__module__.partition(".")[0] in _LIBRARY or not hasattr(value, "__dict__"):
        return False
    return is_mutable(value) and not callable(value)


def _attributes_read(body: Body, name: str, value: Any) -> list[tuple[str, int]] | None:
    """Return (path, line) of the data attributes that are read of an object.

    None if the object itself is used, or is a container or array.
    """
    if is_plain(value):
        return None
    found: dict[str, int] = {}
    inside: set[int] = set()
    for node in ast.walk(body.node):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        if node.value.id != name:
            continue
        inside.add(id(node.value))
        held = getattr_static(value, node.attr)
        if held is not MISSING and not callable(held):
            found.setdefault(f"{name}.{node.attr}", node.lineno)
    bare = any(
        isinstance(n, ast.Name) and n.id == name and id(n) not in inside
        for n in ast.walk(body.node)
    )
    return None if bare else list(found.items())


def _attributes_of_self(jitted: Body, body: Body, who: str) -> Iterator[LintMessage]:
    """Yield JL104 for ``self.x``: of a static ``self``, or of a global object's method."""
    first = body.parameters[0] if body.parameters else ""
    if not first or isinstance(body.node, ast.Module):
        return
    if body.owner:
        value = jitted.names.value(body.owner)
        if value is ABSENT or not is_mutable(value) or not hasattr(value, "__dict__"):
            return
        title = body.owner
    elif first == "self" and "self" in body.static:
        value, title = ABSENT, "self"
    else:
        return
    for node in ast.walk(body.node):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == first:
                pass
            case _:
                continue
        held = getattr_static(value, attr) if value is not ABSENT else ABSENT
        if held is MISSING or (callable(held) and not isinstance(held, Array)):
            continue
        is_called = any(isinstance(c, ast.Call) and c.func is node for c in ast.walk(body.node))
        if is_called:
            continue
        better = (
            f"Pass {title} as an argument."
            if body.owner
            else f"Pass {title}.{attr} as an argument, or make the class a frozen dataclass."
        )
        text = f"{who} reads {title}.{attr}. {better}"
        yield LintMessage("JL104", jitted.name, f"{title}.{attr}", node.lineno, text)


def _better(jitted: Body, body: Body, name: str) -> str:
    if body.name == "lambda":
        return f"pass {name}"
    return f"{body.name}({', '.join([*body.parameters, name])})"


def _short(value: Any) -> str:
    """Return a number as it is, an array as its type, with its size if that is worth a word."""
    if not isinstance(value, Array | np.ndarray):
        return repr(value)
    size = int(getattr(value, "nbytes", 0))
    large = f", {size / 1024:,.1f} KiB" if size >= _LARGE_BYTES else ""
    return f"{type_text(value)}{large}"
