"""The lane picture. In: a graph, its layout and facts in words. Out: a ``Canvas``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxlite_ipython.views.canvas import Canvas, Pen, text_width
from jaxlite_ipython.views.layout import (
    BOX_HEIGHT,
    CODE_LINE,
    CODE_SIZE,
    NOTE_HEIGHT,
    TEXT_X,
    Band,
    Box,
    Layout,
)
from jaxlite_ipython.views.op_graph import OpGraph
from jaxlite_ipython.views.palette import (
    DIM,
    EDGE,
    FAINT,
    FAMILIES,
    GREEN,
    INK,
    LANE,
    LINE,
    ORANGE,
    PAPER,
    PURPLE,
    VERMILLION,
)
from jaxlite_ipython.views.router import Arrow, head
from jaxlite_ipython.views.shapes import draw_shape
from jaxlite_ipython.views.words import short, wrap

__all__ = ["Bar", "Panel", "draw_lanes"]

HEADER = 46.0
PANEL = 92.0
FOOTER = 36.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a panel: a label, a value in words and its share (0 to 1) of the longest bar."""

    label: str
    value: str
    share: float


@dataclass(frozen=True, slots=True)
class Panel:
    """One field of the strip below the lanes: bars, or sentences."""

    title: str
    bars: tuple[Bar, ...] = ()
    lines: tuple[str, ...] = ()
    colour: str = GREEN


def draw_lanes(
    graph: OpGraph,
    layout: Layout,
    arrows: Sequence[Arrow],
    *,
    title: str,
    summary: str,
    captions: Sequence[str],
    panels: Sequence[Panel],
    prefix: str,
    key: str = "arrow width: bytes (log) \N{MIDDLE DOT} dashed: returned",
) -> Canvas:
    """Return the picture.

    ``captions`` has one text per band, for its second line; ``key`` explains the arrows.
    """
    top = HEADER
    canvas = Canvas(layout.width, top + layout.height + PANEL + FOOTER)
    canvas.rect(0.5, 0.5, canvas.width - 1, canvas.height - 1, Pen(PAPER, LINE), 9)
    canvas.open_part("header", 0, HEADER)
    _header(canvas, title, summary)
    canvas.close_group()
    for k, (band, caption) in enumerate(zip(layout.bands, captions, strict=True)):
        _band(canvas, band, caption, top, f"{prefix}-lane{k}")
    for band in layout.bands:
        y = top + band.y + band.h
        canvas.line((1, y), (canvas.width - 1, y), Pen("none", LINE))
    _heads(canvas, layout, top)
    for arrow in arrows:
        _arrow(canvas, arrow, top, prefix)
    numbers = {id(lane): k + 1 for k, lane in enumerate(graph.lanes)}
    for row in layout.rows:
        for box in row:
            lane = box.node.lane
            _box(canvas, box, top, prefix, f" l{numbers[id(lane)]}" if lane else "")
    bottom = top + layout.height
    canvas.open_part("strip", bottom, PANEL)
    _panels(canvas, panels, bottom)
    canvas.close_group()
    canvas.open_part("legend", bottom + PANEL, FOOTER)
    _legend(canvas, graph, bottom + PANEL, key)
    canvas.close_group()
    return canvas


def _header(canvas: Canvas, title: str, summary: str) -> None:
    title = short(title, 60)
    canvas.text((16, 29), title, 15, bold=True)
    x = 16 + text_width(title, 15, bold=True) + 14
    room = int((canvas.width - x - 20) / 6.6)
    canvas.text((x, 29), short(summary, max(room, 20)), 13, fill=DIM)
    canvas.line((1, HEADER), (canvas.width - 1, HEADER), Pen("none", LINE))


def _band(canvas: Canvas, band: Band, caption: str, top: float, name: str) -> None:
    canvas.open_group(name, f"jxl-lane {band.kind}", band.lane.text if band.lane else band.kind)
    y, h = top + band.y, band.h
    if band.kind == "line":
        canvas.rect(1, y, canvas.width - 2, h, Pen(LANE))
    n_lines = max(len(band.code), 1)
    middle = y + h / 2
    first = middle - (n_lines * CODE_LINE + 19) / 2 + 13
    if band.lane is None:
        canvas.text((TEXT_X, first), band.kind, 13, bold=True)
    else:
        number = str(band.lane.first or "")
        size = 12.0 if len(number) <= 3 else 9.0
        canvas.text((TEXT_X - 9, first), number, size, fill=FAINT, mono=True, anchor="end")
        for k, line in enumerate(band.code):
            canvas.text((TEXT_X, first + k * CODE_LINE), line, CODE_SIZE, mono=True)
    canvas.text((TEXT_X, first + n_lines * CODE_LINE + 2), caption, 11.5, fill=DIM)
    canvas.close_group()


def _arrow(canvas: Canvas, arrow: Arrow, top: float, prefix: str) -> None:
    def moved(p: tuple[float, float]) -> tuple[float, float]:
        return p[0], p[1] + top

    colour, is_dashed = EDGE, arrow.is_result
    families = (arrow.source.node.family, arrow.target.node.family)
    if "saved" in families or "kept argument" in families:
        colour, is_dashed = (ORANGE if "saved" in families else FAINT), True
    pen = Pen("none", colour, arrow.width, dashed=is_dashed)
    source, target = (f"{prefix}-{box.node.id}" for box in (arrow.source, arrow.target))
    canvas.open_edge(source, target)
    curves = [(moved(a), moved(b), moved(c)) for a, b, c in arrow.curves]
    canvas.curve(moved(arrow.start), curves, pen)
    canvas.polygon([moved(p) for p in head(arrow)], Pen(colour))
    canvas.close_group()


