"""What gather and scatter share. In: dimension numbers and shapes. Out: which element meets which.

Both walk over *windows* of the operand: boxes of ``slice_sizes`` that start where an index vector
(the last axis of the indices) says. Every other axis of the indices is a *batch* axis of the walk.
An axis
of the operand is one of three: collapsed (or inserted, window size 1, absent from the windows),
batching (it steps together with a batch axis of the indices), or an axis of the windows.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "Windows",
    "check_axes",
    "check_batching",
    "check_index_dtype",
    "check_index_vectors",
    "index_expr",
    "window_positions",
]


class GatherScatterMode(enum.Enum):
    """What to do with windows that do not lie inside the operand.

    ``CLIP`` moves them inside. ``FILL_OR_DROP`` reads a fill value and skips writes.
    ``PROMISE_IN_BOUNDS`` is the caller's word that there are none (reads then clamp, writes drop).

    Example:
        >>> GatherScatterMode.from_any("fill")
        <GatherScatterMode.FILL_OR_DROP: 2>
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: Any) -> GatherScatterMode:
        """Return the mode that ``s`` names (None: ``FILL_OR_DROP``); ValueError if none."""
        if isinstance(s, GatherScatterMode):
            return s
        found = _MODES.get(s) if s is None or isinstance(s, str) else None
        if found is None:
            raise ValueError(
                f'Unknown gather mode "{s}"\n'
                '  Fix: one of "clip", "fill" (also "drop"), "promise_in_bounds".'
            )
        return found


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}


class GatherDimensionNumbers(NamedTuple):
    """How ``gather`` reads; see the module docstring. Index vectors are the indices' last axis.

    Args:
        offset_dims: axes of the result that are axes of the windows, ascending.
        collapsed_slice_dims: axes of the operand with slice size 1 that the result lacks.
        start_index_map: axis of the operand that each component of an index vector moves along.
        operand_batching_dims: axes of the operand that step together with the axes
            ``start_indices_batching_dims`` of the indices.
        start_indices_batching_dims: see there.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """How ``scatter`` writes: the same as ``GatherDimensionNumbers`` in the opposite direction.

    Args:
        update_window_dims: axes of the updates that are axes of the windows, ascending.
        inserted_window_dims: axes of the operand with window size 1 that the updates lack.
        scatter_dims_to_operand_dims: axis of the operand that each component of an index vector
            moves
            along.
        operand_batching_dims: axes of the operand that step together with the axes
            ``scatter_indices_batching_dims`` of the indices.
        scatter_indices_batching_dims: see there.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


class Windows(NamedTuple):
    """The walk over an operand of ``shape``; ``sizes`` is the window's size on every axis."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    index_map: tuple[int, ...]
    operand_batching: tuple[int, ...]
    indices_batching: tuple[int, ...]
    absent: tuple[int, ...]  # collapsed and batching axes

    @property
    def window_axes(self) -> tuple[int, ...]:
        """Axes of the operand that are axes of the windows."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.absent)

    @property
    def last_starts(self) -> tuple[int, ...]:
        """Largest start inside the operand, for every component of an index vector."""
        return tuple(self.shape[d] - self.sizes[d] for d in self.index_map)

    def operand_index(
        self, starts: Sequence[ir.Expr], batch: Sequence[ir.Expr], inside: Sequence[ir.Expr]
    ) -> tuple[ir.Expr, ...]:
        """Return the operand's index from starts, batch index and index inside the window."""
        zero = ir.i64(0)
        out = [zero] * len(self.shape)
        for axis, i in zip(self.window_axes, inside, strict=True):
            out[axis] = i
        for axis, start in zip(self.index_map, starts, strict=True):
            out[axis] = ir.binary("add", out[axis], start)
        for axis, indices_axis in zip(self.operand_batching, self.indices_batching, strict=True):
            out[axis] = batch[indices_axis]
        return tuple(out)


