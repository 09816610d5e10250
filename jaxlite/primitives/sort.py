"""Order along one axis. In: arrays of equal shape. Out: the same elements, rearranged.

``sort`` moves several operands by the order of the first ``num_keys``: NaN comes last, -0 and 0 are
equal, equal keys keep their order. ``top_k`` takes the largest in IEEE total order (NaN above all,
-0 below 0). Both are locally a permutation, so tangents are gathered like the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps, Zero
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import (
    NOT_LINEAR,
    REAL_OR_BOOL,
    accepts_text,
    batch_size,
    bdim_at_front,
    is_accepted,
    ops,
    provide,
)
from jaxlite.primitives.gather import gather
from jaxlite.primitives.indexing import GatherDimensionNumbers, GatherScatterMode
from jaxlite.primitives.shape import broadcasted_iota, canonical_axis, rev


class Sort(Primitive):
    """Rearrange all operands along ``dimension`` by the order of the first ``num_keys`` of them."""

    name = "sort"
    barrier_reason = "extern"
    transpose = NOT_LINEAR

    def abstract_eval(
        self, *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
    ) -> tuple[ShapedArray, ...]:
        if not operands:
            raise TypeError("Sort requires at least one operand")
        first = operands[0]
        if any(a.shape != first.shape for a in operands):
            shapes = " ".join(str(a.shape) for a in operands)
            raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
        canonical_axis(dimension, first.ndim)
        if not 1 <= num_keys <= len(operands):
            raise ValueError(
                f"num_keys={num_keys} must be between 1 and len(operand)={len(operands)}"
            )
        for a in operands[:num_keys]:
            if not is_accepted((*REAL_OR_BOOL, "complexfloating"), a.dtype):
                raise TypeError(accepts_text("lt_to", REAL_OR_BOOL, a.dtype, 0))
        return operands

    def impl(
        self, xp: ArrayModule, *arrays: Any, dimension: int, is_stable: bool, num_keys: int
    ) -> Any:
        if len(arrays) == 1:
            alone = _sort_alone(xp, arrays[0], dimension)
            if alone is not None:
                return alone
        keys = [part for x in arrays[:num_keys] for part in _comparable(x)]
        if len(keys) == 1:
            order = xp.argsort(keys[0], axis=dimension, kind="stable")
        else:
            order = xp.lexsort(keys[::-1], axis=dimension)
        return tuple(xp.take_along_axis(x, order, axis=dimension) for x in arrays)

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        aval, dimension = get_aval(primals[0]), params["dimension"]
        number = broadcasted_iota(np.dtype(np.uint32), aval.shape, dimension)
        *outs, order = self.bind_all(*primals, number, **params)

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            given = iter(tangents)
            return tuple(
                take_along(next(given), order, dimension)
                if nz
                else Zero(get_aval(x).to_tangent_aval())
                for x, nz in zip(primals, nonzero, strict=True)
            )

        return tuple(outs), tangent_fn

    def jvp(self, out: Any, *primals: Any, **params: Any) -> TangentMaps:
        zeros = [Zero(get_aval(x).to_tangent_aval()) for x in primals]
        dimension = params["dimension"]
        number = broadcasted_iota(np.dtype(np.uint32), get_aval(primals[0]).shape, dimension)
        order = self.bind_all(*primals, number, **params)[-1]

        def map_of(k: int) -> Callable[[Any], Any]:
            return lambda t: (
                *zeros[:k],
                take_along(t, order, dimension),
                *zeros[k + 1 :],
            )

        return tuple(map_of(k) for k in range(len(primals)))

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        fronts = [bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        outs = self.bind_all(*fronts, **{**params, "dimension": params["dimension"] + 1})
        return (outs, (0,) * len(outs)) if len(outs) > 1 else (outs[0], 0)


class TopK(Primitive):
    """The ``k`` largest elements along ``axis``, largest first, and their positions (int32)."""

    name = "top_k"
    barrier_reason = "extern"
    transpose = NOT_LINEAR

    def abstract_eval(
        self, operand: ShapedArray, *, k: int, axis: int
    ) -> tuple[ShapedArray, ShapedArray]:
        if k < 0:
            raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
        if dtypes.kind_of(operand.dtype) == "c":
            raise ValueError("top_k is not compatible with complex inputs.")
        if not is_accepted(REAL_OR_BOOL, operand.dtype):
            raise TypeError(accepts_text("top_k", REAL_OR_BOOL, operand.dtype, None))
        axis = canonical_axis(axis, operand.ndim)
        if k > operand.shape[axis]:
            raise ValueError(
                "k argument to top_k must be no larger than size along axis; "
                f"got k={k} with shape={list(operand.shape)} and axis={axis}"
            )
        shape = (*operand.shape[:axis], k, *operand.shape[axis + 1 :])
        weak = operand.weak_type
        positions = ShapedArray(shape, np.dtype(np.int32), weak)  # weak too: so does JAX
        return ShapedArray(shape, operand.dtype, weak), positions

    def impl(self, xp: ArrayModule, x: Any, *, k: int, axis: int) -> Any:
        key = ~_total_order(x)  # the smallest key is the largest element
        n = x.shape[axis]
        if key.dtype.itemsize <= 4 and n > 64 and k * 8 < n and k:
            # Key and position in one number: no ties, so a partition is enough.
            position = xp.arange(n, dtype=np.int64).reshape(
                [-1 if d == axis else 1 for d in range(x.ndim)]
            )
            both = (key.astype(np.int64) << 32) | position
            first = xp.partition(both, k - 1, axis=axis).take(range(k), axis=axis)
            order = xp.sort(first, axis=axis) & 0xFFFFFFFF
        else:
            order = xp.argsort(key, axis=axis, kind="stable").take(range(k), axis=axis)
        return xp.take_along_axis(x, order, axis=axis), order.astype(np.int32)

    def jvp(self, out: Any, x: Value, *, k: int, axis: int) -> TangentMaps:
        order = out[1]
        no_tangent = Zero(get_aval(order).to_tangent_aval())
        return (lambda t: (take_along(t, order, axis), no_tangent),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        k = params["k"]
        axis = params["axis"]
        dim = dims[0]
        assert dim is not None
        return self.bind_all(args[0], k=k, axis=axis + (axis >= dim)), (dim, dim)


def take_along(x: Value, order: Value, axis: int) -> Value:
    """Return the elements of ``x`` at the positions ``order`` along ``axis`` (equal ranks)."""
    aval = get_aval(x)
    shape = get_aval(order).shape
    if not aval.size:
        return x
    others = tuple(d for d in range(aval.ndim) if d != axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return gather(
        x,
        ops.broadcast_in_dim(order, (*shape, 1), tuple(range(len(shape)))),
        numbers,
        (1,) * aval.ndim,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def _sort_alone(xp: ArrayModule, x: Any, axis: int) -> Any:
    """Sort without an order to apply to others, or return None where that could be seen."""
    kind = dtypes.kind_of(x.dtype)
    if kind == "c":
        return None
    if kind == "f" and x.dtype.kind != "f":
        return xp.sort(x.astype(np.float32), axis=axis, kind="stable").astype(x.dtype)
    if kind == "f":
        zero = x == 0
        if zero.any() and xp.signbit(x[zero]).any():
            return xp.sort(x, axis=axis, kind="stable")  # -0 and 0 are equal but look different
    return xp.sort(x, axis=axis)


def _comparable(x: Any) -> tuple[Any, ...]:
    """Return arrays, most significant first, that NumPy orders like the elements of ``x``."""
    kind = dtypes.kind_of(x.dtype)
    if kind == "c":
        return x.real, x.imag
    if kind == "f" and x.dtype.kind != "f":
        return (x.astype(np.float32),)
    return (x,)


def _total_order(x: Any) -> Any:
    """Return integers ordered like the elements: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
    kind = dtypes.kind_of(x.dtype)
    if kind == "b":
        return x.astype(np.int8)
    if kind != "f":
        return x
    bits = np.dtype(f"i{x.dtype.itemsize}")
    raw = x.view(bits)
    # Negative floats count downwards: flip all their bits but the sign.
    return raw ^ ((raw >> (bits.itemsize * 8 - 1)) & np.iinfo(bits).max)


