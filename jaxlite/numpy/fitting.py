"""``jaxlite.numpy.polyfit``. In: points. Out: the coefficients of the closest polynomial."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.numpy import reductions, ufuncs
from jaxlite.numpy.products import outer
from jaxlite.numpy.promotion import as_operand, check_arraylike, promote_all_inexact
from jaxlite.numpy.ranges import vander
from jaxlite.numpy.solving import inv, lstsq


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """Return the coefficients of the polynomial closest to points, the highest power first.

    Args:
        x: ``T[n]``.
        y: ``U[n]``, or ``U[n, k]`` for k polynomials.
        deg: degree.
        rcond: singular values below this times the largest count as zero; None: n roundings.
        full: also return residuals, rank, singular values and ``rcond``.
        w: weights ``V[n]`` of the distances.
        cov: also return the covariance matrix; "unscaled": without the residuals' factor.

    Raises:
        TypeError: shapes that do not fit.
        ValueError: a negative degree, or too few points for ``cov``.

    Example:
        >>> polyfit(np.float32([0, 1, 2]), np.float32([1, 3, 5]), 1).round(3)
        Array([2., 1.], dtype=float32)
    """
    check_arraylike("polyfit", x, y)
    if w is not None:
        check_arraylike("polyfit", w)
    points, values = promote_all_inexact("polyfit", x, y)
    deg = int(deg)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if points.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if points.size == 0:
        raise TypeError("expected non-empty vector for x")
    if values.ndim < 1 or values.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if points.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    n = len(points)
    if rcond is None:
        rcond = n * float(dtypes.finfo(points.dtype).eps)
    powers, targets = vander(points, deg + 1), values
    if w is not None:
        powers, targets = _weighted(w, powers, targets)
    scale = ufuncs.sqrt(reductions.sum(powers * powers, 0))
    powers = powers / scale[None, :]
    found, residuals, rank, singular = lstsq(powers, targets, rcond)
    coefficients = found / (scale if found.ndim == 1 else scale[:, None])
    if full:
        return coefficients, residuals, rank, singular, as_operand("polyfit", rcond)
    if not cov:
        return coefficients
    base = inv(powers.T @ powers) / outer(scale, scale)
    factor = 1 if cov == "unscaled" else _variance(residuals, n, deg + 1)
    return coefficients, base * factor if values.ndim == 1 else base[:, :, None] * factor


def _weighted(w: Any, powers: Value, targets: Value) -> tuple[Value, Value]:
    (weights,) = promote_all_inexact("polyfit", w)
    if weights.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if weights.shape[0] != targets.shape[0]:
        raise TypeError("expected w and y to have the same length")
    column = weights[:, None]
    return powers * column, targets * (weights if targets.ndim == 1 else column)


def _variance(residuals: Value, n: int, order: int) -> Value:
    if n <= order:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    return residuals / np.asarray(n - order, residuals.dtype)


__all__ = ["polyfit"]
