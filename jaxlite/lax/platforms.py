"""``lax`` functions that speak to a compiler. In: functions, values. Out: their results."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.api.control_flow import switch
from jaxlite.api.device import default_backend
from jaxlite.api.jit import jit
from jaxlite.language.array import Value
from jaxlite.language.pytree import tree_map
from jaxlite.lax.barriers import optimization_barrier
from jaxlite.lax.operands import as_array

__all__ = ["composite", "dce_sink", "platform_dependent", "stage"]

_GPU = ("cuda", "gpu", "rocm")


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Return ``decomposition`` as an operation called ``name``: one call in the jaxpr.

    Args:
        decomposition: what the operation computes.
        name: its name.
        version: a number for the reader; nothing here depends on it.

    Returns:
        A function of arrays (by position) and of static attributes (by keyword).

    Example:
        >>> import jaxlite.numpy as jnp
        >>> tangent = composite(lambda x: jnp.sin(x) / jnp.cos(x), name="my.tangent")
        >>> float(tangent(0.0))
        0.0
    """

    @functools.wraps(decomposition)
    def call(*args: Any, **attributes: Any) -> Any:
        def named(*values: Any) -> Any:
            return decomposition(*values, **attributes)

        named.__name__ = named.__qualname__ = str(name)
        return jit(named)(*args)

    return call


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Return ``per_platform[platform](*args)`` for the platform of the default device.

    All functions are traced, and their results must have the same structure and types.

    Args:
        *args: arguments of the functions.
        default: for platforms that are not named.
        **per_platform: functions for "cpu", "cuda", "rocm", "tpu".

    Raises:
        TypeError: one of them is no function, or the results' types differ.
        NotImplementedError: there is no function for this platform.

    Example:
        >>> platform_dependent(1.0, cpu=lambda x: x + 1, default=lambda x: x).tolist()
        2.0
    """
    branches = dict(per_platform)
    for label, branch in branches.items():
        if not callable(branch):
            raise TypeError(
                f"lax.platform_dependent: the '{label}' branch must be a callable.\n"
                f"  Got {branch!r}."
            )
    if default is not None and not callable(default):
        raise TypeError("lax.platform_dependent: the default branch must be a callable.")
    platform = default_backend()
    names = _GPU if platform in _GPU else (platform,)
    chosen = next((i for i, label in enumerate(branches) if label in names), None)
    functions = list(branches.values())
    if chosen is None and default is None:
        listed = tuple((label,) for label in branches)
        raise NotImplementedError(
            f"MLIR translation rule for primitive 'platform_index(platforms={listed})' not found "
            f"for platform {platform}\n  Fix: give a branch {platform}=... or default=..."
        )
    if default is not None:
        functions.append(default)
    index = len(functions) - 1 if chosen is None else chosen
    return switch(np.int32(index), functions, *args)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Use ``val`` (an array or a pytree), so that a reader of the jaxpr sees it computed."""
    optimization_barrier(val)


def stage(x: Any, /) -> Value:
    """Return ``x`` as an array, or as a tracer of the transformation around.

    Example:
        >>> stage(3)
        Array(3, dtype=int32, weak_type=True)
    """
    staged: Value = tree_map(lambda leaf: as_array(leaf, "stage"), x)
    return staged
