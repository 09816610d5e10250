"""Convolutions, correlations and trends. In: arrays. Out: arrays of floats."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.promotion import check_arraylike, promote_all_inexact

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "detrend", "fftconvolve"]


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Sequence[int] | None = None) -> Value:
    """Return the convolution of two arrays, by Fourier transforms.

    Args:
        in1: ``T[*s]``.
        in2: array of the same rank.
        mode: "full", "same" (the middle, of the shape of ``in1``) or "valid" (no padding).
        axes: along which to convolve (None: all); the other ones have the same sizes.

    Raises:
        ValueError: ranks, sizes or a mode that do not fit.

    Example:
        >>> fftconvolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).round(4)
        Array([1., 3., 2.], dtype=float32)
    """
    check_arraylike("fftconvolve", in1, in2)
    x, y = promote_all_inexact("fftconvolve", in1, in2)
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode not in ("same", "full", "valid"):
        raise ValueError("mode must be one of ['same', 'full', 'valid']")
    places = range(x.ndim) if axes is None else [canonical_axis(a, x.ndim) for a in axes]
    along = sorted(set(places))
    if not x.size or not y.size or not along:
        full = tuple(
            max(0, n + m - 1) if k in along else n for k, (n, m) in enumerate(zip(x.shape, y.shape))
        )
        return x * y if x.ndim == 0 else jnp.zeros(full, x.dtype)
    for k in set(range(x.ndim)) - set(along):
        if x.shape[k] != y.shape[k]:
            raise ValueError(
                f"mapped axes must have same shape; got in1.shape={x.shape} in2.shape={y.shape} "
                f"axes={tuple(places)}"
            )
    if mode == "valid":
        x, y = _larger_first(x, y, along)
    return _fft_product(x, y, mode, along)


def _fft_product(x: Value, y: Value, mode: str, along: list[int]) -> Value:
    sizes = [x.shape[k] + y.shape[k] - 1 for k in along]
    is_complex = jnp.iscomplexobj(x)
    there, back = (jnp.fft.fftn, jnp.fft.ifftn) if is_complex else (jnp.fft.rfftn, jnp.fft.irfftn)
    full = back(there(x, sizes, along) * there(y, sizes, along), sizes, along)
    parts = [slice(None)] * x.ndim
    for k in along:
        n, m = x.shape[k], y.shape[k]
        start, length = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n)}.get(
            mode, (m - 1, n - m + 1)
        )
        parts[k] = slice(start, start + length)
    return full[tuple(parts)].astype(x.dtype)


def _larger_first(x: Value, y: Value, along: Sequence[int]) -> tuple[Value, Value]:
    if all(x.shape[k] >= y.shape[k] for k in along):
        return x, y
    if all(x.shape[k] <= y.shape[k] for k in along):
        return y, x
    raise ValueError(
        "For 'valid' mode, One input must be at least as large as the other in every dimension."
    )


def _around(mode: str, m: int, is_correlation: bool) -> tuple[int, int]:
    """Return how many zeros go before and after an axis that ``m`` weights slide along."""
    if mode == "valid":
        return 0, 0
    if mode == "full":
        return m - 1, m - 1
    before = (m - 1) // 2 if is_correlation else m // 2  # SciPy's choice of the middle
    return before, m - 1 - before


def _direct(x: Value, y: Value, mode: str, precision: Any, is_correlation: bool = False) -> Value:
    """Return the convolution by one sliding sum."""
    if mode not in ("full", "same", "valid"):
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions")
    if x.size == 0 or y.size == 0:
        raise ValueError(
            f"zero-size arrays not supported in convolutions, got shapes {x.shape} and {y.shape}."
        )
    x, y = promote_all_inexact("convolve", x, y)
    is_larger = all(n >= m for n, m in zip(x.shape, y.shape))
    if mode == "valid" and not is_larger:
        if not all(n <= m for n, m in zip(x.shape, y.shape)):
            raise ValueError("One input must be smaller than the other in every dimension.")
        x, y = y, x
    padding = [_around(mode, m, is_correlation) for m in y.shape]
    out = lax.conv_general_dilated(
        x[None, None],
        jnp.flip(y)[None, None],
        (1,) * x.ndim,
        padding,
        precision=precision,
    )
    return out[0, 0]


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Value:
    """Return the convolution of two arrays of one rank.

    Args:
        in1: ``T[*s]``.
        in2: array of the same rank.
        mode: "full", "same" (the middle, of the shape of ``in1``) or "valid" (no padding).
        method: "direct", "fft" or "auto" (direct).
        precision: as in ``lax.conv_general_dilated``.

    Raises:
        ValueError: ranks, sizes, a mode or a method that do not fit.

    Example:
        >>> convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0]))
        Array([1., 3., 2.], dtype=float32)
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode=mode)
    if method not in ("direct", "auto"):
        raise ValueError(f"Got {method=}; expected 'auto', 'fft', or 'direct'.")
    check_arraylike("convolve", in1, in2)
    return _direct(jnp.asarray(in1), jnp.asarray(in2), mode, precision)


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Value:
    """Return the correlation: the convolution with ``in2`` conjugated and backwards.

    Example:
        >>> correlate(jnp.array([1.0, 2.0]), jnp.array([0.0, 1.0]))
        Array([1., 2., 0.], dtype=float32)
    """
    check_arraylike("correlate", in1, in2)
    return convolve(in1, jnp.flip(jnp.asarray(in2).conj()), mode, method, precision)


