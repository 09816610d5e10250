"""Errors in a notebook show the user's lines only. In: an exception. Out: what IPython prints.

``%jaxlite tb full`` shows everything.
"""

from __future__ import annotations

import functools
import linecache
import re
import sys
import types
from typing import Any

from IPython.core.error import UsageError

import jaxlite
from jaxlite.diagnose.places import title_of
from jaxlite.diagnose.tracebacks import strip
from jaxlite.errors import CellError, JaxliteError, TracerBoolConversionError
from jaxlite_ipython.cell_source import character

__all__ = ["ErrorDisplay", "cell_frame", "render"]

#: The machinery of magics, as the ends of file names.
_MAGICS = (
    "IPython/core/interactiveshell.py",
    "IPython/core/magic.py",
    "IPython/core/magics/execution.py",
    "IPython/utils/py3compat.py",
)
#: Calls shown at each end of a very deep traceback.
_SHOWN = 6
#: The magic that runs a cell.
_OWN = "jaxlite_ipython/magics.py"
#: First words of errors that are about shapes that do not fit.
_SHAPES = re.compile(
    r"(Incompatible shapes|\w+ got incompatible shapes|dot_general requires|"
    r"All input arrays must|Cannot concatenate|cannot reshape|matmul:)"
)
_PAIR = re.compile(r"\(([\d, ]*)\), \(([\d, ]*)\)")


def cell_frame(error: BaseException) -> types.TracebackType | None:
    """Return the innermost traceback entry that lies in a ``%%jit`` cell."""
    found = None
    tb = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename.startswith("<jit cell"):
            found = tb
        tb = tb.tb_next
    return found


def is_from_cell(error: BaseException) -> bool:
    """Say whether an error has come out of a ``%%jit`` cell, whoever raised it."""
    tb = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename.endswith(_OWN):
            return True
        tb = tb.tb_next
    return False


def code_of(error: BaseException) -> str | None:
    """Return the JL number of an error: its own, or that of its kind."""
    code = getattr(error, "code", None)
    if isinstance(code, str) and code.startswith("JL"):
        return code
    if isinstance(error, TracerBoolConversionError):
        return "JL021"
    if isinstance(error, TypeError | ValueError) and _SHAPES.match(str(error)):
        return "JL020"
    return None


def render(error: BaseException) -> list[str]:
    """Return the lines of an error in a ``%%jit`` cell.

    What, the user's lines with carets, facts and fix.
    """
    code = code_of(error)
    first, _, rest = str(error).partition("\n")
    tb = cell_frame(error)
    head = f"{code} " if code else ""
    if isinstance(error, CellError):  # it names its own kind and line
        return [f"{head}{error}"]
    if isinstance(error, SyntaxError) and tb is None:
        return [_syntax_text(error)]
    if tb is None:
        return [f"{head}{type(error).__name__}: {error}"]
    lines = [f"{head}{type(error).__name__}: {first} (line {tb.tb_lineno})", *_source_lines(tb)]
    lines += _frames_below(tb)
    if code == "JL020":
        lines += _aligned_shapes(first)
    return ["\n".join([*lines, *_about_cell(rest, tb)])]


def _about_cell(rest: str, tb: types.TracebackType) -> list[str]:
    """Return further lines of an error in the words of cells: no line twice, options of %%jit."""
    title = title_of(tb.tb_frame.f_code.co_filename)
    rest = rest.replace(f"the function cell at {title}, line 1 for jit", title)
    rest = re.sub(
        r"the argument static \([\w, ]+\)", "the input static (%%jit --static NAME)", rest
    )
    shown = f"at {title}, line {tb.tb_lineno} in cell:"
    return [x for x in rest.splitlines() if x and shown not in x]


def _syntax_text(error: SyntaxError) -> str:
    """Return a syntax error with the user's line and a caret."""
    where = f" (line {error.lineno})" if error.lineno else ""
    lines = [f"{type(error).__name__}: {error.msg}{where}"]
    line = linecache.getline(error.filename or "", error.lineno or 0)
    text = (error.text or line).rstrip("\n")
    if text:
        start = max((error.offset or 1) - 1, 0)
        end = (error.end_offset or 0) - 1 if error.end_lineno == error.lineno else len(text)
        lines += [f"    {text}", f"    {' ' * start}{'^' * max(end - start, 1)}"]
    return "\n".join(lines)


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
            start, end = character(text, start), character(text, end)
            lines.append("    " + " " * start + "^" * max(1, end - start))
    return lines


