"""Is a jaxpr well formed? In: a jaxpr.

Out: nothing, or an error that shows the equations around the fault.

Checked: every variable is bound once and before its use, results have the types that
``abstract_eval`` gives, inner jaxprs are well formed too. Tests and ``JAXLITE_CHECK=1`` run it
after every pass.
"""

from __future__ import annotations

from jaxlite.errors import JaxprTypeError
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from jaxlite.language.primitive import as_tuple
from jaxlite.language.trace import get_aval


def check_jaxpr(jaxpr: ClosedJaxpr | Jaxpr) -> None:
    """Raise ``JaxprTypeError`` if ``jaxpr`` is not well formed."""
    if isinstance(jaxpr, ClosedJaxpr):
        for var, const in zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True):
            found = get_aval(const)
            if not is_same_type(var.aval, found):
                raise JaxprTypeError(f"constant {var} has a value of type {found.str_short()}")
        jaxpr = jaxpr.jaxpr
    bound: set[Var] = set()
    for var in (*jaxpr.constvars, *jaxpr.invars):
        if var in bound:
            raise JaxprTypeError(f"variable {var} is an argument twice")
        bound.add(var)
    for number, eqn in enumerate(jaxpr.eqns):
        problem = check_eqn(eqn, bound)
        if problem:
            raise JaxprTypeError(f"{problem}\n{surroundings(jaxpr, number)}")
        bound.update(eqn.outvars)
    for atom in jaxpr.outvars:
        if isinstance(atom, Var) and atom not in bound:
            raise JaxprTypeError(
                f"result {atom} is not bound\n{surroundings(jaxpr, len(jaxpr.eqns))}"
            )


def check_eqn(eqn: JaxprEqn, bound: set[Var]) -> str | None:
    """Return what is wrong with an equation, or None."""
    for atom in eqn.invars:
        if isinstance(atom, Var):
            if atom not in bound:
                return f"operand {atom} of {eqn.primitive} is not bound"
        elif not isinstance(atom, Literal):
            return f"operand {atom!r} of {eqn.primitive} is neither variable nor literal"
    for var in eqn.outvars:
        if var in bound:
            return f"result {var} of {eqn.primitive} is bound twice"
    for _, inner in jaxprs_in_params(eqn.params):
        check_jaxpr(inner)
    expected = as_tuple(eqn.primitive.abstract_eval(*(a.aval for a in eqn.invars), **eqn.params))
    if len(expected) != len(eqn.outvars):
        return f"{eqn.primitive} has {len(expected)} results, the equation {len(eqn.outvars)}"
    for var, aval in zip(eqn.outvars, expected, strict=True):
        if not is_same_type(var.aval, aval):
            return (
                f"result of {eqn.primitive} is declared {var.aval.str_short()} "
                f"but its rule says {aval.str_short()}"
            )
    return None


def is_same_type(a: ShapedArray, b: ShapedArray) -> bool:
    """Say whether two avals agree in shape and dtype (weak types are advice for promotion only)."""
    return a.shape == b.shape and a.dtype == b.dtype


def surroundings(jaxpr: Jaxpr, number: int) -> str:
    """Return the equations before equation ``number`` and the equation itself, marked."""
    lines = []
    for i in range(max(0, number - 3), min(number + 2, len(jaxpr.eqns))):
        mark = ">" if i == number else " "
        lines.append(f"  {mark} {i}: {jaxpr.eqns[i]}")
    return "\n".join(lines)
