"""Shapes line by line. In: a function and arguments. Out: ``ShapesView``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxlite.diagnose.axes import AxisTrace, trace_axes
from jaxlite_ipython.views.axis_data import (
    AxisPicture,
    Cell,
    Row,
    Shape,
    axis_picture,
    variables_of,
)
from jaxlite_ipython.views.axis_names import known_axes
from jaxlite_ipython.views.axis_picture import draw_axes
from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.canvas import Canvas
from jaxlite_ipython.views.contract import Field
from jaxlite_ipython.views.lane_dot import quote
from jaxlite_ipython.views.source_lines import Lane
from jaxlite_ipython.views.traced import Subject, subject_of
from jaxlite_ipython.views.words import columns, count

__all__ = ["ShapesView", "shapes"]

_SEP = " \N{MIDDLE DOT} "
#: Lines of code that a picture shows.
MAX_LANES = 40


class ShapesView(View):
    """The axes of every line, with their names. Made by ``jaxlite.shapes``."""

    tab = "Shapes"

    def __init__(self, subject: Subject, trace: AxisTrace) -> None:
        super().__init__()
        self.subject, self.trace = subject, trace
        n = len(trace.forward.consts)
        consts = [*subject.const_names, *[f"constant {k + 1}" for k in range(n)]][:n]
        self.picture = axis_picture(trace, subject.arg_names, subject.result_names, consts)

    # --- facts ---

    @property
    def title(self) -> str:
        """One line: what this shows."""
        return f"Shapes of {self.subject.title}: {self.summary}"

    @property
    def summary(self) -> str:
        """Number of axes, how many have names, what is wrong."""
        axes = self.picture.axes
        named = sum(bool(a.name) for a in axes)
        facts = [count(len(axes), "axis", "axes"), f"{named} with a name"]
        if not named and axes:
            facts.append('names: jaxlite.axes(x="batch feature")')
        facts += self.picture.warnings[:2]
        return _SEP.join(facts)

    def caption(self, lane: Lane) -> str:
        """Second line of a lane."""
        own = self.subject.traced.jaxpr.jaxpr.debug_info
        is_own = lane.function == own.function or lane.function.startswith("<")
        return "" if is_own or not lane.function else f"in {lane.function}"

    @property
    def _shown(self) -> AxisPicture:
        """The picture without the lines that are too many."""
        full = self.picture
        if len(full.lanes) <= MAX_LANES:
            return full
        lanes = full.lanes[:MAX_LANES]
        return AxisPicture(full.axes, _fewer(full.inputs), lanes, full.outputs, full.warnings)

    # --- forms ---

    def _text(self) -> str:
        picture = self.picture
        parts = [f"Shapes of {self.subject.title}   {self.summary}"]
        if picture.axes:
            rows = [(a.text, str(a.size), ", ".join(a.used_by)) for a in picture.axes]
            parts.append(f"axes\n{columns(rows, right=[1])}")
        if picture.inputs:
            rows_in = [r.arrays[0] for r in picture.inputs]
            parts.append(f"inputs (arguments)\n{columns([_array_row(a) for a in rows_in])}")
        for lane, lane_rows in picture.lanes:
            head = "  ".join(filter(None, [lane.number, lane.text, self.caption(lane)]))
            parts.append("\n".join([head, *(line for row in lane_rows for line in row_text(row))]))
        outs = columns([_array_row(r.arrays[0]) for r in picture.outputs])
        parts.append(f"outputs (what the function returns)\n{outs}")
        if picture.warnings:
            parts.append("to look at\n" + "\n".join(f"  {w}" for w in picture.warnings))
        return "\n\n".join(parts)

    def data(self) -> dict[str, Any]:
        """Return axes, lines with their rows, and one node per box of the picture."""
        shown = self._shown
        nodes, details = [], {}
        for k, (lane, row, shape, cell) in enumerate(_cells(shown)):
            name = f"c{k + 1}"
            pair = f"axis-{cell.axis.letter}" if cell.axis is not None else ""
            nodes.append(
                {
                    "id": name,
                    "label": f"{shape.name} {cell.text}",
                    "type": shape.dtype,
                    "lane": lane,
                    "line": shown.lanes[lane][0].first if lane is not None else None,
                    "pair": pair,
                    "state": cell.state,
                }
            )
            details[name] = _fields(shape, row, cell)
        return {
            "view": "shapes",
            "function": self.subject.title,
            "axes": [
                {"letter": a.letter, "name": a.name, "size": a.size, "arrays": list(a.used_by)}
                for a in self.picture.axes
            ],
            "lanes": [
                {
                    "line": lane.first,
                    "text": lane.text,
                    "rows": [
                        {
                            "kind": row.kind,
                            "note": row.note,
                            "arrays": [_array_data(a) for a in row.arrays],
                        }
                        for row in rows
                    ],
                }
                for lane, rows in shown.lanes
            ],
            "warnings": list(self.picture.warnings),
            "nodes": nodes,
            "edges": [],
            "details": details,
        }

    def dot(self) -> str:
        """Return one record per line as DOT text."""
        lines = ["digraph jaxlite {", 'node [shape=box fontname="Courier New"]']
        for k, (lane, rows) in enumerate(self.picture.lanes):
            text = "\n".join([lane.text, *(t for row in rows for t in row_text(row))])
            lines.append(f"line{k} [label={quote(text)}]".replace("\n", "\\l"))
            if k:
                lines.append(f"line{k - 1} -> line{k} [style=invis]")
        return "\n".join([*lines, "}", ""])

    def _draw(self) -> Canvas:
        shown = self._shown
        more = len(self.picture.lanes) - len(shown.lanes)
        return draw_axes(
            shown,
            [self.caption(lane) for lane, _ in shown.lanes],
            title=f"Shapes of {self.subject.title}",
            summary=self.summary,
            prefix=self.prefix,
            more=f"{count(more, 'more line')}" if more else "",
        )


def _fewer(rows: Sequence[Row]) -> list[Row]:
    return list(rows[:MAX_LANES])


def _cells(picture: AxisPicture) -> Iterator[tuple[int | None, Row, Shape, Cell]]:
    """Yield every box in the order in which it is drawn, with the lane it is in."""
    groups: list[tuple[int | None, Sequence[Row]]] = [(None, picture.inputs)]
    groups += [(k, rows) for k, (_, rows) in enumerate(picture.lanes)]
    groups.append((None, picture.outputs))
    for lane, rows in groups:
        for row in rows:
            for shape in row.arrays:
                for cell in shape.cells:
                    yield lane, row, shape, cell


def _fields(shape: Shape, row: Row, cell: Cell) -> list[Field]:
    fields: list[Field] = [
        {"title": "array", "big": shape.name, "code": [f"{cells_text(shape)} {shape.dtype}"]}
    ]
    if row.note:
        fields.append({"title": row.kind, "lines": [row.note]})
    if cell.axis is not None:
        used = {"title": f"axis {cell.axis.text}", "lines": [", ".join(cell.axis.used_by)]}
        fields.append({"title": str(used["title"]), "lines": used["lines"]})
    return fields


def _array_data(shape: Shape) -> dict[str, Any]:
    return {
        "name": shape.name,
        "dtype": shape.dtype,
        "axes": [
            {
                "letter": c.axis.letter if c.axis is not None else "",
                "name": c.axis.name if c.axis is not None else "",
                "size": c.size,
                "state": c.state,
            }
            for c in shape.cells
        ],
    }


def cells_text(shape: Shape) -> str:
    """Return ``[a batch 64, b hidden 128]``; a repeated axis is written with a times sign."""
    texts = []
    for cell in shape.cells:
        is_hatched = cell.state in ("stretched", "absent")
        texts.append(f"\N{MULTIPLICATION SIGN} {cell.size}" if is_hatched else cell.text)
    return f"[{', '.join(texts)}]" if texts else "one number"


def _array_row(shape: Shape) -> tuple[str, str, str]:
    return shape.name, cells_text(shape), shape.dtype


def row_text(row: Row) -> list[str]:
    """Return the text lines of a row; the arrays of a broadcast are aligned."""
    if row.kind == "product":
        a, b = row.arrays
        text = f"{a.name} {cells_text(a)} @ {b.name} {cells_text(b)}"
        return [f"    {text}   {row.note}".rstrip()]
    if row.kind == "stretch":
        return _aligned(row)
    array = row.arrays[0]
    mark = "\N{RIGHTWARDS ARROW} " if row.kind == "result" else ""
    return [f"    {mark}{array.name} {cells_text(array)} {array.dtype}   {row.note}".rstrip()]


def _aligned(row: Row) -> list[str]:
    """Return the arrays of a broadcast, axis under axis."""
    texts = []
    for shape in row.arrays:
        cells = []
        for cell in shape.cells:
            is_hatched = cell.state in ("stretched", "absent")
            cells.append(f"\N{MULTIPLICATION SIGN} {cell.size}" if is_hatched else cell.text)
        texts.append((shape.name, cells))
    widths = [max(len(c[k]) for _, c in texts) for k in range(len(texts[0][1]))]
    width = max(len(name) for name, _ in texts)
    lines = [
        f"    {name.ljust(width)} [{', '.join(c.rjust(w) for c, w in zip(cells, widths))}]"
        for name, cells in texts
    ]
    lines[-1] += f"   {row.note}"
    return lines


def shapes(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> ShapesView:
    """Return the axes of ``f``, line by line; nothing is run.

    Axes have the names that ``jaxlite.axes`` gave to arguments and variables; a name follows an
    axis through every operation.

    Args:
      f: a function, or what ``jaxlite.jit`` made of one.
      *args: arrays, numbers and containers of them, or ``ShapeDtypeStruct``.
      **kwargs: the same, by name.

    Raises:
      TypeError: as a call of ``jaxlite.jit(f)``.
      ValueError: ``jaxlite.axes`` names more or fewer axes than an array has.

    >>> import jaxlite, jaxlite.numpy as jnp
    >>> with jaxlite.axes(x="batch feature"):
    ...     view = jaxlite.shapes(lambda x, w: x @ w, jnp.ones((4, 3)), jnp.ones((3, 2)))
    >>> [(axis["name"], axis["arrays"]) for axis in view.data()["axes"]]
    [('batch', ['x', 'result']), ('feature', ['x', 'w']), ('', ['w', 'result'])]
    """
    subject = subject_of(f, args, kwargs)
    known = known_axes()
    avals = subject.traced.jaxpr.in_avals
    names: dict[int, Sequence[str]] = {}
    for number, (name, aval) in enumerate(zip(subject.arg_names, avals, strict=True)):
        if name in known:
            names[number] = _fitting(name, known[name], aval)
    plain = trace_axes(subject.traced.jaxpr, names)
    _, _, variables = variables_of(plain.forward)
    later = {
        var: _fitting(name, known[name], var.aval)
        for var, name in variables.items()
        if name in known and name not in subject.arg_names
    }
    trace = plain if not later else trace_axes(plain.forward, names, later)
    return ShapesView(subject, trace)


def _fitting(name: str, words: Sequence[str], aval: Any) -> Sequence[str]:
    """Return the names of an array's axes.

    Raises:
      ValueError: they are too many or too few.
    """
    if len(words) == len(aval.shape):
        return words
    has = count(len(aval.shape), "axis", "axes")
    fitting = " ".join([*words, *"_" * len(aval.shape)][: len(aval.shape)])
    raise ValueError(
        f"jaxlite.axes names {len(words)} of {name} ({' '.join(w or '_' for w in words)}), but "
        f"{name} is {aval.str_short()} and has {has}.\n"
        f"  Fix: jaxlite.axes({name}={fitting!r})"
    )
