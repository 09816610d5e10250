"""Write windows at computed places. In: operand, index vectors, updates. Out: a new array.

``x.at[i].set(v)``, ``.add``, ``.multiply``, ``.min``, ``.max`` are scatters. Windows are written in
the order of the indices, so the result is the same in every run; when two windows meet, ``scatter``
keeps the later one and the others combine both. ``scatter_add`` and ``gather`` are each other's
transpose.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import Jaxpr, JaxprEqn, Var
from jaxlite.language.primitive import (
    ArrayModule,
    Dims,
    Primitive,
    TangentMaps,
    is_linear,
)
from jaxlite.language.trace import get_aval
from jaxlite.primitives import arithmetic
from jaxlite.primitives.families import (
    ANY,
    NOT_LINEAR,
    NUMBER,
    accepts_text,
    batch_size,
    bdim_at_front,
    full_like,
    is_accepted,
    move_batch_dim,
    ops,
    provide,
    zeros_of,
)
from jaxlite.primitives.gather import gather
from jaxlite.primitives.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    Windows,
    check_axes,
    check_batching,
    check_index_dtype,
    check_index_vectors,
    window_positions,
)
from jaxlite.primitives.joint import JointlyLinear


class ScatterFamily(Primitive):
    """What all scatters share: types, the walk, batching."""

    #: Name of the NumPy ufunc that combines old and new; None replaces.
    ufunc: ClassVar[str | None] = None
    accepts: ClassVar[tuple[str, ...]] = ANY
    #: The binary primitive shown as ``update_jaxpr``.
    combine_name: ClassVar[str | None] = None

    def abstract_eval(
        self,
        operand: ShapedArray,
        indices: ShapedArray,
        updates: ShapedArray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        **params: Any,
    ) -> ShapedArray:
        _check_scatter(operand, indices, updates, dimension_numbers)
        check_index_dtype("scatter", indices)
        if operand.dtype != updates.dtype:
            names = f"{dtypes.name_of(operand.dtype)}, {dtypes.name_of(updates.dtype)}"
            raise TypeError(
                f"lax.scatter requires arguments to have the same dtypes, got {names}.\n"
                "  These are the operand's and the updates' dtypes.\n"
                f"  Fix: updates.astype('{dtypes.name_of(operand.dtype)}')"
            )
        if self.combine_name and not is_accepted(self.accepts, operand.dtype):
            raise TypeError(accepts_text(self.combine_name, self.accepts, operand.dtype, 0))
        return operand

    def impl(
        self,
        xp: ArrayModule,
        x: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        **params: Any,
    ) -> Any:
        out = x.copy()
        if not updates.size or not x.size:
            return out
        windows = windows_of(x.shape, updates.shape, dimension_numbers)
        window_dims = dimension_numbers.update_window_dims
        batch_dims = [d for d in range(updates.ndim) if d not in window_dims]
        updates = updates.transpose(*batch_dims, *window_dims)
        base, offsets, valid = window_positions(xp, windows, indices)
        if mode is not GatherScatterMode.CLIP and not valid.all():
            base, updates = base[valid], updates[valid]
        at = base.reshape(base.shape + (1,) * offsets.ndim) + offsets
        flat = out.reshape(-1)
        if self.ufunc is None:
            flat[at.reshape(-1)] = updates.reshape(-1)
        else:
            # Element by element, in order: the same rounding every time, and in JAX.
            getattr(xp, self.ufunc).at(flat, at.reshape(-1), updates.reshape(-1))
        return out

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        numbers: ScatterDimensionNumbers = params["dimension_numbers"]
        window, inserted, index_map, batching, indices_batching = (
            tuple(d + 1 for d in axes) for axes in numbers
        )
        x = bdim_at_front(args[0], dims[0], size)
        updates = bdim_at_front(args[2], dims[2], size)
        indices, indices_dim = args[1], dims[1]
        if indices_dim is None:
            numbers = ScatterDimensionNumbers(
                (0, *window), inserted, index_map, batching, numbers.scatter_indices_batching_dims
            )
        else:
            indices = move_batch_dim(indices, indices_dim, 0)
            numbers = ScatterDimensionNumbers(
                window, inserted, index_map, (0, *batching), (0, *indices_batching)
            )
        return self.bind(x, indices, updates, **{**params, "dimension_numbers": numbers}), 0


class Scatter(ScatterFamily):
    """Windows replace what was there; where several meet, the last one stays."""

    name = "scatter"

    def jvp(self, out: Any, x: Value, indices: Value, updates: Value, **params: Any) -> TangentMaps:
        write = functools.partial(self._write, indices, params)
        add = functools.partial(_scatter_add, indices, params)
        if params["unique_indices"]:
            zeros_x, zeros_u = _tangent_zeros(x), _tangent_zeros(updates)
            return (lambda t: write(t, zeros_u)), None, (lambda t: write(zeros_x, t))
        # Windows may meet: write their numbers to see who stays where.
        aval = get_aval(updates)
        count = np.dtype(np.uint64 if aval.size >= 2**32 else np.uint32)
        number = ops.add(_numbers(count, aval.shape), full_like(ShapedArray(aval.shape, count), 1))
        writer = write(zeros_of(ShapedArray(get_aval(x).shape, count)), number)
        seen = _read(indices, params, writer, aval.shape)
        untouched = ops.eq(writer, full_like(writer, 0))
        stays = ops.eq(number, seen)
        return (
            lambda t: ops.select_n(untouched, zeros_of(get_aval(t)), t),
            None,
            lambda t: add(_tangent_zeros(x), ops.select_n(stays, zeros_of(get_aval(t)), t)),
        )

    def transpose(
        self, ct: Value, operand: Any, indices: Value, updates: Any, **params: Any
    ) -> Any:
        if not params["unique_indices"]:
            raise NotImplementedError(
                "scatter transpose is only implemented where unique_indices=True"
            )
        shape = (updates.aval if is_linear(updates) else get_aval(updates)).shape
        ct_x = ct_updates = None
        if is_linear(operand):
            zeros = zeros_of(ShapedArray(shape, get_aval(ct).dtype))
            ct_x = self._write(indices, params, ct, zeros)
        if is_linear(updates):
            ct_updates = _read(indices, params, ct, shape)
        return ct_x, None, ct_updates

    def _write(self, indices: Value, params: dict[str, Any], x: Value, updates: Value) -> Value:
        return self.bind(x, indices, updates, **params)


class ScatterAdd(ScatterFamily, JointlyLinear):
    """Windows are added to what was there."""

    name = "scatter-add"
    ufunc = "add"
    accepts = NUMBER
    combine_name = "add"
    linear_operands = (0, 2)

    def transpose(
        self, ct: Value, operand: Any, indices: Value, updates: Any, **params: Any
    ) -> Any:
        ct_updates = None
        if is_linear(updates):
            ct_updates = _read(indices, params, ct, updates.aval.shape)
        return (ct if is_linear(operand) else None), None, ct_updates


class ScatterSub(ScatterFamily, JointlyLinear):
    """Windows are subtracted from what was there."""

    name = "scatter-sub"
    ufunc = "subtract"
    accepts = NUMBER
    combine_name = "sub"
    linear_operands = (0, 2)

    def transpose(
        self, ct: Value, operand: Any, indices: Value, updates: Any, **params: Any
    ) -> Any:
        ct_updates = None
        if is_linear(updates):
            ct_updates = ops.neg(_read(indices, params, ct, updates.aval.shape))
        return (ct if is_linear(operand) else None), None, ct_updates


class ScatterMul(ScatterFamily):
    """What was there is multiplied by the windows."""

    name = "scatter-mul"
    ufunc = "multiply"
    accepts = NUMBER
    combine_name = "mul"

    def jvp(self, out: Any, x: Value, indices: Value, updates: Value, **params: Any) -> TangentMaps:
        def updates_map(t: Value) -> Value:
            # d(x * u) = x * du, valid if every element is multiplied once.
            if not params["unique_indices"]:
                raise NotImplementedError(
                    "scatter_mul gradients are only implemented if `unique_indices=True`"
                )
            return ops.mul(x, _scatter_add(indices, params, _tangent_zeros(x), t))

        return (lambda t: self.bind(t, indices, updates, **params)), None, updates_map

    def transpose(
        self, ct: Value, operand: Any, indices: Value, updates: Any, **params: Any
    ) -> Any:
        if is_linear(operand):
            return self.bind(ct, indices, updates, **params), None, None
        if not params["unique_indices"]:
            raise NotImplementedError(
                "scatter_mul gradients are only implemented if `unique_indices=True`"
            )
        shape = updates.aval.shape
        return None, None, _read(indices, params, ops.mul(ct, operand), shape)


class ScatterExtremal(ScatterFamily):
    """Rules of ``scatter_min`` and ``scatter_max``; winners share the derivative equally."""

    transpose = NOT_LINEAR

    def jvp(self, out: Any, x: Value, indices: Value, updates: Value, **params: Any) -> TangentMaps:
        shape = get_aval(updates).shape
        zeros_x, zeros_u = _tangent_zeros(x), _tangent_zeros(updates)
        one_x, one_u = full_like(zeros_x, 1), full_like(zeros_u, 1)
        updates_win = ops.eq(updates, _read(indices, params, out, shape))
        x_wins = ops.eq(x, out)
        won = ops.select_n(updates_win, zeros_u, one_u)
        winners = _scatter_add(indices, params, ops.select_n(x_wins, zeros_x, one_x), won)
        # An element that NaN beat has no winner; its tangent stays zero.
        share = ops.div(one_x, ops.max(winners, one_x))
        share_at_updates = _read(indices, params, share, shape)
        return (
            lambda t: ops.select_n(x_wins, zeros_x, ops.mul(t, share)),
            None,
            lambda t: _scatter_add(
                indices,
                params,
                zeros_x,
                ops.select_n(updates_win, zeros_u, ops.mul(t, share_at_updates)),
            ),
        )


class ScatterMin(ScatterExtremal):
    """What was there is replaced by smaller elements of the windows; NaN wins."""

    name = "scatter-min"
    ufunc = "minimum"
    combine_name = "min"


class ScatterMax(ScatterExtremal):
    """What was there is replaced by larger elements of the windows; NaN wins."""

    name = "scatter-max"
    ufunc = "maximum"
    combine_name = "max"


def _tangent_zeros(x: Value) -> Value:
    return zeros_of(get_aval(x).to_tangent_aval().strip_weak_type())


def _numbers(dtype: Any, shape: tuple[int, ...]) -> Value:
    return ops.reshape(ops.iota(dtype, math.prod(shape)), shape)


def _read(
    indices: Value, params: dict[str, Any], x: Value, updates_shape: tuple[int, ...]
) -> Value:
    """Return the windows of ``x`` that a scatter with ``params`` writes; 0 for those it drops."""
    numbers: ScatterDimensionNumbers = params["dimension_numbers"]
    windows = windows_of(get_aval(x).shape, updates_shape, numbers)
    mode = params["mode"]
    if mode is not GatherScatterMode.CLIP:
        mode = GatherScatterMode.FILL_OR_DROP
    return gather(
        x,
        indices,
        GatherDimensionNumbers(*numbers),
        windows.sizes,
        unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"],
        mode=mode,
        fill_value=0,
    )


def _scatter_add(indices: Value, params: dict[str, Any], x: Value, updates: Value) -> Value:
    return scatter_add(
        x,
        indices,
        updates,
        params["dimension_numbers"],
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=params["mode"],
    )


def windows_of(
    shape: tuple[int, ...], updates_shape: Sequence[int], numbers: ScatterDimensionNumbers
) -> Windows:
    """Return the walk of a scatter of updates into an operand of ``shape``."""
    absent = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    inside = iter([updates_shape[d] for d in numbers.update_window_dims])
    # An absent axis of size 0 holds no window; everything else has 1.
    sizes = tuple(min(1, n) if d in absent else next(inside) for d, n in enumerate(shape))
    return Windows(
        shape,
        sizes,
        numbers.scatter_dims_to_operand_dims,
        numbers.operand_batching_dims,
        numbers.scatter_indices_batching_dims,
        absent,
    )


def _check_scatter(
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    numbers: ScatterDimensionNumbers,
) -> None:
    """Raise TypeError in JAX's words unless the dimension numbers fit the operands."""
    check_index_vectors("scatter", indices)
    window, inserted, index_map, batching, indices_batching = numbers
    expected = indices.ndim - 1 + len(window)
    if updates.ndim != expected:
        raise TypeError(f"Updates tensor must be of rank {expected}; got {updates.ndim}.")
    check_axes("update_window_dims", "scatter", window, updates.ndim)
    check_axes("inserted_window_dims", "scatter", inserted, operand.ndim)
    names = (
        "operand_batching_dims",
        "scatter_indices_batching_dims",
        "inserted_window_dims",
        "scatter_dims_to_operand_dims",
    )
    axes = (batching, indices_batching, inserted, index_map)
    check_batching("scatter", names, operand.shape, indices.shape, axes)
    window_size = len(window) + len(inserted) + len(batching)
    if operand.ndim != window_size:
        raise TypeError(
            f"Scatter op has window of size {window_size}; doesn't match operand of rank "
            f"{operand.ndim}."
        )
    if len(index_map) != indices.shape[-1]:
        raise TypeError(
            f"Scatter op has {len(index_map)} elements in scatter_dims_to_operand_dims and the "
            f"bound of dimension index_vector_dim={indices.ndim - 1} of indices is "
            f"{indices.shape[-1]}. These two numbers must be equal"
        )
    for k, d in enumerate(index_map):
        if not 0 <= d < operand.ndim:
            raise TypeError(
                f"Invalid scatter_dims_to_operand_dims mapping; domain is [0, {operand.ndim}), "
                f"got: {k}->{d}."
            )
    if len(set(index_map)) != len(index_map):
        raise TypeError(
            f"scatter_dims_to_operand_dims in scatter op must not repeat; got: {index_map}."
        )
    _check_updates_shape(operand, indices, updates, numbers)


