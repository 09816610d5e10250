"""Objects with ``__jax_array__`` go wherever arrays go; names and parameters are JAX's."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import jaxlite
import jaxlite.numpy
import jaxlite.numpy as jnp

pytestmark = pytest.mark.jax_oracle


class Wrapped:
    """Something that can become an array."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __jax_array__(self) -> Any:
        return jnp.asarray(self.data)


V, M = np.float32([3, 1, 2]), np.arange(6, dtype=np.float32).reshape(2, 3)
CALLS: dict[str, Any] = {
    "shape": lambda w: jnp.shape(w(M)),
    "ndim": lambda w: jnp.ndim(w(M)),
    "size": lambda w: jnp.size(w(M)),
    "zeros_like": lambda w: jnp.zeros_like(w(M)),
    "empty_like": lambda w: jnp.empty_like(w(M)),
    "full_like": lambda w: jnp.full_like(w(M), w(2)),
    "ravel": lambda w: jnp.ravel(w(M)),
    "rot90": lambda w: jnp.rot90(w(M)),
    "roll": lambda w: jnp.roll(w(M), w(np.array([1])), 1),
    "rollaxis": lambda w: jnp.rollaxis(w(M), 1),
    "delete": lambda w: jnp.delete(w(V), w(1)),
    "insert": lambda w: jnp.insert(w(V), w(1), w(7)),
    "clip": lambda w: jnp.clip(w(V), w(1.5), w(2)),
    "einsum": lambda w: jnp.einsum("ij,j", w(M), w(V)),
    "interp": lambda w: jnp.interp(w(1.5), w(np.sort(V)), w(V)),
    "triu": lambda w: jnp.triu_indices_from(w(M)),
    "union1d": lambda w: jnp.union1d(w(V), w(V + 1)),
    "iscomplexobj": lambda w: jnp.iscomplexobj(w(1j * V)),
    "polyfit": lambda w: jnp.polyfit(w(V), w(V), 1),
    "operators": lambda w: jnp.asarray(V) + w(V),
}


@pytest.mark.parametrize("name", CALLS)
def test_objects_that_become_arrays(name: str) -> None:
    ours, plain = CALLS[name](Wrapped), CALLS[name](np.asarray)
    for a, b in zip(jaxlite.tree.leaves(ours), jaxlite.tree.leaves(plain), strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_polyfit_promotes_no_ranks() -> None:
    with jaxlite.numpy_rank_promotion("raise"):
        jnp.polyfit(V, np.stack([V, V], 1), 1)


#: What differs on purpose: docstring ``jaxlite.lax`` (progress), JAX's catch-all parameters.
OWN = {"array", "einsum", "ndarray", "percentile", "set_printoptions"}


@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "numpy.fft", "lax.linalg"])
def test_names_and_parameters(module: str) -> None:
    theirs, ours = jax, jaxlite
    for part in module.split("."):
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    different = []
    for name in dir(theirs):
        a, b = getattr(theirs, name), getattr(ours, name, None)
        if name.startswith("_") or name in OWN or not inspect.isfunction(b):
            continue
        if b.__name__ != a.__name__:
            different.append(f"{name} is called {b.__name__}")
        parameters = [
            [(p.name, p.kind) for p in inspect.signature(f).parameters.values()] for f in (a, b)
        ]
        if parameters[0] != parameters[1]:
            different.append(f"{name}{inspect.signature(b)}")
    assert not different


#: Calls whose result or error is JAX's: found by its own tests.
FINDINGS: dict[str, Any] = {
    "contains": lambda j: 1 in j.numpy.arange(3),
    "contains in a scalar": lambda j: 1 in j.numpy.array(1),
    "contains a word": lambda j: "a" in j.numpy.arange(3),
    "contains an array": lambda j: j.numpy.arange(2) in j.numpy.arange(2),
    "masked": lambda j: j.numpy.array(np.ma.array([1, 2], mask=[True, False])),
    "masked operand": lambda j: j.numpy.sin(np.ma.array([1, 2], mask=[True, False])),
    "fields": lambda j: j.numpy.array(3, [("a", "<i4"), ("b", "<i4")]),
    "complex interp": lambda j: j.numpy.interp(1j, 1j * np.arange(3.0), np.arange(3.0)),
    "far diagonal": lambda j: j.numpy.tri(3, k=2**40),
    "insert casts": lambda j: j.numpy.insert(np.array([1, 2, 3]), 1, 7.5),
    "exponent array": lambda j: j.numpy.power(np.int8([1, 2]), j.numpy.int32(2)),
    "negative exponent": lambda j: j.numpy.power(j.numpy.arange(3), j.numpy.int32(-2)),
    "trapezoid of widths": lambda j: j.numpy.trapezoid(
        np.ones((3, 6, 3), np.float32), dx=np.ones(2, np.float32), axis=2
    ),
    "density of counts": lambda j: j.numpy.histogram(
        np.arange(5, dtype=np.float32), bins=3, weights=np.arange(5), density=True
    ),
    "too many positions": lambda j: j.numpy.array(1, None, True, "K", 0, "x"),
    "copy twice": lambda j: j.numpy.array(1, None, True, copy=False),
    "trusted indices": lambda j: j.numpy.take_along_axis(
        np.arange(5), np.array([1, 3]), 0, mode="promise_in_bounds"
    ),
}


def outcome(j: Any, name: str) -> Any:
    """Return the results, or the error's class and first line."""
    try:
        return [np.asarray(x) for x in j.tree.leaves(FINDINGS[name](j))]
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error).split("\n")[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FINDINGS)
def test_findings(name: str) -> None:
    ours, theirs = outcome(jaxlite, name), outcome(jax, name)
    if isinstance(theirs, tuple):
        assert ours == theirs
        return
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_steps_inside_functions_promote_freely() -> None:
    x = jnp.arange(5, dtype="float32")
    with jaxlite.numpy_dtype_promotion("strict"), jaxlite.numpy_rank_promotion("raise"):
        jnp.histogram(x, bins=3, weights=x, density=True)
        jnp.histogram2d(x, x, bins=3)
        jnp.pad(jnp.arange(3), 1, "linear_ramp", end_values=0)
        jnp.linspace(0, 1, 5, dtype="bfloat16")
