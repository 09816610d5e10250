"""The drawing of the recompilation explorer. In: a report and its figures. Out: a ``Canvas``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from jaxlite.diagnose.causes import Explanation
from jaxlite.diagnose.difference import CAUSES
from jaxlite.diagnose.fixes import Fix
from jaxlite.diagnose.places import place_of
from jaxlite.diagnose.why_recompiled import Report, argument_rows
from jaxlite_ipython.report import milliseconds
from jaxlite_ipython.views.canvas import Canvas, Pen, text_width
from jaxlite_ipython.views.palette import (
    BLUE,
    BLUE_FILL,
    DIM,
    EDGE,
    GREEN,
    GREEN_FILL,
    GREY_FILL,
    INK,
    LINE,
    ORANGE,
    ORANGE_FILL,
    PAPER,
    PURPLE,
    PURPLE_FILL,
    SOFT,
    VERMILLION,
    VERMILLION_FILL,
)
from jaxlite_ipython.views.recompile_panel import changed_lines, differing_parts, keep_fixed
from jaxlite_ipython.views.words import short, wrap

__all__ = ["Figure", "draw_report"]

WIDTH, LEFT, MARGIN = 1140.0, 640.0, 16.0
HEADER, STRIP, TIMELINE = 46.0, 62.0, 190.0
ROW = 24.0
MAX_ROWS, MAX_FIXES, MAX_DIFF = 12, 4, 8
#: Colour and fill per letter; the letter itself is always drawn too.
COLOURS = {
    "1": (BLUE, BLUE_FILL),
    "S": (ORANGE, ORANGE_FILL),
    "D": (PURPLE, PURPLE_FILL),
    "W": (PURPLE, PURPLE_FILL),
    "T": (ORANGE, ORANGE_FILL),
    "V": (VERMILLION, VERMILLION_FILL),
    "F": (VERMILLION, VERMILLION_FILL),
    "G": (GREEN, GREEN_FILL),
    "C": (BLUE, BLUE_FILL),
    "X": (INK, GREY_FILL),
}
_RULE = Pen(stroke=LINE)


class Figure(NamedTuple):
    """A headline and what it means."""

    head: str
    text: str


def draw_report(report: Report, figures: Sequence[Figure], prefix: str) -> Canvas:
    """Return the picture of one function's compiles."""
    canvas = Canvas(WIDTH)
    _header(canvas, report, figures)
    y = HEADER + STRIP
    if report.entries:
        _timeline(canvas, report, prefix, y)
        y += TIMELINE
        # The widget has the rest as text that can be selected and copied.
        canvas.open_part("report", y, 0)
        canvas.line((0, y), (WIDTH, y), _RULE)
        left = _verdict(canvas, report, y + 14)
        left = _arguments(canvas, report.entries[-1], left + 12)
        left = _cache(canvas, report, left + 16)
        right = _keep_fixed(canvas, report, _fixes(canvas, report.fixes, y + 14))
        bottom = max(left, right) + 10
        canvas.line((LEFT, y), (LEFT, bottom), _RULE)
        canvas.close_group()
        y = bottom
    canvas.height = y + 8
    canvas.rect(0.5, 0.5, WIDTH - 1, canvas.height - 1, _RULE, 8)
    return canvas


def _header(canvas: Canvas, report: Report, figures: Sequence[Figure]) -> None:
    canvas.open_part("header", 0, HEADER)
    canvas.text((MARGIN, 29), short(report.name, 60), 15, bold=True)
    x = MARGIN + text_width(short(report.name, 60), 15, bold=True) + 14
    where = f"defined in {place_of(report.file, report.line)}" if report.file else "not traced yet"
    canvas.text((x, 29), short(where, 100), 12.5, fill=DIM)
    canvas.close_group()
    canvas.open_part("figures", HEADER, STRIP)
    canvas.line((0, HEADER), (WIDTH, HEADER), _RULE)
    wide = WIDTH / len(figures)
    for k, figure in enumerate(figures):
        if k:
            canvas.line((k * wide, HEADER), (k * wide, HEADER + STRIP), _RULE)
        fill = VERMILLION if k == 1 else INK
        canvas.text((k * wide + MARGIN, HEADER + 26), figure.head, 16.5, bold=True, fill=fill)
        canvas.text((k * wide + MARGIN, HEADER + 47), short(figure.text, 48), 12, fill=DIM)
    canvas.line((0, HEADER + STRIP), (WIDTH, HEADER + STRIP), _RULE)
    canvas.close_group()


