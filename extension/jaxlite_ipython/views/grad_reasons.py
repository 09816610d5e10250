"""Why an input has no gradient. In: a ``GradientTrace``. Out: a sentence per input."""

from __future__ import annotations

from typing import Any

from jaxlite.diagnose.gradient import GradientTrace
from jaxlite_ipython.views.costs import label_of
from jaxlite_ipython.views.op_graph import OpGraph

__all__ = ["missing_reasons"]

_WHY = {
    "stop_gradient": "{0} ({1})",
    "convert_element_type": "the cast to {2} ({1}) is flat",
}


def missing_reasons(trace: GradientTrace, graph: OpGraph, result: str) -> dict[int, str]:
    """Return for each input without gradient why: its type, an operation, or that nobody reads it.

    ``result`` is the name of what is differentiated.
    """
    jaxpr = trace.forward.jaxpr
    needed = _needed(trace)
    reasons: dict[int, str] = {}
    for number, var in enumerate(jaxpr.invars):
        if number in trace.cotangents:
            continue
        if var.aval.to_tangent_aval().dtype != var.aval.dtype:
            reasons[number] = f"{var.aval.str_short().partition('[')[0]} is no float"
        elif not trace.wanted[number]:
            reasons[number] = "not asked for"
        elif var not in needed:
            reasons[number] = f"not used by {result}"
        else:
            reasons[number] = _blocked(trace, graph, var, needed)
    return reasons


def _needed(trace: GradientTrace) -> set[Any]:
    """Return the values that the result depends on."""
    jaxpr = trace.forward.jaxpr
    needed = {jaxpr.outvars[trace.result]}
    for eqn in reversed(jaxpr.eqns):
        if any(v in needed for v in eqn.outvars):
            needed.update(a for a in eqn.invars if not hasattr(a, "val"))
    return needed


def _blocked(trace: GradientTrace, graph: OpGraph, start: Any, needed: set[Any]) -> str:
    """Return the operations at which the way from an input to the result ends."""
    reached = {start}
    flat = set(trace.flat)
    texts = []
    for k, eqn in enumerate(trace.forward.eqns):
        if not any(a in reached for a in eqn.invars if not hasattr(a, "val")):
            continue
        if k not in flat:
            reached.update(eqn.outvars)
        elif any(v in needed for v in eqn.outvars):
            lane = graph.places[id(eqn)]
            why = _WHY.get(eqn.primitive.name, "{0} ({1}) is flat")
            texts.append(why.format(label_of(eqn), lane.where, eqn.outvars[0].aval.dtype))
    found = list(dict.fromkeys(texts))
    if not found:
        return "its cotangent is zero everywhere"
    return " and ".join(found[:2]) + (f" and {len(found) - 2} more" if len(found) > 2 else "")
