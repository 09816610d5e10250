"""The one line below a ``%%jit`` cell. In: what a run did. Out: text.

Plain text only: one line needs no HTML.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["RunReport", "arrow", "milliseconds"]


def arrow() -> str:
    """Return the arrow of "operations to kernels", in ASCII where asked for."""
    return "->" if os.environ.get("JAXLITE_ASCII") else "\N{RIGHTWARDS ARROW}"


def dot() -> str:
    """Return the separator of facts."""
    return "|" if os.environ.get("JAXLITE_ASCII") else "\N{MIDDLE DOT}"


def milliseconds(seconds: float) -> str:
    """Return a time in ms with two significant digits: ``0.09 ms``, ``2.1 ms``, ``412 ms``."""
    ms = seconds * 1e3
    if ms >= 99.5:
        return f"{ms:.0f} ms"
    if ms >= 9.95:
        return f"{ms:.0f} ms"
    if ms >= 1:
        return f"{ms:.1f} ms"
    return f"{ms:.2f} ms"


@dataclass(frozen=True)
class RunReport:
    """Facts of one run of a cell; ``status`` is 'first', 'cached', 'again' or 'dry'.

    ``question`` is the call that explains why it compiled again ('' if none does).
    """

    status: str
    n_in: int
    n_out: int
    n_ops: int
    n_kernels: int
    trace_s: float
    compile_s: float
    run_s: float
    differences: Sequence[str] = ()
    question: str = ""

    def __str__(self) -> str:
        sep = f" {dot()} "
        if self.status == "cached":
            return f"%%jit  cached{sep}ran {milliseconds(self.run_s)}"
        if self.status == "again" and self.differences:
            why = "; ".join(self.differences[:3])
            ask = f"{sep}{self.question}" if self.question else ""
            spent = milliseconds(self.trace_s + self.compile_s)
            return f"%%jit  compiled again: {why}{sep}{spent}{ask}"
        kernels = f"{self.n_kernels} kernel{'' if self.n_kernels == 1 else 's'}"
        ops = f"{self.n_ops} op{'' if self.n_ops == 1 else 's'}"
        head = f"%%jit  {self.n_in} in, {self.n_out} out{sep}{ops} {arrow()} {kernels}{sep}"
        head += f"traced {milliseconds(self.trace_s)}"
        if self.status == "dry":
            return f"{head}{sep}dry run: nothing was run or assigned"
        return f"{head}, compiled {milliseconds(self.compile_s)}, ran {milliseconds(self.run_s)}"

    def as_digest(self) -> dict[str, Any]:
        """Return the facts as numbers."""
        return {
            "operations": self.n_ops,
            "kernels": self.n_kernels,
            "compile_ms": round((self.trace_s + self.compile_s) * 1e3, 3),
            "run_ms": round(self.run_s * 1e3, 3),
        }
