"""``jit``: what is a hit, what is a miss, and what a miss says."""

from __future__ import annotations

import dataclasses
import functools
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import errors


class Counter:
    """A function that counts how often it is traced."""

    def __init__(self, fun: Any) -> None:
        self.n = 0

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.n += 1
            return fun(*args, **kwargs)

        self.fun = functools.wraps(fun)(counted)


def test_same_types_hit_and_new_types_miss() -> None:
    c = Counter(lambda x: x * 2)
    f = jax.jit(c.fun)
    for x in (jnp.ones(3), jnp.zeros(3), jnp.ones(4), jnp.arange(3), 1.0, 2.0, 1):
        f(x)
    assert c.n == 5
    assert f._cache_size() == 5
    f.clear_cache()
    assert f._cache_size() == 0


def test_weak_and_strong_types_are_different_keys() -> None:
    c = Counter(lambda x, y: x + y)
    f = jax.jit(c.fun)
    x: Any = 0.0
    for _ in range(5):
        x = f(x, jnp.float32(2))
    assert (c.n, float(x)) == (2, 10.0)


def test_jit_of_the_same_function_shares_its_traces() -> None:
    c = Counter(lambda x: x + 1)
    for i in range(4):
        jax.jit(c.fun)(i)
    assert c.n == 1


def test_bound_methods_share_traces_per_object() -> None:
    class Model:
        n = 0

        def f(self, x: Any) -> Any:
            Model.n += 1
            return x * 2

    m = Model()
    jax.jit(m.f)(1.0)
    jax.jit(m.f)(1.0)
    assert Model.n == 1


def test_inner_jit_is_traced_once_for_all_callers() -> None:
    c = Counter(lambda x: x * 2)
    inner = jax.jit(c.fun)
    jax.jit(lambda x: inner(x) + inner(x))(1.0)
    jax.jit(lambda x: inner(x) - 1)(1.0)
    assert c.n == 1


def test_dictionaries_in_any_order_hit() -> None:
    c = Counter(lambda d: d["a"] - d["b"])
    f = jax.jit(c.fun)
    assert float(f({"a": 3.0, "b": 1.0})) == float(f({"b": 1.0, "a": 3.0})) == 2.0
    assert c.n == 1


def test_static_arguments_by_position_and_name() -> None:
    c = Counter(lambda x, n=2: x**n)
    f = jax.jit(c.fun, static_argnames="n")
    assert [float(f(2.0, n=n)) for n in (3, 4, 3)] == [8.0, 16.0, 8.0]
    assert c.n == 2
    g = jax.jit(lambda x, n: jnp.zeros(n) + x, static_argnums=1)
    assert g(1.0, 3).shape == (3,)
    assert g(1.0, 4).shape == (4,)


def test_static_values_of_different_type_are_different() -> None:
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    assert f(jnp.int32(2), 1).dtype == jnp.int32
    assert f(jnp.int32(2), 1.0).dtype == jnp.float32
    assert f(jnp.int32(2), True).dtype == jnp.int32


def test_frozen_dataclasses_as_static_arguments_hit() -> None:
    @dataclasses.dataclass(frozen=True)
    class Config:
        k: int = 3

    c = Counter(lambda x, c: x * c.k)
    f = jax.jit(c.fun, static_argnums=1)
    f(1.0, Config())
    f(1.0, Config())
    assert c.n == 1


@pytest.mark.parametrize("value", [[2, 3], {"a": 1}, np.arange(3), jnp.arange(3)])
def test_unhashable_static_argument_is_an_error_on_the_first_call(value: Any) -> None:
    f = jax.jit(lambda x, s: x, static_argnums=1)
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        f(1.0, value)


def test_wrong_static_names_and_numbers() -> None:
    with pytest.raises(ValueError, match="only accepts 2 positional arguments"):
        jax.jit(lambda x, y: x, static_argnums=5)
    with pytest.raises(ValueError, match=r"invalid argnames \{'q'\} in static_argnames"):
        jax.jit(lambda x, y: x, static_argnames="q")
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        jax.jit(3)


