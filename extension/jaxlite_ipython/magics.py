"""``%%jit``, ``%jit`` and ``%jaxlite``. In: a cell.

Out: assigned names, one line of report, views if asked for.
"""

from __future__ import annotations

import inspect
import re
import statistics
import sys
import time
from collections.abc import Iterable, MutableMapping
from typing import Any

from IPython.core.error import UsageError
from IPython.core.inputtransformer2 import leading_indent
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_magic,
    magics_class,
    output_can_be_silenced,
)

import jaxlite
from jaxlite.diagnose.lint import lint_jit_cell
from jaxlite.diagnose.machine import machine
from jaxlite_ipython.cell_transforms import CellOptions
from jaxlite_ipython.cell_views import show_views
from jaxlite_ipython.check_grad import check_gradients
from jaxlite_ipython.kept import open_
from jaxlite_ipython.notices import Notices
from jaxlite_ipython.options import parse_jit_line, parser
from jaxlite_ipython.progress_lines import ProgressLines
from jaxlite_ipython.report import dot, milliseconds
from jaxlite_ipython.session import CellRun, CellSession, PreparedCell

__all__ = ["JaxliteMagics"]


@magics_class
class JaxliteMagics(Magics):
    """The magics of one shell."""

    shell: Any

    def __init__(
        self, shell: Any, session: CellSession, notices: Notices, progress: ProgressLines
    ) -> None:
        super().__init__(shell)
        self.session = session
        self.notices = notices
        self.progress = progress

    @output_can_be_silenced
    @cell_magic("jit")  # type: ignore[arg-type]
    def jit_cell(self, line: str, cell: str) -> Any:
        """Trace, fuse and compile this cell, then run it and assign its names."""
        options, names = parse_jit_line(line)
        # As IPython does in other cells.
        lines = leading_indent(cell.splitlines(keepends=True))  # type: ignore[no-untyped-call]
        cell = "".join(lines)
        return self._run(cell, options, names)

    @output_can_be_silenced
    @line_magic("jit")  # type: ignore[arg-type]
    def jit_line(self, line: str) -> Any:
        """Trace, fuse, compile and run one line: ``%jit y = tanh(x @ w)``."""
        if not line.strip():
            raise UsageError("%jit: give a line of Python, e.g. %jit y = tanh(x @ w)")
        if line.strip() in ("-h", "--help"):
            raise UsageError(parser().format_help())
        options, names = parse_jit_line("")
        return self._run(line, options, names)

    def _run(self, cell: str, options: Any, names: CellOptions) -> Any:
        namespace = self.shell.user_ns

        def before(prepared: PreparedCell) -> None:
            traced = [n for n in prepared.cell.inputs if n not in prepared.cell.static]
            self.notices.lint(lint_jit_cell(cell, namespace, traced), where=cell)

        run = self.session.run(
            cell,
            names,
            namespace,
            dry=options.dry,
            stale=options.stale,
            before=before,
            number=max(self.shell.displayhook.prompt_count, 1),
            cell_of=self.notices.cell_of,
        )
        self.notices.jit_cell_ran(run)
        if not options.dry:
            assign(namespace, run)
            if options.name:
                namespace[options.name] = cell_function(run, options.name)
            more = [options.name] if options.name else []
            self.notices.cell_assigned([*run.outputs, *run.prepared.cell.outputs, *more])
        if not options.quiet:
            self._print(run, options)
        if options.check_grad:
            print(check_gradients(run, names, namespace))
        wanted = (*options.show, *(["step"] if options.step else []))
        show_views(run.prepared, run.arguments, wanted, names, is_widget=options.explore)
        return run.value

    def _print(self, run: CellRun, options: Any) -> None:
        text = str(run.report)
        if options.time:
            text += f" {dot()} median of 20 runs {milliseconds(self._median(run))}"
        self.progress.summary(text)
        for note in run.notes:
            print(f"       {note}")

    def _median(self, run: CellRun) -> float:
        prepared, arguments = run.prepared, run.arguments
        times = []
        with prepared.settings():
            for _ in range(20):
                start = time.perf_counter()
                jaxlite.block_until_ready(prepared.jitted(*arguments))
                times.append(time.perf_counter() - start)
        return statistics.median(times)

    @line_magic
    def jaxlite(self, line: str) -> None:
        """Status and settings.

        ``%jaxlite``, ``%jaxlite ignore JL101``, ``%jaxlite tb full``, ``%jaxlite stale``,
        ``%jaxlite config NAME=VALUE``, ``%jaxlite machine``, ``%jaxlite help``.
        """
        command, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        actions = {
            "": self._status,
            "status": self._status,
            "config": self._config,
            "machine": self._machine,
            "stale": self._stale,
            "ignore": self._ignore,
            "tb": self._traceback,
            "help": self._help,
        }
        if command not in actions:
            raise UsageError(
                f"%jaxlite: unknown command {command!r}; choose from "
                f"{', '.join(k for k in actions if k)}"
            )
        actions[command](rest)

    def _status(self, _: str) -> None:
        print(
            f"jaxlite {jaxlite.__version__}, device {jaxlite.devices()[0]}, stale globals: "
            f"{jaxlite.config.stale_globals}"
        )
        ignored = ", ".join(sorted(self.notices.ignored)) or "none"
        print(f"messages ignored: {ignored}; tracebacks: {jaxlite.config.traceback}")
        print(f"%%jit cells: {len(self.session.cells())}; {self.notices.overhead()}")

    def _ignore(self, rest: str) -> None:
        codes = rest.replace(",", " ").split()
        if not codes:
            raise UsageError("%jaxlite ignore: give a code, e.g. JL101")
        unknown = [c for c in codes if not re.fullmatch(r"JL[12]\d\d|recompiles", c)]
        if unknown:
            raise UsageError(
                f"%jaxlite ignore: {unknown[0]} is no message; give a code such as JL101, or "
                "recompiles"
            )
        self.notices.ignored.update(codes)

    def _traceback(self, rest: str) -> None:
        if rest not in ("full", "user"):
            raise UsageError("%jaxlite tb: choose full or user")
        jaxlite.config.update("traceback", rest)

    def _stale(self, _: str) -> None:
        cells = [(f"cell {p.number} (%%jit)", p.captured) for p in self.session.cells()]
        print(self.notices.table(cells))

    def _config(self, rest: str) -> None:
        name, sign, value = rest.partition("=")
        name = name.strip()
        if not name:
            changed = repr(jaxlite.config).removeprefix("Config(").removesuffix(")")
            print(f"changed settings: {changed or 'none'}")
            return
        try:
            if sign:
                jaxlite.config.update(name, parsed(value.strip()))
            print(f"{name} = {jaxlite.config.read(name)!r}")
        except (AttributeError, ValueError) as error:
            raise UsageError(f"%jaxlite config: {error}") from None

    def _machine(self, _: str) -> None:
        print(machine().text())

    def _help(self, _: str) -> None:
        print(parser().format_help(), file=sys.stdout)


