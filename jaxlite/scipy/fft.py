"""``jaxlite.scipy.fft``: cosine transforms of type 2 and back. In: arrays. Out: coefficients.

A cosine transform of n numbers is a Fourier transform of the same n numbers in another order: the
even ones, then the odd ones backwards (Makhoul 1980, "A fast cosine transform in one and two
dimensions", equations 8 to 10).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.numpy.axes import canonical_axis

__all__ = ["dct", "dctn", "idct", "idctn"]


def _operand(name: str, x: Any, type: int, norm: str | None) -> Value:
    if type != 2:
        raise NotImplementedError("Only DCT type 2 is implemented.")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"jax.scipy.fft.{name}: {norm=!r} is not implemented")
    value = jnp.asarray(x)
    return value.astype(dtypes.to_inexact_dtype(value.dtype))


def _sized(x: Value, n: int | None, axis: int) -> Value:
    """Return ``x`` cut or padded with zeros to ``n`` elements along ``axis``, moved to the end."""
    x = jnp.moveaxis(x, canonical_axis(axis, x.ndim), -1)
    if n is None:
        return x
    size = operator.index(n)
    if size <= 0:
        raise ValueError(f"invalid number of data points ({size}) specified")
    x = x[..., :size]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, size - x.shape[-1])])


def _order(n: int) -> np.ndarray[Any, Any]:
    """Return the order in which the Fourier transform takes the numbers."""
    return np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]]).astype(np.int32)


def _turns(n: int, sign: int, dtype: Any) -> Value:
    """Return exp(sign * i pi k / 2n)."""
    angles = sign * np.pi * np.arange(n) / (2 * n)
    return jnp.asarray(np.exp(1j * angles).astype(dtypes.to_complex_dtype(dtype)))


def _is_complex(x: Value) -> bool:
    return bool(jnp.iscomplexobj(x))


def _on_parts(f: Callable[[Value], Value], x: Value) -> Value:
    """Apply ``f``, linear and real, to the parts of complex numbers."""
    return jnp.asarray(jnp.real(f(x.real)) + 1j * f(x.imag)).astype(x.dtype)


def _dct(x: Value, norm: str | None) -> Value:
    if _is_complex(x):
        return _on_parts(lambda part: _dct(part, norm), x)
    n = x.shape[-1]
    # y_k = 2 Re(exp(-i pi k / 2n) FFT(v)_k)
    spectrum = jnp.fft.fft(x[..., _order(n)])
    out = 2 * (spectrum * _turns(n, -1, x.dtype)).real
    if norm == "ortho":
        out = out * _unit(n, x.dtype)
    return out.astype(x.dtype)


def _idct(y: Value, norm: str | None) -> Value:
    if _is_complex(y):
        return _on_parts(lambda part: _idct(part, norm), y)
    n = y.shape[-1]
    if norm == "ortho":
        y = y / _unit(n, y.dtype)
    # FFT(v)_k = exp(i pi k / 2n) (y_k - i y_(n-k)) / 2, where y_n = 0
    mirrored = jnp.concatenate([jnp.zeros_like(y[..., :1]), y[..., :0:-1]], axis=-1)
    spectrum = (y - 1j * mirrored) * _turns(n, 1, y.dtype) / 2
    v = jnp.fft.ifft(spectrum).real
    return v[..., np.argsort(_order(n)).astype(np.int32)].astype(y.dtype)


def _unit(n: int, dtype: Any) -> Value:
    """Return the factors that make the transform orthogonal."""
    scale = np.full(n, np.sqrt(1 / (2 * n)))
    scale[:1] = np.sqrt(1 / (4 * n))
    return jnp.asarray(scale.astype(dtype))


def dct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Value:
    """Return the cosine transform of type 2 along ``axis``.

    Args:
        x: ``T[*s]``.
        type: 2.
        n: length of the transform; ``x`` is cut or padded with zeros.
        axis: along which to transform.
        norm: "ortho" makes the transform orthogonal.

    Raises:
        NotImplementedError: another ``type``.
        ValueError: an unknown ``norm``.

    Example:
        >>> dct(jnp.ones(2))
        Array([4., 0.], dtype=float32)
    """
    value = _sized(_operand("dct", x, type, norm), n, axis)
    return jnp.moveaxis(_dct(value, norm), -1, axis)


def idct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Value:
    """Return what ``dct`` of the same ``norm`` transforms into ``x``.

    Example:
        >>> idct(jnp.array([4.0, 0.0]))
        Array([1., 1.], dtype=float32)
    """
    value = _sized(_operand("idct", x, type, norm), n, axis)
    return jnp.moveaxis(_idct(value, norm), -1, axis)


def _along_axes(
    one: Callable[..., Value], value: Value, s: Sequence[int] | None, axes: Any, norm: str | None
) -> Value:
    if axes is None:
        axes = range(value.ndim - (value.ndim if s is None else len(s)), value.ndim)
    places = [canonical_axis(axis, value.ndim) for axis in axes]
    sizes = [None] * len(places) if s is None else list(s)
    if len(sizes) != len(places):
        raise ValueError("Shape and axes have different lengths.")
    for axis, n in zip(places, sizes):
        value = one(value, 2, n, axis, norm)
    return value


def dctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """Return the cosine transform of type 2 along each of ``axes`` (None: the last ``len(s)``)."""
    return _along_axes(dct, _operand("dctn", x, type, norm), s, axes, norm)


def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """Return what ``dctn`` of the same ``axes`` and ``norm`` transforms into ``x``."""
    return _along_axes(idct, _operand("idctn", x, type, norm), s, axes, norm)
