"""One's own classes as pytrees. In: a class and how it comes apart. Out: the class, registered."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from jaxlite.language.key_paths import GetAttrKey, KeyEntry
from jaxlite.language.node_types import NodeType, custom_node_type, register

__all__ = [
    "Partial",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
]

Class = TypeVar("Class", bound=type)


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]]
    | None = None,
) -> None:
    """Make values of a type nodes of pytrees.

    Args:
        nodetype: the exact type (subclasses are not included).
        flatten_func: value -> (children, metadata); metadata should be hashable and comparable.
        unflatten_func: (metadata, tuple of children) -> value.
        flatten_with_keys_func: value -> ((key, child) pairs, metadata), for readable key paths.

    Raises:
        ValueError: the type is registered already.
    """
    register(custom_node_type(nodetype, flatten_func, unflatten_func, flatten_with_keys_func))


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Like ``register_pytree_node`` for a type that names its children."""

    def children(tree: Any) -> tuple[Iterable[Any], Any]:
        pairs, data = flatten_with_keys(tree)
        return tuple([child for _, child in pairs]), data

    register_pytree_node(nodetype, flatten_func or children, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Class) -> Class:
    """Register a class with methods ``tree_flatten`` and (class method) ``tree_unflatten``.

    Example:
        >>> from jaxlite.tree_util import tree_leaves
        >>> @register_pytree_node_class
        ... class Pair:
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        ...     def tree_flatten(self):
        ...         return (self.a, self.b), None
        ...     @classmethod
        ...     def tree_unflatten(cls, aux_data, children):
        ...         return cls(*children)
        >>> tree_leaves([Pair(1, 2), 3])
        [1, 2, 3]
    """
    register_pytree_node(cls, lambda tree: tree.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Register a class with methods ``tree_flatten_with_keys`` and ``tree_unflatten``."""
    unflatten = cls.tree_unflatten  # type: ignore[attr-defined]
    flatten = (lambda tree: tree.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda tree: tree.tree_flatten_with_keys(), unflatten, flatten)
    return cls


def register_static(cls: Class) -> Class:
    """Make values of a class nodes without children: compared and hashed, never traced.

    Example:
        >>> from jaxlite.tree_util import tree_leaves
        >>> @register_static
        ... class Mode(str):
        ...     pass
        >>> tree_leaves([1, Mode("train")])
        [1]
    """
    register_pytree_node(cls, lambda tree: ((), tree), lambda tree, _: tree)
    return cls


def static(**kwargs: Any) -> Any:
    """Return a ``dataclasses.field`` that ``register_dataclass`` takes as metadata, not as a child.

    Example:
        >>> from jaxlite.tree_util import tree_structure
        >>> @register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     w: float
        ...     activation: str = static(default="relu")
        >>> tree_structure(Layer(1.0))
        PyTreeDef(CustomNode(Layer[('relu',)], [*]))
    """
    metadata = {**kwargs.pop("metadata", {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Register a dataclass (or a class built from keyword arguments) as a node.

    Args:
        nodetype: the class; works as a decorator too.
        data_fields: fields that hold pytrees. Default: all that are not marked by ``static``.
        meta_fields: fields that hold metadata: hashable, compared, never traced.
        drop_fields: fields in neither list, which get their default back.

    Raises:
        TypeError: fields are needed, or only one kind is given.
        ValueError: the fields are not exactly those of the dataclass, or overlap.

    Example:
        >>> from jaxlite.tree_util import tree_map
        >>> @register_dataclass
        ... @dataclasses.dataclass
        ... class Point:
        ...     x: float
        ...     y: float
        >>> tree_map(lambda v: v * 10, Point(1, 2))
        Point(x=10, y=20)
    """
    is_dataclass = isinstance(nodetype, type) and dataclasses.is_dataclass(nodetype)
    if data_fields is None or meta_fields is None:
        if (data_fields is None) != (meta_fields is None):
            raise TypeError(
                "register_dataclass: data_fields and meta_fields must both be specified when "
                f"either is specified. Got {data_fields=} {meta_fields=}."
            )
        if not is_dataclass:
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required when nodetype is "
                f"not a dataclass. Got {nodetype=}."
            )
        fields = dataclasses.fields(nodetype)
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
    data, meta = tuple(data_fields), tuple(meta_fields)
    if overlap := set(data) & set(meta):
        raise ValueError(
            f"data_fields and meta_fields must not overlap. Overlapping fields: {overlap}."
        )
    if is_dataclass:
        _check_fields(nodetype, {*data, *meta}, set(drop_fields))
    register(_dataclass_node_type(nodetype, data, meta))
    return nodetype


def _check_fields(nodetype: Any, given: set[str], dropped: set[str]) -> None:
    expected = {f.name for f in dataclasses.fields(nodetype) if f.init} - dropped
    if given == expected:
        return
    text = (
        "data_fields and meta_fields must include all dataclass fields with ``init=True`` and only "
        "them."
    )
    if missing := expected - given:
        text += f" Missing fields: {missing}. Add them to drop_fields to suppress this error."
    if unexpected := given - expected:
        text += f" Unexpected fields: {unexpected}."
    raise ValueError(text)


def _dataclass_node_type(cls: type, data: tuple[str, ...], meta: tuple[str, ...]) -> NodeType:
    keys = tuple(map(GetAttrKey, data))

    def children(tree: Any) -> tuple[list[Any], Any]:
        return [getattr(tree, name) for name in data], tuple([getattr(tree, name) for name in meta])

    def with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
        kids, metadata = children(tree)
        return list(zip(keys, kids)), metadata

    def build(metadata: Any, kids: list[Any]) -> Any:
        return cls(**dict(zip(data, kids)), **dict(zip(meta, metadata)))

    return NodeType(cls, "custom dataclass", children, build, with_keys)


class Partial(functools.partial[Any]):
    """``functools.partial`` that is a pytree: its arguments are children, its function is metadata.

    Example:
        >>> from jaxlite.tree_util import tree_leaves
        >>> power = Partial(pow, 2)
        >>> tree_leaves(power), power(3)
        ([2], 8)
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kwargs: Any) -> "Partial":
        # functools.partial merges a nested partial, whose arguments would become children too.
        if isinstance(func, functools.partial):
            func = _OpaqueCallable(func)
        return super().__new__(cls, func, *args, **kwargs)


class _OpaqueCallable:
    """Keeps a ``functools.partial`` whole inside a ``Partial``."""

    __slots__ = ("func",)

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OpaqueCallable) and self.func == other.func

    def __hash__(self) -> int:
        return hash(self.func)

    def __repr__(self) -> str:
        return repr(self.func)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
