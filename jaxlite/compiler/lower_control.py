"""Control flow becomes steps that contain steps. In: while, scan, cond. Out: Loop, While, Branch.

The state of a loop lies in memory: in the results themselves, which start as copies of the initial
values. A step reads row ``n`` of a scanned array through a view and writes row ``n`` of a stacked
result the same way, so nothing is copied. New state goes to temps first and is copied over the old
one, except where ``in_place`` shows that nobody reads the old value any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.compiler.block import Block
from jaxlite.compiler.in_place import coalesce, drop_copies
from jaxlite.compiler.plan import FusionPlan, Group
from jaxlite.kernel_ir.program import Branch, Copy, Loop, Step, View, While
from jaxlite.language.jaxpr import JaxprEqn, Literal


def lower_control(block: Block, group: Group) -> None:
    """Append the steps of a control-flow equation."""
    (eqn,) = group.eqns
    role = getattr(eqn.primitive, "role", "")
    lower: dict[str, Callable[[Block, JaxprEqn, tuple[FusionPlan, ...]], None]] = {
        "while": _lower_while,
        "scan": _lower_scan,
        "cond": _lower_cond,
    }
    lower[role](block, eqn, group.inner)


def _nested(
    block: Block, plan: FusionPlan, ins: Sequence[View], outs: Sequence[View], label: str
) -> list[Step]:
    """Return the steps of a nested jaxpr."""
    inner = Block(block.builder, plan, f"{block.prefix}{label}_")
    consts = [
        block.builder.const_view(value, inner.prefix + inner.names[var])
        for var, value in zip(plan.closed.jaxpr.constvars, plan.closed.consts, strict=True)
    ]
    return block.builder.lower_plan(inner, ins, consts, outs)


def _carry(
    block: Block,
    plan: FusionPlan,
    ins: Sequence[View],
    states: Sequence[View],
    label: str,
    ys: Sequence[View] = (),
) -> list[Step]:
    """Return the steps of a body, ending with the new state in ``states``."""
    outs = plan.closed.jaxpr.outvars
    new: list[View] = []
    for state, atom in zip(states, outs, strict=False):
        name = f"{label}_{state.buffer}_new"
        dtype = block.builder.buffers[state.buffer].dtype
        new.append(block.temp(name, dtype, atom.aval.shape))
    body = _nested(block, plan, ins, [*new, *ys], label)
    kinds = {name: b.kind for name, b in block.builder.buffers.items()}
    outside = {v.buffer for v in (*ins, *states, *ys, *new, *block.builder.literals.values())}
    copies: list[Step] = [Copy(n, s) for n, s in zip(new, states, strict=True)]
    return drop_copies([*coalesce(body, outside, kinds), *copies], len(copies))


def _start_states(block: Block, initial: Sequence[Any], states: Sequence[View]) -> None:
    """Copy the initial values into the states."""
    for atom, state in zip(initial, states, strict=True):
        source = block.view(atom)
        block.copy(View(source.buffer, state.shape, source.offset, source.counters), state)


def _lower_while(block: Block, eqn: JaxprEqn, plans: tuple[FusionPlan, ...]) -> None:
    params = eqn.params
    names = [k for k in params if k in ("cond_jaxpr", "body_jaxpr")]
    cond = plans[names.index("cond_jaxpr")]
    body = plans[names.index("body_jaxpr")]
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    views = [block.view(a) for a in eqn.invars[: n_cond + n_body]]
    cond_consts, body_consts = views[:n_cond], views[n_cond:]
    states = block.out_views(eqn)
    _start_states(block, eqn.invars[n_cond + n_body :], states)
    flag = block.temp("while_flag", cond.closed.jaxpr.outvars[0].aval.dtype, ())
    test = _nested(block, cond, [*cond_consts, *states], [flag], "cond")
    step = _carry(block, body, [*body_consts, *states], states, "body")
    block.steps.append(While(tuple(test), flag, tuple(step), params.get("progress", 0)))


def _lower_scan(block: Block, eqn: JaxprEqn, plans: tuple[FusionPlan, ...]) -> None:
    (body,) = plans
    params = eqn.params
    n_consts, n_carry, length = params["num_consts"], params["num_carry"], params["length"]
    consts = [block.view(a) for a in eqn.invars[:n_consts]]
    outs = block.out_views(eqn)
    states = outs[:n_carry]
    _start_states(block, eqn.invars[n_consts : n_consts + n_carry], states)
    if not length:
        return
    counter = block.builder.new_counter()
    rows = [_row(block.view(a), counter) for a in eqn.invars[n_consts + n_carry :]]
    ys = [_row(v, counter) for v in outs[n_carry:]]
    steps = _carry(block, body, [*consts, *states, *rows], states, "scan", ys)
    block.steps.append(
        Loop(counter, length, tuple(steps), params["reverse"], params.get("progress", 0))
    )


def _row(view: View, counter: str) -> View:
    """Return row ``counter`` of an array."""
    size = 1
    for n in view.shape[1:]:
        size *= n
    counters = (*view.counters, (counter, size)) if size else view.counters
    return View(view.buffer, view.shape[1:], view.offset, counters)


def _lower_cond(block: Block, eqn: JaxprEqn, plans: tuple[FusionPlan, ...]) -> None:
    index, *operands = eqn.invars
    ins = [block.view(a) for a in operands]
    outs = block.out_views(eqn)
    if isinstance(index, Literal):
        number = min(max(int(index.val), 0), len(plans) - 1)
        block.steps += _nested(block, plans[number], ins, outs, "branch")
        return
    branches = tuple(
        tuple(_nested(block, plan, ins, outs, f"branch{n}")) for n, plan in enumerate(plans)
    )
    block.steps.append(Branch(block.view(index), branches))
