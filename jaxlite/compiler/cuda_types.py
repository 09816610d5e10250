"""CUDA C, words: types and literals. In: dtypes and constants. Out: text.

Next: ``cuda_helpers.py``.

float16 and bfloat16 are two bytes in memory and ``float`` in registers, rounded after every
operation; a bool is one byte. No header of the toolkit is needed, so infinities and NaNs are
written by their bits.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from jaxlite.kernel_ir.nodes import DType, Expr, const_value

_REGISTER: Final = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
    "complex64": "c64",
    "complex128": "c128",
}
_UNSIGNED: Final = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int"}


def is_half(dtype: DType) -> bool:
    """Say whether values of ``dtype`` are rounded copies in a float register."""
    return dtype.name in ("float16", "bfloat16")


def is_float(dtype: DType) -> bool:
    """Say whether ``dtype`` is a real floating-point type."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def register_type(dtype: DType) -> str:
    """Return the C type of a value in a register."""
    return _REGISTER[dtype.name]


def memory_type(dtype: DType) -> str:
    """Return the C type of an element in memory."""
    return "unsigned short" if is_half(dtype) else _REGISTER[dtype.name]


def unsigned_type(dtype: DType) -> str:
    """Return the unsigned C type of the width of an integer dtype."""
    return _UNSIGNED.get(dtype.itemsize, "unsigned long long")


def part_dtype(dtype: DType) -> DType:
    """Return the dtype of the parts of a complex dtype."""
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


def literal(e: Expr) -> str:
    """Return a ``const`` expression as a C expression of its register type."""
    return _literal(const_value(e), e.dtype)


def _literal(value: Any, dtype: DType) -> str:
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind == "c":
        part = part_dtype(dtype)
        return (
            f"{_REGISTER[dtype.name]}{{{_literal(value.real, part)}, {_literal(value.imag, part)}}}"
        )
    if is_float(dtype):
        return _float_literal(value, dtype)
    return _int_literal(int(value), dtype)


def _float_literal(value: Any, dtype: DType) -> str:
    wide = dtype.itemsize == 8
    number = float(value)
    if not np.isfinite(number):
        if wide:
            return f"from_bits<double>(0x{np.float64(value).view(np.uint64):016x}ull)"
        return f"from_bits<float>(0x{np.float32(value).view(np.uint32):08x}u)"
    text = repr(number) if wide else str(np.float32(number))
    if "e" not in text and "." not in text:
        text += ".0"
    # A minus sign in front of a literal is an operator: keep it together.
    text = text if wide else text + "f"
    return f"({text})" if text.startswith("-") else text


def _int_literal(value: int, dtype: DType) -> str:
    if dtype.itemsize < 4:
        return str(value) if value >= 0 else f"({value})"
    suffix = {"int32": "", "uint32": "u", "int64": "ll", "uint64": "ull"}[dtype.name]
    lowest = -(2 ** (8 * dtype.itemsize - 1))
    if dtype.kind == "i" and value == lowest:  # the positive number does not fit
        return f"({value + 1}{suffix} - 1)"
    return f"{value}{suffix}" if value >= 0 else f"({value}{suffix})"
