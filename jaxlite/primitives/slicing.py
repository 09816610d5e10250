"""Rectangular parts of arrays. In: an array, where to start. Out: a part, or a new part in place.

``slice`` knows its start when traced, ``dynamic_slice`` and ``dynamic_update_slice`` only when run;
they move a start that would leave the array inside. Under ``vmap`` with a start per example they
become ``gather`` and ``scatter``.
"""

from __future__ import annotations

import builtins
from typing import Any

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps, is_linear
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import (
    Pull,
    batch_size,
    bdim_at_front,
    move_batch_dim,
    provide,
    scalar_like,
    zeros_of,
)
from jaxlite.primitives.gather import gather_p
from jaxlite.primitives.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    index_expr,
)
from jaxlite.primitives.joining import concatenate, pad
from jaxlite.primitives.joint import JointlyLinear
from jaxlite.primitives.scatter import scatter_p
from jaxlite.primitives.shape import broadcast_in_dim

Index = tuple[ir.Expr, ...]


class Slice(Primitive):
    """Elements ``start, start + stride, ...`` below ``limit`` along every axis."""

    name = "slice"

    def abstract_eval(
        self,
        operand: ShapedArray,
        *,
        start_indices: tuple[int, ...],
        limit_indices: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
    ) -> ShapedArray:
        _check_slice(operand.shape, start_indices, limit_indices, strides)
        steps = strides or (1,) * operand.ndim
        shape = tuple(
            -(-(limit - start) // step)
            for start, limit, step in zip(start_indices, limit_indices, steps, strict=True)
        )
        return ShapedArray(shape, operand.dtype, operand.weak_type)

    def impl(self, xp: ArrayModule, x: Any, **params: Any) -> Any:
        starts, limits, strides = (
            params["start_indices"],
            params["limit_indices"],
            params["strides"],
        )
        if strides is None:
            return x[tuple(map(builtins.slice, starts, limits))]
        return x[tuple(map(builtins.slice, starts, limits, strides))]

    def jvp(self, out: Any, *primals: Any, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, **params),)

    def transpose(
        self,
        ct: Value,
        operand: Any,
        *,
        start_indices: tuple[int, ...],
        limit_indices: tuple[int, ...],
        strides: tuple[int, ...] | None,
    ) -> Any:
        steps = strides or (1,) * len(start_indices)
        config = []
        for n, start, count, step in zip(
            operand.aval.shape, start_indices, get_aval(ct).shape, steps, strict=True
        ):
            span = (count - 1) * step + 1 if count else 0
            config.append((start, n - start - span, step - 1))
        zero = scalar_like(get_aval(ct).strip_weak_type(), 0)
        return (pad(ct, zero, tuple(config)),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        x, dim = args[0], dims[0]
        assert dim is not None

        def with_axis(values: tuple[int, ...], new: int) -> tuple[int, ...]:
            return (*values[:dim], new, *values[dim:])

        strides = params["strides"]
        out = slice(
            x,
            with_axis(params["start_indices"], 0),
            with_axis(params["limit_indices"], get_aval(x).shape[dim]),
            None if strides is None else with_axis(strides, 1),
        )
        return out, dim

    def pull(self, operands: tuple[Pull, ...], index: Index, **params: Any) -> ir.Expr:
        steps = params["strides"] or (1,) * len(index)
        return operands[0](
            tuple(
                ir.binary("add", ir.binary("mul", i, ir.i64(step)), ir.i64(start))
                for i, start, step in zip(index, params["start_indices"], steps, strict=True)
            )
        )


def _check_slice(
    shape: tuple[int, ...],
    starts: tuple[int, ...],
    limits: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> None:
    if len(starts) != len(shape):
        raise TypeError(
            "slice start_indices must have length equal to the number of dimensions of the "
            f"operand, got indices {starts} for operand shape {shape}."
        )
    if len(limits) != len(starts):
        raise TypeError(
            "slice limit_indices must have the same length as start_indices, "
            f"got start_indices {starts} and limit_indices {limits}."
        )
    if strides is not None and len(strides) != len(shape):
        raise TypeError(
            "slice strides must have length equal to the number of dimensions of the operand, "
            f"got strides {strides} for operand shape {shape}."
        )
    if any(start < 0 for start in starts):
        raise TypeError(
            f"slice start_indices must have every element be nonnegative, got {starts}."
        )
    if any(limit > n for limit, n in zip(limits, shape, strict=True)):
        raise TypeError(
            "slice limit_indices must be less than or equal to operand shape, "
            f"got limit_indices {limits} for operand shape {shape}."
        )
    if any(start > limit for start, limit in zip(starts, limits, strict=True)):
        raise TypeError(
            "slice limit_indices must be greater than or equal to start_indices, "
            f"got start_indices {starts} and limit_indices {limits}."
        )
    if strides is not None and any(step <= 0 for step in strides):
        raise TypeError(
            f"slice strides must have every element be nonnegative, got {strides}.\n"
            "  Zero is not allowed either."
        )


def _check_starts(name: str, starts: tuple[ShapedArray, ...], ndim: int, shape: Any) -> None:
    if len(starts) != ndim:
        raise ValueError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(starts)} vs {shape})"
        )
    if any(aval.shape for aval in starts):
        # Two blanks in one of the messages, as in JAX.
        gap = "  " if name == "dynamic_slice" else " "
        raise TypeError(
            f"start_indices arguments to {name} must be scalars,{gap}got indices {starts}"
        )
    kinds = {aval.dtype for aval in starts}
    if len(kinds) > 1 or any(dtypes.kind_of(dtype) not in "iu" for dtype in kinds):
        colon = ":" if name == "dynamic_slice" else ""
        listed = ", ".join(dtypes.name_of(aval.dtype) for aval in starts)
        raise TypeError(
            f"index arguments to {name} must be integers of the same type, got{colon} {listed}"
        )


