"""The picture of axes. In: an ``AxisPicture``. Out: a ``Canvas``: one box per axis of an array.

A colour and a letter follow an axis down the page. A hatched box is an axis that an array is
repeated along; a box with a thick frame is joined with that of another array; a crossed one goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxlite_ipython.views.axis_data import AxisPicture, Cell, Row, Shape
from jaxlite_ipython.views.canvas import Canvas, Pen, text_width
from jaxlite_ipython.views.lane_picture import FOOTER, HEADER
from jaxlite_ipython.views.palette import (
    BLUE,
    BLUE_FILL,
    DIM,
    FAINT,
    GREEN,
    GREEN_FILL,
    GREY_FILL,
    INK,
    LANE,
    LINE,
    ORANGE,
    ORANGE_FILL,
    PAPER,
    PURPLE,
    PURPLE_FILL,
    VERMILLION,
    VERMILLION_FILL,
)
from jaxlite_ipython.views.words import short, wrap

__all__ = ["draw_axes"]

_COLOURS = (
    (BLUE, BLUE_FILL),
    (GREEN, GREEN_FILL),
    (ORANGE, ORANGE_FILL),
    (PURPLE, PURPLE_FILL),
    (VERMILLION, VERMILLION_FILL),
)
TEXT_X = 38.0
CODE_LINE = 17.0
ROW = 34.0
CELL = 24.0
GAP = 5.0
NAME = 118.0
KEY = "hatched: repeated \N{MIDDLE DOT} thick frame: joined \N{MIDDLE DOT} crossed: gone"


@dataclass(slots=True)
class _Band:
    """One line of code (or inputs, outputs) with its rows."""

    title: str
    number: str
    caption: str
    rows: list[Row]
    is_code: bool

    def height(self, n_chars: int) -> float:
        rows = sum(len(r.arrays) if r.kind == "stretch" else 1 for r in self.rows)
        text = CODE_LINE * len(wrap(self.title, n_chars, 3)) + 20
        return max(rows * ROW + 14, text + 16)


class _Picture:
    def __init__(self, picture: AxisPicture, prefix: str, bands: list[_Band]) -> None:
        self.picture, self.prefix, self.bands = picture, prefix, bands
        longest = max([len(b.title) for b in bands if b.is_code], default=20)
        self.n_chars = min(max(longest, 18), 34)
        self.left = TEXT_X + text_width("x" * self.n_chars, 13, mono=True) + 24
        texts = [c.text for b in bands for r in b.rows for a in r.arrays for c in a.cells]
        widest = max([text_width(short(t, 20), 11.5, mono=True) for t in texts], default=40.0)
        self.cell = max(widest + 18, 56.0)
        self.n_cells = 0
        names = [r.arrays[0].name for b in bands for r in b.rows]
        self.name = min(max([text_width(n, 12, mono=True) for n in names], default=40) + 16, NAME)

    def width(self) -> float:
        rows = [r for b in self.bands for r in b.rows]
        return max([self.left + self.row_width(r) + 24 for r in rows], default=0.0)

    def row_width(self, row: Row) -> float:
        """Return how wide a row is, with what it says."""
        cells = [len(a.cells) * (self.cell + GAP) for a in row.arrays]
        if row.kind == "product":
            names = text_width(short(row.arrays[1].name, 16), 12, mono=True)
            width = self.name + sum(cells) + names + 38
        else:
            width = self.name + max(cells)
        note = text_width(row.note, 11.5) + 12 if row.note else 0.0
        dtype = text_width(row.arrays[0].dtype, 11.5, mono=True) + 16
        return width + max(note, 0.0) + dtype

    # --- drawing ---

    def draw(self, canvas: Canvas, top: float) -> None:
        y = top
        for k, band in enumerate(self.bands):
            h = band.height(self.n_chars)
            canvas.open_group(f"{self.prefix}-lane{k}", "jxl-lane", band.title)
            if band.is_code:
                canvas.rect(1, y, canvas.width - 2, h, Pen(LANE))
            self.code(canvas, band, y, h)
            canvas.close_group()
            n_rows = sum(len(r.arrays) if r.kind == "stretch" else 1 for r in band.rows)
            at = y + (h - n_rows * ROW) / 2
            for row in band.rows:
                at = self.row(canvas, row, at, LANE if band.is_code else PAPER)
            y += h
            canvas.line((1, y), (canvas.width - 1, y), Pen("none", LINE))

    def code(self, canvas: Canvas, band: _Band, y: float, h: float) -> None:
        lines = wrap(band.title, self.n_chars, 3)
        first = y + h / 2 - (len(lines) * CODE_LINE + 18) / 2 + 13
        canvas.text((TEXT_X - 9, first), band.number, 12, fill=FAINT, mono=True, anchor="end")
        for k, line in enumerate(lines):
            at = (TEXT_X, first + k * CODE_LINE)
            canvas.text(at, line, 13, mono=band.is_code, bold=not band.is_code)
        canvas.text((TEXT_X, first + len(lines) * CODE_LINE + 2), band.caption, 11.5, fill=DIM)

    def row(self, canvas: Canvas, row: Row, y: float, paper: str) -> float:
        """Draw a row; return where the next begins."""
        if row.kind == "stretch":
            for shape in row.arrays:
                x = self.array(canvas, shape, self.left, y, paper)
                y += ROW
            canvas.text((x + 8, y - ROW / 2 + 4), row.note, 11.5, fill=DIM)
            return y
        x = self.array(canvas, row.arrays[0], self.left, y, paper, is_result=row.kind == "result")
        if row.kind == "product":
            canvas.text((x + 12, y + ROW / 2 + 4), "@", 13, mono=True, anchor="middle", bold=True)
            name = short(row.arrays[1].name, 16)
            canvas.text((x + 26, y + ROW / 2 + 4), name, 12, mono=True)
            x += 34 + text_width(name, 12, mono=True)
            x = self.cells(canvas, row.arrays[1], x, y, paper)
        else:
            dtype = row.arrays[0].dtype
            canvas.text((x + 6, y + ROW / 2 + 4), dtype, 11.5, mono=True, fill=DIM)
            x += text_width(dtype, 11.5, mono=True) + 10
        canvas.text((x + 8, y + ROW / 2 + 4), row.note, 11.5, fill=DIM)
        return y + ROW

    def array(
        self,
        canvas: Canvas,
        shape: Shape,
        x: float,
        y: float,
        paper: str,
        *,
        is_result: bool = False,
    ) -> float:
        """Draw name and axes; return where they end."""
        name = short(shape.name, int((self.name - 10) / 7.3))
        at = (x + self.name - 10, y + ROW / 2 + 4)
        canvas.text(at, name, 12, mono=True, anchor="end", bold=is_result)
        return self.cells(canvas, shape, x + self.name, y, paper)

    def cells(self, canvas: Canvas, shape: Shape, x: float, y: float, paper: str) -> float:
        if not shape.cells:
            canvas.text((x, y + ROW / 2 + 4), "one number", 11.5, fill=DIM)
            return x + text_width("one number", 11.5)
        for cell in shape.cells:
            self.chip(canvas, shape, cell, x, y + (ROW - CELL) / 2, paper)
            x += self.cell + GAP
        return x

    def chip(
        self, canvas: Canvas, shape: Shape, cell: Cell, x: float, y: float, paper: str
    ) -> None:
        """Draw one axis of an array."""
        stroke, fill = FAINT, GREY_FILL
        if cell.axis is not None:
            stroke, fill = _colours(self.picture.axes.index(cell.axis))
        self.n_cells += 1
        title = f"{shape.name}: {cell.text} {cell.state}".rstrip()
        canvas.open_group(f"{self.prefix}-c{self.n_cells}", "jxl-cell", title)
        w = self.cell
        if cell.state in ("stretched", "absent"):
            canvas.rect(x, y, w, CELL, Pen(paper, stroke, 1.2, dashed=True), 4)
            at = 8.0
            while at < w + CELL:
                low, high = max(at - CELL, 0.0), min(at, w)
                a, b = (x + low, y + (at - low)), (x + high, y + (at - high))
                canvas.line(a, b, Pen("none", fill, 3))
                at += 10
            canvas.rect(x, y, w, CELL, Pen("none", stroke, 1.2, dashed=True), 4)
        else:
            width = 2.6 if cell.state == "joined" else 1.2
            canvas.rect(x, y, w, CELL, Pen(fill, stroke, width), 4)
        text = short(cell.text, 20)
        if cell.state in ("stretched", "absent"):
            text = f"\N{MULTIPLICATION SIGN} {cell.size}"
        if cell.state == "removed":
            canvas.line((x + 3, y + CELL - 3), (x + w - 3, y + 3), Pen("none", stroke, 1))
        canvas.text((x + w / 2, y + 16), text, 11.5, mono=True, anchor="middle", fill=INK)
        canvas.close_group()


def _colours(k: int) -> tuple[str, str]:
    """Return stroke and fill of axis ``k``; after the last colour they come again without fill."""
    stroke, fill = _COLOURS[k % len(_COLOURS)]
    return stroke, fill if k < len(_COLOURS) else PAPER


def draw_axes(
    picture: AxisPicture,
    captions: Sequence[str],
    *,
    title: str,
    summary: str,
    prefix: str,
    more: str = "",
) -> Canvas:
    """Return the picture; ``captions`` has a text per line of code, ``more`` ends the lines."""
    bands = [_Band("inputs", "", "arguments", picture.inputs, False)] if picture.inputs else []
    for (lane, rows), caption in zip(picture.lanes, captions):
        bands.append(_Band(lane.text, str(lane.first or ""), caption, rows, True))
    if more:
        bands.append(_Band(more, "", "see the text", [], False))
    bands.append(_Band("outputs", "", "what the function returns", picture.outputs, False))
    drawing = _Picture(picture, prefix, bands)
    heights = sum(b.height(drawing.n_chars) for b in bands)
    head = f"{title}  {summary}"
    width = max(drawing.width(), text_width(head, 13.5) + 60, 620.0)
    legend = [a for a in picture.axes if a.name][:8] or picture.axes[:8]
    foot = FOOTER * (2 if legend else 1)
    canvas = Canvas(width, HEADER + heights + foot)
    canvas.rect(0.5, 0.5, canvas.width - 1, canvas.height - 1, Pen(PAPER, LINE), 9)
    canvas.open_part("header", 0, HEADER)
    canvas.text((16, 29), title, 15, bold=True)
    canvas.text((30 + text_width(title, 15, bold=True), 29), summary, 13, fill=DIM)
    canvas.line((1, HEADER), (canvas.width - 1, HEADER), Pen("none", LINE))
    canvas.close_group()
    drawing.draw(canvas, HEADER)
    canvas.open_part("legend", HEADER + heights, foot)
    _legend(canvas, picture, HEADER + heights)
    canvas.close_group()
    return canvas


def _legend(canvas: Canvas, picture: AxisPicture, y: float) -> None:
    """Draw the axes with names, and what the marks mean."""
    x = 16.0
    for axis in [a for a in picture.axes if a.name] or picture.axes:
        text = f"{axis.text} {axis.size}"
        width = text_width(text, 11.5, mono=True)
        if x + width + 40 > canvas.width:
            break
        stroke, fill = _colours(picture.axes.index(axis))
        canvas.rect(x, y + 10, 16, 16, Pen(fill, stroke, 1.2), 3)
        canvas.text((x + 23, y + 22.5), text, 11.5, mono=True)
        x += width + 46
    if picture.axes:
        y += FOOTER - 6
    canvas.text((16, y + 22.5), KEY, 11.5, fill=DIM)
