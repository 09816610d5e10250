"""Reductions over sliding windows (pooling). In: an array. Out: one number per window.

The sum is linear and its transpose is a sum over windows again. The tangent of the greatest element
is that of the element that won: ``select_and_gather_add`` reads it, and its transpose
``select_and_scatter_add`` sends a cotangent back to it. Among equal elements the first one wins.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Dims, Primitive, TangentMaps
from jaxlite.language.trace import get_aval
from jaxlite.primitives.argreduce import argmax, argmin
from jaxlite.primitives.comparison import ge_p, le_p
from jaxlite.primitives.composite import Composite
from jaxlite.primitives.convolution import dilated, output_sizes
from jaxlite.primitives.families import (
    ANY,
    NOT_LINEAR,
    accepts_text,
    batch_size,
    bdim_at_front,
    is_accepted,
    ops,
    provide,
    zeros_of,
)
from jaxlite.primitives.reduction import extreme, reduce_max, reduce_min, reduce_sum
from jaxlite.primitives.shape import broadcast_in_dim, broadcasted_iota, iota, reshape
from jaxlite.primitives.slide import Slide, slide

__all__ = [
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_sum_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
    "windows_of",
]

_PER_AXIS = ("window_dimensions", "window_strides", "base_dilation", "window_dilation")


def slides_of(shape: tuple[int, ...], params: dict[str, Any]) -> tuple[Slide, ...]:
    """Return how the windows that ``params`` describe lie over an array of ``shape``."""
    sizes = tuple(map(dilated, shape, params["base_dilation"]))
    window = tuple(map(dilated, params["window_dimensions"], params["window_dilation"]))
    counts = output_sizes(sizes, window, params["window_strides"], params["padding"])
    rows = zip(
        counts, params["window_dimensions"], params["window_strides"], params["window_dilation"],
        params["padding"], params["base_dilation"],
    )  # fmt: skip
    return tuple(
        Slide(count, size, step, hole, -low, base)
        for count, size, step, hole, (low, _), base in rows
    )


def windows_of(x: Value, params: dict[str, Any], fill: Any) -> Value:
    """Return the elements of all windows, ``(*windows, elements)``, with ``fill`` outside."""
    shape = get_aval(x).shape
    slides = slides_of(shape, params)
    out = slide(reshape(x, (*shape, *[1] * len(shape))), slides, fill)
    return reshape(out, (*[s.windows for s in slides], math.prod(s.size for s in slides)))


def _with_batch_axis(params: dict[str, Any]) -> dict[str, Any]:
    grown = {name: (1, *params[name]) for name in _PER_AXIS}
    return {**params, **grown, "padding": ((0, 0), *params["padding"])}


class _Windows(Composite):
    """What all reductions over windows share."""

    def check(self, operand: ShapedArray, params: dict[str, Any]) -> tuple[int, ...]:
        """Return the shape of the result."""
        if not is_accepted(ANY, operand.dtype):
            raise TypeError(accepts_text(self.name, ANY, operand.dtype, None))
        return tuple(s.windows for s in slides_of(operand.shape, params))

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return params

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        moved = [bdim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True)]
        return self.bind(*moved, **_with_batch_axis(params)), 0


class _ReduceWindow(_Windows):
    """Combine the elements of every window."""

    def abstract_eval(self, operand: ShapedArray, **params: Any) -> ShapedArray:
        return ShapedArray(self.check(operand, params), operand.dtype, operand.weak_type)


class ReduceWindowSum(_ReduceWindow):
    """The sum of every window. Linear."""

    name = "reduce_window_sum"

    def body(self, x: Value, **params: Any) -> Value:
        windows = windows_of(x, params, 0)
        return reduce_sum(windows, (get_aval(windows).ndim - 1,))

    def jvp(self, out: Value, x: Value, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, **params),)

    def transpose(self, ct: Value, x: Any, **params: Any) -> Any:
        pads = []
        rows = zip(
            x.aval.shape, get_aval(ct).shape, params["window_dimensions"],
            params["window_strides"], params["padding"], params["base_dilation"],
            params["window_dilation"],
        )  # fmt: skip
        for n, n_out, size, step, (low, _), base, hole in rows:
            window = dilated(size, hole)
            before = window - low - 1
            after = dilated(n, base) + window - 1 - dilated(n_out, step) - before
            pads.append((before, after))
        turned = {
            **params,
            "padding": tuple(pads),
            "window_strides": params["base_dilation"],
            "base_dilation": params["window_strides"],
        }
        return (self.bind(ct, **turned),)


class _ReduceWindowExtremum(_ReduceWindow):
    """The greatest or least element of every window; NaN wins."""

    transpose = NOT_LINEAR
    sign: ClassVar[int]
    selector: ClassVar[Primitive]

    def body(self, x: Value, **params: Any) -> Value:
        windows = windows_of(x, params, _outside(x, self.sign))
        reduce = reduce_max if self.sign > 0 else reduce_min
        return reduce(windows, (get_aval(windows).ndim - 1,))

    def jvp(self, out: Value, x: Value, **params: Any) -> TangentMaps:
        def tangent(t: Value) -> Value:
            return select_and_gather_add_p.bind(t, x, select_prim=self.selector, **params)

        return (tangent,)


class ReduceWindowMax(_ReduceWindowExtremum):
    """The greatest element of every window."""

    name = "reduce_window_max"
    sign = 1
    selector = ge_p


class ReduceWindowMin(_ReduceWindowExtremum):
    """The least element of every window."""

    name = "reduce_window_min"
    sign = -1
    selector = le_p


def _outside(x: Value, sign: int) -> Any:
    """Return the number that never wins, as a Python number."""
    dtype = get_aval(x).dtype
    return extreme(dtypes.storage_dtype(dtype), -sign).item()


def _winners(x: Value, select_prim: Primitive, params: dict[str, Any]) -> Value:
    """Return the place of the winner within every window (int32)."""
    sign = 1 if select_prim is ge_p else -1
    windows = windows_of(x, params, _outside(x, sign))
    find = argmax if sign > 0 else argmin
    return find(windows, get_aval(windows).ndim - 1, np.dtype(np.int32))


class SelectAndGatherAdd(_Windows):
    """Each window's element of ``tangents`` where ``operand`` wins. Linear in ``tangents``."""

    name = "select_and_gather_add"

    def abstract_eval(
        self, tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **params: Any
    ) -> ShapedArray:
        return ShapedArray(self.check(operand, params), tangents.dtype, tangents.weak_type)

    def body(self, tangents: Value, operand: Value, *, select_prim: Any, **params: Any) -> Value:
        elements = windows_of(tangents, params, 0)
        shape = get_aval(elements).shape
        axis = len(shape) - 1
        winner = broadcast_in_dim(_winners(operand, select_prim, params), shape, tuple(range(axis)))
        place = broadcasted_iota(np.dtype(np.int32), shape, axis)
        zero = zeros_of(get_aval(elements))
        return reduce_sum(ops.select_n(ops.eq(place, winner), zero, elements), (axis,))

    def jvp(self, out: Value, tangents: Value, operand: Value, **params: Any) -> TangentMaps:
        # Which element wins does not change.
        return (lambda t: self.bind(t, operand, **params)), None

    def transpose(self, ct: Value, tangents: Any, operand: Any, **params: Any) -> Any:
        return select_and_scatter_add_p.bind(ct, operand, **params), None


