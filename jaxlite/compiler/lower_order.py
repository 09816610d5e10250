"""Kernels whose elements must be made in order. In: ``Group``. Out: ``Draft``, or steps of a block.

Cumulative operations run along one axis with an accumulator (or with whole rows of accumulators, if
that axis is not the last). Scatters and updates copy the operand, then overwrite parts of the copy
in order; if nobody else needs the operand, ``plan_memory`` turns the copy into working in place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.compiler.block import Block
from jaxlite.compiler.index import Normaliser
from jaxlite.compiler.lower_nest import AXIS_NAMES, Draft, Nest
from jaxlite.compiler.plan import Group
from jaxlite.compiler.pull import Index, Operand, accumulator_dtype, combine, linear
from jaxlite.compiler.schedule import LoopSpec, around, schedule
from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import JaxprEqn
from jaxlite.primitives.indexing import GatherScatterMode, index_expr
from jaxlite.primitives.scatter import windows_of
from jaxlite.primitives.slicing import clamped_starts


def lower_cumulative(group: Group) -> Draft:
    """Return the kernel of cumsum, cumprod, cummax or cummin."""
    eqn = group.eqns[-1]
    primitive: Any = eqn.primitive
    nest = Nest.of(group)
    (var,) = eqn.outvars
    shape, axis = var.aval.shape, eqn.params["axis"]
    step = ir.index("step")
    place: list[ir.Expr] = [ir.index(AXIS_NAMES[a]) for a in range(len(shape))]
    place[axis] = ir.binary("sub", ir.i64(shape[axis] - 1), step) if eqn.params["reverse"] else step
    loops = [LoopSpec(place[a], n) for a, n in enumerate(shape) if a != axis and n != 1]
    outer = [s for s in loops if s.index in place[:axis]]
    inner = [s for s in loops if s.index in place[axis:]]
    ranges = {s.index: (0, s.extent - 1) for s in outer} | {step: (0, shape[axis] - 1)}
    ranges |= {s.index: (0, s.extent - 1) for s in inner}
    normaliser = Normaliser(ranges)
    full = tuple([ir.i64(0) if n == 1 and a != axis else place[a] for a, n in enumerate(shape)])
    x = Operand(nest.puller, eqn.invars[0])(full)
    wide = accumulator_dtype(x.dtype, primitive.combiner)
    x = normaliser.rewrite(ir.cast(x, wide))
    at = normaliser.rewrite(linear(full, shape))
    out = nest.outs[var]
    init = ir.const(identity_of(primitive.combiner, x.dtype), wide)
    steps = LoopSpec(step, shape[axis])
    if inner:
        run = nest.temp_param("run", wide, math.prod(s.extent for s in loops))
        run_at = normaliser.rewrite(
            linear(tuple([s.index for s in loops]), [s.extent for s in loops])
        )
        total = combine(primitive.combiner, ir.load(run.name, run_at, wide), x)
        inner[-1].kind = "vector"
        stores: list[ir.Stmt] = [
            ir.Store(run.name, run_at, total),
            ir.Store(out.name, at, ir.cast(total, out.dtype)),
        ]
        body = schedule(inner, [ir.Store(run.name, run_at, init)], nest.scope.inner())
        body += schedule([steps, *inner], stores, nest.scope.inner())
    else:
        total = combine(primitive.combiner, ir.name("acc", wide), x)
        statements: list[ir.Stmt] = [
            ir.Store(out.name, at, ir.cast(total, out.dtype)),
            # Last: `total` reads the accumulator, also where it is computed twice.
            ir.Set("acc", total),
        ]
        body = [ir.Acc("acc", init), *schedule([steps], statements, nest.scope)]
    for loop in outer:
        loop.kind = "parallel"
    return nest.draft(around(outer, body))


def identity_of(combiner: str, dtype: np.dtype[Any]) -> Any:
    """Return the neutral element of a combiner."""
    if combiner in ("add", "or", "xor"):
        return 0
    if combiner == "mul":
        return 1
    if dtype.kind == "b":
        return combiner == "min"
    if dtypes.kind_of(dtype) == "f":
        return np.inf if combiner == "min" else -np.inf
    info = np.iinfo(dtype)
    return info.max if combiner == "min" else info.min


def lower_concatenate(group: Group) -> Draft:
    """Return the kernel that writes many arrays side by side, one loop nest for each."""
    eqn = group.eqns[-1]
    nest = Nest.of(group)
    (var,) = eqn.outvars
    shape, axis = var.aval.shape, eqn.params["dimension"]
    body: list[ir.Stmt] = []
    start = 0
    for operand in eqn.invars:
        part = operand.aval.shape
        if operand.aval.size:
            index = _update_index(part)
            real = [(i, n) for i, n in zip(index, part, strict=True) if n != 1]
            normaliser = Normaliser({i: (0, n - 1) for i, n in real})
            value = normaliser.rewrite(Operand(nest.puller, operand)(index))
            place = list(index)
            place[axis] = ir.binary("add", index[axis], ir.i64(start))
            at = normaliser.rewrite(linear(tuple(place), shape))
            loops = [LoopSpec(i, n) for i, n in real]
            if loops:
                loops[-1].kind = "vector"
            body += schedule(loops, [ir.Store(nest.outs[var].name, at, value)], nest.scope.inner())
        start += part[axis]
    return nest.draft(body)


# --- writing into a copy ---


def _start(block: Block, group: Group, eqn: JaxprEqn, nest: Nest) -> list[ir.Stmt]:
    """Bring the operand into the output: by a copy, or by loops if this kernel makes it."""
    operand = eqn.invars[0]
    (var,) = eqn.outvars
    shape = var.aval.shape
    if operand not in nest.puller.producers:
        source, target = block.view(operand), block.place(var)
        block.copy(source, target)
        return []
    index = [ir.index(AXIS_NAMES[a]) for a in range(len(shape))]
    real = [(i, n) for i, n in zip(index, shape, strict=True) if n != 1]
    full = tuple([ir.i64(0) if n == 1 else i for i, n in zip(index, shape, strict=True)])
    normaliser = Normaliser({i: (0, n - 1) for i, n in real})
    value = normaliser.rewrite(nest.puller.element(operand, full))
    at = normaliser.rewrite(linear(full, shape))
    loops = [LoopSpec(i, n) for i, n in real]
    if loops:
        loops[-1].kind = "vector"
    return schedule(loops, [ir.Store(nest.outs[var].name, at, value)], nest.scope.inner())


def lower_update(block: Block, group: Group) -> None:
    """Append the steps of dynamic_update_slice."""
    eqn = group.eqns[-1]
    nest = Nest.of(group)
    body = _start(block, group, eqn, nest)
    (var,) = eqn.outvars
    shape, part = var.aval.shape, eqn.invars[1].aval.shape
    operands = tuple([Operand(nest.puller, a) for a in eqn.invars])
    starts = clamped_starts(operands[2:], shape, part)
    index = _update_index(part)
    ranges = {i: (0, n - 1) for i, n in zip(index, part, strict=True) if i.args or n != 1}
    normaliser = Normaliser(ranges)
    at = linear(tuple([ir.binary("add", s, i) for s, i in zip(starts, index, strict=True)]), shape)
    store = ir.Store(
        nest.outs[var].name, normaliser.rewrite(at), normaliser.rewrite(operands[1](index))
    )
    loops = [LoopSpec(i, n) for i, n in zip(index, part, strict=True) if n != 1]
    if loops:
        loops[-1].kind = "vector"
    if eqn.invars[1].aval.size:
        body += schedule(loops, [store], nest.scope.inner())
    block.launch(group, nest.draft(body))


def _update_index(shape: Sequence[int]) -> Index:
    return tuple([ir.i64(0) if n == 1 else ir.index(f"u{a}") for a, n in enumerate(shape)])


def lower_scatter(block: Block, group: Group) -> None:
    """Append the steps of a scatter: the windows are written in the order of the indices."""
    eqn = group.eqns[-1]
    nest = Nest.of(group)
    body = _start(block, group, eqn, nest)
    shape, part = eqn.outvars[0].aval.shape, eqn.invars[2].aval.shape
    if math.prod(part) and math.prod(shape):
        body += _windows(nest, eqn, shape, part)
    block.launch(group, nest.draft(body))


def _windows(
    nest: Nest, eqn: JaxprEqn, shape: tuple[int, ...], part: tuple[int, ...]
) -> list[ir.Stmt]:
    """Return the loops that write all windows."""
    primitive: Any = eqn.primitive
    numbers = eqn.params["dimension_numbers"]
    index = _update_index(part)
    inside = numbers.update_window_dims
    at, valid = _target(nest, eqn, shape, index)
    normaliser = Normaliser({i: (0, n - 1) for i, n in zip(index, part, strict=True) if n != 1})
    at = normaliser.rewrite(at)
    value = normaliser.rewrite(Operand(nest.puller, eqn.invars[2])(index))
    out = nest.outs[eqn.outvars[0]]
    if primitive.combine_name:
        value = combine(primitive.combine_name, ir.load(out.name, at, out.dtype), value)
    loops = [
        (d, LoopSpec(i, n)) for d, (i, n) in enumerate(zip(index, part, strict=True)) if n != 1
    ]
    inner = [loop for d, loop in loops if d in inside]
    if inner:
        inner[-1].kind = "vector"
    scope = nest.scope.inner()
    write: list[ir.Stmt] = []
    if valid:
        write += schedule([], [ir.Let("valid", normaliser.rewrite(_all(valid)))], scope)
    one = schedule(inner, [ir.Store(out.name, at, value)], scope)
    write += [ir.If(ir.name("valid", ir.BOOL), tuple(one))] if valid else one
    return around([loop for d, loop in loops if d not in inside], write)


def _target(
    nest: Nest, eqn: JaxprEqn, shape: tuple[int, ...], index: Index
) -> tuple[ir.Expr, list[ir.Expr]]:
    """Return where element ``index`` of the updates goes, and the conditions for writing it."""
    numbers, mode = eqn.params["dimension_numbers"], eqn.params["mode"]
    indices, updates = (Operand(nest.puller, a) for a in eqn.invars[1:])
    windows = windows_of(shape, updates.aval.shape, numbers)
    batch = tuple([i for d, i in enumerate(index) if d not in numbers.update_window_dims])
    starts: list[ir.Expr] = []
    valid: list[ir.Expr] = []
    for k, last in enumerate(windows.last_starts):
        i = index_expr(indices((*batch, ir.i64(k))), last + 1)
        if mode is GatherScatterMode.CLIP:
            i = ir.binary("min", ir.binary("max", i, ir.i64(0)), ir.i64(last))
        else:
            valid += [ir.compare("ge", i, ir.i64(0)), ir.compare("le", i, ir.i64(last))]
        starts.append(i)
    inside = tuple([index[d] for d in numbers.update_window_dims])
    return linear(windows.operand_index(starts, batch, inside), shape), valid


def _all(conditions: Sequence[ir.Expr]) -> ir.Expr:
    total = conditions[0]
    for c in conditions[1:]:
        total = ir.binary("and", total, c)
    return total
