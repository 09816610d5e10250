"""The log of calls: what it holds, what it costs, and that it is gone when nobody wants it."""

from __future__ import annotations

import gc
import math
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.diagnose import call_log
from jaxlite.diagnose.hooks import runner_hooks
from jaxlite.diagnose.misses import CALLS
from tests.diagnose.programs import run


def fresh() -> Any:
    @jax.jit
    def step(x: Any) -> Any:
        return x * 2

    return step


def new_calls(f: Any, act: Callable[[], Any]) -> list[call_log.Call]:
    """The calls of ``f`` that ``act`` makes (functions from one source share their log)."""
    start_s = time.perf_counter()
    with call_log.recording():
        act()
    return [c for c in call_log.calls_of(f) if c.start_s >= start_s - 0.001]


def test_calls_have_time_hit_trace_and_line() -> None:
    f = fresh()
    x = jnp.ones(3)
    before = time.perf_counter()
    with call_log.recording():
        f(x)
        f(x)
        f(np.ones(4, np.float32))
        f(x)
    after = time.perf_counter()
    calls = [c for c in call_log.calls_of(f) if c.start_s > before]
    assert [c.is_hit for c in calls] == [False, True, False, True]
    assert calls[0].trace == calls[1].trace == calls[3].trace != calls[2].trace
    lines = [c.caller.line for c in calls if c.caller]
    assert [n - lines[0] for n in lines] == [0, 1, 2, 3]
    assert {c.caller.file for c in calls if c.caller} == {__file__}
    assert [c.caller.text for c in calls if c.caller][2] == "f(np.ones(4, np.float32))"
    assert all(before < c.start_s < c.start_s + c.seconds < after for c in calls)
    assert calls[0].seconds > 5 * calls[1].seconds  # it traced and compiled


def test_a_log_that_begins_later_holds_hits_only() -> None:
    f = fresh()
    f(1.0)
    assert [c.is_hit for c in new_calls(f, lambda: [f(1.0), f(2.0)])] == [True, True]


def test_nothing_is_written_when_nobody_wants_it() -> None:
    f = fresh()
    x = jnp.ones(3)
    with call_log.recording():
        f(x)
        assert call_log.hook in runner_hooks
    n = len(call_log.calls_of(f))
    for _ in range(5):
        f(x)
    assert len(call_log.calls_of(f)) == n
    assert call_log.hook not in runner_hooks
    assert not call_log.is_recording()


def test_starts_are_counted() -> None:
    call_log.start()
    with call_log.recording():
        assert runner_hooks.count(call_log.hook) == 1
    assert call_log.is_recording()
    call_log.stop()
    call_log.stop()  # one too many does no harm
    assert not call_log.is_recording()


def test_only_the_last_calls_are_kept() -> None:
    f = fresh()
    x = jnp.ones(3)
    with call_log.recording():
        for _ in range(CALLS + 20):
            f(x)
    calls = call_log.calls_of(f)
    assert len(calls) == CALLS
    assert all(c.is_hit for c in calls)


def test_hits_are_exact_while_the_log_runs() -> None:
    f = fresh()
    x = jnp.ones(3)
    with call_log.recording():
        for _ in range(20):
            f(x)
        (s,) = f.cache_info().signatures
        assert (s.hits, s.is_counted) == (19, True)
    f(x)
    (s,) = f.cache_info().signatures
    assert (s.hits, s.is_counted) == (19, False)


def test_the_log_keeps_no_arguments_alive() -> None:
    f = fresh()

    def act() -> weakref.ref[Any]:
        x = jnp.ones(1000)
        with call_log.recording():
            f(x)
            f(x)
        return weakref.ref(x)

    ref = act()
    gc.collect()
    assert ref() is None


def test_a_call_that_raises_is_not_logged_as_done() -> None:
    @jax.jit
    def bad(x: Any) -> Any:
        raise ZeroDivisionError

    with call_log.recording(), pytest.raises(ZeroDivisionError):
        bad(1.0)
    assert call_log.calls_of(bad) == []


def test_threads_write_into_one_log() -> None:
    f = fresh()
    x = jnp.ones(3)
    f(x)

    def act() -> None:
        threads = [threading.Thread(target=lambda: [f(x) for _ in range(50)]) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    assert len(new_calls(f, act)) == 200


def test_report_shows_the_share_of_compiling(tmp_path: Path) -> None:
    program = run(
        tmp_path,
        "from jaxlite.diagnose import call_log\nf = jax.jit(lambda x: x * 2)\n"
        "with call_log.recording():\n    for n in (3, 3, 4):\n        f(jnp.ones(n))\n",
    )
    assert len(program.report.calls) == 3
    assert "3 calls logged, " in str(program.report)
    assert "% of their time in calls that compiled" in str(program.report)


def test_clear_forgets_calls() -> None:
    f = fresh()
    with call_log.recording():
        f(1.0)
    call_log.clear()
    assert call_log.calls_of(f) == []


def test_a_logged_call_costs_little() -> None:
    f = fresh()
    x = jnp.float32(1)
    f(x)

    def us() -> float:
        start = time.perf_counter()
        for _ in range(1000):
            f(x)
        return (time.perf_counter() - start) * 1e3

    # Taken in turn, so that a busy machine slows all three.
    plain = logged = after = math.inf
    for _ in range(30):
        plain = min(plain, us())
        with call_log.recording():
            us()
            logged = min(logged, us())
        us()
        after = min(after, us())
    # 0.5 us on a quiet machine; twice that where the cores are shared.
    assert logged - plain < 1.0
    assert after < plain + 0.5
