"""Change of dtype, by value or by bits. In: any array. Out: the same shape in another dtype.

Floats become integers by truncation toward zero, saturating, NaN to 0 (as XLA does); anything
becomes bool by ``x != 0``; complex to real drops the imaginary part.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import (
    ArrayModule,
    Dims,
    Primitive,
    TangentMaps,
    not_differentiable,
)
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import NOT_LINEAR, Elementwise, Pull, provide, quiet


class ConvertElementType(Elementwise):
    """The same values in ``new_dtype``. Linear between floats and complexes."""

    name = "convert_element_type"
    widens_half = False
    lowers_complex = True

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in params.items() if name != "sharding"}

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        operand, new_dtype = avals[0], params["new_dtype"]
        is_key = any(isinstance(d, dtypes.KeyDType) for d in (operand.dtype, new_dtype))
        if is_key and operand.dtype != new_dtype:
            raise TypeError(
                f"Cannot convert_element_type from {dtypes.name_of(operand.dtype)} "
                f"to {dtypes.name_of(new_dtype)}"
            )
        return ShapedArray(operand.shape, new_dtype, params["weak_type"])

    def impl(self, xp: ArrayModule, x: Any, *, new_dtype: Any, **params: Any) -> Any:
        return cast_array(xp, x, dtypes.storage_dtype(new_dtype))

    def jvp(self, out: Value, x: Value, **params: Any) -> TangentMaps:
        if dtypes.kind_of(params["new_dtype"]) not in "fc":
            return (None,)
        return (lambda t: self.bind(t, **params),)

    def transpose(self, ct: Value, x: Any, **params: Any) -> tuple[Any, ...]:
        aval = x.aval
        return (convert_element_type(ct, aval.dtype, aval.weak_type),)

    def lower(self, x: ir.Expr, *, new_dtype: Any, **params: Any) -> ir.Expr:
        if x.dtype.kind == "c" and dtypes.kind_of(new_dtype) != "c":
            x = ir.unary("real", x)
        return ir.cast(x, dtypes.storage_dtype(new_dtype))


def cast_array(xp: ArrayModule, x: Any, dtype: np.dtype[Any]) -> Any:
    """Return ``x`` in ``dtype`` with XLA's rules."""
    source, target = dtypes.kind_of(x.dtype), dtypes.kind_of(dtype)
    if source == "c" and target != "c":
        x, source = x.real, "f"
    if source == "f" and target in "iu":
        return _float_to_integer(xp, x, dtype)
    if target in "fc":
        return _to_inexact(x, dtype)
    if target == "b":
        return x != 0
    return x.astype(dtype)


@quiet
def _to_inexact(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype)


@quiet
def _float_to_integer(xp: ArrayModule, x: Any, dtype: np.dtype[Any]) -> Any:
    info = dtypes.iinfo(dtype)
    if dtypes.bit_width(x.dtype) < 32:
        x = x.astype(np.float32)
    # The largest float below 2**bits: float(max) itself may round up to 2**bits.
    above = x.dtype.type(math.ldexp(1.0, info.bits - (info.kind == "i")))
    low = x.dtype.type(info.min)
    inside = xp.where((x >= low) & (x < above), x, x.dtype.type(0))
    out = inside.astype(dtype)
    out = xp.where(x >= above, dtype.type(info.max), out)
    return xp.where(x < low, dtype.type(info.min), out)


