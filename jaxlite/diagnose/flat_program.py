"""A jaxpr without ordinary calls. In: a closed jaxpr. Out: one whose calls are put in their place.

Calls with a rule of their own (``custom_jvp``, ``checkpoint`` ...) stay one equation: their
derivative is not that of their body. Every equation keeps the user's line it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.language.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

__all__ = ["open_calls"]


def open_calls(closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return the same program with every ``jit`` inside opened.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> inner = jax.jit(jnp.sin)
    >>> print(open_calls(jax.make_jaxpr(lambda x: inner(x) * 2.0)(1.0)))
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """
    opened = _Opened(closed)
    outs = opened.run(closed.jaxpr, {}, None)
    jaxpr = closed.jaxpr.replace(constvars=opened.constvars, outvars=list(outs), eqns=opened.eqns)
    return ClosedJaxpr(jaxpr, opened.consts)


class _Opened:
    def __init__(self, closed: ClosedJaxpr) -> None:
        self.eqns: list[JaxprEqn] = []
        self.constvars = list(closed.jaxpr.constvars)
        self.consts = list(closed.consts)

    def run(self, jaxpr: Jaxpr, env: dict[Var, Atom], call: Any) -> Sequence[Atom]:
        """Add the equations of ``jaxpr``; ``call`` is the line of the call they are in."""
        is_inner = bool(env) or call is not None

        def read(atom: Atom) -> Atom:
            return atom if isinstance(atom, Literal) else env.get(atom, atom)

        for eqn in jaxpr.eqns:
            ins = [read(a) for a in eqn.invars]
            source = eqn.source or call
            if eqn.primitive.name == "jit":
                env.update(zip(eqn.outvars, self.call(eqn.params["jaxpr"], ins, source)))
                continue
            # A body may be called twice, so its results get names of their own each time.
            outs = [Var(v.aval) for v in eqn.outvars] if is_inner else eqn.outvars
            env.update(zip(eqn.outvars, outs, strict=True))
            self.eqns.append(eqn.replace(invars=ins, outvars=outs, source=source))
        return [read(a) for a in jaxpr.outvars]

    def call(self, body: ClosedJaxpr, ins: Sequence[Atom], source: Any) -> Sequence[Atom]:
        """Add the body of a call in its place."""
        env: dict[Var, Atom] = dict(zip(body.jaxpr.invars, ins, strict=True))
        for var, value in zip(body.jaxpr.constvars, body.consts, strict=True):
            env[var] = Var(var.aval)
            self.constvars.append(env[var])  # type: ignore[arg-type]
            self.consts.append(value)
        return self.run(body.jaxpr, env, source or False)
