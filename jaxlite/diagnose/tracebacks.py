"""Errors show the user's lines only. In: an exception. Out: the same without frames of ours.

``import jaxlite`` puts this in front of Python's own hook for uncaught errors; the notebook uses it
for its cells. ``JAXLITE_TRACEBACK=full`` shows everything. Frames are hidden when an error is
printed, never while it travels: debuggers and tests see all of them.
"""

from __future__ import annotations

import os
import sys
import threading
import types
from typing import Any

from jaxlite.language.source import is_user_file
from jaxlite.settings import config

__all__ = ["install_hook", "strip"]

_PYTHON = os.path.dirname(os.__file__)


def strip(error: BaseException, hidden: tuple[str, ...] = ()) -> BaseException:
    """Remove our frames from the traceback of ``error`` and of what caused it.

    Args:
      error: the exception, changed in place.
      hidden: ends of further file names to hide.
    """
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        current.__traceback__ = _without_ours(current.__traceback__, hidden)
        current = current.__cause__ or current.__context__
    return error


def is_standard_library(file: str) -> bool:
    """Say whether a file belongs to Python itself."""
    return file.startswith(_PYTHON) and "-packages" not in file


def _without_ours(
    tb: types.TracebackType | None, hidden: tuple[str, ...]
) -> types.TracebackType | None:
    frames = []
    is_below = False  # whether the frame above is ours: then the standard library serves us
    while tb is not None:
        name = tb.tb_frame.f_code.co_filename
        is_users = is_user_file(name)
        is_below = not is_users or (is_below and is_standard_library(name))
        if not is_below and not name.endswith(hidden):
            frames.append(tb)
        tb = tb.tb_next
    result: types.TracebackType | None = None
    for item in reversed(frames):
        result = types.TracebackType(result, item.tb_frame, item.tb_lasti, item.tb_lineno)
    return result


def install_hook() -> None:
    """Hide our frames in errors that nobody catches; does nothing the second time."""
    before = sys.excepthook
    if getattr(before, "hides_jaxlite", False):
        return

    def hook(
        kind: type[BaseException], error: BaseException, tb: types.TracebackType | None
    ) -> None:
        if config.traceback == "user":
            tb = strip(error.with_traceback(tb)).__traceback__
        before(kind, error, tb)

    hook.hides_jaxlite = True  # type: ignore[attr-defined]
    sys.excepthook = hook
    in_threads = threading.excepthook

    def thread_hook(args: Any) -> None:
        if config.traceback == "user" and args.exc_value is not None:
            tb = strip(args.exc_value.with_traceback(args.exc_traceback)).__traceback__
            args = threading.ExceptHookArgs([args.exc_type, args.exc_value, tb, args.thread])
        in_threads(args)

    threading.excepthook = thread_hook
