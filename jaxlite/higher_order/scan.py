"""``scan``: a loop with a known number of steps. In: constants, carry, stacked inputs.

Out: carry, stacked results.

Body: ``(consts, carry, x) -> (carry, y)``. Reverse mode saves what the linear part of a step needs,
stacked along the loop, and runs the transposed step backwards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.higher_order.compiled_call import run_equation
from jaxlite.higher_order.jit import batch_size, derived
from jaxlite.higher_order.rearrange import reorder, split
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Var
from jaxlite.language.primitive import Primitive, Zero, add_tangents, instantiate, is_linear
from jaxlite.language.trace import get_aval, state
from jaxlite.primitives.families import bdim_at_front, move_batch_dim
from jaxlite.primitives.identity import linear_zeros_p
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.jvp import jvp_jaxpr
from jaxlite.transforms.linearize import linearize_jaxpr
from jaxlite.transforms.stage_out import stage_out
from jaxlite.transforms.transpose import transpose_jaxpr
from jaxlite.transforms.vmap import batch_jaxpr


def stacked(aval: ShapedArray, length: int) -> ShapedArray:
    """Return the aval of ``length`` values of ``aval`` stacked along a new first axis."""
    return ShapedArray((length, *aval.shape), aval.dtype, aval.weak_type)


def row(aval: ShapedArray) -> ShapedArray:
    """Return the aval of one element along the first axis."""
    return ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)


class Scan(Primitive):
    """Run ``jaxpr`` ``length`` times.

    Operands: ``num_consts`` constants, ``num_carry`` carries, stacked xs.
    """

    name = "scan"
    role = "scan"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of the body."""
        effects: frozenset[str] = params["jaxpr"].effects
        return effects

    def abstract_eval(
        self, *avals: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_carry: int, **_: Any
    ) -> Any:
        outs = jaxpr.out_avals
        return (*outs[:num_carry], *[stacked(a, length) for a in outs[num_carry:]])

    def impl(self, xp: Any, *arrays: Any, **params: Any) -> Any:
        return run_equation(self, params, operand_avals(params), arrays)

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        closed, n_consts, n_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
        nonzero = [type(t) is not Zero for t in tangents]
        (jvp, out_nonzero, nonzero) = derived(
            closed,
            ("scan jvp", tuple(nonzero), n_consts, n_carry),
            lambda: _jvp_body(closed, nonzero, n_consts, n_carry),
        )
        given = [instantiate(t) for t, nz in zip(tangents, nonzero, strict=True) if nz]
        counts = [sum(part) for part in split(nonzero, n_consts, n_carry)]
        primal_parts = split(primals, n_consts, n_carry)
        tangent_parts = split(given, *counts[:2])
        operands = [x for p, t in zip(primal_parts, tangent_parts, strict=True) for x in (*p, *t)]
        changes = {
            "jaxpr": jvp,
            "num_consts": n_consts + counts[0],
            "num_carry": n_carry + counts[1],
        }
        outs = self.bind_all(*operands, **{**params, **changes})
        n_out_carry_t = sum(out_nonzero[:n_carry])
        carry, carry_t, rest = split(outs, n_carry, n_out_carry_t)
        ys, ys_t = split(rest, len(out_nonzero) - n_carry)
        out_avals = self.abstract_eval(*[get_aval(p) for p in primals], **params)
        values = iter([*carry_t, *ys_t])
        out_tangents = tuple(
            [
                next(values) if nz else Zero(a.to_tangent_aval())
                for nz, a in zip(out_nonzero, out_avals, strict=True)
            ]
        )
        return (*carry, *ys), out_tangents

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        closed, n_consts, n_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
        body = derived(
            closed,
            ("scan linearize", tuple(nonzero), n_consts, n_carry),
            lambda: _LinearBody(closed, nonzero, n_consts, n_carry),
        )
        outs = self.bind_all(*primals, **{**params, "jaxpr": body.primal})
        n_out = len(closed.out_avals)
        stacked_residuals = outs[n_out:]
        fixed_residuals = [primals[i] for i in body.fixed]
        counts = [sum(part) for part in split(body.nonzero, n_consts, n_carry)]

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            given = iter(tangents)
            full = []
            for p, was, now in zip(primals, nonzero, body.nonzero, strict=True):
                if was:
                    full.append(next(given))
                elif now:  # a carry whose tangent starts at zero and grows
                    aval = get_aval(p).to_tangent_aval()
                    full.append(linear_zeros_p.bind(tangents[0], aval=aval))
            consts_t, carry_t, xs_t = split(full, counts[0], counts[1])
            operands = [*fixed_residuals, *consts_t, *carry_t, *stacked_residuals, *xs_t]
            changes = {
                "jaxpr": body.linear,
                "num_consts": len(fixed_residuals) + counts[0],
                "num_carry": counts[1],
            }
            results = iter(self.bind_all(*operands, **{**params, **changes}))
            length = params["length"]
            avals = [
                *closed.out_avals[:n_carry],
                *[stacked(a, length) for a in closed.out_avals[n_carry:]],
            ]
            return tuple(
                [
                    next(results) if nz else Zero(a.to_tangent_aval())
                    for nz, a in zip(body.out_nonzero, avals, strict=True)
                ]
            )

        return outs[:n_out], tangent_fn

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> Any:
        closed, n_consts, n_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
        cts = ct if isinstance(ct, tuple) else (ct,)
        consts, carry, xs = split(operands, n_consts, n_carry)
        if not all(is_linear(c) for c in carry):
            raise NotImplementedError(
                "Transpose rule (for reverse-mode differentiation) for 'scan' not implemented: "
                "the carry mixes linear and nonlinear values"
            )
        const_mask = [is_linear(c) for c in consts]
        xs_mask = [is_linear(x) for x in xs]
        ct_carry = [instantiate(c) for c in cts[:n_carry]]
        ct_ys = cts[n_carry:]
        ys_nonzero = [type(c) is not Zero for c in ct_ys]
        back, n_lin_consts = derived(
            closed,
            ("scan transpose", tuple(const_mask), tuple(xs_mask), tuple(ys_nonzero), n_carry),
            lambda: _transposed_body(closed, const_mask, n_carry, xs_mask, ys_nonzero),
        )
        const_accs = [instantiate(Zero(c.aval)) for c in consts if is_linear(c)]
        res_consts = [c for c in consts if not is_linear(c)]
        res_xs = [x for x in xs if not is_linear(x)]
        new = [*res_consts, *const_accs, *ct_carry, *res_xs]
        new += [c for c in ct_ys if type(c) is not Zero]
        changes = {
            "jaxpr": back,
            "num_consts": len(res_consts),
            "num_carry": n_lin_consts + n_carry,
            "reverse": not params["reverse"],
        }
        outs = self.bind_all(*new, **{**params, **changes})
        ct_consts, ct_init, ct_xs = (iter(p) for p in split(outs, n_lin_consts, n_carry))
        return (
            *[next(ct_consts) if lin else None for lin in const_mask],
            *ct_init,
            *[next(ct_xs) if lin else None for lin in xs_mask],
        )

    def batch(self, args: tuple[Any, ...], dims: tuple[int | None, ...], **params: Any) -> Any:
        closed, n_consts, n_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
        size = batch_size(args, dims)
        const_dims, carry_dims, x_dims = split(dims, n_consts, n_carry)
        carry_batched = [d is not None for d in carry_dims]
        inner_x = [None if d is None else 0 for d in x_dims]
        while True:  # a carry is batched if it starts batched or the step makes it so
            inner = [*const_dims, *[0 if b else None for b in carry_batched], *inner_x]
            force = [*carry_batched, *[False] * (len(closed.out_avals) - n_carry)]
            batched, out_dims = derived(
                closed,
                ("scan batch", size, tuple(inner), tuple(force), state.batched_axis),
                functools.partial(batch_jaxpr, closed, size, inner, force, bdim_at_front),
            )
            grown = [b or d is not None for b, d in zip(carry_batched, out_dims, strict=False)]
            if grown == carry_batched:
                break
            carry_batched = grown
        consts, carry, xs = split(args, n_consts, n_carry)
        carry = [
            bdim_at_front(c, d, size) if b else c
            for c, d, b in zip(carry, carry_dims, carry_batched, strict=True)
        ]
        xs = [x if d is None else move_batch_dim(x, d, 1) for x, d in zip(xs, x_dims, strict=True)]
        outs = self.bind_all(*consts, *carry, *xs, **{**params, "jaxpr": batched})
        y_dims = [None if d is None else d + 1 for d in out_dims[n_carry:]]
        return outs, (*[0 if b else None for b in carry_batched], *y_dims)


