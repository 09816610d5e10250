"""``while``: a loop until a condition fails. In: constants of condition and body, carry.

Out: the carry.

Forward mode carries tangents along. Reverse mode cannot exist (how many steps to save is not
known), and says so when somebody transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.higher_order.compiled_call import run_equation
from jaxlite.higher_order.jit import batch_size, derived
from jaxlite.higher_order.rearrange import reorder, split
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, DebugInfo
from jaxlite.language.primitive import Primitive, Zero, instantiate
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import bdim_at_front, ops
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.jvp import jvp_jaxpr
from jaxlite.transforms.stage_out import stage_out
from jaxlite.transforms.vmap import batch_jaxpr


class While(Primitive):
    """Operands: ``cond_nconsts`` constants, ``body_nconsts`` constants, carry."""

    name = "while"
    role = "while"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of condition and body."""
        effects: frozenset[str] = params["cond_jaxpr"].effects | params["body_jaxpr"].effects
        return effects

    def abstract_eval(self, *avals: ShapedArray, body_jaxpr: ClosedJaxpr, **_: Any) -> Any:
        return tuple(body_jaxpr.out_avals)

    def impl(self, xp: Any, *arrays: Any, **params: Any) -> Any:
        n_cond = params["cond_nconsts"]
        avals = [*params["cond_jaxpr"].in_avals[:n_cond], *params["body_jaxpr"].in_avals]
        return run_equation(self, params, avals, arrays)

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        closed: ClosedJaxpr = params["body_jaxpr"]
        nonzero = tuple([type(t) is not Zero for t in tangents])[n_cond:]
        cond, body, full = derived(
            closed,
            ("while jvp", params["cond_jaxpr"], nonzero, n_cond, n_body),
            lambda: _jvp_jaxprs(params["cond_jaxpr"], closed, nonzero, n_cond, n_body),
        )
        consts_nz, carry_nz = split(full, n_body)
        cond_consts, body_consts, carry = split(primals, n_cond, n_body)
        body_t, carry_t = split(tangents[n_cond:], n_body)
        operands = [
            *cond_consts,
            *body_consts,
            *[t for t, nz in zip(body_t, consts_nz, strict=True) if nz],
            *carry,
            *[instantiate(t) for t, nz in zip(carry_t, carry_nz, strict=True) if nz],
        ]
        changes = {
            "cond_jaxpr": cond,
            "body_jaxpr": body,
            "body_nconsts": n_body + sum(consts_nz),
        }
        outs = self.bind_all(*operands, **{**params, **changes})
        values = iter(outs[len(carry) :])
        out_tangents = tuple(
            [
                next(values) if nz else Zero(get_aval(c).to_tangent_aval())
                for nz, c in zip(carry_nz, carry, strict=True)
            ]
        )
        return outs[: len(carry)], out_tangents

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        outs = self.bind_all(*primals, **params)

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            given = iter(tangents)
            full = tuple(
                [
                    next(given) if nz else Zero(get_aval(p).to_tangent_aval())
                    for p, nz in zip(primals, nonzero, strict=True)
                ]
            )
            return self.jvp_rule(primals, full, params)[1]

        return outs, tangent_fn

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> Any:
        raise ValueError(
            "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
            "dynamic start/stop values. Try using lax.scan, or using fori_loop with static "
            "start/stop.\n"
            "  Fix: give fori_loop Python integers as bounds, or use lax.scan with a fixed length."
        )

    def batch(self, args: tuple[Any, ...], dims: tuple[int | None, ...], **params: Any) -> Any:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        size = batch_size(args, dims)
        cond_dims, body_dims, carry_dims = split(dims, n_cond, n_body)
        carry_batched = [d is not None for d in carry_dims]
        while True:  # least fixed point, and everything is batched if the condition is
            carry_in = [0 if b else None for b in carry_batched]
            cond, (pred_dim,) = batch_jaxpr(params["cond_jaxpr"], size, [*cond_dims, *carry_in])
            body, out_dims = batch_jaxpr(
                params["body_jaxpr"], size, [*body_dims, *carry_in], carry_batched, bdim_at_front
            )
            grown = [
                b or d is not None or pred_dim is not None
                for b, d in zip(carry_batched, out_dims, strict=True)
            ]
            if grown == carry_batched:
                break
            carry_batched = grown
        cond_consts, body_consts, carry = split(args, n_cond, n_body)
        carry = [
            bdim_at_front(c, d, size) if b else c
            for c, d, b in zip(carry, carry_dims, carry_batched, strict=True)
        ]
        changes = {"cond_jaxpr": cond, "body_jaxpr": body}
        if pred_dim is not None:
            _check_lanes(self.eqn_effects(params))
            any_lane, body = _lanes(cond, body, n_cond, n_body)
            changes = {"cond_jaxpr": any_lane, "body_jaxpr": body, "body_nconsts": n_cond + n_body}
            body_consts = [*cond_consts, *body_consts]
        outs = self.bind_all(*cond_consts, *body_consts, *carry, **{**params, **changes})
        return outs, tuple([0 if b else None for b in carry_batched])


