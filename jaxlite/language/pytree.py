"""Pytrees: nested containers as arguments and results. The module that the rest of jaxlite imports.

In: any nesting of lists, tuples, dicts, None, named tuples and registered types. Out: lists of
leaves and ``PyTreeDef``. Parts: ``key_paths`` (names of leaves), ``node_types`` (containers),
``treedef`` (taking apart and putting together), ``pytree_prefix`` (prefixes and what differs),
``pytree_register`` (one's own classes); here are the functions over whole trees.

    {"w": x, "b": [y, None]}  ->  leaves [y, x] and PyTreeDef({'b': [*, None], 'w': *})
"""

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

from jaxlite.language.key_paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
)
from jaxlite.language.node_types import NodeType, node_type_for, node_type_of, tuple_type
from jaxlite.language.pytree_prefix import (
    broadcast_prefix,
    explain_mismatch,
    flatten_axes,
    prefix_errors,
)
from jaxlite.language.pytree_register import (
    Partial,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    static,
)
from jaxlite.language.treedef import LEAF, IsLeaf, PyTreeDef, make
from jaxlite.language.treedef import flatten as tree_flatten
from jaxlite.language.treedef import flatten_with_path as tree_flatten_with_path

__all__ = [
    "LEAF",
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "broadcast_prefix",
    "flatten_axes",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "prefix_errors",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]


class _Missing:
    def __repr__(self) -> str:
        return "<no value>"


_missing: Final = _Missing()


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Return the leaves of ``tree`` from left to right.

    Example:
        >>> tree_leaves({"b": 3, "a": [1, (2, None)]})
        [1, 2, 3]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """Return the structure of ``tree``.

    Example:
        >>> tree_structure({"b": 3, "a": [1, (2, None)]})
        PyTreeDef({'a': [*, (*, None)], 'b': *})
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Return the pytree with this structure and these leaves; ValueError if their number is wrong.

    Example:
        >>> tree_unflatten(tree_structure([0, {"a": 0}]), [1, 2])
        [1, {'a': 2}]
    """
    return treedef.unflatten(leaves)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Return ``tree`` with every leaf ``x`` replaced by ``f(x, *xs)``, ``xs`` from ``rest``.

    Raises:
        ValueError: ``tree`` is no prefix of one of ``rest``; the message says where they differ.

    Example:
        >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
        {'a': 11, 'b': [22]}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in leaves])
    columns = _columns(treedef, tree, rest, is_leaf, "tree_map tree")
    return treedef.unflatten([f(*xs) for xs in zip(leaves, *columns)])


