"""Why two kernels are not one. In: a plan's barriers, names, cards. Out: ``Gap`` records.

A gap says what stops fusion, what it costs (bytes, and time on a machine whose limits are known),
and one edit to make, or that there is nothing to do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.machine import Machine
from jaxlite_ipython.views.costs import flops_of, label_of
from jaxlite_ipython.views.op_graph import aval_bytes
from jaxlite_ipython.views.words import bytes_text, time_text

__all__ = ["NOTHING", "Gap", "GapReader"]

NOTHING = "Nothing to do."
_ABOUT = "\N{ALMOST EQUAL TO} "


@dataclass(frozen=True, slots=True)
class Gap:
    """Why two cards are two kernels (``producer``, ``consumer``), what it costs, what to do.

    ``seconds`` is what storing and reading again takes at full speed, 0 if nobody knows.
    """

    code: str
    producer: str
    consumer: str
    sentence: str
    cost: str
    fix: str
    n_bytes: float
    seconds: float = 0.0

    @property
    def has_fix(self) -> bool:
        """Whether the user can do something."""
        return self.fix != NOTHING


@dataclass(frozen=True, slots=True)
class GapReader:
    """Reads barriers. ``machine`` gives times to the bytes, if its limits are known."""

    is_cell: bool
    machine: Machine | None = None

    def gaps(
        self, plan: Any, ids: Sequence[str], names: Mapping[Any, str], outputs: set[Any]
    ) -> Iterator[Gap]:
        """Yield one gap per reason between two groups; values with the same reason share it."""
        grouped: dict[tuple[str, int, int, str], list[Any]] = {}
        for b in plan.barriers:
            grouped.setdefault((b.reason, b.producer, b.consumer, b.detail), []).append(b.var)
        for (reason, producer, consumer, detail), members in grouped.items():
            values = [_spoken(names.get(v, "")) for v in members]
            named = ", ".join(dict.fromkeys(n for n in values if n and not n.startswith("(")))
            before, after = plan.groups[producer], plan.groups[consumer]
            if before.kind == "control":
                detail = f"{label_of(before.eqns[0])} leaves its results in memory."
            n_bytes = sum(aval_bytes(v.aval) for v in members)
            seconds = 2 * n_bytes / self.machine.copy_bytes_s if self.machine else 0.0
            free = [v for v in members if v in outputs]
            sentence, cost = _sentence(named, detail), self.stored(n_bytes, seconds)
            n_reads = _reads(after, members[0]) if reason == "reuse" else 1
            if n_reads > 1:
                sentence = f"{label_of(after.eqns[0])} reads each {named or 'value'} {n_reads:,} "
                sentence += "times."
                cost = f"{self.repeated(before, n_reads)}; {cost}"
            yield Gap(
                reason,
                ids[producer],
                ids[consumer],
                sentence,
                cost[0].upper() + cost[1:],
                _fix(reason, [_spoken(names.get(v, "it")) for v in free], self.is_cell),
                n_bytes,
                seconds,
            )

    def stored(self, n_bytes: float, seconds: float) -> str:
        """Return the cost of a value that goes through memory."""
        time = f" ({_ABOUT}{time_text(seconds)})" if seconds >= 1e-7 else ""
        return f"{bytes_text(n_bytes)} stored, then read again{time}."

    def repeated(self, producer: Any, n_reads: int) -> str:
        """Return the cost of computing a value once per read."""
        text = f"fused, it would be computed {n_reads:,} times"
        flops = sum(map(flops_of, producer.eqns)) * (n_reads - 1)
        if self.machine is None or not flops:
            return text
        return f"{text}, {_ABOUT}+{time_text(flops / self.machine.flops_s)} at best"


def _reads(group: Any, var: Any) -> int:
    """Return how often a matrix product reads each element of an operand."""
    eqn = group.eqns[0]
    if len(group.eqns) != 1 or eqn.primitive.name != "dot_general" or len(eqn.invars) != 2:
        return 1
    contracted, batch = eqn.params["dimension_numbers"]
    sides = [k for k in (0, 1) if eqn.invars[k] is var]
    if len(sides) != 1:
        return 1
    other = 1 - sides[0]
    taken = {*contracted[other], *batch[other]}
    shape = eqn.invars[other].aval.shape
    return math.prod(n for k, n in enumerate(shape) if k not in taken)


def _spoken(name: str) -> str:
    """Return a name as it stands in a sentence: ``result [0]`` for the first of a tuple."""
    return f"result {name}" if name.startswith("[") else name


def _sentence(named: str, detail: str) -> str:
    text = _plain(detail)
    if not named:
        return text
    return named + text.removeprefix("it") if text.startswith("it is ") else f"{named}: {text}"


def _plain(detail: str) -> str:
    """Return the engine's sentence with operations named as on the chips."""
    words = detail.split(" ")
    first = {"dot_general": "dot", "select_n": "where"}.get(words[0], words[0])
    first = first.removeprefix("reduce_") if first.startswith("reduce_") else first
    text = " ".join([first, *words[1:]])
    return text if text.endswith(".") else f"{text}."


def _fix(reason: str, outputs: list[str], is_cell: bool) -> str:
    """Return an edit that makes the reason go away, if the user can make one."""
    if reason != "output" or not outputs:
        return NOTHING
    name = outputs[0]
    if is_cell and name.isidentifier():
        return f"Fix: if nobody needs it, name it _{name}."
    return f"Fix: if nobody needs it, do not return {name}."
