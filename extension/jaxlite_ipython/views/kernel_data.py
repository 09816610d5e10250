"""The kernels of a function as records. In: a ``Compilation`` and names. Out: cards, gaps.

A card is a fusion group: one kernel, library call, call of Python, or loop. A ``Gap`` is why two of
them are not one. Everything is read from ``jaxlite.stages`` data; nothing is compiled here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxlite.diagnose.machine import Machine
from jaxlite_ipython.views.costs import family_of, flops_of, label_of, role_of
from jaxlite_ipython.views.kernel_gaps import Gap, GapReader
from jaxlite_ipython.views.kernel_origin import Origins, ops_of, origins
from jaxlite_ipython.views.kernel_source import (
    assign,
    buffer_names,
    inner_names,
    inner_steps,
    source_text,
)
from jaxlite_ipython.views.op_graph import aval_bytes
from jaxlite_ipython.views.source_lines import Lane, find_lanes

__all__ = ["Card", "KernelFacts", "kernel_facts", "loop_nest"]

_TITLES = {
    "loop": "elementwise",
    "reduce": "reduction",
    "row": "row by row",
    "cumulative": "running result",
    "scatter": "scatter",
    "update": "update of a slice",
    "dot": "matrix product",
    "host": "Python (NumPy)",
    "control": "control flow",
}
_FAMILIES = {
    "loop": "elementwise",
    "reduce": "reduction",
    "row": "reduction",
    "cumulative": "reduction",
    "scatter": "indexing",
    "update": "indexing",
    "dot": "matmul",
    "host": "other",
    "control": "loop or call",
}
#: Equations that say nothing about what a kernel does.
_QUIET = frozenset({"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy"})


@dataclass(slots=True, eq=False)
class Card:
    """One kernel (or loop): ``source`` is a loop nest, ``n_bytes`` and ``flops`` are modelled.

    ``seconds`` (and half the distance of the quartiles) are measured, None if it was not.
    """

    id: str
    title: str
    family: str
    kind: str
    chips: list[tuple[str, str]]
    result: str
    reads: list[tuple[str, str, float]]
    stores: list[tuple[str, str, float]]
    n_bytes: float
    flops: float
    lanes: list[Lane]
    source: str = ""
    n_steps: int = 0
    depth: int = 0
    seconds: float | None = None
    spread_s: float = 0.0
    steps: list[Any] = field(default_factory=list)
    #: The user's names of the buffers, and for each line of ``source`` the place of its lane.
    buffers: dict[str, str] = field(default_factory=dict)
    origins: Origins = field(default_factory=Origins)


@dataclass(slots=True)
class KernelFacts:
    """All cards in the order they run, the gaps between them, totals."""

    cards: list[Card]
    gaps: list[Gap]
    n_bytes: float
    n_bytes_unfused: float
    flops: float
    notes: list[str] = field(default_factory=list)

    def before(self, card: Card) -> list[Gap]:
        """Return the gaps that end at ``card``."""
        return [g for g in self.gaps if g.consumer == card.id]


def kernel_facts(
    compilation: Any,
    arg_names: Sequence[str],
    result_names: Sequence[str],
    *,
    is_cell: bool,
    times: Any = None,
    machine: Machine | None = None,
) -> KernelFacts:
    """Return the cards and gaps of a compilation; ``times`` are the ``StepTimes`` of a run."""
    reader = _Reader(GapReader(is_cell, machine))
    jaxpr = compilation.optimised.jaxpr
    names = dict(zip(jaxpr.invars, arg_names))
    reader.read(
        compilation.plan, list(compilation.program.steps), names, list(result_names), 0, 1.0
    )
    cards = reader.cards
    if times is not None:
        for card in cards:
            card.seconds, card.spread_s = times.of(card.steps) or (None, 0.0)
    own = [c for c in cards if c.kind != "control"]
    return KernelFacts(
        cards,
        reader.gaps,
        sum(c.n_bytes for c in own),
        unfused_bytes(compilation.jaxpr.jaxpr),
        sum(c.flops for c in own),
    )


def unfused_bytes(jaxpr: Any) -> float:
    """Return the bytes that go to and from memory if every operation is a kernel of its own."""
    total = 0.0
    for eqn in jaxpr.eqns:
        role = role_of(eqn)
        if not role:
            total += sum(aval_bytes(a.aval) for a in eqn.invars if not hasattr(a, "val"))
            total += sum(aval_bytes(v.aval) for v in eqn.outvars)
            continue
        inner = [unfused_bytes(getattr(j, "jaxpr", j)) for j in _bodies(eqn)]
        times = float(eqn.params["length"]) if role == "scan" else 1.0
        total += times * (max(inner, default=0.0) if role == "cond" else sum(inner))
    return total


def _bodies(eqn: Any) -> list[Any]:
    """Return the jaxprs of an equation that are run (of a call only its body)."""
    if role_of(eqn) == "call":
        return [eqn.params[eqn.primitive.call_param]]
    found: list[Any] = []
    for value in eqn.params.values():
        items = value if isinstance(value, tuple | list) else (value,)
        found += [item for item in items if hasattr(item, "eqns")]
    return found


class _Reader:
    def __init__(self, gap_reader: GapReader) -> None:
        self.gap_reader = gap_reader
        self.cards: list[Card] = []
        self.gaps: list[Gap] = []
        self.buffers: dict[str, str] = {}
        self.n_kernels = 0
        self.n_loops = 0

    def read(
        self,
        plan: Any,
        steps: list[Any],
        names: dict[Any, str],
        result_names: list[str],
        depth: int,
        times: float,
    ) -> None:
        """Add the cards of one plan, those of the bodies of loops behind their loop."""
        jaxpr = plan.closed.jaxpr
        names = {**_value_names(jaxpr, result_names), **names}
        if not depth:
            self.buffers = buffer_names(jaxpr, names)
        groups = list(plan.groups)
        owned = assign(groups, steps)
        ids: list[str] = []
        for group, own in zip(groups, owned, strict=True):
            card = self.card(group, own, names, depth, times)
            ids.append(card.id)
            self.cards.append(card)
            if group.kind == "control":
                self.read_inner(group, own, names, depth + 1, times)
        outputs = {v for v in jaxpr.outvars if not hasattr(v, "val")}
        self.gaps += self.gap_reader.gaps(plan, ids, names, outputs)

    def read_inner(
        self, group: Any, steps: list[Any], names: dict[Any, str], depth: int, times: float
    ) -> None:
        """Add the cards of a loop's body or a branch's cases."""
        (eqn,) = group.eqns
        n = times * float(eqn.params["length"]) if role_of(eqn) == "scan" else times
        bodies = inner_steps(steps, len(group.inner), eqn)
        keys = [k for k in eqn.params if k in ("cond_jaxpr", "body_jaxpr")]
        for k, (plan, body) in enumerate(zip(group.inner, bodies, strict=True)):
            given = inner_names(eqn, keys[k] if keys else "", names)
            self.read(plan, body, dict(zip(plan.closed.jaxpr.invars, given)), [], depth, n)

    def card(
        self, group: Any, steps: list[Any], names: dict[Any, str], depth: int, times: float
    ) -> Card:
        """Return the card of one group."""
        if group.kind == "control":
            self.n_loops += 1
            number = f"L{self.n_loops - 1}"
        else:
            self.n_kernels += 1
            number = f"K{self.n_kernels - 1}"
        reads = [_value(v, names) for v in group.ins]
        buffers = self.buffers if not depth else {}
        stores = [_value(v, names) for v in group.outs]
        outs = [v.aval for v in group.outs]
        title = _TITLES.get(group.kind, group.kind)
        if group.kind == "control":
            title = label_of(group.eqns[0])
        named = [n for n, _, _ in stores if not n.startswith("(")]
        eqns = [e for e in group.eqns if e.source is not None]
        lanes, places = find_lanes(e.source for e in eqns)
        numbers = {id(lane): k for k, lane in enumerate(lanes)}
        ops = ops_of(eqns, [numbers[id(lane)] for lane in places])
        source = source_text(steps, buffers)
        is_control = group.kind == "control"
        return Card(
            number,
            f"{', '.join(named)}: {title}" if named else title,
            _FAMILIES.get(group.kind, "other"),
            group.kind,
            _chips(group),
            _result_text(outs),
            reads,
            stores,
            0.0 if is_control else times * sum(b for *_, b in (*reads, *stores)),
            0.0 if is_control else times * sum(map(flops_of, group.eqns)),
            lanes,
            source,
            sum(hasattr(s, "kernel") or hasattr(s, "routine") for s in steps),
            depth,
            steps=steps,
            buffers=buffers,
            origins=origins(source.split("\n"), ops),
        )


def _value(var: Any, names: dict[Any, str]) -> tuple[str, str, float]:
    return names.get(var, "(intermediate)"), var.aval.str_short(), aval_bytes(var.aval)


def _result_text(avals: list[Any]) -> str:
    texts = [a.str_short() for a in avals]
    if not texts:
        return "no result"
    if len(set(texts)) == 1:
        many = f"{len(texts)} \N{MULTIPLICATION SIGN} " if len(texts) > 1 else ""
        return f"{many}{texts[0]}"
    return f"{texts[0]} +{len(texts) - 1}"


def _chips(group: Any) -> list[tuple[str, str]]:
    """Return label and family of the operations in a kernel, runs of the same one once."""
    eqns = [e for e in group.eqns if e.primitive.name not in _QUIET] or list(group.eqns)
    chips: list[tuple[str, str]] = []
    for eqn in eqns:
        chip = (label_of(eqn), family_of(eqn))
        if not chips or chips[-1] != chip:
            chips.append(chip)
    return chips


def _value_names(jaxpr: Any, result_names: list[str]) -> dict[Any, str]:
    """Name values as the user does: by the assignment on their line, or as a result."""
    names: dict[Any, str] = {}
    lanes, places = find_lanes(e.source for e in jaxpr.eqns)
    last = {id(lane): eqn for eqn, lane in zip(jaxpr.eqns, places, strict=True)}
    for lane in lanes:
        eqn = last[id(lane)]
        if lane.target and lane.function != "<lambda>" and len(eqn.outvars) == 1:
            names[eqn.outvars[0]] = lane.target
    for atom, name in zip(jaxpr.outvars, result_names):
        if not hasattr(atom, "val"):
            names.setdefault(atom, name)
    for eqn in jaxpr.eqns:
        for var in eqn.outvars:
            names.setdefault(var, f"({label_of(eqn)})")
    return names


def loop_nest(card: Card) -> list[str]:
    """Return the lines of the source."""
    return card.source.split("\n") if card.source else ["(no kernel of its own)"]
