"""Products of vectors, matrices and tensors. In: arrays.

Out: sums of products, one ``dot_general`` each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import shapes
from jaxlite.lax.linear_algebra import dot_general
from jaxlite.numpy import ufuncs
from jaxlite.numpy.arithmetic import conj
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.promotion import as_operand, check_arraylike, promote_all, retype
from jaxlite.numpy.rearrange import moveaxis


def _operands(name: str, a: Any, b: Any, preferred: Any) -> tuple[Value, Value, Any, bool]:
    """Return (a, b, dtype of the result, weak) after promotion."""
    check_arraylike(name, a, b)
    a, b = promote_all(name, a, b)
    wanted = a.dtype if preferred is None else dtypes.requested_dtype(preferred, name)
    return a, b, wanted, a.aval.weak_type


def _product(a: Value, b: Value, numbers: Any, precision: Any, wanted: Any, weak: bool) -> Value:
    out = dot_general(a, b, numbers, precision, wanted)
    return retype(out, out.dtype, weak)


def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the product over the last axis of ``a`` and the last but one of ``b``.

    Args:
        a: ``T[*s]``; a scalar multiplies.
        b: ``U[*t]``.
        precision: accepted; the CPU is exact.
        preferred_element_type: dtype of the sums.
        out_sharding: only None (one device).

    Raises:
        TypeError: lengths that differ.

    Example:
        >>> import numpy as np
        >>> dot(np.array([1, 2]), np.array([3, 4]))
        Array(11, dtype=int32)
    """
    x, y, wanted, weak = _operands("dot", a, b, preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        contract: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    else:
        contract = ((x.ndim - 1,), (max(0, y.ndim - 2),))
    return _product(x, y, (contract, ((), ())), precision, wanted, weak)


def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return matrix products over the last two axes; the others broadcast.

    Args:
        a: ``T[*b, m, k]`` or ``T[k]``.
        b: ``U[*c, k, n]`` or ``U[k]``.
        precision: accepted; the CPU is exact.
        preferred_element_type: dtype of the sums.
        out_sharding: only None (one device).

    Raises:
        ValueError: a scalar, or batch axes that do not broadcast.
        TypeError: lengths that differ.

    Example:
        >>> import numpy as np
        >>> matmul(np.array([[1, 2], [3, 4]]), np.array([1, 1]))
        Array([3, 7], dtype=int32)
    """
    check_arraylike("matmul", a, b)
    for position, operand in enumerate((as_operand("matmul", a), as_operand("matmul", b))):
        if operand.ndim < 1:
            raise ValueError(
                f"matmul input operand {position} must have ndim at least 1, but it has ndim "
                f"{operand.ndim}\n  Fix: use * to multiply by a scalar."
            )
    x, y, wanted, weak = _operands("matmul", a, b, preferred_element_type)
    if x.ndim == 1 or y.ndim <= 2:
        # One contraction without batch axes: the free axes are in order already.
        if x.ndim == 1 and y.ndim > 2:
            numbers: Any = (((0,), (y.ndim - 2,)), ((), ()))
            return _product(x, y, numbers, precision, wanted, weak)
        numbers = (((x.ndim - 1,), (max(0, y.ndim - 2),)), ((), ()))
        return _product(x, y, numbers, precision, wanted, weak)
    return _batched(x, y, precision, wanted, weak)


def _batched(x: Value, y: Value, precision: Any, wanted: Any, weak: bool) -> Value:
    """Multiply stacks: shared batch axes are batch dims, others stay free axes of one operand."""
    rank = max(x.ndim, y.ndim) - 2
    lengths = [(_length(x, axis, rank), _length(y, axis, rank)) for axis in range(rank)]
    if any(m != n and 1 not in (m, n) for m, n in lengths):
        names = [f"{dtypes.name_of(o.dtype)}[{','.join(map(str, o.shape))}]" for o in (x, y)]
        raise ValueError(f"Incompatible types for matmul arguments: {names[0]} and {names[1]}")
    shared = [axis for axis, (m, n) in enumerate(lengths) if m == n and m != 1]
    of_x = [axis for axis, (m, n) in enumerate(lengths) if n == 1 and m != 1]
    of_y = [axis for axis, (m, n) in enumerate(lengths) if m == 1 and n != 1]
    x, x_batch = _without_ones(x, rank)
    y, y_batch = _without_ones(y, rank)
    batch = (tuple(x_batch[a] for a in shared), tuple(y_batch[a] for a in shared))
    out = _product(x, y, (((x.ndim - 1,), (y.ndim - 2,)), batch), precision, wanted, weak)
    # The result has the axes [shared, x's own, rows, y's own, columns].
    order: list[Any] = [*shared, *of_x, "rows", *of_y, "columns"]
    target: list[Any] = [axis for axis in range(rank) if axis in order] + ["rows", "columns"]
    out = shapes.transpose(out, [order.index(name) for name in target])
    ones = [axis for axis in range(rank) if lengths[axis] == (1, 1)]
    return shapes.expand_dims(out, ones)


def _length(x: Value, axis: int, rank: int) -> int:
    own = axis - (rank - (x.ndim - 2))
    return x.shape[own] if own >= 0 else 1


def _without_ones(x: Value, rank: int) -> tuple[Value, dict[int, int]]:
    """Drop batch axes of length 1; return where the others (counted in the result) are now."""
    offset = rank - (x.ndim - 2)
    ones = [k for k in range(x.ndim - 2) if x.shape[k] == 1]
    kept = [k for k in range(x.ndim - 2) if x.shape[k] != 1]
    return shapes.squeeze(x, ones), {k + offset: place for place, k in enumerate(kept)}


def matvec(x1: Any, x2: Any, /) -> Value:
    """Return matrices times vectors: ``T[*b, m, k], U[*b, k] -> [*b, m]``."""
    check_arraylike("matvec", x1, x2)
    v = as_operand("matvec", x2)
    product = matmul(x1, shapes.expand_dims(v, (v.ndim,)))
    return shapes.squeeze(product, (product.ndim - 1,))


def vecmat(x1: Any, x2: Any, /) -> Value:
    """Return (conjugated) vectors times matrices: ``T[*b, k], U[*b, k, n] -> [*b, n]``."""
    check_arraylike("vecmat", x1, x2)
    v = conj(as_operand("vecmat", x1))
    product = matmul(shapes.expand_dims(v, (v.ndim - 1,)), x2)
    return shapes.squeeze(product, (product.ndim - 2,))


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return dot products (``x1`` conjugated) along ``axis``; the other axes broadcast."""
    check_arraylike("vecdot", x1, x2)
    a = moveaxis(conj(as_operand("vecdot", x1)), axis, -1)
    b = moveaxis(x2, axis, -1)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(f"axes must match; got shapes {a.shape} and {b.shape} with axis={axis}")
    left, right = shapes.expand_dims(a, (a.ndim - 1,)), shapes.expand_dims(b, (b.ndim,))
    out = matmul(left, right, precision=precision, preferred_element_type=preferred_element_type)
    return shapes.squeeze(out, (out.ndim - 2, out.ndim - 1))


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Value:
    """Return the dot product of two arrays read as vectors, the first conjugated."""
    check_arraylike("vdot", a, b)
    x, y = as_operand("vdot", a), as_operand("vdot", b)
    flat = [shapes.reshape(v, (v.size,)) for v in (conj(x), y)]
    return dot(*flat, precision=precision, preferred_element_type=preferred_element_type)


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Value:
    """Return the product over the last axes of both."""
    x, y, wanted, weak = _operands("inner", a, b, preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        return ufuncs.multiply(x, y)
    return _product(x, y, (((x.ndim - 1,), (y.ndim - 1,)), ((), ())), precision, wanted, weak)


def outer(a: Any, b: Any, out: None = None) -> Value:
    """Return all products of elements of two arrays read as vectors: ``T[n], U[m] -> [n, m]``."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.outer is not supported.")
    check_arraylike("outer", a, b)
    x, y = promote_all("outer", a, b)
    return ufuncs.multiply(
        shapes.expand_dims(shapes.reshape(x, (x.size,)), (1,)),
        shapes.expand_dims(shapes.reshape(y, (y.size,)), (0,)),
    )


def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return the product over several axes.

    Args:
        a: ``T[*s]``.
        b: ``U[*t]``.
        axes: the last n of ``a`` with the first n of ``b``, or a pair of axes or of lists of axes.
        precision: accepted; the CPU is exact.
        preferred_element_type: dtype of the sums.
        out_sharding: only None (one device).

    Raises:
        TypeError: more axes than there are, or lengths that differ.

    Example:
        >>> import numpy as np
        >>> tensordot(np.ones((2, 3)), np.ones((3, 4)), 1).shape
        (2, 4)
    """
    x, y, wanted, weak = _operands("tensordot", a, b, preferred_element_type)
    if hasattr(axes, "__index__"):
        n = axes.__index__()
        if n > min(x.ndim, y.ndim):
            raise TypeError(
                f"Number of tensordot axes (axes {n}) exceeds input ranks ({x.shape} and {y.shape})"
            )
        contract = (tuple(range(x.ndim - n, x.ndim)), tuple(range(n)))
    else:
        if len(axes) != 2:
            raise TypeError(
                "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples "
                f"of ints.\n  got {axes}"
            )
        are_ints = [hasattr(k, "__index__") for k in axes]
        are_lists = [isinstance(k, tuple | list) for k in axes]
        if not all(are_ints) and not all(are_lists):
            raise TypeError(
                "tensordot requires both axes lists to be either ints, tuples or lists, got "
                f"{axes[0]} and {axes[1]}"
            )
        left, right = (_several(k) for k in axes)
        if len(left) != len(right):
            raise TypeError(
                f"tensordot requires axes lists to have equal length, got {axes[0]} and {axes[1]}."
            )
        contract = (
            tuple(canonical_axis(k, x.ndim) for k in left),
            tuple(canonical_axis(k, y.ndim) for k in right),
        )
    return _product(x, y, (contract, ((), ())), precision, wanted, weak)


def _several(axes: Any) -> Sequence[int]:
    return (axes,) if hasattr(axes, "__index__") else tuple(axes)


def kron(a: Any, b: Any) -> Value:
    """Return the Kronecker product: every element of ``a`` times all of ``b``."""
    check_arraylike("kron", a, b)
    x, y = promote_all("kron", a, b)
    rank = max(x.ndim, y.ndim)
    x = shapes.expand_dims(x, tuple(range(rank - x.ndim)))
    y = shapes.expand_dims(y, tuple(range(rank - y.ndim)))
    left = shapes.expand_dims(x, tuple(range(1, 2 * rank, 2)))
    right = shapes.expand_dims(y, tuple(range(0, 2 * rank, 2)))
    target = tuple(m * n for m, n in zip(x.shape, y.shape, strict=True))
    return shapes.reshape(ufuncs.multiply(left, right), target)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Value:
    """Return the cross product of vectors of length 3 (or 2) along an axis.

    Example:
        >>> import numpy as np
        >>> cross(np.array([1, 0, 0]), np.array([0, 1, 0]))
        Array([0, 0, 1], dtype=int32)
    """
    check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promote_all("cross", a, b)
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    xs = [x[..., k] for k in range(x.shape[-1])]
    ys = [y[..., k] for k in range(y.shape[-1])]
    if len(xs) == 2 and len(ys) == 2:
        return _minor(xs, ys, 0, 1)
    xs, ys = (v if len(v) == 3 else [*v, ufuncs.subtract(v[0], v[0])] for v in (xs, ys))
    parts = [_minor(xs, ys, 1, 2), _minor(xs, ys, 2, 0), _minor(xs, ys, 0, 1)]
    return moveaxis(shapes.stack(parts, parts[0].ndim), -1, axisc)


def _minor(x: list[Value], y: list[Value], i: int, j: int) -> Value:
    return ufuncs.subtract(ufuncs.multiply(x[i], y[j]), ufuncs.multiply(x[j], y[i]))


__all__ = [
    "cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "vdot", "vecdot",
    "vecmat",
]  # fmt: skip
