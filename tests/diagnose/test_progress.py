"""Progress: quiet at first, one line, numbers right, compiled loops unchanged, interruption."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.diagnose import progress as module
from jaxlite.diagnose.progress import Line, close_all, duration, progress, rate_text, sparkline
from jaxlite.runtime import loop_progress


class Clock:
    """Time that only moves when told to."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


class Recorder:
    interval_s = 0.25

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.last = ""

    def __call__(self) -> Recorder:
        return self

    def update(self, text: str) -> None:
        self.texts.append(text)

    def close(self, text: str) -> None:
        self.last = text


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


@pytest.fixture
def sink() -> Iterator[Recorder]:
    recorder = Recorder()
    module.sinks.append(recorder)
    yield recorder
    module.sinks.remove(recorder)
    close_all()


def test_nothing_is_shown_in_the_first_half_second(clock: Clock, sink: Recorder) -> None:
    for _ in progress(range(4)):
        clock.now += 0.12
    assert sink.texts == []
    assert sink.last == ""


def test_line_counts_estimates_and_draws(clock: Clock, sink: Recorder) -> None:
    loss = [1.0]
    for _ in progress(range(12_000), label="train", loss=lambda: loss[0]):
        clock.now += 0.001
        loss[0] *= 0.9995
    assert sink.texts[0] == "train 500/12,000 · 1 k it/s · 12 s left · loss 0.779"
    assert re.fullmatch(r"train .* · loss 0\.\d+ [▁▂▃▄▅▆▇█]{2}", sink.texts[1])
    assert len(sink.texts) <= 12 * 4 + 1
    assert re.fullmatch(r"train 12,000 in 12 s · 1 k it/s · loss 0\.00248 █[▁-█]+▁", sink.last)


def test_break_and_error_say_where_it_stopped(clock: Clock, sink: Recorder) -> None:
    for i in progress(range(50_000)):
        clock.now += 0.001
        if i == 12_000:
            break
    assert sink.last == "stopped after 12,000 of 50,000"
    line = Line("", 10)
    clock.now += 1
    line.update(3)
    close_all()
    assert sink.last == "stopped after 3 of 10"


