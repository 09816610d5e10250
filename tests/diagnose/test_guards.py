"""``no_recompile``, ``max_traces``, ``watch``, ``would_compile``, ``cache_info``, the log lines."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import errors, events
from jaxlite.diagnose.hooks import runner_hooks
from jaxlite.diagnose.misses import forget_all
from jaxlite.settings import override


@pytest.fixture(autouse=True)
def _no_earlier_records() -> None:
    """Functions of an earlier test come from the same source: they would be cause F here."""
    forget_all()


def counted() -> tuple[Any, list[int]]:
    """A jitted function and the list that grows with each trace."""
    traced: list[int] = []

    @jax.jit
    def step(x: Any, y: Any = 1.0) -> Any:
        traced.append(1)
        return x * y

    return step, traced


def test_no_recompile_raises_before_the_trace_and_says_why() -> None:
    f, traced = counted()
    f(jnp.ones(3))
    with jax.no_recompile(f):
        f(jnp.zeros(3))
        with pytest.raises(errors.RecompileError) as caught:
            f(jnp.ones(4))
    assert caught.value.code == "JL030"
    assert str(caught.value).startswith(
        "step would compile again inside no_recompile(): x is f32[4], was f32[3].\n  Fix: "
    )
    assert len(traced) == 1
    f(jnp.ones(4))
    assert len(traced) == 2


def test_no_recompile_of_all_functions_refuses_first_calls_too() -> None:
    f, traced = counted()
    with (
        jax.no_recompile(),
        pytest.raises(errors.RecompileError, match=r"would compile inside .*: first call"),
    ):
        f(1.0)
    assert traced == []


def test_no_recompile_of_one_function_lets_others_compile() -> None:
    f, _ = counted()
    g, traced = counted()
    with jax.no_recompile(f):
        g(1.0)
    assert len(traced) == 1


def test_no_recompile_knows_another_handle_of_the_same_function() -> None:
    def fun(x: Any) -> Any:
        return x + 1

    f, again = jax.jit(fun), jax.jit(fun)
    with jax.no_recompile(f), pytest.raises(errors.RecompileError):
        again(1.0)


def test_no_recompile_names_a_new_function_object() -> None:
    def make() -> Any:
        return jax.jit(lambda x: x * 3)

    make()(1.0)
    with (
        jax.no_recompile(),
        pytest.raises(errors.RecompileError, match="a new function object"),
    ):
        make()(1.0)


def test_no_recompile_stops_what_was_traced_but_not_compiled() -> None:
    f, _ = counted()
    f.trace(1.0)
    with (
        jax.no_recompile(f),
        pytest.raises(errors.RecompileError, match="traced, but not compiled yet"),
    ):
        f(1.0)


def test_no_recompile_decorates_functions() -> None:
    f, _ = counted()

    @jax.no_recompile(f)
    def loop(n: int) -> Any:
        return f(jnp.ones(n))

    f(jnp.ones(3))
    assert loop(3).shape == (3,)
    assert loop.__name__ == "loop"
    with pytest.raises(errors.RecompileError):
        loop(4)
    f(jnp.ones(5))  # the guard is over, also after an error


def test_no_recompile_used_wrongly_says_how() -> None:
    with pytest.raises(TypeError, match="Fix: with no_recompile"):
        jax.no_recompile(3)
    with pytest.raises(TypeError, match="Fix: write the decorator with brackets"):
        jax.no_recompile(lambda: 1)()


def test_guards_nest_and_hold_in_their_thread_only() -> None:
    f, traced = counted()
    f(jnp.ones(3))
    with jax.no_recompile(f):
        with jax.no_recompile():
            pass
        thread = threading.Thread(target=lambda: f(jnp.ones(4)))
        thread.start()
        thread.join()
        assert len(traced) == 2
        with pytest.raises(errors.RecompileError):
            f(jnp.ones(5))


def test_nested_functions_are_guarded_too() -> None:
    f, traced = counted()
    outer = jax.jit(lambda x: f(x) + 1)
    with jax.no_recompile(f), pytest.raises(errors.RecompileError):
        outer(jnp.ones(3))
    assert traced == []
    assert outer(jnp.ones(3)).shape == (3,)


def test_max_traces_gives_the_reason() -> None:
    f = jax.jit(lambda x: x, max_traces=1)
    f(jnp.ones(2))
    with pytest.raises(errors.RecompileError, match=r"reached max_traces=1: x is f32\[3\]") as e:
        f(jnp.ones(3))
    assert e.value.code == "JL031"


def test_one_switch_turns_guards_off() -> None:
    f, _ = counted()
    g = jax.jit(lambda x: x, max_traces=1)
    with override(guards=False):
        with jax.no_recompile():
            f(1.0)
        g(1.0)
        g(1)


def test_the_switch_is_also_an_environment_variable() -> None:
    code = (
        "import jaxlite as jax\n"
        "with jax.no_recompile():\n    print(float(jax.jit(lambda x: x + 1)(1.0)))\n"
    )
    env = os.environ | {"JAXLITE_GUARDS": "off", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "2.0", done.stderr


def test_watch_counts_compiles_hits_and_time() -> None:
    f, _ = counted()
    with jax.watch() as w:
        for n in (3, 3, 3, 4, 3):
            f(jnp.ones(n))
    assert (w.compiles, w.traces, w.hits, w.calls) == (2, 2, 3, 5)
    assert w.names == ("step", "step")
    assert w.ms > 0
    kinds = {type(e) for e in w.events}
    assert kinds >= {events.CacheMiss, events.TraceStarted, events.TraceEnded, events.Compiled}
    assert repr(w).startswith("Watch(compiles=2, traces=2, hits=3, ms=")
    with jax.watch() as w:
        f(jnp.ones(3))
        f(np.ones(4, np.float32))
    assert (w.compiles, w.ms, w.hits) == (0, 0.0, 2)


def test_watch_sees_what_grad_compiles() -> None:
    f, _ = counted()
    slope = jax.grad(lambda x: f(x).sum())
    slope(jnp.ones(3))
    with jax.watch() as w:
        slope(jnp.ones(3))
    assert w.compiles == 0
    with jax.watch() as w:
        slope(jnp.ones(4))
    assert w.compiles > 0


def test_watch_does_not_count_nested_time_twice() -> None:
    inner, _ = counted()
    outer = jax.jit(lambda x: inner(x) + inner(x * 2))
    with jax.watch() as w:
        outer(jnp.ones(3))
    (entry,) = outer.entries
    assert w.traces == 2
    assert w.ms <= 1e3 * (entry.trace_s + entry.compile_s)


def test_watch_survives_a_trace_that_raises() -> None:
    @jax.jit
    def bad(x: Any) -> Any:
        raise ZeroDivisionError

    f, _ = counted()
    with jax.watch() as w:
        with pytest.raises(ZeroDivisionError):
            bad(1.0)
        f(1.0)
    assert (w.traces, w.names) == (1, ("step",))


def test_watch_leaves_nothing_behind() -> None:
    before = list(events.listeners), list(runner_hooks)
    with jax.watch(), jax.watch():
        pass
    assert (list(events.listeners), list(runner_hooks)) == before


def test_would_compile_answers_without_tracing() -> None:
    f, traced = counted()
    assert f.would_compile(1.0)
    assert str(f.would_compile(1.0)).endswith("first call")
    f(1.0)
    assert not f.would_compile(2.0)
    assert str(f.would_compile(2.0)) == "cached"
    reason = f.would_compile(2)
    assert (reason.letters, str(reason)) == ("D", "x is i32[], was f32[]")
    assert str(f.would_compile(1.0, 2.0)).startswith("arguments is 2 by position, was 1")
    assert f.would_compile(np.float32(1)).letters == "W"
    assert len(traced) == 1
    f.trace(3)
    assert str(f.would_compile(3)) == "traced, but not compiled yet"
    with jax.disable_jit():
        assert not f.would_compile(jnp.ones(9))
    assert len(jax.why_recompiled(f).entries) == len(traced)


def test_cache_info_lists_signatures() -> None:
    f, _ = counted()
    for n in (3, 3, 4):
        f(jnp.ones(n), 1.0)
    info = f.cache_info()
    assert (info.traces, info.hits, info.file) == (2, 1, __file__)
    assert [s.signature for s in info.signatures] == ["x f32[3], y f32[]*", "x f32[4], y f32[]*"]
    assert info.seconds == pytest.approx(sum(s.trace_s + s.compile_s for s in info.signatures))
    assert "x f32[3], y f32[]*  1 hit  " in str(info) == repr(info)
    f.clear_cache()
    assert (f.cache_info().traces, f.cache_info().signatures) == (2, ())


def test_hits_of_the_fast_path_are_counted_up_to_a_few() -> None:
    f, _ = counted()
    x = jnp.ones(3)
    for _ in range(3):
        f(x)
    (s,) = f.cache_info().signatures
    assert (s.hits, s.is_counted) == (2, True)
    for _ in range(9):
        f(x)
    (s,) = f.cache_info().signatures
    assert (s.hits, s.is_counted) == (3, False)
    assert "3+ hits" in str(s)


def test_log_compiles_prints_a_line_per_compile(caplog: pytest.LogCaptureFixture) -> None:
    f, _ = counted()
    with caplog.at_level(logging.WARNING, "jaxlite"), jax.log_compiles():
        f(jnp.ones(3))
        f(jnp.ones(3))
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "Compiling jit(step) with global shapes and types (f32[3]). Finished tracing in 0."
    )


def test_explain_cache_misses_prints_why(caplog: pytest.LogCaptureFixture) -> None:
    f, _ = counted()
    with caplog.at_level(logging.WARNING, "jaxlite"), jax.explain_cache_misses():
        f(jnp.ones(3))
        f(jnp.ones(4))
    first, second = [r.getMessage() for r in caplog.records]
    assert first.startswith("TRACING CACHE MISS at test_guards.py:")
    assert "never seen function: step defined at" in first
    assert "x is f32[4], was f32[3]" in second


@pytest.mark.parametrize(("n", "expected"), [(0, 1), (1, 1), (2, 2), (3, 4), (64, 64), (65, 128)])
def test_bucket_is_the_next_power_of_two(n: int, expected: int) -> None:
    assert jax.bucket(n) == expected
    assert jax.bucket(n, minimum=256) == 256


def test_pad_batch_pads_with_zeros_and_gives_the_mask() -> None:
    x, y = jnp.ones((2, 3)), np.arange(2)
    px, py, mask = jax.pad_batch(x, y, to=4)
    assert (px.shape, py.tolist(), mask.tolist()) == (
        (4, 3),
        [0, 1, 0, 0],
        [True] * 2 + [False] * 2,
    )
    assert isinstance(py, np.ndarray)
    assert (px.dtype, float(px.sum()), mask.dtype) == (x.dtype, 6.0, np.bool_)
    same, mask = jax.pad_batch(x, to=2)
    assert same is x
    assert bool(mask.all())
    wide, mask = jax.pad_batch(x, to=5, axis=-1)
    assert (wide.shape, mask.shape) == ((2, 5), (5,))
    assert jax.pad_batch(jnp.ones(2, jnp.bfloat16), to=3)[0].dtype == jnp.bfloat16
    assert jax.jit(lambda v: jax.pad_batch(v, to=3)[0])(jnp.ones(2)).tolist() == [1, 1, 0]


def test_pad_batch_and_bucket_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"cannot pad length 5 to 4\n  Fix: to=8"):
        jax.pad_batch(jnp.ones(5), to=4)
    with pytest.raises(ValueError, match=r"different lengths along axis 0: \[2, 3\]"):
        jax.pad_batch(jnp.ones(2), jnp.ones(3), to=4)
    with pytest.raises(ValueError, match="needs at least one array"):
        jax.pad_batch(to=4)
    with pytest.raises(ValueError, match="has no axis 0"):
        jax.pad_batch(1.0, to=4)
    with pytest.raises(ValueError, match="bucket needs a length, got -1"):
        jax.bucket(-1)