class _Bar(NamedTuple):
    """One call, or one compile where calls were not logged."""

    ms: float
    trace: int
    is_hit: bool


def _bars(report: Report) -> list[_Bar]:
    if report.calls:
        return [_Bar(1e3 * c.seconds, c.trace, c.is_hit) for c in report.calls]
    return [_Bar(1e3 * e.miss.seconds, e.miss.number, False) for e in report.entries]


def _timeline(canvas: Canvas, report: Report, prefix: str, y: float) -> None:
    """Draw every call in log ms; those that compiled are tall and carry their letters."""
    bars = _bars(report)
    what = "Every call, left to right. Tall bars compiled."
    canvas.text(
        (MARGIN, y + 23),
        what if report.calls else "Every compile (calls were not logged).",
        12,
        fill=DIM,
    )
    _legend(canvas, report, y)
    low = math.floor(math.log10(max(min(b.ms for b in bars), 1e-3)))
    high = max(math.ceil(math.log10(max(b.ms for b in bars) + 1e-9)), low + 1)
    top, bottom, x0 = y + 70, y + TIMELINE - 28, 84.0
    step = (bottom - top) / (high - low)
    for power in range(low, high + 1):
        at = bottom - (power - low) * step
        canvas.line((x0 - 4, at), (WIDTH - MARGIN, at), Pen(stroke=EDGE if power == low else LINE))
        canvas.text((x0 - 10, at + 4), f"{10.0**power:g} ms", 11, fill=DIM, mono=True, anchor="end")
    pitch = (WIDTH - MARGIN - x0) / len(bars)
    explained = {e.miss.number: e for e in report.entries}
    drawn: set[int] = set()
    last_label = -1e9
    for k, bar in enumerate(bars):
        tall = step * (math.log10(max(bar.ms, 10.0**low)) - low)
        x, w = x0 + k * pitch, max(min(pitch * 0.7, 9.0), 0.8)
        e = explained.get(bar.trace)
        if bar.is_hit or e is None or bar.trace in drawn:
            canvas.rect(x, bottom - max(tall, 1.5), w, max(tall, 1.5), Pen(fill=EDGE))
            continue
        drawn.add(bar.trace)
        canvas.open_group(f"{prefix}-t{bar.trace}", "jxl-op", f"call {k + 1}: {e.why}")
        stroke, fill = COLOURS[e.letters[0]]
        w = max(w, 5.0)
        is_last = e is report.entries[-1]
        wide = 16.0 + 8 * len(e.letters)
        pen = Pen(fill=fill, stroke=INK if is_last else stroke, width=2.4 if is_last else 1.6)
        # The mark first: the widget draws its ring around it.
        canvas.rect(x + w / 2 - wide / 2, bottom - tall - 25, wide, 22, pen, 11)
        canvas.rect(x, bottom - tall, w, tall, Pen(fill=stroke))
        middle = (x + w / 2, bottom - tall - 10)
        canvas.text(middle, e.letters, 11, bold=True, fill=stroke, anchor="middle")
        if x - last_label > 26:
            canvas.text(
                (x + w / 2, bottom + 17), str(k + 1), 11, fill=DIM, mono=True, anchor="middle"
            )
            last_label = x
        canvas.close_group()
    for number in explained.keys() - drawn:  # its call is no longer in the log
        canvas.open_group(f"{prefix}-t{number}", "jxl-op", explained[number].why)
        canvas.close_group()


def _legend(canvas: Canvas, report: Report, y: float) -> None:
    x = WIDTH - MARGIN
    for letter in reversed([c for c in CAUSES if c in report.causes]):
        stroke, fill = COLOURS[letter]
        text = f"{letter} {CAUSES[letter]}"
        wide = text_width(text, 11, bold=True) + 18
        x -= wide
        canvas.rect(x, y + 8, wide, 20, Pen(fill=fill), 10)
        canvas.text((x + 9, y + 22), text, 11, bold=True, fill=stroke)
        x -= 8


