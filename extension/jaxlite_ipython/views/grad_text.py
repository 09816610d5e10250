"""A gradient graph as text. In: a ``GradView``. Out: tables with every fact of the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlite_ipython.views.grad_data import InputFact, SavedFact
from jaxlite_ipython.views.lane_text import times_label
from jaxlite_ipython.views.op_graph import Node
from jaxlite_ipython.views.words import bytes_text, columns, count, flops_text

if TYPE_CHECKING:
    from jaxlite_ipython.views.grad_graph import GradView

__all__ = ["MAX_SAVED", "grad_text", "input_row", "recompute_text"]

#: Saved values that are listed, largest first.
MAX_SAVED = 60


def grad_text(view: GradView) -> str:
    """Return lines, inputs with their gradients, both passes, and the saved values."""
    graph = view.graph
    parts = [f"Gradient of {view.subject.title}   {view.summary}", _line_table(view)]
    first, last = view.end_captions
    if view.picture.inputs:
        rows = [(f.name, f.type, *input_row(f)[1:]) for f in view.picture.inputs]
        parts.append(f"inputs ({first})\n{columns(rows)}")
    constants = graph.of_kind("constant")
    if constants:
        rows = [(n.label, n.type, "captured when traced: no gradient") for n in constants]
        parts.append(f"constants\n{columns(rows)}")
    ends = [n for n in graph.nodes if n.kind == "output" and not n.side]
    rows = [(n.label, n.type, ", ".join(s.name for s in n.reads)) for n in ends]
    parts.append(f"outputs ({last})\n{columns(rows)}")
    parts.append(_forward(view))
    backward = [n for n in graph.nodes if n.side == "backward" and n.kind != "input"]
    if backward:
        head = ("op", "", "reads", "type", "", "line", "rule, notes")
        table = columns([head, *[_backward_row(n) for n in backward]], right=[4])
        parts.append(f"backward \N{UPWARDS ARROW} (start at 1: {_seed_type(view)})\n{table}")
    parts.append(_saved(view))
    for panel in view.panels():
        bars = columns([(bar.label, bar.value) for bar in panel.bars])
        body = bars or "\n".join(f"  {line}" for line in panel.lines)
        parts.append(f"{panel.title}\n{body}")
    if view.picture.alerts:
        parts.append("to look at\n" + "\n".join(f"  {a}" for a in view.picture.alerts))
    return "\n\n".join(parts)


def input_row(fact: InputFact) -> tuple[str, ...]:
    """Return name, gradient (or why there is none) and check of an input."""
    if fact.reason:
        return fact.name, f"no gradient: {fact.reason}"
    norm = "not measured" if fact.norm is None else f"norm {fact.norm:.2g}".replace("e-0", "e-")
    return fact.name, norm, fact.check_text + _checked(fact)


def _checked(fact: InputFact) -> str:
    check = fact.check
    if check is None:
        return ""
    wrong = "" if check.is_good else f" ({check.found:.4g}, expected {check.expected:.4g})"
    some = f" ({check.n_checked:,} of {check.n_elements:,} checked)"
    return wrong + (some if check.n_checked < check.n_elements else "")


def recompute_text(saved: SavedFact) -> str:
    """Return what computing a saved value again would spare and cost."""
    spared = f"\N{MINUS SIGN}{bytes_text(saved.n_bytes)}"
    if not saved.is_whole:
        return f"{spared}, more than {saved.n_recompute} ops"
    cost = flops_text(saved.recompute_flops)
    return f"{spared}, +{cost} ({count(saved.n_recompute, 'op')})"


def _line_table(view: GradView) -> str:
    rows = []
    for lane in view.graph.lanes:
        sides = {"": "", "backward": ""}
        for node in view.graph.ops:
            if node.lane is lane and node.side in sides:
                sides[node.side] += f" {node.label}"
        arrow = "\N{LEFTWARDS ARROW}"
        both = (sides[""].strip(), f"{arrow} {sides['backward'].strip()}".rstrip(f"{arrow} "))
        rows.append((lane.number, lane.text, *both, view.caption(lane)))
    return columns(rows, right=[0])


def _forward(view: GradView) -> str:
    partners: dict[str, list[str]] = {}
    for node in view.graph.ops:
        if node.side == "backward" and node.pair:
            partners.setdefault(node.pair, []).append(node.name)
    rows: list[tuple[str, ...]] = [("op", "", "reads", "type", "line", "backward", "notes")]
    for node in view.graph.ops:
        if node.side:
            continue
        back = " ".join(partners.get(node.pair, ())) if node.pair else ""
        rows.append(
            (
                node.name,
                node.label,
                " ".join(s.name for s in node.reads) or "-",
                node.type,
                node.lane.number if node.lane else "",
                back or view.picture.without.get(node.pair, ""),
                "; ".join([*([node.alert] if node.alert else []), *node.notes]),
            )
        )
    return f"forward \N{DOWNWARDS ARROW}\n{columns(rows, right=[0])}"


def _backward_row(node: Node) -> tuple[str, ...]:
    facts = [node.alert] if node.alert else []
    facts += [node.detail] if node.detail else node.notes
    if node.detail and node.notes and not node.detail.startswith(node.notes[0][:-1]):
        facts += node.notes
    return (
        node.name if node.is_op else "",
        node.label,
        " ".join(s.name for s in node.reads) or "-",
        node.type,
        node.gauge[1] if node.gauge else "",
        node.lane.number if node.lane else "",
        "; ".join(facts),
    )


def _seed_type(view: GradView) -> str:
    return next(n.type for n in view.graph.nodes if n.kind == "input" and n.side)


def _saved(view: GradView) -> str:
    total = sum(s.n_bytes for s in view.made) or 1.0
    tags = [n for n in view.graph.ops if n.side == "saved"]
    facts = [*view.made, *(s for s in view.picture.saved if s.is_given)]
    rows: list[tuple[str, ...]] = []
    for fact in facts[:MAX_SAVED]:
        share = "argument" if fact.is_given else f"{100 * fact.n_bytes / total:.0f} %"
        where = fact.lane.where if fact.lane is not None else ""
        readers = " ".join(n.name for n in fact.read_by) if view.level == 0 else ""
        last = f"for {readers}" if readers else ""
        rows.append((fact.text, fact.type, bytes_text(fact.n_bytes), share, where, last))
    if len(facts) > MAX_SAVED:
        rows.append((f"and {len(facts) - MAX_SAVED:,} more",))
    if not rows:
        return f"saved values\n  {view.saved_summary}"
    notes = [f"  {n.name} {times_label(n)} {n.type} {n.alert}".rstrip() for n in tags]
    table = columns(rows, right=[2, 3])
    return "\n".join([f"saved values\n{table}", "  boxes:", *notes])
