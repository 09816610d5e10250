"""Run one higher-order equation on concrete arrays. In: primitive, parameters, arrays. Out: arrays.

The equation becomes a jaxpr of its own, compiled once per structure: a loop called eagerly a
thousand times with a fresh lambda each time compiles once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxlite.higher_order.compiling import compile_jaxpr
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from jaxlite.language.primitive import Primitive, as_tuple
from jaxlite.language.structure import param_key

if TYPE_CHECKING:
    from jaxlite.pipeline import Compilation

_compiled: dict[Any, Compilation] = {}
_lock = threading.RLock()
_MAX_ENTRIES = 1024


def run_equation(
    primitive: Primitive,
    params: dict[str, Any],
    avals: Sequence[ShapedArray],
    arrays: Sequence[Any],
) -> tuple[Any, ...]:
    """Return the results of ``primitive`` on NumPy arrays of ``avals``."""
    key = (primitive, tuple(avals), tuple([(k, param_key(v)) for k, v in params.items()]))
    found = _compiled.get(key)
    if found is None:
        with _lock:
            found = _compiled.get(key)
            if found is None:
                found = compile_jaxpr(equation_jaxpr(primitive, params, avals), name=primitive.name)
                if len(_compiled) >= _MAX_ENTRIES:
                    _compiled.pop(next(iter(_compiled)))
                _compiled[key] = found
    outs: tuple[Any, ...] = found.executable.run(tuple(arrays))
    return outs


def equation_jaxpr(
    primitive: Primitive, params: dict[str, Any], avals: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """Return the jaxpr whose only equation is ``primitive`` with ``params``."""
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in as_tuple(primitive.abstract_eval(*avals, **params))]
    eqn = JaxprEqn(list(invars), outvars, primitive, params, None, primitive.eqn_effects(params))
    return ClosedJaxpr(Jaxpr([], invars, list(outvars), [eqn]), [])


def clear_compiled() -> None:
    """Forget the compiled equations."""
    with _lock:
        _compiled.clear()
