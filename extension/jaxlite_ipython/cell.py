"""One ``%%jit`` cell as a function. In: source text and the user's names.

Out: a function and how to call it.

    h = tanh(x @ w)          def cell(x, w):
    h.sum()            ->        h = tanh(x @ w)
                                 return {"h": h}, h.sum()

Names that are read before they are surely assigned become arguments: arrays and numbers are traced,
other plain values are static, functions and modules stay globals. Nothing is assigned until
everything has run.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import enum
import linecache
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jaxlite.numpy as jnp
from jaxlite import Array, tree_util
from jaxlite.diagnose.cell_names import names_of
from jaxlite.errors import CellError, located

__all__ = ["CellFunction", "CellOptions", "build_cell", "classify"]

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


@dataclass(frozen=True)
class CellOptions:
    """What the ``%%jit`` line asks for about names.

    ``inputs`` and ``outputs`` are None for "find out".
    """

    inputs: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None
    static: tuple[str, ...] = ()


@dataclass
class CellFunction:
    """A compiled cell.

    Call ``function(*arguments)`` to get ``(dict of outputs, value of the last expression)``.
    """

    function: types.FunctionType
    filename: str
    source: str
    inputs: tuple[str, ...]
    static: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]
    has_value: bool
    notes: list[str] = field(default_factory=list)

    def arguments(self, namespace: Mapping[str, Any]) -> list[Any]:
        """Return the values of the inputs now."""
        return [namespace[name] for name in self.inputs]


def classify(value: Any) -> str:
    """Return 'traced', 'static', 'constant', or 'bad' for the value of a name that a cell reads."""
    if isinstance(value, bool | str | bytes | enum.Enum | np.dtype) or value is None:
        return "static"
    if isinstance(value, Array | np.ndarray | int | float | complex | np.generic):
        return "traced"
    if isinstance(value, types.ModuleType | type) or callable(value):
        return "constant"
    if isinstance(value, list | tuple | dict):
        leaves = tree_util.tree_leaves(value)
        kinds = {classify(leaf) for leaf in leaves}
        if kinds <= {"traced"}:
            return "traced"
        if kinds <= {"static"}:
            return "static"
        return "bad"
    leaves = tree_util.tree_leaves(value)
    if not (len(leaves) == 1 and leaves[0] is value) and {classify(x) for x in leaves} <= {
        "traced"
    }:
        return "traced"  # a registered pytree
    return "bad"


def parse_cell(source: str, filename: str) -> ast.Module:
    """Parse a cell; syntax errors are Python's own.

    Constructs that cannot be traced raise ``CellError``.
    """
    check_magics(source, filename)
    tree = ast.parse(source, filename)
    for node in _outside_functions(tree):
        word = FORBIDDEN.get(type(node))
        if (
            word is None
            and isinstance(node, ast.ImportFrom)
            and any(a.name == "*" for a in node.names)
        ):
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


def check_magics(source: str, filename: str) -> None:
    """Raise ``CellError`` for lines that are IPython's and not Python's."""
    for number, line in enumerate(source.splitlines(), 1):
        text = line.lstrip()
        if text.startswith(("%", "!", "?")) and not _inside_string(source, number):
            word = text.split()[0]
            raise located(
                CellError(
                    f"{word} cannot be used in a %%jit cell (line {number})\n    {text}\n"
                    "  Fix: move this line to an ordinary cell."
                ),
                "JL011",
            )


def _inside_string(source: str, line: int) -> bool:
    """Say whether ``line`` lies inside a multi-line string (then it is no magic)."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return False
    return any(
        isinstance(n, ast.Constant)
        and isinstance(n.value, str)
        and n.lineno < line <= (n.end_lineno or 0)
        for n in ast.walk(tree)
    )


def cell_error(source: str, node: ast.AST, code: str, text: str, fix: str) -> CellError:
    """Return an error with the user's line, a caret and a fix."""
    number = getattr(node, "lineno", 1)
    column = getattr(node, "col_offset", 0)
    width = max(1, (getattr(node, "end_col_offset", column + 1) or column + 1) - column)
    lines = source.splitlines()
    line = lines[number - 1] if number <= len(lines) else ""
    width = min(width, max(1, len(line) - column))
    message = f"{text} (line {number})\n    {line}\n    {' ' * column}{'^' * width}\n  Fix: {fix}"
    return located(CellError(message), code)


def build_cell(
    source: str, namespace: Mapping[str, Any], filename: str, options: CellOptions
) -> CellFunction:
    """Make the function of a cell from its source and the names that exist now.

    Raises:
      CellError: the cell uses something that cannot be traced, or reads a name that does not exist
        or that holds an object that can be no input. SyntaxError: as Python.
    """
    tree = parse_cell(source, filename)
    names = names_of(tree)
    traced, static, constants = _sort_names(source, tree, names.reads, namespace, options)
    outputs = _outputs(names.binds, options, source, tree)
    inputs = (*traced, *static)
    has_value = bool(tree.body) and isinstance(tree.body[-1], ast.Expr)
    function = _compile(tree, source, inputs, outputs, has_value, filename, namespace)
    return CellFunction(
        function, filename, source, inputs, tuple(static), tuple(constants), outputs, has_value
    )


