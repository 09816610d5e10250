"""``odeint``: ordinary differential equations. In: a function, a start, times. Out: the solution.

Dormand and Prince's method of order 5 with adaptive steps and dense output (Hairer, Norsett and
Wanner, Solving Ordinary Differential Equations I, II.4 to II.6). Reverse mode solves the adjoint
equation backwards (Chen et al. 2018, Neural Ordinary Differential Equations, appendix B).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.api.closures import closure_convert
from jaxlite.api.custom_derivatives import custom_vjp
from jaxlite.api.grad import vjp
from jaxlite.api.jit import jit
from jaxlite.api.vmap import vmap
from jaxlite.flatten_util import ravel_pytree
from jaxlite.language import dtypes
from jaxlite.language.pytree import tree_flatten, tree_unflatten

__all__ = ["odeint"]

#: Butcher's table: nodes, rows, and the difference between the methods of order 5 and 4.
_NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_ROWS: tuple[tuple[float, ...], ...] = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = np.array(
    [71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40], np.float64
)
#: Coefficients of the dense output.
_DENSE = np.array(
    [
        -12715105075 / 11282082432,
        0.0,
        87487479700 / 32700410799,
        -10690763975 / 1880347072,
        701980252875 / 199316789632,
        -1453857185 / 822651844,
        69997945 / 29380423,
    ],
    np.float64,
)
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0

Field = Callable[..., Any]  # (flat y, t, *args) -> flat dy/dt
Options = tuple[float, float, float, float]  # rtol, atol, mxstep, hmax


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = jnp.inf,
    hmax: float = jnp.inf,
) -> Any:
    """Return the solution of ``dy/dt = func(y, t, *args)``, ``y(t[0]) = y0`` at the times ``t``.

    Args:
      func: gives the slope, of the structure of ``y0``.
      y0: start, a pytree of float arrays.
      t: strictly increasing times, ``f32[n]``.
      *args: further arguments of ``func``; derivatives with respect to them are those of the
        adjoint equation.
      rtol: relative tolerance of a step.
      atol: absolute tolerance of a step.
      mxstep: steps at most between two times.
      hmax: size of a step at most.

    Returns:
      ``y0``'s structure with a leading axis of length ``n``.

    Raises:
      TypeError: an argument is no array.

    >>> import jaxlite.numpy as jnp
    >>> from jaxlite.experimental.ode import odeint
    >>> y = odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0]))
    >>> abs(float(y[1]) - 0.36787944) < 1e-6
    True
    """
    for x in tree_flatten(args)[0]:
        if not hasattr(x, "dtype") and not isinstance(x, bool | int | float | complex):
            raise TypeError(f"The contents of odeint *args must be arrays or scalars, but got {x}.")
    ts = jnp.asarray(t)
    ts = ts.astype(jnp.promote_types(ts.dtype, jnp.float32)) if ts.dtype.kind in "iub" else ts
    flat_y0, unravel = ravel_pytree(y0)
    leaves, tree = tree_flatten(args)
    leaves = [jnp.asarray(x) for x in leaves]

    def field(y: Any, time: Any, *values: Any) -> Any:
        slope = func(unravel(y), time, *tree_unflatten(tree, values))
        return ravel_pytree(slope)[0].astype(flat_y0.dtype)

    converted, consts = closure_convert(field, flat_y0, ts[0], *leaves)
    out = _solve(converted, (rtol, atol, mxstep, hmax), flat_y0, ts, *leaves, *consts)
    return vmap(unravel)(out)


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def _solve(field: Field, options: Options, y0: Any, ts: Any, *args: Any) -> Any:
    return jit(functools.partial(_integrate, field, options))(y0, ts, *args)


def _forward(field: Field, options: Options, y0: Any, ts: Any, *args: Any) -> Any:
    ys = _solve(field, options, y0, ts, *args)
    return ys, (ys, ts, args)


def _backward(field: Field, options: Options, residuals: Any, ct: Any) -> Any:
    """Solve for the cotangents backwards in time, from one time of the solution to the one before.

    With ``a = dL/dy`` along the solution, ``da/dt = -a df/dy`` and each argument's cotangent grows
    by ``a df/darg``.
    """
    ys, ts, args = residuals
    is_float = [bool(dtypes.issubdtype(x.dtype, np.inexact)) for x in args]
    floats = [x for x, f in zip(args, is_float, strict=True) if f]
    others = [x for x, f in zip(args, is_float, strict=True) if not f]

    def merged(given: Any) -> list[Any]:
        values, rest = iter(given), iter(others)
        return [next(values) if f else next(rest) for f in is_float]

    def slope(y: Any, t: Any, *given: Any) -> Any:
        return field(y, t, *merged(given))

    def adjoint(state: Any, minus_t: Any, *given: Any) -> Any:
        y, y_bar, *_ = state
        y_dot, pull = vjp(slope, y, -minus_t, *given)
        return (-y_dot, *pull(y_bar))

    rtol, atol, mxstep, hmax = options

    def step(carry: Any, i: Any) -> tuple[Any, Any]:
        y_bar, t0_bar, args_bar = carry
        t_bar = jnp.vdot(slope(ys[i], ts[i], *floats), ct[i]).real.astype(ts.dtype)
        start = (ys[i], y_bar, t0_bar - t_bar, *args_bar)
        times = jnp.stack([-ts[i], -ts[i - 1]])
        options_ = {"rtol": rtol, "atol": atol, "mxstep": mxstep, "hmax": hmax}
        end = odeint(adjoint, start, times, *floats, **options_)
        _, y_bar, t0_bar, *args_bar = [x[1] for x in end]
        return (y_bar + ct[i - 1], t0_bar, args_bar), t_bar

    zero = jnp.zeros((), ts.dtype)
    start = (ct[-1], zero, [jnp.zeros(x.shape, x.dtype) for x in floats])
    (y_bar, t0_bar, args_bar), t_bars = lax.scan(
        step, start, jnp.arange(len(ts) - 1, 0, -1, dtype=jnp.int32)
    )
    ts_bar = jnp.concatenate([t0_bar[None], t_bars[::-1]])
    given = iter(args_bar)
    return (y_bar, ts_bar, *[next(given) if f else None for f in is_float])


_solve.defvjp(_forward, _backward)


def _integrate(field: Field, options: Options, y0: Any, ts: Any, *args: Any) -> Any:
    """Return the flat solution at ``ts``, ``f32[n, size]``."""
    rtol, atol, mxstep, hmax = options

    def slope(y: Any, t: Any) -> Any:
        return field(y, t, *args)

    def advance(carry: Any) -> Any:
        i, y, f, t, dt, last_t, dense = carry
        slopes = _stages(slope, y, f, t, dt)
        new = y + dt.astype(y.dtype) * _weighted(_ROWS[6], slopes)
        error = dt.astype(y.dtype) * jnp.tensordot(_like(_ERROR, y), slopes, 1)
        ratio = _error_ratio(error, rtol, atol, y, new)
        next_dt = jnp.minimum(_next_size(dt, ratio), hmax)
        accepted = ratio <= 1.0
        kept = (i + 1, new, slopes[6], t + dt, next_dt, t, _dense(y, new, slopes, dt))
        old = (i + 1, y, f, t, next_dt, last_t, dense)
        return tuple([jnp.where(accepted, a, b) for a, b in zip(kept, old, strict=True)])

    def to_time(carry: Any, target: Any) -> tuple[Any, Any]:
        def goes_on(c: Any) -> Any:
            i, _, _, t, dt, *_ = c
            return (t < target) & (i < mxstep) & (dt > 0)

        zero = jnp.zeros((), jnp.float32)
        _, y, f, t, dt, last_t, dense = lax.while_loop(goes_on, advance, (zero, *carry))
        theta = ((target - last_t) / jnp.where(t == last_t, 1, t - last_t)).astype(y.dtype)
        return (y, f, t, dt, last_t, dense), _interpolated(dense, theta)

    f0 = slope(y0, ts[0])
    dt = jnp.clip(_first_size(slope, ts[0], y0, f0, rtol, atol), 0.0, hmax).astype(ts.dtype)
    start = (y0, f0, ts[0], dt, ts[0], jnp.stack([y0] + [jnp.zeros_like(y0)] * 4))
    _, ys = lax.scan(to_time, start, ts[1:])
    return jnp.concatenate([y0[None], ys])


def _like(table: Any, y: Any) -> Any:
    """Return real coefficients in the precision of ``y``."""
    return jnp.asarray(table.astype(np.dtype(y.real.dtype).type)).astype(y.dtype)


def _weighted(row: tuple[float, ...], slopes: Any) -> Any:
    return jnp.tensordot(_like(np.array(row), slopes), slopes[: len(row)], 1)


def _stages(slope: Callable[[Any, Any], Any], y: Any, f: Any, t: Any, dt: Any) -> Any:
    """Return the seven slopes of a step; the first is the last of the step before."""
    slopes = f[None]
    for node, row in zip(_NODES[1:], _ROWS[1:], strict=True):
        inner = y + dt.astype(y.dtype) * _weighted(row, slopes)
        slopes = jnp.concatenate([slopes, slope(inner, t + node * dt)[None]])
    return slopes


def _error_ratio(error: Any, rtol: float, atol: float, y: Any, new: Any) -> Any:
    """Return the error as a multiple of the tolerance (root mean square)."""
    tolerance = atol + rtol * jnp.maximum(jnp.abs(y), jnp.abs(new))
    return jnp.sqrt(jnp.mean(jnp.square(jnp.abs(error / tolerance))))


def _next_size(dt: Any, ratio: Any) -> Any:
    lowest = jnp.where(ratio < 1, 1.0, _SHRINK)  # a step that was good is not made smaller
    factor = _SAFETY * jnp.maximum(ratio, 1e-10) ** (-1 / 5)
    return (dt * jnp.clip(factor, lowest, _GROW)).astype(dt.dtype)


def _dense(y: Any, new: Any, slopes: Any, dt: Any) -> Any:
    """Return the five coefficients of the polynomial between the ends of a step."""
    h = dt.astype(y.dtype)
    rise = new - y
    bend = h * slopes[0] - rise
    last = h * jnp.tensordot(_like(_DENSE, y), slopes, 1)
    return jnp.stack([y, rise, bend, rise - h * slopes[6] - bend, last])


def _interpolated(dense: Any, theta: Any) -> Any:
    a, b, c, d, e = dense
    rest = 1 - theta
    return a + theta * (b + rest * (c + theta * (d + rest * e)))


def _first_size(
    slope: Callable[[Any, Any], Any], t: Any, y: Any, f: Any, rtol: float, atol: float
) -> Any:
    """Return a first step from the size of the solution and its first two derivatives (II.4)."""
    scale = atol + jnp.abs(y) * rtol
    d0, d1 = jnp.linalg.norm(y / scale), jnp.linalg.norm(f / scale)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
    ahead = slope(y + h0.astype(y.dtype) * f, t + h0.astype(t.dtype))
    d2 = jnp.linalg.norm((ahead - f) / scale) / h0
    largest = jnp.maximum(d1, d2)
    h1 = jnp.where(largest <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / largest) ** (1 / 5))
    return jnp.minimum(100.0 * h0, h1)
