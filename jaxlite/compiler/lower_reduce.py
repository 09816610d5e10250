"""Groups of kinds reduce and row. In: ``Group``. Out: ``Draft`` of a kernel. Next: ``lower.py``.

Four shapes of loop nest, chosen by where the reduced axes lie and how long they are:

*written out* (at most 8 elements are combined): one loop over the kept axes, no accumulator;
*rows* (the last axis is reduced): for each kept element, one vector loop per sweep, in registers;
*blocks* (everything is reduced, and it is long): rows of a fixed length in parallel, then their
sum; *columns* (the last axis is kept): a block of accumulators in memory, vector loops along the
last axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from jaxlite.compiler.fuse import UNROLL
from jaxlite.compiler.index import Form, Normaliser, Renamer, collapsible
from jaxlite.compiler.lower_nest import (
    PARALLEL_MIN,
    Draft,
    Nest,
    StoreSpec,
    loop_specs,
    spread,
)
from jaxlite.compiler.plan import Group
from jaxlite.compiler.pull import (
    Index,
    Operand,
    accumulator_dtype,
    combine,
    dot_axes,
    dot_term,
    linear,
)
from jaxlite.compiler.schedule import LoopSpec, Scope, schedule
from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import JaxprEqn

#: Elements per block of a long reduction; fixed, so that the result does not depend on the threads.
PARTIAL_BLOCK = 1 << 14
#: Kept elements per block of accumulators: they stay in the L1 cache.
COLUMN_BLOCK = 512
#: Kept axes shorter than this are not worth a vector loop.
MIN_COLUMNS = 16


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


def lower_reduce(group: Group) -> Draft:
    """Return the kernel of a group with reductions."""
    nest = Nest.of(group)
    lengths = [group.domain[a] for a in group.axes]
    if math.prod(lengths) <= UNROLL:
        return _written_out(nest)
    last = len(group.domain) - 1
    if last not in group.axes and group.domain[last] >= MIN_COLUMNS:
        return Columns(nest).draft()
    return _rows(nest)


# --- elements ---


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


# --- written out ---


def _written_out(nest: Nest) -> Draft:
    """A few elements per result: expressions instead of loops over the reduced axes."""
    group = nest.group
    lengths = [group.domain[a] for a in group.axes]
    points = [tuple(map(ir.i64, p)) for p in product(*map(range, lengths))]
    loop_index = list(nest.index)

    def at_point(point: Index) -> list[ir.Expr]:
        index = list(loop_index)
        for axis, i in zip(group.axes, point, strict=True):
            index[axis] = i
        return index

    for eqn in group.eqns:
        if eqn in group.reductions:
            nest.puller.scalars[eqn.outvars[0]] = _fold_points(eqn, nest, points, at_point)
            continue
        for point in points:
            nest.index = at_point(point)
            nest.visit(eqn)
        nest.index = loop_index
    statements: list[StoreSpec] = []
    for var in group.outs:
        is_full = len(group.accesses[var]) == len(group.domain) and group.axes
        for point in points if is_full else points[:1] or [()]:
            nest.index = at_point(point) if is_full else loop_index
            statements.append(nest.store_of(var))
    kept = [(loop_index[a], n) for a, n in enumerate(group.domain) if a not in group.axes]
    normaliser = Normaliser({i: (0, n - 1) for i, n in kept})
    values = [(normaliser.rewrite(s.at), normaliser.rewrite(s.value)) for s in statements]
    groups = collapsible(normaliser, kept)
    if len(groups) < len(kept):
        renamer = Renamer(normaliser, groups)
        values = [(renamer.rename(at), renamer.rename(value)) for at, value in values]
    loops = loop_specs(groups)
    if loops:
        loops[-1].kind = "vector"
    if len(loops) > 1 and math.prod(s.extent for s in loops) >= PARALLEL_MIN:
        loops[0].kind = "parallel"
    stores = [ir.Store(s.buffer, at, v) for s, (at, v) in zip(statements, values, strict=True)]
    return nest.draft(schedule(loops, stores, nest.scope))


def _fold_points(
    eqn: JaxprEqn,
    nest: Nest,
    points: Sequence[Index],
    at_point: Callable[[Index], list[ir.Expr]],
) -> ir.Expr:
    """Return the reduction as one expression over all points."""
    if not points:
        primitive: Any = eqn.primitive
        out = dtypes.storage_dtype(eqn.outvars[0].aval.dtype)
        is_dot = primitive.name == "dot_general"
        return ir.const(0 if is_dot else primitive.identity(out), out)
    found_before: list[ir.Expr] = []

    def result(n_known: int) -> ir.Expr:
        """Run the steps of every point up to accumulation ``n_known`` and combine that one."""
        elements: list[ir.Expr] = []
        combiners: list[str] = []

        def found(combiner: str, init: ir.Expr, element: ir.Expr) -> ir.Expr:
            step = len(combiners)
            combiners.append(combiner)
            if step < n_known:
                return found_before[step]
            if step == n_known:
                elements.append(element)
            return init

        for point in points:
            combiners.clear()
            steps_of(eqn, nest, at_point(point), found)
        return reduce(lambda a, b: combine(combiners[n_known], a, b), elements)

    n_steps = 2 if hasattr(eqn.primitive, "select_max") else 1
    for n in range(n_steps):
        found_before.append(result(n))
    known = iter(found_before)
    return steps_of(eqn, nest, at_point(points[0]), lambda *_: next(known))


# --- rows and blocks ---


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
        for e in ir.walk(root):
            if e not in memo:
                memo[e] = max([memo[a] for a in e.args], default=0)
        return memo[root]

    @property
    def n_sweeps(self) -> int:
        """Number of passes over the reduced axes."""
        last = max((self.sweep(s.value) for s in self.stores if s.is_full), default=-1)
        return max(last, *(a.sweep for a in self.accumulators)) + 1


def _rows(nest: Nest) -> Draft:
    """Scalar accumulators: loops over kept axes around one loop nest per sweep."""
    group = nest.group
    sweeps = Sweeps(nest)
    kept = [
        (i, n)
        for a, (i, n) in enumerate(zip(nest.index, group.domain, strict=True))
        if a not in group.axes
    ]
    inner = [(nest.index[a], group.domain[a]) for a in group.axes]
    normaliser = Normaliser({i: (0, n - 1) for i, n in (*kept, *inner)})
    rewrite = normaliser.rewrite
    for acc in sweeps.accumulators:
        acc.element = rewrite(acc.element)
    for s in sweeps.stores:
        s.at, s.value = rewrite(s.at), rewrite(s.value)
    # Rewriting keeps names, so the sweeps are found again from them.
    kept_groups, inner_groups = collapsible(normaliser, kept), collapsible(normaliser, inner)
    if len(kept_groups) < len(kept) or len(inner_groups) < len(inner):
        renamer = Renamer(normaliser, [*kept_groups, *inner_groups])
        for acc in sweeps.accumulators:
            acc.element = renamer.rename(acc.element)
        for s in sweeps.stores:
            s.at, s.value = renamer.rename(s.at), renamer.rename(s.value)
    kept_loops, inner_loops = loop_specs(kept_groups), loop_specs(inner_groups)
    total = math.prod(group.domain)
    if not kept_loops and total >= 2 * PARALLEL_MIN and sweeps.n_sweeps == 1:
        return nest.draft(_blocks(nest, sweeps, inner_loops))
    plan = row_plan(sweeps)
    keep_between_sweeps(plan, {loop.index for loop in inner_loops})
    body = row_statements(sweeps, plan, inner_loops, nest.scope)
    if kept_loops and total >= PARALLEL_MIN:
        kept_loops[0].kind = "parallel"
    return nest.draft(around(kept_loops, body))


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
    ["exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "cbrt", "lgamma"]
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


def row_statements(
    sweeps: Sweeps, plan: list[Sweep], loops: list[LoopSpec], scope: Scope
) -> list[ir.Stmt]:
    """Return the sweeps over one row and then the stores of what they have found."""
    body: list[ir.Stmt] = []
    loops[-1].kind = "vector"
    for sweep in plan:
        body += [ir.Acc(a.name, a.init, a.combiner) for a in sweep.accumulators]
        inner: list[ir.Stmt] = [ir.Combine(a.name, a.element) for a in sweep.accumulators]
        inner += [s.statement for s in sweep.stores]
        body += schedule(loops, inner, scope)
    return body + schedule([], [s.statement for s in sweeps.stores if not s.is_full], scope)


def around(loops: Sequence[LoopSpec], body: list[ir.Stmt]) -> list[ir.Stmt]:
    """Return loops around a body, each ``Let`` in the outermost loop that knows its indices."""
    level_of = {loop.index.attrs[0]: n + 1 for n, loop in enumerate(loops)}
    depth = len(loops)
    levels: list[list[ir.Stmt]] = [[] for _ in range(depth + 1)]
    fixed: set[str] = {s.name for s in body if isinstance(s, ir.Acc)}
    for s in body:
        level = depth
        if isinstance(s, ir.Let):
            level = 0
            for e in ir.walk(s.value):
                if e.kind == "index":
                    level = max(level, level_of.get(e.attrs[0], 0))
                elif e.kind == "name":
                    level = max(
                        level, depth if e.attrs[0] in fixed else level_of.get(e.attrs[0], 0)
                    )
            level_of[s.name] = level
        levels[level].append(s)
    inside = levels[depth]
    for n in range(depth - 1, -1, -1):
        inside = [*levels[n], loops[n].around(inside)]
    return inside


def _blocks(nest: Nest, sweeps: Sweeps, loops: list[LoopSpec]) -> list[ir.Stmt]:
    """One long sweep: blocks of fixed length in parallel, each with its own partial results."""
    outer, rest = loops[0], loops[1:]
    per_block = max(1, PARTIAL_BLOCK // math.prod(r.extent for r in rest))
    n_blocks, left_over = divmod(outer.extent, per_block)
    block, inside = ir.index("b"), ir.index("c")
    partials = [nest.temp_param("partial", a.wide, n_blocks) for a in sweeps.accumulators]
    body: list[ir.Stmt] = []
    scope = nest.scope

    def part(extent: int, start: Form) -> list[ir.Stmt]:
        """Return the sweep over ``extent`` steps of the outer loop from ``start`` on."""
        ranges = {block: (0, n_blocks - 1), inside: (0, extent - 1)}
        ranges |= {r.index: (0, r.extent - 1) for r in rest}
        moved = Normaliser(ranges, {outer.index: start.plus(Form({inside: 1}, 0))})
        inner: list[ir.Stmt] = [
            ir.Combine(a.name, moved.rewrite(a.element)) for a in sweeps.accumulators
        ]
        inner += [
            ir.Store(s.buffer, moved.rewrite(s.at), moved.rewrite(s.value))
            for s in sweeps.stores
            if s.is_full
        ]
        nested = [LoopSpec(inside, extent), *(LoopSpec(r.index, r.extent) for r in rest)]
        nested[-1].kind = "vector"
        return schedule(nested, inner, scope.inner())

    accs = [ir.Acc(a.name, a.init, a.combiner) for a in sweeps.accumulators]
    one = [*accs, *part(per_block, Form({block: per_block}, 0))]
    one += [
        ir.Store(p.name, block, ir.name(a.name, a.wide))
        for p, a in zip(partials, sweeps.accumulators, strict=True)
    ]
    body += around([LoopSpec(block, n_blocks, "parallel")], one)
    body += [ir.Acc(f"{a.name}_all", a.init, a.combiner) for a in sweeps.accumulators]
    total_names = {
        ir.name(a.name, a.wide): ir.name(f"{a.name}_all", a.wide) for a in sweeps.accumulators
    }
    gather: list[ir.Stmt] = [
        ir.Combine(f"{a.name}_all", ir.load(p.name, block, a.wide))
        for p, a in zip(partials, sweeps.accumulators, strict=True)
    ]
    body.append(ir.For("b", n_blocks, tuple(gather), "vector"))
    if left_over:
        rest_of = part(left_over, Form({}, n_blocks * per_block))
        body += [_renamed_combine(s) for s in rest_of]
    kept = [s for s in sweeps.stores if not s.is_full]
    statements = [ir.Store(s.buffer, s.at, substituted(s.value, total_names)) for s in kept]
    return body + schedule([], statements, scope)


def _renamed_combine(s: ir.Stmt) -> ir.Stmt:
    """Return the statement with its ``Combine`` going to the total instead of a block's part."""
    match s:
        case ir.Combine(name, value):
            return ir.Combine(f"{name}_all", value)
        case ir.For(index, extent, body, kind):
            return ir.For(index, extent, tuple(map(_renamed_combine, body)), kind)
        case _:
            return s


