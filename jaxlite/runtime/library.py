"""BLAS by pointer. In: nothing. Out: addresses to bind to the symbols that emitted code calls.

``symbols()`` gives ``jaxlite_sgemm``, ``dgemm``, ``cgemm`` and ``zgemm`` with the Fortran interface
and 32-bit sizes, taken from ``scipy.linalg.cython_blas``, whose pointers SciPy publishes for this
purpose. The meaning of a ``LibraryCall`` and of its params is written in
``compiler/llvm_library.py``. Where SciPy is missing or its BLAS counts in 64 bits, NumPy multiplies
behind the same symbols. Next: ``cpu.py``.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Final

import numpy as np

ROUTINES: Final[dict[str, np.dtype[Any]]] = {
    "sgemm": np.dtype(np.float32),
    "dgemm": np.dtype(np.float64),
    "cgemm": np.dtype(np.complex64),
    "zgemm": np.dtype(np.complex128),
}
_GEMM = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)
_NAME: Final = "scipy.linalg.cython_blas"
_keep_alive: dict[str, Any] = {}


def symbols() -> dict[str, int]:
    """Return symbol name -> address."""
    try:
        blas = _cython_blas().__pyx_capi__
    except ImportError:
        blas = {}
    return {f"jaxlite_{r}": _published(blas, r) or numpy_gemm(r) for r in ROUTINES}


def _cython_blas() -> Any:
    """Return the module ``scipy.linalg.cython_blas``.

    Its file alone is loaded in 2 ms; the rest of ``scipy.linalg``, which importing it by name runs
    first, takes 180 ms. Whoever imports it later gets the same module in the usual way.
    """
    scipy = importlib.util.find_spec("scipy")
    if _NAME in sys.modules or sys.platform == "win32" or scipy is None:
        return importlib.import_module(_NAME)  # on Windows scipy's start finds the libraries
    folders = [str(Path(f, "linalg")) for f in scipy.submodule_search_locations or ()]
    spec = PathFinder.find_spec(_NAME, folders)
    if spec is None or spec.loader is None:
        return importlib.import_module(_NAME)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # Cython has entered it, without its place in the package.
    sys.modules.pop(_NAME, None)
    return module


def _published(blas: dict[str, Any], routine: str) -> int | None:
    """Return SciPy's pointer, None if its signature is not the one that emitted code calls."""
    capsule = blas.get(routine)
    if capsule is None:
        return None
    api = ctypes.pythonapi
    get_name, get_pointer = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = get_name(capsule)
    return int(get_pointer(capsule, signature)) if has_int32_sizes(signature.decode()) else None


def has_int32_sizes(signature: str) -> bool:
    """Say whether a C signature of gemm takes its sizes as ``int *``.

    >>> has_int32_sizes("void (char *, char *, int *, int *, int *, __pyx_t_5scipy_s *, ...)")
    True
    >>> has_int32_sizes("void (char *, char *, int64_t *, int64_t *, int64_t *, s *, ...)")
    False
    """
    parts = [p.strip() for p in signature.partition("(")[2].split(",")]
    return parts[:5] == ["char *", "char *", "int *", "int *", "int *"]


def numpy_gemm(routine: str) -> int:
    """Return the address of ``routine`` made from NumPy's matmul."""
    if routine not in _keep_alive:
        dtype = ROUTINES[routine]

        def gemm(*pointers: int) -> None:
            _gemm_on_pointers(dtype, pointers)

        _keep_alive[routine] = _GEMM(gemm)
    return int(ctypes.cast(_keep_alive[routine], ctypes.c_void_p).value or 0)


def _gemm_on_pointers(dtype: np.dtype[Any], pointers: tuple[int, ...]) -> None:
    """Do ``c = alpha * op(a) @ op(b) + beta * c`` on column-major arrays, as gemm does."""
    trans_a, trans_b = (ctypes.string_at(p, 1) == b"T" for p in pointers[:2])
    m, n, k, lda, ldb, ldc = (
        ctypes.c_int.from_address(p).value
        for p in (*pointers[2:5], *map(pointers.__getitem__, (7, 9, 12)))
    )
    alpha, beta = (_array(dtype, pointers[i], 1, 1, 1)[0, 0] for i in (5, 10))
    a = (
        _array(dtype, pointers[6], k, m, lda).T
        if trans_a
        else _array(dtype, pointers[6], m, k, lda)
    )
    b = (
        _array(dtype, pointers[8], n, k, ldb).T
        if trans_b
        else _array(dtype, pointers[8], k, n, ldb)
    )
    c = _array(dtype, pointers[11], m, n, ldc)
    product = alpha * np.matmul(a, b)
    c[...] = product if beta == 0 else product + beta * c


def _array(
    dtype: np.dtype[Any], address: int, rows: int, columns: int, leading: int
) -> np.ndarray[Any, Any]:
    """Return the column-major matrix at ``address`` as an array over the same memory."""
    if rows == 0 or columns == 0:
        return np.zeros((rows, columns), dtype)
    size = ((columns - 1) * leading + rows) * dtype.itemsize
    memory: Any = (ctypes.c_char * size).from_address(address)
    strides = (dtype.itemsize, leading * dtype.itemsize)
    return np.ndarray((rows, columns), dtype, memory, strides=strides)
