"""What this machine is. In: nothing. Out: the host's ``Target``. Next: ``library.py``.

The layout of tuples and NumPy arrays is looked up, not assumed: an array's data pointer has to be
found where ``array_data`` says, else the entry gets a table of pointers.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from platform import machine
from typing import Any

import numpy as np

from jaxlite.kernel_ir.target import Target

_HEAD = object.__basicsize__


def tuple_items_offset() -> int:
    """Return where the items of a tuple start, -1 if they are not where CPython puts them."""
    offset = tuple.__basicsize__
    probe = (object(), object())
    words = (ctypes.c_void_p * 2).from_address(id(probe) + offset)
    return offset if [words[0], words[1]] == [id(probe[0]), id(probe[1])] else -1


def array_data_offset() -> int:
    """Return where an array's data pointer is, -1 if not right after the object's head."""
    probes = [np.empty(shape, np.float32) for shape in ((), (3,), (2, 5))]
    at_head = (ctypes.c_void_p.from_address(id(a) + _HEAD).value for a in probes)
    return _HEAD if all(p == a.ctypes.data for p, a in zip(at_head, probes)) else -1


def vector_bits(features: dict[str, bool]) -> int:
    """Return the width of vector registers, given LLVM's names of CPU features."""
    if all(features.get(f) for f in ("avx512f", "avx512dq", "avx512bw", "avx512vl")):
        return 512
    return 256 if features.get("avx2") else 128


@functools.cache
def vector_math_library() -> Any:
    """Return libmvec as a loaded library, None where it does not exist."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


def vector_math(bits: int) -> str:
    """Return the instruction sets for which libmvec has all the functions that are emitted."""
    library = vector_math_library()
    # tanh came with glibc 2.35, as did most others.
    if library is None or not hasattr(library, "_ZGVbN4v_tanhf"):
        return ""
    return {512: "edb", 256: "db", 128: "b"}[bits]


def describe(name: str, features: dict[str, bool], llvm_version: int) -> Target:
    """Return the ``Target`` for a CPU that LLVM calls ``name``."""
    bits = vector_bits(features)
    return Target(
        name=name,
        vector_bits=bits,
        vector_math=vector_math(bits),
        fma=bool(features.get("fma")) or machine() in ("aarch64", "arm64"),
        llvm_version=llvm_version,
        tuple_items=tuple_items_offset(),
        array_data=array_data_offset(),
    )
