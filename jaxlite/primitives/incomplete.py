"""Special functions that SciPy lacks or defines otherwise. In: NumPy arrays. Out: float64 arrays.

Everything is computed in float64. ``scipy.special`` is loaded at the first use, not before.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

_MAX_TERMS = 2000
_EPSILON = 2.0**-53


@functools.cache
def scipy_special() -> Any:
    """Return the module ``scipy.special``."""
    return importlib.import_module("scipy.special")


def odd(function: Callable[[Any], Any], x: Any) -> Any:
    """Return ``function(x)`` of an odd function, with -0.0 kept."""
    return np.where(x == 0, x, function(x))


def gammaln(x: Any) -> Any:
    """Return ``log |gamma(x)|``; inf at both infinities and at the poles."""
    return np.where(np.isinf(x), np.inf, scipy_special().gammaln(x))


def psi(x: Any) -> Any:
    """Return the digamma function; NaN at the poles."""
    return np.where(x == 0, np.nan, scipy_special().psi(x))


def hurwitz_zeta(x: Any, q: Any) -> Any:
    """Return ``sum((q + k)**-x for k in 0, 1, ...)``."""
    out = scipy_special().zeta(x, q)
    # At a pole the sign of the infinity is known only for even x.
    at_pole = (q <= 0) & (q == np.floor(q))
    out = np.where(at_pole, np.where(x % 2 == 0, np.inf, np.nan), out)
    out = np.where(np.isinf(q) | ~np.isfinite(x), np.nan, out)
    return np.where(x == 1, np.inf, out)


def polygamma(m: Any, x: Any) -> Any:
    """Return derivative ``m`` of the digamma function; NaN unless ``m`` is 0, 1, 2, ..."""
    sign = np.where(m % 2 == 0, -1.0, 1.0)
    higher = sign * np.exp(scipy_special().gammaln(m + 1)) * hurwitz_zeta(m + 1, x)
    out = np.where(m == 0, psi(x), higher)
    return np.where((m < 0) | (m != np.floor(m)), np.nan, out)


def _incomplete(function: Callable[[Any, Any], Any], at_infinity: float, a: Any, x: Any) -> Any:
    out = np.where(np.isinf(a), np.nan, function(a, x))
    out = np.where(np.isposinf(x), at_infinity, out)
    return np.where((a <= 0) | (x < 0) | np.isnan(a) | np.isnan(x), np.nan, out)


def lower_gamma(a: Any, x: Any) -> Any:
    """Return the regularized lower incomplete gamma function P(a, x)."""
    return _incomplete(scipy_special().gammainc, 1.0, a, x)


def upper_gamma(a: Any, x: Any) -> Any:
    """Return the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _incomplete(scipy_special().gammaincc, 0.0, a, x)


def lower_gamma_grad(a: Any, x: Any) -> Any:
    """Return dP(a, x)/da."""
    sample_grad, log_density = _gamma_grad(a, x)
    return -sample_grad * np.exp(log_density)


def gamma_sample_grad(a: Any, x: Any) -> Any:
    """Return dx/da of a Gamma(a) sample ``x`` at a fixed probability: -(dP/da) / (dP/dx)."""
    return _gamma_grad(a, x)[0]


def _gamma_grad(a: Any, x: Any) -> tuple[Any, Any]:
    """Return the sample gradient and the log of the density dP/dx."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    is_valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    safe_a, safe_x = np.where(is_valid, a, 1.0), np.where(is_valid, x, 1.0)
    by_series = (safe_x <= 1) | (safe_x <= safe_a)
    series = _grad_by_series(np.where(by_series, safe_a, 1.0), np.where(by_series, safe_x, 1.0))
    fraction = _grad_by_fraction(np.where(by_series, 1.0, safe_a), np.where(by_series, 2.0, safe_x))
    grad = np.where(by_series, series, fraction)
    special = scipy_special()
    log_density = special.xlogy(safe_a - 1, safe_x) - safe_x - special.gammaln(safe_a)
    at_edge = (a > 0) & ((x == 0) | np.isposinf(x)) & np.isfinite(a)
    grad = np.where(is_valid, grad, np.where(at_edge, 0.0, np.nan))
    return grad, np.where(at_edge, 0.0, log_density)


def _grad_by_series(a: Any, x: Any) -> Any:
    # P = x**a e**-x / Gamma(a+1) * S,  S = 1 + x/(a+1) + x**2/((a+1)(a+2)) + ...
    term = np.ones_like(a)
    dterm = np.zeros_like(a)
    total, dtotal = term.copy(), dterm.copy()
    for n in range(1, _MAX_TERMS):
        ratio = x / (a + n)
        dterm = (dterm - term / (a + n)) * ratio
        term = term * ratio
        total += term
        dtotal += dterm
        if np.all(np.abs(dterm) <= _EPSILON * np.abs(dtotal)) and np.all(term <= _EPSILON * total):
            break
    return -(total * (np.log(x) - scipy_special().psi(a + 1)) + dtotal) * x / a


def _grad_by_fraction(a: Any, x: Any) -> Any:
    # Q = x**a e**-x / Gamma(a) / K,  K = b0 + a1/(b1 + a2/(b2 + ...)),
    # b_n = x + 2n + 1 - a,  a_n = -n (n - a); K = A_n/B_n by the three-term recurrence.
    old_a, old_b = np.ones_like(a), np.zeros_like(a)
    new_a, new_b = x + 1 - a, np.ones_like(a)
    old_da, old_db = np.zeros_like(a), np.zeros_like(a)
    new_da, new_db = -np.ones_like(a), np.zeros_like(a)
    value, dvalue = new_b / new_a, -new_b * new_da / new_a**2
    for n in range(1, _MAX_TERMS):
        b, c = x + 2 * n + 1 - a, -n * (n - a)
        next_da = b * new_da - new_a + c * old_da + n * old_a
        next_db = b * new_db - new_b + c * old_db + n * old_b
        next_a, next_b = b * new_a + c * old_a, b * new_b + c * old_b
        scale = 1 / np.maximum(np.abs(next_a), 1e-300)
        old_a, old_b, old_da, old_db = (v * scale for v in (new_a, new_b, new_da, new_db))
        new_a, new_b, new_da, new_db = (v * scale for v in (next_a, next_b, next_da, next_db))
        before, dbefore = value, dvalue
        value = new_b / new_a
        dvalue = (new_db - value * new_da) / new_a
        if np.all(np.abs(dvalue - dbefore) <= _EPSILON * np.abs(dvalue)) and np.all(
            np.abs(value - before) <= _EPSILON * np.abs(value)
        ):
            break
    return (value * (np.log(x) - scipy_special().psi(a)) + dvalue) * x


__all__ = [
    "gamma_sample_grad", "gammaln", "hurwitz_zeta", "lower_gamma", "lower_gamma_grad", "odd",
    "polygamma", "psi", "scipy_special", "upper_gamma",
]  # fmt: skip
