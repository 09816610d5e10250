"""The forms of a kernel's code: loops, CUDA C, LLVM IR, assembly. In: a card. Out: a ``Source``.

Every generated line names the user's line it computes, where that is sure. Long code is cut, and
kernels that matter less go without their longer forms: a view stays small in a saved notebook.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from jaxlite.diagnose.kernel_code import KernelCode, lanes_of
from jaxlite_ipython.views.contract import Form, Source
from jaxlite_ipython.views.kernel_data import Card, loop_nest
from jaxlite_ipython.views.kernel_source import renamed
from jaxlite_ipython.views.words import count

__all__ = ["card_sources"]

#: Lines of one form, and characters of all forms but the loops.
MAX_LINES = 400
MAX_CHARACTERS = 40_000
#: A line of CUDA C that assigns, and to what.
_ASSIGNS = re.compile(r"\s*(?:const )?(?:[a-z_]\w*\*? )?(\w+?)(?:_own|_warps)?(?:\[.*?\])? = ")


def card_sources(cards: Sequence[Card], compilation: Any) -> list[Source]:
    """Return the sources of all kernels, those that move most with every form."""
    code = KernelCode(compilation)
    room = MAX_CHARACTERS
    more: dict[str, list[Form]] = {}
    for card in sorted(cards, key=lambda c: (-(c.seconds or 0.0), -c.n_bytes)):
        more[card.id] = []
        for form in _generated(card, code) if room > 0 else ():
            size = sum(map(len, form["lines"]))
            if size <= room:
                more[card.id].append(form)
                room -= size
    return [_source(card, more[card.id]) for card in cards if card.source]


def _source(card: Card, more: list[Form]) -> Source:
    user = [{"key": k, "line": x.first, "text": x.text} for k, x in enumerate(card.lanes)]
    loops: Form = {"title": "Loops", "lines": loop_nest(card), "of": card.origins.lines}
    return {"node": card.id, "user": user, "forms": [loops, *more]}


def _generated(card: Card, code: KernelCode) -> Iterator[Form]:
    """Yield CUDA C, LLVM IR and assembly of a card that launches kernels."""
    launches = [s for s in card.steps if hasattr(s, "kernel")]
    if not launches or card.kind in ("dot", "host", "control"):
        return
    cuda: list[str] = []
    llvm: list[tuple[str, int | None]] = []
    assembly: list[tuple[str, int | None]] = []
    first = 0  # line of the card's loops at which those of this launch begin
    for step in launches:
        cuda += renamed("\n".join(code.cuda(step.kernel)), step, card.buffers).split("\n")
        llvm += [(text, _place(card, first, n)) for text, n in code.llvm(step.kernel)]
        assembly += [(text, _place(card, first, n)) for text, n in code.assembly(step.kernel)]
        first += str(step.kernel).count("\n") + 1 - len(step.kernel.comments)
    yield _form("CUDA C", cuda, [_cause(line, card) for line in cuda])
    if llvm:
        yield _form("LLVM IR", [text for text, _ in llvm], [k for _, k in llvm])
    if assembly:
        lanes = [lanes_of(text) for text, _ in assembly]
        lines = [f"; {_vectorised(lanes)}", *[text for text, _ in assembly]]
        form = _form("Assembly", lines, [None, *[k for _, k in assembly]])
        marks = ["" if not n else f"{n} lanes" if n > 1 else "scalar" for n in [0, *lanes]]
        form["marks"] = [*marks, ""][: len(form["lines"])]
        yield form


def _place(card: Card, first: int, number: int) -> int | None:
    """Return the place of the user's line that line ``number`` of a launch's loops computes."""
    at = first + number - 1
    of = card.origins.lines
    return of[at] if number and 0 <= at < len(of) else None


def _form(title: str, lines: list[str], of: list[int | None]) -> Form:
    if len(lines) > MAX_LINES:
        rest = count(len(lines) - MAX_LINES, "more line")
        lines, of = [*lines[:MAX_LINES], f"... {rest}"], [*of[:MAX_LINES], None]
    return {"title": title, "lines": lines, "of": of}


def _cause(line: str, card: Card) -> int | None:
    """Return the place of the user's line that a line of CUDA C computes: that of its name."""
    found = _ASSIGNS.match(line)
    return card.origins.names.get(found[1]) if found else None


def _vectorised(lanes: Sequence[int]) -> str:
    """Return how many instructions compute on how many numbers at once."""
    counted = Counter(n for n in lanes if n)
    if not counted:
        return "no instruction computes on floating-point numbers"
    parts = [
        f"{count(counted[n], 'instruction')} on {f'{n} numbers' if n > 1 else 'one number'}"
        for n in sorted(counted, reverse=True)
    ]
    return ", ".join(parts)
