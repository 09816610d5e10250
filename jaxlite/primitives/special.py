"""Special functions of probability and statistics. In: floats of one dtype. Out: the same dtype.

Eager evaluation uses SciPy. ``erf_inv`` is Giles' polynomial in float32, the formula of XLA: normal
random numbers are made with it and should be the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, TangentMap, TangentMaps, absent
from jaxlite.language.trace import get_aval
from jaxlite.primitives import incomplete
from jaxlite.primitives.arithmetic import abs_, add, div, mul, neg, sign, square, sub
from jaxlite.primitives.elementwise import exp, log, log1p
from jaxlite.primitives.families import (
    FLOAT,
    Accepts,
    Elementwise,
    NaryElementwise,
    full_like,
    in_float32,
    ops,
    quiet,
    scalar_like,
)
from jaxlite.primitives.single_rounding import (
    Algebra,
    Float32Formula,
    OnArrays,
    OnScalars,
    erf_float32,
    horner,
    log1p_float32,
)
from jaxlite.primitives.slope import Slope


class _SpecialUnary(Elementwise):
    """``function(x)`` computes the value of a float32 or float64 array."""

    accepts = (FLOAT,)

    def function(self, x: Any) -> Any:
        """Return the value; the dtype may be wider than that of ``x``."""
        raise NotImplementedError(self.name)

    @quiet
    def impl(self, xp: ArrayModule, x: Any) -> Any:
        return in_float32(lambda v: np.asarray(self.function(v)).astype(v.dtype), x)


class Erf(_SpecialUnary):
    """The error function ``2/sqrt(pi) * integral of e**-t**2 from 0 to x``."""

    name = "erf"

    def function(self, x: Any) -> Any:
        return incomplete.scipy_special().erf(x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = mul(exp(neg(square(x))), scalar_like(x, 2 / math.sqrt(math.pi)))
        return (lambda t: mul(t, slope),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("erf", x)


class EigenErf(Float32Formula, Erf):
    """The error function, in float32 with the bits of JAX on the CPU."""

    formula = staticmethod(erf_float32)


class Erfc(_SpecialUnary):
    """``1 - erf(x)`` without cancellation."""

    name = "erfc"

    def function(self, x: Any) -> Any:
        return incomplete.scipy_special().erfc(x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = mul(exp(neg(square(x))), scalar_like(x, -2 / math.sqrt(math.pi)))
        return (lambda t: mul(t, slope),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("erfc", x)


#: M. Giles, "Approximating the erfinv function" (GPU Computing Gems 2, 2010), table 5: coefficients
#: in ascending powers of w - 2.5 (central) and sqrt(w) - 3 (tail).
_CENTRAL = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.000218580870,
    -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
    -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257,
)  # fmt: skip


class ErfInv(_SpecialUnary):
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""

    name = "erf_inv"

    def function(self, x: Any) -> Any:
        if x.dtype == np.float64:
            return incomplete.odd(incomplete.scipy_special().erfinv, x)
        return _erf_inv_float32(OnArrays(np.float32), x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = mul(exp(square(out)), scalar_like(x, math.sqrt(math.pi) / 2))
        return (lambda t: mul(t, slope),)

    def can_lower(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> bool:
        return bool(avals[0].dtype != np.float64)

    def lower(self, x: ir.Expr) -> ir.Expr:
        out: ir.Expr = _erf_inv_float32(OnScalars(x.dtype), x)
        return out


def _erf_inv_float32(a: Algebra, x: Any) -> Any:
    """Return Giles' approximation, rounded as XLA's kernels do: normal numbers are made with it."""
    one, infinity = a.number(1), a.number(math.inf)
    w = a.sub(a.number(0), log1p_float32(a, a.mul(x, a.sub(a.number(0), x))))
    is_central = a.less(w, a.number(5))
    w = a.select(is_central, a.sub(w, a.number(2.5)), a.sub(a.sqrt(w), a.number(3)))
    pairs = zip(_CENTRAL[::-1], _TAIL[::-1], strict=True)
    p = horner(a, [a.select(is_central, a.number(c), a.number(t)) for c, t in pairs], w)
    is_inside = a.less(a.abs(x), one)
    edge = a.mul(x, a.select(a.less(one, a.abs(x)), a.number(math.nan), infinity))
    return a.select(is_inside, a.mul(p, x), edge)


class LGamma(_SpecialUnary):
    """``log |gamma(x)|``."""

    name = "lgamma"

    def function(self, x: Any) -> Any:
        return incomplete.gammaln(x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = digamma(x)
        return (lambda t: mul(t, slope),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return ir.unary("lgamma", x)


class Digamma(_SpecialUnary):
    """The derivative of ``lgamma``."""

    name = "digamma"

    def function(self, x: Any) -> Any:
        return incomplete.psi(x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = polygamma(full_like(x, 1), x)
        return (lambda t: mul(t, slope),)

    def lower(self, x: ir.Expr) -> ir.Expr:
        return _digamma_expr(x)


#: B_2k / 2k of the asymptotic series of digamma.
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_DIGAMMA_SHIFT = 10


def _digamma_expr(x: ir.Expr) -> ir.Expr:
    def number(value: float) -> ir.Expr:
        return ir.const(value, x.dtype)

    def binary(op: str, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return ir.binary(op, a, b)

    one, pi = number(1), number(math.pi)
    # Reflection for x < 1/2: psi(x) = psi(1 - x) - pi / tan(pi x).
    is_low = ir.compare("lt", x, number(0.5))
    y = ir.select(is_low, binary("sub", one, x), x)
    # Recurrence: psi(y) = psi(y + 10) - sum of 1/(y + k), so that the series applies.
    is_small = ir.compare("lt", y, number(_DIGAMMA_SHIFT))
    total = number(0)
    for k in range(_DIGAMMA_SHIFT):
        total = binary("add", total, binary("div", one, binary("add", y, number(k))))
    z = ir.select(is_small, binary("add", y, number(_DIGAMMA_SHIFT)), y)
    inverse = binary("div", one, z)
    inverse_2 = binary("mul", inverse, inverse)
    series = number(0)
    for coefficient in reversed(_DIGAMMA_SERIES):
        series = binary("mul", inverse_2, binary("add", number(coefficient), series))
    value = binary("sub", ir.unary("log", z), binary("mul", number(0.5), inverse))
    value = binary("sub", value, series)
    value = binary("sub", value, ir.select(is_small, total, number(0)))
    fraction = binary("sub", x, ir.unary("floor", x))
    mirrored = binary("sub", value, binary("div", pi, ir.unary("tan", binary("mul", pi, fraction))))
    at_pole = binary("and", ir.compare("le", x, number(0)), ir.compare("eq", fraction, number(0)))
    return ir.select(at_pole, number(math.nan), ir.select(is_low, mirrored, value))


class BesselI0e(_SpecialUnary):
    """``e**-|x| * I0(x)``, the modified Bessel function of order 0."""

    name = "bessel_i0e"

    def function(self, x: Any) -> Any:
        return incomplete.scipy_special().i0e(x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        slope = sub(bessel_i1e(x), mul(sign(x), out))
        return (lambda t: mul(t, slope),)


class BesselI1e(_SpecialUnary):
    """``e**-|x| * I1(x)``, the modified Bessel function of order 1."""

    name = "bessel_i1e"

    def function(self, x: Any) -> Any:
        return incomplete.odd(incomplete.scipy_special().i1e, x)

    def jvp(self, out: Value, x: Value) -> TangentMaps:
        # I1'(x) = I0(x) - I1(x)/x, whose limit at 0 is 1/2.
        small = scalar_like(x, float(np.finfo(np.float32).eps if _is_half(x) else _eps(x)))
        is_zero = ops.le(abs_(x), small)
        safe = ops.select_n(is_zero, x, full_like(x, 1))
        factor = add(sign(safe), div(scalar_like(x, 1), safe))
        slope = sub(bessel_i0e(safe), mul(out, factor))
        slope = ops.select_n(is_zero, slope, full_like(x, 0.5))
        return (lambda t: mul(t, slope),)


def _is_half(x: Value) -> bool:
    return bool(get_aval(x).dtype.itemsize == 2)


def _eps(x: Value) -> Any:
    return np.finfo(get_aval(x).dtype).eps


class _SpecialNary(NaryElementwise):
    """``function(*arrays)`` computes the value in float64."""

    accepts: ClassVar[Accepts] = (FLOAT, FLOAT)
    function: ClassVar[Callable[..., Any]]

    @quiet
    def impl(self, xp: ArrayModule, *arrays: Any) -> Any:
        wide = [a.astype(np.float64) for a in arrays]
        return np.asarray(type(self).function(*wide)).astype(arrays[0].dtype)


class Polygamma(_SpecialNary):
    """Derivative ``m`` of ``digamma``."""

    name = "polygamma"
    function = staticmethod(incomplete.polygamma)

    def partial(self, k: int, out: Value, m: Value, x: Value) -> TangentMap:
        if k == 0:
            raise ValueError("polygamma gradient with respect to m is not supported")
        slope = polygamma(add(m, scalar_like(m, 1)), x)
        return lambda t: mul(t, slope)


class Zeta(_SpecialNary):
    """The Hurwitz zeta function ``sum((q + k)**-x for k in 0, 1, ...)``."""

    name = "zeta"
    function = staticmethod(incomplete.hurwitz_zeta)

    def partial(self, k: int, out: Value, x: Value, q: Value) -> TangentMap:
        if k == 0:
            by_x = zeta_slope_p.bind(x, q)
            return lambda t: mul(t, by_x)
        slope = mul(neg(x), zeta(add(x, scalar_like(x, 1)), q))
        return lambda t: mul(t, slope)


def _gamma_density(a: Value, x: Value) -> Value:
    # dP/dx = x**(a-1) e**-x / Gamma(a)
    power = mul(sub(a, scalar_like(a, 1)), log(x))
    return exp(sub(sub(power, x), lgamma(a)))


class IGamma(_SpecialNary):
    """The regularized lower incomplete gamma function P(a, x)."""

    name = "igamma"
    function = staticmethod(incomplete.lower_gamma)

    def partial(self, k: int, out: Value, a: Value, x: Value) -> TangentMap:
        slope = igamma_grad_a(a, x) if k == 0 else _gamma_density(a, x)
        return lambda t: mul(t, slope)


class IGammaC(_SpecialNary):
    """The regularized upper incomplete gamma function Q(a, x)."""

    name = "igammac"
    function = staticmethod(incomplete.upper_gamma)

    def partial(self, k: int, out: Value, a: Value, x: Value) -> TangentMap:
        slope = neg(igamma_grad_a(a, x) if k == 0 else _gamma_density(a, x))
        return lambda t: mul(t, slope)


class IGammaGradA(_SpecialNary):
    """dP(a, x)/da of ``igamma``."""

    name = "igamma_grad_a"
    function = staticmethod(incomplete.lower_gamma_grad)
    jvp = absent("Differentiation rule", "nobody has a formula for it")


class RandomGammaGrad(_SpecialNary):
    """dx/da of a sample ``x`` of Gamma(a) at a fixed probability."""

    name = "random_gamma_grad"
    function = staticmethod(incomplete.gamma_sample_grad)
    jvp = absent("Differentiation rule", "nobody has a formula for it")


class RegularizedIncompleteBeta(_SpecialNary):
    """The regularized incomplete beta function I_x(a, b)."""

    name = "regularized_incomplete_beta"
    accepts = (FLOAT, FLOAT, FLOAT)

    @staticmethod
    def function(a: Any, b: Any, x: Any) -> Any:
        return incomplete.scipy_special().betainc(a, b, x)

    def partial(self, k: int, out: Value, a: Value, b: Value, x: Value) -> TangentMap:
        if k < 2:
            raise ValueError("Betainc gradient with respect to a and b not supported.")
        # dI/dx = x**(a-1) (1-x)**(b-1) / B(a, b)
        one = scalar_like(x, 1)
        log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
        powers = add(mul(sub(a, one), log(x)), mul(sub(b, one), log1p(neg(x))))
        slope = exp(sub(powers, log_beta))
        return lambda t: mul(t, slope)


eigen_erf_p = EigenErf()
erf_p, erfc_p, erf_inv_p, lgamma_p, digamma_p = Erf(), Erfc(), ErfInv(), LGamma(), Digamma()
bessel_i0e_p, bessel_i1e_p, polygamma_p, zeta_p = BesselI0e(), BesselI1e(), Polygamma(), Zeta()
zeta_slope_p = Slope(zeta_p, 0, room=lambda x: x - 1.0)
igamma_p, igammac_p, igamma_grad_a_p = IGamma(), IGammaC(), IGammaGradA()
random_gamma_grad_p = RandomGammaGrad()
regularized_incomplete_beta_p = RegularizedIncompleteBeta()


def erf(x: Value) -> Value:
    """Return the error function: ``T[*s] -> T[*s]`` for floats."""
    return erf_p.bind(x)


def eigen_erf(x: Value) -> Value:
    """Return the error function: ``T[*s] -> T[*s]``; for float32 bit for bit as JAX on the CPU."""
    return eigen_erf_p.bind(x)


def erfc(x: Value) -> Value:
    """Return ``1 - erf(x)``: ``T[*s] -> T[*s]`` for floats."""
    return erfc_p.bind(x)


def erf_inv(x: Value) -> Value:
    """Return the inverse error function: ``T[*s] -> T[*s]`` for floats."""
    return erf_inv_p.bind(x)


def lgamma(x: Value) -> Value:
    """Return ``log |gamma(x)|``: ``T[*s] -> T[*s]`` for floats."""
    return lgamma_p.bind(x)


def digamma(x: Value) -> Value:
    """Return the derivative of ``lgamma``: ``T[*s] -> T[*s]`` for floats."""
    return digamma_p.bind(x)


def bessel_i0e(x: Value) -> Value:
    """Return ``e**-|x| * I0(x)``: ``T[*s] -> T[*s]`` for floats."""
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: Value) -> Value:
    """Return ``e**-|x| * I1(x)``: ``T[*s] -> T[*s]`` for floats."""
    return bessel_i1e_p.bind(x)


def polygamma(m: Value, x: Value) -> Value:
    """Return derivative ``m`` of ``digamma``: ``T[*s], T[*s] -> T[*s]`` for floats."""
    return polygamma_p.bind(m, x)


def zeta(x: Value, q: Value) -> Value:
    """Return the Hurwitz zeta function: ``T[*s], T[*s] -> T[*s]`` for floats."""
    return zeta_p.bind(x, q)


def igamma(a: Value, x: Value) -> Value:
    """Return the regularized lower incomplete gamma function: ``T[*s], T[*s] -> T[*s]``."""
    return igamma_p.bind(a, x)


def igammac(a: Value, x: Value) -> Value:
    """Return the regularized upper incomplete gamma function: ``T[*s], T[*s] -> T[*s]``."""
    return igammac_p.bind(a, x)


def igamma_grad_a(a: Value, x: Value) -> Value:
    """Return the derivative of ``igamma`` by ``a``: ``T[*s], T[*s] -> T[*s]``."""
    return igamma_grad_a_p.bind(a, x)


def random_gamma_grad(a: Value, x: Value) -> Value:
    """Return the derivative of a Gamma(a) sample ``x`` by ``a``: ``T[*s], T[*s] -> T[*s]``."""
    return random_gamma_grad_p.bind(a, x)


def regularized_incomplete_beta(a: Value, b: Value, x: Value) -> Value:
    """Return the regularized incomplete beta function: ``T[*s], T[*s], T[*s] -> T[*s]``."""
    return regularized_incomplete_beta_p.bind(a, b, x)


__all__ = [
    "bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p", "digamma", "digamma_p", "eigen_erf",
    "eigen_erf_p", "erf",
    "erf_inv", "erf_inv_p", "erf_p", "erfc", "erfc_p", "igamma", "igamma_grad_a", "igamma_grad_a_p",
    "igamma_p", "igammac", "igammac_p", "lgamma", "lgamma_p", "polygamma", "polygamma_p",
    "random_gamma_grad", "random_gamma_grad_p", "regularized_incomplete_beta",
    "regularized_incomplete_beta_p", "zeta", "zeta_p", "zeta_slope_p",
]  # fmt: skip