def test_argument_that_is_no_array_names_its_path() -> None:
    with pytest.raises(TypeError, match=r"passed to the function at path p\['name'\]"):
        jax.jit(lambda p: p)({"name": "text", "w": 1.0})


def test_result_that_is_no_array_names_its_path() -> None:
    with pytest.raises(TypeError, match=r"at output component \['a'\]\[1\], which is not a valid"):
        jax.jit(lambda x: {"a": [x, "b"]})(1.0)


def test_max_traces_stops_before_the_trace() -> None:
    c = Counter(lambda x: x)
    f = jax.jit(c.fun, max_traces=1)
    f(jnp.ones(2))
    with pytest.raises(errors.RecompileError) as caught:
        f(jnp.ones(3))
    assert (c.n, caught.value.code) == (1, "JL031")


def test_no_tracing_allows_hits_only() -> None:
    f = jax.jit(lambda x: x + 1)
    f(jnp.ones(2))
    with jax.no_tracing(True):
        f(jnp.ones(2))
        with pytest.raises(RuntimeError, match="re-tracing function <lambda> for `jit`"):
            f(jnp.ones(3))


def test_disable_jit_runs_python_each_time() -> None:
    c = Counter(lambda x: x * 2)
    f = jax.jit(c.fun)
    with jax.disable_jit():
        f(1.0)
        f(1.0)
    assert c.n == 2


def test_interrupted_trace_leaves_no_entry() -> None:
    first = [True]

    @jax.jit
    def f(x: Any) -> Any:
        if first.pop() if first else False:
            raise KeyboardInterrupt
        return x + 1

    with pytest.raises(KeyboardInterrupt):
        f(1.0)
    assert f._cache_size() == 0
    assert float(f(1.0)) == 2.0


def test_two_threads_compile_once() -> None:
    started = threading.Barrier(2)
    c = Counter(lambda x: jnp.sin(x) * 2)
    f = jax.jit(c.fun)
    results: list[float] = []

    def call() -> None:
        started.wait()
        results.append(float(f(jnp.float32(0.5))))

    threads = [threading.Thread(target=call) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert c.n == 1
    assert results[0] == results[1]


def test_function_and_captured_array_are_freed() -> None:
    def use_once() -> weakref.ref[Any]:
        big = np.ones(1000)
        jax.jit(lambda x: x + big)(0.0)
        return weakref.ref(big)

    alive = use_once()
    gc.collect()
    assert alive() is None


def test_numpy_inputs_are_not_aliased_by_results() -> None:
    x = np.ones(3, np.float32)
    y = jax.jit(lambda x: x)(x)
    x[0] = 5.0
    assert y.tolist() == [1.0, 1.0, 1.0]


def test_leaked_tracer_names_function_and_line() -> None:
    log: list[Any] = []

    @jax.jit
    def f(x: Any) -> Any:
        y = x * 2
        log.append(y)
        return y

    f(1.0)
    with pytest.raises(errors.UnexpectedTracerError) as caught:
        log[0] + 1
    text = str(caught.value)
    assert text.startswith("Encountered an unexpected tracer.")
    assert "y = x * 2" in text


def test_bitwise_the_same_in_every_run() -> None:
    f = jax.jit(lambda x: jnp.tanh(x).sum() * x.mean())
    x = jnp.linspace(-3, 3, 100_003)
    assert len({float(f(x)) for _ in range(5)}) == 1


def test_stages_show_every_text() -> None:
    f = jax.jit(lambda x: (jnp.sin(x) * x).sum())
    traced = f.trace(jax.ShapeDtypeStruct((8,), jnp.float32))
    assert "sin a" in str(traced.jaxpr)
    assert traced.out_info.shape == ()
    lowered = traced.lower()
    for stage in ("jaxpr", "optimised", "fusion", "kernels", "llvm"):
        assert "sin" in lowered.as_text(stage)
    with pytest.raises(ValueError, match="unknown stage"):
        lowered.as_text("hlo")
    compiled = lowered.compile()
    assert (compiled.n_operations, compiled.n_kernels) == (3, 1)
    assert float(compiled(jnp.zeros(8))) == 0.0