def _verdict(canvas: Canvas, report: Report, y: float) -> float:
    """Draw the sentence with cost, reuse and caller; return where it ends."""
    m = report.entries[-1].miss
    cost = f"Cost {milliseconds(m.seconds)} (trace {milliseconds(m.trace_s)}, "
    cost += f"compile {milliseconds(m.compile_s)}). Reused: {m.hits_text}."
    head = wrap(report.verdict, 82, 3)
    where = [short(f"Called from {m.caller}", 100)] if m.caller else []
    tall = 18 + 19 * len(head) + 18 * (1 + len(where))
    canvas.rect(MARGIN, y, LEFT - 2 * MARGIN, tall, Pen(fill=ORANGE_FILL), 4)
    canvas.rect(MARGIN, y, 4, tall, Pen(fill=ORANGE))
    at = y + 22
    for line in head:
        canvas.text((MARGIN + 16, at), line, 14, bold=True)
        at += 19
    for line in (cost, *where):
        canvas.text((MARGIN + 16, at), line, 12, fill=DIM)
        at += 18
    return y + tall


def _arguments(canvas: Canvas, e: Explanation, y: float) -> float:
    """Draw the arguments against the nearest entry, differing parts boxed."""
    if e.nearest is None:
        return y
    rows = argument_rows(e)
    equal = sum(r[3] == "same" for r in rows)
    canvas.text((MARGIN, y + 12), "What changed", 13, bold=True)
    note = f"this call against trace {e.nearest.number} ({equal} of {len(rows)} arguments equal)"
    canvas.text((MARGIN + 100, y + 12), note, 12, fill=DIM)
    places = (MARGIN + 8, MARGIN + 150, MARGIN + 310, MARGIN + 470)
    y += 22
    heads = ("argument", "this call", f"trace {e.nearest.number}", "difference")
    for x, head in zip(places, heads):
        canvas.text((x, y + 16), head, 12, fill=DIM)
    y += ROW
    shown = [r for r in rows if r[3] != "same"]
    shown += [r for r in rows if r[3] == "same"][: max(MAX_ROWS - len(shown), 0)]
    for row in [r for r in rows if r in shown]:
        name, new, old, why = row
        canvas.line((MARGIN, y), (LEFT - MARGIN, y), _RULE)
        if why != "same":
            canvas.rect(MARGIN, y, LEFT - 2 * MARGIN, ROW, Pen(fill=SOFT))
        canvas.text((places[0], y + 16), short(name, 18), 11.5, mono=True)
        _boxed(canvas, places[1], y, short(new, 21), short(old, 21))
        _boxed(canvas, places[2], y, short(old, 21), short(new, 21))
        canvas.text((places[3], y + 16), why, 12, bold=why != "same")
        y += ROW
    if e.second is not None:
        why = "; ".join(map(str, e.second_causes))
        for line in wrap(f"Next nearest: trace {e.second.number}, where {why}.", 100, 2):
            canvas.text((MARGIN + 8, y + 16), line, 12, fill=DIM)
            y += 18
    return y


def _boxed(canvas: Canvas, x: float, y: float, text: str, other: str) -> None:
    """Write ``text`` with a box around each part in which it differs from ``other``."""
    for part, differs in differing_parts(text, other):
        wide = text_width(part, 11.5, mono=True)
        if differs:
            pen = Pen(fill=ORANGE_FILL, stroke=ORANGE)
            canvas.rect(x - 2, y + 4, wide + 4, ROW - 8, pen, 4)
        fill = ORANGE if differs else INK
        canvas.text((x, y + 16), part, 11.5, mono=True, bold=differs, fill=fill)
        x += wide + (3 if differs else 0)


def _cache(canvas: Canvas, report: Report, y: float) -> float:
    """Draw one row per trace."""
    canvas.text((MARGIN, y + 12), "Cache", 13, bold=True)
    y += 20
    entries = report.entries[-MAX_ROWS:]
    places = (MARGIN + 8, MARGIN + 42, MARGIN + 412, MARGIN + 472, MARGIN + 484)
    for x, head, anchor in zip(
        places[1:],
        ("signature", "hits", "cost", "compiled because"),
        ("start", "end", "end", "start"),
    ):
        canvas.text((x, y + 16), head, 12, fill=DIM, anchor=anchor)
    y += ROW
    signatures = _signatures(entries)
    for e, signature in zip(entries, signatures, strict=True):
        m = e.miss
        canvas.line((MARGIN, y), (LEFT - MARGIN, y), _RULE)
        if e is entries[-1]:
            canvas.rect(MARGIN, y, LEFT - 2 * MARGIN, ROW, Pen(fill=SOFT))
        canvas.text((places[0], y + 16), f"#{m.number}", 11.5, mono=True, bold=True)
        canvas.text((places[1], y + 16), short(signature, 46), 11, mono=True)
        hits = m.hits_text.split()[0]
        canvas.text((places[2], y + 16), hits, 11.5, mono=True, anchor="end")
        cost = milliseconds(m.seconds)
        canvas.text((places[3], y + 16), cost, 11.5, mono=True, anchor="end")
        why = " and ".join(CAUSES[letter] for letter in e.letters)
        canvas.text((places[4], y + 16), short(why, 22), 12)
        y += ROW
    if len(report.entries) > MAX_ROWS:
        more = f"and {len(report.entries) - MAX_ROWS} earlier ones"
        canvas.text((MARGIN + 8, y + 16), more, 12, fill=DIM)
        y += ROW
    for note in report.notes:
        for line in wrap(note, 100, 2):
            canvas.text((MARGIN + 8, y + 16), line, 12, fill=DIM)
            y += 18
    return y


