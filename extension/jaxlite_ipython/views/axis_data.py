"""The axes of a program, line by line. In: an ``AxisTrace``. Out: ``AxisPicture``.

A line shows what it makes, and before that the operations that join, stretch or remove an axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxlite.diagnose.axes import AxisTrace
from jaxlite_ipython.views.costs import label_of
from jaxlite_ipython.views.source_lines import Lane, find_lanes
from jaxlite_ipython.views.words import count

__all__ = ["Axis", "AxisPicture", "Cell", "Row", "Shape", "axis_picture"]

#: Rows of one line that are shown.
MAX_ROWS = 6


@dataclass(slots=True, eq=False)
class Axis:
    """One axis: letter, name ('' if it has none), size, and the named arrays that have it."""

    number: int
    letter: str
    name: str
    size: int
    used_by: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """``a batch``, or ``a``."""
        return f"{self.letter} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class Cell:
    """One axis of one array. ``state``: '', 'joined', 'removed', 'stretched' or 'absent'.

    ``axis`` is None for an axis of size 1.
    """

    axis: Axis | None
    size: int
    state: str = ""

    @property
    def text(self) -> str:
        """``a batch 64``; an axis of size 1 is ``1``."""
        return f"{self.axis.text} {self.size}" if self.axis is not None else str(self.size)


@dataclass(frozen=True, slots=True)
class Shape:
    """An array: its name, axes and dtype."""

    name: str
    cells: tuple[Cell, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a line: arrays, with what stands between them and what it says."""

    kind: str
    arrays: tuple[Shape, ...]
    note: str = ""


@dataclass(slots=True)
class AxisPicture:
    """Everything that a shapes view shows."""

    axes: list[Axis]
    inputs: list[Row]
    lanes: list[tuple[Lane, list[Row]]]
    outputs: list[Row]
    warnings: list[str]


def axis_picture(
    trace: AxisTrace, arg_names: Sequence[str], result_names: Sequence[str], consts: Sequence[str]
) -> AxisPicture:
    """Return the axes, and the rows of inputs, lines and results."""
    return _Builder(trace, arg_names, result_names, consts).build()


def variables_of(forward: Any) -> tuple[list[Lane], list[Lane], dict[Any, str]]:
    """Return lanes, the lane of each equation, and the variable that each last value is."""
    eqns = forward.eqns
    lanes, places = find_lanes(e.source for e in eqns)
    last = {id(p): (p.target, e.outvars[0]) for e, p in zip(eqns, places) if e.outvars}
    return lanes, places, {var: name for name, var in last.values() if name}


