"""What flows backwards, measured. In: a ``GradientTrace`` and arguments. Out: norms, NaN, Inf.

Both passes are run once, one equation at a time and eagerly, so that the first bad value is found
where it is made. Values that nobody needs any more are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxlite.diagnose.gradient import GradientTrace
from jaxlite.language.array import ArrayImpl, asarray_eager
from jaxlite.language.dtypes import KeyDType
from jaxlite.language.jaxpr import ClosedJaxpr, Literal, Var

__all__ = ["GradientValues", "measure_gradient"]

#: A gradient whose norm is below this is said to vanish.
VANISHES = 1e-7


@dataclass(slots=True, eq=False)
class GradientValues:
    """What one run gave.

    ``norms`` has the Euclidean norm of each cotangent (a var of ``backward``); ``bad`` says 'NaN'
    or 'Inf' of each value (of both passes) that has one, in the order they were made.
    """

    value: Any = None
    norms: dict[Var, float] = field(default_factory=dict)
    bad: dict[Var, str] = field(default_factory=dict)
    gradients: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)


def measure_gradient(trace: GradientTrace, leaves: Sequence[Any]) -> GradientValues:
    """Run both passes on concrete arguments.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> from jaxlite.diagnose.gradient import trace_gradient
    >>> x = jnp.array([3.0, 4.0])
    >>> trace = trace_gradient(jax.make_jaxpr(lambda x: (x**2).sum() / 2)(x))
    >>> values = measure_gradient(trace, [x])
    >>> values.norms[trace.cotangents[0]]
    5.0
    """
    values = GradientValues()
    arrays = [asarray_eager(x) for x in leaves]
    value, *saved = _run(trace.primal, arrays, values, is_backward=False)
    values.value = np.asarray(value)
    dtype = trace.seed.aval.dtype
    seed = asarray_eager(np.ones((), dtype))
    gradients = _run(trace.backward, [*saved, seed], values, is_backward=True)
    for index, gradient in zip(trace.cotangents, gradients, strict=True):
        values.gradients[index] = np.asarray(gradient)
    return values


def _run(
    closed: ClosedJaxpr, args: Sequence[Any], values: GradientValues, *, is_backward: bool
) -> list[Any]:
    """Return the results; look at every value on the way."""
    jaxpr = closed.jaxpr
    last: dict[Var, int] = {}
    for k, eqn in enumerate(jaxpr.eqns):
        last.update((a, k) for a in (*eqn.invars, *eqn.outvars) if isinstance(a, Var))
    last.update((a, len(jaxpr.eqns)) for a in jaxpr.outvars if isinstance(a, Var))
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for var in (*jaxpr.constvars, *jaxpr.invars):
        _look(var, env[var], values, is_backward=is_backward)

    def read(atom: Any) -> Any:
        return atom.array() if isinstance(atom, Literal) else env[atom]

    for k, eqn in enumerate(jaxpr.eqns):
        outs = eqn.primitive.bind_all(*[read(a) for a in eqn.invars], **eqn.params)
        for var, out in zip(eqn.outvars, outs, strict=True):
            env[var] = out
            _look(var, out, values, is_backward=is_backward)
        for var in {a for a in (*eqn.invars, *eqn.outvars) if isinstance(a, Var)}:
            if last[var] == k:
                del env[var]
    return [read(a) for a in jaxpr.outvars]


def _look(var: Var, value: Any, values: GradientValues, *, is_backward: bool) -> None:
    """Note the norm of a value and whether it has NaN or Inf."""
    if not isinstance(value, ArrayImpl) or isinstance(value.aval.dtype, KeyDType):
        return
    data = np.asarray(value)
    if data.dtype.kind not in "fcV" or not data.size:
        return
    wide = data.astype(np.complex128 if data.dtype.kind == "c" else np.float64)
    norm = math.sqrt(float(np.vdot(wide, wide).real))
    if is_backward:
        values.norms[var] = norm
    if not math.isfinite(norm):
        if np.isnan(wide).any():
            values.bad[var] = "NaN"
        elif np.isinf(wide).any():
            values.bad[var] = "Inf"
