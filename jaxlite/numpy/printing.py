"""Printing, saving, and other services that are NumPy's own. In: arrays. Out: text and files."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.higher_order.gpu_call import adopt
from jaxlite.language.array import Array, Value
from jaxlite.numpy.creation import array
from jaxlite.numpy.promotion import check_arraylike

get_printoptions = np.get_printoptions
printoptions = np.printoptions
set_printoptions = np.set_printoptions
iterable = np.iterable


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return ``repr(arr)`` with options of NumPy."""
    with np.printoptions(**_options(max_line_width, precision, suppress_small)):
        return repr(arr)


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Return ``str(a)`` with options of NumPy."""
    with np.printoptions(**_options(max_line_width, precision, suppress_small)):
        return str(a)


def _options(width: Any, precision: Any, suppress: Any) -> dict[str, Any]:
    given = {"linewidth": width, "precision": precision, "suppress": suppress}
    return {name: value for name, value in given.items() if value is not None}


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array to a ``.npy`` file."""
    check_arraylike("save", arr)
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write arrays to a ``.npz`` file, by position and by name."""
    positional = [np.asarray(a) for a in args]
    named = {name: np.asarray(a) for name, a in kwds.items()}
    np.savez(file, *positional, allow_pickle=allow_pickle, **named)


#: The number of CUDA devices in the DLPack standard.
_DLPACK_CUDA = 2


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Value:
    """Return an array of another library (an object with ``__dlpack__``).

    It is copied on the CPU and shared on a GPU.

    Example:
        >>> from_dlpack(np.arange(3, dtype=np.int32))
        Array([0, 1, 2], dtype=int32)
    """
    if isinstance(x, Array):
        return x
    on_gpu = x.__dlpack_device__()[0] == _DLPACK_CUDA
    return adopt(x) if on_gpu else array(np.from_dlpack(x))


__all__ = [
    "array_repr", "array_str", "from_dlpack", "get_printoptions", "iterable", "printoptions",
    "save", "savez", "set_printoptions",
]  # fmt: skip
