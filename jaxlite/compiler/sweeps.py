"""What a kernel with reductions does, sweep by sweep. In: ``Nest``. Out: ``Sweeps``.

A sweep is one pass over the reduced axes. A value that depends on a finished reduction belongs to a
later sweep: for softmax, maximum (0), sum of exponentials (1), quotient (2). argmax is two
reductions: the extremum, then the first place where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.compiler.lower_nest import Nest, StoreSpec, spread
from jaxlite.compiler.plan import Group
from jaxlite.compiler.pull import Operand, accumulator_dtype, dot_axes, dot_term
from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import JaxprEqn


@dataclass(slots=True)
class Accumulator:
    """One combined value: ``init``, then ``combiner`` with ``element`` at every reduced index."""

    eqn: JaxprEqn
    combiner: str
    init: ir.Expr
    element: ir.Expr
    name: str
    sweep: int = 0
    buffer: str = ""  # columns only
    at: ir.Expr | None = None

    @property
    def wide(self) -> np.dtype[Any]:
        """Dtype of the accumulator."""
        return self.init.dtype


def steps_of(
    eqn: JaxprEqn,
    nest: Nest,
    index: Sequence[ir.Expr],
    found: Callable[[str, ir.Expr, ir.Expr], ir.Expr],
) -> ir.Expr:
    """Return the result of a reduction; ``found(combiner, init, element)`` accumulates one value.

    ``index`` is the position in the group's domain. argmax needs two accumulations: the extremum,
    then the first place where it (or a NaN) stands.
    """
    primitive: Any = eqn.primitive
    operands = tuple([Operand(nest.puller, a) for a in eqn.invars])
    out = dtypes.storage_dtype(eqn.outvars[0].aval.dtype)
    if primitive.name == "dot_general":
        wide = accumulator_dtype(out, "add")
        element = _dot_element(eqn, nest.group, operands, index, wide)
        # Products of bools are 'and', their sum is 'or'.
        combiner = "or" if wide.kind == "b" else "add"
        return ir.cast(found(combiner, ir.const(0, wide), element), out)
    shape = operands[0].aval.shape
    x = operands[0](spread(index, shape))
    if not hasattr(primitive, "select_max"):
        wide = accumulator_dtype(x.dtype, primitive.combiner)
        init = ir.const(primitive.identity(x.dtype), wide)
        return ir.cast(found(primitive.combiner, init, ir.cast(x, wide)), out)
    if x.dtype.kind == "b":
        x = ir.cast(x, np.uint8)
    combiner = "max" if primitive.select_max else "min"
    extremum = found(combiner, ir.const(_worst(x.dtype, primitive.select_max), x.dtype), x)
    here = ir.compare("eq", x, extremum)
    if dtypes.kind_of(x.dtype) == "f":
        here = ir.binary("or", here, ir.unary("isnan", x))
    axis = nest.group.axes[0] if nest.group.axes else None
    place = ir.i64(0) if axis is None else index[axis]
    length = shape[eqn.params["axes"][0]]
    return ir.cast(found("min", ir.i64(length), ir.select(here, place, ir.i64(length))), out)


def _worst(dtype: np.dtype[Any], is_max: bool) -> Any:
    if dtypes.kind_of(dtype) == "f":
        return -np.inf if is_max else np.inf
    info = np.iinfo(dtype)
    return info.min if is_max else info.max


def _dot_element(
    eqn: JaxprEqn,
    group: Group,
    operands: tuple[Operand, ...],
    index: Sequence[ir.Expr],
    wide: np.dtype[Any],
) -> ir.Expr:
    kept = iter([index[a] for a in range(len(index)) if a not in group.axes])
    inner = iter([index[a] for a in group.axes])
    out_index = tuple([ir.i64(0) if n == 1 else next(kept) for n in eqn.outvars[0].aval.shape])
    lhs = operands[0].aval.shape
    contracted = tuple([ir.i64(0) if lhs[a] == 1 else next(inner) for a in dot_axes(eqn)[2]])
    return dot_term(eqn, operands, out_index, contracted, wide)


class Sweeps:
    """The accumulators and stores of a group, with the sweep each of them belongs to."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        group = nest.group
        self.accumulators: list[Accumulator] = []
        self.sweep_of: dict[ir.Expr, int] = {}
        for eqn in group.eqns:
            if eqn not in group.reductions:
                nest.visit(eqn)
                continue
            nest.puller.scalars[eqn.outvars[0]] = steps_of(
                eqn, nest, nest.index, lambda *a, eqn=eqn: self.accumulate(eqn, *a)
            )
        self.stores = [nest.store_of(v) for v in group.outs]

    def accumulate(self, eqn: JaxprEqn, combiner: str, init: ir.Expr, element: ir.Expr) -> ir.Expr:
        """Add an accumulator; return the name of its final value."""
        n = len(self.accumulators)
        acc = Accumulator(eqn, combiner, init, element, f"acc{n}")
        self.accumulators.append(acc)
        value = self.final_value(acc)
        acc.sweep = self.sweep(element)
        self.sweep_of[value] = acc.sweep + 1
        return value

    def final_value(self, acc: Accumulator) -> ir.Expr:
        """Return what the rest of the kernel reads."""
        return ir.name(acc.name, acc.wide)

    def sweep(self, root: ir.Expr) -> int:
        """Return the first sweep in which ``root`` can be computed."""
        memo = self.sweep_of
        stack = [root]
        while stack:
            e = stack[-1]
            waiting = [a for a in e.args if a not in memo]
            if waiting:
                stack.extend(waiting)
            else:
                stack.pop()
                memo.setdefault(e, max([memo[a] for a in e.args], default=0))
        return memo[root]

    @property
    def n_sweeps(self) -> int:
        """Number of passes over the reduced axes."""
        last = max((self.sweep(s.value) for s in self.stores if s.is_full), default=-1)
        return max(last, *(a.sweep for a in self.accumulators)) + 1


