"""A picture as a list of shapes. In: drawing calls. Out: SVG text, or DOT text that draws the same.

The SVG uses presentation attributes only (no styles, no scripts, no references), because pages that
show notebooks strip the rest. The DOT text holds the shapes as ``_background``, so any Graphviz
makes the PNG. Coordinates are pixels, y downwards; text is placed at its baseline.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from jaxlite_ipython.views.palette import INK, PAPER

__all__ = ["Canvas", "Point", "text_width"]

Point: TypeAlias = tuple[float, float]
#: Two control points and an end point.
Cubic: TypeAlias = tuple[Point, Point, Point]

SANS = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
MONO = "Menlo, Consolas, DejaVu Sans Mono, Liberation Mono, monospace"
_MONO_WIDTH = 0.602
#: Widths of the characters from space to tilde in thousandths of the size (sans).
_WIDTHS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 "
    "556 556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 "
    "722 778 667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 "
    "556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 "
    "260 334 584"
)
#: Marks that the fonts of the PNG renderer do not have.
_PNG_MARKS = str.maketrans(
    "\N{CHECK MARK}\N{BALLOT X}\N{DOT OPERATOR}",
    "\N{SQUARE ROOT}\N{MULTIPLICATION SIGN}\N{MIDDLE DOT}",
)
_SANS_WIDTHS = {chr(32 + i): int(w) / 1000 for i, w in enumerate(_WIDTHS.split())}


def text_width(text: str, size: float, *, mono: bool = False, bold: bool = False) -> float:
    """Return about how wide ``text`` is, in pixels."""
    text = text.replace("\N{COMBINING MACRON}", "")
    if mono:
        ems = sum(1.0 if unicodedata.east_asian_width(c) in "WF" else _MONO_WIDTH for c in text)
    else:
        ems = sum(_SANS_WIDTHS.get(c, 1.0 if ord(c) > 0x2E80 else 0.6) for c in text)
    return ems * size * (1.07 if bold else 1.0)


def clean(text: str) -> str:
    """Return ``text`` without characters that XML forbids."""
    return "".join(
        c if c >= " " and not 0xD800 <= ord(c) < 0xE000 and c not in "\ufffe\uffff\x7f" else " "
        for c in text
    )


@dataclass(frozen=True, slots=True)
class Pen:
    """Colours of a shape: ``fill`` and ``stroke`` may be 'none'."""

    fill: str = "none"
    stroke: str = "none"
    width: float = 1.0
    dashed: bool = False


class Canvas:
    """Shapes in drawing order. ``width`` and ``height`` may be set until it is written."""

    def __init__(self, width: float = 0, height: float = 0) -> None:
        self.width, self.height = width, height
        self._svg: list[str] = []
        self._xdot: list[tuple[str, tuple[float, ...], str]] = []
        self._pens: list[Pen | tuple[float, str, bool, bool]] = []

    # --- drawing ---

    def rect(self, x: float, y: float, w: float, h: float, pen: Pen, radius: float = 0) -> None:
        """Draw a rectangle with round corners."""
        radius = min(radius, w / 2, h / 2)
        corners = f' rx="{_n(radius)}"' if radius else ""
        size = f'width="{_n(w)}" height="{_n(h)}"'
        self._svg.append(f'<rect x="{_n(x)}" y="{_n(y)}" {size}{corners}{_paint(pen)}/>')
        if not radius:
            self._add("P", [(x, y), (x + w, y), (x + w, y + h), (x, y + h)], pen)
        else:
            start, curves = _round_rect(x, y, w, h, radius)
            self._add("B", [start, *[p for c in curves for p in c]], pen)

    def polygon(self, points: Sequence[Point], pen: Pen) -> None:
        """Draw a closed polygon."""
        path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        self._svg.append(f'<path d="M{path}Z"{_paint(pen)}/>')
        self._add("P", points, pen)

    def curve(self, start: Point, curves: Sequence[Cubic], pen: Pen) -> None:
        """Draw an open path of cubic curves."""
        path = "".join(
            f"C{_n(a[0])} {_n(a[1])} {_n(b[0])} {_n(b[1])} {_n(c[0])} {_n(c[1])}"
            for a, b, c in curves
        )
        start_text = f"M{_n(start[0])} {_n(start[1])}"
        self._svg.append(f'<path d="{start_text}{path}"{_paint(pen)}/>')
        self._add("B", [start, *[p for c in curves for p in c]], pen)

    def line(self, a: Point, b: Point, pen: Pen) -> None:
        """Draw a straight line."""
        ends = f"M{_n(a[0])} {_n(a[1])}L{_n(b[0])} {_n(b[1])}"
        self._svg.append(f'<path d="{ends}"{_paint(pen)}/>')
        self._add("L", [a, b], pen)

    def lines(self, ends: Sequence[tuple[Point, Point]], pen: Pen) -> None:
        """Draw straight lines that look the same, as one shape of the SVG."""
        path = "".join(f"M{_n(a[0])} {_n(a[1])}L{_n(b[0])} {_n(b[1])}" for a, b in ends)
        if path:
            self._svg.append(f'<path d="{path}"{_paint(pen)}/>')
        for pair in ends:
            self._add("L", pair, pen)

    def text(
        self,
        at: Point,
        text: str,
        size: float = 13,
        *,
        fill: str = INK,
        bold: bool = False,
        mono: bool = False,
        anchor: str = "start",
    ) -> None:
        """Write one line of text; ``anchor`` is 'start', 'middle' or 'end'."""
        text = clean(text)
        if not text.strip():
            return
        where = f'x="{_n(at[0])}" y="{_n(at[1])}"'
        attributes = f' text-anchor="{anchor}"' if anchor != "start" else ""
        attributes += ' font-weight="bold"' if bold else ""
        attributes += f' font-family="{MONO}" xml:space="preserve"' if mono else ""
        self._svg.append(
            f'<text {where} font-size="{_n(size)}" fill="{fill}"{attributes}>{escape(text)}</text>'
        )
        place = {"start": -1, "middle": 0, "end": 1}[anchor]
        width = text_width(text, size, mono=mono, bold=bold)
        self._xdot.append(("T", (*at, place, width), text))
        self._pens.append((size, fill, bold, mono))

    def open_group(self, name: str, css_class: str, title: str) -> None:
        """Start a group with an id and a tooltip."""
        title = f"<title>{escape(clean(title))}</title>" if title else ""
        self._svg.append(f'<g id="{escape(name)}" class="{escape(css_class)}">{title}')

    def open_part(self, kind: str, y: float, height: float, x: float = 0) -> None:
        """Start a part that the widget shows elsewhere or not at all; see ``contract``."""
        where = f'data-x="{_n(x)}" data-y="{_n(y)}" data-h="{_n(height)}"'
        self._svg.append(f'<g class="jxl-part jxl-{kind}" {where}>')

    def open_edge(self, source: str, target: str, css_class: str = "") -> None:
        """Start the group of an arrow between the groups with these ids."""
        ends = f'data-a="{escape(source)}" data-b="{escape(target)}"'
        more = f" {escape(css_class)}" if css_class else ""
        self._svg.append(f'<g class="jxl-edge{more}" {ends}>')

    def close_group(self) -> None:
        """End the group."""
        self._svg.append("</g>")

    def extend(self, other: Canvas) -> None:
        """Draw everything of ``other`` on top."""
        self._svg += other._svg
        self._xdot += other._xdot
        self._pens += other._pens

    def _add(self, kind: str, points: Sequence[Point], pen: Pen) -> None:
        self._xdot.append((kind, tuple([v for p in points for v in p]), ""))
        self._pens.append(pen)

    # --- writing ---

    def svg(self, prefix: str, title: str, description: str) -> str:
        """Return the picture as one SVG element with an opaque background."""
        w, h = _n(self.width), _n(self.height)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" '
                f'viewBox="0 0 {w} {h}" role="img" font-family="{SANS}" '
                f'aria-labelledby="{prefix}-title {prefix}-desc">',
                f'<title id="{prefix}-title">{escape(clean(title))}</title>',
                f'<desc id="{prefix}-desc">{_escape_lines(description)}</desc>',
                f'<rect width="{w}" height="{h}" fill="{PAPER}"/>',
                *self._svg,
                "</svg>",
            ]
        )

    def dot(self) -> str:
        """Return DOT text that draws the picture (for ``neato -n2``)."""
        w, h = self.width, self.height
        drawing = "".join(self._operations()).replace('\\"', "\\'").replace('"', '\\"')
        frame = f'shape=box style=invis label="" fixedsize=true pos="{w / 2:.2f},{h / 2:.2f}"'
        return (
            f'digraph jaxlite {{\ngraph [bgcolor=white pad=0 margin=0 _background="{drawing}"]\n'
            f"frame [{frame} width={w / 72:.5f} height={h / 72:.5f}]\n}}\n"
        )

    def _operations(self) -> list[str]:
        """Return the shapes in xdot's language; y grows upwards there."""
        parts: list[str] = []
        for (kind, numbers, text), pen in zip(self._xdot, self._pens, strict=True):
            if isinstance(pen, Pen):
                parts.append(self._shape(kind, numbers, pen))
                continue
            size, fill, bold, mono = pen
            font = "Courier New" if mono else "Arial"
            # The bundled mono face is a hair wider than what browsers use; sizes stay equal.
            parts.append(f"F {_n(size)} {len(font)} -{font} t {int(bold)} c 7 -{fill} ")
            x, y, place, width = numbers
            data = text.translate(_PNG_MARKS).encode()
            at = f"{_n(x)} {_n(self.height - y)} {int(place)} {_n(width)}"
            # xdot counts bytes; Graphviz reads the text as it stands.
            parts.append(f"T {at} {len(data)} -{data.decode()} ")
        return parts

    def _shape(self, kind: str, numbers: tuple[float, ...], pen: Pen) -> str:
        points = " ".join(
            f"{_n(numbers[i])} {_n(self.height - numbers[i + 1])}"
            for i in range(0, len(numbers), 2)
        )
        width = f"setlinewidth({_n(pen.width)})"
        style = "dashed" if pen.dashed else "solid"
        ops = f"S {len(width)} -{width} S {len(style)} -{style} "
        n = len(numbers) // 2
        filled, open_kind = {"P": ("P", "p"), "B": ("b", "B"), "L": ("L", "L")}[kind]
        if pen.fill != "none":
            stroke = pen.stroke if pen.stroke != "none" else pen.fill
            return f"{ops}c 7 -{stroke} C 7 -{pen.fill} {filled} {n} {points} "
        if pen.stroke == "none":
            return ""
        return f"{ops}c 7 -{pen.stroke} {open_kind} {n} {points} "


