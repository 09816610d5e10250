"""Seconds per step: loops and branches counted whole, values untouched, two looks taken off."""

from __future__ import annotations

from typing import Any

import numpy as np

import jaxlite
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.diagnose.kernel_times import step_times


def test_a_large_step_takes_longer_than_a_small_one() -> None:
    def f(x: Any, y: Any) -> Any:
        return jnp.sin(x), jnp.sum(y)

    x, y = np.ones(1 << 19, np.float32), np.ones(8, np.float32)
    compilation = jaxlite.jit(f).lower(x, y).compilation
    times = step_times(compilation, [x, y], budget_s=0.05)
    large, small = sorted((times.of([s])[0] for s in compilation.program.steps), reverse=True)
    assert large > 20e-6
    assert large > 3 * small


def test_steps_in_short_loops_have_the_time_of_all_turns() -> None:
    def f(x: Any) -> Any:
        x = lax.fori_loop(0, 10, lambda i, v: jnp.cos(v), x)
        x = lax.while_loop(lambda v: v.sum() < 100, lambda v: v + 1.0, x)
        return lax.cond(x[0] > 0, lambda v: v * 2, lambda v: v - 1, x)

    x = np.ones(1000, np.float32)
    compilation = jaxlite.jit(f).lower(x).compilation
    times = step_times(compilation, [x], budget_s=0.05)
    loop = next(s for s in compilation.program.steps if hasattr(s, "trip"))
    assert times.of([loop])[0] > 0 < times.of(loop.body)[0]
    turning = next(s for s in compilation.program.steps if hasattr(s, "cond"))
    assert times.of([turning]) is not None
    assert times.of(turning.body) is None  # nobody knows how often it turns
    np.testing.assert_array_equal(x, 1.0)


def test_no_steps_have_no_time() -> None:
    x = np.ones(3, np.float32)
    compilation = jaxlite.jit(lambda x: x * 2).lower(x).compilation
    assert step_times(compilation, [x], budget_s=0.01).of([]) is None