def _check_updates_shape(
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    numbers: ScatterDimensionNumbers,
) -> None:
    absent = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    limits = [n for d, n in enumerate(operand.shape) if d not in absent]
    for d, limit in zip(numbers.update_window_dims, limits, strict=True):
        if updates.shape[d] > limit:
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {d}, updates bound is "
                f"{updates.shape[d]}, operand bound is {limit}."
            )
    batch_dims = [d for d in range(updates.ndim) if d not in numbers.update_window_dims]
    for k, (d, n) in enumerate(zip(batch_dims, indices.shape[:-1], strict=True)):
        if updates.shape[d] != n:
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                "corresponding dimensions of scatter indices. For scatter dimension "
                f"{k}, updates bound is {updates.shape[d]}, indices bound is {n}."
            )


@functools.cache
def _update_jaxpr(combine: Primitive, dtype: Any, weak_type: bool) -> Jaxpr:
    """Return the program that combines one element with one update, as JAX shows it."""
    aval = ShapedArray((), dtype, weak_type)
    old, new, out = Var(aval), Var(aval), Var(aval)
    return Jaxpr([], [old, new], [out], [JaxprEqn([old, new], [out], combine, {})])


scatter_p = Scatter()
scatter_add_p = ScatterAdd()
scatter_sub_p = ScatterSub()
scatter_mul_p = ScatterMul()
scatter_min_p = ScatterMin()
scatter_max_p = ScatterMax()

