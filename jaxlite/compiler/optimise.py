"""Stage 4 of 7, optimise. In: a closed jaxpr. Out: one with the same results and fewer equations.

Invariant: results are bit for bit the same, effects stay and keep their order. Next: ``fuse.py``.

One walk forwards: calls and composites are replaced by their bodies, equations on literals are
computed, exact algebra is applied (``simplify``), and an equation that was there before is not done
again. One walk backwards drops what nobody needs (``prune`` does so inside loops). Bodies of
control flow are optimised the same way::

    b = mul a 1.0; c = neg b; d = neg c; e = sin d; f = sin a   ->   f = sin a
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.compiler.prune import prune
from jaxlite.compiler.simplify import Rewrite, simplify
from jaxlite.language.dtypes import kind_of
from jaxlite.language.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal, Var
from jaxlite.language.structure import param_key
from jaxlite.primitives.composite import Composite
from jaxlite.primitives.slicing import slice_p


def optimise(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return ``closed`` optimised; the argument is not changed.

    Takes time linear in the number of equations, those of called jaxprs included.
    """
    return _optimise(closed, {})


def _optimise(closed: ClosedJaxpr, done: dict[int, tuple[Any, ClosedJaxpr]]) -> ClosedJaxpr:
    """Optimise a jaxpr; ``done`` remembers bodies that occur in several equations."""
    walk = _Walk(done)
    jaxpr = closed.jaxpr
    env: dict[Var, Atom] = {v: v for v in jaxpr.invars}
    for var, value in zip(jaxpr.constvars, closed.consts, strict=True):
        env[var] = walk.constant(value, var)
    walk.run(jaxpr.eqns, env, is_copy=False)
    outs = [_read(env, a) for a in jaxpr.outvars]
    outs, eqns = _without_barriers(outs, walk.eqns)
    eqns = prune(eqns, outs)
    used = {a for e in eqns for a in e.invars} | set(outs)
    consts = [(v, c) for v, c in walk.constants.values() if v in used]
    result = jaxpr.replace(constvars=[v for v, _ in consts], outvars=outs, eqns=eqns)
    return ClosedJaxpr(result, [c for _, c in consts])


def _read(env: dict[Var, Atom], atom: Atom) -> Atom:
    return atom if isinstance(atom, Literal) else env[atom]


