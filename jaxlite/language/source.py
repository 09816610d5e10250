"""Where in the user's code an equation came from. In: the Python stack. Out: ``SourceLine``.

Recording keeps the code object and the instruction offset only; file, line and text are looked up
when somebody reads them, because tracing is hot and reading is rare.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
#: Frames of these folders are ours and are never shown.
_EXTENSION = f"{os.sep}jaxlite_ipython{os.sep}"
_is_ours: dict[str, bool] = {}
#: Files of ours above which nothing is the user's: the magic that runs a notebook's cell.
_ENDS = f"{_EXTENSION}magics.py"
_ends: set[str] = set()
#: Asked what people call a file that is none: a notebook names its cells here.
_titles: list[Callable[[str], str]] = []


def name_files_with(title: Callable[[str], str]) -> Callable[[], None]:
    """Ask ``title(file)`` for names such as ``cell 7`` ('' for no name of its own).

    Returns what takes it back.
    """
    _titles.append(title)
    return lambda: _titles.remove(title)


def title_of(file: str) -> str:
    """Return what people call ``file`` where that is not its path (``cell 7``), else ''."""
    return next(filter(None, (title(file) for title in reversed(_titles))), "")


def place_of(file: str, line: int) -> str:
    """Return ``cell 7, line 2``, or ``file:line`` for a file."""
    title = title_of(file)
    return f"{title}, line {line}" if title else f"{file}:{line}"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One position in user code: ``code`` and instruction offset ``lasti``."""

    code: CodeType
    lasti: int

    @property
    def file(self) -> str:
        """File name as Python knows it (a notebook cell has a pseudo file)."""
        return self.code.co_filename

    @property
    def function(self) -> str:
        """Name of the function the line is in."""
        return self.code.co_name

    @property
    def line(self) -> int:
        """Line number, counted from 1 (0 if unknown)."""
        for start, end, number in self.code.co_lines():
            if start <= self.lasti < end:
                return number or 0
        return self.code.co_firstlineno

    @property
    def columns(self) -> tuple[int, int] | None:
        """First and last column of the expression on its line, where Python recorded them."""
        for i, position in enumerate(self.code.co_positions()):
            if i == self.lasti // 2:
                line, end_line, start, end = position
                if line is not None and line == end_line and start is not None and end is not None:
                    return start, end
                return None
        return None

    @property
    def text(self) -> str:
        """The source text of the line without its indentation ('' if there is no source)."""
        return linecache.getline(self.file, self.line).strip()

    def short(self) -> str:
        """``file:line`` with the folder left out; ``cell 7, line 2`` in a notebook."""
        title = title_of(self.file)
        return (
            f"{title}, line {self.line}" if title else f"{os.path.basename(self.file)}:{self.line}"
        )

    def __str__(self) -> str:
        text = self.text
        where = f"{self.short()} in {self.function}"
        return f"{where}:  {text}" if text else where


def is_user_file(filename: str) -> bool:
    """Say whether frames of ``filename`` belong to the user (not to us or to the interpreter)."""
    ours = _is_ours.get(filename)
    if ours is None:
        ours = filename.startswith(("<frozen", _PACKAGE)) or _EXTENSION in filename
        ours = ours or os.path.basename(filename) in ("functools.py", "contextlib.py")
        _is_ours[filename] = ours
        if filename.endswith(_ENDS):
            _ends.add(filename)
    return not ours


def user_frame(skip: int = 1) -> FrameType | None:
    """Return the innermost stack frame that is the user's, or None."""
    frame: FrameType | None = sys._getframe(skip)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return frame
        if frame.f_code.co_filename in _ends:
            return None
        frame = frame.f_back
    return None


def current_line() -> SourceLine | None:
    """Return the user's position on the stack now (None if everything on it is ours)."""
    frame = user_frame(2)
    return None if frame is None else SourceLine(frame.f_code, frame.f_lasti)
