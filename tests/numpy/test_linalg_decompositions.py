"""Decompositions and solvers line by line under jaxlite and JAX; both call the same LAPACK."""

import inspect

import jax
import numpy as np
import pytest

import jaxlite
from tests.numpy import oracle

pytestmark = pytest.mark.jax_oracle

EXPRESSIONS = r"""
jnp.linalg.cholesky(p)
jnp.linalg.cholesky(p, upper=True)
jnp.linalg.cholesky(q, upper=True)
jnp.linalg.cholesky(jnp.tril(p), symmetrize_input=False)
jnp.linalg.cholesky(m)
jnp.linalg.cholesky(jnp.stack([p, m]))
jnp.linalg.cholesky(jnp.eye(3, dtype=int))
jnp.linalg.cholesky(r)
jnp.linalg.cholesky(v)
jnp.linalg.cholesky([[1.]])
jnp.linalg.cholesky(e2)
jnp.linalg.eigh(p)
jnp.linalg.eigh(q)
jnp.linalg.eigh(m, UPLO='U', symmetrize_input=False)
jnp.linalg.eigh(m, 'L', False)
jnp.linalg.eigh(nan)
jnp.linalg.eigh(p, 'A')
jnp.linalg.eigh(r)
jnp.linalg.eigh(e2)
jnp.linalg.eigvalsh(q)
jnp.linalg.eigvalsh(p, 'B')
jnp.linalg.eig(m)
jnp.linalg.eig(q)
jnp.linalg.eig(ms)
jnp.linalg.eig(nan)
jnp.linalg.eig(r)
jnp.linalg.eig(v)
jnp.linalg.eigvals(m)
jnp.linalg.eigvals(jnp.arange(4).reshape(2, 2))
jnp.linalg.svd(r, full_matrices=False)
jnp.linalg.svd(r)
jnp.linalg.svd(r.T)
jnp.linalg.svd(r, compute_uv=False)
jnp.linalg.svd(z)
jnp.linalg.svd(ms, False)
jnp.linalg.svd(p - 2 * jnp.eye(3), hermitian=True)
jnp.linalg.svd(q, hermitian=True)
jnp.linalg.svd(p, hermitian=True, compute_uv=False)
jnp.linalg.svd(nan)
jnp.linalg.svd(e3)
jnp.linalg.svd(e3, full_matrices=False)
jnp.linalg.svd(v)
jnp.linalg.svd(r, subset_by_index=(0, 1))
jnp.linalg.svdvals(r)
jnp.linalg.svdvals(z)
jnp.linalg.qr(r)
jnp.linalg.qr(r.T)
jnp.linalg.qr(r.T, 'complete')
jnp.linalg.qr(r, mode='r')
jnp.linalg.qr(r, mode='raw')
jnp.linalg.qr(z)
jnp.linalg.qr(ms)
jnp.linalg.qr(i[:2])
jnp.linalg.qr(r, 'a')
jnp.linalg.qr(nan)
jnp.linalg.qr(e3)
jnp.linalg.solve(m, v[:3])
jnp.linalg.solve(m, r)
jnp.linalg.solve(ms, v[:3])
jnp.linalg.solve(ms, m)
jnp.linalg.solve(m, ms)
jnp.linalg.solve(ms[:, None], ms)
jnp.linalg.solve(q, v[:3])
jnp.linalg.solve(m, i[:, :2])
jnp.linalg.solve(jnp.zeros((3, 3)), v[:3])
jnp.linalg.solve(v, v)
jnp.linalg.solve(3., v)
jnp.linalg.solve(m, 3.)
jnp.linalg.solve(m, v[:2])
jnp.linalg.solve(r, v)
jnp.linalg.solve(m, r.T)
jnp.linalg.inv(m)
jnp.linalg.inv(ms)
jnp.linalg.inv(q)
jnp.linalg.inv(2 * jnp.eye(3, dtype=int))
jnp.linalg.inv(jnp.zeros((3, 3)))
jnp.linalg.inv(r)
jnp.linalg.inv(v)
jnp.linalg.inv(e2)
jnp.linalg.det(m)
jnp.linalg.det(m[:2, :2])
jnp.linalg.det(m[:1, :1])
jnp.linalg.det(m.astype(jnp.float16))
jnp.linalg.det(f)
jnp.linalg.det(f + 1j)
jnp.linalg.det(ms)
jnp.linalg.det(i[:3, :3])
jnp.linalg.det(e2)
jnp.linalg.det(r)
jnp.linalg.det(jnp.ones((4, 4)))
jnp.linalg.slogdet(m)
jnp.linalg.slogdet(f)
jnp.linalg.slogdet(q)
jnp.linalg.slogdet(ms)
jnp.linalg.slogdet(m, method='qr')
jnp.linalg.slogdet(jnp.zeros((3, 3)))
jnp.linalg.slogdet(e2)
jnp.linalg.slogdet(r)
jnp.linalg.slogdet(m, method='a')
jnp.linalg.pinv(r)
jnp.linalg.pinv(z)
jnp.linalg.pinv(ms)
jnp.linalg.pinv(r, rtol=0.5)
jnp.linalg.pinv(r, rcond=0.5)
jnp.linalg.pinv(p, hermitian=True)
jnp.linalg.pinv(jnp.zeros((3, 2)))
jnp.linalg.pinv(e3)
jnp.linalg.pinv(r, 0.5, rcond=0.5)
jnp.linalg.lstsq(r.T, v)
jnp.linalg.lstsq(r, v[:3])[0]
jnp.linalg.lstsq(r.T, jnp.stack([v, w, v * w], 1))
jnp.linalg.lstsq(r.T, v, rcond=0.6)
jnp.linalg.lstsq(r.T, v, rcond=-1)
jnp.linalg.lstsq(r.T, v, numpy_resid=True)
jnp.linalg.lstsq(r, v[:3], numpy_resid=True)
jnp.linalg.lstsq(z, v[:3])
jnp.linalg.lstsq(e3, e)
jnp.linalg.lstsq(r, v)
jnp.linalg.lstsq(v, v)
jnp.linalg.lstsq(m, ms)
jnp.linalg.matrix_rank(m)
jnp.linalg.matrix_rank(jnp.ones((3, 4)))
jnp.linalg.matrix_rank(jnp.stack([m, 0 * m]))
jnp.linalg.matrix_rank(m, rtol=0.5)
jnp.linalg.matrix_rank(m, tol=0.5)
jnp.linalg.matrix_rank(ms, tol=jnp.array([0.5, 5.]))
jnp.linalg.matrix_rank(ms, rtol=jnp.array([0.5, 1.]))
jnp.linalg.matrix_rank(p, hermitian=True)
jnp.linalg.matrix_rank(v)
jnp.linalg.matrix_rank(0.)
jnp.linalg.matrix_rank(i)
jnp.linalg.matrix_rank(m, 0.1, tol=0.1)
jnp.linalg.cond(r)
jnp.linalg.cond(m)
jnp.linalg.cond(m, 1)
jnp.linalg.cond(m, -2)
jnp.linalg.cond(m, 'fro')
jnp.linalg.cond(m, jnp.inf)
jnp.linalg.cond(ms, 1)
jnp.linalg.cond(jnp.zeros((3, 3)), 1)
jnp.linalg.cond(jnp.zeros((3, 3)))
jnp.linalg.cond(nan, 1)
jnp.linalg.cond(r, 1)
jnp.linalg.cond(v)
jnp.linalg.cond(e3)
jnp.linalg.cond(m, 'a')
jnp.linalg.norm(r, 2)
jnp.linalg.norm(r, -2)
jnp.linalg.norm(r, 'nuc')
jnp.linalg.norm(ms, 'nuc', axis=(0, 2), keepdims=True)
jnp.linalg.matrix_norm(r, ord=2)
jnp.linalg.matrix_power(m, -2)
jnp.linalg.matrix_power(m, -1)
jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 6) + 1)
jnp.linalg.tensorinv(m, 1)
jnp.linalg.tensorinv(m, 0)
jnp.linalg.tensorinv(r, 1)
jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 3, 6) + 1, r[:2, :3])
jnp.linalg.tensorsolve(jnp.eye(6).reshape(2, 6, 3) + 1, r[:2, :3], axes=(1,))
jnp.linalg.tensorsolve(m, v[:2])
jnp.polyfit(v, w, 2)
jnp.polyfit(v, w, 2.7)
jnp.polyfit(v, r.T, 1)
jnp.polyfit(v, w, 1, w=jnp.abs(w))
jnp.polyfit(v, w, 1, full=True)
jnp.polyfit(v, w, 1, cov=True)
jnp.polyfit(v, w, 1, cov='unscaled')
jnp.polyfit(v, r.T, 1, cov=True)
jnp.polyfit(v, w, 3, cov=True)
jnp.polyfit(i[0], i[1], 1)
jnp.polyfit(v, w, -1)
jnp.polyfit(r, w, 1)
jnp.polyfit(v, w[:2], 1)
jnp.polyfit(v, ms, 1)
jnp.polyfit(v, w, 1, w=r)
jnp.polyfit(e, e, 1)
jnp.polyfit([1.], w, 1)
"""


