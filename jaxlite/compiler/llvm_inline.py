"""Stage 6 of 7, emit: exp, log and tanh of float32 without a call. In: a vector. Out: instructions.

A call of libmvec spills every register that is live around it and takes three times as long as the
fifteen instructions here, which need a fused multiply-add. Reductions are those of Cody and Waite
(1980); the polynomials are minimax fits of the relative error, computed for this file. Errors are
below 2 units in the last place; infinities, NaN, zeros and subnormal numbers are exact or rounded.
Next: ``llvm_math.py``.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from jaxlite.compiler.llvm_text import Lanes

INLINE: Final = frozenset({"exp", "log", "tanh"})
_F: Final = "float"
_I: Final = "i32"
_LOG2_E: Final = 1 / math.log(2)
_LN2_HIGH: Final = float(np.float32(math.log(2)))
_LN2_LOW: Final = math.log(2) - _LN2_HIGH
#: Adding it to a small float leaves the nearest integer in the low bits of the sum.
_ROUND: Final = 1.5 * 2**23
#: exp(r) = 1 + r + r**2 * P(r) for |r| <= ln(2) / 2, relative error 3e-9.
_EXP: Final = (
    *(0.4999999403953552, 0.1666652113199234, 0.04166838899254799),
    *(0.00836874544620514, 0.001381453825160861),
)
#: log(1 + f) = f - f**2 / 2 + f**3 * Q(f) for sqrt(1/2) <= 1 + f < sqrt(2), relative error 6e-9.
_LOG: Final = (
    *(0.3333333134651184, -0.250008225440979, 0.20001232624053955, -0.16623297333717346),
    *(0.14201557636260986, -0.13160595297813416, 0.1276330053806305, -0.07635588198900223),
)
#: tanh(x) = x + x**3 * R(x**2) for |x| < 0.625, relative error 5e-9.
_TANH: Final = (
    *(-0.3333328068256378, 0.1333143562078476, -0.053739115595817566),
    *(0.020637037232518196, -0.005702602677047253),
)
_SQRT_HALF_BITS: Final = int(np.float32(math.sqrt(0.5)).view(np.int32))


def call(lanes: Lanes, op: str, x: str) -> str:
    """Emit one of ``INLINE`` on the floats ``x``."""
    return {"exp": _exp, "log": _log, "tanh": _tanh}[op](lanes, x)


def _c(lanes: Lanes, value: float) -> str:
    return lanes.literal(value, _F)


def _fma(lanes: Lanes, x: str, y: str, z: str) -> str:
    return lanes.intrinsic("fma", _F, x, y, z)


def _polynomial(lanes: Lanes, coefficients: tuple[float, ...], x: str) -> str:
    """Emit Horner's scheme; the first coefficient is the constant one."""
    result = _c(lanes, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = _fma(lanes, result, x, _c(lanes, c))
    return result


def _at_most(lanes: Lanes, x: str, bound: float) -> str:
    """Emit min(x, bound) that keeps NaN."""
    return lanes.select(lanes.op("fcmp ogt", _F, x, _c(lanes, bound)), _F, _c(lanes, bound), x)


def _at_least(lanes: Lanes, x: str, bound: float) -> str:
    return lanes.select(lanes.op("fcmp olt", _F, x, _c(lanes, bound)), _F, _c(lanes, bound), x)


def _split_exp(lanes: Lanes, x: str) -> tuple[str, str, str]:
    """Emit x = n ln 2 + r. Returns exp(r), n as a float, and a float with n in its low bits."""
    rounded = _fma(lanes, x, _c(lanes, _LOG2_E), _c(lanes, _ROUND))
    n = lanes.op("fsub", _F, rounded, _c(lanes, _ROUND))
    r = _fma(lanes, n, _c(lanes, -_LN2_HIGH), x)
    r = _fma(lanes, n, _c(lanes, -_LN2_LOW), r)
    p = _fma(lanes, _polynomial(lanes, _EXP, r), r, _c(lanes, 1))
    return _fma(lanes, p, r, _c(lanes, 1)), n, rounded


def _exp(lanes: Lanes, x: str) -> str:
    # Beyond these bounds the result is infinite or zero, but n would not fit.
    x = _at_least(lanes, _at_most(lanes, x, 89), -104)
    p, n, rounded = _split_exp(lanes, x)
    if lanes.count == 16 and lanes.target.vector_bits == 512:
        t = lanes.type(_F)
        name = "llvm.x86.avx512.mask.scalef.ps.512"
        scale = lanes.code.module.declare(name, t, t, t, t, "i16", "i32")
        args = f"{t} {p}, {t} {n}, {t} zeroinitializer, i16 -1, i32 4"
        return lanes.code.put(f"call {t} {scale}({args})")
    # Two powers of two, since one does not reach subnormal results or the largest.
    bits = lanes.convert("bitcast", rounded, _F, _I)
    magic = int(np.float32(_ROUND).view(np.int32))
    whole = lanes.op("sub", _I, bits, lanes.literal(magic, _I))
    half = lanes.op("ashr", _I, whole, lanes.literal(1, _I))
    for part in (half, lanes.op("sub", _I, whole, half)):
        biased = lanes.op("add", _I, part, lanes.literal(127, _I))
        power = lanes.op("shl", _I, biased, lanes.literal(23, _I))
        p = lanes.op("fmul", _F, p, lanes.convert("bitcast", power, _I, _F))
    return p


def _log(lanes: Lanes, x: str) -> str:
    # x = 2**e * m with m in [sqrt(1/2), sqrt(2)); a subnormal x is scaled up first.
    tiny = lanes.op("fcmp olt", _F, x, _c(lanes, 2.0**-126))
    scaled = lanes.select(tiny, _F, lanes.op("fmul", _F, x, _c(lanes, 2.0**23)), x)
    low = lanes.literal(_SQRT_HALF_BITS, _I)
    bits = lanes.op("sub", _I, lanes.convert("bitcast", scaled, _F, _I), low)
    e = lanes.convert("sitofp", lanes.op("ashr", _I, bits, lanes.literal(23, _I)), _I, _F)
    e = lanes.select(tiny, _F, lanes.op("fsub", _F, e, _c(lanes, 23)), e)
    mantissa = lanes.op("and", _I, bits, lanes.literal(0x7FFFFF, _I))
    m = lanes.convert("bitcast", lanes.op("add", _I, mantissa, low), _I, _F)
    f = lanes.op("fsub", _F, m, _c(lanes, 1))
    q = _fma(lanes, _polynomial(lanes, _LOG, f), f, _c(lanes, -0.5))
    y = lanes.op("fmul", _F, lanes.op("fmul", _F, f, f), q)
    y = lanes.op("fadd", _F, f, _fma(lanes, e, _c(lanes, _LN2_LOW), y))
    result = _fma(lanes, e, _c(lanes, _LN2_HIGH), y)
    # log(0) = -inf, log(x < 0) = NaN, log(inf) = inf, log(NaN) = NaN.
    negative = lanes.op("fcmp olt", _F, x, _c(lanes, 0))
    special = lanes.select(negative, _F, _c(lanes, math.nan), x)
    zero = lanes.op("fcmp oeq", _F, x, _c(lanes, 0))
    special = lanes.select(zero, _F, _c(lanes, -math.inf), special)
    positive = lanes.op("fcmp ogt", _F, x, _c(lanes, 0))
    finite = lanes.op("fcmp olt", _F, x, _c(lanes, math.inf))
    ordinary = lanes.op("and", "i1", positive, finite)
    return lanes.select(ordinary, _F, result, special)


def _tanh(lanes: Lanes, x: str) -> str:
    size = lanes.intrinsic("fabs", _F, x)
    square = lanes.op("fmul", _F, x, x)
    cube = lanes.op("fmul", _F, square, x)
    near = _fma(lanes, _polynomial(lanes, _TANH, square), cube, x)
    # tanh(a) = 1 - 2 / (exp(2 a) + 1), which is 1 from a = 9.01 on; exp(18.1) needs no care.
    bounded = _at_most(lanes, size, 9.05)
    p, _, rounded = _split_exp(lanes, lanes.op("fadd", _F, bounded, bounded))
    exponent = lanes.convert("bitcast", rounded, _F, _I)
    exponent = lanes.op("shl", _I, exponent, lanes.literal(23, _I))
    power = lanes.op("add", _I, lanes.convert("bitcast", p, _F, _I), exponent)
    e = lanes.op("fadd", _F, lanes.convert("bitcast", power, _I, _F), _c(lanes, 1))
    far = lanes.op("fsub", _F, _c(lanes, 1), lanes.op("fdiv", _F, _c(lanes, 2), e))
    # NaN takes the first way. The sign is that of x also for -0.0.
    result = lanes.select(lanes.op("fcmp ult", _F, size, _c(lanes, 0.625)), _F, near, far)
    return lanes.intrinsic("copysign", _F, result, x)
