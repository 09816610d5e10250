"""Errors in a notebook show the user's lines only. In: an exception. Out: what IPython prints.

``%jaxlite tb full`` shows everything.
"""

from __future__ import annotations

import linecache
import types
from typing import Any

from IPython.core.error import UsageError

import jaxlite
from jaxlite.diagnose.tracebacks import strip
from jaxlite.errors import CellError, JaxliteError

__all__ = ["install", "uninstall"]

#: The machinery of magics, as the ends of file names.
_MAGICS = ("IPython/core/interactiveshell.py", "IPython/core/magic.py")


def cell_frame(error: BaseException) -> types.TracebackType | None:
    """Return the innermost traceback entry that lies in a ``%%jit`` cell."""
    found = None
    tb = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename.startswith("<jit cell"):
            found = tb
        tb = tb.tb_next
    return found


def render(error: BaseException) -> list[str]:
    """Return the lines of an error in a ``%%jit`` cell.

    What, the user's line with a caret, facts and fix.
    """
    code = getattr(error, "code", None)
    first, _, rest = str(error).partition("\n")
    tb = cell_frame(error)
    if tb is None:
        return [f"{code} {error}" if code else f"{type(error).__name__}: {error}"]
    head = f"{code} " if code else ""
    lines = [f"{head}{type(error).__name__}: {first} (line {tb.tb_lineno})", *_source_lines(tb)]
    return ["\n".join([*lines, rest]) if rest else "\n".join(lines)]


def _source_lines(tb: types.TracebackType) -> list[str]:
    text = linecache.getline(tb.tb_frame.f_code.co_filename, tb.tb_lineno).rstrip("\n")
    if not text:
        return []
    lines = [f"    {text}"]
    positions = list(tb.tb_frame.f_code.co_positions())
    at = tb.tb_lasti // 2
    if at < len(positions):
        line, end_line, start, end = positions[at]
        if line == end_line and start is not None and end is not None:
            lines.append("    " + " " * start + "^" * max(1, end - start))
    return lines


def _handler(
    shell: Any, kind: type, error: BaseException, tb: Any, tb_offset: int | None = None
) -> Any:
    if isinstance(error, UsageError):
        shell.show_usage_error(error)
        return None
    if jaxlite.config.traceback == "full":
        shell.showtraceback((kind, error, tb), tb_offset=tb_offset)
        return None
    if cell_frame(error) is not None or isinstance(error, CellError):
        lines = render(error)
    else:
        strip(error, _MAGICS)
        lines = shell.InteractiveTB.structured_traceback(
            kind, error, error.__traceback__, tb_offset=0
        )
        code = getattr(error, "code", None)
        if code and isinstance(error, JaxliteError):
            lines = [*lines[:-1], f"{code} {lines[-1]}"]
    shell._showtraceback(kind, error, lines)
    return lines


def install(shell: Any) -> None:
    """Show errors without our frames from now on; handlers of others keep their exceptions."""
    shell.set_custom_exc((Exception,), _handler)


def uninstall(shell: Any) -> None:
    """Show errors as IPython does."""
    shell.set_custom_exc((), None)
