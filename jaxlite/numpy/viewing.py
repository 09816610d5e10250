"""Bits of arrays read otherwise. In: arrays. Out: the same bits as another dtype, or packed."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value, from_numpy
from jaxlite.lax import elementwise, shapes, slicing
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.choosing import truth
from jaxlite.numpy.promotion import as_operand, check_arraylike, retype
from jaxlite.numpy.reductions import sum as array_sum

_UINT8 = np.dtype(np.uint8)
_BOOL = np.dtype(np.bool_)


def view(self: Value, dtype: Any = None, type: None = None) -> Value:
    """Return the bits of an array read as ``dtype``; sizes that differ change the last axis.

    Raises:
        ValueError: the last axis cannot be divided so.
    """
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    kind = dtypes.default_dtype(float) if dtype is None else dtypes.requested_dtype(dtype, "view")
    if kind == self.dtype:
        return self
    if "c" in (dtypes.kind_of(self.dtype), dtypes.kind_of(kind)):
        return _view_complex(self, kind)
    old, new = dtypes.itemsize_bits(self.dtype), dtypes.itemsize_bits(kind)
    x = self
    if self.dtype == _BOOL:
        x = retype(x, _UINT8)
    wanted = _UINT8 if kind == _BOOL else kind
    if old != new:
        if x.ndim == 0:
            raise ValueError("view of a 0d array is only supported if the itemsize is unchanged.")
        if old < new:
            ratio = new // old
            if x.shape[-1] % ratio:
                raise ValueError(
                    "When changing to a larger dtype, its size must be a divisor of the total size "
                    "in bytes "
                    "of the last axis of the array."
                )
            x = shapes.reshape(x, (*x.shape[:-1], x.shape[-1] // ratio, ratio))
    out = shapes.bitcast_convert_type(x, wanted)
    if old > new:
        out = shapes.reshape(out, (*out.shape[:-2], out.shape[-2] * out.shape[-1]))
    return truth(out) if kind == _BOOL else out


def _view_complex(x: Value, kind: Any) -> Value:
    """View through the real and imaginary parts, which lie one after the other."""
    if dtypes.kind_of(x.dtype) == "c":
        parts = shapes.stack([elementwise.real(x), elementwise.imag(x)], x.ndim)
        if x.ndim:
            parts = shapes.reshape(parts, (*x.shape[:-1], x.shape[-1] * 2))
        elif dtypes.itemsize_bits(kind) != dtypes.itemsize_bits(x.dtype):
            raise ValueError("view of a 0d array is only supported if the itemsize is unchanged.")
        return view(parts, kind)
    real = view(x, dtypes.to_real_dtype(kind))
    if not x.ndim or real.shape[-1] % 2:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in "
            "bytes of the last axis of the array."
        )
    pairs = shapes.reshape(real, (*real.shape[:-1], real.shape[-1] // 2, 2))
    re, im = (shapes.squeeze(p, (p.ndim - 1,)) for p in (pairs[..., :1], pairs[..., 1:]))
    return elementwise.complex(re, im)


def swap_bytes(x: Value) -> Value:
    """Return ``x`` with the bytes of each element in reverse order."""
    if dtypes.kind_of(x.dtype) == "c":
        return elementwise.complex(swap_bytes(elementwise.real(x)), swap_bytes(elementwise.imag(x)))
    if dtypes.itemsize_bits(x.dtype) <= 8:
        return x
    octets = shapes.bitcast_convert_type(x, _UINT8)
    return shapes.bitcast_convert_type(shapes.rev(octets, (octets.ndim - 1,)), x.dtype)


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Value:
    """Return bits (elements that are not 0) packed by eight into uint8 along ``axis``.

    Example:
        >>> packbits(np.array([1, 0, 1]))
        Array([160], dtype=uint8)
    """
    check_arraylike("packbits", a)
    x = as_operand("packbits", a)
    if dtypes.kind_of(x.dtype) not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    _check_order(bitorder)
    if axis is None:
        x, place = shapes.reshape(x, (x.size,)), 0
    else:
        place = canonical_axis(axis, x.ndim)
    bits = retype(truth(x), _UINT8)
    rest = -x.shape[place] % 8
    zero = _UINT8.type(0)
    bits = shapes.pad(bits, zero, [(0, rest if k == place else 0, 0) for k in range(x.ndim)])
    shape = (*bits.shape[:place], bits.shape[place] // 8, 8, *bits.shape[place + 1 :])
    bits = shapes.reshape(bits, shape)
    weights = _weights(bitorder, len(shape), place + 1)
    shifted = elementwise.mul(
        bits, shapes.broadcast_in_dim(weights, shape, tuple(range(len(shape))))
    )
    return array_sum(shifted, place + 1, _UINT8)


def _check_order(bitorder: str) -> None:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")


def _weights(bitorder: str, rank: int, axis: int) -> Value:
    values = 1 << np.arange(8)
    values = values[::-1] if bitorder == "big" else values
    return from_numpy(values.astype(np.uint8).reshape([8 if k == axis else 1 for k in range(rank)]))


def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Value:
    """Return the bits of uint8 numbers along ``axis``, the first ``count`` of them."""
    check_arraylike("unpackbits", a)
    x = as_operand("unpackbits", a)
    if x.dtype != _UINT8:
        raise TypeError("Expected an input array of unsigned byte data type")
    _check_order(bitorder)
    if axis is None:
        x, place = shapes.reshape(x, (x.size,)), 0
    else:
        place = canonical_axis(axis, x.ndim)
    shape = (*x.shape[: place + 1], 8, *x.shape[place + 1 :])
    wide = shapes.broadcast_in_dim(x, shape, tuple(k for k in range(len(shape)) if k != place + 1))
    masks = shapes.broadcast_in_dim(
        _weights(bitorder, len(shape), place + 1), shape, tuple(range(len(shape)))
    )
    bits = retype(truth(elementwise.bitwise_and(wide, masks)), _UINT8)
    out = shapes.reshape(bits, (*x.shape[:place], x.shape[place] * 8, *x.shape[place + 1 :]))
    return out if count is None else slicing.slice_in_dim(out, 0, operator.index(count), 1, place)


# --- for other libraries ---


def dlpack(
    x: Any,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: Any = None,
) -> Any:
    """Return a DLPack capsule of the data: the method ``__dlpack__``."""
    given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    return x._data.__dlpack__(**{k: v for k, v in given.items() if v is not None})


def dlpack_device(x: Any) -> Any:
    """Return kind and number of the device, as DLPack counts them."""
    return x._data.__dlpack_device__()


__all__ = ["packbits", "unpackbits", "view"]
