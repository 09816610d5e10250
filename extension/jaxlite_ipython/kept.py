"""Python values on their way through ``jit``. In: a pytree with texts and functions among arrays.

Out: a pytree of arrays whose structure holds the rest.

``jit`` takes arrays and numbers only. What a cell reads or assigns besides, ``"adam"`` in a dict of
settings or a helper function, becomes part of the tree's structure: compared by value, so a new
text compiles again, and given back as it was.
"""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np

from jaxlite import tree_util

__all__ = ["STATIC_TYPES", "Kept", "close", "open_"]

#: What Python knows while tracing: never traced, compared by value.
STATIC_TYPES = (bool, str, bytes, enum.Enum, np.dtype, type(None), slice, range, type(Ellipsis))
_CODE_TYPES = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)


class Kept:
    """One Python value as a node without children; equal if the values are."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kept) or type(self.value) is not type(other.value):
            return False
        return self.value is other.value or bool(self.value == other.value)

    def __hash__(self) -> int:
        try:
            return hash((type(self.value).__name__, self.value))
        except TypeError:  # a slice, before Python 3.12
            return hash(type(self.value).__name__)

    def __repr__(self) -> str:
        return repr(self.value)


def _unflatten(aux: Kept, _: Any) -> Kept:
    return aux


tree_util.register_pytree_node(Kept, lambda k: ((), k), _unflatten)


def close(value: Any, *, numbers: bool = False) -> Any:
    """Return ``value`` with its Python leaves kept in the structure.

    Python numbers are left to ``jit``, which traces them, unless ``numbers`` (results of a cell).
    """
    kept = (*STATIC_TYPES, *_CODE_TYPES, *((int, float, complex) if numbers else ()))

    def leaf(x: Any) -> Any:
        is_number = isinstance(x, np.generic)  # float64 is a float and yet an array of NumPy's
        return Kept(x) if isinstance(x, kept) and not is_number else x

    return tree_util.tree_map(leaf, value, is_leaf=lambda x: x is None)


def open_(value: Any) -> Any:
    """Return ``value`` as it was before ``close``."""
    return tree_util.tree_map(
        lambda x: x.value if isinstance(x, Kept) else x,
        value,
        is_leaf=lambda x: isinstance(x, Kept),
    )
