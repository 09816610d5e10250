"""Operators, methods and conversions of arrays. In: the class ``Array``.

Out: the same class, complete.

Installed once, when ``jaxlite.numpy`` is imported: ``language`` knows no NumPy functions (the
second inversion). Tracers inherit everything; what needs a value (``if x:``, ``int(x)``) works on
a tracer that has one and raises JAX's error otherwise.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from jaxlite import errors
from jaxlite.api.device import CPU, Device, device_put, wait
from jaxlite.language import dtypes
from jaxlite.language.array import Array, ArrayImpl, DeviceArray, Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.sharding import SingleDeviceSharding
from jaxlite.language.trace import Tracer
from jaxlite.lax.operands import is_array_like
from jaxlite.numpy import (
    arithmetic,
    choosing,
    cumulative,
    diagonals,
    joining,
    ordering,
    products,
    rearrange,
    reductions,
    selection,
    ufuncs,
)
from jaxlite.numpy.at import _IndexUpdateHelper
from jaxlite.numpy.creation import copied
from jaxlite.numpy.indexing import getitem
from jaxlite.numpy.promotion import check_arraylike
from jaxlite.numpy.repeating import repeat
from jaxlite.numpy.show import array_format, array_repr, array_str
from jaxlite.numpy.viewing import dlpack, dlpack_device, swap_bytes, view

__all__ = ["install"]

_METHODS: dict[str, Any] = {}


def _method(function: Any, name: str | None = None) -> Any:
    _METHODS[name or function.__name__] = function
    return function


# --- arithmetic ---


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def forward(self: Any, other: Any) -> Any:
        return function(self, other) if is_array_like(other) else NotImplemented

    return forward


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def backward(self: Any, other: Any) -> Any:
        return function(other, self) if is_array_like(other) else NotImplemented

    return backward


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": ufuncs.add,
    "sub": ufuncs.subtract,
    "mul": ufuncs.multiply,
    "truediv": ufuncs.true_divide,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.remainder,
    "divmod": arithmetic.divmod,
    "pow": arithmetic.power,
    "matmul": products.matmul,
    "and": ufuncs.bitwise_and,
    "or": ufuncs.bitwise_or,
    "xor": ufuncs.bitwise_xor,
    "lshift": ufuncs.left_shift,
    "rshift": ufuncs.right_shift,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": ufuncs.equal,
    "ne": ufuncs.not_equal,
    "lt": ufuncs.less,
    "le": ufuncs.less_equal,
    "gt": ufuncs.greater,
    "ge": ufuncs.greater_equal,
}
for _name, _function in _BINARY.items():
    _METHODS[f"__{_name}__"] = _operator(_function)
    _METHODS[f"__r{_name}__"] = _reflected(_function)


def _comparison(function: Callable[[Any, Any], Any], symbol: str) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        if is_array_like(other):
            return function(self, other)
        if isinstance(other, list | tuple):
            raise TypeError(
                f"unsupported operand type(s) for {symbol}: '{type(self).__name__}' and "
                f"'{type(other).__name__}'\n  Fix: compare with jnp.array({value_text(other)})."
            )
        return NotImplemented

    return compare


for (_name, _function), _symbol in zip(
    _COMPARISONS.items(), ("==", "!=", "<", "<=", ">", ">="), strict=True
):
    _METHODS[f"__{_name}__"] = _comparison(_function, _symbol)
_method(lambda self: ufuncs.negative(self), "__neg__")
_method(lambda self: self, "__pos__")
_method(lambda self: arithmetic.abs(self), "__abs__")
_method(lambda self: ufuncs.invert(self), "__invert__")


@_method
def __round__(self: Value, ndigits: int | None = None) -> Value:
    """Round to ``ndigits`` digits; without it, to an integer."""
    out = arithmetic.round(self, ndigits or 0)
    return rearrange.astype(out, int) if ndigits is None else out


# --- indexing ---


@_method
def __getitem__(self: Value, index: Any) -> Value:
    """Return the elements that ``index`` selects; out of bounds is clamped."""
    return getitem(self, index)


def index_text(index: Any) -> str:
    """Return an index as the user wrote it: ``1, :``."""
    if isinstance(index, tuple) and index:
        return ", ".join(map(index_text, index)) + ("," if len(index) == 1 else "")
    if isinstance(index, slice):
        bounds = ["" if b is None else str(b) for b in (index.start, index.stop)]
        step = "" if index.step is None else f":{index.step}"
        return f"{bounds[0]}:{bounds[1]}{step}"
    if index is Ellipsis:
        return "..."
    return "index" if isinstance(index, Array | np.ndarray) and index.ndim else repr(index)


def value_text(value: Any) -> str:
    """Return a value short enough for a message."""
    text = repr(value)
    return text if not isinstance(value, Array | np.ndarray) and len(text) <= 30 else "value"


@_method
def __setitem__(self: Value, index: Any, value: Any) -> NoReturn:
    """Raise TypeError: arrays cannot be changed."""
    text = f".at[{index_text(index)}].set({value_text(value)})"
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = "
        "y, use "
        "x = x.at[idx].set(y) or another .at[] method: "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html"
        f"\n  The array has shape {list(self.shape)} and dtype {dtypes.name_of(self.dtype)}."
        f"\n  Fix: a = a{text}"
    )


@_method
def __delitem__(self: Value, index: Any) -> NoReturn:
    """Raise TypeError: arrays cannot be changed."""
    raise TypeError(
        f"'{type(self).__name__}' object doesn't support item deletion"
        f"\n  Fix: a = jnp.delete(a, {index_text(index)})"
    )


@_method
def __len__(self: Value) -> int:
    """Return the length of the first axis."""
    if not self.aval.shape:
        raise TypeError("len() of unsized object")
    return int(self.aval.shape[0])


@_method
def __iter__(self: Value) -> Iterator[Value]:
    """Iterate over the first axis."""
    if not self.aval.shape:
        raise TypeError("iteration over a 0-d array")
    if isinstance(self, Tracer):
        return iter(joining.unstack(self) if self.aval.shape[0] else ())
    return (getitem(self, k) for k in range(self.aval.shape[0]))


@_method
def __reversed__(self: Value) -> Iterator[Value]:
    """Iterate over the first axis from its end."""
    if not self.aval.shape:
        raise TypeError("iteration over a 0-d array")
    return (getitem(self, k) for k in reversed(range(self.aval.shape[0])))


@_method
def __contains__(self: Value, item: Any) -> bool:
    """Say whether an element equals ``item``, a scalar."""
    if item is None or isinstance(item, str | bytes):
        raise TypeError(
            f"Array.__contains__: unsupported operand type {type(item)}.\n  Fix: look for a number."
        )
    check_arraylike("Array.__contains__", item)
    if self.ndim != 1:
        raise ValueError(
            f"Array.__contains__: search array must be one-dimensional, got arr.shape={self.shape}."
        )
    if np.ndim(item):
        raise ValueError(
            "Array.__contains__: query value must be a scalar, got "
            f"query.shape={tuple(np.shape(item))}"
        )
    return bool(reductions.any(ufuncs.equal(self, item)))


# --- Python values ---


def _on_host(self: Any) -> Any:
    return self.to_host() if type(self) is DeviceArray else self


def _value(self: Value, error: Callable[[], Exception]) -> ArrayImpl:
    """Return the array with data behind ``self``, or raise ``error()``."""
    if type(self) is ArrayImpl:
        return self
    if type(self) is DeviceArray:
        return self.to_host()
    concrete = self.concrete_value()
    if concrete is None:
        raise error()
    return concrete  # type: ignore[no-any-return]


def _conversion_error(self: Value, kind: str) -> Exception:
    return errors.ConcretizationTypeError(
        self,
        f"The problem arose with the `{kind}` function. If trying to convert the data type of a "
        "value, "
        f"try using `x.astype({kind})` or `jnp.array(x, {kind})` instead.\n",
    )


def _check_scalar(self: Value) -> None:
    if self.aval.ndim:
        raise TypeError(
            "Only scalar arrays can be converted to Python scalars; got arr.ndim="
            f"{self.aval.ndim}\n  Fix: pick an element, x[0], or reduce the array, x.sum()."
        )


@_method
def __bool__(self: Value) -> bool:
    """Return the truth of an array of one element."""
    if self.aval.size > 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or "
            "a.all()"
        )
    if self.aval.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an "
            "array "
            "is not empty."
        )
    return bool(_value(self, lambda: errors.TracerBoolConversionError(self))._data)


@_method
def __int__(self: Value) -> int:
    """Return a scalar as a Python int."""
    _check_scalar(self)
    return int(_value(self, lambda: _conversion_error(self, "int"))._data)


@_method
def __float__(self: Value) -> float:
    """Return a scalar as a Python float; not of a value that is being differentiated."""
    _check_scalar(self)
    if isinstance(self, Tracer):
        raise _conversion_error(self, "float")
    return float(_on_host(self)._data)


@_method
def __complex__(self: Value) -> complex:
    """Return a scalar as a Python complex; not of a value that is being differentiated."""
    _check_scalar(self)
    if isinstance(self, Tracer):
        raise _conversion_error(self, "complex")
    return complex(_on_host(self)._data)


@_method
def __index__(self: Value) -> int:
    """Return an integer scalar as a Python int, for use as an index."""
    if self.aval.ndim or dtypes.kind_of(self.aval.dtype) not in "iu":
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    data = _value(self, lambda: errors.TracerIntegerConversionError(self))._data
    return operator.index(data[()])


@_method
def __array__(self: Value, dtype: Any = None, copy: bool | None = None) -> Any:
    """Return a NumPy array that shares the data and cannot be written."""
    if isinstance(self, Tracer):
        raise errors.TracerArrayConversionError(self)
    if isinstance(self.dtype, dtypes.KeyDType):
        raise TypeError(
            "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use "
            "jax.random.key_data(arr) "
            "if you wish to extract the underlying integer array."
        )
    data = _on_host(self)._data
    if copy or (dtype is not None and dtype != data.dtype):
        return np.array(data, dtype=dtype)
    out = data.view()
    out.flags.writeable = False
    return out


@_method
def item(self: Value, *args: Any) -> Any:
    """Return the only element, or the one at flat or full position ``args``, as a Python number."""
    array = _value(
        self,
        lambda: errors.ConcretizationTypeError(
            self, "This occurred in the item() method of jax.Array\n"
        ),
    )
    if not args and array.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return array._data.item(*args)


def _data_only(name: str, function: Callable[..., Any]) -> None:
    def method(self: Value, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, Tracer):
            shape = ",".join(map(str, self.aval.shape))
            raise errors.ConcretizationTypeError(
                self,
                f"The {name}() method was called on traced array with shape "
                f"{self.aval.dtype}[{shape}].\n",
            )
        return function(_on_host(self), *args, **kwargs)

    method.__name__ = name
    _METHODS[name] = method


@_method
def devices(self: Value) -> set[Device]:
    """Return the set of devices that hold the array."""
    if isinstance(self, Tracer):
        raise errors.ConcretizationTypeError(self, "The devices() method was called on it.\n")
    return {self.device if type(self) is DeviceArray else CPU}


_data_only("tolist", lambda x: x._data.tolist())
_data_only("tobytes", lambda x, order="C": x._data.tobytes(order))
_data_only("unsafe_buffer_pointer", lambda x: x._data.ctypes.data)


@_method
def __repr__(self: Value) -> str:
    """Return the array as JAX prints it."""
    if isinstance(self, Tracer):
        return f"Traced<{self.aval.str_short()}>"
    return array_repr(_on_host(self))


@_method
def __str__(self: Value) -> str:
    """Return the numbers alone."""
    return repr(self) if isinstance(self, Tracer) else array_str(_on_host(self))


@_method
def __format__(self: Value, spec: str) -> str:
    """Return a scalar in the format ``spec``."""
    if isinstance(self, Tracer):
        return format(repr(self), spec) if not spec else object.__format__(self, spec)
    return array_format(_on_host(self), spec)


# --- copies and protocols ---


def rebuild(data: Any, dtype: Any, weak_type: bool) -> ArrayImpl:
    """Return the array that ``__reduce__`` took apart."""
    return ArrayImpl(data, ShapedArray(data.shape, dtype, weak_type))


def _reduce(self: ArrayImpl) -> tuple[Any, ...]:
    return rebuild, (self._data, self.aval.dtype, self.aval.weak_type)


def _same_data(self: Value, *memo: Any) -> Value:
    return ArrayImpl(self._data, self.aval) if isinstance(self, ArrayImpl) else self


@_method
def copy(self: Value) -> Value:
    """Return an equal array."""
    return copied(self)


@_method
def byteswap(self: Value, inplace: bool = False) -> Value:
    """Return the array with the bytes of each element in reverse order."""
    if inplace:
        raise ValueError("The 'inplace' argument to byteswap is not supported.")
    return swap_bytes(self)


def _namespace(self: Value, *, api_version: str | None = None) -> Any:
    return sys.modules["jaxlite.numpy"]


def _cuda_interface(self: DeviceArray) -> Any:
    if dtypes.storage_dtype(self.aval.dtype) != self._data.dtype:
        raise AttributeError(f"the CUDA array interface knows no {self.aval.dtype}")
    return self._data.__cuda_array_interface__


# --- methods that are functions of the namespace ---


def _reshape(
    self: Value, *args: Any, order: str = "C", copy: Any = None, out_sharding: Any = None
) -> Value:
    """Return the elements in another shape: ``x.reshape(2, 3)`` or ``x.reshape((2, 3))``."""
    target = args[0] if len(args) == 1 else args
    return rearrange.reshape(self, target, order)


def _transpose(self: Value, *args: Any) -> Value:
    """Return the array with its axes reversed, or in the order given."""
    axes = args[0] if len(args) == 1 and not hasattr(args[0], "__index__") else (args or None)
    return rearrange.transpose(self, axes)


def _flatten(self: Value, order: str = "C", *, out_sharding: Any = None) -> Value:
    """Return the elements as a vector."""
    return rearrange.ravel(self, order)


def _clip(self: Value, min: Any = None, max: Any = None) -> Value:
    """Return elements limited to ``min`` and ``max``."""
    return choosing.clip(self, min, max)


def _compress(self: Value, condition: Any, axis: int | None = None, **options: Any) -> Value:
    """Return the slices along ``axis`` where ``condition`` holds."""
    return selection.compress(condition, self, axis, **options)


def _astype(self: Value, dtype: Any, copy: bool = False, device: Any = None) -> Value:
    """Return the elements converted to ``dtype``."""
    return rearrange.astype(self, dtype)


_NAMESPACE: dict[str, Any] = {
    **{
        name: getattr(reductions, name)
        for name in (
            "all",
            "any",
            "argmax",
            "argmin",
            "max",
            "mean",
            "min",
            "prod",
            "ptp",
            "std",
            "sum",
            "var",
        )
    },
    **{name: getattr(cumulative, name) for name in ("cumprod", "cumsum")},
    **{
        name: getattr(ordering, name)
        for name in ("argpartition", "argsort", "searchsorted", "sort")
    },
    **{name: getattr(diagonals, name) for name in ("diagonal", "trace")},
    **{name: getattr(selection, name) for name in ("choose", "nonzero", "take")},
    **{name: getattr(rearrange, name) for name in ("ravel", "squeeze", "swapaxes")},
    "conj": arithmetic.conj,
    "conjugate": arithmetic.conjugate,
    "dot": products.dot,
    "repeat": repeat,
    "round": arithmetic.round,
    "view": view,
    "reshape": _reshape,
    "transpose": _transpose,
    "flatten": _flatten,
    "clip": _clip,
    "compress": _compress,
    "astype": _astype,
    "clone": copy,
}
_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "T": rearrange.transpose,
    "mT": rearrange.matrix_transpose,
    "real": arithmetic.real,
    "imag": arithmetic.imag,
    "at": _IndexUpdateHelper,
    "nbytes": lambda self: self.aval.nbytes,
    "itemsize": lambda self: self.aval.itemsize,
}


def _installed(function: Any) -> Any:
    """Return ``function`` as a method (a plain function is one already)."""
    return function


def _needs_data(name: str) -> Callable[[Any], NoReturn]:
    """Return the method ``name`` of tracers, which have no data."""

    def method(self: Any) -> NoReturn:
        shape = ",".join(str(d) for d in self.aval.shape)
        raise errors.ConcretizationTypeError(
            self,
            f"The {name}() method was called on traced array with shape "
            f"{self.aval.dtype}[{shape}].",
        )

    return method


def install() -> None:
    """Put operators, methods and properties on ``Array``; those of data only on ``ArrayImpl``."""
    for name, function in {**_NAMESPACE, **_METHODS}.items():
        # Tracer classes have a repr of their own.
        setattr(Array, name, _installed(function))
    for name, getter in _PROPERTIES.items():
        setattr(Array, name, property(getter, doc=getter.__doc__))
    for name in ("delete", "is_deleted"):
        setattr(Tracer, name, _needs_data(name))
    Array.__hash__ = None  # type: ignore[assignment]
    Array.__copy__ = _same_data  # type: ignore[attr-defined]
    Array.__deepcopy__ = _same_data  # type: ignore[attr-defined]
    Array.__array_namespace__ = _namespace  # type: ignore[attr-defined]
    on_data: dict[str, Any] = {
        "__reduce__": _reduce,
        "__dlpack__": dlpack,
        "__dlpack_device__": dlpack_device,
        "block_until_ready": lambda self: self,
        "copy_to_host_async": lambda self: None,
        "to_device": lambda self, device, *, stream=None: device_put(self, device),
        "committed": property(lambda self: False),
        "is_fully_addressable": property(lambda self: True),
        "is_fully_replicated": property(lambda self: True),
        "sharding": property(lambda self: SingleDeviceSharding(self.device)),
        "on_device_size_in_bytes": lambda self: self.aval.nbytes,
    }
    for name, function in on_data.items():
        setattr(ArrayImpl, name, function)
        setattr(DeviceArray, name, function)
    on_host = {
        "is_ready": lambda self: True,
        "platform": lambda self: "cpu",
        "device": property(lambda self: CPU),
    }
    for name, function in on_host.items():
        setattr(ArrayImpl, name, function)
    on_gpu = {
        "__reduce__": lambda self: _reduce(self.to_host()),
        "__cuda_array_interface__": property(_cuda_interface),
        "block_until_ready": wait,
        "platform": lambda self: "gpu",
    }
    for name, function in on_gpu.items():
        setattr(DeviceArray, name, function)
