"""Stage 7 of 7, run, on GPUs. In: a program and its CUDA C. Out: an executable on CuPy arrays.

CuPy is imported at the first use of a GPU, never before. It supplies memory (its pool), streams,
NVRTC and the libraries; the kernels are ours, compiled once per architecture and kept in the same
private folder as machine code for the CPU. Everything is asynchronous: a call returns when its
launches are queued, and reading a result waits.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jaxlite.errors import AllocationError, JaxRuntimeError
from jaxlite.kernel_ir.nodes import DType, Kernel
from jaxlite.kernel_ir.program import (
    Branch,
    Buffer,
    Copy,
    HostCall,
    Launch,
    LibraryCall,
    Loop,
    Program,
    Step,
    View,
    While,
)
from jaxlite.runtime import disk_cache

if TYPE_CHECKING:
    from jaxlite.compiler.emit_cuda import CudaKernel

__all__ = [
    "CudaExecutable",
    "array_module",
    "count_devices",
    "device_name",
    "load",
    "storage",
    "synchronize",
    "why_not",
]

#: Options of NVRTC. Products and sums are rounded one by one, as on the CPU; denormals are kept.
OPTIONS: Final = ("--std=c++17", "-ftz=false", "--fmad=false")

_RESTART = (
    "\n  Errors of a GPU stay until the process ends. Fix: restart the kernel of the notebook; "
    "jit(f).lower(...).as_text('cuda') shows the source."
)

Counters = dict[str, int]
Action = Callable[[dict[str, Any], Counters], None]


@functools.cache
def array_module() -> Any:
    """Return CuPy.

    Raises:
        RuntimeError: it cannot be used, with the reason and the command that mends it.
    """
    reason = why_not()
    if reason:
        raise RuntimeError(reason)
    return importlib.import_module("cupy")


def why_not() -> str:
    """Return why no GPU can be used, with what mends it; "" if one can."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        return f"CuPy cannot be imported ({error}).\n  Fix: pip install 'jaxlite[cuda12]'"
    runtime = cupy.cuda.runtime
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        match getattr(error, "status", None):
            case 35:
                return (
                    "No NVIDIA driver was found, or it is too old for this CUDA."
                    "\n  Fix: install or update the driver, or pip install 'jaxlite[cuda12]'."
                )
            case 100:
                return "The NVIDIA driver sees no GPU."
            case _:
                return f"The CUDA runtime does not start ({error})."
    return "" if count else "The NVIDIA driver sees no GPU."


def count_devices() -> int:
    """Return how many GPUs can be used."""
    return 0 if why_not() else int(array_module().cuda.runtime.getDeviceCount())


def device_name(device: int) -> str:
    """Return what the GPU is called."""
    properties = array_module().cuda.runtime.getDeviceProperties(device)
    return str(properties["name"].decode())


def synchronize(device: int) -> None:
    """Wait for everything that is queued on the current stream of a GPU.

    Raises:
        JaxRuntimeError: a launch failed meanwhile.
    """
    cupy = array_module()
    with cupy.cuda.Device(device):
        try:
            cupy.cuda.get_current_stream().synchronize()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise JaxRuntimeError(f"A kernel failed on the GPU: {error}{_RESTART}") from error


def storage(dtype: Any) -> DType:
    """Return the dtype in which CuPy holds elements of ``dtype``: it has no bfloat16."""
    return np.dtype(np.uint16) if dtype.name == "bfloat16" else np.dtype(dtype)


# --- compiling ---


class Modules:
    """Compiled kernels of one GPU, by their source."""

    def __init__(self, device: int) -> None:
        self.device = device
        self._functions: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()

    def function(self, kernel: CudaKernel, entry: str) -> Any:
        """Return the function ``entry`` of a kernel, compiled if it was not yet."""
        key = (kernel.source, entry)
        found = self._functions.get(key)
        if found is None:
            with self._lock:
                found = self._functions.get(key)
                if found is None:
                    module = array_module().cuda.function.Module()
                    module.load(self.binary(kernel.source))
                    for launch in kernel.launches:
                        name = launch.entry
                        self._functions[kernel.source, name] = module.get_function(name)
                    found = self._functions[key]
        return found

    def binary(self, source: str) -> bytes:
        """Return the machine code of ``source``, from the disk if it was compiled before."""
        nvrtc = array_module().cuda.nvrtc
        architecture = f"-arch=sm_{array_module().cuda.Device(self.device).compute_capability}"
        version = ".".join(map(str, nvrtc.getVersion()))
        key = disk_cache.key_of(source, architecture, version, *OPTIONS)
        cache = disk_cache.current()
        found = cache.get(key) if cache is not None else None
        if found is None:
            found = _compile(nvrtc, source, architecture)
            if cache is not None:
                cache.put(key, found)
        return found


