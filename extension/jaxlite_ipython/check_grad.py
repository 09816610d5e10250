"""``--check-grad``: gradients against finite differences in float64. In: a cell. Out: a line each.

Up to 32 elements per input are moved by a small step, the others are taken to be as good: an error
in a rule shows everywhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

import jaxlite
from jaxlite import tree_util
from jaxlite_ipython.cell import CellFunction, build_cell
from jaxlite_ipython.cell_transforms import CellOptions
from jaxlite_ipython.kept import open_

__all__ = ["check_gradients"]

_SAMPLES = 32
_STEP = 1e-6
#: Relative difference up to which a gradient passes.
_TOLERANCE = 1e-4


def check_gradients(cell: CellFunction, options: CellOptions, namespace: Mapping[str, Any]) -> str:
    """Return one line per input: ``check dw1: ok 2e-09``, or the place and size of the error."""
    assert options.grad is not None
    loss = options.grad[0]
    with jaxlite.enable_x64(True):
        names = {n: as_float64(namespace[n]) for n in cell.inputs}
        scope = {**namespace, **names}
        plain = dataclasses.replace(options, grad=None, vmap=(), outputs=(loss,))
        with_grad = dataclasses.replace(options, vmap=(), outputs=())
        value_of = _function(build_cell(cell.source, scope, cell.filename, plain))
        grads = _function(build_cell(cell.source, scope, cell.filename, with_grad))(scope)
        lines = []
        for name, grad in grads.items():
            base = name.removeprefix("d")
            lines.append(_check_one(name, grad, base, scope, lambda s: float(value_of(s)[loss])))
    return "\n".join(f"       {line}" for line in lines)


def _function(cell: CellFunction) -> Any:
    jitted = jaxlite.jit(cell.function, static_argnames=cell.static or None)

    def call(scope: Mapping[str, Any]) -> dict[str, Any]:
        outputs: dict[str, Any] = open_(jitted(*cell.arguments(scope))[0])
        return outputs

    return call


def as_float64(value: Any) -> Any:
    """Return ``value`` with its floating-point arrays in float64."""

    def leaf(x: Any) -> Any:
        dtype = getattr(x, "dtype", None)
        if dtype is not None and jaxlite.numpy.issubdtype(dtype, np.floating):
            return np.asarray(x).astype(np.float64)
        return x

    return tree_util.tree_map(leaf, value)


def _check_one(name: str, grad: Any, base: str, scope: Mapping[str, Any], loss: Any) -> str:
    leaves, tree = tree_util.tree_flatten(scope[base])
    grads = tree_util.tree_leaves(grad)
    worst, place = 0.0, ""
    for k, (leaf, g) in enumerate(zip(leaves, grads, strict=True)):
        if not hasattr(g, "dtype"):
            continue
        array, expected = np.array(leaf, np.float64), np.asarray(g)
        scale = max(float(np.max(np.abs(expected), initial=0.0)), 1e-8)
        for at in _places(array):

            def moved(by: float, array: Any = array, at: Any = at, k: int = k) -> float:
                other = array.copy()
                other[at] += by
                values = [*leaves[:k], other, *leaves[k + 1 :]]
                return float(loss({**scope, base: tree_util.tree_unflatten(tree, values)}))

            step = _STEP * max(1.0, abs(float(array[at])))
            measured = (moved(step) - moved(-step)) / (2 * step)
            error = abs(measured - float(expected[at])) / max(scale, abs(measured))
            if not error <= worst:  # a NaN is the worst
                worst, place = error, "[" + ",".join(map(str, at)) + "]" if at else ""
    if worst <= _TOLERANCE:
        return f"check {name}: \N{CHECK MARK} {worst:.0e}"
    return f"check {name}: \N{BALLOT X} {worst:.2g} at {place or 'the value'}"


def _places(array: Any) -> list[tuple[int, ...]]:
    """Return up to 32 places, spread evenly."""
    if array.size <= _SAMPLES:
        return list(np.ndindex(array.shape))
    flat = np.linspace(0, array.size - 1, _SAMPLES).astype(int)
    return [tuple(int(i) for i in np.unravel_index(f, array.shape)) for f in flat]
