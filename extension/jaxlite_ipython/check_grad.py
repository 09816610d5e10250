"""``--check-grad``: gradients against finite differences. In: a run. Out: a line each."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import jaxlite
from jaxlite import tree_util
from jaxlite.diagnose.check_gradient import GradientCheck, check_gradient
from jaxlite_ipython.cell import build_cell
from jaxlite_ipython.cell_transforms import CellOptions
from jaxlite_ipython.session import CellRun

__all__ = ["check_gradients"]


def check_gradients(run: CellRun, options: CellOptions, namespace: Mapping[str, Any]) -> str:
    """Return one line per gradient: that it is right, or where and how far it is not."""
    assert options.grad is not None
    if options.vmap:
        return "       --check-grad: gradients per example (--vmap) are not checked"
    cell, loss = run.prepared.cell, options.grad[0]
    scope = {**namespace, **dict(zip(cell.inputs, run.inputs, strict=True))}
    plain = dataclasses.replace(
        options, grad=None, outputs=(loss,), static=(*options.static, *cell.static)
    )
    function = build_cell(cell.source, scope, cell.filename, plain)
    leaves, tree = tree_util.tree_flatten(run.arguments)
    static = {i for i, n in enumerate(cell.inputs) if n in cell.static}
    owners = [i for i, a in enumerate(run.arguments) for _ in tree_util.tree_leaves(a)]

    def value(new: Sequence[Any]) -> Any:
        return jitted(*tree_util.tree_unflatten(tree, list(new)))[0][loss]

    jitted = jaxlite.jit(function.function, static_argnums=tuple(sorted(static)) or None)
    gradients, names = {}, {}
    for i, name in enumerate(cell.inputs):
        if f"d{name}" in run.outputs:
            numbers = [k for k, owner in enumerate(owners) if owner == i]
            parts = [g for g in tree_util.tree_leaves(run.outputs[f"d{name}"]) if is_array(g)]
            for k, g in zip(numbers, parts, strict=True):
                gradients[k], names[k] = np.asarray(g), f"d{name}"
    checks = check_gradient(value, leaves, gradients)
    lines: dict[str, list[GradientCheck]] = {}
    for k, check in checks.items():
        lines.setdefault(names[k], []).append(check)
    return "\n".join(f"       check {n}: {_verdict(found)}" for n, found in lines.items())


def is_array(x: Any) -> bool:
    """Say whether a leaf of a gradient is one (a text in a dict of settings is not)."""
    return hasattr(x, "dtype")


def _verdict(checks: list[GradientCheck]) -> str:
    worst = max(checks, key=lambda c: (not c.is_good, c.error))
    left_out = sum(c.n_elements - c.n_checked for c in checks)
    note = f" ({left_out} elements not looked at)" if left_out else ""
    if worst.is_good:
        return f"\N{CHECK MARK} {worst.error:.0e}{note}"
    where = f" at [{','.join(map(str, worst.index))}]" if worst.index else ""
    return (
        f"\N{BALLOT X} {worst.error:.2g}{where}: {worst.found:.4g}, "
        f"finite differences say {worst.expected:.4g}{note}"
    )
