"""Better machine code later. In: a task. Out: it runs in the background when nothing else compiles.

A first call should not wait for LLVM's register allocator: a program is first compiled quickly, and
once more with care as soon as the process has not compiled anything for a moment. Both give the
same numbers. Next: ``cpu.py``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

_QUIET_S: Final = 0.05
_STEP_S: Final = 0.01

Task = Callable[[], None]


class Background:
    """One thread that runs tasks in order, none before the process has been quiet."""

    def __init__(self) -> None:
        self._worker: ThreadPoolExecutor | None = None
        self._last: Future[None] | None = None
        self._busy_at = 0.0

    def note(self) -> None:
        """Say that something is being compiled now."""
        self._busy_at = time.monotonic()

    def submit(self, task: Task) -> None:
        """Run ``task`` later, or never if the process ends before."""
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "jaxlite-compiler")
        try:
            self._last = self._worker.submit(self._run, task)
        except RuntimeError:  # the interpreter is shutting down: the quick code will do
            self._last = None

    def _run(self, task: Task) -> None:
        while time.monotonic() - self._busy_at < _QUIET_S:
            if not threading.main_thread().is_alive():
                return
            time.sleep(_STEP_S)
        if threading.main_thread().is_alive():
            task()

    def wait(self) -> None:
        """Return when all tasks submitted so far are done."""
        if self._last is not None:
            self._last.result()

    def forget(self) -> None:
        """Start anew in a forked child, which has no such thread."""
        self._worker = self._last = None