def more_samples() -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    square = random.standard_normal((2, 3, 3)).astype(np.float32)
    other = random.standard_normal((3, 3)).astype(np.float32)
    complex_square = square[0] + 1j * other
    return {
        "m": square[0],
        "ms": square,
        "p": square[1] @ square[1].T + np.eye(3, dtype=np.float32),
        "q": (complex_square @ complex_square.conj().T + np.eye(3)).astype(np.complex64),
        "z": complex_square[:, :2].astype(np.complex64),
        "f": random.standard_normal((5, 5)).astype(np.float32),
        "nan": np.where(np.eye(3, dtype=bool), np.float32(np.nan), square[0]),
        "e2": np.zeros((0, 0), np.float32),
        "e3": np.zeros((0, 3), np.float32),
    }


@pytest.fixture(autouse=True)
def samples(monkeypatch):
    for ours, numpy in ((True, jaxlite.numpy), (False, jax.numpy)):
        for name, value in more_samples().items():
            monkeypatch.setitem(oracle.names(ours), name, numpy.asarray(value))


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_same_as_jax(expression: str) -> None:
    oracle.compare(expression)


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eig", "svd", "qr", "inv"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_an_error(name: str, dtype: str) -> None:
    with pytest.raises(NotImplementedError, match=f"Unsupported dtype {dtype}"):
        getattr(jaxlite.numpy.linalg, name)(jaxlite.numpy.eye(3, dtype=dtype))


def test_every_name_of_jax_is_there() -> None:
    theirs = {n for n in dir(jax.numpy.linalg) if not n.startswith("_")}
    assert theirs == set(jaxlite.numpy.linalg.__all__)


def test_products_take_the_arguments_of_jax() -> None:
    theirs = jax.numpy.linalg
    matrix, vector = np.ones((2, 2), np.float32), np.arange(3, dtype=np.int32)
    for name in ("matmul", "outer", "tensordot"):
        mine, want = (inspect.signature(getattr(m, name)) for m in (jaxlite.numpy.linalg, theirs))
        assert [(p.name, p.kind, p.default) for p in mine.parameters.values()] == [
            (p.name, p.kind, p.default) for p in want.parameters.values()
        ]
    got, want = jaxlite.numpy.linalg.outer(vector, 2.0 * vector), theirs.outer(vector, 2.0 * vector)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    assert got.dtype == want.dtype
    with pytest.raises(ValueError, match="Input arrays must be one-dimensional") as caught:
        theirs.outer(matrix, vector)
    with pytest.raises(ValueError, match="Input arrays must be one-dimensional") as raised:
        jaxlite.numpy.linalg.outer(matrix, vector)
    assert str(raised.value).startswith(str(caught.value).splitlines()[0])
