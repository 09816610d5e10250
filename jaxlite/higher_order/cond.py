"""``cond``: run one of several branches. In: an int32 index (clamped) and operands.

Out: the branch's results.

Only the chosen branch runs, unless ``vmap`` makes the index differ between examples: then all
branches run and each example selects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.higher_order.compiled_call import run_equation
from jaxlite.higher_order.jit import batch_size, derived, fill_zeros
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, Var
from jaxlite.language.primitive import Dims, Primitive, Zero, is_linear, zeros_of
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import bdim_at_front, ops, scalar_like
from jaxlite.primitives.identity import stop_gradient
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.jvp import jvp_jaxpr
from jaxlite.transforms.linearize import linearize_jaxpr
from jaxlite.transforms.stage_out import stage_out
from jaxlite.transforms.transpose import transpose_jaxpr
from jaxlite.transforms.vmap import batch_jaxpr

Branches = tuple[ClosedJaxpr, ...]


class Cond(Primitive):
    """Operands: the branch index (int32 scalar, in range), then the arguments of every branch."""

    name = "cond"
    role = "cond"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of all branches."""
        return frozenset().union(*(b.effects for b in params["branches"]))

    def abstract_eval(
        self, index: ShapedArray, *avals: ShapedArray, branches: Branches, **_: Any
    ) -> Any:
        return tuple(branches[0].out_avals)

    def impl(self, xp: Any, *arrays: Any, **params: Any) -> Any:
        index = ShapedArray((), arrays[0].dtype, False)
        return run_equation(self, params, [index, *params["branches"][0].in_avals], arrays)

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        branches: Branches = params["branches"]
        nonzero = tuple([type(t) is not Zero for t in tangents[1:]])
        new, out_nonzero = derived(
            branches[0], ("cond jvp", branches, nonzero), lambda: _jvp_branches(branches, nonzero)
        )
        given = [t for t in tangents[1:] if type(t) is not Zero]
        outs = self.bind_all(*primals, *given, **{**params, "branches": new})
        n = len(branches[0].out_avals)
        return outs[:n], fill_zeros(outs[n:], out_nonzero, branches[0].out_avals)

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        branches: Branches = params["branches"]
        active = tuple(nonzero[1:])
        primal, linear, out_nonzero = derived(
            branches[0],
            ("cond linearize", branches, active),
            lambda: _linearize_branches(branches, active),
        )
        outs = self.bind_all(*primals, **{**params, "branches": primal})
        n = len(branches[0].out_avals)
        residuals = outs[n:]

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            results = self.bind_all(
                primals[0], *residuals, *tangents, **{**params, "branches": linear}
            )
            return fill_zeros(results, out_nonzero, branches[0].out_avals)

        return outs[:n], tangent_fn

    def transpose(
        self, ct: Any, index: Any, *operands: Any, branches: Branches, **params: Any
    ) -> Any:
        cts = ct if isinstance(ct, tuple) else (ct,)
        mask = tuple([is_linear(x) for x in operands])
        nonzero = tuple([type(c) is not Zero for c in cts])
        back = derived(
            branches[0],
            ("cond transpose", branches, mask, nonzero),
            lambda: tuple(
                [transpose_jaxpr(b, mask, nonzero, instantiate_all=True)[0] for b in branches]
            ),
        )
        values = [x for x in operands if not is_linear(x)]
        given = [c for c in cts if type(c) is not Zero]
        outs = iter(self.bind_all(index, *values, *given, branches=back, **params))
        return (None, *[next(outs) if lin else None for lin in mask])

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        branches: Branches = params.pop("branches")
        size = batch_size(args, dims)
        in_dims = dims[1:]
        if dims[0] is not None:
            return _select_branches(args, dims, branches, size)
        per_branch = [batch_jaxpr(b, size, in_dims)[1] for b in branches]
        force = [any(d is not None for d in ds) for ds in zip(*per_branch, strict=True)]
        new = tuple([batch_jaxpr(b, size, in_dims, force, bdim_at_front)[0] for b in branches])
        outs = self.bind_all(*args, branches=new, **params)
        return outs, tuple([0 if f else None for f in force])


