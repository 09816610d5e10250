"""Groups of kinds reduce and row. In: ``Group``. Out: ``Draft`` of a kernel. Next: ``lower.py``.

Four shapes of loop nest, chosen by where the reduced axes lie and how long they are:

*written out* (at most 8 elements are combined): one loop over the kept axes, no accumulator;
*rows* (the last axis is reduced): for each kept element, one vector loop per sweep, in registers;
*blocks* (everything is reduced, and it is long): rows of a fixed length in parallel, then their
sum;
*columns* (the last axis is kept): see ``lower_columns``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any

from jaxlite.compiler.domain import UNROLL
from jaxlite.compiler.index import Form, Normaliser, Renamer, collapsible
from jaxlite.compiler.lower_columns import Columns
from jaxlite.compiler.lower_nest import PARALLEL_MIN, Draft, Nest, StoreSpec, loop_specs
from jaxlite.compiler.plan import Group
from jaxlite.compiler.pull import Index, combine
from jaxlite.compiler.schedule import LoopSpec, Scope, around, schedule
from jaxlite.compiler.sweeps import (
    Sweep,
    Sweeps,
    keep_between_sweeps,
    row_plan,
    steps_of,
    substituted,
)
from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import JaxprEqn, Var

#: Elements per block of a long reduction; fixed, so that the result does not depend on the threads.
PARTIAL_BLOCK = 1 << 14
#: Kept axes shorter than this are not worth a vector loop.
MIN_COLUMNS = 16


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
        if not is_full:
            statements.append(nest.store_of(var))
            continue
        statements += [_store_at(nest, var, at_point(point)) for point in points]
        nest.index = loop_index
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
    for loop in loops[:-1]:
        loop.kind = "parallel"
    stores = [ir.Store(s.buffer, at, v) for s, (at, v) in zip(statements, values, strict=True)]
    return nest.draft(schedule(loops, stores, nest.scope))


def _store_at(nest: Nest, var: Var, index: list[ir.Expr]) -> StoreSpec:
    nest.index = index
    return nest.store_of(var)


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

    found_before.append(result(0))
    if hasattr(eqn.primitive, "select_max"):
        found_before.append(result(1))
    known = iter(found_before)
    return steps_of(eqn, nest, at_point(points[0]), lambda *_: next(known))


# --- rows and blocks ---


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
    for loop in kept_loops:
        loop.kind = "parallel"
    return nest.draft(around(kept_loops, body))


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
