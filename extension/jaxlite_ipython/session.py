"""What the extension remembers of one notebook session. In: cells and runs.

Out: cached cell functions, reports.

A cell with the same text and options keeps its function, so running it again is a cache hit as long
as its inputs have the same types and the functions it uses have the same code.
"""

from __future__ import annotations

import time
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jaxlite
from jaxlite import Array
from jaxlite.diagnose.captured import (
    CapturedValue,
    Change,
    capture,
    changes,
    is_users_function,
)
from jaxlite.diagnose.difference import nearest
from jaxlite.diagnose.places import question
from jaxlite.diagnose.stale import StaleNotice
from jaxlite.errors import (
    ConcretizationTypeError,
    StaleGlobalError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    located,
)
from jaxlite.settings import override
from jaxlite_ipython.cell import CellFunction, build_cell, classify
from jaxlite_ipython.cell_files import new_file, ran
from jaxlite_ipython.cell_transforms import CellOptions
from jaxlite_ipython.kept import open_
from jaxlite_ipython.report import RunReport
from jaxlite_ipython.tracebacks import cell_frame

__all__ = ["CellRun", "CellSession", "PreparedCell"]

_MAX_CELLS = 256
#: Constants of at least this size are named in the report.
_LARGE_BYTES = 64 * 1024


class PreparedCell:
    """A cell function with its jitted form and what it relied on when it was built."""

    def __init__(
        self, cell: CellFunction, namespace: Mapping[str, Any], number: int, options: CellOptions
    ) -> None:
        self.cell = cell
        self.number = number
        self.fuse = options.fuse
        self.jitted = jaxlite.jit(
            cell.function, static_argnames=cell.static or None, max_traces=options.max_traces
        )
        self.constants = {n: namespace[n] for n in cell.constants}
        self.kinds = {n: "static" if n in cell.static else "traced" for n in cell.inputs}
        self.kinds.update(dict.fromkeys(cell.kept, "kept"))
        self.captured: tuple[CapturedValue, ...] = ()

    def capture(self) -> None:
        """Note what the functions that the cell uses read from outside (after a trace)."""
        functions = [v for v in self.constants.values() if callable(v) and is_users_function(v)]
        self.captured = tuple([c for f in functions for c in capture(f)])

    def differences(self, namespace: Mapping[str, Any], forced: frozenset[str]) -> Iterator[str]:
        """Yield what makes this function useless for the names as they are now."""
        for name, value in self.constants.items():
            now = namespace.get(name, self)
            if now is not value and not is_same_function(now, value):
                yield f"{name} is another {'function' if callable(value) else 'object'}"
        for name, kind in self.kinds.items():
            if name not in namespace:
                yield f"{name} is gone"
            elif name not in forced and classify(namespace[name]) != kind:
                yield f"{name} is {type(namespace[name]).__name__} now"

    def settings(self) -> AbstractContextManager[None]:
        """Return the context in which the cell is traced and run."""
        return nullcontext() if self.fuse == "auto" else override(fuse=self.fuse)


def is_same_function(a: Any, b: Any) -> bool:
    """Say whether two functions do the same: a ``def`` whose cell has been run again."""
    return (
        isinstance(a, types.FunctionType)
        and isinstance(b, types.FunctionType)
        and a.__code__ == b.__code__
        and a.__globals__ is b.__globals__
        and a.__closure__ is b.__closure__ is None
        and a.__defaults__ == b.__defaults__
        and a.__kwdefaults__ == b.__kwdefaults__
    )


@dataclass(eq=False)
class CellRun:
    """Result of one run: the outputs, the value of the last expression, the report, the notes.

    ``stale`` are the messages about globals that have changed (JL201, JL202); ``inputs`` the values
    of the inputs before the cell ran, ``arguments`` the same as the cell's function takes them.
    """

    outputs: dict[str, Any]
    value: Any
    report: RunReport
    prepared: PreparedCell
    notes: list[str] = field(default_factory=list)
    stale: list[StaleNotice] = field(default_factory=list)
    arguments: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)


