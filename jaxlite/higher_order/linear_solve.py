"""``custom_linear_solve``: a linear solver of the user's with the derivative of a solution.

In: constants of all functions, right-hand sides. Out: the solution, then what the solver adds.

    A x = b   ->   A dx = db - dA x   ->   the cotangent of b solves A^T y = ct

The solver itself is never differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.higher_order.jit import batch_size, compiled, derived, fill_zeros
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.primitive import (
    Dims,
    Primitive,
    Zero,
    add_tangents,
    as_tuple,
    instantiate,
    is_linear,
)
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import bdim_at_front, ops
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.linearize import linearize_jaxpr
from jaxlite.transforms.vmap import batch_jaxpr

_FUNCTIONS = ("matvec", "vecmat", "solve", "transpose_solve")


class CustomLinearSolve(Primitive):
    """Operands: ``n_consts`` constants, then the right-hand sides.

    Each of the four jaxprs takes all constants and one vector. ``transpose_solve`` and ``vecmat``
    are None if only forward mode is possible.
    """

    name = "custom_linear_solve"
    role = "call"
    call_param = "solve"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of the solver."""
        effects: frozenset[str] = params["solve"].effects
        return effects

    def abstract_eval(self, *avals: ShapedArray, solve: ClosedJaxpr, **_: Any) -> Any:
        return tuple(solve.out_avals)

    def impl(self, xp: Any, *arrays: Any, solve: ClosedJaxpr, **_: Any) -> Any:
        return compiled(solve, self.name).executable.run(arrays)

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        outs = self.bind_all(*primals, **params)
        n, matvec = params["n_consts"], params["matvec"]
        consts, n_x = primals[:n], len(primals) - n
        moving = (*nonzero[:n], *[False] * n_x)
        lin = derived(matvec, ("linearize", moving), lambda: linearize_jaxpr(matvec, moving))
        residuals = eval_closed(lin.primal, *consts, *outs[:n_x])[n_x:]
        avals = [get_aval(x).to_tangent_aval() for x in (*primals[n:], *outs[n_x:])]
        n_moving = sum(nonzero[:n])

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            # A dx = db - dA x
            slopes = eval_closed(lin.linear, *residuals, *tangents[:n_moving])
            given, zeros = iter(tangents[n_moving:]), tuple([Zero(a) for a in avals])
            rhs = [next(given) if nz else z for nz, z in zip(nonzero[n:], zeros, strict=False)]
            products = fill_zeros(slopes, lin.out_nonzero, matvec.out_avals)
            rhs = [
                add_tangents(db, p if type(p) is Zero else ops.neg(p))
                for db, p in zip(rhs, products, strict=True)
            ]
            if all(type(r) is Zero for r in rhs):
                return zeros
            solved = self.bind_all(*consts, *map(instantiate, rhs), **params)[:n_x]
            return (*solved, *zeros[n_x:])

        return outs, tangent_fn

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> Any:
        n = params["n_consts"]
        if params["transpose_solve"] is None:
            raise TypeError(
                "transpose_solve required for backwards mode automatic differentiation of "
                "custom_linear_solve\n"
                "  Fix: give transpose_solve, or symmetric=True if the matrix is symmetric."
            )
        cts = as_tuple(ct)[: len(operands) - n]
        if all(type(c) is Zero for c in cts):
            return (None,) * len(operands)
        swapped = {
            "matvec": params["vecmat"],
            "vecmat": params["matvec"],
            "solve": params["transpose_solve"],
            "transpose_solve": params["solve"],
            "n_consts": n,
        }
        outs = self.bind_all(*operands[:n], *map(instantiate, cts), **swapped)
        back = zip(operands[n:], outs, strict=False)  # behind the solution comes what is no vector
        return (*[None] * n, *[out if is_linear(b) else None for b, out in back])

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        n, size = params["n_consts"], batch_size(args, dims)
        # All vectors get a batch dim, whether they need it or not; constants keep theirs.
        inner = [None if d is None and i < n else 0 for i, d in enumerate(dims)]
        new = dict(params)
        for name in _FUNCTIONS:
            if params[name] is not None:
                new[name] = batch_jaxpr(params[name], size, inner, True, bdim_at_front)[0]
        moved = [
            x if d is None and i < n else bdim_at_front(x, d, size)
            for i, (x, d) in enumerate(zip(args, dims, strict=True))
        ]
        outs = self.bind_all(*moved, **new)
        return outs, (0,) * len(outs)


custom_linear_solve_p = CustomLinearSolve()

__all__ = ["custom_linear_solve_p"]