def _check_planes(name: str, in1: Any, in2: Any, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")
    if jnp.ndim(in1) != 2 or jnp.ndim(in2) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Value:
    """Return the convolution of two matrices; ``boundary`` is "fill" and ``fillvalue`` 0.

    Raises:
        NotImplementedError: another ``boundary``.
        ValueError: other ranks.
    """
    _check_planes("convolve2d", in1, in2, boundary, fillvalue)
    return _direct(jnp.asarray(in1), jnp.asarray(in2), mode, precision)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Value:
    """Return the correlation of two matrices; ``boundary`` is "fill" and ``fillvalue`` 0.

    Raises:
        NotImplementedError: another ``boundary``.
        ValueError: other ranks.
    """
    _check_planes("correlate2d", in1, in2, boundary, fillvalue)
    return _direct(jnp.asarray(in1), jnp.flip(jnp.asarray(in2)).conj(), mode, precision, True)


def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: None = None
) -> Value:
    """Return ``data`` less its mean or its least-squares line along ``axis``.

    Args:
        data: ``T[*s]``.
        axis: along which.
        type: "linear" or "constant".
        bp: where new lines begin.
        overwrite_data: None.

    Raises:
        ValueError: an unknown ``type``, ``bp`` outside of the data.
        NotImplementedError: ``overwrite_data`` given.

    Example:
        >>> detrend(jnp.array([1.0, 3.0]), type="constant")
        Array([-1.,  1.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    (x,) = promote_all_inexact("detrend", data)
    if type == "constant":
        return x - x.mean(axis, keepdims=True)
    place = canonical_axis(axis, x.ndim)
    n = x.shape[place]
    breaks = np.unique(np.concatenate([[0], np.ravel(np.asarray(bp)), [n]])).astype(int)
    if breaks[0] < 0 or breaks[-1] > n:
        raise ValueError(
            "Breakpoints must be non-negative and less than length of data along given axis."
        )
    x = jnp.moveaxis(x, place, -1)
    pieces = [_less_line(x[..., a:b]) for a, b in itertools.pairwise(breaks)]
    return jnp.moveaxis(jnp.concatenate(pieces, axis=-1), -1, place)


def _less_line(x: Value) -> Value:
    """Return ``x`` less its projection on lines, given by two orthonormal vectors."""
    n = x.shape[-1]
    lines = np.stack([np.ones(n), np.arange(n) - (n - 1) / 2])[: max(1, min(n, 2))]
    lines /= np.linalg.norm(lines, axis=1, keepdims=True)
    basis = jnp.asarray(lines.astype(dtypes.finfo(x.dtype).dtype))
    return (x - (x @ basis.T) @ basis).astype(x.dtype)
