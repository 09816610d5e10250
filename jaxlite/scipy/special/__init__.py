"""``jaxlite.scipy.special``: special functions of one argument array or several that broadcast.

Files, in reading order: ``gamma`` (gamma, beta, zeta and what counts with them), ``normal`` (error
functions and the normal distribution), ``entropy`` (logarithms that forgive 0), ``integrals``
(exponential, Fresnel, sine integrals, hypergeometric functions), ``bessel``.
"""

from typing import Any

from jaxlite import nn
from jaxlite.language.array import Value
from jaxlite.nn import logsumexp
from jaxlite.scipy.special.bessel import *  # noqa: F403
from jaxlite.scipy.special.bessel import __all__ as _bessel
from jaxlite.scipy.special.entropy import *  # noqa: F403
from jaxlite.scipy.special.entropy import __all__ as _entropy
from jaxlite.scipy.special.gamma import *  # noqa: F403
from jaxlite.scipy.special.gamma import __all__ as _gamma
from jaxlite.scipy.special.integrals import *  # noqa: F403
from jaxlite.scipy.special.integrals import __all__ as _integrals
from jaxlite.scipy.special.normal import *  # noqa: F403
from jaxlite.scipy.special.normal import __all__ as _normal


def softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Value:
    """Return ``exp(x) / sum(exp(x))`` along ``axis`` (None: of all elements)."""
    return nn.softmax(x, axis)


def log_softmax(x: Any, /, *, axis: int | tuple[int, ...] | None = None) -> Value:
    """Return ``log(softmax(x))`` along ``axis`` (None: of all elements)."""
    return nn.log_softmax(x, axis)


__all__ = [
    *_bessel,
    *_entropy,
    *_gamma,
    *_integrals,
    *_normal,
    "log_softmax",
    "logsumexp",
    "softmax",
]
