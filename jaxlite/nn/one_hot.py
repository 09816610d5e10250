"""One-hot encoding. In: class indices. Out: arrays with one more axis, 1 at each index, else 0."""

from __future__ import annotations

import operator
from typing import Any

from jaxlite import errors, lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.trace import is_concrete

__all__ = ["one_hot"]


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int = -1) -> Value:
    """Return the one-hot encoding of the indices ``x``; indices out of range give zeros.

    Args:
        x: indices, an array of any shape or a list.
        num_classes: length of the new axis.
        dtype: type of the result, float32 by default.
        axis: where the new axis goes.

    Raises:
        ValueError: no such ``axis``.
        ConcretizationTypeError: ``num_classes`` is traced.

    Example:
        >>> one_hot(jnp.array([0, 2, 5]), 3)
        Array([[1., 0., 0.],
               [0., 0., 1.],
               [0., 0., 0.]], dtype=float32)
    """
    if isinstance(num_classes, Array) and not is_concrete(num_classes):
        raise errors.ConcretizationTypeError(
            num_classes, "The error arose in jax.nn.one_hot argument `num_classes`."
        )
    num_classes = operator.index(num_classes)
    x = jnp.asarray(x)
    dtype = (
        dtypes.default_dtype(float) if dtype is None else dtypes.requested_dtype(dtype, "one_hot")
    )
    ndim = x.ndim + 1
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    axis %= ndim
    classes_shape = tuple(num_classes if i == axis else 1 for i in range(ndim))
    classes = lax.broadcasted_iota(x.dtype, classes_shape, axis)
    return (jnp.expand_dims(x, axis) == classes).astype(dtype)
