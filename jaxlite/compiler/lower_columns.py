"""Reductions over leading axes. In: ``Nest``. Out: ``Draft`` of a kernel.

The last axis is kept, and long: a block of accumulators lies in memory (in the L1 cache, in fact),
and vector loops along the last axis add one row after another to it.
"""

from __future__ import annotations

import math

from jaxlite.compiler.index import Form, Normaliser
from jaxlite.compiler.lower_nest import PARALLEL_MIN, Draft, Nest, StoreSpec
from jaxlite.compiler.pull import combine, linear
from jaxlite.compiler.schedule import LoopSpec, around, schedule
from jaxlite.compiler.sweeps import Accumulator, Sweeps
from jaxlite.kernel_ir import nodes as ir

#: Kept elements per block of accumulators: they stay in the L1 cache.
COLUMN_BLOCK = 512
#: Rows that are added to the accumulators at a time.
ROWS = 4


class Columns(Sweeps):
    """The last axis is kept: rows are added to a block of accumulators in memory."""

    def __init__(self, nest: Nest) -> None:
        group = nest.group
        self.kept_axes = [a for a in range(len(group.domain)) if a not in group.axes]
        kept_shape = [group.domain[a] for a in self.kept_axes]
        self.at = linear(tuple([nest.index[a] for a in self.kept_axes]), kept_shape)
        self.size = math.prod(kept_shape)
        super().__init__(nest)

    def final_value(self, acc: Accumulator) -> ir.Expr:
        """Return a load of the accumulator; the output itself serves if it has the right type."""
        (var,) = acc.eqn.outvars
        out = self.nest.outs.get(var)
        is_result = not hasattr(acc.eqn.primitive, "select_max")
        if out is not None and out.dtype == acc.wide and is_result:
            acc.buffer = out.name
        else:
            acc.buffer = self.nest.temp_param("acc", acc.wide, self.size).name
        acc.at = self.at
        return ir.load(acc.buffer, self.at, acc.wide)

    def draft(self) -> Draft:
        """Return the kernel."""
        nest, group = self.nest, self.nest.group
        *outer_axes, column = self.kept_axes
        outer = [(nest.index[a], group.domain[a]) for a in outer_axes]
        inner = [(nest.index[a], group.domain[a]) for a in group.axes]
        n_columns = group.domain[column]
        numbers = [(a.sweep, a) for a in self.accumulators]
        full = [(self.sweep(s.value), s) for s in self.stores if s.is_full]
        n_sweeps = self.n_sweeps
        body: list[ir.Stmt] = []
        n_blocks, left_over = divmod(n_columns, COLUMN_BLOCK)
        parts = [(n_blocks, COLUMN_BLOCK, 0), (1, left_over, n_blocks * COLUMN_BLOCK)]
        for blocks, width, start in parts:
            if not blocks or not width:
                continue
            block = ir.index("b")
            moved = Form({nest.index[column]: 1}, start)
            if blocks > 1:
                moved = moved.plus(Form({block: COLUMN_BLOCK}, 0))
            ranges = {i: (0, n - 1) for i, n in outer}
            ranges |= {block: (0, blocks - 1)} | {i: (0, n - 1) for i, n in inner}
            ranges[nest.index[column]] = (0, width - 1)
            normaliser = Normaliser(ranges, {nest.index[column]: moved})
            columns = LoopSpec(nest.index[column], width, "vector")
            rows = [LoopSpec(i, n) for i, n in inner]
            part: list[ir.Stmt] = []
            for number in range(n_sweeps):
                accs = [a for n, a in numbers if n == number]
                stores = [s for n, s in full if n == number]
                part += self._sweep(accs, stores, normaliser, rows, columns)
            finals = [
                ir.Store(s.buffer, normaliser.rewrite(s.at), normaliser.rewrite(s.value))
                for s in self.stores
                if not s.is_full and not self._is_accumulator(s)
            ]
            if finals:
                part += schedule([columns], finals, nest.scope.inner())
            around_blocks = [LoopSpec(i, n) for i, n in outer]
            if blocks > 1:
                around_blocks.append(LoopSpec(block, blocks))
            for loop in around_blocks:
                loop.kind = "parallel"
            body += around(around_blocks, part)
        return nest.draft(body)

    def _is_accumulator(self, s: StoreSpec) -> bool:
        """Say whether the value is where it belongs already."""
        return s.value.kind == "load" and s.value.attrs[0] == s.buffer

    def _sweep(
        self,
        accs: list[Accumulator],
        stores: list[StoreSpec],
        normaliser: Normaliser,
        rows: list[LoopSpec],
        columns: LoopSpec,
    ) -> list[ir.Stmt]:
        """Return one pass over the reduced axes for a block of columns."""
        scope = self.nest.scope.inner()
        at = normaliser.rewrite(self.at)
        inits: list[ir.Stmt] = [ir.Store(a.buffer, at, a.init) for a in accs]
        statements: list[ir.Stmt] = []
        for a in accs:
            so_far = ir.load(a.buffer, at, a.wide)
            value = combine(a.combiner, so_far, normaliser.rewrite(a.element))
            statements.append(ir.Store(a.buffer, at, value))
        statements += [
            ir.Store(s.buffer, normaliser.rewrite(s.at), normaliser.rewrite(s.value))
            for s in stores
        ]
        out: list[ir.Stmt] = []
        if inits:
            out += schedule([columns], inits, scope.inner())
        if stores or not self.is_worth_unrolling(accs, rows[-1]):
            return out + schedule([*rows, columns], statements, scope.inner())
        return out + self._several_rows(accs, normaliser, rows, columns)

    def is_worth_unrolling(self, accs: list[Accumulator], row: LoopSpec) -> bool:
        """Say whether adding several rows at a time pays: long columns of cheap elements."""
        if row.extent < 2 * ROWS or math.prod(self.nest.group.domain) < PARALLEL_MIN:
            return False
        return sum(1 for a in accs for _ in ir.walk(a.element)) <= 40

    def _several_rows(
        self,
        accs: list[Accumulator],
        normaliser: Normaliser,
        rows: list[LoopSpec],
        columns: LoopSpec,
    ) -> list[ir.Stmt]:
        """Return a sweep that reads and writes the accumulators once for every few rows."""
        *outer, row = rows
        out: list[ir.Stmt] = []
        whole = row.extent - row.extent % ROWS
        for start, n_rows, count in ((0, whole // ROWS, ROWS), (whole, row.extent - whole, 1)):
            if not n_rows:
                continue
            ranges = {**normaliser.ranges, row.index: (0, n_rows - 1)}
            at = normaliser.rewrite(self.at)
            values = {a.name: ir.load(a.buffer, at, a.wide) for a in accs}
            for k in range(count):
                place = Form({row.index: count}, start + k)
                moved = Normaliser(ranges, {**normaliser.substitute, row.index: place})
                for a in accs:
                    values[a.name] = combine(a.combiner, values[a.name], moved.rewrite(a.element))
            stores = [ir.Store(a.buffer, at, values[a.name]) for a in accs]
            nest = [*outer, LoopSpec(row.index, n_rows), columns]
            out += schedule(nest, stores, self.nest.scope.inner())
        return out