def operand_avals(params: dict[str, Any]) -> list[ShapedArray]:
    """Return the avals of a scan's operands."""
    closed, n = params["jaxpr"], params["num_consts"] + params["num_carry"]
    avals = closed.in_avals
    return [*avals[:n], *[stacked(a, params["length"]) for a in avals[n:]]]


def _jvp_body(
    closed: ClosedJaxpr, nonzero: Sequence[bool], n_consts: int, n_carry: int
) -> tuple[ClosedJaxpr, list[bool], list[bool]]:
    """Differentiate the step; the carries with tangents are the least fixed point."""
    consts_nz, carry_nz, xs_nz = split(nonzero, n_consts, n_carry)
    n_ys = len(closed.out_avals) - n_carry
    while True:
        full = [*consts_nz, *carry_nz, *xs_nz]
        jvp, out_nz = jvp_jaxpr(closed, full, [*carry_nz, *[False] * n_ys])
        grown = [a or b for a, b in zip(carry_nz, out_nz, strict=False)]
        if grown == carry_nz:
            break
        carry_nz = grown
    n_in = len(full)
    primal_in = split(range(n_in), n_consts, n_carry)
    counts = [sum(consts_nz), sum(carry_nz)]
    tangent_in = split(range(n_in, len(jvp.in_avals)), *counts)
    in_order = [i for p, t in zip(primal_in, tangent_in, strict=True) for i in (*p, *t)]
    n_out = len(closed.out_avals)
    carry_out, ys_out = split(range(n_out), n_carry)
    carry_t, ys_t = split(range(n_out, len(jvp.out_avals)), sum(out_nz[:n_carry]))
    return reorder(jvp, in_order, [*carry_out, *carry_t, *ys_out, *ys_t]), out_nz, full


