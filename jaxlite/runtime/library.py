"""BLAS by pointer. In: nothing. Out: addresses to bind to the symbols that emitted code calls.

``symbols()`` gives ``jaxlite_sgemm``, ``dgemm``, ``cgemm`` and ``zgemm`` with the Fortran interface and
32-bit sizes, taken from ``scipy.linalg.cython_blas``; the meaning of a ``LibraryCall`` and of its params
is written in ``compiler/llvm_library.py``. Next: ``cpu.py``.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

_ROUTINES = ("sgemm", "dgemm", "cgemm", "zgemm")


def symbols() -> dict[str, int]:
    """Return symbol name -> address."""
    blas = importlib.import_module("scipy.linalg.cython_blas")
    return {f"jaxlite_{r}": _pointer(blas.__pyx_capi__[r]) for r in _ROUTINES}


def _pointer(capsule: Any) -> int:
    api = ctypes.pythonapi
    get_name, get_pointer = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(get_pointer(capsule, get_name(capsule)))
