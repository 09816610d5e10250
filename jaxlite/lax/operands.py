"""Operands of ``lax`` functions. In: arrays, tracers, NumPy values, Python numbers.

Out: arrays or tracers.

``lax`` promotes nothing; it turns Python numbers into weakly typed scalars and lets a scalar, or
an axis of length 1, stand beside arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, ArrayImpl, Value, asarray_eager
from jaxlite.language.avals import ShapedArray
from jaxlite.primitives import shape as shape_primitives

__all__ = [
    "as_array", "axes_of", "axis_of", "broadcast_operands", "constant", "is_array_like",
    "shape_of",
]  # fmt: skip

_PYTHON_NUMBERS = (bool, int, float, complex)
_ACCEPTED = (Array, np.ndarray, np.generic, *_PYTHON_NUMBERS)

_COMPLEX = (complex, np.complexfloating)

_constants: dict[Any, ArrayImpl] = {}
_MAX_CONSTANTS = 2048


def is_array_like(x: Any) -> bool:
    """Say whether ``x`` is an array, a tracer, a NumPy value or a Python number."""
    return isinstance(x, _ACCEPTED) or hasattr(x, "__jax_array__")


def _is_own_key(value: Any) -> bool:
    """Say whether no other number is equal to ``value``: 0.0 and -0.0 are, in each part."""
    if value:
        return True
    return not isinstance(value, _COMPLEX) and math.copysign(1.0, value) > 0


def constant(value: Any, dtype: Any, weak_type: bool = False) -> ArrayImpl:
    """Return a Python number as a scalar array of ``dtype``; frequent ones are shared."""
    key = (value, dtype, weak_type)
    found = _constants.get(key)
    if found is not None and _is_own_key(value):
        return found
    if type(value) is int and dtypes.kind_of(dtype) in "iu":
        dtypes.check_python_int(value, dtype)
    data = np.array(value, dtype=dtype)
    out = ArrayImpl(data, ShapedArray((), dtype, weak_type))
    if type(value) in (int, float) and value == value and _is_own_key(value):
        if len(_constants) >= _MAX_CONSTANTS:
            _constants.clear()
        _constants[key] = out
    return out


def as_array(x: Any, name: str = "lax", position: int = 0) -> Value:
    """Return ``x`` as an array or tracer; Python numbers become weakly typed scalars.

    Raises:
        TypeError: ``x`` is a list, None, a string or another object that is no array.
    """
    if isinstance(x, Array):
        return x
    kind = type(x)
    if kind is int or kind is float:
        return constant(x, dtypes.default_dtype(kind), True)
    if isinstance(x, _ACCEPTED):
        check_numeric(x)
        return asarray_eager(x)
    if hasattr(x, "__jax_array__"):
        return as_array(x.__jax_array__(), name, position)
    raise TypeError(
        f"Error interpreting argument to {name} as a JAX value. The problematic value is of type "
        f"{kind} and was passed to {name} at position {position}.\n"
        "  Fix: make an array of it first, jnp.asarray(value)."
    )


def shape_of(x: Any) -> tuple[int, ...]:
    """Return the lengths of the axes of anything that can be made an array."""
    own = getattr(x, "shape", None)
    if own is not None:
        return tuple(own)
    if hasattr(x, "__jax_array__"):
        return shape_of(x.__jax_array__())
    return tuple(np.shape(x))


def check_numeric(x: Any) -> None:
    """Raise TypeError for NumPy values of strings, objects, dates."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None and dtypes.kind_of(dtype) not in "biufck0":
        raise TypeError(
            f"Value {x!r} with dtype {dtype} is not a valid JAX array type. "
            "Only arrays of numeric types are supported by JAX."
        )


def broadcast_operands(name: str, *operands: Any) -> list[Value]:
    """Return operands of one shape: axes of length 1 are repeated, scalars left to the primitive.

    Raises:
        TypeError: different numbers of axes, or lengths that differ and are not 1.
    """
    arrays = [as_array(x, name, i) for i, x in enumerate(operands)]
    shapes = {a.aval.shape for a in arrays}
    shapes.discard(())
    if len(shapes) <= 1:
        return arrays
    ranks = {len(s) for s in shapes}
    if len(ranks) > 1:
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got {ranks}")
    full = tuple(_joined_length(name, lengths, arrays) for lengths in zip(*shapes, strict=True))
    axes = tuple(range(len(full)))
    return [
        a if a.aval.shape in ((), full) else shape_primitives.broadcast_in_dim(a, full, axes)
        for a in arrays
    ]


def _joined_length(name: str, lengths: Sequence[int], arrays: Sequence[Any]) -> int:
    distinct = {n for n in lengths if n != 1}
    if len(distinct) > 1:
        listed = ", ".join(str(a.aval.shape) for a in arrays)
        raise TypeError(f"{name} got incompatible shapes for broadcasting: {listed}.")
    return distinct.pop() if distinct else 1


def axis_of(axis: Any, rank: int, name: str = "axis") -> int:
    """Return ``axis`` counted from the front; ValueError if it is out of bounds."""
    index = axis.__index__()
    if not -rank <= index < rank:
        raise ValueError(f"{name} {index} is out of bounds for array of dimension {rank}")
    return int(index % rank) if rank else 0


def axes_of(axes: Any, rank: int) -> tuple[int, ...]:
    """Return an axis or a sequence of axes, counted from the front."""
    if hasattr(axes, "__index__"):
        return (axis_of(axes, rank),)
    return tuple(axis_of(axis, rank) for axis in axes)
