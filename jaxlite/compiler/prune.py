"""Dead code. In: equations and wanted results. Out: the equations that are needed for them.

Loops lose the carries, stacked results and operands that only serve themselves: a carry is needed
if its final value is, or if the next value of a needed carry depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jaxlite.language.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var


def prune(eqns: Sequence[JaxprEqn], outs: Iterable[Atom]) -> list[JaxprEqn]:
    """Return the equations that ``outs`` need, and those with effects."""
    needed = {a for a in outs if not isinstance(a, Literal)}
    kept: list[JaxprEqn] = []
    for eqn in reversed(eqns):
        if not eqn.effects and not any(v in needed for v in eqn.outvars):
            continue
        trim = _TRIMMERS.get(getattr(eqn.primitive, "role", ""))
        if trim is not None:
            eqn = trim(eqn, [v in needed for v in eqn.outvars])
        kept.append(eqn)
        needed.update(a for a in eqn.invars if not isinstance(a, Literal))
    kept.reverse()
    return kept


def _needs(jaxpr: Jaxpr, outs: Sequence[Atom]) -> set[Var]:
    """Return the vars that are needed for ``outs``."""
    needed = {a for a in outs if not isinstance(a, Literal)}
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(v in needed for v in eqn.outvars):
            needed.update(a for a in eqn.invars if not isinstance(a, Literal))
    return needed


def _keep(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    return [x for x, keep in zip(items, mask, strict=True) if keep]


def _restricted(closed: ClosedJaxpr, ins: Sequence[bool], outs: Sequence[bool]) -> ClosedJaxpr:
    """Return the jaxpr with some of its arguments and results."""
    jaxpr = closed.jaxpr
    wanted = _keep(jaxpr.outvars, outs)
    eqns = prune(jaxpr.eqns, wanted)
    used = {a for e in eqns for a in e.invars} | set(wanted)
    consts = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts, strict=True) if v in used]
    new = jaxpr.replace(
        constvars=[v for v, _ in consts], invars=_keep(jaxpr.invars, ins), outvars=wanted, eqns=eqns
    )
    return ClosedJaxpr(new, [c for _, c in consts])


def _live_carries(
    closed: ClosedJaxpr, first: int, live: list[bool], others: Sequence[Atom]
) -> set[Var]:
    """Grow ``live``, a flag per carry, until what is live needs no more; return all needs."""
    jaxpr = closed.jaxpr
    while True:
        wanted = _keep(jaxpr.outvars[: len(live)], live)
        needed = _needs(jaxpr, [*wanted, *others])
        grown = [is_live or jaxpr.invars[first + k] in needed for k, is_live in enumerate(live)]
        if grown == live:
            return needed
        live[:] = grown


def _trim_scan(eqn: JaxprEqn, wanted: list[bool]) -> JaxprEqn:
    params = eqn.params
    closed: ClosedJaxpr = params["jaxpr"]
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    live, ys = wanted[:n_carry], wanted[n_carry:]
    needed = _live_carries(closed, n_consts, live, _keep(closed.jaxpr.outvars[n_carry:], ys))
    ins = [v in needed for v in closed.jaxpr.invars]
    ins[n_consts : n_consts + n_carry] = live
    outs = [*live, *ys]
    if all(ins) and all(outs):
        return eqn
    new = {
        **params,
        "jaxpr": _restricted(closed, ins, outs),
        "num_consts": sum(ins[:n_consts]),
        "num_carry": sum(live),
    }
    if len(params.get("linear", ())) == len(ins):
        new["linear"] = tuple(_keep(params["linear"], ins))
    return eqn.replace(invars=_keep(eqn.invars, ins), outvars=_keep(eqn.outvars, outs), params=new)


def _trim_while(eqn: JaxprEqn, wanted: list[bool]) -> JaxprEqn:
    params = eqn.params
    cond: ClosedJaxpr = params["cond_jaxpr"]
    body: ClosedJaxpr = params["body_jaxpr"]
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    tested = _needs(cond.jaxpr, cond.jaxpr.outvars)
    cond_ins = [v in tested for v in cond.jaxpr.invars]
    live = [a or b for a, b in zip(wanted, cond_ins[n_cond:], strict=True)]
    needed = _live_carries(body, n_body, live, [])
    body_ins = [v in needed for v in body.jaxpr.invars]
    body_ins[n_body:] = live
    cond_ins[n_cond:] = live
    if all(live) and all(cond_ins) and all(body_ins):
        return eqn
    new = {
        **params,
        "cond_jaxpr": _restricted(cond, cond_ins, [True]),
        "body_jaxpr": _restricted(body, body_ins, live),
        "cond_nconsts": sum(cond_ins[:n_cond]),
        "body_nconsts": sum(body_ins[:n_body]),
    }
    ins = [*cond_ins[:n_cond], *body_ins]
    return eqn.replace(invars=_keep(eqn.invars, ins), outvars=_keep(eqn.outvars, live), params=new)


def _trim_cond(eqn: JaxprEqn, wanted: list[bool]) -> JaxprEqn:
    branches: tuple[ClosedJaxpr, ...] = eqn.params["branches"]
    ins = [False] * (len(eqn.invars) - 1)
    for branch in branches:
        needed = _needs(branch.jaxpr, _keep(branch.jaxpr.outvars, wanted))
        ins = [a or v in needed for a, v in zip(ins, branch.jaxpr.invars, strict=True)]
    if all(ins) and all(wanted):
        return eqn
    new = {**eqn.params, "branches": tuple([_restricted(b, ins, wanted) for b in branches])}
    return eqn.replace(
        invars=[eqn.invars[0], *_keep(eqn.invars[1:], ins)],
        outvars=_keep(eqn.outvars, wanted),
        params=new,
    )


_TRIMMERS = {"scan": _trim_scan, "while": _trim_while, "cond": _trim_cond}
