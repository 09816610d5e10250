"""With 64-bit types enabled, line by line under jaxlite and JAX."""

import jax
import pytest

import jaxlite
from tests.numpy import oracle

pytestmark = pytest.mark.jax_oracle

EXPRESSIONS = r"""
jnp.arange(3)
jnp.zeros(2)
jnp.array([1,2])
jnp.array([1.5])
jnp.asarray(3)
jnp.sum(i8)
jnp.sum(b)
jnp.mean(i)
jnp.linspace(0,1,3)
jnp.argmax(v)
jnp.argsort(v)
jnp.sin(1)
jnp.sin(i)
jnp.arange(3)[jnp.array([0,-1])]
v + 1
i + 1.5
jnp.arange(3) + i
jnp.nonzero(i)
jnp.searchsorted(v.sort(), v)
jnp.unique(i, return_counts=True)
jnp.bincount(i)
jnp.cumsum(i)
jnp.cumsum(b)
jnp.array(2**40)
jnp.var(jnp.arange(4))
jnp.float64(1)
jnp.int64(2)
x.at[0].set(jnp.float64(1))
jnp.where(b, 1, 2)
jnp.eye(2)
jnp.full((2,), 1.5)
jnp.power(jnp.arange(3), 2)
jnp.median(jnp.arange(4))
jnp.histogram(jnp.arange(4.))
jnp.take(x, jnp.array([0]))
jnp.std(v)
jnp.count_nonzero(b)
jnp.tri(2)
jnp.diag(jnp.arange(2))
jnp.repeat(jnp.arange(2), 2)
jnp.unravel_index(5, (2,3))
jnp.digitize(v, w.sort())
jnp.indices((2,2))
jnp.round(jnp.float64(2.567), 2)
jnp.exp(jnp.arange(3))
lax.iota(int, 3)
jnp.prod(u8)
jnp.lexsort((i,))
jnp.tril_indices(2)
jnp.packbits(b)
jnp.argwhere(b)
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_same_as_jax(expression: str) -> None:
    with jax.enable_x64(True), jaxlite.enable_x64(True):
        oracle.compare(expression)
