"""Communication between the examples of a batch. In: one example's value and the name of the axis.

Out: what that example receives. ``vmap(axis_name="i")`` computes them with ``collect``, where the
mapped axis is an ordinary axis of an array; the other rules move them past other transformations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Dims, Primitive, absent, not_differentiable
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import bdim_at_front, move_batch_dim, ops, scalar_like

__all__ = [
    "all_gather_p",
    "all_to_all_p",
    "axis_index_p",
    "pmax_p",
    "pmin_p",
    "ppermute_p",
    "psum_p",
    "reduce_scatter_p",
]

_NO_GROUPS = (
    "axis_index_groups not supported in vmap collectives. Please open a feature request!\n"
    "  Fix: two mapped axes instead of one axis in groups."
)


class Collective(Primitive):
    """One operand (or none), communicating over the axes named ``axis_name`` or ``axes``."""

    def named_axes(self, params: dict[str, Any]) -> tuple[Any, ...]:
        names = params["axes"] if "axes" in params else params["axis_name"]
        return names if isinstance(names, tuple) else (names,)

    def impl(self, xp: Any, *arrays: Any, **params: Any) -> Any:
        names = ", ".join(map(str, self.named_axes(params)))
        raise NameError(f"unbound axis name: {names}")


def _check_groups(groups: Any) -> None:
    if groups is not None:
        raise NotImplementedError(_NO_GROUPS)


class AllReduce(Collective):
    """Every example gets the combination of all examples' values."""

    #: Name in ``ops`` of the reduction of an ordinary axis.
    reduction: str

    def abstract_eval(self, x: ShapedArray, **_: Any) -> ShapedArray:
        return ShapedArray(x.shape, x.dtype, False)

    def of_equal(self, x: Any, size: int) -> Any:
        """Combine ``size`` values that are all ``x``."""
        return x

    def collect(
        self, args: tuple[Any, ...], dims: Dims, mapped: tuple[Any, int], **params: Any
    ) -> Any:
        axis_name, axis_size = mapped
        _check_groups(params["axis_index_groups"])
        (x,), (dim,) = args, dims
        out = self.of_equal(x, axis_size) if dim is None else _reduced(self.reduction, x, dim)
        rest = tuple([name for name in params["axes"] if name != axis_name])
        return (self.bind(out, **{**params, "axes": rest}) if rest else out), None

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return self.bind(args[0], **params), dims[0]


def _reduced(reduction: str, x: Any, dim: int) -> Any:
    reduce: Callable[..., Any] = getattr(ops, reduction)
    return reduce(x, (dim,))


class PSum(AllReduce):
    """The sum over the axes."""

    name = "psum"
    reduction = "reduce_sum"

    def of_equal(self, x: Any, size: int) -> Any:
        return ops.mul(x, scalar_like(x, size))

    def jvp(self, out: Any, x: Any, **params: Any) -> Any:
        return (lambda t: self.bind(t, **params),)

    def transpose(self, ct: Any, x: Any, **params: Any) -> Any:
        return (self.bind(ct, **params),)


class PMax(AllReduce):
    """The maximum over the axes."""

    name = "pmax"
    reduction = "reduce_max"
    jvp = absent("Differentiation rule", "take the maximum of a gathered axis instead")
    transpose = absent("Transpose rule (for reverse-mode differentiation)", "it is not linear")


class PMin(AllReduce):
    """The minimum over the axes."""

    name = "pmin"
    reduction = "reduce_min"
    jvp = absent("Differentiation rule", "take the minimum of a gathered axis instead")
    transpose = absent("Transpose rule (for reverse-mode differentiation)", "it is not linear")


