"""``jaxlite.image``: resampling. In: an image of any rank. Out: the image on another grid.

Resampling is separable: along each axis the new pixels are weighted sums of the old ones, so an
axis costs one matrix product. The weights are a kernel (triangle, cubic, Lanczos, box) at the
distance between a new pixel, mapped back, and each old one.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import Precision
from jaxlite.lax.operands import axis_of

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How pixels between pixels are found.

    NEAREST takes the nearest one; LINEAR, CUBIC (Keys 1981, a = -1/2), CUBIC_PYTORCH (a = -3/4
    and repeated edges when it does not smooth), LANCZOS3 and LANCZOS5 (a windowed sinc)
    interpolate; AREA averages what a new pixel covers.
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Return the method called ``s``; ValueError if there is none.

        Example:
            >>> ResizeMethod.from_string("bilinear")
            <ResizeMethod.LINEAR: 1>
        """
        found = _NAMES.get(s)
        if found is None:
            raise ValueError(f'Unknown resize method "{s}"\n  Fix: one of {sorted(_NAMES)}.')
        return found


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


# --- kernels: the weight at distance x >= 0 ---


def _triangle(x: Value) -> Value:
    return jnp.maximum(0, 1 - x)


def _cubic(a: float) -> Callable[[Value], Value]:
    """Return Keys' cubic kernel with slope ``a`` at 1."""

    def kernel(x: Value) -> Value:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return jnp.where(x >= 2, 0, jnp.where(x >= 1, far, near))

    return kernel


def _lanczos(radius: float) -> Callable[[Value], Value]:
    def kernel(x: Value) -> Value:
        is_tiny = x <= 1e-3
        safe = jnp.where(is_tiny, 1, x)
        windowed = radius * jnp.sin(np.pi * safe) * jnp.sin(np.pi * safe / radius)
        found = jnp.where(is_tiny, 1, windowed / (np.pi**2 * safe**2))
        return jnp.where(x > radius, 0, found)

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Value], Value]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
}


def _weights(
    n_in: int, n_out: int, scale: Value, translation: Value, method: ResizeMethod, smooth: bool
) -> Value:
    """Return the weight ``[n_in, n_out]`` of every old pixel in every new one."""
    dtype = jnp.result_type(scale, translation)
    inverse = 1 / scale
    at = (jnp.arange(n_out, dtype=dtype) + 0.5) * inverse - translation * inverse - 0.5
    width = jnp.maximum(inverse, 1) if smooth else 1
    pixels = jnp.arange(n_in, dtype=dtype)[:, None]
    if method is ResizeMethod.AREA:
        low, high = at - 0.5 * inverse, at + 0.5 * inverse
        weights = jnp.maximum(0, jnp.minimum(high, pixels + 0.5) - jnp.maximum(low, pixels - 0.5))
    elif method is ResizeMethod.CUBIC_PYTORCH and not smooth:
        return _repeated_edges(n_in, at, _KERNELS[method])
    else:
        kernel = _KERNELS[ResizeMethod.CUBIC if method is ResizeMethod.CUBIC_PYTORCH else method]
        weights = kernel(jnp.abs(at - pixels) / width)
    total = jnp.sum(weights, axis=0, keepdims=True)
    weights = jnp.where(
        jnp.abs(total) > 1000 * float(np.finfo(np.float32).eps),
        weights / jnp.where(total != 0, total, 1),
        0,
    )
    return jnp.where(((at >= -0.5) & (at <= n_in - 0.5))[None, :], weights, 0)


def _repeated_edges(n_in: int, at: Value, kernel: Callable[[Value], Value]) -> Value:
    """Return the weights of four neighbours, those outside counted at the edge."""
    first = jnp.floor(at)
    pixels = jnp.arange(n_in)[:, None]
    weights = jnp.zeros((n_in, at.shape[0]), at.dtype)
    for offset in (-1, 0, 1, 2):
        neighbour = jnp.clip(first + offset, 0, n_in - 1).astype(int)
        weight = kernel(jnp.abs(at - (first + offset)))
        weights = weights + jnp.where(pixels == neighbour, weight, 0)
    return weights


