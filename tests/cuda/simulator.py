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
import re
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


class Code:
    """Compiled sources. ``launch`` runs one of their functions on addresses."""

    def __init__(self, sources: Sequence[str]) -> None:
        self.sources = sources
        text = ['#include "gpu.hpp"', "__attribute__((used)) __shared__ int gpu_anchor;"]
        for n, source in enumerate(sources):
            # In a namespace of its own: kernels of different sources may have the same name.
            body = source.replace('extern "C" __global__', "__global__")
            text += [f"namespace kernel_{n} {{", body, "}", "#undef DEVICE"]
        for n, source in enumerate(sources):
            text += [_wrapper(n, entry, params) for entry, params in _SIGNATURE.findall(source)]
        whole = "\n".join(text)
        base = folder() / hashlib.sha256(whole.encode()).hexdigest()[:16]
        library = base.with_suffix(".so")
        if not library.exists():
            base.with_suffix(".cpp").write_text(whole)
            _compile(base.with_suffix(".cpp"), base.with_suffix(".o"), "-fsanitize=thread")
            linker = ["g++", "-shared", str(base.with_suffix(".o")), str(machine())]
            subprocess.run([*linker, "-o", str(library)], check=True)
        self.library = ctypes.CDLL(str(library))
        self.library.gpu_launch.restype = ctypes.c_char_p

    def launch(
        self,
        number: int,
        entry: str,
        blocks: int,
        threads: int,
        addresses: Sequence[int],
        ranges: Sequence[tuple[int, int, bool]],
        backwards: bool = False,
    ) -> None:
        """Run ``entry`` of source ``number``, which may touch ``ranges`` (at, bytes, writable)."""
        pointers = (ctypes.c_uint64 * len(addresses))(*addresses)
        cells = [ctypes.addressof(pointers) + 8 * k for k in range(len(addresses))]
        args = (ctypes.c_void_p * len(cells))(*cells)
        flat = [int(n) for triple in ranges for n in triple]
        table = (ctypes.c_uint64 * len(flat))(*flat)
        function = ctypes.cast(getattr(self.library, f"launch_{number}_{entry}"), ctypes.c_void_p)
        problem = self.library.gpu_launch(
            function, args, blocks, threads, table, len(ranges), int(backwards)
        )
        if problem:
            raise SimulationError(f"{entry}: {problem.decode()}")


_SIGNATURE = re.compile(r"__launch_bounds__\(\d+\)\s+(\w+)\(([^)]*)\)")


class Module:
    """Several kernels compiled together: one call of the compiler is what costs."""

    def __init__(self, kernels: Sequence[CudaKernel]) -> None:
        self.numbers = {kernel: n for n, kernel in enumerate(kernels)}
        self.code = Code([kernel.source for kernel in kernels])

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
        writable: dict[tuple[int, int], bool] = {}
        for k, b in enumerate(buffers):
            is_written = k >= len(arrays) or kernel.kernel.params[k].is_output
            place = (b.ctypes.data, b.nbytes)
            writable[place] = writable.get(place, False) or is_written
        ranges = [(*place, flag) for place, flag in writable.items()]
        addresses = [b.ctypes.data for b in buffers]
        for x in kernel.launches:
            self.code.launch(
                self.numbers[kernel], x.entry, x.blocks, x.threads, addresses, ranges, backwards
            )


def _wrapper(number: int, entry: str, params: str) -> str:
    """Return a function that takes pointers to the arguments, as a launch does."""
    args = ", ".join(f"Any{{a[{k}]}}" for k in range(len(params.split(","))))
    return (
        'extern "C" __attribute__((no_sanitize("thread"))) void '
        f"launch_{number}_{entry}(void** a) {{ kernel_{number}::{entry}({args}); }}"
    )