class BitcastConvertType(Primitive):
    """The same bits read as ``new_dtype``; a last axis comes or goes if the widths differ."""

    name = "bitcast_convert_type"
    jvp = not_differentiable("bit patterns have no slope")
    transpose = NOT_LINEAR

    def abstract_eval(self, operand: ShapedArray, *, new_dtype: Any) -> ShapedArray:
        old = operand.dtype
        if old != new_dtype and any(dtypes.kind_of(d) in "bck" for d in (old, new_dtype)):
            raise TypeError(
                "lax.bitcast_convert_type does not support bool or complex values unless the "
                f"operand and destination types match. Got operand dtype={dtypes.name_of(old)}, "
                f"new_dtype={new_dtype!r}. Consider using the arr.view() method instead."
            )
        shape = operand.shape
        if old != new_dtype:
            shape = _bitcast_shape(operand, new_dtype)
        return ShapedArray(shape, new_dtype)

    def impl(self, xp: ArrayModule, x: Any, *, new_dtype: Any) -> Any:
        dtype = dtypes.storage_dtype(new_dtype)
        old_bits, new_bits = dtypes.bit_width(x.dtype), dtypes.bit_width(dtype)
        if old_bits != new_bits and min(old_bits, new_bits) < 8:
            return _regroup(xp, x, old_bits, new_bits, dtype)
        x = xp.ascontiguousarray(x).reshape(x.shape)
        ratio = x.dtype.itemsize / dtype.itemsize
        if ratio > 1:
            return x[..., None].view(dtype)
        if ratio < 1:
            return x.view(dtype)[..., 0]
        return x.view(dtype)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (x,), (dim,) = args, dims
        assert dim is not None
        new, old = params["new_dtype"], get_aval(x).dtype
        if dtypes.bit_width(old) < dtypes.bit_width(new) and dim == get_aval(x).ndim - 1:
            raise AssertionError("the axis of bytes is the last one, a batch dim is before it")
        return self.bind(x, **params), dim

    def can_lower(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> bool:
        """Say whether the widths agree, so that elements correspond."""
        return dtypes.bit_width(avals[0].dtype) == dtypes.bit_width(params["new_dtype"])

    def pull(
        self, operands: tuple[Pull, ...], index: tuple[ir.Expr, ...], *, new_dtype: Any
    ) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        return ir.bitcast(operands[0](index), dtypes.storage_dtype(new_dtype))


def _regroup(xp: ArrayModule, x: Any, old_bits: int, new_bits: int, dtype: Any) -> Any:
    """Bitcast from or to elements of less than a byte, each of which is kept in a byte."""
    if old_bits > new_bits:
        whole = xp.ascontiguousarray(x).reshape(x.shape).view(f"u{x.dtype.itemsize}")[..., None]
        shifts = xp.arange(0, old_bits, new_bits).astype(whole.dtype)
        parts = ((whole >> shifts) & whole.dtype.type(2**new_bits - 1)).astype(np.uint8)
        if dtypes.kind_of(dtype) == "i":  # the top bit is the sign
            half = np.uint8(2 ** (new_bits - 1))
            parts = ((parts ^ half) - half).astype(np.int8)
        return parts.astype(dtype)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    parts = x.astype(np.int8).astype(unsigned) & unsigned.type(2**old_bits - 1)
    shifts = xp.arange(0, new_bits, old_bits).astype(unsigned)
    out = xp.sum(parts << shifts, axis=-1, dtype=unsigned)
    return out.view(dtype) if out.ndim else xp.asarray(out).view(dtype)


def _bitcast_shape(operand: ShapedArray, new_dtype: Any) -> tuple[int, ...]:
    old_bits, new_bits = dtypes.bit_width(operand.dtype), dtypes.bit_width(new_dtype)
    if old_bits > new_bits:
        return (*operand.shape, old_bits // new_bits)
    if old_bits < new_bits:
        last = operand.shape[-1] if operand.shape else 1
        if not operand.shape or last * old_bits != new_bits:
            raise ValueError(
                f"Attempting to convert array of shape {operand.shape} from "
                f"{dtypes.name_of(operand.dtype)} of size {old_bits} bits to "
                f"{dtypes.name_of(new_dtype)} of size {new_bits}, bits but "
                f"{last} * {old_bits} != {new_bits}"
            )
        return operand.shape[:-1]
    return operand.shape


convert_element_type_p, bitcast_convert_type_p = ConvertElementType(), BitcastConvertType()


def convert_element_type(x: Value, new_dtype: Any, weak_type: bool = False) -> Value:
    """Return ``x`` in ``new_dtype``: ``T[*s] -> U[*s]``; unchanged if it has that type already."""
    aval = get_aval(x)
    dtype = dtypes.as_dtype(new_dtype)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def bitcast_convert_type(x: Value, new_dtype: Any) -> Value:
    """Return the bits of ``x`` as ``new_dtype``: ``f32[*s] -> i32[*s]`` or ``u8[*s, 4]``."""
    return bitcast_convert_type_p.bind(x, new_dtype=dtypes.as_dtype(new_dtype))


provide(convert_element_type=convert_element_type)

__all__ = [
    "bitcast_convert_type", "bitcast_convert_type_p", "cast_array", "convert_element_type",
    "convert_element_type_p",
]  # fmt: skip
