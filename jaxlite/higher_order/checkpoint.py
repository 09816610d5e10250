"""``checkpoint``.

A call whose inner values are computed again in the backward pass instead of saved.

Residuals are the call's operands, plus what the policy allows to save. The recomputation sits
behind an optimisation barrier, or common-subexpression elimination would undo it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.higher_order.jit import (
    batch_size,
    compiled,
    derived,
    fill_zeros,
    transpose_call,
)
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jaxlite.language.primitive import Dims, Primitive, Zero
from jaxlite.language.trace import get_aval, state
from jaxlite.primitives.families import Pull
from jaxlite.primitives.identity import optimization_barrier
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.jvp import jvp_jaxpr
from jaxlite.transforms.linearize import linearize_jaxpr
from jaxlite.transforms.stage_out import stage_out
from jaxlite.transforms.vmap import batch_jaxpr


class Checkpoint(Primitive):
    """Call ``jaxpr``.

    ``policy(primitive, *avals, **params) -> bool`` says what may be saved (None: nothing).
    """

    name = "remat2"
    role = "call"
    call_param = "jaxpr"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of the body."""
        effects: frozenset[str] = params["jaxpr"].effects
        return effects

    def abstract_eval(self, *avals: ShapedArray, jaxpr: ClosedJaxpr, **_: Any) -> Any:
        return tuple(jaxpr.out_avals)

    def impl(self, xp: Any, *arrays: Any, jaxpr: ClosedJaxpr, **_: Any) -> Any:
        return compiled(jaxpr, "checkpoint").executable.run(arrays)

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        closed: ClosedJaxpr = params["jaxpr"]
        nonzero = tuple([type(t) is not Zero for t in tangents])
        jvp, out_nonzero = derived(
            closed, ("jvp", nonzero), lambda: jvp_jaxpr(closed, nonzero, instantiate_outs=False)
        )
        given = [t for t in tangents if type(t) is not Zero]
        outs = self.bind_all(*primals, *given, **{**params, "jaxpr": jvp})
        n = len(closed.out_avals)
        return outs[:n], fill_zeros(outs[n:], out_nonzero, closed.out_avals)

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        closed: ClosedJaxpr = params["jaxpr"]
        policy = params["policy"]
        saving, again, out_nonzero = derived(
            closed,
            ("checkpoint", tuple(nonzero), policy, params["prevent_cse"]),
            lambda: _split_body(closed, nonzero, policy, params["prevent_cse"]),
        )
        all_outs = self.bind_all(*primals, **{**params, "jaxpr": saving})
        n = len(closed.out_avals)
        saved = all_outs[n:]

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            changes = {"jaxpr": again, "differentiated": True}
            outs = self.bind_all(*saved, *primals, *tangents, **{**params, **changes})
            return fill_zeros(outs, out_nonzero, closed.out_avals)

        return all_outs[:n], tangent_fn

    def transpose(self, ct: Any, *operands: Any, jaxpr: ClosedJaxpr, **params: Any) -> Any:
        return transpose_call(self, ct, operands, jaxpr, params)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        jaxpr: ClosedJaxpr = params.pop("jaxpr")
        size = batch_size(args, dims)
        batched, out_dims = derived(
            jaxpr,
            ("batch", size, dims, state.batched_axis),
            lambda: batch_jaxpr(jaxpr, size, dims),
        )
        return self.bind_all(*args, jaxpr=batched, **params), tuple(out_dims)


def _split_body(
    closed: ClosedJaxpr, nonzero: Sequence[bool], policy: Any, prevent_cse: bool
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool]]:
    """Return ``args -> (outs, saved)`` and a recomputing ``(saved, args, dx) -> out tangents``."""
    marks = _saveable(closed.jaxpr, policy)
    jaxpr = closed.jaxpr
    saving = ClosedJaxpr(jaxpr.replace(outvars=[*jaxpr.outvars, *marks]), closed.consts)
    n_saved, n_args = len(marks), len(closed.in_avals)
    from_saved = _with_saved(closed, marks)
    lin = linearize_jaxpr(from_saved, [*[False] * n_saved, *nonzero])
    n_out = len(closed.out_avals)

    def again(*values: Any) -> tuple[Any, ...]:
        known = values[: n_saved + n_args]
        if prevent_cse and known:
            known = optimization_barrier(*known)
        outs = eval_closed(lin.primal, *known)
        return eval_closed(lin.linear, *outs[n_out:], *values[n_saved + n_args :])

    tangent_avals = [
        a.to_tangent_aval() for a, nz in zip(closed.in_avals, nonzero, strict=True) if nz
    ]
    avals = [*[v.aval for v in marks], *closed.in_avals, *tangent_avals]
    return saving, stage_out(again, avals, jaxpr.debug_info), lin.out_nonzero


def _saveable(jaxpr: Jaxpr, policy: Any) -> list[Var]:
    """Return the results that the policy allows to save."""
    if policy is None:
        return []
    marks: list[Var] = []
    for eqn in jaxpr.eqns:
        if policy(eqn.primitive, *[a.aval for a in eqn.invars], **eqn.params):
            marks.extend(eqn.outvars)
    return marks


def _with_saved(closed: ClosedJaxpr, marks: Sequence[Var]) -> ClosedJaxpr:
    """Return the jaxpr ``(saved, args) -> outs`` that takes the marked values from outside.

    Their equations stay, because tangents flow through them; what computes the values themselves is
    dead after linearization.
    """
    if not marks:
        return closed
    jaxpr = closed.jaxpr
    given = {v: Var(v.aval) for v in marks}
    rename: dict[Var, Var] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        ins = [a if isinstance(a, Literal) else rename.get(a, a) for a in eqn.invars]
        eqns.append(eqn.replace(invars=ins))
        for var in eqn.outvars:
            if var in given:
                rename[var] = Var(var.aval)
                eqns.append(JaxprEqn([var, given[var]], [rename[var]], saved_p, {}, eqn.source))
    outs = [a if isinstance(a, Literal) else rename.get(a, a) for a in jaxpr.outvars]
    return ClosedJaxpr(
        jaxpr.replace(invars=[*given.values(), *jaxpr.invars], eqns=eqns, outvars=outs),
        closed.consts,
    )


class Saved(Primitive):
    """The second operand, a saved value, with the tangent of the first, which it replaces."""

    name = "saved"

    def abstract_eval(self, computed: ShapedArray, saved: ShapedArray) -> ShapedArray:
        return saved

    def impl(self, xp: Any, computed: Any, saved: Any) -> Any:
        return saved

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        zero = Zero(get_aval(primals[1]).to_tangent_aval())
        return (primals[1],), lambda *tangents: (tangents[0] if nonzero[0] else zero,)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return args[1], dims[1]

    def pull(self, operands: tuple[Pull, ...], index: Any) -> Any:
        """Return the kernel IR of element ``index``."""
        return operands[1](index)


saved_p = Saved()
checkpoint_p = Checkpoint()

__all__ = ["Checkpoint", "checkpoint_p"]
