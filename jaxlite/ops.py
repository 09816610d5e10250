"""Segment reductions, as in ``jax.ops``. In: rows and the number of the segment of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.primitives.reduction import extreme

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def _segments(method: str, word: str, start: Callable[[Any], Any]) -> Callable[..., Value]:
    name = f"segment_{word}"

    def function(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        rows, ids = jnp.asarray(data), jnp.asarray(segment_ids)
        if num_segments is None:
            num_segments = int(jnp.max(ids)) + 1 if ids.size else 0
        if num_segments < 0:
            raise ValueError("num_segments must be non-negative.")
        out = jnp.full((num_segments, *rows.shape[1:]), start(rows.dtype), rows.dtype)
        place = out.at[ids]
        return getattr(place, method)(
            rows,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            wrap_negative_indices=False,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return the {word} of the rows of every segment: ``T[n, *s] -> T[k, *s]``.

    Args:
        data: ``T[n, *s]``.
        segment_ids: ``i32[n]``, the segment of each row; rows of no segment are left out.
        num_segments: ``k``; from the greatest id if not given (not while tracing).
        indices_are_sorted: accepted.
        unique_indices: accepted.
        bucket_size: accepted.
        mode: of indices out of bounds, as for ``.at``.
        out_sharding: only None (one device).

    Raises:
        ValueError: a negative ``num_segments``.

    Example:
        >>> {name}(jnp.array([5, 1, 2]), jnp.array([0, 1, 1]), 2).shape
        (2,)
    """
    return function


segment_sum = _segments("add", "sum", lambda dt: 0)
segment_prod = _segments("multiply", "prod", lambda dt: 1)
segment_max = _segments("max", "max", lambda dt: extreme(dt, -1))
segment_min = _segments("min", "min", lambda dt: extreme(dt, 1))