def test_log_gets_a_line_each_ten_seconds(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in progress(range(300)):
        clock.now += 0.1
    lines = capsys.readouterr().err.splitlines()
    counts = [line.split(" · ")[0] for line in lines]
    assert counts == ["101/300", "201/300", "300 in 30 s"]
    for _ in progress(range(30)):
        clock.now += 0.1
    assert capsys.readouterr().err == ""


def test_values_that_are_no_numbers_are_left_out(clock: Clock, sink: Recorder) -> None:
    bar = progress((c for c in "abc"), loss=lambda: undefined, name="x")  # type: ignore[name-defined] # noqa: F821
    for _ in bar:
        clock.now += 1
        bar.set(step=2)
    assert sink.last.startswith("3 in 3.0 s · 1 it/s · step 2")
    with pytest.raises(TypeError, match="expects something to loop over"):
        progress(3)  # type: ignore[arg-type]


def test_words_for_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [rate_text(r) for r in (0.1, 5, 1900, 2.5e6)] == [
        "10 s/it", "5 it/s", "1.9 k it/s", "2.5 M it/s",
    ]  # fmt: skip
    assert [duration(s) for s in (0.4, 20, 200, 7500)] == [
        "0.4 s", "20 s", "3 min 20 s", "2 h 5 min",
    ]  # fmt: skip
    assert sparkline([1]) == ""
    assert sparkline([1, 2, 3]) == "▁▅█"
    monkeypatch.setenv("JAXLITE_ASCII", "1")
    assert sparkline([1, 2, 3]).isascii()


def step(i: Any, c: Any) -> Any:
    return jnp.sin(c) * 1.0001 + 0.1 * i


X0 = jnp.ones(3)


@pytest.fixture
def calls() -> Iterator[list[tuple[str, int, int]]]:
    found: list[tuple[str, int, int]] = []
    loop_progress.show_with(lambda *call: found.append(call))
    yield found
    loop_progress.show_with(module.show_native)


def test_compiled_loops_report_and_compute_the_same_bits(calls: Any) -> None:
    n = 3000
    x = jnp.linspace(0.0, 1.0, 512)

    def loops(progress: Any) -> Any:
        def run(x: Any, m: Any) -> Any:
            a = lax.fori_loop(0, n, step, x, progress=progress)
            b = lax.fori_loop(0, m, step, x, progress=progress)
            c = lax.scan(lambda c, v: (c * v, c + v), x, jnp.ones((n, 1)), progress=progress)
            return a, b, c

        return jax.tree.leaves(jax.jit(run)(x, n))

    plain, reported = loops(False), loops("loop")
    assert all(np.array_equal(p, r) for p, r in zip(plain, reported, strict=True))
    assert {label for label, _, _ in calls} == {"loop"}
    ends = [(done, total) for _, done, total in calls if done < 0]
    assert ends == [(-1 - n, n), (-1 - n, 0), (-1 - n, n)]
    assert sum(done == 0 for _, done, _ in calls) == 3
    assert all(a < b for a, b in itertools.pairwise(calls) if 0 < a[1] < b[1])


def test_total_of_traced_bounds_is_known_when_it_runs(
    clock: Clock, sink: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = []

    def show(label: str, done: int, total: int) -> None:
        module.show_native(label, done, total)
        totals.extend(line.total for line in module._native.values())

    loop_progress.show_with(show)
    try:
        loop = jax.jit(lambda a, b, x: lax.fori_loop(a, b, step, x, progress="t"))
        assert np.array_equal(loop(2, 9, X0), lax.fori_loop(2, 9, step, X0))
        loop(0, 4, X0)
    finally:
        loop_progress.show_with(module.show_native)
    assert totals[0] == 7
    assert totals[-1] == 4


def test_progress_goes_through_the_transformations(calls: Any) -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) + i, x, progress="t").sum()

    def g(x: Any) -> Any:
        return lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) + i, x).sum()

    x = jnp.ones((2, 3))
    assert np.array_equal(jax.grad(f)(x), jax.grad(g)(x))
    assert np.array_equal(jax.vmap(f)(x), jax.vmap(g)(x))
    assert np.array_equal(jax.jit(jax.grad(f))(x), jax.jit(jax.grad(g))(x))
    assert calls
    with jax.disable_jit():
        assert np.array_equal(f(x), g(x))
    assert "progress" not in str(jax.make_jaxpr(g)(x))
    with pytest.raises(TypeError, match="progress is True, False or a label, got int"):
        lax.fori_loop(0, 5, lambda i, c: c, x, progress=3)  # type: ignore[arg-type]


def test_display_that_fails_spoils_nothing(calls: Any) -> None:
    def bad(*_: Any) -> None:
        raise RuntimeError

    loop_progress.show_with(bad)
    assert int(lax.fori_loop(0, 10, lambda i, c: c + i, 0, progress=True)) == 45


INTERRUPTED = """
    import os, signal, threading, time
    import jaxlite as jax, jaxlite.numpy as jnp
    from jaxlite import lax
    x = jnp.ones((8, 8))
    def big(x):
        for i in range(150):
            x = jnp.tanh(x @ x + i) * jnp.sin(x.sum(0)) - x.max(1)[:, None]
        return x
    def step(i, c):
        return jnp.sin(c) + i
    loop = jax.jit(lambda x, n: lax.fori_loop(0, n, step, x))
    loop(x, 1)
    sent = []
    def interrupt(seconds):
        def run():
            time.sleep(seconds)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=run, daemon=True).start()
    for work, seconds in ((lambda: jax.jit(big)(x), 0.8), (lambda: loop(x, 2**31 - 2), 0.7)):
        y = "before"
        interrupt(seconds)
        try:
            y = work()
        except KeyboardInterrupt:
            print(time.perf_counter() - sent.pop(), y, flush=True)
    print(loop(x, 3).shape)
"""


def test_interrupt_ends_a_compile_and_a_native_loop_at_once() -> None:
    source = textwrap.dedent(INTERRUPTED)
    env = {**os.environ, "JAXLITE_ENABLE_COMPILATION_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=60, env=env
    )
    assert done.returncode == 0, done.stderr
    first, second, last = done.stdout.splitlines()
    for line in (first, second):
        seconds, name = line.split()
        assert float(seconds) < 0.3
        assert name == "before"
    assert last == "(8, 8)"
