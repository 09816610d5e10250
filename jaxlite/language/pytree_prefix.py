"""Is one pytree a prefix of another? In: two trees. Out: leaves repeated, or where they differ.

``in_axes=(0, None)`` is a prefix of ``(x, {"w": w, "b": b})``: each leaf stands for a subtree.
"""

import difflib
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from jaxlite.language.key_paths import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, keystr
from jaxlite.language.node_types import NodeType, node_type_of
from jaxlite.language.treedef import LEAF, IsLeaf, PyTreeDef, flatten

__all__ = ["broadcast_prefix", "flatten_axes", "prefix_errors"]


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None
) -> list[Callable[[str], ValueError]]:
    """Return a function ``name of the prefix -> ValueError`` per place where the trees differ."""
    return list(_differences((), prefix_tree, full_tree, is_leaf))


def _differences(
    path: tuple[Any, ...], prefix: Any, full: Any, is_leaf: IsLeaf | None
) -> Iterator[Callable[[str], ValueError]]:
    node_type = None if is_leaf is not None and is_leaf(prefix) else node_type_of(prefix)
    if node_type is None:
        return
    if type(prefix) is not type(full):
        yield _error(
            "different types",
            path,
            "the prefix pytree {name} has a subtree of type\n"
            f"    {type(prefix)}\n"
            "but at the same key path the full pytree has a subtree of different type\n"
            f"    {type(full)}.",
        )
        return
    prefix_kids, prefix_data = node_type.children_with_keys(prefix)
    full_kids, full_data = node_type.children_with_keys(full)
    if len(prefix_kids) != len(full_kids):
        yield _length_error(path, node_type, prefix_kids, full_kids)
        return
    if not (prefix_data is full_data or bool(prefix_data == full_data)):
        yield _data_error(path, node_type, str(prefix_data), str(full_data))
        return
    for (key, prefix_kid), (_, full_kid) in zip(prefix_kids, full_kids):
        yield from _differences((*path, key), prefix_kid, full_kid, is_leaf)


def _error(problem: str, path: tuple[Any, ...], text: str) -> Callable[[str], ValueError]:
    def error(name: str) -> ValueError:
        return ValueError(
            f"pytree structure error: {problem} at key path\n    {name}{keystr(path)}\n"
            f"At that key path, {text.replace('{name}', name, 1)}"
        )

    return error


def _length_error(
    path: tuple[Any, ...], node_type: NodeType, prefix_kids: list[Any], full_kids: list[Any]
) -> Callable[[str], ValueError]:
    if node_type.type in (list, tuple):
        word = node_type.label
        return _error(
            f"different lengths of {word}",
            path,
            f"the prefix pytree {{name}} has a subtree of type {word} of length "
            f"{len(prefix_kids)}, "
            f"but the full pytree has a subtree of the same type but of length {len(full_kids)}.",
        )
    prefix_names = [_plain(key) for key, _ in prefix_kids]
    full_names = [_plain(key) for key, _ in full_kids]
    odd = [n for n in prefix_names if n not in full_names]
    odd += [n for n in full_names if n not in prefix_names]
    return _error(
        "different numbers of pytree children",
        path,
        "the prefix pytree {name} has a subtree of type\n"
        f"    {node_type.type}\n"
        f"with {len(prefix_names)} child keys\n"
        f"    {' '.join(map(str, prefix_names))}\n"
        f"but at the same key path the full pytree has a subtree of the same type but with "
        f"{len(full_names)} child keys\n"
        f"    {' '.join(map(str, full_names))}\n"
        "so the symmetric difference on key sets is\n"
        f"    {' '.join(map(str, odd))}",
    )


def _plain(key: Any) -> Any:
    match key:
        case SequenceKey(plain) | DictKey(plain) | GetAttrKey(plain) | FlattenedIndexKey(plain):
            return plain
    return key