def _compile(nvrtc: Any, source: str, architecture: str) -> bytes:
    program = nvrtc.createProgram(source, "kernel.cu", (), ())
    try:
        try:
            nvrtc.compileProgram(program, (architecture, *OPTIONS))
        except nvrtc.NVRTCError as error:
            log = nvrtc.getProgramLog(program)
            raise JaxRuntimeError(
                f"NVRTC does not compile a generated kernel ({error}): this is a bug in jaxlite."
                f"\n{log}\n{source}"
            ) from None
        return bytes(nvrtc.getCUBIN(program))
    finally:
        nvrtc.destroyProgram(program)


@functools.cache
def modules_of(device: int) -> Modules:
    """Return the compiled kernels of a GPU."""
    return Modules(device)


# --- running ---


@dataclass(slots=True)
class _Place:
    """Where a view starts: a buffer, bytes from its start, and bytes per loop counter."""

    buffer: str
    offset: int
    counters: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]
    dtype: DType

    def start(self, counters: Counters) -> int:
        """Return bytes from the start of the buffer."""
        return self.offset + sum(counters[name] * stride for name, stride in self.counters)


class CudaExecutable:
    """A program on one GPU; ``run`` takes and returns CuPy arrays.

    The steps become closures once; a call allocates results and workspace from CuPy's pool and runs
    them.
    """

    def __init__(
        self,
        program: Program,
        kernels: Sequence[CudaKernel],
        consts: Sequence[Any],
        device: int,
    ) -> None:
        self.program, self.device = program, device
        self.buffers: dict[str, Buffer] = {b.name: b for b in program.buffers}
        self.kernels: dict[Kernel, CudaKernel] = {k.kernel: k for k in kernels}
        self.cupy = array_module()
        self.consts = tuple([self._constant(c) for c in consts])
        buffers = program.buffers
        self.outputs = [(b.name, b.shape, storage(b.dtype)) for b in buffers if b.kind == "output"]
        self.temps = [(b.name, b.offset_bytes) for b in buffers if b.kind == "temp"]
        self.actions = [self._action(step) for step in program.steps]

    def _constant(self, value: Any) -> Any:
        data = getattr(value, "get", None)
        if data is not None:  # on a GPU already
            return value
        host = np.asarray(value, order="C")
        return array_module().asarray(host.view(storage(host.dtype)))

    @property
    def source(self) -> str:
        """The CUDA C of all kernels."""
        return "\n".join(kernel.source for kernel in self.kernels.values())

    def run(self, datas: Sequence[Any]) -> tuple[Any, ...]:
        """Queue one call; ``datas`` are the arguments in order.

        Raises:
            AllocationError: the GPU's memory is full.
            JaxRuntimeError: a launch failed.
        """
        cupy = self.cupy
        with cupy.cuda.Device(self.device):
            arrays = dict(zip(self.program.inputs, (*datas, *self.consts), strict=True))
            memory = {name: array.data for name, array in arrays.items()}
            try:
                self._take_memory(arrays, memory)
            except cupy.cuda.memory.OutOfMemoryError:
                # What the pool keeps for later may be enough.
                cupy.get_default_memory_pool().free_all_blocks()
                try:
                    self._take_memory(arrays, memory)
                except cupy.cuda.memory.OutOfMemoryError as error:
                    raise self._out_of_memory(error) from None
            counters: Counters = {}
            for action in self.actions:
                action(memory, counters)
            return tuple([arrays[n] for n in self.program.outputs])

    def _take_memory(self, arrays: dict[str, Any], memory: dict[str, Any]) -> None:
        empty = self.cupy.empty
        for name, shape, dtype in self.outputs:
            arrays[name] = array = empty(shape, dtype)
            memory[name] = array.data
        if self.temps:
            workspace = empty(self.program.workspace_bytes, np.uint8).data
            for name, offset in self.temps:
                memory[name] = workspace + offset

    def _out_of_memory(self, error: Exception) -> AllocationError:
        outputs = [b for b in self.program.buffers if b.kind == "output"]
        largest = sorted(outputs, key=lambda b: -b.nbytes)[:3]
        sizes = ", ".join(f"{b.dtype}{list(b.shape)} {b.nbytes} bytes" for b in largest)
        return AllocationError(
            f"Out of memory on the GPU: {error}"
            f"\n  {self.program.name} needs {sum(b.nbytes for b in outputs)} bytes for results and "
            f"{self.program.workspace_bytes} for intermediate values; the largest: {sizes}."
            "\n  Fix: work on smaller pieces, or delete arrays that are no longer needed."
        )

    # --- steps ---

    def _action(self, step: Step) -> Action:
        match step:
            case Launch(kernel, args):
                return self._launch(self.kernels[kernel], args)
            case Copy(src, dst):
                return self._copy(src, dst)
            case LibraryCall("gemm", ins, outs, params):
                return self._product(ins, outs[0], dict(params))
            case HostCall():
                return self._host_call(step)
            case Loop(counter, trip, body, reverse):
                return self._loop(counter, trip, body, reverse)
            case While(cond, flag, body):
                return self._while(cond, flag, body)
            case Branch(index, branches):
                return self._branch(index, branches)
            case _:
                raise NotImplementedError(f"{step} on a GPU")

    def _place(self, view: View) -> _Place:
        b = self.buffers[view.buffer]
        size = b.dtype.itemsize
        counters = tuple([(name, stride * size) for name, stride in view.counters])
        return _Place(view.buffer, view.offset * size, counters, view.shape, storage(b.dtype))

    def _launch(self, kernel: CudaKernel, args: Sequence[View]) -> Action:
        places = [self._place(v) for v in args]
        modules = modules_of(self.device)
        launches: list[tuple[Any, tuple[int], tuple[int]]] = []
        is_fixed = not any(p.counters for p in places)
        starts = [(p.buffer, p.start({})) for p in places] if is_fixed else []

        def run(memory: dict[str, Any], counters: Counters) -> None:
            if not launches:  # compiled at the first run, not while the plan is made
                launches.extend(
                    (modules.function(kernel, x.entry), (x.blocks,), (x.threads,))
                    for x in kernel.launches
                )
            at = starts if is_fixed else [(p.buffer, p.start(counters)) for p in places]
            pointers = [np.uint64(memory[buffer].ptr + start) for buffer, start in at]
            if kernel.scratch_bytes:
                scratch = self.cupy.empty(kernel.scratch_bytes, np.uint8)
                pointers.append(np.uint64(scratch.data.ptr))
            arguments = tuple(pointers)
            try:
                for function, blocks, threads in launches:
                    function(blocks, threads, arguments)
            except Exception as error:
                raise _failed(kernel, error) from error

        return run

    def _array(self, place: _Place, memory: dict[str, Any], counters: Counters) -> Any:
        """Return the part of a buffer as a CuPy array, without a copy."""
        start = memory[place.buffer] + place.start(counters)
        return self.cupy.ndarray(place.shape, place.dtype, memptr=start)

    def _copy(self, src: View, dst: View) -> Action:
        source, target = self._place(src), self._place(dst)

        def run(memory: dict[str, Any], counters: Counters) -> None:
            whole = self._array(target, memory, counters)
            whole[...] = self._array(source, memory, counters).reshape(target.shape)

        return run

    def _product(self, ins: Sequence[View], out: View, params: dict[str, Any]) -> Action:
        left, right, target = (self._place(v) for v in (*ins, out))
        batch, m, n, k = (params[name] for name in ("batch", "m", "n", "k"))
        is_bfloat16 = self.buffers[ins[0].buffer].dtype.name == "bfloat16"

        def run(memory: dict[str, Any], counters: Counters) -> None:
            a, b, c = (self._array(p, memory, counters) for p in (left, right, target))
            if is_bfloat16:
                _product_on_host(a, b, c, params)
                return
            a = a.reshape((batch, k, m) if params["trans_a"] else (batch, m, k))
            b = b.reshape((batch, n, k) if params["trans_b"] else (batch, k, n))
            a = a.transpose(0, 2, 1) if params["trans_a"] else a
            b = b.transpose(0, 2, 1) if params["trans_b"] else b
            found = array_module().matmul(a, b)
            c[...] = found.astype(c.dtype, copy=False).reshape(c.shape)

        return run

    def _host_call(self, step: HostCall) -> Action:
        ins, outs = [self._place(v) for v in step.ins], [self._place(v) for v in step.outs]
        in_dtypes = [self.buffers[v.buffer].dtype for v in step.ins]
        params = dict(step.params)

        def run(memory: dict[str, Any], counters: Counters) -> None:
            operands = [
                self._array(p, memory, counters).get().view(d)
                for p, d in zip(ins, in_dtypes, strict=True)
            ]
            found = step.primitive.impl(np, *operands, **params)
            results = found if type(found) is tuple else (found,)
            for place, result in zip(outs, results, strict=True):
                host = np.asarray(result, order="C").view(place.dtype).reshape(place.shape)
                self._array(place, memory, counters).set(host)

        return run

    def _loop(self, counter: str, trip: int, body: Sequence[Step], reverse: bool) -> Action:
        actions = [self._action(s) for s in body]
        turns = range(trip)[::-1] if reverse else range(trip)

        def run(memory: dict[str, Any], counters: Counters) -> None:
            for i in turns:
                counters[counter] = i
                for action in actions:
                    action(memory, counters)

        return run

    def _while(self, cond: Sequence[Step], flag: View, body: Sequence[Step]) -> Action:
        place = self._place(flag)
        test, turn = [self._action(s) for s in cond], [self._action(s) for s in body]

        def run(memory: dict[str, Any], counters: Counters) -> None:
            while True:
                for action in test:
                    action(memory, counters)
                if not self._array(place, memory, counters).get().item():
                    return
                for action in turn:
                    action(memory, counters)

        return run

    def _branch(self, index: View, branches: Sequence[Sequence[Step]]) -> Action:
        place = self._place(index)
        choices = [[self._action(s) for s in branch] for branch in branches]

        def run(memory: dict[str, Any], counters: Counters) -> None:
            for action in choices[self._array(place, memory, counters).get().item()]:
                action(memory, counters)

        return run


