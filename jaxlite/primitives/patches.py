"""A convolution as a product of matrices. In: its operands and numbers. Out: its value.

The windows become the columns of a matrix (Chellapilla, Puri and Simard, High Performance
Convolutional Neural Networks, 2006). Its layout is chosen so that the innermost loop runs along
neighbours in memory, that BLAS reads both operands as they lie and that its result needs moving
only where the groups or the order of axes force it. A convolution of an input with holes (the
gradient of one with strides) is several without: every phase of the output meets its own part of
the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from jaxlite.language.array import Value
from jaxlite.language.trace import get_aval
from jaxlite.primitives import shape as shapes
from jaxlite.primitives.arithmetic import add, mul
from jaxlite.primitives.dot import dot_general_p
from jaxlite.primitives.families import ops, scalar_like
from jaxlite.primitives.joining import concatenate, pad
from jaxlite.primitives.shape import transpose
from jaxlite.primitives.slicing import slice as slice_of
from jaxlite.primitives.slide import Slide, same, slide

__all__ = ["Convolution", "convolve"]

#: A stride that leaves more phases than this is done with zeros in the holes.
MAX_PHASES = 16
#: Largest window whose places are written out one by one.
MAX_PLACES = 64
#: How many of the columns' elements the products may have that are formed instead of them.
FEWER = 0.6


class Convolution(NamedTuple):
    """The numbers of a convolution, one per spatial axis where there are several."""

    specs: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base: tuple[int, ...]
    hole: tuple[int, ...]
    feature_groups: int
    batch_groups: int
    precision: Any
    dtype: Any

    def out_sizes(self, lhs: Value, rhs: Value) -> list[int]:
        """Return the number of windows along each spatial axis."""
        sizes = [get_aval(lhs).shape[a] for a in self.specs[0][2:]]
        window = [get_aval(rhs).shape[a] for a in self.specs[1][2:]]
        rows = zip(sizes, window, self.strides, self.padding, self.base, self.hole, strict=True)
        return [
            max((_spread(n, base) + low + high - _spread(k, hole)) // step + 1, 0)
            for n, k, step, (low, high), base, hole in rows
        ]


def convolve(lhs: Value, rhs: Value, how: Convolution) -> Value:
    """Return the convolution; its axes lie as ``how.specs[2]`` says."""
    has_phases = any(b > 1 for b in how.base) and math.prod(how.base) <= MAX_PHASES
    if has_phases and {*how.strides, *how.hole} <= {1}:
        return _phases(lhs, rhs, how)
    windows = how.out_sizes(lhs, rhs)
    lhs = _padded(lhs, how)
    axes = _Axes(lhs, rhs, how, windows)
    if 1 < axes.count("w") <= MAX_PLACES and axes.count("gncbo"):
        if axes.sizes["g"] and axes.count("c") == 1 and _is_plain(lhs, rhs, how):
            return _by_places(axes, lhs, rhs)
        if axes.count("ns") < FEWER * axes.count("co"):
            return _by_shifts(axes, lhs, rhs)
    return _by_columns(axes, lhs, rhs)


def _is_plain(lhs: Value, rhs: Value, how: Convolution) -> bool:
    """Say whether products are summed in the dtype of the operands."""
    kind = get_aval(lhs).dtype
    return kind.itemsize >= 4 and kind == get_aval(rhs).dtype and how.dtype in (None, kind)


def _reshape(x: Value, sizes: Sequence[int]) -> Value:
    return shapes.reshape(x, tuple(sizes))


def _spread(size: int, step: int) -> int:
    return 0 if not size else (size - 1) * step + 1


def _padded(lhs: Value, how: Convolution) -> Value:
    config = [(0, 0, 0)] * get_aval(lhs).ndim
    for axis, (low, high), base in zip(how.specs[0][2:], how.padding, how.base, strict=True):
        config[axis] = (low, high, base - 1)
    if not any(any(row) for row in config):
        return lhs
    zero = scalar_like(get_aval(lhs).strip_weak_type(), 0)
    return pad(lhs, zero, tuple(config))


class _Axes:
    """The axes by name, each of some sizes.

    g (group, no axis if there is one), b (batch), c (feature), s (positions), o (windows),
    w (within a window), n (feature of the result).
    """

    def __init__(self, lhs: Value, rhs: Value, how: Convolution, windows: list[int]) -> None:
        self.how = how
        lhs_spec, rhs_spec, _ = how.specs
        shape, kernel = get_aval(lhs).shape, get_aval(rhs).shape
        groups = max(how.feature_groups, how.batch_groups)
        self.sizes = {
            "g": [] if groups == 1 else [groups],
            "b": [shape[lhs_spec[0]] // how.batch_groups],
            "c": [shape[lhs_spec[1]] // how.feature_groups],
            "s": [shape[a] for a in lhs_spec[2:]],
            "o": windows,
            "w": [kernel[a] for a in rhs_spec[2:]],
            "n": [kernel[rhs_spec[0]] // groups],
        }

    def shape(self, names: str) -> list[int]:
        """Return the sizes of the named axes."""
        return [n for name in names for n in self.sizes[name]]

    def count(self, names: str) -> int:
        """Return the product of the sizes of the named axes."""
        return math.prod(self.shape(names))

    def input(self, lhs: Value) -> Value:
        """Return the input as ``gbcs``."""
        x = transpose(lhs, self.how.specs[0])
        if not self.sizes["g"]:
            return x
        if self.how.batch_groups > 1:
            return _reshape(x, self.shape("gbcs"))
        return self.moved(_reshape(x, self.shape("bgcs")), "bgcs", "gbcs")

    def kernel(self, rhs: Value, order: str) -> Value:
        """Return the kernel with its axes in an order of ``gncw``."""
        x = _reshape(transpose(rhs, self.how.specs[1]), self.shape("gncw"))
        return self.moved(x, "gncw", order)

    def moved(self, x: Value, have: str, want: str) -> Value:
        """Return ``x`` with its axes in another order."""
        starts, at = {}, 0
        for name in have:
            starts[name] = at
            at += len(self.sizes[name])
        perm = [starts[name] + k for name in want for k in range(len(self.sizes[name]))]
        return transpose(x, tuple(perm))

    def product(self, *pairs: tuple[Value, str], runs: tuple[str, str], inner: str) -> Value:
        """Return the matrix product of two arrays (and the names of their axes).

        ``runs`` are the free axes of both, ``inner`` the contracted ones; each lie together.
        """
        has_groups = bool(self.sizes["g"])
        matrices, contracted = [], []
        for (value, order), free in zip(pairs, runs, strict=True):
            names = sorted((free, inner), key=lambda run: order.index(run[0]))
            names = ["g", *names] if has_groups else names
            matrices.append(_reshape(value, [self.count(run) for run in names]))
            contracted.append((names.index(inner),))
        groups = (0,) if has_groups else ()
        precision = self.how.precision
        out = dot_general_p.bind(
            *matrices,
            dimension_numbers=((contracted[0], contracted[1]), (groups, groups)),
            # The input's precision comes first.
            precision=precision[::-1] if precision and "n" in runs[0] else precision,
            preferred_element_type=self.how.dtype,
            out_sharding=None,
        )
        return _reshape(out, self.shape("g" + "".join(runs)))

    def arrange(self, out: Value, order: str) -> Value:
        """Return the result (of an order of ``gnbo``) with the axes of the convolution."""
        spec = self.how.specs[2]
        spatial = range(len(spec) - 2)
        parts: dict[str, list[str]] = {name: [name] * bool(self.sizes[name]) for name in "gbn"}
        parts["o"] = [f"o{k}" for k in spatial]
        have = [part for name in order for part in parts[name]]
        groups = [parts["b"], parts["g"] + parts["n"], *([f"o{k}"] for k in spatial)]
        where = {axis: place for place, axis in enumerate(spec)}
        wanted = [groups[where[axis]] for axis in range(len(spec))]
        out = transpose(out, tuple([have.index(p) for group in wanted for p in group]))
        counts = [self.count("b"), self.count("gn"), *self.sizes["o"]]
        return _reshape(out, [counts[where[axis]] for axis in range(len(spec))])


def _by_columns(axes: _Axes, lhs: Value, rhs: Value) -> Value:
    """Return all windows times the kernel."""
    how = axes.how
    order, free, inner = _layout(axes, how.specs[0].index(len(how.specs[0]) - 1))
    x = axes.input(lhs)
    rows = zip(axes.sizes["o"], axes.sizes["w"], how.strides, how.hole, strict=True)
    slides = tuple(Slide(count, size, step, hole) for count, size, step, hole in rows)
    if any(s != same(n) for s, n in zip(slides, axes.sizes["s"], strict=True)):
        shape = get_aval(x).shape
        x = _reshape(x, (*shape, *[1] * len(shape)))
        x = slide(x, (*map(same, axes.shape("gbc")), *slides))
    columns = axes.moved(_reshape(x, axes.shape("gbcow")), "gbcow", order), order
    is_last = how.specs[1][0] == len(how.specs[1]) - 1
    order = "g" + (inner + "n" if is_last else "n" + inner)
    kernel = axes.kernel(rhs, order), order
    if how.specs[2][1] == len(how.specs[2]) - 1:
        out = axes.product(columns, kernel, runs=(free, "n"), inner=inner)
        return axes.arrange(out, f"g{free}n")
    out = axes.product(kernel, columns, runs=("n", free), inner=inner)
    return axes.arrange(out, f"gn{free}")


def _layout(axes: _Axes, last: int) -> tuple[str, str, str]:
    """Return the order of the columns' axes, the free and the contracted ones.

    ``last`` says what lies last in the input: 0 the batch, 1 the features, else positions.
    """
    if last == 0:
        return "gcwob", "ob", "cw"
    if last == 1:
        return "gbowc", "bo", "wc"
    if not axes.sizes["o"] or axes.sizes["o"][-1] >= axes.sizes["w"][-1]:
        return "gcwbo", "bo", "cw"
    return "gbocw", "bo", "cw"


def _by_shifts(axes: _Axes, lhs: Value, rhs: Value) -> Value:
    """Return the sum of one product per place in the window, each shifted to its place.

    The products are smaller than the columns if there are fewer features behind than before
    (Vasudevan, Anderson and Gregg, Parallel Multi Channel Convolution using General Matrix
    Multiplication, 2017).
    """
    x = axes.moved(axes.input(lhs), "gbcs", "gcbs"), "gcbs"
    kernel = axes.kernel(rhs, "gwnc"), "gwnc"
    out = axes.product(kernel, x, runs=("wn", "bs"), inner="c")
    out = axes.moved(out, "gwnbs", "wgnbs")
    n_window, rest = len(axes.sizes["w"]), axes.shape("gnb")
    total: Value | None = None
    for place in product(*map(range, axes.sizes["w"])):
        one = [(p, p + 1, 1) for p in place]
        part = _cut(out, [*one, *[(0, n, 1) for n in rest], *_shifted(axes, place)])
        part = _reshape(part, get_aval(part).shape[n_window:])
        total = part if total is None else add(total, part)
    assert total is not None
    return axes.arrange(total, "gnbo")


def _by_places(axes: _Axes, lhs: Value, rhs: Value) -> Value:
    """Return the sum over the window of input times kernel: one feature per group."""
    x = _reshape(axes.input(lhs), axes.shape("gbs"))
    kernel = _reshape(axes.kernel(rhs, "gncw"), axes.shape("gnw"))
    shape = axes.shape("gnbo")
    rest, outer = axes.shape("gb"), axes.shape("gn")
    groups = tuple(range(len(axes.sizes["g"])))
    n_outer = len(outer)
    total: Value | None = None
    for place in product(*map(range, axes.sizes["w"])):
        part = _cut(x, [*[(0, n, 1) for n in rest], *_shifted(axes, place)])
        weight = _cut(kernel, [*[(0, n, 1) for n in outer], *[(p, p + 1, 1) for p in place]])
        part = ops.broadcast_in_dim(part, shape, (*groups, *range(n_outer, len(shape))))
        weight = ops.broadcast_in_dim(_reshape(weight, outer), shape, tuple(range(n_outer)))
        term = mul(part, weight)
        total = term if total is None else add(total, term)
    assert total is not None
    return axes.arrange(total, "gnbo")


def _shifted(axes: _Axes, place: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return which positions meet one place of the window, along each spatial axis."""
    how = axes.how
    rows = zip(place, how.hole, how.strides, axes.sizes["o"], strict=True)
    return [(p * hole, p * hole + (n - 1) * step + 1, step) for p, hole, step, n in rows]


