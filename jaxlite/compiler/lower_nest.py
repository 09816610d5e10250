"""Groups of kind loop become loop nests. In: ``Group``. Out: ``Draft`` of a kernel.

Every element of the domain is visited once per sweep. A kernel without reductions has one sweep;
the sweeps of reductions are in ``lower_reduce``. Comparisons with an index (pads, concatenates) are
decided by cutting the domain into pieces; adjacent axes that every access runs through in one go
become one loop, so an elementwise kernel on ``[4096,1024]`` is one flat vector loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np

from jaxlite.compiler.access import is_pointwise
from jaxlite.compiler.index import Form, Normaliser, Range, Renamer, collapsible
from jaxlite.compiler.plan import Group
from jaxlite.compiler.pull import Index, Puller, linear
from jaxlite.compiler.schedule import LoopSpec, Scope, schedule
from jaxlite.compiler.tile import crossing_axis, tiled
from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import JaxprEqn, Var

AXIS_NAMES = "ijklmnpqrsuvwxyz"
#: Smallest number of visited elements for which iterations are offered to several threads.
PARALLEL_MIN = 1 << 15
#: At most this many pieces when comparisons with an index are decided by cutting the domain.
MAX_PIECES = 30


@dataclass(slots=True)
class Temp:
    """Memory that a kernel needs for itself."""

    dtype: np.dtype[Any]
    size: int


@dataclass(slots=True)
class Draft:
    """A kernel's body and what its parameters stand for: a var, or a temp of its own."""

    params: list[tuple[ir.Param, Var | Temp]]
    body: list[ir.Stmt]


@dataclass(slots=True)
class StoreSpec:
    """One stored value; ``is_full``: at every element of the domain, else once per kept element."""

    buffer: str
    at: ir.Expr
    value: ir.Expr
    is_full: bool

    @property
    def statement(self) -> ir.Store:
        """The store."""
        return ir.Store(self.buffer, self.at, self.value)


@dataclass(slots=True)
class Nest:
    """The state of lowering one group; ``index[a]`` is the place along axis ``a`` of the domain."""

    group: Group
    puller: Puller
    index: list[ir.Expr]
    outs: dict[Var, ir.Param] = field(default_factory=dict)
    temps: list[tuple[ir.Param, Temp]] = field(default_factory=list)
    scope: Scope = field(default_factory=Scope)

    @classmethod
    def of(cls, group: Group) -> Nest:
        """Start a nest with one loop per axis of the domain."""
        producers = {v: e for e in group.eqns for v in e.outvars}
        names = AXIS_NAMES if len(group.domain) <= len(AXIS_NAMES) else [f"i{a}" for a in range(99)]
        index = [ir.index(names[a]) for a in range(len(group.domain))]
        nest = cls(group, Puller(producers), index)
        for var in group.outs:
            nest.out_param(var)
        return nest

    def out_param(self, var: Var) -> ir.Param:
        """Return the parameter ``var`` is stored to."""
        param = self.outs.get(var)
        if param is None:
            dtype = dtypes.storage_dtype(var.aval.dtype)
            param = ir.Param(f"out{len(self.outs)}", dtype, var.aval.size, is_output=True)
            self.outs[var] = param
        return param

    def temp_param(self, prefix: str, dtype: np.dtype[Any], size: int) -> ir.Param:
        """Return a parameter for memory of the kernel's own."""
        param = ir.Param(f"{prefix}{len(self.temps)}", dtype, size, is_output=True)
        self.temps.append((param, Temp(dtype, size)))
        return param

    def visit(self, eqn: JaxprEqn) -> None:
        """Make the expressions of an inlined equation's result; later equations find them.

        Without it the pull rules of a long chain would call each other to the depth of the chain.
        """
        (var,) = eqn.outvars
        for place in self.group.places.get(var, ()):
            self.puller.element(var, spread([self.index[a] for a in place], var.aval.shape))

    def store_of(self, var: Var) -> StoreSpec:
        """Return the store of ``var`` at the current index."""
        access = self.group.accesses[var]
        index = spread([self.index[a] for a in access], var.aval.shape)
        at = linear(index, var.aval.shape)
        is_full = len(access) == len(self.group.domain)
        return StoreSpec(self.outs[var].name, at, self.puller.element(var, index), is_full)

    def draft(self, body: Sequence[ir.Stmt]) -> Draft:
        """Return the kernel with this body."""
        params: list[tuple[ir.Param, Var | Temp]] = [(p, v) for v, p in self.puller.params.items()]
        params += [(p, v) for v, p in self.outs.items()]
        params += self.temps
        return Draft(params, list(body))


