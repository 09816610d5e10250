"""Derivatives, vmap and jit of NumPy functions of ``x``, under jaxlite and under JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import jaxlite
import jaxlite.numpy

pytestmark = [pytest.mark.jax_oracle, pytest.mark.slow]

X = np.float32([0.5, -1.25, 2.0, 3.75])
EXPRESSIONS = r"""
jnp.hypot(x,2.).sum()
jnp.sinc(x).sum()
jnp.logaddexp(x,x[::-1]).sum()
jnp.sqrt((x*x).sum())
jnp.where(x>0,x,0.).sum()
x[1:3].prod()+x[jnp.array([0,0])].sum()
(x.at[0].set(2.)*x).sum()
jnp.var(x)
jnp.std(x)
(jnp.sort(x)*jnp.arange(4.)).sum()
jnp.einsum('i,j->',x,x)
(x**3).mean()
jnp.cumsum(x)[-2]**2
x.max()
(jnp.pad(x,2,mode='reflect')**2).sum()
(jnp.roll(x,1)*x).sum()
jnp.take(x,jnp.array([1,1,9]),mode='clip').sum()
jnp.interp(x,jnp.array([0.,1.,2.]),jnp.array([1.,3.,2.])).sum()
jnp.median(x)
jnp.quantile(x,.3)
jnp.linspace(x[0],x[1],5).sum()
(jnp.diag(x)@x).sum()
jnp.trace(jnp.outer(x,x))
jnp.kron(x,x).sum()
jnp.cross(x[:3],x[1:])[0]
(x%1.5).sum()
(x//1.5).sum()
(jnp.abs(x)**x).sum()
jnp.clip(x,-1,1).sum()
(jnp.convolve(x,x)**2).sum()
jnp.polyval(x,2.)
jnp.cov(jnp.stack([x,x**2])).sum()
jnp.nansum(x*x)
jnp.prod(x)
jnp.ptp(x)
(jnp.gradient(x)**2).sum()
(jnp.repeat(x,jnp.array([0,1,2,1]))**2).sum()
(jnp.tile(x,3)**2).sum()
(jnp.outer(x,x)@x)@x
x[jnp.searchsorted(jnp.arange(3.),x)].sum()
(jnp.heaviside(x,.5)*x).sum()
jnp.abs(x+1j*x).sum()
jnp.real(jnp.exp(1j*x)).sum()
jnp.select([x>0,x<-1],[x,x*x],3.).sum()
(jnp.split(x,2)[0]*jnp.split(x,2)[1]).sum()
"""


def function(expression: str, module: Any) -> Callable[[Any], Any]:
    """Return the expression as a function of ``x`` under a NumPy-like module."""
    made: Callable[[Any], Any] = eval(f"lambda x: {expression}", {"jnp": module})
    return made


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_transformed_as_in_jax(expression: str) -> None:
    ours, theirs = (function(expression, m) for m in (jaxlite.numpy, jax.numpy))
    gradient = jax.grad(theirs)(X)
    close(jaxlite.grad(ours)(X), gradient)
    close(jaxlite.jit(jaxlite.grad(ours))(X), gradient)
    close(jaxlite.jacfwd(jaxlite.grad(ours))(X), jax.jacfwd(jax.grad(theirs))(X))
    batch = np.stack([X, X[::-1]])
    close(jaxlite.vmap(ours)(batch), jax.vmap(theirs)(batch))
