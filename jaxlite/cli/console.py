"""What the commands print. In: plain facts. Out: lines on a text stream, ASCII only.

A terminal gets one progress bar that is drawn again in place; anything else (a file, CI) gets one
plain line per step, so that a log stays readable.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from typing import TextIO


class CommandError(Exception):
    """A command cannot go on. Shown as its text alone, without a traceback.

    Attributes:
        exit_code: what the process returns to the shell.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Progress:
    """Counts steps on ``stream``: a bar on a terminal, a line per step elsewhere.

    Example:
        >>> import io
        >>> log = io.StringIO()
        >>> progress = Progress(total=2, unit="cell", stream=log)
        >>> progress.start("Load the digits")
        >>> progress.start("Train")
        >>> progress.finish()
        >>> print(log.getvalue())
        cell 1 of 2, ... s  Load the digits
        cell 2 of 2, ... s  Train
    """

    BAR_WIDTH = 24

    def __init__(self, total: int, unit: str, stream: TextIO) -> None:
        self.total = total
        self.unit = unit
        self.done = 0
        self._stream = stream
        self._in_place = stream.isatty()
        self._start_s = time.perf_counter()

    def start(self, label: str) -> None:
        """Say that the next step, called ``label``, begins."""
        self.done += 1
        elapsed_s = time.perf_counter() - self._start_s
        counted = f"{self.unit} {self.done} of {self.total}, {elapsed_s:.1f} s"
        if not self._in_place:
            print(f"{counted}  {label}", file=self._stream, flush=True)
            return
        # The step that runs now is not filled in yet: a full bar means that all is over.
        filled = self.BAR_WIDTH * (self.done - 1) // max(self.total, 1)
        self._draw(filled, f"{counted}  {label}")

    def finish(self) -> None:
        """Fill the bar and leave its line."""
        if self._in_place:
            elapsed_s = time.perf_counter() - self._start_s
            self._draw(self.BAR_WIDTH, f"{self.total} {self.unit}s in {elapsed_s:.1f} s")
            print(file=self._stream, flush=True)

    def abandon(self) -> None:
        """Leave the line as it stands, so that a message can follow."""
        if self._in_place:
            print(file=self._stream, flush=True)

    def _draw(self, filled: int, text: str) -> None:
        columns = shutil.get_terminal_size().columns
        bar = "#" * filled + "-" * (self.BAR_WIDTH - filled)
        # One column is left free: a full line would wrap and the bar would crawl down the screen.
        line = f"[{bar}] {text}"[: columns - 1]
        print(f"\r{line:<{columns - 1}}", end="", file=self._stream, flush=True)


def table(rows: Iterable[tuple[str, ...]], indent: str = "  ") -> str:
    """Return ``rows`` as aligned columns; the last column is not padded.

    Example:
        >>> print(table([("cpu", "yes", "LLVM 20"), ("cuda", "no", "CuPy is not installed")]))
          cpu   yes  LLVM 20
          cuda  no   CuPy is not installed
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        (indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths))).rstrip()
        for row in rows
    )
