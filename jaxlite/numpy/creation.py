"""Functions that make arrays. In: Python and NumPy values, shapes. Out: arrays.

``array`` decides the dtype: Python numbers alone give a weakly typed scalar, lists take JAX's
promotion of their elements, NumPy arrays keep theirs (64 bit shrinks to 32 unless x64 is on).
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.higher_order.gpu_call import adopt
from jaxlite.language import dtypes
from jaxlite.language.array import (
    Array,
    ArrayImpl,
    Value,
    check_allocation,
    from_numpy,
    raise_masked,
)
from jaxlite.language.avals import ShapedArray, canonical_shape
from jaxlite.language.trace import EVAL_TRACE, Tracer, state
from jaxlite.lax import shapes
from jaxlite.lax.operands import constant, shape_of
from jaxlite.numpy.promotion import (
    check_arraylike,
    retype,
)
from jaxlite.numpy.rearrange import broadcast_to
from jaxlite.primitives.identity import copy_p

__all__ = [
    "array",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "fromstring",
    "full",
    "full_like",
    "load",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

_PYTHON_NUMBERS = frozenset(dtypes.PYTHON_SCALARS)


def array(
    object: Any,
    dtype: Any = None,
    *args: Any,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return an array of the numbers in ``object``.

    Args:
        object: a number, an array, or nested lists of them.
        dtype: of the result; None takes that of the numbers.
        args: copy, order and ndmin by position, which is deprecated.
        copy: make a new array (nothing can change either, so this only costs).
        order: "K" or "C".
        ndmin: axes of length 1 are put in front until there are so many axes.
        device: where to put it.
        out_sharding: only None (one device).

    Raises:
        ValueError: rows of different lengths, or None.
        TypeError: something that is no number.
        OverflowError: a Python integer that does not fit.

    Example:
        >>> array([[1, 2], [3, 4]])
        Array([[1, 2],
               [3, 4]], dtype=int32)
        >>> array([1, 2.5])
        Array([1. , 2.5], dtype=float32)
    """
    if args:
        copy, order, ndmin = _by_position(args, copy, order, ndmin)
    if order not in (None, "K", "C"):
        raise NotImplementedError("Only implemented for order='K'")
    kind = None if dtype is None else dtypes.requested_dtype(dtype, "array")
    if isinstance(object, np.ma.MaskedArray):
        object = object.data  # as NumPy does: the numbers under the mask
    out = _array(object, kind)
    weak = dtype is None and out.aval.weak_type
    out = retype(out, out.aval.dtype if kind is None else kind, weak)
    if copy and out is object:
        # A new object, as in JAX; under a transformation the copy is an operation of its own.
        out = copied(out)
    if ndmin > out.ndim:
        out = shapes.expand_dims(out, tuple(range(ndmin - out.ndim)))
    return out


def _by_position(args: tuple[Any, ...], copy: Any, order: Any, ndmin: Any) -> tuple[Any, Any, Any]:
    """Return copy, order and ndmin where the first of them come by position."""
    if len(args) > 3:
        raise TypeError(
            f"array() takes at most 5 positional arguments but {len(args) + 2} were given"
        )
    given = (("copy", copy, True), ("order", order, "K"), ("ndmin", ndmin, 0))
    for (name, value, default), _ in zip(given, args):
        if value is not default and value != default:
            raise TypeError(f"array() got multiple values for argument '{name}'")
    warnings.warn(
        "Passing the copy, order, and ndmin arguments to jnp.array positionally is deprecated. Use "
        "keyword arguments instead.",
        DeprecationWarning,
        stacklevel=3,
    )
    found = (*args, *[value for _, value, _ in given[len(args) :]])
    return found[0], found[1], found[2]


