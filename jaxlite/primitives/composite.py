"""Primitives made of simpler ones. In: a body of strict functions. Out: its kernels.

A ``Composite`` is one equation to people and to the transformations, so that a convolution reads as
a convolution and its gradient as two; the optimiser puts the body in its place, and what reaches
the kernels is the body fused with its neighbours. ``impl`` runs the body operation by operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Literal, Var
from jaxlite.language.primitive import ArrayModule, Primitive, as_tuple, stage
from jaxlite.language.structure import param_key

__all__ = ["Composite"]

_MAX_BODIES = 1024


class Composite(Primitive):
    """A primitive whose results a ``body`` of simpler primitives computes."""

    def __init__(self) -> None:
        super().__init__()
        self._bodies: dict[Any, ClosedJaxpr] = {}

    def body(self, *operands: Value, **params: Any) -> Any:
        """Return the result(s), by strict functions of this package."""
        raise NotImplementedError

    def expand(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
        """Return the body for operands of ``avals``, traced once per types and parameters."""
        strong = tuple([aval.strip_weak_type() for aval in avals])
        key = (strong, tuple([(k, param_key(v)) for k, v in params.items()]))
        found = self._bodies.get(key)
        if found is None:
            if len(self._bodies) >= _MAX_BODIES:
                self._bodies.clear()
            found = self._bodies[key] = stage(lambda *xs: self.body(*xs, **params), strong)
        return found

    def impl(self, xp: ArrayModule, *arrays: Any, **params: Any) -> Any:
        avals = [ShapedArray(a.shape, a.dtype) for a in arrays]
        closed = self.expand(avals, params)
        env: dict[Var, Any] = dict(zip(closed.jaxpr.invars, arrays, strict=True))
        env.update(zip(closed.jaxpr.constvars, [c._data for c in closed.consts], strict=True))

        def read(atom: Any) -> Any:
            return xp.asarray(atom.array()._data) if isinstance(atom, Literal) else env[atom]

        for eqn in closed.jaxpr.eqns:
            outs = eqn.primitive.impl(xp, *[read(a) for a in eqn.invars], **eqn.params)
            env.update(zip(eqn.outvars, as_tuple(outs), strict=True))
        found = tuple([read(a) for a in closed.jaxpr.outvars])
        return found if len(found) > 1 else found[0]