def clamped_starts(
    starts: tuple[Pull, ...], shape: tuple[int, ...], sizes: tuple[int, ...]
) -> list[ir.Expr]:
    """Return the scalar starts as i64, moved so that a part of ``sizes`` lies inside ``shape``."""
    out = []
    for start, n, size in zip(starts, shape, sizes, strict=True):
        last = n - size
        if not last:
            out.append(ir.i64(0))
            continue
        raw = start(())
        at = index_expr(raw, last)
        if raw.dtype.kind == "i":
            at = ir.binary("max", at, ir.i64(0))
        out.append(ir.binary("min", at, ir.i64(last)))
    return out


def _concrete_slices(starts: Any, shape: Any, sizes: Any) -> tuple[builtins.slice, ...]:
    out = []
    for start, n, size in zip(starts, shape, sizes, strict=True):
        at = min(max(int(start), 0), n - size)
        out.append(builtins.slice(at, at + size))
    return tuple(out)


class DynamicSlice(Primitive):
    """The part of ``slice_sizes`` that begins at the scalar operands after the first."""

    name = "dynamic_slice"

    def abstract_eval(
        self, operand: ShapedArray, *starts: ShapedArray, slice_sizes: tuple[int, ...]
    ) -> ShapedArray:
        _check_starts("dynamic_slice", starts, operand.ndim, operand.shape)
        if len(slice_sizes) != operand.ndim:
            raise TypeError(
                "slice slice_sizes must have length equal to the number of dimensions of the "
                f"operand, got slice_sizes {slice_sizes} for operand shape {operand.shape}."
            )
        if any(size > n for size, n in zip(slice_sizes, operand.shape, strict=True)):
            raise TypeError(
                "slice slice_sizes must be less than or equal to operand shape, "
                f"got slice_sizes {slice_sizes} for operand shape {operand.shape}."
            )
        if any(size < 0 for size in slice_sizes):
            raise TypeError(
                "slice slice_sizes must be greater than or equal to zero, "
                f"got slice_sizes of {slice_sizes}."
            )
        return ShapedArray(slice_sizes, operand.dtype, operand.weak_type)

    def impl(self, xp: ArrayModule, x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> Any:
        return x[_concrete_slices(starts, x.shape, slice_sizes)]

    def jvp(self, out: Any, x: Value, *starts: Value, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, *starts, **params), *[None] * len(starts))

    def transpose(self, ct: Value, operand: Any, *starts: Value, **params: Any) -> Any:
        back = dynamic_update_slice(zeros_of(operand.aval), ct, starts)
        return (back, *[None] * len(starts))

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        slice_sizes = params["slice_sizes"]
        x, *starts = args
        dim, *start_dims = dims
        if all(d is None for d in start_dims):
            assert dim is not None
            first = scalar_like(starts[0], 0) if starts else 0
            starts.insert(dim, first)
            sizes = (*slice_sizes[:dim], get_aval(x).shape[dim], *slice_sizes[dim:])
            return dynamic_slice(x, tuple(starts), sizes), dim
        axes = tuple(range(len(slice_sizes)))
        params = {
            "dimension_numbers": GatherDimensionNumbers(axes, (), axes),
            "slice_sizes": slice_sizes,
            "unique_indices": True,
            "indices_are_sorted": True,
            "mode": GatherScatterMode.CLIP,
            "fill_value": None,
        }
        indices = _stacked_starts(starts, start_dims)
        return gather_p.batch((x, indices), (dim, 0), **params)

    def pull(
        self, operands: tuple[Pull, ...], index: Index, *, slice_sizes: tuple[int, ...]
    ) -> ir.Expr:
        x, *starts = operands
        first = clamped_starts(tuple(starts), x.aval.shape, slice_sizes)
        return x(tuple(ir.binary("add", i, s) for i, s in zip(index, first, strict=True)))


