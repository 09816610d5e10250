"""What values are called in a gradient. In: a ``GradientTrace`` and lanes. Out: names and formulas.

A value has the name of the argument or variable it is; a value without one is written as the
formula that makes it from values with names: ``(h + 1) * (1 - h)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.diagnose.formulas import bound_formula, formula
from jaxlite.diagnose.gradient import GradientTrace, Step
from jaxlite_ipython.views.costs import label_of, role_of
from jaxlite_ipython.views.op_graph import OpGraph, number_text

__all__ = ["Names", "barred"]

_BAR = "\N{COMBINING MACRON}"


def barred(name: str) -> str:
    """Return a name with a bar: what people call its cotangent; ``x`` stands for a long name."""
    base = name if name.isidentifier() and len(name) <= 3 else "x"
    return base[0] + _BAR + base[1:]


class Names:
    """Names of the values of both passes."""

    def __init__(
        self,
        trace: GradientTrace,
        graph: OpGraph,
        arg_names: Sequence[str],
        const_names: Sequence[str],
    ) -> None:
        self.trace = trace
        jaxpr = trace.forward.jaxpr
        self.forward: dict[Any, str] = dict(zip(jaxpr.invars, arg_names))
        self.forward.update(zip(jaxpr.constvars, const_names))
        last: dict[int, Any] = {}
        for eqn in jaxpr.eqns:
            lane = graph.places[id(eqn)]
            if lane.target and eqn.outvars:
                last[id(lane)] = (lane.target, eqn.outvars[0])
        self.forward.update({var: name for name, var in last.values()})
        self._primal = dict(zip(trace.primal.jaxpr.constvars, self._constants()))
        self._maker = {v: e for e in trace.primal.eqns for v in e.outvars}
        self._formulas: dict[Any, tuple[str, int]] = {}
        self._saved = {s.backward_var: s for s in trace.saved}

    def _constants(self) -> list[str]:
        """Name the constants of the primal program: those of the function are the same objects."""
        known = {
            id(value): self.forward.get(var, "constant")
            for var, value in zip(self.trace.forward.jaxpr.constvars, self.trace.forward.consts)
        }
        texts = []
        for value in self.trace.primal.consts:
            is_number = not getattr(value, "shape", ())
            texts.append(known.get(id(value)) or (number_text(value) if is_number else "constant"))
        return texts

    def of_primal(self, var: Any) -> str | None:
        """Return the name of a value of the primal program, if it has one."""
        same = self.trace.forward_of.get(var)
        found = self.forward.get(same) if same is not None else None
        return found or self._primal.get(var)

    def saved(self, var: Any) -> str:
        """Return the name or formula of a saved value (a var of the primal program)."""
        return self.saved_bound(var)[0]

    def saved_bound(self, var: Any) -> tuple[str, int]:
        """Return it with how strongly it binds."""
        maker = self._maker.get(var)
        if maker is not None and role_of(maker) and not self.of_primal(var):
            kept = [s.var for s in self.trace.saved if s.var in maker.outvars]
            each = " each step" if role_of(maker) == "scan" else ""
            number = f" ({kept.index(var) + 1})" if len(kept) > 1 and var in kept else ""
            return f"{label_of(maker)}{each}{number}", 1
        if var not in self._formulas:
            self._formulas[var] = bound_formula(var, self._made_from(var), self.of_primal, 8)
        return self._formulas[var]

    def _made_from(self, var: Any) -> list[Any]:
        """Return the equations near enough to be written in a formula of a value."""
        found: dict[int, Any] = {}
        wanted = [(var, 0)]
        while wanted:
            at, depth = wanted.pop()
            eqn = self._maker.get(at)
            if eqn is None or id(eqn) in found or depth > 16 or self.of_primal(at):
                continue
            found[id(eqn)] = eqn
            wanted += [(a, depth + 1) for a in eqn.invars if not hasattr(a, "val")]
        return list(found.values())

    def of_backward(self, var: Any, incoming: Sequence[Any]) -> str | tuple[str, int] | None:
        """Return what a rule calls a value: a bar over y for what comes in, else a saved value."""
        if var in incoming:
            number = incoming.index(var)
            mark = "" if len(incoming) == 1 else str(number + 1)
            return f"y{_BAR}{mark}"
        saved = self._saved.get(var)
        return None if saved is None else self.saved_bound(saved.var)

    def rules(self, step: Step, incoming: Sequence[Any]) -> list[str]:
        """Return one formula per value that a step finds a cotangent for."""
        if step.kind == "sum":
            return [f"+ from {step.n_uses} uses"]
        eqns = [self.trace.backward.eqns[k] for k in step.eqns]
        special = _special(self.trace.forward.eqns[step.cause], eqns)
        texts = []
        for value, cotangent in step.gives:
            name = self.forward.get(value, "") if value is not None else ""
            text = special or formula(
                cotangent, eqns, lambda var: self.of_backward(var, incoming), 10
            )
            if text == f"y{_BAR}" and any(e.primitive.name == "broadcast_in_dim" for e in eqns):
                text += " for every element"
            texts.append(f"{barred(name)} = {text}")
        return list(dict.fromkeys(texts))


def _special(cause: Any, eqns: Sequence[Any]) -> str:
    """Return the rule of an operation with a program inside, in words."""
    role = role_of(cause)
    if role == "scan":
        return f"the {cause.params['length']:,} steps backwards"
    if role == "cond":
        return "the branch that ran, backwards"
    if cause.primitive.name == "remat2":
        return "the body again, then backwards"
    is_own = cause.primitive.name == "custom_vjp_call"
    return f"own rule of {cause.params['name']}" if is_own and len(eqns) > 10 else ""
