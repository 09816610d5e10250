"""When are two jaxprs the same program? In: a closed jaxpr.

Out: a hashable key, equal for equal programs.

Names of variables do not count; primitives, parameters, types, literals and the wiring do. Compiled
bodies of loops are cached by it, so a loop over a fresh ``lambda`` compiles once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, Literal


def structure(closed: ClosedJaxpr | Jaxpr) -> tuple[Any, ...]:
    """Return the key of a jaxpr; constants count by identity, so hoist them first."""
    jaxpr = closed.jaxpr if isinstance(closed, ClosedJaxpr) else closed
    number: dict[Any, int] = {}
    for var in (*jaxpr.constvars, *jaxpr.invars):
        number[var] = len(number)

    def atom(a: Any) -> Any:
        if type(a) is Literal:
            value = a.array()._data
            return ("lit", value.tobytes(), a.aval)
        return number[a]

    lines = []
    for eqn in jaxpr.eqns:
        ins = tuple([atom(a) for a in eqn.invars])
        for var in eqn.outvars:
            number[var] = len(number)
        params = tuple([(k, param_key(v)) for k, v in eqn.params.items()])
        lines.append((eqn.primitive, params, ins, tuple([v.aval for v in eqn.outvars])))
    heads = tuple([v.aval for v in (*jaxpr.constvars, *jaxpr.invars)])
    consts = tuple([id(c) for c in closed.consts]) if isinstance(closed, ClosedJaxpr) else ()
    return (
        len(jaxpr.constvars),
        heads,
        tuple(lines),
        tuple([atom(a) for a in jaxpr.outvars]),
        consts,
    )


def param_key(value: Any) -> Any:
    """Return a hashable stand-in for an equation's parameter: equal values, equal keys."""
    if isinstance(value, ClosedJaxpr | Jaxpr):
        return ("jaxpr", structure(value))
    if isinstance(value, tuple | list):
        return (type(value).__name__, *[param_key(v) for v in value])
    if isinstance(value, dict):
        return ("dict", *[(k, param_key(v)) for k, v in value.items()])
    if isinstance(value, np.ndarray):
        return ("array", value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, float) and not isinstance(value, np.generic):
        return ("float", value.hex())  # 0.0 and -0.0 differ, NaN equals itself
    try:
        hash(value)
    except TypeError:
        return ("id", id(value))
    return (type(value), value)
