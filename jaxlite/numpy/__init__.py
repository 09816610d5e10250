"""``jaxlite.numpy``: NumPy's functions on jaxlite arrays, with ``jax.numpy``'s names and rules.

Files, in reading order: ``promotion`` (dtypes and shapes of operands), ``ufuncs``, ``arithmetic``, ``choosing``,
``logic`` (elementwise), ``creation``, ``ranges`` (making arrays), ``rearrange``, ``repeating`` (rearranging),
``indexing``, ``at``, ``selection`` (parts), ``reductions``, ``cumulative``, ``products``, ``diagonals``,
``ordering``, ``scalar_types``, ``viewing``, ``show``, ``operators`` (what arrays can do).

A name is one short function: check the arguments, promote and broadcast, bind primitives. Families of alike
functions are tables.
"""

from jaxlite.numpy.arithmetic import *  # noqa: F403
from jaxlite.numpy.choosing import clip, piecewise, select
from jaxlite.numpy.creation import *  # noqa: F403
from jaxlite.numpy.cumulative import *  # noqa: F403
from jaxlite.numpy.diagonals import *  # noqa: F403
from jaxlite.numpy.einsum import *  # noqa: F403
from jaxlite.numpy.functional import *  # noqa: F403
from jaxlite.numpy.functions import *  # noqa: F403
from jaxlite.numpy.ignoring_nan import *  # noqa: F403
from jaxlite.numpy.logic import *  # noqa: F403
from jaxlite.numpy.operators import install
from jaxlite.numpy.ordering import *  # noqa: F403
from jaxlite.numpy.padding import *  # noqa: F403
from jaxlite.numpy.polynomials import *  # noqa: F403
from jaxlite.numpy.products import *  # noqa: F403
from jaxlite.numpy.ranges import *  # noqa: F403
from jaxlite.numpy.reductions import *  # noqa: F403
from jaxlite.numpy.repeating import *  # noqa: F403
from jaxlite.numpy.scalar_types import *  # noqa: F403
from jaxlite.numpy.selection import *  # noqa: F403
from jaxlite.numpy.sets import *  # noqa: F403
from jaxlite.numpy.signal import *  # noqa: F403
from jaxlite.numpy.statistics import *  # noqa: F403
from jaxlite.numpy.viewing import packbits, unpackbits
from jaxlite.numpy.rearrange import *  # noqa: F403
from jaxlite.numpy.ufuncs import *  # noqa: F403
from jaxlite.language.array import Array as ndarray
from numpy import e, euler_gamma, inf, nan, newaxis, pi

install()
