"""The kernel picture. In: ``KernelFacts`` and totals in words. Out: a ``Canvas``.

Left the chain of kernels with the reasons between them, right the source of each: the user's lines
with a stripe, then the loop nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxlite.diagnose.machine import Machine
from jaxlite_ipython.views.canvas import Canvas, Pen, text_width
from jaxlite_ipython.views.kernel_data import Card, KernelFacts, loop_nest
from jaxlite_ipython.views.kernel_gaps import Gap
from jaxlite_ipython.views.kernel_plot import draw_roofline, measured_cards
from jaxlite_ipython.views.kernel_speed import limit_words, speed_of, time_words
from jaxlite_ipython.views.palette import (
    BLUE,
    DIM,
    EDGE,
    FAINT,
    FAMILIES,
    GREEN,
    LANE,
    LINE,
    ORANGE,
    ORANGE_FILL,
    PAPER,
    PURPLE,
    PURPLE_FILL,
    SKY,
    SKY_FILL,
    SOFT,
)
from jaxlite_ipython.views.words import bytes_text, count, flops_text, short, wrap

__all__ = ["Figure", "draw_kernels"]

WIDTH = 1160.0
LEFT = 500.0
MARGIN = 16.0
HEADER = 46.0
STRIP = 64.0
MAX_SOURCE = 24
#: Cards that the briefest picture shows.
MAX_CARDS = 40
#: Cards that have their source beside them when not all have.
N_SOURCES = 8
CODE = 11.5
CODE_LINE = 17.0
#: The user's lines above the code of a kernel.
MAX_LANES = 4
STRIPES = ((SKY, SKY_FILL), (PURPLE, PURPLE_FILL), (ORANGE, ORANGE_FILL))


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the strip on top, and the words below it."""

    value: str
    note: str


def draw_kernels(
    facts: KernelFacts,
    *,
    level: int,
    title: str,
    summary: str,
    figures: Sequence[Figure],
    prefix: str,
    machine: Machine | None = None,
) -> Canvas:
    """Return the picture; with a roofline if kernels were measured and the limits are known."""
    canvas = Canvas(WIDTH, 0)
    painter = _Painter(canvas, facts, prefix, is_brief=level > 0, machine=machine)
    start = y = HEADER + STRIP + MARGIN
    shown = facts.cards
    by_bytes = sorted(facts.cards, key=lambda c: -c.n_bytes)
    if level >= 2:
        most = {id(c) for c in by_bytes[:MAX_CARDS]}
        shown = [c for c in facts.cards if id(c) in most]
    with_source = {id(c) for c in (by_bytes[:N_SOURCES] if level else facts.cards)}
    right = y
    for card in shown:
        y, top = painter.left(card, y)
        if id(card) in with_source:
            right = painter.source(card, max(right, top) if not level else right) + 12
    y = max(y, right, start)
    if not facts.cards:
        canvas.text((MARGIN, y + 14), "No kernel: every result is an input or a constant.", 13)
        y += 34
    body = y
    if machine is not None and measured_cards(facts.cards, machine):
        y = draw_roofline(canvas, facts.cards, machine, y, WIDTH)
    canvas.height = y + 36
    frame = Canvas(WIDTH, canvas.height)
    _frame(frame, title, summary, figures, body)
    frame.extend(canvas)
    y = canvas.height - 36
    frame.open_part("legend", y, 36)
    frame.line((1, y), (WIDTH - 1, y), Pen("none", LINE))
    measured = "time is measured; " if any(c.seconds is not None for c in facts.cards) else ""
    text = (
        f"{measured}moved and work are modelled (\N{ALMOST EQUAL TO}, hatched), each bar on one "
        "scale for all kernels"
    )
    frame.text((MARGIN, y + 23), text, 12, fill=DIM)
    frame.close_group()
    return frame


