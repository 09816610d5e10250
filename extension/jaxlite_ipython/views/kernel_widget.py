"""What the widget needs of the kernels. In: cards and gaps. Out: nodes, fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.diagnose.machine import Machine
from jaxlite_ipython.views.contract import Field
from jaxlite_ipython.views.kernel_data import Card, KernelFacts
from jaxlite_ipython.views.kernel_speed import limit_words, rate_words, speed_of, time_words
from jaxlite_ipython.views.words import bytes_text, flops_text

__all__ = ["card_fields", "node_data"]


def node_data(card: Card) -> dict[str, Any]:
    """Return a card as something that can be selected and found."""
    return {
        "id": card.id,
        "label": f"{card.id} {card.title}",
        "type": card.result,
        "line": card.lanes[0].first if card.lanes else None,
        "words": " ".join([label for label, _ in card.chips] + [lane.text for lane in card.lanes]),
    }


def card_fields(card: Card, facts: KernelFacts, machine: Machine | None) -> list[Field]:
    """Return the fields of the detail strip: what runs, what is read and stored, why not fused."""
    about = "\N{ALMOST EQUAL TO} "
    moved = f"{about}{bytes_text(card.n_bytes)} moved" if card.n_bytes else ""
    work = f"{about}{flops_text(card.flops)}" if card.flops else ""
    time = f"{time_words(card)} measured" if card.seconds is not None else ""
    speed = speed_of(card, machine)
    limit = [limit_words(speed), " \N{MIDDLE DOT} ".join(rate_words(speed))] if speed else []
    fields: list[Field] = [
        {
            "title": "kernel",
            "big": f"{card.id} {card.title}",
            "code": [card.result],
            "lines": [part for part in (time, moved, work, *limit) if part],
        },
        {
            "title": "reads and stores",
            "code": [*_values("reads", card.reads), *_values("stores", card.stores)],
        },
    ]
    reasons: list[Field] = [
        {
            "title": f"not fused with {gap.producer} \N{MIDDLE DOT} {gap.code}",
            "lines": [gap.sentence, gap.cost, gap.fix],
        }
        for gap in facts.before(card)
    ]
    return fields + reasons


def _values(word: str, values: Sequence[tuple[str, str, float]]) -> list[str]:
    return [f"{word:<7}{name} {kind} ({bytes_text(b)})" for name, kind, b in values]
