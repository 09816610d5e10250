"""Read windows of an array at computed places. In: operand and index vectors. Out: the windows.

``x[i]``, ``x[i, j]``, ``take`` and ``take_along_axis`` are gathers. Linear in the operand; the
transpose adds each window of the cotangent back where it came from (``scatter_add``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import Pull, move_batch_dim, ops, provide, zeros_of
from jaxlite.primitives.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    Windows,
    check_axes,
    check_batching,
    check_index_dtype,
    check_index_vectors,
    index_expr,
    window_positions,
)

Index = tuple[ir.Expr, ...]


class Gather(Primitive):
    """Result[batch index, index in window] = operand[start(batch index) + index in window]."""

    name = "gather"

    def abstract_eval(
        self,
        operand: ShapedArray,
        indices: ShapedArray,
        *,
        dimension_numbers: GatherDimensionNumbers,
        slice_sizes: tuple[int, ...],
        mode: GatherScatterMode,
        **params: Any,
    ) -> ShapedArray:
        if mode is GatherScatterMode.ONE_HOT:
            raise NotImplementedError("gather has no mode ONE_HOT")
        _check_gather(operand, indices, dimension_numbers, slice_sizes)
        check_index_dtype("gather", indices)
        shape = _result_shape(indices.shape, dimension_numbers, slice_sizes)
        return ShapedArray(shape, operand.dtype, operand.weak_type)

    def impl(
        self,
        xp: ArrayModule,
        x: Any,
        indices: Any,
        *,
        dimension_numbers: GatherDimensionNumbers,
        slice_sizes: tuple[int, ...],
        mode: GatherScatterMode,
        fill_value: Any,
        **params: Any,
    ) -> Any:
        shape = _result_shape(indices.shape, dimension_numbers, slice_sizes)
        if not x.size:
            # Windows fit into the operand, so they have no elements either.
            return xp.empty(shape, x.dtype)
        windows = windows_of(x.shape, dimension_numbers, slice_sizes)
        out = _take(xp, x, indices, windows, mode)
        valid = None
        if out is None:
            base, offsets, valid = window_positions(xp, windows, indices)
            at = base.reshape(base.shape + (1,) * offsets.ndim) + offsets
            out = x.reshape(-1)[at]
            if mode is GatherScatterMode.FILL_OR_DROP and not valid.all():
                mask = valid.reshape(base.shape + (1,) * offsets.ndim)
                out = xp.where(mask, out, _fill_scalar(x.dtype, fill_value))
        n_batch = indices.ndim - 1
        offset_dims = dimension_numbers.offset_dims
        batch_dims = [d for d in range(len(shape)) if d not in offset_dims]
        order = [0] * len(shape)
        for k, d in enumerate(batch_dims):
            order[d] = k
        for k, d in enumerate(offset_dims):
            order[d] = n_batch + k
        return out.transpose(order)

    def jvp(self, out: Any, x: Value, indices: Value, **params: Any) -> TangentMaps:
        # Windows outside read a constant, whose tangent is zero.
        return (lambda t: self.bind(t, indices, **{**params, "fill_value": 0}), None)

    def transpose(
        self,
        ct: Value,
        operand: Any,
        indices: Value,
        *,
        dimension_numbers: GatherDimensionNumbers,
        mode: GatherScatterMode,
        unique_indices: bool,
        indices_are_sorted: bool,
        **params: Any,
    ) -> Any:
        back = ops.scatter_add(
            zeros_of(operand.aval),
            indices,
            ct,
            ScatterDimensionNumbers(*dimension_numbers),
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
        )
        return back, None

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (x, indices), (dim, indices_dim) = args, dims
        numbers: GatherDimensionNumbers = params["dimension_numbers"]
        sizes = params["slice_sizes"]
        offset, collapsed, index_map, batching, indices_batching = map(_shifted, numbers)
        if indices_dim is None:
            assert dim is not None
            x = move_batch_dim(x, dim, 0)
            numbers = GatherDimensionNumbers(
                (0, *offset), collapsed, index_map, batching, numbers.start_indices_batching_dims
            )
            sizes = (get_aval(x).shape[0], *sizes)
        elif dim is None:
            indices = move_batch_dim(indices, indices_dim, 0)
            numbers = numbers._replace(
                offset_dims=offset, start_indices_batching_dims=indices_batching
            )
            # Different examples may read the same window.
            params = {**params, "unique_indices": False, "indices_are_sorted": False}
        else:
            x = move_batch_dim(x, dim, 0)
            indices = move_batch_dim(indices, indices_dim, 0)
            numbers = GatherDimensionNumbers(
                offset, collapsed, index_map, (0, *batching), (0, *indices_batching)
            )
            sizes = (min(1, get_aval(x).shape[0]), *sizes)
        params = {**params, "dimension_numbers": numbers, "slice_sizes": sizes}
        return self.bind(x, indices, **params), 0

    def pull(
        self,
        operands: tuple[Pull, ...],
        index: Index,
        *,
        dimension_numbers: GatherDimensionNumbers,
        slice_sizes: tuple[int, ...],
        mode: GatherScatterMode,
        fill_value: Any,
        **params: Any,
    ) -> ir.Expr:
        x, indices = operands
        windows = windows_of(x.aval.shape, dimension_numbers, slice_sizes)
        offset_dims = dimension_numbers.offset_dims
        batch = tuple(i for d, i in enumerate(index) if d not in offset_dims)
        inside = tuple(index[d] for d in offset_dims)
        starts = []
        valid: ir.Expr | None = None
        for k, last in enumerate(windows.last_starts):
            raw = indices((*batch, ir.i64(k)))
            if mode is GatherScatterMode.FILL_OR_DROP:
                i = ir.cast(raw, ir.I64)
                for check in (ir.compare("ge", i, ir.i64(0)), ir.compare("le", i, ir.i64(last))):
                    valid = check if valid is None else ir.binary("and", valid, check)
            i = index_expr(raw, last)
            low = ir.binary("max", i, ir.i64(0)) if raw.dtype.kind == "i" else i
            starts.append(ir.binary("min", low, ir.i64(last)) if last else ir.i64(0))
        element = x(windows.operand_index(starts, batch, inside))
        if valid is None:
            return element
        fill = _fill_scalar(dtypes.storage_dtype(x.aval.dtype), fill_value)
        return ir.select(valid, element, ir.const(fill, element.dtype))


def _take(xp: ArrayModule, x: Any, indices: Any, windows: Windows, mode: GatherScatterMode) -> Any:
    """Return the windows, ``(*batch, *window)``, by ``take`` if whole slices are read, or None."""
    if windows.operand_batching or len(windows.index_map) != 1:
        return None
    axis = windows.index_map[0]
    whole = all(n == s for d, (n, s) in enumerate(zip(windows.shape, windows.sizes)) if d != axis)
    if windows.absent != (axis,) or not whole:
        return None
    starts = indices[..., 0]
    last = windows.last_starts[0]
    may_fill = mode is GatherScatterMode.FILL_OR_DROP and starts.size
    if may_fill and (int(starts.min()) < 0 or int(starts.max()) > last):
        return None
    if starts.dtype.kind == "u":
        starts = xp.minimum(starts, last)
    out = xp.take(x, starts, axis=axis, mode="clip")
    if not axis:
        return out
    n_batch = starts.ndim
    batch = range(axis, axis + n_batch)
    return out.transpose(*batch, *(d for d in range(out.ndim) if d not in batch))


def windows_of(
    shape: tuple[int, ...], numbers: GatherDimensionNumbers, sizes: tuple[int, ...]
) -> Windows:
    """Return the walk of a gather over an operand of ``shape``."""
    return Windows(
        shape,
        sizes,
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims),
    )


def _shifted(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return axis numbers after a new axis was put in front."""
    return tuple(d + 1 for d in dims)


