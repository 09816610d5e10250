"""``lax.reduce_window``. In: arrays and a window. Out: one value per place of the window."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language.array import Value
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.lax import elementwise
from jaxlite.lax.convolution import padtype_to_pads
from jaxlite.lax.operands import as_array
from jaxlite.lax.reductions import fold, neutral_start
from jaxlite.lax.shapes import broadcast_in_dim, convert_type, full
from jaxlite.lax.slicing import index_in_dim
from jaxlite.primitives.convolution import dilated, output_sizes
from jaxlite.primitives.windows import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
    windows_of,
)

__all__ = ["reduce_window", "reduce_window_shape_tuple"]

#: Windows up to this size are combined element by element, greater ones by halves.
_MAX_STEPS = 128

_KNOWN: dict[Any, Any] = {
    elementwise.add: reduce_window_sum_p,
    elementwise.max: reduce_window_max_p,
    elementwise.min: reduce_window_min_p,
}


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
    """Combine the elements of every window with ``computation``, starting from ``init_value``.

    Args:
        operand: an array or a pytree of arrays of one shape.
        init_value: scalars of the same structure; the value of a window that is all outside.
        computation: an associative function of two such structures of scalars.
        window_dimensions: sizes of the window, one per axis.
        window_strides: steps between windows; None: 1s.
        padding: "VALID", "SAME", "SAME_LOWER" or (low, high) for every axis.
        base_dilation: holes between elements of the array; None: 1s.
        window_dilation: holes between elements of the window; None: 1s.

    Raises:
        TypeError, ValueError: the numbers do not fit the array, or structures differ.

    Example:
        >>> x = np.arange(5, dtype=np.float32)
        >>> reduce_window(x, -np.inf, elementwise.max, (2,), (1,))
        Array([1., 2., 3., 4.], dtype=float32)
    """
    arrays, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if not arrays:
        raise ValueError("reduce_window must have at least one operand.")
    if init_tree != tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    values = [as_array(a, "reduce_window", k) for k, a in enumerate(arrays)]
    starts = [as_array(i, "reduce_window") for i in inits]
    if any(s.ndim for s in starts):
        shapes = [s.shape for s in starts]
        raise TypeError(
            "reduce_window expected init_values to be scalars but init_values have shapes "
            f"{shapes}."
        )
    shape = values[0].shape
    params = _params(
        shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    known = _KNOWN.get(computation) if len(values) == 1 else None
    if known is not None and neutral_start(computation, inits[0], values[0].dtype):
        return tree_unflatten(tree, [known.bind(values[0], **params)])
    starts = [convert_type(s, v.dtype, v.aval.weak_type) for s, v in zip(starts, values)]
    windows = [windows_of(v, params, 0) for v in values]

    def combine(a: list[Value], b: list[Value]) -> list[Value]:
        out = computation(tree_unflatten(tree, a), tree_unflatten(tree, b))
        results, out_tree = tree_flatten(out)
        if out_tree != tree:
            raise ValueError(
                "reduce_window output must have the same tree structure as the operands "
                f"{tree} vs. {out_tree}"
            )
        return list(results)

    is_padded = any(low > 0 or high > 0 for low, high in params["padding"])
    inside = None
    if is_padded or any(d != 1 for d in params["base_dilation"]):
        inside = windows_of(full(shape, True, np.dtype(bool)), params, False)
    size = windows[0].shape[-1]
    if not windows[0].size:
        first = [_repeat(s, w.shape[:-1]) for s, w in zip(starts, windows)]
        return tree_unflatten(tree, first)
    if size <= _MAX_STEPS:
        return tree_unflatten(tree, _one_by_one(windows, inside, starts, combine))
    if inside is not None:
        # Where there is no element, the start stands in: neutral, as it is meant to be.
        windows = [
            elementwise.select(inside, w, _repeat(s, w.shape)) for w, s in zip(windows, starts)
        ]
    folded = fold(windows, len(shape), combine)
    first = [_repeat(s, v.shape) for s, v in zip(starts, folded)]
    return tree_unflatten(tree, combine(first, folded))


def _one_by_one(
    windows: list[Value],
    inside: Value | None,
    starts: list[Value],
    combine: Callable[[list[Value], list[Value]], list[Value]],
) -> list[Value]:
    """Combine the elements in their order, as a loop would; what is outside counts for nothing."""
    axis = windows[0].ndim - 1
    total = [_repeat(s, w.shape[:-1]) for s, w in zip(starts, windows)]
    for k in range(windows[0].shape[-1]):
        found = combine(total, [index_in_dim(w, k, axis, False) for w in windows])
        if inside is not None:
            is_there = index_in_dim(inside, k, axis, False)
            found = [elementwise.select(is_there, f, t) for f, t in zip(found, total)]
        total = found
    return total


def _repeat(start: Value, shape: tuple[int, ...]) -> Value:
    return broadcast_in_dim(start, shape, ()) if shape else start


def _params(
    shape: tuple[int, ...],
    window_dimensions: Sequence[int],
    window_strides: Any,
    padding: Any,
    base_dilation: Any,
    window_dilation: Any,
) -> dict[str, Any]:
    """Return the parameters of the primitives, checked as JAX does."""
    n = len(shape)
    window = tuple(operator.index(k) for k in window_dimensions)
    if len(window) != n:
        raise TypeError(
            "reduce_window got the wrong number of window_dimensions for operand: got operand "
            f"shape {shape} with window_dimensions {window}."
        )
    per_axis = {"window_dimensions": window}
    given = (
        ("window_strides", window_strides),
        ("base_dilation", base_dilation),
        ("window_dilation", window_dilation),
    )
    for label, values in given:
        found = (1,) * n if values is None else tuple(operator.index(v) for v in values)
        if len(found) != n:
            raise TypeError(
                f"reduce_window got inconsistent {label} and window_dimensions: got {label} "
                f"{found} and window_dimensions {window}."
            )
        per_axis[label] = found
    for label, numbers in per_axis.items():
        if any(v <= 0 for v in numbers):
            raise TypeError(
                f"reduce_window {label} must have every element be strictly positive, got "
                f"{numbers}."
            )
    sizes = tuple(map(dilated, shape, per_axis["base_dilation"]))
    reach = tuple(map(dilated, window, per_axis["window_dilation"]))
    if isinstance(padding, str):
        pads = tuple(padtype_to_pads(sizes, reach, per_axis["window_strides"], padding))
    else:
        pads = tuple((operator.index(low), operator.index(high)) for low, high in padding)
    if len(pads) != n:
        raise TypeError(
            f"reduce_window got inconsistent padding and window_dimensions: got padding {pads} and "
            f"window_dimensions {window}."
        )
    return {**per_axis, "padding": pads}


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape of ``reduce_window``.

    Example:
        >>> reduce_window_shape_tuple((2, 8), (1, 3), (1, 2), ((0, 0), (1, 1)))
        (2, 4)
    """
    ones = (1,) * len(operand_shape)
    sizes = tuple(map(dilated, operand_shape, base_dilation or ones))
    window = tuple(map(dilated, window_dimensions, window_dilation or ones))
    if isinstance(padding, str):
        padding = padtype_to_pads(sizes, window, window_strides, padding)
    return output_sizes(sizes, window, tuple(window_strides), tuple(padding))
