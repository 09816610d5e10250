"""Where everything in a lane picture goes. In: an ``OpGraph``. Out: ``Layout``: boxes, rows, lanes.

Rows from top to bottom: inputs, the lines of code (long ones in several rows), outputs. A box
stands below what it reads where there is room; inputs stand above their first reader and outputs
below their maker. All in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jaxlite_ipython.views.canvas import text_width
from jaxlite_ipython.views.op_graph import Node, OpGraph
from jaxlite_ipython.views.source_lines import Lane
from jaxlite_ipython.views.words import short, wrap

__all__ = ["Band", "Box", "Layout", "lay_out"]

BOX_HEIGHT = 42.0
MIN_BOX = 96.0
MAX_LABEL = 26
MAX_IN_ROW = 6
GAP = 30.0
WIDE_GAP = 73.0
TEXT_X = 38.0
AREA = 800.0
NARROW_AREA = 560.0
NOTE_HEIGHT = 16.0
CODE_LINE = 17.0
CODE_SIZE = 13.0


@dataclass(slots=True, eq=False)
class Box:
    """A node with its place; ``row`` counts from the top."""

    node: Node
    label: str
    type: str
    w: float
    x: float = 0.0
    y: float = 0.0
    row: int = 0
    note: str = ""
    #: Notes and bars stand above the box, because arrows come from below.
    is_up: bool = False

    @property
    def middle(self) -> float:
        """Where the middle is."""
        return self.x + self.w / 2

    @property
    def foot(self) -> float:
        """Height of what stands below: a note, a bar."""
        n_lines = bool(self.note) + (self.node.gauge is not None)
        return NOTE_HEIGHT * n_lines

    @property
    def overhang(self) -> float:
        """How far the note stands out on each side."""
        return max((text_width(self.note, 10.5) - self.w) / 2 + 3, 0.0) if self.note else 0.0

    @property
    def bottom(self) -> float:
        """Where the lower side is."""
        return self.y + BOX_HEIGHT


@dataclass(slots=True)
class Band:
    """One horizontal band: inputs, a line of code, or outputs."""

    kind: str
    y: float
    h: float
    lane: Lane | None = None
    code: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Layout:
    """Everything placed: ``rows`` from the top, each from the left; ``floors`` are their ends."""

    width: float
    height: float
    left: float
    right: float
    boxes: dict[int, Box]
    rows: list[list[Box]]
    floors: list[float]
    bands: list[Band]
    #: Upper ends of the rows, notes included.
    ceilings: list[float] = field(default_factory=list)
    #: Columns with a heading: left side, right side, text.
    heads: list[tuple[float, float, str]] = field(default_factory=list)

    def box(self, node: Node) -> Box:
        """Return the place of a node."""
        return self.boxes[id(node)]


def lay_out(graph: OpGraph) -> Layout:
    """Place all boxes and lanes of ``graph``."""
    longest = max([len(lane.text) for lane in graph.lanes], default=20)
    n_chars = min(max(longest, 20), 36)
    left = TEXT_X + text_width("x" * n_chars, CODE_SIZE, mono=True) + 28
    boxes = {id(n): new_box(n) for n in graph.nodes}
    by_lane: dict[int, list[Box]] = {}
    for node in graph.ops:
        by_lane.setdefault(id(node.lane), []).append(boxes[id(node)])
    lanes = [lane for lane in graph.lanes if id(lane) in by_lane]
    area = _area(graph, boxes, by_lane)
    right = left + area
    body = [rows_of(by_lane[id(lane)], area) for lane in lanes]
    place_ops(graph, boxes, body, left, right)
    ends = {kind: place_ends(graph, boxes, kind, left, right) for kind in ("input", "output")}
    layout = Layout(right + 22, 0.0, left, right, boxes, [], [], [])
    is_tight = len(lanes) > 12
    stack(layout, "inputs", None, ends["input"], [], is_tight)
    for lane, rows in zip(lanes, body, strict=True):
        stack(layout, "line", lane, rows, wrap(lane.text, n_chars, 3), is_tight)
    stack(layout, "outputs", None, ends["output"], [], is_tight)
    return layout


def _area(graph: OpGraph, boxes: dict[int, Box], by_lane: dict[int, list[Box]]) -> float:
    """Return the width of the part right of the code: less if every line is short."""
    widest = max([sum(b.w + WIDE_GAP for b in row) for row in by_lane.values()], default=0.0)
    for kinds in (("input", "constant"), ("output",)):
        ends = sum(boxes[id(n)].w + 14 for n in graph.nodes if n.kind in kinds)
        widest = max(widest, ends)
    return NARROW_AREA if widest <= NARROW_AREA - 60 else AREA


def new_box(node: Node, max_note: int = 30) -> Box:
    """Return the box of a node, with texts cut to fit."""
    label = short(node.label, MAX_LABEL)
    if node.times > 1:
        label = f"{label} \N{MULTIPLICATION SIGN}{node.times}"
    type_text = short(node.type, 22)
    width = max(
        text_width(label, 13, bold=True) + 26, text_width(type_text, 10.5, mono=True) + 24, MIN_BOX
    )
    if node.family in ("reduction", "indexing", "other"):
        width += 14  # slanted sides
    if node.kind == "output":
        width += 10
    box = Box(node, label, type_text, math.ceil(width))
    if node.alert:
        box.note = node.alert
    elif (node.is_op or node.is_dim or node.side) and node.notes:
        box.note = short(", ".join(node.notes), max(max_note, int(box.w / 4.2)))
    return box


def rows_of(members: Sequence[Box], area: float) -> list[list[Box]]:
    """Break a line's boxes into rows that fit."""
    rows: list[list[Box]] = [[]]
    used = 0.0
    for box in members:
        if rows[-1]:
            used += _gap(rows[-1][-1], box)
        if rows[-1] and (used + box.w + box.overhang > area or len(rows[-1]) == MAX_IN_ROW):
            rows.append([])
            used = 0.0
        used += box.w if rows[-1] else box.w + box.overhang
        rows[-1].append(box)
    return rows


