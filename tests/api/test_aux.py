"""Auxiliary results of ``has_aux`` keep the derivatives of an outer transformation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxlite

jax = pytest.importorskip("jax")


def by(j: Any, way: str) -> Any:
    """Return a function whose aux depends on its argument through an outer scope only."""

    def f(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y**3, [x * x, y * y]

        match way:
            case "vjp":
                out, pull, aux = j.vjp(inner, x, has_aux=True)
                return out, pull(1.0), aux
            case "jvp":
                return j.jvp(inner, (x,), (1.0,), has_aux=True)
            case "linearize":
                out, push, aux = j.linearize(inner, x, has_aux=True)
                return out, push(1.0), aux
            case _:
                return getattr(j, way)(inner, has_aux=True)(x)

    return f


WAYS = ["grad", "value_and_grad", "jacrev", "jacfwd", "vjp", "jvp", "linearize"]


@pytest.mark.jax_oracle
@pytest.mark.parametrize("way", WAYS)
def test_aux_keeps_the_derivatives_of_what_is_around(way: str) -> None:
    def derivatives(j: Any) -> Any:
        f = by(j, way)
        return f(4.0), j.jacfwd(f)(4.0), j.jacrev(f)(4.0), j.jit(j.jacfwd(f))(4.0)

    ours, theirs = derivatives(jaxlite), derivatives(jax)
    leaves, expected = jaxlite.tree.leaves(ours), jax.tree.leaves(theirs)
    np.testing.assert_allclose(np.float32(leaves), np.float32(expected))
