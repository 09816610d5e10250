"""``linear_call``: a linear function whose transpose the user writes. In: two jaxprs.

Out: results that reverse mode sends through the second one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.higher_order.jit import batch_size, compiled
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.primitive import Dims, Primitive, Zero, as_tuple, instantiate
from jaxlite.primitives.families import bdim_at_front
from jaxlite.transforms.vmap import batch_jaxpr


class LinearCall(Primitive):
    """Operands: ``num_res`` residuals, then what the function is linear in.

    ``callee(*residuals, *linear) -> outs``; ``transpose(*residuals, *cts) -> cts of linear``.
    """

    name = "linear_call"
    role = "call"
    call_param = "callee"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of the body."""
        effects: frozenset[str] = params["callee"].effects
        return effects

    def abstract_eval(self, *avals: ShapedArray, callee: ClosedJaxpr, **_: Any) -> Any:
        return tuple(callee.out_avals)

    def impl(self, xp: Any, *arrays: Any, callee: ClosedJaxpr, **_: Any) -> Any:
        return compiled(callee, "linear_call").executable.run(arrays)

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        n = params["num_res"]
        if any(nonzero[:n]):
            raise NotImplementedError(
                "linear_call is differentiable in its linear arguments only, and a residual has a "
                "tangent\n  Fix: stop_gradient on the residuals, or custom_vjp."
            )
        avals = [a.to_tangent_aval() for a in params["callee"].in_avals[n:]]

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            given = iter(tangents)
            full = [
                next(given) if nz else instantiate(Zero(a))
                for a, nz in zip(avals, nonzero[n:], strict=True)
            ]
            return self.bind_all(*primals[:n], *full, **params)

        return self.bind_all(*primals, **params), tangent_fn

    def transpose(
        self,
        ct: Any,
        *operands: Any,
        callee: ClosedJaxpr,
        transpose: ClosedJaxpr,
        num_res: int,
    ) -> Any:
        outs = self.bind_all(
            *operands[:num_res],
            *[instantiate(c) for c in as_tuple(ct)],
            callee=transpose,
            transpose=callee,
            num_res=num_res,
        )
        return (*[None] * num_res, *outs)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        n, size = params["num_res"], batch_size(args, dims)
        residual_dims = [None if d is None else 0 for d in dims[:n]]
        callee, back = params["callee"], params["transpose"]
        # Everything linear gets a batch dim: the transpose of sharing would be a sum.
        inner = [*residual_dims, *[0] * (len(args) - n)]
        callee, _ = batch_jaxpr(callee, size, inner, True, bdim_at_front)
        inner = [*residual_dims, *[0] * (len(back.in_avals) - n)]
        back, _ = batch_jaxpr(back, size, inner, True, bdim_at_front)
        moved = [
            x if d is None and i < n else bdim_at_front(x, d, size)
            for i, (x, d) in enumerate(zip(args, dims, strict=True))
        ]
        outs = self.bind_all(*moved, callee=callee, transpose=back, num_res=n)
        return outs, (0,) * len(outs)


linear_call_p = LinearCall()

__all__ = ["linear_call_p"]
