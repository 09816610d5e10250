"""Looking at values while a compiled program runs: ``callback`` and ``print``. In: values.

An ordinary ``print`` in a jitted function runs once, while tracing; these run at every call.
"""

from __future__ import annotations

import builtins
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.higher_order.debug_callback import debug_callback_p
from jaxlite.language.array import Array, asarray_eager
from jaxlite.language.pytree import tree_flatten, tree_unflatten

__all__ = ["callback", "print"]


def callback(
    callback: Callable[..., Any],
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> None:
    """Call ``callback(*args, **kwargs)`` whenever the program runs; what it returns is dropped.

    Args:
      callback: a function of NumPy arrays in the structure of the arguments.
      *args: arrays, numbers, other values, and containers of them.
      ordered: accepted as in JAX; calls are always in the order of the program.
      partitioned: accepted as in JAX.
      **kwargs: the same, by name.

    Raises:
      TypeError: ``callback`` is not callable.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> seen = []
    >>> f = jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(float(v)), x) or x + 1)
    >>> _ = f(1.0), f(2.0)
    >>> seen
    [1.0, 2.0]
    """
    if not callable(callback):
        raise TypeError(
            "first argument to jax.debug.callback must be callable, but got an object of type "
            f"{type(callback)}"
        )
    leaves, tree = tree_flatten((args, kwargs))
    places = [i for i, x in enumerate(leaves) if _is_array(x)]
    operands = [leaves[i] for i in places]
    rest = [None if i in places else x for i, x in enumerate(leaves)]

    def call(*arrays: Any) -> None:
        full = list(rest)
        for i, a in zip(places, arrays, strict=True):
            full[i] = a
        given, named = tree_unflatten(tree, full)
        callback(*given, **named)

    debug_callback_p.bind_all(
        *[x if isinstance(x, Array) else asarray_eager(x) for x in operands],
        callback=call,
        ordered=ordered,
    )


def _is_array(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind not in "OSUmM"
    return isinstance(x, Array | int | float | complex | np.generic) and not isinstance(x, str)


def print(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print ``fmt.format(*args, **kwargs)`` whenever the program runs.

    Args:
      fmt: a format string, not an f-string: an f-string would be made while tracing.
      *args: values for its fields.
      ordered: accepted as in JAX; lines are always in the order of the program.
      partitioned: accepted as in JAX.
      skip_format_check: do not check that the fields and values fit.
      **kwargs: values for its named fields.

    Raises:
      TypeError: ``fmt`` is no text. IndexError, KeyError: a field has no value.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> f = jax.jit(lambda x: jax.debug.print("x = {}", x) or x * 2)
    >>> _ = f(jnp.arange(3.0))
    x = [0. 1. 2.]
    """
    if not isinstance(fmt, str):
        raise TypeError(
            f'expected str, got {type(fmt).__name__}\n  Fix: jax.debug.print("{{}}", x).'
        )
    if not skip_format_check:
        _Check().vformat(fmt, args, kwargs)

    def show(*values: Any, **named: Any) -> None:
        builtins.print(fmt.format(*values, **named), flush=True)

    callback(show, *args, ordered=ordered, partitioned=partitioned, **kwargs)


class _Check(string.Formatter):
    """Looks up every field without making text of values that are not known yet."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return nothing: only the look-up counts."""
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Return the value as it is."""
        return value
