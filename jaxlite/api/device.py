"""Devices and transfers. In: pytrees. Out: arrays on a device, or NumPy arrays on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.api.arguments import to_arrays
from jaxlite.language import dtypes
from jaxlite.language.pytree import tree_map

__all__ = ["Device", "block_until_ready", "device_get", "device_put", "devices"]


@dataclass(frozen=True)
class Device:
    """A place where arrays live and kernels run."""

    platform: str
    id: int = 0

    @property
    def device_kind(self) -> str:
        """What the device is called."""
        return self.platform

    def __repr__(self) -> str:
        return f"{'Cpu' if self.platform == 'cpu' else 'Cuda'}Device(id={self.id})"


CPU = Device("cpu", 0)


def devices(backend: str | None = None) -> list[Device]:
    """Return the devices that can be used.

    Raises:
      RuntimeError: there is no such backend.

    >>> import jaxlite as jax
    >>> jax.devices("cpu")
    [CpuDevice(id=0)]
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu'].")
    return [CPU]


def device_put(x: Any, device: Any = None, **_: Any) -> Any:
    """Return the leaves of ``x`` as arrays (copied from NumPy) on a device.

    >>> import jaxlite as jax
    >>> jax.device_put([1.0, 2.0])
    [Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True)]
    """
    return tree_map(lambda leaf: to_arrays([leaf])[0], x)


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


def block_until_ready(x: Any) -> Any:
    """Wait until the leaves of ``x`` have been computed.

    Returns ``x`` (the CPU has nothing to wait for).

    >>> import jaxlite as jax
    >>> jax.block_until_ready(3)
    3
    """
    return tree_map(lambda leaf: getattr(leaf, "block_until_ready", lambda: leaf)(), x)
