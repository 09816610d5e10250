"""Fewer shapes. In: arrays of many lengths. Out: arrays of a few lengths, and a mask."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jaxlite.language.array import Array, asarray_eager, from_numpy
from jaxlite.primitives.joining import pad

__all__ = ["bucket", "pad_batch"]


def bucket(n: int, minimum: int = 1) -> int:
    """Return the smallest power of two that is at least ``n`` and ``minimum``.

    Padding to ``bucket(n)`` instead of ``n`` leaves a handful of shapes to compile.

    Raises:
      ValueError: ``n`` is negative.

    >>> [bucket(n) for n in (1, 3, 64, 65)]
    [1, 4, 64, 128]
    """
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"bucket needs a length, got {n}\n  Fix: bucket(len(x)).")
    return 1 << (max(n, minimum, 1) - 1).bit_length()


def pad_batch(*arrays: Any, to: int, axis: int = 0) -> tuple[Any, ...]:
    """Pad arrays of one batch with zeros, so that a short last batch compiles nothing new.

    Args:
      arrays: arrays of equal length n along ``axis``; NumPy arrays give NumPy arrays.
      to: the length wanted.
      axis: the axis to lengthen.

    Returns:
      The padded arrays, and last ``mask``: bool[to], true for the rows that were there. Weight by
      it what sums or averages over the batch.

    Raises:
      ValueError: the lengths differ, or are larger than ``to``.

    >>> import numpy as np
    >>> x, mask = pad_batch(np.ones((2, 3)), to=4)
    >>> x.shape, mask.tolist()
    ((4, 3), [True, True, False, False])
    """
    if not arrays:
        raise ValueError("pad_batch needs at least one array\n  Fix: pad_batch(x, y, to=64).")
    values = [x if isinstance(x, Array | np.ndarray) else asarray_eager(x) for x in arrays]
    for i, x in enumerate(values):
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(f"pad_batch: array {i} with shape {x.shape} has no axis {axis}")
    lengths = [x.shape[axis] for x in values]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"pad_batch: the arrays have different lengths along axis {axis}: {lengths}\n"
            "  Fix: pad arrays of one batch only."
        )
    n, to = lengths[0], operator.index(to)
    if n > to:
        raise ValueError(
            f"pad_batch: cannot pad length {n} to {to}\n"
            f"  Fix: to={bucket(n)}, or to=jaxlite.bucket(n) for the next power of two."
        )
    return (*[_padded(x, axis % x.ndim, to - n) for x in values], from_numpy(np.arange(to) < n))


def _padded(x: Any, axis: int, more: int) -> Any:
    if not more:
        return x
    if isinstance(x, np.ndarray):
        return np.pad(x, [(0, more if i == axis else 0) for i in range(x.ndim)])
    config = tuple([(0, more if i == axis else 0, 0) for i in range(x.ndim)])
    zero = from_numpy(np.zeros((), x.dtype))
    return pad(x, zero, padding_config=config)
