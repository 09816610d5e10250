"""``lax`` functions that change no value. In: pytrees of arrays.

Out: the same values, held back from something.
"""

from __future__ import annotations

from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.pytree import tree_flatten, tree_map, tree_unflatten
from jaxlite.lax.operands import as_array
from jaxlite.primitives import identity

__all__ = ["optimization_barrier", "stop_gradient"]


def stop_gradient(x: Any) -> Any:
    """Return ``x`` (an array or a pytree) as a constant to differentiation.

    Example:
        >>> from jaxlite import grad
        >>> float(grad(lambda x: x * stop_gradient(x))(3.0))
        3.0
    """

    def stop(leaf: Any) -> Any:
        array = as_array(leaf, "stop_gradient")
        is_constant = dtypes.kind_of(array.dtype) not in "fc"
        return array if is_constant else identity.stop_gradient(array)

    return tree_map(stop, x)


def optimization_barrier(operand: Any, /) -> Any:
    """Return ``operand`` (an array or a pytree); the optimiser moves nothing across.

    Example:
        >>> optimization_barrier(2.0)
        Array(2., dtype=float32, weak_type=True)
    """
    leaves, tree = tree_flatten(operand)
    arrays = [as_array(leaf, "optimization_barrier", i) for i, leaf in enumerate(leaves)]
    return tree_unflatten(tree, identity.optimization_barrier(*arrays) if arrays else ())
