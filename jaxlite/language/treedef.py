"""Shapes of pytrees. In: nested containers. Out: their leaves in order, and a ``PyTreeDef``.

Invariant: treedefs are interned, so comparing two treedefs of the same structure is almost always
one identity test. Interning asks for the *same* metadata, not only equal one, because ``{1: x}``
must not come back as ``{1.0: x}``; such twins are different objects that compare equal.
"""

import operator
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat
from typing import Any, Final

from jaxlite.language.key_paths import KeyPath
from jaxlite.language.node_types import (
    NodeType,
    dict_type,
    list_type,
    node_type_for,
    node_type_of,
    registry,
    sorted_keys,
    tuple_type,
)

__all__ = ["LEAF", "IsLeaf", "PyTreeDef", "flatten", "flatten_with_path", "make"]

IsLeaf = Callable[[Any], bool]


class PyTreeDef:
    """Structure of a pytree: its containers, with ``*`` where the leaves go.

    Example:
        >>> flatten({"b": 1, "a": [2, None]})
        ([2, 1], PyTreeDef({'a': [*, None], 'b': *}))
    """

    __slots__ = (
        "__weakref__",
        "_children",
        "_data",
        "_hash",
        "_is_flat",
        "_type",
        "num_leaves",
        "num_nodes",
    )

    _type: NodeType | None  # None for a leaf
    _data: Any  # metadata: the keys of a dict, what a user's flatten function returned, ...
    _children: "tuple[PyTreeDef, ...]"
    num_leaves: int
    num_nodes: int
    _is_flat: bool  # all children are leaves
    _hash: int

    def __new__(cls) -> "PyTreeDef":
        raise TypeError("PyTreeDef: no constructor defined! Use jaxlite.tree.structure(tree).")

    def children(self) -> "list[PyTreeDef]":
        """Return the treedefs one level below."""
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """Return (type, metadata) of the root node, or None for a leaf."""
        if self._type is None:
            return None
        return self._type.type, (list(self._data) if self._type is dict_type else self._data)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the pytree with this structure and these leaves.

        Raises:
            ValueError: too few or too many leaves.
        """
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            if len(leaves) < self.num_leaves:
                raise ValueError(
                    f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(leaves)}"
                )
            raise ValueError(f"Too many leaves for PyTreeDef; expected {self.num_leaves}.")
        if self._is_flat and self._type is tuple_type:
            return tuple(leaves)
        return _build(self, iter(leaves))

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of ``tree`` that stand where this structure has leaves.

        Raises:
            ValueError: ``tree`` has another structure above them.
        """
        subtrees: list[Any] = []
        _flatten_up_to(self, tree, subtrees)
        subtrees.reverse()
        return subtrees

    def compose(self, inner: "PyTreeDef") -> "PyTreeDef":
        """Return the structure in which every leaf of this one is replaced by ``inner``."""
        if self._type is None:
            return inner
        return make(self._type, self._data, [child.compose(inner) for child in self._children])

    def walk(
        self,
        f_node: Callable[[Any, Any], Any],
        f_leaf: Callable[[Any], Any] | None,
        leaves: Iterable[Any],
    ) -> Any:
        """Return ``f_node(children, node_data)`` of the root, bottom up."""
        return _walk(self, f_node, f_leaf or (lambda leaf: leaf), iter(leaves))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef) or self._hash != other._hash:
            return False
        return (
            self._type is other._type
            and bool(self._data == other._data)
            and self._children == other._children
        )

    def __hash__(self) -> int:
        return self._hash

    def __copy__(self) -> "PyTreeDef":
        return self

    def __deepcopy__(self, memo: Any) -> "PyTreeDef":
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        type_ = None if self._type is None else self._type.type
        return _rebuild, (type_, self._data, self._children)

    def __repr__(self) -> str:
        return f"PyTreeDef({_text(self)})"


