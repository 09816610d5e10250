"""``lax`` products of unequal groups and of scaled blocks. In: arrays, sizes. Out: products.

A ragged axis holds groups of elements one behind the other, ``group_sizes`` tells how many each
has. The operand is laid out once per group, zero outside it, and what remains is one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import elementwise, reductions, shapes
from jaxlite.lax.linear_algebra import dot_general
from jaxlite.lax.operands import as_array
from jaxlite.lax.shapes import broadcast_in_dim, broadcasted_iota, expand_dims, transpose

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "scaled_dot"]


@dataclass(frozen=True, init=False)
class RaggedDotDimensionNumbers:
    """Axes of a ragged product: of ``dot_general``, the ragged one of lhs, the groups of rhs."""

    dot_dimension_numbers: tuple[tuple[tuple[int, ...], ...], ...]
    lhs_ragged_dimensions: tuple[int, ...]
    rhs_group_dimensions: tuple[int, ...]

    def __init__(
        self,
        dot_dimension_numbers: Any,
        lhs_ragged_dimensions: Sequence[int],
        rhs_group_dimensions: Sequence[int],
    ) -> None:
        pairs = tuple(tuple(tuple(axes) for axes in pair) for pair in dot_dimension_numbers)
        object.__setattr__(self, "dot_dimension_numbers", pairs)
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(rhs_group_dimensions))


_MATRICES = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the rows of ``lhs``, each times the matrix of its group.

    Args:
        lhs: ``T[m, k]``, the groups one below the other.
        rhs: ``T[g, k, n]``.
        group_sizes: ``i32[g]``, rows per group; rows behind all groups give 0.
        precision: see ``dot_general``.
        preferred_element_type: dtype of the sums and of the result.
        group_offset: must be None.
        out_sharding: must be None.

    Returns:
        ``T[m, n]``.

    Raises:
        TypeError: shapes that do not fit; sizes that are no integers.

    Example:
        >>> ragged_dot(np.ones((3, 2)), np.arange(4.0).reshape(2, 2, 1), np.array([1, 2])).tolist()
        [[1.0], [5.0], [5.0]]
    """
    return ragged_dot_general(
        lhs, rhs, group_sizes, _MATRICES, precision, preferred_element_type, group_offset
    )


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return products where one axis of ``lhs`` is cut into groups.

    If that axis is a free one, each group meets its own part of ``rhs``; if it is summed over,
    there is one sum per group, in front of the result; if it is a batch axis, the groups do not
    matter.

    Args:
        lhs: ``T[*s]``.
        rhs: ``T[*t]``.
        group_sizes: ``i32[g]``, or one list of sizes for each position of the axes in front of the
            ragged one.
        ragged_dot_dimension_numbers: the axes.
        precision: see ``dot_general``.
        preferred_element_type: dtype of the sums and of the result.
        group_offset: must be None.
        out_sharding: must be None.

    Raises:
        TypeError: axes or shapes that do not fit; sizes that are no integers.

    Example:
        >>> numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
        >>> x = np.ones((3, 1))
        >>> ragged_dot_general(x, x, np.array([1, 2]), numbers).tolist()
        [[[1.0]], [[2.0]]]
    """
    x, y = as_array(lhs, "ragged_dot_general"), as_array(rhs, "ragged_dot_general", 1)
    sizes = as_array(group_sizes, "ragged_dot_general", 2)
    if group_offset is not None:
        raise TypeError(
            "ragged_dot_general: group_offset must be None.\n"
            "  Fix: drop the groups in front, lhs rows and sizes, before the call."
        )
    numbers = ragged_dot_dimension_numbers
    axis = _check(x, y, sizes, numbers)
    (lhs_sum, rhs_sum), (lhs_batch, rhs_batch) = numbers.dot_dimension_numbers
    if axis in lhs_batch:
        return dot_general(x, y, numbers.dot_dimension_numbers, precision, preferred_element_type)
    free = [d for d in range(x.ndim) if d not in (*lhs_sum, *lhs_batch)]
    outer = list(lhs_sum if axis in lhs_sum else free)
    outer = outer[: outer.index(axis)]
    groups = _lay_out(x, sizes, [*lhs_batch, *outer], axis)
    one_more = tuple(tuple(d + 1 for d in axes) for axes in (lhs_sum, lhs_batch))
    if axis in lhs_sum:
        pairs = (one_more[0], rhs_sum), (one_more[1], rhs_batch)
        out = dot_general(groups, y, pairs, precision, preferred_element_type)
        # The groups are the first free axis, behind the batch.
        n = len(lhs_batch)
        return transpose(out, (n, *range(n), *range(n + 1, out.ndim)))
    (group_axis,) = numbers.rhs_group_dimensions
    pairs = ((0, *one_more[0]), (group_axis, *rhs_sum)), (one_more[1], rhs_batch)
    return dot_general(groups, y, pairs, precision, preferred_element_type)


def _lay_out(x: Value, sizes: Value, outer: Sequence[int], axis: int) -> Value:
    """Return ``x`` once per group in front, 0 outside of the group."""
    ends = reductions.cumsum(sizes, axis=sizes.ndim - 1)
    starts = elementwise.sub(ends, sizes)
    n_groups = sizes.shape[-1]
    shape = (n_groups, *x.shape)
    # One list of sizes serves all positions of the outer axes.
    named = [d + 1 for d in outer] if sizes.ndim > 1 else []
    order = (sizes.ndim - 1, *range(sizes.ndim - 1))
    starts, ends = (
        broadcast_in_dim(transpose(b, order), shape, (0, *named)) for b in (starts, ends)
    )
    at = broadcasted_iota(sizes.dtype, shape, axis + 1)
    inside = elementwise.bitwise_and(elementwise.ge(at, starts), elementwise.lt(at, ends))
    repeated = broadcast_in_dim(x, shape, tuple(range(1, x.ndim + 1)))
    return elementwise.select(inside, repeated, shapes.full_like(repeated, 0))


def _ragged_axis(x: Value, y: Value, numbers: RaggedDotDimensionNumbers) -> int:
    """Return the ragged axis; raise if it or an axis of groups does not exist."""
    name = "ragged_dot_general"
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(f"{name} expects exactly one lhs ragged dimension.")
    (axis,) = numbers.lhs_ragged_dimensions
    for label, rank, axes, what in (
        ("lhs", x.ndim, (axis,), "lhs ragged"),
        ("rhs", y.ndim, numbers.rhs_group_dimensions, "rhs group"),
    ):
        for d in axes:
            if not 0 <= d < rank:
                raise TypeError(
                    f"{name} requires {what} dimension numbers to be nonnegative and less than the "
                    f"number of axes of the {label} value, got {d} for {label} of rank {rank}."
                )
    return axis


def _check(x: Value, y: Value, sizes: Value, numbers: RaggedDotDimensionNumbers) -> int:
    """Return the ragged axis; raise in JAX's words if the axes do not fit."""
    name = "ragged_dot_general"
    if not dtypes.issubdtype(sizes.dtype, np.integer):
        raise TypeError(f"{name} requires that group_sizes.dtype is subtype of np.integer.")
    (lhs_sum, _), (lhs_batch, _) = numbers.dot_dimension_numbers
    axis = _ragged_axis(x, y, numbers)
    if not sizes.ndim:
        raise TypeError("expected rank of group_sizes to be >=1.")
    summed_or_batch = axis in (*lhs_sum, *lhs_batch)
    if summed_or_batch and numbers.rhs_group_dimensions:
        raise TypeError(
            f"{name} requires zero group dimensions in the rhs when lhs ragged dimension is "
            "contracting or batch."
        )
    free = [d for d in range(x.ndim) if d not in (*lhs_sum, *lhs_batch)]
    if axis in lhs_batch:
        prefix = list(lhs_batch[: lhs_batch.index(axis)])
    elif axis in lhs_sum:
        prefix = [*lhs_batch, *lhs_sum[: lhs_sum.index(axis)]]
    else:
        prefix = [*lhs_batch, *free[: free.index(axis)]]
    wanted = (*[x.shape[d] for d in prefix], sizes.shape[-1])
    if sizes.ndim > 1 and sizes.shape != wanted:
        raise TypeError(f"expected group_sizes to have shape {wanted}, got {sizes.shape}.")
    if summed_or_batch:
        return axis
    _check_groups(y, sizes, numbers)
    return axis


