"""Where observers of calls attach. In: a hook.

Out: every jitted call goes through it until it is removed.

The cached call path has no branch for observers: a hook wraps the runners themselves. Adding or
removing one makes all functions build their runners anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Runner: TypeAlias = Callable[[Any], Any]
#: ``hook(jitted function, cache entry, runner) -> runner``.
RunnerHook: TypeAlias = Callable[[Any, Any, Runner], Runner]

runner_hooks: list[RunnerHook] = []
_on_change: list[Callable[[], None]] = []


def when_hooks_change(action: Callable[[], None]) -> None:
    """Call ``action`` when a hook comes or goes (``api.jit`` forgets its fast runners)."""
    _on_change.append(action)


def add_runner_hook(hook: RunnerHook) -> None:
    """Wrap every jitted call with ``hook``."""
    runner_hooks.append(hook)
    _changed()


def remove_runner_hook(hook: RunnerHook) -> None:
    """Stop wrapping with ``hook``; nothing happens if it is not there."""
    if hook in runner_hooks:
        runner_hooks.remove(hook)
        _changed()


def _changed() -> None:
    for action in _on_change:
        action()


def wrap_runner(function: Any, entry: Any, run: Runner) -> Runner:
    """Return ``run`` inside all hooks."""
    for hook in runner_hooks:
        run = hook(function, entry, run)
    return run
