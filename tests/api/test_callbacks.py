"""Python calls in programs, segments and flat vectors against JAX."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import jaxlite

jax = pytest.importorskip("jax")

X = np.float32([0.5, 2.0, 1.0])
IDS = np.int32([2, 0, 2])


def module(j: Any, name: str) -> Any:
    return importlib.import_module(f"{j.__name__}.{name}")


def sine(j: Any, x: Any, method: str | None = None) -> Any:
    kind = j.ShapeDtypeStruct(np.shape(x), np.float32)
    return j.pure_callback(np.sin, kind, x, vmap_method=method)


def product(j: Any, method: str) -> Any:
    """A call of a mapped and a shared operand; NumPy broadcasts what it is given."""

    def call(v: Any, w: Any) -> Any:
        kind = {"p": j.ShapeDtypeStruct((3,), np.float32)}
        return j.pure_callback(
            lambda a, b: {"p": np.multiply(a, b)}, kind, v, b=w, vmap_method=method
        )["p"]

    return j.vmap(call, (1, None))(np.stack([X, 2 * X], 1), X)


def counted(j: Any) -> Any:
    """Numbers drawn from a Python counter inside a compiled loop."""
    io_callback, numbers = module(j, "experimental").io_callback, iter(range(10))

    def draw(_: Any) -> Any:
        return np.int32(next(numbers))

    def step(total: Any, x: Any) -> Any:
        n = io_callback(draw, j.ShapeDtypeStruct((), np.int32), x, ordered=True)
        return total + x * n, n

    out = j.jit(lambda xs: j.lax.scan(step, np.float32(0), xs))(X)
    j.effects_barrier()
    return out


def unused(j: Any) -> Any:
    """A pure call that nobody needs is not made, an io call is."""
    io_callback, seen = module(j, "experimental").io_callback, []

    def fun(x: Any) -> Any:
        j.pure_callback(lambda v: seen.append("pure") or v, j.ShapeDtypeStruct((), np.float32), x)
        io_callback(lambda v: seen.append("io"), None, x)
        return x

    j.jit(fun)(np.float32(1))
    j.effects_barrier()
    return np.array(seen)


def vector(j: Any, tree: Any) -> Any:
    flat, unravel = module(j, "flatten_util").ravel_pytree(tree)
    return flat, unravel(flat * 2 if np.size(flat) else flat)


CASES: tuple[Any, ...] = (
    lambda j: sine(j, X),
    lambda j: j.jit(lambda x: sine(j, x) + 1)(X),
    lambda j: j.vmap(lambda x: sine(j, x, "sequential"))(X),
    lambda j: product(j, "sequential"),
    lambda j: product(j, "sequential_unrolled"),
    lambda j: product(j, "expand_dims"),
    lambda j: product(j, "broadcast_all"),
    counted,
    unused,
    lambda j: vector(j, {"a": 1.0, "b": X, "c": (np.float32(3),)}),
    lambda j: vector(j, [np.int32([1, 2]), X.reshape(3, 1)]),
    lambda j: vector(j, ()),
    *[
        lambda j, name=name, data=data, k=k: getattr(module(j, "ops"), f"segment_{name}")(
            data, IDS, k
        )
        for name in ("sum", "prod", "max", "min")
        for data, k in ((X, 4), (np.int32([[1, 2], [3, 4], [5, 6]]), None), (X, 2))
    ],
    lambda j: module(j, "ops").segment_sum(X, np.int32([0, -1, 2])),
    lambda j: j.grad(lambda x: (module(j, "ops").segment_sum(x, IDS, 4) ** 2).sum())(X),
)


@pytest.mark.jax_oracle
@pytest.mark.parametrize("case", CASES)
def test_same_as_jax(case: Any) -> None:
    ours, theirs = jaxlite.tree.leaves(case(jaxlite)), jax.tree.leaves(case(jax))
    for a, b in zip(ours, theirs, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        if np.asarray(a).dtype.kind == "U":
            assert list(a) == list(b)
        else:
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


def io(j: Any, **options: Any) -> Any:
    kind = j.ShapeDtypeStruct((), np.float32)
    return lambda x: module(j, "experimental").io_callback(np.sin, kind, x, **options)


WRONG: tuple[Any, ...] = (
    lambda j: j.grad(lambda x: sine(j, x))(1.0),
    lambda j: j.vmap(lambda x: sine(j, x))(X),
    lambda j: sine(j, X, "some"),
    lambda j: j.pure_callback(np.sin, j.ShapeDtypeStruct((3,), np.float64), X),
    lambda j: j.grad(io(j))(1.0),
    lambda j: j.vmap(io(j, ordered=True))(X),
    lambda j: module(j, "ops").segment_sum(X, IDS, -1),
    lambda j: module(j, "flatten_util").ravel_pytree([X, 1])[1](np.zeros(4, np.int32)),
)


@pytest.mark.jax_oracle
@pytest.mark.parametrize("case", WRONG)
def test_same_errors_as_jax(case: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - JAX says which
        case(jax)
    with pytest.raises(theirs.type) as ours:
        case(jaxlite)
    assert str(ours.value).split("\n")[0] == str(theirs.value).split("\n")[0]


def test_results_that_break_the_promise() -> None:
    kind = jaxlite.ShapeDtypeStruct((3,), np.float32)
    for wrong in (lambda x: x[:2], lambda x: (x, x)):
        for wrap in (lambda f: f, jaxlite.jit):
            with pytest.raises(jaxlite.errors.JaxRuntimeError, match="result_shape_dtypes"):
                wrap(lambda x, wrong=wrong: jaxlite.pure_callback(wrong, kind, x))(X)