def _fill_scalar(dtype: Any, fill_value: Any) -> Any:
    """Return the scalar that windows outside read; without one given: NaN, or an extreme value."""
    if fill_value is not None:
        return np.asarray(fill_value).astype(dtype)[()]
    kind = dtypes.kind_of(dtype)
    if kind in "fc":
        return dtype.type(np.nan)
    if kind == "b":
        return np.True_
    info = dtypes.iinfo(dtype)
    return np.asarray(info.min if kind == "i" else info.max).astype(dtype)[()]


def _result_shape(
    indices_shape: tuple[int, ...], numbers: GatherDimensionNumbers, sizes: tuple[int, ...]
) -> tuple[int, ...]:
    absent = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    inside = iter([n for d, n in enumerate(sizes) if d not in absent])
    batch = iter(indices_shape[:-1])
    ndim = len(numbers.offset_dims) + len(indices_shape) - 1
    return tuple(next(inside) if d in numbers.offset_dims else next(batch) for d in range(ndim))


def _check_gather(
    operand: ShapedArray,
    indices: ShapedArray,
    numbers: GatherDimensionNumbers,
    sizes: tuple[int, ...],
) -> None:
    """Raise TypeError in JAX's words unless the dimension numbers fit the operands."""
    check_index_vectors("gather", indices)
    ndim = operand.ndim
    offset, collapsed, index_map, batching, indices_batching = numbers
    if list(offset) != sorted(offset):
        raise TypeError(f"offset_dims in gather op must be sorted; got {offset}")
    if len(set(offset)) != len(offset):
        raise TypeError(f"offset_dims in gather op must not repeat; got: {offset}.")
    result_ndim = len(offset) + indices.ndim - 1
    for k, d in enumerate(offset):
        if not 0 <= d < result_ndim:
            raise TypeError(
                f"Offset dimension {k} in gather op is out of bounds; got {d}, but should have "
                f"been in [0, {result_ndim})"
            )
    if len(index_map) != indices.shape[-1]:
        raise TypeError(
            f"Gather op has {len(index_map)} elements in start_index_map and the bound of "
            f"dimension index_vector_dim={indices.ndim - 1} of indices is {indices.shape[-1]}. "
            "These two numbers must be equal."
        )
    for k, d in enumerate(index_map):
        if not 0 <= d < ndim:
            raise TypeError(f"Invalid start_index_map; domain is [0, {ndim}), got: {k}->{d}.")
    if len(set(index_map)) != len(index_map):
        raise TypeError(f"start_index_map in gather op must not repeat; got: {index_map}.")
    check_axes("collapsed_slice_dims", "gather", collapsed, ndim)
    names = (
        "operand_batching_dims",
        "start_indices_batching_dims",
        "collapsed_slice_dims",
        "start_index_map",
    )
    axes = (batching, indices_batching, collapsed, index_map)
    check_batching("gather", names, operand.shape, indices.shape, axes)
    _check_slice_sizes(operand.shape, numbers, sizes)


