"""What people report about recompiling: each surprise happens as often as said, explained."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp


def counted(fun: Callable[..., Any], **options: Any) -> tuple[Any, list[int]]:
    """Return ``jit(fun)`` and a list that grows by one at each trace."""
    traces: list[int] = []

    @functools.wraps(fun)
    def body(*args: Any, **kwargs: Any) -> Any:
        traces.append(1)
        return fun(*args, **kwargs)

    return jax.jit(body, **options), traces


def letters(f: Any) -> list[str]:
    return [e.letters for e in jax.why_recompiled(f).entries]


def test_leaf_of_a_nested_argument_is_named_with_its_path_and_the_callers_line() -> None:
    step, traces = counted(lambda p, k: p["w"].sum() * k)
    step({"w": jnp.ones(3)}, 1.0)
    step({"w": jnp.ones(4)}, 1.0)
    step({"w": jnp.ones(4)}, jnp.float32(1.0))
    assert len(traces) == 3
    report = jax.why_recompiled(step)
    assert letters(step) == ["1", "S", "W"]
    shape, weak = [e.causes for e in report.entries[1:]]
    assert [(d.path.endswith("['w']"), d.old, d.new) for d in shape] == [(True, "f32[3]", "f32[4]")]
    assert "a Python number" in weak[0].old
    assert report.entries[1].miss.caller.file == __file__


def test_loop_that_feeds_itself_traces_twice_for_the_weak_type_only() -> None:
    add, traces = counted(lambda x, y: x + y)
    x: Any = 0.0
    for _ in range(5):
        x = add(x, jnp.float32(2))
    assert float(x) == 10.0
    assert len(traces) == 2
    assert letters(add) == ["1", "W"]


def test_weak_leaf_of_a_state_is_the_only_one_named() -> None:
    train, traces = counted(lambda s: {"n": s["n"] + 1, "avg": s["avg"] * jnp.float32(0.9)})
    state: Any = {"n": jnp.int32(0), "avg": jnp.asarray(0.0)}
    for _ in range(3):
        state = train(state)
    assert len(traces) == 2
    (cause,) = jax.why_recompiled(train).entries[1].causes
    assert cause.cause == "W"
    assert cause.path.endswith("['avg']")


def test_jit_of_a_named_function_in_a_loop_is_cached_and_of_a_lambda_is_not() -> None:
    traces: list[int] = []

    def body(i: Any) -> Any:
        traces.append(1)
        return i + 1

    for _ in range(4):
        jax.jit(body)(0)
    assert len(traces) == 1
    for _ in range(4):
        last = jax.jit(lambda v: body(v))
        last(0)
    assert len(traces) == 5
    assert letters(last) == ["1", "F", "F", "F"]


def test_bound_method_is_traced_at_most_once_per_access_and_said_to_be_one() -> None:
    traces: list[int] = []

    class Model:
        def f(self, x: Any) -> Any:
            traces.append(1)
            return x * 2

    model = Model()
    for _ in range(2):
        last = jax.jit(model.f)
        last(1.0)
    if len(traces) == 2:
        assert "bound method" in str(jax.why_recompiled(last))
    else:
        assert len(traces) == 1


def test_unhashable_static_argument_is_an_error_at_the_first_call() -> None:
    f = jax.jit(lambda x, s: x + s[0], static_argnums=1)
    with pytest.raises((ValueError, TypeError), match="hash"):
        f(1, [2, 3])
    assert int(f(1, (2, 3))) == 3
    with pytest.raises((ValueError, TypeError), match="hash"):
        f(1, np.arange(3))


@pytest.mark.parametrize("frozen", [False, True])
def test_static_dataclass_recompiles_unless_it_is_compared_by_value(frozen: bool) -> None:
    config = dataclasses.make_dataclass("Config", [("k", int, 3)], eq=frozen, frozen=frozen)
    f, traces = counted(lambda x, c: x * c.k, static_argnums=1)
    for _ in range(3):
        f(1.0, config())
    assert len(traces) == (1 if frozen else 3)
    if not frozen:
        assert letters(f) == ["1", "V", "V"]
        assert "frozen=True" in str(jax.why_recompiled(f))


def test_axis_that_varies_is_named_with_its_lengths() -> None:
    f, traces = counted(lambda x: (x + 10) * 100)
    for b in (4, 8, 4, 16, 8):
        f(jnp.ones((b, 2, 2)))
    assert len(traces) == 3
    report = jax.why_recompiled(f)
    assert "axis 0 took values 4, 8, 16; the other axes never changed." in report.notes[0]
    assert any("pad" in fix.title for fix in report.fixes)


def test_no_tracing_refuses_a_new_shape_only() -> None:
    f = jax.jit(lambda x: x + 1)
    f(jnp.ones(2))
    with jax.no_tracing(True):
        f(jnp.ones(2))
        with pytest.raises(RuntimeError):
            f(jnp.ones(3))


def test_call_forms_are_told_apart_and_keyword_order_is_not() -> None:
    f, traces = counted(lambda x, y: x - y)
    f(3.0, 1.0)
    f(3.0, y=1.0)
    f(x=3.0, y=1.0)
    f(y=1.0, x=3.0)
    f(5.0, 2.0)
    assert len(traces) == 3
    assert letters(f) == ["1", "T", "T"]


def test_static_object_changed_in_place_gives_one_answer() -> None:
    class Value:
        def __init__(self, v: int) -> None:
            self.v = v

        def __hash__(self) -> int:
            return hash(self.v)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Value) and self.v == other.v

    f = jax.jit(lambda s, y: y + s.v, static_argnums=0)
    value = Value(100)
    assert int(f(value, 1)) == 101
    value.v = 0
    assert {int(f(value, 1)) for _ in range(3)} == {1}


@pytest.mark.parametrize(
    "calls",
    [
        (2, 2, 1.0, 1.0, 1),
        (np.ones(3, "f4"), np.arange(3, dtype="i4"), np.arange(3, dtype="f4")),
    ],
)
def test_integer_and_float_are_two_traces(calls: tuple[Any, ...]) -> None:
    f, traces = counted(lambda x: x * 2)
    for x in calls:
        f(x)
    assert len(traces) == 2
    assert letters(f)[-1] == "D"


def test_static_keyword_is_named_with_both_values() -> None:
    f, traces = counted(lambda z, *, k: z**k, static_argnames="k")
    for k in (3, 4, 3, 4):
        f(2.0, k=k)
    assert len(traces) == 2
    assert "static k is 4, was 3" in jax.why_recompiled(f).verdict


def test_cache_has_a_size_and_can_be_cleared() -> None:
    f = jax.jit(lambda x: x * 2)
    for k in range(1, 6):
        f(jnp.ones(k))
    assert f._cache_size() == 5
    f.clear_cache()
    assert f._cache_size() == 0
    f(jnp.ones(1))
    assert letters(f)[-1] == "X"


def test_call_sites_are_ranked_and_the_librarys_own_functions_left_out() -> None:
    slow = jax.jit(lambda x: jnp.linalg.inv(x @ x.T + jnp.eye(x.shape[0])).sum())
    for k in (2, 3, 4):
        slow(jnp.ones((k, k)))
    reports = jax.why_recompiled().reports
    assert [r.seconds for r in reports] == sorted((r.seconds for r in reports), reverse=True)
    mine = [r for r in reports if r.file == __file__ and len(r.entries) >= 3]
    assert mine
    assert not any("convert_element_type" in r.name for r in reports)


def test_functions_with_one_decorator_have_reports_of_their_own() -> None:
    first, _ = counted(lambda x: x + 1)
    second, _ = counted(lambda x: x + 2)
    first(1.0)
    second(1.0)
    assert letters(first) == letters(second) == ["1"]
