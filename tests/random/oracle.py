"""Real JAX as the oracle of ``jaxlite.random``: the same call on both, from the same seed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
import pytest

import jaxlite

#: Lengths that no other test uses: JAX's compiled functions, cached by shape, are then this
#: folder's own.
N = 1013


def slow(*values: Any) -> list[Any]:
    """Return parameters for the slow tests: the oracle compiles each of its calls."""
    return [
        pytest.param(*v, marks=pytest.mark.slow)
        if isinstance(v, tuple)
        else pytest.param(v, marks=pytest.mark.slow)
        for v in values
    ]


@contextmanager
def full_jax() -> Iterator[None]:
    """JAX with its optimisations: other tests switch them off, which changes its last digits."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


def both(name: str, *args: Any, seed: int = 5, raw: bool = False, **kwargs: Any) -> tuple[Any, Any]:
    """Return ``random.<name>(key, *args, **kwargs)`` of jaxlite and of JAX."""
    results = []
    for library in (jaxlite, jax):
        key = library.random.PRNGKey(seed) if raw else library.random.key(seed)
        results.append(getattr(library.random, name)(key, *args, **kwargs))
    return results[0], results[1]


def ulps(ours: Any, theirs: Any) -> float:
    """Return the largest difference in units of the last place of ``theirs``."""
    a, b = np.asarray(ours), np.asarray(theirs)
    if not a.size:
        return 0.0
    if np.iscomplexobj(b):
        return max(ulps(a.real, b.real), ulps(a.imag, b.imag))
    same = (a == b) | ((a != a) & (b != b))
    if same.all():
        return 0.0
    if a.dtype.kind in "biu":
        return float("inf")
    difference = np.abs(a.astype(float) - b.astype(float))
    unit = np.spacing(np.abs(b)).astype(float)
    return float(np.max(np.where(same, 0.0, difference / unit)))


def check(
    name: str,
    *args: Any,
    within: float = 0,
    near: float = 0,
    seed: int = 5,
    raw: bool = False,
    **kwargs: Any,
) -> None:
    """Both libraries give the same dtype, shape and numbers.

    ``within``: up to so many units of the last place. ``near``: up to this relative and absolute
        error.
    """
    with full_jax():
        ours, theirs = both(name, *args, seed=seed, raw=raw, **kwargs)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        assert ours.weak_type == theirs.weak_type
        if near:
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=near, atol=near)
        else:
            assert ulps(ours, theirs) <= within, (np.asarray(ours), np.asarray(theirs))


def check_error(name: str, *args: Any, **kwargs: Any) -> None:
    """Both libraries raise the same class, and our first sentence starts with theirs."""
    errors = []
    for library in (jaxlite, jax):
        try:
            getattr(library.random, name)(library.random.key(5), *args, **kwargs)
        except Exception as error:
            errors.append(error)
        else:
            raise AssertionError(f"{library.__name__}.random.{name} accepts {args} {kwargs}")
    ours, theirs = errors
    assert type(theirs).__name__ in [c.__name__ for c in type(ours).__mro__]
    # The oracle shows some sizes as NumPy scalars.
    first = re.sub(r"np\.int64\((\d+)\)", r"\1", str(theirs).splitlines()[0])
    assert str(ours).startswith(first), (str(ours), str(theirs))
