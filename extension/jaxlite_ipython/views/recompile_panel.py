"""What the widget of the recompilation explorer shows. In: a report. Out: fields and tables.

Per compile its verdict and its arguments against the nearest entry; beside it the fixes, each with
a Copy button, and the guards that keep a function fixed; below it the cache and the call sites.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.causes import Explanation
from jaxlite.diagnose.difference import CAUSES
from jaxlite.diagnose.fixes import Fix
from jaxlite.diagnose.places import name_in_code, title_of
from jaxlite.diagnose.why_recompiled import Report, argument_rows
from jaxlite_ipython.report import milliseconds
from jaxlite_ipython.views.contract import Field

__all__ = [
    "call_sites",
    "changed_lines",
    "compile_fields",
    "differing_parts",
    "keep_fixed",
    "panel",
    "tables",
]

_PARTS = re.compile(r"\d+(?:\.\d+)?|\w+|\W")
MAX_SITES = 12


def differing_parts(text: str, other: str) -> list[tuple[str, bool]]:
    """Return ``text`` in parts, each with whether ``other`` has another part there."""
    parts, others = _PARTS.findall(text), _PARTS.findall(other)
    if len(parts) != len(others):
        return [(text, True)]
    return [(part, part != old) for part, old in zip(parts, others)]


def compile_fields(e: Explanation, call: int | None) -> list[Field]:
    """Return the fields of one compile; ``call`` is the number of its call in the log."""
    m = e.miss
    cost = f"Cost {milliseconds(m.seconds)} (trace {milliseconds(m.trace_s)}, "
    cost += f"compile {milliseconds(m.compile_s)}). Reused: {m.hits_text}."
    again = "compiled again: " if e.nearest is not None else "compiled: "
    who = f"Call {call}" if call else f"Trace {m.number}"
    verdict: Field = {
        "title": ", ".join(CAUSES[letter] for letter in e.letters),
        "big": f"{who} {again}{e.why}",
        "lines": [cost, f"Called from {m.caller}" if m.caller else ""],
        "tone": "verdict",
    }
    cell = re.search(r"\d+", title_of(m.caller.file)) if m.caller else None
    if cell:
        verdict["cell"] = int(cell[0])
    if e.nearest is None:
        return [verdict]
    rows = argument_rows(e)
    equal = sum(r[3] == "same" for r in rows)
    number = e.nearest.number
    table: list[list[Any]] = [["argument", "this call", f"trace {number}", "difference"]]
    table += [[n, _marked(new, old), _marked(old, new), why] for n, new, old, why in rows]
    changed: Field = {
        "title": f"What changed, against trace {number}: {equal} of {len(rows)} arguments equal",
        "rows": table,
    }
    if e.second is not None:
        why = "; ".join(map(str, e.second_causes))
        changed["lines"] = [f"Next nearest: trace {e.second.number}, where {why}."]
    return [verdict, changed]


def _marked(text: str, other: str) -> list[str]:
    """Return text with every second part boxed by the widget."""
    found: list[str] = [""]
    for part, differs in differing_parts(text, other):
        if differs == (len(found) % 2 == 1):
            found.append("")
        found[-1] += part
    return found


def changed_lines(fix: Fix) -> list[str]:
    """Return the lines of a diff that go and come."""
    return [line for line in fix.diff.splitlines()[2:] if line[:1] in "+-"]


def keep_fixed(report: Report) -> list[str]:
    """Return code that raises instead of compiling again, for functions that have a name."""
    function = report.entries[0].miss.site.function if report.entries else None
    jitted = function() if function is not None else None
    name = name_in_code(jitted.__wrapped__) if jitted is not None else ""
    if not name or not report.name.isidentifier():
        return []
    call = report.entries[-1].miss.caller if report.entries else None
    inside = call.text if call is not None and call.text else f"{name}(...)"
    best = {letter for fix in report.fixes for letter in fix.cause}
    left = sum(not set(e.letters) <= best for e in report.entries)
    return [
        f"with jaxlite.no_recompile({name}):",
        f"    {inside}",
        f"@jaxlite.jit(max_traces={max(left, 1)})  # an error on the next trace",
    ]


def panel(report: Report) -> list[Field]:
    """Return the fields beside each compile: fixes, most valuable first, and guards."""
    fields: list[Field] = []
    for k, fix in enumerate(report.fixes, 1):
        saved = f"\N{MINUS SIGN}{milliseconds(fix.saves_ms / 1e3)}"
        field: Field = {"title": "fix", "big": f"{k} {fix.title}", "badge": saved}
        lines = changed_lines(fix)
        if lines:
            code = textwrap.dedent("\n".join(line[1:] for line in lines)).splitlines()
            field["code"] = [f"{line[0]} {text}" for line, text in zip(lines, code)]
            field["tone"] = "diff"
            field["copy"] = "\n".join(line[1:] for line in lines if line[0] == "+")
        fields.append(field)
    if not fields:
        fields.append({"title": "fix", "big": "Nothing to fix"})
    guards = keep_fixed(report)
    if guards:
        keep: Field = {"title": "raises instead of compiling", "big": "Keep it fixed"}
        fields.append({**keep, "code": guards, "copy": "\n".join(guards)})
    return fields


@dataclass(slots=True)
class CallSite:
    """One line of the user's that calls the function."""

    place: str
    text: str
    calls: int = 0
    compiles: int = 0
    seconds: float = 0.0

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """The facts as text."""
        numbers = str(self.calls), str(self.compiles), milliseconds(self.seconds)
        return (self.place, *numbers, self.text)


def call_sites(report: Report) -> Sequence[CallSite]:
    """Return the lines that called, the most expensive first (empty without a log of calls)."""
    found: dict[str, CallSite] = {}
    for call in report.calls:
        place = call.caller.short() if call.caller else "unknown"
        text = call.caller.text if call.caller else ""
        site = found.setdefault(place, CallSite(place, text))
        site.calls += 1
        site.compiles += not call.is_hit
        site.seconds += call.seconds
    return sorted(found.values(), key=lambda s: -s.seconds)[:MAX_SITES]


def tables(report: Report) -> list[dict[str, Any]]:
    """Return the cache and the call sites as tables."""
    cache = [
        (
            f"#{e.miss.number}{'' if e.miss.is_cached else ' (gone)'}",
            e.miss.signature,
            e.miss.hits_text.split()[0],
            milliseconds(e.miss.seconds),
            " and ".join(CAUSES[letter] for letter in e.letters),
        )
        for e in report.entries
    ]
    head = ["trace", "signature", "hits", "cost", "compiled because"]
    found: list[dict[str, Any]] = [{"title": "Cache", "head": head, "rows": cache, "open": True}]
    sites = call_sites(report)
    if sites:
        head = ["called from", "calls", "compiles", "time", "line"]
        found.append({"title": "Call sites", "head": head, "rows": [s.row for s in sites]})
    return found if report.entries else []
