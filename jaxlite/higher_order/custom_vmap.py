"""Calls with the user's batching rule. In: a jaxpr and a rule on flat values.

Out: results that ``vmap`` computes by the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jaxlite.higher_order.jit import batch_size, compiled, derived
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.primitive import Dims, Primitive, Zero, instantiate
from jaxlite.primitives.families import bdim_at_front, move_batch_dim
from jaxlite.transforms.jvp import jvp_flat, jvp_jaxpr


class BatchRule(Protocol):
    """``rule(axis_size, in_batched, args) -> (outs, out_batched)`` on flat lists.

    Batched values have the batch at axis 0.
    """

    def __call__(
        self, axis_size: int, in_batched: Sequence[bool], args: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[bool]]:
        """Apply the rule."""
        ...


class CustomVmapCall(Primitive):
    """Call ``call`` (a ``ClosedJaxpr``); a batch goes through ``rule``."""

    name = "custom_vmap_call"
    role = "call"
    call_param = "call"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of the body."""
        effects: frozenset[str] = params["call"].effects
        return effects

    def abstract_eval(self, *avals: ShapedArray, call: ClosedJaxpr, **_: Any) -> Any:
        return tuple(call.out_avals)

    def impl(self, xp: Any, *arrays: Any, call: ClosedJaxpr, **_: Any) -> Any:
        return compiled(call, "custom_vmap").executable.run(arrays)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        values = [
            x if d is None else move_batch_dim(x, d, 0) for x, d in zip(args, dims, strict=True)
        ]
        outs, batched = params["rule"](size, [d is not None for d in dims], values)
        return tuple(outs), tuple([0 if b else None for b in batched])

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        call: ClosedJaxpr = params["call"]
        nonzero = tuple([type(t) is not Zero for t in tangents])
        jvp, out_nonzero = derived(
            call, ("custom vmap jvp", nonzero), lambda: jvp_jaxpr(call, nonzero, False)
        )
        given = [t for t in tangents if type(t) is not Zero]
        rule = _JvpRule(params["rule"], nonzero, out_nonzero)
        outs = self.bind_all(*primals, *given, **{**params, "call": jvp, "rule": rule})
        n = len(call.out_avals)
        computed = iter(outs[n:])
        return outs[:n], tuple(
            [
                next(computed) if nz else Zero(a.to_tangent_aval())
                for nz, a in zip(out_nonzero, call.out_avals, strict=True)
            ]
        )

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        raise ValueError(
            "Linearization failed to produce known values for all output primals. This is "
            "typically caused by attempting to differentiate a function uses an operation that "
            "does not support reverse-mode autodiff.\n"
            "  A custom_vmap function has no reverse-mode derivative of its own.\n"
            "  Fix: custom_vjp around it, with defvjp."
        )


class _JvpRule:
    """The batching rule of the jvp of a call: the jvp of the batching rule."""

    def __init__(
        self, rule: BatchRule, nonzero: Sequence[bool], out_nonzero: Sequence[bool]
    ) -> None:
        self.rule, self.nonzero, self.out_nonzero = rule, nonzero, out_nonzero

    def __call__(
        self, axis_size: int, in_batched: Sequence[bool], args: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        n = len(self.nonzero)
        given = iter(zip(args[n:], in_batched[n:], strict=True))
        primals, tangents, batched = [], [], []
        for x, is_batched, nz in zip(args[:n], in_batched[:n], self.nonzero, strict=True):
            t, t_batched = next(given) if nz else (Zero(x.aval.to_tangent_aval()), is_batched)
            both = is_batched or t_batched
            # A primal and its tangent are one tracer, so they are batched together.
            primals.append(_front(x, is_batched, both, axis_size))
            tangents.append(_front(t, t_batched, both, axis_size) if nz else t)
            batched.append(both)
        flags: list[Sequence[bool]] = []

        def run(*xs: Any) -> Sequence[Any]:
            outs, out_batched = self.rule(axis_size, batched, xs)
            flags.append(out_batched)
            return outs

        outs, out_tangents = jvp_flat(run, primals, tangents)
        kept = [
            (instantiate(t), b)
            for t, b, nz in zip(out_tangents, flags[0], self.out_nonzero, strict=True)
            if nz
        ]
        return [*outs, *(t for t, _ in kept)], [*flags[0], *(b for _, b in kept)]


def _front(x: Any, is_batched: bool, wanted: bool, size: int) -> Any:
    return bdim_at_front(x, None, size) if wanted and not is_batched else x


custom_vmap_call_p = CustomVmapCall()

__all__ = ["BatchRule", "custom_vmap_call_p"]
