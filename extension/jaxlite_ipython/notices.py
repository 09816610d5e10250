"""Messages about captured globals. In: cells as they run.

Out: one line each on stderr, once per cause.

Before a cell runs its source is looked at (JL101, JL102); at each call of a jitted function the
identity of what it captured is compared, and once per executed cell the contents (JL201 to JL203).
"""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Iterable
from typing import Any

from jaxlite.diagnose.captured import MISSING, short_value
from jaxlite.diagnose.cell_names import names_of
from jaxlite.diagnose.hooks import Runner, add_runner_hook, remove_runner_hook
from jaxlite.diagnose.lint import lint_cell
from jaxlite.diagnose.stale import StaleNotice, StaleWatch

__all__ = ["Notices"]


class Notices:
    """What has been said and what is ignored in one session."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.ignored: set[str] = set()
        self._said: set[tuple[str, str, str, str]] = set()
        self._cells: dict[str, tuple[int, int]] = {}
        self._watch = StaleWatch(self._stale)
        self._entries: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._functions: dict[int, Any] = {}

    def start(self) -> None:
        """Listen to cells and calls."""
        self._watch.start()
        add_runner_hook(self._remember)
        self.shell.events.register("pre_run_cell", self._before_cell)
        self.shell.events.register("post_run_cell", self._after_cell)

    def stop(self) -> None:
        """Listen no longer."""
        self._watch.stop()
        remove_runner_hook(self._remember)
        self.shell.events.unregister("pre_run_cell", self._before_cell)
        self.shell.events.unregister("post_run_cell", self._after_cell)

    # --- cells ---

    def _before_cell(self, info: Any) -> None:
        source = info.raw_cell or ""
        if source.lstrip().startswith("%%"):
            return
        source = self._python(source)
        for message in lint_cell(source, self.shell.user_ns, self._cells):
            self.say(message.code, message.function, message.name, str(message), message.text)

    def _python(self, source: str) -> str:
        """Return the cell with IPython's own syntax turned into Python, so that it parses."""
        try:
            return str(self.shell.transform_cell(source))
        except SyntaxError:
            return ""

    def _after_cell(self, result: Any) -> None:
        source = self._python(getattr(result.info, "raw_cell", "") or "")
        try:
            binds = names_of(ast.parse(source)).binds
        except SyntaxError:
            binds = {}
        count = result.execution_count or self.shell.execution_count
        self.assigned(binds, count)
        for key, entry in list(self._entries.items()):
            function = self._functions[key]()
            if function is not None:
                self._watch.check_contents(function, entry)

    def assigned(self, names: Iterable[str], cell: int) -> None:
        """Remember which cell assigned ``names``."""
        for name in names:
            times = self._cells.get(name, (0, 0))[1]
            self._cells[name] = (cell, times + 1)

    # --- calls ---

    def _remember(self, function: Any, entry: Any, run: Runner) -> Runner:
        if entry.captured:
            self._entries[id(entry)] = entry
            self._functions[id(entry)] = weakref.ref(function)
        return run

    def _stale(self, notice: StaleNotice) -> None:
        value = notice.change.value
        cell = self._cells.get(value.path.split(".")[0])
        text = str(notice)
        if cell is not None and notice.code == "JL202":
            text = text.replace(
                f"now {notice.change.new})", f"now {notice.change.new}, set in cell {cell[0]})"
            )
        self.say(notice.code, notice.function, value.path, text, notice.change.new)

    # --- saying ---

    def say(self, code: str, function: str, name: str, text: str, cause: str) -> None:
        """Print one line to stderr unless it is ignored or was said before."""
        key = (code, function, name, cause)
        if code in self.ignored or key in self._said:
            return
        self._said.add(key)
        print(text, file=sys.stderr)

    def table(self) -> str:
        """Return what jitted functions captured, as a table."""
        rows = [("name", "kind", "assigned in", "now", "used by")]
        for entry in self._entries.values():
            for v in entry.captured:
                now = v.current()
                shown = "deleted" if now is MISSING else short_value(now)
                cell = self._cells.get(v.path.split(".")[0])
                where = f"cell {cell[0]}" if cell else "-"
                mark = shown if shown == v.shown else f"{shown} (compiled: {v.shown})"
                rows.append((v.path, v.type_name, where, mark, entry.name))
        if len(rows) == 1:
            return "no jitted function has captured a global"
        widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
        return "\n".join(
            "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows
        )
