"""Choosing between values. In: conditions and alternatives. Out: one array, elementwise.

``where`` computes both alternatives and selects; ``choose`` is its strict core, used all over
``numpy``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax.operands import constant
from jaxlite.numpy.promotion import (
    as_operand,
    bind_broadcast,
    broadcast_value,
    check_arraylike,
    promote,
    promote_all,
    retype,
    select_broadcast,
)
from jaxlite.primitives.arithmetic import max_p, min_p
from jaxlite.primitives.comparison import ne_p

__all__ = ["choose_between", "clip", "piecewise", "select", "truth"]

_BOOL = np.dtype(np.bool_)


def truth(x: Value) -> Value:
    """Return whether elements differ from 0: ``T[*s] -> bool[*s]``."""
    return x if x.aval.dtype == _BOOL else ne_p.bind(x, constant(0, x.aval.dtype, x.aval.weak_type))


def choose_between(condition: Value, x: Value, y: Value, name: str = "where") -> Value:
    """Return ``x`` where ``condition`` (bool) holds, else ``y``; ``x`` and ``y`` have one dtype."""
    return select_broadcast(condition, y, x, name)


def where_three(condition: Any, x: Any, y: Any) -> Value:
    """Return ``jnp.where`` of three arguments."""
    check_arraylike("where", condition, x, y)
    condition = truth(as_operand("where", condition))
    x, y = promote_all("where", x, y)
    return choose_between(condition, x, y)


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Value:
    """Return elements raised to at least ``min``, then lowered to at most ``max``.

    Args:
        arr: ``T[*s]``, real.
        min: lower bounds or None, broadcast against ``arr``.
        max: upper bounds or None.

    Raises:
        ValueError: a complex argument.

    Example:
        >>> clip(np.array([-1, 0, 3]), 0, 2)
        Array([0, 0, 2], dtype=int32)
    """
    given = [a for a in (arr, min, max) if a is not None]
    check_arraylike("clip", *given)
    if any(dtypes.kind_of(dtypes.dtype(a)) == "c" for a in given):
        raise ValueError(
            "Clip received a complex value either through the input or the min/max keywords. "
            "Complex values have no ordering and cannot be clipped. Please convert to a real value "
            "or "
            "array by taking the real or imaginary components via jax.numpy.real/imag respectively."
        )
    out = as_operand("clip", arr)
    if min is not None:
        low, out = promote("clip", min, out)
        out = bind_broadcast(max_p, "clip", low, out)
    if max is not None:
        high, out = promote("clip", max, out)
        out = bind_broadcast(min_p, "clip", high, out)
    return out


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Value:
    """Return, elementwise, the choice of the first condition that holds, else ``default``.

    Example:
        >>> x = np.arange(4)
        >>> select([x < 1, x > 2], [x + 10, x * 10], -1)
        Array([10, -1, -1, 30], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    *choices, out = promote_all("select", *choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        out = choose_between(truth(as_operand("select", condition)), choice, out, "select")
    return out


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Value:
    """Return ``funclist[k](x)`` where ``condlist[k]`` holds (the last that does), elementwise.

    Args:
        x: ``T[*s]``.
        condlist: conditions of shape ``[*s]``.
        funclist: functions or constants, one per condition, and maybe one for the rest (0).
        args: further arguments of the functions.
        kw: further keyword arguments of the functions.

    Raises:
        ValueError: the numbers of conditions and functions do not fit.

    Example:
        >>> x = np.float32([-2, 0, 3])
        >>> piecewise(x, [x < 0, x > 1], [lambda v: -v, lambda v: v * v])
        Array([2., 0., 9.], dtype=float32)
    """
    value = as_operand("piecewise", x)
    conditions = [truth(as_operand("piecewise", c, 1)) for c in _conditions(condlist)]
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    elif len(functions) != len(conditions) + 1:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected; got {len(functions)}"
        )
    results = [_apply(f, value, args, kw) for f in functions]
    out = results[-1]
    for condition, result in zip(conditions, results):
        out = choose_between(condition, result, out, "piecewise")
    return broadcast_value(out, value.aval.shape) if out.aval.shape == () else out


def _conditions(condlist: Any) -> list[Any]:
    if hasattr(condlist, "ndim"):
        return list(condlist) if condlist.ndim > 1 else [condlist]
    conditions = list(condlist)
    if conditions and isinstance(conditions[0], bool | np.bool_):
        return [np.asarray(conditions)]
    return conditions


def _apply(function: Callable[..., Any] | Any, x: Value, args: Any, kw: Any) -> Value:
    result = function(x, *args, **kw) if callable(function) else function
    (out,) = promote_all("piecewise", result)
    return retype(out, x.aval.dtype)