class DynamicUpdateSlice(JointlyLinear):
    """The first operand with the second written over the part that begins at the other operands."""

    name = "dynamic_update_slice"
    linear_operands = (0, 1)

    def abstract_eval(
        self, operand: ShapedArray, update: ShapedArray, *starts: ShapedArray
    ) -> ShapedArray:
        if operand.ndim != update.ndim:
            raise TypeError(
                "dynamic_update_slice update must have the same rank as operand, "
                f"got update shape {update.shape} for operand shape {operand.shape}."
            )
        _check_starts("dynamic_update_slice", starts, operand.ndim, operand.shape)
        if any(m > n for m, n in zip(update.shape, operand.shape, strict=True)):
            raise TypeError(
                "dynamic_update_slice update shape must be smaller than operand shape, "
                f"got update shape {update.shape} for operand shape {operand.shape}."
            )
        if operand.dtype != update.dtype:
            names = f"{dtypes.name_of(operand.dtype)}, {dtypes.name_of(update.dtype)}"
            raise TypeError(
                f"lax.dynamic_update_slice requires arguments to have the same dtypes, got {names}."
            )
        weak = all(aval.weak_type for aval in (operand, update, *starts))
        return operand.update(weak_type=weak)

    def impl(self, xp: ArrayModule, x: Any, update: Any, *starts: Any) -> Any:
        out = x.copy()
        out[_concrete_slices(starts, x.shape, update.shape)] = update
        return out

    def transpose(self, ct: Value, operand: Any, update: Any, *starts: Value) -> Any:
        aval = update.aval if is_linear(update) else get_aval(update)
        ct_x = ct_update = None
        if is_linear(operand):
            zeros = zeros_of(ShapedArray(aval.shape, get_aval(ct).dtype))
            ct_x = dynamic_update_slice(ct, zeros, starts)
        if is_linear(update):
            ct_update = dynamic_slice(ct, starts, aval.shape)
        return (ct_x, ct_update, *[None] * len(starts))

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        x, update, *starts = args
        dim, update_dim, *start_dims = dims
        if all(d is None for d in start_dims):
            size = batch_size(args, dims)
            x, update = bdim_at_front(x, dim, size), bdim_at_front(update, update_dim, size)
            first = scalar_like(starts[0], 0) if starts else 0
            return dynamic_update_slice(x, update, (first, *starts)), 0
        axes = tuple(range(len(starts)))
        params = {
            "update_jaxpr": None,
            "update_consts": (),
            "dimension_numbers": ScatterDimensionNumbers(axes, (), axes),
            "indices_are_sorted": True,
            "unique_indices": True,
            "mode": GatherScatterMode.CLIP,
        }
        indices = _stacked_starts(starts, start_dims)
        return scatter_p.batch((x, indices, update), (dim, 0, update_dim), **params)

    def pull(self, operands: tuple[Pull, ...], index: Index) -> ir.Expr:
        x, update, *starts = operands
        shape = update.aval.shape
        if not update.aval.size:
            return x(index)
        first = clamped_starts(tuple(starts), x.aval.shape, shape)
        inside: ir.Expr | None = None
        source = []
        for i, start, size, n in zip(index, first, shape, x.aval.shape, strict=True):
            if size == n:
                source.append(i)
                continue
            at = ir.binary("sub", i, start)
            above, below = ir.compare("ge", at, ir.i64(0)), ir.compare("lt", at, ir.i64(size))
            here = ir.binary("and", above, below)
            inside = here if inside is None else ir.binary("and", inside, here)
            source.append(
                ir.binary("min", ir.binary("max", at, ir.i64(0)), ir.i64(size - 1))
                if size > 1
                else ir.i64(0)
            )
        new = update(tuple(source))
        return new if inside is None else ir.select(inside, new, x(index))


