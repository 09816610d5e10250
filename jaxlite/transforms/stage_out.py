"""Stage 2 of 7, trace. In: a function on flat values and avals. Out: a jaxpr.

Next: ``language/jaxpr.py``.

Invariant: the function runs exactly once; every primitive applied meanwhile is one equation, also
on constants (their values are known but their computation belongs to the program, as in JAX).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language.array import ArrayImpl, DeviceArray, asarray_eager
from jaxlite.language.avals import ShapedArray
from jaxlite.language.dtypes import KeyDType
from jaxlite.language.jaxpr import Atom, ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn, Literal, Var
from jaxlite.language.leaks import check_leaks
from jaxlite.language.primitive import Primitive, as_tuple, set_stager
from jaxlite.language.source import SourceLine, current_line, place_of
from jaxlite.language.trace import Trace, Tracer, leaked, state, use_trace
from jaxlite.settings import config


class JaxprTracer(Tracer):
    """A value that will exist when the program runs.

    A var or a literal of the jaxpr being recorded.
    """

    __slots__ = ("atom", "source")

    def __init__(self, trace: Trace, atom: Atom, source: SourceLine | None = None) -> None:
        super().__init__(trace, atom.aval)
        self.atom = atom
        self.source = source

    def __repr__(self) -> str:
        return f"JitTracer({self.aval.str_long()})"

    def describe(self) -> str:
        """Say what was traced, on which arguments the value depends, and which line made it."""
        trace = self._trace
        assert isinstance(trace, StagingTrace)
        info = trace.debug_info
        where = (
            f"{info.function} at {place_of(info.file, info.line)}" if info.file else info.function
        )
        lines = [f"The error occurred while tracing the function {where} for jit."]
        names = self.depends_on()
        if names:
            plural = "s" if len(names) > 1 else ""
            lines[0] += (
                " This concrete value was not available in Python because it depends on the value"
                f"{plural} of the argument{plural} {_listed(names)}."
            )
        if self.source is not None:
            lines.append(f"  The value was made at {self.source}")
        here = current_line()
        if here is not None and trace.is_live:
            lines.append(f"  at {here}")
        return "\n".join(lines)

    def depends_on(self) -> list[str]:
        """Return the names of the arguments that this value was computed from."""
        trace = self._trace
        assert isinstance(trace, StagingTrace)
        needed = {self.atom}
        for eqn in reversed(trace.eqns):
            if any(v in needed for v in eqn.outvars):
                needed.update(a for a in eqn.invars if isinstance(a, Var))
        names = trace.debug_info.arg_names
        return [
            names[i] if i < len(names) else f"argument {i}"
            for i, var in enumerate(trace.invars)
            if var in needed
        ]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class StagingTrace(Trace):
    """Records equations. One instance per recorded jaxpr."""

    known_as = "DynamicJaxprTrace"
    __slots__ = ("const_tracers", "consts", "constvars", "debug_info", "eqns", "invars")

    def __init__(self, debug_info: DebugInfo | None = None) -> None:
        super().__init__(None)
        self.debug_info = debug_info or DebugInfo()
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.consts: list[Any] = []
        self.const_tracers: dict[int, tuple[JaxprTracer, Any]] = {}
        self.eqns: list[JaxprEqn] = []

    def new_arg(self, aval: ShapedArray) -> JaxprTracer:
        """Add an argument."""
        var = Var(aval)
        self.invars.append(var)
        return JaxprTracer(self, var)

    def lift(self, x: Any) -> JaxprTracer:
        """Box ``x``.

        Our own tracers as they are, scalars as literals, everything else as a constant.
        """
        if isinstance(x, Tracer):
            if x._trace is self:
                return x  # type: ignore[return-value]
            if not x._trace.is_live:
                raise leaked(x)
            return self._const(x, x.aval)
        if type(x) is ArrayImpl:
            if x.aval.shape or isinstance(x.aval.dtype, KeyDType):
                return self._const(x, x.aval)
            return JaxprTracer(self, Literal(x._data[()], x.aval))
        if type(x) is DeviceArray:
            return self._const(x, x.aval)
        if isinstance(x, np.ndarray) and x.ndim:
            return self._const(asarray_eager(x), None, key=x)
        array = asarray_eager(x)
        return JaxprTracer(self, Literal(array._data[()], array.aval))

    def _const(self, value: Any, aval: ShapedArray | None, key: Any = None) -> JaxprTracer:
        key = value if key is None else key
        found = self.const_tracers.get(id(key))
        if found is not None:
            return found[0]
        var = Var(aval or value.aval)
        self.constvars.append(var)
        self.consts.append(value)
        tracer = JaxprTracer(self, var)
        self.const_tracers[id(key)] = (tracer, key)  # the key is kept alive: ids must stay unique
        return tracer

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Record one equation."""
        tracers = [
            a if isinstance(a, JaxprTracer) and a._trace is self else self.lift(a) for a in args
        ]
        avals = as_tuple(primitive.abstract_eval(*(t.aval for t in tracers), **params))
        source = current_line()
        outvars = [Var(a) for a in avals]
        effects = primitive.eqn_effects(params)
        self.eqns.append(
            JaxprEqn([t.atom for t in tracers], outvars, primitive, params, source, effects)
        )
        return tuple([JaxprTracer(self, v, source) for v in outvars])

    def process_custom(
        self, call: Any, fun: Callable[..., tuple[Any, ...]], args: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Record the call with its body as a jaxpr; ``call`` knows the primitive."""
        outs: tuple[Any, ...] = call.stage(self, fun, [self.lift(a) for a in args])
        return outs

    def to_jaxpr(self, outs: Sequence[Any]) -> ClosedJaxpr:
        """Close the recording: ``outs`` become the results."""
        out_atoms = [self.lift(o).atom for o in outs]
        self.is_live = False
        jaxpr = Jaxpr(self.constvars, self.invars, out_atoms, self.eqns, self.debug_info)
        consts = self.consts
        self.const_tracers = {}
        return ClosedJaxpr(jaxpr, consts)


def stage_out(
    fun: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    debug_info: DebugInfo | None = None,
) -> ClosedJaxpr:
    """Run ``fun`` once on tracers of ``avals`` and return what it did as a closed jaxpr.

    ``fun`` takes flat values and returns a flat sequence. Constants it closed over (arrays, tracers
    of enclosing traces) become ``consts``.
    """
    trace = StagingTrace(debug_info)
    args = [trace.new_arg(a) for a in avals]
    try:
        with use_trace(trace):
            outs = fun(*args)
            closed = trace.to_jaxpr(outs)
    finally:
        trace.is_live = False
    if config.frame.check_tracer_leaks:
        del args, outs
        check_leaks(trace)
    return closed


def hoist_consts(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """Turn constants into leading arguments: returns a jaxpr without consts, and the consts."""
    jaxpr = closed.jaxpr
    if not jaxpr.constvars:
        return closed, []
    hoisted = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
    if jaxpr.debug_info.arg_names:
        names = ("",) * len(jaxpr.constvars) + tuple(jaxpr.debug_info.arg_names)
        info = jaxpr.debug_info
        hoisted.debug_info = DebugInfo(
            info.function, names, info.result_paths, info.file, info.line
        )
    return ClosedJaxpr(hoisted, []), list(closed.consts)


def _stage(function: Callable[..., Any], avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    return stage_out(lambda *xs: as_tuple(function(*xs)), avals)


set_stager(_stage)


def is_tracing() -> bool:
    """Say whether operations are being recorded now (somewhere up the stack of traces)."""
    trace: Trace | None = state.trace
    while trace is not None:
        if isinstance(trace, StagingTrace):
            return True
        trace = trace.parent
    return False