class SelectAndScatterAdd(_Windows):
    """Add each window's element of ``source`` where ``operand`` wins. Linear in ``source``.

    Every element of the result sums what the windows that it lies in send it: no element is
    written twice.
    """

    name = "select_and_scatter_add"

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        ones = (1,) * len(params["window_dimensions"])
        hidden = [k for k in ("base_dilation", "window_dilation") if params[k] == ones]
        return {k: v for k, v in params.items() if k not in hidden}

    def abstract_eval(
        self, source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **params: Any
    ) -> ShapedArray:
        expected = self.check(operand, params)
        if source.shape != expected:
            raise TypeError(
                f"{self.name} source must have one element per window, {expected}, got "
                f"{source.shape}."
            )
        return ShapedArray(operand.shape, source.dtype, source.weak_type)

    def body(self, source: Value, operand: Value, *, select_prim: Any, **params: Any) -> Value:
        shape = get_aval(operand).shape
        n = len(shape)
        slides = slides_of(shape, params)
        back = tuple([s.turned(size) for s, size in zip(slides, shape)])
        counts, sizes = tuple(s.windows for s in slides), tuple(s.size for s in slides)
        sent = slide(reshape(source, (*counts, *[1] * n)), back)
        winner = reshape(_winners(operand, select_prim, params), (*counts, *[1] * n))
        winner = slide(winner, back, -1)
        place = reshape(iota(np.dtype(np.int32), math.prod(sizes)), sizes)
        place = broadcast_in_dim(place, (*shape, *sizes), tuple(range(n, 2 * n)))
        zero = zeros_of(get_aval(sent))
        return reduce_sum(ops.select_n(ops.eq(place, winner), zero, sent), tuple(range(n, 2 * n)))

    def jvp(self, out: Value, source: Value, operand: Value, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, operand, **params)), None

    def transpose(self, ct: Value, source: Any, operand: Any, **params: Any) -> Any:
        return select_and_gather_add_p.bind(ct, operand, **params), None


reduce_window_sum_p = ReduceWindowSum()
reduce_window_max_p, reduce_window_min_p = ReduceWindowMax(), ReduceWindowMin()
select_and_gather_add_p = SelectAndGatherAdd()
select_and_scatter_add_p = SelectAndScatterAdd()

provide(reduce_window_sum=reduce_window_sum_p.bind)
