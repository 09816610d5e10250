"""One ``%%jit`` cell as a function. In: source text and the user's names.

Out: a function and how to call it.

Names that are read before they are surely assigned become arguments: arrays and numbers are traced,
other plain values are static, functions and modules stay globals. Nothing is assigned until
everything has run.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import linecache
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jaxlite.numpy as jnp
from jaxlite import Array, tree_util
from jaxlite.diagnose.captured import getattr_static
from jaxlite.diagnose.cell_names import names_of
from jaxlite.errors import CellError, located
from jaxlite_ipython.cell_source import COLLECT, SET_ITEM, cell_error, compile_cell, parse_cell
from jaxlite_ipython.cell_transforms import CellOptions, transformed
from jaxlite_ipython.kept import STATIC_TYPES, Kept, close, open_

__all__ = ["CellFunction", "CellOptions", "build_cell", "classify"]

#: Names of the shell's own, which nobody has misspelled.
_SHELLS = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})


@dataclass
class CellFunction:
    """A compiled cell.

    Call ``function(*arguments)`` to get ``(dict of outputs, value of the last expression)``, both
    closed (see ``kept``); ``plain`` is the same without ``--grad`` and ``--vmap``.
    """

    function: Callable[..., Any]
    filename: str
    source: str
    inputs: tuple[str, ...]
    static: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]
    has_value: bool
    plain: Callable[..., Any]
    definitions: types.CodeType | None = None
    kept: frozenset[str] = field(default_factory=frozenset)

    def arguments(self, namespace: Mapping[str, Any]) -> list[Any]:
        """Return the values of the inputs now."""
        kept = self.kept
        return [close(namespace[n]) if n in kept else namespace[n] for n in self.inputs]


def classify(value: Any) -> str:
    """Return 'traced', 'kept', 'static', 'constant', or 'bad' for the value of an input."""
    if isinstance(value, slice):
        return "kept"  # no hash before Python 3.12
    if isinstance(value, STATIC_TYPES):
        return "static"
    if isinstance(value, np.ndarray | np.generic):
        return "bad" if value.dtype.kind in "OSUmM" else "traced"
    if isinstance(value, Array | int | float | complex):
        return "traced"
    if isinstance(value, types.ModuleType | type) or callable(value):
        return "constant"
    return _classify_tree(value)


def _classify_tree(value: Any) -> str:
    leaves = tree_util.tree_leaves(value, is_leaf=lambda x: x is None)
    if len(leaves) == 1 and leaves[0] is value:
        return "bad"  # an object that is no container
    kinds = {classify(leaf) for leaf in leaves}
    if kinds <= {"traced"}:
        return "traced"
    return "kept" if kinds <= {"traced", "static", "constant"} else "bad"


def build_cell(
    source: str, namespace: Mapping[str, Any], filename: str, options: CellOptions
) -> CellFunction:
    """Make the function of a cell from its source and the names that exist now.

    Raises:
      CellError: the cell uses something that cannot be traced, or reads a name that does not exist
      or that holds an object that can be no input. SyntaxError: as Python.
    """
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    tree = parse_cell(source, filename)
    names = names_of(tree)
    sorted_names = _sort_names(source, names.reads, namespace, options)
    outputs = _outputs(names.binds, options)
    inputs = (*sorted_names["traced"], *sorted_names["kept"], *sorted_names["static"])
    definitions: list[ast.stmt] = [s for s in tree.body if _defines(s) & set(outputs)]
    wanted = frozenset(outputs).union([options.grad[0]] if options.grad else [])
    wanted -= {n for s in definitions for n in _defines(s)}
    if options.grad and options.grad[0] not in names.binds:
        known = ", ".join(n for n in names.binds) or "nothing"
        text = f"--grad {options.grad[0]}: the cell does not assign {options.grad[0]}"
        raise located(CellError(f"{text}\n  Fix: name a scalar it assigns ({known})."), "JL013")
    # What the cell reads and then assigns is local to its function, so it is handed in.
    extra = tuple(n for n in sorted_names["constant"] if n in names.binds)
    code = compile_cell(tree, (*inputs, *extra), filename)
    # New containers: a cell that changes one in place changes no value of the user's.
    own = {n: _copy(namespace[n]) for n in sorted_names["constant"]}
    scope = {**namespace, **own, COLLECT: _collector(wanted), SET_ITEM: set_item}
    exec(code, scope)
    cell: Callable[..., Any] = scope["cell"]
    kept = frozenset(sorted_names["kept"])
    if kept or extra:
        cell = _opening(cell, inputs, kept, [own[n] for n in extra])
    defined = compile(ast.Module(definitions, []), filename, "exec") if definitions else None
    return CellFunction(
        transformed(cell, inputs, frozenset(sorted_names["static"]), namespace, options, outputs),
        filename,
        source,
        inputs,
        tuple(sorted_names["static"]),
        tuple(sorted_names["constant"]),
        outputs,
        bool(tree.body) and isinstance(tree.body[-1], ast.Expr),
        cell,
        defined,
        kept,
    )


def _copy(value: Any) -> Any:
    if isinstance(value, list | tuple | dict):
        return tree_util.tree_map(lambda x: x, value, is_leaf=lambda x: x is None)
    return value


def _collector(wanted: frozenset[str]) -> Callable[[dict[str, Any], Any], Any]:
    def collect(local: dict[str, Any], value: Any) -> Any:
        found = {k: _result(k, v) for k, v in local.items() if k in wanted}
        return found, _result("the last expression", value)

    return collect


def _result(name: str, value: Any) -> Any:
    """Return ``value`` closed.

    Raises:
      CellError: it is or holds something that cannot leave the cell.
    """
    closed = close(value, numbers=True)
    for leaf in tree_util.tree_leaves(closed, is_leaf=lambda x: isinstance(x, Kept)):
        if isinstance(leaf, Kept):
            held = held_tracer(leaf.value)
            if held:
                text = f"OutputError: {name} cannot leave the cell: it holds {held}, traced here"
                fix = f"write it as def {name}(...) at the top level, or call it _{name}."
                raise located(CellError(f"{text}\n  Fix: {fix}"), "JL014")
        elif not isinstance(leaf, Array | np.ndarray | np.generic | int | float | complex):
            text = f"OutputError: {name} ({type(leaf).__name__}) cannot be an output"
            fix = f"make it in an ordinary cell, or call it _{name} if only this cell uses it."
            raise located(CellError(f"{text}\n  Fix: {fix}"), "JL014")
    return closed


def held_tracer(value: Any, depth: int = 4) -> str:
    """Return the name under which a function's closure holds a traced value, '' if it does not."""
    cells = getattr(value, "__closure__", None)
    if not cells or not depth:
        return ""
    for name, cell in zip(value.__code__.co_freevars, cells):
        try:
            held = cell.cell_contents
        except ValueError:  # assigned later
            continue
        if isinstance(held, Array) and hasattr(held, "describe"):
            return str(name)
        inner = held_tracer(held, depth - 1)
        if inner:
            return inner
    return ""


