"""Abstract values: what is known about an array before it exists.

In: shape and dtype. Out: ``ShapedArray``. Invariant: avals are interned. Two avals with the same
shape, dtype and weak type are the same object, so a cache key made of avals is compared and hashed
by identity.
"""

import math
import operator
import threading
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from jaxlite.errors import ConcreteShapeError
from jaxlite.language import dtypes

Shape: TypeAlias = tuple[int, ...]

_lock = threading.Lock()


def canonical_shape(shape: Any) -> Shape:
    """Return ``shape`` (an int or a sequence of ints, NumPy's included) as a tuple of Python ints.

    Raises:
        TypeError: it is something else, a traced value for example.
    """
    try:
        if isinstance(shape, (tuple, list)):
            return tuple([operator.index(size) for size in shape])
        if isinstance(shape, np.ndarray) and shape.ndim == 1:
            return tuple(shape.tolist())
        return (operator.index(shape),)
    except TypeError:
        hint = ""
        if any(
            hasattr(size, "aval")
            for size in (shape if isinstance(shape, (tuple, list)) else [shape])
        ):
            hint = (
                "\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller "
                "subfunctions."
            )
        message = (
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape}.{hint}"
        )
        if not hint:
            raise TypeError(message) from None
        sizes = shape if isinstance(shape, (tuple, list)) else [shape]
        error = ConcreteShapeError(message)
        error.depends_on = tuple(
            [name for size in sizes if hasattr(size, "depends_on") for name in size.depends_on()]
        )
        raise error from None


class ShapedArray:
    """Type of an array: ``shape``, ``dtype``, ``weak_type``. Immutable and interned.

    Example:
        >>> ShapedArray((3, 4), np.dtype("float32"))
        ShapedArray(float32[3,4])
        >>> ShapedArray((3, 4), np.dtype("float32")) is ShapedArray([3, 4], "float32")
        True
    """

    __slots__ = ("_short", "_tangent", "dtype", "ndim", "shape", "size", "weak_type")
    _interned: ClassVar[dict[tuple[Shape, Any, bool], "ShapedArray"]] = {}

    shape: Shape
    dtype: Any  # np.dtype, or KeyDType
    weak_type: bool
    ndim: int
    size: int
    _short: str | None
    _tangent: "ShapedArray | None"

    def __new__(cls, shape: Sequence[int], dtype: Any, weak_type: bool = False) -> "ShapedArray":
        try:
            # The common case: a tuple of ints and a dtype object that were seen before.
            return cls._interned[shape, dtype, weak_type]  # type: ignore[index]
        except (KeyError, TypeError):
            pass
        shape = canonical_shape(shape)
        dtype = dtypes.as_dtype(dtype)
        weak_type = bool(weak_type)
        with _lock:
            found = cls._interned.get((shape, dtype, weak_type))
            if found is None:
                found = super().__new__(cls)
                put = object.__setattr__
                put(found, "shape", shape)
                put(found, "dtype", dtype)
                put(found, "weak_type", weak_type)
                put(found, "ndim", len(shape))
                put(found, "size", math.prod(shape))
                put(found, "_short", None)
                put(found, "_tangent", None)
                cls._interned[shape, dtype, weak_type] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ShapedArray is immutable; use aval.update({name}=...)")

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapedArray, (self.shape, self.dtype, self.weak_type)

    def __copy__(self) -> "ShapedArray":
        return self

    def __deepcopy__(self, memo: Any) -> "ShapedArray":
        return self

    #: A type of JAX's says where an array is spread to; here it is on one device.
    sharding: ClassVar[None] = None

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def update(self, **changes: Any) -> "ShapedArray":
        """Return the aval with some of shape, dtype and weak_type replaced."""
        shape = changes.pop("shape", self.shape)
        dtype = changes.pop("dtype", self.dtype)
        weak_type = changes.pop("weak_type", self.weak_type)
        if changes:
            raise TypeError(
                f"ShapedArray.update() got an unexpected keyword argument {next(iter(changes))!r}"
            )
        return ShapedArray(shape, dtype, weak_type)

    def strip_weak_type(self) -> "ShapedArray":
        """Return the same aval, not weak."""
        return ShapedArray(self.shape, self.dtype) if self.weak_type else self

    def to_tangent_aval(self) -> "ShapedArray":
        """Return the aval of tangents: the same for floats and complexes, float0 for the rest."""
        tangent = self._tangent
        if tangent is None:
            is_inexact = dtypes.kind_of(self.dtype) in "fc"
            tangent = self if is_inexact else ShapedArray(self.shape, dtypes.float0)
            object.__setattr__(self, "_tangent", tangent)
        return tangent

    def str_short(self, short_dtypes: bool = True) -> str:
        """Return for example ``f32[3,4]``, the form used in jaxprs and messages."""
        short = self._short
        if short is None:
            short = f"{dtypes.short_name(self.dtype)}{shape_text(self.shape)}"
            object.__setattr__(self, "_short", short)
        return short if short_dtypes else f"{dtypes.name_of(self.dtype)}{shape_text(self.shape)}"

    def str_long(self) -> str:
        """Return for example ``~float32[3,4]``, the form in which tracers show themselves."""
        return ("~" if self.weak_type else "") + self.str_short(short_dtypes=False)

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short(short_dtypes=False)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(short_dtypes=False)}{weak})"


