"""Collectives under ``vmap(axis_name=...)`` against JAX: values, dtypes, derivatives, nesting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy

jax = pytest.importorskip("jax")

X = (np.arange(12.0).reshape(3, 4) ** 1.5).astype(np.float32)
M = np.arange(27.0, dtype=np.float32).reshape(3, 3, 3)
T = np.arange(54.0, dtype=np.float32).reshape(3, 6, 3)
TURN = [(0, 1), (1, 2), (2, 0)]


def over_i(j: Any, fun: Any, *args: Any, **options: Any) -> Any:
    """Return ``fun`` mapped over an axis called i."""
    return j.vmap(fun, axis_name="i", **options)(*args)


def over_ij(j: Any, fun: Any, x: Any) -> Any:
    """Return ``fun`` mapped over j (outer) and i (inner)."""
    return j.vmap(j.vmap(fun, axis_name="i"), axis_name="j")(x)


#: Name -> function of a module (jax or jaxlite).
CASES: dict[str, Any] = {
    "psum": lambda j: over_i(j, lambda v: j.lax.psum(v, "i"), X),
    "psum unmapped": lambda j: over_i(
        j, lambda v: j.lax.psum(v, "i") + j.lax.axis_index("i"), X[0], in_axes=None, axis_size=3
    ),
    "psum bool": lambda j: over_i(j, lambda v: j.lax.psum(v > 3, "i"), X),
    "psum tree": lambda j: over_i(j, lambda v: j.lax.psum({"a": v, "b": (v, 1.0)}, "i"), X),
    "psum position": lambda j: over_i(j, lambda v: j.lax.psum(v, (0, "i")), X),
    "pmean": lambda j: over_i(j, lambda v: j.lax.pmean(v, "i"), np.arange(3, dtype=np.int32)),
    "pmax pmin": lambda j: over_i(j, lambda v: j.lax.pmax(v, "i") - j.lax.pmin(v, "i"), X),
    "ppermute": lambda j: over_i(j, lambda v: j.lax.ppermute(v, "i", TURN), X),
    "pshuffle": lambda j: over_i(j, lambda v: j.lax.pshuffle(v, "i", [1, 2, 0]), X),
    "pswapaxes": lambda j: over_i(j, lambda v: j.lax.pswapaxes(v, "i", 1), M),
    "gather": lambda j: over_i(j, lambda v: j.lax.all_gather(v, "i", axis=1), X),
    "gather tiled": lambda j: over_i(j, lambda v: j.lax.all_gather(v, "i", tiled=True), X),
    "all_to_all": lambda j: over_i(j, lambda v: j.lax.all_to_all(v, "i", 0, 1), M),
    "all_to_all back": lambda j: over_i(j, lambda v: j.lax.all_to_all(v, "i", 1, 0), M),
    "all_to_all tiled": lambda j: over_i(
        j, lambda v: j.lax.all_to_all(v, "i", 0, 1, tiled=True), T
    ),
    "all_to_all tiled, same axis": lambda j: over_i(
        j, lambda v: j.lax.all_to_all(v, "i", 0, 0, tiled=True), T
    ),
    "all_to_all other axes": lambda j: over_i(
        j, lambda v: j.lax.all_to_all(v, "i", 0, 1), M, in_axes=1, out_axes=2
    ),
    "psum_scatter": lambda j: over_i(j, lambda v: j.lax.psum_scatter(v, "i"), M),
    "psum_scatter tiled": lambda j: over_i(
        j, lambda v: j.lax.psum_scatter(v, "i", scatter_dimension=1, tiled=True), T
    ),
    "axis_size": lambda j: over_i(j, lambda v: v * j.lax.axis_size("i") + j.lax.psum(2, "i"), X),
    "grad inside": lambda j: over_i(
        j, j.grad(lambda v: (j.lax.psum(v**2, "i") * v + j.lax.pmean(v, "i")).sum()), X
    ),
    "grad outside": lambda j: j.grad(
        lambda x: over_i(j, lambda v: j.lax.psum(v**2, "i") * v, x).sum()
    )(X),
    "grad of gather": lambda j: over_i(
        j, j.grad(lambda v: (j.lax.all_gather(v, "i") * np.arange(4.0)).sum()), X
    ),
    "grad of ppermute": lambda j: over_i(
        j, j.grad(lambda v: (j.lax.ppermute(v, "i", TURN) * j.lax.axis_index("i")).sum()), X
    ),
    "grad of psum_scatter": lambda j: over_i(
        j, j.grad(lambda v: (j.lax.psum_scatter(v, "i") ** 2).sum()), M
    ),
    "hessian": lambda j: over_i(j, j.hessian(lambda v: j.lax.psum(v**3, "i").sum()), X),
    "jit inside": lambda j: over_i(j, j.jit(lambda v: j.lax.psum(v, "i")), X),
    "jit around": lambda j: j.jit(
        lambda x: over_i(j, j.jit(lambda v: j.lax.psum(v, "i") - j.lax.axis_index("i")), x)
    )(X),
    "jit without argument": lambda j: over_i(
        j, j.jit(lambda: j.lax.axis_index("i") * 1.0), axis_size=3
    ),
    "two axes at once": lambda j: over_ij(j, lambda v: v / j.lax.psum(v, ("i", "j")), X),
    "two axes": lambda j: over_ij(
        j, lambda v: j.lax.psum(v, "j") + j.lax.pmax(v, "i") * j.lax.axis_index(("i", "j")), X
    ),
    "gather past another axis": lambda j: over_ij(j, lambda v: j.lax.all_gather(v, "j") * 2, M),
    "all_to_all past another axis": lambda j: over_ij(
        j, lambda v: j.lax.all_to_all(v, "j", 0, 0), M
    ),
    "scatter past another axis": lambda j: over_ij(j, lambda v: j.lax.psum_scatter(v, "j"), M),
    "scan": lambda j: over_i(
        j,
        lambda v: j.lax.scan(
            lambda c, y: (c + j.lax.psum(y, "i"), c * j.lax.axis_index("i")), 0.0, v
        ),
        X,
    ),
    "cond": lambda j: over_i(
        j, lambda v: j.lax.cond(v[0] > 0, lambda v: j.lax.psum(v, "i"), lambda v: v * 1.0, v), X
    ),
    "cond without operand": lambda j: over_i(
        j, lambda: j.lax.cond(True, lambda: j.lax.axis_index("i"), lambda: 0), axis_size=3
    ),
    "while": lambda j: over_i(
        j,
        lambda v: j.lax.while_loop(
            lambda c: j.lax.pmax(c, "i").sum() < 100, lambda c: c * 2.0 + 1, v
        ),
        X,
    ),
    "checkpoint": lambda j: over_i(
        j, j.grad(lambda v: j.checkpoint(lambda v: j.lax.psum(v**2, "i"))(v).sum()), X
    ),
}


@pytest.mark.jax_oracle
@pytest.mark.parametrize("case", CASES)
def test_collectives_equal_jax(case: str) -> None:
    ours, theirs = CASES[case](jaxlite), CASES[case](jax)
    leaves, expected = jaxlite.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(leaves) == len(expected)
    for a, b in zip(leaves, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)


ERRORS: dict[str, Any] = {
    "unknown axis": lambda j: over_i(j, lambda v: j.lax.axis_index("k"), X),
    "unknown axis in jit": lambda j: j.jit(lambda v: j.lax.psum(v, "k"))(X),
    "groups": lambda j: over_i(j, lambda v: j.lax.psum(v, "i", axis_index_groups=[[0], [1, 2]]), X),
    "wrong size": lambda j: over_i(j, lambda v: j.lax.all_to_all(v, "i", 0, 0), X),
    "no permutation": lambda j: over_i(j, lambda v: j.lax.pshuffle(v, "i", [0, 0, 1]), X),
    "gradient of a maximum": lambda j: over_i(j, j.grad(lambda v: j.lax.pmax(v, "i")), X[:, 0]),
}


@pytest.mark.jax_oracle
@pytest.mark.parametrize("case", ERRORS)
def test_errors_equal_jax(case: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever JAX raises
        ERRORS[case](jax)
    with pytest.raises(theirs.type) as ours:
        ERRORS[case](jaxlite)
    assert str(ours.value).startswith(str(theirs.value).split("\n")[0])


def test_the_gradient_of_all_to_all_is_its_inverse() -> None:
    # JAX 0.10 raises here; the sum of squares does not depend on where the values go.
    def loss(v: Any) -> Any:
        return (jaxlite.lax.all_to_all(v, "i", 0, 1) ** 2).sum()

    grads = jaxlite.vmap(jaxlite.grad(loss), axis_name="i")(M)
    np.testing.assert_allclose(grads, 2 * M)


def test_targets_that_get_nothing_get_zeros() -> None:
    out = jaxlite.vmap(lambda v: jaxlite.lax.ppermute(v, "i", [(0, 1)]), axis_name="i")(X)
    np.testing.assert_array_equal(out, np.stack([0 * X[0], X[0], 0 * X[0]]))


def test_a_trace_under_one_axis_size_does_not_serve_another() -> None:
    f = jaxlite.jit(lambda v: v / jaxlite.lax.axis_size("i"))
    for size in (2, 4):
        out = jaxlite.vmap(f, axis_name="i")(jaxlite.numpy.ones(size))
        np.testing.assert_array_equal(out, np.full(size, 1 / size))


def test_axis_env_of_make_jaxpr() -> None:
    shown = jaxlite.make_jaxpr(lambda v: jaxlite.lax.psum(v, "i"), axis_env=[("i", 3)])(X)
    expected = jax.make_jaxpr(lambda v: jax.lax.psum(v, "i"), axis_env=[("i", 3)])(X)
    assert str(shown) == str(expected)
