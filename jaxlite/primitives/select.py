"""Choice between values. In: conditions and cases. Out: one case per element."""

from __future__ import annotations

from typing import Any

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import (
    ArrayModule,
    Dims,
    Primitive,
    TangentMaps,
    is_linear,
)
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import (
    ANY,
    NOT_LINEAR,
    Pull,
    batch_size,
    bdim_at_front,
    ops,
    provide,
    quiet,
    zeros_of,
)


def _same_dtypes(name: str, avals: tuple[ShapedArray, ...], tip: str = "") -> None:
    if any(aval.dtype != avals[0].dtype for aval in avals[1:]):
        listed = ", ".join(dtypes.name_of(aval.dtype) for aval in avals)
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {listed}.{tip}"
        )


_WHERE_TIP = " (Tip: jnp.where is a similar function that does automatic type promotion on inputs)."


class SelectN(Primitive):
    """``cases[which]`` element by element; ``which`` is bool (2 cases) or an int32, clamped.

    Linear in the cases. ``which`` may be a scalar beside arrays.
    """

    name = "select_n"

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        which, cases = avals[0], avals[1:]
        if not cases:
            raise ValueError("select_n() must have at least one case")
        shapes = [case.shape for case in cases]
        if len(set(shapes)) > 1:
            raise TypeError(f"select cases must have the same shapes, got [{_listed(shapes)}].")
        _same_dtypes("select", cases, _WHERE_TIP)
        kind = dtypes.kind_of(which.dtype)
        if kind not in "biu":
            got = dtypes.name_of(which.dtype)
            raise TypeError(f"select `which` must be boolean or integer type, got {got}.")
        if kind == "b" and len(cases) > 2:
            raise TypeError("select with boolean `which` cannot have > 2 cases.")
        if which.shape not in ((), shapes[0]):
            raise TypeError(
                "select `which` must be scalar or have the same shape as cases, got `which` "
                f"shape {which.shape} but case shape {shapes[0]}."
            )
        return ShapedArray(shapes[0], cases[0].dtype, all(case.weak_type for case in cases))

    def impl(self, xp: ArrayModule, which: Any, *cases: Any) -> Any:
        if which.dtype.kind == "b":
            if len(cases) == 1:
                return xp.array(cases[0])
            return xp.where(which, cases[1], cases[0])
        index = xp.clip(which, 0, len(cases) - 1)
        out = cases[0]
        for k, case in enumerate(cases[1:], start=1):
            out = xp.where(index == k, case, out)
        return xp.array(out)

    def jvp(self, out: Value, which: Value, *cases: Value) -> TangentMaps:
        def map_of(position: int) -> Any:
            def tangent_map(t: Value) -> Value:
                zeros = zeros_of(get_aval(t))
                return select_n(which, *(t if k == position else zeros for k in range(len(cases))))

            return tangent_map

        return (None, *(map_of(k) for k in range(len(cases))))

    def transpose(self, ct: Value, which: Any, *cases: Any) -> tuple[Any, ...]:
        zeros = zeros_of(get_aval(ct))

        def share(position: int) -> Value:
            return select_n(which, *(ct if k == position else zeros for k in range(len(cases))))

        return (None, *(share(k) if is_linear(c) else None for k, c in enumerate(cases)))

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        which, which_dim = args[0], dims[0]
        if which_dim is None and not get_aval(which).shape:
            pass  # a scalar chooses the same case for the whole batch
        elif len(set(dims)) == 1 and len({get_aval(x).shape for x in args}) == 1:
            return self.bind(*args), dims[0]
        else:
            which = bdim_at_front(which, which_dim, size)
        cases = [bdim_at_front(x, d, size) for x, d in zip(args[1:], dims[1:], strict=True)]
        shape = get_aval(cases[0]).shape
        if get_aval(which).ndim == 1 and len(shape) > 1:
            which = ops.broadcast_in_dim(which, shape, (0,))
        return self.bind(which, *cases), 0

    def pull(self, operands: tuple[Pull, ...], index: tuple[ir.Expr, ...]) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        which = operands[0](index if operands[0].aval.shape else ())
        cases = [case(index) for case in operands[1:]]
        if len(cases) == 1:
            return cases[0]
        if which.dtype == ir.BOOL:
            return ir.select(which, cases[1], cases[0])
        # Clamped by the order of the tests: below 1 the first, above the last the last.
        out = cases[-1]
        for k in range(len(cases) - 2, -1, -1):
            is_before = ir.compare("lt", which, ir.const(k + 1, which.dtype))
            out = ir.select(is_before, cases[k], out)
        return out


