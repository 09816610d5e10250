"""Stage 5 of 7, lower. In: ``FusionPlan``. Out: ``Program``. Next: ``plan_memory.py``.

Invariant: every var that a group stores has one place in memory; results of the program are stored
where the caller wants them, without a copy, unless the same value is wanted twice or is an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.compiler.block import Block, Builder
from jaxlite.compiler.lower_control import lower_control
from jaxlite.compiler.lower_dot import lower_dot
from jaxlite.compiler.lower_nest import lower_loop
from jaxlite.compiler.lower_order import (
    lower_concatenate,
    lower_cumulative,
    lower_scatter,
    lower_update,
)
from jaxlite.compiler.lower_reduce import lower_reduce
from jaxlite.compiler.plan import FusionPlan, Group
from jaxlite.kernel_ir.program import HostCall, Program, Step, View
from jaxlite.language.jaxpr import Literal, Var


def lower(plan: FusionPlan, name: str = "main") -> tuple[Program, list[Any]]:
    """Return the program of ``plan`` and the constants that are its last inputs.

    The inputs are the jaxpr's, then its constants, then those of nested jaxprs.
    """
    builder = Builder(lower_plan)
    block = Block(builder, plan)
    jaxpr = plan.closed.jaxpr
    ins = [
        builder.new_buffer(block.names[var], var.aval.dtype, var.aval.shape, "input")
        for var in (*jaxpr.invars, *jaxpr.constvars)
    ]
    outs: list[View] = []
    for k, atom in enumerate(jaxpr.outvars):
        label = block.names.get(atom, f"out{k}") if isinstance(atom, Var) else f"out{k}"
        outs.append(builder.new_buffer(label, atom.aval.dtype, atom.aval.shape, "output"))
    n = len(jaxpr.invars)
    steps = lower_plan(block, ins[:n], ins[n:], outs)
    inner = [b.name for b in builder.buffers.values() if b.kind == "input"][len(ins) :]
    program = Program(
        name=name,
        buffers=tuple(builder.buffers.values()),
        inputs=(*[v.buffer for v in ins], *inner),
        outputs=tuple([v.buffer for v in outs]),
        steps=(*builder.prologue, *steps),
    )
    return program, [*plan.closed.consts, *builder.inner_consts]


def lower_plan(
    block: Block, ins: Sequence[View], consts: Sequence[View], outs: Sequence[View]
) -> list[Step]:
    """Return the steps of one jaxpr that reads ``ins`` and writes ``outs``."""
    jaxpr = block.plan.closed.jaxpr
    block.views.update(zip(jaxpr.invars, ins, strict=True))
    block.views.update(zip(jaxpr.constvars, consts, strict=True))
    given = set(block.views)
    copies: list[tuple[Any, View]] = []
    for atom, out in zip(jaxpr.outvars, outs, strict=True):
        root = None if isinstance(atom, Literal) else block.root(atom)
        if root is None or root in given or root in block.views:
            copies.append((atom, out))
        else:
            block.views[root] = View(out.buffer, root.aval.shape, out.offset, out.counters)
    for group in block.plan.groups:
        _lower_group(block, group)
    for atom, out in copies:
        source = block.view(atom)
        block.copy(View(source.buffer, out.shape, source.offset, source.counters), out)
    return block.steps


def _lower_group(block: Block, group: Group) -> None:
    """Append the steps of one group."""
    if group.kind not in ("host", "control") and all(v.aval.size == 0 for v in group.outs):
        for v in group.outs:
            block.place(v)
        return
    match group.kind:
        case "loop":
            block.launch(group, lower_loop(group))
        case "reduce" | "row":
            block.launch(group, lower_reduce(group))
        case "cumulative":
            block.launch(group, lower_cumulative(group))
        case "concatenate":
            block.launch(group, lower_concatenate(group))
        case "scatter":
            lower_scatter(block, group)
        case "update":
            lower_update(block, group)
        case "dot":
            lower_dot(block, group)
        case "control":
            lower_control(block, group)
        case "host":
            _lower_host(block, group)


def _lower_host(block: Block, group: Group) -> None:
    (eqn,) = group.eqns
    ins = tuple([block.view(a) for a in eqn.invars])
    outs = tuple(block.out_views(eqn))
    params = tuple(eqn.params.items())
    block.steps.append(HostCall(eqn.primitive, params, ins, outs, block.comments(group.eqns)))
