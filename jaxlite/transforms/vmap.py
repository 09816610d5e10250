"""Vectorisation. In: a function on flat values.

Out: the function on a batch, one primitive at a time.

A ``BatchTracer`` carries the batched array and where its batch dim is; each primitive's ``batch``
rule says how it acts on that. What does not depend on the batch is computed once. Where the mapped
axis has a name, collectives (``psum("i")``) of that name are computed here, and calls and loops
that contain some are batched even if nothing else in them is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, jaxprs_in_params
from jaxlite.language.leaks import check_leaks
from jaxlite.language.primitive import Primitive, as_tuple
from jaxlite.language.trace import (
    Trace,
    Tracer,
    axis_env,
    batching,
    get_aval,
    leaked,
    state,
    use_trace,
)
from jaxlite.settings import config
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.stage_out import stage_out


@dataclass(eq=False, slots=True)
class MappedAxis:
    """One ``vmap``: how many examples, and what collectives call the axis.

    Traces of one axis know each other's tracers: a function with its own rule runs in a trace of
    its own, and may close over values of the trace that called it.
    """

    size: int
    name: Any = None


class BatchTracer(Tracer):
    """``value`` has the batch at axis ``dim``; the user sees one example."""

    __slots__ = ("dim", "value")

    def __init__(self, trace: Trace, value: Any, dim: int) -> None:
        aval = get_aval(value)
        shape = aval.shape[:dim] + aval.shape[dim + 1 :]
        super().__init__(trace, ShapedArray(shape, aval.dtype, aval.weak_type))
        self.value = value
        self.dim = dim

    def __repr__(self) -> str:
        batched = get_aval(self.value).str_long()
        return f"VmapTracer(aval={self.aval.str_long()}, batched={batched})"


class BatchTrace(Trace):
    """Carries a batch dim through every primitive."""

    known_as = "BatchTrace"
    __slots__ = ("axis",)

    def __init__(self, parent: Trace, axis: MappedAxis) -> None:
        super().__init__(parent)
        self.axis = axis

    def unbox(self, x: Any) -> tuple[Any, int | None]:
        """Return the batched value and its batch dim (None: the same for every example)."""
        if isinstance(x, Tracer):
            if not x._trace.is_live:
                raise leaked(x)
            if isinstance(x, BatchTracer) and x._trace.axis is self.axis:  # type: ignore[attr-defined]
                return x.value, x.dim
        return x, None

    def box(self, outs: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, ...]:
        """Wrap batched results."""
        return tuple(
            [o if d is None else BatchTracer(self, o, d) for o, d in zip(outs, dims, strict=True)]
        )

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Apply the primitive's batch rule below."""
        assert self.parent is not None
        pairs = [self.unbox(a) for a in args]
        values = tuple([v for v, _ in pairs])
        dims = tuple([d for _, d in pairs])
        name = self.axis.name
        axis = None if name is None else (name, self.axis.size)
        with use_trace(self.parent), batching(axis):
            if axis is not None and name in primitive.named_axes(params):
                outs, out_dims = primitive.collect(values, dims, axis, **params)
            elif all(d is None for d in dims) and not _uses(primitive, params, name):
                return primitive.bind_all(*values, **params)
            else:
                outs, out_dims = primitive.batch(values, dims, **params)
        outs = as_tuple(outs)
        return self.box(outs, out_dims if type(out_dims) is tuple else (out_dims,) * len(outs))

    def process_custom(
        self, call: Any, fun: Callable[..., tuple[Any, ...]], args: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Batch the function and the user's derivative rule."""
        assert self.parent is not None
        pairs = [self.unbox(a) for a in args]
        values = [v for v, _ in pairs]
        dims = [d for _, d in pairs]
        # Even if no argument is batched the function may close over values that are.
        out_dims: list[int | None] = []
        batched = batch_flat(fun, self.axis, dims, out_dims)
        new_call = call.batch(self.axis, dims, out_dims)
        with use_trace(self.parent):
            outs = self.parent.process_custom(new_call, batched, values)
        return self.box(outs, out_dims)


def _uses(primitive: Primitive, params: dict[str, Any], axis_name: Any) -> bool:
    """Say whether a call's or loop's jaxprs contain a collective over ``axis_name``."""
    if axis_name is None:
        return False
    return any(
        axis_name in eqn.primitive.named_axes(eqn.params)
        or _uses(eqn.primitive, eqn.params, axis_name)
        for _, jaxpr in jaxprs_in_params(params)
        for eqn in jaxpr.eqns
    )


def batch_flat(
    fun: Callable[..., Sequence[Any]],
    axis: MappedAxis,
    in_dims: Sequence[int | None],
    out_dims: list[int | None],
) -> Callable[..., tuple[Any, ...]]:
    """Return ``fun`` on batched flat values.

    Each run writes the results' batch dims into ``out_dims``.
    """

    def batched(*values: Any) -> tuple[Any, ...]:
        trace = BatchTrace(state.trace, axis)
        named = () if axis.name is None else ((axis.name, axis.size),)
        boxed = [
            v if d is None else BatchTracer(trace, v, d)
            for v, d in zip(values, in_dims, strict=True)
        ]
        try:
            with use_trace(trace), axis_env(named):
                outs = fun(*boxed)
            pairs = [trace.unbox(o) for o in outs]
        finally:
            trace.is_live = False
        out_dims[:] = [d for _, d in pairs]
        if config.frame.check_tracer_leaks:
            del boxed, outs
            check_leaks(trace)
        return tuple([v for v, _ in pairs])

    return batched


def batch_jaxpr(
    closed: ClosedJaxpr,
    axis_size: int,
    in_dims: Sequence[int | None],
    force_out: bool | Sequence[bool] = False,
    move: Callable[[Any, int | None, int], Any] | None = None,
) -> tuple[ClosedJaxpr, list[int | None]]:
    """Return the jaxpr on arguments with batch dims ``in_dims``, and its results' batch dims.

    ``force_out`` asks for results to be batched at axis 0, for which ``move(x, dim, size)`` moves
    or broadcasts the batch dim. The axis has the name of the one that is being batched.
    """
    axis_name = None if state.batched_axis is None else state.batched_axis[0]
    in_avals = [
        a
        if d is None
        else ShapedArray((*a.shape[:d], axis_size, *a.shape[d:]), a.dtype, a.weak_type)
        for a, d in zip(closed.in_avals, in_dims, strict=True)
    ]
    n_out = len(closed.out_avals)
    force = [force_out] * n_out if isinstance(force_out, bool) else list(force_out)
    dims: list[int | None] = []

    def run(*values: Any) -> list[Any]:
        axis = MappedAxis(axis_size, axis_name)
        fun = batch_flat(lambda *xs: eval_closed(closed, *xs), axis, in_dims, dims)
        outs = list(fun(*values))
        for i, must in enumerate(force):
            if must:
                assert move is not None
                outs[i] = move(outs[i], dims[i], axis_size)
                dims[i] = 0
        return outs

    jaxpr = stage_out(run, in_avals, closed.jaxpr.debug_info)
    return jaxpr, list(dims)