def _frame(
    canvas: Canvas, title: str, summary: str, figures: Sequence[Figure], body: float
) -> None:
    canvas.rect(0.5, 0.5, WIDTH - 1, canvas.height - 1, Pen(PAPER, LINE), 9)
    top = HEADER + STRIP
    canvas.rect(1, top, LEFT - 1, body - top, Pen(SOFT))
    canvas.open_part("header", 0, HEADER)
    title = short(title, 60)
    canvas.text((MARGIN, 29), title, 15, bold=True)
    x = MARGIN + text_width(title, 15, bold=True) + 14
    canvas.text((x, 29), short(summary, int((WIDTH - x - 20) / 6.6)), 13, fill=DIM)
    canvas.line((1, HEADER), (WIDTH - 1, HEADER), Pen("none", LINE))
    canvas.close_group()
    canvas.line((LEFT, top), (LEFT, body), Pen("none", LINE))
    width = WIDTH / max(len(figures), 1)
    canvas.open_part("figures", HEADER, STRIP)
    for k, figure in enumerate(figures):
        if k:
            canvas.line((k * width, HEADER), (k * width, top), Pen("none", LINE))
        x = k * width + MARGIN
        canvas.text((x, HEADER + 28), figure.value, 17, bold=True)
        room = int((width - 2 * MARGIN) / 5.7)
        canvas.text((x, HEADER + 48), short(figure.note, room), 12, fill=DIM)
    canvas.line((1, top), (WIDTH - 1, top), Pen("none", LINE))
    canvas.close_group()


