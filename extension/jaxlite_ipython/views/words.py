"""Numbers and marks as people read them. In: numbers. Out: short text.

``JAXLITE_ASCII=1`` (``jaxlite.config.ascii``) replaces the few marks that are not ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import jaxlite
from jaxlite_ipython.report import milliseconds

__all__ = ["ascii_if_asked", "bytes_text", "columns", "count", "flops_text", "printable", "wrap"]

_ASCII = str.maketrans(
    {
        "\N{MIDDLE DOT}": "|",
        "\N{DOT OPERATOR}": "*",
        "\N{RIGHTWARDS ARROW}": "->",
        "\N{ALMOST EQUAL TO}": "~",
        "\N{MULTIPLICATION SIGN}": "x",
        "\N{DIVISION SIGN}": "/",
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
        "\N{HORIZONTAL ELLIPSIS}": "...",
        "\N{PLUS-MINUS SIGN}": "+-",
        "\N{PARTIAL DIFFERENTIAL}": "d",
        "\N{MICRO SIGN}": "u",
        "\N{COMBINING MACRON}": "_bar",
        "\N{MODIFIER LETTER CAPITAL T}": ".T",
        "\N{SUPERSCRIPT TWO}": "^2",
        "\N{SUPERSCRIPT THREE}": "^3",
        "\N{CHECK MARK}": "ok",
        "\N{BALLOT X}": "WRONG",
        "\N{UPWARDS ARROW}": "up",
        "\N{DOWNWARDS ARROW}": "down",
        "\N{LEFTWARDS ARROW}": "<-",
    }
)


def ascii_if_asked(text: str) -> str:
    """Return ``text``, with our own marks in ASCII if the setting asks for it."""
    return text.translate(_ASCII) if jaxlite.config.ascii else text


def printable(text: str) -> str:
    """Return a name as one line that every file and screen can hold.

    >>> len(printable("two" + chr(10) + "lines"))
    10
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def without_halves(text: str) -> str:
    """Return text that can be written as UTF-8: halves of a character become their code."""
    return text.encode(errors="backslashreplace").decode()


def bytes_text(n: float) -> str:
    """Return a size: ``512 B``, ``32.0 KiB``, ``1.2 MiB``.

    >>> bytes_text(512), bytes_text(32768)
    ('512 B', '32.0 KiB')
    """
    if n < 1024:
        return f"{n:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        n /= 1024
        if n < 1023.95:
            return f"{n:.1f} {unit}"
    return f"{n / 1024:.1f} TiB"


def flops_text(n: float) -> str:
    """Return an amount of arithmetic: ``540 FLOP``, ``1.9 kFLOP``, ``541 kFLOP``.

    >>> flops_text(540672), flops_text(1920)
    ('541 kFLOP', '1.9 kFLOP')
    """
    return f"{_three_digits(n)}FLOP"


def time_text(seconds: float) -> str:
    """Return a duration: ``24 us`` (with the Greek letter), ``0.35 ms``, ``412 ms``."""
    if seconds < 99.5e-6:
        us = seconds * 1e6
        return f"{us:.0f} \N{MICRO SIGN}s" if us >= 9.95 else f"{us:.1f} \N{MICRO SIGN}s"
    return milliseconds(seconds)


def rate_text(n: float, unit: str) -> str:
    """Return a rate: ``20 GB/s``."""
    return f"{_three_digits(n)}{unit}"


def _three_digits(n: float) -> str:
    if n < 999.5:
        return f"{n:.0f} "
    for prefix in "kMGTP":
        n /= 1000
        if n < 999.5:
            return f"{n:.1f} {prefix}" if n < 9.95 else f"{n:.0f} {prefix}"
    return f"{n:.0f} P"


def count(n: int, word: str, plural: str = "") -> str:
    """Return ``1 op`` or ``1,204 ops``."""
    return f"{n:,} {word if n == 1 else plural or word + 's'}"


def columns(rows: Iterable[Sequence[str]], indent: str = "  ", right: Sequence[int] = ()) -> str:
    """Return rows as aligned columns; the ones whose numbers are in ``right`` are flush right.

    >>> print(columns([("a", "12", "x"), ("bcd", "3", "y")], right=[1]))
      a    12  x
      bcd   3  y
    """
    table = [list(row) for row in rows]
    if not table:
        return ""
    n = max(map(len, table))
    widths = [max((_width(row[i]) for row in table if i < len(row)), default=0) for i in range(n)]
    lines = []
    for row in table:
        cells = [
            " " * (widths[i] - _width(cell)) + cell
            if i in right
            else cell + " " * (widths[i] - _width(cell))
            for i, cell in enumerate(row)
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def _width(text: str) -> int:
    """Return how many columns a text takes: a bar over a letter takes none."""
    return len(text) - text.count("\N{COMBINING MACRON}")


def wrap(text: str, width: int, n_lines: int) -> list[str]:
    """Break ``text`` into at most ``n_lines`` lines of ``width`` characters; the rest is cut.

    >>> wrap("loss = mean((y - t) ** 2)", 14, 2)
    ['loss = mean((y', '- t) ** 2)']
    """
    lines: list[str] = []
    rest = text
    while rest and len(lines) < n_lines:
        if len(rest) <= width:
            lines.append(rest)
            return lines
        cut = _break_before(rest, width)
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    if rest:
        last = lines[-1]
        lines[-1] = last[: width - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return lines or [""]


def _break_before(text: str, width: int) -> int:
    """Return where to break: at a space, else behind an opening bracket or a comma."""
    space = text.rfind(" ", width // 2, width + 1)
    if space > 0:
        return space
    mark = max(text.rfind(c, width // 3, width) for c in "([{,.")
    return mark + 1 if mark > 0 else width


def short(text: str, width: int) -> str:
    """Return ``text`` cut to ``width`` characters."""
    return text if len(text) <= width else text[: width - 1] + "\N{HORIZONTAL ELLIPSIS}"
