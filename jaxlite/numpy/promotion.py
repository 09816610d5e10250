"""What NumPy does to operands before an operation. In: arrays, Python numbers.

Out: arrays of one dtype and shape.

Promotion walks JAX's lattice (``language/dtypes.py``): Python numbers and arrays made of them only
are weak and give way. Two frequent cases stay cheap: equal avals, and an array beside a Python
number.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, ArrayImpl, Value, asarray_eager
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Primitive
from jaxlite.language.trace import EVAL_TRACE, state
from jaxlite.lax.operands import check_numeric, constant, is_array_like
from jaxlite.primitives import arithmetic as ar
from jaxlite.primitives import bitwise
from jaxlite.primitives import comparison as cmp
from jaxlite.primitives.convert import convert_element_type_p
from jaxlite.primitives.select import select_n_p
from jaxlite.primitives.shape import broadcast_in_dim_p
from jaxlite.runtime.array import check_finite, predict, wrap
from jaxlite.settings import config, override

__all__ = [
    "as_operand",
    "bind_broadcast",
    "broadcast_arrays_to",
    "broadcast_shapes",
    "broadcast_value",
    "check_arraylike",
    "convert",
    "promote",
    "promote_all",
    "promote_all_inexact",
    "promote_inexact",
    "relaxed",
    "retype",
    "select_broadcast",
]


def relaxed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate what a function computes of its arguments: strict promotion is about these only."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        frame = config.frame
        if frame.numpy_dtype_promotion == "standard" and frame.numpy_rank_promotion == "allow":
            return function(*args, **kwargs)
        with override(numpy_dtype_promotion="standard", numpy_rank_promotion="allow"):
            return function(*args, **kwargs)

    return run


def check_arraylike(name: str, *args: Any, start: int = 0) -> None:
    """Raise JAX's TypeError for the first argument that is a list, None, a string ..."""
    for position, x in enumerate(args, start):
        if not is_array_like(x):
            raise TypeError(
                f"{name} requires ndarray or scalar arguments, got {type(x)} at position "
                f"{position}." + _advice(name, x)
            )


def _advice(name: str, x: Any) -> str:
    if not isinstance(x, list | tuple):
        return ""
    text = repr(x)
    shown = text if len(text) <= 40 else "..."
    return (
        "\n  A list is not converted silently: each of its elements would become a separate "
        "operation."
        f"\n  Fix: jnp.{name}(jnp.array({shown}))"
    )


def as_operand(name: str, x: Any, position: int = 0) -> Value:
    """Return ``x`` as an array or tracer; Python numbers become weak scalars."""
    if isinstance(x, Array):
        return x
    kind = type(x)
    if kind is int or kind is float:
        return constant(x, dtypes.default_dtype(kind), True)
    if hasattr(x, "__jax_array__"):
        return as_operand(name, x.__jax_array__(), position)
    check_arraylike(name, x, start=position)
    check_numeric(x)
    return asarray_eager(x)


def convert(x: Value, dtype: Any, weak_type: bool = False) -> Value:
    """Return ``x`` with elements of ``dtype``; ``x`` itself if they are already (weak or not)."""
    return x if x.aval.dtype == dtype else _converted(x, dtype, weak_type)


def retype(x: Value, dtype: Any, weak_type: bool = False) -> Value:
    """Return ``x`` with exactly this dtype and weakness."""
    if x.aval.dtype == dtype and x.aval.weak_type == weak_type:
        return x
    return _converted(x, dtype, weak_type)


def _converted(x: Value, dtype: Any, weak_type: bool) -> Value:
    params = {"new_dtype": dtype, "weak_type": weak_type, "sharding": None}
    if type(x) is ArrayImpl and not x.aval.shape:
        # A known scalar is converted now, also while tracing: it stays a literal.
        return EVAL_TRACE.process(convert_element_type_p, (x,), params)[0]
    return convert_element_type_p.bind(x, **params)


def _number(value: Any, dtype: Any, weak_type: bool) -> ArrayImpl:
    """Return a Python number that met an array as a scalar of the promoted dtype."""
    if type(value) is int and dtypes.kind_of(dtype) in "iu":
        # As in JAX the number is an int32 (int64) first, then wraps into the narrower type.
        default = dtypes.default_dtype(int)
        dtypes.check_python_int(value, default)
        info = dtypes.iinfo(dtype)
        if not info.min <= value <= info.max:
            return constant(int(np.array(value, default).astype(dtype)), dtype, weak_type)
    elif type(value) is int:
        dtypes.check_python_int(value, dtypes.default_dtype(int))
    return constant(value, dtype, weak_type)


def _join(name: str, a: Any, a_weak: bool, b: Any, b_weak: bool) -> tuple[Any, bool]:
    """Return ``dtypes.promote_pair``; keys beside numbers are the fault of function ``name``."""
    try:
        return dtypes.promote_pair(a, a_weak, b, b_weak)
    except ValueError:
        if isinstance(a, dtypes.KeyDType) or isinstance(b, dtypes.KeyDType):
            names = f"{dtypes.name_of(a)}, {dtypes.name_of(b)}"
            raise TypeError(f"{name} does not accept dtypes {names}.") from None
        raise


