"""Run a jaxpr under the current trace. In: a jaxpr, constants and arguments. Out: its results.

Under ``EvalTrace`` this computes, under any other trace it inlines the program there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any) -> list[Any]:
    """Return the results with ``constvars`` bound to ``consts`` and ``invars`` to ``args``."""
    env: dict[Var, Any] = {}
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"jaxpr takes {len(jaxpr.invars)} arguments, got {len(args)}")
    env.update(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return literal_value(atom) if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        outs = eqn.primitive.bind_all(*[read(a) for a in eqn.invars], **eqn.params)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(a) for a in jaxpr.outvars]


def eval_closed(closed: ClosedJaxpr, *args: Any) -> tuple[Any, ...]:
    """Return the results of a closed jaxpr as a tuple."""
    return tuple(eval_jaxpr(closed.jaxpr, closed.consts, *args))


def literal_value(literal: Literal) -> Any:
    """Return the array of a literal, with the literal's weak type."""
    return literal.array()
