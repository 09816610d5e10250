"""Say when compiled code uses an old value. In: the captured values of a cache entry.

Out: JL201 to JL203.

``config.stale_globals`` decides: ``warn`` keeps the old value, as JAX does, and says so once per
change; ``retrace`` compiles again with the new one; ``error`` raises.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.captured import MISSING, CapturedValue, Change, changes
from jaxlite.diagnose.hooks import Runner, add_runner_hook, remove_runner_hook
from jaxlite.errors import StaleGlobalError, located
from jaxlite.settings import config


@dataclass(frozen=True, slots=True)
class StaleNotice:
    """One captured value that changed after the trace."""

    code: str
    function: str
    change: Change

    def __str__(self) -> str:
        return self.text()

    def text(self, cell: int | None = None) -> str:
        """Return the message; ``cell`` is the one that assigned the name last."""
        c = self.change
        where = f", set in cell {cell}" if cell is not None else ""
        new = c.new if c.new != c.old else f"another {c.new}"
        changed = f"{c.value.path} changed since {self.function} was traced"
        if self.code == "JL202":
            return (
                f"JL202 {self.function} uses the old value of {c.value.path} ({c.old}, now "
                f"{new}{where}). Pass {c.value.path} as an argument, or {self._retrace()}."
            )
        if self.code == "JL201":
            return (
                f"JL201 {changed} ({c.old} -> {new}{where}): {self.function} is traced again. "
                f"Pass {c.value.path} as an argument to avoid this."
            )
        return (
            f"JL203 {changed} ({c.old} -> {new}{where}). Pass {c.value.path} as an argument, or "
            f"{self._retrace()}."
        )

    def _retrace(self) -> str:
        """Return what makes a new trace."""
        if " " in self.function:  # a notebook cell
            return "run it with --stale retrace"
        # A lambda has no name to call; the user knows what he bound the jitted function to.
        is_lambda = self.function == "<lambda>"
        return (
            "call the jitted function's retrace()"
            if is_lambda
            else f"call {self.function}.retrace()"
        )


class StaleWatch:
    """Checks captured values at every call of a jitted function and reports each change once."""

    def __init__(
        self,
        report: Callable[[StaleNotice], None],
        cell_of: Callable[[str], int | None] = lambda path: None,
    ) -> None:
        self.report = report
        #: The cell that has changed a name (``cfg.lr``) last, if that is known.
        self.cell_of = cell_of
        self._said: set[tuple[int, str, str, str]] = set()
        # Entry -> identities of its captured values when they were last found unchanged.
        self._seen: weakref.WeakKeyDictionary[Any, list[int | None]] = weakref.WeakKeyDictionary()

    def start(self) -> None:
        """Check calls from now on."""
        add_runner_hook(self.hook)

    def stop(self) -> None:
        """Check no longer."""
        remove_runner_hook(self.hook)

    def hook(self, function: Any, entry: Any, run: Runner) -> Runner:
        """Return a runner that compares identities before it runs."""
        values: tuple[CapturedValue, ...] = entry.captured
        if not values:
            return run
        unknown: list[int | None] = [None] * len(values)
        seen = self._seen.setdefault(entry, unknown)
        if not changes(values):
            seen[:] = [id(v.current()) for v in values]

        def checked(args: Any) -> Any:
            for number, value in zip(seen, values):
                if id(value.current()) != number:
                    again = self.changed(function, entry)
                    if again is not None:
                        return again(args)
                    seen[:] = [id(v.current()) for v in values]
                    break
            return run(args)

        return checked

    def changed(self, function: Any, entry: Any) -> Runner | None:
        """Report what changed; with ``retrace`` return the way to run the function anew."""
        policy = config.frame.stale_globals
        found = [c for c in changes(entry.captured) if c.value.current() is not MISSING]
        if not found or policy == "ignore":
            return None
        code = {"warn": "JL202", "retrace": "JL201", "error": "JL203"}[policy]
        for change in found:
            notice = StaleNotice(code, entry.name, change)
            if policy == "error":
                text = notice.text(self.cell_of(change.value.path))
                raise located(StaleGlobalError(text.removeprefix(f"{code} ")), code)
            key = (id(entry), code, change.value.path, change.new)
            if key not in self._said:
                self._said.add(key)
                self.report(notice)
        if policy != "retrace":
            return None
        retraced: Runner = function.retraced_runner(entry)
        return retraced

    def has_news(self, entry: Any) -> bool:
        """Say whether something has changed that has not been told."""
        if config.frame.stale_globals != "warn":
            return False
        return any(
            (id(entry), "JL202", c.value.path, c.new) not in self._said
            for c in changes(entry.captured)
            if c.value.current() is not MISSING
        )

    def check_contents(self, function: Any, entry: Any) -> None:
        """Compare contents too (once per executed cell).

        Finds ``cfg['lr'] = 2`` and ``array[0] = 1``. What is more than a message, tracing again or
        an error, is left to the next call.
        """
        if config.frame.stale_globals == "warn":
            self.changed(function, entry)
        elif entry in self._seen:
            self._seen[entry][:] = [None] * len(entry.captured)