class _Walk:
    """The forward pass: equations come in, ``eqns`` grow."""

    def __init__(self, done: dict[int, tuple[Any, ClosedJaxpr]]) -> None:
        self.done = done
        self.eqns: list[JaxprEqn] = []
        self.constants: dict[int, tuple[Var, Any]] = {}
        self.known: dict[Any, list[Var]] = {}
        self.makers: dict[Var, JaxprEqn] = {}

    def constant(self, value: Any, var: Var) -> Var:
        """Return the var of a constant; the same value has the same var."""
        return self.constants.setdefault(id(value), (var, value))[0]

    def run(self, eqns: Sequence[JaxprEqn], env: dict[Var, Atom], is_copy: bool) -> None:
        """Take over ``eqns``, renamed by ``env``; ``is_copy`` if they may be taken over again."""
        for eqn in eqns:
            ins = [a if isinstance(a, Literal) else env[a] for a in eqn.invars]
            if getattr(eqn.primitive, "role", "") == "call":
                outs = self.inline(eqn, ins)
            elif isinstance(eqn.primitive, Composite):
                outs = self.expand(eqn, eqn.primitive, ins)
            else:
                outs = self.visit(eqn, ins, is_copy)
            env.update(zip(eqn.outvars, outs, strict=True))

    def inline(self, eqn: JaxprEqn, ins: list[Atom]) -> Sequence[Atom]:
        """Put the body of a call in its place."""
        primitive: Any = eqn.primitive
        body = eqn.params[primitive.call_param]
        closed = body if isinstance(body, ClosedJaxpr) else ClosedJaxpr(body, [])
        jaxpr = closed.jaxpr
        env: dict[Var, Atom] = dict(zip(jaxpr.invars, ins, strict=True))
        for var, value in zip(jaxpr.constvars, closed.consts, strict=True):
            env[var] = self.constant(value, Var(var.aval))
        self.run(jaxpr.eqns, env, is_copy=True)
        return [_read(env, a) for a in jaxpr.outvars]

    def expand(self, eqn: JaxprEqn, primitive: Composite, ins: list[Atom]) -> Sequence[Atom]:
        """Put simpler equations in the place of one; they belong to the same line."""
        closed = primitive.expand([a.aval for a in ins], eqn.params)
        env: dict[Var, Atom] = dict(zip(closed.jaxpr.invars, ins, strict=True))
        for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            env[var] = self.constant(value, Var(var.aval))
        own = [e.replace(source=eqn.source) for e in closed.jaxpr.eqns]
        self.run(own, env, is_copy=True)
        return [_read(env, a) for a in closed.jaxpr.outvars]

    def visit(self, eqn: JaxprEqn, ins: list[Atom], is_copy: bool) -> Sequence[Atom]:
        """Return where the results of one equation are, adding it (or a simpler one) if needed."""
        primitive, params = eqn.primitive, eqn.params
        if eqn.effects or primitive.name == "optimization_barrier":
            return self.add(eqn, ins, primitive, self.optimised_params(eqn), is_copy)
        if getattr(primitive, "role", ""):
            if primitive.name == "cond" and isinstance(ins[0], Literal):
                return self.take_branch(ins, params["branches"])
            # Equal loops are rare, and comparing their bodies is not cheap.
            return self.add(eqn, ins, primitive, self.optimised_params(eqn), is_copy)
        if primitive.name == "split":
            return self.split(eqn, ins)
        if len(eqn.outvars) == 1:
            aval = eqn.outvars[0].aval
            while (better := simplify(primitive, ins, params, aval, self.makers)) is not None:
                if not isinstance(better, Rewrite):
                    return [better]
                primitive, ins, params = better
            folded = _fold(primitive, ins, params, aval)
            if folded is not None:
                return [folded]
        key = _key(primitive, ins, params)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.add(eqn, ins, primitive, params, is_copy)
        return found

    def add(
        self, eqn: JaxprEqn, ins: list[Atom], primitive: Any, params: dict[str, Any], is_copy: bool
    ) -> list[Var]:
        """Append an equation and return its results."""
        outs = [Var(v.aval) for v in eqn.outvars] if is_copy else eqn.outvars
        new = JaxprEqn(ins, outs, primitive, params, eqn.source, eqn.effects)
        self.eqns.append(new)
        for var in outs:
            self.makers[var] = new
        return outs

    def optimised_params(self, eqn: JaxprEqn) -> dict[str, Any]:
        """Return the parameters with the jaxprs in them optimised."""
        params = dict(eqn.params)
        for key, value in params.items():
            if isinstance(value, ClosedJaxpr):
                params[key] = self.nested(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], ClosedJaxpr):
                params[key] = tuple([self.nested(v) for v in value])
        return params

    def nested(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        """Return a nested jaxpr optimised, once per object."""
        found = self.done.get(id(closed))
        if found is None:
            found = self.done[id(closed)] = (closed, _optimise(closed, self.done))
        return found[1]

    def take_branch(self, ins: list[Atom], branches: Sequence[ClosedJaxpr]) -> Sequence[Atom]:
        """Put the body of the branch that a literal index selects in the place of a cond."""
        assert isinstance(ins[0], Literal)
        closed = branches[min(max(int(ins[0].val), 0), len(branches) - 1)]
        jaxpr = closed.jaxpr
        env: dict[Var, Atom] = dict(zip(jaxpr.invars, ins[1:], strict=True))
        for var, value in zip(jaxpr.constvars, closed.consts, strict=True):
            env[var] = self.constant(value, Var(var.aval))
        self.run(jaxpr.eqns, env, is_copy=True)
        return [_read(env, a) for a in jaxpr.outvars]

    def split(self, eqn: JaxprEqn, ins: list[Atom]) -> Sequence[Atom]:
        """Return the parts as slices: each can then fuse with its own readers."""
        axis, start = eqn.params["axis"], 0
        shape = ins[0].aval.shape
        outs: list[Atom] = []
        for var in eqn.outvars:
            starts, limits = [0] * len(shape), list(shape)
            starts[axis], limits[axis] = start, start + var.aval.shape[axis]
            start = limits[axis]
            params = {
                "start_indices": tuple(starts),
                "limit_indices": tuple(limits),
                "strides": None,
            }
            part = JaxprEqn(ins, [Var(var.aval)], slice_p, params, eqn.source)
            outs += self.visit(part, ins, False)
        return outs


def _fold(primitive: Any, ins: Sequence[Atom], params: dict[str, Any], aval: Any) -> Literal | None:
    """Return the scalar result of an equation on literals as a literal."""
    if aval.shape or not ins or not hasattr(primitive, "pull") or kind_of(aval.dtype) == "k":
        return None
    if not all(isinstance(a, Literal) for a in ins):
        return None
    values = [a.array()._data for a in ins if isinstance(a, Literal)]
    with np.errstate(all="ignore"):
        out = primitive.impl(np, *values, **params)
    return Literal(np.asarray(out)[()], aval)


def _key(primitive: Any, ins: Sequence[Atom], params: dict[str, Any]) -> Any:
    """Return what two equations with equal results have in common."""
    operands = tuple(
        [(a.array()._data.tobytes(), a.aval) if isinstance(a, Literal) else a for a in ins]
    )
    return primitive, operands, tuple([(k, param_key(v)) for k, v in params.items()])


def _without_barriers(outs: list[Atom], eqns: list[JaxprEqn]) -> tuple[list[Atom], list[JaxprEqn]]:
    """Drop the optimisation barriers, which have kept equations apart until here."""
    if not any(e.primitive.name == "optimization_barrier" for e in eqns):
        return outs, eqns
    env: dict[Atom, Atom] = {}
    kept: list[JaxprEqn] = []
    for eqn in eqns:
        ins = [env.get(a, a) for a in eqn.invars]
        if eqn.primitive.name == "optimization_barrier":
            env.update(zip(eqn.outvars, ins, strict=True))
        else:
            changed = any(a is not b for a, b in zip(ins, eqn.invars, strict=True))
            kept.append(eqn.replace(invars=ins) if changed else eqn)
    return [env.get(a, a) for a in outs], kept
