"""Arguments of compiled code as NumPy arrays. In: what a user passed.

Out: C-contiguous data of its aval.

NumPy arrays that already have the right type and layout are passed as they are: compiled code never
writes to its inputs and its results never alias them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl
from jaxlite.language.avals import ShapedArray
from jaxlite.language.trace import to_concrete


def to_data(x: Any, aval: ShapedArray) -> Any:
    """Return ``x`` as a C-contiguous, aligned NumPy array of ``aval``'s shape and storage dtype."""
    if type(x) is ArrayImpl:
        return x._data
    if isinstance(x, np.ndarray):
        dtype = dtypes.storage_dtype(aval.dtype)
        if x.dtype == dtype and x.flags.c_contiguous and x.flags.aligned:
            return x if type(x) is np.ndarray else np.asarray(x)
        return np.array(x, dtype=dtype, order="C").reshape(aval.shape)
    if hasattr(x, "__jax_array__"):
        return to_data(x.__jax_array__(), aval)
    return to_concrete(x)._data
