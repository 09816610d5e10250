"""Forward mode. In: a function on flat values. Out: its results with tangents, in one run.

Each rule runs under the parent trace: ``(x, dx) -> (f(x), f'(x) dx)``. Zero tangents stay symbolic,
so constants cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl, DeviceArray, asarray_eager
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.primitive import Primitive, Zero, instantiate
from jaxlite.language.trace import Trace, Tracer, get_aval, leaked, state, use_trace
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.stage_out import stage_out


class JVPTracer(Tracer):
    """A primal with its tangent (possibly ``Zero``)."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        super().__init__(trace, get_aval(primal))
        self.primal = primal
        self.tangent = tangent

    def concrete_value(self) -> Any:
        """Return the primal's value: under eager ``jvp`` a user may branch on it."""
        return concrete_of(self.primal)

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"


def concrete_of(x: Any) -> Any:
    """Return the concrete array inside ``x``, or None."""
    if type(x) is DeviceArray:
        return x.to_host()
    if type(x) is ArrayImpl:
        return x
    return x.concrete_value() if isinstance(x, Tracer) else asarray_eager(x)


class JVPTrace(Trace):
    """Carries a tangent beside every value."""

    __slots__ = ()

    def unbox(self, x: Any) -> tuple[Any, Any]:
        """Return primal and tangent; values of other traces are constants here."""
        if isinstance(x, Tracer):
            if x._trace is self:
                return x.primal, x.tangent  # type: ignore[attr-defined]
            if not x._trace.is_live:
                raise leaked(x)
        return x, Zero(get_aval(x).to_tangent_aval())

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Apply the primitive and its derivative."""
        assert self.parent is not None
        pairs = [self.unbox(a) for a in args]
        primals = tuple([p for p, _ in pairs])
        tangents = tuple([t for _, t in pairs])
        with use_trace(self.parent):
            if all(type(t) is Zero for t in tangents):
                return primitive.bind_all(*primals, **params)
            outs, out_tangents = primitive.jvp_rule(primals, tangents, params)
        return self.box(outs, out_tangents)

    def box(self, outs: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        """Pair results with tangents; a result without tangent stays what it is."""
        return tuple(
            [
                o if type(t) is Zero else JVPTracer(self, o, t)
                for o, t in zip(outs, tangents, strict=True)
            ]
        )

    def process_custom(
        self, call: Any, fun: Callable[..., tuple[Any, ...]], args: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Use the user's derivative rule."""
        assert self.parent is not None
        pairs = [self.unbox(a) for a in args]
        primals = tuple([p for p, _ in pairs])
        tangents = tuple([t for _, t in pairs])
        with use_trace(self.parent):
            if all(type(t) is Zero for t in tangents):
                return self.parent.process_custom(call, fun, primals)
            outs, out_tangents = call.jvp(primals, tangents)
        return self.box(outs, out_tangents)


def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Run ``fun`` on ``primals`` with ``tangents`` (``Zero`` allowed).

    Returns results and tangents.

    ``fun`` takes flat values and returns a flat sequence.
    """
    trace = JVPTrace(state.trace)
    boxed = [
        p if type(t) is Zero else JVPTracer(trace, p, t)
        for p, t in zip(primals, tangents, strict=True)
    ]
    try:
        with use_trace(trace):
            outs = fun(*boxed)
        pairs = [trace.unbox(o) for o in outs]
    finally:
        trace.is_live = False
    return [p for p, _ in pairs], [t for _, t in pairs]


def jvp_jaxpr(
    closed: ClosedJaxpr, nonzero: Sequence[bool], instantiate_outs: bool | Sequence[bool]
) -> tuple[ClosedJaxpr, list[bool]]:
    """Return the jaxpr ``(*primals, *nonzero tangents) -> (*outs, *nonzero out tangents)``.

    ``instantiate_outs`` forces tangents of these results to be arrays. The second result says which
    are.
    """
    n_out = len(closed.out_avals)
    force = (
        [instantiate_outs] * n_out if isinstance(instantiate_outs, bool) else list(instantiate_outs)
    )
    out_nonzero: list[bool] = []
    in_avals = closed.in_avals
    tangent_avals = [a.to_tangent_aval() for a, nz in zip(in_avals, nonzero, strict=True) if nz]

    def run(*args: Any) -> list[Any]:
        primals, tangents = args[: len(in_avals)], iter(args[len(in_avals) :])
        full = [
            next(tangents) if nz else Zero(a.to_tangent_aval())
            for a, nz in zip(in_avals, nonzero, strict=True)
        ]
        outs, out_tangents = jvp_flat(lambda *xs: eval_closed(closed, *xs), primals, full)
        out_tangents = [
            instantiate(t) if f and t.aval.dtype != dtypes.float0 else t
            for t, f in zip(out_tangents, force, strict=True)
        ]
        out_nonzero[:] = [type(t) is not Zero for t in out_tangents]
        return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

    jaxpr = stage_out(run, [*in_avals, *tangent_avals], closed.jaxpr.debug_info)
    return jaxpr, out_nonzero
