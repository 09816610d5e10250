"""Complex numbers from and to their parts. In: complexes or pairs of floats. Out: the other.

All are linear over the reals. Cotangents pair with tangents as ``Re(ct * t)`` (JAX's convention:
the transpose never conjugates), hence ``imag`` pulls ``ct`` back to ``-i ct``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.primitive import ArrayModule, TangentMap, TangentMaps, is_linear
from jaxlite.language.trace import get_aval
from jaxlite.primitives.arithmetic import neg
from jaxlite.primitives.families import Elementwise, NaryElementwise, provide, zeros_of

_PARTS = {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}
_WHOLE = {"float32": np.dtype("complex64"), "float64": np.dtype("complex128")}
_COMPLEX = ("complexfloating",)
_REAL_PART = ("float32", "float64")


class Real(Elementwise):
    """The real part."""

    name = "real"
    accepts = (_COMPLEX,)
    lowers_complex = True

    def result_dtype(self, dtype: Any, **params: Any) -> Any:
        return _PARTS[dtype.name]

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.real(x).copy()

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        return (real,)

    def transpose(self, ct: Value, x: Any) -> tuple[Any, ...]:
        return (complex_(ct, zeros_of(get_aval(ct))),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("real", x)


class Imag(Elementwise):
    """The imaginary part."""

    name = "imag"
    accepts = (_COMPLEX,)
    lowers_complex = True

    def result_dtype(self, dtype: Any, **params: Any) -> Any:
        return _PARTS[dtype.name]

    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return xp.imag(x).copy()

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        return (imag,)

    def transpose(self, ct: Value, x: Any) -> tuple[Any, ...]:
        # Im(z) ct = Re(-i ct z)
        return (complex_(zeros_of(get_aval(ct)), neg(ct)),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("imag", x)


class Conj(Elementwise):
    """The complex conjugate; a float operand (``input_dtype``) becomes complex."""

    name = "conj"
    accepts = (("float32", "complexfloating", "float64"),)
    lowers_complex = True

    def result_dtype(self, dtype: Any, **params: Any) -> Any:
        return _WHOLE.get(dtype.name, dtype)

    def impl(self, xp: ArrayModule, x: Any, *, input_dtype: Any) -> Any:
        return xp.conjugate(x).astype(self.result_dtype(x.dtype))

    def jvp(self, out: Value, x: Value, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, **params),)

    def transpose(self, ct: Value, x: Any, *, input_dtype: Any) -> tuple[Any, ...]:
        back = conj(ct)
        return (back if dtypes.kind_of(input_dtype) == "c" else real(back),)

    def lower(self, x: ir.Expr, *, input_dtype: Any) -> ir.Expr:
        if x.dtype.kind == "c":
            return ir.unary("conj", x)
        return ir.binary("complex", x, ir.const(0, x.dtype))


class Complex(NaryElementwise):
    """``x + iy`` of two floats."""

    name = "complex"
    accepts = (_REAL_PART, _REAL_PART)

    def result_dtype(self, dtype: Any, **params: Any) -> Any:
        return _WHOLE[dtype.name]

    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        out = xp.empty(np.broadcast_shapes(x.shape, y.shape), self.result_dtype(x.dtype))
        out.real, out.imag = x, y
        return out

    def partial(self, k: int, out: Value, *primals: Value) -> TangentMap:
        if k == 0:
            return lambda t: complex_(t, zeros_of(get_aval(t)))
        return lambda t: complex_(zeros_of(get_aval(t)), t)

    def adjoints(self, ct: Value, x: Any, y: Any) -> tuple[Any, ...]:
        # Re(ct (x + iy)) = Re(ct) x - Im(ct) y
        return (real(ct) if is_linear(x) else None), (neg(imag(ct)) if is_linear(y) else None)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("complex", x, y)


real_p, imag_p, conj_p, complex_p = Real(), Imag(), Conj(), Complex()


def real(x: Value) -> Value:
    """Return the real part: ``c64[*s] -> f32[*s]`` (c128 gives f64)."""
    return real_p.bind(x)


def imag(x: Value) -> Value:
    """Return the imaginary part: ``c64[*s] -> f32[*s]`` (c128 gives f64)."""
    return imag_p.bind(x)


def conj(x: Value) -> Value:
    """Return the complex conjugate: ``c64[*s] -> c64[*s]``; floats become complex."""
    return conj_p.bind(x, input_dtype=get_aval(x).dtype)


def complex_(x: Value, y: Value) -> Value:
    """Return ``x + iy``: ``f32[*s], f32[*s] -> c64[*s]`` (f64 gives c128)."""
    return complex_p.bind(x, y)


provide(real=real, imag=imag, conj=conj, complex=complex_)

__all__ = [
    "complex_", "complex_p", "conj", "conj_p", "imag", "imag_p", "real", "real_p",
]  # fmt: skip
