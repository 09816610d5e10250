"""Lanes with several columns. In: an ``OpGraph`` whose boxes have sides. Out: ``Layout``.

Each side is a column; a line of code has one band across all of them. A column that runs upwards (a
backward pass) begins in the last band and ends in the first, where its results stand.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from jaxlite_ipython.views.canvas import text_width
from jaxlite_ipython.views.layout import (
    CODE_SIZE,
    GAP,
    TEXT_X,
    Box,
    Layout,
    new_box,
    place_ends,
    place_ops,
    rows_of,
    stack,
)
from jaxlite_ipython.views.op_graph import OpGraph
from jaxlite_ipython.views.source_lines import Lane
from jaxlite_ipython.views.words import wrap

__all__ = ["Column", "lay_out_columns"]

HEAD_HEIGHT = 28.0
BETWEEN = 36.0
MAX_NOTE = 40


@dataclass(frozen=True, slots=True)
class Column:
    """One side of the picture, with what stands above it and how wide it may be."""

    side: str
    head: str
    is_up: bool = False
    widest: float = 410.0


def lay_out_columns(graph: OpGraph, columns: Sequence[Column]) -> Layout:
    """Place all boxes of ``graph`` in bands and columns."""
    longest = max([len(lane.text) for lane in graph.lanes], default=20)
    n_chars = min(max(longest, 18), 30)
    at = TEXT_X + text_width("x" * n_chars, CODE_SIZE, mono=True) + 28
    boxes = {id(n): new_box(n, MAX_NOTE) for n in graph.nodes}
    by_place: dict[tuple[int, str], list[Box]] = {}
    for node in graph.ops:
        by_place.setdefault((id(node.lane), node.side), []).append(boxes[id(node)])
    drawn = {key for key, _ in by_place}
    lanes = [lane for lane in graph.lanes if id(lane) in drawn]
    layout = Layout(0.0, HEAD_HEIGHT, at, at, boxes, [], [], [])
    parts = []
    for column in columns:
        part = _Part(graph, boxes, column, lanes, by_place, at)
        parts.append(part)
        layout.heads.append((part.left, part.right, column.head))
        at = part.right + BETWEEN
    layout.right = parts[-1].right
    layout.width = layout.right + 22
    is_tight = len(lanes) > 12
    stack(layout, "inputs", None, _beside([p.top for p in parts]), [], is_tight)
    for k, lane in enumerate(lanes):
        rows = _beside([p.rows[k] for p in parts])
        stack(layout, "line", lane, rows, wrap(lane.text, n_chars, 3), is_tight)
    stack(layout, "outputs", None, _beside([p.bottom for p in parts]), [], is_tight)
    return layout


class _Part:
    """The boxes of one column, placed from left to right."""

    def __init__(
        self,
        graph: OpGraph,
        boxes: dict[int, Box],
        column: Column,
        lanes: Sequence[Lane],
        by_place: dict[tuple[int, str], list[Box]],
        left: float,
    ) -> None:
        self.graph = OpGraph([n for n in graph.nodes if n.side == column.side], graph.lanes, 0, 0.0)
        self.boxes, self.left = boxes, left
        for node in self.graph.nodes:
            boxes[id(node)].is_up = column.is_up and node.kind != "output"
        members = [by_place.get((id(lane), column.side), []) for lane in lanes]
        area = self.area(members, column)
        self.right = left + area
        self.rows = [rows_of(group, area) if group else [] for group in members]
        order = self.rows[::-1] if column.is_up else self.rows
        place_ops(self.graph, boxes, order, left, self.right)
        if column.is_up:  # the first row to run is the lowest
            self.rows = [rows[::-1] for rows in self.rows]
        given, made = self.ends(("input", "constant")), self.ends(("output",))
        self.top, self.bottom = (made, given) if column.is_up else (given, made)

    def area(self, members: Sequence[Sequence[Box]], column: Column) -> float:
        """Return how wide the column has to be, within its limit."""
        widest = 110.0
        for group in members:
            gaps = GAP * max(len(group) - 1, 0)
            notes = [b.overhang for b in group]
            widest = max(widest, sum(b.w for b in group) + gaps + 2 * sum(notes))
        for kinds in (("input", "constant"), ("output",)):
            ends = [box.w + 2 * box.overhang + 14 for box in self.of(kinds)]
            widest = max(widest, sum(ends))
        narrowest = max([b.w + 2 * b.overhang for g in members for b in g], default=0.0)
        return max(min(widest, column.widest), narrowest)

    def of(self, kinds: tuple[str, ...]) -> list[Box]:
        return [self.boxes[id(n)] for n in self.graph.nodes if n.kind in kinds]

    def ends(self, kinds: tuple[str, ...]) -> list[list[Box]]:
        if not self.of(kinds):
            return []
        return place_ends(self.graph, self.boxes, kinds[0], self.left, self.right)


def _beside(parts: Sequence[Sequence[list[Box]]]) -> list[list[Box]]:
    """Return rows across all columns; a column with fewer rows has them in the middle."""
    n_rows = max([len(rows) for rows in parts], default=0)
    padded: list[list[list[Box]]] = []
    for rows in parts:
        above = (n_rows - len(rows)) // 2
        padded.append([[] for _ in range(above)] + list(rows))
    return [
        [box for row in across if row for box in row] for across in itertools.zip_longest(*padded)
    ]
