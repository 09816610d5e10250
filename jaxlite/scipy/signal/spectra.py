"""Spectra of overlapping pieces of signals. In: signals. Out: frequencies, times, spectra."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.signal import get_window

from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.promotion import check_arraylike, promote_all_inexact
from jaxlite.scipy.signal.filters import detrend as _detrend

__all__ = ["csd", "istft", "stft", "welch"]

_BOUNDARIES: dict[Any, dict[str, Any]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
    None: {},
}


def _window(window: Any, nperseg: int | None, n: int | None, default: int) -> tuple[Value, int]:
    """Return the weights of a piece, and its length; ``n`` is the signal's length, if it limits."""
    if isinstance(window, str | tuple):
        size = default if nperseg is None else int(nperseg)
        if size < 1:
            raise ValueError("nperseg must be a positive integer")
        if n is not None and size > n:
            if nperseg is not None:
                warnings.warn(
                    f"nperseg={size} is greater than signal_length={n}, using nperseg={n}",
                    stacklevel=4,
                )
            size = n
        return jnp.asarray(get_window(window, size)), size
    weights = jnp.asarray(window)
    if weights.ndim != 1:
        raise ValueError("window must be 1-D")
    if n is not None and n < weights.shape[0]:
        raise ValueError("window is longer than input signal")
    if nperseg is not None and nperseg != weights.shape[0]:
        raise ValueError("value specified for nperseg is different from length of window")
    return weights, int(weights.shape[0])


def _overlap(nperseg: int, noverlap: int | None) -> int:
    size = nperseg // 2 if noverlap is None else int(noverlap)
    if size >= nperseg:
        raise ValueError("noverlap must be less than nperseg.")
    return size


def _pieces(x: Value, nperseg: int, step: int) -> Value:
    """Return ``T[..., n_pieces, nperseg]`` of ``T[..., n]``."""
    n_pieces = max(0, (x.shape[-1] - nperseg) // step + 1)
    places = np.arange(n_pieces)[:, None] * step + np.arange(nperseg)[None, :]
    return x[..., places.astype(np.int32)]


def _without_trend(pieces: Value, detrend: Any) -> Value:
    if detrend is False or detrend is None:
        return pieces
    if callable(detrend):
        return jnp.asarray(detrend(pieces))
    return _detrend(pieces, axis=-1, type=detrend)


def _scale(scaling: str, window: Value, fs: Any) -> Value:
    if scaling == "density":
        return 1.0 / (fs * (window * window).sum())
    if scaling == "spectrum":
        return 1.0 / window.sum() ** 2
    raise ValueError(f"Unknown scaling: {scaling}")


def _spectra(
    x: Any,
    y: Any,
    axis: int,
    fs: Any,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    is_power: bool,
    boundary: str | None,
    padded: bool,
) -> tuple[Value, Value, Value]:
    """Return frequencies, times and ``C[..., n_frequencies, n_pieces]``."""
    place = canonical_axis(axis, jnp.ndim(x))
    signals = _operands(x, y, place, boundary)
    kind = dtypes.to_complex_dtype(signals[0].dtype)
    real = dtypes.finfo(kind).dtype
    if any(v.size == 0 for v in signals):
        empty = jnp.zeros(signals[0].shape, real)
        return empty, empty, empty
    length = max(v.shape[-1] for v in signals)
    signals = [_extended(v, 0, length - v.shape[-1], "zeros") for v in signals]
    weights, size = _window(window, nperseg, length, 256)
    points = size if nfft is None else int(nfft)
    if points < size:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    step = size - _overlap(size, noverlap)
    if boundary is not None:
        signals = [_extended(v, size // 2, size // 2, boundary) for v in signals]
        length += 2 * (size // 2)
    if padded:
        extra = (-(length - size) % step) % size
        signals = [_extended(v, 0, extra, "zeros") for v in signals]
        length += extra
    weights = weights.astype(real)
    scale = _scale(scaling, weights, fs)
    is_onesided = return_onesided and not any(jnp.iscomplexobj(v) for v in signals)
    transform = jnp.fft.rfft if is_onesided else jnp.fft.fft
    parts = [
        transform(_without_trend(_pieces(v, size, step), detrend) * weights, points)
        for v in signals
    ]
    if is_power:
        out = jnp.conj(parts[0]) * parts[-1] * scale
        if is_onesided:
            out = out * jnp.asarray(_both_halves(points).astype(real))
    else:
        out = parts[0] * jnp.sqrt(scale)
    times = jnp.arange(size / 2, length - size / 2 + 1, step) / fs
    if boundary is not None:
        times = times - (size / 2) / fs
    frequencies = (jnp.fft.rfftfreq if is_onesided else jnp.fft.fftfreq)(points, 1 / fs)
    out = jnp.moveaxis(out.astype(kind), -1, place)
    return frequencies.astype(real), times.astype(real), out


def _operands(x: Any, y: Any, place: int, boundary: str | None) -> list[Value]:
    """Return the different ones of two signals, floats, with the time at the end."""
    if boundary not in _BOUNDARIES:
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: {list(_BOUNDARIES)}"
        )
    given = [x] if y is None or y is x else [x, y]
    check_arraylike("spectral", *given)
    return [jnp.moveaxis(v, place, -1) for v in promote_all_inexact("spectral", *given)]


def _both_halves(points: int) -> np.ndarray[Any, Any]:
    """Return 2 where a negative frequency has no place of its own in a one-sided spectrum."""
    factors = np.full(points // 2 + 1, 2.0)
    factors[0] = 1
    if points % 2 == 0:
        factors[-1] = 1
    return factors


def _extended(x: Value, before: int, after: int, boundary: str) -> Value:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], **_BOUNDARIES[boundary])


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Value, Value, Value]:
    """Return the Fourier transforms of overlapping pieces of ``x``.

    Args:
        x: ``T[*s]``, the time along ``axis``.
        fs: samples per unit of time.
        window: name of a window of SciPy's, or its values.
        nperseg: samples per piece.
        noverlap: samples that neighbours share (half).
        nfft: length of the transforms.
        detrend: False, "constant", "linear", or a function of pieces.
        return_onesided: leave out negative frequencies of real signals.
        boundary: what goes on at the ends: "zeros", "even", "odd", "constant", None.
        padded: add zeros so that pieces take in the whole signal.
        axis: the axis of time.

    Returns:
        Frequencies, times of pieces, transforms (pieces on the last axis).

    Raises:
        ValueError: lengths or names that do not fit.
    """
    return _spectra(
        x, None, axis, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        "spectrum", False, boundary, padded,
    )  # fmt: skip


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Value, Value]:
    """Return frequencies and the cross power spectral density of ``x`` and ``y`` (None: ``x``).

    The pieces' products are averaged (Welch 1967); other arguments are those of ``stft``.

    Raises:
        ValueError: lengths or names that do not fit.
    """
    frequencies, _, products = _spectra(
        x, y, axis, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        scaling, True, None, False,
    )  # fmt: skip
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average}')
    if y is None or y is x:
        products = products.real
    place = canonical_axis(axis, jnp.ndim(x))
    if products.ndim > jnp.ndim(x):
        products = _average(products, average)
    elif products.size == 0:
        return frequencies, jnp.moveaxis(products, -1, place)
    return frequencies, products


