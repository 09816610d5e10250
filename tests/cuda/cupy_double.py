"""A stand-in for CuPy on machines without a GPU. In: what ``runtime/cuda.py`` asks of CuPy.

Out: the same on NumPy memory, with kernels run in the simulator. As strict as CuPy where that
matters: an array does not turn into a NumPy array by itself, fresh memory holds rubbish, a kernel
takes NumPy scalars only. ``install()`` puts it in the place of ``cupy``.
"""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any

import numpy as np
import pytest

from jaxlite.runtime import cuda as runtime_cuda
from tests.cuda.simulator import _SIGNATURE, Code

RUBBISH = 0xAB


class Memory:
    """All that is allocated on the double, by address."""

    def __init__(self) -> None:
        self.blocks: dict[int, np.ndarray[Any, Any]] = {}
        self.used_bytes = 0
        self.limit_bytes: int | None = None
        self.n_freed = 0


MEMORY = Memory()


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class MemoryPointer:
    """An address inside a block."""

    def __init__(self, block: np.ndarray[Any, Any], offset: int = 0) -> None:
        self.block, self.offset = block, offset

    @property
    def ptr(self) -> int:
        """The address."""
        return int(self.block.ctypes.data) + self.offset

    def __add__(self, n_bytes: int) -> MemoryPointer:
        return MemoryPointer(self.block, self.offset + n_bytes)


def _allocate(n_bytes: int) -> MemoryPointer:
    if MEMORY.limit_bytes is not None and n_bytes > MEMORY.limit_bytes:
        raise OutOfMemoryError(f"Out of memory allocating {n_bytes:,} bytes")
    # 16 bytes more than asked for, so that neighbours are not neighbours.
    block = np.full(n_bytes + 16, RUBBISH, np.uint8)
    MEMORY.blocks[block.ctypes.data] = block[:n_bytes]
    return MemoryPointer(block)


class ndarray:
    """An array on the double."""

    def __init__(self, shape: Any, dtype: Any = float, memptr: MemoryPointer | None = None) -> None:
        self.shape = tuple(shape) if isinstance(shape, tuple | list) else (int(shape),)
        self.dtype = np.dtype(dtype)
        if self.dtype.name == "bfloat16" or self.dtype.kind not in "?biufc":
            raise ValueError(f"Unsupported dtype {self.dtype}")
        n_bytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        self.data = _allocate(n_bytes) if memptr is None else memptr
        raw = self.data.block[self.data.offset : self.data.offset + n_bytes]
        assert raw.size == n_bytes, "a view beyond its block"
        self._host = raw.view(self.dtype).reshape(self.shape)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct "
            "a NumPy array explicitly."
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self._host.ctypes.data, False),
            "version": 3,
        }  # fmt: skip

    def __dlpack__(self, **_: Any) -> Any:
        return self

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device.id)

    @property
    def device(self) -> Device:
        """The first GPU."""
        return Device(0)

    def get(self) -> np.ndarray[Any, Any]:
        """Return a copy on the host."""
        return self._host.copy()

    def set(self, host: np.ndarray[Any, Any]) -> None:
        """Copy from the host."""
        assert (host.shape, host.dtype) == (self.shape, self.dtype)
        self._host[...] = host

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[index] = value._host

    def _view(self, host: np.ndarray[Any, Any]) -> ndarray:
        out: ndarray = object.__new__(ndarray)
        out.shape, out.dtype, out.data, out._host = host.shape, host.dtype, self.data, host
        return out

    def reshape(self, shape: Any) -> ndarray:
        """Return a view of another shape."""
        return self._view(self._host.reshape(shape))

    def transpose(self, *axes: int) -> ndarray:
        """Return a view with axes in another order."""
        return self._view(self._host.transpose(*axes))

    def astype(self, dtype: Any, copy: bool = True) -> ndarray:
        """Return the array with elements of another dtype."""
        if np.dtype(dtype) == self.dtype and not copy:
            return self
        return asarray(self._host.astype(dtype))


def empty(shape: Any, dtype: Any = float) -> ndarray:
    """Return an array of rubbish."""
    return ndarray(shape, dtype)


def asarray(host: Any) -> ndarray:
    """Return a copy of a NumPy array on the double."""
    if isinstance(host, ndarray):
        return host
    out = ndarray(host.shape, host.dtype)
    out.set(host)
    return out