def promote(name: str, x: Any, y: Any) -> tuple[Value, Value]:
    """Return two operands converted to their common dtype (shapes stay as they are).

    Raises:
        TypeError: an operand is not an array or a number.
        TypePromotionError: there is no common dtype.
    """
    if isinstance(x, Array):
        ax = x.aval
        if isinstance(y, Array):
            ay = y.aval
            if ax.dtype == ay.dtype:
                return x, y
            dtype, weak = _join(name, ax.dtype, ax.weak_type, ay.dtype, ay.weak_type)
            return convert(x, dtype, weak), convert(y, dtype, weak)
        kind = type(y)
        if kind in dtypes.PYTHON_SCALARS:
            number = dtypes.default_dtype(kind)
            dtype, weak = _join(name, ax.dtype, ax.weak_type, number, kind is not bool)
            return convert(x, dtype, weak), _number(y, dtype, weak)
    elif isinstance(y, Array) and type(x) in dtypes.PYTHON_SCALARS:
        kind = type(x)
        ay = y.aval
        dtype, weak = _join(
            name, dtypes.default_dtype(kind), kind is not bool, ay.dtype, ay.weak_type
        )
        return _number(x, dtype, weak), convert(y, dtype, weak)
    check_arraylike(name, x, y)
    return promote(name, as_operand(name, x), as_operand(name, y, 1))


def promote_inexact(name: str, x: Any, y: Any) -> tuple[Value, Value]:
    """Return two operands of one floating-point or complex dtype."""
    x, y = promote(name, x, y)
    dtype = x.aval.dtype
    inexact = dtypes.to_inexact_dtype(dtype)
    if inexact == dtype:
        return x, y
    weak = x.aval.weak_type and y.aval.weak_type
    return convert(x, inexact, weak), convert(y, inexact, weak)


def promote_all(name: str, *operands: Any) -> list[Value]:
    """Return any number of operands converted to their common dtype and weakness."""
    check_arraylike(name, *operands)
    arrays = [as_operand(name, x, i) for i, x in enumerate(operands)]
    dtype, weak = _common(arrays)
    return [
        _number(x, dtype, weak) if type(x) in dtypes.PYTHON_SCALARS else retype(a, dtype, weak)
        for x, a in zip(operands, arrays, strict=True)
    ]


def _common(arrays: Sequence[Value]) -> tuple[Any, bool]:
    pairs = [(a.aval.dtype, a.aval.weak_type) for a in arrays]
    if len(set(pairs)) == 1:
        return pairs[0]
    return dtypes.promote_all(*pairs)


def promote_all_inexact(name: str, *operands: Any) -> list[Value]:
    """Return operands converted to one floating-point or complex dtype."""
    arrays = promote_all(name, *operands)
    dtype = arrays[0].aval.dtype
    inexact = dtypes.to_inexact_dtype(dtype)
    weak = arrays[0].aval.weak_type
    return arrays if inexact == dtype else [retype(a, inexact, weak) for a in arrays]


# --- shapes ---


@functools.lru_cache(maxsize=4096)
def _broadcast_shapes(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    rank = max((len(s) for s in shapes), default=0)
    result = []
    for axis in range(-rank, 0):
        lengths = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        if len(lengths) > 1:
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}")
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


