"""Collectives: values shared between the examples of ``vmap(axis_name=...)``.

In: one example's value. Out: what that example receives. A pytree is treated leaf by leaf.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.primitive import Primitive
from jaxlite.language.pytree import tree_map
from jaxlite.language.trace import state
from jaxlite.lax.elementwise import div
from jaxlite.lax.operands import as_array
from jaxlite.lax.shapes import convert_type
from jaxlite.primitives import collectives, reduction

__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pbroadcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
]


def _names(axis_name: Any) -> tuple[Any, ...]:
    return axis_name if isinstance(axis_name, tuple) else tuple(_listed(axis_name))


def _listed(axis_name: Any) -> Sequence[Any]:
    return axis_name if isinstance(axis_name, list) else [axis_name]


def _size_of(name: Any, function: str) -> int:
    for known, size in reversed(state.axis_env):
        if known == name:
            return int(size)
    raise NameError(
        f"Found an unbound axis name: {name}. To fix this, please call {function} under "
        f"`jax.shard_map`.\n"
        f"  names of mapped axes here: {[known for known, _ in state.axis_env]}\n"
        f"  Fix: jaxlite.vmap(f, axis_name={name!r}) around this function."
    )


def axis_size(axis_name: Any) -> int:
    """Return the number of examples along a mapped axis (the product for a tuple of names).

    Raises:
      NameError: no such axis is mapped here.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.vmap(lambda x: x / jax.lax.axis_size("i"), axis_name="i")(jnp.ones(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    return math.prod(_size_of(name, "axis_size") for name in _names(axis_name))


def axis_index(axis_name: Any) -> Value:
    """Return the position of this example along a mapped axis, an int32 scalar.

    For a tuple of names: the position in row-major order.

    Raises:
      NameError: no such axis is mapped here.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.vmap(lambda x: x * jax.lax.axis_index("i"), axis_name="i")(jnp.ones(3)).tolist()
    [0.0, 1.0, 2.0]
    """
    out: Any = None
    for name in _names(axis_name):
        size = _size_of(name, "axis_index")
        here = collectives.axis_index_p.bind(axis_name=name)
        out = here if out is None else out * size + here
    return np.int32(0) if out is None else out


def _reduce(
    x: Any, axis_name: Any, groups: Any, primitive: Primitive, local: Primitive, function: str
) -> Any:
    """Reduce each leaf: positions at once, names by the collective."""
    names = tuple([n for n in _names(axis_name) if not isinstance(n, int)])
    positions = tuple([n for n in _names(axis_name) if isinstance(n, int)])
    for name in names:
        _size_of(name, function)

    def one(leaf: Any) -> Any:
        out = as_array(leaf, function)
        if positions:
            out = local.bind(out, axes=positions)
        return primitive.bind(out, axes=names, axis_index_groups=groups) if names else out

    return tree_map(one, x)


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the sum of all examples' ``x``, the same for every example.

    Args:
      x: a pytree of arrays; bools are counted. A Python number is multiplied by the axis' size,
        without an operation.
      axis_name: name of a mapped axis, or a tuple of names.
      axis_index_groups: not supported under ``vmap``, as in JAX.

    Raises:
      NameError: no such axis is mapped here.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> normalise = lambda x: x / jax.lax.psum(x, "i")
    >>> jax.vmap(normalise, axis_name="i")(jnp.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    if type(x) in (int, float, bool, complex) and axis_index_groups is None:
        return x * math.prod(_size_of(name, "psum") for name in _names(axis_name))

    def counted(leaf: Any) -> Any:
        array = as_array(leaf, "psum")
        is_bool = array.dtype == np.bool_
        return convert_type(array, dtypes.default_dtype(int), False) if is_bool else leaf

    return _reduce(
        tree_map(counted, x),
        axis_name,
        axis_index_groups,
        collectives.psum_p,
        reduction.reduce_sum_p,
        "psum",
    )


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the mean of all examples' ``x``, the same for every example; otherwise as ``psum``.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.vmap(lambda x: x - jax.lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 3.0])).tolist()
    [-1.0, 1.0]
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def mean(leaf: Any) -> Any:
        if isinstance(leaf, int | float | complex):
            return leaf / count
        exact = dtypes.kind_of(leaf.dtype) in "iub"
        if exact:
            leaf = convert_type(leaf, dtypes.default_dtype(float), False)
        return div(leaf, float(count))

    return tree_map(mean, total)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the elementwise maximum of all examples' ``x``; otherwise as ``psum``.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.pmax(x, "i"), axis_name="i")(jnp.array([1.0, 3.0])).tolist()
    [3.0, 3.0]
    """
    return _reduce(
        x, axis_name, axis_index_groups, collectives.pmax_p, reduction.reduce_max_p, "pmax"
    )


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the elementwise minimum of all examples' ``x``; otherwise as ``psum``.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.pmin(x, "i"), axis_name="i")(jnp.array([1.0, 3.0])).tolist()
    [1.0, 1.0]
    """
    return _reduce(
        x, axis_name, axis_index_groups, collectives.pmin_p, reduction.reduce_min_p, "pmin"
    )


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Return, for every pair ``(source, target)``, the source's ``x`` to the target.

    Examples that are no target get zeros.

    Raises:
      NameError: no such axis is mapped here.
      ValueError: a position out of range or twice.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> turn = lambda x: jax.lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])
    >>> jax.vmap(turn, axis_name="i")(jnp.array([1.0, 2.0, 3.0])).tolist()
    [3.0, 1.0, 2.0]
    """
    size = axis_size(axis_name)
    pairs = tuple([(operator.index(a), operator.index(b)) for a, b in perm])
    for which, found in (("sources", [a for a, _ in pairs]), ("targets", [b for _, b in pairs])):
        if len(set(found)) != len(found) or not all(0 <= i < size for i in found):
            raise ValueError(
                f"ppermute {which} {found} must be distinct positions of an axis of size {size}"
            )

    def one(leaf: Any) -> Any:
        return collectives.ppermute_p.bind(
            as_array(leaf, "ppermute"), axis_name=_names(axis_name), perm=pairs
        )

    return tree_map(one, x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Return, to example i, the ``x`` of example ``perm[i]``; ``perm`` is a permutation.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> swap = lambda x: jax.lax.pshuffle(x, "i", [1, 0])
    >>> jax.vmap(swap, axis_name="i")(jnp.array([1.0, 2.0])).tolist()
    [2.0, 1.0]
    """
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, [(source, target) for target, source in enumerate(perm)])


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Return the ``x`` of example ``source`` to every example.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> first = lambda x: jax.lax.pbroadcast(x, "i", 0)
    >>> jax.vmap(first, axis_name="i")(jnp.array([1.0, 2.0])).tolist()
    [1.0, 1.0]
    """
    return tree_map(lambda leaf: all_gather(leaf, axis_name)[source], x)


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Return all examples' ``x`` stacked along a new ``axis``, the same for every example.

    Args:
      x: a pytree of arrays.
      axis_name: name of a mapped axis.
      axis_index_groups: not supported under ``vmap``, as in JAX.
      axis: where the gathered axis goes.
      tiled: join along the existing ``axis`` instead of making one.
      to: accepted as in JAX.

    Raises:
      NameError: no such axis is mapped here.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> rank = lambda x: (jax.lax.all_gather(x, "i") < x).sum()
    >>> jax.vmap(rank, axis_name="i")(jnp.array([3.0, 1.0, 2.0])).tolist()
    [2, 0, 1]
    """

    def one(leaf: Any) -> Any:
        array = as_array(leaf, "all_gather")
        rank = array.ndim + (not tiled)
        out = array
        for name in reversed(_names(axis_name)):
            out = collectives.all_gather_p.bind(
                out,
                all_gather_dimension=_canonical(axis, rank, "all_gather"),
                axis_index_groups=axis_index_groups,
                axis_name=(name,),
                axis_size=_size_of(name, "all_gather"),
                tiled=tiled or out is not array,
            )
        return out

    return tree_map(one, x)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Return, to example i, slice i along ``scatter_dimension`` of the sum over the axis.

    Args:
      x: a pytree of arrays whose ``scatter_dimension`` is as long as the axis (``tiled``: a
        multiple of it).
      axis_name: name of a mapped axis.
      scatter_dimension: the axis of ``x`` that is shared out.
      axis_index_groups: not supported under ``vmap``, as in JAX.
      tiled: keep ``scatter_dimension``, with the part of this example.

    Raises:
      NameError: no such axis is mapped here.
      ValueError: the dimension does not fit.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> part = lambda x: jax.lax.psum_scatter(x, "i")
    >>> jax.vmap(part, axis_name="i")(jnp.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [4.0, 6.0]
    """

    def one(leaf: Any) -> Any:
        (name,) = _names(axis_name)
        array = as_array(leaf, "psum_scatter")
        return collectives.reduce_scatter_p.bind(
            array,
            axis_index_groups=axis_index_groups,
            axis_name=(name,),
            axis_size=_size_of(name, "psum_scatter"),
            scatter_dimension=_canonical(scatter_dimension, array.ndim, "psum_scatter"),
            tiled=tiled,
        )

    return tree_map(one, x)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Return, to example i, slice i along ``split_axis`` of every example, along ``concat_axis``.

    Args:
      x: a pytree of arrays.
      axis_name: name of a mapped axis.
      split_axis: axis of ``x`` that is as long as the mapped one (``tiled``: a multiple of it).
      concat_axis: where the slices are stacked (``tiled``: joined).
      axis_index_groups: not supported under ``vmap``, as in JAX.
      tiled: no axis is removed or added.

    Raises:
      NameError: no such axis is mapped here.
      ValueError: the size of ``split_axis`` does not fit.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> swap = lambda x: jax.lax.all_to_all(x, "i", 0, 0)
    >>> jax.vmap(swap, axis_name="i")(jnp.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """

    def one(leaf: Any) -> Any:
        (name,) = _names(axis_name)
        array = as_array(leaf, "all_to_all")
        split = _canonical(split_axis, array.ndim, "all_to_all")
        size = _size_of(name, "all_to_all")
        if not tiled and array.shape[split] != size:
            raise ValueError(
                "all_to_all requires the size of the mapped axis axis_name to equal "
                f"x.shape[split_axis], but they are {size} and {array.shape[split]} respectively."
            )
        return collectives.all_to_all_p.bind(
            array,
            axis_index_groups=axis_index_groups,
            axis_name=name,
            axis_size=size,
            concat_axis=_canonical(concat_axis, array.ndim, "all_to_all"),
            split_axis=split,
            tiled=tiled,
        )

    return tree_map(one, x)


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Return ``x`` with the mapped axis and ``axis``, of equal length, exchanged.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> swap = lambda x: jax.lax.pswapaxes(x, "i", 0)
    >>> jax.vmap(swap, axis_name="i")(jnp.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def _canonical(axis: int, rank: int, function: str) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"{function}: axis {axis} is out of bounds for array of dimension {rank}")
    return axis + rank if axis < 0 else axis
