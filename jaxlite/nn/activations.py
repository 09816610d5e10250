"""Activation functions. In: an array. Out: an array of the same shape (half an axis for ``glu``).

Values and derivatives equal JAX's, at kinks and infinities too: ``relu`` has derivative 0 at 0.
Each function casts nothing: float16 in, float16 out; integers become floats where the formula
needs it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language.array import Array, Value

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "swish",
    "tanh",
]


def as_array(x: Any, name: str) -> Value:
    """Return ``x`` as an array; TypeError in JAX's words for lists and the like."""
    if isinstance(x, Array):
        return x
    if isinstance(x, (list, tuple, dict, str)) or x is None:
        raise TypeError(
            f"{name} requires ndarray or scalar arguments, got {type(x)} at position 0."
            "\n  Fix: wrap it in jnp.array(...)."
        )
    return jnp.asarray(x)


def as_floats(x: Any, name: str) -> Value:
    """Return ``x`` as an array of floats; integers become the default float type."""
    x = as_array(x, name)
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(jnp.result_type(x.dtype, float))


def identity(x: Value) -> Value:
    """Return ``x`` as an array.

    Example:
        >>> identity(3)
        Array(3, dtype=int32, weak_type=True)
    """
    return as_array(x, "identity")


@custom_jvp
def relu(x: Value) -> Value:
    """Return ``max(x, 0)``; the derivative at 0 is 0.

    Example:
        >>> relu(jnp.array([-1.0, 0.0, 2.0]))
        Array([0., 0., 2.], dtype=float32)
    """
    return jnp.maximum(x, 0)


@relu.defjvp
def _relu_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    (x,), (dx,) = primals, tangents
    return relu(x), lax.select(x > 0, dx, jnp.zeros_like(dx))


@custom_jvp
def relu6(x: Value) -> Value:
    """Return ``min(max(x, 0), 6)``; the derivative at 0 and at 6 is 0.

    Example:
        >>> relu6(jnp.array([-1.0, 2.0, 7.0]))
        Array([0., 2., 6.], dtype=float32)
    """
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


@relu6.defjvp
def _relu6_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    (x,), (dx,) = primals, tangents
    return relu6(x), lax.select((x > 0) & (x < 6), dx, jnp.zeros_like(dx))


def sigmoid(x: Value) -> Value:
    """Return ``1 / (1 + exp(-x))``.

    Raises:
        TypeError: ``x`` is an integer array.

    Example:
        >>> sigmoid(0.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.logistic(as_array(x, "sigmoid"))


def softplus(x: Value) -> Value:
    """Return ``log(1 + exp(x))``.

    Example:
        >>> softplus(jnp.array([0.0, 100.0]))
        Array([  0.6931472, 100.       ], dtype=float32)
    """
    return _softplus(as_array(x, "logaddexp"))


@custom_jvp
def _softplus(x: Value) -> Value:
    return jnp.logaddexp(x, 0.0)


@_softplus.defjvp
def _softplus_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    (x,), (dx,) = primals, tangents
    out = _softplus(x)
    # d log(1 + exp(x)) = exp(x - log(1 + exp(x))); at infinity that would be inf - inf.
    slope = jnp.exp(jnp.where(x == jnp.inf, 0, x) - jnp.where(out == jnp.inf, 0, out))
    return out, dx * slope


def sparse_plus(x: Value) -> Value:
    """Return 0 for x <= -1, ``(x + 1)**2 / 4`` between, x for x >= 1.

    Example:
        >>> sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
        Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = as_array(x, "sparse_plus")
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


