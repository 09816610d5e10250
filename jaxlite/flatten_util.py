"""``ravel_pytree``: a pytree of arrays as one vector, and back. In: a pytree."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.language.pytree import tree_flatten, tree_unflatten

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Value, Callable[[Value], Any]]:
    """Return all leaves of ``pytree`` as one vector, and the function that undoes it.

    Args:
        pytree: of arrays and numbers; dtypes are promoted to a common one.

    Returns:
        ``T[n]`` and ``unravel: T[n] -> pytree`` (with the leaves' own dtypes).

    Raises:
        ValueError: (``unravel``) a vector of another length.
        TypeError: (``unravel``) a vector of another dtype, if the leaves had different ones.

    Example:
        >>> vector, unravel = ravel_pytree({"a": 1.0, "b": jnp.zeros(2)})
        >>> vector
        Array([1., 0., 0.], dtype=float32)
        >>> unravel(vector)["b"]
        Array([0., 0.], dtype=float32)
    """
    leaves, tree = tree_flatten(pytree)
    arrays = [jnp.asarray(x) for x in leaves]
    shapes, kinds = [a.shape for a in arrays], [a.dtype for a in arrays]
    common = jnp.result_type(*leaves) if leaves else jnp.zeros(0).dtype
    parts = [jnp.ravel(a).astype(common) for a in arrays]
    vector = jnp.concatenate(parts) if parts else jnp.zeros(0)
    sizes = [math.prod(s) for s in shapes]
    mixed = any(k != common for k in kinds)

    def unravel(flat: Any) -> Any:
        flat = jnp.asarray(flat)
        if flat.shape != vector.shape:
            raise ValueError(
                f"unravel function given array of shape {flat.shape}, "
                f"but expected shape {vector.shape}"
            )
        if mixed and flat.dtype != common:
            raise TypeError(
                f"unravel function given array of dtype {flat.dtype}, but expected dtype {common}"
            )
        out, start = [], 0
        for shape, kind, size in zip(shapes, kinds, sizes, strict=True):
            part = flat[start : start + size].reshape(shape)
            out.append(part.astype(kind) if mixed else part)
            start += size
        return tree_unflatten(tree, out)

    return vector, unravel
