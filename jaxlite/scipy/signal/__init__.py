"""``jaxlite.scipy.signal``: filters (``filters``) and spectra (``spectra``)."""

from jaxlite.scipy.signal.filters import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    detrend,
    fftconvolve,
)
from jaxlite.scipy.signal.spectra import csd, istft, stft, welch

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
