"""The trace graph: what Python asked for, line by line. In: a traced function. Out: ``TraceView``.

One band per source line with the line's text at the left and its operations at the right; inputs on
top, outputs at the bottom. Large graphs are shown in fewer boxes and say so.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from jaxlite.diagnose.places import CELL_FILE, title_of
from jaxlite_ipython.report import milliseconds
from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.canvas import Canvas
from jaxlite_ipython.views.collapse import LEVELS, collapse, fits
from jaxlite_ipython.views.contract import Field
from jaxlite_ipython.views.dot import LIMIT_S
from jaxlite_ipython.views.lane_dot import lane_dot
from jaxlite_ipython.views.lane_picture import Bar, Panel, draw_lanes
from jaxlite_ipython.views.lane_text import lane_text, op_data
from jaxlite_ipython.views.layout import lay_out
from jaxlite_ipython.views.op_graph import OpGraph, build_graph
from jaxlite_ipython.views.palette import GREEN, PURPLE
from jaxlite_ipython.views.router import LayoutTimeout, route
from jaxlite_ipython.views.source_lines import Lane
from jaxlite_ipython.views.trace_details import MAX_OPS, node_values, operation_fields
from jaxlite_ipython.views.traced import Subject
from jaxlite_ipython.views.words import bytes_text, count, flops_text

__all__ = ["TraceView"]

_SEP = " \N{MIDDLE DOT} "


class TraceView(View):
    """The operations of a function on the lines that asked for them. Made by ``jaxlite.trace``."""

    tab = "Trace"

    def __init__(
        self, subject: Subject, *, leaves: Sequence[Any] = (), limit_s: float = LIMIT_S
    ) -> None:
        super().__init__()
        self.subject = subject
        #: Values of the arguments, for details.
        self._leaves = leaves
        self._limit_s = limit_s
        self._full = self._build(open_calls=True)
        self._stopped = False
        self.level = 0
        self.graph = collapse(self._full, 0)
        while not fits(self.graph) and self._coarser():
            pass

    def _build(self, *, open_calls: bool) -> OpGraph:
        s = self.subject
        return build_graph(
            s.traced.jaxpr, s.arg_names, s.result_names, s.const_names, open_calls=open_calls
        )

    def _coarser(self) -> bool:
        if self.level + 1 >= LEVELS:
            return False
        self.level += 1
        graph = self._full
        if self.level == 2:
            graph = self._build(open_calls=False)
        self.graph = collapse(graph, self.level)
        return True

    # --- facts ---

    @property
    def title(self) -> str:
        """One line: what this shows."""
        return f"Trace of {self.subject.title}: {self.summary}"

    @property
    def summary(self) -> str:
        """Operations, lines, time and, for a large graph, how it is shown."""
        graph = self.graph
        n_lines = len(self._full.lanes)
        facts = [f"{count(graph.n_ops, 'op')} on {count(n_lines, 'line')}"]
        if self.level:
            facts[0] = self._shown_as()
        if graph.flops:
            facts.append(f"\N{ALMOST EQUAL TO} {flops_text(graph.flops)}")
        if self.subject.traced.trace_s:
            facts.append(f"traced in {milliseconds(self.subject.traced.trace_s)}")
        return _SEP.join(facts)

    def _shown_as(self) -> str:
        graph = self.graph
        shown = {
            1: count(len(graph.ops), "box", "boxes"),
            2: count(len(graph.ops), "box", "boxes"),
            3: count(len(graph.lanes), "line"),
            4: f"{count(len(graph.lanes), 'part')} of {count(len(self._full.lanes), 'line')}",
        }[self.level]
        text = f"{count(graph.n_ops, 'op')} shown as {shown}"
        return f"{text} (layout stopped at {self._limit_s:g} s)" if self._stopped else text

    def caption(self, lane: Lane) -> str:
        """Second line of a lane: operations, arithmetic, where it is."""
        facts = [lane.note] if lane.note else []
        facts.append(count(lane.n_ops, "op"))
        if lane.repeats > 1:
            facts.append(f"repeated \N{MULTIPLICATION SIGN}{lane.repeats}")
        if lane.flops:
            facts.append(flops_text(lane.flops))
        own = self.subject.traced.jaxpr.jaxpr.debug_info.file
        if lane.function and not self._is_own(lane):
            title = title_of(lane.file)
            place = "" if lane.file == own else f" of {title or _base(lane.file)}"
            is_cell = lane.function == "cell" and lane.file.startswith(CELL_FILE)
            facts.append(f"in {title}" if is_cell and title else f"in {lane.function}{place}")
        return _SEP.join(facts)

    def _is_own(self, lane: Lane) -> bool:
        info = self.subject.traced.jaxpr.jaxpr.debug_info
        is_part = lane.function == info.function or lane.function.startswith("<")
        return is_part and lane.file == info.file

    @property
    def end_captions(self) -> tuple[str, str]:
        """Second lines of the first and the last band."""
        if self.subject.is_cell:
            return "free names, read when the cell runs", "assigned names, written back"
        has_constants = bool(self._full.of_kind("constant"))
        first = "arguments, and captured arrays" if has_constants else "arguments"
        return first, "what the function returns"

    def panels(self) -> list[Panel]:
        """The strip below the lanes: where the work is, the largest values, what to know."""
        graph = self._full
        lanes = sorted((x for x in graph.lanes if x.flops), key=lambda x: -x.flops)[:3]
        total = graph.flops or 1.0
        work = tuple(
            Bar(lane.text, f"{_percent(lane.flops / total)}", lane.flops / lanes[0].flops)
            for lane in lanes
        )
        ops = [n for n in graph.nodes if n.is_op]
        largest = sorted(ops, key=lambda n: -n.n_bytes)[:3]
        values = tuple(
            Bar(
                f"{n.label} {n.type}",
                bytes_text(n.n_bytes),
                n.n_bytes / max(largest[0].n_bytes, 1.0),
            )
            for n in largest
        )
        return [
            Panel("share of the arithmetic (modelled)", work, () if work else ("none",), GREEN),
            Panel("largest values made", values, () if values else ("none",), PURPLE),
            Panel("in and out", (), tuple(self._in_and_out())),
        ]

    def _in_and_out(self) -> list[str]:
        graph = self._full

        def total(kind: str) -> str:
            return bytes_text(sum(n.n_bytes for n in graph.of_kind(kind)))

        n_in, n_out = len(graph.of_kind("input")), len(graph.of_kind("output"))
        facts = [
            f"{count(n_in, 'input')}, {total('input')}{_SEP}{count(n_out, 'output')}, "
            f"{total('output')}"
        ]
        constants = graph.of_kind("constant")
        if constants:
            names = ", ".join(n.label for n in constants)
            facts.append(f"captured when traced: {names} ({total('constant')})")
        unused = [n.label for n in graph.nodes if not n.is_used]
        if unused:
            facts.append(f"not used: {', '.join(unused)}")
        return facts

    # --- forms ---

    def _text(self) -> str:
        return lane_text(self)

    def data(self) -> dict[str, Any]:
        """Return title, totals, lanes, boxes (with ids as in the SVG) and arrows."""
        graph = self.graph
        places = {id(lane): k for k, lane in enumerate(graph.lanes)}
        return {
            "view": "trace",
            "function": self.subject.title,
            "n_ops": graph.n_ops,
            "flops": graph.flops,
            "trace_s": self.subject.traced.trace_s,
            "level": self.level,
            "lanes": [
                {
                    "line": lane.first,
                    "last_line": lane.last,
                    "file": lane.file,
                    "function": lane.function,
                    "text": lane.text,
                    "n_ops": lane.n_ops,
                    "flops": lane.flops,
                    "repeats": lane.repeats,
                }
                for lane in graph.lanes
            ],
            "nodes": [op_data(n) | {"lane": places.get(id(n.lane))} for n in graph.nodes],
            "edges": [
                {"from": s.id, "to": n.id, "bytes": b}
                for n in graph.nodes
                for s, b in n.reads.items()
            ],
        }

    def payload(self) -> dict[str, Any]:
        """Return what the widget shows; with values and derivatives of a small program."""
        found = super().payload()
        return found | {"data": {**found["data"], "details": self._details()}}

    def _details(self) -> dict[str, list[Field]]:
        graph = self.graph
        if self.level or len(graph.ops) > MAX_OPS:
            return {}
        values = node_values(self.subject, graph, self._leaves)
        return {
            n.id: operation_fields(n, graph, k, values.get(n.id))
            for k, n in enumerate(graph.ops, 1)
        }

    def dot(self) -> str:
        """Return the lanes as DOT text, to be laid out by Graphviz."""
        return lane_dot(self.graph)

    def _draw(self) -> Canvas:
        while True:
            is_last = self.level + 1 >= LEVELS
            deadline = None if is_last else time.perf_counter() + self._limit_s
            layout = lay_out(self.graph)
            try:
                arrows = route(self.graph, layout, deadline)
            except LayoutTimeout:
                self._stopped = True
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
            title=self.subject.title,
            summary=self.summary,
            captions=captions,
            panels=self.panels(),
            prefix=self.prefix,
        )


def _base(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 else "< 1 %"
