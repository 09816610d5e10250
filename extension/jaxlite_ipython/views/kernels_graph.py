"""The fused kernels: what the compiler made. In: a traced function. Out: ``KernelsView``."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import jaxlite
from jaxlite.diagnose.kernel_times import StepTimes, step_times
from jaxlite.diagnose.machine import Machine, machine, measure_again
from jaxlite_ipython.report import milliseconds
from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.canvas import Canvas
from jaxlite_ipython.views.kernel_data import Card, KernelFacts, kernel_facts
from jaxlite_ipython.views.kernel_forms import card_sources
from jaxlite_ipython.views.kernel_gaps import Gap
from jaxlite_ipython.views.kernel_picture import MAX_CARDS, Figure, draw_kernels
from jaxlite_ipython.views.kernel_plot import measured_cards
from jaxlite_ipython.views.kernel_text import card_data, gap_data, kernel_text
from jaxlite_ipython.views.kernel_widget import card_fields, node_data
from jaxlite_ipython.views.lane_dot import quote
from jaxlite_ipython.views.palette import EDGE, FAMILIES
from jaxlite_ipython.views.traced import Subject
from jaxlite_ipython.views.words import bytes_text, count, flops_text, rate_text, time_text

__all__ = ["KernelsView", "Timing", "measure"]

_ABOUT = "\N{ALMOST EQUAL TO} "
MAX_RUNS = 20
#: Kernels up to which each is shown with its source.
MAX_FULL = 14
#: Seconds that measuring may take.
BUDGET_S = 0.3
#: A call that takes longer is not run again for the sake of its kernels.
SLOW_S = 2.0


@dataclass(frozen=True, slots=True)
class Timing:
    """Measured seconds of a whole call: the median and half the distance of the quartiles.

    ``steps`` are the times of its parts, where they can be measured.
    """

    median_s: float
    spread_s: float
    n_runs: int
    steps: StepTimes | None = None


def why_not_measured(subject: Subject, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return why a call is not run to measure it; '' if it can be."""
    leaves = jaxlite.tree_util.tree_leaves((args, kwargs))
    if any(isinstance(leaf, jaxlite.ShapeDtypeStruct) for leaf in leaves):
        return "types without values were given"
    arrays = [x for x in leaves if isinstance(x, np.ndarray | jaxlite.Array)]
    if any(not hasattr(x, "__array__") for x in arrays):
        return "an argument has no value yet"
    if subject.traced.jaxpr.effects:
        return "a run would have effects"
    return "arguments are donated" if subject.traced.donate_argnums else ""