def _jvp_jaxprs(
    cond: ClosedJaxpr, body: ClosedJaxpr, nonzero: Sequence[bool], n_cond: int, n_body: int
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool]]:
    """Return condition and body that carry tangents, and which body operands have one."""
    consts_nz, carry_nz = split(nonzero, n_body)
    while True:
        full = [*consts_nz, *carry_nz]
        jvp, out_nz = jvp_jaxpr(body, full, carry_nz)
        grown = [a or b for a, b in zip(carry_nz, out_nz, strict=True)]
        if grown == carry_nz:
            break
        carry_nz = grown
    n_in = len(full)
    consts, carry = split(range(n_in), n_body)
    consts_t, carry_t = split(range(n_in, len(jvp.in_avals)), sum(consts_nz))
    jvp = reorder(jvp, [*consts, *consts_t, *carry, *carry_t])
    tangent_avals = jvp.in_avals[len(jvp.in_avals) - len(carry_t) :]

    def with_tangents(*values: Any) -> tuple[Any, ...]:
        return eval_closed(cond, *values[: len(cond.in_avals)])

    return stage_out(with_tangents, [*cond.in_avals, *tangent_avals]), jvp, full


def _lanes(
    cond: ClosedJaxpr, body: ClosedJaxpr, n_cond: int, n_body: int
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Return "any lane goes on" and a body that changes only lanes that go on."""

    def any_lane(*values: Any) -> list[Any]:
        (pred,) = eval_closed(cond, *values)
        return [ops.reduce_or(pred, (0,))]

    def masked(*values: Any) -> list[Any]:
        cond_consts, body_consts, carry = split(values, n_cond, n_body)
        (pred,) = eval_closed(cond, *cond_consts, *carry)
        new = eval_closed(body, *body_consts, *carry)
        return [_where_lane(pred, n, old) for n, old in zip(new, carry, strict=True)]

    avals = [*cond.in_avals[:n_cond], *body.in_avals]
    return stage_out(any_lane, cond.in_avals, ANY_LANE), stage_out(masked, avals)


#: What the condition of a loop over lanes is called: its body also runs on lanes that are done.
ANY_LANE = DebugInfo("any lane goes on")


def _check_lanes(effects: frozenset[str]) -> None:
    """Refuse effects that lanes which are done would have, too."""
    if "check" in effects:
        raise ValueError(
            "Checkify does not support batched while-loops (checkify-of-vmap-of-while). \nHint: if "
            "possible, move the vmap to the outer level to get vmap-of-checkify-of-while."
        )
    if "io" in effects:
        raise NotImplementedError(
            "IO effect not supported in vmap-of-while: "
            "not supported in while_loop with batched predicate"
        )


def _where_lane(pred: Any, new: Any, old: Any) -> Any:
    """Select per lane (axis 0) between two arrays."""
    shape = get_aval(new).shape
    mask = ops.broadcast_in_dim(pred, shape, (0,)) if len(shape) > 1 else pred
    return ops.select_n(mask, old, new)


while_p = While()

__all__ = ["ANY_LANE", "While", "while_p"]
