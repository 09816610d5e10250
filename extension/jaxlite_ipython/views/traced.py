"""From what a view is given to what it shows. In: a function and arguments. Out: ``Subject``."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import jaxlite
from jaxlite.diagnose.places import CELL_FILE, title_of
from jaxlite.stages import Traced
from jaxlite_ipython.views.words import printable

__all__ = ["Subject", "dynamic_leaves", "subject_of"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A traced function with names for people."""

    traced: Traced
    jitted: Any
    title: str
    arg_names: tuple[str, ...]
    result_names: tuple[str, ...]
    const_names: tuple[str, ...]
    is_cell: bool


def subject_of(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Subject:
    """Trace ``f`` (plain or jitted) for the arguments.

    Raises:
      TypeError: ``f`` is not callable, or an argument is no array.
    """
    jitted: Any = f if hasattr(f, "trace") and hasattr(f, "lower") else jaxlite.jit(f)
    traced = jitted.trace(*args, **kwargs)
    info = traced.jaxpr.jaxpr.debug_info
    is_cell = info.file.startswith(CELL_FILE)
    title = (title_of(info.file) if is_cell else "") or traced.fun_name
    names = [str(n) for n in info.arg_names]
    n_args = len(traced.jaxpr.jaxpr.invars)
    names += [f"arg {k + 1}" for k in range(len(names), n_args)]
    return Subject(
        traced,
        jitted,
        printable(title),
        tuple(map(printable, names[:n_args])),
        tuple(map(printable, _result_names(traced, is_cell))),
        tuple(map(printable, _const_names(jitted, traced))),
        is_cell,
    )


def dynamic_leaves(
    subject: Subject, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the values of the inputs of a traced function; () if some are only types."""
    leaves = jaxlite.tree_util.tree_leaves((args, kwargs))
    avals = subject.traced.jaxpr.in_avals
    is_value = [
        isinstance(x, jaxlite.Array | np.ndarray | np.generic | int | float) for x in leaves
    ]
    if len(leaves) != len(avals) or not all(is_value):
        return ()  # static arguments are no inputs
    if any(isinstance(x, jaxlite.Array) and not hasattr(x, "__array__") for x in leaves):
        return ()  # a tracer
    pairs = zip(leaves, avals, strict=True)
    return tuple(x if hasattr(x, "aval") else jaxlite.numpy.asarray(x, a.dtype) for x, a in pairs)


def _result_names(traced: Traced, is_cell: bool) -> list[str]:
    """Return a name per result: its key path; ``result`` if the function returns one array."""
    with_path, _ = jaxlite.tree_util.tree_flatten_with_path(traced.out_info)
    names = []
    for path, _leaf in with_path:
        keys = list(path)
        if is_cell and keys:  # a cell returns ({name: value}, value of the last expression)
            first, *rest = keys
            keys = rest if getattr(first, "idx", 0) == 0 else ["Out", *rest]
        names.append(_path_text(keys))
    return names


def _path_text(keys: list[Any]) -> str:
    """Return ``h`` for a dict key on its own, ``params['w'][0]`` for longer paths."""
    if not keys:
        return "result"
    first, *rest = keys
    name = first if isinstance(first, str) else getattr(first, "key", getattr(first, "name", None))
    head = name if isinstance(name, str) else str(first)
    return head + "".join(str(k) for k in rest)


def _const_names(jitted: Any, traced: Traced) -> list[str]:
    """Return the names by which the function reads its captured arrays, where they can be found."""
    fun = inspect.unwrap(jitted)
    code = getattr(fun, "__code__", None)
    known: dict[int, str] = {}
    if code is not None:
        table = getattr(fun, "__globals__", {})
        known = {id(table[n]): n for n in _global_names(code) if n in table}
        cells = getattr(fun, "__closure__", None) or ()
        for name, cell in zip(code.co_freevars, cells):
            try:
                known[id(cell.cell_contents)] = name
            except ValueError:  # a cell that is still empty
                continue
    return [
        known.get(id(const), f"constant {k + 1}") for k, const in enumerate(traced.jaxpr.consts)
    ]


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that a function and the functions inside it read."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _global_names(const)