def _data_error(
    path: tuple[Any, ...], node_type: NodeType, prefix_data: str, full_data: str
) -> Callable[[str], ValueError]:
    lines = difflib.ndiff(prefix_data.splitlines(), full_data.splitlines())
    diff = textwrap.indent("\n".join(lines), "    ")
    return _error(
        "different pytree metadata",
        path,
        "the prefix pytree {name} has a subtree of type\n"
        f"    {node_type.type}\n"
        "with metadata\n"
        f"    {prefix_data}\n"
        "but at the same key path the full pytree has a subtree of the same type but with "
        "metadata\n"
        f"    {full_data}\n"
        "so the diff in the metadata at these pytree nodes is\n"
        f"{diff}",
    )


def broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: IsLeaf | None = None,
    name: str = "broadcast_prefix prefix_tree",
) -> list[Any]:
    """Return the leaves of ``prefix_tree``, each repeated for every leaf it stands for.

    Args:
        prefix_tree: a tree whose structure ``full_tree`` refines.
        full_tree: the tree whose leaves are counted.
        is_leaf: where to stop in ``prefix_tree`` (and, below its leaves, in ``full_tree``).
        name: what error messages call ``prefix_tree``.

    Raises:
        ValueError: it is no prefix; the message says where.

    Example:
        >>> broadcast_prefix((0, 1), ({"a": "x", "b": "y"}, "z"))
        [0, 0, 1]
    """
    leaves, treedef = flatten(prefix_tree, is_leaf)
    subtrees = _subtrees(treedef, prefix_tree, full_tree, is_leaf, name)
    repeated: list[Any] = []
    for leaf, subtree in zip(leaves, subtrees):
        repeated += [leaf] * flatten(subtree, is_leaf)[1].num_leaves
    return repeated


def _subtrees(
    treedef: PyTreeDef, prefix: Any, full: Any, is_leaf: IsLeaf | None, name: str
) -> list[Any]:
    try:
        return treedef.flatten_up_to(full)
    except ValueError:
        explain_mismatch(prefix, full, is_leaf, name)
        raise


def explain_mismatch(prefix: Any, full: Any, is_leaf: IsLeaf | None, name: str) -> None:
    """Raise the first of ``prefix_errors``, if there is one."""
    for error in _differences((), prefix, full, is_leaf):
        raise error(name) from None


class _Leaf:
    """Stands for a leaf of a treedef where only the structure is known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "leaf"


_leaf = _Leaf()


def _is_none(x: Any) -> bool:
    return x is None


def flatten_axes(name: str, treedef: PyTreeDef, axes_tree: Any) -> list[Any]:
    """Return one axis specification (None is one too) per leaf of ``treedef``.

    Args:
        name: what the specification is called, for example ``vmap in_axes``.
        treedef: structure of the values.
        axes_tree: a prefix of it, whose leaves are specifications.

    Raises:
        ValueError: it is no prefix; the message says where.

    Example:
        >>> flatten_axes("vmap in_axes", flatten(("x", {"w": "w", "b": "b"}))[1], (0, None))
        [0, None, None]
    """
    leaves, prefix_def = flatten(axes_tree, _is_none)
    counts: list[int] = []
    if not _count_leaves_below(prefix_def, treedef, counts):
        full = treedef.unflatten([_leaf] * treedef.num_leaves)
        errors = prefix_errors(axes_tree, full, _is_none)
        details = "\n".join(textwrap.indent(str(error(name)), "  ", _is_first) for error in errors)
        raise ValueError(
            f"{name} specification must be a tree prefix of the corresponding value; \n"
            f"  Mismatch details ({len(errors)} found):\n{details}"
        )
    return [leaf for leaf, n in zip(leaves, counts) for _ in range(n)]


def _count_leaves_below(prefix: PyTreeDef, full: PyTreeDef, counts: list[int]) -> bool:
    """Append the number of leaves below each leaf of ``prefix``; False if it is no prefix."""
    if prefix is LEAF:
        counts.append(full.num_leaves)
        return True
    kids, full_kids = prefix.children(), full.children()
    return (
        prefix.node_data() == full.node_data()
        and len(kids) == len(full_kids)
        and all(_count_leaves_below(a, b, counts) for a, b in zip(kids, full_kids))
    )


def _is_first(line: str) -> bool:
    return line.startswith("pytree structure error")
