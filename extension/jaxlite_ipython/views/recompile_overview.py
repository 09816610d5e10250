"""All jitted functions by what their compiles cost. In: reports. Out: ``RecompileOverview``.

A row per function with a bar, the most expensive first; its widget has a tab per function.
"""

from __future__ import annotations

import importlib
from typing import Any

from jaxlite.diagnose.difference import CAUSES
from jaxlite.diagnose.places import place_of
from jaxlite.diagnose.why_recompiled import AllReports, Report
from jaxlite_ipython.report import milliseconds
from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.canvas import Canvas, Pen, text_width
from jaxlite_ipython.views.palette import DIM, LINE, VERMILLION
from jaxlite_ipython.views.recompile_picture import COLOURS
from jaxlite_ipython.views.recompile_view import RecompileView
from jaxlite_ipython.views.words import count, short

__all__ = ["RecompileOverview"]

_WIDTH, _MARGIN, _ROW, _HEADER = 1140.0, 16.0, 28.0, 46.0
#: Where the columns begin: function, bar, time, compiles, causes, place.
_COLUMNS = (16.0, 220.0, 470.0, 560.0, 640.0, 860.0)
_HEADS = ("function", "time", "", "compiled", "causes", "defined at")
MAX_ROWS, MAX_TABS = 40, 8


class RecompileOverview(View):
    """The compiles of several functions; ``view[0]`` is the report on the most expensive one."""

    tab = "Functions"

    def __init__(self, found: AllReports) -> None:
        super().__init__()
        self.found = found

    @property
    def reports(self) -> tuple[Report, ...]:
        """The engine's reports, the most expensive first."""
        return self.found.reports

    def __len__(self) -> int:
        return len(self.reports)

    def __getitem__(self, i: int) -> RecompileView:
        return RecompileView(self.reports[i])

    @property
    def title(self) -> str:
        """One line: how many functions, compiles and how much time."""
        n = sum(len(r.entries) for r in self.reports)
        seconds = sum(r.seconds for r in self.reports)
        return f"{count(len(self), 'function')}: {count(n, 'compile')}, {milliseconds(seconds)}"

    def explore(self, *others: View) -> None:
        """Display the overview, then a widget with a tab for each of the first functions."""
        views = [self, *(self[i] for i in range(min(len(self), MAX_TABS))), *others]
        importlib.import_module("jaxlite_ipython.views.explorer").explore(views)

    def data(self) -> dict[str, Any]:
        """Return the facts; the functions are the nodes of the widget."""
        shown = self.reports[:MAX_ROWS]
        return {
            "function": count(len(self), "function"),
            "nodes": [
                {
                    "id": f"f{k}",
                    "label": r.name,
                    "type": f"{milliseconds(r.seconds)}, {count(len(r.entries), 'compile')}",
                    "words": place_of(r.file, r.line),
                }
                for k, r in enumerate(shown)
            ],
            "details": {
                f"f{k}": [{"title": place_of(r.file, r.line), "big": r.name, "lines": [r.verdict]}]
                for k, r in enumerate(shown)
            },
        }

    def dot(self) -> str:
        """Return the finished drawing as DOT text: there is no graph to lay out."""
        self.svg()
        assert self._canvas is not None, "svg() draws"
        return self._canvas.dot()

    def _text(self) -> str:
        text = self.found.text()
        verdicts = [f"  {r.name}: {r.verdict}" for r in self.reports[:MAX_ROWS]]
        return "\n".join([self.title, text, *(["Last compiles", *verdicts] if verdicts else ())])

    def _draw(self) -> Canvas:
        canvas = Canvas(_WIDTH)
        canvas.open_part("header", 0, _HEADER)
        canvas.text((_MARGIN, 29), self.title, 15, bold=True)
        canvas.close_group()
        y = _HEADER
        for x, head in zip(_COLUMNS, _HEADS):
            canvas.text((x, y + 18), head, 12, fill=DIM)
        y += _ROW
        longest = max((r.seconds for r in self.reports), default=0.0)
        for k, report in enumerate(self.reports[:MAX_ROWS]):
            self._row(canvas, k, report, y, longest)
            y += _ROW
        if len(self) > MAX_ROWS:
            text = f"and {len(self) - MAX_ROWS} more, see the text"
            canvas.text((_MARGIN, y + 18), text, 12, fill=DIM)
            y += _ROW
        if not self.reports:
            canvas.text((_MARGIN, y + 18), self.found.text(), 12, fill=DIM)
            y += _ROW
        else:
            canvas.text((_MARGIN, y + 18), legend(self.reports), 12, fill=DIM)
            y += _ROW
        canvas.height = y + 10
        canvas.rect(0.5, 0.5, _WIDTH - 1, canvas.height - 1, Pen(stroke=LINE), 8)
        return canvas

    def _row(self, canvas: Canvas, k: int, report: Report, y: float, longest: float) -> None:
        name, bar, time, compiled, causes, place = _COLUMNS
        canvas.line((_MARGIN, y), (_WIDTH - _MARGIN, y), Pen(stroke=LINE))
        where = place_of(report.file, report.line)
        canvas.open_group(f"{self.prefix}-f{k}", "jxl-op", f"{report.name}: {report.verdict}")
        wide = 234 * report.seconds / longest if longest else 0.0
        canvas.rect(bar, y + 9, max(wide, 1.5), 11, Pen(fill=VERMILLION), 2)
        canvas.text((name, y + 19), short(report.name, 24), 12.5, bold=True, mono=True)
        canvas.text((time, y + 19), milliseconds(report.seconds), 12, mono=True)
        canvas.text((compiled, y + 19), str(len(report.entries)), 12, mono=True)
        x = causes
        for letter, n in list(report.causes.items())[:6]:
            stroke, fill = COLOURS[letter]
            text = letter if n == 1 else f"{letter}\N{MULTIPLICATION SIGN}{n}"
            size = text_width(text, 11, bold=True) + 12
            canvas.rect(x, y + 5, size, 18, Pen(fill=fill, stroke=stroke), 9)
            canvas.text((x + 6, y + 18), text, 11, bold=True, fill=stroke)
            x += size + 6
        canvas.text((place, y + 19), short(where, 42), 12, fill=DIM)
        canvas.close_group()


def legend(reports: tuple[Report, ...]) -> str:
    """Return the letters that occur, in words."""
    letters = dict.fromkeys(letter for r in reports for letter in r.causes)
    return ", ".join(f"{letter} {CAUSES[letter]}" for letter in letters)
