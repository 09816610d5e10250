"""Where the elements of an array live. In: a device. Out: the sharding that says so.

An array of jaxlite is on one device as a whole, so there is one kind of sharding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxlite.language.device import Device


class Sharding:
    """What all shardings are; for ``isinstance`` and annotations."""


@dataclass(frozen=True, repr=False)
class SingleDeviceSharding(Sharding):
    """The whole array is on ``device``.

    Example:
        >>> from jaxlite.language.device import CPU
        >>> SingleDeviceSharding(CPU)
        SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    device: Device
    memory_kind: str = "device"

    num_devices = 1
    is_fully_addressable = True
    is_fully_replicated = True
    has_addressable_devices = True

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"

    @property
    def device_set(self) -> set[Device]:
        """The devices that hold a part."""
        return {self.device}

    @property
    def addressable_devices(self) -> set[Device]:
        """Those of them that this process reaches."""
        return {self.device}

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the part on one device: all of it."""
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, Any]:
        """Return which part each device holds."""
        return {self.device: (slice(None),) * len(global_shape)}

    addressable_devices_indices_map = devices_indices_map

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Say whether both put an array of ``ndim`` axes in the same place."""
        return isinstance(other, SingleDeviceSharding) and other.device == self.device


class PartitionSpec(tuple[Any, ...]):
    """Names of mesh axes, one for each axis of an array, as programs for many devices note them.

    Example:
        >>> PartitionSpec("rows", None)
        P('rows', None)
    """

    __slots__ = ()

    def __new__(cls, *partitions: Any) -> PartitionSpec:
        return super().__new__(cls, partitions)

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionSpec, tuple(self)
