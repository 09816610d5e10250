"""Exponentials of a whole axis. In: logits. Out: softmax, log-sum-exp, standardised values.

The largest element is subtracted first, so that nothing overflows. It is taken as a constant: its
contributions to the derivative cancel.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language.array import Value
from jaxlite.nn.activations import as_array, as_floats
from jaxlite.settings import config

__all__ = ["log_softmax", "logmeanexp", "logsumexp", "softmax", "standardize"]

Axis = int | tuple[int, ...] | None


def _largest(x: Value, axis: Any, where: Any) -> Value:
    return jnp.max(x, axis, where=where, initial=-jnp.inf, keepdims=True)


def softmax(x: Value, axis: Axis = -1, where: Any = None) -> Value:
    """Return ``exp(x) / sum(exp(x))`` along ``axis``.

    Args:
        x: logits.
        axis: the axis or axes that sum to 1; None is all of them.
        where: truth values; elements where it is False count as 0 and are 0 in the result.

    Example:
        >>> softmax(jnp.array([0.0, 0.0, -jnp.inf]))
        Array([0.5, 0.5, 0. ], dtype=float32)
    """
    x = _require_max(x)
    return (
        _softmax_with_rule(x, axis, where)
        if config.frame.softmax_custom_jvp
        else _softmax(x, axis, where)
    )


def _require_max(x: Any) -> Value:
    return as_array(x, "max")


def _softmax(x: Value, axis: Any, where: Any) -> Value:
    exps = _shifted_exps(x, axis, where)
    result = exps / jnp.sum(exps, axis, where=where, keepdims=True)
    return result if where is None else jnp.where(where, result, 0)


def _shifted(x: Value, axis: Any, where: Any) -> Value:
    largest = _largest(x, axis, where)
    inside = x if where is None else jnp.where(where, x, -jnp.inf)
    return inside - lax.stop_gradient(largest)


def _shifted_exps(x: Value, axis: Any, where: Any) -> Value:
    return jnp.exp(_shifted(x, axis, where))


@functools.partial(custom_jvp, nondiff_argnums=(1, 2))
def _softmax_with_rule(x: Value, axis: Any, where: Any) -> Value:
    return _softmax(x, axis, where)


@_softmax_with_rule.defjvp
def _softmax_jvp(
    axis: Any, where: Any, primals: tuple[Value], tangents: tuple[Value]
) -> tuple[Value, Value]:
    (x,), (dx,) = primals, tangents
    y = _softmax_with_rule(x, axis, where)
    return y, y * (dx - jnp.sum(y * dx, axis, where=where, keepdims=True))


def log_softmax(x: Value, axis: Axis = -1, where: Any = None) -> Value:
    """Return the logarithm of ``softmax(x, axis)``, accurate where that is near 0.

    Args:
        x: logits.
        axis: the axis or axes that sum to 1; None is all of them.
        where: truth values; elements where it is False count as 0 and are ``-inf`` in the result.

    Example:
        >>> log_softmax(jnp.array([0.0, -1000.0]))
        Array([    0., -1000.], dtype=float32)
    """
    x = as_array(x, "log_softmax")
    shifted = _shifted(x, axis, where)
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    result = shifted - jnp.log(total)
    return result if where is None else jnp.where(where, result, -jnp.inf)


def logsumexp(
    a: Value,
    axis: Axis = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """Return ``log(sum(b * exp(a)))`` over ``axis``.

    Args:
        a: exponents.
        axis: axis or axes to sum over; None is all of them.
        b: factors that broadcast to ``a``; 1 by default.
        keepdims: keep the axes, with length 1.
        return_sign: return also the sign of the sum; else a negative sum gives NaN.
        where: truth values; elements where it is False are left out.

    Returns:
        The logarithm, or ``(log(abs(sum)), sign)``.

    Example:
        >>> logsumexp(jnp.array([1000.0, 1000.0]))
        Array(1000.6932, dtype=float32)
    """
    a = as_floats(a, "logsumexp")
    if b is not None:
        b = as_floats(b, "logsumexp")
        kind = jnp.result_type(a, b)
        a, b = a.astype(kind), b.astype(kind)
        a = jnp.where(b != 0, a, -jnp.inf)
    if where is not None:
        # Left-out elements must not overflow on the way.
        a = jnp.where(where, a, 0)
    real = a.real if jnp.issubdtype(a.dtype, jnp.complexfloating) else a
    largest = _largest(real, axis, where)
    # All elements -inf (or one +inf): subtracting the largest would give NaN.
    shift = lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, jnp.zeros_like(largest)))
    exps = jnp.exp(a - shift)
    total = jnp.sum(exps if b is None else exps * b, axis, where=where, keepdims=True)
    return _log_of_sum(total, shift, axis, keepdims, return_sign)


def _log_of_sum(total: Value, shift: Value, axis: Any, keepdims: bool, return_sign: bool) -> Any:
    sign = jnp.sign(total)
    if return_sign or not jnp.issubdtype(total.dtype, jnp.complexfloating):
        out = jnp.log(jnp.abs(total)) + shift
    else:
        out = jnp.log(total) + shift
    if not keepdims:
        out, sign = (jnp.squeeze(x, axis) for x in (out, sign))
    return (out, sign) if return_sign else out


def logmeanexp(x: Value, axis: Axis = None, where: Any = None, keepdims: bool = False) -> Value:
    """Return ``log(mean(exp(x)))`` over ``axis``.

    Args:
        x: exponents.
        axis: axis or axes to average over; None is all of them.
        where: truth values; elements where it is False are left out.
        keepdims: keep the axes, with length 1.

    Example:
        >>> logmeanexp(jnp.array([1000.0, 1000.0]))
        Array(1000., dtype=float32)
    """
    x = as_floats(x, "logsumexp")
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    return total - jnp.log(_count(x, axis, where, keepdims)).astype(total.dtype)


def _count(x: Value, axis: Any, where: Any, keepdims: bool) -> Value:
    """Return how many elements a reduction covers, as a float."""
    if where is not None:
        weights = jnp.broadcast_to(where, x.shape).astype(x.dtype)
        return jnp.sum(weights, axis, keepdims=keepdims)
    axes = range(x.ndim) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    return jnp.asarray(np.prod([x.shape[i] for i in axes], dtype=float), x.dtype)


def standardize(
    x: Value,
    axis: Axis = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Value:
    """Return ``(x - mean) / sqrt(variance + epsilon)`` along ``axis``.

    Args:
        x: values.
        axis: axis or axes over which mean and variance are taken.
        mean: given mean, instead of that of ``x``.
        variance: given variance.
        epsilon: added to the variance.
        where: truth values; elements where it is False do not count for mean and variance.
        algorithm: how the variance is computed: "fast" ``mean(x**2) - mean**2`` or "stable"
            ``mean((x - mean)**2)``.

    Raises:
        ValueError: an unknown ``algorithm``.

    Example:
        >>> standardize(jnp.array([1.0, 3.0]))
        Array([-0.999995,  0.999995], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"Unknown algorithm {algorithm!r}. Expected 'fast' or 'stable'.")
    x = as_floats(x, "standardize")
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "fast":
            variance = jnp.mean(jnp.square(x), axis, keepdims=True, where=where) - jnp.square(mean)
            # Rounding may make the difference negative.
            variance = jnp.clip(variance, 0)
        else:
            variance = jnp.mean(jnp.square(x - mean), axis, keepdims=True, where=where)
    return (x - mean) * lax.rsqrt(variance + epsilon)
