"""``x.at[idx]``: arrays with some elements changed. In: an array, an index, values.

Out: a new array.

``x.at[idx].set(y)`` is what ``x[idx] = y`` is in NumPy, without changing ``x``. Writing out of
bounds does nothing; an element that is indexed several times is added to (multiplied ...) several
times.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.api.loops import fori_loop
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import elementwise, shapes, slicing
from jaxlite.numpy import ufuncs
from jaxlite.numpy.arithmetic import power
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.index_plan import Plan, plan
from jaxlite.numpy.indexing import getitem, parse
from jaxlite.numpy.promotion import retype
from jaxlite.numpy.rearrange import broadcast_to
from jaxlite.primitives.indexing import GatherScatterMode, ScatterDimensionNumbers
from jaxlite.settings import config

_INT32 = np.dtype(np.int32)


class _IndexUpdateHelper:
    """``x.at``: waits for the index."""

    __slots__ = ("array",)

    def __init__(self, array: Value) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> _IndexUpdateRef:
        return _IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class _IndexUpdateRef:
    """``x.at[index]``: the places; a method says what happens there.

    All methods take ``indices_are_sorted`` and ``unique_indices`` (promises about the index) and
    ``mode``: "drop" (default) ignores indices out of bounds, "clip" moves them inside.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Value, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Value:
        """Return ``x[index]``; with ``mode="fill"`` indices out of bounds read ``fill_value``."""
        return getitem(
            self.array,
            self.index,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            fill_value=fill_value,
            wraps=wrap_negative_indices,
        )

    def set(self, values: Any, **options: Any) -> Value:
        """Return the array with ``values`` at the index: what ``x[index] = values`` is in NumPy."""
        return scatter(self.array, self.index, values, slicing.scatter, **options)

    def add(self, values: Any, **options: Any) -> Value:
        """Return the array with ``values`` added at the index."""
        return scatter(self.array, self.index, values, slicing.scatter_add, **options)

    def subtract(self, values: Any, **options: Any) -> Value:
        """Return the array with ``values`` subtracted at the index."""
        return scatter(self.array, self.index, values, slicing.scatter_sub, **options)

    def multiply(self, values: Any, **options: Any) -> Value:
        """Return the array multiplied by ``values`` at the index."""
        return scatter(self.array, self.index, values, slicing.scatter_mul, **options)

    mul = multiply

    def min(self, values: Any, **options: Any) -> Value:
        """Return the array lowered to at most ``values`` at the index."""
        return scatter(self.array, self.index, values, slicing.scatter_min, **options)

    def max(self, values: Any, **options: Any) -> Value:
        """Return the array raised to at least ``values`` at the index."""
        return scatter(self.array, self.index, values, slicing.scatter_max, **options)

    def divide(self, values: Any, **options: Any) -> Value:
        """Return the array divided by ``values`` at the index."""
        ones = shapes.full_like(self.array, 1)
        return ufuncs.divide(
            self.array, scatter(ones, self.index, values, slicing.scatter_mul, **options)
        )

    def power(self, values: Any, **options: Any) -> Value:
        """Return the array raised to the power ``values`` at the index."""
        ones = shapes.full_like(self.array, 1)
        return power(self.array, scatter(ones, self.index, values, slicing.scatter_mul, **options))

    def apply(self, func: Callable[[Value], Value], **options: Any) -> Value:
        """Return the array with ``func`` applied to the elements at the index.

        ``func`` is applied as often as an element is indexed.
        """
        items, operand_shape = parse(self.array.aval.shape, self.index)
        if options.get("unique_indices") or plan(operand_shape, items).is_unique:
            old = self.get(mode="clip")
            return scatter(self.array, self.index, func(old), slicing.scatter, **options)
        none = shapes.full(self.array.aval.shape, 0, _INT32)
        counts = scatter(none, self.index, 1, slicing.scatter_add, **options)

        def again(k: Value, x: Value) -> Value:
            changed = retype(asarray(func(x)), x.aval.dtype, x.aval.weak_type)
            is_due = elementwise.lt(broadcast_to(k, x.shape), counts)
            return elementwise.select_n(is_due, x, changed)

        return fori_loop(0, counts.max(initial=0), again, self.array)


def scatter(
    x: Value,
    index: Any,
    values: Any,
    operation: Callable[..., Value],
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    out_sharding: Any = None,
    wrap_negative_indices: bool = True,
) -> Value:
    """Return ``x`` with ``operation`` (a ``lax`` scatter) applied to ``values`` at ``index``.

    Raises:
        ValueError: ``values`` do not broadcast to the shape of ``x[index]``, or an unknown mode.
        TypeError, IndexError: as for reading.
    """
    parsed_mode = GatherScatterMode.from_any(mode)
    own, weak, shape = x.aval.dtype, x.aval.weak_type, x.aval.shape
    if type(values) is int and dtypes.kind_of(own) in "iu" and not _fits_default(values):
        values = np.asarray(values).astype(dtypes.storage_dtype(own))
    y = asarray(values)
    items, operand_shape = parse(shape, index, wrap_negative_indices)
    p = plan(operand_shape, items)
    joint, joint_weak = _joint_dtype(x, y)
    x = retype(x, joint, joint_weak)
    y = retype(y, joint, joint_weak)
    y = _fitted(y, p)
    if 0 not in y.shape:
        x = operation(
            shapes.reshape(x, operand_shape),
            p.indices,
            y,
            ScatterDimensionNumbers(p.window_dims, p.collapsed_dims, p.indexed_dims),
            indices_are_sorted=indices_are_sorted or p.is_sorted,
            unique_indices=unique_indices or p.is_unique,
            mode=parsed_mode,
        )
    return retype(shapes.reshape(x, shape), own, weak)


def _fits_default(value: int) -> bool:
    info = np.iinfo(dtypes.default_dtype(int))
    return bool(info.min <= value <= info.max)


def _fitted(y: Value, p: Plan) -> Value:
    """Return the values in the shape that the scatter writes."""
    y = broadcast_to(y, p.full_shape)
    return shapes.squeeze(y, p.new_axes) if p.new_axes else y


def _joint_dtype(x: Value, y: Value) -> tuple[Any, bool]:
    """Return the type to compute in; FutureWarning if the result will be narrowed back."""
    own, weak = x.aval.dtype, x.aval.weak_type
    if y.aval.dtype == own:
        return own, weak and y.aval.weak_type
    joint, joint_weak = dtypes.promote_pair(own, weak, y.aval.dtype, y.aval.weak_type)
    if joint != own:
        warnings.warn(
            "scatter inputs have incompatible types: cannot safely cast value from dtype="
            f"{dtypes.name_of(y.aval.dtype)} to dtype={dtypes.name_of(own)} with "
            f"jax_numpy_dtype_promotion={config.numpy_dtype_promotion}. In future JAX releases "
            "this will "
            "result in an error.",
            FutureWarning,
            stacklevel=4,
        )
    return joint, joint_weak


IndexUpdateHelper = _IndexUpdateHelper
IndexUpdateRef = _IndexUpdateRef

__all__ = ["IndexUpdateHelper", "IndexUpdateRef", "scatter"]
