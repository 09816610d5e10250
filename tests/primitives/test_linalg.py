"""Matrix factorisations: they multiply back, their derivatives are JAX's, failures are NaN."""

import jax
import numpy as np
import pytest

import jaxlite as jl
from jaxlite.primitives import linalg

_random = np.random.default_rng(0)
SQUARE = _random.standard_normal((2, 4, 4)).astype(np.float32)
POSITIVE = SQUARE @ SQUARE.transpose(0, 2, 1) + np.eye(4, dtype=np.float32)
TALL = _random.standard_normal((2, 4, 3)).astype(np.float32)
WEIGHTS = _random.standard_normal((2, 4, 4)).astype(np.float32)


def array(x):
    return jl.numpy.asarray(x)


def close(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("compiled", [False, True])
def test_factors_multiply_back(dtype, compiled):
    run = jl.jit if compiled else (lambda f: f)
    positive, tall = POSITIVE.astype(dtype), TALL.astype(dtype)
    lower = np.asarray(run(linalg.cholesky)(array(positive)))
    close(lower @ lower.conj().swapaxes(-1, -2), positive)
    vectors, values = map(np.asarray, run(linalg.eigh)(array(positive)))
    close(vectors * values[:, None, :] @ vectors.conj().swapaxes(-1, -2), positive)
    q, r = map(np.asarray, run(linalg.qr)(array(tall)))
    close(q @ r, tall)
    s, u, vh = map(np.asarray, run(linalg.svd)(array(tall)))
    close(u[..., :3] * s[:, None, :] @ vh, tall)
    assert (u.shape, vh.shape) == ((2, 4, 4), (2, 3, 3))


def symmetric(x):
    x = np.asarray(x)
    return (x + x.swapaxes(-1, -2)) / 2


@pytest.mark.jax_oracle
def test_derivatives():
    lax = jax.lax.linalg
    ours = jl.grad(lambda x: (linalg.cholesky(x) * WEIGHTS).sum())(POSITIVE)
    theirs = jax.grad(lambda x: (lax.cholesky(x) * WEIGHTS).sum())(POSITIVE)
    close(symmetric(ours), symmetric(theirs))

    def spectrum(eigh):
        # Eigenvectors have free signs: use their squares.
        return lambda x: (eigh(x)[0] ** 2 * WEIGHTS).sum() + (eigh(x)[1] ** 2).sum()

    close(
        symmetric(jl.grad(spectrum(linalg.eigh))(POSITIVE)),
        symmetric(jax.grad(spectrum(lax.eigh))(POSITIVE)),
    )

    def factors(qr):
        return lambda x: (qr(x)[0] * WEIGHTS[..., :3]).sum() + (qr(x)[1] ** 2).sum()

    theirs = jax.grad(factors(lambda x: lax.qr(x, full_matrices=False)))(TALL)
    close(jl.grad(factors(linalg.qr))(TALL), theirs)


def test_vmap_is_a_loop():
    mapped = jl.vmap(linalg.cholesky, in_axes=2)(array(POSITIVE.transpose(1, 2, 0)))
    close(mapped, linalg.cholesky(array(POSITIVE)))


def test_failures_are_nan():
    both = array(np.stack([np.eye(2, dtype=np.float32), -np.eye(2, dtype=np.float32)]))
    out = np.asarray(linalg.cholesky(both))
    np.testing.assert_array_equal(out[0], np.eye(2))
    assert np.isnan(out[1][np.tril_indices(2)]).all()


def test_mistakes():
    with pytest.raises(ValueError, match="must be a square matrix"):
        linalg.cholesky(array(TALL))
    with pytest.raises(TypeError, match="Input 0 to qr must have rank at least 2"):
        linalg.qr(array(TALL[0, 0]))
    with pytest.raises(TypeError, match="does not accept dtype int32"):
        linalg.qr(array(TALL.astype(np.int32)))
    with pytest.raises(NotImplementedError, match="float16"):
        linalg.qr(array(TALL.astype(np.float16)))
