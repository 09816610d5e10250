"""Initial values of parameters. In: how to spread them. Out: a function of key, shape, dtype.

Variance scaling keeps the size of signals from layer to layer: variance ``scale / fan`` where the
fan counts the inputs or outputs of a unit (Glorot and Bengio 2010, He et al. 2015, LeCun et al.
1998).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jaxlite import numpy as jnp
from jaxlite import random
from jaxlite.language import dtypes
from jaxlite.language.array import Value

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """A function that makes initial values."""

    def __call__(
        self, key: Value, shape: Any, dtype: Any = None, out_sharding: Any = None
    ) -> Value:
        """Return an array of ``shape`` and ``dtype`` (by default the one given to the factory)."""
        raise NotImplementedError


def _to_dtype(dtype: Any) -> Any:
    return dtypes.default_dtype(float) if dtype is None else dtypes.canonicalize_dtype(dtype)


def zeros(key: Value, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Value:
    """Return zeros; the key is not used.

    Example:
        >>> zeros(random.key(0), (2,))
        Array([0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, _to_dtype(dtype))


def ones(key: Value, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Value:
    """Return ones; the key is not used.

    Example:
        >>> ones(random.key(0), (2,))
        Array([1., 1.], dtype=float32)
    """
    return jnp.ones(shape, _to_dtype(dtype))


def constant(value: Any, dtype: Any = None) -> Initializer:
    """Return an initializer that gives ``value`` everywhere.

    Example:
        >>> constant(-7.0)(random.key(0), (2,))
        Array([-7., -7.], dtype=float32)
    """

    def init(key: Value, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Value:
        return jnp.full(shape, value, dtype=_to_dtype(dtype))

    return init


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer with numbers uniform in [0, scale).

    Example:
        >>> uniform(10.0)(random.key(0), (2,))
        Array([9.47667 , 9.785799], dtype=float32)
    """

    def init(key: Value, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Value:
        dtype = _to_dtype(dtype)
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Return an initializer with normal numbers of standard deviation ``stddev``.

    Example:
        >>> normal(5.0)(random.key(0), (2,))
        Array([ 8.113211, 10.126324], dtype=float32)
    """

    def init(key: Value, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Value:
        dtype = _to_dtype(dtype)
        return random.normal(key, shape, dtype) * jnp.array(stddev, dtype)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """Return an initializer with normal numbers between ``lower`` and ``upper``, times ``stddev``.

    The standard deviation of the result is below ``stddev``, because the tails are missing.

    Example:
        >>> truncated_normal(5.0)(random.key(0), (3,)).shape
        (3,)
    """

    def init(key: Value, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Value:
        dtype = _to_dtype(dtype)
        return random.truncated_normal(key, lower, upper, shape, dtype) * jnp.array(stddev, dtype)

    return init


def _size(shape: Sequence[int], axes: Axes) -> int:
    return math.prod(shape[i] for i in ((axes,) if isinstance(axes, int) else axes))


def _fans(
    shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Return the numbers of inputs and outputs of a unit; other axes are a receptive field."""
    if len(shape) <= 1:
        default = "in_axis" if in_axis == -2 else "out_axis" if out_axis == -1 else ""
        if default:
            raise ValueError(
                f"Can't compute input and output sizes of a {len(shape)}-dimensional weights "
                f"tensor with default {default}. Must be at least 2D or specify {default} "
                "explicitly."
            )
    in_size, out_size = _size(shape, in_axis), _size(shape, out_axis)
    batch_size = _size(shape, batch_axis)
    field = math.prod(shape) / in_size / out_size / batch_size
    return in_size * field, out_size * field


def _complex_uniform(key: Value, shape: Any, dtype: Any) -> Value:
    """Return complex numbers of variance 1, uniform in a disc."""
    r_key, angle_key = random.split(key)
    real_dtype = np.zeros((), dtype).real.dtype
    r = jnp.sqrt(2 * random.uniform(r_key, shape, real_dtype)).astype(dtype)
    angle = 2 * np.pi * random.uniform(angle_key, shape, real_dtype)
    return r * jnp.exp(1j * angle.astype(dtype))


def _complex_truncated_normal(key: Value, upper: Any, shape: Any, dtype: Any) -> Value:
    """Return complex normal numbers of modulus below ``upper``."""
    r_key, angle_key = random.split(key)
    real_dtype = np.zeros((), dtype).real.dtype
    u = (1 - jnp.exp(jnp.array(-(upper**2), real_dtype))) * random.uniform(r_key, shape, real_dtype)
    r = jnp.sqrt(-jnp.log(1 - u)).astype(dtype)
    angle = 2 * np.pi * random.uniform(angle_key, shape, real_dtype)
    return r * jnp.exp(1j * angle.astype(dtype))


def _scaled_samples(
    key: Value, shape: Any, dtype: Any, distribution: str, variance: Value
) -> Value:
    """Return samples of mean 0 and the given variance."""
    is_real = dtypes.kind_of(dtype) == "f"
    if distribution == "normal":
        return random.normal(key, shape, dtype) * jnp.sqrt(variance)
    if distribution == "uniform":
        if is_real:
            return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
        return _complex_uniform(key, shape, dtype) * jnp.sqrt(variance)
    if is_real:
        # The standard deviation of a normal number between -2 and 2.
        stddev = jnp.sqrt(variance) / jnp.array(0.87962566103423978, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * stddev
    stddev = jnp.sqrt(variance) / jnp.array(0.95311164380491208, dtype)
    return _complex_truncated_normal(key, 2, shape, dtype) * stddev


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Return an initializer of variance ``scale / fan``.

    Args:
        scale: factor of the variance.
        mode: which fan: "fan_in", "fan_out", "fan_avg" (arithmetic mean) or "fan_geo_avg"
            (geometric mean).
        distribution: "truncated_normal", "normal" or "uniform".
        in_axis: axis or axes of the inputs.
        out_axis: axis or axes of the outputs.
        batch_axis: axis or axes that neither count nor belong to a receptive field.
        dtype: a float or complex type, float32 by default.

    Raises:
        ValueError: an unknown ``mode`` or ``distribution``; a shape with fewer than two axes.
        ZeroDivisionError: an axis of length 0.

    Example:
        >>> variance_scaling(1.0, "fan_in", "normal")(random.key(0), (4, 3)).shape
        (4, 3)
    """

    def init(key: Value, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Value:
        dtype = _to_dtype(dtype)
        fan_in, fan_out = _fans(tuple(shape), in_axis, out_axis, batch_axis)
        fans = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": math.sqrt(fan_in * fan_out),
        }
        if mode not in fans:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        if distribution not in ("normal", "uniform", "truncated_normal"):
            raise ValueError(
                f"invalid distribution for variance scaling initializer: {distribution}"
            )
        variance = jnp.array(scale / fans[mode], dtype)
        return _scaled_samples(key, shape, dtype, distribution, variance)

    return init


def _scaling(scale: float, mode: str, distribution: str, name: str, about: str) -> Any:
    """Return a factory of initializers with fixed scale, mode and distribution."""

    def factory(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = (
        f"Return an initializer by {about}: variance {scale:g} / {mode}, {distribution}.\n\n"
        "Arguments as in ``variance_scaling``.\n\n"
        f"Example:\n    >>> {name}()(random.key(0), (4, 3)).shape\n    (4, 3)\n"
    )
    return factory


glorot_uniform = _scaling(1.0, "fan_avg", "uniform", "glorot_uniform", "Glorot and Bengio")
glorot_normal = _scaling(1.0, "fan_avg", "truncated_normal", "glorot_normal", "Glorot and Bengio")
lecun_uniform = _scaling(1.0, "fan_in", "uniform", "lecun_uniform", "LeCun")
lecun_normal = _scaling(1.0, "fan_in", "truncated_normal", "lecun_normal", "LeCun")
he_uniform = _scaling(2.0, "fan_in", "uniform", "he_uniform", "He")
he_normal = _scaling(2.0, "fan_in", "truncated_normal", "he_normal", "He")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer with orthonormal rows or columns, times ``scale``.

    Args:
        scale: factor.
        column_axis: the axis whose slices are orthonormal vectors; the others together are the
            other axis.
        dtype: a float or complex type, float32 by default.

    Raises:
        ValueError: a shape with fewer than two axes.

    Example:
        >>> w = orthogonal()(random.key(0), (3, 2))
        >>> bool(jnp.allclose(w.T @ w, jnp.eye(2), atol=1e-5))
        True
    """

    def init(key: Value, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Value:
        dtype, shape = _to_dtype(dtype), tuple(shape)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns if columns else 0
        q = random.orthogonal(key, rows, (), dtype, columns)
        q = q.reshape((*np.delete(shape, column_axis).tolist(), columns))
        return jnp.array(scale, dtype) * jnp.moveaxis(q, -1, column_axis)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Return an initializer for convolutions: an orthogonal matrix at the centre, 0 elsewhere.

    Args:
        scale: factor.
        column_axis: as in ``orthogonal``, for the matrix.
        dtype: a float or complex type, float32 by default.

    Raises:
        ValueError: a shape of other than 3 to 5 axes, or with more inputs than outputs.

    Example:
        >>> delta_orthogonal()(random.key(0), (3, 3, 4, 4)).shape
        (3, 3, 4, 4)
    """

    def init(key: Value, shape: Any, dtype: Any = dtype, out_sharding: Any = None) -> Value:
        dtype, shape = _to_dtype(dtype), tuple(shape)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        centre = tuple((size - 1) // 2 for size in shape[:-2])
        return jnp.zeros(shape, dtype).at[centre].set(matrix)

    return init
