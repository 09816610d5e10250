"""Windows that slide over an array. In: an array. Out: the elements of every window.

One linear operation is behind convolutions (the patches), pooling (what is combined) and the
derivatives of both. Along every axis it is described by a ``Slide``: element ``w`` of window ``o``
is source element ``s`` with ``s * source_step == o * window_step + w * inner_step + offset``, or
``fill`` where there is none. Solved for ``o`` this is a slide again, so the transpose needs no
operation of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import Pull, ops, provide
from jaxlite.primitives.joining import clamped

__all__ = ["Slide", "same", "slide", "slide_p"]

Index = tuple[ir.Expr, ...]


class Slide(NamedTuple):
    """How windows lie along one axis; see the module's text."""

    windows: int
    size: int  # elements of each window
    window_step: int = 1
    inner_step: int = 1
    offset: int = 0
    source_step: int = 1

    def turned(self, source: int) -> Slide:
        """Return the slide that finds the window of each of ``source`` elements."""
        return Slide(
            source, self.size, self.source_step, -self.inner_step, -self.offset, self.window_step
        )

    def reach(self) -> tuple[int, int]:
        """Return the least and the greatest position that a window has an element at."""
        ends = (0, (self.windows - 1) * self.window_step), (0, (self.size - 1) * self.inner_step)
        return (
            self.offset + min(ends[0]) + min(ends[1]),
            self.offset + max(ends[0]) + max(ends[1]),
        )


def same(size: int) -> Slide:
    """Return the slide along an axis without windows: element ``i`` is window ``i``."""
    return Slide(size, 1)


class SlidingWindows(Primitive):
    """``T[*source, *1 or window] -> T[*windows, *window]``, one ``Slide`` per source axis.

    A window axis of size 1 is the same for all elements of a window; one of full size has its own
    source for each (that is how the transpose reads). ``fill`` stands outside; linear if it is 0.
    """

    name = "sliding_windows"

    def abstract_eval(
        self, operand: ShapedArray, *, slides: tuple[Slide, ...], fill: Any
    ) -> ShapedArray:
        shape = (*[s.windows for s in slides], *[s.size for s in slides])
        return ShapedArray(shape, operand.dtype, operand.weak_type)

    def impl(self, xp: ArrayModule, x: Any, *, slides: tuple[Slide, ...], fill: Any) -> Any:
        n = len(slides)
        out = xp.empty((*[s.windows for s in slides], *[s.size for s in slides]), x.dtype)
        out[...] = fill
        # One copy per position within the window: regular steps on both sides.
        for within in np.ndindex(*[s.size for s in slides]):
            pairs = [_aligned(s, w, size) for s, w, size in zip(slides, within, x.shape)]
            own = tuple([0 if x.shape[n + d] == 1 else w for d, w in enumerate(within)])
            target = tuple([windows for windows, _ in pairs])
            out[(*target, *within)] = x[(*[elements for _, elements in pairs], *own)]
        return out

    def jvp(self, out: Value, x: Value, *, slides: Any, fill: Any) -> TangentMaps:
        return (lambda t: slide(t, slides),)

    def transpose(self, ct: Value, x: Any, *, slides: tuple[Slide, ...], fill: Any) -> Any:
        n = len(slides)
        shape = x.aval.shape
        back = slide(ct, tuple([s.turned(size) for s, size in zip(slides, shape)]))
        shared = tuple(n + d for d in range(n) if shape[n + d] == 1 and slides[d].size != 1)
        if shared:
            back = ops.reduce_sum(back, shared)
        return (ops.reshape(back, shape),)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (x,), (dim,), slides, fill = args, dims, params["slides"], params["fill"]
        assert dim is not None
        n, shape = len(slides), get_aval(x).shape
        axes = [d for d in range(len(shape)) if d != dim]
        x = ops.transpose(x, (dim, *axes))
        size = shape[dim]
        rest = [shape[d] for d in axes]
        x = ops.reshape(x, (size, *rest[:n], 1, *rest[n:]))
        out = slide(x, (same(size), *slides), fill)
        shape = get_aval(out).shape
        return ops.reshape(out, (*shape[: n + 1], *shape[n + 2 :])), 0

    def pull(
        self, operands: tuple[Pull, ...], index: Index, *, slides: tuple[Slide, ...], fill: Any
    ) -> ir.Expr:
        (x,) = operands
        n, shape = len(slides), x.aval.shape
        outside = ir.const(dtypes.storage_dtype(x.aval.dtype).type(fill), x.aval.dtype)
        if not x.aval.size:
            return outside
        inside: ir.Expr | None = None
        source: list[ir.Expr] = []
        for s, size, o, w in zip(slides, shape[:n], index[:n], index[n:], strict=True):
            at, checks = _position(s, size, o, w)
            source.append(at)
            for check in checks:
                inside = check if inside is None else ir.binary("and", inside, check)
        own = tuple(
            ir.i64(0) if size == 1 else w for size, w in zip(shape[n:], index[n:], strict=True)
        )
        element = x((*source, *own))
        return element if inside is None else ir.select(inside, element, outside)


def _aligned(s: Slide, w: int, size: int) -> tuple[slice, slice]:
    """Return the windows whose element ``w`` there is, and where these elements are."""
    at = np.arange(s.windows) * s.window_step + w * s.inner_step + s.offset
    found, rest = np.divmod(at, s.source_step)
    (windows,) = np.nonzero((rest == 0) & (found >= 0) & (found < size))
    if not windows.size:
        return slice(0, 0), slice(0, 0)
    elements = found[windows]
    return _regular(windows), _regular(elements)


def _regular(positions: Any) -> slice:
    """Return the slice of equally spaced ``positions``."""
    first, last = int(positions[0]), int(positions[-1])
    step = int(positions[1]) - first if len(positions) > 1 else 1
    stop = last + (1 if step > 0 else -1)
    return slice(first, None if stop < 0 else stop, step)


def _position(s: Slide, size: int, o: ir.Expr, w: ir.Expr) -> tuple[ir.Expr, list[ir.Expr]]:
    """Return the source index of one axis, brought into range, and when it is really there."""
    at = ir.binary("mul", o, ir.i64(s.window_step)) if s.window_step != 1 else o
    if s.size > 1:
        inner = ir.binary("mul", w, ir.i64(s.inner_step)) if s.inner_step != 1 else w
        at = ir.binary("add", at, inner)
    if s.offset:
        at = ir.binary("add", at, ir.i64(s.offset))
    low, high = s.reach()
    end = (size - 1) * s.source_step
    checks = []
    if low < 0:
        checks.append(ir.compare("ge", at, ir.i64(0)))
    if high > end:
        checks.append(ir.compare("le", at, ir.i64(end)))
    if s.source_step > 1:
        step = ir.i64(s.source_step)
        checks.append(ir.compare("eq", ir.binary("rem", at, step), ir.i64(0)))
        at = ir.binary("div", at, step)
    return clamped(at, 0 if low < 0 else None, size - 1 if high > end else None), checks


slide_p = SlidingWindows()


def slide(x: Value, slides: tuple[Slide, ...], fill: Any = 0) -> Value:
    """Return the elements of all windows: ``T[*source, *1] -> T[*windows, *window]``.

    Args:
        x: an array whose second half of axes are window axes (usually of size 1).
        slides: how windows lie along each axis of the first half.
        fill: the number outside.

    Example:
        >>> slide_p.abstract_eval(ShapedArray((5, 1), "float32"), slides=(Slide(3, 3),), fill=0)
        ShapedArray(float32[3,3])
    """
    return slide_p.bind(x, slides=tuple(slides), fill=fill)


provide(slide=slide)
