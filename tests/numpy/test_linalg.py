"""Norms and products of matrices, line by line under jaxlite and JAX."""

import pytest

from tests.numpy import oracle

pytestmark = pytest.mark.jax_oracle

EXPRESSIONS = r"""
jnp.linalg.norm(v)
jnp.linalg.norm(x)
jnp.linalg.norm(x, 1)
jnp.linalg.norm(x, -1)
jnp.linalg.norm(x, 'fro')
jnp.linalg.norm(x, jnp.inf)
jnp.linalg.norm(x, -jnp.inf)
jnp.linalg.norm(v, 0)
jnp.linalg.norm(v, 1)
jnp.linalg.norm(v, 2)
jnp.linalg.norm(v, 3)
jnp.linalg.norm(v, jnp.inf)
jnp.linalg.norm(v, -jnp.inf)
jnp.linalg.norm(x, axis=0)
jnp.linalg.norm(x, 1, axis=0)
jnp.linalg.norm(x, keepdims=True)
jnp.linalg.norm(x, 1, keepdims=True)
jnp.linalg.norm(x, axis=1, keepdims=True)
jnp.linalg.norm(c)
jnp.linalg.norm(i)
jnp.linalg.norm(t, axis=(1, 2))
jnp.linalg.norm(t)
jnp.linalg.norm(t, 2)
jnp.linalg.norm(x, 5)
jnp.linalg.norm(v, 'a')
jnp.linalg.norm([1.])
jnp.linalg.norm(3.)
jnp.linalg.vector_norm(x)
jnp.linalg.vector_norm(x, axis=1)
jnp.linalg.vector_norm(t, axis=(0, 2), keepdims=True)
jnp.linalg.matrix_norm(t)
jnp.linalg.matrix_power(x[:, :3], 0)
jnp.linalg.matrix_power(x[:, :3], 3)
jnp.linalg.multi_dot([x, x.T, x])
jnp.linalg.multi_dot([v, x.T, x, v])
jnp.linalg.trace(t)
jnp.linalg.diagonal(t, offset=1)
jnp.linalg.cross(v[:3], w[:3])
jnp.linalg.outer(v, w)
jnp.linalg.matmul(x, v)
jnp.linalg.vecdot(x, v)
jnp.linalg.matrix_transpose(x)
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_same_as_jax(expression: str) -> None:
    oracle.compare(expression)
