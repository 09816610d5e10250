"""The carry of a loop must keep its type. In: a traced body.

Out: nothing, or the error that says which part.

A weakly typed start (a Python number) is promoted to what the body returns, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxlite.api.arguments import FlatFunction, positional_names
from jaxlite.api.control_flow import type_text
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.key_paths import keystr
from jaxlite.language.pytree import (
    flatten_one_level_with_keys,
    tree_flatten_with_path,
    tree_unflatten,
)
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
            f"differ:\n\n{_listed(lines)}\n\n"
            "Revise the function so that all output types match the corresponding input types."
            f"\n  Fix: {_fix(leaves, body.out_avals)}"
        )


def _listed(lines: Sequence[str]) -> str:
    """Return sentences without their first word and full stop as text: one, or a list of them."""
    if len(lines) == 1:
        return f"The {lines[0]}."
    return ";\n".join(f"  * the {line}" for line in lines) + "."


def _carry_name(flat: FlatFunction) -> str:
    names = positional_names(flat.fun, 2)
    return names[0] if names else "loop_carry"


def _difference(name: str, path: str, aval: ShapedArray, out: ShapedArray) -> str:
    part = f"component {name}{path}" if path else name
    differing = [("dtypes", aval.dtype != out.dtype), ("shapes", aval.shape != out.shape)]
    reasons = ", and ".join(f"the {what} do not match" for what, is_so in differing if is_so)
    return (
        f"input carry {part} has type {type_text(aval)} but the corresponding output carry "
        f"component has type {type_text(out)}, so {reasons}"
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
    start = tree_unflatten(in_tree, [_LEAF] * in_tree.num_leaves)
    end = tree_unflatten(out_tree, [_LEAF] * out_tree.num_leaves)
    found = list(_differing_parts(start, end, ""))
    return _listed([_part_difference(name, path, a, b) for path, a, b in found])


_LEAF = object()


def _differing_parts(a: Any, b: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield path and both parts of the smallest subtrees whose nodes differ."""
    if a is _LEAF and b is _LEAF:
        return
    if a is _LEAF or b is _LEAF or type(a) is not type(b) or a is None:
        if a is not None or b is not None:
            yield path, a, b
        return
    left, a_data = flatten_one_level_with_keys(a)
    right, b_data = flatten_one_level_with_keys(b)
    left, right = list(left), list(right)
    if len(left) != len(right) or a_data != b_data:
        yield path, a, b
        return
    for (key, x), (_, y) in zip(left, right, strict=True):
        yield from _differing_parts(x, y, path + keystr((key,)))


def _part_difference(name: str, path: str, a: Any, b: Any) -> str:
    part = f"component {name}{path}" if path else name
    if type(a) is not type(b):
        left, right, why = _kind(a), _kind(b), "their Python types differ"
    elif isinstance(a, tuple | list) and len(a) != len(b):
        kind = "tuple" if isinstance(a, tuple) else "list"
        left, right = (f"a {kind} of length {len(x)}" for x in (a, b))
        why = "the lengths do not match"
    else:
        (kids_a, data_a), (kids_b, data_b) = (flatten_one_level_with_keys(x) for x in (a, b))
        n_a, n_b = len(list(kids_a)), len(list(kids_b))
        if n_a != n_b:
            left, right = (f"a {type(a)} with {_children(n)}" for n in (n_a, n_b))
            why = "the numbers of children do not match"
            if isinstance(a, dict):
                why += f", with the symmetric difference of key sets: {set(a) ^ set(b)}"
        else:
            shown = [tuple(d) if isinstance(d, list) else d for d in (data_a, data_b)]
            left, right = (f"a {type(a)} with pytree metadata {d}" for d in shown)
            why = "the pytree node metadata does not match"
    return (
        f"input carry {part} is {left} but the corresponding component of the carry output is "
        f"{right}, so {why}"
    )


def _children(n: int) -> str:
    return f"{n} child" if n == 1 else f"{n} children"


def _kind(x: Any) -> str:
    return "a pytree leaf" if x is _LEAF else f"a {type(x)}"
