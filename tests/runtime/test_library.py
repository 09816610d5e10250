"""BLAS pointers, and NumPy behind the same symbols where there are none."""

import ctypes
import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from jaxlite.runtime import library

scipy_blas = importlib.import_module("scipy.linalg.cython_blas")


def call(
    address: int, dtype: np.dtype[Any], a: Any, b: Any, c: Any, flags: str, beta: float
) -> None:
    """Call a gemm on Fortran-ordered arrays."""
    m, n = c.shape
    k = a.shape[0] if flags[0] == "T" else a.shape[1]
    numbers = [ctypes.c_int(v) for v in (m, n, k, *(max(1, x.shape[0]) for x in (a, b, c)))]
    scalars = [np.array(v, dtype) for v in (2.0, beta)]
    letters = [ctypes.create_string_buffer(f.encode()) for f in flags]
    args = [
        *letters, *numbers[:3], scalars[0], a, numbers[3], b, numbers[4], scalars[1], c, numbers[5]
    ]  # fmt: skip
    pointers = [x.ctypes.data if isinstance(x, np.ndarray) else ctypes.addressof(x) for x in args]
    library._GEMM(address)(*pointers)


@pytest.mark.parametrize("routine", sorted(library.ROUTINES))
@pytest.mark.parametrize("flags", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("kind", ["scipy", "numpy"])
def test_both_kinds_of_gemm(routine: str, flags: str, kind: str) -> None:
    dtype = library.ROUTINES[routine]
    address = (
        library.symbols()[f"jaxlite_{routine}"] if kind == "scipy" else library.numpy_gemm(routine)
    )
    rng = np.random.default_rng(0)

    def matrix(rows: int, columns: int, transposed: bool = False) -> Any:
        shape = (columns, rows) if transposed else (rows, columns)
        values = rng.standard_normal(shape) + (
            1j * rng.standard_normal(shape) if dtype.kind == "c" else 0
        )
        return np.asfortranarray(values.astype(dtype))

    a, b, c = matrix(3, 4, flags[0] == "T"), matrix(4, 5, flags[1] == "T"), matrix(3, 5)
    product = 2 * (a.T if flags[0] == "T" else a) @ (b.T if flags[1] == "T" else b)
    for beta in (0.0, 1.0):
        expected = product + (c if beta else 0)
        call(address, dtype, a, b, c, flags, beta)
        np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)
    c[:] = np.nan  # beta = 0 overwrites whatever was there
    call(address, dtype, a, b, c, flags, 0.0)
    np.testing.assert_allclose(c, product, rtol=1e-5, atol=1e-5)


def test_blas_with_64_bit_sizes_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "has_int32_sizes", lambda signature: False)
    assert library.symbols() == {f"jaxlite_{r}": library.numpy_gemm(r) for r in library.ROUTINES}


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    assert library.symbols() == {f"jaxlite_{r}": library.numpy_gemm(r) for r in library.ROUTINES}


def test_scipy_publishes_32_bit_sizes() -> None:
    assert library._published(scipy_blas.__pyx_capi__, "sgemm") is not None
    assert library._published(scipy_blas.__pyx_capi__, "no_such_routine") is None


def test_the_rest_of_scipys_linalg_is_not_imported_and_comes_later_as_usual() -> None:
    code = """
import sys
from jaxlite.runtime import library
symbols = library.symbols()
assert "scipy.linalg" not in sys.modules
assert "scipy.linalg.cython_blas" not in sys.modules
import scipy.linalg.cython_blas
assert scipy.linalg.cython_blas.__pyx_capi__
assert library.symbols() == symbols
assert scipy.linalg.det([[2.0]]) == 2
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)