def broadcast_shapes(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all ``shapes`` broadcast to.

    Raises:
        ValueError: they do not, or ``numpy_rank_promotion`` is "raise" and their ranks differ.
    """
    try:
        result = _broadcast_shapes(shapes)
    except ValueError as error:
        raise ValueError(f"{error}{_explain(name, shapes)}") from None
    policy = config.frame.numpy_rank_promotion
    if policy != "allow" and name not in _ANY_RANKS:
        ranks = {len(s) for s in shapes if s}
        if len(ranks) > 1:
            _rank_promotion(name, shapes, policy)
    return result


#: What broadcasts its operands on purpose, whatever ``numpy_rank_promotion`` says.
_ANY_RANKS = frozenset({"where", "indexing", "broadcast_arrays"})


def _explain(name: str, shapes: tuple[tuple[int, ...], ...]) -> str:
    lines = [f"\n  {name} of arrays with shapes {' and '.join(str(list(s)) for s in shapes)}."]
    if len(shapes) == 2:
        a, b = shapes
        for m, n in zip(reversed(a), reversed(b)):
            if m != n and 1 not in (m, n):
                lines.append(f"  Aligned from the right, {m} and {n} differ and neither is 1.")
                break
        long, short = (a, b) if len(a) >= len(b) else (b, a)
        if len(short) == 1 and len(long) == 2 and long[0] == short[0]:
            lines.append(
                f"  Fix: v[:, None] has shape [{short[0]},1] and broadcasts along columns."
            )
        else:
            lines.append(
                "  Fix: insert axes of length 1 with x[:, None] so that the lengths align."
            )
    return "\n".join(lines)


def _rank_promotion(name: str, shapes: tuple[tuple[int, ...], ...], policy: str) -> None:
    listed = " ".join(str(s) for s in shapes)
    if policy == "raise":
        raise ValueError(
            f"Operands could not be broadcast together for {name} on shapes {listed} and with the "
            "config option jax_numpy_rank_promotion='raise'. For more information, see "
            "https://docs.jax.dev/en/latest/rank_promotion_warning.html."
        )
    warnings.warn(
        f"Following NumPy automatic rank promotion for {name} on shapes {listed}. Set the "
        "jax_numpy_rank_promotion config option to 'allow' to disable this warning; for more "
        "information, see https://docs.jax.dev/en/latest/rank_promotion_warning.html.",
        stacklevel=4,
    )


def broadcast_value(x: Value, shape: tuple[int, ...]) -> Value:
    """Return ``x`` repeated to ``shape``, which it is known to broadcast to."""
    own = x.aval.shape
    if own == shape:
        return x
    axes = tuple(range(len(shape) - len(own), len(shape)))
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=axes, sharding=None)


def broadcast_arrays_to(name: str, *arrays: Value) -> list[Value]:
    """Return all arrays repeated to their common shape, scalars included."""
    shapes = tuple([a.aval.shape for a in arrays])
    if len(set(shapes)) == 1:
        return list(arrays)
    shape = broadcast_shapes(name, *shapes)
    return [broadcast_value(a, shape) for a in arrays]


#: Primitives whose ``impl`` is one NumPy ufunc: eagerly NumPy may broadcast without copies.
_NUMPY_BROADCASTS = frozenset(
    {
        *(ar.add_p, ar.sub_p, ar.mul_p, ar.div_p, ar.max_p, ar.min_p),
        *(cmp.eq_p, cmp.ne_p, cmp.lt_p, cmp.le_p, cmp.gt_p, cmp.ge_p),
        *(bitwise.and_p, bitwise.or_p, bitwise.xor_p),
    }
)
_eager_types: dict[Any, ShapedArray] = {}
_MAX_TYPES = 16384


def bind_broadcast(primitive: Primitive, name: str, x: Value, y: Value) -> Value:
    """Apply an elementwise ``primitive`` to operands of one dtype; shapes broadcast."""
    if (
        type(x) is ArrayImpl
        and type(y) is ArrayImpl
        and state.trace is EVAL_TRACE
        and primitive in _NUMPY_BROADCASTS
    ):
        return _eager(primitive, name, x, y)
    shape = _common_shape(primitive, name, x.aval.shape, y.aval.shape)
    if shape is None:
        return primitive.bind(x, y)
    return primitive.bind(broadcast_value(x, shape), broadcast_value(y, shape))


def _common_shape(
    primitive: Primitive, name: str, sx: tuple[int, ...], sy: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the shape to broadcast to; None if the primitive takes the operands as they are."""
    if sx == sy or not sx or not sy:
        return None
    if len(sx) == len(sy) and any(m != n and 1 not in (m, n) for m, n in zip(sx, sy, strict=True)):
        raise TypeError(
            f"{primitive.name} got incompatible shapes for broadcasting: {sx}, {sy}."
            + _explain(name, (sx, sy))
        )
    return broadcast_shapes(name, sx, sy)


def _eager(primitive: Primitive, name: str, x: ArrayImpl, y: ArrayImpl) -> ArrayImpl:
    """Run a NumPy ufunc at once: what the evaluator does, without copies of broadcast operands."""
    frame = config.frame
    key = (primitive, x.aval, y.aval, frame.numpy_rank_promotion)
    aval = _eager_types.get(key)
    if aval is None:
        shape = _common_shape(primitive, name, x.aval.shape, y.aval.shape)
        avals = tuple([a.aval if shape is None else a.aval.update(shape=shape) for a in (x, y)])
        (aval,) = predict(primitive, avals, {})
        if len(_eager_types) >= _MAX_TYPES:
            _eager_types.clear()
        if frame.numpy_rank_promotion == "allow":
            _eager_types[key] = aval
    out = wrap(primitive.impl(np, x._data, y._data), aval)
    if frame.debug_nans or frame.debug_infs:
        check_finite(primitive.name, (out,))
    return out


def select_broadcast(which: Value, on_false: Value, on_true: Value, name: str) -> Value:
    """Return ``on_true`` where ``which`` (bool) holds; the operands broadcast, one dtype."""
    shapes = (which.aval.shape, on_true.aval.shape, on_false.aval.shape)
    shape = shapes[0] if shapes[0] == shapes[1] == shapes[2] else broadcast_shapes(name, *shapes)
    if type(which) is type(on_true) is type(on_false) is ArrayImpl and state.trace is EVAL_TRACE:
        weak = on_true.aval.weak_type and on_false.aval.weak_type
        data = np.where(which._data, on_true._data, on_false._data)
        return wrap(data, ShapedArray(shape, on_true.aval.dtype, weak))
    if shapes[0] != ():
        which = broadcast_value(which, shape)
    return select_n_p.bind(which, broadcast_value(on_false, shape), broadcast_value(on_true, shape))