def copied(x: Value) -> Value:
    """Return ``x`` as a new array; under a transformation that is an operation of its own."""
    return ArrayImpl(x._data.copy(), x.aval) if type(x) is ArrayImpl else copy_p.bind(x)


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return ``a`` as an array; an array of the right dtype is returned as it is.

    Example:
        >>> asarray(3.5)
        Array(3.5, dtype=float32, weak_type=True)
    """
    if isinstance(a, Array) and dtype is None and not copy:
        return a
    if isinstance(a, np.ma.MaskedArray):
        raise_masked()
    return array(a, dtype, order=order, copy=bool(copy))


def _array(value: Any, dtype: Any) -> Value:
    """Return ``value`` as an array; ``dtype`` is applied to lists and numbers only."""
    if isinstance(value, Array):
        return value
    kind = type(value)
    if kind in _PYTHON_NUMBERS:
        return _from_number(value, dtype)
    if value is None:
        raise ValueError("None is not a valid value for jnp.array")
    if hasattr(value, "__jax_array__"):
        return _array(value.__jax_array__(), dtype)
    if isinstance(value, list | tuple):
        return _from_list(value, dtype)
    if hasattr(value, "__cuda_array_interface__"):
        return adopt(value)
    return _from_data(value, dtype)


def _from_number(value: Any, dtype: Any) -> Value:
    kind = type(value)
    if dtype is None:
        return constant(value, dtypes.default_dtype(kind), kind is not bool)
    if dtypes.kind_of(dtype) == "b" or (kind is not int and dtypes.kind_of(dtype) in "iu"):
        return shapes.full((), value, dtype)
    with np.errstate(all="ignore"):
        return from_numpy(np.array(value, dtype))  # OverflowError in NumPy's words


def _from_data(value: Any, dtype: Any) -> Value:
    data = np.asarray(value)
    kind = dtypes.kind_of(data.dtype)
    if kind not in "biufc0":
        _raise_not_numeric(value, data)
    target = dtypes.canonicalize_dtype(data.dtype)
    if dtype is not None and not isinstance(dtype, dtypes.KeyDType) and dtype != target:
        # Integers that fit neither would be truncated twice; one conversion is enough.
        target = dtype if _is_direct(kind, dtypes.kind_of(dtype)) else target
    with np.errstate(all="ignore"):
        return from_numpy(np.array(data, dtype=target, order="C", copy=True))


def _is_direct(source: str, target: str) -> bool:
    return source in "iu" and target in "iu"


def _raise_not_numeric(value: Any, data: Any) -> None:
    raise TypeError(
        f"Value {str(value)!r} with dtype {data.dtype} is not a valid JAX array type. "
        "Only arrays of numeric types are supported by JAX."
    )


def _leaf_types(value: Any) -> set[type]:
    """Return the types of the elements of nested lists."""
    found = set(map(type, value))
    nested = [t for t in found if issubclass(t, list | tuple)]
    if nested:
        found.difference_update(nested)
        for item in value:
            if isinstance(item, list | tuple):
                found |= _leaf_types(item)
    return found


def _leaves(value: Any) -> Iterator[Any]:
    for item in value:
        if isinstance(item, list | tuple):
            yield from _leaves(item)
        else:
            yield item


def _from_list(value: Any, dtype: Any) -> Value:
    kinds = _leaf_types(value)
    if kinds <= _PYTHON_NUMBERS:
        if dtype is None or dtypes.kind_of(dtype) == "k":
            dtype = _default_of(kinds)
        elif int in kinds and dtypes.kind_of(dtype) not in "iu":
            dtype = _default_of(kinds) if dtypes.kind_of(dtype) == "b" else dtype
        elif float in kinds and dtypes.kind_of(dtype) in "iu":
            dtype = dtypes.default_dtype(float)
        with np.errstate(all="ignore"):
            return from_numpy(np.array(value, dtype))
    if type(None) in kinds:
        raise ValueError("None is not a valid value for jnp.array")
    leaves = list(_leaves(value))
    if any(isinstance(leaf, Array) or hasattr(leaf, "__jax_array__") for leaf in leaves):
        return _stacked(value, dtype)
    for leaf in leaves:
        if isinstance(leaf, str | bytes) or dtypes.kind_of(np.asarray(leaf).dtype) not in "biufc":
            _raise_not_numeric(leaf, np.asarray(leaf))
    common = dtypes.result_type(*{_type_key(leaf) for leaf in leaves})
    with np.errstate(all="ignore"):
        return from_numpy(np.array(value).astype(common) if dtype is None else np.array(value))


def _type_key(leaf: Any) -> Any:
    return type(leaf) if type(leaf) in _PYTHON_NUMBERS else np.asarray(leaf).dtype


def _default_of(kinds: set[type]) -> Any:
    for kind in (complex, float, int, bool):
        if kind in kinds:
            return dtypes.default_dtype(kind)
    return dtypes.default_dtype(float)


def _stacked(value: Sequence[Any], dtype: Any) -> Value:
    """Stack nested lists that hold arrays or tracers."""
    parts = [_array(item, dtype) for item in value]
    common, _ = dtypes.result_type(*[p.aval for p in parts], return_weak_type_flag=True)
    rows = [shapes.expand_dims(retype(p, common), (0,)) for p in parts]
    return shapes.concatenate(rows, 0)


def copy(a: Any, order: str | None = None) -> Value:
    """Return ``a`` as a new array."""
    check_arraylike("copy", a)
    return array(a)


# --- filled ---


def _shape_of(shape: Any, name: str) -> tuple[int, ...]:
    if isinstance(shape, Tracer):
        _not_concrete(shape)
    dims = canonical_shape(shape if isinstance(shape, tuple | list | np.ndarray) else (shape,))
    if any(d < 0 for d in dims):
        raise TypeError(
            f"broadcast_in_dim shape must have every element be nonnegative, got {dims}.\n"
            f"  It is the shape given to jnp.{name}."
        )
    return dims


def _not_concrete(shape: Tracer) -> None:
    if shape.concrete_value() is None and shape.ndim:
        raise errors.ConcretizationTypeError(shape, "It was used as a shape.")


def _check_second(name: str, shape: Any, dtype: Any) -> None:
    """Complain about ``zeros(2, 3)``."""
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        raise TypeError(
            f"Cannot interpret '{dtype}' as a data type.\n\nDid you accidentally write "
            f"`jax.numpy.{name}({shape}, {dtype})` when you meant "
            f"`jax.numpy.{name}(({shape}, {dtype}))`, i.e. with a single tuple argument for the "
            "shape?"
        )


def _filled(name: str, value: int, text: str) -> Callable[..., Value]:
    def function(
        shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
    ) -> Value:
        dims = _shape_of(shape, name)
        _check_second(name, shape, dtype)
        kind = dtypes.default_dtype(float) if dtype is None else dtypes.requested_dtype(dtype, name)
        if state.trace is EVAL_TRACE:
            aval = ShapedArray(dims, kind)
            check_allocation(name, [aval])
            storage = dtypes.storage_dtype(kind)
            if value and isinstance(kind, dtypes.KeyDType):
                return shapes.full(dims, value, kind)
            data = np.zeros(dims, storage) if value == 0 else np.ones(dims, storage)
            return ArrayImpl(data, aval)
        return shapes.full(dims, value, kind)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return an array of ``shape`` (an int or ints) filled with {text}; float32 by default.\n\n"
        "Raises:\n    TypeError: the shape is not known now or no shape."
    )
    return function


zeros = _filled("zeros", 0, "0")
ones = _filled("ones", 1, "1")
empty = _filled("empty", 0, "unspecified values (0)")


def full(
    shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Value:
    """Return an array of ``shape`` filled with ``fill_value``, which broadcasts.

    Example:
        >>> full((2, 2), 7)
        Array([[7, 7],
               [7, 7]], dtype=int32, weak_type=True)
    """
    check_arraylike("full", fill_value)
    dims = _shape_of(shape, "full")
    if np.ndim(fill_value) == 0 if not isinstance(fill_value, Array) else fill_value.ndim == 0:
        return shapes.full(dims, fill_value, dtype)
    values = asarray(fill_value, dtype)
    return _to_shape(values, dims)


def _to_shape(x: Value, shape: tuple[int, ...]) -> Value:
    return broadcast_to(x, shape)


def _like(name: str, value: int, text: str) -> Callable[..., Value]:
    def function(
        a: Any,
        dtype: Any = None,
        shape: Any = None,
        *,
        device: Any = None,
        out_sharding: Any = None,
    ) -> Value:
        _check_like(name, a)
        return shapes.full_like(a, value, dtype, None if shape is None else _shape_of(shape, name))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return an array filled with {text} of the shape and dtype of ``a``; ``dtype`` and "
        "``shape`` "
        "replace them."
    )
    return function


def _check_like(name: str, a: Any) -> None:
    if not (hasattr(a, "dtype") and hasattr(a, "shape")):
        check_arraylike(name, a)


zeros_like = _like("zeros_like", 0, "0")
ones_like = _like("ones_like", 1, "1")


def empty_like(
    prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Value:
    """Return an array of unspecified values (0) of the shape and dtype of ``prototype``."""
    return zeros_like(prototype, dtype, shape, device=device)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return an array filled with ``fill_value``, of the shape and dtype of ``a``.

    Example:
        >>> full_like(np.arange(2), 5)
        Array([5, 5], dtype=int32)
    """
    _check_like("full_like", a)
    check_arraylike("full_like", 0, fill_value)
    target = None if shape is None else _shape_of(shape, "full_like")
    if hasattr(fill_value, "__jax_array__"):
        fill_value = fill_value.__jax_array__()
    if not shape_of(fill_value):
        return shapes.full_like(a, fill_value, dtype, target)
    dims = shape_of(a) if target is None else target
    kind = dtypes.dtype(a, canonicalize=True) if dtype is None else dtype
    return _to_shape(asarray(fill_value, kind), dims)