def _stacked_starts(starts: list[Any], dims: list[int | None]) -> Value:
    """Return scalar starts, some with a batch dim, as index vectors ``[batch, len(starts)]``."""
    size = batch_size(tuple(starts), tuple(dims))
    columns = []
    for start, dim in zip(starts, dims, strict=True):
        column = start if dim is None else move_batch_dim(start, dim, 0)
        columns.append(broadcast_in_dim(column, (size, 1), () if dim is None else (0,)))
    return concatenate(columns, 1)


slice_p = Slice()
dynamic_slice_p = DynamicSlice()
dynamic_update_slice_p = DynamicUpdateSlice()


def slice(
    operand: Value,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> Value:
    """Return the elements from ``start_indices`` to ``limit_indices`` in steps of ``strides``.

    Example:
        >>> slice_p.abstract_eval(
        ...     ShapedArray((9,), "int32"), start_indices=(1,), limit_indices=(8,), strides=(3,))
        ShapedArray(int32[3])
    """
    return slice_p.bind(
        operand, start_indices=start_indices, limit_indices=limit_indices, strides=strides
    )


def dynamic_slice(
    operand: Value, start_indices: tuple[Value, ...], slice_sizes: tuple[int, ...]
) -> Value:
    """Return the part of ``slice_sizes`` that begins at ``start_indices`` (scalars, clamped)."""
    return dynamic_slice_p.bind(operand, *start_indices, slice_sizes=slice_sizes)


def dynamic_update_slice(operand: Value, update: Value, start_indices: tuple[Value, ...]) -> Value:
    """Return ``operand`` with ``update`` written at ``start_indices`` (scalars, clamped)."""
    return dynamic_update_slice_p.bind(operand, update, *start_indices)


provide(slice=slice, dynamic_slice=dynamic_slice, dynamic_update_slice=dynamic_update_slice)

__all__ = [
    "dynamic_slice",
    "dynamic_slice_p",
    "dynamic_update_slice",
    "dynamic_update_slice_p",
    "slice",
    "slice_p",
]