class _Builder:
    def __init__(
        self,
        trace: AxisTrace,
        arg_names: Sequence[str],
        result_names: Sequence[str],
        consts: Sequence[str],
    ) -> None:
        self.trace, self.result_names = trace, result_names
        jaxpr = trace.forward.jaxpr
        self.lanes, self.places, variables = variables_of(trace.forward)
        self.names: dict[Any, str] = dict(zip(jaxpr.constvars, consts))
        self.names.update(zip(jaxpr.invars, arg_names))
        self.names.update({v: n for v, n in variables.items() if v not in self.names})
        self.maker = {v: e for e in jaxpr.eqns for v in e.outvars}
        self.reader: dict[Any, Any] = {}
        for eqn in jaxpr.eqns:
            for atom in eqn.invars:
                if not hasattr(atom, "val"):
                    self.reader.setdefault(atom, eqn)
        self.axes: dict[int, Axis] = {}

    def build(self) -> AxisPicture:
        jaxpr = self.trace.forward.jaxpr
        given = [*jaxpr.invars, *jaxpr.constvars]
        inputs = [Row("array", (self.shape(v),)) for v in given]
        rows: dict[int, list[Row]] = {id(lane): [] for lane in self.lanes}
        last: dict[int, Any] = {}
        for k, (eqn, lane) in enumerate(zip(jaxpr.eqns, self.places, strict=True)):
            row = self.row(k, eqn)
            if row is not None and row not in rows[id(lane)]:
                rows[id(lane)].append(row)
            if eqn.outvars and not self.is_constant(eqn):
                last[id(lane)] = eqn.outvars[0]
        lanes = [(lane, self.finish(rows[id(lane)], last.get(id(lane)))) for lane in self.lanes]
        outputs = [
            Row("array", (self.shape(atom, name),))
            for atom, name in zip(jaxpr.outvars, self.result_names)
        ]
        self.note_uses([*inputs, *(r for _, rs in lanes for r in rs if r.kind == "result")])
        return AxisPicture(
            list(self.axes.values()),
            inputs,
            [(lane, found) for lane, found in lanes if found],
            outputs,
            self.warnings(),
        )

    def is_constant(self, eqn: Any) -> bool:
        """Say whether an equation is arithmetic on numbers only."""
        return all(math.prod(v.aval.shape) == 1 for v in (*eqn.invars, *eqn.outvars)) and all(
            hasattr(a, "val") for a in eqn.invars
        )

    def finish(self, rows: list[Row], var: Any) -> list[Row]:
        """Return the rows of a line with its result at the end."""
        more = len(rows) - (MAX_ROWS - 1)
        if more > 0:
            rows = rows[: MAX_ROWS - 1]
        if var is None:
            return rows
        note = f"{count(more, 'more operation')} on this line" if more > 0 else ""
        name = self.names.get(var, "")
        return [*rows, Row("result", (self.shape(var, name or "result"),), note)]

    def note_uses(self, rows: Sequence[Row]) -> None:
        for row in rows:
            for shape in row.arrays:
                for cell in shape.cells:
                    if cell.axis is not None and shape.name not in cell.axis.used_by:
                        cell.axis.used_by.append(shape.name)

    def warnings(self) -> list[str]:
        """Return a sentence for each axis that has two names."""
        texts = []
        for conflict in self.trace.conflicts:
            where = ""
            if conflict.eqn >= 0:
                where = f" ({self.places[conflict.eqn].where})"
            texts.append(f"{conflict.first} and {conflict.second} are one axis here{where}")
        return list(dict.fromkeys(texts))

    # --- arrays ---

    def name(self, atom: Any) -> str:
        """Return what an operand is called: its name, or the operation that made it."""
        if hasattr(atom, "val"):
            return str(atom.val)
        known = self.names.get(atom)
        if known is not None:
            return known
        eqn = self.maker.get(atom)
        while eqn is not None and eqn.primitive.name in _SILENT:
            atom = eqn.invars[0]
            if hasattr(atom, "val"):
                return str(atom.val)
            if atom in self.names:
                return self.names[atom]
            eqn = self.maker.get(atom)
        return label_of(eqn) if eqn is not None else "value"

    def axis(self, number: int, size: int) -> Axis | None:
        """Return an axis with its letter; those of size 1 have none."""
        if size == 1 and not self.trace.name(number):
            return None
        found = self.axes.get(number)
        if found is None:
            k = len(self.axes)
            letter = chr(97 + k % 26) + (str(k // 26) if k >= 26 else "")
            found = self.axes[number] = Axis(number, letter, self.trace.name(number), size)
        return found

    def cells(self, atom: Any, states: Mapping[int, str] | None = None) -> tuple[Cell, ...]:
        axes = self.trace.axes_of(atom)
        return tuple(
            [
                Cell(self.axis(a, size), size, (states or {}).get(a, ""))
                for a, size in zip(axes, atom.aval.shape)
            ]
        )

    def shape(self, atom: Any, name: str = "", states: Mapping[int, str] | None = None) -> Shape:
        dtype = atom.aval.str_short().partition("[")[0]
        return Shape(name or self.name(atom), self.cells(atom, states), dtype)

    # --- operations ---

    def row(self, k: int, eqn: Any) -> Row | None:
        """Return the row of an operation that joins, stretches or removes an axis."""
        name = eqn.primitive.name
        if name == "dot_general":
            joined = [self.trace.find(a) for a in self.trace.joined[k]]
            states = dict.fromkeys(joined, "joined")
            arrays = tuple([self.shape(a, states=states) for a in eqn.invars[:2]])
            return Row("product", arrays, self.sentence(arrays, "joined", "joined"))
        removed = [self.trace.find(a) for a in self.trace.removed.get(k, ())]
        if removed:
            states = dict.fromkeys(removed, "removed")
            arrays = (self.shape(eqn.invars[0], states=states),)
            return Row(
                "reduction",
                arrays,
                self.sentence(arrays, "removed", _VERBS.get(label_of(eqn), "gone")),
            )
        if name == "broadcast_in_dim":
            return self.stretch(k, eqn)
        return None

    def sentence(self, arrays: Sequence[Shape], state: str, verb: str) -> str:
        """Return ``b feature is joined``."""
        cells = [c for c in arrays[0].cells if c.state == state]
        names = [c.axis.text if c.axis is not None else str(c.size) for c in cells]
        if not names:
            return ""
        return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {verb}"

    def stretch(self, k: int, eqn: Any) -> Row | None:
        """Return the aligned boxes of a broadcast that repeats an array along an axis."""
        source, out = eqn.invars[0], eqn.outvars[0]
        if math.prod(source.aval.shape) in (1, math.prod(out.aval.shape)):
            return None
        kept = dict(zip(eqn.params["broadcast_dimensions"], source.aval.shape))
        axes = self.trace.axes_of(out)
        whole, partly = [], []
        for d, (number, size) in enumerate(zip(axes, out.aval.shape)):
            axis = self.axis(number, size)
            whole.append(Cell(axis, size))
            state = "" if kept.get(d) == size else ("stretched" if d in kept else "absent")
            partly.append(Cell(axis, size, state))
        dtype = out.aval.str_short().partition("[")[0]
        along = [c.axis.text for c in partly if c.state and c.axis is not None]
        partner = self.partner(out)
        arrays = (
            Shape(partner, tuple(whole), dtype),
            Shape(self.name(source), tuple(partly), dtype),
        )
        return Row("stretch", arrays, f"{arrays[1].name} is repeated along {' and '.join(along)}")

    def partner(self, var: Any) -> str:
        """Return the name of what a stretched array meets in its first reader."""
        eqn = self.reader.get(var)
        if eqn is None:
            return "result"
        others = [a for a in eqn.invars if a is not var and a.aval.shape == var.aval.shape]
        names = [self.name(a) for a in others]
        words = [n for n in names if n[:1].isalpha()]
        return next(iter(words or names), label_of(eqn))


_VERBS = {"sum": "summed", "prod": "multiplied", "max": "searched for its max"} | {
    "min": "searched for its min"
}
_SILENT = frozenset(
    {"broadcast_in_dim", "convert_element_type", "copy", "copy_p", "stop_gradient", "reshape"}
)
