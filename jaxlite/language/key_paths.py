"""Where a leaf sits in a pytree. In: the steps from the root. Out: ``KeyPath`` and its text.

A step is ``[0]`` of a sequence, ``['w']`` of a dict, ``.x`` of a named field, or, where a node type
does not name its children, ``[<flat index 0>]``.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "SequenceKey",
    "keystr",
]

KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """Step into item ``idx`` of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True, slots=True)
class DictKey:
    """Step into entry ``key`` of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """Step into attribute ``name`` of a named tuple or dataclass."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """Step into child number ``key`` of a node that does not name its children."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Return a key path as text.

    Args:
        keys: the steps from the root to a leaf.
        simple: print bare names and indices, without brackets, quotes and dots.
        separator: goes between the steps.

    Example:
        >>> keystr((DictKey("w"), SequenceKey(1), GetAttrKey("x")))
        "['w'][1].x"
        >>> keystr((DictKey("w"), SequenceKey(1)), simple=True, separator="/")
        'w/1'
    """
    return separator.join(map(_bare if simple else str, keys))


def _bare(key: KeyEntry) -> str:
    match key:
        case SequenceKey(plain) | DictKey(plain) | GetAttrKey(plain) | FlattenedIndexKey(plain):
            return str(plain)
    return str(key)
