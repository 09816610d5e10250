"""Python functions inside compiled programs: ``pure_callback``, ``io_callback``.

In: a function, the types of what it returns, its arguments. Out: its results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlite.api.arguments import to_arrays
from jaxlite.errors import JaxRuntimeError
from jaxlite.higher_order.python_call import VMAP_METHODS, io_callback_p, pure_callback_p
from jaxlite.language import dtypes
from jaxlite.language.array import asarray_eager
from jaxlite.language.avals import ShapedArray
from jaxlite.language.pytree import PyTreeDef, tree_flatten, tree_unflatten

__all__ = ["effects_barrier", "io_callback", "pure_callback"]


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return ``callback(*args, **kwargs)``, called when the program runs.

    Args:
      callback: a function of arrays without side effects; it may be called never or often.
      result_shape_dtypes: pytree of objects with ``shape`` and ``dtype``: what it returns.
      *args: its arguments (pytrees of arrays).
      sharding: accepted; there is one device.
      vmap_method: "sequential" (one call per example), "expand_dims" or "broadcast_all" (one call
        with the batch in front).
      **kwargs: further arguments (pytrees of arrays).

    Raises:
      ValueError: an unknown ``vmap_method``; types of 64 bits without x64; a derivative.
      NotImplementedError: ``vmap`` without ``vmap_method``.

    >>> import numpy as np, jaxlite as jax
    >>> f = lambda x: jax.pure_callback(np.sort, jax.ShapeDtypeStruct((3,), np.float32), x)
    >>> jax.jit(f)(np.float32([3, 1, 2]))
    Array([1., 2., 3.], dtype=float32)
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be on of the allowed methods {list(VMAP_METHODS)}, "
            f"but got: {vmap_method}"
        )
    flat, avals, leaves, tree = _prepare(callback, result_shape_dtypes, args, kwargs)
    outs = pure_callback_p.bind_all(
        *leaves, callback=flat, result_avals=avals, vmap_method=vmap_method
    )
    return tree_unflatten(tree, outs)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Return ``callback(*args, **kwargs)``, called exactly when the program gets there.

    Args:
      callback: a function of arrays that may have side effects.
      result_shape_dtypes: pytree of objects with ``shape`` and ``dtype``, or None.
      *args: its arguments (pytrees of arrays).
      sharding: accepted; there is one device.
      ordered: calls are always in the order of the program; an ordered one cannot be batched.
      **kwargs: further arguments (pytrees of arrays).

    Raises:
      ValueError: a derivative, or ``vmap`` of an ordered call; types of 64 bits without x64.

    >>> import jaxlite as jax
    >>> from jaxlite.experimental import io_callback
    >>> seen = []
    >>> jax.jit(lambda x: io_callback(lambda v: seen.append(float(v)), None, x))(2.0)
    >>> seen
    [2.0]
    """
    flat, avals, leaves, tree = _prepare(callback, result_shape_dtypes, args, kwargs)
    outs = io_callback_p.bind_all(*leaves, callback=flat, result_avals=avals, ordered=ordered)
    return tree_unflatten(tree, outs)


def effects_barrier() -> None:
    """Wait until all callbacks have run: they have, when a call returns.

    >>> effects_barrier()
    """


def _prepare(
    callback: Callable[..., Any], result: Any, args: Any, kwargs: Any
) -> tuple[Callable[..., tuple[Any, ...]], tuple[ShapedArray, ...], list[Any], PyTreeDef]:
    """Return the flat function, the avals of its results, the operands and the result's tree."""
    leaves, in_tree = tree_flatten((args, kwargs))
    promised, out_tree = tree_flatten(result)
    avals = tuple(ShapedArray(tuple(p.shape), _narrow(p.dtype), False) for p in promised)

    def flat(*arrays: Any) -> tuple[Any, ...]:
        given, named = tree_unflatten(in_tree, [asarray_eager(a) for a in arrays])
        results, tree = tree_flatten(callback(*given, **named))
        if tree != out_tree:
            raise JaxRuntimeError(
                f"a callback returned the structure {tree} where result_shape_dtypes has {out_tree}"
            )
        return tuple(results)

    return flat, avals, to_arrays(leaves), out_tree


def _narrow(dtype: Any) -> Any:
    wanted = dtypes.dtype(dtype) if not hasattr(dtype, "itemsize") else dtype
    if dtypes.canonicalize_dtype(wanted) != wanted:
        raise ValueError(
            "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled"
        )
    return wanted