@dataclass(slots=True)
class Sweep:
    """What one pass over a row accumulates and stores."""

    accumulators: list[Accumulator]
    stores: list[StoreSpec]

    def roots(self) -> list[ir.Expr]:
        """Return the values it computes."""
        return [a.element for a in self.accumulators] + [s.value for s in self.stores]

    def substitute(self, names: dict[ir.Expr, ir.Expr]) -> None:
        """Replace expressions."""
        for a in self.accumulators:
            a.element = substituted(a.element, names)
        for s in self.stores:
            s.value = substituted(s.value, names)


def row_plan(sweeps: Sweeps) -> list[Sweep]:
    """Return what happens in each sweep."""
    return [
        Sweep(
            [a for a in sweeps.accumulators if a.sweep == number],
            [s for s in sweeps.stores if s.is_full and sweeps.sweep(s.value) == number],
        )
        for number in range(sweeps.n_sweeps)
    ]


#: Functions worth remembering from one sweep to the next.
_COSTLY = frozenset(
    (
        *("exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "cbrt", "lgamma"),
    )
)


def keep_between_sweeps(plan: list[Sweep], inner: set[ir.Expr]) -> None:
    """Store costly values of one sweep where a later sweep puts a result of the same dtype.

    Softmax: the second sweep writes exp(x - m) to the output, the third reads it there and divides.
    """
    found: dict[ir.Expr, list[int]] = {}
    for number, sweep in enumerate(plan):
        reached = dict.fromkeys(e for root in sweep.roots() for e in ir.walk(root))
        for e in reached:
            if e.kind == "unary" and e.attrs[0] in _COSTLY:
                found.setdefault(e, []).append(number)
    shared = {
        e: at for e, at in found.items() if len(at) > 1 and any(i in inner for i in ir.walk(e))
    }
    below = {x for e in shared for x in ir.walk(e) if x is not e}
    taken: set[str] = set()
    for e, at in shared.items():
        if e in below:
            continue
        homes = [
            s for s in plan[at[-1]].stores if s.buffer not in taken and s.value.dtype == e.dtype
        ]
        if not homes:
            continue
        home = homes[0]
        taken.add(home.buffer)
        plan[at[0]].stores.append(StoreSpec(home.buffer, home.at, e, True))
        for number in at[1:]:
            plan[number].substitute({e: ir.load(home.buffer, home.at, e.dtype)})


def substituted(root: ir.Expr, names: dict[ir.Expr, ir.Expr]) -> ir.Expr:
    """Return ``root`` with some of its parts replaced."""
    memo = dict(names)
    for e in ir.walk(root):
        if e not in memo:
            args = tuple([memo[a] for a in e.args])
            memo[e] = e if args == e.args else ir.with_args(e, args)
    return memo[root]