# --- across ---


def place_ops(
    graph: OpGraph,
    boxes: dict[int, Box],
    body: Sequence[Sequence[list[Box]]],
    left: float,
    right: float,
) -> None:
    """Place the operations of all lanes, in the order in which they run."""
    placed: set[int] = set()
    for rows in body:
        for row in rows:
            _place_row(row, [_wish(b, boxes, placed) for b in row], left, right)
            placed |= {id(b.node) for b in row}


def _wish(box: Box, boxes: dict[int, Box], placed: set[int]) -> float | None:
    """Return where the middle of a box should be: below what it reads from rows above."""
    above = [boxes[id(s)].middle for s in box.node.reads if s.is_op and id(s) in placed]
    return sum(above) / len(above) if above else None


def _place_row(
    row: Sequence[Box], wishes: Sequence[float | None], left: float, right: float
) -> None:
    """Place boxes in order, near their wishes; those without one follow at a comfortable gap."""
    total = sum(b.w for b in row)
    n_gaps = max(len(row) - 1, 1)
    gap = min(max((right - left - total) / n_gaps, GAP), WIDE_GAP)
    latest = right - row[-1].overhang
    highest: list[float] = []
    for k in range(len(row) - 1, -1, -1):
        latest -= row[k].w
        highest.append(latest)
        latest -= _gap(row[k - 1], row[k]) if k else 0.0
    highest.reverse()
    at = left
    for k, (box, wish) in enumerate(zip(row, wishes, strict=True)):
        low = at + _gap(row[k - 1], box) if k else left + box.overhang
        comfortable = at + gap if k else left + (24.0 if len(row) <= 4 else 0.0)
        x = comfortable if wish is None else max(wish - box.w / 2, comfortable if k else left)
        box.x = round(max(min(x, highest[k]), low))
        at = box.x + box.w


def _gap(a: Box, b: Box) -> float:
    """Return the least room between two neighbours: their notes must not touch."""
    return max(GAP, a.overhang + b.overhang + 8)


