"""Choices and orders. In: a key, weights, arrays. Out: categories, permutations, elements.

A permutation sorts by random 32-bit words, several times over if there are many elements (so that
ties stay unlikely); a category is the argmax of the logits plus Gumbel noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxlite import errors, lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import Shape
from jaxlite.language.trace import is_concrete
from jaxlite.primitives.single_rounding import cephes_log, cephes_log1p
from jaxlite.random.arguments import (
    check_one_device,
    choose_dtype,
    choose_shape,
    plain_shape,
    require_array,
)
from jaxlite.random.basic import randint, unit_uniform
from jaxlite.random.continuous import gumbel_samples
from jaxlite.random.keys import random_bits, split_key, to_key

__all__ = ["categorical", "choice", "geometric", "permutation"]


def _canonical_axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def _require_length(x: Value, function: str) -> int:
    """Return the scalar integer ``x`` as a Python int; it must not be traced."""
    if not is_concrete(x):
        raise errors.ConcretizationTypeError(x, f"The error occurred in jax.random.{function}()")
    return int(x)


def _shuffle(key: Value, x: Value, axis: int) -> Value:
    """Return ``x`` with each slice along ``axis`` in a random order of its own."""
    # Ties of 32-bit sort keys bias the order; k rounds make them as rare as ties of 32k bits.
    # n**3 words bound their probability by 1 / n.
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, word_key = split_key(key)
        words = random_bits(word_key, x.shape, np.dtype("uint32"))
        _, x = lax.sort([words, x], dimension=axis, num_keys=1)
    return x


def permutation(
    key: Value, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Value:
    """Return ``x`` with ``axis`` in random order, or ``range(x)`` in random order.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        x: an array, or an integer n that stands for ``arange(n)``.
        axis: the axis to permute.
        independent: permute each slice along ``axis`` on its own.
        out_sharding: must be None.

    Raises:
        TypeError: ``x`` is a scalar but no integer, or a list.
        ValueError: no such ``axis``.

    Example:
        >>> import jaxlite
        >>> permutation(jaxlite.random.key(0), 5)
        Array([0, 1, 4, 3, 2], dtype=int32)
    """
    check_one_device(out_sharding, "permutation")
    typed, _ = to_key(key, "permutation")
    x = require_array(x, "permutation")
    axis = _canonical_axis(axis, x.ndim or 1)
    if not x.ndim:
        if dtypes.kind_of(x.dtype) not in "iu":
            raise TypeError("x must be an integer or at least 1-dimensional")
        return _shuffle(typed, jnp.arange(max(_require_length(x, "permutation"), 0)), 0)
    if (independent or x.ndim == 1) and dtypes.kind_of(x.dtype) != "k":
        return _shuffle(typed, x, axis)
    order = _shuffle(typed, jnp.arange(x.shape[axis]), 0)
    return jnp.take(x, order, axis, mode="clip")


def choice(
    key: Value,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Value:
    """Return elements of ``a`` drawn at random.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        a: an array, or an integer n that stands for ``arange(n)``.
        shape: shape of the draws; it takes the place of ``axis`` in ``a``.
        replace: whether an element may be drawn more than once.
        p: probability of each element, ``f32[n]``; uniform by default.
        axis: the axis of ``a`` to draw from.
        mode: resolution of the Gumbel noise used with ``p`` and without replacement, "low" or
            "high".

    Raises:
        ValueError: more draws than elements without replacement; a ``p`` of another length;
            nothing to draw from.

    Example:
        >>> import jaxlite
        >>> choice(jaxlite.random.key(0), 5, (3,), replace=False)
        Array([0, 1, 4], dtype=int32)
    """
    typed, _ = to_key(key, "choice")
    shape = plain_shape(shape)
    a = require_array(a, "choice")
    axis = _canonical_axis(axis, a.ndim or 1)
    n_elements = a.shape[axis] if a.ndim else _require_length(a, "choice")
    n_draws = math.prod(shape)
    if n_draws == 0:
        return jnp.zeros(shape, a.dtype if a.ndim else dtypes.default_dtype(int))
    if n_elements <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and n_draws > n_elements:
        raise ValueError(
            f"Cannot take a larger sample (size {n_draws}) than population (size {n_elements}) "
            "when 'replace=False'"
        )
    if p is not None:
        p = _check_weights(p, n_elements)
    if p is None and not replace:
        if not a.ndim:
            return _first(permutation(typed, n_elements), n_draws, 0).reshape(shape)
        shuffled = permutation(typed, a, axis)
        return _first(shuffled, n_draws, axis).reshape(_around(a, shape, axis))
    indices = _draw_indices(typed, shape, n_elements, n_draws, replace, p, mode or "low")
    return indices if not a.ndim else jnp.take(a, indices, axis, mode="clip")


def _around(a: Value, shape: Shape, axis: int) -> Shape:
    """Return the shape of ``a`` with ``shape`` in the place of ``axis``."""
    return (*a.shape[:axis], *shape, *a.shape[axis + 1 :]) if a.ndim else shape


def _first(x: Value, n: int, axis: int) -> Value:
    return lax.slice_in_dim(x, 0, n, axis=axis)


def _check_weights(p: Any, n_elements: int) -> Value:
    p = require_array(p, "choice", 1)
    if p.shape != (n_elements,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. "
            f"p has shape {p.shape} and a.shape[axis] is {n_elements}."
        )
    return lax.convert_element_type(p, dtypes.to_inexact_dtype(p.dtype))


def _draw_indices(
    key: Value, shape: Shape, n_elements: int, n_draws: int, replace: bool, p: Any, mode: str
) -> Value:
    """Return ``int32[*shape]`` indices below ``n_elements``."""
    if p is None:
        return randint(key, shape, 0, n_elements)
    if replace:
        cumulative = jnp.cumsum(p)
        u = unit_uniform(key, shape, cumulative.dtype)
        total = cumulative[-1]
        index = jnp.searchsorted(cumulative, total * (1 - u))
        return lax.convert_element_type(index, dtypes.default_dtype(int))
    # The Gumbel top-k trick (Vieira 2014): the k largest log-weights plus noise are k draws
    # without replacement.
    noise = gumbel_samples(key, (n_elements,), p.dtype, mode)
    _, index = lax.top_k(noise + cephes_log(p), n_draws)
    return lax.convert_element_type(index, dtypes.default_dtype(int)).reshape(shape)


def categorical(
    key: Value,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return categories with probabilities ``softmax(logits, axis)``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        logits: unnormalised log-probabilities, floats.
        axis: axis of the categories.
        shape: shape of the result; its last axes are those of ``logits`` without ``axis`` (the
            default).
        replace: whether a category may come again in one of the leading axes of ``shape``.
        mode: resolution of the Gumbel noise, "low" or "high".
        out_sharding: must be None.

    Returns:
        ``int32[*shape]``.

    Raises:
        ValueError: ``shape`` does not fit ``logits``; too many draws without replacement; integer
            logits.

    Example:
        >>> import jaxlite
        >>> categorical(jaxlite.random.key(0), jnp.array([0.0, -jnp.inf]), shape=(3,))
        Array([0, 0, 0], dtype=int32)
    """
    check_one_device(out_sharding, "categorical")
    typed, _ = to_key(key, "categorical")
    logits = require_array(logits, "categorical")
    if not -logits.ndim <= axis < logits.ndim:
        raise IndexError(f"index {axis} is out of bounds for axis 0 with size {logits.ndim}")
    axis %= logits.ndim
    rest = (*logits.shape[:axis], *logits.shape[axis + 1 :])
    shape = choose_shape("categorical", shape, rest)
    dtype = choose_dtype(logits.dtype, "gumbel")
    prefix = shape[: len(shape) - len(rest)]
    if replace:
        tail = shape[len(shape) - len(rest) :]
        noise_shape = (*prefix, *tail[:axis], logits.shape[axis], *tail[axis:])
        noise = gumbel_samples(typed, noise_shape, dtype, mode or "low")
        return jnp.argmax(noise + logits, axis=axis + len(prefix))
    n_draws = math.prod(prefix)
    if n_draws > logits.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({n_draws}) cannot exceed number of categories "
            f"({logits.shape[axis]})."
        )
    noisy = logits + gumbel_samples(typed, logits.shape, dtype, mode or "low")
    _, index = lax.top_k(jnp.moveaxis(noisy, axis, -1), n_draws)
    return jnp.moveaxis(index, -1, 0).reshape(shape)


