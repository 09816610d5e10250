"""What is known of one operation beyond its box. In: a trace and arguments. Out: ``Field`` records.

Values (of one run, operation by operation) and derivative rules take time, so they are made for the
widget only, and only for small programs.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import jaxlite
from jaxlite.diagnose.formulas import formula
from jaxlite.diagnose.operation_values import ValueSummary, look_at_values, summarise
from jaxlite_ipython.views.contract import Field
from jaxlite_ipython.views.op_graph import Node, OpGraph
from jaxlite_ipython.views.traced import Subject
from jaxlite_ipython.views.words import bytes_text, count

__all__ = ["node_values", "operation_fields", "rules_of"]

_BAR = "\N{COMBINING MACRON}"
_SEP = " \N{MIDDLE DOT} "
#: Boxes whose details are made, and bytes that an operation-by-operation run may make.
MAX_OPS = 60
MAX_BYTES = 1 << 28
_FAMILIES = ("matmul", "elementwise", "reduction", "indexing")


def node_values(subject: Subject, graph: OpGraph, leaves: Sequence[Any]) -> dict[str, ValueSummary]:
    """Return a summary per box, of a run on ``leaves``; nothing if a run is too much to ask."""
    closed = subject.traced.jaxpr
    made = sum(n.n_bytes for n in graph.nodes)
    if closed.effects or made > MAX_BYTES or len(leaves) != len(closed.jaxpr.invars):
        return {}
    found: dict[int, deque[ValueSummary | None]] = defaultdict(deque)

    def look(eqn: Any, outs: Sequence[Any]) -> None:
        found[id(eqn)].append(summarise(outs[0]) if outs else None)

    look_at_values(closed, leaves, look)
    values: dict[str, ValueSummary] = {}
    for node in graph.ops:
        queue = found.get(id(_last(node)))
        summary = queue.popleft() if queue else None
        if summary is not None:
            values[node.id] = summary
    return values


def rules_of(eqn: Any, names: Sequence[str]) -> list[str]:
    """Return how the derivative comes back through an equation, a formula per operand.

    A bar marks what is differentiated by; ``y`` is the equation's own result. Nothing where there
    is no rule to show.
    """
    is_float = [jaxlite.numpy.issubdtype(a.aval.dtype, jaxlite.numpy.floating) for a in eqn.invars]
    is_var = [not hasattr(a, "val") for a in eqn.invars]
    wanted = [k for k, ok in enumerate(is_float) if ok and is_var[k]]
    if len(eqn.outvars) != 1 or not wanted or eqn.effects:
        return []

    def both(operands: list[Any], seed: Any) -> Any:
        def run(*chosen: Any) -> Any:
            full = list(operands)
            for k, x in zip(wanted, chosen, strict=True):
                full[k] = x
            return eqn.primitive.bind_all(*full, **eqn.params)[0]

        y, back = jaxlite.vjp(run, *[operands[k] for k in wanted])
        return y, back(seed)

    types = [jaxlite.ShapeDtypeStruct(a.aval.shape, a.aval.dtype) for a in eqn.invars]
    out = eqn.outvars[0].aval
    try:
        closed = jaxlite.make_jaxpr(both)(types, jaxlite.ShapeDtypeStruct(out.shape, out.dtype))
    except (NotImplementedError, TypeError, ValueError):
        return []  # no derivative: the gradient view says why
    jaxpr = closed.jaxpr
    *operands, seed = jaxpr.invars
    known = dict(zip(operands, names)) | {seed: f"y{_BAR}", jaxpr.outvars[0]: "y"}
    rules = []
    for k, atom in zip(wanted, jaxpr.outvars[1:], strict=True):
        text = formula(atom, jaxpr.eqns, known.get, 10)
        if text == f"y{_BAR}" and eqn.invars[k].aval.shape != out.shape:
            text += " for every element"
        rules.append(f"{_barred(names[k])} = {text}")
    return list(dict.fromkeys(rules))


def operation_fields(
    node: Node, graph: OpGraph, number: int, summary: ValueSummary | None
) -> list[Field]:
    """Return the fields of one operation: what, values, derivative, what it reads and feeds."""
    place = f"op {number} of {len(graph.ops)}"
    line = node.lane.where if node.lane is not None else ""
    feeds = [n for n in graph.nodes if node in n.reads]
    fields: list[Field] = [
        {
            "title": _SEP.join(part for part in ("selected", line, place) if part),
            "big": node.label,
            "code": [f"{node.type}{_SEP}{bytes_text(node.n_bytes)}"],
            "lines": [node.lane.text if node.lane is not None else "", *node.notes, node.detail],
        }
    ]
    if summary is not None:
        fields.append(_values_field(summary))
    rules = _rules(node)
    if rules:
        fields.append({"title": "derivative used by grad", "code": rules})
    fields.append(
        {
            "title": "reads and feeds",
            "lines": [
                f"reads {', '.join(_where(n) for n in node.reads)}" if node.reads else "",
                f"feeds {', '.join(_where(n) for n in feeds)}" if feeds else "",
            ],
        }
    )
    return fields


def _values_field(summary: ValueSummary) -> Field:
    dots = " \N{HORIZONTAL ELLIPSIS} "
    field: Field = {"title": "values of these arguments"}
    if summary.bins:
        field["histogram"] = summary.bins
        numbers = (summary.low, summary.mean, summary.high)
        field["code"] = [dots.join(f"{v:.3g}" for v in numbers)]
        field["lines"] = ["least, mean, greatest"]
    if summary.n_bad:
        field["warn"] = f"{count(summary.n_bad, 'element')} of {summary.size:,} NaN or infinite"
    elif summary.saturated >= 0.005:
        field["warn"] = f"{100 * summary.saturated:.0f} % saturated (beyond 0.99 in size)"
    return field


def _rules(node: Node) -> list[str]:
    eqn = node.eqn
    if eqn is None or node.family not in _FAMILIES or node.times > 1:
        return []
    if _last(node) is not eqn:
        return []
    size = sum(math.prod(a.aval.shape) for a in eqn.invars)
    sources = [n.label for n in node.reads if n.label.isidentifier() and not n.is_op]
    is_plain = len(sources) == len(eqn.invars) and size > 0
    letters = "x" if len(eqn.invars) == 1 else "abcdefgh"
    names = sources if is_plain else [letters[k % len(letters)] for k in range(len(eqn.invars))]
    return rules_of(eqn, names)


def _last(node: Node) -> Any:
    """Return the equation that makes the value of a box: of a mean, the division."""
    return node.folded[-1] if node.label == "mean" and node.folded else node.eqn


def _where(node: Node) -> str:
    return f"{node.label} ({node.lane.where})" if node.is_op and node.lane else node.label


def _barred(name: str) -> str:
    return f"{name}{_BAR}" if len(name) == 1 else f"d {name}"
