"""What people call a place or a function. In: a file, a site. Out: text for messages.

A notebook's cells are files with names that nobody has chosen; the notebook side says how they are
called (``name_files_with``), and messages say ``cell 7, line 2``.
"""

from __future__ import annotations

import re
import types
from typing import Any

from jaxlite.diagnose.misses import Site, site_of
from jaxlite.language.source import name_files_with, place_of, title_of

__all__ = [
    "CELL_FILE",
    "jitted_behind",
    "name_files_with",
    "name_in_code",
    "name_of_site",
    "place_of",
    "question",
    "title_of",
]

#: How the files of ``%%jit`` cells begin.
CELL_FILE = "<jit cell"
_NUMBER = re.compile(r"cell (\d+)$")


def jitted_behind(f: Any) -> Any:
    """Return the jitted function that ``f`` is, is a method of or wraps; None if there is none."""
    function = getattr(f, "__func__", f)
    for _ in range(20):
        # A decorator has copied the attributes of what it wraps.
        if not isinstance(function, types.FunctionType) or not hasattr(function, "__wrapped__"):
            break
        function = function.__wrapped__
    return function if hasattr(function, "_cache") and hasattr(function, "_spec") else None


def name_of_site(site: Site) -> str:
    """Return the name of a function; of a ``%%jit`` cell its number."""
    return (title_of(site.file) if site.file.startswith(CELL_FILE) else "") or site.name


def name_in_code(fun: Any) -> str:
    """Return the name by which the user can mention the jitted form of ``fun``, '' if unknown.

    A lambda has none; a bound method or a partial is jitted under a name nobody knows.
    """
    if not isinstance(fun, types.FunctionType):
        return ""
    name = fun.__qualname__.rpartition("<locals>.")[2]
    return name if all(part.isidentifier() for part in name.split(".")) else ""


def question(function: Any) -> str:
    """Return the call that explains the compiles of a jitted function, as the user can write it."""
    site = site_of(function)
    name = name_in_code(function.__wrapped__)
    is_cell = site is not None and site.file.startswith(CELL_FILE)
    if name and not is_cell:
        return f"jaxlite.why_recompiled({name})"
    number = _NUMBER.search(title_of(site.file)) if site is not None else None
    return f"jaxlite.why_recompiled({number[1] if number else ''})"
