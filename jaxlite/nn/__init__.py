"""``jaxlite.nn``: activations, softmax, attention, initializers, as in ``jax.nn``.

Files: ``activations`` (elementwise), ``softmax`` (over an axis), ``one_hot``, ``attention``,
``initializers``. Each is a thin composition of ``jaxlite.numpy`` and ``jaxlite.lax``; a rule for
the derivative is written down only where the composition would have another one at a kink
(``relu``) or lose accuracy.
"""

from typing import Any

from jaxlite.nn import initializers
from jaxlite.nn.activations import *  # noqa: F403
from jaxlite.nn.activations import __all__ as _activations
from jaxlite.nn.attention import dot_product_attention
from jaxlite.nn.one_hot import one_hot
from jaxlite.nn.softmax import log_softmax, logmeanexp, logsumexp, softmax, standardize
from jaxlite.not_planned import NOT_PLANNED as _NOT_PLANNED

__all__ = [
    *_activations,
    "dot_product_attention",
    "initializers",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "one_hot",
    "softmax",
    "standardize",
]


def __getattr__(name: str) -> Any:
    """Say why a name of ``jax.nn`` is missing."""
    if name in _NOT_PLANNED:
        raise AttributeError(f"jaxlite.nn.{name} is left out on purpose: {_NOT_PLANNED[name]}")
    raise AttributeError(f"module 'jaxlite.nn' has no attribute {name!r}")
