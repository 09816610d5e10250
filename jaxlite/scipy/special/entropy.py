"""Logarithms times something, 0 where the something is 0. In: floats. Out: floats."""

from __future__ import annotations

from typing import Any

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.api.custom_derivatives import custom_jvp
from jaxlite.language.array import Value
from jaxlite.scipy.special.gamma import operands

__all__ = ["boxcox", "boxcox1p", "entr", "kl_div", "rel_entr", "xlog1py", "xlogy"]


@custom_jvp
def _xlogy(x: Value, y: Value) -> Value:
    return jnp.where(x == 0, 0, x * lax.log(y)).astype(x.dtype)


@_xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    slope_y = jnp.where(x == 0, 0, x / y).astype(x.dtype)
    return _xlogy(x, y), dx * lax.log(y) + dy * slope_y


def xlogy(x: Any, y: Any) -> Value:
    """Return ``x * log(y)``, 0 where ``x`` is 0.

    >>> xlogy(0.0, 0.0)
    Array(0., dtype=float32)
    """
    return _xlogy(*_strong("xlogy", x, y))


@custom_jvp
def _xlog1py(x: Value, y: Value) -> Value:
    return jnp.where(x == 0, 0, x * lax.log1p(y)).astype(x.dtype)


@_xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    slope_y = jnp.where(x == 0, 0, x / (1 + y)).astype(x.dtype)
    return _xlog1py(x, y), dx * lax.log1p(y) + dy * slope_y


def xlog1py(x: Any, y: Any) -> Value:
    """Return ``x * log(1 + y)``, 0 where ``x`` is 0."""
    return _xlog1py(*_strong("xlog1py", x, y))


def _strong(name: str, *args: Any) -> list[Value]:
    """Return operands that no longer give way to others: rules need equal types."""
    return [lax.convert_element_type(v, v.dtype) for v in operands(name, *args)]


@custom_jvp
def _xlogx(x: Value) -> Value:
    return _xlogy(x, x)


@_xlogx.defjvp
def _xlogx_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return _xlogx(x), dx * (lax.log(x) + 1)


def entr(x: Any) -> Value:
    """Return ``-x * log(x)``, 0 at 0 and -inf for negative ``x``.

    >>> entr(1.0)
    Array(0., dtype=float32)
    """
    (x,) = _strong("entr", x)
    return jnp.where(x < 0, -jnp.inf, -_xlogx(jnp.maximum(x, 0))).astype(x.dtype)


def rel_entr(p: Any, q: Any) -> Value:
    """Return ``p * log(p / q)``, 0 where ``p`` is 0 and ``q`` is not negative, else inf."""
    p, q = _strong("rel_entr", p, q)
    both = (p > 0) & (q > 0)
    safe_p, safe_q = jnp.where(both, p, 1), jnp.where(both, q, 1)
    found = _xlogx(safe_p) - _xlogy(safe_p, safe_q)
    other = jnp.where((p == 0) & (q >= 0), 0, jnp.inf)
    return jnp.where(both, found, other).astype(p.dtype)


def kl_div(p: Any, q: Any) -> Value:
    """Return ``rel_entr(p, q) - p + q``, the terms of a Kullback-Leibler divergence."""
    p, q = _strong("kl_div", p, q)
    return rel_entr(p, q) - p + q


def boxcox(x: Any, lmbda: Any) -> Value:
    """Return the Box-Cox transform ``(x**lmbda - 1) / lmbda``, ``log(x)`` at 0."""
    x, power = operands("boxcox", x, lmbda)
    return _power_transform(lax.log(x), power)


def boxcox1p(x: Any, lmbda: Any) -> Value:
    """Return the Box-Cox transform of ``1 + x``."""
    x, power = operands("boxcox1p", x, lmbda)
    return _power_transform(lax.log1p(x), power)


def _power_transform(logarithm: Value, power: Value) -> Value:
    is_zero = power == 0
    safe = jnp.where(is_zero, 1, power)
    return jnp.where(is_zero, logarithm, lax.expm1(safe * logarithm) / safe).astype(power.dtype)
