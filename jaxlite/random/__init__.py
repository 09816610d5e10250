"""``jaxlite.random``: reproducible random numbers; ``jax.random``'s names, signatures and numbers.

A key is a value: the same key always gives the same numbers. Split it to get more; there is no
hidden state, so random code can be traced, mapped and run in any order.

Files: ``generators`` (kinds of keys), ``keys`` (keys and bits), ``basic`` (uniform, normal,
integers), ``continuous`` (maps of those), ``discrete`` (choices and orders), ``gamma`` (rejection
with a key per sample), ``counts`` (Poisson, binomial), ``linear`` (vectors and matrices),
``arguments`` (checks).

What is exact: integers, bits and ``uniform``, ``normal`` and the maps of one elementary function
equal JAX's numbers bit for bit; sums of products may differ in the last place.
"""

from typing import Any

from jaxlite.not_planned import NOT_PLANNED as _NOT_PLANNED
from jaxlite.random.basic import (
    bernoulli,
    normal,
    rademacher,
    randint,
    truncated_normal,
    uniform,
)
from jaxlite.random.continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    pareto,
    rayleigh,
    triangular,
    wald,
    weibull_min,
)
from jaxlite.random.counts import binomial, multinomial, poisson
from jaxlite.random.discrete import categorical, choice, geometric, permutation
from jaxlite.random.gamma import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from jaxlite.random.keys import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from jaxlite.random.linear import multivariate_normal, orthogonal

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]


def __getattr__(name: str) -> Any:
    """Say why a name of ``jax.random`` is missing."""
    if name in _NOT_PLANNED:
        raise AttributeError(f"jaxlite.random.{name} is left out on purpose: {_NOT_PLANNED[name]}")
    raise AttributeError(f"module 'jaxlite.random' has no attribute {name!r}")
