"""Which values are containers, and how they come apart. In: a value. Out: its ``NodeType``.

A node is a value whose exact type is registered (list, tuple, dict, None, OrderedDict, defaultdict,
and what users register) or a named tuple; everything else is a leaf.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final

from jaxlite.language.key_paths import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

__all__ = ["NodeType", "custom_node_type", "node_type_for", "node_type_of", "register"]


class NodeType:
    """How values of one type come apart and go together again."""

    __slots__ = ("build", "children", "children_with_keys", "label", "type")

    def __init__(
        self,
        type_: type,
        label: str,
        children: Callable[[Any], tuple[Iterable[Any], Any]],
        build: Callable[[Any, list[Any]], Any],
        children_with_keys: Callable[[Any], tuple[list[tuple[Any, Any]], Any]],
    ) -> None:
        self.type = type_
        self.label = label  # the word that error messages use; "custom" for what users register
        self.children = children  # value -> (children, metadata)
        self.build = build  # (metadata, list of children) -> value
        self.children_with_keys = children_with_keys  # value -> ([(key, child)], metadata)


def sorted_keys(tree: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(tree))
    except Exception as error:
        raise ValueError(
            "Comparator raised exception while sorting pytree dictionary keys.\n"
            f"  Keys: {list(tree)}.\n"
            "  Fix: use keys of one type, or an OrderedDict, whose keys are not sorted."
        ) from error


def _dict_children(tree: dict[Any, Any]) -> tuple[list[Any], Any]:
    keys = sorted_keys(tree)
    return [tree[key] for key in keys], keys


def _ordered_children(tree: Any) -> tuple[list[Any], Any]:
    return list(tree.values()), tuple(tree)


def _defaultdict_children(tree: Any) -> tuple[list[Any], Any]:
    keys = sorted_keys(tree)
    return [tree[key] for key in keys], (tree.default_factory, keys)


def _sequence_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(SequenceKey(i), child) for i, child in enumerate(tree)], None


def _with_dict_keys(
    children: Callable[[Any], tuple[list[Any], Any]], keys_of: Callable[[Any], tuple[Any, ...]]
) -> Callable[[Any], tuple[list[tuple[Any, Any]], Any]]:
    def with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
        kids, data = children(tree)
        return list(zip(map(DictKey, keys_of(data)), kids)), data

    return with_keys


def _named_tuple_type(type_: Any) -> NodeType:
    def with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
        return [(GetAttrKey(name), child) for name, child in zip(tree._fields, tree)], None

    return NodeType(
        type_, "named tuple", lambda tree: (tree, None), lambda _, kids: type_(*kids), with_keys
    )


tuple_type: Final = NodeType(
    tuple, "tuple", lambda t: (t, None), lambda _, kids: tuple(kids), _sequence_with_keys
)
list_type: Final = NodeType(
    list, "list", lambda t: (t, None), lambda _, kids: kids, _sequence_with_keys
)
dict_type: Final = NodeType(
    dict,
    "dict",
    _dict_children,
    lambda keys, kids: dict(zip(keys, kids)),
    _with_dict_keys(_dict_children, lambda keys: keys),
)
none_type: Final = NodeType(
    type(None), "None", lambda _: ((), None), lambda _, __: None, lambda _: ([], None)
)

registry: dict[type, NodeType] = {
    tuple: tuple_type,
    list: list_type,
    dict: dict_type,
    type(None): none_type,
    OrderedDict: NodeType(
        OrderedDict,
        "custom",
        _ordered_children,
        lambda keys, kids: OrderedDict(zip(keys, kids)),
        _with_dict_keys(_ordered_children, lambda keys: keys),
    ),
    defaultdict: NodeType(
        defaultdict,
        "custom",
        _defaultdict_children,
        lambda data, kids: defaultdict(data[0], zip(data[1], kids)),
        _with_dict_keys(_defaultdict_children, lambda data: data[1]),
    ),
}
_named_tuples: dict[type, NodeType] = {}


def register(node_type: NodeType) -> None:
    """Make values of ``node_type.type`` nodes; ValueError if they are already."""
    if registry.setdefault(node_type.type, node_type) is not node_type:
        word = "dataclass " if node_type.label == "custom dataclass" else ""
        raise ValueError(
            f"Duplicate custom {word}PyTreeDef type registration for {node_type.type}."
        )


def custom_node_type(
    type_: type,
    flatten_func: Callable[[Any], Any],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys: Callable[[Any], Any] | None,
) -> NodeType:
    """Return the node type made of a user's functions, whose results are checked."""

    def children(tree: Any) -> tuple[tuple[Any, ...], Any]:
        return _checked_pair(flatten_func(tree))

    def with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
        if flatten_with_keys is None:
            kids, data = children(tree)
            return [(FlattenedIndexKey(i), kid) for i, kid in enumerate(kids)], data
        return _checked_key_pairs(flatten_with_keys(tree))

    def build(data: Any, kids: list[Any]) -> Any:
        return unflatten_func(data, tuple(kids))

    return NodeType(type_, "custom", children, build, with_keys)


def _checked_pair(result: Any) -> tuple[tuple[Any, ...], Any]:
    start = (
        "The to_iterable function for a custom PyTree node should return a (children, aux_data) "
        "tuple"
    )
    if type(result) is not tuple or len(result) != 2:
        raise ValueError(f"{start}, got {result!r}")
    kids, data = result
    try:
        return tuple(kids), data
    except TypeError:
        raise ValueError(f"{start} where 'children' is iterable, got {result!r}") from None


def _checked_key_pairs(result: Any) -> tuple[list[tuple[Any, Any]], Any]:
    start = (
        "The to_iterable_with_keys function for a custom PyTree node should return a "
        "(key_leaf_pairs, aux_data) tuple"
    )
    if type(result) is not tuple or len(result) != 2:
        raise ValueError(f"{start}, got {result!r}")
    pairs = list(result[0])
    if any(type(pair) is not tuple or len(pair) != 2 for pair in pairs):
        raise ValueError(f"{start} where 'child_with_keys' is a (key, child) tuple, got {pairs!r}")
    return pairs, result[1]


def node_type_for(type_: type) -> NodeType | None:
    """Return how values of ``type_`` come apart, or None if they are leaves."""
    found = registry.get(type_)
    if found is None and issubclass(type_, tuple) and hasattr(type_, "_fields"):
        found = _named_tuples.get(type_)
        if found is None:
            found = _named_tuples.setdefault(type_, _named_tuple_type(type_))
    return found


def node_type_of(tree: Any) -> NodeType | None:
    """Return how ``tree`` comes apart one level, or None if it is a leaf."""
    return registry.get(type(tree)) or (
        node_type_for(type(tree)) if isinstance(tree, tuple) else None
    )
