"""Programs and single operations on GPUs. In: jaxprs or primitives, arrays. Out: arrays on a GPU.

An eager operation is a program of one equation, compiled once per types: what runs on a GPU is
always a generated kernel, never CuPy's own idea of the operation.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxlite.higher_order.compiled_call import equation_jaxpr
from jaxlite.higher_order.compiling import load_on_gpu
from jaxlite.higher_order.jit import derived
from jaxlite.language import dtypes
from jaxlite.language.array import DeviceArray
from jaxlite.language.avals import ShapedArray
from jaxlite.language.device import Device
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.primitive import Primitive
from jaxlite.language.structure import param_key
from jaxlite.language.trace import Evaluator, to_concrete
from jaxlite.runtime.array import install_elsewhere
from jaxlite.settings import config

if TYPE_CHECKING:
    from jaxlite.runtime.cuda import CudaExecutable

_operations: dict[Any, ClosedJaxpr] = {}
_lock = threading.RLock()
_MAX_OPERATIONS = 4096


def device_of(arrays: Sequence[Any], what: str) -> Device | None:
    """Return the accelerator that arrays are on, or else the default one; None is the CPU.

    Raises:
        ValueError: they are on several.
    """
    found: list[Device] = [a.device for a in arrays if type(a) is DeviceArray]
    if not found:
        default = config.frame.default_device
        return None if default is None or default.platform == "cpu" else default
    if any(d != found[0] for d in found):
        other = next(d for d in found if d != found[0])
        raise ValueError(
            f"Received incompatible devices for jitted computation. {what} got arguments on "
            f"{found[0]} and on {other}.\n  Fix: device_put one of them to the other's device."
        )
    return found[0]


def to_device(x: Any, aval: ShapedArray, device: Device) -> DeviceArray:
    """Return ``x`` on ``device``; an array that is there already is returned as it is."""
    if type(x) is DeviceArray:
        if x.device == device:
            return x
        x = x.to_host()
    cuda = importlib.import_module("jaxlite.runtime.cuda")
    cupy = cuda.array_module()
    host = to_concrete(x)._data if not isinstance(x, np.ndarray) else x
    host = np.asarray(host, dtype=dtypes.storage_dtype(aval.dtype), order="C")
    with cupy.cuda.Device(device.id):
        data = cupy.asarray(host.view(cuda.storage(host.dtype)))
    return DeviceArray(data, aval, device)


def adopt(x: Any) -> DeviceArray:
    """Return an array of another library on a GPU as ours, without a copy if it is contiguous.

    ``x`` has ``__cuda_array_interface__`` (CuPy, PyTorch, Numba) or, on a GPU, ``__dlpack__``. Its
    owner must not write to it afterwards.

    Raises:
        RuntimeError: there is no CuPy to reach it with.
        TypeError: elements of this dtype are no numbers.
    """
    cuda = importlib.import_module("jaxlite.runtime.cuda")
    cupy = cuda.array_module()
    has_interface = hasattr(x, "__cuda_array_interface__")
    data = cupy.asarray(x) if has_interface else cupy.from_dlpack(x)
    dtype = dtypes.canonicalize_dtype(data.dtype)
    number = int(data.device.id)
    with cupy.cuda.Device(number):
        data = cupy.ascontiguousarray(data.astype(dtype, copy=False))
    device = Device("gpu", number, cuda.device_name(number))
    return DeviceArray(data, ShapedArray(data.shape, dtype), device)


def run_jaxpr(
    closed: ClosedJaxpr, name: str, args: Sequence[Any], device: Device
) -> tuple[DeviceArray, ...]:
    """Run a closed jaxpr on ``device``."""
    executable = executable_on(closed, name, device)
    moved = [to_device(x, a, device)._data for x, a in zip(args, closed.in_avals, strict=True)]
    outs = executable.run(moved)
    return tuple([DeviceArray(o, a, device) for o, a in zip(outs, closed.out_avals, strict=True)])


def runner_on(
    closed: ClosedJaxpr, name: str, consts: Sequence[Any], device: Device
) -> Callable[[Sequence[Any]], list[DeviceArray]]:
    """Return what ``run_jaxpr`` does, for many calls with arrays of the same types."""
    run, avals = executable_on(closed, name, device).run, closed.out_avals
    moved = [to_device(c, c.aval, device)._data for c in consts]

    def call(args: Sequence[Any]) -> list[DeviceArray]:
        datas = [
            a._data if type(a) is DeviceArray else to_device(a, a.aval, device)._data for a in args
        ]
        return [DeviceArray(o, a, device) for o, a in zip(run(moved + datas), avals)]

    return call


def executable_on(closed: ClosedJaxpr, name: str, device: Device) -> CudaExecutable:
    """Return ``closed`` ready to run on ``device``, made once."""
    result: CudaExecutable = derived(
        closed, ("gpu", device), lambda: load_on_gpu(closed, name, device.id)
    )
    return result


class GpuEvaluator(Evaluator):
    """Runs single operations on GPUs."""

    def evaluate(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Return the results on the GPU on which the operands are."""
        device = device_of(args, primitive.name)
        assert device is not None, "the host's evaluator runs what is on the host"
        avals = tuple([a.aval if isinstance(a, DeviceArray) else to_concrete(a).aval for a in args])
        key = (primitive, avals, tuple([(k, param_key(v)) for k, v in params.items()]))
        closed = _operations.get(key)
        if closed is None:
            with _lock:
                closed = _operations.get(key) or equation_jaxpr(primitive, params, avals)
                if len(_operations) >= _MAX_OPERATIONS:
                    _operations.clear()
                _operations[key] = closed
        return run_jaxpr(closed, primitive.name, args, device)


install_elsewhere(GpuEvaluator())

__all__ = ["adopt", "device_of", "executable_on", "run_jaxpr", "runner_on", "to_device"]
