"""The gradient graph. In: both passes as boxes. Out: ``GradView``, both on the same lines.

Forward left and down, backward right and up; between them the values that are saved for the
backward pass, with their bytes.
"""

from __future__ import annotations

import time
from typing import Any

from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.canvas import Canvas
from jaxlite_ipython.views.collapse import MAX_LANES, join_ends, join_lanes, one_box_per_line
from jaxlite_ipython.views.column_data import column_data, node_field, partner_field
from jaxlite_ipython.views.column_layout import Column, lay_out_columns
from jaxlite_ipython.views.contract import Field
from jaxlite_ipython.views.dot import LIMIT_S
from jaxlite_ipython.views.grad_data import GradientPicture, SavedFact
from jaxlite_ipython.views.grad_text import MAX_SAVED, grad_text, input_row, recompute_text
from jaxlite_ipython.views.lane_dot import lane_dot
from jaxlite_ipython.views.lane_picture import Bar, Panel, draw_lanes
from jaxlite_ipython.views.op_graph import Node
from jaxlite_ipython.views.palette import GREEN, ORANGE
from jaxlite_ipython.views.router import LayoutTimeout, route
from jaxlite_ipython.views.source_lines import Lane
from jaxlite_ipython.views.traced import Subject
from jaxlite_ipython.views.words import bytes_text, count, short

__all__ = ["GradView"]

_SEP = " \N{MIDDLE DOT} "
#: Boxes of both passes up to which a picture shows every operation.
MAX_BOXES = 110
COLUMNS = (
    Column("", "forward \N{DOWNWARDS ARROW}"),
    Column("saved", "saved", widest=236.0),
    Column("backward", "backward \N{UPWARDS ARROW}", is_up=True, widest=500.0),
)
SIDES = {"": "forward", "saved": "saved", "backward": "backward"}
KEY = "dashed orange: saved for the backward pass"


