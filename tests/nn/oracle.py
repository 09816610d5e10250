"""Real JAX as the oracle of ``jaxlite.nn``: the same call on both."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import jaxlite

#: Largest error relative to the largest of |expected| and 1, by dtype.
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 2e-6, "complex64": 2e-6}


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of ``call``, or the exception it raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the oracle's NumPy casts of inf and nan
            return call()
    except Exception as error:
        return error


def check(
    call: Callable[[Any], Any], *args: Any, tolerance: float | None = None, weak: bool = True
) -> None:
    """``call(library, *args)`` gives the same on both: type, shape, numbers, or error."""
    ours = outcome(lambda: call(jaxlite, *args))
    theirs = outcome(lambda: call(jax, *args))
    if isinstance(theirs, Exception):
        check_same_error(ours, theirs)
        return
    if isinstance(ours, Exception):
        raise ours
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert not weak or ours.weak_type == theirs.weak_type
    check_close(np.asarray(ours), np.asarray(theirs), tolerance)


def check_same_error(ours: Any, theirs: Exception) -> None:
    assert isinstance(ours, Exception), f"the oracle raises {theirs!r}, we return {ours}"
    assert type(theirs).__name__ in [c.__name__ for c in type(ours).__mro__]
    words = re.split(r"[\[(.]", str(theirs).splitlines()[0])[0]
    assert str(ours).startswith(words), (str(ours), str(theirs))


def check_close(ours: Any, theirs: Any, tolerance: float | None = None) -> None:
    tolerance = TOLERANCE.get(theirs.dtype.name, 0) if tolerance is None else tolerance
    kind = np.complex128 if theirs.dtype.kind == "c" else np.float64
    ours, theirs = ours.astype(kind), theirs.astype(kind)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