# --- from elsewhere ---


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Value:
    """Return the bytes of ``buffer`` read as ``dtype``."""
    return asarray(np.frombuffer(buffer, dtypes.as_dtype(dtype), count, offset))


def _impure(name: str, what: str) -> Callable[..., Value]:
    def function(*args: Any, **kwargs: Any) -> Value:
        raise NotImplementedError(
            f"jnp.{name}() is not implemented because it may be non-pure and thus unsafe for use "
            "with JIT "
            f"and other JAX transformations. Consider using jnp.asarray(np.{name}(...)) instead, "
            "although "
            f"care should be taken if np.{name} is used within a jax transformations because of "
            "its "
            f"potential side-effect of consuming the {what}"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Raise NotImplementedError: reading a {what} is a side effect."
    return function


fromfile = _impure("fromfile", "file object")
fromiter = _impure("fromiter", "iterable object")


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Value:
    """Return the numbers in ``string``, which ``sep`` separates."""
    return asarray(np.fromstring(string, dtypes.as_dtype(dtype), count, sep=sep))


def load(file: Any, *args: Any, **kwargs: Any) -> Value:
    """Return the array in a ``.npy`` file (a dict of arrays for ``.npz``)."""
    out = np.load(file, *args, **kwargs)
    if isinstance(out, np.ndarray) and out.dtype == np.dtype("V2"):
        out = out.view(dtypes.bfloat16)  # the file format has no name for it
    return asarray(out) if isinstance(out, np.ndarray) else out


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Value:
    """Return ``function`` of the index arrays of ``shape``.

    Example:
        >>> fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
        Array([[0, 1],
               [1, 2]], dtype=int32)
    """
    dims = canonical_shape(shape)
    kind = dtypes.requested_dtype(dtype, "fromfunction")
    coordinates = [shapes.broadcasted_iota(kind, dims, axis) for axis in range(len(dims))]
    return function(*coordinates, **kwargs)


def index_of(value: Any, where: str) -> int:
    """Return a number that must be known now as an int; the error names the argument."""
    if isinstance(value, Tracer) and value.concrete_value() is None:
        raise errors.ConcretizationTypeError(value, where)
    return operator.index(value)