def _columns(
    treedef: PyTreeDef, tree: Any, rest: tuple[Any, ...], is_leaf: IsLeaf | None, name: str
) -> list[list[Any]]:
    columns = []
    for other in rest:
        try:
            columns.append(treedef.flatten_up_to(other))
        except ValueError:
            explain_mismatch(tree, other, is_leaf, name)
            raise
    return columns


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Return ``(key path, leaf)`` for each leaf.

    Example:
        >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
        [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Like ``tree_map``, but ``f`` gets the key path first: ``f(path, x, *xs)``.

    Example:
        >>> tree_map_with_path(lambda path, x: keystr(path) + str(x), {"a": [1, 2]})
        {'a': ["['a'][0]1", "['a'][1]2"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    plain_is_leaf = None if is_leaf_takes_path else is_leaf
    columns = _columns(treedef, tree, rest, plain_is_leaf, "tree_map_with_path tree")
    return treedef.unflatten(
        [f(path, *xs) for (path, x), *ys in zip(pairs, *columns) for xs in [(x, *ys)]]
    )


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _missing,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Return ``function(... function(function(initializer, leaf0), leaf1) ...)``.

    Raises:
        TypeError: no leaves and no ``initializer``.

    Example:
        >>> tree_reduce(lambda total, x: total + x, {"a": 1, "b": [2, 3]})
        6
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is _missing:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _missing,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Return the leaves combined pairwise, in a balanced tree of calls.

    Raises:
        TypeError: no leaves and no ``identity``.

    Example:
        >>> tree_reduce_associative(lambda a, b: (a, b), [1, 2, 3, 4])
        ((1, 2), (3, 4))
    """
    values = tree_leaves(tree, is_leaf)
    if not values:
        if identity is _missing:
            raise TypeError("Must specify identity for parallel reduction of empty sequence.")
        return identity

    def reduce(values: list[Any]) -> Any:
        if len(values) == 1:
            return values[0]
        middle = len(values) // 2
        return operation(reduce(values[:middle]), reduce(values[middle:]))

    return reduce(values)


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Return whether all leaves are true.

    Example:
        >>> tree_all([True, {"a": 1}]), tree_all([True, 0])
        (True, False)
    """
    return all(tree_leaves(tree, is_leaf))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Return a tree of trees turned inside out: outer of inner becomes inner of outer.

    Args:
        outer_treedef: structure of the upper levels.
        inner_treedef: structure of the lower levels; None to take it from the first subtree.
        pytree_to_transpose: a tree of structure ``outer_treedef.compose(inner_treedef)``.

    Raises:
        TypeError: the numbers of leaves do not agree.

    Example:
        >>> outer, inner = tree_structure([0, 0]), tree_structure({"a": 0})
        >>> tree_transpose(outer, inner, [{"a": 1}, {"a": 2}])
        {'a': [1, 2]}
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    n_inner, n_outer = inner_treedef.num_leaves, outer_treedef.num_leaves
    if treedef.num_leaves != n_inner * n_outer:
        raise TypeError(f"Mismatch\n{treedef}\n != \n{outer_treedef.compose(inner_treedef)}")
    return inner_treedef.unflatten(
        [outer_treedef.unflatten(leaves[i::n_inner]) for i in range(n_inner)]
    )


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Return a tree of the structure of ``full_tree`` with the leaves of its prefix, repeated.

    Example:
        >>> tree_broadcast((1, 2), (["a", "b"], "c"))
        ([1, 1], 2)
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return tree_structure(full_tree, is_leaf).unflatten(leaves)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Return whether every element is a leaf.

    Example:
        >>> all_leaves([1, "a"]), all_leaves([1, [2]]), all_leaves([1, None])
        (True, False, False)
    """
    if is_leaf is None:
        return all(node_type_of(x) is None for x in iterable)
    elements = list(iterable)
    leaves = tree_leaves(elements, is_leaf)
    return len(leaves) == len(elements) and all(a is b for a, b in zip(elements, leaves))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the treedefs one level below."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether the treedef has one node only: a leaf, or an empty container."""
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple of trees with these structures.

    Example:
        >>> treedef_tuple([tree_structure(0), tree_structure([0])])
        PyTreeDef((*, [*]))
    """
    return make(tuple_type, None, list(treedefs))


def is_tree_node(type_: Any) -> bool:
    """Return whether values of ``type_`` are containers that ``tree_flatten`` takes apart.

    Example:
        >>> is_tree_node(dict), is_tree_node(float)
        (True, False)
    """
    return isinstance(type_, type) and node_type_for(type_) is not None


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Return the children and the metadata of a node; ValueError for a leaf.

    Example:
        >>> flatten_one_level({"b": 1, "a": [2]})
        (([2], 1), ('a', 'b'))
    """
    node_type = _node_type(tree)
    kids, data = node_type.children(tree)
    if node_type.label == "named tuple":
        return list(kids), node_type.type
    return (tree if node_type.label in ("tuple", "list") else tuple(kids)), data


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[KeyEntry, Any]], Hashable]:
    """Return the ``(key, child)`` pairs and the metadata of a node; ValueError for a leaf."""
    node_type = _node_type(tree)
    pairs, data = node_type.children_with_keys(tree)
    return tuple(pairs), (node_type.type if node_type.label == "named tuple" else data)


def _node_type(tree: Any) -> NodeType:
    node_type = node_type_of(tree)
    if node_type is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    return node_type
