"""Running reductions along one axis. In: an array. Out: the same shape; element i combines 0..i.

``cumsum`` is linear. The derivatives of the others follow the tree of a parallel prefix scan
(Blelloch, 1990): pairs are combined, the half-length problem is scanned, the even places are
filled in. Going through the tree instead of dividing by ``x`` keeps them exact at zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps
from jaxlite.language.trace import get_aval
from jaxlite.primitives.arithmetic import add, max_, min_, mul, sub
from jaxlite.primitives.elementwise import exp
from jaxlite.primitives.families import (
    INEXACT,
    NOT_LINEAR,
    accepts_text,
    full_like,
    in_float32,
    is_accepted,
    ops,
    provide,
    quiet,
    scalar_like,
)

TangentMap = Callable[[Value], Value]
_NUMBER = ("number",)


class Cumulative(Primitive):
    """Combine all elements up to each one along ``axis`` (from the end if ``reverse``)."""

    combiner: ClassVar[str]
    accepts: ClassVar[tuple[str, ...]] = _NUMBER
    transpose = NOT_LINEAR

    def abstract_eval(self, operand: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        if not is_accepted(self.accepts, operand.dtype):
            raise TypeError(accepts_text(self.name, self.accepts, operand.dtype, None))
        if axis < 0:
            raise ValueError("XLA operations do not allow negative axes")
        if axis >= operand.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {operand.shape}")
        return operand

    def accumulate(self, xp: ArrayModule, x: Any, axis: int) -> Any:
        """Run forward along ``axis``."""
        raise NotImplementedError(self.name)

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, axis: int, reverse: bool) -> Any:
        if reverse:
            forward = in_float32(lambda v: self.accumulate(xp, v, axis), xp.flip(x, axis))
            return xp.ascontiguousarray(xp.flip(forward, axis)).reshape(x.shape)
        return in_float32(lambda v: self.accumulate(xp, v, axis), x)

    def slopes(self, a: Value, b: Value, out: Value) -> tuple[Value, Value]:
        """Return d out/da and d out/db of one combination ``out`` of ``a`` and ``b``."""
        raise NotImplementedError(self.name)

    def combine(self, a: Value, b: Value) -> Value:
        """Return one combination."""
        raise NotImplementedError(self.name)

    def jvp(self, out: Value, x: Value, *, axis: int, reverse: bool) -> TangentMaps:
        if not reverse:
            return (self._tree(x, out, axis),)
        flipped = self._tree(ops.rev(x, (axis,)), ops.rev(out, (axis,)), axis)
        return (lambda t: ops.rev(flipped(ops.rev(t, (axis,))), (axis,)),)

    def _tree(self, x: Value, out: Value, axis: int) -> TangentMap:
        """Return the tangent map of the scan of ``x``, whose result is ``out``."""
        length = get_aval(x).shape[axis]
        if length < 2:
            return lambda t: t
        # Odd places: combine neighbours, scan them; their results are out[1::2].
        a, b = _every(x, 0, length - 1, axis), _every(x, 1, length, axis)
        pairs = self.combine(a, b)
        of_a, of_b = self.slopes(a, b, pairs)
        odd = _every(out, 1, length, axis)
        inner = self._tree(pairs, odd, axis)
        n_even = (length - 1) // 2
        if n_even:
            # Even places from 2 on: the odd result before them and their own element.
            before, own = _part(odd, 0, n_even, axis), _every(x, 2, length, axis)
            of_before, of_own = self.slopes(before, own, _every(out, 2, length, axis))

        def tangent_map(t: Value) -> Value:
            t_pairs = add(
                mul(_every(t, 0, length - 1, axis), of_a), mul(_every(t, 1, length, axis), of_b)
            )
            t_odd = inner(t_pairs)
            t_even = _part(t, 0, 1, axis)
            if n_even:
                t_before = mul(_part(t_odd, 0, n_even, axis), of_before)
                t_rest = add(t_before, mul(_every(t, 2, length, axis), of_own))
                t_even = ops.concatenate([t_even, t_rest], axis)
            return _woven(t_even, t_odd, length, axis)

        return tangent_map

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (x,), (dim,) = args, dims
        assert dim is not None
        axis = params["axis"]
        return self.bind(x, axis=axis + (axis >= dim), reverse=params["reverse"]), dim


def _part(x: Value, start: int, limit: int, axis: int, stride: int = 1) -> Value:
    """Return ``x[start:limit:stride]`` along ``axis``."""
    shape = get_aval(x).shape
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, stride
    return ops.slice(x, tuple(starts), tuple(limits), tuple(strides))


def _every(x: Value, start: int, limit: int, axis: int) -> Value:
    """Return every second element from ``start`` to ``limit`` along ``axis``."""
    return _part(x, start, limit, axis, 2)


def _woven(even: Value, odd: Value, length: int, axis: int) -> Value:
    """Return the array of ``length`` along ``axis`` with these elements at even and odd places."""
    aval = get_aval(even)
    zero = scalar_like(aval, 0)

    def spread(x: Value, low: int) -> Value:
        config = [(0, 0, 0)] * aval.ndim
        config[axis] = (low, length - low - 2 * get_aval(x).shape[axis] + 1, 1)
        return ops.pad(x, zero, tuple(config))

    return add(spread(even, 0), spread(odd, 1))


class CumSum(Cumulative):
    """Running sum. Linear."""

    name = "cumsum"
    combiner = "add"

    def accumulate(self, xp: ArrayModule, x: Any, axis: int) -> Any:
        return xp.cumsum(x, axis=axis, dtype=x.dtype)

    def jvp(self, out: Value, x: Value, *, axis: int, reverse: bool) -> TangentMaps:
        return (lambda t: cumsum(t, axis, reverse),)

    def transpose(self, ct: Value, x: Any, *, axis: int, reverse: bool) -> tuple[Any, ...]:
        return (cumsum(ct, axis, not reverse),)


class CumProd(Cumulative):
    """Running product."""

    name = "cumprod"
    combiner = "mul"

    def accumulate(self, xp: ArrayModule, x: Any, axis: int) -> Any:
        return xp.cumprod(x, axis=axis, dtype=x.dtype)

    def combine(self, a: Value, b: Value) -> Value:
        return mul(a, b)

    def slopes(self, a: Value, b: Value, out: Value) -> tuple[Value, Value]:
        return b, a


class _CumExtremum(Cumulative):
    """Running maximum or minimum; once a NaN, always a NaN. Ties share the slope."""

    ufunc: ClassVar[str]

    def accumulate(self, xp: ArrayModule, x: Any, axis: int) -> Any:
        return getattr(xp, self.ufunc).accumulate(x, axis=axis)

    def combine(self, a: Value, b: Value) -> Value:
        return max_(a, b) if self.combiner == "max" else min_(a, b)

    def slopes(self, a: Value, b: Value, out: Value) -> tuple[Value, Value]:
        # 1 for the winner, 1/2 for each of two, 0 for the loser.
        one, half, zero = (full_like(a, value) for value in (1, 0.5, 0))
        a_won, b_won = ops.eq(a, out), ops.eq(b, out)
        return (
            ops.select_n(a_won, zero, ops.select_n(b_won, one, half)),
            ops.select_n(b_won, zero, ops.select_n(a_won, one, half)),
        )


class CumMax(_CumExtremum):
    """Running maximum."""

    name = "cummax"
    combiner = "max"
    ufunc = "maximum"


class CumMin(_CumExtremum):
    """Running minimum."""

    name = "cummin"
    combiner = "min"
    ufunc = "minimum"


class CumLogSumExp(Cumulative):
    """Running ``log(sum(exp(x)))``, without overflow."""

    name = "cumlogsumexp"
    combiner = "logaddexp"
    accepts = INEXACT

    def accumulate(self, xp: ArrayModule, x: Any, axis: int) -> Any:
        if dtypes.kind_of(x.dtype) == "f":
            return xp.logaddexp.accumulate(x, axis=axis)
        rows = xp.moveaxis(x.copy(), axis, 0)
        for i in range(1, len(rows)):
            rows[i] = _complex_logaddexp(xp, rows[i - 1], rows[i])
        return xp.moveaxis(rows, 0, axis)

    def combine(self, a: Value, b: Value) -> Value:
        # max + log1p(exp(-|a - b|)), with equal infinities taken as they are.
        if dtypes.kind_of(get_aval(a).dtype) == "c":
            return ops.log(add(exp(a), exp(b)))
        top = max_(a, b)
        gap = ops.neg(ops.abs(sub(a, b)))
        out = add(top, ops.log1p(exp(gap)))
        is_infinite = ops.eq(a, b)
        double = add(top, scalar_like(top, 0.6931471805599453))
        return ops.select_n(is_infinite, out, double)

    def slopes(self, a: Value, b: Value, out: Value) -> tuple[Value, Value]:
        return exp(sub(a, out)), exp(sub(b, out))


def _complex_logaddexp(xp: ArrayModule, a: Any, b: Any) -> Any:
    top = xp.where(a.real >= b.real, a, b)
    rest = xp.where(a.real >= b.real, b, a)
    return top + xp.log1p(xp.exp(rest - top))


cumsum_p, cumprod_p, cummax_p, cummin_p = CumSum(), CumProd(), CumMax(), CumMin()
cumlogsumexp_p = CumLogSumExp()


def cumsum(x: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return running sums along ``axis``: ``T[*s] -> T[*s]`` for numbers."""
    return cumsum_p.bind(x, axis=axis, reverse=reverse)


def cumprod(x: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return running products along ``axis``: ``T[*s] -> T[*s]`` for numbers."""
    return cumprod_p.bind(x, axis=axis, reverse=reverse)


def cummax(x: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return running maxima along ``axis``: ``T[*s] -> T[*s]`` for numbers."""
    return cummax_p.bind(x, axis=axis, reverse=reverse)


def cummin(x: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return running minima along ``axis``: ``T[*s] -> T[*s]`` for numbers."""
    return cummin_p.bind(x, axis=axis, reverse=reverse)


def cumlogsumexp(x: Value, axis: int = 0, reverse: bool = False) -> Value:
    """Return running log-sum-exps along ``axis``: ``T[*s] -> T[*s]`` for floats and complexes."""
    return cumlogsumexp_p.bind(x, axis=axis, reverse=reverse)


provide(cumsum=cumsum, cumprod=cumprod)

__all__ = [
    "Cumulative", "cumlogsumexp", "cumlogsumexp_p", "cummax", "cummax_p", "cummin", "cummin_p",
    "cumprod", "cumprod_p", "cumsum", "cumsum_p",
]  # fmt: skip
