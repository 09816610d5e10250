"""``lax`` functions for convolutions. In: a batch of arrays, kernels. Out: arrays.

``dimension_numbers`` says which axis is what, as three strings such as ``("NHWC", "HWIO", "NHWC")``
(None: ``("NCHW", "OIHW", "NCHW")``); ``padding`` is "VALID", "SAME", "SAME_LOWER" or (low, high)
for every spatial axis. Holes are called dilation: of the input (``lhs_dilation``) or the kernel.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax.elementwise import eq
from jaxlite.lax.linear_algebra import dot_general
from jaxlite.lax.operands import as_array
from jaxlite.lax.shapes import (
    broadcast_in_dim,
    broadcasted_iota,
    convert_element_type,
    reshape,
    rev,
    transpose,
)
from jaxlite.primitives.convolution import (
    ConvDimensionNumbers,
    conv_general_dilated_p,
    dilated,
    output_sizes,
)
from jaxlite.primitives.dot import canonical_precision

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
    "padtype_to_pads",
]

Padding: TypeAlias = "str | Sequence[tuple[int, int]]"
ConvGeneralDilatedDimensionNumbers: TypeAlias = "tuple[str, str, str] | ConvDimensionNumbers | None"


# --- which axis is what, and how much is put around ---


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return the axes that ``dimension_numbers`` names, as numbers.

    Raises:
        TypeError: ranks differ, or the names do not fit.

    Example:
        >>> conv_dimension_numbers((1, 2, 3, 4), (5, 6, 2, 7), ("NHWC", "HWIO", "NHWC"))
        ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if len(lhs_shape) != len(rhs_shape):
        raise TypeError(
            "convolution requires lhs and rhs ndim to be equal, got "
            f"{len(lhs_shape)} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        order = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(order, order, order)
    if not isinstance(dimension_numbers, tuple | list):
        raise TypeError(
            "convolution dimension_numbers must be tuple/list or None, got "
            f"{type(dimension_numbers)}."
        )
    if len(dimension_numbers) != 3:
        raise TypeError(
            "convolution dimension_numbers list/tuple must be length 3, got "
            f"{len(dimension_numbers)}."
        )
    if not all(isinstance(names, str) for names in dimension_numbers):
        kinds = tuple(type(names) for names in dimension_numbers)
        raise TypeError(f"convolution dimension_numbers elements must be strings, got {kinds}.")
    for position, names in enumerate(dimension_numbers):
        if len(names) != len(lhs_shape):
            raise TypeError(
                f"convolution dimension_numbers[{position}] must have len equal to the ndim of lhs "
                f"and rhs, got {len(names)} for lhs and rhs shapes {tuple(lhs_shape)} and "
                f"{tuple(rhs_shape)}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return for each of three strings of axis names the axes in standard order.

    Raises:
        TypeError: a name is missing or there twice, or the spatial names differ.

    Example:
        >>> conv_general_permutations(("NHWC", "HWIO", "NHWC"))
        ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    pairs = ("N", "C"), ("O", "I"), ("N", "C")
    for position, (names, (a, b)) in enumerate(zip(dimension_numbers, pairs, strict=True)):
        if names.count(a) != 1 or names.count(b) != 1:
            raise TypeError(
                f"convolution dimension_numbers[{position}] must contain the characters '{a}' and "
                f"'{b}' exactly once, got {names}."
            )
        if len(names) != len(set(names)):
            raise TypeError(
                f"convolution dimension_numbers[{position}] cannot have duplicate characters, got "
                f"{names}."
            )
    spatial = [
        [c for c in names if c not in pair]
        for names, pair in zip(dimension_numbers, pairs, strict=True)
    ]
    if not set(spatial[0]) == set(spatial[1]) == set(spatial[2]):
        raise TypeError(
            "convolution dimension_numbers elements must each have the same set of spatial "
            f"characters, got {dimension_numbers}."
        )
    # The kernel's order of the spatial axes is everybody's.
    return tuple(
        tuple(names.index(c) for c in (*pair, *spatial[1]))
        for names, pair in zip(dimension_numbers, pairs, strict=True)
    )


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
) -> list[tuple[int, int]]:
    """Return (low, high) for every axis for "VALID", "SAME" or "SAME_LOWER".

    Raises:
        RuntimeError: another word.

    Example:
        >>> padtype_to_pads((8, 8), (3, 3), (2, 2), "SAME")
        [(0, 1), (0, 1)]
    """
    word = padding.upper() if isinstance(padding, str) else padding
    if word == "VALID":
        return [(0, 0)] * len(in_shape)
    if word not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}."
        )
    pads = []
    for n, k, step in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((-(-n // step) - 1) * step + k - n, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if word == "SAME" else (more, less))
    return [(int(low), int(high)) for low, high in pads]


def _ints(values: Sequence[int]) -> tuple[int, ...]:
    return tuple(operator.index(v) for v in values)


def _pads(padding: Any, name: str) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((operator.index(low), operator.index(high)) for low, high in padding)
    except (TypeError, ValueError):
        raise ValueError(
            f"padding argument to {name} should be a string or a sequence of (low, high) pairs, "
            f"got {padding}"
        ) from None


# --- convolutions ---


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the products of kernels with all windows of ``lhs``: any convolution of networks.

    Args:
        lhs: ``T[batch, feature, *spatial]`` in the order that ``dimension_numbers`` says.
        rhs: ``T[out feature, in feature, *window]``.
        window_strides: steps between windows, one per spatial axis.
        padding: "SAME", "VALID", "SAME_LOWER" or (low, high) pairs, which may be negative.
        lhs_dilation: holes between input elements (a transposed convolution); None: 1s.
        rhs_dilation: holes between kernel elements; None: 1s.
        dimension_numbers: see ``conv_dimension_numbers``.
        feature_group_count: groups of features that are convolved apart.
        batch_group_count: groups of the batch, each with its own output features.
        precision: see ``Precision``.
        preferred_element_type: dtype of the result and of the sums.
        out_sharding: only None (one device).

    Raises:
        TypeError, ValueError: shapes, names, dtypes or groups do not fit.

    Example:
        >>> import numpy as np
        >>> x, kernel = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 2, 2), np.float32)
        >>> conv_general_dilated(x, kernel, (1, 1), "VALID")
        Array([[[[4., 4.],
                 [4., 4.]]]], dtype=float32)
    """
    name = "conv_general_dilated"
    x, kernel = as_array(lhs, name), as_array(rhs, name, 1)
    numbers = conv_dimension_numbers(x.shape, kernel.shape, dimension_numbers)
    n = x.ndim - 2
    base = (1,) * n if lhs_dilation is None else _ints(lhs_dilation)
    hole = (1,) * n if rhs_dilation is None else _ints(rhs_dilation)
    strides = _ints(window_strides)
    if isinstance(padding, str):
        if any(d != 1 for d in base):
            raise ValueError(
                "String padding is not implemented for transposed convolution using this op. "
                "Please either exactly specify the required padding or use conv_transpose."
            )
        if any(d <= 0 for d in hole):
            raise TypeError(f"All dilations must be positive, got {hole}.")
        window = [dilated(kernel.shape[d], f) for d, f in zip(numbers.rhs_spec[2:], hole)]
        sizes = [x.shape[d] for d in numbers.lhs_spec[2:]]
        if len(strides) != n:
            raise ValueError(
                f"{name} window and window_strides must have the same number of dimensions, but "
                f"got {n} and {len(strides)}"
            )
        pads = tuple(padtype_to_pads(sizes, window, strides, padding))
    else:
        pads = _pads(padding, name)
    return conv_general_dilated_p.bind(
        x,
        kernel,
        window_strides=strides,
        padding=pads,
        lhs_dilation=base,
        rhs_dilation=hole,
        dimension_numbers=numbers,
        feature_group_count=operator.index(feature_group_count),
        batch_group_count=operator.index(batch_group_count),
        precision=canonical_precision(precision),
        preferred_element_type=_dtype(preferred_element_type),
        out_sharding=None,
    )


