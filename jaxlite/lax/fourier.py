"""``lax.fft``. In: arrays. Out: Fourier transforms over their last axes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax.operands import as_array
from jaxlite.primitives import convert
from jaxlite.primitives import fft as transforms
from jaxlite.primitives.fft import FftType

__all__ = ["FftType", "fft"]


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Value:
    """Return a discrete Fourier transform over the last ``len(fft_lengths)`` axes.

    Args:
        x: ``T[*s]``; where complex numbers are needed, real ones become complex.
        fft_type: an ``FftType`` or its name: "fft", "ifft", "rfft", "irfft".
        fft_lengths: lengths of those axes (of the result's for "irfft").

    Raises:
        TypeError: ``fft_type`` is something else.
        ValueError: an unknown name, or lengths that do not fit.

    Example:
        >>> import numpy as np
        >>> fft(np.float32([1, 0, 0, 0]), "rfft", (4,))
        Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    lengths = tuple([operator.index(n) for n in fft_lengths])
    kind = _kind(fft_type)
    value = as_array(x, "fft")
    is_complex = dtypes.kind_of(value.dtype) == "c"
    if kind == FftType.RFFT:
        if is_complex:
            raise ValueError("only real valued inputs supported for rfft")
        if dtypes.kind_of(value.dtype) in "biu":
            value = convert.convert_element_type(value, dtypes.to_inexact_dtype(value.dtype))
    elif not is_complex:
        inexact = dtypes.to_inexact_dtype(value.dtype)
        value = convert.convert_element_type(value, dtypes.to_complex_dtype(inexact))
    return transforms.fft(value, kind, lengths)


def _kind(fft_type: Any) -> FftType:
    if isinstance(fft_type, FftType):
        return fft_type
    if isinstance(fft_type, str):
        if fft_type.upper() in FftType.__members__:
            return FftType[fft_type.upper()]
        raise ValueError(f"Unknown FFT type '{fft_type}'")
    raise TypeError(f"Unknown FFT type value '{fft_type}'")
