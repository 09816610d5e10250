"""The way of each arrow. In: a ``Layout``. Out: curves that keep away from the boxes between.

An arrow to the next box in its row is straight. One that passes rows goes down (or up) a channel:
an x at which no box stands in any of them, as near as possible to both ends.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jaxlite_ipython.views.canvas import Cubic, Point
from jaxlite_ipython.views.layout import BOX_HEIGHT, Box, Layout
from jaxlite_ipython.views.op_graph import OpGraph

__all__ = ["Arrow", "LayoutTimeout", "route"]

MARGIN = 9.0
HEAD = 4.0


class LayoutTimeout(Exception):
    """Routing needed longer than it may; a coarser level is wanted."""


@dataclass(slots=True, eq=False)
class Arrow:
    """A curve from one box to another."""

    source: Box
    target: Box
    n_bytes: float
    is_result: bool
    scale: float = 13.0
    channel: float | None = None
    start: Point = (0.0, 0.0)
    curves: list[Cubic] = field(default_factory=list)

    @property
    def width(self) -> float:
        """Line width: the logarithm of the bytes."""
        return round(1.2 + 2.4 * math.log2(max(self.n_bytes, 4) / 4) / self.scale, 1)

    @property
    def is_down(self) -> bool:
        """Whether it ends in a lower row."""
        return self.target.row > self.source.row


def route(graph: OpGraph, layout: Layout, deadline: float | None = None) -> list[Arrow]:
    """Return the arrows of ``graph``.

    Raises:
      LayoutTimeout: ``deadline`` (of ``time.perf_counter``) has passed.
    """
    arrows = [
        Arrow(
            layout.box(source),
            layout.box(node),
            n_bytes,
            node.kind == "output" and not node.side,
        )
        for node in graph.nodes
        for source, n_bytes in node.reads.items()
    ]
    largest = max([a.n_bytes for a in arrows], default=4.0)
    for arrow in arrows:
        arrow.scale = max(13.0, math.log2(max(largest, 4) / 4))
    channels = _Channels(layout)
    for arrow in sorted(arrows, key=lambda a: abs(a.target.row - a.source.row)):
        if deadline is not None and time.perf_counter() > deadline:
            raise LayoutTimeout
        arrow.channel = channels.choose(arrow)
    ports = _ports(arrows, layout)
    for arrow in arrows:
        _shape(arrow, layout, ports)
    return arrows


class _Channels:
    """Free vertical ways, and those in use."""

    def __init__(self, layout: Layout) -> None:
        self.left, self.right = layout.left - 16, layout.right + 12
        self.blocked = [
            [(b.x - b.overhang - MARGIN, b.x + b.w + b.overhang + MARGIN) for b in row]
            for row in layout.rows
        ]
        self.crossed = [_arrow_gaps(row) for row in layout.rows]
        self.taken: list[tuple[int, int, float, int]] = []

    def choose(self, arrow: Arrow) -> float | None:
        """Return the x at which an arrow passes the rows between its ends (None: none between)."""
        a, b = arrow.source.row, arrow.target.row
        low, high = (a, b) if a <= b else (b, a)
        if high - low <= 1 and a != b:
            return None
        if a == b:
            return None
        ends = (arrow.source.middle, arrow.target.middle)
        walls = sorted(w for row in range(low + 1, high) for w in self.blocked[row])
        others = [
            (x - 8, x + 8)
            for r0, r1, x, source in self.taken
            if r0 < high and low < r1 and source != id(arrow.source)
        ]
        crossed = [gap for row in range(low + 1, high) for gap in self.crossed[row]]
        x = _nearest(ends, walls, [*others, *crossed], self.left, self.right)
        self.taken.append((low, high, x, id(arrow.source)))
        return x


def _arrow_gaps(row: Sequence[Box]) -> list[tuple[float, float]]:
    """Return the gaps of a row that a straight arrow crosses."""
    return [(a.x + a.w, b.x) for a, b in itertools.pairwise(row) if a.node in b.node.reads]


def _nearest(
    ends: tuple[float, float],
    walls: Sequence[tuple[float, float]],
    others: Sequence[tuple[float, float]],
    left: float,
    right: float,
) -> float:
    """Return the free x for which the way between the ends is shortest, most straight first."""
    edges = {v for w in (*walls, *others) for v in w}
    candidates = [x for x in (*ends, sum(ends) / 2, *edges, left, right) if left <= x <= right]
    hard = _union(walls)
    best, best_cost = right, math.inf
    for x in candidates:
        if any(lo < x < hi for lo, hi in hard):
            continue
        cost = abs(x - ends[0]) + 1.4 * abs(x - ends[1])
        cost += 90.0 * sum(lo < x < hi for lo, hi in others)
        if cost < best_cost:
            best, best_cost = x, cost
    return best


def _union(walls: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for lo, hi in sorted(walls):
        if merged and lo < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hi, merged[-1][1]))
        else:
            merged.append((lo, hi))
    return merged


def _neighbours(arrow: Arrow, layout: Layout) -> bool:
    """Say whether the target stands directly to the right of the source."""
    if arrow.source.row != arrow.target.row:
        return False
    row = layout.rows[arrow.source.row]
    return row.index(arrow.target) - row.index(arrow.source) == 1


def _ports(arrows: Sequence[Arrow], layout: Layout) -> dict[tuple[int, str], float]:
    """Return where on its boxes each arrow begins and ends, in an order without knots."""
    # Arrows that go the same way keep their order: ids of objects differ from run to run.
    at: dict[tuple[int, str], list[tuple[float, int, tuple[int, str]]]] = {}
    middle: dict[tuple[int, str], Box] = {}
    for number, arrow in enumerate(arrows):
        if _neighbours(arrow, layout):
            continue
        down = arrow.is_down
        same = arrow.source.row == arrow.target.row
        for end, box, other in (
            ("from", arrow.source, arrow.target),
            ("to", arrow.target, arrow.source),
        ):
            side = "top" if (end == "to") == down else "bottom"
            if same:
                side = "bottom" if arrow.target.is_up else "top"
            toward = other.middle if arrow.channel is None else arrow.channel
            at.setdefault((id(box), side), []).append((toward, number, (id(arrow), end)))
            middle[id(box), side] = box
    places: dict[tuple[int, str], float] = {}
    for key, members in at.items():
        box = middle[key]
        members.sort()
        room = box.w - (52 if box.node.family == "reduction" else 30)
        step = min(18.0, room / max(len(members) - 1, 1))
        for k, (_, _, name) in enumerate(members):
            places[name] = box.middle + (k - (len(members) - 1) / 2) * step
    return places


def _shape(arrow: Arrow, layout: Layout, ports: dict[tuple[int, str], float]) -> None:
    """Set the curves of an arrow."""
    source, target = arrow.source, arrow.target
    if _neighbours(arrow, layout):
        y = source.y + BOX_HEIGHT / 2
        inset = 7.0 if target.node.family in ("reduction", "indexing") else 0.0
        outset = 7.0 if source.node.family in ("reduction", "indexing") else 0.0
        arrow.start = (source.x + source.w - outset, y)
        end = (target.x + inset - HEAD, y)
        arrow.curves = [(arrow.start, end, end)]
        return
    x0, x1 = ports[id(arrow), "from"], ports[id(arrow), "to"]
    if source.row == target.row:
        if target.is_up:
            dip = source.bottom + 22
            arrow.start = (x0, source.bottom)
            arrow.curves = [((x0, dip), (x1, dip), (x1, target.bottom + HEAD))]
            return
        lift = source.y - 22
        arrow.start = (x0, source.y)
        arrow.curves = [((x0, lift), (x1, lift), (x1, target.y - HEAD))]
        return
    down = arrow.is_down
    sign = 1.0 if down else -1.0
    y0 = source.bottom if down else source.y
    y1 = target.y - HEAD if down else target.bottom + HEAD
    arrow.start = (x0, y0)
    # Below a box with a note the way is straight, so that it meets no other note.
    upper, lower = (source, target) if down else (target, source)
    floor, ceiling = layout.floors[upper.row], layout.ceilings[lower.row]
    a = (x0, max(y0, floor) if down else min(y0, ceiling))
    b = (x1, min(y1, ceiling) if down else max(y1, floor))
    if arrow.channel is None:
        bend = max(abs(b[1] - a[1]) * 0.5, 14.0) * sign
        way = [((x0, a[1] + bend), (x1, b[1] - bend), b)]
    else:
        way = _through(arrow, layout, a, b, sign)
    before = [((x0, y0), a, a)] if a[1] != y0 else []
    after = [(b, (x1, y1), (x1, y1))] if b[1] != y1 else []
    arrow.curves = [*before, *way, *after]


def _through(arrow: Arrow, layout: Layout, start: Point, end: Point, sign: float) -> list[Cubic]:
    """Return a way that passes all rows between the ends in its channel."""
    a, b = arrow.source.row, arrow.target.row
    low, high = (a, b) if a < b else (b, a)
    enter = min(layout.ceilings[low + 1 : high]) - 4
    leave = max(layout.floors[low + 1 : high]) + 4
    if sign < 0:
        enter, leave = leave, enter
    x = arrow.channel or 0.0
    (x0, y0), (x1, y1) = start, end
    first = max(abs(enter - y0) * 0.55, 10.0) * sign
    last = max(abs(y1 - leave) * 0.55, 10.0) * sign
    return [
        ((x0, y0 + first), (x, enter - first), (x, enter)),
        ((x, enter), (x, leave), (x, leave)),
        ((x, leave + last), (x1, y1 - last), (x1, y1)),
    ]


def head(arrow: Arrow) -> list[Point]:
    """Return the triangle at the end of an arrow."""
    before, tip = arrow.curves[-1][1], arrow.curves[-1][2]
    if before == tip:
        before = arrow.start if len(arrow.curves) == 1 else arrow.curves[-2][2]
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = math.hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    size, half = 8.0, 3.6 + arrow.width * 0.35
    back = (tip[0] - ux * (size - HEAD), tip[1] - uy * (size - HEAD))
    point = (tip[0] + ux * HEAD, tip[1] + uy * HEAD)
    return [
        (back[0] - uy * half, back[1] + ux * half),
        point,
        (back[0] + uy * half, back[1] - ux * half),
    ]