def _select_branches(
    args: Sequence[Any], dims: Sequence[int | None], branches: Branches, size: int
) -> tuple[Any, Any]:
    """Run every branch on the whole batch and select per example."""
    index = bdim_at_front(args[0], dims[0], size)
    operands = [bdim_at_front(x, d, size) for x, d in zip(args[1:], dims[1:], strict=True)]
    results = []
    for k, b in enumerate(branches):
        # Examples that take another branch are constants here: their derivatives, which may be NaN
        # or infinite, must not reach the sum (https://github.com/jax-ml/jax/issues/1052).
        is_taken = ops.eq(index, scalar_like(index, k))
        own = [_where(is_taken, x, stop_gradient(x)) for x in operands]
        force = [True] * len(b.out_avals)
        batched, _ = batch_jaxpr(b, size, (0,) * len(own), force, bdim_at_front)
        results.append(eval_closed(batched, *own))
    outs = []
    for cases in zip(*results, strict=True):
        shape = get_aval(cases[0]).shape
        which = ops.broadcast_in_dim(index, shape, (0,)) if len(shape) > 1 else index
        if len(cases) == 2:
            which = ops.ne(which, scalar_like(which, 0))  # two cases take a bool
        outs.append(ops.select_n(which, *cases))
    return tuple(outs), (0,) * len(outs)


def _where(mask: Any, on_true: Any, on_false: Any) -> Any:
    """Select per example."""
    shape = get_aval(on_true).shape
    which = ops.broadcast_in_dim(mask, shape, (0,)) if len(shape) > 1 else mask
    return ops.select_n(which, on_false, on_true)


def _jvp_branches(branches: Branches, nonzero: Sequence[bool]) -> tuple[Branches, list[bool]]:
    first = [jvp_jaxpr(b, nonzero, False)[1] for b in branches]
    union = [any(nz) for nz in zip(*first, strict=True)]
    return tuple([jvp_jaxpr(b, nonzero, union)[0] for b in branches]), union


def _linearize_branches(
    branches: Branches, nonzero: Sequence[bool]
) -> tuple[Branches, Branches, list[bool]]:
    """Linearize each branch; every branch returns the residuals of all (zeros for the others')."""
    first = [linearize_jaxpr(b, nonzero).out_nonzero for b in branches]
    union = [any(nz) for nz in zip(*first, strict=True)]
    parts = [linearize_jaxpr(b, nonzero, union) for b in branches]
    counts = [p.n_residuals for p in parts]
    res_avals = [p.linear.in_avals[: p.n_residuals] for p in parts]
    n_out = len(branches[0].out_avals)
    total = sum(counts)
    primal, linear = [], []
    for k, part in enumerate(parts):

        def run(*args: Any, part: Any = part, k: int = k) -> list[Any]:
            outs = eval_closed(part.primal, *args)
            filled: list[Any] = list(outs[:n_out])
            for j, avals in enumerate(res_avals):
                filled += outs[n_out:] if j == k else [zeros_of(a) for a in avals]
            return filled

        primal.append(stage_out(run, part.primal.in_avals))
        jaxpr: Jaxpr = part.linear.jaxpr
        unused = [[Var(a) for a in avals] for avals in res_avals]
        unused[k] = jaxpr.invars[: counts[k]]
        heads = [v for group in unused for v in group]
        assert len(heads) == total
        linear.append(
            ClosedJaxpr(
                jaxpr.replace(invars=[*heads, *jaxpr.invars[counts[k] :]]), part.linear.consts
            )
        )
    return tuple(primal), tuple(linear), union


cond_p = Cond()

__all__ = ["Cond", "cond_p"]
