"""``jaxlite.scipy.interpolate``: values between the points of a grid. In: samples. Out: values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value

__all__ = ["RegularGridInterpolator"]


class RegularGridInterpolator:
    """Function given by its values on a grid of straight lines.

    Args:
        points: one vector of ascending places per axis.
        values: ``T[n0, n1, ..., *rest]``: values at the grid's points.
        method: "linear" or "nearest".
        bounds_error: False.
        fill_value: value outside of the grid; None goes on straight.

    Raises:
        ValueError: an unknown method, shapes that do not fit.
        NotImplementedError: ``bounds_error=True``.

    Example:
        >>> f = RegularGridInterpolator((jnp.arange(3.0),), jnp.array([0.0, 10.0, 30.0]))
        >>> f(jnp.array([[0.5], [1.5]]))
        Array([ 5., 20.], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        if method not in ("linear", "nearest"):
            raise ValueError(f"method {method!r} is not defined")
        self.method = method
        self.bounds_error = bounds_error
        if self.bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT")
        values = jnp.asarray(values)
        if len(points) > values.ndim:
            raise ValueError(
                f"there are {len(points)} point arrays, but values has {values.ndim} dimensions"
            )
        if not dtypes.issubdtype(values.dtype, jnp.inexact):
            values = values.astype(dtypes.to_inexact_dtype(values.dtype))
        if fill_value is not None:
            fill_value = jnp.asarray(fill_value)
            is_complex = dtypes.issubdtype(fill_value.dtype, jnp.complexfloating)
            if is_complex and not dtypes.issubdtype(values.dtype, jnp.complexfloating):
                raise ValueError(
                    "fill_value must be either 'None' or of a type compatible with values"
                )
        self.fill_value = fill_value
        self.grid = tuple(jnp.asarray(p) for p in points)
        for axis, places in enumerate(self.grid):
            if places.ndim != 1:
                raise ValueError(f"the points in dimension {axis} must be 1-dimensional")
            if places.shape[0] != values.shape[axis]:
                raise ValueError(
                    f"there are {places.shape[0]} points and {values.shape[axis]} values in "
                    f"dimension {axis}"
                )
        self.values = values

    def __call__(self, xi: Any, method: str | None = None) -> Value:
        """Return values at ``xi: T[*s, n_axes]`` (or a tuple of arrays, one per axis)."""
        method = self.method if method is None else method
        if method not in ("linear", "nearest"):
            raise ValueError(f"method {method!r} is not defined")
        n_axes = len(self.grid)
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*xi), axis=-1)
        where = jnp.asarray(xi)
        if where.ndim == 1 and n_axes == 1:
            where = where[:, None]
        if where.shape[-1] != n_axes:
            raise ValueError(
                f"the requested sample points xi have dimension {where.shape[-1]}, but this "
                f"RegularGridInterpolator has dimension {n_axes}"
            )
        flat = where.reshape(-1, n_axes)
        below, fractions, is_outside = self._cells(flat)
        if method == "linear":
            out = self._linear(below, fractions)
        else:
            nearest = [jnp.where(t <= 0.5, i, i + 1) for i, t in zip(below, fractions)]
            out = self.values[tuple(nearest)]
        if self.fill_value is not None:
            outside = is_outside.reshape(is_outside.shape + (1,) * (out.ndim - 1))
            out = jnp.where(outside, self.fill_value, out)
        return out.reshape(where.shape[:-1] + self.values.shape[n_axes:])

    def _cells(self, flat: Value) -> tuple[list[Value], list[Value], Value]:
        """Return each point's cell, its place in the cell, and whether it is off the grid."""
        below, fractions = [], []
        is_outside: Any = jnp.zeros(flat.shape[0], bool)
        for axis, places in enumerate(self.grid):
            x = flat[:, axis]
            size = places.shape[0]
            i = jnp.clip(jnp.searchsorted(places, x) - 1, 0, max(size - 2, 0))
            width = places[jnp.minimum(i + 1, size - 1)] - places[i]
            safe = jnp.where(width == 0, 1, width)
            fractions.append(jnp.where(width == 0, 0, (x - places[i]) / safe))
            below.append(i)
            is_outside = is_outside | (x < places[0]) | (x > places[-1])
        return below, fractions, is_outside

    def _linear(self, below: list[Value], fractions: list[Value]) -> Value:
        trailing = (1,) * (self.values.ndim - len(self.grid))
        out: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(below)):
            index = tuple(i + step for i, step in zip(below, corner))
            weight: Any = 1.0
            for fraction, step in zip(fractions, corner):
                weight = weight * (fraction if step else 1 - fraction)
            out = out + self.values[index] * jnp.reshape(weight, jnp.shape(weight) + trailing)
        return out
