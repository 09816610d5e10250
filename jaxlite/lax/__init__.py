"""``jaxlite.lax``: the operations under ``jaxlite.numpy``, with ``jax.lax``'s names and signatures.

Files, in reading order: ``operands`` (what counts as an array), ``elementwise``, ``shapes``,
``slicing``, ``reductions``, ``convolution``, ``windows``, ``linear_algebra``, ``linalg``,
``fourier``, ``barriers``, ``parallel``. Control flow comes from ``api``.

Strict where NumPy is generous: dtypes must be equal, shapes too (a scalar, or an axis of length 1,
may stand beside arrays), integers do not become floats. Each function completes its arguments as
JAX does and binds one primitive; composites are few. Axes mostly count from the front.
"""

from jaxlite.api.control_flow import cond, switch
from jaxlite.api.loops import associative_scan, fori_loop, map, scan, while_loop
from jaxlite.lax import linalg
from jaxlite.lax.barriers import *  # noqa: F403
from jaxlite.lax.barriers import __all__ as _barriers
from jaxlite.lax.convolution import *  # noqa: F403
from jaxlite.lax.convolution import __all__ as _convolution
from jaxlite.lax.elementwise import *  # noqa: F403
from jaxlite.lax.elementwise import __all__ as _elementwise
from jaxlite.lax.fourier import *  # noqa: F403
from jaxlite.lax.fourier import __all__ as _fourier
from jaxlite.lax.linear_algebra import *  # noqa: F403
from jaxlite.lax.linear_algebra import __all__ as _linear_algebra
from jaxlite.lax.parallel import *  # noqa: F403
from jaxlite.lax.parallel import __all__ as _parallel
from jaxlite.lax.reductions import *  # noqa: F403
from jaxlite.lax.reductions import __all__ as _reductions
from jaxlite.lax.shapes import *  # noqa: F403
from jaxlite.lax.shapes import __all__ as _shapes
from jaxlite.lax.slicing import *  # noqa: F403
from jaxlite.lax.slicing import __all__ as _slicing
from jaxlite.lax.windows import *  # noqa: F403
from jaxlite.lax.windows import __all__ as _windows
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
    *_linear_algebra,
    *_parallel,
    *_reductions,
    *_shapes,
    *_slicing,
    *_windows,
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "associative_scan",
    "cond",
    "fori_loop",
    "linalg",
    "map",
    "scan",
    "switch",
    "while_loop",
]
