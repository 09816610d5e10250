"""How fast a kernel is, beside what the machine can do. In: a card. Out: ``Speed``, words.

Time is measured; bytes and arithmetic are modelled from shapes, so rates are about right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxlite.diagnose.machine import Machine
from jaxlite_ipython.views.words import rate_text, time_text

if TYPE_CHECKING:
    from jaxlite_ipython.views.kernel_data import Card

__all__ = ["Speed", "limit_words", "speed_of", "time_words"]

#: Below this the clock says nothing.
TINY_S = 5e-8


@dataclass(frozen=True, slots=True)
class Speed:
    """Time of a kernel at the machine's full speed, the limit that binds, and the share reached."""

    full_speed_s: float
    limit: str
    share: float
    #: FLOP per byte moved, and FLOP per second reached.
    intensity: float
    flops_s: float
    bytes_s: float


def speed_of(card: Card, machine: Machine | None) -> Speed | None:
    """Return the speed of a kernel that was measured and does something that can be counted."""
    if machine is None or card.seconds is None or card.seconds < TINY_S:
        return None
    if card.kind in ("control", "host") or not (card.n_bytes or card.flops):
        return None
    full, limit = machine.roofline(card.n_bytes, card.flops)
    intensity = card.flops / card.n_bytes if card.n_bytes else 0.0
    s = card.seconds
    return Speed(full, limit, full / s, intensity, card.flops / s, card.n_bytes / s)


def time_words(card: Card) -> str:
    """Return the measured time of a card, or why there is none."""
    if card.seconds is None:
        return "not measured"
    if card.seconds < TINY_S:
        return "< 0.1 \N{MICRO SIGN}s"
    return time_text(card.seconds)


def limit_words(speed: Speed) -> str:
    """Return ``73 % of memory limit``; more than the limit is possible, and said."""
    percent = 100 * speed.share
    if percent > 102:
        where = "in caches" if speed.limit == "memory" else "busy"
        return f"above {speed.limit} limit ({where})"
    return (
        f"{percent:.2g} % of {speed.limit} limit" if percent < 99.5 else f"at {speed.limit} limit"
    )


def rate_words(speed: Speed) -> tuple[str, str]:
    """Return intensity and rate as text: ``9.4 FLOP/B``, ``115 GFLOP/s``."""
    if not speed.flops_s:
        return "no arithmetic", rate_text(speed.bytes_s, "B/s")
    value = speed.intensity
    shown = f"{value:.2g}" if value < 9.95 else f"{value:,.0f}"
    return f"{shown} FLOP/B", rate_text(speed.flops_s, "FLOP/s")
