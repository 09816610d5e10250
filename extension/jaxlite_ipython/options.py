"""The ``%%jit`` line. In: its text. Out: options.

Mistakes are ``UsageError`` with the help of the parser.
"""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from IPython.core.error import UsageError

from jaxlite_ipython.cell import CellOptions

__all__ = ["parse_jit_line", "parser"]


class _Parser(argparse.ArgumentParser):
    """An argument parser that never exits the kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%jit: {message}\n{self.format_usage().strip()}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise UsageError(message or self.format_help())


def parser() -> argparse.ArgumentParser:
    """Return the parser of the ``%%jit`` line (also the source of its help)."""
    p = _Parser(
        prog="%%jit",
        add_help=False,
        allow_abbrev=False,
        description="Trace, fuse and compile this cell, then run it.",
    )
    p.add_argument("name", nargs="?", metavar="NAME", help="also bind the cell as a function NAME")
    p.add_argument("--in", dest="inputs", metavar="a,b", help="only these names are arguments")
    p.add_argument("--out", dest="outputs", metavar="y,loss", help="only these names are assigned")
    p.add_argument("--static", default="", metavar="n", help="names that are Python constants")
    p.add_argument(
        "--show",
        nargs="?",
        const="trace,kernels",
        default="none",
        metavar="VIEW",
        help="none, trace, kernels, text, or a comma list",
    )
    p.add_argument("--time", action="store_true", help="run again and report the median")
    p.add_argument("--dry", action="store_true", help="trace and report, run and assign nothing")
    p.add_argument(
        "--stale",
        choices=("retrace", "warn", "error"),
        default="retrace",
        help="what to do when a captured global has changed",
    )
    p.add_argument("-q", "--quiet", action="store_true", help="print nothing but warnings")
    p.add_argument("-h", "--help", action="help", help="show this help")
    return p


def names(text: str | None) -> tuple[str, ...] | None:
    """Split a comma list of names; None stays None."""
    if text is None:
        return None
    found = tuple([n.strip() for n in text.split(",") if n.strip()])
    for n in found:
        if not n.isidentifier():
            raise UsageError(f"%%jit: {n!r} is not a name")
    return found


def parse_jit_line(line: str) -> tuple[Any, CellOptions]:
    """Return the parsed line and the part that names matter for."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%jit: {error}") from None
    options = parser().parse_args(words)
    if options.name is not None and not options.name.isidentifier():
        raise UsageError(f"%%jit: {options.name!r} is not a name for a function")
    views = set((options.show or "").split(","))
    unknown = views - {"none", "trace", "kernels", "text", ""}
    if unknown:
        raise UsageError(
            f"%%jit: --show {sorted(unknown)[0]}: choose from none, trace, kernels, text"
        )
    cell = CellOptions(names(options.inputs), names(options.outputs), names(options.static) or ())
    return options, cell
