"""Concrete arrays. In: a NumPy or CuPy array. Out: the immutable ``Array`` a user holds.

``Array`` is the type people test for (``isinstance(x, jax.Array)`` holds for tracers too); its
operators and methods are installed by ``jaxlite.numpy`` at import. ``ArrayImpl`` holds data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from jaxlite.errors import AllocationError
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.settings import config

Value: TypeAlias = Any  # an Array, a tracer, or something that converts to one


class Array:
    """An n-dimensional array of one dtype, immutable. Made by ``jaxlite.numpy`` functions."""

    __slots__ = ()

    aval: ShapedArray
    # NumPy must hand over binary operations to us: np_array + array is ours, as in JAX.
    __array_priority__ = 100

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the dtype yields to others in promotion, as that of a Python number does."""
        return self.aval.weak_type


class ArrayImpl(Array):
    """An array with data.

    ``_data`` is C-contiguous, aligned, in native byte order, and never written.
    """

    __slots__ = ("__weakref__", "_data", "aval")

    def __init__(self, data: Any, aval: ShapedArray) -> None:
        self._data = data
        self.aval = aval

    def delete(self) -> None:
        """Free the data; the array cannot be used any more."""
        del self._data
        self.__class__ = DeletedArray

    def is_deleted(self) -> bool:
        """Say whether the data was freed by ``delete`` or by donation to a jitted function."""
        return False


class DeviceArray(Array):
    """An array on an accelerator. ``_data`` is a C-contiguous CuPy array that nobody writes to.

    ``device`` is its place. Elements of bfloat16 and keys are held as unsigned integers.
    """

    __slots__ = ("__weakref__", "_data", "aval", "device")

    def __init__(self, data: Any, aval: ShapedArray, device: Any) -> None:
        self._data = data
        self.aval = aval
        self.device = device

    def delete(self) -> None:
        """Free the data; the array cannot be used any more."""
        del self._data
        self.__class__ = DeletedDeviceArray

    def is_deleted(self) -> bool:
        """Say whether the data was freed by ``delete`` or by donation to a jitted function."""
        return False

    def to_host(self) -> ArrayImpl:
        """Return a copy on the host; waits until the array has been computed."""
        storage = dtypes.storage_dtype(self.aval.dtype)
        data = np.ascontiguousarray(self._data.get()).view(storage)
        return ArrayImpl(data.reshape(self.aval.shape), self.aval)

    def concrete_value(self) -> ArrayImpl:
        """Return the array that Python may look into."""
        return self.to_host()


class _Deleted:
    """What an array becomes when its data is freed: its type is left, the data's slot is empty.

    A class of its own costs the others nothing: nobody who has an ``ArrayImpl`` has to ask.
    """

    __slots__ = ()
    aval: ShapedArray

    def delete(self) -> None:
        """Do nothing: it is deleted."""

    def is_deleted(self) -> bool:
        """Say yes."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name != "_data":
            raise AttributeError(f"'Array' object has no attribute {name!r}", name=name, obj=self)
        shape = ",".join(str(d) for d in self.aval.shape)
        raise RuntimeError(
            f"Array has been deleted with shape={self.aval.dtype}[{shape}].\n"
            "  It was donated to a jitted function (donate_argnums) or freed by delete().\n"
            "  Fix: go on with the result of that function, or do not donate the argument."
        )


class DeletedArray(_Deleted, ArrayImpl):
    """An array of the host without data."""

    __slots__ = ()


class DeletedDeviceArray(_Deleted, DeviceArray):
    """An array of an accelerator without data."""

    __slots__ = ()


def from_numpy(data: Any, weak_type: bool = False) -> ArrayImpl:
    """Wrap a fresh NumPy array that nobody else writes to (copied only if not C-contiguous)."""
    data = np.asarray(data)
    if not data.flags.c_contiguous:
        data = np.ascontiguousarray(data).reshape(data.shape)
    return ArrayImpl(data, ShapedArray(data.shape, data.dtype, weak_type))


def asarray_eager(value: Any) -> ArrayImpl:
    """Convert a Python number, NumPy scalar or NumPy array to an ``ArrayImpl``; arrays are copied.

    Python numbers become weakly typed; dtypes are canonicalized (64 bit to 32 unless x64 is on).
    """
    if type(value) is ArrayImpl:
        return value
    if type(value) is DeviceArray:
        return value.to_host()
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        weak = not isinstance(value, bool)
        dtype = dtypes.dtype(value)
    else:
        if isinstance(value, np.ma.MaskedArray):
            raise_masked()
        weak = False
        dtype = dtypes.canonicalize_dtype(np.asarray(value).dtype)
    data = np.array(value, dtype=dtype, order="C", copy=True)
    return ArrayImpl(data, ShapedArray(data.shape, dtype, weak))


def raise_masked() -> NoReturn:
    """Raise what JAX says of masked arrays."""
    raise ValueError(
        "numpy masked arrays are not supported as direct inputs to JAX functions. Use "
        "arr.filled() to convert the value to a standard numpy array."
    )


def check_allocation(name: str, avals: Sequence[ShapedArray]) -> None:
    """Raise AllocationError if results of ``avals`` would be larger than the settings allow."""
    limit = config.frame.max_allocation_bytes
    total = sum(a.nbytes for a in avals)
    if limit is not None and total > limit:
        raise AllocationError(
            f"{name} would allocate {total} bytes for {', '.join(a.str_short() for a in avals)}.\n"
            f"  The limit is jaxlite.config.max_allocation_bytes = {limit}.\n"
            "  Fix: work on smaller pieces, or raise the limit with "
            'jaxlite.config.update("max_allocation_bytes", None).'
        )
