"""Primitives that move elements without looking at them. In: arrays. Out: the elements elsewhere.

All are linear, so the tangent of the result is the same primitive on tangents, and the transpose
brings
the cotangents back: slices undo ``concatenate``, a sum undoes ``broadcast_in_dim``. As kernel IR
each is
an index map: element ``index`` of the result is element ``f(index)`` of an operand, so none of them
costs a pass over memory when it is fused. The element type does not matter; random keys work too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import (
    NUMBER,
    Pull,
    accepts_text,
    is_accepted,
    move_batch_dim,
    ops,
    provide,
)

Index = tuple[ir.Expr, ...]


def canonical_axis(axis: int, ndim: int) -> int:
    """Return ``axis`` counted from the front.

    Raises:
        ValueError: there is no such axis.

    Example:
        >>> canonical_axis(-1, 3)
        2
    """
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis + ndim if axis < 0 else axis


class ShapeOp(Primitive):
    """Linear in its only operand: the tangent map is the primitive itself."""

    def jvp(self, out: Any, *primals: Any, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, **params),)


class BroadcastInDim(ShapeOp):
    """Axis ``i`` of the operand becomes axis ``broadcast_dimensions[i]`` of a result of ``shape``.

    Size 1 axes are repeated; so is everything along the axes of the result that no operand axis
    became.
    """

    name = "broadcast_in_dim"

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        # The shape is on the left of the equation already.
        dims = params["broadcast_dimensions"]
        return {"broadcast_dimensions": dims} if dims else {}

    def abstract_eval(
        self,
        operand: ShapedArray,
        *,
        shape: tuple[int, ...],
        broadcast_dimensions: tuple[int, ...],
        sharding: Any = None,
    ) -> ShapedArray:
        if problem := _broadcast_problem(operand, shape, broadcast_dimensions):
            raise TypeError(f"broadcast_in_dim {problem}")
        return ShapedArray(shape, operand.dtype, operand.weak_type)

    def impl(self, xp: ArrayModule, x: Any, **params: Any) -> Any:
        shape, dims = params["shape"], params["broadcast_dimensions"]
        if any(a > b for a, b in pairwise(dims)):
            order = sorted(range(len(dims)), key=dims.__getitem__)
            x, dims = x.transpose(order), sorted(dims)
        kept = [1] * len(shape)
        for axis, size in zip(dims, x.shape, strict=True):
            kept[axis] = size
        return xp.broadcast_to(x.reshape(kept), shape)

    def transpose(self, ct: Value, operand: Any, **params: Any) -> Any:
        shape, dims = params["shape"], params["broadcast_dimensions"]
        aval = operand.aval
        repeated = {d for d, n in zip(dims, aval.shape, strict=True) if n == 1 != shape[d]}
        axes = tuple(d for d in range(len(shape)) if d not in dims or d in repeated)
        summed = ops.reduce_sum(ct, axes) if axes else ct
        # What is left are the operand's other axes, in the order of the result.
        kept = [axis for axis, d in enumerate(dims) if d not in repeated]
        order = sorted(range(len(kept)), key=lambda k: dims[kept[k]])
        where = tuple(kept[k] for k in order)
        return (broadcast_in_dim(summed, aval.shape, where),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        x, size = _front(args[0], dims[0])
        kept = (0, *(d + 1 for d in params["broadcast_dimensions"]))
        return broadcast_in_dim(x, (size, *params["shape"]), kept), 0

    def pull(self, operands: tuple[Pull, ...], index: Index, **params: Any) -> ir.Expr:
        dims, x = params["broadcast_dimensions"], operands[0]
        sizes = zip(dims, x.aval.shape, strict=True)
        return x(tuple(index[d] if n != 1 else ir.i64(0) for d, n in sizes))


def _broadcast_problem(
    operand: ShapedArray, shape: tuple[int, ...], dims: tuple[int, ...]
) -> str | None:
    if len(shape) < operand.ndim:
        return (
            "target broadcast shape must have equal or higher rank to the operand shape; "
            f"got operand ndim {operand.ndim} and target broadcast ndim {len(shape)}."
        )
    if len(dims) != operand.ndim:
        return (
            "broadcast_dimensions must have length equal to operand ndim; "
            f"got broadcast_dimensions {dims} for operand ndim {operand.ndim}."
        )
    if any(n < 0 for n in shape):
        return f"shape must have every element be nonnegative, got {shape}."
    if any(d < 0 for d in dims):
        return f"broadcast_dimensions must have every element be nonnegative, got {dims}."
    if any(d >= len(shape) for d in dims):
        return (
            "broadcast_dimensions must be a subset of output dimensions, "
            f"got {dims} for operand ndim {operand.ndim} and shape {shape}."
        )
    fits = all(n in (1, shape[d]) for n, d in zip(operand.shape, dims, strict=True))
    if not fits:
        return (
            "operand dimension sizes must either be 1, or be equal to their corresponding "
            f"dimensions in the target broadcast shape; got operand of shape {operand.shape}, "
            f"target broadcast shape {shape}, broadcast_dimensions {dims} "
        )
    if len(set(dims)) != len(dims):
        return f"broadcast_dimensions must not contain duplicates, got broadcast_dimensions {dims}"
    return None


class Reshape(ShapeOp):
    """The elements in row-major order (axes as listed in ``dimensions``) under a new shape."""

    name = "reshape"

    def abstract_eval(
        self,
        operand: ShapedArray,
        *,
        new_sizes: tuple[int, ...],
        dimensions: tuple[int, ...] | None = None,
        sharding: Any = None,
    ) -> ShapedArray:
        if any(n < 0 for n in new_sizes):
            raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
        if dimensions is not None and sorted(dimensions) != list(range(operand.ndim)):
            raise TypeError(
                "reshape dimensions must be a permutation of operand dimensions, "
                f"got dimensions {dimensions} for shape {operand.shape}."
            )
        if math.prod(new_sizes) != operand.size:
            raise TypeError(
                "reshape total size must be unchanged, "
                f"got new_sizes {new_sizes} for shape {operand.shape}.\n"
                f"  {operand.str_short()} has {operand.size} elements, the new shape "
                f"{math.prod(new_sizes)}."
            )
        return ShapedArray(new_sizes, operand.dtype, operand.weak_type)

    def impl(self, xp: ArrayModule, x: Any, **params: Any) -> Any:
        dimensions = params["dimensions"]
        if dimensions is not None:
            x = x.transpose(dimensions)
        return x.reshape(params["new_sizes"])

    def transpose(self, ct: Value, operand: Any, **params: Any) -> Any:
        dimensions, shape = params["dimensions"], operand.aval.shape
        if dimensions is None:
            return (reshape(ct, shape),)
        back = reshape(ct, tuple(shape[d] for d in dimensions))
        return (transpose(back, _inverse(dimensions)),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        x, size = _front(args[0], dims[0])
        dimensions = params["dimensions"]
        if dimensions is not None:
            dimensions = (0, *(d + 1 for d in dimensions))
        return reshape(x, (size, *params["new_sizes"]), dimensions), 0

    def pull(self, operands: tuple[Pull, ...], index: Index, **params: Any) -> ir.Expr:
        x, dimensions = operands[0], params["dimensions"]
        if dimensions is None:
            return x(reshape_index(index, params["new_sizes"], x.aval.shape))
        order = tuple(x.aval.shape[d] for d in dimensions)
        inner = reshape_index(index, params["new_sizes"], order)
        return x(tuple(inner[k] for k in _inverse(dimensions)))


def reshape_index(index: Index, shape: tuple[int, ...], target: tuple[int, ...]) -> Index:
    """Return the index into ``target`` of the element that has ``index`` in ``shape`` (row-major).

    Axes are matched from the left in groups of equal size, so that only axes that were really split
    or merged pay for a division.
    """
    out: list[ir.Expr] = []
    i = j = 0
    while i < len(shape) or j < len(target):
        start_i, start_j = i, j
        size_i = size_j = 1
        while True:
            if size_i == size_j and (i > start_i or j > start_j):
                break
            if i < len(shape) and (size_i <= size_j or j == len(target)):
                size_i *= shape[i]
                i += 1
            else:
                size_j *= target[j]
                j += 1
        out += _regroup(index[start_i:i], shape[start_i:i], target[start_j:j])
    return tuple(out)


def _regroup(index: Index, shape: tuple[int, ...], target: tuple[int, ...]) -> list[ir.Expr]:
    flat = flat_index(index, shape)
    rest = math.prod(target)
    out = []
    for size in target:
        outer, rest = rest, rest // max(size, 1)
        if size == 1:
            out.append(ir.i64(0))
            continue
        # The first real axis needs no remainder: the index is in range.
        inside = flat if outer == math.prod(target) else ir.binary("rem", flat, ir.i64(outer))
        out.append(ir.binary("div", inside, ir.i64(rest)))
    return out


def flat_index(index: Index, shape: tuple[int, ...]) -> ir.Expr:
    """Return the row-major position of ``index`` in an array of ``shape``."""
    flat = ir.i64(0)
    for i, size in zip(index, shape, strict=True):
        if size != 1:
            flat = ir.binary("add", ir.binary("mul", flat, ir.i64(size)), i)
    return flat


class Transpose(ShapeOp):
    """Axis ``k`` of the result is axis ``permutation[k]`` of the operand."""

    name = "transpose"

    def abstract_eval(self, operand: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
        if sorted(permutation) != list(range(operand.ndim)):
            raise TypeError(
                "transpose permutation isn't a permutation of operand dimensions, "
                f"got permutation {permutation} for operand shape {operand.shape}."
            )
        shape = tuple(operand.shape[k] for k in permutation)
        return ShapedArray(shape, operand.dtype, operand.weak_type)

    def impl(self, xp: ArrayModule, x: Any, **params: Any) -> Any:
        return x.transpose(params["permutation"])

    def transpose(self, ct: Value, operand: Any, **params: Any) -> Any:
        return (transpose(ct, _inverse(params["permutation"])),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        dim = dims[0]
        assert dim is not None
        permutation = (dim, *(k + (k >= dim) for k in params["permutation"]))
        return transpose(args[0], permutation), 0

    def pull(self, operands: tuple[Pull, ...], index: Index, **params: Any) -> ir.Expr:
        return operands[0](tuple(index[k] for k in _inverse(params["permutation"])))


class Squeeze(ShapeOp):
    """Drop the axes ``dimensions``, which have size 1."""

    name = "squeeze"

    def abstract_eval(self, operand: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
        dropped = {canonical_axis(d, operand.ndim) for d in dimensions}
        if len(dropped) != len(dimensions):
            raise ValueError(f"dimensions are not unique: {dimensions}")
        if any(operand.shape[d] != 1 for d in dropped):
            raise ValueError(
                "cannot select an axis to squeeze out which has size not equal to one, "
                f"got shape={operand.shape} and dimensions={dimensions}"
            )
        shape = tuple(n for axis, n in enumerate(operand.shape) if axis not in dropped)
        return ShapedArray(shape, operand.dtype, operand.weak_type)

    def impl(self, xp: ArrayModule, x: Any, **params: Any) -> Any:
        return x.squeeze(params["dimensions"])

    def transpose(self, ct: Value, operand: Any, **params: Any) -> Any:
        return (reshape(ct, operand.aval.shape),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        dim = dims[0]
        assert dim is not None
        dimensions = tuple(d + (d >= dim) for d in params["dimensions"])
        return squeeze(args[0], dimensions), dim - sum(d < dim for d in dimensions)

    def pull(self, operands: tuple[Pull, ...], index: Index, **params: Any) -> ir.Expr:
        rest = iter(index)
        ndim = operands[0].aval.ndim
        dropped = {canonical_axis(d, ndim) for d in params["dimensions"]}
        return operands[0](
            tuple(ir.i64(0) if axis in dropped else next(rest) for axis in range(ndim))
        )


class Rev(ShapeOp):
    """Reverse the order of the elements along ``dimensions``."""

    name = "rev"

    def abstract_eval(self, operand: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
        if len(set(dimensions)) != len(dimensions):
            raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
        if any(d < 0 for d in dimensions):
            raise TypeError(
                f"rev dimensions must have every element be nonnegative, got {dimensions}."
            )
        if any(d >= operand.ndim for d in dimensions):
            raise TypeError(
                "rev dimensions must all be less than operand ndim, "
                f"got dimensions {dimensions} for operand ndim {operand.ndim}."
            )
        return operand

    def impl(self, xp: ArrayModule, x: Any, **params: Any) -> Any:
        return xp.flip(x, params["dimensions"])

    def transpose(self, ct: Value, operand: Any, **params: Any) -> Any:
        return (rev(ct, params["dimensions"]),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        dim = dims[0]
        assert dim is not None
        return rev(args[0], tuple(d + (d >= dim) for d in params["dimensions"])), dim

    def pull(self, operands: tuple[Pull, ...], index: Index, **params: Any) -> ir.Expr:
        flipped = list(index)
        for d in params["dimensions"]:
            last = ir.i64(operands[0].aval.shape[d] - 1)
            flipped[d] = ir.binary("sub", last, index[d])
        return operands[0](tuple(flipped))


class Tile(ShapeOp):
    """Repeat the whole operand ``reps[axis]`` times along every axis."""

    name = "tile"

    def abstract_eval(self, operand: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
        if len(reps) != operand.ndim:
            raise TypeError(
                "reps length must be equal to the ndim of x, "
                f"got len(reps)={len(reps)} and x.ndim={operand.ndim}."
            )
        if any(n < 0 for n in reps):
            raise TypeError(f"reps must have every element be nonnegative, got {reps}.")
        shape = tuple(n * r for n, r in zip(operand.shape, reps, strict=True))
        return ShapedArray(shape, operand.dtype, operand.weak_type)

    def impl(self, xp: ArrayModule, x: Any, **params: Any) -> Any:
        return xp.tile(x, params["reps"])

    def transpose(self, ct: Value, operand: Any, **params: Any) -> Any:
        reps, shape = params["reps"], operand.aval.shape
        pairs = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
        return (ops.reduce_sum(reshape(ct, pairs), tuple(range(0, len(pairs), 2))),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        dim = dims[0]
        assert dim is not None
        reps = params["reps"]
        return tile(args[0], (*reps[:dim], 1, *reps[dim:])), dim

    def pull(self, operands: tuple[Pull, ...], index: Index, **params: Any) -> ir.Expr:
        sizes = zip(index, operands[0].aval.shape, params["reps"], strict=True)
        return operands[0](
            tuple(i if r == 1 else ir.binary("rem", i, ir.i64(n)) for i, n, r in sizes)
        )


class Iota(Primitive):
    """The element at ``index`` is ``index[dimension]``. No operands, so no derivative."""

    name = "iota"

    def abstract_eval(
        self, *, dtype: Any, shape: tuple[int, ...], dimension: int, sharding: Any = None
    ) -> ShapedArray:
        if not is_accepted(NUMBER, dtype):
            raise TypeError(accepts_text("iota", NUMBER, dtype, None))
        if any(n < 0 for n in shape):
            raise TypeError(f"iota shape must have every element be nonnegative, got {shape}.")
        if not 0 <= dimension < len(shape):
            raise ValueError(
                "iota dimension must be between 0 and len(shape), "
                f"got dimension={dimension} for shape={shape}"
            )
        return ShapedArray(shape, dtype)

    def impl(self, xp: ArrayModule, **params: Any) -> Any:
        shape, dimension = params["shape"], params["dimension"]
        line = xp.arange(shape[dimension]).astype(params["dtype"])
        kept = [1] * len(shape)
        kept[dimension] = shape[dimension]
        return xp.broadcast_to(line.reshape(kept), shape)

    def jvp(self, out: Any, *primals: Any, **params: Any) -> TangentMaps:
        return ()

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> Any:
        return ()

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        raise AssertionError("iota has no operand that could carry a batch dim")

    def pull(self, operands: tuple[Pull, ...], index: Index, **params: Any) -> ir.Expr:
        return ir.cast(index[params["dimension"]], params["dtype"])


def _inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def _front(x: Value, dim: int | None) -> tuple[Value, int]:
    """Return ``x`` with its batch dim at axis 0, and the mapped size."""
    assert dim is not None
    return move_batch_dim(x, dim, 0), get_aval(x).shape[dim]


broadcast_in_dim_p = BroadcastInDim()
reshape_p = Reshape()
transpose_p = Transpose()
squeeze_p = Squeeze()
rev_p = Rev()
tile_p = Tile()
iota_p = Iota()


def broadcast_in_dim(
    operand: Value, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> Value:
    """Return ``operand`` repeated to ``shape``; its axis ``i`` becomes ``broadcast_dimensions[i]``.

    Example:
        >>> broadcast_in_dim_p.abstract_eval(
        ...     ShapedArray((3,), "float32"), shape=(2, 3), broadcast_dimensions=(1,))
        ShapedArray(float32[2,3])
    """
    same_axes = broadcast_dimensions == tuple(range(len(shape)))
    if same_axes and isinstance(operand, Array) and operand.aval.shape == shape:
        return operand
    return broadcast_in_dim_p.bind(
        operand, shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=None
    )


def reshape(
    operand: Value, new_sizes: tuple[int, ...], dimensions: tuple[int, ...] | None = None
) -> Value:
    """Return the elements under a new shape of equal size: ``T[*s] -> T[*new_sizes]``."""
    if dimensions is not None and dimensions == tuple(range(len(dimensions))):
        dimensions = None
    if dimensions is None and isinstance(operand, Array) and operand.aval.shape == new_sizes:
        return operand
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dimensions, sharding=None)


def transpose(operand: Value, permutation: tuple[int, ...]) -> Value:
    """Return ``operand`` with axes in the order ``permutation``; the identity costs nothing."""
    same_axes = permutation == tuple(range(len(permutation)))
    if same_axes and isinstance(operand, Array) and operand.aval.ndim == len(permutation):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


def squeeze(array: Value, dimensions: tuple[int, ...]) -> Value:
    """Return ``array`` without the axes ``dimensions``; ValueError if one has not size 1."""
    if not dimensions and isinstance(array, Array):
        return array
    return squeeze_p.bind(array, dimensions=dimensions)


def expand_dims(array: Value, dimensions: Sequence[int]) -> Value:
    """Return ``array`` with new size 1 axes at the positions ``dimensions`` of the result.

    Raises:
        ValueError: a position is out of bounds or repeated.
    """
    shape = get_aval(array).shape
    ndim = len(shape) + len(dimensions)
    new = {canonical_axis(d, ndim) for d in dimensions}
    if len(new) != len(dimensions):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    kept = tuple(axis for axis in range(ndim) if axis not in new)
    sizes = iter(shape)
    result = tuple(1 if axis in new else next(sizes) for axis in range(ndim))
    return broadcast_in_dim(array, result, kept)


def rev(operand: Value, dimensions: tuple[int, ...]) -> Value:
    """Return ``operand`` reversed along ``dimensions``: ``T[*s] -> T[*s]``."""
    return rev_p.bind(operand, dimensions=dimensions)


def tile(operand: Value, reps: tuple[int, ...]) -> Value:
    """Return ``operand`` repeated ``reps[axis]`` times along each axis (one entry per axis)."""
    return tile_p.bind(operand, reps=reps)


def broadcasted_iota(dtype: Any, shape: tuple[int, ...], dimension: int) -> Value:
    """Return ``T[*shape]`` whose elements are their own index along ``dimension``."""
    return iota_p.bind(
        dtype=dtypes.as_dtype(dtype), shape=shape, dimension=dimension, sharding=None
    )


def iota(dtype: Any, size: int) -> Value:
    """Return ``[0, 1, ..., size - 1]`` of ``dtype``."""
    return broadcasted_iota(dtype, (size,), 0)


provide(
    broadcast_in_dim=broadcast_in_dim,
    reshape=reshape,
    transpose=transpose,
    squeeze=squeeze,
    expand_dims=expand_dims,
    rev=rev,
    tile=tile,
    iota=iota,
    broadcasted_iota=broadcasted_iota,
)

__all__ = [
    "broadcast_in_dim",
    "broadcast_in_dim_p",
    "broadcasted_iota",
    "canonical_axis",
    "expand_dims",
    "flat_index",
    "iota",
    "iota_p",
    "reshape",
    "reshape_index",
    "reshape_p",
    "rev",
    "rev_p",
    "squeeze",
    "squeeze_p",
    "tile",
    "tile_p",
    "transpose",
    "transpose_p",
]
