"""A GPU for machines without one. In: CUDA C and NumPy arrays. Out: what the kernel does to them.

``g++`` compiles the generated source unchanged beside ``gpu.hpp`` (what it uses of CUDA C) and
``simulator.cpp`` (how it runs: real barriers and warps, and checks for races, reads and writes
outside of buffers, divergent barriers, shared memory that nobody has written). The mathematical
functions are the C library's, so results may differ from a GPU's in the last places.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxlite.compiler.emit_cuda import CudaKernel

HERE = Path(__file__).parent
FLAGS = ("-O1", "-fPIC", "-w", "-std=gnu++17", "-fwrapv", "-ffp-contract=off")

is_available = shutil.which("g++") is not None and os.uname().machine == "x86_64"


class SimulationError(RuntimeError):
    """Something that a GPU would not forgive."""


@functools.cache
def folder() -> Path:
    """Return the folder for compiled code, deleted with the process."""
    path = tempfile.TemporaryDirectory(prefix="jaxlite-simulator-")
    _keep.append(path)
    return Path(path.name)


_keep: list[Any] = []


def _compile(source: Path, target: Path, *flags: str) -> None:
    command = ["g++", *FLAGS, *flags, "-I", str(HERE), "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@functools.cache
def machine() -> Path:
    """Return the compiled simulator."""
    target = folder() / "simulator.o"
    _compile(HERE / "simulator.cpp", target)
    return target


class Module:
    """Several kernels compiled together: one call of the compiler is what costs."""

    def __init__(self, kernels: Sequence[CudaKernel]) -> None:
        self.numbers = {kernel: n for n, kernel in enumerate(kernels)}
        text = ['#include "gpu.hpp"', "__attribute__((used)) __shared__ int gpu_anchor;"]
        for kernel, n in self.numbers.items():
            text += [f"namespace kernel_{n} {{", self._renamed(kernel), "}", "#undef DEVICE"]
        for kernel, n in self.numbers.items():
            text += [_wrapper(kernel, n, launch.entry) for launch in kernel.launches]
        source = "\n".join(text)
        base = folder() / hashlib.sha256(source.encode()).hexdigest()[:16]
        base.with_suffix(".cpp").write_text(source)
        _compile(base.with_suffix(".cpp"), base.with_suffix(".o"), "-fsanitize=thread")
        library = base.with_suffix(".so")
        linker = ["g++", "-shared", str(base.with_suffix(".o")), str(machine()), "-o", str(library)]
        subprocess.run(linker, check=True)
        self.library = ctypes.CDLL(str(library))
        self.library.gpu_launch.restype = ctypes.c_char_p

    def _renamed(self, kernel: CudaKernel) -> str:
        """Return the source with functions that do not clash with those of other kernels."""
        return kernel.source.replace('extern "C" __global__', "__global__")

    def run(self, kernel: CudaKernel, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Launch all functions of ``kernel``, each once with threads in order and in reverse.

        The reversed run works on copies and must give the same bits.
        """
        # An operand that is updated in place is one buffer under two names.
        copies = {(a.ctypes.data, a.size): a.copy() for a in arrays}
        again = [copies[a.ctypes.data, a.size] for a in arrays]
        self._launch(kernel, again, backwards=True)
        self._launch(kernel, arrays, backwards=False)
        for p, a, b in zip(kernel.kernel.params, arrays, again, strict=True):
            assert a.tobytes() == b.tobytes(), f"{p.name} depends on the order of the threads"

    def _launch(
        self, kernel: CudaKernel, arrays: Sequence[np.ndarray[Any, Any]], backwards: bool
    ) -> None:
        buffers = list(arrays)
        if kernel.scratch_bytes:
            buffers.append(np.full(kernel.scratch_bytes, 255, np.uint8))
        pointers = (ctypes.c_void_p * len(buffers))(*[b.ctypes.data for b in buffers])
        cells = [ctypes.cast(ctypes.pointer(ctypes.c_void_p(p)), ctypes.c_void_p) for p in pointers]
        args = (ctypes.c_void_p * len(buffers))(*cells)
        ranges: dict[tuple[int, int], int] = {}
        for k, b in enumerate(buffers):
            is_written = k >= len(arrays) or kernel.kernel.params[k].is_output
            place = (b.ctypes.data, b.nbytes)
            ranges[place] = ranges.get(place, 0) | int(is_written)
        flat = [n for (low, size), flag in ranges.items() for n in (low, size, flag)]
        table = (ctypes.c_uint64 * len(flat))(*flat)
        for launch in kernel.launches:
            name = f"launch_{self.numbers[kernel]}_{launch.entry}"
            entry = ctypes.cast(getattr(self.library, name), ctypes.c_void_p)
            problem = self.library.gpu_launch(
                entry, args, launch.blocks, launch.threads, table, len(ranges), int(backwards)
            )
            if problem:
                raise SimulationError(f"{launch.entry}: {problem.decode()}")


def _wrapper(kernel: CudaKernel, number: int, entry: str) -> str:
    """Return a function that takes pointers to the arguments, as a launch does."""
    n_args = len(kernel.kernel.params) + bool(kernel.scratch_bytes)
    args = ", ".join(f"Any{{a[{k}]}}" for k in range(n_args))
    return (
        'extern "C" __attribute__((no_sanitize("thread"))) void '
        f"launch_{number}_{entry}(void** a) {{ kernel_{number}::{entry}({args}); }}"
    )
