"""What ordinary code is traced to: the same primitives as under JAX.

JAX wraps many functions in ``jit`` equations; they are inlined for the comparison. It also
normalises indices that are known already, which we do at once.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import jaxlite
import jaxlite.lax
import jaxlite.numpy

pytestmark = pytest.mark.jax_oracle

X = np.arange(12, dtype=np.float32).reshape(3, 4)
W = np.ones((4, 2), np.float32)
V = np.arange(4, dtype=np.float32)
I = np.arange(3, dtype=np.int32)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "layer": (lambda jnp, x, w: jnp.tanh(x @ w).sum(), (X, W)),
    "add scalar": (lambda jnp, x: x + 1, (X,)),
    "scalar on the left": (lambda jnp, x: 2.0 - x, (X,)),
    "integer plus float": (lambda jnp, i: i + 1.5, (I,)),
    "integer over integer": (lambda jnp, i: i / 2, (I,)),
    "square": (lambda jnp, x: x**2, (X,)),
    "power": (lambda jnp, x: x**0.5, (X,)),
    "inverse": (lambda jnp, x: x**-1, (X,)),
    "mean": (lambda jnp, x: x.mean(), (X,)),
    "mean of an axis": (lambda jnp, x: x.mean(0), (X,)),
    "max": (lambda jnp, x: x.max(1), (X,)),
    "any": (lambda jnp, x: (x > 0).any(), (X,)),
    "argmax": (lambda jnp, x: x.argmax(), (X,)),
    "where": (lambda jnp, x: jnp.where(x > 0, x, x), (X,)),
    "relu": (lambda jnp, x: jnp.maximum(x, 0), (X,)),
    "softplus": (lambda jnp, x: jnp.log1p(jnp.exp(-jnp.abs(x))), (X,)),
    "matrix vector": (lambda jnp, x, v: x @ v, (X, V)),
    "matrix transposed": (lambda jnp, x: x @ x.T, (X,)),
    "dot": (lambda jnp, v: jnp.dot(v, v), (V,)),
    "einsum": (lambda jnp, x: jnp.einsum("ij,kj->ik", x, x), (X,)),
    "row": (lambda jnp, x: x[0], (X,)),
    "last row": (lambda jnp, x: x[-1], (X,)),
    "column": (lambda jnp, x: x[:, 1], (X,)),
    "rows": (lambda jnp, x: x[1:3], (X,)),
    "reversed": (lambda jnp, x: x[::-1], (X,)),
    "every second": (lambda jnp, x: x[::2, 1:], (X,)),
    "new axis": (lambda jnp, x: x[:, None], (X,)),
    "gather": (lambda jnp, x, i: x[i], (X, I)),
    "gather columns": (lambda jnp, x, i: x[:, i], (X, I)),
    "gather points": (lambda jnp, x, i: x[i, i], (X, I)),
    "reshape": (lambda jnp, x: x.reshape(-1), (X,)),
    "concatenate": (lambda jnp, x: jnp.concatenate([x, x]), (X,)),
    "squeeze": (lambda jnp, x: x[:1].squeeze(), (X,)),
    "cumsum": (lambda jnp, v: jnp.cumsum(v), (V,)),
    "sort": (lambda jnp, v: jnp.sort(v), (V,)),
    "roll": (lambda jnp, v: jnp.roll(v, 1), (V,)),
    "flip": (lambda jnp, x: jnp.flip(x, 0), (X,)),
    "split": (lambda jnp, x: jnp.split(x, 2, axis=1), (X,)),
    "astype": (lambda jnp, x: x.astype(bool), (X,)),
    "zeros": (lambda jnp, x: jnp.zeros(3) + x[0, 0], (X,)),
    "arange": (lambda jnp, i: jnp.arange(3) + i, (I,)),
    "at add": (lambda jnp, x, i: x.at[i].add(1.0), (X, I)),
    "isnan": (lambda jnp, x: jnp.isnan(x), (X,)),
    "remainder": (lambda jnp, x: x % x, (X,)),
    "floor divide": (lambda jnp, i: i // i, (I,)),
    "norm": (lambda jnp, v: jnp.sqrt(jnp.sum(v * v)), (V,)),
    "half sum": (lambda jnp, x: x.astype("bfloat16").sum(), (X,)),
    "tril": (lambda jnp, x: jnp.tril(x), (X,)),
    "outer": (lambda jnp, v: jnp.outer(v, v).sum(), (V,)),
}


def primitives_of(jaxpr: Any) -> list[str]:
    """Return the names of the equations in order."""
    return [str(eqn.primitive) for eqn in jaxpr.eqns]


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_primitives_as_jax(name: str) -> None:
    function, args = PROGRAMS[name]
    ours = jaxlite.make_jaxpr(lambda *a: function(jaxlite.numpy, *a))(*args)
    with jax.disable_jit():
        theirs = jax.make_jaxpr(lambda *a: function(jax.numpy, *a))(*args)
    # A scalar or a row beside an array needs no broadcast in JAX's primitives; a row does in ours.
    skipped = {"broadcast_in_dim"}
    mine = [p for p in primitives_of(ours) if p not in skipped]
    assert sorted(mine) == sorted(p for p in primitives_of(theirs) if p not in skipped)
    assert [str(a) for a in ours.out_avals] == [str(a) for a in theirs.out_avals]


def test_a_scalar_beside_an_array_is_a_literal() -> None:
    jaxpr = jaxlite.make_jaxpr(lambda x: x * 2 + 1)(X)
    assert not jaxpr.consts
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul", "add"]


def test_a_known_index_is_normalised_while_tracing() -> None:
    jaxpr = jaxlite.make_jaxpr(lambda x: x[np.array([-1, 0])])(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["gather"]
    np.testing.assert_array_equal(np.asarray(jaxpr.consts[0]), [[2], [0]])


def test_constants_made_while_tracing_are_recorded() -> None:
    jaxpr = jaxlite.make_jaxpr(lambda x: jaxlite.numpy.zeros(3) + x)(np.float32(1))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["broadcast_in_dim", "add"]
