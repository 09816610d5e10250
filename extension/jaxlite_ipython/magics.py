"""``%%jit`` and ``%jaxlite``. In: a cell.

Out: assigned names, one line of report, views if asked for.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.display import display

import jaxlite
from jaxlite_ipython import views
from jaxlite_ipython.notices import Notices
from jaxlite_ipython.options import parse_jit_line, parser
from jaxlite_ipython.report import milliseconds
from jaxlite_ipython.session import CellRun, CellSession

__all__ = ["JaxliteMagics"]


@magics_class
class JaxliteMagics(Magics):
    """The magics of one shell."""

    shell: Any

    def __init__(self, shell: Any, session: CellSession, notices: Notices) -> None:
        super().__init__(shell)
        self.session = session
        self.notices = notices

    @cell_magic
    def jit(self, line: str, cell: str) -> Any:
        """Trace, fuse and compile this cell, then run it and assign its names."""
        options, names = parse_jit_line(line)
        namespace = self.shell.user_ns
        run = self.session.run(cell, names, namespace, dry=options.dry, stale=options.stale)
        if not options.dry:
            namespace.update(run.outputs)  # all or nothing: nothing above has assigned
            self.notices.cell_assigned(run.outputs)
        if options.name:
            namespace[options.name] = cell_function(run)
        if not options.quiet:
            self._print(run, options)
        self._show(run, options.show)
        return run.value

    def _print(self, run: CellRun, options: Any) -> None:
        text = str(run.report)
        if options.time:
            text += f" \N{MIDDLE DOT} median of 20 runs {milliseconds(self._median(run))}"
        print(text)
        for note in run.notes:
            print(f"       {note}")
        if options.dry:
            print("       dry run: nothing was run or assigned")

    def _median(self, run: CellRun) -> float:
        prepared = run.prepared
        arguments = prepared.cell.arguments(self.shell.user_ns)
        times = []
        for _ in range(20):
            start = time.perf_counter()
            jaxlite.block_until_ready(prepared.jitted(*arguments))
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def _show(self, run: CellRun, show: str) -> None:
        arguments = run.prepared.cell.arguments(self.shell.user_ns)
        for view in [v for v in (show or "").split(",") if v not in ("", "none")]:
            if view == "text":
                print(views.trace(run.prepared.jitted, *arguments).text())
            else:
                self.show_view(getattr(views, view)(run.prepared.jitted, *arguments))

    def show_view(self, view: Any) -> None:
        """Display a view as an output of its own."""
        display(view)  # type: ignore[no-untyped-call]

    @line_magic
    def jaxlite(self, line: str) -> None:
        """Status and settings.

        ``%jaxlite``, ``%jaxlite ignore JL101``, ``%jaxlite tb full``, ``%jaxlite stale``.
        """
        command, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        actions = {
            "": self._status,
            "status": self._status,
            "ignore": self._ignore,
            "tb": self._traceback,
            "stale": self._stale,
            "config": self._config,
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

    def _ignore(self, rest: str) -> None:
        codes = rest.replace(",", " ").split()
        if not codes:
            raise UsageError("%jaxlite ignore: give a code, e.g. JL101")
        self.notices.ignored.update(codes)

    def _traceback(self, rest: str) -> None:
        if rest not in ("full", "user"):
            raise UsageError("%jaxlite tb: choose full or user")
        jaxlite.config.update("traceback", rest)

    def _stale(self, _: str) -> None:
        print(self.notices.table())

    def _config(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        if not value:
            raise UsageError("%jaxlite config: NAME=VALUE")
        jaxlite.config.update(name.strip(), value.strip())

    def _help(self, _: str) -> None:
        print(parser().format_help(), file=sys.stdout)


def cell_function(run: CellRun) -> Any:
    """Return ``NAME(**inputs) -> outputs`` of a cell: one value, or a dict of several."""
    prepared = run.prepared
    defaults = dict.fromkeys(prepared.cell.inputs)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(prepared.cell.inputs, args, strict=False)), **kwargs}
        missing = [n for n in defaults if n not in given]
        if missing:
            raise TypeError(f"missing inputs: {', '.join(missing)}")
        unknown = [n for n in given if n not in defaults]
        if unknown:
            raise TypeError(
                f"unknown inputs: {', '.join(unknown)}; inputs are {', '.join(defaults)}"
            )
        outputs, value = prepared.jitted(*[given[n] for n in prepared.cell.inputs])
        if len(outputs) == 1:
            return next(iter(outputs.values()))
        return outputs or value

    call.__doc__ = (
        f"Inputs: {', '.join(prepared.cell.inputs)}. Outputs: {', '.join(prepared.cell.outputs)}."
    )
    return call
