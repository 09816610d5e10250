"""The last calls of every jitted function. In: calls, while somebody wants them. Out: ``Call``.

Off by default and then free: the hook wraps the runners themselves (see ``hooks``). On, a call
costs two clock reads and one append; file and line are looked up when the log is read.

>>> import jaxlite as jax
>>> f = jax.jit(lambda x: x + 1.0)
>>> with recording():
...     _ = [f(float(i)) for i in range(3)]
>>> [call.is_hit for call in calls_of(f)]
[False, True, True]
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.hooks import Runner, add_runner_hook, remove_runner_hook
from jaxlite.diagnose.misses import Site, all_sites, site_of
from jaxlite.language.source import SourceLine, is_user_file

__all__ = ["Call", "calls_of", "calls_of_site", "is_recording", "recording", "start", "stop"]

_lock = threading.Lock()
_wanted = 0
#: Files already known to be the user's: a set is quicker than asking.
_user_files: set[str] = set()


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    ``start_s`` is on the clock of ``time.perf_counter``, ``seconds`` includes tracing and compiling
    where this call did it, ``trace`` is the number of the trace it ran, ``caller`` the user's line.
    """

    start_s: float
    seconds: float
    trace: int
    is_hit: bool
    caller: SourceLine | None


def hook(function: Any, entry: Any, run: Runner) -> Runner:
    """Return a runner that writes down each call."""
    miss = entry.miss
    if miss is None:
        return run
    append, number, is_hit = miss.site.calls.append, miss.number, not miss.is_fresh
    miss.is_logged = miss.is_logged or not is_hit
    get_frame, clock, users = sys._getframe, time.perf_counter, _user_files

    def logged(args: Any) -> Any:
        start_s = clock()
        out = run(args)
        seconds = clock() - start_s
        frame: Any = get_frame(2)
        code = frame.f_code
        if code.co_filename not in users:
            frame = user_frame(frame)
            code = frame.f_code
        append((start_s, seconds, number, is_hit, code, frame.f_lasti))
        if is_hit:
            miss.logged_hits += 1
        return out

    return logged


def user_frame(frame: Any) -> Any:
    """Return the innermost frame of the user's (the outermost of all if there is none)."""
    while not is_user_file(frame.f_code.co_filename):
        if frame.f_back is None:
            return frame
        frame = frame.f_back
    _user_files.add(frame.f_code.co_filename)
    return frame


def start() -> None:
    """Write down calls from now on; each ``start`` needs its ``stop``."""
    global _wanted
    with _lock:
        _wanted += 1
        if _wanted == 1:
            add_runner_hook(hook)


def stop() -> None:
    """End one ``start``; the last one takes the hook away. What was written stays."""
    global _wanted
    with _lock:
        if _wanted:
            _wanted -= 1
            if not _wanted:
                remove_runner_hook(hook)
                for site in all_sites():
                    for miss in tuple(site.misses):
                        miss.is_logged = False  # later hits are not seen


def is_recording() -> bool:
    """Say whether calls are being written down."""
    return _wanted > 0


@contextlib.contextmanager
def recording() -> Iterator[None]:
    """Write down calls inside the block."""
    start()
    try:
        yield
    finally:
        stop()


def calls_of_site(site: Site) -> list[Call]:
    """Return the last calls of all function objects of ``site``, oldest first."""
    misses = {m.number: m for m in site.misses}
    calls = []
    for start_s, seconds, number, is_hit, code, lasti in tuple(site.calls):
        miss = misses.get(number)
        if not is_hit and miss is not None:  # the runner began when the compiler had ended
            start_s -= miss.seconds
            seconds += miss.seconds
        line = SourceLine(code, lasti) if is_user_file(code.co_filename) else None
        calls.append(Call(start_s, seconds, number, is_hit, line))
    return calls


def calls_of(function: Any) -> list[Call]:
    """Return the last calls of a jitted function (and of its twins from the same source)."""
    site = site_of(function)
    return calls_of_site(site) if site is not None else []


def clear() -> None:
    """Forget all calls."""
    for site in all_sites():
        site.calls.clear()