def _check_slice_sizes(
    shape: tuple[int, ...], numbers: GatherDimensionNumbers, sizes: tuple[int, ...]
) -> None:
    offset, collapsed, _, batching, _ = numbers
    if len(sizes) != len(shape):
        raise TypeError(
            "Gather op must have one slice size for every input dimension; "
            f"got: len(slice_sizes)={len(sizes)}, input_shape.rank={len(shape)}"
        )
    if len(sizes) != len(offset) + len(collapsed) + len(batching):
        raise TypeError(
            "All components of the offset index in a gather op must either be a offset dimension "
            f"or explicitly collapsed/batching; got len(slice_sizes)={len(sizes)}, "
            f"output_slice_sizes={offset}, collapsed_slice_dims={collapsed}, "
            f"operand_batching_dims={batching}."
        )
    for d, (n, size) in enumerate(zip(shape, sizes, strict=True)):
        if not 0 <= size <= n:
            raise TypeError(
                f"Slice size at index {d} in gather op is out of range, must be within "
                f"[0, {n} + 1), got {size}."
            )
    for k, d in enumerate(collapsed):
        if sizes[d] != 1:
            raise TypeError(
                "Gather op can only collapse slice dims with bound 1, but bound is "
                f"{sizes[d]} for index {d} at position {k}."
            )
    for k, d in enumerate(batching):
        if sizes[d] > 1:
            raise TypeError(
                "Gather op can only have operand batching dims with bound 0/1, but bound is "
                f"{sizes[d]} for index {d} at position {k}."
            )


gather_p = Gather()


def gather(
    operand: Value,
    start_indices: Value,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Value:
    """Return the windows of ``operand`` that start at ``start_indices``.

    Args:
        operand: T[*s].
        start_indices: integers [*batch, k], one vector per window.
        dimension_numbers: which axis is what.
        slice_sizes: size of a window along every axis of the operand.
        unique_indices: promise that no element is read twice.
        indices_are_sorted: promise that the index vectors ascend.
        mode: a ``GatherScatterMode`` or its name; None promises that windows are inside.
        fill_value: what windows outside read in mode ``"fill"``: by default NaN, True, the smallest
            signed or the largest unsigned integer.

    Raises:
        TypeError: the dimension numbers do not fit the shapes.
        ValueError: the indices are no integers.

    Example:
        >>> gather_p.abstract_eval(
        ...     ShapedArray((5, 3), "float32"), ShapedArray((2, 1), "int32"),
        ...     dimension_numbers=GatherDimensionNumbers((1,), (0,), (0,)), slice_sizes=(1, 3),
        ...     mode=GatherScatterMode.CLIP)
        ShapedArray(float32[2,3])
    """
    parsed = (
        GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    )
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=tuple(slice_sizes),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed,
        fill_value=fill_value,
    )


provide(gather=gather)

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "gather",
    "gather_p",
    "windows_of",
]
