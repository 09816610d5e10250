"""``lax.linalg`` line by line under jaxlite and JAX; both call the same LAPACK."""

import jax
import numpy as np
import pytest

import jaxlite
from tests.numpy import oracle

pytestmark = pytest.mark.jax_oracle

EXPRESSIONS = r"""
L.cholesky(p)
L.cholesky(p, symmetrize_input=False)
L.cholesky(i)
L.cholesky(-p)
L.cholesky(t)
L.cholesky(t, symmetrize_input=False)
L.cholesky(v)
L.eigh(m)
L.eigh(m, lower=False, symmetrize_input=False)
L.eigh(m, subset_by_index=(0, 3))
L.eigh(m, subset_by_index=(0, 2))
L.eigh(m, implementation=L.EighImplementation.QR)
L.eigh(m, implementation=L.EighImplementation.QDWH)
L.eigh(m, implementation=L.EighImplementation.JACOBI)
L.eigh(t, symmetrize_input=False)
L.eig(m)
L.eig(ms)
L.eig(c)
L.eig(m, compute_right_eigenvectors=False)
L.eig(m, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
L.eig(m, implementation=L.EigImplementation.LAPACK)
L.eig(m, implementation=L.EigImplementation.MAGMA)
L.eig(t)
L.eig(v)
L.eig(i)
L.eig(e)
L.svd(t)
L.svd(t, full_matrices=False)
L.svd(t, compute_uv=False)
L.svd(c, algorithm=L.SvdAlgorithm.DIVIDE_AND_CONQUER)
L.svd(t, algorithm=L.SvdAlgorithm.JACOBI)
L.svd(t, subset_by_index=(0, 2))
L.svd(t, full_matrices=False, subset_by_index=(0, 2))
L.svd(v)
L.qr(t)
L.qr(c)
L.qr(t, pivoting=True)
L.qr(t.T, pivoting=True, full_matrices=False)
L.qr(c, pivoting=True)
L.qr(v)
L.qr(e)
L.lu(m)
L.lu(t)
L.lu(t.T)
L.lu(ms)
L.lu(c)
L.lu(z)
L.lu(e)
L.lu(i)
L.lu(v)
L.lu([1.])
L.lu_pivots_to_permutation(jnp.array([2, 2, 2]), 3)
L.lu_pivots_to_permutation(jnp.array([[1, 1], [0, 1]]), 4)
L.lu_pivots_to_permutation(jnp.array([2, 2, 2]), 2)
L.lu_pivots_to_permutation(v, 3)
L.lu_pivots_to_permutation(jnp.int32(3), 3)
jax.vmap(lambda p: L.lu_pivots_to_permutation(p, 4), 1)(jnp.array([[1, 1], [3, 2]]))
L.triangular_solve(m, v)
L.triangular_solve(m, v, left_side=True)
L.triangular_solve(m, t)
L.triangular_solve(m, t.T, left_side=True, lower=True)
L.triangular_solve(m, t, transpose_a=True)
L.triangular_solve(c, c, conjugate_a=True)
L.triangular_solve(c, c, conjugate_a=True, transpose_a=True, left_side=True)
L.triangular_solve(m, m, unit_diagonal=True, lower=True)
L.triangular_solve(ms, ms, left_side=True)
L.triangular_solve(z, m, left_side=True)
L.triangular_solve(v, t)
L.triangular_solve(t, t)
L.triangular_solve(m, t.T)
L.triangular_solve(ms, ms[:1])
L.triangular_solve(m, c)
L.triangular_solve(i, i)
L.tridiagonal_solve(v, v + 4, v, m)
L.tridiagonal_solve(ms[:, 0], ms[:, 1], ms[:, 2], ms)
L.tridiagonal_solve(0 * v, 0 * v, 0 * v, m)
L.tridiagonal_solve(v, v, v, v)
L.tridiagonal_solve(v, v, v[:2], m)
L.tridiagonal_solve(v, v, v, m[:2])
L.householder_product(t, v)
L.householder_product(c, c[0])
L.householder_product(t.T, v)
L.householder_product(t, t)
L.householder_product(t, jnp.ones(5))
L.ormqr(m, v, m)
L.ormqr(m, v, m, left=False, transpose=True)
L.ormqr(c, c[0], c, transpose=True)
L.ormqr(m, v, t)
L.hessenberg(m)
L.hessenberg(c)
L.hessenberg(m[:1, :1])
L.hessenberg(t)
L.hessenberg(v)
L.schur(m)
L.schur(c)
L.schur(m, compute_schur_vectors=False)
L.schur(t)
L.schur(m, sort_eig_vals=True)
L.tridiagonal(p)
L.tridiagonal(p, lower=False)
L.tridiagonal(c + c.conj().T)
L.tridiagonal(m[:1, :1])
L.tridiagonal(t)
L.cholesky_update(jnp.triu(m), v)
L.cholesky_update(t, v)
L.cholesky_update(m, t)
L.cholesky_update(c, c[0])
L.symmetric_product(m, m, alpha=2., beta=0.5)
L.symmetric_product(m, m, symmetrize_output=True)
L.symmetric_product(t, jnp.zeros((4, 4)))
L.symmetric_product(m, t)
L.symmetric_product(c, c)
jax.jit(L.eigh)(m)
jax.jit(L.lu)(ms)
jax.jit(L.qr)(t)
jax.jit(L.svd)(c)
jax.vmap(L.eig, in_axes=2)(ms.T)
jax.vmap(L.tridiagonal_solve, in_axes=(0, None, None, 0))(ms[:, 0], v + 4, v, ms)
jax.vmap(L.triangular_solve, in_axes=(None, 1))(m, jnp.stack([t, t + 1], 1))
jax.vmap(lambda b: L.triangular_solve(m, b, left_side=True), in_axes=2)(jnp.stack([m, m + 1], 2))
"""


def samples() -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    stack = random.standard_normal((2, 3, 3)).astype(np.float32)
    return {
        "m": stack[0],
        "ms": stack,
        "p": stack[1] @ stack[1].T + np.eye(3, dtype=np.float32),
        "c": (stack[0] + 1j * stack[1]).astype(np.complex64),
        "t": random.standard_normal((4, 3)).astype(np.float32),
        "v": random.standard_normal(3).astype(np.float32),
        "z": np.zeros((3, 3), np.float32),
        "e": np.zeros((0, 0), np.float32),
        "i": np.eye(3, dtype=np.int32),
    }


@pytest.fixture(autouse=True)
def patched(monkeypatch):
    for ours, library in ((True, jaxlite), (False, jax)):
        names = oracle.names(ours)
        monkeypatch.setitem(names, "L", library.lax.linalg)
        for name, value in samples().items():
            monkeypatch.setitem(names, name, library.numpy.asarray(value))


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_same_as_jax(expression: str) -> None:
    oracle.compare(expression)


def test_half_precision_triangles_are_solved_in_float32():
    a = np.tril(samples()["m"]).astype(np.float16) + np.float16(2) * np.eye(3, dtype=np.float16)
    b = samples()["t"].T.astype(np.float16)
    out = jaxlite.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    assert out.dtype == np.float16
    exact = np.linalg.solve(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(np.asarray(out), exact, rtol=2e-3, atol=2e-3)


def test_names_of_jax_are_there():
    theirs = {n for n in dir(jax.lax.linalg) if not n.startswith("_")}
    # The polar decomposition by iteration is a detail of how accelerators compute eigh.
    assert theirs - {"qdwh"} <= set(jaxlite.lax.linalg.__all__)
