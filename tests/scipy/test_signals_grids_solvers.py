"""``scipy``'s signal, fft, ndimage, interpolate, cluster, integrate and sparse.

Values against SciPy, types, transformations and errors against JAX.
"""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.scipy.cluster.vq
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.interpolate
import jax.scipy.ndimage
import jax.scipy.signal
import jax.scipy.sparse.linalg
import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.signal

import jaxlite

pytestmark = pytest.mark.jax_oracle

R = np.random.RandomState(0)


def _floats(*shape: int) -> Any:
    return R.randn(*shape).astype(np.float32)


A, B, C, D, LONG = _floats(9), _floats(4), _floats(5, 6), _floats(3, 2), _floats(2, 40)
Z = (_floats(7) + 1j * _floats(7)).astype(np.complex64)
PIECES = (_floats(2, 5, 7) + 1j * _floats(2, 5, 7)).astype(np.complex64)
M = _floats(5, 5) + 5 * np.eye(5, dtype=np.float32)
PLACES = [_floats(3, 4) * 5, _floats(3, 4) * 5]
V = _floats(5)

#: (name, arguments, keywords); the first of a name is also jitted, mapped and differentiated.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *(
        (f"signal.{name}", pair, {"mode": mode})
        for name in ("convolve", "correlate", "fftconvolve")
        for mode in ("full", "same", "valid")
        for pair in ((C, D), (B, A), (Z, B), (A.astype(int), B.astype(int)))
    ),
    *(
        (f"signal.{name}2d", pair, {"mode": mode})
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for pair in ((C, D), (D, C))
    ),
    ("signal.convolve", (A, B), {"method": "fft"}),
    ("signal.fftconvolve", (C, C[:, :3]), {"axes": [1]}),
    ("signal.detrend", (LONG,), {}),
    ("signal.detrend", (C,), {"type": "constant", "axis": 0}),
    ("signal.detrend", (C,), {"axis": 0, "bp": [2]}),
    ("signal.welch", (LONG,), {"nperseg": 8}),
    ("signal.welch", (LONG.T,), {"nperseg": 9, "noverlap": 3, "axis": 0}),
    ("signal.csd", (LONG, LONG[:, :30]), {"nperseg": 8, "average": "median"}),
    ("signal.csd", (LONG, LONG), {"nperseg": 8, "nfft": 11, "scaling": "spectrum"}),
    ("signal.stft", (LONG,), {"nperseg": 8}),
    ("signal.stft", (Z,), {"nperseg": 4, "return_onesided": False, "boundary": "even"}),
    ("signal.stft", (LONG.T,), {"nperseg": 9, "axis": 0, "boundary": "odd", "padded": False}),
    ("signal.istft", (PIECES,), {}),
    ("signal.istft", (PIECES,), {"time_axis": 1, "freq_axis": 0}),
    ("signal.istft", (PIECES,), {"noverlap": 2, "input_onesided": False}),
    *(
        (f"fft.{name}", (x,), {"norm": norm})
        for name in ("dct", "idct", "dctn", "idctn")
        for x, norm in ((C, None), (C, "ortho"), (Z, None), (np.arange(5), "ortho"))
    ),
    ("fft.dct", (C,), {"n": 4, "axis": 0}),
    ("fft.dctn", (C,), {"s": (8,)}),
    *(
        ("ndimage.map_coordinates", (x, PLACES), {"order": order, "mode": mode, "cval": 2.0})
        for order in (0, 1)
        for mode in ("constant", "nearest", "wrap", "mirror", "reflect")
        for x in (C,)
    ),
    ("cluster.vq.vq", (C, _floats(3, 6)), {}),
    ("integrate.trapezoid", (C,), {"dx": 2.0, "axis": 0}),
]
SOLVERS = [("cg", M @ M.T), ("bicgstab", M), ("gmres", M)]


def _function(package: Any, name: str) -> Any:
    for part in ("scipy", *name.split(".")):
        package = getattr(package, part)
    return package


def _same(ours: Any, theirs: Any, tolerance: float = 2e-4) -> None:
    pairs = zip(jaxlite.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    for a, b in pairs:
        assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


#: SciPy's names of two modes of ``map_coordinates``.
GRID = {"constant": "grid-constant", "wrap": "grid-wrap"}


def test_values() -> None:
    for name, args, keywords in CALLS:
        function = scipy
        for part in name.split("."):
            function = getattr(function, part)
        mode = keywords.get("mode")
        theirs = function(*args, **keywords | ({"mode": GRID[mode]} if mode in GRID else {}))
        expected = theirs[-1] if isinstance(theirs, tuple) else theirs
        got = np.asarray(jaxlite.tree.leaves(_function(jaxlite, name)(*args, **keywords))[-1])
        message = f"{name} {keywords}"
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-4, err_msg=message)


@pytest.mark.parametrize("name", dict.fromkeys(c[0] for c in CALLS))
def test_transformations(name: str) -> None:
    x, rest, keywords = next((a[0], a[1:], k) for n, a, k in CALLS if n == name)

    def results(package: Any) -> Any:
        def f(x: Any) -> Any:
            return _function(package, name)(x, *rest, **keywords)

        def total(x: Any) -> Any:
            parts = [v for v in package.tree.leaves(f(x)) if v.dtype.kind in "fc"]
            return sum(package.numpy.abs(v).sum() for v in parts)

        def everything(x: Any, two: Any) -> Any:
            return f(x), package.vmap(f)(two), package.grad(total)(x)

        return package.jit(everything)(x, np.stack([x, 2 * x]))

    _same(results(jaxlite), results(jax))