def sparse_sigmoid(x: Value) -> Value:
    """Return the derivative of ``sparse_plus``: 0 for x <= -1, ``(x + 1) / 2``, 1 for x >= 1.

    Example:
        >>> sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0]))
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    return 0.5 * jnp.clip(as_array(x, "sparse_sigmoid") + 1.0, 0.0, 2.0)


def soft_sign(x: Value) -> Value:
    """Return ``x / (1 + |x|)``.

    Example:
        >>> soft_sign(jnp.array([-1.0, 0.0, 1.0]))
        Array([-0.5,  0. ,  0.5], dtype=float32)
    """
    x = as_array(x, "soft_sign")
    return x / (jnp.abs(x) + 1)


def silu(x: Value) -> Value:
    """Return ``x * sigmoid(x)``.

    Raises:
        TypeError: ``x`` is an integer array.

    Example:
        >>> silu(jnp.array([0.0, 1.0]))
        Array([0.       , 0.7310586], dtype=float32)
    """
    x = as_array(x, "silu")
    return x * sigmoid(x)


swish = silu


def mish(x: Value) -> Value:
    """Return ``x * tanh(softplus(x))``.

    Example:
        >>> mish(jnp.array([0.0, 1.0]))
        Array([0.       , 0.8650984], dtype=float32)
    """
    x = as_array(x, "mish")
    return x * jnp.tanh(softplus(x))


def log_sigmoid(x: Value) -> Value:
    """Return ``log(sigmoid(x))``, accurate for large negative ``x``.

    Example:
        >>> log_sigmoid(jnp.array([-100.0, 0.0]))
        Array([-100.       ,   -0.6931472], dtype=float32)
    """
    return -softplus(-as_array(x, "log_sigmoid"))


def elu(x: Value, alpha: Any = 1.0) -> Value:
    """Return x for x > 0, ``alpha * (exp(x) - 1)`` otherwise.

    Example:
        >>> elu(jnp.array([-1.0, 2.0]))
        Array([-0.63212055,  2.        ], dtype=float32)
    """
    x = as_array(x, "elu")
    # The inner where keeps the untaken side finite, for the derivative's sake.
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


def celu(x: Value, alpha: Any = 1.0) -> Value:
    """Return x for x > 0, ``alpha * (exp(x / alpha) - 1)`` otherwise.

    Example:
        >>> celu(jnp.array([-1.0, 2.0]), 2.0)
        Array([-0.78693867,  2.        ], dtype=float32)
    """
    x = as_array(x, "maximum")
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


def selu(x: Value) -> Value:
    """Return ``1.0507 * elu(x, 1.6733)``: keeps mean 0 and variance 1 through layers.

    Example:
        >>> selu(jnp.array([-1.0, 1.0]))
        Array([-1.1113307,  1.050701 ], dtype=float32)
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def gelu(x: Value, approximate: bool = True) -> Value:
    """Return x times the normal distribution function of x.

    Args:
        x: floats (integers are converted).
        approximate: use the formula with tanh; else the exact one with erfc.

    Example:
        >>> gelu(jnp.array([-1.0, 1.0]))
        Array([-0.158808,  0.841192], dtype=float32)
    """
    x = as_floats(x, "gelu")
    if approximate:
        inner = np.sqrt(2 / np.pi).astype(x.dtype) * (x + 0.044715 * (x**3))
        return x * (0.5 * (1.0 + jnp.tanh(inner)))
    return 0.5 * x * lax.erfc(-x * np.sqrt(0.5).astype(x.dtype))


def glu(x: Value, axis: int = -1) -> Value:
    """Return the first half of ``x`` along ``axis`` times the sigmoid of the second half.

    Raises:
        AssertionError: the axis has odd length.

    Example:
        >>> glu(jnp.array([1.0, 2.0, 0.0, 0.0]))
        Array([0.5, 1. ], dtype=float32)
    """
    x = as_array(x, "glu")
    if x.shape[axis] % 2:
        raise AssertionError("axis size must be divisible by 2")
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)


def hard_tanh(x: Value) -> Value:
    """Return -1 for x < -1, 1 for x > 1, x between.

    Example:
        >>> hard_tanh(jnp.array([-2.0, 0.5, 2.0]))
        Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = as_array(x, "hard_tanh")
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


def hard_sigmoid(x: Value) -> Value:
    """Return ``relu6(x + 3) / 6``.

    Example:
        >>> hard_sigmoid(jnp.array([-4.0, 0.0, 4.0]))
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    return relu6(as_array(x, "hard_sigmoid") + 3.0) / 6.0


def hard_silu(x: Value) -> Value:
    """Return ``x * hard_sigmoid(x)``.

    Example:
        >>> hard_silu(jnp.array([-4.0, 1.0, 4.0]))
        Array([-0.       ,  0.6666667,  4.       ], dtype=float32)
    """
    x = as_array(x, "hard_silu")
    return x * hard_sigmoid(x)


hard_swish = hard_silu


def leaky_relu(x: Value, negative_slope: Any = 0.01) -> Value:
    """Return x for x >= 0, ``negative_slope * x`` otherwise.

    Example:
        >>> leaky_relu(jnp.array([-1.0, 2.0]))
        Array([-0.01,  2.  ], dtype=float32)
    """
    x = as_array(x, "leaky_relu")
    return jnp.where(x >= 0, x, negative_slope * x)


def squareplus(x: Value, b: Any = 4) -> Value:
    """Return ``(x + sqrt(x**2 + b)) / 2``: softplus without exponentials.

    Example:
        >>> squareplus(jnp.array([0.0, 1.5]))
        Array([1., 2.], dtype=float32)
    """
    x = as_array(x, "squareplus")
    return (x + jnp.sqrt(jnp.square(x) + b)) / 2


def tanh(x: Value, /) -> Value:
    """Return the hyperbolic tangent.

    Example:
        >>> tanh(jnp.array([0.0, 100.0]))
        Array([0., 1.], dtype=float32)
    """
    return jnp.tanh(x)


def log1mexp(x: Value) -> Value:
    """Return ``log(1 - exp(-x))`` for x > 0, accurate near both ends.

    Example:
        >>> log1mexp(jnp.array([1e-10, 1.0]))
        Array([-23.02585  ,  -0.4586751], dtype=float32)
    """
    return _log1mexp(as_floats(x, "log1mexp"))


@custom_jvp
def _log1mexp(x: Value) -> Value:
    # Maechler (2012): the two formulas are equally good at log(2).
    return jnp.where(
        x < np.log(2).astype(x.dtype), jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x))
    )


@_log1mexp.defjvp
def _log1mexp_jvp(primals: tuple[Value], tangents: tuple[Value]) -> tuple[Value, Value]:
    (x,), (dx,) = primals, tangents
    # d log(1 - exp(-x)) = exp(-x) / (1 - exp(-x)) = 1 / (exp(x) - 1)
    return _log1mexp(x), dx / jnp.expm1(x)
