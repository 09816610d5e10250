"""Special functions that SciPy computes. In: floats of one dtype. Out: the same dtype.

They run on the host, in float64; their derivatives are formulas of NIST's Digital Library of
Mathematical Functions (https://dlmf.nist.gov), named at each.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from jaxlite.language.array import Value
from jaxlite.language.primitive import ArrayModule, TangentMap
from jaxlite.primitives import incomplete
from jaxlite.primitives.arithmetic import add, div, mul, neg, square, sub
from jaxlite.primitives.elementwise import exp, log
from jaxlite.primitives.families import (
    FLOAT,
    Accepts,
    NaryElementwise,
    full_like,
    ops,
    quiet,
    scalar_like,
)
from jaxlite.primitives.slope import Slope
from jaxlite.primitives.special import erf
from jaxlite.primitives.trigonometric import cos, sin

__all__ = [
    "dawsn_p", "erfcx_p", "exp1_p", "expi_p", "expn_p", "fresnel_cos_p", "fresnel_sin_p",
    "hyp1f1_p", "hyp2f1_p", "log_ndtr_p", "ndtri_p", "owens_t_p", "sici_cos_p", "sici_sin_p",
    "spence_p",
]  # fmt: skip


class _Function(NaryElementwise):
    """``compute(special, *arrays)`` is the value in float64; ``slope(k, out, *xs)`` d/dx_k."""

    arity: ClassVar[int] = 1

    @property
    def accepts(self) -> Accepts:  # type: ignore[override]
        """Floats."""
        return (FLOAT,) * self.arity

    def compute(self, special: Any, *arrays: Any) -> Any:
        """Return the value by ``scipy.special``."""
        return getattr(special, self.name)(*arrays)

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        """Return the derivative by operand ``k``."""
        raise NotImplementedError(
            f"Differentiation rule for '{self.name}' not implemented: no formula by operand {k}"
        )

    @quiet
    def impl(self, xp: ArrayModule, *arrays: Any) -> Any:
        wide = [a.astype(np.float64) for a in arrays]
        found = self.compute(incomplete.scipy_special(), *wide)
        return np.asarray(found).astype(arrays[0].dtype)

    def partial(self, k: int, out: Value, *primals: Value, **params: Any) -> TangentMap:
        factor = self.slope(k, out, *primals)
        return lambda t: mul(t, factor)


def _times(x: Value, number: float) -> Value:
    return mul(x, scalar_like(x, number))


class Erfcx(_Function):
    """``exp(x**2) * erfc(x)``."""

    name = "erfcx"

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        (x,) = operands
        return sub(_times(mul(x, out), 2.0), full_like(x, 2.0 / math.sqrt(math.pi)))


class Dawsn(_Function):
    """Dawson's integral (DLMF 7.2.5)."""

    name = "dawsn"

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        (x,) = operands
        return sub(full_like(x, 1.0), _times(mul(x, out), 2.0))


class Exp1(_Function):
    """The exponential integral E1 (DLMF 6.2.1)."""

    name = "exp1"

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        (x,) = operands
        return neg(div(exp(neg(x)), x))


class Expi(_Function):
    """The exponential integral Ei (DLMF 6.2.5)."""

    name = "expi"

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        (x,) = operands
        return div(exp(x), x)


class Expn(_Function):
    """The generalized exponential integral E_n (DLMF 8.19); n is a whole number."""

    name = "expn"
    arity = 2

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        n, x = operands
        if k == 0:
            return super().slope(k, out, *operands)
        # DLMF 8.19.13, and E_(-1)(x) = exp(-x) (1 + 1/x) / x.
        one = full_like(x, 1.0)
        first = mul(div(exp(neg(x)), x), add(one, div(one, x)))
        lower = expn_p.bind(ops.max(sub(n, scalar_like(n, 1)), full_like(n, 0)), x)
        return neg(ops.select_n(ops.gt(n, full_like(n, 0)), first, lower))


class Spence(_Function):
    """The dilogarithm of ``1 - x`` (DLMF 25.12)."""

    name = "spence"

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        (x,) = operands
        one = full_like(x, 1.0)
        is_one = ops.eq(x, one)
        distance = ops.select_n(is_one, sub(one, x), one)
        return ops.select_n(is_one, div(log(x), distance), neg(one))