def _opening(
    cell: Any, inputs: tuple[str, ...], kept: frozenset[str], extra: list[Any]
) -> Callable[..., Any]:
    """Return ``cell`` for arguments of which some are closed; ``extra`` are its last ones."""
    places = [i for i, n in enumerate(inputs) if n in kept]

    def opened(*args: Any) -> Any:
        values = list(args)
        for i in places:
            values[i] = open_(values[i])
        return cell(*values, *extra)

    opened.__name__ = cell.__name__
    opened.__wrapped__ = cell  # type: ignore[attr-defined]
    return opened


def _defines(statement: ast.stmt) -> set[str]:
    """Return the names of a definition or import, which is kept as Python.

    It is run once more in the user's names when everything else has succeeded.
    """
    match statement:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {a.asname or a.name.split(".")[0] for a in names}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
            return {name}
    return set()


def _sort_names(
    source: str,
    reads: Mapping[str, ast.Name],
    namespace: Mapping[str, Any],
    options: CellOptions,
) -> dict[str, list[str]]:
    """Return the names that the cell reads by what becomes of them."""
    found: dict[str, list[str]] = {"traced": [], "kept": [], "static": [], "constant": []}
    for name in options.inputs or ():
        if name not in namespace and name not in reads:
            raise _missing(source, ast.Name(name), name, namespace)
    unread = [n for n in options.static if n not in reads]
    if unread:
        fix = ",".join(n for n in reads if n in namespace) or "nothing: the cell has no inputs"
        text = f"--static {unread[0]}: the cell does not read {unread[0]}"
        raise located(CellError(f"{text}\n  Fix: choose from {fix}."), "JL013")
    for name, node in reads.items():
        if name not in namespace:
            if hasattr(builtins, name):
                continue
            raise _missing(source, node, name, namespace)
        value = namespace[name]
        kind = classify(value)
        if name in options.static:
            _check_hashable(source, node, name, value)
            kind = "static"
        elif kind == "bad":
            raise _bad_input(source, node, name, value)
        elif kind != "constant" and options.inputs is not None and name not in options.inputs:
            kind = "constant"
        found[kind].append(name)
    return found


