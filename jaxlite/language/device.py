"""Where arrays live. In: nothing. Out: ``Device``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """A place where arrays live and kernels run: ``platform`` is "cpu" or "gpu"."""

    platform: str
    id: int = 0
    kind: str = ""

    @property
    def device_kind(self) -> str:
        """What the device is called."""
        return self.kind or self.platform

    def __hash__(self) -> int:
        return self.id  # cheap: part of the key of every cached call

    def __repr__(self) -> str:
        return f"{'Cpu' if self.platform == 'cpu' else 'Cuda'}Device(id={self.id})"


CPU = Device("cpu", 0)