class FresnelSin(_Function):
    """The Fresnel integral S (DLMF 7.2.8)."""

    name = "fresnel_sin"

    def compute(self, special: Any, *arrays: Any) -> Any:
        return special.fresnel(*arrays)[0]

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        return sin(_times(square(operands[0]), math.pi / 2))


class FresnelCos(_Function):
    """The Fresnel integral C (DLMF 7.2.7)."""

    name = "fresnel_cos"

    def compute(self, special: Any, *arrays: Any) -> Any:
        return special.fresnel(*arrays)[1]

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        return cos(_times(square(operands[0]), math.pi / 2))


class SiciSin(_Function):
    """The sine integral Si (DLMF 6.2.9)."""

    name = "sici_sin"

    def compute(self, special: Any, *arrays: Any) -> Any:
        return special.sici(*arrays)[0]

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        (x,) = operands
        is_zero = ops.eq(x, full_like(x, 0))
        safe = ops.select_n(is_zero, x, full_like(x, 1.0))
        return ops.select_n(is_zero, div(sin(x), safe), full_like(x, 1.0))


class SiciCos(_Function):
    """The cosine integral Ci (DLMF 6.2.13)."""

    name = "sici_cos"

    def compute(self, special: Any, *arrays: Any) -> Any:
        return special.sici(*arrays)[1]

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        (x,) = operands
        return div(cos(x), x)


class LogNdtr(_Function):
    """The logarithm of the normal distribution function."""

    name = "log_ndtr"

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        (x,) = operands
        exponent = sub(_times(square(x), -0.5), out)
        return _times(exp(exponent), 1.0 / math.sqrt(2.0 * math.pi))


class Ndtri(_Function):
    """The quantile of the normal distribution."""

    name = "ndtri"

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        return _times(exp(_times(square(out), 0.5)), math.sqrt(2.0 * math.pi))


class OwensT(_Function):
    """Owen's T(h, a): a volume under the binormal density."""

    name = "owens_t"
    arity = 2

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        h, a = operands
        square_h = square(h)
        if k == 0:
            density = _times(exp(_times(square_h, -0.5)), -0.5 / math.sqrt(2.0 * math.pi))
            return mul(density, erf(_times(mul(a, h), math.sqrt(0.5))))
        wide = add(full_like(a, 1.0), square(a))
        return div(_times(exp(_times(mul(square_h, wide), -0.5)), 0.5 / math.pi), wide)


class Hyp1F1(_Function):
    """Kummer's confluent hypergeometric function M(a, b, x) (DLMF 13.2.2)."""

    name = "hyp1f1"
    arity = 3

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        a, b, x = operands
        if k < 2:
            return hyp1f1_slopes[k].bind(*operands)
        one = scalar_like(a, 1)
        return mul(div(a, b), hyp1f1_p.bind(add(a, one), add(b, one), x))  # DLMF 13.3.15


class Hyp2F1(_Function):
    """Gauss' hypergeometric function F(a, b; c; x) (DLMF 15.2.1)."""

    name = "hyp2f1"
    arity = 4

    def slope(self, k: int, out: Value, *operands: Value) -> Value:
        a, b, c, x = operands
        if k < 3:
            return hyp2f1_slopes[k].bind(*operands)
        one = scalar_like(a, 1)
        raised = hyp2f1_p.bind(add(a, one), add(b, one), add(c, one), x)
        return mul(div(mul(a, b), c), raised)  # DLMF 15.5.1


erfcx_p, dawsn_p, exp1_p, expi_p, expn_p = Erfcx(), Dawsn(), Exp1(), Expi(), Expn()
spence_p, log_ndtr_p, ndtri_p, owens_t_p = Spence(), LogNdtr(), Ndtri(), OwensT()
fresnel_sin_p, fresnel_cos_p, sici_sin_p, sici_cos_p = (
    FresnelSin(), FresnelCos(), SiciSin(), SiciCos()
)  # fmt: skip
hyp1f1_p, hyp2f1_p = Hyp1F1(), Hyp2F1()
hyp1f1_slopes = [Slope(hyp1f1_p, k) for k in range(2)]
hyp2f1_slopes = [Slope(hyp2f1_p, k) for k in range(3)]