def place_ends(
    graph: OpGraph, boxes: dict[int, Box], kind: str, left: float, right: float
) -> list[list[Box]]:
    """Place inputs and constants (or outputs), in as many rows as they need."""
    kinds = ("input", "constant") if kind == "input" else (kind,)
    members = [boxes[id(n)] for n in graph.nodes if n.kind in kinds]
    wishes = _end_wishes(graph, boxes, kind)

    def wish(box: Box) -> float:
        return wishes.get(id(box.node), right)

    order: Callable[[Box], float] = wish
    members.sort(key=order)
    total = sum(_breadth(b) for b in members) + 14 * max(len(members) - 1, 0)
    n_rows = max(1, math.ceil(total / (right - left)))
    # Neighbours go to different rows, so that each stays near the middle of its reader.
    rows = [members[k::n_rows] for k in range(n_rows)]
    for row in rows:
        _spread(row, [wish(b) for b in row], left, right)
    return rows


def _end_wishes(graph: OpGraph, boxes: dict[int, Box], kind: str) -> dict[int, float]:
    """Return for each input the middle of its first reader, for each output that of its maker."""
    wishes: dict[int, float] = {}
    for node in graph.nodes:
        for position, source in enumerate(node.reads):
            if kind == "input" and not source.is_op and node.is_op:
                # Operands of one reader keep their order.
                wishes.setdefault(id(source), boxes[id(node)].middle + position)
            elif kind == "output" and node.kind == "output" and source.is_op:
                wishes[id(node)] = boxes[id(source)].middle
    return wishes


def _spread(row: Sequence[Box], wishes: Sequence[float], left: float, right: float) -> None:
    """Place boxes in order without overlap, each as near to its wish as the others allow."""
    gap = 14.0
    clusters: list[tuple[list[int], float, float]] = []  # members, total width, start
    for k, box in enumerate(row):
        members, width = [k], _breadth(box)
        start = wishes[k] - width / 2
        while clusters and start < clusters[-1][2] + clusters[-1][1] + gap:
            before, before_width, _ = clusters.pop()
            members = [*before, *members]
            width += before_width + gap
            offset, starts = 0.0, []
            for m in members:
                starts.append(wishes[m] - _breadth(row[m]) / 2 - offset)
                offset += _breadth(row[m]) + gap
            start = sum(starts) / len(starts)
        start = min(max(start, left), right - width)
        clusters.append((members, width, start))
    at = left
    for members, _, start in clusters:
        at = max(at, start)
        for m in members:
            row[m].x = round(at + row[m].overhang)
            at += _breadth(row[m]) + gap
    _pull_back(row, right, gap)


def _breadth(box: Box) -> float:
    """Return the width of a box with its note."""
    return box.w + 2 * box.overhang


def _pull_back(row: Sequence[Box], right: float, gap: float) -> None:
    """Move boxes left that stand beyond the right side."""
    limit = right
    for box in reversed(row):
        box.x = min(box.x, limit - box.w - box.overhang)
        limit = box.x - box.overhang - gap


# --- down ---


def stack(
    layout: Layout,
    kind: str,
    lane: Lane | None,
    rows: Sequence[Sequence[Box]],
    code: list[str],
    is_tight: bool,
) -> None:
    """Add a band below the others and give its rows their height."""
    is_end = kind != "line"
    pad = 16.0 if is_end else (18.0 if is_tight else 28.0)
    between = 14.0 if is_end else (34.0 if is_tight else 46.0)
    y = layout.height + pad
    filled = [row for row in rows if row]
    for k, row in enumerate(filled):
        y += between if k else 0.0
        above = max(box.foot if box.is_up else 0.0 for box in row)
        foot = max(0.0 if box.is_up else box.foot for box in row)
        layout.ceilings.append(y - (3.0 if above else 0.0))
        y += above
        for box in row:
            box.y, box.row = y, len(layout.rows)
        layout.rows.append(list(row))
        layout.floors.append(y + BOX_HEIGHT + (foot + 3 if foot else 0.0))
        y += BOX_HEIGHT + foot
    needed = y + pad - layout.height
    text_height = CODE_LINE * max(len(code), 1) + 17 + 22
    h = max(needed, text_height)
    if text_height > needed:  # the text is taller: boxes go to its middle
        for row in filled:
            for box in row:
                box.y += (h - needed) / 2
        first = len(layout.rows) - len(filled)
        for k in range(first, len(layout.rows)):
            layout.floors[k] += (h - needed) / 2
            layout.ceilings[k] += (h - needed) / 2
    layout.bands.append(Band(kind, layout.height, h, lane, code))
    layout.height += h
