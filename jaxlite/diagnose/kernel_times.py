"""How long each step of a program takes. In: a compilation and arrays. Out: seconds per step.

The same program is compiled once more with a look at the clock between its steps. What a look costs
is measured in the same run and taken off. The numbers a user gets are not made by this program.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.kernel_ir.program import Branch, HostCall, Loop, Step
from jaxlite.runtime import cpu

__all__ = ["StepTimes", "step_times"]

MAX_RUNS = 20
#: Turns of a loop up to which the clock is read inside it too.
MAX_TURNS = 64


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Measured seconds of the steps of one call: median and half the distance of the quartiles.

    Steps are found by identity; those inside long loops are missing.
    """

    median_s: Mapping[int, float]
    spread_s: Mapping[int, float]
    n_runs: int

    def of(self, steps: Sequence[Any]) -> tuple[float, float] | None:
        """Return median and spread of some steps together, None if one was not measured."""
        keys = [id(s) for s in steps]
        if not keys or any(k not in self.median_s for k in keys):
            return None
        return sum(self.median_s[k] for k in keys), sum(self.spread_s[k] for k in keys)


@dataclass(slots=True, eq=False)
class _Clock:
    """Stands in a program for a primitive: notes when it is reached."""

    name: str = "clock"
    reached: list[tuple[int, float]] = field(default_factory=list)

    def impl(self, _xp: Any, *, at: int) -> tuple[()]:
        self.reached.append((at, time.perf_counter()))
        return ()


def step_times(
    compilation: Any, arrays: Sequence[np.ndarray[Any, Any]], *, budget_s: float = 0.3
) -> StepTimes:
    """Run the program of ``compilation`` on ``arrays`` up to 20 times and time its steps.

    Args:
      compilation: what ``jit`` made for the CPU, see ``jaxlite.stages``.
      arrays: the arrays a call hands over, captured ones first; they are not changed.
      budget_s: seconds after which no new run begins.

    >>> import jaxlite, numpy as np
    >>> compilation = jaxlite.jit(lambda x: x * 2.0).lower(np.ones(8, np.float32)).compilation
    >>> times = step_times(compilation, [np.ones(8, np.float32)])
    >>> times.of(compilation.program.steps)[0] >= 0
    True
    """
    # Looks inside a loop would make the loop itself slower: two programs.
    outer = _measured(_Timed(is_inside=False), compilation, tuple(arrays), budget_s)
    inside = _Timed(is_inside=True)
    if not inside.has_inside(compilation.program.steps):
        return outer
    inner = _measured(inside, compilation, tuple(arrays), budget_s)
    return StepTimes(
        {**inner.median_s, **outer.median_s}, {**inner.spread_s, **outer.spread_s}, outer.n_runs
    )


def _measured(
    timed: _Timed, compilation: Any, datas: tuple[np.ndarray[Any, Any], ...], budget_s: float
) -> StepTimes:
    """Return the times that the looks of one program found."""
    program = compilation.program
    # Two looks in a row: their distance is what one look costs.
    steps = (timed.look(0), timed.look(1), *timed.steps(program.steps, 1.0))
    program = replace(program, name=f"{program.name}_timed", steps=steps)
    target = cpu.host_target()
    executable = cpu.load(emit_llvm(program, target), program, compilation.consts)
    reached = timed.clock.reached
    executable.run(datas)
    cpu.compiler().background.wait()  # as later calls run: with the careful code
    runs: list[dict[int, float]] = []
    stop = time.perf_counter() + budget_s
    while len(runs) < MAX_RUNS and (not runs or time.perf_counter() < stop):
        reached.clear()
        executable.run(datas)
        runs.append(timed.seconds(reached))
    keys = {k for run in runs for k in run}
    table = {k: [run.get(k, 0.0) for run in runs] for k in keys}
    quartiles = {k: np.quantile(v, (0.25, 0.5, 0.75)) for k, v in table.items()}
    return StepTimes(
        {k: float(q[1]) for k, q in quartiles.items()},
        {k: float(q[2] - q[0]) / 2 for k, q in quartiles.items()},
        len(runs),
    )


class _Timed:
    """Puts looks at the clock between steps, and reads what they noted."""

    def __init__(self, *, is_inside: bool) -> None:
        self.is_inside = is_inside
        self.clock = _Clock()
        self.n_looks = 2
        #: Number of a look -> (the step that begins there, or None; its loops' looks end it).
        self.begins: dict[int, int] = {}
        self.ends: dict[int, int] = {}

    def look(self, number: int) -> HostCall:
        """Return a step that notes the time under a number."""
        return HostCall(self.clock, (("at", number),), (), ())

    def steps(self, steps: Sequence[Step], turns: float) -> tuple[Step, ...]:
        """Return the steps with a look before and after each."""
        result: list[Step] = []
        for step in steps:
            begin, end = self.n_looks, self.n_looks + 1
            self.n_looks += 2
            self.begins[begin] = self.ends[end] = id(step)
            result += [self.look(begin), self.inside(step, turns), self.look(end)]
        return tuple(result)

    def has_inside(self, steps: Sequence[Step]) -> bool:
        """Say whether some step has looks inside."""
        return any(self.inside(s, 1.0) is not s for s in steps)

    def inside(self, step: Step, turns: float) -> Step:
        """Return the step with looks inside, if it runs few times."""
        match step:
            case _ if not self.is_inside:
                return step
            case Loop(trip=trip, body=body) if trip * turns <= MAX_TURNS:
                return replace(step, body=self.steps(body, trip * turns))
            case Branch(branches=branches):
                return replace(step, branches=tuple(self.steps(b, turns) for b in branches))
            case _:
                return step  # a `while` is timed as a whole

    def seconds(self, reached: Sequence[tuple[int, float]]) -> dict[int, float]:
        """Return seconds per step of one run; a step in a loop has those of all its turns."""
        cost = reached[1][1] - reached[0][1]
        total: dict[int, float] = {}
        started: dict[int, tuple[float, int]] = {}
        for n_before, (number, now) in enumerate(reached):
            if number in self.begins:
                started[self.begins[number]] = now, n_before
            elif number in self.ends:
                step = self.ends[number]
                since, first = started[step]
                taken = now - since - cost * (n_before - first)
                total[step] = total.get(step, 0.0) + max(taken, 0.0)
        return total
