"""``lax`` functions that combine elements along axes. In: arrays, axes.

Out: arrays with fewer axes (or running results).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, ArrayImpl, Value
from jaxlite.language.primitive import Primitive
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.lax import elementwise
from jaxlite.lax.operands import as_array
from jaxlite.lax.shapes import broadcast_in_dim, convert_type, squeeze
from jaxlite.lax.slicing import slice_in_dim
from jaxlite.primitives import argreduce, cumulative, reduction

__all__ = [
    "argmax",
    "argmin",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]


def _reduction(name: str, primitive: Primitive, text: str, **params: Any) -> Callable[..., Value]:
    def function(operand: Any, axes: Sequence[int]) -> Value:
        return primitive.bind(
            as_array(operand, name), axes=tuple([operator.index(a) for a in axes]), **params
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return {text} over ``axes`` (counted from the front), which disappear.\n\n"
        "Raises:\n    ValueError: an axis that does not exist or appears twice."
    )
    return function


def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Value:
    """Return the sum over ``axes`` (counted from the front), which disappear.

    Raises:
        ValueError: an axis that does not exist or appears twice.

    Example:
        >>> reduce_sum(np.float32([1, 2, 3]), (0,))
        Array(6., dtype=float32)
    """
    x = as_array(operand, "reduce_sum")
    return reduction.reduce_sum(x, tuple([operator.index(a) for a in axes]))


reduce_prod = _reduction("reduce_prod", reduction.reduce_prod_p, "the product")
reduce_max = _reduction("reduce_max", reduction.reduce_max_p, "the greatest element (NaN wins)")
reduce_min = _reduction("reduce_min", reduction.reduce_min_p, "the least element (NaN wins)")
reduce_and = _reduction("reduce_and", reduction.reduce_and_p, "the bitwise and")
reduce_or = _reduction("reduce_or", reduction.reduce_or_p, "the bitwise or")
reduce_xor = _reduction("reduce_xor", reduction.reduce_xor_p, "the bitwise exclusive or")


def _argument(name: str, strict: Callable[[Value, int, Any], Value], text: str) -> Any:
    def function(operand: Any, axis: int, index_dtype: Any) -> Value:
        x = as_array(operand, name)
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        return strict(x, operator.index(axis), dtypes.requested_dtype(index_dtype, name))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return where the {text} element along ``axis`` is, as ``index_dtype``; the first of "
        "equal ones."
        "\n\nRaises:\n    ValueError: there is no such axis, or it is empty."
    )
    return function


argmax = _argument("argmax", argreduce.argmax, "greatest")
argmin = _argument("argmin", argreduce.argmin, "least")


def _running(name: str, primitive: Primitive, text: str) -> Callable[..., Value]:
    def function(operand: Any, axis: int = 0, reverse: bool = False) -> Value:
        x = as_array(operand, name)
        place = operator.index(axis)
        if place < 0:
            raise ValueError("XLA operations do not allow negative axes")
        if place >= x.ndim:
            raise ValueError(f"axis {place} is out of bounds for array of shape {x.shape}")
        return primitive.bind(x, axis=place, reverse=bool(reverse))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return {text} along ``axis``, from the end if ``reverse``: ``T[*s] -> T[*s]``."
    )
    return function


cumsum = _running("cumsum", cumulative.cumsum_p, "running sums")
cumprod = _running("cumprod", cumulative.cumprod_p, "running products")
cummax = _running("cummax", cumulative.cummax_p, "running maxima")
cummin = _running("cummin", cumulative.cummin_p, "running minima")
cumlogsumexp = _running("cumlogsumexp", cumulative.cumlogsumexp_p, "running log-sum-exps")


# --- any computation ---

_KNOWN: dict[Any, tuple[Callable[..., Value], Callable[[Any], Any]]] = {
    elementwise.add: (reduce_sum, lambda dt: 0),
    elementwise.mul: (reduce_prod, lambda dt: 1),
    elementwise.max: (reduce_max, lambda dt: reduction.extreme(dt, -1)),
    elementwise.min: (reduce_min, lambda dt: reduction.extreme(dt, 1)),
    elementwise.bitwise_or: (reduce_or, lambda dt: 0),
    elementwise.bitwise_xor: (reduce_xor, lambda dt: 0),
}


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Combine elements along ``dimensions`` with ``computation``, starting from ``init_values``.

    Args:
        operands: an array or a pytree of arrays of one shape.
        init_values: scalars of the same structure, neutral for ``computation``.
        computation: an associative function of two such structures of scalars.
        dimensions: the axes that disappear.
        out_sharding: only None (one device).

    Returns:
        The structure of ``operands``, without those axes.

    Raises:
        ValueError: no operands, or structures that differ.

    Example:
        >>> reduce(np.float32([1, 2, 3]), 0.0, lambda a, b: a + b, (0,))
        Array(6., dtype=float32)
    """
    arrays, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if not arrays:
        raise ValueError("reduce must have at least one operand.")
    if init_tree != tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    axes = tuple(operator.index(d) for d in dimensions)
    values = [as_array(a, "reduce", i) for i, a in enumerate(arrays)]
    if any(np.ndim(i) if not isinstance(i, Array) else i.ndim for i in inits):
        listed = [tuple(np.shape(i)) for i in inits]
        raise ValueError(f"reduce found non-scalar initial value: {listed}")
    if len(values) == 1 and neutral_start(computation, inits[0], values[0].dtype):
        return tree_unflatten(tree, [_KNOWN[computation][0](values[0], axes)])
    starts = [
        convert_type(as_array(i, "reduce"), v.dtype, v.aval.weak_type)
        for i, v in zip(inits, values)
    ]

    def combine(a: list[Value], b: list[Value]) -> list[Value]:
        out = computation(tree_unflatten(tree, a), tree_unflatten(tree, b))
        return list(tree_flatten(out)[0])

    for axis in sorted(axes, reverse=True):
        values = fold(values, axis, combine)
    if not values[0].size:
        return tree_unflatten(tree, values)
    full = [_repeat(s, v.shape) for s, v in zip(starts, values)]
    return tree_unflatten(tree, combine(full, values))