def _dtype(dtype: Any) -> Any:
    return None if dtype is None else dtypes.requested_dtype(dtype, "conv_general_dilated")


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return a plain convolution: ``T[N, C, *spatial], T[O, C, *window] -> T[N, O, *out]``.

    Raises:
        TypeError, ValueError: shapes or dtypes do not fit.
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
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return a convolution as ``conv`` with explicit padding and holes.

    Raises:
        TypeError, ValueError: shapes or dtypes do not fit.
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


_CHANNELS_LAST = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: Any = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Value:
    """Return a transposed convolution (a "deconvolution"): ``strides`` enlarge the input.

    Args:
        lhs: the input; the feature axis is last unless ``dimension_numbers`` says otherwise.
        rhs: the kernels.
        strides: how much larger the output is along every spatial axis.
        padding: "SAME" (output ``strides`` times the input), "VALID", or (low, high) pairs.
        rhs_dilation: holes between kernel elements.
        dimension_numbers: see ``conv_dimension_numbers``; None: channels last.
        transpose_kernel: flip the window and exchange the kernel's features: the gradient of a
            convolution with this kernel.
        precision: see ``Precision``.
        preferred_element_type: dtype of the result and of the sums.
        use_consistent_padding: (low, high) pairs are those of the convolution that is transposed.

    Raises:
        TypeError, ValueError: shapes, names or dtypes do not fit.

    Example:
        >>> import numpy as np
        >>> x, kernel = np.ones((1, 3, 1), np.float32), np.ones((2, 1, 1), np.float32)
        >>> conv_transpose(x, kernel, (2,), "SAME").ravel()
        Array([1., 1., 1., 1., 1., 1.], dtype=float32)
    """
    x, kernel = as_array(lhs, "conv_transpose"), as_array(rhs, "conv_transpose", 1)
    names = _CHANNELS_LAST.get(x.ndim) if dimension_numbers is None else dimension_numbers
    if names is None:
        raise ValueError(f"No 4+ dimensional dimension_number defaults, got {x.ndim - 2}.")
    numbers = conv_dimension_numbers(x.shape, kernel.shape, names)
    n = x.ndim - 2
    hole = (1,) * n if rhs_dilation is None else _ints(rhs_dilation)
    window = [dilated(kernel.shape[d], f) for d, f in zip(numbers.rhs_spec[2:], hole)]
    pads: Any = padding
    if isinstance(padding, str):
        if padding.upper() in ("SAME", "VALID"):
            pads = [_transposed_pads(k, s, padding.upper()) for k, s in zip(window, strides)]
    elif use_consistent_padding:
        pads = [(k - 1 - a, k - 1 - b) for k, (a, b) in zip(window, _pads(padding, "conv"))]
    if transpose_kernel:
        kernel = rev(kernel, numbers.rhs_spec[2:])
        order = list(range(kernel.ndim))
        a, b = numbers.rhs_spec[:2]
        order[a], order[b] = b, a
        kernel = transpose(kernel, order)
    return conv_general_dilated(
        x, kernel, (1,) * n, pads, strides, hole, numbers,
        precision=precision, preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _transposed_pads(k: int, step: int, padding: str) -> tuple[int, int]:
    if padding == "SAME":
        total = k + step - 2
        low = k - 1 if step > k - 1 else -(-total // 2)
    else:
        total = k + step - 2 + max(k - step, 0)
        low = k - 1
    return low, total - low


def _pick_kernels(n: int, size: int, dtype: Any) -> Value:
    """Return ``n * size`` kernels, each of which picks one of ``size`` elements of a window."""
    rows, columns = (broadcasted_iota("int32", (size, size), d) for d in (0, 1))
    one_hot = convert_element_type(eq(rows, columns), dtype)
    return broadcast_in_dim(one_hot, (n, size, size), (1, 2))


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the windows that a convolution sees, flattened into the feature axis (channel first).

    Args:
        lhs: as in ``conv_general_dilated``.
        filter_shape: sizes of the window.
        window_strides: steps between windows.
        padding: as in ``conv_general_dilated``.
        lhs_dilation: as in ``conv_general_dilated``.
        rhs_dilation: as in ``conv_general_dilated``.
        dimension_numbers: as in ``conv_general_dilated``.
        precision: see ``Precision``.
        preferred_element_type: dtype of the result.

    Raises:
        TypeError, ValueError: shapes or names do not fit.

    Example:
        >>> import numpy as np
        >>> x = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
        >>> conv_general_dilated_patches(x, (2,), (1,), "VALID")
        Array([[[0., 1., 2.],
                [1., 2., 3.]]], dtype=float32)
    """
    x = as_array(lhs, "conv_general_dilated_patches")
    window = _ints(filter_shape)
    numbers = conv_dimension_numbers(x.shape, x.shape, dimension_numbers)
    n = x.shape[numbers.lhs_spec[1]]
    size = math.prod(window)
    kernel = reshape(_pick_kernels(n, size, x.dtype), (n * size, 1, *window))
    where = numbers.rhs_spec
    kernel = transpose(kernel, sorted(range(x.ndim), key=where.__getitem__))
    return conv_general_dilated(
        x, kernel, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
        feature_group_count=n, precision=precision, preferred_element_type=preferred_element_type,
    )  # fmt: skip


def conv_general_dilated_local(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    precision: Any = None,
) -> Value:
    """Return a convolution whose kernel is another one at every output position.

    Args:
        lhs: as in ``conv_general_dilated``.
        rhs: kernels ``T[out feature, in feature * prod(filter_shape), *output spatial]``, in the
            order that ``dimension_numbers`` says.
        window_strides: steps between windows.
        padding: as in ``conv_general_dilated``.
        filter_shape: sizes of the window.
        lhs_dilation: as in ``conv_general_dilated``.
        rhs_dilation: as in ``conv_general_dilated``.
        dimension_numbers: as in ``conv_general_dilated``.
        precision: see ``Precision``.

    Raises:
        TypeError, ValueError: shapes or names do not fit.
    """
    x, kernels = (as_array(v, "conv_general_dilated_local", k) for k, v in enumerate((lhs, rhs)))
    numbers = conv_dimension_numbers(x.shape, kernels.shape, dimension_numbers)
    pair = precision if isinstance(precision, tuple) else (precision, precision)
    patches = conv_general_dilated_patches(
        x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
        precision=pair[0],
    )  # fmt: skip
    _, rhs_spec, out_spec = numbers
    out = dot_general(
        patches,
        kernels,
        (((out_spec[1],), (rhs_spec[1],)), (out_spec[2:], rhs_spec[2:])),
        precision=precision,
    )
    # (*spatial, batch, feature) -> the order of the output
    n = x.ndim - 2
    logical = (n, n + 1, *range(n))
    return transpose(out, tuple(logical[k] for k in sorted(range(n + 2), key=out_spec.__getitem__)))


# --- shapes alone ---


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of ``conv`` for shapes in standard order.

    Example:
        >>> conv_shape_tuple((2, 3, 8, 8), (4, 3, 3, 3), (1, 1), "VALID")
        (2, 4, 6, 6)
    """
    sizes, window = tuple(lhs_shape[2:]), tuple(rhs_shape[2:])
    if isinstance(pads, str):
        pads = padtype_to_pads(sizes, window, strides, pads)
    if len(pads) != len(sizes):
        raise TypeError(
            f"Wrong number of explicit pads for convolution: expected {len(sizes)}, got "
            f"{len(pads)}."
        )
    spatial = output_sizes(sizes, window, _ints(strides), _pads(pads, "conv"))
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *spatial)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """Return the shape of ``conv_general_dilated`` without holes and groups.

    Example:
        >>> names = ("NHWC", "HWIO", "NHWC")
        >>> conv_general_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (1, 1), "SAME", names)
        (2, 8, 8, 4)
    """
    a, b, c = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        [lhs_shape[d] for d in a], [rhs_shape[d] for d in b], window_strides, padding
    )
    return tuple(shape[c.index(d)] for d in range(len(shape)))


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: Sequence[str],
) -> tuple[int, ...]:
    """Return the shape of ``conv_transpose``.

    Example:
        >>> names = ("NHWC", "HWIO", "NHWC")
        >>> conv_transpose_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), "SAME", names)
        (2, 16, 16, 4)
    """
    a, b, c = conv_general_permutations(dimension_numbers)
    lhs, rhs = [lhs_shape[d] for d in a], [rhs_shape[d] for d in b]
    if isinstance(padding, str):
        pads = [_transposed_pads(k, s, padding.upper()) for k, s in zip(rhs[2:], window_strides)]
    else:
        pads = list(_pads(padding, "conv_transpose"))
    sizes = [dilated(n, s) for n, s in zip(lhs[2:], window_strides)]
    shape = conv_shape_tuple([*lhs[:2], *sizes], rhs, (1,) * len(sizes), pads)
    return tuple(shape[c.index(d)] for d in range(len(shape)))
