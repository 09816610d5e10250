"""``jaxlite.scipy.cluster.vq``: nearest codes. In: observations, codes. Out: indices, distances."""

from __future__ import annotations

from typing import Any

from jaxlite import numpy as jnp
from jaxlite.language.array import Value
from jaxlite.numpy.promotion import check_arraylike, promote_all_inexact

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Value, Value]:
    """Return for each observation the index of the nearest code and its distance.

    Args:
        obs: ``T[n, d]`` (or ``T[n]``: numbers).
        code_book: ``T[k, d]`` (or ``T[k]``).
        check_finite: has no effect.

    Returns:
        ``i32[n]`` and ``T[n]``.

    Raises:
        ValueError: arguments of different or other ranks.

    Example:
        >>> vq(jnp.array([1.0, 9.0]), jnp.array([0.0, 10.0]))
        (Array([0, 1], dtype=int32), Array([1., 1.], dtype=float32))
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    if jnp.ndim(obs) != jnp.ndim(code_book):
        raise ValueError("Observation and code_book should have the same rank")
    points, codes = promote_all_inexact("vq", obs, code_book)
    if points.ndim == 1:
        points, codes = points[:, None], codes[:, None]
    if points.ndim != 2:
        raise ValueError("ndim different than 1 or 2 are not supported")
    distances = jnp.linalg.norm(points[:, None, :] - codes[None, :, :], axis=-1)
    code = jnp.argmin(distances, axis=-1)
    return code, jnp.take_along_axis(distances, code[:, None], axis=-1)[:, 0]
