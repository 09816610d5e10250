"""What the distributions share. In: arguments. Out: floats of one dtype that broadcast."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.numpy.promotion import promote_all_inexact

__all__ = ["floats", "inside"]


def floats(name: str, *args: Any) -> list[Value]:
    """Return arguments as floats of one dtype and one rank; TypeError if one is no array."""
    values = promote_all_inexact(name, *args)
    rank = max(v.ndim for v in values)
    return [
        v if v.ndim in (0, rank) else v.reshape((1,) * (rank - v.ndim) + v.shape) for v in values
    ]


def inside(condition: Any, value: Value, outside: Any) -> Value:
    """Return ``value`` where ``condition`` holds, else the number ``outside``, in value's dtype."""
    return jnp.where(condition, value, jnp.asarray(outside, dtype=value.dtype))
