"""Which cell assigned and changed each name. In: cells as they run. Out: places, for messages.

A cell is known by the id that the front end gives it, or, in a terminal, by its text: running it
again is no second assignment. Sources are Python (magics already translated).
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxlite.diagnose.cell_names import names_of

__all__ = [
    "MUTATORS",
    "Assignment",
    "CellHistory",
    "Mutation",
    "mutations_in",
    "names_changed_by",
]

#: Methods that change a list, dict, set or deque in place.
MUTATORS = frozenset(
    {
        *("append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault"),
        *("pop", "popleft", "popitem", "remove", "discard", "clear", "sort", "reverse"),
    }
)


class Assignment(NamedTuple):
    """A name was assigned last in cell ``number``; ``times`` places of the notebook assign it."""

    number: int
    times: int


class Mutation(NamedTuple):
    """A name was changed in place in cell ``number``, line ``line``."""

    number: int
    line: int


@dataclass(slots=True)
class _Cell:
    """The last run of one cell; ``number`` is its execution count."""

    number: int
    source: str
    binds: dict[str, int]
    mutations: dict[str, int]
    assigned: set[str] = field(default_factory=set)


class CellHistory:
    """The cells of one session."""

    def __init__(self) -> None:
        self._cells: dict[str, _Cell] = {}
        self._owner: dict[str, tuple[str, int, str]] = {}  # name -> cell key, number, source
        self._deleted: set[str] = set()

    def record(
        self,
        source: str,
        number: int,
        cell_id: str | None = None,
        names: Iterable[str] | None = None,
        *,
        succeeded: bool = True,
    ) -> None:
        """Take in a cell that has run.

        Args:
          source: its text, as Python.
          number: its execution count.
          cell_id: the front end's id, where there is one.
          names: what it assigned; by default what its text binds.
          succeeded: False if it raised: then it assigned nothing for certain.
        """
        try:
            tree = ast.parse(source)
        except SyntaxError:
            tree = ast.Module([], [])
        key = cell_id or f"text:{source}"
        binds = _binding_places(tree)
        if names is not None:
            binds = {n: binds.get(n, 1) for n in names}
        cell = _Cell(number, source, binds, dict(mutations_in(tree)))
        self._cells[key] = cell
        self._deleted.discard(key)
        if succeeded:
            for name in binds:
                self._owner[name] = (key, number, source)

    def delete(self, cell_ids: Iterable[str]) -> None:
        """Take in that the front end has deleted cells."""
        self._deleted.update(cell_ids)

    def assigned(self, name: str) -> Assignment | None:
        """Return where ``name`` was assigned last."""
        if name not in self._owner:
            return None
        places = sum(c.binds.get(name, 0) for k, c in self._cells.items() if k not in self._deleted)
        return Assignment(self._owner[name][1], places)

    def number(self, name: str) -> int | None:
        """Return the number of the cell that assigned ``name`` last."""
        found = self._owner.get(name)
        return found[1] if found else None

    def mutated(self, name: str) -> Mutation | None:
        """Return the last place that changes ``name`` in place."""
        places = [
            Mutation(c.number, c.mutations[name])
            for k, c in self._cells.items()
            if name in c.mutations and k not in self._deleted
        ]
        return max(places, default=None)

    def is_gone(self, name: str) -> bool:
        """Say whether ``name`` lives on although its cell is deleted or no longer assigns it."""
        if name not in self._owner:
            return False
        return not any(name in c.binds for k, c in self._cells.items() if k not in self._deleted)

    def edited(self, name: str) -> int | None:
        """Return the cell whose newer text has not assigned ``name``, though it would."""
        if name not in self._owner:
            return None
        key, number, source = self._owner[name]
        cell = self._cells.get(key)
        if cell is None or key in self._deleted:
            return None
        return number if cell.source != source and name in cell.binds else None


@functools.lru_cache(maxsize=4)
def names_changed_by(source: str) -> frozenset[str]:
    """Return the names that a cell assigns or changes in place (none if it does not parse)."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return frozenset()
    return frozenset({*_stored_names(tree), *(name for name, _ in mutations_in(tree))})


def _binding_places(tree: ast.Module) -> dict[str, int]:
    """Return name -> number of places of the cell's top level that assign it (2 means several)."""
    stored = _stored_names(tree)
    binds = [n for n in names_of(tree).binds if n in stored]  # cfg["a"] = 1 assigns no name
    counts = dict.fromkeys(binds, 0)
    stack: list[tuple[ast.AST, bool]] = [(node, False) for node in tree.body]
    while stack:
        node, in_loop = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in counts:
            counts[node.id] += 2 if in_loop else 1
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        in_loop = in_loop or isinstance(node, ast.For | ast.While)
        stack += [(child, in_loop) for child in ast.iter_child_nodes(node)]
    return {name: max(count, 1) for name, count in counts.items()}


def _stored_names(tree: ast.Module) -> set[str]:
    """Return the names that statements of a cell bind themselves, not only an item of them."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.split(".")[0])
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
    return found


def mutations_in(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield (name, line) of the outside names that a cell changes in place.

    Filling a container in the cell that makes it is no change.
    """
    made_here = {
        n.id for s in tree.body for n in _walk_scope(s)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }  # fmt: skip
    yield from _changes(tree.body, made_here)
    yield from _changes_in_functions(tree.body, set())


def _changes(body: Iterable[ast.stmt], local: set[str]) -> Iterator[tuple[str, int]]:
    """Yield the changes in one scope to names that are not ``local``."""
    for statement in body:
        for node in _walk_scope(statement):
            yield from (change for change in changes_of(node) if change[0] not in local)


def _changes_in_functions(body: Iterable[ast.stmt], local: set[str]) -> Iterator[tuple[str, int]]:
    """Yield the changes inside the functions that ``body`` defines."""
    functions = [
        n
        for s in body
        for n in _walk_scope(s)
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for node in functions:
        args = node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        shared = {n for s in ast.walk(node) if isinstance(s, ast.Global) for n in s.names}
        stores = {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        inside = (local | {a.arg for a in every if a is not None} | stores | {node.name}) - shared
        yield from ((name, node.lineno) for name in shared & stores)
        yield from _changes(node.body, inside)
        yield from _changes_in_functions(node.body, inside)


def _walk_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Yield ``node`` and what is below it in the same scope; inner functions as one node."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _walk_scope(child)


def changes_of(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield (name, line) for what one node changes in place: item, attribute, method, del."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=found):
            targets = list(found)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            targets = [target]
        case ast.Delete(targets=found):
            targets = list(found)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in MUTATORS:
            name = base_name(value)
            if name is not None:
                yield name, node.lineno
    for t in targets:
        if isinstance(t, ast.Subscript | ast.Attribute):
            name = base_name(t)
            if name is not None:
                yield name, t.lineno


def base_name(e: ast.expr) -> str | None:
    """Return ``cfg`` for ``cfg['a'].b[0]``, None if no name is at the bottom."""
    bottom: ast.expr = e
    while isinstance(bottom, ast.Subscript | ast.Attribute):
        bottom = bottom.value
    return bottom.id if isinstance(bottom, ast.Name) else None
