"""Fourier transforms line by line under jaxlite and JAX."""

import jax
import numpy as np
import pytest

import jaxlite
from tests.numpy import oracle

pytestmark = pytest.mark.jax_oracle

EXPRESSIONS = r"""
jnp.fft.fft(v)
jnp.fft.fft(c)
jnp.fft.fft(i)
jnp.fft.fft(h)
jnp.fft.fft(b)
jnp.fft.fft(t, axis=0)
jnp.fft.fft(t, n=2, axis=1)
jnp.fft.fft(t, n=7, axis=1)
jnp.fft.fft(v, norm='ortho')
jnp.fft.fft(v, norm='forward')
jnp.fft.fft(v, norm='backward')
jnp.fft.fft(1. * v[0])
jnp.fft.fft(v, n=0)
jnp.fft.fft(v, n=-1)
jnp.fft.fft(v, norm='a')
jnp.fft.fft(v, axis=2)
jnp.fft.fft(x, axis=(0, 1))
jnp.fft.fft(e)
jnp.fft.fft(e3, axis=0)
jnp.fft.ifft(c)
jnp.fft.ifft(v, norm='ortho')
jnp.fft.ifft(v, norm='forward')
jnp.fft.ifft(t, 3, 0)
jnp.fft.rfft(v)
jnp.fft.rfft(i)
jnp.fft.rfft(r, n=3)
jnp.fft.rfft(r, n=7, axis=0)
jnp.fft.rfft(r, norm='ortho')
jnp.fft.rfft(c)
jnp.fft.rfft(h)
jnp.fft.irfft(c)
jnp.fft.irfft(c, n=5)
jnp.fft.irfft(c, n=4, norm='ortho')
jnp.fft.irfft(r, axis=0, norm='forward')
jnp.fft.irfft(c, n=0)
jnp.fft.hfft(c)
jnp.fft.hfft(c, 5)
jnp.fft.hfft(c, norm='ortho')
jnp.fft.hfft(c, norm='forward')
jnp.fft.hfft(c, norm='a')
jnp.fft.ihfft(v)
jnp.fft.ihfft(v, 3)
jnp.fft.ihfft(v, norm='ortho')
jnp.fft.ihfft(r, axis=0, norm='forward')
jnp.fft.fft2(r)
jnp.fft.fft2(t, axes=(0, 2))
jnp.fft.fft2(r, s=(2, 6))
jnp.fft.fft2(v)
jnp.fft.fft2(r, axes=(0,))
jnp.fft.ifft2(t, norm='ortho')
jnp.fft.rfft2(r)
jnp.fft.rfft2(t, s=(3, 3), axes=(2, 0))
jnp.fft.irfft2(t)
jnp.fft.irfft2(t, s=(3, 5))
jnp.fft.fftn(t)
jnp.fft.fftn(t, axes=(0,))
jnp.fft.fftn(t, s=(2, 2))
jnp.fft.fftn(t[None])
jnp.fft.fftn(t, axes=(0, 0))
jnp.fft.fftn(t, s=(2,), axes=(0, 1))
jnp.fft.fftn(v, s=(2, 2))
jnp.fft.ifftn(t, norm='forward')
jnp.fft.rfftn(t)
jnp.fft.rfftn(t, axes=(2, 1))
jnp.fft.irfftn(t)
jnp.fft.irfftn(t, s=(2, 3, 5))
jnp.fft.fftfreq(5)
jnp.fft.fftfreq(6, 0.5)
jnp.fft.fftfreq(3, jnp.float32(2))
jnp.fft.fftfreq(3.)
jnp.fft.fftfreq(0)
jnp.fft.fftfreq(4, dtype=jnp.float16)
jnp.fft.fftfreq(3, [1., 2.])
jnp.fft.fftfreq([3, 4])
jnp.fft.rfftfreq(5, 2)
jnp.fft.rfftfreq(6)
jnp.fft.fftshift(t)
jnp.fft.fftshift(t, 1)
jnp.fft.fftshift(t, (0, 2))
jnp.fft.fftshift([1.])
jnp.fft.ifftshift(t)
jnp.fft.ifftshift(t, -1)
jax.jit(jnp.fft.fftn)(t)
jax.vmap(jnp.fft.rfft, in_axes=1)(r)
lax.fft(v, 'fft', (4,))
lax.fft(v, 'IRFFT', (6,))
lax.fft(i, 'rfft', (4,))
lax.fft(c, lax.FftType.IFFT, (4,))
lax.fft(c, 'fft', ())
lax.fft(c, 'rfft', (4,))
lax.fft(c, 'foo', (4,))
lax.fft(c, 1, (4,))
lax.fft(c, 'fft', (3,))
lax.fft(c, 'fft', (3, 4))
lax.fft(v, 'rfft', (3,))
lax.fft(h, 'rfft', (4,))
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_same_as_jax(expression: str) -> None:
    oracle.compare(expression)


def test_double_precision():
    x = np.random.default_rng(0).standard_normal((3, 4))
    with jaxlite.enable_x64(True), jax.enable_x64(True):
        ours, theirs = jaxlite.numpy.fft.fft2(x), jax.numpy.fft.fft2(x)
        assert ours.dtype == theirs.dtype == np.complex128
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-13, atol=1e-13)


def test_every_name_of_jax_is_there():
    theirs = {n for n in dir(jax.numpy.fft) if not n.startswith("_")}
    assert theirs == set(jaxlite.numpy.fft.__all__)


def test_prints_as_in_jax():
    x = np.ones((3, 4), np.float32)
    ours = str(jaxlite.make_jaxpr(lambda x: jaxlite.lax.fft(x, "rfft", (4,)))(x))
    theirs = str(jax.make_jaxpr(lambda x: jax.lax.fft(x, "rfft", (4,)))(x))
    line = "c64[3,3] = fft[fft_lengths=(4,) fft_type=2] a"
    assert line in ours
    assert line in theirs
