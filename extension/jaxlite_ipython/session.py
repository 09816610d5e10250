"""What the extension remembers of one notebook session. In: cells and runs.

Out: cached cell functions, reports.

A cell with the same text and options keeps its function, so running it again is a cache hit as long
as its inputs have the same types and the functions it uses are the same objects.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping
from typing import Any

import jaxlite
from jaxlite.diagnose.difference import nearest
from jaxlite_ipython.cell import CellFunction, CellOptions, build_cell, classify
from jaxlite_ipython.report import RunReport

__all__ = ["CellRun", "CellSession"]

_MAX_CELLS = 256


class PreparedCell:
    """A cell function with its jitted form and what it relied on when it was built."""

    def __init__(
        self, cell: CellFunction, namespace: Mapping[str, Any], number: int, stale: str
    ) -> None:
        self.cell = cell
        self.number = number
        self.jitted = jaxlite.jit(cell.function, static_argnames=cell.static or None)
        self.constants = {n: namespace[n] for n in cell.constants}
        self.kinds = {n: n in cell.static for n in cell.inputs}
        self.stale = stale

    def is_valid(self, namespace: Mapping[str, Any], promoted: frozenset[str]) -> bool:
        """Say whether the names it reads still hold the kinds of values it was built for."""
        for name, value in self.constants.items():
            if namespace.get(name, self) is not value:
                return False
        for name, is_static in self.kinds.items():
            if name not in namespace:
                return False
            kind = classify(namespace[name])
            if name in promoted:
                continue
            if kind != ("static" if is_static else "traced") and not (
                is_static and kind == "constant"
            ):
                return False
        return True


class CellRun:
    """Result of one run: the outputs, the value of the last expression, the report, the notes."""

    def __init__(
        self,
        outputs: dict[str, Any],
        value: Any,
        report: RunReport,
        prepared: PreparedCell,
        notes: list[str],
    ) -> None:
        self.outputs, self.value, self.report, self.prepared, self.notes = (
            outputs,
            value,
            report,
            prepared,
            notes,
        )


class CellSession:
    """All ``%%jit`` cells of one shell."""

    def __init__(self) -> None:
        self._cells: OrderedDict[Any, PreparedCell] = OrderedDict()
        self._promoted: dict[Any, frozenset[str]] = {}
        self._count = 0
        self.last: CellRun | None = None

    def prepare(
        self, source: str, options: CellOptions, namespace: Mapping[str, Any], stale: str
    ) -> PreparedCell:
        """Return the function of a cell, from the cache if it still fits."""
        key = (source, options)
        found = self._cells.get(key)
        promoted = self._promoted.get(key, frozenset())
        if found is not None and found.is_valid(namespace, promoted | frozenset(options.static)):
            self._cells.move_to_end(key)
            return found
        self._count += 1
        filename = f"<jit cell {self._count}>"
        wanted = CellOptions(options.inputs, options.outputs, (*options.static, *sorted(promoted)))
        cell = build_cell(source, namespace, filename, wanted)
        prepared = PreparedCell(cell, namespace, self._count, stale)
        self._cells[key] = prepared
        if len(self._cells) > _MAX_CELLS:
            self._cells.popitem(last=False)
        return prepared

    def run(
        self,
        source: str,
        options: CellOptions,
        namespace: MutableMapping[str, Any],
        *,
        dry: bool = False,
        stale: str = "retrace",
    ) -> CellRun:
        """Run a cell and return what it computed; assigns nothing."""
        notes: list[str] = []
        while True:
            prepared = self.prepare(source, options, namespace, stale)
            try:
                return self._run_prepared(prepared, namespace, dry, notes)
            except TypeError as error:  # a traced number where Python needs its value
                names = self._promotable(error, prepared, namespace)
                if not names:
                    raise
                key = (source, options)
                self._promoted[key] = self._promoted.get(key, frozenset()) | names
                self._cells.pop(key, None)
                notes += [
                    f"{n} is static here (Python needs its value): a new {n} compiles again"
                    for n in sorted(names)
                ]

    def _promotable(
        self, error: Exception, prepared: PreparedCell, namespace: Mapping[str, Any]
    ) -> frozenset[str]:
        """Return the Python numbers that the failed conversion depends on."""
        depends = getattr(error, "depends_on", ())
        return frozenset(
            n
            for n in depends
            if n in prepared.cell.inputs
            and n not in prepared.cell.static
            and isinstance(namespace.get(n), int | float)
        )

    def _run_prepared(
        self, prepared: PreparedCell, namespace: Mapping[str, Any], dry: bool, notes: list[str]
    ) -> CellRun:
        cell, jitted = prepared.cell, prepared.jitted
        arguments = cell.arguments(namespace)
        before = jitted.entries
        if dry:
            lowered = jitted.lower(*arguments)
            entry = jitted.entries[-1]
            outputs: dict[str, Any] = {}
            value, seconds = None, 0.0
            compilation = lowered.compilation
        else:
            start = time.perf_counter()
            outputs, value = jitted(*arguments)
            seconds = time.perf_counter() - start
            compilation = None
            entry = None
        report = self._report(prepared, before, seconds, compilation, entry)
        run = CellRun(outputs, value if cell.has_value else None, report, prepared, notes)
        self.last = run
        return run

    def _report(
        self,
        prepared: PreparedCell,
        before: tuple[Any, ...],
        seconds: float,
        compilation: Any,
        entry: Any,
    ) -> RunReport:
        cell, entries = prepared.cell, prepared.jitted.entries
        n_in, n_out = len(cell.inputs), len(cell.outputs)
        if len(entries) == len(before) and entry is None:
            return RunReport("cached", n_in, n_out, 0, 0, 0.0, 0.0, seconds)
        entry = entry or entries[-1]
        compilation = compilation or entry.compilation
        found = nearest(entry.key, entries) if before else None
        spent = entry.trace_s + entry.compile_s
        return RunReport(
            "again" if found else "first",
            n_in,
            n_out,
            compilation.n_operations,
            compilation.n_kernels,
            entry.trace_s,
            entry.compile_s,
            max(seconds - spent, 0.0),
            tuple(found[1]) if found else (),
        )