def _listed(shapes: list[tuple[int, ...]]) -> str:
    return ", ".join(map(str, shapes))


class Clamp(Primitive):
    """``x`` kept between ``low`` and ``high``, which may be scalars beside an array."""

    name = "clamp"
    transpose = NOT_LINEAR

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        low, x, high = avals
        for aval in avals:
            if dtypes.kind_of(aval.dtype) not in "biufc":
                raise TypeError(
                    f"clamp does not accept dtype {dtypes.name_of(aval.dtype)}. "
                    f"Accepted dtypes are subtypes of {', '.join(ANY)}."
                )
        _same_dtypes("clamp", avals)
        for word, bound in (("min", low), ("max", high)):
            if bound.shape not in ((), x.shape):
                raise TypeError(
                    f"clamp requires {word}.shape == operand.shape or {word}.shape == (), got "
                    f"{word}.shape={bound.shape}, operand.shape={x.shape}."
                )
        return ShapedArray(x.shape, x.dtype, all(aval.weak_type for aval in avals))

    @quiet
    def impl(self, xp: ArrayModule, low: Any, x: Any, high: Any) -> Any:
        return xp.minimum(xp.maximum(x, low), high)

    def jvp(self, out: Value, low: Value, x: Value, high: Value) -> TangentMaps:
        shape = get_aval(out).shape
        above = ops.bitwise_and(ops.gt(low, x), ops.lt(low, high))
        below = ops.lt(high, x)
        inside = ops.bitwise_and(ops.gt(x, low), ops.lt(x, high))

        def where(mask: Value) -> Any:
            def tangent_map(t: Value) -> Value:
                if get_aval(t).shape != shape:
                    t = ops.broadcast_in_dim(t, shape, ())
                return select_n(mask, zeros_of(get_aval(t)), t)

            return tangent_map

        return where(above), where(inside), where(below)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        if dims[1] is not None and all(
            d is None and not get_aval(x).shape for x, d in ((args[0], dims[0]), (args[2], dims[2]))
        ):
            return self.bind(*args), dims[1]
        x = bdim_at_front(args[1], dims[1], size)
        shape = get_aval(x).shape
        bounds = []
        for bound, dim in ((args[0], dims[0]), (args[2], dims[2])):
            front = bdim_at_front(bound, dim, size)
            if get_aval(front).shape != shape:
                front = ops.broadcast_in_dim(front, shape, (0,))
            bounds.append(front)
        return self.bind(bounds[0], x, bounds[1]), 0

    def can_lower(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> bool:
        """Say whether the kernel IR orders this dtype."""
        return dtypes.kind_of(avals[0].dtype) in "iuf"

    def pull(self, operands: tuple[Pull, ...], index: tuple[ir.Expr, ...]) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        low, x, high = (operand(index if operand.aval.shape else ()) for operand in operands)
        return ir.binary("min", ir.binary("max", x, low), high)


select_n_p, clamp_p = SelectN(), Clamp()


def select_n(which: Value, *cases: Value) -> Value:
    """Return ``cases[which]`` per element: ``bool[*s], T[*s], T[*s] -> T[*s]``, False: 0."""
    return select_n_p.bind(which, *cases)


def clamp(low: Value, x: Value, high: Value) -> Value:
    """Return ``x`` kept in ``[low, high]`` (or scalars): ``T[*s], T[*s], T[*s] -> T[*s]``."""
    return clamp_p.bind(low, x, high)


provide(select_n=select_n)

__all__ = ["clamp", "clamp_p", "select_n", "select_n_p"]
