"""Laws over programs.

Jaxlite = JAX, eagerly and jitted, differentiated and vectorised in every way.
"""

from __future__ import annotations

import functools
import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jaxlite
from tests.api.programs import OTHER, SMOOTH

pytestmark = pytest.mark.jax_oracle


def library(name: str) -> SimpleNamespace:
    """Return the names of a library that programs use."""
    parts = {p: importlib.import_module(f"{name}.{p}") for p in ("numpy", "lax", "nn", "random")}
    return SimpleNamespace(jax=importlib.import_module(name), jnp=parts["numpy"], lax=parts["lax"])


def assert_same(ours: Any, theirs: Any, tolerance: float = 2e-5) -> None:
    """Compare structure, shapes, dtypes, weak types and values."""
    jax = pytest.importorskip("jax")
    a, a_tree = jaxlite.tree_util.tree_flatten(ours)
    b, b_tree = jax.tree_util.tree_flatten(theirs)
    assert str(a_tree) == str(b_tree)
    for x, y in zip(a, b, strict=True):
        assert np.shape(x) == np.shape(y)
        if hasattr(y, "dtype"):
            assert str(x.dtype) == str(y.dtype)
            assert getattr(x, "weak_type", False) == getattr(y, "weak_type", False)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


def scalar(m: SimpleNamespace, fun: Any) -> Any:
    """Return ``fun`` with all results summed with different weights, so that it has a gradient."""

    def total(*args: Any) -> Any:
        leaves = m.jax.tree_util.tree_leaves(fun(*args))
        return sum((i + 1.0) * m.jnp.sum(leaf * leaf) for i, leaf in enumerate(leaves))

    return total


WAYS = {
    "eager": lambda m, f, a: f(*a),
    "jit": lambda m, f, a: m.jax.jit(f)(*a),
    "vmap": lambda m, f, a: m.jax.vmap(f)(*stacked(m, a)),
    "jit of vmap": lambda m, f, a: m.jax.jit(m.jax.vmap(f))(*stacked(m, a)),
}
DERIVATIVES = {
    "jvp": lambda m, f, a: m.jax.jvp(f, a, a),
    "jit of jvp": lambda m, f, a: m.jax.jit(lambda *x: m.jax.jvp(f, x, x))(*a),
    "grad": lambda m, f, a: m.jax.grad(scalar(m, f))(*a),
    "jit of grad": lambda m, f, a: m.jax.jit(m.jax.grad(scalar(m, f)))(*a),
    "grad of jit": lambda m, f, a: m.jax.grad(scalar(m, m.jax.jit(f)))(*a),
    "vmap of grad": lambda m, f, a: m.jax.vmap(m.jax.grad(scalar(m, f)))(*stacked(m, a)),
    "jit of vmap of grad": lambda m, f, a: m.jax.jit(m.jax.vmap(m.jax.grad(scalar(m, f))))(
        *stacked(m, a)
    ),
    "grad of vmap": lambda m, f, a: m.jax.grad(scalar(m, m.jax.vmap(f)))(*stacked(m, a)),
    "second": lambda m, f, a: m.jax.jvp(m.jax.grad(scalar(m, f)), a, a),
    "hessian": lambda m, f, a: m.jax.hessian(scalar(m, f))(*a),
    "grad of grad": lambda m, f, a: m.jax.grad(scalar(m, m.jax.grad(scalar(m, f))))(*a),
}


def with_arrays(m: SimpleNamespace, fun: Any, args: Any) -> tuple[Any, Any]:
    """Return the function and its NumPy arguments as arrays of the library."""
    return fun, m.jax.tree_util.tree_map(m.jnp.asarray, args)


def stacked(m: SimpleNamespace, args: Any) -> Any:
    """Return each argument twice, scaled, along a new first axis."""
    return m.jax.tree_util.tree_map(lambda x: m.jnp.stack([x, x * np.asarray(0.5, x.dtype)]), args)


#: The way JAX goes in place of another one that has the same results: one compilation for many.
SAME_IN_JAX = {
    "eager": "jit",
    "vmap": "jit of vmap",
    "jvp": "jit of jvp",
    "grad": "jit of grad",
    "grad of jit": "jit of grad",
    "vmap of grad": "jit of vmap of grad",
}


@functools.lru_cache(maxsize=64)
def expected(name: str, way: str) -> Any:
    """Return JAX's results; what it does eagerly would compile operation by operation."""
    m = library("jax")
    fun, args = with_arrays(m, *(SMOOTH.get(name) or OTHER[name])(m))
    run = {**WAYS, **DERIVATIVES}[way]
    if way.startswith("jit"):
        return run(m, fun, args)
    return m.jax.jit(lambda *xs: run(m, fun, xs))(*args)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*SMOOTH, *OTHER])
def test_program_equals_jax(name: str, way: str) -> None:
    m = library("jaxlite")
    make = SMOOTH.get(name) or OTHER[name]
    ours = WAYS[way](m, *with_arrays(m, *make(m)))
    assert_same(ours, expected(name, SAME_IN_JAX.get(way, way)))


@pytest.mark.parametrize("way", DERIVATIVES)
@pytest.mark.parametrize("name", SMOOTH)
def test_derivative_equals_jax(name: str, way: str) -> None:
    m = library("jaxlite")
    ours = DERIVATIVES[way](m, *with_arrays(m, *SMOOTH[name](m)))
    assert_same(ours, expected(name, SAME_IN_JAX.get(way, way)), tolerance=3e-4)