def _product_on_host(a: Any, b: Any, c: Any, params: dict[str, Any]) -> None:
    """Multiply bfloat16 matrices, which CuPy does not know, on the host."""
    bfloat16 = np.dtype("bfloat16")
    batch, m, n, k = (params[name] for name in ("batch", "m", "n", "k"))
    left = a.get().view(bfloat16).astype(np.float32)
    right = b.get().view(bfloat16).astype(np.float32)
    left = left.reshape((batch, k, m) if params["trans_a"] else (batch, m, k))
    right = right.reshape((batch, n, k) if params["trans_b"] else (batch, k, n))
    left = left.swapaxes(1, 2) if params["trans_a"] else left
    right = right.swapaxes(1, 2) if params["trans_b"] else right
    product = left @ right
    # The result is float32 where the program asks for it.
    target = product if c.dtype.itemsize == 4 else product.astype(bfloat16)
    c.set(np.asarray(target, order="C").view(c.dtype).reshape(c.shape))


def _failed(kernel: CudaKernel, error: Exception) -> JaxRuntimeError:
    equations = "\n  ".join(_equations(kernel))
    return JaxRuntimeError(
        f"A kernel failed on the GPU: {error}\n  It computes\n  {equations}{_RESTART}"
    )


def _equations(kernel: CudaKernel) -> Iterator[str]:
    yield from kernel.kernel.comments or (kernel.kernel.name,)


def load(
    program: Program, kernels: Sequence[CudaKernel], consts: Sequence[Any], device: int
) -> CudaExecutable:
    """Return ``program`` ready to run on a GPU; its kernels compile at the first run."""
    return CudaExecutable(program, kernels, consts, device)
