"""Lines of progress in a notebook. In: events of the engine. Out: outputs that change in place.

A compile that takes longer than half a second shows what it is doing:

    compiling train_step · LLVM · 2.4 s (trace 0.1, fuse 0.2)

The thread that changes the line runs in the context of the cell, so the output is the cell's.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
import time
from typing import Any

from IPython.display import DisplayHandle, display

from jaxlite import events
from jaxlite.diagnose import progress
from jaxlite_ipython.report import dot

__all__ = ["CompileLine", "HandleSink", "ProgressLines"]

#: Stages in their order, with the words for people.
_STAGES = {
    "trace": "trace",
    "optimise": "optimise",
    "fuse": "fuse",
    "lower": "lower",
    "plan_memory": "memory",
    "emit": "emit",
    "load": "LLVM",
}


#: The methods of ``api/jit.py`` that trace and compile.
_COMPILING = ("_trace_entry", "_compile")


class HandleSink:
    """An output of a notebook that changes in place; plain text, no widget."""

    interval_s = progress.CHANGE_S

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None

    def update(self, text: str) -> None:
        """Show or change the output."""
        data = {"text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(data, raw=True)  # type: ignore[no-untyped-call]

    close = update


class CompileLine:
    """The line of one compile, from the start of its trace to its machine code."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.sink: Any = None
        self.is_shown = False
        self._thread = threading.get_ident()
        self._over = threading.Event()
        self._lock = threading.Lock()
        context = contextvars.copy_context()
        self._timer = threading.Timer(progress.QUIET_S, context.run, (self._show,))
        self._timer.daemon = True
        self._timer.start()

    def _show(self) -> None:
        while not self._over.is_set():
            if not is_compiling(self._thread):
                self.end(self.text("compiled"))  # a trace without a compile, or one given up
            with self._lock:
                if self._over.is_set():
                    return
                self.sink = self.sink or progress.sinks[-1]()
                if self.sink.interval_s <= time.perf_counter() - self.start:
                    self.is_shown = True
                    self.sink.update(self.text("compiling", self.stage()))
            self._over.wait(self.sink.interval_s)

    def stage(self) -> str:
        """Return the stage that is running: the one after the last that has ended."""
        names = list(_STAGES)
        ended = [names.index(s) for s in self.seconds if s in names]
        return _STAGES[names[min(max(ended, default=-1) + 1, len(names) - 1)]]

    def text(self, verb: str, stage: str = "") -> str:
        """Return the line."""
        sep = f" {dot()} "
        parts = [f"{_STAGES.get(s, s)} {t:.1f}" for s, t in self.seconds.items() if t >= 0.05]
        spent = progress.duration(time.perf_counter() - self.start)
        more = f" ({', '.join(parts)})" if parts else ""
        return sep.join([f"{verb} {self.name}", *([stage] if stage else []), f"{spent}{more}"])

    def end(self, text: str) -> bool:
        """Stop; if anything is shown, change it to ``text`` and return True."""
        self._timer.cancel()
        with self._lock:
            if self.is_shown and self.is_open:
                self.sink.close(text)
            self._over.set()
        return self.is_shown

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return not self._over.is_set()

    def replace(self, text: str) -> bool:
        """Change what was shown last to ``text``; False if nothing was shown."""
        if self.is_shown:
            self.sink.close(text)
        return self.is_shown


def is_compiling(thread: int) -> bool:
    """Say whether a thread is inside the trace or the compile of a jitted function."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        code = frame.f_code
        if code.co_name in _COMPILING and code.co_filename.endswith("api/jit.py"):
            return True
        frame = frame.f_back
    return False


class ProgressLines:
    """All lines of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._lines: dict[int, CompileLine] = {}  # per thread
        self._ended: CompileLine | None = None
        # A kernel has outputs that can change; a terminal has its one line, and CI, where pages are
        # compared, a log.
        in_kernel = getattr(shell, "kernel", None) is not None and not os.environ.get("CI")
        self._sink = HandleSink if in_kernel else None

    def start(self) -> None:
        """Listen to the engine."""
        events.listeners.append(self._listen)
        if self._sink is not None:
            progress.sinks.append(self._sink)
        self.shell.events.register("post_run_cell", self._after_cell)

    def stop(self) -> None:
        """Listen no longer."""
        events.listeners.remove(self._listen)
        if self._sink is not None:
            progress.sinks.remove(self._sink)
        self.shell.events.unregister("post_run_cell", self._after_cell)
        self._after_cell(None)

    def summary(self, text: str) -> None:
        """Print the report of a cell, in the place of its line of progress if there is one."""
        line, self._ended = self._ended, None
        if line is None or not line.replace(text):
            print(text)

    def _listen(self, event: events.Event) -> None:
        thread = threading.get_ident()
        line = self._lines.get(thread)
        match event:
            case events.TraceStarted(name=name):
                if line is None or not line.is_open:
                    self._lines[thread] = CompileLine("the cell" if name == "cell" else name)
                    self._ended = None
            case events.TraceEnded(seconds=seconds) if line is not None:
                line.seconds["trace"] = max(line.seconds.get("trace", 0.0), seconds)
            case events.PassEnded(stage=stage, seconds=seconds) if line is not None:
                line.seconds[stage] = line.seconds.get(stage, 0.0) + seconds
            case events.Compiled() if line is not None:
                line.end(line.text("compiled"))
                self._ended = self._lines.pop(thread, None)

    def _after_cell(self, _: Any) -> None:
        """Say of everything unfinished where it stopped."""
        self._ended = None
        for thread, line in list(self._lines.items()):
            if thread == threading.get_ident() or not is_compiling(thread):
                only_traced = line.seconds.keys() == {"trace"}
                line.end(line.text("traced" if only_traced else "stopped compiling"))
                self._lines.pop(thread, None)
        progress.close_all()
