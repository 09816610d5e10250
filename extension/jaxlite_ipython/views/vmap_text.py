"""A vmap view as text. In: a ``VmapView``. Out: tables with every fact of the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlite_ipython.views.lane_text import times_label
from jaxlite_ipython.views.op_graph import Node
from jaxlite_ipython.views.words import columns

if TYPE_CHECKING:
    from jaxlite_ipython.views.vmap_graph import VmapView

__all__ = ["vmap_text"]

_BATCHED = "batched"


def vmap_text(view: VmapView) -> str:
    """Return lines, arguments and results, the operations of both programs, changes and values."""
    parts = [f"vmap of {view.subject.title}   {view.summary}", _lines(view)]
    first, last = view.end_captions
    parts.append(f"inputs ({first})\n{_ends(view, ('input', 'constant'))}")
    parts.append(f"outputs ({last})\n{_ends(view, ('output',))}")
    for side, title in (("", "one example"), (_BATCHED, f"{view.picture.size} examples at once")):
        head = ("op", "", "reads", "type", "line", "", "notes")
        rows = [_row(n) for n in view.graph.ops if n.side == side]
        parts.append(f"{title}\n{columns([head, *rows], right=[0])}")
    arguments, changes, example = view.panels()
    values = view.example_text() or list(example.lines)
    for name, lines in (
        (arguments.title, arguments.lines),
        (changes.title, changes.lines),
        (example.title, values),
    ):
        parts += ["\n".join([name, *(f"  {line}" for line in lines)])]
    names, values_by_example = view.example_table()
    if values_by_example:
        table = columns([names, *values_by_example], right=[0])
        parts.append(f"values by example\n{table}")
    return "\n\n".join(parts)


def _lines(view: VmapView) -> str:
    rows = []
    for lane in view.graph.lanes:
        sides = ["", ""]
        for node in view.graph.ops:
            if node.lane is lane:
                sides[bool(node.side)] += f" {times_label(node)}"
        one, many = (s.strip() for s in sides)
        arrow = "\N{RIGHTWARDS ARROW}"
        rows.append((lane.number, lane.text, one, f"{arrow} {many}", view.caption(lane)))
    return columns(rows, right=[0])


def _ends(view: VmapView, kinds: tuple[str, ...]) -> str:
    nodes = [n for n in view.graph.nodes if n.kind in kinds]
    n = len(nodes) // 2
    rows = []
    for one, many in zip(nodes[:n], nodes[n:], strict=False):
        axis = "batch axis" if many.edge else "unchanged"
        notes = ", ".join([axis, *many.notes, many.detail]).rstrip(", ")
        arrow = "\N{RIGHTWARDS ARROW}"
        made = f"from {', '.join(s.name for s in many.reads)}" if many.reads else ""
        rows.append((one.label, one.type, arrow, many.type, notes, made))
    return columns(rows)


def _row(node: Node) -> tuple[str, ...]:
    return (
        node.name,
        times_label(node),
        " ".join(s.name for s in node.reads) or "-",
        node.type,
        node.lane.number if node.lane is not None else "",
        "batch axis" if node.edge else "",
        "; ".join(node.notes),
    )