def _cut(x: Value, parts: Sequence[tuple[int, int, int]]) -> Value:
    starts, limits, steps = zip(*parts, strict=True)
    return slice_of(x, starts, limits, steps if any(s > 1 for s in steps) else None)


# --- inputs with holes ---


def _phases(lhs: Value, rhs: Value, how: Convolution) -> Value:
    """Return the convolution of an input that has ``base - 1`` zeros between its elements.

    Position ``base * q + r`` of the result meets the elements ``w0 + base * j`` of the kernel, for
    the one ``w0`` below ``base`` that brings them onto elements of the input.
    """
    spatial_axes = how.specs[2][2:]
    sizes = how.out_sizes(lhs, rhs)
    counts = [-(-n // base) for n, base in zip(sizes, how.base, strict=True)]
    parts = [_phase(lhs, rhs, how, phase, counts) for phase in product(*map(range, how.base))]
    shape = get_aval(parts[0]).shape
    out = concatenate([_reshape(p, (1, *shape)) for p in parts], 0)
    out = _reshape(out, (*how.base, *shape))
    n = len(how.base)
    perm: list[int] = []
    wide = list(shape)
    for axis in range(len(shape)):
        perm.append(n + axis)
        if axis in spatial_axes:
            k = spatial_axes.index(axis)
            perm.append(k)
            wide[axis] *= how.base[k]
    out = _reshape(transpose(out, tuple(perm)), wide)
    limits = list(wide)
    for axis, size in zip(spatial_axes, sizes, strict=True):
        limits[axis] = size
    return slice_of(out, (0,) * len(limits), tuple(limits), None) if limits != wide else out


def _phase(
    lhs: Value, rhs: Value, how: Convolution, phase: Sequence[int], counts: list[int]
) -> Value:
    lhs_spec, rhs_spec, _ = how.specs
    shape = get_aval(rhs).shape
    starts, steps, pads = [0] * len(shape), [1] * len(shape), []
    rows = zip(lhs_spec[2:], rhs_spec[2:], phase, counts, how.padding, how.base, strict=True)
    for a, b, r, count, (low, _), base in rows:
        first = (low - r) % base
        taps = max(-(-(shape[b] - first) // base), 0)
        starts[b], steps[b] = min(first, shape[b]), base
        before = (low - r - first) // base
        pads.append((before, count + max(taps, 1) - 1 - get_aval(lhs).shape[a] - before))
        if not taps:
            return _zeros(lhs, rhs, how, counts)
    part = slice_of(rhs, tuple(starts), shape, tuple(steps))
    ones = (1,) * len(counts)
    return convolve(lhs, part, how._replace(padding=tuple(pads), base=ones))


def _zeros(lhs: Value, rhs: Value, how: Convolution, counts: list[int]) -> Value:
    lhs_spec, rhs_spec, out_spec = how.specs
    sizes = get_aval(lhs).shape[lhs_spec[0]] // how.batch_groups, get_aval(rhs).shape[rhs_spec[0]]
    shape = [0] * len(out_spec)
    for axis, n in zip(out_spec, (*sizes, *counts), strict=True):
        shape[axis] = n
    zero = scalar_like(get_aval(lhs).strip_weak_type(), 0)
    if how.dtype is not None:
        zero = ops.convert_element_type(zero, how.dtype)
    return ops.broadcast_in_dim(zero, tuple(shape), ())
