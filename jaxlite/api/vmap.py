"""``vmap``: from one example to a batch. In: a function and which axes to map.

Out: the batched function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.api.arguments import (
    FlatFunction,
    arg_names_of,
    check_callable,
    debug_info_of,
    to_arrays,
)
from jaxlite.language import dtypes
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.language.pytree_prefix import flatten_axes
from jaxlite.language.trace import get_aval
from jaxlite.language.treedef import PyTreeDef
from jaxlite.primitives.families import bdim_at_front, move_batch_dim
from jaxlite.transforms.vmap import MappedAxis, batch_flat

__all__ = ["mapped_leaves", "vmap"]


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """Return ``fun`` mapped over an axis of its arguments, without a loop.

    Args:
      fun: function of one example.
      in_axes: which axis of each argument to map: an int, None (the same for every example), or a
        tuple with one entry per argument, each a pytree prefix of it.
      out_axes: where the mapped axis goes in the results (a pytree prefix of the result).
      axis_name: name of the axis for collectives.
      axis_size: number of examples, needed only if no argument is mapped.
      spmd_axis_name: accepted as in JAX.

    Raises:
      ValueError: sizes of mapped axes differ, an axis does not exist, or ``in_axes`` does not fit.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> dot = lambda a, b: (a * b).sum()
    >>> jax.vmap(dot, in_axes=(0, None))(jnp.ones((2, 3)), jnp.arange(3.0)).tolist()
    [3.0, 3.0]
    """
    check_callable(fun)
    in_axes = _checked_axes(in_axes)

    @functools.wraps(fun)
    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree, dims, size = mapped_leaves(fun, in_axes, args, kwargs, axis_size)
        flat = FlatFunction(fun, in_tree, debug_info_of(fun, args, kwargs), "vmap")
        out_dims: list[int | None] = []
        outs = batch_flat(flat, MappedAxis(size, axis_name), dims, out_dims)(*leaves)
        assert flat.out_tree is not None
        wanted = flatten_axes("vmap out_axes", flat.out_tree, out_axes)
        placed = [_place(o, d, w, size) for o, d, w in zip(outs, out_dims, wanted, strict=True)]
        return tree_unflatten(flat.out_tree, placed)

    return batched


def mapped_leaves(
    fun: Any, in_axes: Any, args: Any, kwargs: dict[str, Any], axis_size: int | None = None
) -> tuple[list[Any], PyTreeDef, list[int | None], int]:
    """Return the leaves of the arguments, their tree, the mapped axis of each, and its size.

    Raises:
      TypeError, ValueError: as a call of ``vmap(fun, in_axes)``.
    """
    in_axes = _checked_axes(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional "
            "arguments passed to the function, but got "
            f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
        )
    leaves, in_tree = tree_flatten((args, kwargs))
    dims = flatten_axes("vmap in_axes", in_tree, (in_axes, 0))
    dims = [_canonical(d, x) for d, x in zip(dims, leaves, strict=True)]
    return leaves, in_tree, dims, _mapped_size(fun, args, kwargs, leaves, dims, axis_size)


def _checked_axes(in_axes: Any) -> Any:
    """Return ``in_axes`` with a list as a tuple; TypeError if it is neither int, None nor tuple."""
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, int | tuple)):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional "
            f"arguments passed to the function, but got {in_axes}."
        )
    return in_axes


def _canonical(dim: Any, leaf: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            "positional "
            f"arguments passed to the function, but got {dim}."
        )
    shape = get_aval(leaf).shape if not hasattr(leaf, "shape") else tuple(leaf.shape)
    if not -len(shape) <= dim < len(shape):
        needed = dim + 1 if dim >= 0 else -dim
        raise ValueError(
            f"vmap was requested to map its argument along axis {dim}, which implies that its rank "
            "should be "
            f"at least {needed}, but is only {len(shape)} (its shape is {shape})"
        )
    return dim + len(shape) if dim < 0 else dim


def _mapped_size(
    fun: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    axis_size: int | None,
) -> int:
    sizes = [
        (x.shape[d], i) for i, (x, d) in enumerate(zip(leaves, dims, strict=True)) if d is not None
    ]
    if axis_size is not None:
        sizes_all = {s for s, _ in sizes} | {axis_size}
    else:
        sizes_all = {s for s, _ in sizes}
    if not sizes_all:
        if not leaves:
            raise ValueError(
                "vmap wrapped function must be passed at least one argument containing an array or "
                f"axis_size must be specified, got empty *args={tuple(args)} and **kwargs={kwargs}"
            )
        raise ValueError(
            "vmap must have at least one non-None value in in_axes or axis_size must be specified"
        )
    if len(sizes_all) == 1:
        return int(next(iter(sizes_all)))
    names = arg_names_of(fun, args, kwargs)
    lines = ["vmap got inconsistent sizes for array axes to be mapped:"]
    for size in dict.fromkeys(s for s, _ in sizes):
        which = [i for s, i in sizes if s == size]
        first = which[0]
        aval = get_aval(leaves[first])
        text = f"axis {dims[first]} of argument {names[first]} of type {_long(aval)}"
        if len(which) == 1:
            lines.append(f"  * one axis had size {size}: {text};")
        else:
            lines.append(f"  * most axes ({len(which)} of them) had size {size}, e.g. {text};")
    if axis_size is not None:
        lines.append(f"  * axis_size={axis_size} was given;")
    text = "\n".join(lines)
    text = text.removesuffix(";")
    raise ValueError(text + "\n  Fix: in_axes with None for an argument that every example shares.")


def _long(aval: Any) -> str:
    return f"{dtypes.name_of(aval.dtype)}[{','.join(map(str, aval.shape))}]"


def _place(out: Any, dim: int | None, wanted: Any, size: int) -> Any:
    """Move the mapped axis of a result to where the user wants it."""
    if wanted is None:
        if dim is not None:
            raise ValueError(
                f"at vmap out_axes, got axis spec None but output was batched on axis {dim}"
            )
        return to_arrays([out])[0]
    if not isinstance(wanted, int):
        raise TypeError(
            f"vmap out_axes must be an int, None, or a pytree of them, but got {wanted}."
        )
    rank = get_aval(out).ndim + (dim is None)
    if not -rank <= wanted < rank:
        raise ValueError(f"axis {wanted} is out of bounds for array of dimension {rank}")
    target = wanted + rank if wanted < 0 else wanted
    if dim is None:
        return move_batch_dim(bdim_at_front(out, None, size), 0, target)
    return move_batch_dim(out, dim, target)