def _frames_below(tb: types.TracebackType) -> list[str]:
    """Return a line for each function of the user's that the cell was in, at most the last five."""
    lines: list[str] = []
    error = strip(Exception().with_traceback(tb.tb_next), _MAGICS)
    below = error.__traceback__
    while below is not None:
        code = below.tb_frame.f_code
        text = linecache.getline(code.co_filename, below.tb_lineno).strip()
        lines.append(f"    in {code.co_name}, line {below.tb_lineno}: {text}".rstrip(": "))
        below = below.tb_next
    left_out = len(lines) - 5
    return lines if left_out <= 0 else [f"    ({left_out} calls)", *lines[-5:]]


def _aligned_shapes(first: str) -> list[str]:
    """Return two shapes below each other, aligned at the right as broadcasting does."""
    found = _PAIR.search(first)
    if not found:
        return []
    shapes = [[n.strip() for n in text.split(",") if n.strip()] for text in found.groups()]
    rank = max(map(len, shapes))
    padded = [("",) * (rank - len(s)) + tuple(s) for s in shapes]
    widths = [max(len(p[i]) for p in padded) for i in range(rank)]
    rows = []
    for shape, parts in zip(shapes, padded, strict=True):
        cells = [p.rjust(w) for p, w in zip(parts, widths, strict=True)]
        missing = rank - len(shape)
        start = sum(widths[:missing]) + 2 * missing
        rows.append(f"      [{' ' * start}{', '.join(cells)[start:]}]")
    axis = max((i for i in range(rank) if _differ(padded, i)), default=None)
    if axis is not None:
        pair = " and ".join(p[axis] for p in padded)
        name = "last axes differ" if axis == rank - 1 else f"axes {axis - rank} differ"
        rows[-1] += f"      {name}: {pair}"
    return rows


def _differ(padded: list[tuple[str, ...]], axis: int) -> bool:
    a, b = (p[axis] for p in padded)
    return bool(a and b and a != b and "1" not in (a, b))


class ErrorDisplay:
    """Shows errors of one shell without our frames, whoever shows them: a cell, ``%run``."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._others: Any = None  # what somebody else has put in the same place

    def install(self) -> None:
        """Show errors without our frames from now on."""
        shell, before = self.shell, self.shell.showtraceback
        self._others = shell.__dict__.get("showtraceback")

        @functools.wraps(before)
        def show(exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
            error = (exc_tuple or sys.exc_info())[1] or getattr(sys, "last_value", None)
            if error is None or not _is_ours_to_show(error, kwargs):
                before(exc_tuple, *args, **kwargs)
                return
            _show(shell, before, error)

        shell.showtraceback = show

    def uninstall(self) -> None:
        """Show errors as before."""
        self.shell.__dict__.pop("showtraceback", None)
        if self._others is not None:
            self.shell.showtraceback = self._others


def _is_ours_to_show(error: BaseException, options: dict[str, Any]) -> bool:
    """Say whether an error needs us: usage errors, ``%tb``s of others and "full" do not."""
    if jaxlite.config.traceback == "full" or options.get("exception_only"):
        return False
    if isinstance(error, SyntaxError):
        return is_from_cell(error)
    return not isinstance(error, UsageError)


def _show(shell: Any, before: Any, error: BaseException) -> None:
    kind = type(error)
    is_again = error is getattr(sys, "last_value", None)  # %tb
    whole = sys.last_traceback if is_again else error.__traceback__
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, whole
    is_interrupt = isinstance(error, KeyboardInterrupt)
    if not is_interrupt and (is_from_cell(error) or isinstance(error, CellError)):
        shell._showtraceback(kind, error, render(error))
        return
    strip(error, _MAGICS)
    if isinstance(error, BaseExceptionGroup):
        before((kind, error, error.__traceback__))
        return
    left_out = _thin(error)
    lines = shell.InteractiveTB.structured_traceback(kind, error, error.__traceback__, tb_offset=0)
    code = code_of(error)
    if code and isinstance(error, JaxliteError):
        lines = [*lines[:-1], f"{code} {lines[-1]}"]
    if left_out:
        lines = [*lines, f"({left_out} calls in between are not shown.)"]
    shell._showtraceback(kind, error, lines)
    sys.last_traceback = whole  # a debugger sees all


def _thin(error: BaseException) -> int:
    """Leave out the middle of an endless recursion; return the number of calls left out."""
    frames = []
    tb = error.__traceback__
    while tb is not None:
        frames.append(tb)
        tb = tb.tb_next
    left_out = len(frames) - 2 * _SHOWN
    if left_out <= 2 * _SHOWN:
        return 0
    result: types.TracebackType | None = None
    for item in reversed([*frames[:_SHOWN], *frames[-_SHOWN:]]):
        result = types.TracebackType(result, item.tb_frame, item.tb_lasti, item.tb_lineno)
    error.__traceback__ = result
    return left_out
