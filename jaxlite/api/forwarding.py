"""Results that are arguments. In: the jaxprs of a loop or of branches. Out: them without these.

A carry that the body hands on is a constant of the loop, an output that is the row of an input is
that input, and what every branch returns of its arguments needs no branch. Taken out before the
primitive is bound: under ``vmap`` such a result then keeps its own batch (or none).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.language.jaxpr import ClosedJaxpr, Var

__all__ = ["forward_branches", "forward_scan", "forward_while", "merge"]

#: For each result: an argument (its value), or None: the next result of the primitive.
Forwarded = list[Any]


def merge(forwarded: Forwarded, outs: Sequence[Any]) -> list[Any]:
    """Return all results from those that were forwarded and those that were computed."""
    rest = iter(outs)
    return [next(rest) if value is None else value for value in forwarded]


def _without(closed: ClosedJaxpr, order: Sequence[int], kept: Sequence[int]) -> ClosedJaxpr:
    """Return ``closed`` with its arguments in ``order`` and only the results ``kept``."""
    jaxpr = closed.jaxpr
    invars = [jaxpr.invars[i] for i in order]
    outvars = [jaxpr.outvars[i] for i in kept]
    return ClosedJaxpr(jaxpr.replace(invars=invars, outvars=outvars), closed.consts)


def forward_scan(
    body: ClosedJaxpr, consts: Sequence[Any], carry: Sequence[Any], xs: Sequence[Any]
) -> tuple[ClosedJaxpr, list[Any], list[Any], Forwarded]:
    """Return body, constants, carry and what is forwarded of a scan; ``xs`` stay."""
    jaxpr = body.jaxpr
    n_consts, n_carry = len(consts), len(carry)
    rows = {v: k for k, v in enumerate(jaxpr.invars[n_consts + n_carry :])}
    still = [i for i in range(n_carry) if jaxpr.outvars[i] is jaxpr.invars[n_consts + i]]
    forwarded: Forwarded = [carry[i] if i in still else None for i in range(n_carry)]
    for atom in jaxpr.outvars[n_carry:]:
        found = rows.get(atom) if isinstance(atom, Var) else None
        forwarded.append(None if found is None else xs[found])
    if all(value is None for value in forwarded):
        return body, list(consts), list(carry), forwarded
    moving = [i for i in range(n_carry) if i not in still]
    order = [
        *range(n_consts),
        *[n_consts + i for i in still],
        *[n_consts + i for i in moving],
        *range(n_consts + n_carry, len(jaxpr.invars)),
    ]
    kept = [k for k, value in enumerate(forwarded) if value is None]
    new_consts = [*consts, *[carry[i] for i in still]]
    return _without(body, order, kept), new_consts, [carry[i] for i in moving], forwarded


def forward_while(
    cond: ClosedJaxpr,
    body: ClosedJaxpr,
    n_cond: int,
    body_consts: Sequence[Any],
    carry: Sequence[Any],
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[Any], list[Any], Forwarded]:
    """Return condition, body, the body's constants, carry and what is forwarded of a while loop.

    A part of the carry that the condition reads stays.
    """
    jaxpr, n_consts = body.jaxpr, len(body_consts)
    used = {a for eqn in cond.jaxpr.eqns for a in eqn.invars} | set(cond.jaxpr.outvars)
    still = [
        i
        for i in range(len(carry))
        if jaxpr.outvars[i] is jaxpr.invars[n_consts + i]
        and cond.jaxpr.invars[n_cond + i] not in used
    ]
    forwarded: Forwarded = [carry[i] if i in still else None for i in range(len(carry))]
    if not still:
        return cond, body, list(body_consts), list(carry), forwarded
    moving = [i for i in range(len(carry)) if i not in still]
    cond = _without(cond, [*range(n_cond), *[n_cond + i for i in moving]], [0])
    order = [*range(n_consts), *[n_consts + i for i in (*still, *moving)]]
    new_consts = [*body_consts, *[carry[i] for i in still]]
    return cond, _without(body, order, moving), new_consts, [carry[i] for i in moving], forwarded


def forward_branches(
    branches: Sequence[ClosedJaxpr], operands: Sequence[Any]
) -> tuple[tuple[ClosedJaxpr, ...], Forwarded]:
    """Return branches without the results that are the same operand in all of them."""
    places = [{v: k for k, v in enumerate(b.jaxpr.invars)} for b in branches]
    forwarded: Forwarded = []
    for column in zip(*[b.jaxpr.outvars for b in branches], strict=True):
        found = {
            table.get(atom) if isinstance(atom, Var) else None
            for table, atom in zip(places, column, strict=True)
        }
        place = next(iter(found))
        forwarded.append(operands[place] if len(found) == 1 and place is not None else None)
    if all(value is None for value in forwarded):
        return tuple(branches), forwarded
    kept = [k for k, value in enumerate(forwarded) if value is None]
    n = len(operands)
    return tuple([_without(b, range(n), kept) for b in branches]), forwarded