def _sort_names(
    source: str,
    tree: ast.Module,
    reads: Mapping[str, ast.Name],
    namespace: Mapping[str, Any],
    options: CellOptions,
) -> tuple[list[str], list[str], list[str]]:
    traced: list[str] = []
    static: list[str] = []
    constants: list[str] = []
    for name, node in reads.items():
        if name not in namespace:
            if hasattr(builtins, name):
                continue
            raise _missing(source, node, name, namespace)
        value = namespace[name]
        kind = classify(value)
        if name in options.static:
            _check_hashable(source, node, name, value)
            static.append(name)
        elif kind == "constant":
            constants.append(name)
        elif kind == "bad":
            raise _bad_input(source, node, name, value)
        elif options.inputs is not None and name not in options.inputs:
            constants.append(name)
        else:
            (traced if kind == "traced" else static).append(name)
    return traced, static, constants


def _missing(source: str, node: ast.Name, name: str, namespace: Mapping[str, Any]) -> CellError:
    close = difflib.get_close_matches(name, [n for n in namespace if not n.startswith("_")], 1)
    fix = f"did you mean {close[0]}?" if close else "run the cell that defines it."
    return cell_error(source, node, "JL010", f"NameError: {name} is not defined", fix)


def _bad_input(source: str, node: ast.Name, name: str, value: Any) -> CellError:
    fields = (
        [k for k, v in vars(value).items() if classify(v) == "traced"]
        if hasattr(value, "__dict__")
        else []
    )
    example = f"use its fields ({name}.{fields[0]}), or " if fields else ""
    return cell_error(
        source,
        node,
        "JL012",
        f"InputError: {name} ({type(value).__name__}) cannot be an input",
        f"{example}%%jit --static {name} if it never changes (it must be hashable).",
    )


def _check_hashable(source: str, node: ast.Name, name: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise cell_error(
            source,
            node,
            "JL012",
            f"InputError: static {name} ({type(value).__name__}) is not hashable",
            "use a tuple instead of a list, or @dataclass(frozen=True).",
        ) from None


def _outputs(
    binds: Mapping[str, int], options: CellOptions, source: str, tree: ast.Module
) -> tuple[str, ...]:
    if options.outputs is not None:
        unknown = [n for n in options.outputs if n not in binds]
        if unknown:
            raise located(
                CellError(
                    f"--out {unknown[0]}: the cell does not assign {unknown[0]}\n"
                    f"  Fix: --out {','.join(binds) or 'NAME'}"
                ),
                "JL013",
            )
        return options.outputs
    return tuple([n for n in binds if not n.startswith("_")])


def _compile(
    tree: ast.Module,
    source: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    has_value: bool,
    filename: str,
    namespace: Mapping[str, Any],
) -> types.FunctionType:
    """Compile the cell's statements as the body of a function.

    Line numbers stay those of the cell.
    """
    body = [_rebind_items(s) for s in tree.body]
    value: ast.expr = ast.Constant(None)
    if has_value:
        last = body.pop()
        assert isinstance(last, ast.Expr)
        value = last.value
    collect = "__jaxlite_outputs__"
    result = ast.Tuple(
        [_call(collect, [ast.Call(ast.Name("locals", ast.Load()), [], [])]), value], ast.Load()
    )
    if has_value:
        # The value is computed before the outputs are collected: a walrus in it may bind one.
        store = ast.Assign([ast.Name("__jaxlite_value__", ast.Store())], value)
        body.append(store)
        result.elts[1] = ast.Name("__jaxlite_value__", ast.Load())
    body.append(ast.Return(result))
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(n) for n in inputs],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    # A parsed template has every field that this version of Python wants.
    definition = ast.parse("def cell(): pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.args, definition.body = arguments, body
    module = ast.Module([definition], [])
    anchor = tree.body[-1] if tree.body else None
    for node in ast.walk(module):
        if isinstance(node, ast.expr | ast.stmt | ast.arg) and not hasattr(node, "lineno"):
            line = getattr(anchor, "end_lineno", 1) if anchor is not None else 1
            node.lineno = node.end_lineno = line or 1
            node.col_offset = node.end_col_offset = 0
    definition.lineno = 1
    code = compile(module, filename, "exec")
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    wanted = frozenset(outputs)
    helpers = {
        collect: lambda local: {k: v for k, v in local.items() if k in wanted},
        "__jaxlite_set__": set_item,
    }
    scope = {**namespace, **helpers}
    exec(code, scope)
    function: types.FunctionType = scope["cell"]
    return function


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
    index = target.slice
    if isinstance(index, ast.Slice) or (
        isinstance(index, ast.Tuple) and any(isinstance(e, ast.Slice) for e in index.elts)
    ):
        index = _slice_call(index)
    call = _call("__jaxlite_set__", [ast.Name(name, ast.Load()), index, value])
    return ast.Assign([ast.Name(name, ast.Store())], call)


def _slice_call(index: ast.expr) -> ast.expr:
    if isinstance(index, ast.Slice):
        parts = [
            p if p is not None else ast.Constant(None)
            for p in (index.lower, index.upper, index.step)
        ]
        return _call("slice", parts)
    if isinstance(index, ast.Tuple):
        return ast.Tuple([_slice_call(e) for e in index.elts], ast.Load())
    return index


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


def _rebind_items(statement: ast.stmt) -> ast.stmt:
    result = _ItemAssignment().visit(statement)
    assert isinstance(result, ast.stmt)
    return ast.fix_missing_locations(result)
