"""How far native loops are. In: calls from machine code. Out: calls of whoever shows it.

A loop with ``progress`` calls ``jaxlite_progress(number, done, total)`` when it starts, whenever it
looks for Ctrl-C (about once a millisecond), and when it ends, with ``-1 - done``. ``number`` stands
for the loop's label: machine code that is kept on disk holds no addresses. Nothing is computed
differently.
"""

from __future__ import annotations

import _thread
import ctypes
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["address", "label_of", "number_of", "show_with"]

#: ``show(label, done, total)``; ``done`` is ``-1 - done`` at the end, ``total`` is 0 if unknown.
Show: TypeAlias = Callable[[str, int, int], None]

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong)
_labels: list[str] = [""]  # number 0 stands for no progress
_numbers: dict[str, int] = {}
_show: list[Show] = []


def number_of(label: str) -> int:
    """Return the number that stands for ``label`` in machine code."""
    if label not in _numbers:
        _labels.append(label)
        _numbers[label] = len(_labels) - 1
    return _numbers[label]


def label_of(number: int) -> str:
    """Return the label of a number."""
    return _labels[number]


def show_with(show: Show) -> None:
    """Call ``show`` from now on."""
    _show[:] = [show]


def _called(number: int, done: int, total: int) -> None:
    try:
        for show in _show:
            show(_labels[number], done, total)
    except KeyboardInterrupt:
        # No exception crosses machine code: the signal is sent again, and the loop finds it.
        _thread.interrupt_main()
    except Exception:  # a display that fails must not spoil the computation
        _show.clear()


_callback = _CALLBACK(_called)


def address() -> int:
    """Return the address that emitted code knows as ``jaxlite_progress``."""
    return int(ctypes.cast(_callback, ctypes.c_void_p).value or 0)
