"""Products and logarithms rounded as in JAX's kernels. In: floats. Out: the same dtype.

XLA's CPU kernels fuse ``x * y + z`` into one instruction that rounds once, and compute float32
functions by polynomials with such instructions (logarithms: Moshier's Cephes, ``logf.c`` and
``log1p.c``). Random numbers are made from these, and should be the same numbers. The formulas are
written once, for two algebras: NumPy arrays and kernel IR. NumPy has no such instruction; a product
of float32 numbers is exact in float64, so there one rounding is a sum and a cast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language.array import Value
from jaxlite.language.primitive import ArrayModule, TangentMap, is_linear
from jaxlite.language.trace import get_aval
from jaxlite.primitives.arithmetic import add, mul
from jaxlite.primitives.elementwise import Exp, Log, Log1p
from jaxlite.primitives.families import FLOAT, HALF, NaryElementwise, in_float32, quiet

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


class Algebra(Protocol):
    """Arithmetic on floats of one dtype."""

    def number(self, value: float) -> Any:
        """Return a constant."""

    def add(self, x: Any, y: Any) -> Any:
        """Return ``x + y``."""

    def sub(self, x: Any, y: Any) -> Any:
        """Return ``x - y``."""

    def mul(self, x: Any, y: Any) -> Any:
        """Return ``x * y``."""

    def div(self, x: Any, y: Any) -> Any:
        """Return ``x / y``."""

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        """Return ``x * y + z``, rounded once."""

    def less(self, x: Any, y: Any) -> Any:
        """Return ``x < y``."""

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        """Return ``x`` where the condition holds, else ``y``."""

    def abs(self, x: Any) -> Any:
        """Return ``|x|``."""

    def sqrt(self, x: Any) -> Any:
        """Return the square root."""

    def frexp(self, x: Any) -> tuple[Any, Any]:
        """Return mantissa in [1/2, 1) and exponent, as floats; ``x`` is positive and normal."""

    def power_of_two(self, n: Any) -> Any:
        """Return ``2**n`` for whole n from -127 (giving 0) to 128 (giving infinity)."""

    def floor(self, x: Any) -> Any:
        """Return the greatest whole number up to ``x``."""


class OnArrays:
    """NumPy arrays of ``dtype`` (float32 or float64)."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)

    def number(self, value: float) -> Any:
        return self.dtype.type(value)

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def sub(self, x: Any, y: Any) -> Any:
        return x - y

    def mul(self, x: Any, y: Any) -> Any:
        return x * y

    def div(self, x: Any, y: Any) -> Any:
        return x / y

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        if self.dtype == _F64:
            return _dekker_fma(self, x, y, z)
        # A float64 operand makes NumPy compute in float64.
        return (np.multiply(x, y, dtype=_F64) + z).astype(_F32)

    def less(self, x: Any, y: Any) -> Any:
        return x < y

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        return np.where(condition, x, y)

    def abs(self, x: Any) -> Any:
        return np.abs(x)

    def sqrt(self, x: Any) -> Any:
        return np.sqrt(x)

    def frexp(self, x: Any) -> tuple[Any, Any]:
        mantissa, exponent = np.frexp(x)
        return mantissa, exponent.astype(self.dtype)

    def power_of_two(self, n: Any) -> Any:
        return np.left_shift(n.astype(np.int32) + 127, 23).view(_F32)

    def floor(self, x: Any) -> Any:
        return np.floor(x)


