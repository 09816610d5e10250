"""Derivatives of matrix functions are JAX's: first and second order, both modes, mapped, compiled.

Functions are written once, for a namespace that is jaxlite or JAX, in double precision.
"""

import jax
import numpy as np
import pytest

import jaxlite

pytestmark = pytest.mark.jax_oracle

_random = np.random.default_rng(0)


def real(*shape):
    return _random.standard_normal(shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape)


def positive(x):
    return x @ np.swapaxes(x.conj(), -1, -2) + np.eye(x.shape[-1])


SQUARE, STACK, TALL, WIDE = real(4, 4), real(2, 3, 3), real(5, 3), real(3, 5)
COMPLEX = complex_(3, 3)
DIAGONALS = [real(4), real(4) + 5, real(4)]


def linalg(name, **params):
    return lambda lib: lambda *args: getattr(lib.lax.linalg, name)(*args, **params)


def numpy(name, **params):
    return lambda lib: lambda *args: getattr(lib.numpy.linalg, name)(*args, **params)


def upper_eigh(lib):
    def run(x):
        symmetric = (x + x.swapaxes(-1, -2)) / 2
        return lib.lax.linalg.eigh(symmetric, symmetrize_input=False, lower=False)

    return run


def fft(kind, lengths):
    return lambda lib: lambda x: lib.lax.fft(x, kind, lengths)


CASES = {
    "cholesky": (linalg("cholesky"), positive(SQUARE)),
    "cholesky_stack": (linalg("cholesky"), positive(STACK)),
    "cholesky_complex": (linalg("cholesky"), positive(COMPLEX)),
    "cholesky_raw": (linalg("cholesky", symmetrize_input=False), positive(SQUARE)),
    "eigh": (linalg("eigh"), positive(SQUARE)),
    "eigh_upper": (upper_eigh, positive(STACK)),
    "eigh_complex": (linalg("eigh"), positive(COMPLEX)),
    "eigvals": (numpy("eigvals"), STACK),
    "eigvals_complex": (numpy("eigvals"), COMPLEX),
    "eig": (
        linalg("eig", compute_left_eigenvectors=False, enable_eigvec_derivs=True),
        SQUARE,
    ),
    "svd": (linalg("svd", full_matrices=False), TALL),
    "svd_wide": (linalg("svd", full_matrices=False), WIDE),
    "svd_square": (linalg("svd"), STACK),
    "svd_complex": (linalg("svd", full_matrices=False), complex_(4, 3)),
    "svd_complex_wide": (linalg("svd", full_matrices=False), complex_(3, 4)),
    "svdvals": (linalg("svd", compute_uv=False), TALL),
    "qr": (linalg("qr", full_matrices=False), TALL),
    "qr_square": (linalg("qr"), STACK),
    "qr_full": (linalg("qr"), TALL),
    "qr_wide": (linalg("qr"), WIDE),
    "qr_complex": (linalg("qr", full_matrices=False), complex_(4, 3)),
    "qr_pivoting": (linalg("qr", pivoting=True, full_matrices=False), TALL),
    "lu": (linalg("lu"), STACK),
    "lu_tall": (linalg("lu"), TALL),
    "lu_wide": (linalg("lu"), WIDE),
    "lu_complex": (linalg("lu"), COMPLEX),
    "lower": (linalg("triangular_solve", lower=True, left_side=True), SQUARE, real(4, 3)),
    "upper_right": (linalg("triangular_solve"), SQUARE, real(3, 4)),
    "transposed": (
        linalg("triangular_solve", transpose_a=True, left_side=True, unit_diagonal=True),
        STACK,
        real(2, 3, 2),
    ),
    "adjoint": (
        linalg("triangular_solve", transpose_a=True, conjugate_a=True, lower=True),
        COMPLEX,
        complex_(2, 3),
    ),
    "conjugate": (
        linalg("triangular_solve", conjugate_a=True, left_side=True),
        COMPLEX,
        complex_(3, 2),
    ),
    "tridiagonal": (linalg("tridiagonal_solve"), *DIAGONALS, real(4, 2)),
    "solve": (numpy("solve"), SQUARE, real(4)),
    "solve_many": (numpy("solve"), SQUARE, real(2, 4, 3)),
    "solve_stack": (numpy("solve"), STACK, real(3, 2)),
    "solve_complex": (numpy("solve"), COMPLEX, complex_(3, 2)),
    "inv": (numpy("inv"), STACK),
    "det_2": (numpy("det"), real(2, 2)),
    "det_3": (numpy("det"), STACK),
    "det_4": (numpy("det"), SQUARE),
    "det_complex": (numpy("det"), complex_(4, 4)),
    "slogdet": (numpy("slogdet"), SQUARE),
    "slogdet_complex": (numpy("slogdet"), COMPLEX),
    "slogdet_qr": (numpy("slogdet", method="qr"), SQUARE),
    "pinv": (numpy("pinv"), TALL),
    "pinv_wide": (numpy("pinv"), WIDE),
    "pinv_complex": (numpy("pinv"), complex_(4, 3)),
    "norm_2": (numpy("norm", ord=2), TALL),
    "norm_nuclear": (numpy("norm", ord="nuc"), TALL),
    "cond": (numpy("cond"), SQUARE),
    "matrix_power": (numpy("matrix_power", n=-2), SQUARE),
    "lstsq": (numpy("lstsq"), TALL, real(5)),
    "fft": (fft("fft", (3,)), COMPLEX),
    "ifft": (fft("ifft", (3, 3)), COMPLEX),
    "rfft": (fft("rfft", (5,)), WIDE),
    "rfft2": (fft("rfft", (4, 4)), SQUARE),
    "irfft": (fft("irfft", (4,)), COMPLEX),
    "irfft_odd": (fft("irfft", (3, 5)), COMPLEX),
}