_COMBINE = {
    scatter_add_p: arithmetic.add_p,
    scatter_sub_p: arithmetic.sub_p,
    scatter_mul_p: arithmetic.mul_p,
    scatter_min_p: arithmetic.min_p,
    scatter_max_p: arithmetic.max_p,
}


def _function(primitive: ScatterFamily, name: str, what: str) -> Callable[..., Value]:
    def function(
        operand: Value,
        scatter_indices: Value,
        updates: Value,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Value:
        combine = _COMBINE.get(primitive)
        aval = get_aval(operand)
        return primitive.bind(
            operand,
            scatter_indices,
            updates,
            update_jaxpr=combine and _update_jaxpr(combine, aval.dtype, aval.weak_type),
            update_consts=(),
            dimension_numbers=dimension_numbers,
            indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices),
            mode=GatherScatterMode.from_any(mode),
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Return ``operand``, ``updates`` {what} windows at ``scatter_indices``.

    Args:
        operand: T[*s].
        scatter_indices: integers [*batch, k], one vector per window.
        updates: T, the windows.
        dimension_numbers: which axis is what.
        indices_are_sorted: promise that the index vectors ascend.
        unique_indices: promise that no element is written twice.
        mode: a ``GatherScatterMode`` or its name; None drops windows that are not inside.

    Raises:
        TypeError: dtypes differ or the dimension numbers do not fit the shapes.
        ValueError: the indices are no integers.
    """
    return function


scatter = _function(scatter_p, "scatter", "written over the")
scatter_add = _function(scatter_add_p, "scatter_add", "added to the")
scatter_sub = _function(scatter_sub_p, "scatter_sub", "subtracted from the")
scatter_mul = _function(scatter_mul_p, "scatter_mul", "multiplied into the")
scatter_min = _function(scatter_min_p, "scatter_min", "compared with the")
scatter_max = _function(scatter_max_p, "scatter_max", "compared with the")

provide(
    scatter=scatter,
    scatter_add=scatter_add,
    scatter_sub=scatter_sub,
    scatter_mul=scatter_mul,
    scatter_min=scatter_min,
    scatter_max=scatter_max,
)

__all__ = [
    "ScatterFamily",
    "scatter",
    "scatter_add",
    "scatter_add_p",
    "scatter_max",
    "scatter_max_p",
    "scatter_min",
    "scatter_min_p",
    "scatter_mul",
    "scatter_mul_p",
    "scatter_p",
    "scatter_sub",
    "scatter_sub_p",
    "windows_of",
]