class PPermute(Collective):
    """Example ``target`` gets the value of ``source`` for every pair of ``perm``.

    Those that are no target get zeros.
    """

    name = "ppermute"

    def abstract_eval(self, x: ShapedArray, **_: Any) -> ShapedArray:
        return ShapedArray(x.shape, x.dtype, False)

    def collect(
        self, args: tuple[Any, ...], dims: Dims, mapped: tuple[Any, int], **params: Any
    ) -> Any:
        _, axis_size = mapped
        x = bdim_at_front(args[0], dims[0], axis_size)
        source = np.full(axis_size, axis_size, np.int32)
        for start, end in params["perm"]:
            source[end] = start
        shape = get_aval(x).shape
        zeros = ops.broadcast_in_dim(scalar_like(x, 0), (1, *shape[1:]), ())
        parts = [
            ops.slice(x, (int(s), *[0] * (len(shape) - 1)), (int(s) + 1, *shape[1:]), None)
            if s < axis_size
            else zeros
            for s in source
        ]
        return (ops.concatenate(tuple(parts), 0) if len(parts) > 1 else parts[0]), 0

    def jvp(self, out: Any, x: Any, **params: Any) -> Any:
        return (lambda t: self.bind(t, **params),)

    def transpose(self, ct: Any, x: Any, *, perm: Sequence[tuple[int, int]], **params: Any) -> Any:
        back = tuple([(end, start) for start, end in perm])
        return (self.bind(ct, perm=back, **params),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return self.bind(args[0], **params), dims[0]


class AllGather(Collective):
    """Every example gets all values along a new axis (``tiled``: joined along an old one)."""

    name = "all_gather"

    def abstract_eval(
        self,
        x: ShapedArray,
        *,
        all_gather_dimension: int,
        axis_size: int,
        tiled: bool,
        **_: Any,
    ) -> ShapedArray:
        shape = list(x.shape)
        if tiled:
            shape[all_gather_dimension] *= axis_size
        else:
            shape.insert(all_gather_dimension, axis_size)
        return ShapedArray(tuple(shape), x.dtype, False)

    def collect(
        self, args: tuple[Any, ...], dims: Dims, mapped: tuple[Any, int], **params: Any
    ) -> Any:
        _, axis_size = mapped
        _check_groups(params["axis_index_groups"])
        axis = params["all_gather_dimension"]
        x = bdim_at_front(args[0], dims[0], axis_size)
        out = move_batch_dim(x, 0, axis)
        return (_merged(out, axis) if params["tiled"] else out), None

    def jvp(self, out: Any, x: Any, **params: Any) -> Any:
        return (lambda t: self.bind(t, **params),)

    def transpose(
        self, ct: Any, x: Any, *, all_gather_dimension: int, **params: Any
    ) -> tuple[Any, ...]:
        return (reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        shifted = {"all_gather_dimension": params["all_gather_dimension"] + 1}
        (x,), (dim,) = args, dims
        front = bdim_at_front(x, dim, 1)
        return self.bind(front, **{**params, **shifted}), 0


class ReduceScatter(Collective):
    """Every example gets its part of the sum over the axis."""

    name = "reduce_scatter"

    def abstract_eval(
        self, x: ShapedArray, *, scatter_dimension: int, axis_size: int, tiled: bool, **_: Any
    ) -> ShapedArray:
        shape = list(x.shape)
        if tiled:
            if shape[scatter_dimension] % axis_size:
                raise ValueError(
                    f"tiled reduce_scatter operand scatter dimension size "
                    f"{shape[scatter_dimension]} must be divisible by shard_count {axis_size}"
                )
            shape[scatter_dimension] //= axis_size
        elif shape[scatter_dimension] == axis_size:
            del shape[scatter_dimension]
        else:
            raise ValueError(
                f"reduce_scatter operand scatter dimension size {shape[scatter_dimension]} must "
                f"match shard count {axis_size}"
            )
        return ShapedArray(tuple(shape), x.dtype, False)

    def collect(
        self, args: tuple[Any, ...], dims: Dims, mapped: tuple[Any, int], **params: Any
    ) -> Any:
        _, axis_size = mapped
        _check_groups(params["axis_index_groups"])
        (x,), (dim,), axis = args, dims, params["scatter_dimension"]
        total = psum_p.of_equal(x, axis_size) if dim is None else _reduced("reduce_sum", x, dim)
        return (_split(total, axis, axis_size) if params["tiled"] else total), axis

    def jvp(self, out: Any, x: Any, **params: Any) -> Any:
        return (lambda t: self.bind(t, **params),)

    def transpose(
        self, ct: Any, x: Any, *, scatter_dimension: int, **params: Any
    ) -> tuple[Any, ...]:
        return (all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        shifted = {"scatter_dimension": params["scatter_dimension"] + 1}
        front = bdim_at_front(args[0], dims[0], 1)
        return self.bind(front, **{**params, **shifted}), 0


class AllToAll(Collective):
    """Example i gets slice i of every example's ``split_axis``, in order along ``concat_axis``."""

    name = "all_to_all"

    def abstract_eval(
        self,
        x: ShapedArray,
        *,
        split_axis: int,
        concat_axis: int,
        axis_size: int,
        tiled: bool,
        **_: Any,
    ) -> ShapedArray:
        shape = list(x.shape)
        if tiled:
            if shape[split_axis] % axis_size:
                raise ValueError(
                    f"The size of all_to_all split_axis ({shape[split_axis]}) has to be divisible "
                    f"by the size of the named axis axis_name ({axis_size})"
                )
            shape[split_axis] //= axis_size
            shape[concat_axis] *= axis_size
        else:
            del shape[split_axis]
            shape.insert(concat_axis, axis_size)
        return ShapedArray(tuple(shape), x.dtype, False)

    def collect(
        self, args: tuple[Any, ...], dims: Dims, mapped: tuple[Any, int], **params: Any
    ) -> Any:
        _, axis_size = mapped
        _check_groups(params["axis_index_groups"])
        split, concat, tiled = params["split_axis"], params["concat_axis"], params["tiled"]
        x = bdim_at_front(args[0], dims[0], axis_size)
        if tiled:
            x = _split(x, split + 1, axis_size)
        # Axes now: 0 the sender, split + 1 the receiver. The receiver becomes the batch.
        kept = [a for a in range(1, get_aval(x).ndim) if a != split + 1]
        kept.insert(concat, 0)
        out = ops.transpose(x, (split + 1, *kept))
        return (_merged(out, concat + 1) if tiled else out), 0

    def jvp(self, out: Any, x: Any, **params: Any) -> Any:
        return (lambda t: self.bind(t, **params),)

    def transpose(
        self, ct: Any, x: Any, *, split_axis: int, concat_axis: int, **params: Any
    ) -> tuple[Any, ...]:
        return (self.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        shifted = {n: params[n] + 1 for n in ("split_axis", "concat_axis")}
        front = bdim_at_front(args[0], dims[0], 1)
        return self.bind(front, **{**params, **shifted}), 0


def _merged(x: Any, axis: int) -> Any:
    """Return ``x`` with ``axis`` and the one after it as one."""
    shape = get_aval(x).shape
    return ops.reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _split(x: Any, axis: int, size: int) -> Any:
    """Return ``x`` with ``axis`` as two axes, the first of length ``size``."""
    shape = get_aval(x).shape
    return ops.reshape(x, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]))


class AxisIndex(Collective):
    """The position of this example along the axis, an int32 scalar."""

    name = "axis_index"

    def abstract_eval(self, **_: Any) -> ShapedArray:
        return ShapedArray((), np.dtype(np.int32), False)

    jvp = not_differentiable("integer result")
    transpose = absent("Transpose rule (for reverse-mode differentiation)", "no operand")
    batch = absent("Batching rule", "no operand")

    def collect(
        self, args: tuple[Any, ...], dims: Dims, mapped: tuple[Any, int], **params: Any
    ) -> Any:
        _, axis_size = mapped
        return ops.iota(np.dtype(np.int32), axis_size), 0


psum_p = PSum()
pmax_p = PMax()
pmin_p = PMin()
ppermute_p = PPermute()
all_gather_p = AllGather()
reduce_scatter_p = ReduceScatter()
all_to_all_p = AllToAll()
axis_index_p = AxisIndex()
