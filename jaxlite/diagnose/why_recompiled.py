"""The report on recompilation. In: a jitted function, or nothing for all.

Out: facts, and their text.

The records are kept always (see ``misses``), so the question can be asked after the fact. Calls are
listed only where a call log was running (see ``call_log``).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.call_log import Call, calls_of_site
from jaxlite.diagnose.causes import Explanation, explain_all, stale_static
from jaxlite.diagnose.difference import CAUSES
from jaxlite.diagnose.fixes import Fix, axis_values, fixes_for
from jaxlite.diagnose.messages import milliseconds
from jaxlite.diagnose.misses import Miss, Site, all_sites, site_of
from jaxlite.diagnose.places import jitted_behind, name_of_site
from jaxlite.language.source import place_of

__all__ = ["AllReports", "Report", "why_recompiled"]

_MAX_ROWS = 16
_MAX_VALUES = 8


@dataclass(frozen=True)
class Report:
    """Why one function was compiled more than once.

    ``entries`` are its traces with their causes, oldest first, ``calls`` the logged calls,
    ``causes`` letter -> how often, ``seconds`` of tracing and compiling, ``fixes`` the most
    valuable first, ``notes`` one sentence each.
    """

    name: str
    file: str
    line: int
    entries: tuple[Explanation, ...]
    calls: tuple[Call, ...]

    @functools.cached_property
    def fixes(self) -> tuple[Fix, ...]:
        """What would make recompiles go away."""
        return fixes_for(self.entries[0].miss.site, self.entries) if self.entries else ()

    @property
    def causes(self) -> dict[str, int]:
        """How often each cause occurred."""
        found: dict[str, int] = {}
        for e in self.entries:
            for letter in e.letters:
                found[letter] = found.get(letter, 0) + 1
        return found

    @property
    def trace_s(self) -> float:
        """Time of tracing."""
        return sum(e.miss.trace_s for e in self.entries)

    @property
    def compile_s(self) -> float:
        """Time of compiling."""
        return sum(e.miss.compile_s for e in self.entries)

    @property
    def seconds(self) -> float:
        """Time of tracing and compiling."""
        return self.trace_s + self.compile_s

    @property
    def never_reused(self) -> tuple[int, ...]:
        """Numbers of the traces that no later call has used."""
        return tuple([e.miss.number for e in self.entries if not e.miss.hits_seen])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the traces have in common, and what is stale."""
        misses = [e.miss for e in self.entries]
        found = axis_notes(misses)
        for m in misses:
            for name in stale_static(m):
                found.append(
                    f"static {name} was changed in place after trace {m.number}, which still uses "
                    "the old contents (its hash does not show the change)."
                )
        return tuple(dict.fromkeys(found))

    @property
    def verdict(self) -> str:
        """One sentence about the last trace."""
        if not self.entries:
            return f"{self.name} has not been traced yet."
        last = self.entries[-1]
        if last.nearest is None:
            return f"{self.name} compiled once, at its first call."
        number = last.miss.number
        return f"Trace {number} compiled again: {last.why} (against trace {last.nearest.number})."

    def text(self) -> str:
        """Return the whole report as plain text."""
        if not self.entries:
            return self.verdict
        lines = [self._head(), self.verdict, *self._last()]
        lines += ["Traces", *_table([_trace_row(e) for e in self.entries[-_MAX_ROWS:]])]
        if len(self.entries) > _MAX_ROWS:
            lines.append(f"  and {len(self.entries) - _MAX_ROWS} earlier ones")
        lines += self.notes
        if self.fixes:
            lines.append("Fixes")
            for i, fix in enumerate(self.fixes, 1):
                lines += [f"  {i} {line}" if not k else f"  {line}" for k, line in _numbered(fix)]
        return "\n".join(lines)

    __str__ = text
    __repr__ = text

    def _head(self) -> str:
        n = len(self.entries)
        where = f" ({place_of(self.file, self.line)})" if self.file else ""
        cost = f"trace {milliseconds(self.trace_s)}, compile {milliseconds(self.compile_s)}"
        head = f"{self.name}{where}: traced {n} time{'' if n == 1 else 's'}, "
        head += f"{milliseconds(self.seconds)} ({cost})"
        if self.calls:
            total = sum(c.seconds for c in self.calls)
            spent = sum(c.seconds for c in self.calls if not c.is_hit)
            head += f"; {len(self.calls)} calls logged, {100 * spent / total:.0f} % of their time "
            head += "in calls that compiled"
        if n > 1 and self.never_reused:
            head += f"; never reused: {', '.join(map(str, self.never_reused))}"
        return head

    def _last(self) -> list[str]:
        """Return cost, caller and the argument table of the last trace."""
        last = self.entries[-1]
        m = last.miss
        cost = f"trace {milliseconds(m.trace_s)}, compile {milliseconds(m.compile_s)}"
        lines = [f"  Cost {milliseconds(m.seconds)} ({cost}). Reused: {m.hits_text}."]
        if m.caller is not None:
            lines[0] += f" Called from {m.caller}"
        if last.nearest is not None:
            lines += _table(
                [
                    ("argument", "this call", f"trace {last.nearest.number}", "difference"),
                    *argument_rows(last),
                ]
            )
        if last.second is not None:
            why = "; ".join(map(str, last.second_causes))
            lines.append(f"  Next nearest: trace {last.second.number}, where {why}.")
        return lines


def _numbered(fix: Fix) -> list[tuple[int, str]]:
    return list(enumerate(str(fix).splitlines()))