#: JAX has no second derivatives of these; ours are compared with differences below.
FIRST_ORDER_ONLY = ("eigvals", "eigvals_complex")


#: JAX's derivative looks at values or at NumPy arrays.
NOT_TRACEABLE = (
    "qr_pivoting",
    "lu_tall",
    "lu_wide",
    "lu_complex",
    "pinv",
    "pinv_wide",
    "pinv_complex",
)


def inexact(outs):
    leaves = jax.tree.leaves(outs) if isinstance(outs, tuple | list) else [outs]
    return [x for x in leaves if x.dtype.kind in "fc"]


def scalar(lib, function):
    """A real number that depends on all of the function's results, on signs and phases too."""

    def run(*args):
        outs = function(*args)
        total = 0.0
        for k, out in enumerate(inexact(list(outs) if isinstance(outs, tuple | list) else outs)):
            weights = np.cos(np.arange(out.size) + k).reshape(out.shape)
            product = weights * out
            total = total + (lib.numpy.real(product) + 0.5 * lib.numpy.imag(product)).sum()
        return total

    return run


def derivatives(lib, function, args, second_order):
    tangents = [np.random.default_rng(9).permutation(a.ravel()).reshape(a.shape) for a in args]
    fun = scalar(lib, function)
    places = tuple(range(len(args)))
    grad = lib.grad(fun, argnums=places)
    first = lib.jvp(function, tuple(args), tuple(tangents))[1]
    yield "jvp", inexact(list(first) if isinstance(first, tuple | list) else first)
    yield "grad", list(grad(*args))
    yield "grad of a compiled function", list(lib.grad(lib.jit(fun), argnums=places)(*args))
    if second_order:
        yield "second order", list(lib.jvp(grad, tuple(args), tuple(tangents))[1])
    stacked = [np.stack([a, a + 0.1 * t], -1) for a, t in zip(args, tangents)]
    yield "vmap of grad", list(lib.vmap(grad, in_axes=-1)(*stacked))
    if len(args) > 1:
        last = lib.vmap(lambda b: function(*args[:-1], b), in_axes=-1)(stacked[-1])
        yield "vmap over the last operand", inexact(last)


@pytest.mark.parametrize("name", CASES)
def test_same_as_jax(name):
    make, *args = CASES[name]
    with jaxlite.enable_x64(True), jax.enable_x64(True):
        second = name not in FIRST_ORDER_ONLY
        ours = derivatives(jaxlite, make(jaxlite), args, second)
        # One program for XLA: it compiles each operation of an eager call by itself.
        run = jax.jit if name not in NOT_TRACEABLE else lambda f: f
        theirs = run(lambda: dict(derivatives(jax, make(jax), args, second)))()
        for what, mine in ours:
            other = theirs.pop(what)
            assert len(mine) == len(other)
            for a, b in zip(mine, other, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(
                    np.asarray(a), np.asarray(b), rtol=1e-7, atol=1e-7, err_msg=what
                )
        assert not theirs


def test_second_derivative_of_eigenvalues():
    grad = jaxlite.grad(scalar(jaxlite, jaxlite.numpy.linalg.eigvals))
    tangent = real(3, 3)
    with jaxlite.enable_x64(True):
        ours = jaxlite.jvp(grad, (COMPLEX,), (tangent + 0j,))[1]
        step = 1e-5 * tangent
        difference = (grad(COMPLEX + step) - grad(COMPLEX - step)) / 2e-5
    np.testing.assert_allclose(np.asarray(ours), np.asarray(difference), rtol=1e-6, atol=1e-7)


SINGULAR = np.float32([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [1, 0, 0, 1]])


def test_determinant_of_a_singular_matrix_has_a_derivative():
    ours = jaxlite.grad(jaxlite.numpy.linalg.det)(SINGULAR)
    adjugate = np.zeros((4, 4))
    for i, j in np.ndindex(4, 4):
        minor = np.delete(np.delete(SINGULAR, i, 0), j, 1)
        adjugate[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(ours, adjugate, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("hessenberg", (SQUARE,)),
        ("schur", (SQUARE,)),
        ("tridiagonal", (SQUARE,)),
        ("householder_product", (TALL, real(3))),
        ("cholesky_update", (SQUARE, real(4))),
        ("symmetric_product", (SQUARE, SQUARE)),
        ("ormqr", (SQUARE, real(4), SQUARE)),
    ],
)
def test_functions_without_a_derivative_say_so(name, args):
    args = tuple(jaxlite.numpy.asarray(a) for a in args)
    with pytest.raises(NotImplementedError, match=f"Differentiation rule for '{name}'"):
        jaxlite.jvp(getattr(jaxlite.lax.linalg, name), args, args)


def test_derivatives_that_jax_refuses():
    svd, eig, eigh = (getattr(jaxlite.lax.linalg, n) for n in ("svd", "eig", "eigh"))
    with pytest.raises(NotImplementedError, match="JVP not implemented for full matrices"):
        jaxlite.jvp(svd, (TALL,), (TALL,))
    with pytest.raises(NotImplementedError, match="only valid under assumptions"):
        jaxlite.jvp(eig, (SQUARE,), (SQUARE,))
    with pytest.raises(NotImplementedError, match="subset_by_index not supported"):
        eigh(SQUARE, subset_by_index=(0, 2))
