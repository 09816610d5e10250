"""Primitives that join arrays and take them apart. In: arrays. Out: their elements, side by side.

``concatenate`` and ``split`` undo each other; ``pad`` puts a value around and between elements, and
its transpose takes a slice. In kernel IR a result element is chosen among the operands by its
index: every operand is read at an index clamped into its range, so the reads not chosen are
harmless.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import (
    ArrayModule,
    Dims,
    Primitive,
    TangentMaps,
    Zero,
    is_linear,
)
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import (
    Pull,
    batch_size,
    bdim_at_front,
    move_batch_dim,
    ops,
    provide,
    scalar_like,
    zeros_of,
)
from jaxlite.primitives.joint import JointlyLinear
from jaxlite.primitives.shape import broadcast_in_dim, canonical_axis

Index = tuple[ir.Expr, ...]
PaddingConfig = tuple[tuple[int, int, int], ...]


def clamped(i: ir.Expr, low: int | None, high: int | None) -> ir.Expr:
    """Return the index ``i`` brought into ``low..high``; None where it cannot be outside."""
    if low is not None and low == high:
        return ir.i64(low)
    if low is not None:
        i = ir.binary("max", i, ir.i64(low))
    return i if high is None else ir.binary("min", i, ir.i64(high))


def moved(index: Index, axis: int, i: ir.Expr) -> Index:
    """Return ``index`` with ``i`` at ``axis``."""
    return (*index[:axis], i, *index[axis + 1 :])


class Concatenate(JointlyLinear):
    """The operands one after another along axis ``dimension``."""

    name = "concatenate"
    #: With more operands than this, nested selections cost more than a copy.
    max_fused_operands = 16

    def abstract_eval(self, *operands: ShapedArray, dimension: int) -> ShapedArray:
        if not operands:
            raise TypeError("concatenate expects at least one operand, got 0.")
        first = operands[0]
        listed = ", ".join(str(a.shape) for a in operands)
        if any(a.ndim != first.ndim for a in operands):
            raise TypeError(
                f"Cannot concatenate arrays with different numbers of dimensions: got {listed}."
            )
        if not 0 <= dimension < first.ndim:
            raise TypeError(
                f"concatenate dimension out of bounds: dimension {dimension} for shapes {listed}."
            )
        rest = first.shape[:dimension] + first.shape[dimension + 1 :]
        if any(a.shape[:dimension] + a.shape[dimension + 1 :] != rest for a in operands):
            raise TypeError(
                "Cannot concatenate arrays with shapes that differ in dimensions other than the "
                f"one being concatenated: concatenating along dimension {dimension} for shapes "
                f"{listed}."
            )
        if any(a.dtype != first.dtype for a in operands):
            names = ", ".join(dtypes.name_of(a.dtype) for a in operands)
            raise TypeError(
                f"lax.concatenate requires arguments to have the same dtypes, got {names}. (Tip: "
                "jnp.concatenate is a similar function that does automatic type promotion on "
                "inputs)."
            )
        total = sum(a.shape[dimension] for a in operands)
        shape = (*first.shape[:dimension], total, *first.shape[dimension + 1 :])
        return ShapedArray(shape, first.dtype, all(a.weak_type for a in operands))

    def impl(self, xp: ArrayModule, *arrays: Any, dimension: int) -> Any:
        return xp.concatenate(arrays, axis=dimension)

    def transpose(self, ct: Value, *operands: Any, dimension: int) -> Any:
        cts = []
        start = 0
        shape = get_aval(ct).shape
        for x in operands:
            aval = x.aval if is_linear(x) else get_aval(x)
            stop = start + aval.shape[dimension]
            if is_linear(x):
                starts = tuple(start if d == dimension else 0 for d in range(len(shape)))
                stops = tuple(stop if d == dimension else n for d, n in enumerate(shape))
                cts.append(ops.slice(ct, starts, stops))
            else:
                cts.append(None)
            start = stop
        return tuple(cts)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        dimension = params["dimension"]
        size = batch_size(args, dims)
        fronts = [bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return concatenate(fronts, dimension + 1), 0

    def can_lower(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> bool:
        """Say whether the operands are few enough to be chosen among by index."""
        return len(avals) <= self.max_fused_operands

    def pull(self, operands: tuple[Pull, ...], index: Index, *, dimension: int) -> ir.Expr:
        i = index[dimension]
        pieces = []
        start = 0
        for x in operands:
            size = x.aval.shape[dimension]
            if size:
                pieces.append((start, size, x))
            start += size
        out: ir.Expr | None = None
        for start, size, x in reversed(pieces):
            low = 0 if start else None
            high = size - 1 if out is not None else None
            at = clamped(ir.binary("sub", i, ir.i64(start)), low, high)
            value = x(moved(index, dimension, at))
            if out is None:
                out = value
            else:
                out = ir.select(ir.compare("lt", i, ir.i64(start + size)), value, out)
        assert out is not None, "a result without elements is never read"
        return out


class Split(Primitive):
    """Consecutive parts of ``sizes`` along ``axis``, one result each."""

    name = "split"

    def abstract_eval(
        self, operand: ShapedArray, *, sizes: tuple[int, ...], axis: int
    ) -> tuple[ShapedArray, ...]:
        canonical_axis(axis, operand.ndim)
        if any(n < 0 for n in sizes):
            raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
        if sum(sizes) != operand.shape[axis]:
            raise ValueError(
                f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape "
                f"{list(operand.shape)}"
            )
        before, after = operand.shape[:axis], operand.shape[axis + 1 :]
        weak = operand.weak_type
        return tuple(ShapedArray((*before, n, *after), operand.dtype, weak) for n in sizes)

    def impl(self, xp: ArrayModule, x: Any, *, sizes: tuple[int, ...], axis: int) -> Any:
        out = []
        start = 0
        for size in sizes:
            out.append(x[(slice(None),) * axis + (slice(start, start + size),)])
            start += size
        return tuple(out)

    def jvp(self, out: Any, *primals: Any, **params: Any) -> TangentMaps:
        return (lambda t: self.bind_all(t, **params),)

    def transpose(self, ct: Any, operand: Any, *, sizes: tuple[int, ...], axis: int) -> Any:
        cts = ct if isinstance(ct, tuple) else (ct,)
        filled = [zeros_of(c.aval) if type(c) is Zero else c for c in cts]
        return (concatenate(filled, axis),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        sizes = params["sizes"]
        axis = params["axis"]
        dim = dims[0]
        assert dim is not None
        outs = self.bind_all(args[0], sizes=sizes, axis=axis + (axis >= dim))
        return (outs, (dim,) * len(outs)) if len(outs) > 1 else (outs[0], dim)

    def pull(
        self,
        operands: tuple[Pull, ...],
        index: Index,
        *,
        sizes: tuple[int, ...],
        axis: int,
        result: int = 0,
    ) -> ir.Expr:
        """Return element ``index`` of result number ``result``."""
        at = ir.binary("add", index[axis], ir.i64(sum(sizes[:result])))
        return operands[0](moved(index, axis, at))


class Pad(JointlyLinear):
    """Put ``padding_value`` around and between the elements: (low, high, interior) for every axis.

    Negative low and high take elements away.
    """

    name = "pad"

    def abstract_eval(
        self, operand: ShapedArray, padding_value: ShapedArray, *, padding_config: PaddingConfig
    ) -> ShapedArray:
        if padding_value.shape:
            raise ValueError(
                f"padding_value must be a scalar; got np.shape(padding_value)={padding_value.shape}"
            )
        if operand.dtype != padding_value.dtype:
            raise TypeError(
                "pad operand and padding_value must be same dtype: got "
                f"{dtypes.name_of(operand.dtype)} and {dtypes.name_of(padding_value.dtype)}."
            )
        if len(padding_config) != operand.ndim:
            raise ValueError(
                "length of padding_config must equal the number of axes of operand, got "
                f"padding_config {padding_config} for operand shape {operand.shape}"
            )
        if any(interior < 0 for _, _, interior in padding_config):
            raise ValueError(
                "interior padding in padding_config must be nonnegative, got padding_config "
                f"{padding_config}"
            )
        shape = tuple(
            low + high + _dilated(n, interior)
            for n, (low, high, interior) in zip(operand.shape, padding_config, strict=True)
        )
        if any(n < 0 for n in shape):
            raise ValueError(
                f"Dimension size after padding is not at least 0, got result shape {shape}, for "
                f"padding_config {padding_config} and operand shape {operand.shape}"
            )
        return ShapedArray(shape, operand.dtype, operand.weak_type and padding_value.weak_type)

    def impl(
        self, xp: ArrayModule, x: Any, padding_value: Any, *, padding_config: PaddingConfig
    ) -> Any:
        shape = tuple(
            low + high + _dilated(n, interior)
            for n, (low, high, interior) in zip(x.shape, padding_config, strict=True)
        )
        out = xp.empty(shape, x.dtype)
        out[...] = padding_value
        into, source = [], []
        for n, size, (low, _, interior) in zip(x.shape, shape, padding_config, strict=True):
            step = interior + 1
            first = max(0, -(low // step)) if low < 0 else 0
            # Operand element k lands on low + k * step; those within 0..size-1 are kept.
            last = min(n, (size - 1 - low) // step + 1) if size else 0
            start = low + first * step
            count = max(0, last - first)
            into.append(slice(start, start + count * step, step) if count else slice(0, 0))
            source.append(slice(first, first + count))
        out[tuple(into)] = x[tuple(source)]
        return out

    def transpose(
        self, ct: Value, operand: Any, padding_value: Any, *, padding_config: PaddingConfig
    ) -> Any:
        axes = tuple(range(len(padding_config)))
        cropped_config = tuple((-low, -high, 0) for low, high, _ in padding_config)
        zero = scalar_like(get_aval(ct).strip_weak_type(), 0)
        inner = pad(ct, zero, cropped_config)
        if any(interior for _, _, interior in padding_config):
            shape = get_aval(inner).shape
            steps = tuple(interior + 1 for _, _, interior in padding_config)
            inner = ops.slice(inner, (0,) * len(shape), shape, steps)
        ct_value = None
        if is_linear(padding_value):
            ct_value = ops.sub(ops.reduce_sum(ct, axes), ops.reduce_sum(inner, axes))
        return (inner if is_linear(operand) else None), ct_value

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        padding_config = params["padding_config"]
        (x, value), (dim, value_dim) = args, dims
        if value_dim is None:
            assert dim is not None
            config = (*padding_config[:dim], (0, 0, 0), *padding_config[dim:])
            return pad(x, value, config), dim
        # A pad value per example: pad with anything, then put the values where a padded mask is
        # set.
        size = batch_size(args, dims)
        value = move_batch_dim(value, value_dim, 0)
        x = bdim_at_front(x, dim, size)
        config = ((0, 0, 0), *padding_config)
        filler = ops.squeeze(ops.slice(value, (0,), (1,)), (0,)) if size else None
        if filler is None:
            filler = scalar_like(get_aval(value), 0)
        padded = pad(x, filler, config)
        inside = broadcast_in_dim(False, get_aval(x).shape[1:], ())
        is_padding = pad(inside, True, padding_config)
        shape = get_aval(padded).shape
        mask = broadcast_in_dim(is_padding, shape, tuple(range(1, len(shape))))
        return ops.select_n(mask, padded, broadcast_in_dim(value, shape, (0,))), 0

    def pull(
        self, operands: tuple[Pull, ...], index: Index, *, padding_config: PaddingConfig
    ) -> ir.Expr:
        x, value = operands
        outside = value(())
        if not x.aval.size:
            return outside
        inside: ir.Expr | None = None
        source = []
        for i, n, (low, high, interior) in zip(index, x.aval.shape, padding_config, strict=True):
            at = ir.binary("sub", i, ir.i64(low))
            checks = []
            if low > 0:
                checks.append(ir.compare("ge", at, ir.i64(0)))
            if high > 0:
                checks.append(ir.compare("lt", at, ir.i64(_dilated(n, interior))))
            if interior:
                step = ir.i64(interior + 1)
                on_element = ir.compare("eq", ir.binary("rem", at, step), ir.i64(0))
                checks.append(on_element)
                at = ir.binary("div", at, step)
            for check in checks:
                inside = check if inside is None else ir.binary("and", inside, check)
            source.append(clamped(at, 0 if low > 0 else None, n - 1 if high > 0 else None))
        element = x(tuple(source))
        return element if inside is None else ir.select(inside, element, outside)


def _dilated(size: int, interior: int) -> int:
    return size + max(0, size - 1) * interior


concatenate_p = Concatenate()
split_p = Split()
pad_p = Pad()


def concatenate(operands: Sequence[Value], dimension: int) -> Value:
    """Return ``operands`` (equal dtypes and other axes) one after another along ``dimension``.

    Raises:
        ValueError: there are none.
        TypeError: shapes or dtypes differ.

    Example:
        >>> x = ShapedArray((2, 3), "float32")
        >>> concatenate_p.abstract_eval(x, x, dimension=0)
        ShapedArray(float32[4,3])
    """
    if not operands:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and isinstance(operands[0], Array):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=dimension)


def split(operand: Value, sizes: tuple[int, ...], axis: int) -> tuple[Value, ...]:
    """Return the consecutive parts of ``sizes`` along ``axis`` as a tuple."""
    return split_p.bind_all(operand, sizes=sizes, axis=axis)


def pad(operand: Value, padding_value: Value, padding_config: PaddingConfig) -> Value:
    """Return ``operand`` with the scalar ``padding_value`` around and between its elements.

    ``padding_config`` has ``(low, high, interior)`` for every axis.

    Example:
        >>> x, zero = ShapedArray((3,), "float32"), ShapedArray((), "float32")
        >>> pad_p.abstract_eval(x, zero, padding_config=((1, 2, 1),))
        ShapedArray(float32[8])
    """
    return pad_p.bind(operand, padding_value, padding_config=padding_config)


provide(concatenate=concatenate, split=split, pad=pad)

__all__ = [
    "PaddingConfig",
    "clamped",
    "concatenate",
    "concatenate_p",
    "moved",
    "pad",
    "pad_p",
    "split",
    "split_p",
]