class OnScalars:
    """Kernel IR scalars of ``dtype`` (float32 or float64)."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)

    def number(self, value: float) -> ir.Expr:
        return ir.const(value, self.dtype)

    def add(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("add", x, y)

    def sub(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("sub", x, y)

    def mul(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("mul", x, y)

    def div(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.binary("div", x, y)

    def fma(self, x: ir.Expr, y: ir.Expr, z: ir.Expr) -> ir.Expr:
        return ir.fma(x, y, z)

    def less(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.compare("lt", x, y)

    def select(self, condition: ir.Expr, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.select(condition, x, y)

    def abs(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("abs", x)

    def sqrt(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("sqrt", x)

    def frexp(self, x: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        word = np.dtype(np.int32)
        bits = ir.bitcast(x, word)
        biased = ir.binary("shr_logical", bits, ir.const(23, word))
        exponent = ir.cast(ir.binary("sub", biased, ir.const(126, word)), _F32)
        fraction = ir.binary("and", bits, ir.const(0x007FFFFF, word))
        half = ir.const(0x3F000000, word)  # the bits of 0.5
        return ir.bitcast(ir.binary("or", fraction, half), _F32), exponent

    def power_of_two(self, n: ir.Expr) -> ir.Expr:
        word = np.dtype(np.int32)
        biased = ir.binary("add", ir.cast(n, word), ir.const(127, word))
        return ir.bitcast(ir.binary("shl", biased, ir.const(23, word)), _F32)

    def floor(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("floor", x)


def _dekker_fma(a: Algebra, x: Any, y: Any, z: Any) -> Any:
    """Return ``x * y + z`` with one rounding, but for ties and products near the ends of the range.

    Dekker's product and Knuth's sum give both rounding errors exactly: Shewchuk (1997), theorems 7
    and 18.
    """
    splitter = a.number(2.0**27 + 1)

    def halves(v: Any) -> tuple[Any, Any]:
        c = a.mul(v, splitter)
        head = a.sub(c, a.sub(c, v))
        return head, a.sub(v, head)

    product = a.mul(x, y)
    (x1, x2), (y1, y2) = halves(x), halves(y)
    rest = a.sub(a.sub(a.sub(product, a.mul(x1, y1)), a.mul(x2, y1)), a.mul(x1, y2))
    product_error = a.sub(a.mul(x2, y2), rest)
    total = a.add(product, z)
    part = a.sub(total, product)
    sum_error = a.add(a.sub(product, a.sub(total, part)), a.sub(z, part))
    out = a.add(total, a.add(sum_error, product_error))
    # Splitting a huge number overflows; then the plain sum has to do.
    is_finite = a.less(a.abs(out), a.number(math.inf))
    return a.select(is_finite, out, total)


def horner(a: Algebra, coefficients: Sequence[Any], x: Any) -> Any:
    """Return the polynomial with these coefficients, highest power first; each step rounds once."""
    out = coefficients[0]
    for c in coefficients[1:]:
        out = a.fma(out, x, c)
    return out


# fmt: off
#: log(1 + x) = x - x**2 / 2 + x**3 P(x) on [sqrt(1/2) - 1, sqrt(2) - 1], highest power first.
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)
#: log(1 + x) = x - x**2 / 2 + x**3 P(x) / Q(x) for |x| < sqrt(2) - 1, highest power first.
_LOG1P_P = (
    4.5270000862445199635e-5, 4.9854102823193375972e-1, 6.5787325942061044846,
    2.9911919328553073277e1,
    6.0949667980987787057e1, 5.7112963590585538103e1, 2.0039553499201281259e1,
)
_LOG1P_Q = (
    1.0, 1.5062909083469192043e1, 8.3047565967976209469e1, 2.2176239823732856465e2,
    3.0909872225312059774e2, 2.1642788614495947685e2, 6.0118660497603843919e1,
)
# fmt: on
#: log(2) in two parts, so that ``exponent * _LOG2_HIGH`` is exact.
_LOG2_HIGH, _LOG2_LOW = 0.693359375, -2.12194440e-4
_TINY = float(np.finfo(np.float32).tiny)


def log_float32(a: Algebra, x: Any) -> Any:
    """Return the logarithm; -inf at 0 and below the normal numbers, NaN for negative ``x``."""
    is_tiny = a.less(x, a.number(_TINY))
    mantissa, exponent = a.frexp(a.select(is_tiny, a.number(1), x))
    # Move the mantissa from [1/2, 1) to [sqrt(1/2), sqrt(2)), less 1.
    is_low = a.less(mantissa, a.number(math.sqrt(0.5)))
    zero, one = a.number(0), a.number(1)
    exponent = a.sub(exponent, a.select(is_low, one, zero))
    f = a.add(a.sub(mantissa, one), a.select(is_low, mantissa, zero))
    f_sq = a.mul(f, f)
    f_cubed = a.mul(f_sq, f)
    # Three groups of three coefficients: shorter chains than Horner's.
    groups = [horner(a, [a.number(c) for c in _LOG[i : i + 3]], f) for i in (0, 3, 6)]
    poly = a.fma(a.fma(groups[0], f_cubed, groups[1]), f_cubed, groups[2])
    small = a.fma(poly, f_cubed, a.mul(a.number(_LOG2_LOW), exponent))
    out = a.fma(a.number(_LOG2_HIGH), exponent, a.add(a.fma(a.number(-0.5), f_sq, f), small))
    out = a.select(is_tiny, a.number(-math.inf), out)
    out = a.select(a.less(x, zero), a.number(math.nan), out)
    # Infinity and NaN are their own logarithms.
    return a.select(a.less(x, a.number(math.inf)), out, x)


def log1p_float32(a: Algebra, x: Any) -> Any:
    """Return ``log(1 + x)``."""
    is_small = a.less(a.abs(x), a.number(math.sqrt(2) - 1))
    p = horner(a, [a.number(c) for c in _LOG1P_P], x)
    q = horner(a, [a.number(c) for c in _LOG1P_Q], x)
    x_sq = a.mul(x, x)
    tail = a.mul(a.mul(x, x_sq), a.div(p, q))
    near = a.add(x, a.fma(a.number(-0.5), x_sq, tail))
    return a.select(is_small, near, log_float32(a, a.add(a.number(1), x)))


#: exp(r) = 1 + r + r**2 P(r) for |r| < log(2) / 2, highest power first.
_EXP = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)


def exp_float32(a: Algebra, x: Any) -> Any:
    """Return the exponential; 0 below the normal numbers."""
    x = a.select(a.less(x, a.number(-88)), a.number(-88), x)
    # x = n log(2) + r
    n = a.floor(a.fma(x, a.number(math.log2(math.e)), a.number(0.5)))
    n = a.select(a.less(a.number(127), n), a.number(127), n)
    r = a.fma(a.number(-_LOG2_LOW), n, a.fma(a.number(-_LOG2_HIGH), n, x))
    poly = horner(a, [a.number(c) for c in _EXP], r)
    mantissa = a.add(a.fma(poly, a.mul(r, r), r), a.number(1))
    out = a.mul(mantissa, a.power_of_two(n))
    return a.select(a.less(out, a.number(_TINY)), a.number(0), out)


# fmt: off
#: erf(x) = x P(x**2) / Q(x**2) for |x| < _ERF_END (Eigen's minimax fit), highest power first.
_ERF_P = (
    2.2905065861350646e-4, 3.4082910107109506e-3, 5.0955695062380861e-2, 1.8520832239976145e-1,
    1.128379143519084,
)
_ERF_Q = (
    -1.1791602954361697e-7, 2.3547966471313185e-5, 1.0179625278914885e-3, 1.4070470171167667e-2,
    1.1098505178285362e-1, 4.9746925110067538e-1, 1.0,
)
# fmt: on
_ERF_END = 3.832506856900711


def erf_float32(a: Algebra, x: Any) -> Any:
    """Return the error function."""
    end, negative_end = a.number(_ERF_END), a.number(-_ERF_END)
    x = a.select(a.less(end, x), end, a.select(a.less(x, negative_end), negative_end, x))
    x_sq = a.mul(x, x)
    p = horner(a, [a.number(c) for c in _ERF_P], x_sq)
    q = horner(a, [a.number(c) for c in _ERF_Q], x_sq)
    return a.div(a.mul(x, p), q)


class Fma(NaryElementwise):
    """``x * y + z`` rounded once."""

    name = "fma"
    accepts = (FLOAT,) * 3

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any, z: Any) -> Any:
        out = in_float32(lambda *v: OnArrays(v[0].dtype).fma(*v), x, y, z)
        return np.asarray(out, x.dtype)

    def partial(self, k: int, out: Value, x: Value, y: Value, z: Value) -> TangentMap:
        if k == 2:
            return lambda t: t
        return lambda t: mul(t, y if k == 0 else x)

    def adjoints(self, ct: Value, x: Any, y: Any, z: Any) -> tuple[Any, ...]:
        # Linear in z, and in x or y while the other is fixed.
        return (
            mul(ct, y) if is_linear(x) else None,
            mul(ct, x) if is_linear(y) else None,
            ct if is_linear(z) else None,
        )

    def lower(self, x: ir.Expr, y: ir.Expr, z: ir.Expr) -> ir.Expr:
        return OnScalars(x.dtype).fma(x, y, z)


class Float32Formula:
    """Replaces the value of a function in float32, and in half precision: computed in float32."""

    formula: Any

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        def compute(v: Any) -> Any:
            if v.dtype != _F32:
                return super(Float32Formula, self).impl(xp, v)  # type: ignore[misc]
            return np.asarray(type(self).formula(OnArrays(_F32), v), _F32)

        return in_float32(compute, x)

    def lower(self, x: ir.Expr) -> ir.Expr:
        if x.dtype != _F32:
            return super().lower(x)  # type: ignore[misc, no-any-return]
        return type(self).formula(OnScalars(_F32), x)  # type: ignore[no-any-return]


class CephesLog(Float32Formula, Log):
    """Natural logarithm, in float32 with the bits of JAX on the CPU."""

    formula = staticmethod(log_float32)


class CephesLog1p(Float32Formula, Log1p):
    """``log(1 + x)``, in float32 with the bits of JAX on the CPU."""

    formula = staticmethod(log1p_float32)


class CephesExp(Float32Formula, Exp):
    """``e**x``, in float32 with the bits of JAX on the CPU."""

    formula = staticmethod(exp_float32)


fma_p, cephes_exp_p = Fma(), CephesExp()
cephes_log_p, cephes_log1p_p = CephesLog(), CephesLog1p()


def fma(x: Value, y: Value, z: Value) -> Value:
    """Return ``x * y + z`` as JAX's fused kernels: ``T[*s], T[*s], T[*s] -> T[*s]`` for floats.

    float32 and float64 are rounded once; half precision is rounded after the product and after the
    sum.
    """
    if get_aval(x).dtype in HALF:
        return add(mul(x, y), z)
    return fma_p.bind(x, y, z)


def cephes_exp(x: Value) -> Value:
    """Return ``e**x``: ``T[*s] -> T[*s]``; for float32 bit for bit as JAX on the CPU."""
    return cephes_exp_p.bind(x)


def cephes_log(x: Value) -> Value:
    """Return the logarithm: ``T[*s] -> T[*s]``; for float32 bit for bit as JAX on the CPU."""
    return cephes_log_p.bind(x)


def cephes_log1p(x: Value) -> Value:
    """Return ``log(1 + x)``: ``T[*s] -> T[*s]``; for float32 bit for bit as JAX on the CPU."""
    return cephes_log1p_p.bind(x)


__all__ = [
    "Algebra", "Float32Formula", "OnArrays", "OnScalars", "cephes_exp", "cephes_exp_p",
    "cephes_log", "cephes_log1p", "cephes_log1p_p", "cephes_log_p",
    "erf_float32", "exp_float32", "fma", "fma_p", "horner", "log1p_float32", "log_float32",
]  # fmt: skip