def window_positions(xp: ArrayModule, windows: Windows, indices: Any) -> tuple[Any, Any, Any]:
    """Return (flat position of each window's first element, of each element in a window, validity).

    Positions are int64 and row-major. The first has the shape of the indices' batch axes, with
    starts clamped into the operand; the second that of a window; validity is a bool per window.
    """
    strides = [math.prod(windows.shape[axis + 1 :]) for axis in range(len(windows.shape))]
    if indices.dtype.kind == "u" and indices.dtype.itemsize == 8:
        indices = xp.minimum(indices, indices.dtype.type(2**62))
    indices = indices.astype(np.int64)
    batch_shape = indices.shape[:-1]
    base = xp.zeros(batch_shape, np.int64)
    valid = xp.ones(batch_shape, np.bool_)
    for k, (axis, last) in enumerate(zip(windows.index_map, windows.last_starts, strict=True)):
        start = indices[..., k]
        clipped = xp.minimum(xp.maximum(start, 0), last)
        valid &= clipped == start
        base = base + clipped * strides[axis]
    for axis, k in zip(windows.operand_batching, windows.indices_batching, strict=True):
        steps = xp.arange(batch_shape[k], dtype=np.int64) * strides[axis]
        base = base + steps.reshape([-1 if d == k else 1 for d in range(len(batch_shape))])
    axes = windows.window_axes
    offsets = xp.zeros([windows.sizes[axis] for axis in axes], np.int64)
    for k, axis in enumerate(axes):
        steps = xp.arange(windows.sizes[axis], dtype=np.int64) * strides[axis]
        offsets = offsets + steps.reshape([-1 if d == k else 1 for d in range(len(axes))])
    return base, offsets, valid


def index_expr(e: ir.Expr, last: int) -> ir.Expr:
    """Return an integer expression as i64; u64 values larger than ``last`` shrink to it."""
    if e.dtype.kind == "u" and e.dtype.itemsize == 8:
        e = ir.binary("min", e, ir.const(last, e.dtype))
    return ir.cast(e, ir.I64)


def check_axes(
    what: str, op: str, axes: tuple[int, ...], ndim: int, is_sorted: bool = True
) -> None:
    """Raise TypeError unless ``axes`` are ascending, distinct axes of an array of ``ndim`` axes."""
    if is_sorted and list(axes) != sorted(axes):
        raise TypeError(f"{what} in {op} op must be sorted; got {axes}")
    if len(set(axes)) != len(axes):
        raise TypeError(f"{what} in {op} op must not repeat; got: {axes}.")
    for axis in axes:
        if not 0 <= axis < ndim:
            raise TypeError(
                f"Invalid {what} set in {op} op; valid range is [0, {ndim}); got: {axis}."
            )


def check_batching(
    op: str,
    names: tuple[str, str, str, str],
    operand_shape: tuple[int, ...],
    indices_shape: tuple[int, ...],
    axes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]],
) -> None:
    """Raise TypeError unless the batching axes of operand and indices fit each other.

    ``axes`` are the operand's batching axes, the indices' batching axes, the collapsed (inserted)
    axes and the index map; ``names`` what they are called.
    """
    batching, indices_batching, collapsed, index_map = axes
    batching_name, indices_name, collapsed_name, map_name = names
    check_axes(batching_name, op, batching, len(operand_shape))
    for other, name in ((collapsed, collapsed_name), (index_map, map_name)):
        if set(other) & set(batching):
            raise TypeError(
                f"{name} and {batching_name} in {op} op must be disjoint; "
                f"got: {other} and {batching}."
            )
    check_axes(indices_name, op, indices_batching, len(indices_shape), is_sorted=False)
    title = op.capitalize()
    if len(indices_shape) - 1 in indices_batching:
        raise TypeError(
            f"{title} op cannot have the index vector dimension as a batching dimension; "
            f"got {indices_batching}."
        )
    if len(batching) != len(indices_batching):
        space = "" if op == "gather" else " "
        raise TypeError(
            f"{title} op requires equal numbers of {batching_name} and {indices_name}, "
            f"got {batching} and{space}{indices_batching}."
        )
    operand_sizes = tuple(operand_shape[d] for d in batching)
    indices_sizes = tuple(indices_shape[d] for d in indices_batching)
    if operand_sizes != indices_sizes:
        raise TypeError(
            f"{title} op requires operand batching dimensions and indices batching dimensions to "
            f"have the same shape, got {operand_sizes} and {indices_sizes}."
        )


def check_index_vectors(op: str, indices: ShapedArray) -> None:
    """Raise TypeError unless ``indices`` have an axis of index vectors."""
    if not indices.ndim:
        raise TypeError(
            f"{op.capitalize()} index leaf dimension must be within [0, rank(indices) + 1). "
            f"rank(indices) is 0 and {op} index leaf dimension is -1."
        )


def check_index_dtype(op: str, indices: ShapedArray) -> None:
    """Raise ValueError unless ``indices`` are integers (checked after the shapes, as in JAX)."""
    if dtypes.kind_of(indices.dtype) not in "iu":
        raise ValueError(
            "indices must have an integer type\n"
            f"  The indices of {op} have type {indices.str_short()}."
        )
