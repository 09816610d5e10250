"""Sliding windows: ``reduce_window`` and the padding arithmetic that convolutions share.

In: arrays, window shapes, strides, paddings, dilations. Out: arrays of one element per window.

A window is taken apart axis by axis: the elements at one place of all windows are a strided slice,
and slices are combined in the order of the window. All derivatives follow from the slices.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.lax import elementwise, slicing
from jaxlite.lax.operands import as_array
from jaxlite.lax.reductions import neutral_start
from jaxlite.lax.shapes import convert_type, full_like, pad
from jaxlite.primitives.select import select_n

__all__ = ["padtype_to_pads", "reduce_window", "reduce_window_shape_tuple"]

Pads = list[tuple[int, int]]


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
) -> Pads:
    """Return how many elements ``"SAME"``, ``"SAME_LOWER"`` or ``"VALID"`` add before and after.

    Raises:
        RuntimeError: another name.

    Example:
        >>> padtype_to_pads((5,), (2,), (1,), "SAME")
        [(0, 1)]
    """
    name = padding.upper() if isinstance(padding, str) else getattr(padding, "name", None)
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            "Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', "
            f"got {padding}.\n"
            "  Fix: one of these three, or a (low, high) pair for every axis"
        )
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if name == "SAME" else (large, small))
    return pads


def spread(size: int, dilation: int) -> int:
    """Return the length of ``size`` elements with ``dilation - 1`` gaps between them."""
    return (size - 1) * dilation + 1 if size else 0


def taps(x: Value, axis: int, window: int, stride: int, dilation: int) -> list[Value]:
    """Return ``window`` slices of ``x``: slice ``k`` holds element ``k`` of every window."""
    count = max((x.shape[axis] - spread(window, dilation)) // stride + 1, 0)
    reach = (count - 1) * stride + 1 if count else 0
    starts = [min(k * dilation, x.shape[axis]) for k in range(window)]
    return [slicing.slice_in_dim(x, s, s + reach, stride, axis) for s in starts]


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape of ``reduce_window``'s result.

    Example:
        >>> reduce_window_shape_tuple((5,), (2,), (2,), [(0, 1)])
        (3,)
    """
    rank = len(operand_shape)
    gaps, holes = base_dilation or (1,) * rank, window_dilation or (1,) * rank
    padded = [spread(n, g) + lo + hi for n, g, (lo, hi) in zip(operand_shape, gaps, padding)]
    return tuple(
        max((n - spread(w, h)) // s + 1, 0)
        for n, w, s, h in zip(padded, window_dimensions, window_strides, holes)
    )


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Combine the elements of every window: ``T[*s] -> T[*windows]``.

    Args:
        operand: an array, or a pytree of arrays of one shape.
        init_value: scalars of the same structure; the padding, and what each window starts with.
        computation: an associative function of two such structures.
        window_dimensions: size of the window along every axis.
        window_strides: steps from window to window, 1 if not given.
        padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"`` or ``(low, high)`` for every axis.
        base_dilation: distance of the operand's elements, filled with ``init_value``.
        window_dilation: distance of the window's elements.

    Raises:
        TypeError: lengths that do not fit, strides or dilations below 1.
        RuntimeError: an unknown name of a padding.

    Example:
        >>> import numpy as np
        >>> reduce_window(np.float32([1, 3, 2]), 0.0, elementwise.add, (2,), (1,), "VALID")
        Array([4., 5.], dtype=float32)
    """
    leaves, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if not leaves:
        raise ValueError("reduce_window must have at least one operand.")
    if init_tree != tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    values = [as_array(x, "reduce_window", i) for i, x in enumerate(leaves)]
    shape = values[0].shape
    ones = (1,) * len(shape)
    window, strides, gaps, holes = (
        _per_axis(name, shape, sizes)
        for name, sizes in (
            ("window_dimensions", window_dimensions),
            ("window_strides", ones if window_strides is None else window_strides),
            ("base_dilation", ones if base_dilation is None else base_dilation),
            ("window_dilation", ones if window_dilation is None else window_dilation),
        )
    )
    if isinstance(padding, str):
        wide = [spread(n, g) for n, g in zip(shape, gaps)]
        reach = [spread(w, h) for w, h in zip(window, holes)]
        pads = padtype_to_pads(wide, reach, strides, padding)
    else:
        pads = [(operator.index(lo), operator.index(hi)) for lo, hi in padding]
    starts = [
        convert_type(as_array(i, "reduce_window"), v.dtype, v.aval.weak_type)
        for i, v in zip(inits, values)
    ]
    config = [(lo, hi, g - 1) for (lo, hi), g in zip(pads, gaps)]
    values = [pad(v, s, config) for v, s in zip(values, starts)]

    def combine(a: list[Value], b: list[Value]) -> list[Value]:
        out = computation(tree_unflatten(tree, a), tree_unflatten(tree, b))
        return list(tree_flatten(out)[0])

    step = _chooser(computation, values) or combine
    # The last axis first, so that elements meet in row-major order.
    for axis in reversed(range(len(shape))):
        along = (window[axis], strides[axis], holes[axis])
        if along[:2] != (1, 1):
            values = _along(values, axis, along, step)
    if len(values) == 1 and neutral_start(computation, inits[0], values[0].dtype):
        return tree_unflatten(tree, values)
    full = [full_like(v, s) for v, s in zip(values, starts)]
    return tree_unflatten(tree, combine(full, values))


def _along(
    values: list[Value],
    axis: int,
    window: tuple[int, int, int],
    step: Callable[[list[Value], list[Value]], list[Value]],
) -> list[Value]:
    columns = [taps(v, axis, *window) for v in values]
    done = [column[0] for column in columns]
    for k in range(1, window[0]):
        done = step(done, [column[k] for column in columns])
    return done


def _chooser(
    computation: Any, values: list[Value]
) -> Callable[[list[Value], list[Value]], list[Value]] | None:
    """Return max and min as a choice of one element: the first of equals takes the derivative."""
    before = {elementwise.max: elementwise.ge, elementwise.min: elementwise.le}.get(computation)
    if before is None or len(values) != 1 or dtypes.kind_of(values[0].dtype) == "c":
        return None

    def choose(a: list[Value], b: list[Value]) -> list[Value]:
        # A NaN is not equal to itself, and it wins.
        keep = elementwise.bitwise_or(before(a[0], b[0]), elementwise.ne(a[0], a[0]))
        return [select_n(keep, b[0], a[0])]

    return choose


def _per_axis(name: str, shape: tuple[int, ...], sizes: Sequence[int]) -> tuple[int, ...]:
    out = tuple(operator.index(n) for n in sizes)
    if len(out) != len(shape):
        raise TypeError(
            f"reduce_window got the wrong number of {name} for operand: got operand shape "
            f"{shape} with {name} {out}."
        )
    if any(n < 1 for n in out):
        raise TypeError(
            f"reduce_window {name} must have every element be strictly positive, got {out}."
        )
    return out
