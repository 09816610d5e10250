"""Say when compiled code uses an old value. In: the captured values of a cache entry.

Out: JL201 to JL203.

``config.stale_globals`` decides: ``warn`` keeps the old value, as JAX does, and says so once per
change; ``retrace`` compiles again with the new one; ``error`` raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.captured import MISSING, CapturedValue, Change, changes
from jaxlite.diagnose.hooks import Runner, add_runner_hook, remove_runner_hook
from jaxlite.errors import StaleGlobalError
from jaxlite.settings import config


@dataclass(frozen=True, slots=True)
class StaleNotice:
    """One captured value that changed after the trace."""

    code: str
    function: str
    change: Change

    def __str__(self) -> str:
        c = self.change
        if self.code == "JL202":
            # A lambda has no name to call; the user knows what he bound the jitted function to.
            who = "the jitted function's" if self.function == "<lambda>" else f"{self.function}"
            call = f"{who} retrace()" if " " in who else f"{who}.retrace()"
            return (
                f"JL202 {self.function} uses the old value of {c.value.path} ({c.old}, now "
                f"{c.new}). "
                f"Pass {c.value.path} as an argument, or call {call}."
            )
        if self.code == "JL201":
            return (
                f"JL201 {c.value.path} changed since {self.function} was traced ({c.old} -> "
                f"{c.new}): "
                f"{self.function} is traced again. Pass {c.value.path} as an argument to avoid "
                "this."
            )
        return (
            f"JL203 {c.value.path} changed since {self.function} was traced ({c.old} -> {c.new})."
        )


class StaleWatch:
    """Checks captured values at every call of a jitted function and reports each change once."""

    def __init__(self, report: Callable[[StaleNotice], None]) -> None:
        self.report = report
        self._said: set[tuple[int, str, str]] = set()

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
        seen: list[int | None] = (
            [id(v.current()) for v in values] if not changes(values) else [None] * len(values)
        )

        def checked(args: Any) -> Any:
            for i, value in enumerate(values):
                if id(value.current()) != seen[i]:
                    again = self.changed(function, entry)
                    if again is not None:
                        return again(args)
                    seen[i] = id(value.current())
            return run(args)

        return checked

    def changed(self, function: Any, entry: Any) -> Runner | None:
        """Report what changed; with ``retrace`` return the way to run the function anew."""
        found = [c for c in changes(entry.captured) if c.value.current() is not MISSING]
        if not found:
            return None
        policy = config.frame.stale_globals
        code = {"warn": "JL202", "retrace": "JL201", "error": "JL203"}[policy]
        for change in found:
            notice = StaleNotice(code, entry.name, change)
            if policy == "error":
                raise StaleGlobalError(str(notice))
            key = (id(entry), change.value.path, change.new)
            if key not in self._said:
                self._said.add(key)
                self.report(notice)
        if policy != "retrace":
            return None
        retraced: Runner = function.retraced_runner(entry)
        return retraced

    def check_contents(self, function: Any, entry: Any) -> None:
        """Compare contents too (once per executed cell).

        Finds ``cfg['lr'] = 2`` and ``array[0] = 1``.
        """
        self.changed(function, entry)