def _box(canvas: Canvas, box: Box, top: float, prefix: str, lane: str) -> None:
    node = box.node
    family = FAMILIES[node.family]
    facts = ", ".join([f"{node.label} {node.type}", *filter(None, [node.alert]), *node.notes])
    pair = f" {node.pair}" if node.pair else ""
    side = f" jxl-{node.side or 'forward'}"
    canvas.open_group(f"{prefix}-{node.id}", f"jxl-{node.kind}{side}{lane}{pair}", facts)
    y = box.y + top
    if node.alert:
        ring = Pen("none", VERMILLION, 2)
        canvas.rect(box.x - 4, y - 4, box.w + 8, BOX_HEIGHT + 8, ring, 8)
    is_faint = node.is_dim or not node.is_used
    draw_shape(canvas, family, (box.x, y, box.w, BOX_HEIGHT), faint=is_faint)
    if node.edge:
        canvas.rect(box.x - 3, y + 3, 6, BOX_HEIGHT - 6, Pen(node.edge), 2)
    middle = box.middle - (5 if node.kind == "output" else 0)
    ink = FAINT if is_faint else INK
    canvas.text((middle, y + 18), box.label, 13, bold=True, anchor="middle", fill=ink)
    canvas.text((middle, y + 33), box.type, 10.5, mono=True, anchor="middle", fill=DIM)
    if box.note:
        width = text_width(box.note, 10.5) + 4
        below = y - 17 if box.is_up else y + BOX_HEIGHT + (7 if node.alert else 4)
        canvas.rect(box.middle - width / 2, below, width, 13, Pen(LANE))
        colour = VERMILLION if node.alert else DIM
        bold = bool(node.alert)
        at = (box.middle, below + 10)
        canvas.text(at, box.note, 10.5, anchor="middle", fill=colour, bold=bold)
    if node.gauge is not None:
        away = NOTE_HEIGHT if box.note else 0.0
        at_y = y - away - NOTE_HEIGHT - 2 if box.is_up else y + BOX_HEIGHT + away
        _gauge(canvas, box, node.gauge, at_y)
    canvas.close_group()


def _gauge(canvas: Canvas, box: Box, gauge: tuple[float, str], y: float) -> None:
    """Draw a bar with its value below a box."""
    share, text = gauge
    length = max(min(box.w - text_width(text, 10.5) - 10, 60.0), 24.0)
    x = box.middle - (length + 6 + text_width(text, 10.5)) / 2
    width = length + 8 + text_width(text, 10.5)
    canvas.rect(x - 2, y + 3, width + 4, 12, Pen(LANE))
    canvas.rect(x, y + 6, length, 6, Pen(LINE), 2)
    if share > 0:
        canvas.rect(x, y + 6, max(length * share, 2), 6, Pen(PURPLE), 2)
    canvas.text((x + length + 6, y + 13), text, 10.5, fill=DIM)


def _heads(canvas: Canvas, layout: Layout, top: float) -> None:
    """Write the headings of the columns and a line between them."""
    for k, (left, right, text) in enumerate(layout.heads):
        canvas.text(((left + right) / 2, top + 19), text, 12, bold=True, anchor="middle", fill=DIM)
        if k:
            x = (left + layout.heads[k - 1][1]) / 2
            canvas.line((x, top), (x, top + layout.height), Pen("none", LINE))


def _panels(canvas: Canvas, panels: Sequence[Panel], y: float) -> None:
    width = canvas.width / max(len(panels), 1)
    for k, panel in enumerate(panels):
        x = k * width + 16
        if k:
            canvas.line((k * width, y), (k * width, y + PANEL), Pen("none", LINE))
        canvas.text((x, y + 20), panel.title, 11, fill=DIM)
        room = width - 32
        for n, bar in enumerate(panel.bars):
            at = y + 40 + 20 * n
            label = short(bar.label, int(room * 0.46 / 7.3))
            canvas.text((x, at), label, 12, mono=True)
            start, length = x + room * 0.48, room * 0.22
            canvas.rect(start, at - 9, length, 9, Pen(LINE), 2)
            canvas.rect(start, at - 9, max(length * bar.share, 2), 9, Pen(panel.colour), 2)
            canvas.text((start + length + 10, at), bar.value, 12, fill=DIM)
        lines = [part for line in panel.lines for part in wrap(line, int(room / 5.9), 2)]
        for n, line in enumerate(lines[:3]):
            canvas.text((x, y + 40 + 20 * n), line, 12, fill=INK)
    canvas.line((1, y + PANEL), (canvas.width - 1, y + PANEL), Pen("none", LINE))


def _legend(canvas: Canvas, graph: OpGraph, y: float, text: str) -> None:
    used = {n.family for n in graph.nodes}
    x = 16.0
    for name, family in FAMILIES.items():
        if name not in used:
            continue
        draw_shape(canvas, family, (x, y + 12, 18, 12))
        canvas.text((x + 25, y + 22.5), name, 12, fill=DIM)
        x += 25 + text_width(name, 12) + 16
    if x + text_width(text, 12) < canvas.width - 16:
        canvas.text((canvas.width - 16, y + 22.5), text, 12, fill=DIM, anchor="end")
