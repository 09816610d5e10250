"""``lax`` products and orders. In: arrays. Out: sums of products, sorted arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.lax.operands import as_array, axis_of
from jaxlite.primitives import arithmetic
from jaxlite.primitives import dot as products
from jaxlite.primitives import sort as sorting
from jaxlite.primitives.dot import Precision
from jaxlite.primitives.dot_algorithms import DotAlgorithm, DotAlgorithmPreset

__all__ = [
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "Precision",
    "PrecisionLike",
    "approx_max_k",
    "approx_min_k",
    "batch_matmul",
    "dot",
    "dot_general",
    "sort",
    "sort_key_val",
    "top_k",
]

DotDimensionNumbers = products.DotDimensionNumbers
#: What ``precision`` may be, for annotations.
PrecisionLike = (
    None
    | str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
)


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return products summed over contracting axes; the batch axes come first.

    Args:
        lhs: ``T[*s]``.
        rhs: ``T[*t]``.
        dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
        precision: accepted; the CPU is always exact.
        preferred_element_type: dtype of the sums and of the result.
        out_sharding: only None (one device).

    Raises:
        TypeError: axes that do not exist or whose lengths differ.

    Example:
        >>> import numpy as np
        >>> dot_general(np.ones((2, 3)), np.ones((3, 4)), (((1,), (0,)), ((), ()))).shape
        (2, 4)
    """
    x, y = as_array(lhs, "dot_general"), as_array(rhs, "dot_general", 1)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.requested_dtype(preferred_element_type, "dot_general")
    (lc, rc), (lb, rb) = dimension_numbers
    numbers = (
        (_axes(lc), _axes(rc)),
        (_axes(lb), _axes(rb)),
    )
    return products.dot_general(x, y, numbers, precision, preferred_element_type)


def _axes(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([operator.index(a) for a in axes])


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the product of vectors and matrices (or what ``dimension_numbers`` say).

    Raises:
        ValueError: other ranks, or lengths that differ, without ``dimension_numbers``.

    Example:
        >>> import numpy as np
        >>> dot(np.float32([1, 2]), np.float32([3, 4]))
        Array(11., dtype=float32)
    """
    x, y = as_array(lhs, "dot"), as_array(rhs, "dot", 1)
    if dimension_numbers is None:
        if not (1 <= x.ndim <= 2 and 1 <= y.ndim <= 2 and x.shape[-1] == y.shape[0]):
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={x.shape} rhs_shape={y.shape}"
            )
        dimension_numbers = (((x.ndim - 1,), (0,)), ((), ()))
    return dot_general(x, y, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Value:
    """Return matrix products: ``T[*b, m, k], T[*b, k, n] -> T[*b, m, n]``."""
    x, y = as_array(lhs, "batch_matmul"), as_array(rhs, "batch_matmul", 1)
    if min(x.ndim, y.ndim) < 2:
        raise ValueError(f"Arguments to batch_matmul must be at least 2D, got {x.ndim}, {y.ndim}")
    if x.ndim != y.ndim:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {x.ndim}, {y.ndim}")
    batch = tuple(range(x.ndim - 2))
    return dot_general(x, y, (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)), precision)


# --- orders ---


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Return ``operand`` in ascending order along an axis; several arrays move together.

    Args:
        operand: an array, or a sequence of arrays of one shape.
        dimension: the axis.
        is_stable: equal keys keep their order.
        num_keys: how many of the arrays are compared, first to last.

    Example:
        >>> import numpy as np
        >>> sort(np.float32([3, 1, 2]))
        Array([1., 2., 3.], dtype=float32)
    """
    if isinstance(operand, list | tuple):
        if len(operand) == 0:
            raise TypeError("Sort requires at least one operand")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(
                f"num_keys={num_keys} must be between 1 and len(operand)={len(operand)}"
            )
        arrays = [as_array(x, "sort", i) for i, x in enumerate(operand)]
        axis = axis_of(dimension, arrays[0].ndim)
        return sorting.sort(arrays, axis, bool(is_stable), num_keys)
    if num_keys != 1:
        raise ValueError(f"num_keys={num_keys} must equal 1 for a single operand.")
    x = as_array(operand, "sort")
    return sorting.sort([x], axis_of(dimension, x.ndim), bool(is_stable), 1)[0]


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Value, Value]:
    """Return ``keys`` in ascending order along an axis and ``values`` moved likewise."""
    sorted_keys, sorted_values = sort((keys, values), dimension, is_stable, 1)
    return sorted_keys, sorted_values


_LAST_INT32 = 2**31 - 1


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Value]:
    """Return the ``k`` greatest elements along ``axis``, descending, and where they were.

    Raises:
        ValueError: ``k`` is negative or larger than the axis.

    Example:
        >>> import numpy as np
        >>> top_k(np.float32([1, 3, 2]), 2)
        [Array([3., 2.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    x = as_array(operand, "top_k")
    if x.ndim == 0:
        raise TypeError("top_k operand must have >= 1 dimension, got ()")
    if max(x.shape) > _LAST_INT32:
        raise ValueError(
            "top_k returns int32 indices, which will overflow for array dimensions larger than the "
            f"maximum int32 ({_LAST_INT32}). Got operand.shape={x.shape}"
        )
    return list(sorting.top_k(x, operator.index(k), axis_of(axis, x.ndim)))


def approx_max_k(
    operand: Array,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Value]:
    """Return the ``k`` greatest elements and their places (exact here)."""
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: Array,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Value]:
    """Return the ``k`` least elements, ascending, and their places (exact here)."""
    x = as_array(operand, "approx_min_k")
    values, places = top_k(arithmetic.neg(x), k, axis=reduction_dimension)
    return [arithmetic.neg(values), places]
