"""Large graphs: in fewer boxes, with a sentence, within seconds."""

from __future__ import annotations

import linecache
import time
from typing import Any

import pytest
from jaxlite_ipython.views import trace
from jaxlite_ipython.views.collapse import LEVELS, collapse
from jaxlite_ipython.views.trace_graph import TraceView
from jaxlite_ipython.views.traced import subject_of

import jaxlite
import jaxlite.numpy as jnp
from tests.extension import view_programs as programs


def long_function(n_lines: int) -> Any:
    """Return a function of ``n_lines`` different lines of two operations."""
    names = ("sin", "cos", "tanh", "exp")
    body = [f"    x = jnp.{names[i % 4]}(x) + {i}.0\n" for i in range(n_lines)]
    lines = ["def long(x):\n", *body, "    return x\n"]
    linecache.cache["<long>"] = (0, None, lines, "<long>")
    scope: dict[str, Any] = {"jnp": jnp}
    exec(compile("".join(lines), "<long>", "exec"), scope)
    return scope["long"]


def repeated(x: Any) -> Any:
    for _ in range(500):
        x = jnp.sin(x) * 2.0
        x = x + jnp.cos(x)
    return x


def test_two_thousand_equations_are_collapsed_in_two_seconds() -> None:
    jitted = jaxlite.jit(long_function(1000))
    jitted.trace(1.0)
    start = time.perf_counter()
    view = trace(jitted, 1.0)
    data, _ = view._repr_mimebundle_()
    assert time.perf_counter() - start < 2
    assert "2,000 ops shown as 24 parts of 1,000 lines" in view.text()
    assert "image/png" in data
    assert len(data["image/svg+xml"]) < 150_000


def test_repeated_block_is_shown_once_with_its_count() -> None:
    view = programs.timeless(repeated, 1.0)
    assert [(n.label, n.times) for n in view.graph.ops] == [
        ("sin", 500),
        ("mul 2", 500),
        ("cos", 500),
        ("add", 500),
    ]
    assert "2,000 ops shown as 4 boxes" in view.text()
    assert "repeated \N{MULTIPLICATION SIGN}500" in view.text()
    assert "add \N{MULTIPLICATION SIGN}500" in view.svg()


def test_lines_are_boxes_when_operations_are_too_many() -> None:
    view = programs.timeless(long_function(35), 1.0)
    assert view.level == 3
    assert "70 ops shown as 35 lines" in view.text()
    assert [n.label for n in view.graph.ops[:2]] == ["sin add", "cos add"]


def test_calls_are_boxes_before_lines_are() -> None:
    @jaxlite.jit
    def block(x: Any, k: Any) -> Any:
        y = jnp.sin(x) + k
        return y * jnp.cos(y) + jnp.exp(y) * jnp.tanh(k) - jnp.sin(k) * k

    def calls(x: Any) -> Any:
        for k in range(9):
            x = block(x, x * k)
        return x

    view = programs.timeless(calls, 1.0)
    assert len(view.graph.ops) <= 60
    view.level = 1
    assert view._coarser()
    assert {n.label for n in view.graph.ops if n.family == "loop or call"} == {"block"}


@pytest.mark.parametrize("level", range(LEVELS))
def test_every_level_keeps_totals_and_draws(level: int) -> None:
    for name in programs.ARGUMENTS:
        view = programs.trace_view(name)
        graph = collapse(view._full, level)
        assert graph.n_ops == view.graph.n_ops
        assert sum(n.n_ops for n in graph.ops) <= graph.n_ops
        view.graph, view.level = graph, level
        programs.svg_tree(view)


def test_many_inputs_and_outputs_are_joined_by_container() -> None:
    params = {f"w{k}": programs.f32(2) for k in range(40)}
    view = programs.timeless(lambda p, x: {k: v * x for k, v in p.items()}, params, programs.f32(2))
    inputs = [(n.label, n.type) for n in view.graph.of_kind("input")]
    assert inputs == [("p", "40 arrays"), ("x", "f32[2]")]
    assert "p['w39'] f32[2]" in view.text()
    assert len(view.graph.of_kind("output")) <= 14


def test_slow_layout_goes_to_the_next_level_and_says_so() -> None:
    f, args = programs.ARGUMENTS["layer"]
    view = TraceView(subject_of(f, args, {}), limit_s=0.0)
    view.svg()
    assert view.level == LEVELS - 1
    assert "(layout stopped at 0 s)" in view.title


@pytest.mark.slow
def test_a_hundred_thousand_equations_have_an_answer() -> None:
    def endless(x: Any) -> Any:
        for _ in range(25_000):
            x = jnp.sin(x) * 2.0
            x = jnp.cos(x) + 1.0
        return x

    view = programs.timeless(endless, 1.0)
    assert "100,000 ops shown as 4 boxes" in view.text()
    programs.svg_tree(view)
