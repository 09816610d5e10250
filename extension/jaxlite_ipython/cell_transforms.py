"""``--grad`` and ``--vmap``. In: the function of a cell. Out: one that also returns gradients.

The gradient is taken of one example, the map goes around it: ``--vmap x:0 --grad loss:w`` gives a
gradient per example.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import jaxlite
from jaxlite import tree_util
from jaxlite.errors import CellError, located
from jaxlite_ipython.kept import STATIC_TYPES

__all__ = ["CellOptions", "transformed"]


@dataclass(frozen=True)
class CellOptions:
    """What the ``%%jit`` line asks for about names.

    ``inputs`` and ``outputs`` are None for "find out"; ``grad`` is the name of the loss and the
    names to differentiate by (empty: all of floating point), ``vmap`` pairs of name and axis.
    """

    inputs: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None
    static: tuple[str, ...] = ()
    grad: tuple[str, tuple[str, ...]] | None = None
    vmap: tuple[tuple[str, int], ...] = ()
    fuse: str = "auto"
    max_traces: int | None = None


def transformed(
    cell: Callable[..., Any],
    inputs: tuple[str, ...],
    static: frozenset[str],
    namespace: Mapping[str, Any],
    options: CellOptions,
    outputs: tuple[str, ...],
) -> Callable[..., Any]:
    """Return the function of a cell with what ``--grad`` and ``--vmap`` ask for around it.

    Raises:
      CellError: an option names what is no traced input of the cell.
    """
    traced = [n for n in inputs if n not in static]
    if options.grad is not None:
        loss, by = options.grad
        by = by or tuple(n for n in traced if _is_floating(namespace[n]))
        _check(f"--grad {loss}:{','.join(by)}", by, traced)
        if not by:
            text = f"--grad {loss}: the cell has no input of floating point"
            raise located(CellError(f"{text}\n  Fix: make an input float, x * 1.0."), "JL013")
        cell = _with_grad(cell, inputs, loss, by, loss in outputs)
    if options.vmap:
        axes = dict(options.vmap)
        _check(f"--vmap {next(iter(axes))}", axes, traced)
        cell = _with_vmap(cell, inputs, static, axes)
    return cell


def _check(option: str, names: Any, traced: list[str]) -> None:
    for name in names:
        if name not in traced:
            raise located(
                CellError(
                    f"{option}: {name} is no traced input of the cell\n"
                    f"  Fix: choose from {', '.join(traced) or 'nothing: it has no inputs'}."
                ),
                "JL013",
            )


def _is_floating(value: Any) -> bool:
    leaves = [x for x in tree_util.tree_leaves(value) if not isinstance(x, STATIC_TYPES)]
    return bool(leaves) and all(map(_is_inexact, leaves))


def _is_inexact(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return isinstance(x, float | complex)
    return bool(jaxlite.numpy.issubdtype(dtype, np.inexact))


def _with_grad(
    cell: Callable[..., Any], inputs: tuple[str, ...], loss: str, by: tuple[str, ...], kept: bool
) -> Callable[..., Any]:
    places = [inputs.index(n) for n in by]

    @functools.wraps(cell)
    def with_grad(*args: Any) -> Any:
        def loss_of(*chosen: Any) -> Any:
            full = list(args)
            for place, value in zip(places, chosen, strict=True):
                full[place] = value
            outs, value = cell(*full)
            return outs[loss], (outs, value)

        chosen = [args[p] for p in places]
        by_all = tuple(range(len(places)))
        grads, (outs, value) = jaxlite.grad(loss_of, by_all, has_aux=True)(*chosen)
        outs = {n: v for n, v in outs.items() if kept or n != loss}
        return {**outs, **{f"d{n}": g for n, g in zip(by, grads, strict=True)}}, value

    return with_grad


def _with_vmap(
    cell: Callable[..., Any], inputs: tuple[str, ...], static: frozenset[str], axes: dict[str, int]
) -> Callable[..., Any]:
    dynamic = [i for i, n in enumerate(inputs) if n not in static]
    in_axes = tuple(axes.get(inputs[i]) for i in dynamic)

    @functools.wraps(cell)
    def with_vmap(*args: Any) -> Any:
        def one(*values: Any) -> Any:
            full = list(args)
            for i, value in zip(dynamic, values, strict=True):
                full[i] = value
            return cell(*full)

        return jaxlite.vmap(one, in_axes)(*[args[i] for i in dynamic])

    return with_vmap
