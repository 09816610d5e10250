"""The kernels as text. In: a ``KernelsView``. Out: a table, reasons between rows, sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxlite_ipython.views.kernel_data import Card, Gap, loop_nest
from jaxlite_ipython.views.words import bytes_text, columns, flops_text

if TYPE_CHECKING:
    from jaxlite_ipython.views.kernels_graph import KernelsView

__all__ = ["card_data", "gap_data", "kernel_text"]

_ABOUT = "\N{ALMOST EQUAL TO} "


def kernel_text(view: KernelsView) -> str:
    """Return header, figures, the table of kernels, what each reads and stores, and its source."""
    facts = view.facts
    parts = [f"{view.subject.title}   {view.summary}"]
    parts.append(columns([(f.value, f.note) for f in view.figures()]))
    if not facts.cards:
        parts.append("  No kernel: every result is an input or a constant.")
        return "\n\n".join(parts)
    parts.append(_table(view))
    parts += [_details(card) for card in facts.cards]
    return "\n\n".join(parts)


def _table(view: KernelsView) -> str:
    facts = view.facts
    head = ("", "kernel", "operations", "result", "moved", "work")
    rows = [head, *[_row(card) for card in facts.cards]]
    lines = columns(rows, right=[4, 5]).split("\n")
    result = [lines[0]]
    for card, line in zip(facts.cards, lines[1:], strict=True):
        result += [part for gap in facts.before(card) for part in _gap_lines(gap)]
        result.append(line)
    return "\n".join(result)


def _row(card: Card) -> tuple[str, ...]:
    is_loop = card.kind == "control"
    return (
        "  " * card.depth + card.id,
        card.title,
        " ".join(label for label, _ in card.chips),
        card.result,
        "" if is_loop else _ABOUT + bytes_text(card.n_bytes),
        "" if is_loop or not card.flops else _ABOUT + flops_text(card.flops),
    )


def _gap_lines(gap: Gap) -> list[str]:
    way = f"{gap.producer} \N{RIGHTWARDS ARROW} {gap.consumer}"
    return [
        f"      not fused \N{MIDDLE DOT} {gap.code}  {way}  {gap.sentence}",
        f"      {gap.cost} {gap.fix}",
    ]


def _details(card: Card) -> str:
    lines = [f"{card.id}  {card.title}"]
    lines += [f"  line {lane.number}  {lane.text}" for lane in card.lanes]
    for word, values in (("reads", card.reads), ("stores", card.stores)):
        texts = [f"{name} {kind} ({bytes_text(b)})" for name, kind, b in values]
        lines.append(f"  {word}  {', '.join(texts) or 'nothing'}")
    if card.source:
        lines += [f"    {line}" for line in loop_nest(card)]
    return "\n".join(lines)


def card_data(card: Card) -> dict[str, Any]:
    """Return a card as plain data."""
    return {
        "id": card.id,
        "title": card.title,
        "kind": card.kind,
        "operations": [label for label, _ in card.chips],
        "result": card.result,
        "reads": [{"name": n, "type": t, "bytes": b} for n, t, b in card.reads],
        "stores": [{"name": n, "type": t, "bytes": b} for n, t, b in card.stores],
        "bytes": card.n_bytes,
        "flops": card.flops,
        "lines": [{"line": lane.first, "text": lane.text} for lane in card.lanes],
        "source": card.source,
        "depth": card.depth,
    }


def gap_data(gap: Gap) -> dict[str, Any]:
    """Return a reason as plain data."""
    return {
        "code": gap.code,
        "from": gap.producer,
        "to": gap.consumer,
        "sentence": gap.sentence,
        "cost": gap.cost,
        "fix": gap.fix if gap.has_fix else "",
        "bytes": gap.n_bytes,
    }
