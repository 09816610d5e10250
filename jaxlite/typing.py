"""Types for annotations, as in ``jax.typing``: ``ArrayLike`` and ``DTypeLike``."""

from typing import Any, TypeAlias

import numpy as np

from jaxlite.language.array import Array

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike: TypeAlias = (
    Array | np.ndarray[Any, Any] | np.bool_ | np.number[Any] | bool | int | float | complex
)
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any]
