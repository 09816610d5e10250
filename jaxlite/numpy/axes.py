"""Axis arguments. In: an int, a tuple of ints, or None. Out: axes counted from the front."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["AxisError", "axes_tuple", "canonical_axis", "check_no_out"]


class AxisError(ValueError, IndexError):
    """An axis that the array does not have (JAX raises either class, depending on the function)."""


def canonical_axis(axis: Any, rank: int) -> int:
    """Return ``axis`` counted from the front; ValueError if it is out of bounds."""
    index = operator.index(axis)
    if not -rank <= index < rank:
        raise AxisError(f"axis {index} is out of bounds for array of dimension {rank}")
    return index + rank if index < 0 else index


def axes_tuple(axis: Any, rank: int) -> tuple[int, ...]:
    """Return the axes of a reduction, ascending; None means all of them.

    Raises:
        ValueError: an axis that does not exist or appears twice.
        TypeError: something that is no integer.
    """
    if axis is None:
        return tuple(range(rank))
    if hasattr(axis, "__index__"):
        return (canonical_axis(axis, rank),)
    axes = tuple([canonical_axis(a, rank) for a in axis])
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {tuple(axis)}")
    return tuple(sorted(axes))


def check_no_out(name: str, out: Any) -> None:
    """Raise NotImplementedError for NumPy's ``out`` argument: arrays cannot be written."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported.")