sort_p = Sort()
top_k_p = TopK()


def sort(
    operands: Sequence[Value], dimension: int, is_stable: bool = True, num_keys: int = 1
) -> tuple[Value, ...]:
    """Return ``operands`` rearranged along ``dimension`` by the order of the first ``num_keys``.

    Example:
        >>> x = ShapedArray((3,), "float32")
        >>> sort_p.abstract_eval(x, dimension=0, is_stable=True, num_keys=1)
        (ShapedArray(float32[3]),)
    """
    return sort_p.bind_all(*operands, dimension=dimension, is_stable=is_stable, num_keys=num_keys)


def argsort(
    operand: Value, dimension: int, is_stable: bool = True, descending: bool = False
) -> Value:
    """Return the positions (int32) that put ``operand`` in order along ``dimension``.

    Descending order is the reverse of the ascending order of the reversed array, so that equal
    elements keep their order there too.
    """
    aval = get_aval(operand)
    number = broadcasted_iota(np.dtype(np.int32), aval.shape, dimension)
    if descending:
        operand, number = rev(operand, (dimension,)), rev(number, (dimension,))
    _, order = sort((operand, number), dimension, is_stable)
    return rev(order, (dimension,)) if descending else order


def top_k(operand: Value, k: int, axis: int) -> tuple[Value, Value]:
    """Return the ``k`` largest elements along ``axis`` and their positions (int32)."""
    values, order = top_k_p.bind_all(operand, k=k, axis=axis)
    return values, order


provide(sort=sort, argsort=argsort, top_k=top_k)

__all__ = ["argsort", "sort", "sort_p", "take_along", "top_k", "top_k_p"]