def _check_groups(y: Value, sizes: Value, numbers: RaggedDotDimensionNumbers) -> None:
    """Raise unless rhs has one part for each group."""
    name = "ragged_dot_general"
    (_, rhs_sum), (_, rhs_batch) = numbers.dot_dimension_numbers
    if len(numbers.rhs_group_dimensions) != 1:
        raise TypeError(
            f"{name} requires exactly one rhs group dimension when lhs ragged dimension is "
            "noncontracting."
        )
    (group_axis,) = numbers.rhs_group_dimensions
    if group_axis in (*rhs_sum, *rhs_batch):
        raise TypeError(
            f"{name} requires rhs group dimension numbers to be distinct from contracting and "
            "batch dimensions."
        )
    if y.shape[group_axis] != sizes.shape[-1]:
        raise TypeError(
            f"expected rhs group dimension size to be {sizes.shape[-1]}, got {y.shape[group_axis]}."
        )


# --- scaled blocks ---


def scaled_dot(
    lhs: Any,
    rhs: Any,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return ``(lhs * lhs_scale) @ (rhs * rhs_scale)``, one factor per block of summed elements.

    Args:
        lhs: ``T[m, k]`` or ``T[b, m, k]``, often of 8 or 4 bits.
        rhs: ``T[k, n]`` or ``T[b, k, n]``.
        lhs_scale: like ``lhs``, its summed axis at least 2 times shorter.
        rhs_scale: likewise for ``rhs``.
        dimension_numbers: as of ``dot_general``, for other layouts.
        preferred_element_type: dtype of the result, bfloat16 by default.

    Raises:
        TypeError: ranks or sizes that do not fit.

    Example:
        >>> ones = np.ones((2, 2), np.float32)
        >>> scaled_dot(ones, ones, lhs_scale=np.float32([[2], [3]])).tolist()
        [[4.0, 4.0], [6.0, 6.0]]
    """
    x, y = as_array(lhs, "scaled_dot"), as_array(rhs, "scaled_dot", 1)
    scales = [
        None if s is None else as_array(s, "scaled_dot", i + 2)
        for i, s in enumerate((lhs_scale, rhs_scale))
    ]
    ranks = [a.ndim for a in (x, y, *(a if s is None else s for a, s in zip((x, y), scales)))]
    if len(set(ranks)) > 1:
        raise TypeError(
            "All input tensors must have the same rank. Got lhs rank: {} rhs rank: {} "
            "lhs_scale rank: {} rhs_scale rank: {}.".format(*ranks)
        )
    if dimension_numbers is None:
        batch = tuple(range(x.ndim - 2))
        dimension_numbers = (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch))
    wanted = "bfloat16" if preferred_element_type is None else preferred_element_type
    dtype = dtypes.as_dtype(wanted)
    wide = np.dtype(np.float32) if dtypes.kind_of(dtype) == "f" else dtype
    left, right = [
        _scaled(shapes.convert_element_type(a, wide), s, axes, label)
        for a, s, axes, label in zip((x, y), scales, dimension_numbers[0], ("LHS", "RHS"))
    ]
    return shapes.convert_element_type(dot_general(left, right, dimension_numbers), dtype)


def _scaled(x: Value, scale: Value | None, summed: Sequence[int], label: str) -> Value:
    """Return ``x`` times its factors, each repeated over its block."""
    if scale is None:
        return x
    for d, (size, n) in enumerate(zip(x.shape, scale.shape, strict=True)):
        if d not in summed:
            if size != n:
                raise TypeError(
                    f"{label} dim {d} of size {size} does not match scale dim size {n}."
                )
            continue
        if not n or size % n:
            raise TypeError(
                f"{label} contracting dim {d} of size {size} must be divisible by its scale's "
                f"dim size {n}."
            )
        if size // n < 2:
            raise TypeError(
                f"The ratio of {label} contracting dim {d} to its scale's dim size "
                f"({size // n}) must be at least 2."
            )
    scale = shapes.convert_element_type(scale, x.dtype)
    for d in summed:
        block = x.shape[d] // scale.shape[d]
        wide = expand_dims(scale, (d + 1,))
        shape = (*wide.shape[: d + 1], block, *wide.shape[d + 2 :])
        wide = broadcast_in_dim(wide, shape, tuple(range(wide.ndim)))
        scale = shapes.reshape(wide, (*shape[:d], x.shape[d], *shape[d + 2 :]))
    return elementwise.mul(x, scale)