def _average(products: Value, average: str) -> Value:
    if products.shape[-1] < 2:
        return products[..., 0]
    if average == "mean":
        return products.mean(-1)
    # the median of n values of chi-square is this much less than their mean (Allen et al. 2012)
    even = 2.0 * np.arange(1, (products.shape[-1] - 1) // 2 + 1)
    bias = 1 + float(np.sum(1 / (even + 1) - 1 / even))
    if jnp.iscomplexobj(products):
        middle = jnp.median(products.real, -1) + 1j * jnp.median(products.imag, -1)
    else:
        middle = jnp.median(products, -1)
    return (middle / bias).astype(products.dtype)


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Value, Value]:
    """Return frequencies and the power spectral density of ``x`` (``csd`` of it and itself)."""
    frequencies, density = csd(
        x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average,
    )  # fmt: skip
    return frequencies, density.real


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Value, Value]:
    """Return times and the signal whose ``stft`` is ``Zxx`` (in the sense of least squares).

    Raises:
        ValueError: lengths or axes that do not fit.
    """
    check_arraylike("istft", Zxx)
    z: Any = jnp.asarray(Zxx)
    z = z.astype(dtypes.to_complex_dtype(dtypes.to_inexact_dtype(z.dtype)))
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    t_place, f_place = canonical_axis(time_axis, z.ndim), canonical_axis(freq_axis, z.ndim)
    if t_place == f_place:
        raise ValueError("Must specify differing time and frequency axes!")
    z = jnp.moveaxis(z, (f_place, t_place), (-1, -2))
    default = 2 * (z.shape[-1] - 1) if input_onesided else z.shape[-1]
    weights, size = _window(window, nperseg, None, default)
    points = default if nfft is None else int(nfft)
    if nfft is None and input_onesided and size == default + 1:
        points = size
    if points < size:
        raise ValueError(f"FFT length ({points}) must be longer than nperseg ({size}).")
    step = size - _overlap(size, noverlap)
    real = dtypes.finfo(z.dtype).dtype
    pieces: Array = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, points)[..., :size]
    weights = weights.astype(real)
    signal = _added(pieces * (weights * weights.sum()), step)
    weight = _added(jnp.broadcast_to(weights * weights, (z.shape[-2], size)), step)
    if boundary:
        end = signal.shape[-1] - size // 2
        signal, weight = signal[..., size // 2 : end], weight[..., size // 2 : end]
    signal = signal / jnp.where(weight > 1e-10, weight, 1.0)
    if signal.ndim > 1:
        # the time goes where it was once the frequencies' axis is gone
        signal = jnp.moveaxis(signal, -1, t_place - (f_place < t_place))
    times = jnp.arange(signal.shape[0], dtype=real) / fs  # of the first axis, as JAX
    return times.astype(real), signal


def _added(pieces: Value, step: int) -> Value:
    """Return the sum of pieces that begin every ``step`` samples: ``T[..., k, n]`` to a signal."""
    n_pieces, size = pieces.shape[-2:]
    places = np.arange(n_pieces)[:, None] * step + np.arange(size)[None, :]
    zeros = jnp.zeros((*pieces.shape[:-2], size + (n_pieces - 1) * step), pieces.dtype)
    return zeros.at[..., places.astype(np.int32)].add(pieces)
