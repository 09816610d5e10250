"""A trace graph as text. In: a ``TraceView``. Out: tables with every fact of the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxlite_ipython.views.costs import bodies_of, label_of, role_of
from jaxlite_ipython.views.op_graph import Node, flat_eqns
from jaxlite_ipython.views.source_lines import find_lanes
from jaxlite_ipython.views.words import bytes_text, columns

if TYPE_CHECKING:
    from jaxlite_ipython.views.trace_graph import TraceView

__all__ = ["lane_text", "op_data", "times_label"]


def lane_text(view: TraceView) -> str:
    """Return header, lines, inputs, outputs, operations with their arrows, and totals."""
    graph = view.graph
    parts = [f"{view.subject.title}   {view.summary}", _line_table(view)]
    first, last = view.end_captions
    given = [n for n in graph.nodes if n.kind in ("input", "constant")]
    if given:
        parts.append(f"inputs ({first})\n{columns([_end_row(n) for n in given], right=[2])}")
    outputs = graph.of_kind("output")
    if outputs:
        made = [(*_end_row(n), _made_from(n)) for n in outputs]
        parts.append(f"outputs ({last})\n{columns(made, right=[2])}")
    if graph.ops:
        head = ("op", "", "reads", "type", "bytes", "kind", "line", "notes")
        rows = [head, *[_op_row(n) for n in graph.ops]]
        parts.append(f"operations\n{columns(rows, right=[0, 4])}")
    inside = _inside(graph.ops)
    if inside:
        parts.append(inside)
    for panel in view.panels():
        lines = [(bar.label, bar.value) for bar in panel.bars]
        body = columns(lines) if lines else "\n".join(f"  {line}" for line in panel.lines)
        parts.append(f"{panel.title}\n{body}")
    return "\n\n".join(parts)


def _line_table(view: TraceView) -> str:
    """Return one row per lane: number, source, operations, last type, facts."""
    members: dict[int, list[Node]] = {}
    for node in view.graph.ops:
        members.setdefault(id(node.lane), []).append(node)
    rows = []
    for lane in view.graph.lanes:
        group = members.get(id(lane), [])
        labels = " ".join(times_label(n) for n in group)
        type_text = group[-1].type if group else ""
        rows.append((lane.number, lane.text, labels, type_text, view.caption(lane)))
    return columns(rows, right=[0])


def times_label(node: Node) -> str:
    """Return the label of a box with how often it is there."""
    return node.label if node.times == 1 else f"{node.label} \N{MULTIPLICATION SIGN}{node.times}"


def _end_row(node: Node) -> tuple[str, str, str, str]:
    notes = [node.detail] if node.detail else []
    if node.kind == "constant":
        notes.append("constant, captured when traced")
    if not node.is_used:
        notes.append("not used")
    return node.label, node.type, bytes_text(node.n_bytes), ", ".join(notes)


def _made_from(node: Node) -> str:
    source = ", ".join(f"op {s.name}" if s.is_op else s.name for s in node.reads)
    return ", ".join([f"from {source}"] * bool(source) + node.notes)


def _op_row(node: Node) -> tuple[str, ...]:
    notes = list(node.notes)
    if node.times > 1:
        notes.append(f"\N{MULTIPLICATION SIGN}{node.times}")
    if not node.is_used:
        notes.append("not used")
    if node.detail:
        notes.append(node.detail)
    return (
        node.name,
        node.label,
        " ".join(s.name for s in node.reads) or "-",
        node.type,
        bytes_text(node.n_bytes),
        node.family,
        node.lane.number if node.lane is not None else "",
        "; ".join(notes),
    )


def _inside(ops: list[Node]) -> str:
    """Return the lines inside loops and branches, with their operations."""
    parts = []
    for node in ops:
        if node.eqn is None or role_of(node.eqn) in ("", "call") or node.family == "lines":
            continue
        rows = []
        for body in bodies_of(node.eqn):
            eqns = list(flat_eqns(body))
            lanes, places = find_lanes(e.source for e in eqns)
            for lane in lanes:
                labels = [label_of(e) for e, p in zip(eqns, places, strict=True) if p is lane]
                rows.append((lane.number, lane.text, " ".join(labels)))
        if rows:
            parts.append(f"inside {node.name} {node.label}\n{columns(rows, right=[0])}")
    return "\n\n".join(parts)


def op_data(node: Node) -> dict[str, Any]:
    """Return a box as plain data."""
    return {
        "id": node.id,
        "kind": node.kind,
        "label": node.label,
        "type": node.type,
        "family": node.family,
        "bytes": node.n_bytes,
        "flops": node.flops,
        "n_ops": node.n_ops,
        "times": node.times,
        "line": node.lane.first if node.lane is not None else None,
        "notes": list(node.notes),
        "detail": node.detail,
        "is_used": node.is_used,
    }