def neutral_start(computation: Any, init: Any, dtype: Any) -> bool:
    """Say whether ``computation`` is a known one and ``init`` changes nothing in it."""
    known = _KNOWN.get(computation)
    return known is not None and _equals(init, known[1](dtype))


def _repeat(x: Value, shape: tuple[int, ...]) -> Value:
    return broadcast_in_dim(x, shape, ()) if shape else x


def _equals(init: Any, value: Any) -> bool:
    if isinstance(init, Array) and type(init) is not ArrayImpl:
        return False
    data = init._data if isinstance(init, ArrayImpl) else init
    return bool(np.ndim(data) == 0 and data == value)


def fold(
    values: list[Value], axis: int, combine: Callable[[list[Value], list[Value]], list[Value]]
) -> list[Value]:
    """Combine neighbours along an axis until one element is left: log2(n) elementwise steps.

    The order of the elements is kept, so ``combine`` need not be commutative.
    """
    rest: list[Value] | None = None
    size = values[0].shape[axis]
    if size == 0:
        raise ValueError("reduce over an empty axis needs a known computation")
    while size > 1:
        if size % 2:
            last = [slice_in_dim(v, size - 1, size, 1, axis) for v in values]
            rest = last if rest is None else combine(last, rest)
        even = size - size % 2
        left = [slice_in_dim(v, 0, even, 2, axis) for v in values]
        right = [slice_in_dim(v, 1, even, 2, axis) for v in values]
        values, size = combine(left, right), even // 2
    if rest is not None:
        values = combine(values, rest)
    return [squeeze(v, (axis,)) for v in values]
