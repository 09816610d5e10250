"""Finite differences against a gradient. In: a function in float64 and gradients. Out: errors.

Central differences in float64: their own error is about 1e-10 of the function's scale, far below
that of a float32 gradient. Large arguments are checked at some of their elements.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.language.array import asarray_eager
from jaxlite.language.dtypes import KeyDType
from jaxlite.settings import enable_x64

__all__ = ["GradientCheck", "check_gradient", "other_value"]

#: Elements of one argument that are checked.
MAX_ELEMENTS = 128
#: Seconds that all checks together may take; what is left then is not checked.
LIMIT_S = 3.0
_STEP = 1e-5
_TOLERANCE = {2: 3e-2, 4: 1e-3, 8: 1e-6}


@dataclass(frozen=True, slots=True)
class GradientCheck:
    """How far the gradient of one argument is from finite differences.

    ``error`` is the largest difference over the scale of the gradient (at least 1), at ``index``,
    where the gradient is ``found`` and the difference quotient ``expected``; ``n_checked`` of
    ``n_elements`` were looked at. ``is_good`` if the error is below what the dtype allows.
    """

    error: float
    index: tuple[int, ...]
    found: float
    expected: float
    n_checked: int
    n_elements: int
    is_good: bool


def check_gradient(
    function: Callable[[Sequence[Any]], Any],
    leaves: Sequence[Any],
    gradients: Mapping[int, np.ndarray[Any, Any]],
    limit_s: float = LIMIT_S,
) -> dict[int, GradientCheck]:
    """Compare gradients with central differences of ``function`` in float64.

    Args:
      function: takes the leaves and returns the scalar that was differentiated.
      leaves: where the gradient was taken.
      gradients: for the number of a leaf the gradient with respect to it; complex ones are left
        out.
      limit_s: when to stop.

    >>> import jaxlite.numpy as jnp
    >>> x = np.array([1.0, 2.0], np.float32)
    >>> check_gradient(lambda v: jnp.sum(v[0] ** 3), [x], {0: 3 * x**2})[0].is_good
    True
    """
    checks: dict[int, GradientCheck] = {}
    deadline = time.perf_counter() + limit_s
    with enable_x64(True):
        wide = [_widened(x) for x in leaves]
        for number, gradient in gradients.items():
            if gradient.dtype.kind == "c" or not gradient.size:
                continue
            check = _check_one(function, wide, number, gradient, deadline)
            if check is not None:
                checks[number] = check
    return checks


def other_value(
    function: Callable[[Sequence[Any]], Any], leaves: Sequence[Any], value: float
) -> float | None:
    """Return the function's value in float64 if it is not ``value``, so that no check makes sense.

    Random numbers of the default dtype are others in float64.

    >>> other_value(lambda v: v[0] * 2.0, [np.float32(1.5)], 3.0) is None
    True
    """
    with enable_x64(True):
        found = float(np.asarray(function([_widened(x) for x in leaves])))
    is_same = np.allclose(found, value, rtol=2e-2, atol=1e-3, equal_nan=True)
    return None if is_same else found


def _widened(leaf: Any) -> Any:
    array = asarray_eager(leaf)
    if isinstance(array.aval.dtype, KeyDType):
        return leaf
    data = np.asarray(array)
    is_float = data.dtype.kind == "f" or data.dtype.name in ("bfloat16", "float16")
    return asarray_eager(data.astype(np.float64)) if is_float else leaf


def _check_one(
    function: Callable[[Sequence[Any]], Any],
    leaves: Sequence[Any],
    number: int,
    gradient: np.ndarray[Any, Any],
    deadline: float,
) -> GradientCheck | None:
    """Return the worst element of one argument (None: no time for any)."""
    base = np.asarray(leaves[number])
    places = _places(gradient)
    found, expected = [], []
    for place in places:
        if time.perf_counter() > deadline:
            break
        step = _STEP * max(1.0, abs(float(base.flat[place])))
        ends = []
        for sign in (1.0, -1.0):
            moved = base.copy()
            moved.flat[place] += sign * step
            ends.append((float(moved.flat[place]), _call(function, leaves, number, moved)))
        (high, y1), (low, y0) = ends
        expected.append((y1 - y0) / (high - low))
        found.append(float(gradient.flat[place]))
    if not found:
        return None
    scale = max(1.0, float(np.nanmax(np.abs(expected))) if np.isfinite(expected).any() else 1.0)
    errors = np.abs(np.subtract(found, expected)) / scale
    errors[~np.isfinite(errors)] = np.inf
    worst = int(np.argmax(errors))
    index = tuple(int(i) for i in np.unravel_index(places[worst], gradient.shape))
    error = float(errors[worst])
    allowed = _TOLERANCE.get(gradient.dtype.itemsize, 1e-3)
    return GradientCheck(
        error, index, found[worst], expected[worst], len(found), gradient.size, error <= allowed
    )


def _call(
    function: Callable[[Sequence[Any]], Any], leaves: Sequence[Any], number: int, moved: Any
) -> float:
    given = [asarray_eager(moved) if k == number else x for k, x in enumerate(leaves)]
    return float(np.asarray(function(given)))


def _places(gradient: np.ndarray[Any, Any]) -> list[int]:
    """Return the elements to look at: all, or some at equal distances and the largest ones."""
    if gradient.size <= MAX_ELEMENTS:
        return list(range(gradient.size))
    spread = np.linspace(0, gradient.size - 1, MAX_ELEMENTS - 8).astype(int)
    largest = np.argsort(-np.abs(gradient.astype(np.float64)).ravel())[:8]
    return list(dict.fromkeys([*largest.tolist(), *spread.tolist()]))
