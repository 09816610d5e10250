"""What an index selects. In: one item per axis. Out: the arguments of a gather or a scatter.

``x[idx]`` and ``x.at[idx]`` share this: integers and arrays of integers become index vectors,
contiguous slices windows, slices with steps further index vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from jaxlite.language.array import Value, from_numpy
from jaxlite.lax import shapes
from jaxlite.numpy.promotion import broadcast_shapes


@dataclass(frozen=True, slots=True)
class NewAxis:
    """``None``: an axis of length 1 in the result."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """An integer known now, not negative unless it is out of bounds."""

    index: int


@dataclass(frozen=True, slots=True)
class Span:
    """A slice: ``length`` elements ``start, start + step, ...``."""

    start: int
    step: int
    length: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """An array of integers counted from the front; a NumPy array if it is known now."""

    indices: Any


Item: TypeAlias = NewAxis | Fixed | Span | Taken


@dataclass(frozen=True, slots=True)
class Plan:
    """How to gather from, or scatter to, an operand.

    ``indices``: i32[*batch, k], the k indexed axes being ``indexed_dims`` of the operand.
    ``shape``: of the result without new axes; ``window_dims`` are its axes that slices filled.
    ``new_axes``: where axes of length 1 go in the final result of shape ``full_shape``.
    """

    indices: Value
    indexed_dims: tuple[int, ...]
    collapsed_dims: tuple[int, ...]
    window_dims: tuple[int, ...]
    slice_sizes: tuple[int, ...]
    shape: tuple[int, ...]
    new_axes: tuple[int, ...]
    full_shape: tuple[int, ...]
    is_sorted: bool
    is_unique: bool


def plan(shape: tuple[int, ...], items: list[Item]) -> Plan:
    """Return the plan for ``items`` on an operand of ``shape``."""
    taken = [item.indices for item in items if isinstance(item, Taken)]
    has_arrays = any(np.ndim(t) > 0 for t in taken)
    common = broadcast_shapes("indexing", *[tuple(np.shape(t)) for t in taken]) if taken else ()
    advanced = [
        k
        for k, item in enumerate(items)
        if isinstance(item, Taken) or (has_arrays and isinstance(item, Fixed))
    ]
    together = not advanced or advanced == list(range(advanced[0], advanced[-1] + 1))
    builder = _Builder(shape, common, at_front=not together)
    for k, item in enumerate(items):
        builder.add(item, is_first=bool(advanced) and k == advanced[0], is_advanced=k in advanced)
    return builder.finish(is_simple=not common)


class _Builder:
    """Collects, axis by axis, what a ``Plan`` needs."""

    def __init__(self, shape: tuple[int, ...], common: tuple[int, ...], at_front: bool) -> None:
        self.operand_shape = shape
        self.common = common
        self.result: list[int] = []  # lengths of the result's axes, new axes left out
        self.full: list[int] = []  # lengths with the new axes
        self.new_axes: list[int] = []
        self.windows: list[int] = []  # axes of the result that are windows
        self.sizes: list[int] = []
        self.collapsed: list[int] = []
        self.parts: list[
            tuple[int, Any, tuple[int, ...]]
        ] = []  # (operand axis, indices, result axes)
        self.axis = 0
        self.common_axes: tuple[int, ...] = ()
        if at_front:
            self._place_common()

    def _place_common(self) -> None:
        self.common_axes = tuple(range(len(self.result), len(self.result) + len(self.common)))
        self.result.extend(self.common)
        self.full.extend(self.common)
        self.is_placed = True

    is_placed = False

    def add(self, item: Item, is_first: bool, is_advanced: bool) -> None:
        if is_first and not self.is_placed:
            self._place_common()
        match item:
            case NewAxis():
                self.new_axes.append(len(self.full))
                self.full.append(1)
                return
            case Fixed(index):
                self.parts.append((self.axis, np.asarray(index, np.int32), ()))
            case Taken(indices):
                self.parts.append((self.axis, indices, self.common_axes))
            case Span(start, step, length, whole):
                if step == 1:
                    if not whole:
                        self.parts.append((self.axis, np.asarray(start, np.int32), ()))
                    self.windows.append(len(self.result))
                    self.sizes.append(length)
                else:
                    steps = start + step * np.arange(length, dtype=np.int32)
                    self.parts.append((self.axis, steps.astype(np.int32), (len(self.result),)))
                self.result.append(length)
                self.full.append(length)
        if not (isinstance(item, Span) and item.step == 1):
            self.collapsed.append(self.axis)
            self.sizes.append(1)
        self.axis += 1

    def finish(self, is_simple: bool) -> Plan:
        batch_axes = [a for a in range(len(self.result)) if a not in self.windows]
        batch = tuple(self.result[a] for a in batch_axes)
        where = {a: k for k, a in enumerate(batch_axes)}
        columns = []
        for _, indices, axes in self.parts:
            used = axes[len(axes) - np.ndim(indices) :]
            columns.append((indices, tuple(where[a] for a in used)))
        increasing = all(
            np.ndim(i) == 0 or (isinstance(i, np.ndarray) and bool(np.all(np.diff(i) > 0)))
            for i, _ in columns
        )
        return Plan(
            indices=_index_array(columns, batch),
            indexed_dims=tuple(axis for axis, _, _ in self.parts),
            collapsed_dims=tuple(self.collapsed),
            window_dims=tuple(self.windows),
            slice_sizes=tuple(self.sizes),
            shape=tuple(self.result),
            new_axes=tuple(self.new_axes),
            full_shape=tuple(self.full),
            is_sorted=is_simple and increasing,
            is_unique=is_simple,
        )


def _index_array(columns: list[tuple[Any, tuple[int, ...]]], batch: tuple[int, ...]) -> Value:
    """Stack index columns, each broadcast to ``batch`` along its axes, to i32[*batch, k]."""
    if all(isinstance(indices, np.ndarray) for indices, _ in columns):
        out = np.zeros((*batch, len(columns)), np.int32)
        for k, (indices, axes) in enumerate(columns):
            lengths = [1] * len(batch)
            for axis, length in zip(axes, np.shape(indices), strict=True):
                lengths[axis] = length
            out[..., k] = indices.reshape(lengths)
        return from_numpy(out)
    stacked = [
        shapes.broadcast_in_dim(
            from_numpy(i) if isinstance(i, np.ndarray) else i,
            (*_lengths(i, axes, batch), 1),
            axes,
        )
        for i, axes in columns
    ]
    return stacked[0] if len(stacked) == 1 else shapes.concatenate(stacked, len(batch))


def _lengths(indices: Any, axes: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    return batch


__all__ = ["Fixed", "Item", "NewAxis", "Plan", "Span", "Taken", "plan"]
