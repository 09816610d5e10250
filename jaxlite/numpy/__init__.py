"""``jaxlite.numpy``: NumPy's functions on jaxlite arrays, with ``jax.numpy``'s names and rules.

Files, in reading order: ``promotion`` (dtypes and shapes of operands); ``ufuncs``, ``arithmetic``,
``choosing``, ``logic``, ``functions`` (elementwise); ``creation``, ``ranges``, ``grids`` (making
arrays); ``rearrange``, ``joining``, ``repeating``, ``padding`` (moving elements); ``index_plan``,
``indexing``, ``at``, ``selection``, ``flat_positions`` (parts); ``reductions``, ``cumulative``,
``ignoring_nan``, ``statistics``; ``products``, ``einstein``, ``diagonals``; ``decompositions``,
``solving``, ``linalg``, ``fft``; ``ordering``, ``sets``; ``polynomials``, ``fitting``, ``signal``;
``scalar_types``, ``viewing``, ``namespace_info``; ``functional``, ``ufunc_objects``; ``show``,
``printing``, ``operators`` (what arrays can do).

A name is one short function: check the arguments, promote and broadcast, bind primitives.
Families of alike functions are tables.
"""

from numpy import e, euler_gamma, inf, nan, newaxis, pi

from jaxlite.language.array import Array as ndarray
from jaxlite.numpy import (  # the modules, for their lists of names
    arithmetic,
    creation,
    cumulative,
    diagonals,
    einstein,
    fft,
    flat_positions,
    functional,
    functions,
    grids,
    ignoring_nan,
    joining,
    linalg,
    logic,
    ordering,
    padding,
    polynomials,
    printing,
    products,
    ranges,
    rearrange,
    reductions,
    repeating,
    scalar_types,
    selection,
    sets,
    signal,
    statistics,
    ufunc_objects,
    ufuncs,
)
from jaxlite.numpy.arithmetic import *  # noqa: F403
from jaxlite.numpy.choosing import clip, piecewise, select
from jaxlite.numpy.creation import *  # noqa: F403
from jaxlite.numpy.cumulative import *  # noqa: F403
from jaxlite.numpy.diagonals import *  # noqa: F403
from jaxlite.numpy.einstein import *  # noqa: F403
from jaxlite.numpy.fitting import polyfit
from jaxlite.numpy.flat_positions import *  # noqa: F403
from jaxlite.numpy.functional import *  # noqa: F403
from jaxlite.numpy.functions import *  # noqa: F403
from jaxlite.numpy.grids import *  # noqa: F403
from jaxlite.numpy.ignoring_nan import *  # noqa: F403
from jaxlite.numpy.joining import *  # noqa: F403
from jaxlite.numpy.logic import *  # noqa: F403
from jaxlite.numpy.namespace_info import __array_namespace_info__
from jaxlite.numpy.operators import install as _install
from jaxlite.numpy.ordering import *  # noqa: F403
from jaxlite.numpy.padding import *  # noqa: F403
from jaxlite.numpy.polynomials import *  # noqa: F403
from jaxlite.numpy.printing import *  # noqa: F403
from jaxlite.numpy.products import *  # noqa: F403
from jaxlite.numpy.ranges import *  # noqa: F403
from jaxlite.numpy.rearrange import *  # noqa: F403
from jaxlite.numpy.reductions import *  # noqa: F403
from jaxlite.numpy.repeating import *  # noqa: F403
from jaxlite.numpy.scalar_types import *  # noqa: F403
from jaxlite.numpy.selection import *  # noqa: F403
from jaxlite.numpy.sets import *  # noqa: F403
from jaxlite.numpy.signal import *  # noqa: F403
from jaxlite.numpy.statistics import *  # noqa: F403
from jaxlite.numpy.ufunc_objects import *  # noqa: F403
from jaxlite.numpy.ufuncs import *  # noqa: F403
from jaxlite.numpy.viewing import packbits, unpackbits

_install()

__all__ = [
    *arithmetic.__all__,
    *creation.__all__,
    *cumulative.__all__,
    *diagonals.__all__,
    *einstein.__all__,
    *flat_positions.__all__,
    *functional.__all__,
    *functions.__all__,
    *grids.__all__,
    *ignoring_nan.__all__,
    *joining.__all__,
    *logic.__all__,
    *ordering.__all__,
    *padding.__all__,
    *polynomials.__all__,
    *printing.__all__,
    *products.__all__,
    *ranges.__all__,
    *rearrange.__all__,
    *reductions.__all__,
    *repeating.__all__,
    *scalar_types.__all__,
    *selection.__all__,
    *sets.__all__,
    *signal.__all__,
    *statistics.__all__,
    *ufunc_objects.__all__,
    *ufuncs.__all__,
    "__array_namespace_info__",
    "clip",
    "e",
    "euler_gamma",
    "fft",
    "inf",
    "linalg",
    "nan",
    "ndarray",
    "newaxis",
    "packbits",
    "pi",
    "piecewise",
    "polyfit",
    "select",
    "unpackbits",
]
