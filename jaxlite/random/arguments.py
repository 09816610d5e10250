"""Arguments of the distributions. In: what the user wrote. Out: dtypes, shapes, arrays; errors.

A distribution's ``shape`` is the shape of the whole result; its parameters broadcast to it.
``None`` means "the shape that the parameters have together".
"""

from __future__ import annotations

from typing import Any

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.avals import Shape, canonical_shape

__all__ = [
    "check_one_device",
    "choose_dtype",
    "choose_shape",
    "plain_shape",
    "require_array",
    "to_float",
]

_KIND_WORDS = {"f": "a float", "fc": "a float or complex", "iu": "an int", "u": "an unsigned int"}


def choose_dtype(dtype: Any, name: str, kinds: str = "f") -> Any:
    """Return the canonical dtype of the samples of ``name``; None is the default float or int.

    Raises:
        ValueError: the dtype is of another kind than ``kinds`` allows ("f", "fc", "iu" or "u").
    """
    if dtype is None:
        if kinds == "u":
            return dtypes.canonicalize_dtype("uint64")
        return dtypes.default_dtype(int if kinds == "iu" else float)
    wanted = dtypes.as_dtype(dtype)
    if dtypes.kind_of(wanted) not in kinds:
        raise ValueError(
            f"dtype argument to `{name}` must be {_KIND_WORDS[kinds]} dtype, "
            f"got {dtypes.name_of(dtypes.requested_dtype(dtype, name))}"
        )
    return dtypes.requested_dtype(dtype, name)


def plain_shape(shape: Any) -> Shape:
    """Return ``shape`` (an int or a sequence of ints) as a tuple.

    Raises:
        TypeError: a size is no integer, or is traced.
        ValueError: a size is negative.
    """
    if shape is None:
        raise TypeError(
            "'NoneType' object is not iterable\n  Fix: give a shape, () for one sample."
        )
    sizes = canonical_shape(shape)
    if any(size < 0 for size in sizes):
        raise ValueError(f"shape must have non-negative sizes, got {sizes}.")
    return sizes


def choose_shape(name: str, shape: Any, *parameter_shapes: Shape) -> Shape:
    """Return the shape of the samples: ``shape``, or that of the parameters if it is None.

    Raises:
        ValueError: the parameters do not broadcast to ``shape``.
    """
    if shape is None:
        return tuple(lax.broadcast_shapes(*parameter_shapes))
    wanted = plain_shape(shape)
    together = tuple(lax.broadcast_shapes(wanted, *parameter_shapes))
    if together != wanted:
        raise ValueError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the "
            f"result of broadcasting the shapes must equal the shape argument, but got result "
            f"{together} for shape argument {wanted}."
        )
    return wanted


def require_array(x: Any, name: str, position: int = 0) -> Value:
    """Return ``x`` as an array; TypeError in JAX's words if it is a list or something else."""
    if isinstance(x, Array):
        return x
    if isinstance(x, (list, tuple)) or not (
        hasattr(x, "dtype") or isinstance(x, (int, float, complex))
    ):
        raise TypeError(
            f"{name} requires ndarray or scalar arguments, got {type(x)} at position {position}."
            "\n  Fix: wrap it in jnp.array(...)."
        )
    return jnp.asarray(x)


def to_float(x: Any, dtype: Any, name: str, position: int = 0) -> Value:
    """Return the parameter ``x`` as an array of ``dtype`` (not weak)."""
    return lax.convert_element_type(require_array(x, name, position), dtype)


def check_one_device(out_sharding: Any, name: str) -> None:
    """Refuse a sharding: arrays of jaxlite live on one device.

    Raises:
        NotImplementedError: ``out_sharding`` is not None.
    """
    if out_sharding is not None:
        raise NotImplementedError(
            f"{name}: out_sharding={out_sharding!r} is not supported; "
            "jaxlite places arrays on one device.\n"
            "  Fix: leave out_sharding out."
        )
