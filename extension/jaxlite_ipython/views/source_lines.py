"""The user's statements as lanes. In: equations with source positions. Out: which lane each is in.

A lane is a run of lines of one function that belong together: ``loss = mean(`` and its closing
bracket three lines below are one lane. Lanes come in the order in which they first did something.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from jaxlite_ipython.views.words import printable

__all__ = ["Lane", "find_lanes"]

_TARGET = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)")

#: Code inside an expression: what its line assigns is not what it computes. (At the top level of a
#: module that is the line that asked for the view.)
_INLINE = frozenset({"<module>", "<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


@dataclass(slots=True, eq=False)
class Lane:
    """Lines ``first`` to ``last`` of ``function`` in ``file``; both are 0 if there is no source."""

    file: str
    function: str
    first: int
    last: int
    text: str
    target: str = ""
    note: str = ""
    n_ops: int = 0
    flops: float = 0.0
    repeats: int = 1

    @property
    def number(self) -> str:
        """Line number as text: ``3`` or ``3-5``."""
        if not self.first:
            return ""
        dash = "\N{EN DASH}"
        return str(self.first) if self.first == self.last else f"{self.first}{dash}{self.last}"

    @property
    def where(self) -> str:
        """``line 3``, for messages."""
        if not self.first:
            return "no source line"
        return f"line{'s' if self.first != self.last else ''} {self.number}"


@dataclass(slots=True)
class _Spans:
    """The lines of one code object: the extent of each instruction, and those that were used."""

    extents: list[tuple[int, int]]
    used: set[tuple[int, int]] = field(default_factory=set)


class _Finder:
    def __init__(self) -> None:
        self.spans: dict[int, _Spans] = {}
        self.keep: list[Any] = []  # code objects whose id is a key

    def extent(self, source: Any) -> tuple[int, int]:
        """Return first and last line of the expression at ``source``."""
        code = source.code
        spans = self.spans.get(id(code))
        if spans is None:
            extents = [(p[0] or 0, p[1] or p[0] or 0) for p in code.co_positions()]
            spans = self.spans[id(code)] = _Spans(extents)
            self.keep.append(code)
        at = source.lasti // 2
        extent = spans.extents[at] if 0 <= at < len(spans.extents) else (0, 0)
        if not extent[0]:
            extent = (source.line, source.line)
        spans.used.add(extent)
        return extent


def find_lanes(sources: Iterable[Any]) -> tuple[list[Lane], list[Lane]]:
    """Return the lanes in order, and for each source position (or None) its lane."""
    finder = _Finder()
    every = list(sources)
    extents = [None if s is None else (id(s.code), *finder.extent(s)) for s in every]
    merged = {key: _merge(spans.used) for key, spans in finder.spans.items()}
    lanes: dict[Any, Lane] = {}
    result: list[Lane] = []
    for source, extent in zip(every, extents, strict=True):
        if extent is None:
            key: Any = None
        else:
            code, first, _ = extent
            key = (code, merged[code][first])
        lane = lanes.get(key)
        if lane is None:
            lane = lanes[key] = _new_lane(source, key)
        result.append(lane)
    return list(lanes.values()), result


def _merge(used: set[tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return for each first line the run of lines it is part of; overlapping runs are one."""
    table: dict[int, tuple[int, int]] = {}
    group: list[int] = []
    low = high = -1
    for first, last in sorted(used):
        if first > high:
            table.update(dict.fromkeys(group, (low, high)))
            group, low, high = [], first, last
        high = max(high, last)
        group.append(first)
    table.update(dict.fromkeys(group, (low, high)))
    return table


def _new_lane(source: Any, key: Any) -> Lane:
    if source is None:
        return Lane("", "", 0, 0, "(no source)")
    _, (first, last) = key
    lines = [linecache.getline(source.file, n) for n in range(first, min(last, first + 20) + 1)]
    text = _join([part for part in (_code_of(line) for line in lines) if part])
    found = _TARGET.match(text)
    return Lane(
        source.file,
        printable(source.function),
        first,
        last,
        printable(text) or f"line {first} of {source.function} (no source)",
        found.group(1) if found and source.function not in _INLINE else "",
    )


def _join(parts: list[str]) -> str:
    """Return several lines as one, without spaces inside brackets."""
    text = ""
    for part in parts:
        is_close = not text or text.endswith(("(", "[", "{")) or part.startswith((")", "]", "}"))
        text += part if is_close else f" {part}"
    return text


def _code_of(line: str) -> str:
    """Return a line without indentation and trailing comment (a '#' in a string stays)."""
    text = line.strip()
    head, mark, _ = text.partition("  #")
    has_string = "'" in head or '"' in head
    return head.rstrip() if mark and not has_string else text