def ascontiguousarray(x: ndarray) -> ndarray:
    """Return ``x``, copied if its elements are not in order."""
    return x if x._host.flags.c_contiguous else asarray(np.array(x._host, order="C"))


def from_dlpack(x: Any) -> ndarray:
    """Return an array that shares the elements of ``x``."""
    found: ndarray = x.__dlpack__()
    return found


def matmul(a: ndarray, b: ndarray) -> ndarray:
    """Multiply matrices."""
    return asarray(a._host @ b._host)


class Function:
    """A kernel."""

    def __init__(self, code: Code, entry: str) -> None:
        self.code, self.entry = code, entry

    def __call__(self, grid: Any, block: Any, args: Any) -> None:
        assert all(type(a) is np.uint64 for a in args), "a Python number would be guessed at"
        ranges = [(at, b.nbytes, True) for at, b in MEMORY.blocks.items()]
        self.code.launch(0, self.entry, grid[0], block[0], [int(a) for a in args], ranges)


class Module:
    """A loaded binary: here, its source."""

    def load(self, binary: bytes) -> None:
        """Compile for the simulator."""
        self.source = binary.decode()
        self.code = Code([self.source])

    def get_function(self, name: str) -> Function:
        """Return a kernel; RuntimeError if there is none of that name."""
        if name not in [entry for entry, _ in _SIGNATURE.findall(self.source)]:
            raise RuntimeError("CUDA_ERROR_NOT_FOUND: named symbol not found")
        return Function(self.code, name)


class Device:
    """A GPU, and the block in which it is the current one."""

    def __init__(self, number: int = 0) -> None:
        self.id = number
        self.compute_capability = "90"

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""

    def __init__(self, status: int) -> None:
        super().__init__(f"error {status}")
        self.status = status


class Nvrtc:
    """The compiler: the binary is the source."""

    class NVRTCError(RuntimeError):
        """As CuPy's."""

    n_compiled = 0

    def getVersion(self) -> tuple[int, int]:
        """Return a version that no compiler has."""
        return (0, 0)

    def createProgram(self, source: str, *_: Any) -> list[str]:
        """Return a program."""
        return [source]

    def compileProgram(self, program: list[str], options: tuple[str, ...]) -> None:
        """Count; a source without kernels does not compile."""
        assert options[0] == "-arch=sm_90"
        Nvrtc.n_compiled += 1
        if "__global__" not in program[0]:
            raise self.NVRTCError("NVRTC_ERROR_COMPILATION (6)")

    def getProgramLog(self, program: list[str]) -> str:
        """Return what went wrong."""
        return f"no kernel in {len(program[0])} characters"

    def getCUBIN(self, program: list[str]) -> bytes:
        """Return the source."""
        return program[0].encode()

    def destroyProgram(self, program: list[str]) -> None:
        """Forget the source."""
        program.clear()


class Pool:
    """The memory pool."""

    def free_all_blocks(self) -> None:
        """Count."""
        MEMORY.n_freed += 1


def make(count: int = 2, status: int = 0) -> Any:
    """Return the module: a machine with ``count`` GPUs, or one whose driver answers ``status``."""

    def get_count() -> int:
        if status:
            raise CUDARuntimeError(status)
        return count

    module: Any = types.ModuleType("cupy")
    module.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    for item in (ndarray, empty, asarray, ascontiguousarray, from_dlpack, matmul):
        setattr(module, item.__name__, item)
    module.get_default_memory_pool = Pool
    module.cuda = types.SimpleNamespace(
        Device=Device,
        get_current_stream=lambda: types.SimpleNamespace(synchronize=lambda: None),
        nvrtc=Nvrtc(),
        function=types.SimpleNamespace(Module=Module),
        memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        runtime=types.SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            getDeviceCount=get_count,
            getDeviceProperties=lambda n: {"name": b"Simulated GPU"},
        ),
    )
    return module


def install(monkeypatch: pytest.MonkeyPatch, **options: int) -> Any:
    """Put the double in the place of CuPy until the test ends."""
    module = make(**options)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setenv("JAXLITE_CACHE_DIR", "off")
    runtime_cuda.array_module.cache_clear()
    runtime_cuda.modules_of.cache_clear()
    monkeypatch.setattr(MEMORY, "limit_bytes", None)
    return module