def _trace_row(e: Explanation) -> tuple[str, ...]:
    words = ", ".join(CAUSES[letter] for letter in e.letters)
    m = e.miss
    gone = "" if m.is_cached else " (gone)"
    return (
        f"{m.number}{gone}",
        e.letters,
        words,
        milliseconds(m.seconds),
        m.hits_text,
        m.caller.short() if m.caller else "",
        m.signature,
    )


def argument_rows(e: Explanation) -> list[tuple[str, str, str, str]]:
    """Return (argument, this call, nearest, difference) for every argument, static ones last."""
    assert e.nearest is not None
    new, old = _types(e.miss), _types(e.nearest)
    by_path: dict[str, str] = {}
    for d in e.causes:
        by_path.setdefault(d.path.removeprefix("static "), CAUSES[d.cause])
    rows = [
        (n, new.get(n, "-"), old.get(n, "-"), by_path.get(n, "same"))
        for n in dict.fromkeys([*new, *old])
    ]
    # What is no argument: a container, a captured value, a setting.
    rows += [
        (d.path, d.new, d.old, CAUSES[d.cause])
        for d in e.causes
        if d.old and d.path.removeprefix("static ") not in {**new, **old}
    ]
    different = [r for r in rows if r[3] != "same" or r[1] != r[2]]
    if len(rows) > _MAX_ROWS:
        rest = len(rows) - len(different)
        rows = [*different[:_MAX_ROWS], (f"{rest} others", "", "", "same")]
    return rows


def _types(m: Miss) -> dict[str, str]:
    found = {
        n: a.str_short() + (" (Python number)" if a.weak_type else "")
        for n, a in zip(m.arg_names, m.key.avals)
    }
    for place, mark in m.key.static[1:]:
        named = isinstance(place, int) and place < len(m.parameters)
        found[m.parameters[place] if named else str(place)] = mark.text
    return found


def axis_notes(misses: Sequence[Miss]) -> list[str]:
    """Return one sentence per argument whose shape varies."""
    found = []
    for name, axes in axis_values(misses).items():
        varying = {axis: values for axis, values in axes.items() if len(values) > 1}
        for axis, values in varying.items():
            shown = ", ".join(map(str, values[:_MAX_VALUES]))
            if len(values) > _MAX_VALUES:
                shown += f", ... ({len(values)} values)"
            rest = "; the other axes never changed" if len(varying) < len(axes) else ""
            if len(varying) > 1:
                rest = ""
            found.append(f"{name} axis {axis} took values {shown}{rest}.")
    return found


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as aligned text."""
    if not rows:
        return []
    widths = [min(max(len(r[i]) for r in rows), 60) for i in range(len(rows[0]))]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows]


@dataclass(frozen=True)
class AllReports:
    """Reports of all functions of the user's, the most expensive first."""

    reports: tuple[Report, ...]

    def __len__(self) -> int:
        return len(self.reports)

    def __getitem__(self, i: int) -> Report:
        return self.reports[i]

    def text(self) -> str:
        """Return one line per function; ask for one to see its report."""
        if not self.reports:
            return "No jitted function of yours has been traced yet."
        rows = [("function", "compiled", "time", "causes", "defined at")]
        for r in self.reports:
            causes = " ".join(
                letter if n == 1 else f"{letter}x{n}" for letter, n in r.causes.items()
            )
            time = milliseconds(r.seconds)
            rows.append((r.name, str(len(r.entries)), time, causes, place_of(r.file, r.line)))
        letters = dict.fromkeys(letter for r in self.reports for letter in r.causes)
        legend = ", ".join(f"{letter} {CAUSES[letter]}" for letter in letters)
        return "\n".join([*_table(rows), f"  {legend}"])

    __str__ = text
    __repr__ = text


def why_recompiled(f: Any = None) -> Any:
    """Return why ``f`` was compiled again: what differed, what it cost, what to change.

    Args:
      f: a jitted function (or a method of one); without it, all functions of the user's.

    Returns:
      A ``Report`` (``AllReports`` without ``f``). ``print`` it, or use its fields: ``entries``,
      ``causes``, ``seconds``, ``calls``, ``fixes``, ``notes``.

    Raises:
      TypeError: ``f`` is not a jitted function.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> f = jax.jit(lambda x: x * 2.0)
    >>> for n in (4, 8, 16):
    ...     _ = f(jnp.ones(n))
    >>> report = why_recompiled(f)
    >>> report.causes, report.verdict
    ({'1': 1, 'S': 2}, 'Trace 3 compiled again: x is f32[16], was f32[8] (against trace 2).')
    >>> report.notes
    ('x axis 0 took values 4, 8, 16.',)
    """
    if f is None:
        return AllReports(tuple([report_of(s) for s in all_sites() if s.is_user and s.misses]))
    function = jitted_behind(f)
    if function is None:
        raise TypeError(
            f"why_recompiled expects a jitted function, got {f!r}\n"
            "  Fix: pass what jit returned, f = jit(f)."
        )
    site = site_of(function)
    if site is None:
        name = getattr(function.__wrapped__, "__name__", type(function.__wrapped__).__name__)
        return Report(name, "", 0, (), ())
    return report_of(site)


def report_of(site: Site) -> Report:
    """Return the report on one site."""
    explained = tuple(explain_all(list(site.misses)))
    return Report(name_of_site(site), site.file, site.line, explained, tuple(calls_of_site(site)))
