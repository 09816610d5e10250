"""``jaxlite.numpy.fft``: discrete Fourier transforms. In: arrays. Out: spectra, and back.

Every function moves its axes to the end, cuts or pads them with zeros, calls ``lax.fft`` and scales
as ``norm`` says: "backward" (None) scales inverses by 1/n, "forward" the others, "ortho" all by
1/sqrt(n).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import fourier, shapes, slicing
from jaxlite.lax.fourier import FftType
from jaxlite.numpy import arithmetic, ufuncs
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.promotion import as_operand, check_arraylike, retype
from jaxlite.numpy.ranges import arange
from jaxlite.numpy.rearrange import moveaxis, roll

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _scale(kind: FftType, size: int, norm: str | None) -> float | None:
    """Return what the result of ``lax.fft`` is multiplied by (its inverses divide by ``size``)."""
    if norm not in _SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    if norm in (None, "backward"):
        return None
    amount = size if norm == "forward" else math.sqrt(size)
    is_inverse = kind in (FftType.IFFT, FftType.IRFFT)
    return float(amount) if is_inverse else 1 / amount


def _operand(x: Any) -> Value:
    value = asarray(x)
    if dtypes.kind_of(value.dtype) not in "fc":
        return retype(value, dtypes.to_inexact_dtype(value.dtype))
    return value


def _lengths(kind: FftType, x: Value, s: Any, axes: list[int]) -> tuple[int, ...]:
    """Return the lengths of the transform along ``axes``."""
    if s is not None:
        return tuple(int(operator.index(n)) for n in s)
    lengths = [x.shape[axis] for axis in axes]
    if kind is FftType.IRFFT and lengths:
        lengths[-1] = max(0, 2 * (lengths[-1] - 1))
    return tuple(lengths)


def _transform(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: str | None) -> Value:
    x = _operand(a)
    if s is not None:
        s = tuple(s)
        if any(n <= 0 for n in map(operator.index, s)):
            raise ValueError("Shape should be positive.")
        if axes is None and len(s) > x.ndim:
            raise ValueError(
                f"FFT input shape {s[len(s) - x.ndim :]} must have at least as many input "
                f"dimensions as fft_lengths {s}."
            )
        if axes is not None and len(s) != len(axes):
            raise ValueError("Shape and axes have different lengths.")
    if axes is None:
        places = list(range(x.ndim - (x.ndim if s is None else len(s)), x.ndim))
    else:
        places = [canonical_axis(axis, x.ndim) for axis in axes]
        if len(set(places)) != len(places):
            raise ValueError(
                f"jax.numpy.fft.{name} does not support repeated axes. Got axes {axes}."
            )
    if not places:
        raise ValueError("FFT input must have at least one axis to transform.")
    lengths = _lengths(kind, x, s, places)
    last = tuple(range(x.ndim - len(places), x.ndim))
    moved = moveaxis(x, places, last)
    kept = lengths
    if kind is FftType.IRFFT:
        kept = (*lengths[:-1], lengths[-1] // 2 + 1)
    moved = _resized(moved, kept)
    out = fourier.fft(moved, kind, lengths)
    scale = _scale(kind, math.prod(lengths), norm)
    if scale is not None:
        out = ufuncs.multiply(out, np.asarray(scale, dtypes.to_real_dtype(out.dtype)))
    return moveaxis(out, last, places)


def _resized(x: Value, lengths: tuple[int, ...]) -> Value:
    """Return ``x`` with its last axes cut, or padded with zeros, to ``lengths``."""
    first = x.ndim - len(lengths)
    if x.shape[first:] == lengths:
        return x
    limits = [min(n, m) for n, m in zip(x.shape[first:], lengths, strict=True)]
    x = slicing.slice(x, (0,) * x.ndim, (*x.shape[:first], *limits))
    missing = [(0, n - m, 0) for n, m in zip(lengths, limits, strict=True)]
    zero = np.zeros((), dtypes.storage_dtype(x.dtype))
    return shapes.pad(x, zero, [(0, 0, 0)] * first + missing)


def _one_axis(
    name: str, kind: FftType, a: Any, n: int | None, axis: Any, norm: str | None
) -> Value:
    if isinstance(axis, tuple | list):
        raise ValueError(
            f"jax.numpy.fft.{name} does not support multiple axes. "
            f"Please use jax.numpy.fft.{name}n. Got axis = {axis!r}."
        )
    axes = None if axis is None else (axis,)
    return _transform(name, kind, a, None if n is None else (n,), axes, norm)


def _two_axes(
    name: str, kind: FftType, a: Any, s: Any, axes: Sequence[int], norm: str | None
) -> Value:
    if len(axes) != 2:
        raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
    return _transform(name, kind, a, s, axes, norm)


# --- one axis ---


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the Fourier transform along an axis: ``T[*s] -> C[*s]``.

    Args:
        a: real or complex array.
        n: length of the transform; ``a`` is cut or padded with zeros.
        axis: the axis.
        norm: "backward" (None), "ortho" or "forward".

    Raises:
        ValueError: an axis, length or ``norm`` that does not exist.

    Example:
        >>> fft(np.float32([1, 0, 0]))
        Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one_axis("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the inverse Fourier transform along an axis: ``T[*s] -> C[*s]``.

    Example:
        >>> ifft(np.float32([3, 0, 0]))
        Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one_axis("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the ``n // 2 + 1`` nonnegative frequencies of real values along an axis.

    Raises:
        ValueError: complex values.

    Example:
        >>> rfft(np.float32([1, 0, 0, 0]))
        Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one_axis("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the real values whose ``rfft`` is ``a``; ``n`` (default: even) is their number.

    Example:
        >>> irfft(np.complex64([4, 0, 0]))
        Array([1., 1., 1., 1.], dtype=float32)
    """
    return _one_axis("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the real spectrum of values that are the conjugate of their mirror image.

    Example:
        >>> hfft(np.complex64([1, 0, 0]))
        Array([1., 1., 1., 1.], dtype=float32)
    """
    _scale(FftType.IRFFT, 1, norm)
    conjugate = arithmetic.conjugate(asarray(a))
    return _one_axis("hfft", FftType.IRFFT, conjugate, n, axis, _SWAPPED[norm])


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """Return the inverse of ``hfft``: half of values that mirror themselves.

    Example:
        >>> ihfft(np.float32([1, 1, 1, 1])).shape
        (3,)
    """
    _scale(FftType.RFFT, 1, norm)
    return arithmetic.conjugate(_one_axis("ihfft", FftType.RFFT, a, n, axis, _SWAPPED[norm]))


# --- several axes ---


def fft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Value:
    """Return the Fourier transform along two axes; see ``fftn``."""
    return _two_axes("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Value:
    """Return the inverse Fourier transform along two axes; see ``ifftn``."""
    return _two_axes("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Value:
    """Return the Fourier transform of real values along two axes; see ``rfftn``."""
    return _two_axes("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Value:
    """Return the real values whose ``rfft2`` is ``a``."""
    return _two_axes("irfft2", FftType.IRFFT, a, s, axes, norm)


def fftn(
    a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """Return the Fourier transform along several axes: ``T[*s] -> C[*s]``.

    Args:
        a: real or complex array.
        s: lengths of the transform along the axes; ``a`` is cut or padded with zeros.
        axes: the axes; None takes the last ``len(s)``, or all.
        norm: "backward" (None), "ortho" or "forward".

    Raises:
        ValueError: axes that repeat or do not exist, or whose number is not that of ``s``.

    Example:
        >>> fftn(np.ones((2, 2), np.float32))[0, 0]
        Array(4.+0.j, dtype=complex64)
    """
    return _transform("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(
    a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """Return the inverse Fourier transform along several axes; see ``fftn``."""
    return _transform("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(
    a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """Return the transform of real values along several axes; the last one keeps half."""
    return _transform("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(
    a: Any, s: Any = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """Return the real values whose ``rfftn`` is ``a``; ``s`` are their lengths."""
    return _transform("irfftn", FftType.IRFFT, a, s, axes, norm)


# --- frequencies ---


def _frequencies(name: str, make: Callable[[int], Value], n: Any, d: Any, dtype: Any) -> Value:
    if isinstance(n, list | tuple) or getattr(n, "size", 1) != 1:
        raise ValueError(f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {n}.")
    if isinstance(d, list | tuple) or getattr(d, "size", 1) != 1:
        raise ValueError(
            f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {d}."
        )
    kind = dtypes.default_dtype(float)
    if dtype is not None:
        kind = dtypes.requested_dtype(dtype, name)
    return ufuncs.divide(make(int(n)).astype(kind), ufuncs.multiply(asarray(d, kind), int(n)))


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Value:
    """Return the frequencies of ``fft``'s result for ``n`` values at distances ``d``.

    Example:
        >>> fftfreq(4)
        Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """

    def places(n: int) -> Value:
        half = (n - 1) // 2 + 1
        return roll(arange(half - n, half), half) if n > 0 else arange(0)

    return _frequencies("fftfreq", places, n, d, dtype)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Value:
    """Return the frequencies of ``rfft``'s result for ``n`` values at distances ``d``.

    Example:
        >>> rfftfreq(4)
        Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    return _frequencies("rfftfreq", lambda n: arange(n // 2 + 1), n, d, dtype)


def _shifted(name: str, x: Any, axes: Any, inverse: bool) -> Value:
    check_arraylike(name, x)
    value = as_operand(name, x)
    if axes is None:
        places = tuple(range(value.ndim))
    elif hasattr(axes, "__index__"):
        places = (canonical_axis(axes, value.ndim),)
    else:
        places = tuple(canonical_axis(a, value.ndim) for a in axes)
    lengths = [value.shape[a] for a in places]
    return roll(value, tuple(-(n // 2) if inverse else n // 2 for n in lengths), places)


def fftshift(x: Any, axes: Any = None) -> Value:
    """Return ``x`` with the zero frequency moved to the middle of each axis.

    Example:
        >>> fftshift(np.arange(4))
        Array([2, 3, 0, 1], dtype=int32)
    """
    return _shifted("fftshift", x, axes, False)


def ifftshift(x: Any, axes: Any = None) -> Value:
    """Undo ``fftshift``.

    Example:
        >>> ifftshift(np.arange(4))
        Array([2, 3, 0, 1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, True)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