@pytest.mark.parametrize(("name", "matrix"), SOLVERS)
def test_solvers_solve_and_differentiate_their_equation(name: str, matrix: Any) -> None:
    solve = _function(jaxlite, f"sparse.linalg.{name}")

    def total(a: Any, b: Any) -> Any:
        return (solve(a, b, tol=1e-7, M=np.diag(1 / np.diag(matrix)))[0] ** 2).sum()

    def exact(a: Any, b: Any) -> Any:
        return (jax.numpy.linalg.solve(a, b) ** 2).sum()

    ours = jaxlite.jit(jaxlite.value_and_grad(total, (0, 1)))(matrix, V)
    _same(ours, jax.value_and_grad(exact, (0, 1))(matrix, V), 2e-3)
    tree = {"x": V[:2], "y": V[2:]}

    def apply(v: Any) -> Any:
        out = matrix @ jaxlite.numpy.concatenate([v["x"], v["y"]])
        return {"x": out[:2], "y": out[2:]}

    got = solve(apply, tree, tol=1e-7)[0]
    expected = np.linalg.solve(matrix, V)
    np.testing.assert_allclose(np.asarray(got["y"]), expected[2:], rtol=2e-3, atol=2e-4)
    complex_matrix = (matrix + 0.1j * (matrix - matrix.T)).astype(np.complex64)
    got = solve(complex_matrix, Z[:5], x0=Z[:5])[0]
    np.testing.assert_allclose(complex_matrix @ np.asarray(got), Z[:5], rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_interpolation_on_a_grid(method: str) -> None:
    points = (np.array([0, 1, 3, 4], np.float32), np.array([0, 2, 5], np.float32))
    values, where = _floats(4, 3, 2), 3 * _floats(6, 2)
    for fill in (np.nan, None, 1.0):
        make: Any = jaxlite.scipy.interpolate.RegularGridInterpolator
        f = make(points, values, method, fill_value=fill)
        g = scipy.interpolate.RegularGridInterpolator(
            points, values, method, bounds_error=False, fill_value=fill
        )
        for got in (f(where), jaxlite.jit(f)(where)):
            np.testing.assert_allclose(np.asarray(got), g(where), rtol=1e-4, atol=1e-4)


BAD: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("signal.convolve", (A, B), {"mode": "foo"}),
    ("signal.convolve", (A, B), {"method": "foo"}),
    ("signal.convolve", (A, C), {}),
    ("signal.convolve", (A, A[:0]), {}),
    ("signal.convolve", (D, D.T), {"mode": "valid"}),
    ("signal.convolve2d", (A, A), {}),
    ("signal.correlate2d", (C, C), {"boundary": "wrap"}),
    ("signal.fftconvolve", (A, C), {}),
    ("signal.fftconvolve", (A, A), {"mode": "foo"}),
    ("signal.fftconvolve", (D, D.T), {"mode": "valid"}),
    ("signal.fftconvolve", (D, D.T), {"axes": [0]}),
    ("signal.detrend", (A,), {"type": "foo"}),
    ("signal.detrend", (A,), {"overwrite_data": True}),
    ("signal.detrend", (A,), {"bp": [20]}),
    ("signal.stft", (A,), {"nperseg": 4, "noverlap": 4}),
    ("signal.stft", (A,), {"nperseg": 4, "nfft": 3}),
    ("signal.stft", (A,), {"nperseg": 4, "boundary": "foo"}),
    ("signal.csd", (A, A), {"nperseg": 4, "scaling": "foo"}),
    ("signal.csd", (A, A), {"nperseg": 4, "average": "foo"}),
    ("signal.istft", (A,), {}),
    ("signal.istft", (C,), {"time_axis": 0, "freq_axis": 0}),
    ("signal.istft", (C,), {"nperseg": 4, "nfft": 2}),
    ("fft.dct", (A,), {"type": 3}),
    ("fft.dct", (A,), {"norm": "foo"}),
    ("ndimage.map_coordinates", (A, [A], 2), {}),
    ("ndimage.map_coordinates", (A, [A, A], 1), {}),
    ("interpolate.RegularGridInterpolator", ((A,), A), {"method": "foo"}),
    ("interpolate.RegularGridInterpolator", ((A,), A), {"bounds_error": True}),
    ("interpolate.RegularGridInterpolator", ((A, A), A), {}),
    ("interpolate.RegularGridInterpolator", ((A,), A), {"fill_value": 1j}),
    ("cluster.vq.vq", (C, A), {}),
    ("cluster.vq.vq", (PIECES, PIECES), {}),
    ("sparse.linalg.cg", (C, A), {}),
    ("sparse.linalg.cg", ("a", A), {}),
    ("sparse.linalg.cg", (M, V), {"x0": (V,)}),
    ("sparse.linalg.cg", (M, V), {"x0": A}),
    ("sparse.linalg.gmres", (M, V), {"solve_method": "foo"}),
]


def test_errors() -> None:
    for name, args, keywords in BAD:
        with pytest.raises((ValueError, TypeError, NotImplementedError)) as theirs:
            _function(jax, name)(*args, **keywords)
        first = str(theirs.value).split("\n")[0]
        with pytest.raises(theirs.type, match=re.escape(first)):
            _function(jaxlite, name)(*args, **keywords)
