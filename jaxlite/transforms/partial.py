"""Split a linear function from what it needs. In: a function of tangents.

Out: values and a linear jaxpr.

``PartialTrace`` computes what does not depend on the given tangents below and records the rest:
used where a user's rule returns results and tangents together (``custom_jvp``) and only the tangent
part is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.primitive import Primitive
from jaxlite.language.trace import Trace, Tracer, get_aval, leaked, state, use_trace
from jaxlite.transforms.stage_out import JaxprTracer, StagingTrace


class PartialTracer(Tracer):
    """A value that depends on the unknown arguments: a tracer of the jaxpr being recorded."""

    __slots__ = ("recorded",)

    def __init__(self, trace: Trace, recorded: JaxprTracer) -> None:
        super().__init__(trace, recorded.aval)
        self.recorded = recorded

    def __repr__(self) -> str:
        return f"LinearTracer({self.aval.str_short()})"


class PartialTrace(Trace):
    """Known values are computed by the parent, the others recorded."""

    __slots__ = ("recorder",)

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.recorder = StagingTrace()

    def new_arg(self, aval: ShapedArray) -> PartialTracer:
        """Add an unknown argument."""
        return PartialTracer(self, self.recorder.new_arg(aval))

    def _own(self, x: Any) -> bool:
        if not isinstance(x, Tracer):
            return False
        if x._trace is self:
            return True
        if not x._trace.is_live:
            raise leaked(x)
        return False

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Compute or record one operation."""
        assert self.parent is not None
        if not any(self._own(a) for a in args):
            with use_trace(self.parent):
                return primitive.bind_all(*args, **params)
        with use_trace(self.recorder):
            outs = primitive.bind_all(*[self.inner(a) for a in args], **params)
        return tuple([PartialTracer(self, o) for o in outs])

    def inner(self, x: Any) -> Any:
        """Return what the recorder knows ``x`` as."""
        return x.recorded if self._own(x) else x

    def process_custom(
        self, call: Any, fun: Callable[..., tuple[Any, ...]], args: Sequence[Any]
    ) -> tuple[Any, ...]:
        """A known call keeps its rule.

        One on unknown values is linear already, so its body will do.
        """
        assert self.parent is not None
        if not any(self._own(a) for a in args):
            with use_trace(self.parent):
                return self.parent.process_custom(call, fun, args)
        return fun(*args)


def partial_eval_flat(
    fun: Callable[..., tuple[Sequence[Any], Sequence[Any]]], avals: Sequence[ShapedArray]
) -> tuple[list[Any], list[Any], ClosedJaxpr]:
    """Run ``fun`` on unknown tangents of ``avals``.

    ``fun`` returns ``(known, tangents)``. Returns the known values, the tangents with unknown
    entries replaced by None (their jaxpr's results in order), and the linear jaxpr whose consts are
    residuals.
    """
    trace = PartialTrace(state.trace)
    args = [trace.new_arg(a) for a in avals]
    try:
        with use_trace(trace):
            known, tangents = fun(*args)
        for value in known:
            if trace._own(value):
                raise TypeError(
                    "the primal output of a custom_jvp rule depends on its tangent inputs "
                    f"(result of type {get_aval(value).str_short()})"
                )
        owned = [trace._own(t) for t in tangents]
        with use_trace(trace.recorder):
            linear = trace.recorder.to_jaxpr(
                [t.recorded for t, own in zip(tangents, owned, strict=True) if own]
            )
    finally:
        trace.is_live = False
        trace.recorder.is_live = False
    return list(known), [None if own else t for t, own in zip(tangents, owned, strict=True)], linear