class _Painter:
    def __init__(
        self,
        canvas: Canvas,
        facts: KernelFacts,
        prefix: str,
        *,
        is_brief: bool,
        machine: Machine | None,
    ) -> None:
        self.machine = machine
        self.is_measured = any(c.seconds is not None for c in facts.cards)
        self.most_s = max([c.seconds or 0.0 for c in facts.cards], default=0.0) or 1.0
        self.is_brief = is_brief
        self.canvas = canvas
        self.facts = facts
        self.prefix = prefix
        self.most_bytes = max([c.n_bytes for c in facts.cards], default=1.0) or 1.0
        self.most_flops = max([c.flops for c in facts.cards], default=1.0) or 1.0

    def left(self, card: Card, y: float) -> tuple[float, float]:
        """Draw the reasons in front of a card, and the card; return its end and its beginning."""
        gaps = self.facts.before(card)
        for gap in gaps[:3] if self.is_brief else gaps:
            y = self.brief_gap(gap, y) if self.is_brief else self.gap(gap, y)
        if self.is_brief and len(gaps) > 3:
            more = f"and {count(len(gaps) - 3, 'more value')}"
            self.canvas.text((62, y + 8), more, 11, fill=DIM)
            y += 16
        return self.card(card, y) + (8 if self.is_brief else 12), y

    def brief_gap(self, gap: Gap, y: float) -> float:
        """Draw a reason in one line."""
        way = f"{gap.producer} \N{RIGHTWARDS ARROW} {gap.consumer}"
        text = f"not fused \N{MIDDLE DOT} {gap.code}  {way}  {gap.sentence}"
        self.canvas.text((62, y + 8), short(text, 76), 11, fill=ORANGE)
        self.canvas.line((38, y - 6), (38, y + 10), Pen("none", EDGE, 3))
        return y + 16

    def gap(self, gap: Gap, y: float) -> float:
        canvas = self.canvas
        x, room = 62.0, LEFT - 62.0 - MARGIN
        pill = f"not fused \N{MIDDLE DOT} {gap.code}"
        width = text_width(pill, 11.5, bold=True) + 18
        canvas.rect(x, y, width, 19, Pen(ORANGE_FILL), 9.5)
        canvas.text((x + 9, y + 13.5), pill, 11.5, bold=True, fill=ORANGE)
        way = f"{gap.producer} \N{RIGHTWARDS ARROW} {gap.consumer}"
        canvas.text((x + width + 8, y + 13.5), way, 12, fill=DIM)
        at = y + 36
        for line in wrap(gap.sentence, int(room / 6.2), 3):
            canvas.text((x, at), line, 12)
            at += 17
        for line in wrap(gap.cost, int(room / 6.2), 3):
            canvas.text((x, at), line, 12, fill=DIM)
            at += 17
        colour = BLUE if gap.has_fix else GREEN
        for line in wrap(gap.fix, int(room / 6.2), 2):
            canvas.text((x, at), line, 12, bold=True, fill=colour)
            at += 17
        end = at - 4
        canvas.line((38, y), (38, end - 8), Pen("none", EDGE, 4))
        canvas.polygon([(31, end - 9), (45, end - 9), (38, end + 1)], Pen(EDGE))
        return end + 10

    def card(self, card: Card, y: float) -> float:
        canvas = self.canvas
        family = FAMILIES[card.family]
        x = MARGIN + 18.0 * min(card.depth, 4)
        width = LEFT - MARGIN - x
        rows = [] if self.is_brief else _chip_rows(card, width - 32)
        bars = self.bars(card)[: 1 if self.is_brief else 4]
        h = 38 + 25.0 * len(rows) + (19.0 * len(bars) + 6 if bars else 4)
        facts = f"{card.title}, {card.result}"
        canvas.open_group(f"{self.prefix}-{card.id}", "jxl-kernel", facts)
        canvas.rect(x, y, width, h, Pen(PAPER, LINE), 7)
        canvas.rect(x, y, 5, h, Pen(family.stroke), 2)
        id_width = text_width(card.id, 12, bold=True) + 16
        canvas.rect(x + 16, y + 10, id_width, 19, Pen(family.fill), 5)
        canvas.text(
            (x + 16 + id_width / 2, y + 24),
            card.id,
            12,
            bold=True,
            anchor="middle",
            fill=family.stroke,
        )
        result_width = text_width(card.result, 11.5, mono=True)
        room = width - id_width - result_width - 60
        title = short(card.title, max(int(room / 7.4), 8))
        canvas.text((x + 24 + id_width, y + 24), title, 13, bold=True)
        canvas.text((x + width - 14, y + 24), card.result, 11.5, mono=True, anchor="end", fill=DIM)
        at = y + 38
        for row in rows:
            self.chips(row, x + 16, at)
            at += 25
        at += 12
        for label, share, value, is_modelled in bars:
            colour = family.stroke
            if label == "roofline":
                self.roofline_bar(share, value, x + 16, at, colour)
            else:
                self.bar(label, share, value, x + 16, at, colour, is_modelled=is_modelled)
            at += 19
        canvas.close_group()
        return y + h

    def bars(self, card: Card) -> list[tuple[str, float, str, bool]]:
        """Return label, share of the longest, value in words, and whether it is modelled."""
        found: list[tuple[str, float, str, bool]] = []
        if self.is_measured:
            found.append(("time", (card.seconds or 0.0) / self.most_s, time_words(card), False))
        if card.kind == "control":
            return found
        about = "\N{ALMOST EQUAL TO} "
        moved = about + bytes_text(card.n_bytes)
        found.append(("moved", card.n_bytes / self.most_bytes, moved, True))
        work = about + flops_text(card.flops) if card.flops else "none"
        found.append(("work", card.flops / self.most_flops, work, True))
        speed = speed_of(card, self.machine)
        if speed is not None:
            found.append(("roofline", min(speed.share, 1.0), limit_words(speed), False))
        return found

    def roofline_bar(self, share: float, value: str, x: float, y: float, colour: str) -> None:
        """Draw how much of its limit a kernel reaches: the frame is the limit."""
        canvas = self.canvas
        canvas.text((x, y), "roofline", 12, fill=DIM)
        canvas.rect(x + 66, y - 9, 190, 9, Pen(PAPER, FAINT, 1))
        canvas.rect(x + 66, y - 9, max(190 * share, 2.0), 9, Pen(colour))
        canvas.text((x + 266, y), value, 11.5, bold=True)

    def chips(self, row: list[tuple[str, str]], x: float, y: float) -> None:
        for label, name in row:
            family = FAMILIES.get(name)
            width = text_width(label, 11.5) + 16
            stroke, fill = (family.stroke, family.fill) if family else (FAINT, PAPER)
            self.canvas.rect(x, y, width, 20, Pen(fill, stroke), 4)
            self.canvas.text((x + width / 2, y + 14), label, 11.5, anchor="middle")
            x += width + 5

    def bar(
        self,
        label: str,
        share: float,
        value: str,
        x: float,
        y: float,
        colour: str,
        *,
        is_modelled: bool,
    ) -> None:
        canvas = self.canvas
        canvas.text((x, y), label, 12, fill=DIM)
        canvas.rect(x + 66, y - 9, 190, 9, Pen(LINE), 2)
        length = max(190 * share, 2.0 if share else 0.0)
        if length and not is_modelled:
            canvas.rect(x + 66, y - 9, length, 9, Pen(colour), 2)
        elif length:
            # Modelled, not measured: an outline with a light filling.
            canvas.rect(x + 66, y - 9, length, 9, Pen(PAPER, colour, 1), 2)
            lefts = [x + 67 + 5 * k for k in range(int(length // 5))]
            canvas.lines([((z, y - 1), (z + 3, y - 8)) for z in lefts], Pen("none", colour, 1))
        canvas.text((x + 266, y), value, 11.5, mono=True)

    def source(self, card: Card, y: float) -> float:
        """Draw the user's lines and the loop nest of a card; return the end."""
        canvas = self.canvas
        canvas.open_part("aside", y, 0, LEFT)
        x, width = LEFT + MARGIN, WIDTH - LEFT - 2 * MARGIN
        n_chars = int((width - 86) / (CODE * 0.602))
        of = card.origins.lines or [None] * len(loop_nest(card))
        pairs = zip(loop_nest(card), of, strict=True)
        lines = [(part, k) for line, k in pairs for part in _fold(line, n_chars)]
        shown = lines[:MAX_SOURCE]
        top = y + 24
        canvas.text((x, y + 13), f"{card.id} source", 13, bold=True)
        canvas.text((x + 86, y + 13), _source_kind(card), 12, fill=DIM)
        n_lanes = min(len(card.lanes), MAX_LANES)
        n_lines = n_lanes + len(shown) + (n_lanes < len(card.lanes)) + (shown != lines)
        h = n_lines * CODE_LINE + 16
        canvas.rect(x, top, width, h, Pen(LANE, LINE), 7)
        at = self.user_lines(card, x, top + 8, width, n_chars)
        canvas.line((x, at + 1), (x + width, at + 1), Pen("none", LINE))
        self.code_lines(card, shown, x, at, width)
        if shown != lines:
            more = count(len(lines) - len(shown), "more line")
            at += CODE_LINE * len(shown)
            canvas.text((x + 48, at + 14), f"{more} in .text()", CODE, fill=DIM)
        canvas.close_group()
        return top + h

    def user_lines(self, card: Card, x: float, at: float, width: float, n_chars: int) -> float:
        """Draw the user's lines, each with its stripe; return the end."""
        canvas = self.canvas
        for k, lane in enumerate(card.lanes[:MAX_LANES]):
            self.stripe(k, x, at, width)
            number = str(lane.first or "")
            canvas.text((x + 34, at + 12.5), number, 11, mono=True, anchor="end", fill=DIM)
            canvas.text((x + 48, at + 12.5), short(lane.text, n_chars), CODE, mono=True)
            at += CODE_LINE
        if len(card.lanes) > MAX_LANES:
            more = count(len(card.lanes) - MAX_LANES, "more line")
            canvas.text((x + 48, at + 12.5), f"and {more} of yours", CODE, fill=DIM)
            at += CODE_LINE
        return at

    def code_lines(
        self,
        card: Card,
        shown: Sequence[tuple[str, int | None]],
        x: float,
        at: float,
        width: float,
    ) -> None:
        """Draw generated lines with the stripe and the number of the user's line they compute."""
        canvas = self.canvas
        for k, (line, place) in enumerate(shown):
            if place is not None and len(card.lanes) > 1:
                if place < MAX_LANES:
                    self.stripe(place, x, at + 1.5, width)
                number = card.lanes[place].number
                canvas.text((x + width - 10, at + 14), number, 11, mono=True, anchor="end")
            canvas.text((x + 34, at + 14), str(k + 1), 10, mono=True, anchor="end", fill=FAINT)
            canvas.text((x + 48, at + 14), line, CODE, mono=True)
            at += CODE_LINE

    def stripe(self, number: int, x: float, y: float, width: float) -> None:
        """Draw the background of a line that belongs to the n-th of the user's lines."""
        colour, fill = STRIPES[number % len(STRIPES)]
        self.canvas.rect(x + 1, y, width - 2, CODE_LINE, Pen(fill))
        self.canvas.rect(x + 1, y, 4, CODE_LINE, Pen(colour))


def _fold(line: str, width: int) -> list[str]:
    """Break a long line of source; what follows is indented."""
    indent = " " * (len(line) - len(line.lstrip()))
    first, *rest = wrap(line.strip(), width - len(indent) - 4, 4)
    return [indent + first, *[f"{indent}    {part}" for part in rest]]


def _source_kind(card: Card) -> str:
    kinds = {"dot": "library call", "host": "runs in Python", "control": "steps of the program"}
    kind = kinds.get(card.kind, "loop nest")
    if kind == "loop nest" and len(card.lanes) > 1:
        kind += ", stripe and number: your line it comes from"
    return f"{kind}, {count(card.n_steps, 'launch', 'launches')}" if card.n_steps > 1 else kind


def _chip_rows(card: Card, width: float) -> list[list[tuple[str, str]]]:
    """Break the chips into at most two rows; what does not fit is counted."""
    rows: list[list[tuple[str, str]]] = [[]]
    used = 0.0
    for k, chip in enumerate(card.chips):
        w = text_width(chip[0], 11.5) + 21
        limit = width - 52 if len(rows) == 2 else width
        if rows[-1] and used + w > limit:
            if len(rows) == 2:
                rows[-1].append((f"+{len(card.chips) - k}", ""))
                break
            rows.append([])
            used = 0.0
        rows[-1].append(chip)
        used += w
    return rows
