"""Long work in C that Ctrl-C can end. In: a function. Out: its result.

A signal handler of Python runs when the main thread is back from C. So long work is done in a
thread of its own, and the main thread waits: waiting can be interrupted. The work itself goes on to
its end, unseen; its result is kept where it belongs (the code cache).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["interruptible"]

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Return ``work()``; in the main thread a KeyboardInterrupt ends the wait at once."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised below, in the thread that asked
            errors.append(error)
        finally:
            done.set()

    # No daemon: the process must not end, and take LLVM down, while it works.
    threading.Thread(target=run, name="jaxlite compile").start()
    done.wait()
    if errors:
        raise errors[0]
    return results[0]