def _missing(source: str, node: ast.Name, name: str, namespace: Mapping[str, Any]) -> CellError:
    names = [n for n in namespace if not n.startswith("_") and n not in _SHELLS]
    # Of short names half of the letters may differ: w3, w2.
    close_ = difflib.get_close_matches(name, names, 1, 0.5 if len(name) < 4 else 0.6)
    fix = f"did you mean {close_[0]}?" if close_ else "run the cell that defines it."
    if not hasattr(node, "lineno"):
        text = f"--in {name}: NameError: {name} is not defined\n  Fix: {fix}"
        return located(CellError(text), "JL010")
    return cell_error(source, node, "JL010", f"NameError: {name} is not defined", fix)


def _bad_input(source: str, node: ast.Name, name: str, value: Any) -> CellError:
    read = re.findall(rf"\b{re.escape(name)}\.(\w+)", source)
    fields = [k for k in (*read, *_fields(value)) if _is_data(value, k)]
    example = f"use its fields ({name}.{fields[0]} in an ordinary cell), or " if fields else ""
    fix = f"{example}{_how_static(name, value)}"
    what = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    return cell_error(
        source,
        node,
        "JL012",
        f"InputError: {name} ({what}) cannot be an input",
        fix,
    )


def _how_static(name: str, value: Any) -> str:
    """Return how an object that is no array could come into a cell."""
    static = f"%%jit --static {name}"
    if isinstance(value, np.ndarray | np.generic):
        return "make it an array of numbers in an ordinary cell."
    if isinstance(value, set):
        return f"make it a frozenset, then {static}."
    if isinstance(value, Iterator):
        return f"make it a list in an ordinary cell, {name} = list({name})."
    if is_hashable(value):
        return f"{static} if it never changes."
    return f"make it hashable, @dataclass(frozen=True), then {static}."


def is_hashable(value: Any) -> bool:
    """Say whether ``value`` can be compared as a static input."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _fields(value: Any) -> list[str]:
    return [] if isinstance(value, np.ndarray) else list(getattr(value, "__dict__", {}))


def _is_data(value: Any, name: str) -> bool:
    """Say whether a field of an object could be an input; properties are not run."""
    return classify(getattr_static(value, name)) in ("traced", "static")


def _check_hashable(source: str, node: ast.Name, name: str, value: Any) -> None:
    if not is_hashable(value):
        raise cell_error(
            source,
            node,
            "JL012",
            f"InputError: static {name} ({type(value).__name__}) is not hashable",
            "use a tuple instead of a list, or @dataclass(frozen=True).",
        )


def _outputs(binds: Mapping[str, int], options: CellOptions) -> tuple[str, ...]:
    if options.outputs is not None:
        unknown = [n for n in options.outputs if n not in binds]
        if unknown:
            text = f"--out {unknown[0]}: the cell does not assign {unknown[0]}"
            fix = ",".join(binds) or "NAME"
            raise located(CellError(f"{text}\n  Fix: --out {fix}"), "JL013")
        return options.outputs
    return tuple([n for n in binds if not n.startswith("_")])


def set_item(x: Any, index: Any, value: Any) -> Any:
    """Return ``x`` with ``x[index]`` replaced.

    A new array, or the same Python container changed in place.
    """
    if isinstance(x, Array):
        return x.at[index].set(value)  # type: ignore[attr-defined]
    if isinstance(x, np.ndarray):
        return jnp.asarray(x).at[index].set(value)
    x[index] = value
    return x
