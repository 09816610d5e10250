"""Arrays as text. In: an array with data.

Out: what ``repr``, ``str`` and ``format`` return, as in JAX.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl

__all__ = ["array_format", "array_repr", "array_str", "key_words"]


def key_words(x: ArrayImpl) -> Any:
    """Return the uint32 words of each key: ``u32[*s, 2]``, or four words."""
    data = x._data
    if data.dtype.kind == "c":
        return np.array(data, order="C")[..., None].view(np.uint32)
    high = (data >> np.uint64(32)).astype(np.uint32)
    return np.stack([high, data.astype(np.uint32)], axis=-1)


def array_repr(x: ArrayImpl) -> str:
    """Return for example ``Array([1., 2.], dtype=float32)``; large arrays are abbreviated."""
    if isinstance(x.dtype, dtypes.KeyDType):
        return f"Array({x.shape}, dtype={x.dtype.name}) overlaying:\n{key_words(x)}"
    weak = ", weak_type=True" if x.weak_type else ""
    ending = f"dtype={dtypes.name_of(x.dtype)}{weak})"
    prefix = "Array("
    if 0 in x.shape:
        return f"{prefix}[], shape={x.shape}, {ending}"
    width = np.get_printoptions()["linewidth"]
    text = np.array2string(x._data, prefix=prefix, suffix=",", separator=", ", max_line_width=width)
    last_line = len(text) - (text.rfind("\n") + 1) + 1
    gap = " " * len(prefix) if last_line + len(ending) + 1 > width else " "
    return f"{prefix}{text},{gap}{ending}"


def array_str(x: ArrayImpl) -> str:
    """Return the numbers alone."""
    return array_repr(x) if isinstance(x.dtype, dtypes.KeyDType) else str(x._data)


def array_format(x: ArrayImpl, spec: str) -> str:
    """Return a scalar in the format ``spec``; an array only without one."""
    return format(x._data[()] if x.ndim == 0 else x._data, spec)
