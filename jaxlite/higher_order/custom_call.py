"""Calls with the user's derivative. In: flat functions.

Out: results that differentiate by the user's rule.

A ``CustomJVP``/``CustomVJP`` object is what ``Trace.process_custom`` gets: it knows the derivative
(``jvp``, ``linearize``), how to vectorise both (``batch``), and how to become an equation
(``stage``). Eagerly the function just runs in Python, so it may look at concrete values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, DebugInfo
from jaxlite.language.primitive import Primitive, Zero, instantiate, is_linear
from jaxlite.language.trace import get_aval, state
from jaxlite.primitives.families import bdim_at_front, move_batch_dim, ops, scalar_like
from jaxlite.transforms.eval_jaxpr import eval_closed, eval_jaxpr
from jaxlite.transforms.partial import partial_eval_flat
from jaxlite.transforms.stage_out import hoist_consts, stage_out
from jaxlite.transforms.vmap import MappedAxis, batch_flat

FlatFun = Callable[..., tuple[Any, ...]]


def full_tangents(primals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Return all tangents as arrays: rules of users see no symbolic zeros unless they ask."""
    return [instantiate(t) for t in tangents]


@dataclass(slots=True)
class CustomJVP:
    """``rule(primals, tangents) -> (outs, out tangents)`` on flat lists.

    ``name`` is the function's.
    """

    rule: Callable[[Sequence[Any], Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]
    name: str
    symbolic_zeros: bool = False

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Return results and tangents by the user's rule."""
        given = tangents if self.symbolic_zeros else full_tangents(primals, tangents)
        outs, out_tangents = self.rule(primals, given)
        return tuple(outs), tuple([symbolic(t, o) for t, o in zip(out_tangents, outs, strict=True)])

    def linearize(
        self, primals: Sequence[Any], nonzero: Sequence[bool]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        """Return results and the linear map of the nonzero tangents."""
        avals = [get_aval(p).to_tangent_aval() for p in primals]
        active = [a for a, nz in zip(avals, nonzero, strict=True) if nz]

        def run(*tangents: Any) -> tuple[Any, Any]:
            given = iter(tangents)
            full = [next(given) if nz else Zero(a) for a, nz in zip(avals, nonzero, strict=True)]
            return self.jvp(primals, full)

        outs, known, linear = partial_eval_flat(run, active)
        hoisted, residuals = hoist_consts(linear)

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            computed = iter(eval_jaxpr(hoisted.jaxpr, [], *residuals, *tangents))
            return tuple([next(computed) if k is None else k for k in known])

        return tuple(outs), tangent_fn

    def batch(
        self,
        axis: MappedAxis,
        dims: Sequence[int | None],
        out_dims: list[int | None],
    ) -> CustomJVP:
        """Return the rule on batched primals and tangents.

        Writes the results' dims into ``out_dims``.
        """
        inner, size = self.rule, axis.size
        n_in = len(dims)

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            present = [type(t) is not Zero for t in tangents]
            given = [t for t in tangents if type(t) is not Zero]
            given_dims = [d for d, p in zip(dims, present, strict=True) if p]
            marks: list[Any] = []

            def flat(*values: Any) -> tuple[Any, ...]:
                ts = iter(values[n_in:])
                full = [
                    next(ts) if p else Zero(get_aval(v).to_tangent_aval())
                    for v, p in zip(values[:n_in], present, strict=True)
                ]
                outs, out_ts = inner(values[:n_in], full)
                marks[:] = [t if type(t) is Zero else None for t in out_ts]
                return (*outs, *(t for t in out_ts if type(t) is not Zero))

            all_dims: list[int | None] = []
            batched = batch_flat(flat, axis, [*dims, *given_dims], all_dims)
            values = batched(*primals, *given)
            n_out = len(marks)
            outs, rest = (
                list(values[:n_out]),
                iter(zip(values[n_out:], all_dims[n_out:], strict=True)),
            )
            final: list[Any] = []
            for i, mark in enumerate(marks):
                if mark is not None:
                    final.append(Zero(get_aval(outs[i]).to_tangent_aval()))
                    continue
                t, td = next(rest)
                final.append(t)
                if all_dims[i] is None and td is not None:
                    outs[i], all_dims[i] = bdim_at_front(outs[i], None, size), 0
                if td != all_dims[i]:
                    final[-1] = _match(t, td, all_dims[i], size)
            out_dims[:] = all_dims[:n_out]
            return outs, final

        return CustomJVP(rule, self.name, self.symbolic_zeros)

    def stage(self, trace: Any, fun: FlatFun, tracers: Sequence[Any]) -> tuple[Any, ...]:
        """Record the call as one equation."""
        closed = stage_out(fun, [t.aval for t in tracers], DebugInfo(self.name))
        hoisted, consts = hoist_consts(closed)
        outs: tuple[Any, ...] = trace.process(
            custom_jvp_call_p,
            [*consts, *tracers],
            {
                "name": self.name,
                "call_jaxpr": hoisted,
                "jvp": self,
                "num_consts": len(consts),
                "symbolic_zeros": self.symbolic_zeros,
            },
        )
        return outs


def symbolic(tangent: Any, out: Any) -> Any:
    """Return a symbolic zero where the tangent of an integer result is a float0 array."""
    if type(tangent) is Zero:
        return Zero(get_aval(out).to_tangent_aval())
    aval = get_aval(out).to_tangent_aval()
    return Zero(aval) if aval.dtype == dtypes.float0 else tangent


def _match(x: Any, dim: int | None, wanted: int | None, size: int) -> Any:
    if wanted is None:
        return x
    if dim is None:
        front = bdim_at_front(x, None, size)
        return move_batch_dim(front, 0, wanted)
    return move_batch_dim(x, dim, wanted)


class CustomCall(Primitive):
    """Base of the two staged calls: everything but the derivative is that of an ordinary call."""

    role = "call"
    call_param = "call_jaxpr"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """The effects are those of the body."""
        effects: frozenset[str] = params["call_jaxpr"].effects
        return effects

    def abstract_eval(self, *avals: ShapedArray, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
        return tuple(call_jaxpr.out_avals)

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The rule itself is no text worth reading, and the number of constants is ours."""
        shown = {k: v for k, v in params.items() if k != "num_consts"}
        return {k: getattr(v, "rule_name", v) for k, v in shown.items()}

    def bind_all(self, *args: Any, **params: Any) -> tuple[Any, ...]:
        """Apply the call.

        Recorded as it is, but under all other traces the user's rule is asked.
        """
        return state.trace.process(self, args, params)

    def impl(self, xp: Any, *arrays: Any, **params: Any) -> Any:
        raise AssertionError("a staged custom call is evaluated through process_custom")


class CustomJVPCall(CustomCall):
    """A staged call of a ``custom_jvp`` function."""

    name = "custom_jvp_call"

    def bind_all(self, *args: Any, **params: Any) -> tuple[Any, ...]:
        """Run the body with its rule under the current trace."""
        return rebind(params["jvp"], params["call_jaxpr"], params["num_consts"], args)


class CustomVJPCall(CustomCall):
    """A staged call of a ``custom_vjp`` function."""

    name = "custom_vjp_call"

    def bind_all(self, *args: Any, **params: Any) -> tuple[Any, ...]:
        """Run the body with its rule under the current trace."""
        return rebind(params["fwd"], params["call_jaxpr"], params["num_consts"], args)


def rebind(call: Any, closed: ClosedJaxpr, num_consts: int, args: Sequence[Any]) -> tuple[Any, ...]:
    """Apply a staged call under the current trace, which may stage it again.

    Its closed-over constants are leading arguments; the user's rule knows them already, so they get
    no tangent through it.
    """
    consts, rest = args[:num_consts], args[num_consts:]

    def fun(*xs: Any) -> tuple[Any, ...]:
        return eval_closed(closed, *consts, *xs)

    return state.trace.process_custom(call, fun, rest)


custom_jvp_call_p = CustomJVPCall()
custom_vjp_call_p = CustomVJPCall()


@dataclass(slots=True)
class CustomVJP:
    """Flat ``fwd(perturbed, *primals) -> (outs, residuals)``, ``bwd(residuals, cts) -> cts``.

    ``perturbed`` says of each primal whether a derivative with respect to it is asked for.
    """

    fwd: Callable[..., tuple[Sequence[Any], Sequence[Any]]]
    bwd: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
    name: str
    symbolic_zeros: bool = False

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Refuse forward mode, as JAX does."""
        raise TypeError(
            "can't apply forward-mode autodiff (jvp) to a custom_vjp function.\n"
            f"  {self.name} has only a reverse-mode rule (defvjp).\n"
            "  Fix: use jaxlite.custom_jvp, or reverse mode (grad, vjp, jacrev)."
        )

    def linearize(
        self, primals: Sequence[Any], nonzero: Sequence[bool]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        """Return results and the linear map whose transpose is ``bwd``."""
        outs, residuals = self.fwd(tuple(nonzero), *primals)
        out_avals = tuple([get_aval(o).to_tangent_aval() for o in outs])
        in_avals = [get_aval(p).to_tangent_aval() for p in primals]
        residuals = list(residuals)

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            given = iter(tangents)
            full = [
                next(given) if nz else instantiate_inexact(a)
                for a, nz in zip(in_avals, nonzero, strict=True)
            ]
            kept = [i for i, a in enumerate(in_avals) if a.dtype != dtypes.float0]
            wanted = [i for i, a in enumerate(out_avals) if a.dtype != dtypes.float0]
            results = iter(
                custom_lin_p.bind_all(
                    *residuals,
                    *[full[i] for i in kept],
                    num_res=len(residuals),
                    bwd=self.bwd,
                    in_avals=tuple(in_avals),
                    out_avals=out_avals,
                )
            )
            return tuple(
                [next(results) if i in wanted else Zero(a) for i, a in enumerate(out_avals)]
            )

        return tuple(outs), tangent_fn

    def batch(
        self,
        axis: MappedAxis,
        dims: Sequence[int | None],
        out_dims: list[int | None],
    ) -> CustomVJP:
        """Return both functions on batched values."""
        size = axis.size
        res_dims: list[int | None] = []
        in_dims = list(dims)

        def fwd(perturbed: Any, *primals: Any) -> tuple[Sequence[Any], Sequence[Any]]:
            counts: list[int] = []

            def flat(*xs: Any) -> tuple[Any, ...]:
                outs, res = self.fwd(perturbed, *xs)
                counts[:] = [len(outs)]
                return (*outs, *res)

            all_dims: list[int | None] = []
            values = batch_flat(flat, axis, in_dims, all_dims)(*primals)
            n = counts[0]
            out_dims[:] = all_dims[:n]
            res_dims[:] = all_dims[n:]
            return values[:n], values[n:]

        def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> Sequence[Any]:
            n_res = len(residuals)
            live = [i for i, c in enumerate(cts) if type(c) is not Zero]
            ct_avals = [
                ShapedArray(_drop(c.aval.shape, d), c.aval.dtype) if type(c) is Zero else None
                for c, d in zip(cts, out_dims, strict=True)
            ]

            def flat(*xs: Any) -> tuple[Any, ...]:
                values = iter(xs[n_res:])
                full = [next(values) if a is None else Zero(a) for a in ct_avals]
                return tuple(self.bwd(xs[:n_res], full))

            result_dims: list[int | None] = []
            values = batch_flat(flat, axis, [*res_dims, *(out_dims[i] for i in live)], result_dims)(
                *residuals, *[cts[i] for i in live]
            )
            return [
                _sum_or_match(v, d, wanted, size)
                for v, d, wanted in zip(values, result_dims, in_dims, strict=True)
            ]

        return CustomVJP(fwd, bwd, self.name, self.symbolic_zeros)

    def stage(self, trace: Any, fun: FlatFun, tracers: Sequence[Any]) -> tuple[Any, ...]:
        """Record the call as one equation."""
        closed = stage_out(fun, [t.aval for t in tracers], DebugInfo(self.name))
        hoisted, consts = hoist_consts(closed)
        params = {
            "name": self.name,
            "call_jaxpr": hoisted,
            "fwd": self,
            "bwd": self.bwd,
            "symbolic_zeros": self.symbolic_zeros,
            "num_consts": len(consts),
        }
        outs: tuple[Any, ...] = trace.process(custom_vjp_call_p, [*consts, *tracers], params)
        return outs


def _drop(shape: tuple[int, ...], dim: int | None) -> tuple[int, ...]:
    return shape if dim is None else shape[:dim] + shape[dim + 1 :]


def _sum_or_match(ct: Any, dim: int | None, wanted: int | None, size: int) -> Any:
    """Give the cotangent of an argument the argument's batch dim.

    An unbatched argument sums over examples.
    """
    if type(ct) is Zero or get_aval(ct).dtype == dtypes.float0:
        return ct
    if wanted is not None:
        return _match(ct, dim, wanted, size)
    if dim is None:
        # Every example has the same cotangent of an argument that all share.
        return ops.mul(ct, scalar_like(ct, size))
    return ops.reduce_sum(ct, (dim,))


def instantiate_inexact(aval: ShapedArray) -> Any:
    """Return zeros, or None for float0 (integers carry no tangent)."""
    return None if aval.dtype == dtypes.float0 else instantiate(Zero(aval))


class CustomLin(Primitive):
    """The linear map of a ``custom_vjp`` function: exists only to be transposed."""

    name = "custom_lin"

    def abstract_eval(
        self, *avals: ShapedArray, out_avals: tuple[ShapedArray, ...], **_: Any
    ) -> Any:
        return tuple([a for a in out_avals if a.dtype != dtypes.float0])

    def impl(self, xp: Any, *args: Any, **params: Any) -> Any:
        raise TypeError("can't apply forward-mode autodiff (jvp) to a custom_vjp function.")

    def transpose(
        self,
        ct: Any,
        *operands: Any,
        num_res: int,
        bwd: Any,
        in_avals: tuple[ShapedArray, ...],
        out_avals: tuple[ShapedArray, ...],
    ) -> Any:
        cts = iter(ct if isinstance(ct, tuple) else (ct,))
        full = [Zero(a) if a.dtype == dtypes.float0 else next(cts) for a in out_avals]
        results = bwd(operands[:num_res], full)
        kept = [r for r, a in zip(results, in_avals, strict=True) if a.dtype != dtypes.float0]
        linear = [is_linear(x) for x in operands[num_res:]]
        return (None,) * num_res + tuple(
            [r if lin else None for r, lin in zip(kept, linear, strict=True)]
        )


custom_lin_p = CustomLin()
