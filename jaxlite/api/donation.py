"""Donated arguments. In: which ones, and the arrays of one call. Out: they are deleted after it.

A caller that donates an argument promises not to use it again. Its memory is free for the next
result of that size, so a training loop holds one copy of its parameters. As in JAX an array is
taken only if a result of its size can use its memory; for others there is a warning.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.api.static_arguments import StaticSpec
from jaxlite.errors import JaxRuntimeError
from jaxlite.language.array import ArrayImpl, DeviceArray
from jaxlite.language.jaxpr import ClosedJaxpr, Var
from jaxlite.language.pytree import tree_flatten

__all__ = ["donated_leaves", "giving_away", "taken"]

_DATA = (ArrayImpl, DeviceArray)


def donated_leaves(
    donated: StaticSpec, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[bool, ...]:
    """Return for every leaf of ``(args, kwargs)`` whether its argument is donated.

    Static arguments are None and have no leaves. As in JAX no position counts from the end.
    """
    flags: list[bool] = []
    for i, arg in enumerate(args):
        flags += [i in donated.nums] * len(tree_flatten(arg)[0])
    for name in sorted(kwargs):
        flags += [name in donated.names] * len(tree_flatten(kwargs[name])[0])
    return tuple(flags)


def taken(closed: ClosedJaxpr, donated: Sequence[bool], keep_unused: bool) -> tuple[int, ...]:
    """Return the positions of the donated inputs that a result of the same size can use.

    Warns about inputs that the program reads but no result can use. What it does not read stays
    the caller's, unless ``keep_unused``.
    """
    room = Counter(a.nbytes for a in closed.out_avals)
    needed = _needed(closed)
    used, unusable = [], []
    for i, (var, given) in enumerate(zip(closed.jaxpr.invars, donated, strict=True)):
        if not given or not (keep_unused or var in needed):
            continue
        if room[var.aval.nbytes]:
            room[var.aval.nbytes] -= 1
            used.append(i)
        else:
            shape = ",".join(str(d) for d in var.aval.shape)
            unusable.append(f"{var.aval.dtype}[{shape}]")
    if unusable:
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(unusable)}.\n"
            "  No result has the size of these arguments, so they are not deleted.\n"
            "  Fix: donate only what the function returns a new version of.",
            stacklevel=2,
        )
    return tuple(used)


def _needed(closed: ClosedJaxpr) -> set[Var]:
    """Return the variables that the results and effects depend on."""
    needed = {a for a in closed.jaxpr.outvars if isinstance(a, Var)}
    for eqn in reversed(closed.jaxpr.eqns):
        if eqn.effects or any(v in needed for v in eqn.outvars):
            needed.update(a for a in eqn.invars if isinstance(a, Var))
    return needed


def giving_away(
    run: Callable[[Sequence[Any]], Any], positions: Sequence[int]
) -> Callable[[Sequence[Any]], Any]:
    """Return ``run`` on leaves that deletes the arrays at ``positions`` afterwards."""

    def call(leaves: Sequence[Any]) -> Any:
        given = [(i, leaves[i]) for i in positions if type(leaves[i]) in _DATA]
        for i, array in given:
            for k, other in enumerate(leaves):
                if k != i and type(other) in _DATA and other._data is array._data:
                    raise _used_twice(min(i, k), max(i, k), k in positions)
        out = run(leaves)
        for _, array in given:
            array.delete()
        return out

    return call


def _used_twice(first: int, second: int, both: bool) -> JaxRuntimeError:
    fault = (
        "Attempt to donate the same buffer twice in Execute()"
        if both
        else "Attempt to use a buffer that was previously donated in the same call to Execute()"
    )
    return JaxRuntimeError(
        f"INVALID_ARGUMENT: {fault} (flattened argument {second}, replica 0, partition 0, "
        f"first use: {first}).\n"
        "  One array is passed twice, and at least one of these arguments is donated.\n"
        "  Fix: pass a copy, jnp.array(x), or do not donate the argument."
    )
