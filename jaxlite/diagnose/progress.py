"""One line that says how far something is. In: counts. Out: text on a terminal, in a notebook, log.

Nothing for half a second, then one line that changes at most four times a second; where no line can
be changed (a file, CI) a new line every ten seconds:

    12,000/50,000 · 1.9 k it/s · 20 s left · loss 0.031 ▇▆▅▃▂▁

``progress(range(n))`` is for Python loops; ``fori_loop(..., progress=True)`` and ``scan(...,
progress=True)`` report from inside the compiled loop.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from jaxlite.runtime import loop_progress
from jaxlite.settings import config

__all__ = ["Line", "Sink", "close_all", "expect_total", "loop_params", "progress", "sinks"]

T = TypeVar("T")

#: Seconds before anything is shown, between two changes of a line, between two lines of a log.
QUIET_S, CHANGE_S, LOG_S = 0.5, 0.25, 10.0
#: Points of the little curve.
POINTS = 60
_BARS = "▁▂▃▄▅▆▇█"
_ASCII_BARS = "_.-=*#"


class Sink(Protocol):
    """Where a line goes."""

    #: Seconds between two updates.
    interval_s: float

    def update(self, text: str) -> None:
        """Show ``text`` in place of what was shown before."""

    def close(self, text: str) -> None:
        """Show ``text`` for good."""


class TerminalSink:
    """One line of a terminal, written over."""

    interval_s = CHANGE_S

    def update(self, text: str) -> None:
        """Write over the line."""
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()

    def close(self, text: str) -> None:
        """Write the last text and go to the next line."""
        self.update(f"{text}\n")


class LogSink:
    """A new line every ten seconds, for files and CI."""

    interval_s = LOG_S

    def update(self, text: str) -> None:
        """Write a line."""
        print(text, file=sys.stderr, flush=True)

    close = update


def _default_sink() -> Sink:
    return TerminalSink() if sys.stderr is not None and sys.stderr.isatty() else LogSink()


#: Makers of sinks, the last one counts; the notebook puts its own here.
sinks: list[Callable[[], Sink]] = [_default_sink]
_open: set[Line] = set()
_lock = threading.RLock()


class Line:
    """One line of progress. ``total`` is 0 if nobody knows it."""

    def __init__(self, label: str = "", total: int = 0, values: dict[str, Any] | None = None):
        self.label, self.total, self.done = label, total, 0
        self.values = dict(values or {})
        self.start = self.shown = time.perf_counter()
        self.sink: Sink | None = None
        self.is_shown = False
        self.points: deque[float] = deque(maxlen=POINTS)
        self._last = (self.start, 0)
        with _lock:
            _open.add(self)

    def update(self, done: int) -> None:
        """Take in a count and show it if it is time."""
        self.done = done
        now = time.perf_counter()
        interval = CHANGE_S if self.sink is None else self.sink.interval_s
        if now - self.start < QUIET_S or now - self.shown < interval:
            return
        if self.sink is None:
            self.sink = sinks[-1]()
            if self.sink.interval_s > now - self.start:  # a log waits for its first ten seconds
                self.shown = self.start
                return
        self.shown, self.is_shown = now, True
        self._add_point(now)
        self.sink.update(self.text(now))

    def _add_point(self, now: float) -> None:
        value = next((v for v in self._numbers().values()), None)
        if not self.values:
            before, done = self._last
            value = (self.done - done) / max(now - before, 1e-9)
            self._last = (now, self.done)
        if value is not None and math.isfinite(value):
            self.points.append(value)

    def _numbers(self) -> dict[str, float]:
        found = {}
        for name, value in self.values.items():
            try:
                found[name] = float(value() if callable(value) else value)
            except (TypeError, ValueError, NameError, UnboundLocalError):
                continue  # not known yet, or not a number
        return found

    def text(self, now: float) -> str:
        """Return the line."""
        sep = " | " if is_ascii() else " · "
        spent = max(now - self.start, 1e-9)
        rate = self.done / spent
        count = f"{self.done:,}/{self.total:,}" if self.total else f"{self.done:,}"
        parts = [f"{self.label} {count}".strip(), rate_text(rate)]
        if self.total and rate > 0 and self.done < self.total:
            parts.append(f"{duration((self.total - self.done) / rate)} left")
        parts += [f"{name} {value:.3g}" for name, value in self._numbers().items()]
        curve = self._curve()
        return sep.join(parts) + (f" {curve}" if curve else "")

    def _curve(self) -> str:
        if self.values or len(self.points) < 2:
            return sparkline(self.points)
        return sparkline([0.0, *self.points])[
            1:
        ]  # a speed is drawn from zero: its noise is no news

    def close(self, *, is_done: bool = True) -> None:
        """Show the last text: the sum, or where it stopped."""
        with _lock:
            if self not in _open:
                return
            _open.discard(self)
        now = time.perf_counter()
        if self.sink is None or not self.is_shown:
            return
        sep = " | " if is_ascii() else " · "
        if is_done:
            self._add_point(now)
            curve = self._curve()
            values = "".join(f"{sep}{n} {v:.3g}" for n, v in self._numbers().items())
            rate = rate_text(self.done / max(now - self.start, 1e-9))
            text = f"{self.label} {self.done:,} in {duration(now - self.start)}".strip()
            self.sink.close(f"{text}{sep}{rate}{values}" + (f" {curve}" if curve else ""))
        else:
            of = f" of {self.total:,}" if self.total else ""
            label = f"{self.label} " if self.label else ""
            self.sink.close(f"{label}stopped after {self.done:,}{of}")


def close_all() -> None:
    """Say of every open line where it stopped (an interrupt, an error, a ``break``)."""
    with _lock:
        lines = tuple(_open)
    for line in lines:
        line.close(is_done=False)
    _native.clear()


def is_ascii() -> bool:
    """Say whether only ASCII is wanted."""
    return config.frame.ascii or bool(os.environ.get("JAXLITE_ASCII"))


def rate_text(rate: float) -> str:
    """Return iterations per second: ``1.9 k it/s``."""
    for unit, size in (("G ", 1e9), ("M ", 1e6), ("k ", 1e3)):
        if rate >= 0.9995 * size:
            return f"{rate / size:.3g} {unit}it/s"
    return f"{rate:.3g} it/s" if rate >= 1 or rate == 0 else f"{1 / rate:.3g} s/it"


def duration(seconds: float) -> str:
    """Return a time: ``20 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def sparkline(points: Iterable[float]) -> str:
    """Return a curve of bars, '' for fewer than two points."""
    values = list(points)
    if len(values) < 2:
        return ""
    bars = _ASCII_BARS if is_ascii() else _BARS
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(bars[min(int((v - low) / span * len(bars)), len(bars) - 1)] for v in values)


