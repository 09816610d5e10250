"""Cells by their numbers, comments in front, errors of any kind, saved views: what users meet."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxlite as jax


def number_of_next(notebook: Any) -> int:
    return int(notebook.shell.execution_count)


def test_a_jit_cell_is_known_by_the_number_it_ran_as(notebook: Any) -> None:
    number = number_of_next(notebook)
    notebook.run("%%jit\ny = x * 2.0")
    notebook.run("x = jnp.ones((6, 3))")
    again = notebook.run("%%jit\ny = x * 2.0").out
    assert again.rstrip().endswith(f"· jaxlite.why_recompiled({number + 2})")
    view = jax.why_recompiled(number + 2)
    assert view.verdict == jax.why_recompiled(number).verdict
    assert view.title.startswith(f"cell {number + 2}: 2 compiles")
    assert f"cell {number + 2}, line 1" in jax.why_recompiled().text()


def test_places_in_cells_are_named_as_cells(notebook: Any) -> None:
    number = number_of_next(notebook)
    notebook.run(
        "@jax.jit\ndef grow(v):\n    return v * 2.0\nfor n in (2, 3):\n    grow(np.ones(n))"
    )
    text = notebook.run("print(jax.why_recompiled(grow))").out
    assert f"grow (cell {number}, line 1): traced 2 times" in text
    assert f"Called from cell {number}, line 5 in <module>:  grow(np.ones(n))" in text
    lambdas = notebook.run("for n in (2, 3, 4, 5):\n    jax.jit(lambda v: v + 1)(np.ones(n))").err
    assert lambdas.rstrip().endswith(f"See jaxlite.why_recompiled({number + 2})")
    told = notebook.run("%%jit\nif x.sum() > 3:\n    y = x").out
    assert f"tracing cell {number + 3}. " in told
    assert "%%jit --static NAME" in told


def test_comments_may_stand_in_front(notebook: Any) -> None:
    assert notebook.run("# what this is\n\n%%jit\ny = x * 2.0").out.startswith("%%jit  1 in, 1 out")
    shown = notebook.run("# a\n%%jit\ny = x @ w3")
    assert "w3 is not defined (line 2)" in shown.out
    assert "did you mean w1?" in shown.out


def test_a_cell_may_be_indented_and_its_line_may_have_a_comment(notebook: Any) -> None:
    assert notebook.run("%%jit twice  # a comment\n    y = x * 2.0\n    z = y").out.startswith(
        "%%jit  1 in, 2 out"
    )
    assert "twice" in notebook


def test_a_semicolon_hides_the_value(notebook: Any) -> None:
    assert notebook.run("%%jit\nx.sum()").result is not None
    assert notebook.run("%%jit\nx.sum();").result is None
    assert notebook.run("%jit x.sum();").result is None


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%%jit\ny = x +", ["SyntaxError: invalid syntax (line 1)", "    y = x +", "^"]),
        ("%%jit\nbreak", ["SyntaxError: 'break' outside loop (line 1)", "    break"]),
        ("%%jit\ny = x\x00", ["SyntaxError: source code string cannot contain null bytes"]),
        ("%%jit class\ny = x", ["'class' is not a name for a function"]),
        ("%%jit --static nosuch\ny = x", ["JL013 --static nosuch: the cell does not read nosuch"]),
        ("%jit --help", ["--check-grad"]),
        ("%%jit --dry --time\ny = x", ["--time runs the cell, --dry does not"]),
        ("s = {1}\n%jit y = x + len(s)", ["s (set) cannot be an input", "make it a frozenset"]),
        ("s = np.array(['a'])\n%jit y = s", ["s (array of <U1)", "an array of numbers"]),
        ("s = iter([1])\n%jit y = [x * i for i in s]", ["s = list(s)"]),
        ("%%jit --vmap x:0 --show grad\ny = x", ["of one example: leave --vmap out"]),
        ("%jaxlite ignore JL1O1", ["JL1O1 is no message"]),
    ],
)
def test_mistakes_are_told_in_words(notebook: Any, cell: str, expected: list[str]) -> None:
    result = notebook.run(cell)
    shown = result.out + result.err
    assert all(text in shown for text in expected)
    assert "Traceback" not in shown


def test_a_slice_is_an_input(notebook: Any) -> None:
    notebook.run("part = slice(1, 3)\n%jit y = x[part]")
    assert notebook["y"].shape == (2, 3)


def test_help_of_the_magic_lists_its_options(notebook: Any) -> None:
    assert "--max-traces N" in notebook.shell.find_cell_magic("jit").__doc__


def test_name_is_a_function_with_a_signature(notebook: Any) -> None:
    notebook.run("%%jit twice\ny = x * 2.0")
    assert repr(notebook["twice"]).startswith("<function twice at")
    assert notebook.run("import inspect\nstr(inspect.signature(twice))").result == "(x)"


def test_endless_recursion_is_short_and_without_frames_of_ours(notebook: Any) -> None:
    notebook.run("@jax.jit\ndef again(v):\n    return again(v)")
    shown = notebook.run("again(x)")
    text = shown.out + shown.err
    assert "RecursionError" in text
    assert "calls in between are not shown" in text
    assert "inspect.py" not in text
    assert text.count("return again(v)") < 40


def test_errors_of_scripts_hide_our_frames_too(notebook: Any, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import jaxlite as jax\njax.jit(lambda v: v @ jax.numpy.ones(5))(jax.numpy.ones(3))\n"
    )
    shown = notebook.run(f"%run {script}")
    text = shown.out + shown.err
    assert "dot_general requires" in text
    assert "jaxlite/api" not in text
    again = notebook.run("%tb")
    assert "dot_general requires" in again.out + again.err
    assert "jaxlite/api" not in again.out + again.err
    group = notebook.run("raise ExceptionGroup('two', [ValueError(1), TypeError(2)])")
    assert "ValueError: 1" in group.out + group.err


def test_messages_of_two_cells_are_two_messages(notebook: Any) -> None:
    assert "JL111" in notebook.run("%%jit\nprint(x)").err
    assert "JL111 the f-string" in notebook.run("%%jit\ny = f'{x}'").err
    timed = notebook.run("g = 2.0\n%%time").err
    timed = notebook.run("%%time\n@jax.jit\ndef f(v):\n    return v * n").err
    assert "JL101 f reads global n (3" in timed


def test_a_function_that_fills_a_list_gets_one_message(notebook: Any) -> None:
    notebook.run("losses = []")
    told = notebook.run("@jax.jit\ndef f(v):\n    losses.append(v)\n    return v").err
    assert told.startswith("JL105 losses.append runs once")
    assert told.count("\n") == 1


def test_change_in_place_is_told_with_its_cell(notebook: Any) -> None:
    notebook.run("cfg = {'lr': 1.0}\n@jax.jit\ndef k(v):\n    return v * cfg['lr']\nk(1.)")
    number = number_of_next(notebook)
    assert f"set in cell {number})" in notebook.run("cfg['lr'] = 5.0").err
    table = notebook.run("%jaxlite stale").out
    assert f"cell {number - 1}" in table.splitlines()[1]
    assert f"cell {number}, line 1" in table.splitlines()[1]


def test_the_cell_that_changes_is_the_one_that_runs(notebook: Any) -> None:
    notebook.run("g = 1.0\n@jax.jit\ndef k(v):\n    return v * g\nk(1.)")
    number = number_of_next(notebook)
    told = notebook.run("for g in (2.0, 3.0):\n    k(1.)").err
    assert f"JL202 k uses the old value of g (1.0, now 2.0, set in cell {number})" in told
    jax.config.update("stale_globals", "error")
    try:
        failed = notebook.run("g = 7.0\nk(1.)")
        assert f"(1.0 -> 7.0, set in cell {number + 1})" in failed.out + failed.err
    finally:
        jax.config.update("stale_globals", "warn")


def test_functions_that_nobody_can_call_are_not_stale(notebook: Any) -> None:
    told = notebook.run("for k in (1, 2, 3):\n    f = jax.jit(lambda v: v * k)\n    f(1.)").err
    assert "JL202" not in told


def test_stale_table_has_only_what_the_user_wrote(notebook: Any) -> None:
    notebook.run("%%jit\ny = tanh(x)")
    assert notebook.run("%jaxlite stale").out == "no jitted function has captured a global\n"


def test_large_numpy_constant_of_a_helper_is_named(notebook: Any) -> None:
    notebook.run("table = np.ones(100_000)\ndef shift(v):\n    return v + table")
    assert "holds table (390.6 KiB) as a constant" in notebook.run("%%jit\ny = shift(x[0, 0])").out


@pytest.mark.parametrize("make", ["trace", "kernels", "shapes", "step", "grad_graph"])
def test_views_can_be_pickled_and_copied(make: str) -> None:
    view = getattr(jax, make)(lambda v: (v * 2.0).sum(), np.ones(3, np.float32))
    saved = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(view))))
    assert saved.text() == view.text()
    assert saved.svg() == view.svg()
    assert saved.html()
    assert saved.json()
    assert saved._repr_mimebundle_()[0].keys() == view._repr_mimebundle_()[0].keys()
    assert copy.deepcopy(view) is copy.copy(view) is view


def test_report_of_calls_that_all_compiled_and_of_decorated_functions(notebook: Any) -> None:
    exec("def made(q):\n    return q * 3\n", scope := {})
    f = jax.jit(scope["made"])
    f(1.0)
    notebook.run("import functools")
    assert "made compiled once" in jax.why_recompiled(f).text()
    notebook.run(
        "def plain(g):\n    @functools.wraps(g)\n    def inner(*a):\n        return g(*a)\n"
        "    return inner\n@plain\n@jax.jit\ndef d(v):\n    return v\nd(1.0)"
    )
    assert "d compiled once" in notebook.run("print(jax.why_recompiled(d))").out


def test_texts_of_every_stage_name_cells(notebook: Any) -> None:
    notebook.run("import jaxlite as jax\ndef f(x):\n    return jnp.tanh(x) + 1\nX = jnp.ones(100)")
    number = notebook.shell.execution_count - 1
    for stage in ("kernels", "llvm", "cuda"):
        out = notebook.run(f"print(jax.jit(f).lower(X).as_text({stage!r}))").out
        assert f"tanh a  # cell {number}, line 3" in out, stage
    out = notebook.run("print(jax.make_jaxpr(f)(X).pretty_print(source_info=True))").out
    assert f"# cell {number}, line 3 (f)" in out
