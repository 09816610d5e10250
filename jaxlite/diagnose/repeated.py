"""A word about functions that compile again and again. In: a function. Out: a line, or nothing.

At the third compile with fewer than two calls each, or when compiling takes more than half of the
time since the first call and more than a second.
"""

from __future__ import annotations

import time
from typing import Any

from jaxlite.diagnose.misses import Site, site_of
from jaxlite.diagnose.places import CELL_FILE, question

__all__ = ["RepeatedCompiles"]

_COMPILES, _REUSE = 3, 2
_SHARE, _LONG_S = 0.5, 1.0


class RepeatedCompiles:
    """Remembers which functions have been named: one word each."""

    def __init__(self) -> None:
        self._told: set[int] = set()
        self._sites: list[Site] = []  # keeps the ids above unique

    def notice(self, function: Any) -> str | None:
        """Return what to say after a compile of ``function``, None for nothing."""
        site = site_of(function)
        if site is None or id(site) in self._told or site.file.startswith(CELL_FILE):
            return None
        compiled = [m for m in site.misses if m.compile_s]
        n = len(compiled)
        if n < 2:
            return None
        hits = sum(m.hits for m in compiled)
        seconds = sum(m.seconds for m in compiled)
        passed = max(time.perf_counter() - compiled[0].start_s, seconds, 1e-9)
        share = seconds / passed
        often = n >= _COMPILES and hits / n < _REUSE
        long = seconds > _LONG_S and share > _SHARE
        if not (often or long):
            return None
        self._told.add(id(site))
        self._sites.append(site)
        took = f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.0f} ms"
        return (
            f"jaxlite: {site.name} compiled {n} times in {n + hits} calls ({took}, {share:.0%} of "
            f"the time). See {question(function)}"
        )