def _new(type_: NodeType | None, data: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    treedef = object.__new__(PyTreeDef)
    treedef._type = type_
    treedef._data = data
    treedef._children = children
    treedef._is_flat = all(map(operator.is_, children, repeat(LEAF))) if type_ else False
    treedef.num_leaves = sum([c.num_leaves for c in children]) if type_ else 1
    treedef.num_nodes = 1 + sum([c.num_nodes for c in children])
    hashes = tuple([c._hash for c in children])
    try:
        treedef._hash = hash((type_, data, hashes))
    except TypeError:  # metadata that cannot be hashed is left to ``==``
        treedef._hash = hash((type_, hashes))
    return treedef


LEAF: Final = _new(None, None, ())

# Values are weak: metadata (say, a function with a large closure) dies with its treedefs.
_interned: dict[tuple[Any, ...], "weakref.KeyedRef[Any, PyTreeDef]"] = {}
# Flat tuples, lists and dicts are what most calls flatten; these stay alive.
_flat: dict[tuple[NodeType, Any, int], PyTreeDef] = {}


def _forget(ref: "weakref.KeyedRef[Any, PyTreeDef]") -> None:
    if _interned.get(ref.key) is ref:
        del _interned[ref.key]


def make(type_: NodeType, data: Any, children: list[PyTreeDef]) -> PyTreeDef:
    """Return the interned treedef of a node."""
    # Children enter the key as ids: they live as long as the treedef whose entry this is.
    key = (type_, data, *map(id, children))
    try:
        ref = _interned.get(key)
    except TypeError:  # metadata that cannot be hashed
        return _new(type_, data, tuple(children))
    if ref is not None:
        found = ref()
        if found is not None:
            if _is_same(found._data, data):
                return found
            return _new(type_, data, tuple(children))
    treedef = _new(type_, data, tuple(children))
    _interned[key] = weakref.KeyedRef(treedef, _forget, key)
    return treedef


def _make_flat(type_: NodeType, data: Any, n: int) -> PyTreeDef:
    """Return the treedef of a tuple, list or dict of ``n`` leaves."""
    found = _flat.get((type_, data, n))
    if found is not None and (data is None or _is_same(found._data, data)):
        return found
    treedef = make(type_, data, [LEAF] * n)
    if len(_flat) >= 4096:
        _flat.clear()
    return treedef if found else _flat.setdefault((type_, data, n), treedef)


_PLAIN: Final = frozenset({str, int, bool, type(None), bytes})


def _is_same(a: Any, b: Any) -> bool:
    """Return whether equal ``a`` and ``b`` cannot be told apart (1 and 1.0 and True can)."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        # Keys that are literals in the program are the same objects: no Python call for them.
        return len(a) == len(b) and (all(map(operator.is_, a, b)) or all(map(_is_same, a, b)))
    return type(a) in _PLAIN and bool(a == b)


def _rebuild(type_: type | None, data: Any, children: tuple[PyTreeDef, ...]) -> PyTreeDef:
    if type_ is None:
        return LEAF
    node_type = node_type_for(type_)
    if node_type is None:
        raise ValueError(f"can't unpickle a PyTreeDef of {type_}, which is not registered here")
    return make(node_type, data, list(children))


def _text(treedef: PyTreeDef) -> str:
    if treedef._type is None:
        return "*"
    inner = [_text(child) for child in treedef._children]
    match treedef._type.label:
        case "None":
            return "None"
        case "tuple":
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        case "list":
            return f"[{', '.join(inner)}]"
        case "dict":
            entries = (f"{key!r}: {child}" for key, child in zip(treedef._data, inner))
            return f"{{{', '.join(entries)}}}"
        case "named tuple":
            head = f"namedtuple[{treedef._type.type.__name__}]"
        case _:
            head = f"{treedef._type.type.__name__}[{treedef._data}]"
    return f"CustomNode({head}, [{', '.join(inner)}])"


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of ``tree`` from left to right, and its structure.

    Args:
        tree: any nesting of containers.
        is_leaf: called on every value; True stops there.

    Raises:
        ValueError: dict keys that cannot be sorted, or a user's flatten function that misbehaves.
    """
    leaves: list[Any] = []
    if is_leaf is not None:
        return leaves, _flatten_until(tree, leaves, is_leaf)
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> PyTreeDef:
    node_type = registry.get(type(tree))
    if node_type is None:
        node_type = node_type_of(tree) if isinstance(tree, tuple) else None
        if node_type is None:
            leaves.append(tree)
            return LEAF
    # The three commonest types are written out, which spares a call.
    kids: Iterable[Any]
    if node_type is tuple_type or node_type is list_type:
        kids, data = tree, None
    elif node_type is dict_type:
        data = sorted_keys(tree)
        kids = map(tree.__getitem__, data)
    else:
        kids, data = node_type.children(tree)
    children = []
    is_flat = True
    for kid in kids:
        if type(kid) not in registry and not isinstance(kid, tuple):
            leaves.append(kid)
            children.append(LEAF)
        else:
            children.append(_flatten(kid, leaves))
            is_flat = False
    if is_flat and (node_type is tuple_type or node_type is list_type or node_type is dict_type):
        return _make_flat(node_type, data, len(children))
    return make(node_type, data, children)


def _flatten_until(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> PyTreeDef:
    node_type = None if is_leaf(tree) else node_type_of(tree)
    if node_type is None:
        leaves.append(tree)
        return LEAF
    kids, data = node_type.children(tree)
    return make(node_type, data, [_flatten_until(kid, leaves, is_leaf) for kid in kids])


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Return ``[(key path, leaf), ...]`` and the structure; ``is_leaf`` may take (path, value)."""
    pairs: list[tuple[KeyPath, Any]] = []

    def visit(tree: Any, path: KeyPath) -> PyTreeDef:
        stop = is_leaf is not None and (
            is_leaf(path, tree) if is_leaf_takes_path else is_leaf(tree)
        )
        node_type = None if stop else node_type_of(tree)
        if node_type is None:
            pairs.append((path, tree))
            return LEAF
        kids, data = node_type.children_with_keys(tree)
        return make(node_type, data, [visit(kid, (*path, key)) for key, kid in kids])

    return pairs, visit(tree, ())


def _build(treedef: PyTreeDef, leaves: Iterator[Any]) -> Any:
    if treedef._type is None:
        return next(leaves)
    if treedef._is_flat:
        kids = list(islice(leaves, treedef.num_leaves))
    else:
        kids = [next(leaves) if c is LEAF else _build(c, leaves) for c in treedef._children]
    return treedef._type.build(treedef._data, kids)


def _walk(treedef: PyTreeDef, f_node: Any, f_leaf: Any, leaves: Iterator[Any]) -> Any:
    if treedef._type is None:
        return f_leaf(next(leaves))
    kids = tuple([_walk(child, f_node, f_leaf, leaves) for child in treedef._children])
    if treedef._type.label == "named tuple":
        return f_node(kids, treedef._type.type)
    return f_node(kids, list(treedef._data) if treedef._type is dict_type else treedef._data)


def _flatten_up_to(treedef: PyTreeDef, tree: Any, subtrees: list[Any]) -> None:
    expected = treedef._type
    if expected is None:
        subtrees.append(tree)
        return
    found = node_type_of(tree)
    if found is not expected:
        raise ValueError(_type_mismatch(expected, found, tree))
    kids, data = expected.children(tree)
    kids = tuple(kids)
    _check_same_node(treedef, expected, kids, data, tree)
    # From right to left, so that of several mismatches JAX's is reported.
    for child, kid in zip(reversed(treedef._children), reversed(kids)):
        if child is LEAF:
            subtrees.append(kid)
        else:
            _flatten_up_to(child, kid, subtrees)


def _check_same_node(
    treedef: PyTreeDef, expected: NodeType, kids: tuple[Any, ...], data: Any, tree: Any
) -> None:
    label = expected.label
    same_data = treedef._data is data or bool(treedef._data == data)
    if label == "dict" and not same_data:
        raise ValueError(
            f"Dict key mismatch; expected keys: {list(treedef._data)}; present keys: {list(data)}."
        )
    if not same_data:
        raise ValueError(
            f"Mismatch {label} node data: {treedef._data!r} != {data!r}; value: {tree!r}."
        )
    if len(kids) != len(treedef._children):
        word, noun = ("Custom type", "value") if label == "custom" else (label.capitalize(), label)
        noun = "tuple" if label == "named tuple" else noun
        raise ValueError(
            f"{word} arity mismatch: {len(kids)} != {len(treedef._children)}; {noun}: {tree!r}."
        )


def _type_mismatch(expected: NodeType, found: NodeType | None, tree: Any) -> str:
    if expected.label == "None":
        return (
            f"Expected None, got {tree!r}.\n\nIn previous releases of JAX, flatten-up-to used to "
            "consider None to be a tree-prefix of non-None values. To obtain the previous "
            "behavior, you can usually write:\n  jax.tree.map(lambda x, y: None if x is None else "
            "f(x, y), a, b, is_leaf=lambda x: x is None)"
        )
    if expected.label == "named tuple" and found is not None and found.label == "named tuple":
        arity = len(expected.type._fields)  # type: ignore[attr-defined]
        if len(tree) != arity:
            return f"Named tuple arity mismatch: {len(tree)} != {arity}; tuple: {tree!r}."
        return f"Named tuple type mismatch: expected type: {expected.type}, tuple: {tree!r}."
    if expected.label.startswith("custom"):
        word = expected.label.capitalize()
        return f"{word} node type mismatch: expected type: {expected.type}, value: {tree!r}."
    return f"Expected {expected.label}, got {tree!r}."
