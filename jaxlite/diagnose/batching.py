"""What ``vmap`` does to each equation. In: a closed jaxpr. Out: ``BatchingTrace``.

Every equation of the function is batched on its own, and what its rule adds is written down with
the equation that it stands for.

>>> import jaxlite as jax, jaxlite.numpy as jnp
>>> closed = jax.make_jaxpr(lambda x, w: jnp.sin(x) * jnp.cos(w))(1.0, 2.0)
>>> traced = trace_batching(closed, [0, None], 8)
>>> [eqn.primitive.name for eqn in traced.batched.eqns], traced.is_batched
(['sin', 'cos', 'mul'], [True, False, True])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.flat_program import open_calls
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Literal, Var
from jaxlite.language.trace import axis_env, state, use_trace
from jaxlite.transforms.eval_jaxpr import eval_jaxpr
from jaxlite.transforms.stage_out import JaxprTracer, StagingTrace, stage_out
from jaxlite.transforms.vmap import BatchTrace, BatchTracer, MappedAxis

__all__ = ["BatchingTrace", "run_batch", "trace_batching"]


@dataclass(slots=True, eq=False)
class BatchingTrace:
    """A program and what it is for a batch of ``size`` examples.

    ``forward`` is the function on one example with its calls opened. ``cause`` has for each
    equation of ``batched`` the one of ``forward`` it stands for. ``dims`` has the batch dim of
    each value of ``forward`` (None: the same for every example), ``image`` the value of
    ``batched`` that it became.
    """

    forward: ClosedJaxpr
    batched: ClosedJaxpr
    size: int
    cause: list[int]
    dims: dict[Var, int | None]
    image: dict[Var, Any]
    out_dims: list[int | None]

    @property
    def is_batched(self) -> list[bool]:
        """Say of each equation of ``forward`` whether its results differ between examples."""
        return [any(self.dims[v] is not None for v in eqn.outvars) for eqn in self.forward.eqns]


def trace_batching(
    closed: ClosedJaxpr, dims: Sequence[int | None], size: int, axis_name: Any = None
) -> BatchingTrace:
    """Batch ``closed`` along ``dims``, one per argument.

    Args:
      closed: the function on one example.
      dims: where the batch axis of each argument is (None: every example has the same).
      size: how many examples.
      axis_name: the name that collectives know the axis by.

    Raises:
      NotImplementedError: as ``vmap``, where an operation cannot be batched.
    """
    walk = _Walk(open_calls(closed), dims, MappedAxis(size, axis_name))
    batched = stage_out(walk.run, walk.avals(), closed.jaxpr.debug_info)
    eqns = [
        eqn.replace(source=walk.forward.eqns[k].source)
        for eqn, k in zip(batched.eqns, walk.cause, strict=True)
    ]
    batched = ClosedJaxpr(batched.jaxpr.replace(eqns=eqns), batched.consts)
    return BatchingTrace(
        walk.forward, batched, size, walk.cause, walk.found, walk.image, walk.out_dims
    )


def run_batch(
    trace: BatchingTrace, args: Sequence[Any], wanted: Sequence[Var]
) -> tuple[list[Any], list[Any]]:
    """Run the batch; return its results, and what the ``wanted`` values of ``forward`` are there.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> closed = jax.make_jaxpr(lambda x: jnp.floor(x) + 1.0)(1.0)
    >>> traced = trace_batching(closed, [0], 2)
    >>> (out,), (half,) = run_batch(traced, [jnp.array([1.5, 2.5])], closed.eqns[0].outvars)
    >>> out.tolist(), half.tolist()
    ([2.0, 3.0], [1.0, 2.0])
    """
    jaxpr = trace.batched.jaxpr
    n = len(jaxpr.outvars)
    outvars = [*jaxpr.outvars, *[trace.image[v] for v in wanted]]
    outs = eval_jaxpr(jaxpr.replace(outvars=outvars), trace.batched.consts, *args)
    return outs[:n], outs[n:]


class _Walk:
    def __init__(self, forward: ClosedJaxpr, dims: Sequence[int | None], axis: MappedAxis) -> None:
        self.forward, self.given, self.axis = forward, dims, axis
        self.cause: list[int] = []
        self.found: dict[Var, int | None] = {}
        self.image: dict[Var, Any] = {}
        self.out_dims: list[int | None] = []

    def avals(self) -> list[ShapedArray]:
        """Return the types of the batched arguments."""
        return [
            a
            if d is None
            else ShapedArray((*a.shape[:d], self.axis.size, *a.shape[d:]), a.dtype, a.weak_type)
            for a, d in zip(self.forward.in_avals, self.given, strict=True)
        ]

    def run(self, *args: Any) -> list[Any]:
        below = state.trace
        assert isinstance(below, StagingTrace)
        trace = BatchTrace(below, self.axis)
        jaxpr = self.forward.jaxpr
        env: dict[Var, Any] = dict(zip(jaxpr.constvars, self.forward.consts, strict=True))
        for var, arg, dim in zip(jaxpr.invars, args, self.given, strict=True):
            env[var] = arg if dim is None else BatchTracer(trace, arg, dim)
        for var in (*jaxpr.constvars, *jaxpr.invars):
            self.note(trace, var, env[var])
        named = () if self.axis.name is None else ((self.axis.name, self.axis.size),)

        def read(atom: Any) -> Any:
            return atom.array() if isinstance(atom, Literal) else env[atom]

        try:
            with use_trace(trace), axis_env(named):
                for k, eqn in enumerate(jaxpr.eqns):
                    outs = eqn.primitive.bind_all(*[read(a) for a in eqn.invars], **eqn.params)
                    self.cause += [k] * (len(below.eqns) - len(self.cause))
                    for var, out in zip(eqn.outvars, outs, strict=True):
                        env[var] = out
                        self.note(trace, var, out)
            pairs = [trace.unbox(read(a)) for a in jaxpr.outvars]
        finally:
            trace.is_live = False
        self.out_dims = [d for _, d in pairs]
        return [v for v, _ in pairs]

    def note(self, trace: BatchTrace, var: Var, value: Any) -> None:
        """Remember the batch dim of a value and what it became."""
        inner, dim = trace.unbox(value)
        self.found[var] = dim
        if isinstance(inner, JaxprTracer):
            self.image[var] = inner.atom
