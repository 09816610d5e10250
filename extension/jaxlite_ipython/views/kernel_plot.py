"""The roofline: what each kernel reaches of what the machine can. In: cards. Out: a drawn band.

Both axes are logarithmic. Left of the corner memory is the limit, right of it arithmetic; a dashed
line goes from each kernel to its limit. Every number is written at the right, and in the text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxlite.diagnose.machine import Machine
from jaxlite_ipython.views.canvas import Canvas, Pen, Point, text_width
from jaxlite_ipython.views.kernel_data import Card
from jaxlite_ipython.views.kernel_speed import Speed, limit_words, rate_words, speed_of
from jaxlite_ipython.views.palette import DIM, EDGE, FAMILIES, INK, LINE, PAPER, SOFT
from jaxlite_ipython.views.words import count, rate_text, short

__all__ = ["BAND", "draw_roofline", "machine_rows", "measured_cards"]

#: Height of the band.
BAND = 292.0
#: Kernels that are drawn and listed; the ones that take longest.
MAX_SHOWN = 10
X0, X1 = 74.0, 600.0
_LIST = 640.0


def measured_cards(cards: Sequence[Card], machine: Machine | None) -> list[tuple[Card, Speed]]:
    """Return the kernels that have a place beside the machine's limits, in the order they run."""
    speeds = [(card, speed_of(card, machine)) for card in cards]
    return [(card, speed) for card, speed in speeds if speed is not None]


def machine_rows(machine: Machine) -> list[tuple[str, str, str]]:
    """Return the limits in words: name, figure, how it was measured."""
    return [
        ("memory", rate_text(machine.copy_bytes_s, "B/s"), "copying 32 MiB"),
        ("arithmetic", rate_text(machine.flops_s, "FLOP/s"), "float32 matrix product"),
        ("balance", f"{machine.balance:.1f} FLOP/B", "below it memory is the limit"),
    ]


@dataclass(frozen=True, slots=True)
class _Axes:
    """Decades of both axes, and where they are drawn."""

    left: int
    right: int
    low: int
    high: int
    top: float
    bottom: float

    def at(self, intensity: float, rate: float) -> Point:
        """Return the place of a point, kept inside the axes."""
        x = (math.log10(max(intensity, 1e-12)) - self.left) / (self.right - self.left)
        y = (math.log10(max(rate, 1e-12)) - self.low) / (self.high - self.low)
        x, y = min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)
        return X0 + (X1 - X0) * x, self.bottom - (self.bottom - self.top) * y


def draw_roofline(
    canvas: Canvas, cards: Sequence[Card], machine: Machine, y: float, width: float
) -> float:
    """Draw the band from ``y`` on; return its end."""
    measured = measured_cards(cards, machine)
    longest = sorted(measured, key=lambda c: -(c[0].seconds or 0))[:MAX_SHOWN]
    shown = [pair for pair in measured if pair in longest]
    canvas.open_part("plot", y, BAND)
    canvas.rect(1, y, width - 2, BAND, Pen(PAPER))
    canvas.line((1, y), (width - 1, y), Pen("none", LINE))
    canvas.text((16, y + 25), "Roofline", 13, bold=True)
    canvas.text((84, y + 25), "dashed: what a kernel leaves on the table", 12, fill=DIM)
    counted = [(card, speed) for card, speed in shown if speed.flops_s]
    axes = _axes(counted, machine, y + 56, y + BAND - 46)
    _draw_axes(canvas, axes, machine)
    taken: list[tuple[float, float, float, float]] = []
    for k, (card, speed) in enumerate(counted):
        _draw_kernel(canvas, axes, card, speed, k, taken)
    _draw_list(canvas, shown, len(measured) - len(shown), machine, y)
    canvas.close_group()
    return y + BAND


def _axes(
    counted: Sequence[tuple[Card, Speed]], machine: Machine, top: float, bottom: float
) -> _Axes:
    intensities = [s.intensity for _, s in counted] + [machine.balance]
    rates = [s.flops_s for _, s in counted] + [machine.flops_s]
    left = min(math.floor(math.log10(min(intensities)) - 0.2), -1)
    right = max(math.ceil(math.log10(max(intensities)) + 0.2), 2)
    low = math.floor(math.log10(min(rates)) - 0.1)
    high = math.ceil(math.log10(max(rates)) + 0.1)
    return _Axes(left, right, low, max(high, low + 2), top, bottom)


