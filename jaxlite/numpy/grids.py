"""Grids and index tricks. In: slices, vectors, lengths. Out: arrays that span a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import canonical_shape
from jaxlite.language.trace import Tracer
from jaxlite.lax import shapes
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.joining import concatenate
from jaxlite.numpy.promotion import as_operand, check_arraylike, retype
from jaxlite.numpy.ranges import arange, linspace
from jaxlite.settings import numpy_dtype_promotion

_BOOL = np.dtype(np.bool_)


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Value]:
    """Return one coordinate array per vector, of the shape of the grid they span.

    Args:
        xi: vectors.
        copy: only True.
        sparse: leave axes of length 1 instead of repeating.
        indexing: "xy" (the first vector runs along axis 1) or "ij".

    Example:
        >>> meshgrid(np.arange(2), np.arange(3))[0]
        Array([[0, 1],
               [0, 1],
               [0, 1]], dtype=int32)
    """
    check_arraylike("meshgrid", *xi)
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    vectors = [as_operand("meshgrid", x) for x in xi]
    if any(v.ndim != 1 for v in vectors):
        raise ValueError(
            f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[v.shape for v in vectors]}"
        )
    n = len(vectors)
    places = list(range(n))
    if indexing == "xy" and n >= 2:
        places[:2] = [1, 0]
    full = [0] * n
    for place, v in zip(places, vectors, strict=True):
        full[place] = v.shape[0]
    target = tuple(full)
    out = []
    for place, v in zip(places, vectors, strict=True):
        shape = tuple(d if k == place or not sparse else 1 for k, d in enumerate(target))
        out.append(shapes.broadcast_in_dim(v, shape, (place,)))
    return out


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """Return the index arrays of a shape, stacked (a tuple if ``sparse``).

    Example:
        >>> indices((1, 2))
        Array([[[0, 0]],
        <BLANKLINE>
               [[0, 1]]], dtype=int32)
    """
    dims = canonical_shape(tuple(dimensions))
    kind = dtypes.default_dtype(int) if dtype is None else dtypes.requested_dtype(dtype, "indices")
    if sparse:
        return tuple(
            shapes.broadcasted_iota(
                kind, tuple(d if k == axis else 1 for k, d in enumerate(dims)), axis
            )
            for axis in range(len(dims))
        )
    grids = [shapes.broadcasted_iota(kind, dims, axis) for axis in range(len(dims))]
    if not grids:
        return shapes.full((0,), 0, kind)
    return shapes.stack(grids, 0)


def ix_(*args: Any) -> tuple[Value, ...]:
    """Return vectors reshaped so that they index the grid they span."""
    check_arraylike("ix_", *args)
    out = []
    for k, arg in enumerate(args):
        v = as_operand("ix_", arg)
        if v.ndim != 1:
            raise ValueError(
                f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {v.shape}"
            )
        if v.dtype == _BOOL:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        shape = [1] * len(args)
        shape[k] = v.shape[0]
        out.append(shapes.reshape(v, tuple(shape)))
    return tuple(out)


def _grid_axis(item: slice, name: str) -> Value:
    for part in ("start", "stop", "step"):
        value = getattr(item, part)
        if isinstance(value, Tracer) and value.concrete_value() is None:
            raise errors.ConcretizationTypeError(value, f"slice {part} of jnp.{name}\n")
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, complex):
        return asarray(linspace(start, item.stop, int(abs(step))))
    return arange(start, item.stop, step)


class _Grid:
    """``mgrid[0:2, 0:3]``: index arrays of a grid; a complex step is a number of points."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        name = "ogrid" if self.sparse else "mgrid"
        if isinstance(key, slice):
            return _grid_axis(key, name)
        axes = [_grid_axis(k, name) for k in key]
        if not axes:
            return [] if self.sparse else shapes.full((0,), 0, dtypes.default_dtype(int))
        with numpy_dtype_promotion("standard"):
            kind = dtypes.result_type(*[a.dtype for a in axes])
        grids = meshgrid(*[retype(a, kind) for a in axes], sparse=self.sparse, indexing="ij")
        return grids if self.sparse else shapes.stack(grids, 0)


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


class _Joiner:
    """``r_[1:3, 5]`` joins pieces along axis 0; ``c_[a, b]`` makes them columns.

    A first item "axis", "axis,rank" or "axis,rank,place" chooses the axis to join along, how many
    axes pieces have at least, and where their own axes go among these; "r" and "c" make a row or
    column matrix.
    """

    def __init__(self, name: str, directive: tuple[int, int, int]) -> None:
        self.name, self.directive = name, directive

    def __getitem__(self, key: Any) -> Value:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, rank, place = self.directive
        matrix = ""
        if items and isinstance(items[0], str):
            word = items.pop(0)
            if word in ("r", "c"):
                matrix = word
            else:
                axis, rank, place = _directive(word, self.directive)
        pieces = [_piece(item, self.name, rank, place) for item in items]
        out = concatenate(pieces, axis)
        if matrix and out.ndim == 1:
            out = shapes.expand_dims(out, (0,) if matrix == "r" else (1,))
        return out


def _directive(word: str, default: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return (axis, rank, place) of a text like "0,2,-1"."""
    try:
        numbers = [int(n) for n in word.split(",")]
    except ValueError:
        raise ValueError(f"could not understand directive {word!r}") from None
    filled = [*numbers[:3], *default[len(numbers[:3]) :]]
    return filled[0], filled[1], filled[2]


def _piece(item: Any, name: str, rank: int, place: int) -> Value:
    """Return one item as an array of at least ``rank`` axes, its own from ``place`` on."""
    if isinstance(item, slice):
        array = _grid_axis(item, name)
        missing = rank - 1
    else:
        array = asarray(item)
        missing = rank - array.ndim
        if array.ndim == 0:
            array, missing = shapes.expand_dims(array, (0,)), rank - 1
    if missing <= 0:
        return array
    own = array.ndim
    start = place if place >= 0 else rank + place - own + 1
    kept = tuple(range(start, start + own))
    return shapes.expand_dims(array, tuple(k for k in range(rank) if k not in kept))


r_ = _Joiner("r_", (0, 1, -1))
c_ = _Joiner("c_", (-1, 2, 0))
index_exp = np.index_exp
s_ = np.s_


__all__ = ["c_", "index_exp", "indices", "ix_", "meshgrid", "mgrid", "ogrid", "r_", "s_"]
