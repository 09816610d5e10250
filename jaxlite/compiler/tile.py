"""Loops in tiles, for accesses that cross. In: loops and stores. Out: statements.

``y[i, j] = x[j, i]``: whichever loop is inside, one side strides through memory and uses one
element of each cache line it touches. In tiles of 16 x 16 the lines of a tile are all used while
they are in cache. What 16 does not divide is left to loops over the edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from jaxlite.compiler.index import Form, Normaliser
from jaxlite.compiler.schedule import LoopSpec, Scope, schedule
from jaxlite.kernel_ir import nodes as ir

#: Elements along each side: a cache line of 4-byte elements, a vector of 512 bits.
TILE = 16
#: Smallest number of elements for which tiles are worth their loops.
TILED_MIN = 1 << 15

Store = tuple[str, ir.Expr, ir.Expr]  # buffer, position, value


def crossing_axis(
    stores: Sequence[Store], sums: Mapping[ir.Expr, Form], loops: Sequence[LoopSpec]
) -> int | None:
    """Return the outer loop along which a load that strides in the inner one is contiguous."""
    if len(loops) < 2 or loops[-1].extent < 2 * TILE:
        return None
    total = 1
    for loop in loops:
        total *= loop.extent
    if total < TILED_MIN:
        return None
    inner = loops[-1].index
    seen: set[ir.Expr] = set()
    for _, _, value in stores:
        for e in ir.walk(value):
            if e.kind != "load" or e in seen:
                continue
            seen.add(e)
            form = sums.get(e.args[0])
            if form is None or form.terms.get(inner, 0) in (0, 1):
                continue
            for number, loop in enumerate(loops[:-1]):
                if form.terms.get(loop.index) == 1 and loop.extent >= 2 * TILE:
                    return number
    return None


def tiled(
    stores: Sequence[Store], loops: Sequence[LoopSpec], crossing: int, scope: Scope
) -> list[ir.Stmt]:
    """Return the loops over tiles of the innermost and the crossing axis, and over the edges."""
    a, b = loops[crossing], loops[-1]
    others = [loop for n, loop in enumerate(loops[:-1]) if n != crossing]
    body: list[ir.Stmt] = []
    for part_a, part_b in product(_parts(a, "tile_a"), _parts(b, "tile_b")):
        nest = [LoopSpec(loop.index, loop.extent) for loop in others]
        nest += [loop for part in (part_a, part_b) for loop in part.tiles]
        nest += [part_a.inside, part_b.inside]
        ranges = {loop.index: (0, loop.extent - 1) for loop in nest}
        normaliser = Normaliser(ranges, {a.index: part_a.form, b.index: part_b.form})
        statements = [
            ir.Store(buffer, normaliser.rewrite(at), normaliser.rewrite(value))
            for buffer, at, value in stores
        ]
        nest[-1].kind = "vector"
        for loop in nest[:-1]:
            loop.kind = "parallel"
        body += schedule(nest, statements, scope)
    return body


class _Part:
    """One part of an axis: whole tiles, or what is left."""

    def __init__(self, loop: LoopSpec, start: int, extent: int, tile: ir.Expr | None) -> None:
        self.form = Form({loop.index: 1}, start)
        self.tiles: list[LoopSpec] = []
        if tile is None:
            self.inside = LoopSpec(loop.index, extent)
        else:
            self.inside = LoopSpec(loop.index, TILE)
            self.tiles.append(LoopSpec(tile, extent // TILE))
            self.form = self.form.plus(Form({tile: TILE}, 0))


def _parts(loop: LoopSpec, tile: str) -> list[_Part]:
    whole = loop.extent - loop.extent % TILE
    parts = [_Part(loop, 0, whole, ir.index(tile))]
    if whole < loop.extent:
        parts.append(_Part(loop, whole, loop.extent - whole, None))
    return parts