class CellSession:
    """All ``%%jit`` cells of one shell."""

    def __init__(self) -> None:
        self._cells: OrderedDict[Any, PreparedCell] = OrderedDict()
        self._promoted: dict[Any, frozenset[str]] = {}
        self._count = 0

    def cells(self) -> list[PreparedCell]:
        """Return the cells that are remembered, oldest first."""
        return list(self._cells.values())

    def prepare(
        self, source: str, options: CellOptions, namespace: Mapping[str, Any], number: int
    ) -> tuple[PreparedCell, list[str]]:
        """Return the function of a cell, from the cache if it still fits, and why it did not."""
        key = (source, options)
        found = self._cells.get(key)
        promoted = self._promoted.get(key, frozenset())
        why: list[str] = []
        if found is not None:
            why = list(found.differences(namespace, promoted | frozenset(options.static)))
            if not why:
                self._cells.move_to_end(key)
                return found, why
        return self._build(key, source, options, namespace, promoted, number), why

    def _build(
        self,
        key: Any,
        source: str,
        options: CellOptions,
        namespace: Mapping[str, Any],
        promoted: frozenset[str],
        number: int,
    ) -> PreparedCell:
        self._count += 1
        filename = new_file(number or self._count)
        static = (*options.static, *sorted(promoted))
        wanted = CellOptions(**{**vars(options), "static": static})
        cell = build_cell(source, namespace, filename, wanted)
        prepared = self._cells[key] = PreparedCell(cell, namespace, number or self._count, options)
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
        before: Callable[[PreparedCell], None] | None = None,
        number: int = 0,
        cell_of: Callable[[str], int | None] = lambda path: None,
    ) -> CellRun:
        """Run a cell, as cell ``number``, and return what it computed; assigns nothing.

        ``cell_of`` says which cell has changed a name; ``before`` is called with a cell that has
        not been run in this form.
        """
        notes: list[str] = []
        key = (source, options)
        while True:
            prepared, why = self.prepare(source, options, namespace, number)
            told = _check_captured(prepared, stale, cell_of)
            if told and stale == "retrace":
                self._cells.pop(key)
                why = [f"{n.change.value.path} has changed" for n in told]
                promoted = self._promoted.get(key, frozenset())
                prepared = self._build(key, source, options, namespace, promoted, number)
            prepared.number = number or prepared.number
            ran(prepared.number, prepared.cell.filename)
            if before is not None and not prepared.jitted.entries:
                before(prepared)
            try:
                run = self._run_prepared(prepared, namespace, dry, why)
            except TypeError as error:  # a traced number where Python needs its value
                names = self._promotable(error, prepared, namespace)
                if not names:
                    raise
                self._promoted[key] = self._promoted.get(key, frozenset()) | names
                self._cells.pop(key, None)
                notes += _promotion_notes(error, names)
                continue
            run.notes = [*notes, *run.notes]
            run.stale = told
            return run

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
        self,
        prepared: PreparedCell,
        namespace: Mapping[str, Any],
        dry: bool,
        why: list[str],
    ) -> CellRun:
        cell, jitted = prepared.cell, prepared.jitted
        arguments = cell.arguments(namespace)
        before = jitted.entries
        outputs: dict[str, Any] = {}
        value, seconds, compilation, entry = None, 0.0, None, None
        with prepared.settings():
            if dry:
                compilation = jitted.lower(*arguments).compilation
                entry = jitted.entries[-1]
            else:
                start = time.perf_counter()
                outputs, value = jitted(*arguments)
                seconds = time.perf_counter() - start
        report = self._report(prepared, before, seconds, compilation, entry, why)
        for name, v in outputs.items():
            if not isinstance(v, Array):
                outputs[name] = open_(v)
        notes: list[str] = []
        if len(jitted.entries) != len(before):
            prepared.capture()
            notes = _constant_notes(prepared, jitted.entries[-1])
        shown = open_(value) if cell.has_value else None
        run = CellRun(outputs, shown, report, prepared, notes)
        run.arguments, run.inputs = arguments, [namespace[n] for n in cell.inputs]
        return run

    def _report(
        self,
        prepared: PreparedCell,
        before: tuple[Any, ...],
        seconds: float,
        compilation: Any,
        entry: Any,
        why: Sequence[str],
    ) -> RunReport:
        cell, entries = prepared.cell, prepared.jitted.entries
        n_in, n_out = len(cell.inputs), len(cell.outputs)
        if len(entries) == len(before) and entry is None:
            return RunReport("cached", n_in, n_out, 0, 0, 0.0, 0.0, seconds)
        is_dry = entry is not None
        entry = entry or entries[-1]
        compilation = compilation or entry.compilation
        found = nearest(entry.key, entries) if before else None
        spent = entry.trace_s + entry.compile_s
        status = "again" if found or why else "first"
        return RunReport(
            "dry" if is_dry else status,
            n_in,
            n_out,
            compilation.n_operations,
            compilation.n_kernels,
            entry.trace_s,
            entry.compile_s,
            max(seconds - spent, 0.0),
            tuple(map(str, found[1])) if found else tuple(why),
            question(prepared.jitted) if found else "",
        )


def _check_captured(
    prepared: PreparedCell, policy: str, cell_of: Callable[[str], int | None]
) -> list[StaleNotice]:
    """Return what has changed of the globals that the cell's functions read."""
    found: list[Change] = changes(prepared.captured) if prepared.captured else []
    if not found:
        return []
    code = {"retrace": "JL201", "warn": "JL202", "error": "JL203"}[policy]
    notices = [StaleNotice(code, f"the cell (through {c.value.function})", c) for c in found]
    if policy == "error":
        text = notices[0].text(cell_of(notices[0].change.value.path))
        raise located(StaleGlobalError(text.removeprefix(f"{code} ")), code)
    return notices


def _promotion_notes(error: Exception, names: frozenset[str]) -> list[str]:
    use = "Python needs its value"
    match error:
        case TracerBoolConversionError():
            use = "used in if, while, and, or"
        case TracerIntegerConversionError():
            use = "used as a shape, range or index"
        case ConcretizationTypeError():
            use = "used as a number"
    tb = cell_frame(error)
    where = f", line {tb.tb_lineno}" if tb is not None else ""
    return [f"{n} is static here ({use}{where}): a new {n} compiles again" for n in sorted(names)]


def _constant_notes(prepared: PreparedCell, entry: Any) -> list[str]:
    """Return a line for each large array that the compiled cell holds as a constant."""
    lines = []
    for const in entry.traced.consts:
        n = int(getattr(const, "nbytes", 0))
        if n >= _LARGE_BYTES:
            found = [c.path for c in prepared.captured if _is_source(c.current(), const)]
            name = found[0] if found else "an array made in the cell"
            lines.append(f"holds {name} ({n / 1024:.1f} KiB) as a constant")
    return lines


def _is_source(value: Any, const: Any) -> bool:
    """Say whether a constant of compiled code is a captured array, or was made from one."""
    if value is const:
        return True
    if not isinstance(value, np.ndarray) or value.shape != const.shape:
        return False
    return bool(np.array_equal(value.astype(const.dtype, copy=False), np.asarray(const)))