class progress(Generic[T]):
    """Iterate and show how far the loop is.

    Args:
      iterable: anything to loop over.
      total: the number of items, where ``len(iterable)`` does not tell.
      label: words in front of the line.
      **values: numbers to show, or functions without arguments that return them:
        ``loss=lambda: loss``. The first one is drawn as a curve.

    Nothing is shown in the first half second.

    >>> total = 0
    >>> for i in progress(range(4), loss=lambda: total):
    ...     total += i
    >>> total
    6
    """

    def __init__(
        self, iterable: Iterable[T], *, total: int | None = None, label: str = "", **values: Any
    ) -> None:
        if not isinstance(iterable, Iterable):
            raise TypeError(
                f"progress expects something to loop over, got {type(iterable).__name__}\n"
                "  Fix: for i in jaxlite.progress(range(n)): ..."
            )
        self.iterable = iterable
        self.total = total if total is not None else _length(iterable)
        self.label, self.values = label, values

    def __len__(self) -> int:
        return self.total

    def set(self, **values: Any) -> None:
        """Show other values from now on: ``bar.set(loss=loss)``."""
        self.values.update(values)

    def __iter__(self) -> Iterator[T]:
        line = Line(self.label, self.total)
        line.values = self.values
        done = 0
        finished = False
        try:
            for item in self.iterable:
                yield item
                done += 1
                line.update(done)
            finished = True
        finally:
            line.close(is_done=finished)


def _length(iterable: Iterable[Any]) -> int:
    try:
        return len(iterable)  # type: ignore[arg-type]
    except TypeError:
        return 0


# --- native loops ---


def loop_params(progress: bool | str, fun: Callable[..., Any]) -> dict[str, int]:
    """Return the parameter of a loop that reports how far it is; nothing for one that does not."""
    if not isinstance(progress, bool | str):
        raise TypeError(
            f"progress is True, False or a label, got {type(progress).__name__}\n"
            '  Fix: progress=True, or progress="train".'
        )
    if progress is False:
        return {}
    return {"progress": loop_progress.number_of(_label(progress, fun))}


def expect_total(progress: bool | str, fun: Callable[..., Any]) -> Expect | None:
    """Return what a loop with traced bounds calls with them, None without ``progress``."""
    return Expect(_label(progress, fun)) if progress is not False else None


def _label(progress: bool | str, fun: Callable[..., Any]) -> str:
    name = getattr(fun, "__name__", "")
    return progress if isinstance(progress, str) else ("" if name == "<lambda>" else name)


_native: dict[tuple[int, str], Line] = {}
_totals: dict[tuple[int, str], int] = {}


@dataclass(frozen=True)
class Expect:
    """Told the bounds of a native loop right before it runs, where only the program knows them."""

    label: str

    def __call__(self, lower: Any, upper: Any) -> None:
        _totals[threading.get_ident(), self.label] = max(int(upper) - int(lower), 0)


def show_native(label: str, done: int, total: int) -> None:
    """Show a count that a native loop has reached; ``-1 - done`` ends the line."""
    key = (threading.get_ident(), label)
    line = _native.get(key)
    if done < 0:
        if line is not None:
            del _native[key]
            line.done = -1 - done
            line.close()
    elif line is None or not done:
        _native[key] = Line(label, total or _totals.pop(key, 0))
    else:
        line.update(done)


loop_progress.show_with(show_native)