def shape_text(shape: Iterable[int]) -> str:
    """Return for example ``[3,4]``."""
    return f"[{','.join(map(str, shape))}]"


def aval_of_scalar(value: bool | int | float | complex) -> ShapedArray:
    """Return the aval of a Python number: weak, except bool. Does not check that an int fits.

    Example:
        >>> aval_of_scalar(1.5), aval_of_scalar(True)
        (ShapedArray(float32[], weak_type=True), ShapedArray(bool[]))
    """
    return ShapedArray((), *dtypes.dtype_and_weak(value))


def aval_of(x: Any) -> ShapedArray:
    """Return the aval of an array, tracer, NumPy value, Python number or ``ShapeDtypeStruct``.

    Raises:
        TypeError: ``x`` is none of them.

    Example:
        >>> aval_of(np.zeros((2, 3)))
        ShapedArray(float32[2,3])
    """
    aval = getattr(x, "aval", None)
    if aval is not None:
        return aval  # type: ignore[no-any-return]
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return aval_of_scalar(x)
    dtype = dtypes.dtype(x, canonicalize=True)
    return ShapedArray(x.shape, dtype, getattr(x, "weak_type", False))


class ShapeDtypeStruct:
    """A container for the shape and dtype of an array, as returned by ``eval_shape``.

    Args:
        shape: a sequence of ints.
        dtype: anything that names a dtype.
        sharding: where the array lives, or None.
        weak_type: whether the dtype yields in promotion.

    Example:
        >>> ShapeDtypeStruct((3, 4), "float32")
        ShapeDtypeStruct(shape=(3, 4), dtype=float32)
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    shape: Shape
    dtype: Any
    sharding: Any
    weak_type: bool

    def __init__(
        self, shape: Iterable[int], dtype: Any, *, sharding: Any = None, weak_type: bool = False
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        put = object.__setattr__
        put(self, "shape", tuple(shape))
        put(self, "dtype", dtypes.as_dtype(dtype))
        put(self, "sharding", sharding)
        put(self, "weak_type", bool(weak_type))

    @classmethod
    def like(cls, x: Any) -> "ShapeDtypeStruct":
        """Return the container for the shape, dtype and weak type of ``x``, an array or a number.

        Example:
            >>> ShapeDtypeStruct.like(3.0)
            ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
        """
        dtype, weak = dtypes.dtype_and_weak(x, explicit=False)
        shape = x.shape if hasattr(x, "shape") else ()
        canonical = dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)
        return cls(shape, canonical, weak_type=weak)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def update(self, **changes: Any) -> "ShapeDtypeStruct":
        """Return a copy with some of shape, dtype, sharding and weak_type replaced."""
        values = {name: getattr(self, name) for name in self.__slots__}
        unknown = changes.keys() - values.keys()
        if unknown:
            raise TypeError(
                f"ShapeDtypeStruct.update() got an unexpected keyword argument {min(unknown)!r}"
            )
        return ShapeDtypeStruct(**{**values, **changes})

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __setattr__(self, name: str, value: Any) -> None:
        raise RuntimeError(
            f"Cannot reassign attributes ({name}) of immutable ShapeDtypeStruct objects\n"
            f"  Fix: struct.update({name}=...) returns a changed copy."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _struct, (self.shape, self.dtype, self.sharding, self.weak_type)

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.sharding, self.weak_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        dtype = dtypes.name_of(self.dtype)
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtype}{sharding}{weak})"


def _struct(shape: Shape, dtype: Any, sharding: Any, weak_type: bool) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(shape, dtype, sharding=sharding, weak_type=weak_type)
