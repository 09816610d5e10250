"""What the array API standard asks of a namespace: its dtypes, devices and abilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.api.device import devices
from jaxlite.language import dtypes
from jaxlite.language.device import Device

__all__ = ["ArrayNamespaceInfo", "__array_namespace_info__"]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
_ALL = _KINDS["bool"] + _KINDS["numeric"]


class ArrayNamespaceInfo:
    """The answers; all devices have the same dtypes."""

    def capabilities(self) -> dict[str, bool | int]:
        """Return what the functions of the namespace can and cannot do."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """Return None: where arrays go unless one says."""
        return

    def devices(self) -> list[Device | None]:
        """Return the devices that functions accept."""
        return [None, *devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of results of Python numbers."""
        return {
            "real floating": dtypes.default_dtype(float),
            "complex floating": dtypes.default_dtype(complex),
            "integral": dtypes.default_dtype(int),
            "indexing": dtypes.default_dtype(int),
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of the standard, all or of some kinds, by name.

        Raises:
            KeyError: no such kind.
        """
        kinds = (kind,) if not isinstance(kind, tuple) else kind
        names = [n for k in kinds for n in (_ALL if k is None else _KINDS[k])]
        found = {name: np.dtype(name) for name in names}
        return {n: d for n, d in found.items() if dtypes.canonicalize_dtype(d) == d}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """Return what the array API standard asks of ``jaxlite.numpy``.

    Example:
        >>> __array_namespace_info__().default_dtypes()["real floating"]
        dtype('float32')
    """
    return ArrayNamespaceInfo()
