"""Where the extremum is. In: an array and one axis. Out: integer positions, that axis gone.

The first of equal elements wins; a NaN wins over every number.
"""

from __future__ import annotations

from typing import Any, ClassVar

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, not_differentiable
from jaxlite.primitives.families import (
    NOT_LINEAR,
    REAL_OR_BOOL,
    accepts_text,
    in_float32,
    is_accepted,
)


class ArgReduce(Primitive):
    """Position of the greatest (``select_max``) or least element along the one axis in ``axes``."""

    select_max: ClassVar[bool]
    jvp = not_differentiable("integer result")
    transpose = NOT_LINEAR

    def abstract_eval(
        self, operand: ShapedArray, *, axes: tuple[int, ...], index_dtype: Any
    ) -> ShapedArray:
        (axis,) = axes
        if not 0 <= axis < operand.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {operand.shape}")
        if dtypes.kind_of(index_dtype) not in "iu":
            raise TypeError(
                f"index_dtype must be an integer type, but got {dtypes.name_of(index_dtype)}"
            )
        if operand.shape[axis] < 1:
            raise ValueError(
                "argmin and argmax require non-empty reduced dimension. "
                f"operand.shape={operand.shape} axis={axis}"
            )
        if not is_accepted(REAL_OR_BOOL, operand.dtype):
            raise TypeError(accepts_text(self.name, REAL_OR_BOOL, operand.dtype, None))
        shape = operand.shape[:axis] + operand.shape[axis + 1 :]
        return ShapedArray(shape, index_dtype)

    def impl(self, xp: ArrayModule, x: Any, *, axes: tuple[int, ...], index_dtype: Any) -> Any:
        find = xp.argmax if self.select_max else xp.argmin
        return in_float32(lambda v: find(v, axis=axes[0]), x).astype(index_dtype)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (x,), (dim,), (axis,) = args, dims, params["axes"]
        assert dim is not None
        moved = axis + (axis >= dim)
        return self.bind(x, **{**params, "axes": (moved,)}), dim - (moved < dim)


class ArgMax(ArgReduce):
    """Position of the greatest element."""

    name = "argmax"
    select_max = True


class ArgMin(ArgReduce):
    """Position of the least element."""

    name = "argmin"
    select_max = False


argmax_p, argmin_p = ArgMax(), ArgMin()


def argmax(x: Value, axis: int, index_dtype: Any) -> Value:
    """Return where the greatest element along ``axis`` is: ``T[*s] -> i32[*kept]``."""
    return argmax_p.bind(x, axes=(axis,), index_dtype=dtypes.as_dtype(index_dtype))


def argmin(x: Value, axis: int, index_dtype: Any) -> Value:
    """Return where the least element along ``axis`` is: ``T[*s] -> i32[*kept]``."""
    return argmin_p.bind(x, axes=(axis,), index_dtype=dtypes.as_dtype(index_dtype))


__all__ = ["ArgReduce", "argmax", "argmax_p", "argmin", "argmin_p"]
