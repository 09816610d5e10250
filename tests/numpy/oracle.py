"""The same expression under jaxlite and under real JAX. In: Python source.

Out: nothing, or an AssertionError.

An expression is written once and evaluated twice: with ``jax``, ``jnp`` and ``lax`` bound to our
modules and to JAX's, and with the same sample arrays. Values, dtypes, weak types, shapes and
containers must agree; where JAX raises, the class and the first sentence must.
"""

from __future__ import annotations

import functools
import re
import warnings
from typing import Any

import jax
import jax.lax
import jax.numpy
import ml_dtypes
import numpy as np

import jaxlite
import jaxlite.lax
import jaxlite.numpy

jax.config.update(
    "jax_disable_most_optimizations", True
)  # the oracle may be slow, not its compiler

#: Largest relative error of a result that both compute in this dtype.
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 5e-6,
    "float64": 1e-12,
    "complex64": 2e-5,
    "complex128": 1e-12,
}

_rng = np.random.default_rng(0)
SAMPLES: dict[str, Any] = {
    "x": np.arange(12, dtype=np.float32).reshape(3, 4),
    "r": _rng.normal(size=(3, 4)).astype(np.float32),
    "t": _rng.normal(size=(2, 3, 4)).astype(np.float32),
    "v": np.float32([0.5, -1.25, 2.0, 3.75]),
    "w": np.float32([1.5, 0.25, -2.0, 0.75]),
    "special": np.float32([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -2.5]),
    "i": np.arange(3, dtype=np.int32),
    "j": np.int32([7, -7, 5, -3]),
    "k": np.int32([2, 2, -3, -3]),
    "i8": np.int8([-128, -1, 0, 127]),
    "u8": np.uint8([0, 1, 200, 255]),
    "b": np.array([True, False, True]),
    "bb": np.array(
        [[True, False, True, True], [False, False, True, False], [True, True, True, True]]
    ),
    "c": np.complex64([1 + 2j, -3j, 0, -1.5 + 0.5j]),
    "h": np.float16([1.5, -2.25, 3, 0.125]),
    "bf": np.array([1.5, -2.25, 3, 0.125], ml_dtypes.bfloat16),
    "e": np.zeros((0,), np.float32),
    "e3": np.zeros((0, 3), np.float32),
    "s": np.float32(2.5),
}


@functools.cache
def names(ours: bool) -> dict[str, Any]:
    """Return what an expression may use."""
    modules = (jaxlite, jaxlite.numpy, jaxlite.lax) if ours else (jax, jax.numpy, jax.lax)
    arrays = {name: modules[1].asarray(value) for name, value in SAMPLES.items()}
    return {"jax": modules[0], "jnp": modules[1], "lax": modules[2], "np": np, **arrays}


def evaluate(expression: str, ours: bool) -> tuple[Any, Exception | None]:
    """Return (value, None) or (None, the exception)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(expression, dict(names(ours))), None
        except Exception as error:  # the exception is the result
            return None, error


def first_sentence(error: Exception) -> str:
    """Return a message up to its first line or period, without addresses."""
    line = str(error).split("\n")[0]
    line = re.sub(r"0x[0-9a-f]+", "0x", line)
    return re.split(r"\.(?:\s|$)", line)[0]


def compare(expression: str, sentence: bool = True) -> None:
    """Evaluate under both and compare; without ``sentence`` only the class of an error."""
    ours, our_error = evaluate(expression, True)
    theirs, their_error = evaluate(expression, False)
    if our_error is not None and their_error is None:
        raise AssertionError(f"JAX returns {theirs!r}") from our_error
    if our_error is None and their_error is None:
        compare_values(ours, theirs)
        return
    assert our_error is not None, f"JAX raises {their_error!r}; we return {ours!r}"
    assert their_error is not None
    bases = [base.__name__ for base in type(our_error).__mro__]
    assert type(their_error).__name__ in bases, f"{our_error!r} instead of {their_error!r}"
    if sentence:
        assert first_sentence(our_error) == first_sentence(their_error)


def compare_values(ours: Any, theirs: Any) -> None:
    """Compare arrays, containers of arrays, or plain Python values."""
    if isinstance(theirs, jax.Array):
        compare_arrays(ours, theirs)
    elif isinstance(theirs, tuple | list):
        assert type(ours).__name__ == type(theirs).__name__, (type(ours), type(theirs))
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            compare_values(a, b)
    elif isinstance(theirs, np.ndarray):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    elif isinstance(theirs, float | complex):
        assert type(ours) is type(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=5e-6)
    else:
        assert ours == theirs, (ours, theirs)


def compare_arrays(ours: Any, theirs: Any) -> None:
    """Compare types exactly, and values up to the rounding of their dtype."""
    assert isinstance(ours, jaxlite.Array), type(ours)
    mine = (str(ours.dtype), ours.shape, ours.weak_type)
    assert mine == (str(theirs.dtype), theirs.shape, theirs.weak_type), (mine, theirs.aval)
    a, b = np.asarray(ours), np.asarray(theirs)
    name = b.dtype.name
    if name in TOLERANCE:
        wide = np.complex128 if b.dtype.kind == "c" else np.float64
        tolerance = TOLERANCE[name]
        finite = np.abs(b.astype(wide))[np.isfinite(b)]
        scale = float(finite.max()) if finite.size else 0.0
        np.testing.assert_allclose(
            a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance * min(scale, 1.0)
        )
        zeros = (b == 0) & (a == 0)
        if wide is np.float64 and zeros.any():
            np.testing.assert_array_equal(
                np.signbit(a[zeros]), np.signbit(b[zeros]), "sign of zero"
            )
    else:
        np.testing.assert_array_equal(a, b)
