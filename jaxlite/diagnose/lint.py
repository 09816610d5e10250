"""Rules on a cell before it runs. In: source, names, history. Out: messages JL101 to JL111.

A jitted function keeps the globals it read when it was traced, and does its side effects once. The
rules look at the functions that a cell jits and at the functions those call: ``lint_reads`` at what
they read (JL101 to JL104, JL106, JL108), ``lint_effects`` at what they do (JL105, JL107, JL111).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from jaxlite.diagnose import lint_effects, lint_reads
from jaxlite.diagnose.cell_history import CellHistory
from jaxlite.diagnose.jitted import Body, find_jitted, helpers_of, names_in, silenced_lines
from jaxlite.diagnose.lint_reads import LintMessage

__all__ = ["LintMessage", "lint_cell", "lint_jit_cell"]


def lint_cell(
    source: str,
    namespace: Mapping[str, Any],
    history: CellHistory,
    *,
    has_run: bool = False,
) -> list[LintMessage]:
    """Return the messages for the functions that a cell jits.

    Args:
      source: the cell as Python; one that does not parse gives nothing.
      namespace: the names that exist before the cell runs (after it with ``has_run``).
      history: what earlier cells assigned and changed.
      has_run: the names that the cell assigns have their values.
    """
    if "jit" not in source:
        return []
    try:
        tree = ast.parse(source)
        jitted = find_jitted(tree, source, names_in(tree, namespace, has_run=has_run))
        found = [m for body in jitted for m in _judge(body, history)]
    except (SyntaxError, ValueError, RecursionError):  # a null byte, or 1,000 nested brackets
        return []
    return list(dict.fromkeys(found))


def _judge(body: Body, history: CellHistory) -> Iterable[LintMessage]:
    helpers = list(helpers_of(body))
    messages = [*lint_reads.messages(body, body, history), *lint_effects.messages(body, body)]
    for helper in helpers:
        messages += lint_reads.messages(body, helper, history)
        messages += lint_effects.messages(body, helper)
    # A function that changes a container also reads it: one message is enough.
    changed = {name for b in (body, *helpers) for name in lint_effects.changed_names(body, b)}
    return [m for m in messages if m.code not in ("JL102", "JL103") or m.name not in changed]


def lint_jit_cell(
    source: str, namespace: Mapping[str, Any], traced: Iterable[str]
) -> list[LintMessage]:
    """Return the messages for a ``%%jit`` cell: what would happen once, not at every run.

    ``traced`` are its traced inputs. Reading a global is no message: inputs are read at every run.
    """
    try:
        tree = ast.parse(source)
        names = names_in(tree, namespace)
        body = Body(
            name="the cell",
            node=tree,
            parameters=tuple(traced),
            static=frozenset(),
            names=names,
            silenced=silenced_lines(source),
            functions={n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)},
        )
        found = [m for b in (body, *helpers_of(body)) for m in lint_effects.messages(body, b)]
    except (SyntaxError, ValueError, RecursionError):
        return []
    return list(dict.fromkeys(found))
