"""The values of every operation of one run. In: a program and arguments. Out: summaries.

The program runs once, one equation at a time and eagerly, with its calls opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.language.array import ArrayImpl, asarray_eager
from jaxlite.language.dtypes import KeyDType
from jaxlite.language.jaxpr import ClosedJaxpr, Literal

__all__ = ["ValueSummary", "look_at_values", "summarise"]

_BINS = 16
#: Elements that are looked at; more are sampled.
_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """An array in few numbers: range, mean, share of elements per bin, elements that are no number.

    ``saturated`` is the share of elements beyond 0.99 in size, where all are within 1.
    """

    low: float
    mean: float
    high: float
    bins: tuple[float, ...]
    n_bad: int
    size: int
    saturated: float


def look_at_values(
    closed: ClosedJaxpr, leaves: Sequence[Any], look: Callable[[Any, Sequence[Any]], None]
) -> list[Any]:
    """Run a program; call ``look(eqn, results)`` for each equation that is no call of ``jit``.

    Returns the results of the program.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> closed = jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(0.0)
    >>> look_at_values(closed, [0.0], lambda eqn, outs: print(eqn.primitive.name, outs[0]))
    sin 0.0
    mul 0.0
    [Array(0., dtype=float32, weak_type=True)]
    """
    jaxpr = closed.jaxpr
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(jaxpr.invars, map(asarray_eager, leaves), strict=True))

    def read(atom: Any) -> Any:
        return atom.array() if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        ins = [read(a) for a in eqn.invars]
        outs: Sequence[Any]
        if eqn.primitive.name == "jit":
            outs = look_at_values(eqn.params["jaxpr"], ins, look)
        else:
            outs = eqn.primitive.bind_all(*ins, **eqn.params)
            look(eqn, outs)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(a) for a in jaxpr.outvars]


def summarise(value: Any) -> ValueSummary | None:
    """Return a summary of an array of numbers; None for keys, complex numbers and nothing."""
    if not isinstance(value, ArrayImpl) or isinstance(value.aval.dtype, KeyDType):
        return None
    data = np.asarray(value)
    if not data.size or data.dtype.kind == "c":
        return None
    flat = data.reshape(-1)[:: max(data.size // _MOST, 1)].astype(np.float64)
    good = flat[np.isfinite(flat)]
    if not good.size:
        return ValueSummary(0.0, 0.0, 0.0, (), flat.size, flat.size, 0.0)
    low, high = float(good.min()), float(good.max())
    counts, _ = np.histogram(good, _BINS, (low, high) if high > low else (low - 0.5, low + 0.5))
    size = np.abs(good)
    is_within = high > low and size.max() <= 1.0 and low < 0.0
    saturated = float((size > 0.99).mean()) if is_within else 0.0
    bins = tuple(float(n) for n in counts / counts.max())
    return ValueSummary(
        low, float(good.mean()), high, bins, flat.size - good.size, flat.size, saturated
    )