# --- public functions ---


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Value:
    """Return ``image`` scaled and moved: what is at ``p`` appears at ``p * scale + translation``.

    Pixels have their middle at ``i + 1/2``. What comes from outside the image is 0.

    Args:
        image: ``T[*s]``.
        shape: shape of the result, as many axes as ``image``.
        spatial_dims: the axes that ``scale`` and ``translation`` speak of.
        scale: one factor for each of these axes; differentiable.
        translation: one offset each, in new pixels; differentiable.
        method: a ``ResizeMethod`` or its name, but not NEAREST.
        antialias: smooth when the image shrinks.
        precision: of the products.

    Returns:
        ``float[*shape]``.

    Raises:
        ValueError: a shape of another rank, an unknown method, or NEAREST.

    Example:
        >>> scale_and_translate(
        ...     jnp.eye(2), (2, 2), (0,), jnp.ones(1), jnp.ones(1), "linear"
        ... ).tolist()
        [[0.0, 0.0], [1.0, 0.0]]
    """
    if len(shape) != jnp.ndim(image):
        raise ValueError(
            f"shape must have length equal to the number of dimensions of x;  {shape} vs "
            f"{jnp.shape(image)}"
        )
    if isinstance(method, str):
        method = ResizeMethod.from_string(method)
    if method is ResizeMethod.NEAREST:
        raise ValueError(
            "Nearest neighbor resampling is not currently supported for scale_and_translate."
        )
    (image,) = _inexact(image)
    scale, translation = _inexact(scale, translation)
    return _resample(image, shape, spatial_dims, scale, translation, method, antialias, precision)


def _inexact(*values: Any) -> tuple[Value, ...]:
    """Return the values as arrays of one float or complex dtype."""
    arrays = [jnp.asarray(v) for v in values]
    dtype = jnp.result_type(*arrays)
    if dtypes.kind_of(dtype) not in "fc":
        dtype = dtypes.default_dtype(float) if dtype.itemsize > 2 else jnp.result_type(dtype, 1.0)
    return tuple(lax.convert_element_type(a, dtype) for a in arrays)


def _resample(
    image: Value,
    shape: Sequence[int],
    dims: Sequence[int],
    scale: Value,
    translation: Value,
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Value:
    for i, dim in enumerate(dims):
        dim = axis_of(operator.index(dim), image.ndim)
        sizes = image.shape[dim], shape[dim]
        weights = _weights(*sizes, scale[i], translation[i], method, antialias)
        out = jnp.tensordot(image, weights.astype(image.dtype), ((dim,), (0,)), precision=precision)
        image = jnp.moveaxis(out, -1, dim)
    return image


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Value:
    """Return ``image`` resampled to ``shape``; axes whose length stays are left alone.

    Args:
        image: ``T[*s]``.
        shape: shape of the result, as many axes as ``image``.
        method: a ``ResizeMethod`` or its name.
        antialias: smooth when the image shrinks.
        precision: of the products.

    Returns:
        ``float[*shape]``, or ``T[*shape]`` with NEAREST.

    Raises:
        ValueError: a shape of another rank, or an unknown method.

    Example:
        >>> resize(jnp.arange(4.0), (2,), "linear", antialias=False).tolist()
        [0.5, 2.5]
    """
    if len(shape) != jnp.ndim(image):
        raise ValueError(
            f"shape must have length equal to the number of dimensions of x;  {shape} vs "
            f"{jnp.shape(image)}"
        )
    if isinstance(method, str):
        method = ResizeMethod.from_string(method)
    if method is ResizeMethod.NEAREST:
        return _nearest(jnp.asarray(image), shape)
    (image,) = _inexact(image)
    shape = tuple(operator.index(n) for n in shape)
    dims = [i for i, n in enumerate(shape) if image.shape[i] != n]
    scale = np.asarray(
        [1.0 if shape[d] == 0 else shape[d] / image.shape[d] for d in dims], np.float32
    )
    zeros = np.zeros(len(dims), np.float32)
    scale, translation = jnp.asarray(scale), jnp.asarray(zeros)
    return _resample(image, shape, dims, scale, translation, method, antialias, precision)


def _nearest(image: Value, shape: Sequence[int]) -> Value:
    for dim, (n_in, n_out) in enumerate(zip(image.shape, shape, strict=True)):
        if n_in != n_out:
            at = np.floor((np.arange(n_out, dtype=np.float32) + 0.5) * np.float32(n_in) / n_out)
            image = jnp.take(image, at.astype(np.int32), axis=dim)
    return image
