"""The kernels as text. In: a ``KernelsView``. Out: a table, reasons between rows, sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jaxlite.diagnose.machine import Machine
from jaxlite_ipython.views.kernel_data import Card, loop_nest
from jaxlite_ipython.views.kernel_gaps import Gap
from jaxlite_ipython.views.kernel_plot import machine_rows, measured_cards
from jaxlite_ipython.views.kernel_speed import limit_words, rate_words, speed_of, time_words
from jaxlite_ipython.views.words import bytes_text, columns, count, flops_text, time_text

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
    parts += _roofline(view)
    parts += [_details(card) for card in facts.cards]
    return "\n\n".join(parts)


def _table(view: KernelsView) -> str:
    facts = view.facts
    head = ["", "kernel", "operations", "result", "moved", "work"]
    rows = [head, *[_row(card) for card in facts.cards]]
    if view.timing is not None:
        for row, extra in zip(rows, [("time", "roofline"), *_measured(view)], strict=True):
            row[4:4], row[6:] = [extra[0]], [row[5], extra[1]]
    lines = columns(rows, right=[4, 5, 6] if view.timing else [4, 5]).split("\n")
    result = [lines[0]]
    for card, line in zip(facts.cards, lines[1:], strict=True):
        result += [part for gap in facts.before(card) for part in _gap_lines(gap)]
        result.append(line)
    return "\n".join(result)


def _measured(view: KernelsView) -> Iterator[tuple[str, str]]:
    """Yield time and share of the limit per kernel."""
    for card in view.facts.cards:
        speed = speed_of(card, view.machine)
        spread = f" \N{PLUS-MINUS SIGN}{time_text(card.spread_s)}" if card.seconds else ""
        yield time_words(card) + spread, limit_words(speed) if speed else ""


def _roofline(view: KernelsView) -> list[str]:
    """Return what the machine can, what each kernel reaches, what is outside kernels."""
    machine = view.machine
    if machine is None:
        return []
    rows: list[tuple[str, ...]] = list(machine_rows(machine))
    for card, speed in measured_cards(view.facts.cards, machine):
        rows.append((card.id, *rate_words(speed), limit_words(speed)))
    head = f"roofline (log-log: GFLOP/s over FLOP per byte moved): {machine.name}, "
    parts = [f"{head}{count(machine.cores, 'core')}\n{columns(rows)}"]
    outside = view.outside_s()
    if outside is not None:
        parts.append(f"outside kernels: {time_text(outside)} a call")
    return parts


def _row(card: Card) -> list[str]:
    is_loop = card.kind == "control"
    return [
        "  " * card.depth + card.id,
        card.title,
        " ".join(label for label, _ in card.chips),
        card.result,
        "" if is_loop else _ABOUT + bytes_text(card.n_bytes),
        "" if is_loop or not card.flops else _ABOUT + flops_text(card.flops),
    ]


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
        lines += [f"    {line}" for line in _numbered(card)]
    return "\n".join(lines)


def _numbered(card: Card) -> list[str]:
    """Return the loop nest, each line behind the number of the user's line that it computes."""
    source = loop_nest(card)
    if len(card.lanes) < 2 or not card.origins.lines:
        return source
    numbers = ["" if k is None else card.lanes[k].number for k in card.origins.lines]
    width = max(map(len, numbers)) + 2
    return [f"{n:<{width}}{line}" for n, line in zip(numbers, source, strict=True)]


def card_data(card: Card, machine: Machine | None) -> dict[str, Any]:
    """Return a card as plain data."""
    speed = speed_of(card, machine)
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
        "measured_s": card.seconds,
        "spread_s": card.spread_s,
        "roofline_s": speed.full_speed_s if speed else None,
        "limit": speed.limit if speed else None,
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
        "seconds": gap.seconds,
    }
