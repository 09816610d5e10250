"""The recompilation explorer: its facts, its picture, and the number of a cell as its argument."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from jaxlite_ipython.views.contract import problems

import jaxlite as jax
from jaxlite.diagnose import call_log, misses


def view_of_changing_shapes_and_statics() -> Any:
    misses.forget_all()  # functions of one source are one function in the report

    @jax.jit
    def other(x: Any) -> Any:
        return x

    step = jax.jit(lambda x, lr: x * lr, static_argnames="lr")
    with call_log.recording():
        for lr in (0.1, 0.05):
            for n in (64, 64, 57):
                step(np.ones(n, np.float32), lr)
    return jax.why_recompiled(step)


def test_the_picture_has_each_compile_and_the_text_has_every_fact() -> None:
    view = view_of_changing_shapes_and_statics()
    assert [e.letters for e in view.entries] == ["1", "S", "V", "S"]
    data = view.data()
    assert list(problems(data, view.svg(), view.prefix)) == []
    assert [n["id"] for n in data["nodes"]] == ["t1", "t2", "t3", "t4"]
    assert [c["hit"] for c in data["calls"]] == [False, True, False, False, True, False]
    text = view.text()
    assert view.verdict in text
    for figure in view.figures:
        assert figure.head in text
        assert figure.text in text
    assert re.search(r"call 3 +S +[\d.]+ ms +trace 2", text)
    assert "2 other calls reused a trace" in text
    assert all(fix.title in text for fix in view.fixes)
    assert "image/svg+xml" in view._repr_mimebundle_()[0]


def test_a_function_without_calls_log_or_traces_still_has_a_picture() -> None:
    f = jax.jit(lambda x: x)
    assert "has not been traced yet" in jax.why_recompiled(f).text()
    assert "<svg" in jax.why_recompiled(f).svg()
    f(1.0)
    assert "calls were not logged" in jax.why_recompiled(f).svg()


def test_names_are_escaped_and_long_causes_fit() -> None:
    f = jax.jit(lambda x, **k: x)
    f(1.0, **{"<b>\u540d": 1.0})
    f(np.ones(3), **{"<b>\u540d": np.ones(2)})
    svg = jax.why_recompiled(f).svg()
    assert "<b>" not in svg
    assert "&lt;b&gt;" in svg


def test_number_of_a_cell(notebook: Any) -> None:
    notebook.run("grow = jax.jit(lambda x: x)\nfor n in (2, 3): grow(np.ones(n))")
    number = notebook.shell.execution_count - 1
    notebook.run(f"v = jax.why_recompiled({number})")
    assert notebook["v"].verdict.startswith("Trace 2 compiled again: x is f32[3]")
    with pytest.raises(ValueError, match="cell 99 has neither defined nor called"):
        jax.why_recompiled(99)


def test_panel_has_what_can_be_copied_and_the_text_has_it_too() -> None:
    view = view_of_changing_shapes_and_statics()
    data, text = view.data(), view.text()
    fixes = [f for f in data["panel"] if f["title"] == "fix"]
    assert [f["big"] for f in fixes] == [f"{k} {f.title}" for k, f in enumerate(view.fixes, 1)]
    for f in (f for f in fixes if "code" in f):
        added = [line[2:] for line in f["code"] if line.startswith("+")]
        assert [line.strip() for line in f["copy"].splitlines()] == [x.strip() for x in added]
    cache, sites = data["tables"]
    # The function may be gone by now, and its compilations with it.
    assert [row[0].split()[0] for row in cache["rows"]] == ["#1", "#2", "#3", "#4"]
    assert [row[1:3] for row in sites["rows"]] == [("6", "4")]
    assert all(str(cell) in text for row in sites["rows"] for cell in row)
    assert list(problems(data, view.svg(), view.prefix)) == []


def test_keep_it_fixed_names_a_guard_that_holds_after_the_fix() -> None:
    def double(x: Any, lr: Any) -> Any:
        return x * lr

    step = jax.jit(double, static_argnames="lr")
    for lr in (0.1, 0.2, 0.3):
        step(np.ones(3), lr=lr)
    view = jax.why_recompiled(step)
    assert "with jaxlite.no_recompile(double):" in view.text()
    assert "@jaxlite.jit(max_traces=1)" in view.text()
    assert "Keep it fixed" in view.svg()
    fixed = jax.jit(double, max_traces=1)
    for lr in (0.1, 0.2, 0.3):
        fixed(np.ones(3), lr=lr)


def test_live_view_takes_in_later_calls() -> None:
    f = jax.jit(lambda x: x)
    f(np.ones(2))
    view = jax.why_recompiled(f)
    view.act("l")
    assert view.is_live
    assert view.data()["actions"] == [{"key": "l", "title": "Live", "on": True}]
    assert not view.refresh()
    before = view.svg()
    f(np.ones(3))
    assert view.refresh()
    assert [e.letters for e in view.entries] == ["1", "S"]
    assert view.svg() != before
    view.act("l")
    assert not view.is_live


def test_overview_of_all_functions_is_a_view_with_a_report_each() -> None:
    misses.forget_all()
    slow, quick = jax.jit(lambda x: x * 2.0), jax.jit(lambda y: y)
    for n in (2, 3, 4):
        slow(np.ones(n))
    quick(1.0)
    view = jax.why_recompiled()
    assert view.title.startswith("2 functions: 4 compiles, ")
    assert len(view) == len(view.reports) == 2
    assert list(problems(view.data(), view.svg(), view.prefix)) == []
    assert all(r.verdict in view.text() for r in view.reports)
    found = next(view[k] for k in range(2) if view.reports[k].causes == {"1": 1, "S": 2})
    assert found.verdict.startswith("Trace 3 compiled again: x is f32[4]")
    misses.forget_all()
    assert "No jitted function of yours" in jax.why_recompiled().text()
    assert "No jitted function of yours" in jax.why_recompiled().svg()
