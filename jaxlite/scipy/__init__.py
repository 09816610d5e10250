"""``jaxlite.scipy``: SciPy's functions on jaxlite's arrays, with ``jax.scipy``'s signatures.

Submodules are loaded when somebody first uses them.
"""

import importlib
from typing import Any

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "signal",
    "sparse",
    "special",
    "stats",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f"jaxlite.scipy.{name}")
    raise AttributeError(f"module 'jaxlite.scipy' has no attribute {name!r}")
