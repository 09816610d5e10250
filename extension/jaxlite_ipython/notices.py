"""Messages about captured globals. In: cells as they run.

Out: one line each on stderr, once per cause.

Before a cell runs its source is looked at (JL101 to JL111), after it once more with the values of
the names it has assigned; at each call of a jitted function the identity of what it captured is
compared, and once per executed cell the contents (JL201 to JL204).
"""

from __future__ import annotations

import gc
import re
import sys
import time
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from jaxlite import events
from jaxlite.diagnose.captured import MISSING, CapturedValue, short_value
from jaxlite.diagnose.cell_history import CellHistory, names_changed_by
from jaxlite.diagnose.hooks import Runner, add_runner_hook, remove_runner_hook
from jaxlite.diagnose.lint import LintMessage, lint_cell
from jaxlite.diagnose.repeated import RepeatedCompiles
from jaxlite.diagnose.stale import StaleNotice, StaleWatch
from jaxlite_ipython.session import CellRun

__all__ = ["Notices"]

#: A ``%%jit`` cell up to its body; comments may stand in front.
_JIT_CELL = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*%%jit\b[^\n]*\n?")
#: Cell magics whose body is Python.
_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun"})


class Notices:
    """What has been said and what is ignored in one session."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.ignored: set[str] = set()
        self.history = CellHistory()
        self._said: set[tuple[str, str, str, str]] = set()
        self._watch = StaleWatch(self._stale, self.cell_of)
        self._source: str | None = None  # of the cell that runs
        self._entries: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._functions: dict[int, Any] = {}
        self._called: set[int] = set()
        self._repeated = RepeatedCompiles()
        self._cell_outputs: Iterable[str] | None = None

    def start(self) -> None:
        """Listen to cells and calls."""
        self._watch.start()
        add_runner_hook(self._remember)
        events.listeners.append(self._listen)
        self.shell.events.register("pre_run_cell", self._before_cell)
        self.shell.events.register("post_run_cell", self._after_cell)

    def stop(self) -> None:
        """Listen no longer."""
        self._watch.stop()
        remove_runner_hook(self._remember)
        events.listeners.remove(self._listen)
        self.shell.events.unregister("pre_run_cell", self._before_cell)
        self.shell.events.unregister("post_run_cell", self._after_cell)

    # --- cells ---

    def _before_cell(self, info: Any) -> None:
        self._cell_outputs = None
        self._called.clear()
        self.history.delete(deleted_cells(self.shell))
        source = info.raw_cell or ""
        self._source = source
        if "jit" in source and not _JIT_CELL.match(source):
            self.lint(lint_cell(self._python(source), self.shell.user_ns, self.history))

    def lint(self, messages: Iterable[LintMessage], where: str = "") -> None:
        """Say what the rules have found, once for each ``where``."""
        for m in messages:
            self.say(m.code, m.function, m.name, str(m), where)

    def _python(self, source: str) -> str:
        """Return the cell with IPython's own syntax turned into Python, so that it parses.

        The body of ``%%time`` and the like is Python, that of ``%%bash`` is not.
        """
        head, newline, body = source.lstrip().partition("\n")
        if head.startswith("%%"):
            words = head[2:].split()
            # Line numbers stay those of the cell.
            source = newline + body if words and words[0] in _PYTHON_MAGICS else ""
        try:
            return str(self.shell.transform_cell(source)) if source else ""
        except SyntaxError:
            return ""

    def _after_cell(self, result: Any) -> None:
        self._source = None
        raw = getattr(result.info, "raw_cell", "") or ""
        is_jit_cell = self._cell_outputs is not None
        # The body of a %%jit cell is Python below its first line.
        body = _JIT_CELL.match(raw)
        source = raw[body.end() :] if is_jit_cell and body else self._python(raw)
        count = result.execution_count or self.shell.execution_count
        cell_id = getattr(result.info, "cell_id", None)
        self.history.record(
            source, count, cell_id, self._cell_outputs, succeeded=bool(result.success)
        )
        if result.success and "jit" in raw and not body:
            found = lint_cell(source, self.shell.user_ns, self.history, has_run=True)
            self.lint(found)
        if any(self._watch.has_news(entry) for entry in list(self._entries.values())):
            gc.collect()  # a function that nobody can call any more is no news
        for key, entry in list(self._entries.items()):
            function = self._functions[key]()
            if function is not None:
                self._watch.check_contents(function, entry)
                if key in self._called:
                    self.check_sources((v.path for v in entry.captured), f"{entry.name} uses")

    def cell_assigned(self, names: Iterable[str]) -> None:
        """Take in what the ``%%jit`` cell that is running has assigned."""
        self._cell_outputs = tuple(names)

    def jit_cell_ran(self, run: CellRun) -> None:
        """Say what has changed under a ``%%jit`` cell: globals of its functions, other cells."""
        for notice in run.stale:
            self._stale(notice)
        self.check_sources(run.prepared.cell.inputs, "this cell ran with")

    def overhead(self) -> str:
        """Return what watching costs, as text."""
        n = len(self._entries)
        text = f"{n} jitted function{'' if n == 1 else 's'} watched for changed globals"
        values = next((e.captured for e in self._entries.values()), ())
        if not values:
            return text
        start = time.perf_counter()
        for _ in range(200):
            [v.current() for v in values]
        return f"{text}, {(time.perf_counter() - start) / 200 * 1e6:.1f} us per call"

    def check_sources(self, paths: Iterable[str], what: str) -> None:
        """Say JL204 for names whose cell has been edited since it assigned them."""
        for path in paths:
            name = path.partition(".")[0]
            cell = self.history.edited(name)
            if cell is not None:
                text = (
                    f"JL204 {what} {name} from cell {cell}, which has been edited since. "
                    f"Re-run cell {cell}."
                )
                self.say("JL204", what, name, text, str(cell))

    def _listen(self, event: events.Event) -> None:
        """Say once that a function compiles again and again."""
        if isinstance(event, events.Compiled):
            text = self._repeated.notice(event.function)
            if text is not None and "recompiles" not in self.ignored:
                print(text, file=sys.stderr)

    # --- calls ---

    def _remember(self, function: Any, entry: Any, run: Runner) -> Runner:
        if not entry.captured:
            return run
        key = id(entry)
        self._entries[key] = entry
        self._functions[key] = weakref.ref(function)
        called = self._called

        def noted(args: Any) -> Any:
            called.add(key)
            return run(args)

        return noted

    def _stale(self, notice: StaleNotice) -> None:
        value = notice.change.value
        cell = self.cell_of(value.path)
        self.say(notice.code, notice.function, value.path, notice.text(cell), notice.change.new)

    def cell_of(self, path: str) -> int | None:
        """Return the cell that has assigned or changed a name last, be it the one that runs."""
        name = path.partition(".")[0]
        if self._source is not None and name in names_changed_by(self._source):
            return max(int(self.shell.displayhook.prompt_count), 1)
        mutation = self.history.mutated(name)
        return max(self.history.number(name) or 0, mutation.number if mutation else 0) or None

    # --- saying ---

    def say(self, code: str, function: str, name: str, text: str, cause: str) -> None:
        """Print one line to stderr unless it is ignored or was said before."""
        key = (code, function, name, cause)
        if code in self.ignored or key in self._said:
            return
        self._said.add(key)
        print(text, file=sys.stderr)

    def table(self, cells: Iterable[tuple[str, tuple[CapturedValue, ...]]] = ()) -> str:
        """Return what jitted functions (and ``%%jit`` cells) captured, as a table."""
        rows = [("name", "kind", "size", "assigned in", "changed in", "now", "used by")]
        owners = [(e.name, e.captured) for e in self._entries.values()]
        for owner, captured in (*owners, *cells):
            rows += [self._row(v, owner) for v in captured]
        if len(rows) == 1:
            return "no jitted function has captured a global"
        widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
        return "\n".join(
            "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip()
            for r in dict.fromkeys(rows)
        )

    def _row(self, v: CapturedValue, owner: str) -> tuple[str, str, str, str, str, str, str]:
        now = v.current()
        name = v.path.partition(".")[0]
        if now is MISSING and v.kind == "global":  # the function that read it is gone
            now = self.shell.user_ns.get(v.path, MISSING)
        shown = "deleted" if now is MISSING else short_value(now)
        cell, mutation = self.history.number(name), self.history.mutated(name)
        mark = shown if shown == v.shown else f"{shown} (compiled: {v.shown})"
        return (
            v.path,
            v.type_name,
            size_text(v.nbytes) if v.nbytes else "-",
            f"cell {cell}" if cell else "-",
            f"cell {mutation.number}, line {mutation.line}" if mutation else "-",
            mark,
            owner,
        )


def size_text(n: int) -> str:
    """Return a number of bytes as text: ``78.1 KiB``."""
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n} B" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024  # type: ignore[assignment]
    return f"{n:.1f} GiB"


def deleted_cells(shell: Any) -> tuple[str, ...]:
    """Return the ids of cells that the front end has deleted, where it says so (JupyterLab)."""
    get_parent = getattr(shell, "get_parent", None)
    parent = get_parent() if get_parent is not None else {}
    metadata = parent.get("metadata", {}) if isinstance(parent, Mapping) else {}
    found = metadata.get("deletedCells", ())
    return tuple(i for i in found if isinstance(i, str)) if isinstance(found, list) else ()
