"""The recompilation explorer. In: the engine's report on one function. Out: ``RecompileView``.

Figures, every call on a time axis, the last compile against the nearest earlier one, the cache, and
fixes as diffs. ``recompile_picture`` draws it.
"""

from __future__ import annotations

from typing import Any

from jaxlite.diagnose.call_log import Call
from jaxlite.diagnose.causes import Explanation
from jaxlite.diagnose.fixes import Fix
from jaxlite.diagnose.why_recompiled import Report, report_of
from jaxlite_ipython.report import milliseconds
from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.canvas import Canvas
from jaxlite_ipython.views.recompile_panel import (
    call_sites,
    compile_fields,
    keep_fixed,
    panel,
    tables,
)
from jaxlite_ipython.views.recompile_picture import Figure, draw_report
from jaxlite_ipython.views.words import columns, count

__all__ = ["RecompileView"]


class RecompileView(View):
    """Why one function compiled again; ``report`` has the facts as the engine gives them."""

    tab = "Recompiles"

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report
        self._seen: Any = None

    @property
    def title(self) -> str:
        """One line: the function and how often it compiled."""
        n = len(self.report.entries)
        return f"{self.report.name}: {count(n, 'compile')}, {milliseconds(self.report.seconds)}"

    @property
    def entries(self) -> tuple[Explanation, ...]:
        """The traces with their causes, oldest first."""
        return self.report.entries

    @property
    def calls(self) -> tuple[Call, ...]:
        """The logged calls."""
        return self.report.calls

    @property
    def causes(self) -> dict[str, int]:
        """How often each cause occurred."""
        return self.report.causes

    @property
    def fixes(self) -> tuple[Fix, ...]:
        """What would make recompiles go away, the most valuable first."""
        return self.report.fixes

    @property
    def notes(self) -> tuple[str, ...]:
        """What the traces have in common, and what is stale."""
        return self.report.notes

    @property
    def seconds(self) -> float:
        """Time of tracing and compiling."""
        return self.report.seconds

    @property
    def verdict(self) -> str:
        """One sentence about the last trace."""
        return self.report.verdict

    @property
    def never_reused(self) -> tuple[int, ...]:
        """Numbers of the traces that no later call has used."""
        return self.report.never_reused

    @property
    def figures(self) -> list[Figure]:
        """The four figures on top: a headline and what it means."""
        r = self.report
        n_calls = len(r.calls)
        compiling = sum(e.miss.seconds for e in r.entries)
        total = sum(c.seconds for c in r.calls)
        logged = f"in {count(n_calls, 'logged call')}" if n_calls else "calls were not logged"
        held = sum(e.miss.is_cached for e in r.entries)
        share = (
            f"{100 * sum(c.seconds for c in r.calls if not c.is_hit) / total:.0f} % of the "
            f"{milliseconds(total)} in logged calls"
            if total
            else f"tracing {milliseconds(r.trace_s)}"
        )
        best = {f.cause: f.saves_ms for f in reversed(r.fixes)}
        saved = f"would save {milliseconds(sum(best.values()) / 1e3)}" if best else "nothing to do"
        unused = ", ".join(f"#{n}" for n in r.never_reused)
        return [
            Figure(count(len(r.entries), "compile"), f"{logged}; cache holds {held}"),
            Figure(f"{milliseconds(compiling)} compiling", share),
            Figure(f"{count(len(best), 'cause')} you can fix", saved),
            Figure(f"never reused: {len(r.never_reused)}", f"traces {unused}" if unused else ""),
        ]

    def data(self) -> dict[str, Any]:
        """Return the facts; the compiles are the nodes of the widget."""
        r = self.report
        calls = {c.trace: k for k, c in reversed([*enumerate(r.calls, 1)]) if not c.is_hit}
        return {
            "function": r.name,
            "file": r.file,
            "line": r.line,
            "figures": [[f.head, f.text] for f in self.figures],
            "nodes": [
                {
                    "id": f"t{e.miss.number}",
                    "label": f"trace {e.miss.number} {e.letters}",
                    "type": e.miss.signature,
                    "line": e.miss.caller.line if e.miss.caller else None,
                    "words": e.why,
                }
                for e in r.entries
            ],
            "details": {
                f"t{e.miss.number}": compile_fields(e, calls.get(e.miss.number)) for e in r.entries
            },
            "panel": panel(r),
            "tables": tables(r),
            "actions": [{"key": "l", "title": "Live", "on": self.is_live}] if r.entries else [],
            "selected": f"t{r.entries[-1].miss.number}" if r.entries else None,
            "calls": [{"ms": 1e3 * c.seconds, "trace": c.trace, "hit": c.is_hit} for c in r.calls],
            "fixes": [
                {"cause": f.cause, "title": f.title, "saves_ms": f.saves_ms, "diff": f.diff}
                for f in r.fixes
            ],
            "notes": list(r.notes),
        }

    def dot(self) -> str:
        """Return the finished drawing as DOT text: there is no graph to lay out."""
        self.svg()
        assert self._canvas is not None, "svg() draws"
        return self._canvas.dot()

    def _text(self) -> str:
        if not self.report.entries:
            return self.report.text()
        lines = [" \N{MIDDLE DOT} ".join(part for part in f if part) for f in self.figures]
        keep = keep_fixed(self.report)
        guards = ["Keep it fixed (raises instead of compiling)", *(f"  {x}" for x in keep)]
        parts = [self.report.text(), *(guards if keep else ())]
        parts += ["Figures", *(f"  {x}" for x in lines), *self._timeline()]
        return "\n".join([*parts, *self._sites()])

    def _sites(self) -> list[str]:
        """Return the lines that called."""
        rows = [site.row for site in call_sites(self.report)]
        if not rows:
            return []
        head = ("called from", "calls", "compiles", "time", "line")
        return ["Call sites", *columns([head, *rows]).splitlines()]

    def _timeline(self) -> list[str]:
        """Return the calls that compiled, and how long the others took."""
        calls = self.report.calls
        if not calls:
            return []
        letters = {e.miss.number: e.letters for e in self.report.entries}
        rows = [
            (f"call {k}", letters.get(c.trace, "?"), milliseconds(c.seconds), f"trace {c.trace}")
            for k, c in enumerate(calls, 1)
            if not c.is_hit
        ]
        lines = ["Calls that compiled", *columns(rows).splitlines()] if rows else []
        hits = sorted(c.seconds for c in calls if c.is_hit)
        if hits:
            span = f"{milliseconds(hits[0])} to {milliseconds(hits[-1])}"
            other = "other call" if rows else "call"
            lines.append(f"  {count(len(hits), other)} reused a trace, {span} each")
        return lines

    # --- following a running loop ---

    def act(self, key: str) -> None:
        """Follow the function (``l``), or stop."""
        if key == "l":
            self.is_live = not self.is_live
            self.refresh()

    def refresh(self) -> bool:
        """Take in what has happened since; False if nothing has."""
        site = self.report.entries[0].miss.site
        seen = site.n_misses, len(site.calls), site.calls[-1] if site.calls else None
        if seen == self._seen:
            return False
        self._seen, self.report = seen, report_of(site)
        self._canvas, self._has_png = None, False
        return True

    def _draw(self) -> Canvas:
        return draw_report(self.report, self.figures, self.prefix)
