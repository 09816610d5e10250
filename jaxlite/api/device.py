"""Devices and transfers. In: pytrees. Out: arrays on a device, or NumPy arrays on the host."""

from __future__ import annotations

import gc
import importlib
from typing import Any

import numpy as np

from jaxlite.api.arguments import to_arrays
from jaxlite.higher_order.gpu_call import to_device
from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl, DeviceArray
from jaxlite.language.device import CPU, Device
from jaxlite.language.pytree import tree_map
from jaxlite.language.sharding import SingleDeviceSharding
from jaxlite.language.trace import Tracer
from jaxlite.settings import config

__all__ = [
    "CPU",
    "Device",
    "block_until_ready",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "process_count",
    "process_index",
    "wait",
]


_PLATFORMS = {"cpu": "cpu", "gpu": "gpu", "cuda": "gpu"}


def devices(backend: str | None = None) -> list[Device]:
    """Return the devices that can be used, of one kind if ``backend`` is "cpu" or "gpu".

    Raises:
      RuntimeError: there is no such backend, or no such device; the message says why.

    >>> import jaxlite as jax
    >>> jax.devices("cpu")
    [CpuDevice(id=0)]
    """
    platform = _PLATFORMS.get(backend or "")
    if backend is not None and platform is None:
        known = sorted(_PLATFORMS)
        raise RuntimeError(f"Unknown backend {backend}. Available backends are {known}.")
    if platform == "cpu":
        return [CPU]
    if platform == "gpu":
        gpus = _gpus()
        if not gpus:
            raise RuntimeError(f"Unable to initialize backend 'cuda': {_cuda().why_not()}")
        return gpus
    return [CPU]


def default_backend() -> str:
    """Return the platform that arrays are made on.

    >>> default_backend()
    'cpu'
    """
    return devices()[0].platform


def device_count(backend: str | None = None) -> int:
    """Return how many devices ``devices(backend)`` lists."""
    return len(devices(backend))


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """Return ``devices(backend)``: all devices belong to this process.

    Raises:
      ValueError: another process than 0.
    """
    if process_index or host_id:
        raise ValueError(f"Unknown process_index {process_index or host_id}")
    return devices(backend)


def local_device_count(backend: str | None = None) -> int:
    """Return how many devices belong to this process."""
    return len(devices(backend))


def process_index(backend: str | None = None) -> int:
    """Return the number of this process: 0."""
    return 0


def process_count(backend: str | None = None) -> int:
    """Return how many processes there are: 1."""
    return 1


def _cuda() -> Any:
    # CuPy is imported when somebody asks for a GPU, never before.
    return importlib.import_module("jaxlite.runtime.cuda")


def _gpus() -> list[Device]:
    cuda = _cuda()
    names = [cuda.device_name(i) for i in range(cuda.count_devices())]
    return [Device("gpu", i, name) for i, name in enumerate(names)]


def device_put(x: Any, device: Any = None, **_: Any) -> Any:
    """Return the leaves of ``x`` as arrays (copied from NumPy) on a device.

    Args:
      x: a pytree of arrays and numbers.
      device: where to; None is ``jax.default_device``, and leaves arrays of a GPU where they are.

    Raises:
      RuntimeError: the device is a GPU that cannot be used.

    >>> import jaxlite as jax
    >>> jax.device_put([1.0, 2.0])
    [Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True)]
    """
    return tree_map(lambda leaf: _put(to_arrays([leaf])[0], device), x)


def _put(array: Any, device: Any) -> Any:
    if isinstance(array, ArrayImpl | DeviceArray):
        _ = array._data  # a deleted one says so
    if isinstance(device, SingleDeviceSharding):
        device = device.device
    if device is None and not isinstance(array, DeviceArray):
        device = config.frame.default_device
    if not isinstance(device, Device) or isinstance(array, Tracer):
        return array
    if device.platform == "cpu":
        return array.to_host() if isinstance(array, DeviceArray) else array
    return to_device(array, array.aval, device)


def live_arrays(platform: str | None = None) -> list[Any]:
    """Return all arrays that hold memory now, the library's own (constants) included.

    Args:
      platform: "cpu" or "gpu": only those there.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> x = jnp.arange(12345.0)
    >>> any(a is x for a in jax.live_arrays())
    True
    """
    kinds = {"cpu": (ArrayImpl,), "gpu": (DeviceArray,), "": (ArrayImpl, DeviceArray)}
    wanted = kinds[_PLATFORMS.get(platform or "", "")]
    return [x for x in gc.get_objects() if type(x) in wanted]


def device_get(x: Any) -> Any:
    """Return the leaves of ``x`` as NumPy arrays.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.device_get(jnp.arange(3))
    array([0, 1, 2], dtype=int32)
    """
    return tree_map(_to_host, x)


def _to_host(leaf: Any) -> Any:
    is_key = isinstance(getattr(leaf, "dtype", None), dtypes.KeyDType)
    return leaf if is_key else np.asarray(leaf)


def wait(x: DeviceArray) -> DeviceArray:
    """Return ``x`` when it has been computed."""
    _cuda().synchronize(x.device.id)
    return x


def block_until_ready(x: Any) -> Any:
    """Wait until the leaves of ``x`` have been computed.

    Returns ``x`` (the CPU has nothing to wait for, a GPU is waited for).

    >>> import jaxlite as jax
    >>> jax.block_until_ready(3)
    3
    """
    return tree_map(lambda leaf: getattr(leaf, "block_until_ready", lambda: leaf)(), x)
