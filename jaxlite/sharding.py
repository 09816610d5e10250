"""``jaxlite.sharding``: where arrays live, which is always one device.

``NamedSharding``, ``Mesh`` and their relatives are names that annotations and ``isinstance`` may
use; making one says why there is none.
"""

from __future__ import annotations

from typing import Any, NoReturn

from jaxlite.language.sharding import PartitionSpec, Sharding, SingleDeviceSharding
from jaxlite.not_planned import NOT_PLANNED as _NOT_PLANNED

__all__ = [
    "AbstractMesh",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
]


class _Absent:
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"jaxlite.sharding.{cls.__name__} is left out on purpose: "
            f"{_NOT_PLANNED['NamedSharding']}"
        )


class AbstractMesh(_Absent):
    """The shape of a mesh of devices: cannot be made."""


class Mesh(_Absent):
    """A mesh of devices: cannot be made."""


class NamedSharding(_Absent, Sharding):
    """An array spread over a mesh: cannot be made."""


def __getattr__(name: str) -> Any:
    """Say why another name of ``jax.sharding`` is missing."""
    if name in _NOT_PLANNED:
        reason = _NOT_PLANNED[name]
        raise AttributeError(f"jaxlite.sharding.{name} is left out on purpose: {reason}")
    raise AttributeError(f"module 'jaxlite.sharding' has no attribute {name!r}")