def _paint(pen: Pen) -> str:
    text = f' fill="{pen.fill}"'
    if pen.stroke != "none":
        text += f' stroke="{pen.stroke}" stroke-width="{_n(pen.width)}"'
        text += ' stroke-dasharray="5 4"' if pen.dashed else ""
    return text


def _n(value: float) -> str:
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def _escape_lines(text: str) -> str:
    return "\n".join(escape(clean(line)) for line in text.split("\n"))


def _round_rect(x: float, y: float, w: float, h: float, r: float) -> tuple[Point, list[Cubic]]:
    """Return the outline as curves; a straight side is a curve too."""
    k = r * 0.4477  # distance of the control points from the corner
    right, bottom = x + w, y + h
    corners = [
        ((right - r, y), (right - k, y), (right, y + k), (right, y + r)),
        ((right, bottom - r), (right, bottom - k), (right - k, bottom), (right - r, bottom)),
        ((x + r, bottom), (x + k, bottom), (x, bottom - k), (x, bottom - r)),
        ((x, y + r), (x, y + k), (x + k, y), (x + r, y)),
    ]
    start = (x + r, y)
    curves: list[Cubic] = []
    at = start
    for begin, a, b, end in corners:
        curves.append((at, begin, begin))
        curves.append((a, b, end))
        at = end
    return start, curves


def valid_id(text: str) -> str:
    """Return ``text`` as (part of) an id."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", text)
