"""Convolutions in every layout: ``conv_general_dilated`` and its short forms.

In: ``lhs`` (batch, features, spatial axes in some order), ``rhs`` (output and input features,
window). Out: ``out`` (batch, features, spatial axes in some order).

A convolution is one matrix product: the operand's windows are laid side by side (strided slices,
one for every place in the window) and multiplied with the flattened kernel; groups are its batch
axes. Derivatives and batching are those of pad, slice, concatenate and ``dot_general``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxlite.language.array import Value
from jaxlite.lax.linear_algebra import dot_general
from jaxlite.lax.operands import as_array, constant
from jaxlite.lax.shapes import pad, reshape, rev, stack, transpose
from jaxlite.lax.windows import Pads, padtype_to_pads, spread, taps

__all__ = [
    "ConvDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_patches",
    "conv_transpose",
    "conv_with_general_padding",
]


class ConvDimensionNumbers(NamedTuple):
    """Where batch and features are: axes of batch, feature, space (``rhs``: out, in, space)."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


#: conv_transpose's layouts by rank.
_CHANNELS_LAST = {
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return a layout as axes: None is ``("NCHW", "OIHW", "NCHW")`` in any rank.

    Raises:
        TypeError: ranks that differ, or strings that are no layout.

    Example:
        >>> conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 4), ("NHWC", "HWIO", "NHWC")).lhs_spec
        (0, 3, 1, 2)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(
            "convolution requires lhs and rhs ndim to be equal, "
            f"got {len(lhs_shape)} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        axes = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(axes, axes, axes)
    if not isinstance(dimension_numbers, list | tuple):
        raise TypeError(
            "convolution dimension_numbers must be tuple/list or None, "
            f"got {type(dimension_numbers)}."
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            "convolution dimension_numbers list/tuple must be length 3, "
            f"got {len(dimension_numbers)}."
        )
    if not all(isinstance(spec, str) for spec in dimension_numbers):
        raise TypeError(
            "convolution dimension_numbers elements must be strings, "
            f"got {tuple(map(type, dimension_numbers))}."
        )
    lhs, rhs, out = dimension_numbers
    space = [c for c in rhs if c not in "OI"]
    wanted = {"N", "C", *space}
    fits = set(lhs) == wanted and set(out) == wanted and set(rhs) == {"O", "I", *space}
    if not fits:
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of spatial "
            f"characters, got {tuple(dimension_numbers)}."
        )
    return ConvDimensionNumbers(
        *(
            tuple(spec.index(c) for c in (*first, *space))
            for spec, first in ((lhs, "NC"), (rhs, "OI"), (out, "NC"))
        )
    )


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the convolution (without a flip of the kernel) of ``lhs`` and ``rhs``.

    Args:
        lhs: ``T[n, c, *space]`` in the layout of ``dimension_numbers``.
        rhs: ``T[o, c / groups, *window]`` in that layout.
        window_strides: steps between windows, one for every spatial axis.
        padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"`` or ``(low, high)`` pairs.
        lhs_dilation: distance of the elements of ``lhs`` (transposed convolution).
        rhs_dilation: distance of the elements of the window (atrous convolution).
        dimension_numbers: three strings such as ``("NHWC", "HWIO", "NHWC")``, or None.
        feature_group_count: groups of features that are convolved apart.
        batch_group_count: groups of the batch that are convolved apart.
        precision: accepted; the CPU is always exact.
        preferred_element_type: dtype of the sums and of the result.
        out_sharding: only None (one device).

    Raises:
        TypeError: dtypes, ranks or layouts that do not fit.
        ValueError: sizes that do not fit.
        RuntimeError: an unknown name of a padding.

    Example:
        >>> import numpy as np
        >>> x, k = np.float32([[[1, 2, 3]]]), np.float32([[[1, 1]]])
        >>> conv_general_dilated(x, k, (1,), "VALID")
        Array([[[3., 5.]]], dtype=float32)
    """
    x, k = as_array(lhs, "conv_general_dilated"), as_array(rhs, "conv_general_dilated", 1)
    layout = conv_dimension_numbers(x.shape, k.shape, dimension_numbers)
    if x.dtype != k.dtype and preferred_element_type is None:
        raise TypeError(
            "lax.conv_general_dilated requires arguments to have the same dtypes, "
            f"got {x.dtype}, {k.dtype}."
        )
    if isinstance(padding, str) and lhs_dilation is not None and any(d != 1 for d in lhs_dilation):
        raise ValueError(
            "String padding is not implemented for transposed convolution using this op. Please "
            "either exactly specify the required padding or use conv_transpose."
        )
    x, k = transpose(x, layout.lhs_spec), transpose(k, layout.rhs_spec)
    _check_groups(x.shape, k.shape, feature_group_count, batch_group_count)
    x = _windows(x, k.shape[2:], window_strides, padding, lhs_dilation, rhs_dilation)
    # x: [n, c, taps, *out], k: [o, i, taps]; groups of features or of the batch come first.
    groups = feature_group_count * batch_group_count
    n, c, size, *space = x.shape
    o, i = k.shape[:2]
    k = reshape(k, (groups, o // groups, i, size))
    if batch_group_count > 1:
        x = reshape(x, (groups, n // groups, c, size, *space))
    else:
        x = transpose(
            reshape(x, (n, groups, c // groups, size, *space)),
            (1, 0, *range(2, 4 + len(space))),
        )
    out = dot_general(k, x, (((2, 3), (2, 3)), ((0,), (0,))), precision, preferred_element_type)
    # The product is [groups, o / groups, n, *out].
    out = transpose(out, (2, 0, 1, *range(3, out.ndim)))
    out = reshape(out, (out.shape[0], o, *space))
    return transpose(out, [layout.out_spec.index(a) for a in range(out.ndim)])


def _windows(
    x: Value,
    window: Sequence[int],
    strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
) -> Value:
    """Return ``T[n, c, *space] -> T[n, c, taps, *out]``: all windows side by side."""
    rank = x.ndim - 2
    gaps = _spatial("lhs_dilation", rank, lhs_dilation)
    holes = _spatial("rhs_dilation", rank, rhs_dilation)
    steps = _spatial("window_strides", rank, strides)
    pads = _pads(x.shape[2:], window, steps, padding, gaps, holes)
    zero = constant(0, x.dtype)
    edges = [(lo, hi, g - 1) for (lo, hi), g in zip(pads, gaps)]
    x = pad(x, zero, [(0, 0, 0), (0, 0, 0), *edges])
    parts = [x]
    for axis, (w, s, h) in enumerate(zip(window, steps, holes)):
        parts = [tap for part in parts for tap in taps(part, axis + 2, w, s, h)]
    return stack(parts, 2)


def _pads(
    shape: Sequence[int],
    window: Sequence[int],
    steps: Sequence[int],
    padding: Any,
    gaps: Sequence[int],
    holes: Sequence[int],
) -> Pads:
    if isinstance(padding, str) or not isinstance(padding, Sequence):
        wide = [spread(n, g) for n, g in zip(shape, gaps)]
        return padtype_to_pads(wide, [spread(w, h) for w, h in zip(window, holes)], steps, padding)
    if len(padding) != len(shape):
        raise TypeError(
            "Wrong number of explicit pads for convolution: "
            f"expected {len(shape)}, got {len(padding)}."
        )
    return [(operator.index(lo), operator.index(hi)) for lo, hi in padding]


def _spatial(name: str, rank: int, sizes: Sequence[int] | None) -> tuple[int, ...]:
    out = (1,) * rank if sizes is None else tuple(operator.index(n) for n in sizes)
    if len(out) != rank:
        raise ValueError(f"{name} must have one entry per spatial axis ({rank}), got {out}")
    if any(n < 1 for n in out):
        raise ValueError(f"{name} must be positive, got {out}")
    return out


def _check_groups(
    lhs: tuple[int, ...], rhs: tuple[int, ...], feature_groups: int, batch_groups: int
) -> None:
    if feature_groups < 1 or batch_groups < 1:
        name, n = (
            ("feature_group_count", feature_groups)
            if feature_groups < 1
            else ("batch_group_count", batch_groups)
        )
        raise ValueError(f"conv_general_dilated {name} must be a positive integer, got {n}.")
    if feature_groups > 1 and batch_groups > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={batch_groups} and feature_group_count={feature_groups}"
        )
    if lhs[1] // feature_groups != rhs[1] or lhs[1] % feature_groups:
        raise ValueError(
            "conv_general_dilated lhs feature dimension size divided by feature_group_count must "
            "equal the rhs input feature dimension size, but "
            f"{lhs[1]} // {feature_groups} != {rhs[1]}."
        )
    if rhs[0] % feature_groups:
        raise ValueError(
            "conv_general_dilated rhs output feature dimension size must be a multiple of "
            f"feature_group_count, but {rhs[0]} is not a multiple of {feature_groups}."
        )
    if lhs[0] % batch_groups:
        raise ValueError(
            "conv_general_dilated batch_group_count must divide lhs batch dimension size, but "
            f"{batch_groups} does not divide {lhs[0]}."
        )
    if rhs[0] % batch_groups:
        raise ValueError(
            "conv_general_dilated rhs output feature dimension size must be a multiple of "
            f"batch_group_count, but {rhs[0]} is not a multiple of {batch_groups}."
        )


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the plain convolution: ``T[n, c, *space], T[o, c, *window] -> T[n, o, *out]``.

    Example:
        >>> import numpy as np
        >>> conv(np.ones((1, 2, 4), "float32"), np.ones((3, 2, 2), "float32"), (2,), "SAME").shape
        (1, 3, 2)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return ``conv`` with explicit paddings and dilations.

    Example:
        >>> import numpy as np
        >>> x, k = np.ones((1, 1, 4), "float32"), np.ones((1, 1, 2), "float32")
        >>> conv_with_general_padding(x, k, (1,), [(1, 0)], (1,), (2,)).shape
        (1, 1, 3)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Value:
    """Return the transposed ("fractionally strided") convolution; channels are last by default.

    Args:
        lhs: ``T[n, *space, c]``.
        rhs: ``T[*window, c, o]``.
        strides: how far the elements of ``lhs`` are moved apart.
        padding: ``"SAME"``, ``"VALID"``, or pairs.
        rhs_dilation: distance of the elements of the window.
        dimension_numbers: as for ``conv_general_dilated``.
        transpose_kernel: flip the window and exchange its features: the gradient of ``conv``.
        precision: accepted; the CPU is always exact.
        preferred_element_type: dtype of the sums and of the result.
        use_consistent_padding: explicit pairs are those of the convolution that is transposed.

    Example:
        >>> import numpy as np
        >>> x, k = np.ones((1, 4, 2), "float32"), np.ones((3, 2, 5), "float32")
        >>> conv_transpose(x, k, (2,), "SAME").shape
        (1, 8, 5)
    """
    x, k = as_array(lhs, "conv_transpose"), as_array(rhs, "conv_transpose", 1)
    if dimension_numbers is None and x.ndim in _CHANNELS_LAST:
        dimension_numbers = _CHANNELS_LAST[x.ndim]
    layout = conv_dimension_numbers(x.shape, k.shape, dimension_numbers)
    space = layout.rhs_spec[2:]
    holes = _spatial("rhs_dilation", len(space), rhs_dilation)
    window = [spread(k.shape[a], h) for a, h in zip(space, holes)]
    if isinstance(padding, str) and padding in ("SAME", "VALID"):
        pads = [_transposed_pad(w, s, padding) for w, s in zip(window, strides)]
    elif use_consistent_padding and not isinstance(padding, str):
        pads = [(w - 1 - lo, w - 1 - hi) for w, (lo, hi) in zip(window, padding)]
    else:
        pads = padding
    if transpose_kernel:
        order = list(range(k.ndim))
        a, b = layout.rhs_spec[:2]
        order[a], order[b] = order[b], order[a]
        k = transpose(rev(k, space), order)
    return conv_general_dilated(
        x,
        k,
        (1,) * len(space),
        pads,
        strides,
        rhs_dilation,
        layout,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _transposed_pad(window: int, stride: int, padding: str) -> tuple[int, int]:
    if padding == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    else:
        total = window + stride - 2 + max(window - stride, 0)
        low = window - 1
    return low, total - low


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the windows of ``lhs`` as features: ``T[n, c, *space] -> T[n, c * taps, *out]``.

    Example:
        >>> import numpy as np
        >>> conv_general_dilated_patches(np.float32([[[1, 2, 3]]]), (2,), (1,), "VALID")
        Array([[[1., 2.],
                [2., 3.]]], dtype=float32)
    """
    x = as_array(lhs, "conv_general_dilated_patches")
    layout = conv_dimension_numbers(x.shape, x.shape, dimension_numbers)
    x = transpose(x, layout.lhs_spec)
    x = _windows(x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation)
    out = reshape(x, (x.shape[0], x.shape[1] * math.prod(filter_shape), *x.shape[3:]))
    return transpose(out, [layout.out_spec.index(a) for a in range(out.ndim)])
