"""Numbers of cells. In: cells as they run, names of files. Out: ``cell 7`` for a file.

A ``%%jit`` cell that runs again is a cell of another number, but its compiled code and its file
stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jaxlite.diagnose.places import CELL_FILE, name_files_with

__all__ = ["files_of", "forget", "new_file", "ran", "titles_of"]

_number_of: dict[str, int] = {}
_files_of: dict[int, list[str]] = {}


def new_file(number: int) -> str:
    """Return a name for the file of a ``%%jit`` cell that no other has."""
    name, more = f"{CELL_FILE} {number}>", 1
    while name in _number_of:
        more += 1
        name = f"{CELL_FILE} {number} #{more}>"
    _number_of[name] = number
    return name


def ran(number: int, file: str) -> None:
    """Take in that a ``%%jit`` cell runs as cell ``number``."""
    if _number_of.get(file) != number or number not in _files_of:
        _number_of[file] = number
        _files_of.setdefault(number, []).append(file)


def files_of(number: int) -> tuple[str, ...]:
    """Return the files of the ``%%jit`` cells (and lines) that ran as cell ``number``."""
    return tuple(_files_of.get(number, ()))


def forget() -> None:
    """Forget all numbers; names of files are not used again."""
    _files_of.clear()


def titles_of(shell: Any) -> Callable[[], None]:
    """Name the cells of ``shell`` in messages from now on; returns what ends it."""
    named = getattr(shell.compile, "format_code_name", None)

    def title(file: str) -> str:
        if file in _number_of:
            return f"cell {_number_of[file]}"
        found = re.search(r"\d+", named(file)[1]) if named and named(file) else None
        return f"cell {found[0]}" if found else ""

    return name_files_with(title)
