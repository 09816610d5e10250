"""``jaxlite.lax``: the operations under ``jaxlite.numpy``, with ``jax.lax``'s names and signatures.

Files, in reading order: ``operands`` (what counts as an array), ``elementwise``, ``shapes``,
``slicing``, ``reductions``, ``convolution``, ``windows``, ``linear_algebra``, ``ragged``,
``linalg``, ``fourier``, ``generators``, ``barriers``, ``platforms``, ``parallel``. Control flow
comes from ``api``.

Strict where NumPy is generous: dtypes must be equal, shapes too (a scalar, or an axis of length 1,
may stand beside arrays), integers do not become floats. Each function completes its arguments as
JAX does and binds one primitive; composites are few. Axes mostly count from the front.
"""

import sys as _sys
from typing import Any

from jaxlite.api.control_flow import cond, switch
from jaxlite.api.implicit import custom_linear_solve, custom_root
from jaxlite.api.loops import associative_scan, fori_loop, map, scan, while_loop
from jaxlite.language.primitive import Primitive as _Primitive
from jaxlite.lax import linalg
from jaxlite.lax.barriers import *  # noqa: F403
from jaxlite.lax.barriers import __all__ as _barriers
from jaxlite.lax.convolution import *  # noqa: F403
from jaxlite.lax.convolution import __all__ as _convolution
from jaxlite.lax.elementwise import *  # noqa: F403
from jaxlite.lax.elementwise import __all__ as _elementwise
from jaxlite.lax.fourier import *  # noqa: F403
from jaxlite.lax.fourier import __all__ as _fourier
from jaxlite.lax.generators import *  # noqa: F403
from jaxlite.lax.generators import __all__ as _generators
from jaxlite.lax.linear_algebra import *  # noqa: F403
from jaxlite.lax.linear_algebra import __all__ as _linear_algebra
from jaxlite.lax.parallel import *  # noqa: F403
from jaxlite.lax.parallel import __all__ as _parallel
from jaxlite.lax.platforms import *  # noqa: F403
from jaxlite.lax.platforms import __all__ as _platforms
from jaxlite.lax.ragged import *  # noqa: F403
from jaxlite.lax.ragged import __all__ as _ragged
from jaxlite.lax.reductions import *  # noqa: F403
from jaxlite.lax.reductions import __all__ as _reductions
from jaxlite.lax.shapes import *  # noqa: F403
from jaxlite.lax.shapes import __all__ as _shapes
from jaxlite.lax.slicing import *  # noqa: F403
from jaxlite.lax.slicing import __all__ as _slicing
from jaxlite.lax.windows import *  # noqa: F403
from jaxlite.lax.windows import __all__ as _windows
from jaxlite.not_planned import NOT_PLANNED as _NOT_PLANNED
from jaxlite.primitives.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)

__all__ = [
    *_barriers,
    *_convolution,
    *_elementwise,
    *_fourier,
    *_generators,
    *_linear_algebra,
    *_parallel,
    *_platforms,
    *_ragged,
    *_reductions,
    *_shapes,
    *_slicing,
    *_windows,
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "associative_scan",
    "cond",
    "custom_linear_solve",
    "custom_root",
    "fori_loop",
    "linalg",
    "map",
    "scan",
    "switch",
    "while_loop",
]


_HOMES = ("jaxlite.primitives.", "jaxlite.higher_order.")


def __getattr__(name: str) -> Any:
    """Return a primitive (``add_p``) from the module that defines it; say why a name is missing."""
    if name.endswith("_p"):
        for home, module in list(_sys.modules.items()):
            if home.startswith(_HOMES) and isinstance(found := vars(module).get(name), _Primitive):
                return found
    if name in _NOT_PLANNED:
        raise AttributeError(f"jaxlite.lax.{name} is left out on purpose: {_NOT_PLANNED[name]}")
    raise AttributeError(f"module 'jaxlite.lax' has no attribute {name!r}")
