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
