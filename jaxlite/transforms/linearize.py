"""Reverse mode, first half. In: a function on flat values. Out: its results and a linear jaxpr.

Primals run under the parent trace; every linear map of a rule is recorded into one jaxpr of
tangents. What the linear part needs from the primal part are that jaxpr's constants: the residuals.

    f(x) = sin(x) * x   ->   primal: s = sin x; c = cos x; y = s * x     residuals: c, x, s
                             linear: { lambda ; dx. let ds = mul dx c; a = mul ds x; b = mul s dx;
                               dy = add_any a b }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.primitive import Primitive, Zero, zeros_of
from jaxlite.language.trace import Trace, Tracer, get_aval, leaked, state, use_trace
from jaxlite.transforms.eval_jaxpr import eval_closed, eval_jaxpr
from jaxlite.transforms.jvp import concrete_of
from jaxlite.transforms.stage_out import StagingTrace, hoist_consts, stage_out


class LinearizeTracer(Tracer):
    """A primal and its tangent, a tracer of the linear jaxpr being recorded."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any) -> None:
        super().__init__(trace, get_aval(primal))
        self.primal = primal
        self.tangent = tangent

    def concrete_value(self) -> Any:
        """Return the primal's value: under eager ``grad`` a user may branch on it."""
        return concrete_of(self.primal)

    def __repr__(self) -> str:
        tangent = self.aval.to_tangent_aval().str_short()
        return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"


class LinearizeTrace(Trace):
    """Evaluates primals below and records tangents in ``tangent_trace``."""

    __slots__ = ("tangent_trace",)

    def __init__(self, parent: Trace, tangent_trace: StagingTrace) -> None:
        super().__init__(parent)
        self.tangent_trace = tangent_trace

    def unbox(self, x: Any) -> tuple[Any, Any]:
        """Return primal and tangent; values of other traces are constants here."""
        if isinstance(x, Tracer):
            if x._trace is self:
                return x.primal, x.tangent  # type: ignore[attr-defined]
            if not x._trace.is_live:
                raise leaked(x)
        return x, Zero(get_aval(x).to_tangent_aval())

    def box(self, outs: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
        """Pair results with tangents; a result without tangent stays what it is."""
        return tuple(
            [
                o if type(t) is Zero else LinearizeTracer(self, o, t)
                for o, t in zip(outs, tangents, strict=True)
            ]
        )

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Apply the primitive below; record its linear map."""
        assert self.parent is not None
        pairs = [self.unbox(a) for a in args]
        primals = tuple([p for p, _ in pairs])
        nonzero = [type(t) is not Zero for _, t in pairs]
        with use_trace(self.parent):
            if not any(nonzero):
                return primitive.bind_all(*primals, **params)
            outs, tangent_fn = primitive.linearize_rule(primals, nonzero, params)
        with use_trace(self.tangent_trace):
            out_tangents = tangent_fn(*[t for _, t in pairs if type(t) is not Zero])
        return self.box(outs, out_tangents)

    def process_custom(
        self, call: Any, fun: Callable[..., tuple[Any, ...]], args: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Use the user's derivative rule."""
        assert self.parent is not None
        pairs = [self.unbox(a) for a in args]
        primals = tuple([p for p, _ in pairs])
        nonzero = [type(t) is not Zero for _, t in pairs]
        with use_trace(self.parent):
            if not any(nonzero):
                return self.parent.process_custom(call, fun, primals)
            outs, tangent_fn = call.linearize(primals, nonzero)
        with use_trace(self.tangent_trace):
            out_tangents = tangent_fn(*[t for _, t in pairs if type(t) is not Zero])
        return self.box(outs, out_tangents)


@dataclass(slots=True)
class Linearized:
    """Results of ``linearize_flat``.

    ``linear`` maps the nonzero input tangents to the nonzero result tangents; its consts are
    residuals.
    """

    outs: list[Any]
    linear: ClosedJaxpr
    out_nonzero: list[bool]


def linearize_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], nonzero: Sequence[bool]
) -> Linearized:
    """Run ``fun`` on ``primals`` under the current trace and record its derivative there."""
    tangent_trace = StagingTrace()
    trace = LinearizeTrace(state.trace, tangent_trace)
    boxed = []
    for p, nz in zip(primals, nonzero, strict=True):
        aval = get_aval(p).to_tangent_aval()
        boxed.append(LinearizeTracer(trace, p, tangent_trace.new_arg(aval)) if nz else p)
    try:
        with use_trace(trace):
            outs = fun(*boxed)
        pairs = [trace.unbox(o) for o in outs]
        with use_trace(tangent_trace):
            linear = tangent_trace.to_jaxpr([t for _, t in pairs if type(t) is not Zero])
    finally:
        trace.is_live = False
        tangent_trace.is_live = False
    return Linearized([p for p, _ in pairs], linear, [type(t) is not Zero for _, t in pairs])