def _draw_axes(canvas: Canvas, axes: _Axes, machine: Machine) -> None:
    """Draw decades and the roof."""
    corner = axes.at(machine.balance, machine.flops_s)
    start = 10.0**axes.left
    begin_rate = start * machine.copy_bytes_s
    if begin_rate < 10.0**axes.low:  # the roof comes in from below
        start = 10.0**axes.low / machine.copy_bytes_s
        begin_rate = 10.0**axes.low
    begin, end = axes.at(start, begin_rate), (X1, corner[1])
    under = [begin, corner, end, (X1, axes.bottom), (begin[0], axes.bottom)]
    canvas.polygon(under, Pen(SOFT))
    for k in range(axes.left, axes.right + 1):
        x, _ = axes.at(10.0**k, 10.0**axes.low)
        canvas.line((x, axes.top), (x, axes.bottom), Pen("none", LINE))
        canvas.text((x, axes.bottom + 16), f"{10.0**k:g}", 11, mono=True, anchor="middle", fill=DIM)
    for k in range(axes.low, axes.high + 1):
        _, y = axes.at(1.0, 10.0**k)
        canvas.line((X0, y), (X1, y), Pen("none", LINE))
        text = f"{10.0 ** (k - 9):g}"
        canvas.text((X0 - 8, y + 4), text, 11, mono=True, anchor="end", fill=DIM)
    canvas.text((X0 - 46, axes.top - 12), "GFLOP/s", 11, fill=DIM)
    canvas.text((X1, axes.bottom + 34), "FLOP per byte moved", 11, anchor="end", fill=DIM)
    canvas.line(begin, corner, Pen("none", INK, 1.6))
    canvas.line(corner, end, Pen("none", INK, 1.6))


def _draw_kernel(
    canvas: Canvas,
    axes: _Axes,
    card: Card,
    speed: Speed,
    number: int,
    taken: list[tuple[float, float, float, float]],
) -> None:
    """Draw one marker with its letter, and the dashed line up to its limit."""
    x, y = axes.at(speed.intensity, speed.flops_s)
    _, roof = axes.at(speed.intensity, speed.flops_s / max(speed.share, 1e-9))
    colour = FAMILIES[card.family].stroke
    if roof < y - 8:
        canvas.line((x, y - 6), (x, roof), Pen("none", EDGE, 1.2, dashed=True))
    draw_marker(canvas, x, y, number, colour)
    width = text_width(card.id, 12, bold=True)
    places = [(x + 9, y + 5), (x - 9 - width, y + 5), (x - width / 2, y + 20)]
    places += [(x + 9, y + 19), (x - 9 - width, y + 19), (x - width / 2, y - 10)]
    if abs(roof - y) < 16:  # beside the mark is the roof
        places = places[2:5] + places[:2]
    taken.append((x - 6, y - 6, x + 6, y + 6))
    for left, base in places:
        box = (left, base - 10, left + width, base + 2)
        if left + width < X1 and base < axes.bottom and not any(_meet(box, t) for t in taken):
            taken.append(box)
            canvas.text((left, base), card.id, 12, bold=True)
            return


def _meet(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def draw_marker(canvas: Canvas, x: float, y: float, number: int, colour: str) -> None:
    """Draw the mark of the n-th kernel: triangle, circle, square, diamond in turn."""
    pen = Pen(colour, PAPER, 1)
    r = 6.0
    if number % 4 == 0:
        canvas.polygon([(x, y - r), (x + r, y + r * 0.8), (x - r, y + r * 0.8)], pen)
    elif number % 4 == 1:
        canvas.rect(x - 5.5, y - 5.5, 11, 11, pen, 5.5)
    elif number % 4 == 2:
        canvas.rect(x - 5, y - 5, 10, 10, pen)
    else:
        canvas.polygon([(x, y - r), (x + r, y), (x, y + r), (x - r, y)], pen)


def _draw_list(
    canvas: Canvas,
    shown: Sequence[tuple[Card, Speed]],
    n_more: int,
    machine: Machine,
    y: float,
) -> None:
    """Write each kernel's figures and the machine's limits."""
    at = y + 25
    cores = count(machine.cores, "core")
    canvas.text((_LIST, at), f"{short(machine.name, 24)}, {cores}", 13, bold=True)
    for name, figure, how in machine_rows(machine):
        at += 18
        canvas.text((_LIST, at), name, 12, fill=DIM)
        canvas.text((_LIST + 82, at), figure, 11.5, mono=True)
        canvas.text((_LIST + 190, at), how, 12, fill=DIM)
    at += 12
    canvas.line((_LIST, at), (1144, at), Pen("none", LINE))
    number = 0
    for card, speed in shown:
        at += 17
        if speed.flops_s:
            draw_marker(canvas, _LIST + 6, at - 4, number, FAMILIES[card.family].stroke)
            number += 1
        canvas.text((_LIST + 20, at), card.id, 12, bold=True)
        intensity, rate = rate_words(speed)
        canvas.text((_LIST + 82, at), intensity, 11.5, mono=True)
        canvas.text((_LIST + 190, at), rate, 11.5, mono=True)
        canvas.text((_LIST + 290, at), limit_words(speed), 12)
    if n_more:
        canvas.text((_LIST + 20, at + 17), f"and {count(n_more, 'shorter kernel')}", 12, fill=DIM)
