"""The ``%%jit`` line. In: its text. Out: options.

Mistakes are ``UsageError`` with the help of the parser.
"""

from __future__ import annotations

import argparse
import functools
import keyword
import shlex
from typing import Any, NoReturn

from IPython.core.error import UsageError

from jaxlite_ipython.cell_transforms import CellOptions

__all__ = ["VIEWS", "parse_jit_line", "parser"]

#: What ``--show`` can show, in the order in which it is shown.
VIEWS = ("trace", "grad", "kernels", "shapes", "vmap", "text")


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
    add = p.add_argument
    add("name", nargs="?", metavar="NAME", help="also bind the cell as a function NAME")
    add("--in", dest="inputs", metavar="a,b", help="only these names are arguments")
    add("--out", dest="outputs", metavar="y,loss", help="only these names are assigned")
    add("--static", default="", metavar="n", help="names that are Python constants")
    add(
        "--show",
        nargs="?",
        const="all",
        default="none",
        metavar="VIEW",
        help=f"none, {', '.join(VIEWS)}, or a comma list; bare --show: all",
    )
    add("--explore", action="store_true", help="show the views as one widget with tabs")
    add("--grad", metavar="LOSS[:p,q]", help="also assign dp and dq, the gradients of LOSS")
    add("--vmap", metavar="x:0,y:0", help="run the cell for each example along these axes")
    add("--time", action="store_true", help="run again and report the median")
    add("--dry", action="store_true", help="trace and report, run and assign nothing")
    add("--step", action="store_true", help="show how the cell is traced, step by step")
    add(
        "--check-grad",
        action="store_true",
        help="compare the gradients of --grad with finite differences in float64",
    )
    add("--fuse", choices=("auto", "rows", "off"), default="auto", help="how much becomes one loop")
    add("--max-traces", type=int, metavar="N", help="an error instead of trace N + 1")
    add(
        "--stale",
        choices=("retrace", "warn", "error"),
        default="retrace",
        help="what to do when a captured global has changed",
    )
    add("-q", "--quiet", action="store_true", help="print nothing but warnings")
    add("-h", "--help", action="help", help="show this help")
    return p


def names(text: str | None) -> tuple[str, ...] | None:
    """Split a comma list of names; None stays None."""
    if text is None:
        return None
    return tuple([_name(n.strip()) for n in text.split(",") if n.strip()])


def is_name(text: str) -> bool:
    """Say whether ``text`` can be a variable."""
    return text.isidentifier() and not keyword.iskeyword(text)


def _name(text: str) -> str:
    if not is_name(text):
        raise UsageError(f"%%jit: {text!r} is not a name")
    return text


def _grad(options: Any) -> tuple[str, tuple[str, ...]] | None:
    if options.grad is None:
        if options.check_grad:
            raise UsageError("%%jit: --check-grad needs --grad LOSS")
        return None
    loss, _, by = options.grad.partition(":")
    return _name(loss.strip()), names(by) or ()


def _vmap(text: str | None) -> tuple[tuple[str, int], ...]:
    found = []
    for part in (text or "").split(","):
        if part.strip():
            name, _, axis = part.strip().partition(":")
            try:
                found.append((_name(name), int(axis or 0)))
            except ValueError:
                raise UsageError(
                    f"%%jit: --vmap {part}: {axis!r} is no axis; write --vmap x:0,y:0"
                ) from None
    return tuple(found)


def _views(text: str) -> tuple[str, ...]:
    if text == "all":
        return VIEWS[:-1]
    asked = [v.strip() for v in text.split(",")]
    unknown = set(asked) - {*VIEWS, "none", ""}
    if unknown:
        raise UsageError(
            f"%%jit: --show {sorted(unknown)[0]}: choose from none, {', '.join(VIEWS)}"
        )
    return tuple([v for v in VIEWS if v in asked])


@functools.lru_cache(maxsize=256)
def parse_jit_line(line: str) -> tuple[Any, CellOptions]:
    """Return the parsed line (``show`` as a tuple) and the part that names matter for."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError as error:
        raise UsageError(f"%%jit: {error}") from None
    options = parser().parse_args(words)
    if options.name is not None and not is_name(options.name):
        raise UsageError(f"%%jit: {options.name!r} is not a name for a function")
    if options.max_traces is not None and options.max_traces < 1:
        raise UsageError("%%jit: --max-traces: give at least 1")
    runs = [name for name in ("time", "check_grad") if getattr(options, name)]
    if options.dry and runs:
        raise UsageError(f"%%jit: --{runs[0].replace('_', '-')} runs the cell, --dry does not")
    options.show = _views(options.show or "none")
    if options.explore and not options.show and not options.step:
        options.show = _views("all")
    cell = CellOptions(
        names(options.inputs),
        names(options.outputs),
        names(options.static) or (),
        _grad(options),
        _vmap(options.vmap),
        options.fuse,
        options.max_traces,
    )
    return options, cell
