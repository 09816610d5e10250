"""The carry of a loop must keep its type. In: a traced body.

Out: nothing, or the error that says which part.

A weakly typed start (a Python number) is promoted to what the body returns, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.api.arguments import FlatFunction, positional_names
from jaxlite.api.differences import differing_parts, kinds, listed, mismatch, type_text
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.key_paths import keystr
from jaxlite.language.pytree import tree_flatten_with_path, tree_unflatten
from jaxlite.language.trace import get_aval
from jaxlite.language.treedef import PyTreeDef
from jaxlite.primitives.families import ops

__all__ = ["check_carry", "promote_weak_carry"]


def promote_weak_carry(
    trace: Callable[[list[Any]], tuple[ClosedJaxpr, PyTreeDef, FlatFunction]],
    leaves: list[Any],
    n_carry: int,
) -> tuple[list[Any], ClosedJaxpr, FlatFunction]:
    """Trace the body.

    Where the start is weak and the result is not, start from the result's dtype instead.
    """
    body, _, flat = trace(leaves)
    outs = body.out_avals[:n_carry]
    if len(outs) != n_carry:
        return leaves, body, flat
    changed = False
    promoted = []
    for x, out in zip(leaves, outs, strict=True):
        aval = get_aval(x)
        if aval.weak_type and aval.dtype != out.dtype:
            dtype, weak = dtypes.promote_pair(aval.dtype, True, out.dtype, out.weak_type)
            x = ops.convert_element_type(x, dtype, weak)
            changed = True
        promoted.append(x)
    if not changed:
        return leaves, body, flat
    body, _, flat = trace(promoted)
    return promoted, body, flat


def check_carry(
    what: str,
    flat: FlatFunction,
    in_tree: PyTreeDef,
    body: ClosedJaxpr,
    n_carry: int,
    leaves: Sequence[Any],
    out_tree: PyTreeDef | None,
) -> None:
    """Raise TypeError if the body's carry differs from the start in structure, shapes or dtypes."""
    title = "while_loop body function" if what == "while_loop" else "scan body function"
    name = _carry_name(flat)
    if out_tree != in_tree:
        raise TypeError(
            f"{title} carry input and carry output must have the same pytree structure, but they "
            "differ:\n\n"
            f"{_structure_difference(name, in_tree, out_tree)}\n\n"
            "Revise the function so that the carry output has the same pytree structure as the "
            "carry input."
        )
    marks = tree_unflatten(in_tree, list(range(n_carry)))
    paths = [keystr(p) for p, _ in tree_flatten_with_path(marks)[0]]
    lines = []
    for x, out, path in zip(leaves, body.out_avals[:n_carry], paths, strict=True):
        aval = get_aval(x)
        if (aval.shape, aval.dtype) != (out.shape, out.dtype):
            lines.append(_difference(name, path, aval, out))
    if lines:
        raise TypeError(
            f"{title} carry input and carry output must have equal types, but they "
            f"differ:\n\n{listed(lines)}\n\n"
            "Revise the function so that all output types match the corresponding input types."
            f"\n  Fix: {_fix(leaves, body.out_avals)}"
        )


def _carry_name(flat: FlatFunction) -> str:
    names = positional_names(flat.fun, 2)
    return names[0] if names else "loop_carry"


def _difference(name: str, path: str, aval: ShapedArray, out: ShapedArray) -> str:
    part = f"component {name}{path}" if path else name
    return (
        f"input carry {part} has type {type_text(aval)} but the corresponding output carry "
        f"component has type {type_text(out)}, so {mismatch(aval, out)}"
    )


def _fix(leaves: Sequence[Any], outs: Sequence[ShapedArray]) -> str:
    for x, out in zip(leaves, outs, strict=False):
        aval = get_aval(x)
        if aval.shape != out.shape:
            return (
                f"start from an array of shape {out.shape}, "
                f"or reduce the result to shape {aval.shape}."
            )
        if aval.dtype != out.dtype:
            start = (
                "0.0"
                if dtypes.kind_of(out.dtype) == "f"
                else f"an array of dtype {dtypes.name_of(out.dtype)}"
            )
            return (
                f"start with {start}, or end the body with .astype({dtypes.name_of(aval.dtype)!r})."
            )
    return "return the carry with the types it came in with."


def _structure_difference(name: str, in_tree: PyTreeDef, out_tree: PyTreeDef | None) -> str:
    """Say where two structures differ: only the parts that do, by path."""
    assert out_tree is not None
    lines = []
    for path, a, b in differing_parts(in_tree, out_tree):
        left, right, why = kinds(a, b)
        part = f"component {name}{path}" if path else name
        lines.append(
            f"input carry {part} is {left} but the corresponding component of the carry output is "
            f"{right}, so {why}"
        )
    return listed(lines)