def parsed(text: str) -> Any:
    """Return the number or None that ``text`` is, else ``text`` itself."""
    if text == "None":
        return None
    try:
        return int(text)
    except ValueError:
        return text


def assign(namespace: MutableMapping[str, Any], run: CellRun) -> None:
    """Assign what a cell has computed: everything, or on a failing ``def`` nothing."""
    definitions = run.prepared.cell.definitions
    if definitions is None:
        namespace.update(run.outputs)
        return
    names = [*run.outputs, *run.prepared.cell.outputs]
    before = {n: namespace[n] for n in names if n in namespace}
    namespace.update(run.outputs)
    try:
        exec(definitions, namespace)  # type: ignore[arg-type]
    except BaseException:
        forget(namespace, [n for n in names if n not in before])
        namespace.update(before)
        raise


def forget(namespace: MutableMapping[str, Any], names: Iterable[str]) -> None:
    """Remove names."""
    for name in names:
        namespace.pop(name, None)


def cell_function(run: CellRun, name: str) -> Any:
    """Return ``NAME(**inputs) -> outputs`` of a cell: one value, or a dict of several."""
    prepared = run.prepared
    cell = prepared.cell
    names = cell.inputs

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{len(args)} inputs given; inputs are {', '.join(names) or 'none'}")
        given = {**dict(zip(names, args)), **kwargs}
        missing = [n for n in names if n not in given]
        if missing:
            raise TypeError(f"missing inputs: {', '.join(missing)}")
        unknown = [n for n in given if n not in names]
        if unknown:
            raise TypeError(f"unknown inputs: {', '.join(unknown)}; inputs are {', '.join(names)}")
        with prepared.settings():
            outputs, value = prepared.jitted(*cell.arguments(given))
        outputs = {n: open_(v) for n, v in outputs.items()}
        if len(outputs) == 1:
            return next(iter(outputs.values()))
        return outputs or open_(value)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__name__ = call.__qualname__ = name
    call.__module__ = "__main__"
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, kind) for n in names]
    )
    call.__doc__ = f"Inputs: {', '.join(names)}. Outputs: {', '.join(run.outputs)}."
    return call


def with_options(text: str | None) -> str:
    """Return a magic's docstring with the options of the ``%%jit`` line."""
    return f"{text}\n\n{parser().format_help()}"


_cell: Any = JaxliteMagics.jit_cell
_cell.__doc__ = with_options(_cell.__doc__)