def measure(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Timing:
    """Run a compiled function on concrete arguments: whole calls, then its steps."""
    times: list[float] = []
    jaxlite.block_until_ready(jitted(*args, **kwargs))  # the first call compiles
    stop = time.perf_counter() + BUDGET_S
    while len(times) < MAX_RUNS and (not times or time.perf_counter() < stop):
        start = time.perf_counter()
        jaxlite.block_until_ready(jitted(*args, **kwargs))
        times.append(time.perf_counter() - start)
    low, high = np.quantile(times, (0.25, 0.75))
    median_s, steps = statistics.median(times), None
    if median_s < SLOW_S and _is_on_cpu(args, kwargs) and not jaxlite.config.disable_jit:
        found = jitted.entry_and_datas(*args, **kwargs)
        if found is not None:
            steps = step_times(found[0].compilation, found[1], budget_s=BUDGET_S)
    return Timing(median_s, float(high - low) / 2, len(times), steps)


def _is_on_cpu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether a call runs on the CPU."""
    leaves = jaxlite.tree_util.tree_leaves((args, kwargs))
    arrays: list[Any] = [x for x in leaves if isinstance(x, jaxlite.Array)]
    devices = [d for x in arrays for d in x.devices()] or [jaxlite.devices()[0]]
    return all(d.platform == "cpu" for d in devices)


def compilation_of(subject: Subject) -> tuple[Any, tuple[str, ...]]:
    """Return the compilation of a traced function, and the names of its program's inputs.

    The one that calls use, if there is one: its captured arrays are leading inputs.
    """
    traced = subject.traced
    for entry in getattr(subject.jitted, "entries", ()):
        if entry.traced is traced.jaxpr:
            return entry.compilation, (*subject.const_names, *subject.arg_names)
    return traced.lower().compilation, subject.arg_names


class KernelsView(View):
    """The kernels of a function and why they are not fewer. Made by ``jaxlite.kernels``."""

    tab = "Kernels"

    def __init__(
        self,
        subject: Subject,
        timing: Timing | None = None,
        not_measured: str = "",
        again: Callable[[], Timing] | None = None,
    ) -> None:
        super().__init__()
        self.subject = subject
        self._again = again
        self._not_measured = not_measured or "types without values were given"
        self.compilation, self._names = compilation_of(subject)
        self._take(timing)
        n = len(self.facts.cards)
        self.level = 0 if n <= MAX_FULL else (1 if n <= MAX_CARDS else 2)

    def _take(self, timing: Timing | None) -> None:
        """Make the facts for a measurement."""
        self.timing = timing
        #: Limits of this machine, if there is a time to hold beside them.
        self.machine: Machine | None = machine() if timing else None
        self.facts: KernelFacts = self._facts()
        measured = measured_cards(self.facts.cards, self.machine)
        if any(s.share > 1.05 and s.limit == "arithmetic" for _, s in measured):
            # No cache makes arithmetic faster: the limit was measured on a busy machine.
            again = measure_again()
            reached = max(s.flops_s for _, s in measured)
            self.machine = replace(again, flops_s=max(again.flops_s, reached))
            self.facts = self._facts()

    def act(self, key: str) -> None:
        """Measure again (``m``)."""
        if key == "m" and self._again is not None:
            self._take(self._again())
            self._canvas, self._has_png = None, False

    def _facts(self) -> KernelFacts:
        subject, timing = self.subject, self.timing
        return kernel_facts(
            self.compilation,
            self._names,
            subject.result_names,
            is_cell=subject.is_cell,
            times=timing.steps if timing else None,
            machine=self.machine,
        )

    def _coarser(self) -> bool:
        if self.level >= 2:
            return False
        self.level += 1
        return True

    @property
    def gaps(self) -> list[Gap]:
        """The reasons why kernels are not one."""
        return self.facts.gaps

    @property
    def title(self) -> str:
        """One line: what this shows."""
        return f"Kernels of {self.subject.title}: {self.summary}"

    @property
    def summary(self) -> str:
        """Operations, kernels and compile time."""
        c = self.compilation
        arrow = "\N{RIGHTWARDS ARROW}"
        ops = f"{count(c.n_operations, 'op')} {arrow} {count(c.n_kernels, 'kernel')}"
        n_own = sum(card.kind != "control" for card in self.facts.cards)
        if c.n_kernels > n_own:
            ops += f" ({c.n_kernels - n_own} of them to prepare operands)"
        seconds = sum(c.seconds.values())
        how = ["", ", in brief", f", the {MAX_CARDS} that move most"][self.level]
        return f"{ops}{how} \N{MIDDLE DOT} compiled in {milliseconds(seconds)}"

    def roofline(self) -> tuple[float, str] | None:
        """Return the seconds at this machine's full speed and the limit that binds, if measured.

        Each kernel has a limit of its own; the one that binds is that of the most time.
        """
        if self.machine is None:
            return None
        measured = measured_cards(self.facts.cards, self.machine)
        if measured:
            share: dict[str, float] = {}
            for _, speed in measured:
                share[speed.limit] = share.get(speed.limit, 0.0) + speed.full_speed_s
            return sum(share.values()), max(share, key=lambda k: share[k])
        if not (self.facts.n_bytes or self.facts.flops):
            return None
        return self.machine.roofline(self.facts.n_bytes, self.facts.flops)

    def figures(self) -> list[Figure]:
        """The numbers on top: time, bytes, arithmetic, roofline, suggestions."""
        facts, timing = self.facts, self.timing
        if timing is None:
            figures = [Figure("not measured", self._not_measured)]
        else:
            runs = f"median of {count(timing.n_runs, 'run')}"
            spread = f"\N{PLUS-MINUS SIGN}{time_text(timing.spread_s)}"
            figures = [Figure(f"{time_text(timing.median_s)} a call", f"{runs}, {spread}")]
        unfused = f"op by op: {bytes_text(facts.n_bytes_unfused)}"
        if facts.n_bytes:
            ratio = facts.n_bytes_unfused / facts.n_bytes
            unfused += f" ({ratio:.1f}\N{MULTIPLICATION SIGN})"
        figures.append(Figure(f"{_ABOUT}{bytes_text(facts.n_bytes)} moved", unfused))
        reached = "modelled"
        if timing is not None:
            rate = facts.flops / timing.median_s
            through = facts.n_bytes / timing.median_s
            reached = f"{_ABOUT}{rate_text(rate, 'FLOP/s')}, {rate_text(through, 'B/s')} reached"
        figures.append(Figure(f"{_ABOUT}{flops_text(facts.flops)}", reached))
        if timing is not None and (bound := self.roofline()) is not None:
            full_speed_s, limit = bound
            percent = 100 * full_speed_s / timing.median_s
            share = f"{percent:.2g} %" if percent < 99.5 else "100 %"
            note = f"lower bound {_ABOUT}{time_text(full_speed_s)} ({limit})"
            figures.append(Figure(f"{share} of roofline", note))
        useful = [g for g in facts.gaps if g.has_fix]
        note = f"{count(len(facts.gaps), 'place')} not fused"
        if saved := sum(g.seconds for g in useful):
            note = f"about \N{MINUS SIGN}{time_text(saved)}; {note}"
        figures.append(Figure(count(len(useful), "suggestion"), note))
        return figures

    def outside_s(self) -> float | None:
        """Return the part of a call that is not spent in a kernel, if all were measured."""
        tops = [card.seconds for card in self.facts.cards if not card.depth]
        if self.timing is None or not tops or None in tops:
            return None
        return max(self.timing.median_s - sum(t for t in tops if t is not None), 0.0)

    def _text(self) -> str:
        return kernel_text(self)

    def data(self) -> dict[str, Any]:
        """Return totals, kernels in the order they run, and the reasons between them."""
        c, facts, timing = self.compilation, self.facts, self.timing
        full_speed_s, limit = self.roofline() or (None, None)
        return {
            "view": "kernels",
            "function": self.subject.title,
            "n_ops": c.n_operations,
            "n_kernels": c.n_kernels,
            "compile_s": sum(c.seconds.values()),
            "measured_s": timing.median_s if timing else None,
            "roofline_s": full_speed_s,
            "limit": limit,
            "bytes": facts.n_bytes,
            "bytes_unfused": facts.n_bytes_unfused,
            "flops": facts.flops,
            "outside_s": self.outside_s(),
            "kernels": [card_data(card, self.machine) for card in facts.cards],
            "actions": [{"key": "m", "title": "Measure again"}] if self._again else [],
            "not_fused": [gap_data(gap) for gap in facts.gaps],
            "selected": max(facts.cards, key=_weight).id if facts.cards else None,
            "nodes": [node_data(card) for card in facts.cards],
            "edges": [{"from": g.producer, "to": g.consumer} for g in facts.gaps],
            "details": {card.id: card_fields(card, facts, self.machine) for card in facts.cards},
            "sources": card_sources(facts.cards, c),
        }

    def dot(self) -> str:
        """Return the chain of kernels as DOT text."""
        lines = [
            "digraph jaxlite {",
            'graph [bgcolor=white fontname="Arial"]',
            'node [shape=box style="rounded,filled" fontname="Arial" fontsize=12]',
            f'edge [color="{EDGE}" fontname="Arial" fontsize=10]',
        ]
        for card in self.facts.cards:
            family = FAMILIES[card.family]
            label = quote(f"{card.id} {card.title}\n{card.result}".replace("\n", " - "))
            lines.append(
                f'{card.id} [label={label} fillcolor="{family.fill}" color="{family.stroke}"]'
            )
        for gap in self.facts.gaps:
            edge = f"{gap.producer} -> {gap.consumer}"
            lines.append(f"{edge} [label={quote(gap.code)} tooltip={quote(gap.sentence)}]")
        return "\n".join([*lines, "}", ""])

    def _draw(self) -> Canvas:
        return draw_kernels(
            self.facts,
            level=self.level,
            title=self.subject.title,
            summary=self.summary,
            figures=self.figures(),
            prefix=self.prefix,
            machine=self.machine,
        )


def _weight(card: Card) -> tuple[bool, float, float]:
    """Return how much there is to see of a kernel: code of its own, its time, its bytes."""
    has_code = card.kind not in ("control", "dot", "host")
    return has_code, card.seconds or 0.0, card.n_bytes
