"""Taylor mode. In: a function on flat values, and the derivatives of its arguments along a path.

Out: its results and their derivatives. A series is ``[x', x'', ...]`` at one point of the path.

Linear operations act on each derivative, products follow Leibniz's rule. Everything else follows
from its forward-mode rule: ``y = f(x)`` has ``y' = f'(x) x'``, and the derivatives of that, one
fewer, are again those of a program. So whatever has a JVP has a Taylor mode, loops included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.primitive import Primitive, Zero, add_tangents, instantiate, zeros_of
from jaxlite.language.trace import Trace, Tracer, get_aval, leaked, state, use_trace
from jaxlite.primitives.families import ops, scalar_like
from jaxlite.transforms.eval_jaxpr import eval_closed

__all__ = ["jet_flat"]

#: Linear in all float operands together; integers and bools only say where or how.
_LINEAR = frozenset(
    (
        *("add", "add_any", "broadcast_in_dim", "complex", "concatenate", "conj"),
        *("convert_element_type", "copy", "cumsum", "dynamic_slice", "dynamic_update_slice"),
        *("fft", "gather", "imag", "linear_zeros", "neg", "pad", "psum", "real", "reduce_sum"),
        *("reduce_window_sum", "reshape", "rev", "scatter-add", "scatter-sub", "select_n"),
        *("slice", "split", "squeeze", "sub", "tile", "transpose"),
    )
)
#: Linear in each of two operands.
_BILINEAR = frozenset(("conv_general_dilated", "dot_general", "mul"))

Series = list[Any]


class JetTracer(Tracer):
    """A value with its derivatives along the path (``Zero`` where they vanish)."""

    __slots__ = ("primal", "terms")

    def __init__(self, trace: Trace, primal: Any, terms: Series) -> None:
        super().__init__(trace, get_aval(primal))
        self.primal = primal
        self.terms = terms

    def __repr__(self) -> str:
        return f"JetTracer(primal={self.primal}, terms={self.terms})"


class JetTrace(Trace):
    """Carries ``order`` derivatives beside every value."""

    __slots__ = ("order",)

    def __init__(self, parent: Trace, order: int) -> None:
        super().__init__(parent)
        self.order = order

    def unbox(self, x: Any) -> tuple[Any, Series | None]:
        """Return value and series (None: it does not depend on the path)."""
        if isinstance(x, Tracer):
            if x._trace is self:
                return x.primal, x.terms  # type: ignore[attr-defined]
            if not x._trace.is_live:
                raise leaked(x)
        return x, None

    def box(self, outs: Sequence[Any], series: Sequence[Series | None]) -> tuple[Any, ...]:
        """Wrap results."""
        return tuple(
            [
                o if s is None or all(type(t) is Zero for t in s) else JetTracer(self, o, s)
                for o, s in zip(outs, series, strict=True)
            ]
        )

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Apply the primitive to values and derivatives."""
        assert self.parent is not None
        pairs = [self.unbox(a) for a in args]
        primals, series = [p for p, _ in pairs], [s for _, s in pairs]
        if getattr(primitive, "role", "") == "call" and any(s is not None for s in series):
            return eval_closed(params[primitive.call_param], *args)  # type: ignore[attr-defined]
        with use_trace(self.parent):
            if all(s is None for s in series):
                return primitive.bind_all(*primals, **params)
            outs, out_series = self._rule(primitive, primals, series, params)
        return self.box(outs, out_series)

    def _rule(
        self,
        primitive: Primitive,
        primals: list[Any],
        series: list[Series | None],
        params: dict[str, Any],
    ) -> tuple[Sequence[Any], Sequence[Series | None]]:
        name = primitive.name
        if name in _LINEAR:
            return self._linear(primitive, primals, series, params)
        if name in _BILINEAR and None not in series:
            return self._product(primitive, primals, series, params)  # type: ignore[arg-type]
        if name in _BILINEAR:
            return self._linear(primitive, primals, series, params, fixed=True)
        if name == "div" and series[1] is not None:
            return self._quotient(primitive, primals, series[0], series[1])
        if name == "div":
            return self._linear(primitive, primals, series, params, fixed=True)

        def derivative(ps: Sequence[Any], ts: Sequence[Any]) -> tuple[Any, Any]:
            return primitive.jvp_rule(tuple(ps), tuple(ts), params)

        return self._by_jvp(derivative, primals, series)

    def _linear(
        self,
        primitive: Primitive,
        primals: list[Any],
        series: list[Series | None],
        params: dict[str, Any],
        fixed: bool = False,
    ) -> tuple[Sequence[Any], list[Series | None]]:
        """``fixed``: operands without a series are factors, else they are terms of a sum."""
        outs = primitive.bind_all(*primals, **params)
        if not any(_is_inexact(o) for o in outs):
            return outs, [None] * len(outs)
        columns = []
        for k in range(self.order):
            if all(s is None or type(s[k]) is Zero for s in series):
                columns.append([Zero(get_aval(o).to_tangent_aval()) for o in outs])
                continue
            operands = [
                instantiate(s[k])
                if s is not None
                else p
                if fixed or not _is_inexact(p)
                else zeros_of(get_aval(p))
                for p, s in zip(primals, series, strict=True)
            ]
            columns.append(list(primitive.bind_all(*operands, **params)))
        return outs, [list(terms) for terms in zip(*columns, strict=True)]

    def _product(
        self,
        primitive: Primitive,
        primals: list[Any],
        series: list[Series],
        params: dict[str, Any],
    ) -> tuple[Sequence[Any], list[Series | None]]:
        """``(x y)^(k) = sum_j C(k, j) x^(j) y^(k - j)``."""
        xs, ys = ([p, *s] for p, s in zip(primals, series, strict=True))
        out = primitive.bind(*primals, **params)
        terms: Series = []
        for k in range(1, self.order + 1):
            total: Any = None
            for j in range(k + 1):
                if type(xs[j]) is not Zero and type(ys[k - j]) is not Zero:
                    term = primitive.bind(xs[j], ys[k - j], **params)
                    total = add_tangents(total, _scaled(term, math.comb(k, j)))
            terms.append(Zero(get_aval(out).to_tangent_aval()) if total is None else total)
        return (out,), [terms]

    def _quotient(
        self, primitive: Primitive, primals: list[Any], top: Series | None, bottom: Series
    ) -> tuple[Sequence[Any], list[Series | None]]:
        """``z = x / y``: ``z^(k) = (x^(k) - sum_{j>0} C(k, j) y^(j) z^(k - j)) / y``."""
        x, y = primals
        z = [primitive.bind(x, y)]
        for k in range(1, self.order + 1):
            total: Any = None if top is None else top[k - 1]
            for j in range(1, k + 1):
                dy, dz = bottom[j - 1], z[k - j]
                if type(dy) is not Zero and type(dz) is not Zero:
                    term = ops.mul(dy, dz)
                    total = add_tangents(total, _scaled(term, -math.comb(k, j)))
            is_zero = total is None or type(total) is Zero
            aval = get_aval(z[0]).to_tangent_aval()
            z.append(Zero(aval) if is_zero else primitive.bind(total, y))
        return (z[0],), [z[1:]]

    def _by_jvp(
        self,
        derivative: Callable[[Sequence[Any], Sequence[Any]], tuple[Any, Any]],
        primals: list[Any],
        series: list[Series | None],
    ) -> tuple[Sequence[Any], list[Series | None]]:
        """Derive the rule ``(x, x') -> (y, y')`` once fewer: that gives ``y'``, ``y''``, ..."""
        zeros = [Zero(get_aval(p).to_tangent_aval()) for p in primals]
        given = [[z] * self.order if s is None else s for z, s in zip(zeros, series, strict=True)]
        if self.order == 1:
            outs, tangents = derivative(primals, [s[0] for s in given])
            return outs, [[t] for t in tangents]
        inner = JetTrace(state.trace, self.order - 1)
        try:
            with use_trace(inner):
                values = [_boxed(inner, p, s[:-1]) for p, s in zip(primals, given, strict=True)]
                slopes = [_boxed(inner, s[0], s[1:]) for s in given]
                outs, tangents = derivative(values, slopes)
            out_series: list[Series | None] = []
            for t in tangents:
                if type(t) is Zero:
                    out_series.append(None)
                    continue
                slope, terms = inner.unbox(t)
                rest = terms or [Zero(get_aval(slope).to_tangent_aval())] * inner.order
                out_series.append([slope, *rest])
            return [inner.unbox(o)[0] for o in outs], out_series
        finally:
            inner.is_live = False

    def process_custom(
        self, call: Any, fun: Callable[..., tuple[Any, ...]], args: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Derive the user's rule."""
        assert self.parent is not None
        pairs = [self.unbox(a) for a in args]
        primals, series = [p for p, _ in pairs], [s for _, s in pairs]
        with use_trace(self.parent):
            if all(s is None for s in series):
                return self.parent.process_custom(call, fun, primals)
            outs, out_series = self._by_jvp(call.jvp, primals, series)
        return self.box(outs, out_series)


def _is_inexact(x: Any) -> bool:
    return bool(dtypes.issubdtype(get_aval(x).dtype, np.inexact))


def _boxed(trace: JetTrace, value: Any, terms: Series) -> Any:
    """Box a value, or the first derivative; one that vanishes with all others stays ``Zero``."""
    if all(type(t) is Zero for t in terms):
        return value
    return JetTracer(trace, instantiate(value), terms)


def _scaled(x: Any, factor: int) -> Any:
    return x if factor == 1 else ops.mul(x, scalar_like(x, factor))


def jet_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Series]
) -> tuple[list[Any], list[Series]]:
    """Return the results of ``fun`` and their derivatives, as many as each of ``series`` has."""
    order = len(series[0])
    trace = JetTrace(state.trace, order)
    try:
        with use_trace(trace):
            outs = fun(*[JetTracer(trace, p, list(s)) for p, s in zip(primals, series)])
        pairs = [trace.unbox(o) for o in outs]
    finally:
        trace.is_live = False
    full = []
    for out, terms in pairs:
        given = terms or [Zero(get_aval(out))] * order
        full.append([zeros_of(get_aval(out)) if type(t) is Zero else t for t in given])
    return [o for o, _ in pairs], full
