"""How two pytrees differ, in words. In: structures or types. Out: sentences of JAX's messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.key_paths import keystr
from jaxlite.language.pytree import flatten_one_level_with_keys, tree_unflatten
from jaxlite.language.treedef import PyTreeDef

__all__ = ["differing_parts", "kinds", "listed", "mismatch", "type_text"]


def type_text(aval: ShapedArray) -> str:
    """Return ``float32[3,4]``, the form of types in JAX's messages."""
    return f"{dtypes.name_of(aval.dtype)}[{','.join(map(str, aval.shape))}]"


def mismatch(a: ShapedArray, b: ShapedArray) -> str:
    """Return which of dtypes and shapes do not match, "" if both do."""
    differing = [("dtypes", a.dtype != b.dtype), ("shapes", a.shape != b.shape)]
    return ", and ".join(f"the {what} do not match" for what, is_so in differing if is_so)


def listed(lines: Sequence[str], article: str = "the") -> str:
    """Return sentences without their article and full stop as text: one, or a list of them."""
    words = f"{article} " if article else ""
    if len(lines) == 1:
        return f"{words.capitalize()}{lines[0]}."
    return ";\n".join(f"  * {words}{line}" for line in lines) + "."


def differing_parts(left: PyTreeDef, right: PyTreeDef) -> list[tuple[str, Any, Any]]:
    """Return path and both parts of the smallest subtrees whose nodes differ."""
    a = tree_unflatten(left, [_LEAF] * left.num_leaves)
    b = tree_unflatten(right, [_LEAF] * right.num_leaves)
    return list(_differing_parts(a, b, ""))


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


def kinds(a: Any, b: Any) -> tuple[str, str, str]:
    """Return what two parts are and why they differ."""
    if type(a) is not type(b):
        return _kind(a), _kind(b), "their Python types differ"
    if isinstance(a, tuple | list) and len(a) != len(b):
        kind = "tuple" if isinstance(a, tuple) else "list"
        left, right = (f"a {kind} of length {len(x)}" for x in (a, b))
        return left, right, "the lengths do not match"
    (kids_a, data_a), (kids_b, data_b) = (flatten_one_level_with_keys(x) for x in (a, b))
    n_a, n_b = len(list(kids_a)), len(list(kids_b))
    if n_a != n_b:
        why = "the numbers of children do not match"
        if isinstance(a, dict):
            why += f", with the symmetric difference of key sets: {set(a) ^ set(b)}"
        return f"a {type(a)} with {_children(n_a)}", f"a {type(b)} with {_children(n_b)}", why
    left, right = (
        f"a {type(a)} with pytree metadata {tuple(d) if isinstance(d, list) else d}"
        for d in (data_a, data_b)
    )
    return left, right, "the pytree node metadata does not match"


def _children(n: int) -> str:
    return f"{n} child" if n == 1 else f"{n} children"


def _kind(x: Any) -> str:
    return "a pytree leaf" if x is _LEAF else f"a {type(x)}"