def substituted(root: ir.Expr, names: dict[ir.Expr, ir.Expr]) -> ir.Expr:
    """Return ``root`` with some of its parts replaced."""
    memo = dict(names)
    for e in ir.walk(root):
        if e not in memo:
            args = tuple([memo[a] for a in e.args])
            memo[e] = e if args == e.args else ir.with_args(e, args)
    return memo[root]


# --- columns ---


class Columns(Sweeps):
    """The last axis is kept: rows are added to a block of accumulators in memory."""

    def __init__(self, nest: Nest) -> None:
        group = nest.group
        self.kept_axes = [a for a in range(len(group.domain)) if a not in group.axes]
        kept_shape = [group.domain[a] for a in self.kept_axes]
        self.at = linear(tuple([nest.index[a] for a in self.kept_axes]), kept_shape)
        self.size = math.prod(kept_shape)
        super().__init__(nest)

    def final_value(self, acc: Accumulator) -> ir.Expr:
        """Return a load of the accumulator; the output itself serves if it has the right type."""
        (var,) = acc.eqn.outvars
        out = self.nest.outs.get(var)
        is_result = not hasattr(acc.eqn.primitive, "select_max")
        if out is not None and out.dtype == acc.wide and is_result:
            acc.buffer = out.name
        else:
            acc.buffer = self.nest.temp_param("acc", acc.wide, self.size).name
        acc.at = self.at
        return ir.load(acc.buffer, self.at, acc.wide)

    def draft(self) -> Draft:
        """Return the kernel."""
        nest, group = self.nest, self.nest.group
        *outer_axes, column = self.kept_axes
        outer = [(nest.index[a], group.domain[a]) for a in outer_axes]
        inner = [(nest.index[a], group.domain[a]) for a in group.axes]
        n_columns = group.domain[column]
        numbers = [(a.sweep, a) for a in self.accumulators]
        full = [(self.sweep(s.value), s) for s in self.stores if s.is_full]
        n_sweeps = self.n_sweeps
        body: list[ir.Stmt] = []
        n_blocks, left_over = divmod(n_columns, COLUMN_BLOCK)
        parts = [(n_blocks, COLUMN_BLOCK, 0), (1, left_over, n_blocks * COLUMN_BLOCK)]
        for blocks, width, start in parts:
            if not blocks or not width:
                continue
            block = ir.index("b")
            moved = Form({nest.index[column]: 1}, start)
            if blocks > 1:
                moved = moved.plus(Form({block: COLUMN_BLOCK}, 0))
            ranges = {i: (0, n - 1) for i, n in outer}
            ranges |= {block: (0, blocks - 1)} | {i: (0, n - 1) for i, n in inner}
            ranges[nest.index[column]] = (0, width - 1)
            normaliser = Normaliser(ranges, {nest.index[column]: moved})
            columns = LoopSpec(nest.index[column], width, "vector")
            rows = [LoopSpec(i, n) for i, n in inner]
            part: list[ir.Stmt] = []
            for number in range(n_sweeps):
                accs = [a for n, a in numbers if n == number]
                stores = [s for n, s in full if n == number]
                part += self._sweep(accs, stores, normaliser, rows, columns)
            finals = [
                ir.Store(s.buffer, normaliser.rewrite(s.at), normaliser.rewrite(s.value))
                for s in self.stores
                if not s.is_full and not self._is_accumulator(s)
            ]
            if finals:
                part += schedule([columns], finals, nest.scope.inner())
            around_blocks = [LoopSpec(i, n) for i, n in outer]
            if blocks > 1:
                around_blocks.append(LoopSpec(block, blocks))
            if around_blocks and math.prod(group.domain) >= PARALLEL_MIN:
                around_blocks[0].kind = "parallel"
            body += around(around_blocks, part)
        return nest.draft(body)

    def _is_accumulator(self, s: StoreSpec) -> bool:
        """Say whether the value is where it belongs already."""
        return s.value.kind == "load" and s.value.attrs[0] == s.buffer

    def _sweep(
        self,
        accs: list[Accumulator],
        stores: list[StoreSpec],
        normaliser: Normaliser,
        rows: list[LoopSpec],
        columns: LoopSpec,
    ) -> list[ir.Stmt]:
        """Return one pass over the reduced axes for a block of columns."""
        scope = self.nest.scope.inner()
        at = normaliser.rewrite(self.at)
        inits: list[ir.Stmt] = [ir.Store(a.buffer, at, a.init) for a in accs]
        statements: list[ir.Stmt] = []
        for a in accs:
            so_far = ir.load(a.buffer, at, a.wide)
            value = combine(a.combiner, so_far, normaliser.rewrite(a.element))
            statements.append(ir.Store(a.buffer, at, value))
        statements += [
            ir.Store(s.buffer, normaliser.rewrite(s.at), normaliser.rewrite(s.value))
            for s in stores
        ]
        out: list[ir.Stmt] = []
        if inits:
            out += schedule([columns], inits, scope.inner())
        return out + schedule([*rows, columns], statements, scope.inner())
