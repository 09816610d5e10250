"""Fixes for static arguments that change. In: explained traces. Out: titles and edits."""

from __future__ import annotations

import ast
import types
from collections.abc import Hashable, Iterable
from typing import Any

from jaxlite.diagnose.causes import Explanation
from jaxlite.diagnose.difference import place_name
from jaxlite.diagnose.misses import Miss, Site
from jaxlite.diagnose.source_edits import Edit, Source

__all__ = ["static_fix"]

_EQUALITY = """
    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self):
        return hash(tuple(vars(self).values()))
"""


def static_fix(site: Site, explained: list[Explanation]) -> Iterable[Any]:
    """Let the argument be traced, or compare its objects by value."""
    mine = [e for e in explained if "V" in e.letters]
    for path in dict.fromkeys(d.path for e in mine for d in e.causes if d.cause == "V"):
        found = [e for e in mine if any(d.path == path for d in e.causes)]
        name = path.removeprefix("static ")
        miss = found[-1].miss
        place, mark = _static(miss, name)
        if any("in place" in d.new for e in found for d in e.causes if d.path == path):
            title = f"do not change {name} in place; pass what varies as an ordinary argument"
            yield title, None, []
        elif mark is not None and mark.by_identity and mark.contents is not None:
            yield _compare_by_value(miss, place, name)
        elif mark is not None and mark.by_identity:
            yield f"make the {mark.type_name} for {name} once and keep it", None, []
        else:
            yield _trace_it(site, miss, place, name)


def _static(miss: Miss, name: str) -> tuple[Any, Any]:
    for place, mark in miss.key.static[1:]:
        if place_name(place, miss.parameters) == name:
            return place, mark
    return None, None


def _trace_it(
    site: Site, miss: Miss, place: Any, name: str
) -> tuple[str, Source | None, list[Edit]]:
    """Take the argument off the static ones, if the function can do with a traced value."""
    function = site.function() if site.function is not None else None
    entry = miss.entry() if miss.entry is not None else None
    if function is None or entry is None or not function.traces_without_static(entry, place):
        title = f"{name} has to be static here: use fewer values (jaxlite.bucket), or a shape of it"
        return title, None, []
    title = f"let {name} be traced, not static"
    line = miss.made_at
    source = Source.of(line.file) if line is not None else None
    if source is None or line is None:
        return title, None, []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and node.lineno <= line.line <= (node.end_lineno or 0):
            new = _without(node, name, place)
            if new is not None:
                return title, source, [(*source.span(node), new)]
    return title, None, []


def _without(call: ast.Call, name: str, place: Any) -> str | None:
    """Return the ``jit`` call without ``name`` among its static arguments."""
    keep = []
    seen = False
    for keyword in call.keywords:
        if keyword.arg not in ("static_argnames", "static_argnums"):
            keep.append(keyword)
            continue
        try:
            value = ast.literal_eval(keyword.value)
        except ValueError:  # computed: not ours to edit
            return None
        items = list(value) if isinstance(value, tuple | list) else [value]
        rest = [v for v in items if v not in (name, place)]
        seen = seen or len(rest) < len(items)
        if rest:
            left: Any = rest[0] if len(rest) == 1 else tuple(rest)
            keep.append(ast.keyword(keyword.arg, ast.Constant(left)))
    if not seen:
        return None
    if not keep and not call.args:
        return ast.unparse(call.func)
    return ast.unparse(ast.Call(call.func, call.args, keep))


def _compare_by_value(miss: Miss, place: Any, name: str) -> tuple[str, Source | None, list[Edit]]:
    """Make two objects with equal fields equal."""
    entry = miss.entry() if miss.entry is not None else None
    values = dict(entry.key.static[1:]) if entry is not None else {}
    cls = type(values[place].value) if place in values else None
    title = f"compare {name} by value: @dataclass(frozen=True), or __eq__ and __hash__"
    if cls is None:
        return title, None, []
    fields_now = vars(values[place].value).values()
    if not all(isinstance(v, Hashable) for v in fields_now):
        return title, None, []
    source = Source.of(_file_of(cls, miss))
    node = _class_node(source, cls)
    if source is None or node is None or node.decorator_list:
        return title, None, []
    has_init = any(isinstance(n, ast.FunctionDef) and n.name == "__init__" for n in node.body)
    fields = any(isinstance(n, ast.AnnAssign) for n in node.body)
    if fields and not has_init:
        at = source.line_span(node)[0]
        edit = (at, at, f"{source.indent(node)}@dataclasses.dataclass(frozen=True)\n")
        edits: list[Edit] = [edit]
        if source.alias("dataclasses") is None:
            edits.append(source.import_edit("import dataclasses"))
        return title, source, edits
    end = source.line_span(node)[1]
    indent = source.indent(node)
    text = "".join(f"{indent}{line}\n" if line else "\n" for line in _EQUALITY.splitlines())
    return title, source, [(end, end, text)]


def _file_of(cls: type, miss: Miss) -> str:
    """Return the file of a class: that of its methods, else that of the call (a notebook cell)."""
    for value in vars(cls).values():
        if isinstance(value, types.FunctionType):
            return value.__code__.co_filename
    return miss.caller.file if miss.caller is not None else miss.site.file


def _class_node(source: Source | None, cls: type) -> ast.ClassDef | None:
    if source is None:
        return None
    found = [
        n for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef) and n.name == cls.__name__
    ]
    return found[0] if len(found) == 1 else None