def geometric(
    key: Value, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Value:
    """Return the number of trials up to the first success, each of probability ``p``.

    Args:
        key: ``key<fry>[]`` or ``uint32[2]``.
        p: probability of success, a float or an array.
        shape: shape of the result, by default that of ``p``.
        dtype: an integer type, int32 by default.
        out_sharding: must be None.

    Raises:
        ValueError: ``dtype`` is no integer type; ``p`` does not broadcast to ``shape``.

    Example:
        >>> import jaxlite
        >>> geometric(jaxlite.random.key(0), 1.0)
        Array(1, dtype=int32)
    """
    check_one_device(out_sharding, "geometric")
    typed, _ = to_key(key, "geometric")
    dtype = choose_dtype(dtype, "geometric", "iu")
    p = require_array(p, "geometric", 1)
    p = lax.convert_element_type(p, dtypes.to_inexact_dtype(p.dtype))
    shape = choose_shape("geometric", shape, p.shape)
    u = unit_uniform(typed, shape, p.dtype)
    log_u = cephes_log(jnp.where(u == 0, 1, u))
    log_fail = jnp.broadcast_to(cephes_log1p(lax.neg(p)), shape)
    return lax.convert_element_type(lax.floor(lax.div(log_u, log_fail)) + 1.0, dtype)
