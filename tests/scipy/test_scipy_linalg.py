"""``scipy.linalg`` against JAX: values or what defines them, dtypes, derivatives, errors."""

from __future__ import annotations

import inspect
import re
from typing import Any

import jax
import jax.scipy.linalg
import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp
import jaxlite.scipy.linalg as ours

pytestmark = pytest.mark.jax_oracle
theirs = jax.scipy.linalg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)).astype(np.float32)
C = (A + 1j * RNG.normal(size=(4, 4))).astype(np.complex64)
P = (A @ A.T + 4 * np.eye(4)).astype(np.float32)
H = (C @ C.conj().T + 4 * np.eye(4)).astype(np.complex64)
B = RNG.normal(size=(4, 2)).astype(np.float32)
V = B[:, 0]
MANY = RNG.normal(size=(3, 4, 4)).astype(np.float32)
W = np.float32([1, 2, 4])
E0 = np.zeros((0, 0), np.float32)


def both(name: str, *args: Any, **keywords: Any) -> Any:
    return name, args, keywords


#: Calls whose results are unique, compared with JAX's one by one.
CALLS = [
    both("cholesky", P), both("cholesky", H, True), both("cholesky", E0), both("det", MANY),
    both("inv", H), both("solve", P, V), both("solve", P, B, assume_a="pos"),
    both("solve_triangular", C, V, trans="C", lower=True, unit_diagonal=True),
    both("solve_triangular", MANY, MANY[:, 0]), both("solve_triangular", MANY, B),
    both("lu", C), both("lu", A[:2], True), both("lu", E0), both("lu_factor", MANY),
    both("svd", MANY, compute_uv=False), both("eigh", H, eigvals_only=True),
    both("eigh_tridiagonal", W, W[:2], eigvals_only=True, select="i", select_range=(1, 2)),
    both("qr", A, mode="r"), both("expm", MANY * 5), both("expm", E0),
    both("expm", np.triu(A), upper_triangular=True), both("expm", 1e6 * A, max_squarings=3),
    both("expm_frechet", A, P / 9), both("sqrtm", A), both("funm", P, lambda x: x**2),
    both("polar", C), both("polar", B.T, "left", method="svd"), both("solve_sylvester", P, P, A),
    both("solve_sylvester", P, P, A, method="eigen"), both("hessenberg", A, calc_q=True),
    both("block_diag"), both("block_diag", A, V, np.float32(2)), both("circulant", W),
    both("convolution_matrix", W, 5, "same"),
    both("convolution_matrix", W, 2, "valid"), both("dft", 4, "sqrtn"), both("fiedler", MANY[0]),
    *(both("fiedler_companion", A[0, :k]) for k in (1, 2)), both("fiedler_companion", A),
    both("hadamard", 4), both("hankel", A, np.int32([1, 2])),
    both("helmert", 4), both("helmert", 3, True), both("hilbert", 4), both("invhilbert", 3),
    both("pascal", 4), both("pascal", 0), both("invpascal", 4, "lower"), both("leslie", A, V[:3]),
    both("toeplitz", W, V), both("qr_multiply", B, V),
    both("qr_multiply", B, A[:2], mode="left"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_values_and_errors() -> None:
    for name, args, keywords in CALLS:
        f, g = getattr(ours, name), getattr(theirs, name)
        try:
            expected = g(*args, **keywords)
        except (ValueError, TypeError) as refusal:
            with pytest.raises(type(refusal), match=re.escape(str(refusal).split("\n")[0])):
                f(*args, **keywords)
            continue
        found, wanted = (jax.tree.leaves(v) for v in (f(*args, **keywords), expected))
        assert len(found) == len(wanted), name
        for a, b in zip(found, wanted, strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), (name, keywords, a, b)
            scale = np.max(np.abs(b), initial=1e-3, where=np.isfinite(b))
            np.testing.assert_allclose(
                np.asarray(a), np.asarray(b), rtol=2e-3, atol=5e-4 * scale, err_msg=name
            )


def test_factors_multiply_to_the_matrix() -> None:
    def h(x: Any) -> Any:
        return jnp.conj(jnp.matrix_transpose(x))

    for a in (A, C, MANY):
        q, r = ours.qr(a)
        u, s, vh = ours.svd(a)
        q_p, r_p, p = ours.qr(a, pivoting=True)
        columns = jnp.take_along_axis(jnp.asarray(a), p[..., None, :], -1)
        t, z = ours.schur(a)
        tc, zc = ours.schur(a, "complex")
        rc = ours.rsf2csf(t, z)
        pairs = [
            (q @ r, a), (u * s[..., None, :] @ vh, a), (q_p @ r_p, columns), (z @ t @ h(z), a),
            (zc @ tc @ h(zc), a), (rc[1] @ rc[0] @ h(rc[1]), a), (jnp.triu(rc[0]), rc[0]),
            (ours.lu_solve(ours.lu_factor(a), a), jnp.broadcast_to(jnp.eye(4), a.shape)),
        ]  # fmt: skip
        for found, expected in pairs:
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=2e-4)
    for trans, operand in ((0, C), (1, C.T), (2, C.conj().T)):
        x = ours.lu_solve(ours.lu_factor(C), V.astype(np.complex64), trans)
        np.testing.assert_allclose(operand @ np.asarray(x), V, atol=1e-4)
    for lower in (False, True):
        x = ours.cho_solve(ours.cho_factor(P, lower), B)
        np.testing.assert_allclose(P @ np.asarray(x), B, atol=1e-4)
    values, vectors = ours.eigh(H)
    np.testing.assert_allclose(H @ np.asarray(vectors), np.asarray(vectors * values), atol=1e-3)


def test_slopes() -> None:
    functions: dict[str, Any] = {
        "cholesky": lambda m, x: m.cholesky(x), "expm": lambda m, x: m.expm(x / 9),
        "lu": lambda m, x: m.lu(x)[2],
        "solve": lambda m, x: m.solve(x, V), "pos": lambda m, x: m.solve(x, V, assume_a="pos"),
        "lu_solve": lambda m, x: m.lu_solve(m.lu_factor(x), V), "inv": lambda m, x: m.inv(x),
        "triangular": lambda m, x: m.solve_triangular(x, B, lower=True),
        "det": lambda m, x: m.det(x),
        "eigh": lambda m, x: m.eigh(x)[0], "svd": lambda m, x: m.svd(x, compute_uv=False),
        "toeplitz": lambda m, x: m.toeplitz(x[0], x[1]),
    }  # fmt: skip

    def slopes(j: Any, m: Any) -> Any:
        one = {n: j.grad(lambda x, f=f: (f(m, x) ** 2).sum()) for n, f in functions.items()}
        return j.jit(lambda x: {n: g(x) for n, g in one.items()})(P)

    found, expected = slopes(jaxlite, ours), slopes(jax, theirs)
    for name, b in expected.items():
        scale = float(np.max(np.abs(np.asarray(b))))
        np.testing.assert_allclose(
            np.asarray(found[name]), np.asarray(b), rtol=2e-3, atol=1e-3 * scale, err_msg=name
        )


def test_names_signatures_and_refusals() -> None:
    for name in (n for n in dir(theirs) if not n.startswith("_")):
        f, g = getattr(ours, name), getattr(theirs, name)
        assert list(inspect.signature(f).parameters) == list(inspect.signature(g).parameters)
    f32 = np.float32
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        both("hadamard", 3), both("helmert", 0), both("hilbert", -1), both("pascal", 3, "x"),
        both("invpascal", 3, "x"), both("dft", 3, "x"), both("dft", 3, dtype=f32),
        both("convolution_matrix", W[:0], 2), both("convolution_matrix", W, 0),
        both("convolution_matrix", W, 2, "x"), both("fiedler_companion", W[:0]),
        both("companion", W[:1]), both("leslie", W, W), both("leslie", W[:1], W[:0]),
        both("polar", B.T), both("polar", A, "x"), both("polar", A, method="x"),
        both("rsf2csf", B, A), both("rsf2csf", A, A[:2, :2]), both("solve_sylvester", B, A, A),
        both("solve_sylvester", A, A, A, method="x"), both("solve", A, V, assume_a="x"),
        both("solve", A, V[:3], assume_a="pos"), both("solve_triangular", A, V, trans="x"),
        both("solve_triangular", A, B[:2]), both("lu_solve", (A, np.int32([0, 1, 2, 3])), V, 5),
        both("eigh_tridiagonal", W, W[:2], select="v", select_range=(0.0, 1.0)),
        both("eigh_tridiagonal", W, W[:2], select="x"), both("qr", A, mode="x"),
        both("eigh_tridiagonal", W.astype(np.complex64), W[:2]), both("expm", B),
        both("qr_multiply", B, B, "x"), both("qr_multiply", B, A, mode="left"),
        both("expm_frechet", B, B), both("expm_frechet", A, A[:2, :2]), both("sqrtm", A, 2),
        both("funm", B, np.exp), both("schur", A, "x"), both("eigh", A, A),
    ]  # fmt: skip
    for name, args, keywords in calls:
        with pytest.raises((ValueError, TypeError, NotImplementedError)) as wanted:
            getattr(theirs, name)(*args, **keywords)
        start = re.escape(str(wanted.value).split("\n")[0])
        with pytest.raises(wanted.type, match=start):
            getattr(ours, name)(*args, **keywords)
