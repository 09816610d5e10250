"""``jaxlite.scipy.ndimage``: values of images between their pixels. In: images. Out: samples."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value

__all__ = ["map_coordinates"]


def _mirror(index: Value, size: int) -> Value:
    """Return places reflected about the centres of the edge pixels: abc|bab."""
    turn = max(2 * size - 2, 1)
    return abs((index + (size - 1)) % turn - (size - 1)) if size > 1 else 0 * index


def _reflect(index: Value, size: int) -> Value:
    """Return places reflected about the outer sides of the edge pixels: abc|cba."""
    return _mirror(2 * index + 1, 2 * size + 1) // 2


_MODES: dict[str, Callable[[Value, int], Value]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    "reflect": _reflect,
}


def _rounded(x: Value) -> Value:
    """Return ``x`` rounded, halves away from 0."""
    if not dtypes.issubdtype(x.dtype, jnp.floating):
        return x
    return jnp.where(x >= 0, jnp.floor(x + 0.5), jnp.ceil(x - 0.5))


def _neighbours(place: Value, order: int) -> list[tuple[Value, Any]]:
    """Return (index, weight) of the pixels around ``place`` on one axis."""
    if order == 0:
        return [(_rounded(place).astype(jnp.int32), 1)]
    below = jnp.floor(place)
    weight = place - below
    index = below.astype(jnp.int32)
    return [(index, 1 - weight), (index + 1, weight)]


def map_coordinates(
    input: Any,
    coordinates: Sequence[Any],
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Value:
    """Return values of ``input`` at ``coordinates``.

    Args:
        input: ``T[*s]``.
        coordinates: one array of places per axis of ``input``; they broadcast.
        order: 0 takes the nearest pixel, 1 goes on straight lines between pixels.
        mode: what lies outside: "constant" (``cval``), "nearest", "mirror", "reflect", "wrap".
        cval: value outside for "constant".

    Returns:
        Array of the shape of the coordinates and the dtype of ``input``.

    Raises:
        NotImplementedError: another order or mode.
        ValueError: another number of coordinates than axes.

    Example:
        >>> map_coordinates(jnp.array([0.0, 10.0, 30.0]), [jnp.array([0.5, 1.5])], order=1)
        Array([ 5., 20.], dtype=float32)
    """
    image = jnp.asarray(input)
    places = [jnp.asarray(c) for c in coordinates]
    outside = jnp.asarray(cval, image.dtype)
    if len(places) != image.ndim:
        raise ValueError(
            "coordinates must be a sequence of length input.ndim, but "
            f"{len(places)} != {image.ndim}"
        )
    if mode not in _MODES:
        raise NotImplementedError(
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. "
            f"Currently supported modes are {set(_MODES)}."
        )
    if order not in (0, 1):
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1")
    axes = [
        [(_MODES[mode](i, size), (i >= 0) & (i < size), w) for i, w in _neighbours(place, order)]
        for place, size in zip(places, image.shape)
    ]
    terms = []
    for corner in itertools.product(*axes):
        index, inside, weights = zip(*corner) if corner else ((), (), ())
        value = image[tuple(index)]
        if mode == "constant" and inside:
            is_inside = functools.reduce(operator.and_, inside)
            value = jnp.where(is_inside, value, outside)
        terms.append(functools.reduce(operator.mul, weights, value))
    total = functools.reduce(operator.add, terms)
    if dtypes.issubdtype(image.dtype, jnp.integer):
        total = _rounded(total)
    return total.astype(image.dtype)