class GradView(View):
    """Both passes of a gradient, linked line by line. Made by ``jaxlite.grad_graph``."""

    tab = "Gradient"

    def __init__(
        self, subject: Subject, picture: GradientPicture, *, limit_s: float = LIMIT_S
    ) -> None:
        super().__init__()
        self.subject, self.picture = subject, picture
        self._limit_s = limit_s
        self.level = 0
        self.graph = join_ends(picture.graph)
        while not self._fits() and self._coarser():
            pass

    def _fits(self) -> bool:
        return len(self.graph.ops) <= MAX_BOXES and len(self.graph.lanes) <= MAX_LANES

    def _coarser(self) -> bool:
        """Show one box per line and pass, then one per run of lines."""
        if self.level >= 2:
            return False
        self.level += 1
        graph = one_box_per_line(self.picture.graph)
        self.graph = join_ends(join_lanes(graph) if self.level == 2 else graph, 7)
        return True

    # --- facts ---

    @property
    def title(self) -> str:
        """One line: what this shows."""
        return f"Gradient of {self.subject.title}: {self.summary}"

    @property
    def summary(self) -> str:
        """Operations of both passes, what is saved, what is wrong."""
        full = self.picture.graph
        facts = [
            f"d {self.picture.result}",
            f"{count(full.n_ops, 'op')} forward, {self.picture.n_backward:,} backward",
            self.saved_summary,
        ]
        if self.level:
            n = len(self.graph.lanes)
            of = f" of {count(len(full.lanes), 'line')}" if self.level == 2 else ""
            facts[1] += f" shown as {count(n, 'part' if self.level == 2 else 'line')}{of}"
        facts += self.picture.alerts[:2]
        return _SEP.join(facts)

    @property
    def made(self) -> list[SavedFact]:
        """The saved values that the forward pass makes, largest first."""
        return sorted((s for s in self.picture.saved if not s.is_given), key=lambda s: -s.n_bytes)

    @property
    def saved_summary(self) -> str:
        """Total of the saved values, and the largest."""
        made = self.made
        total = sum(s.n_bytes for s in made)
        if not total:
            return "nothing saved for backward"
        text = f"saved for backward: {bytes_text(total)}"
        if len(made) > 1:
            text += f", {short(made[0].text, 24)} is {100 * made[0].n_bytes / total:.0f} %"
        return text

    def caption(self, lane: Lane) -> str:
        """Second line of a lane: operations of both passes."""
        facts = [lane.note] if lane.note else []
        n_back = sum(n.n_ops for n in self.graph.ops if n.side == "backward" and n.lane is lane)
        facts.append(f"{count(lane.n_ops, 'op')} forward, {n_back} backward")
        own = self.subject.traced.jaxpr.jaxpr.debug_info
        if lane.function and lane.function != own.function and not lane.function.startswith("<"):
            facts.append(f"in {lane.function}")
        return _SEP.join(facts)

    @property
    def end_captions(self) -> tuple[str, str]:
        """Second lines of the first and the last band."""
        return "and their gradients", f"backward starts at {self.picture.result}"

    def panels(self) -> list[Panel]:
        """The strip below the lanes: saved bytes, what recomputing them would cost, gradients."""
        made = self.made
        total = sum(s.n_bytes for s in made) or 1.0
        bars = tuple(
            Bar(
                s.text,
                f"{bytes_text(s.n_bytes)}{_SEP}{100 * s.n_bytes / total:.0f} %",
                s.n_bytes / total,
            )
            for s in made[:3]
        )
        size = bytes_text(sum(s.n_bytes for s in made))
        instead = tuple(f"{short(s.text, 24)}: {recompute_text(s)}" for s in made[:3])
        rows = [": ".join(filter(None, input_row(f))) for f in self.picture.inputs]
        more = [f"and {len(rows) - 2} more, see the text"] if len(rows) > 3 else []
        return [
            Panel(f"saved for backward: {size}", bars, () if bars else ("nothing",), ORANGE),
            Panel("recompute instead", (), instead or ("nothing to recompute",), GREEN),
            Panel("gradients", (), (*(rows[:2] if more else rows), *more), GREEN),
        ]

    # --- forms ---

    def _text(self) -> str:
        return grad_text(self)

    def data(self) -> dict[str, Any]:
        """Return boxes of both passes with partners, saved values, inputs and arrows."""
        graph, picture = self.graph, self.picture
        return {
            "view": "grad_graph",
            "function": self.subject.title,
            "result": picture.result,
            "n_forward": picture.graph.n_ops,
            "n_backward": picture.n_backward,
            "backward_flops": picture.backward_flops,
            "level": self.level,
            "alerts": list(picture.alerts),
            **column_data(graph, SIDES),
            "details": {n.id: self._details(n) for n in graph.nodes},
            "filters": [
                {"key": key, "title": f"Hide {side}", "css": f"jxl-{side}"}
                for key, side in (("f", "forward"), ("b", "backward"))
            ],
            "saved": [
                {
                    "value": s.text,
                    "type": s.type,
                    "bytes": s.n_bytes,
                    "line": s.lane.first if s.lane else None,
                    "is_argument": s.is_given,
                    "recompute_flops": s.recompute_flops,
                }
                for s in sorted(picture.saved, key=lambda s: -s.n_bytes)[:MAX_SAVED]
            ],
            "inputs": [
                {
                    "name": f.name,
                    "type": f.type,
                    "no_gradient": f.reason,
                    "norm": f.norm,
                    "check": f.check_text,
                }
                for f in picture.inputs
            ],
        }

    def _details(self, node: Node) -> list[Field]:
        """Return the fields of the widget's strip for one box."""
        fields = [node_field(node, SIDES[node.side])]
        if node.side == "backward" and node.detail:
            fields.append({"title": "rule", "code": node.detail.split("; ")})
        if node.gauge is not None:
            fields.append({"title": "gradient", "bars": [("norm", node.gauge[1], node.gauge[0])]})
        here = [s for s in self.picture.saved if s.lane is node.lane]
        kept = [s for s in here if short(s.text, 24) == node.label]
        if node.side == "saved" and kept:
            costs = ["an argument: kept anyway" if s.is_given else recompute_text(s) for s in kept]
            fields.append({"title": "recompute instead", "lines": costs})
        partners = partner_field(node, self.graph, SIDES)
        return [*fields, partners] if partners is not None else fields

    def dot(self) -> str:
        """Return the lanes of both passes as DOT text, to be laid out by Graphviz."""
        return lane_dot(self.graph)

    def _draw(self) -> Canvas:
        while True:
            is_last = self.level >= 2
            deadline = None if is_last else time.perf_counter() + self._limit_s
            layout = lay_out_columns(self.graph, COLUMNS)
            try:
                arrows = route(self.graph, layout, deadline)
            except LayoutTimeout:
                self._coarser()
                continue
            break
        ends = self.end_captions
        captions = [
            self.caption(band.lane) if band.lane else ends[band.kind == "outputs"]
            for band in layout.bands
        ]
        return draw_lanes(
            self.graph,
            layout,
            arrows,
            title=f"Gradient of {self.subject.title}",
            summary=self.summary,
            captions=captions,
            panels=self.panels(),
            prefix=self.prefix,
            key=KEY,
        )