def _signatures(entries: Sequence[Explanation]) -> list[str]:
    """Return the signatures without the arguments that are alike in all entries."""
    parts = [e.miss.signature_parts for e in entries]
    alike = set(parts[0]).intersection(*parts) if len(parts) > 1 else set()
    varying = [[p for p in row if p not in alike] for row in parts]
    some = any(varying)
    return [", ".join(v if some else row) or "no arguments" for v, row in zip(varying, parts)]


def _fixes(canvas: Canvas, fixes: Sequence[Fix], y: float) -> float:
    """Draw the fixes as diffs, and the guards that keep them."""
    x, wide = LEFT + MARGIN, WIDTH - LEFT - 2 * MARGIN
    canvas.text((x, y + 14), "Fix" if fixes else "Nothing to fix", 13, bold=True)
    if fixes:
        canvas.text((x + 32, y + 14), "the most valuable first", 12, fill=DIM)
    y += 24
    for k, fix in enumerate(fixes[:MAX_FIXES], 1):
        diff = changed_lines(fix)
        title = wrap(f"{k} {fix.title}", 52, 3)
        tall = 14 + 18 * len(title) + (10 + 17 * len(diff[:MAX_DIFF]) if diff else 0)
        pen = Pen(fill=PAPER, stroke=BLUE if k == 1 else LINE, width=1.8 if k == 1 else 1)
        canvas.rect(x, y, wide, tall, pen, 6)
        at = y + 22
        for line in title:
            canvas.text((x + 12, at), line, 12.5, bold=True)
            at += 18
        saved = f"\N{MINUS SIGN}{milliseconds(fix.saves_ms / 1e3)}"
        badge = text_width(saved, 11.5, bold=True) + 18
        canvas.rect(x + wide - badge - 10, y + 8, badge, 20, Pen(fill=GREEN_FILL), 10)
        canvas.text((x + wide - badge - 1, y + 22), saved, 11.5, bold=True, fill=GREEN)
        if diff:
            canvas.rect(x + 1, at - 10, wide - 2, y + tall - at + 9, Pen(fill=SOFT), 5)
        for line in diff[:MAX_DIFF]:
            fill = GREEN if line[0] == "+" else VERMILLION
            text = f"{line[0]} {line[1:].strip()}"
            canvas.text((x + 12, at + 8), short(text, 62), 11.5, mono=True, fill=fill)
            at += 17
        y += tall + 10
    if len(fixes) > MAX_FIXES:
        canvas.text((x, y + 12), f"and {len(fixes) - MAX_FIXES} more, see the text", 12, fill=DIM)
        y += 20
    return y


def _keep_fixed(canvas: Canvas, report: Report, y: float) -> float:
    """Draw the guards that raise instead of compiling; return where they end."""
    code = keep_fixed(report)
    if not code:
        return y
    x, wide = LEFT + MARGIN, WIDTH - LEFT - 2 * MARGIN
    canvas.text((x, y + 16), "Keep it fixed", 13, bold=True)
    canvas.text((x + 96, y + 16), "raises instead of compiling", 12, fill=DIM)
    canvas.rect(x, y + 26, wide, 14 + 17 * len(code), Pen(fill=SOFT, stroke=LINE), 6)
    for k, line in enumerate(code):
        canvas.text((x + 12, y + 45 + 17 * k), short(line, 64), 11.5, mono=True)
    return y + 44 + 17 * len(code)