@dataclass(slots=True)
class LinearizedJaxpr:
    """A jaxpr split in two. ``primal``: ``(*args) -> (*outs, *residuals)``.

    ``linear``: ``(*residuals, *nonzero tangents) -> (*nonzero out tangents)``, without consts.
    """

    primal: ClosedJaxpr
    linear: ClosedJaxpr
    out_nonzero: list[bool]
    n_residuals: int


def linearize_jaxpr(
    closed: ClosedJaxpr,
    nonzero: Sequence[bool],
    instantiate_outs: bool | Sequence[bool] = False,
) -> LinearizedJaxpr:
    """Linearize a jaxpr into a primal jaxpr with residuals and a linear jaxpr."""
    n_out = len(closed.out_avals)
    force = (
        [instantiate_outs] * n_out if isinstance(instantiate_outs, bool) else list(instantiate_outs)
    )
    kept: dict[str, Any] = {}

    def primal(*args: Any) -> list[Any]:
        result = linearize_flat(lambda *xs: eval_closed(closed, *xs), args, nonzero)
        linear, residuals = hoist_consts(_force_outs(result, force, closed))
        kept["linear"], kept["n"] = linear, len(residuals)
        kept["out_nonzero"] = [
            nz or (f and a.to_tangent_aval().dtype != dtypes.float0)
            for nz, f, a in zip(result.out_nonzero, force, closed.out_avals, strict=True)
        ]
        return [*result.outs, *residuals]

    primal_jaxpr = stage_out(primal, closed.in_avals, closed.jaxpr.debug_info)
    return LinearizedJaxpr(primal_jaxpr, kept["linear"], kept["out_nonzero"], kept["n"])


def _force_outs(result: Linearized, force: Sequence[bool], closed: ClosedJaxpr) -> ClosedJaxpr:
    """Return the linear jaxpr with zero tangents of forced results materialised."""
    wanted = [
        f and not nz and a.to_tangent_aval().dtype != dtypes.float0
        for f, nz, a in zip(force, result.out_nonzero, closed.out_avals, strict=True)
    ]
    if not any(wanted):
        return result.linear
    linear = result.linear
    hoisted, consts = hoist_consts(linear)

    def with_zeros(*args: Any) -> list[Any]:
        outs = iter(eval_jaxpr(hoisted.jaxpr, [], *args))
        full = []
        for want, nz, aval in zip(wanted, result.out_nonzero, closed.out_avals, strict=True):
            if nz:
                full.append(next(outs))
            elif want:
                full.append(zeros_of(aval.to_tangent_aval()))
        return full

    staged = stage_out(with_zeros, hoisted.in_avals)
    n = len(consts)
    jaxpr = staged.jaxpr
    assert not jaxpr.constvars
    return ClosedJaxpr(jaxpr.replace(constvars=jaxpr.invars[:n], invars=jaxpr.invars[n:]), consts)
