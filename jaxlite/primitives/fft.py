"""Discrete Fourier transforms over the last axes. In: complex or real arrays. Out: their spectra.

All four kinds are linear; FFT and IFFT are their own transposes.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps
from jaxlite.language.trace import get_aval
from jaxlite.primitives.arithmetic import mul
from jaxlite.primitives.complex import complex_, conj, real
from jaxlite.primitives.families import full_like, move_batch_dim, ops, quiet
from jaxlite.primitives.shape import broadcast_in_dim


class FftType(enum.IntEnum):
    """Kinds of transform: complex, inverse complex, of reals, inverse to reals."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


class Fft(Primitive):
    """A Fourier transform over the last ``len(fft_lengths)`` axes.

    RFFT keeps the ``n // 2 + 1`` nonnegative frequencies of the last axis, IRFFT starts from them.
    Inverses divide by the number of elements.
    """

    name = "fft"
    barrier_reason = "extern"

    def abstract_eval(
        self, x: ShapedArray, *, fft_lengths: tuple[int, ...], fft_type: FftType
    ) -> ShapedArray:
        n = len(fft_lengths)
        if n > x.ndim:
            raise ValueError(
                f"FFT input shape {x.shape} must have at least as many input dimensions as "
                f"fft_lengths {fft_lengths}."
            )
        kept, moved = x.shape[: x.ndim - n], x.shape[x.ndim - n :]
        if fft_type == FftType.RFFT:
            if x.dtype.name not in ("float32", "float64"):
                raise ValueError(
                    f"RFFT input must be float32 or float64, got {dtypes.name_of(x.dtype)}"
                )
            if moved != fft_lengths:
                raise ValueError(
                    f"RFFT input shape {x.shape} minor dimensions must be equal to "
                    f"fft_lengths {fft_lengths}"
                )
            shape = (*moved[:-1], moved[-1] // 2 + 1) if moved and moved[-1] else moved
            return ShapedArray((*kept, *shape), dtypes.to_complex_dtype(x.dtype))
        if fft_type == FftType.IRFFT:
            if dtypes.kind_of(x.dtype) != "c":
                raise TypeError(
                    f"IRFFT input must be complex64 or complex128, got {dtypes.name_of(x.dtype)}"
                )
            half = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
            if moved[:-1] != fft_lengths[:-1] or (moved != half and 0 not in x.shape):
                raise ValueError(
                    f"IRFFT input shape {x.shape} minor dimensions must be equal to all except "
                    f"the last fft_length, fft_lengths={fft_lengths}, "
                    f"and the last one to {half[-1]}"
                )
            return ShapedArray((*kept, *fft_lengths), dtypes.to_real_dtype(x.dtype))
        if dtypes.kind_of(x.dtype) != "c":
            raise TypeError(
                f"{fft_type.name} input must be complex64 or complex128, "
                f"got {dtypes.name_of(x.dtype)}"
            )
        if moved != fft_lengths:
            raise ValueError(
                f"FFT input shape {x.shape} minor dimensions must be equal to "
                f"fft_lengths {fft_lengths}"
            )
        return ShapedArray(x.shape, x.dtype)

    @quiet
    def impl(
        self, xp: ArrayModule, x: Any, *, fft_lengths: tuple[int, ...], fft_type: FftType
    ) -> Any:
        aval = self.abstract_eval(
            ShapedArray(x.shape, x.dtype), fft_lengths=fft_lengths, fft_type=fft_type
        )
        if not fft_lengths:
            return x
        if x.size == 0 or math.prod(aval.shape) == 0:
            return xp.zeros(aval.shape, aval.dtype)
        axes = tuple(range(-len(fft_lengths), 0))
        functions = (xp.fft.fftn, xp.fft.ifftn, xp.fft.rfftn, xp.fft.irfftn)
        out = functions[fft_type](x, fft_lengths, axes)
        return out.astype(aval.dtype, copy=False)

    def jvp(self, out: Value, x: Value, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, **params),)

    def transpose(
        self, ct: Value, x: Any, *, fft_lengths: tuple[int, ...], fft_type: FftType
    ) -> Any:
        if fft_type == FftType.RFFT:
            # y[k] = sum_j x[j] w^(jk) over half of the k:  ct[j] = Re sum_k ct[k] w^(jk).
            aval = get_aval(ct)
            missing = fft_lengths[-1] - aval.shape[-1]
            config = (*[(0, 0, 0)] * (aval.ndim - 1), (0, missing, 0))
            whole = ops.pad(ct, aval.dtype.type(0), config)
            return (real(fft(whole, FftType.FFT, fft_lengths)),)
        if fft_type == FftType.IRFFT:
            # The frequencies between the first and the middle one stand for two.
            spectrum = conj(fft(ct, FftType.RFFT, fft_lengths))
            aval = get_aval(spectrum)
            n, half = fft_lengths[-1], aval.shape[-1]
            scale = np.full(half, 2 / math.prod(fft_lengths), dtypes.to_real_dtype(aval.dtype))
            scale[0] /= 2
            if n % 2 == 0:
                scale[-1] /= 2
            rows = broadcast_in_dim(scale, aval.shape, (aval.ndim - 1,))
            return (mul(spectrum, complex_(rows, full_like(rows, 0))),)
        return (fft(ct, fft_type, fft_lengths),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return self.bind(move_batch_dim(args[0], dims[0] or 0, 0), **params), 0


fft_p = Fft()


def fft(x: Value, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Value:
    """Return the transform over the last axes, whose lengths are ``fft_lengths``.

    Raises:
        TypeError: an operand that is not complex where it must be.
        ValueError: lengths that are not those of the axes.
    """
    return fft_p.bind(x, fft_lengths=tuple(fft_lengths), fft_type=fft_type)


__all__ = ["FftType", "fft", "fft_p"]
