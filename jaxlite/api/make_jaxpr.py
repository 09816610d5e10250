"""Look at a function without running it. In: a function and arguments.

Out: its jaxpr, or its result types.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.api.arguments import (
    FlatFunction,
    abstractify,
    bad_argument,
    check_callable,
    debug_info_of,
    name_of,
    signature_of,
)
from jaxlite.api.static_arguments import StaticSpec
from jaxlite.language.avals import ShapedArray, ShapeDtypeStruct
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.language.trace import axis_env as named_axes
from jaxlite.transforms.stage_out import stage_out

__all__ = ["eval_shape", "make_jaxpr", "typeof"]


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    return_shape: bool = False,
    static_argnames: str | Sequence[str] = (),
    abstracted_axes: Any = None,
) -> Callable[..., Any]:
    """Return a function that shows what ``fun`` does with arguments of the given types, as a jaxpr.

    Args:
      fun: the function to trace.
      static_argnums: positions of arguments that are Python constants.
      static_argnames: names of such arguments.
      axis_env: names and sizes of mapped axes that ``fun``'s collectives may use.
      abstracted_axes: accepted as in JAX.
      return_shape: also return the shapes and dtypes of the results.

    Raises:
      TypeError: as ``jit``.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> print(jax.make_jaxpr(lambda x: jnp.sin(x) * x)(1.0))
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b a in (c,) }
    """
    check_callable(fun)
    spec = StaticSpec.of(fun, signature_of(fun), static_argnums or None, static_argnames or None)

    @functools.wraps(fun)
    def shown(*args: Any, **kwargs: Any) -> Any:
        dynamic, static = spec.split(args, kwargs)
        info = debug_info_of(fun, *spec.without_static(args, kwargs))
        leaves, in_tree = tree_flatten(dynamic)
        avals = []
        for leaf, name in zip(leaves, info.arg_names, strict=True):
            try:
                avals.append(abstractify(leaf))
            except TypeError:
                raise bad_argument(fun, leaf, name) from None
        flat = FlatFunction(fun, in_tree, info, "make_jaxpr", spec.filler(static))
        with named_axes(tuple(axis_env or ())):
            closed = stage_out(flat, avals, info)
        if not return_shape:
            return closed
        assert flat.out_tree is not None
        return closed, tree_unflatten(flat.out_tree, [_struct(a) for a in closed.out_avals])

    shown.__name__ = shown.__qualname__ = f"make_jaxpr({name_of(fun)})"
    return shown


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of ``fun(*args, **kwargs)`` without computing it.

    Arguments may be arrays or anything with ``shape`` and ``dtype`` (``ShapeDtypeStruct``).

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.eval_shape(lambda x: x @ x.T, jnp.ones((3, 4)))
    ShapeDtypeStruct(shape=(3, 3), dtype=float32)
    """
    check_callable(fun)
    return make_jaxpr(fun, return_shape=True)(*args, **kwargs)[1]


def _struct(aval: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


def typeof(x: Any) -> ShapedArray:
    """Return the type of ``x``, an array, a tracer or a number: shape, dtype and weak type.

    Raises:
      TypeError: ``x`` cannot be an argument of a traced function.

    >>> import jaxlite as jax
    >>> jax.typeof(1.0)
    ShapedArray(float32[], weak_type=True)
    """
    try:
        return abstractify(x)
    except TypeError:
        raise TypeError(f"Argument {str(x)!r} of type {type(x)} is not a valid JAX type") from None