class _LinearBody:
    """A step split into primal and linear parts.

    ``fixed`` are operand numbers of constants that the linear part needs as they are: not stacked.
    """

    def __init__(
        self, closed: ClosedJaxpr, nonzero: Sequence[bool], n_consts: int, n_carry: int
    ) -> None:
        consts_nz, carry_nz, xs_nz = split(nonzero, n_consts, n_carry)
        n_out = len(closed.out_avals)
        while True:
            full = [*consts_nz, *carry_nz, *xs_nz]
            lin = linearize_jaxpr(closed, full, [*carry_nz, *[False] * (n_out - n_carry)])
            grown = [a or b for a, b in zip(carry_nz, lin.out_nonzero, strict=False)]
            if grown == carry_nz:
                break
            carry_nz = grown
        self.nonzero: list[bool] = full
        self.out_nonzero = lin.out_nonzero
        jaxpr = lin.primal.jaxpr
        const_vars = {v: i for i, v in enumerate(jaxpr.invars[:n_consts])}
        residuals = jaxpr.outvars[n_out:]
        is_fixed = [isinstance(r, Var) and r in const_vars for r in residuals]
        self.fixed = [const_vars[r] for r, f in zip(residuals, is_fixed, strict=True) if f]  # type: ignore[index]
        kept = [r for r, f in zip(residuals, is_fixed, strict=True) if not f]
        self.primal = ClosedJaxpr(
            jaxpr.replace(outvars=[*jaxpr.outvars[:n_out], *kept]), lin.primal.consts
        )
        n_res = lin.n_residuals
        fixed_in = [i for i in range(n_res) if is_fixed[i]]
        stacked_in = [i for i in range(n_res) if not is_fixed[i]]
        counts = [sum(consts_nz), sum(carry_nz)]
        consts_t, carry_t, xs_t = split(range(n_res, len(lin.linear.in_avals)), *counts)
        self.linear = reorder(lin.linear, [*fixed_in, *consts_t, *carry_t, *stacked_in, *xs_t])


def _transposed_body(
    closed: ClosedJaxpr,
    const_mask: Sequence[bool],
    n_carry: int,
    xs_mask: Sequence[bool],
    ys_nonzero: Sequence[bool],
) -> tuple[ClosedJaxpr, int]:
    """Return the backward step and the number of linear constants.

    ``(res consts, const cts, carry cts, res xs, y cts) -> (const cts, carry cts, x cts)``.
    """
    mask = [*const_mask, *[True] * n_carry, *xs_mask]
    back, _ = transpose_jaxpr(closed, mask, [*[True] * n_carry, *ys_nonzero], instantiate_all=True)
    n_lin = sum(const_mask)
    n_res_consts = len(const_mask) - n_lin
    n_res_xs = len(xs_mask) - sum(xs_mask)
    back_avals = back.in_avals
    res_consts_a, res_xs_a, ct_carry_a, ct_ys_a = split(back_avals, n_res_consts, n_res_xs, n_carry)
    acc_avals = [a for a, m in zip(closed.in_avals, const_mask, strict=False) if m]

    def step(*values: Any) -> list[Any]:
        res_consts, accs, ct_carry, rest = split(values, n_res_consts, n_lin, n_carry)
        res_xs, ct_ys = split(rest, n_res_xs)
        outs = eval_closed(back, *res_consts, *res_xs, *ct_carry, *ct_ys)
        ct_consts, others = split(outs, n_lin)
        return [*[add_tangents(a, c) for a, c in zip(accs, ct_consts, strict=True)], *others]

    avals = [*res_consts_a, *acc_avals, *ct_carry_a, *res_xs_a, *ct_ys_a]
    return stage_out(step, avals), n_lin


scan_p = Scan()

__all__ = ["Scan", "operand_avals", "row", "scan_p", "stacked"]