def spread(indices: Sequence[ir.Expr], shape: Sequence[int]) -> Index:
    """Return an index for ``shape``: the given ones along its axes of size other than 1, else 0."""
    rest = iter(indices)
    return tuple([ir.i64(0) if n == 1 else next(rest) for n in shape])


def lower_loop(group: Group) -> Draft:
    """Return the kernel of a group without reductions."""
    if _is_flat(group):
        return _flat_loop(group)
    nest = Nest.of(group)
    for eqn in group.eqns:
        nest.visit(eqn)
    stores = [nest.store_of(v) for v in group.outs]
    loops = list(zip(nest.index, group.domain, strict=True))
    ranges = {i: (0, n - 1) for i, n in loops}
    whole = Normaliser(ranges)
    for s in stores:
        whole.rewrite(s.value)
        whole.rewrite(s.at)
    pieces = cut(whole, loops)
    body: list[ir.Stmt] = []
    for piece in pieces:
        normaliser = whole if len(pieces) == 1 else piece_normaliser(loops, piece)
        body += _piece(nest, normaliser, stores, piece)
    return nest.draft(body)


def _is_flat(group: Group) -> bool:
    """Say whether every value is read where the results are stored (or is a single element)."""
    return all(len(group.accesses[v]) == len(group.domain) for v in group.outs) and all(
        is_pointwise(e) for e in group.eqns
    )


def _flat_loop(group: Group) -> Draft:
    nest = Nest.of(group)
    i = ir.index("i")
    # Pointwise rules hand the index through without looking at it, so its length does not matter.
    nest.puller.flat = flat = (i,)
    size = math.prod(group.domain)
    for eqn in group.eqns:
        for place in group.places.get(eqn.outvars[0], ()):
            nest.puller.element(eqn.outvars[0], flat if place else ())
    stores: list[ir.Stmt] = []
    for var in group.outs:
        here = flat if group.domain else ()
        at = i if group.domain else ir.i64(0)
        stores.append(ir.Store(nest.outs[var].name, at, nest.puller.element(var, here)))
    loops = [LoopSpec(i, size, "vector")] if group.domain else []
    return nest.draft(schedule(loops, stores, nest.scope))


Piece = tuple[Range, ...]


def cut(normaliser: Normaliser, loops: Sequence[tuple[ir.Expr, int]]) -> list[Piece]:
    """Return the parts of the domain in which the comparisons met by the normaliser are decided."""
    per_axis: list[list[Range]] = []
    total = 1
    for i, n in reversed(loops):  # the innermost loop gains most
        points = sorted(p for p in normaliser.splits.get(i, ()) if 0 < p < n)
        if total * (len(points) + 1) > MAX_PIECES:
            points = []
        bounds = [0, *points, n]
        per_axis.append([(a, b - 1) for a, b in pairwise(bounds)])
        total *= len(points) + 1
    return list(product(*reversed(per_axis)))


def piece_normaliser(loops: Sequence[tuple[ir.Expr, int]], piece: Piece) -> Normaliser:
    """Return a normaliser for one part of the domain, whose loops start at 0."""
    ranges = {i: (0, high - low) for (i, _), (low, high) in zip(loops, piece, strict=True)}
    substitute = {}
    for (i, _), (low, high) in zip(loops, piece, strict=True):
        substitute[i] = Form({i: 1} if high > low else {}, low)
    return Normaliser(ranges, substitute)


def _piece(
    nest: Nest, normaliser: Normaliser, stores: Sequence[StoreSpec], piece: Piece
) -> list[ir.Stmt]:
    """Return the loops over one part of the domain."""
    values = [(normaliser.rewrite(s.at), normaliser.rewrite(s.value)) for s in stores]
    loops = [(i, b - a + 1) for i, (a, b) in zip(nest.index, piece, strict=True) if b > a]
    groups = collapsible(normaliser, loops)
    sums = normaliser.used
    if len(groups) < len(loops):
        renamer = Renamer(normaliser, groups)
        values = [(renamer.rename(at), renamer.rename(value)) for at, value in values]
        sums = renamer.sums.used
    specs = loop_specs(groups)
    parts = [(s.buffer, at, value) for s, (at, value) in zip(stores, values, strict=True)]
    crossing = crossing_axis(parts, sums, specs)
    if crossing is not None:
        return tiled(parts, specs, crossing, nest.scope)
    if specs:
        specs[-1].kind = "vector"
    for spec in specs[:-1]:
        spec.kind = "parallel"
    return schedule(specs, [ir.Store(*part) for part in parts], nest.scope)


def loop_specs(groups: Sequence[Sequence[tuple[ir.Expr, int]]]) -> list[LoopSpec]:
    """Return one serial loop per group of collapsed axes."""
    return [LoopSpec(g[0][0], math.prod(n for _, n in g)) for g in groups]
