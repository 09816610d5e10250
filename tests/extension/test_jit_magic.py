"""``%%jit``: inputs, outputs, atomic assignment, the one-line report, errors on the user's line."""

from __future__ import annotations

import re
from typing import Any

import pytest

import jaxlite

CELL = "%%jit\nh = tanh(x @ w1 + b1)\nloss = mean(h**2)\nloss"


def test_first_run_cached_run_and_compiled_again(notebook: Any) -> None:
    first = notebook.run(CELL)
    pattern = (
        r"%%jit  3 in, 2 out · \d+ ops → \d+ kernels? · traced [\d.]+ ms, "
        r"compiled [\d.]+ ms, ran [\d.]+ ms"
    )
    assert re.match(pattern, first.out)
    assert float(first.result) == pytest.approx(0.9986591)
    assert notebook["h"].shape == (4, 5)
    assert re.match(r"%%jit  cached · ran [\d.]+ ms", notebook.run(CELL).out)
    notebook.run("x = jnp.ones((6, 3))")
    again = notebook.run(CELL).out
    assert again.startswith("%%jit  compiled again: x is f32[6,3], was f32[4,3] · ")


def test_a_report_is_one_line(notebook: Any) -> None:
    assert notebook.run("%%jit\ny = x * 2.0").out.count("\n") == 1
    assert notebook.run("%%jit -q\ny = x * 2.0").out == ""


def test_nothing_is_assigned_when_something_fails(notebook: Any) -> None:
    notebook.run("y = 'before'")
    result = notebook.run("%%jit\ny = x * 2.0\nz = y @ b1")
    assert not result.success
    assert notebook["y"] == "before"
    assert "z" not in notebook


def test_underscore_names_and_out_stay_inside(notebook: Any) -> None:
    notebook.run("%%jit\n_t = x * 2.0\ny = _t + 1.0\nz = y * 3.0")
    assert "_t" not in notebook
    notebook.run("%%jit --out q\np = x * 2.0\nq = p + 1.0")
    assert "p" not in notebook
    assert notebook["q"].shape == (4, 3)


def test_inputs_are_read_again_on_every_run(notebook: Any) -> None:
    notebook.run("s = 2.0")
    notebook.run("%%jit\ny = x * s")
    notebook.run("s = 5.0")
    assert "cached" in notebook.run("%%jit\ny = x * s").out
    assert float(notebook["y"][0, 0]) == 5.0


def test_accumulation_reads_and_writes_one_name(notebook: Any) -> None:
    notebook.run("total = jnp.zeros(3)")
    for _ in range(3):
        notebook.run("%%jit\ntotal += x.sum(0)")
    assert notebook["total"].tolist() == [12.0, 12.0, 12.0]


def test_item_assignment_makes_a_new_array(notebook: Any) -> None:
    notebook.run("old = x")
    notebook.run("%%jit\nx[1, :] = 5.0\nx[0, 1:] += 1.0")
    assert notebook["x"][1].tolist() == [5.0, 5.0, 5.0]
    assert notebook["x"][0].tolist() == [1.0, 2.0, 2.0]
    assert notebook["old"][1].tolist() == [1.0, 1.0, 1.0]


def test_number_whose_value_python_needs_becomes_static(notebook: Any) -> None:
    source = "%%jit\nz = jnp.zeros(n)\nfor i in range(n):\n    z = z + i"
    first = notebook.run(source)
    assert "n is static here" in first.out
    assert notebook["z"].tolist() == [3.0, 3.0, 3.0]
    assert "cached" in notebook.run(source).out
    notebook.run("n = 4")
    assert notebook.run(source).out.startswith("%%jit  compiled again: static n is 4, was 3")
    assert notebook["z"].shape == (4,)


def test_functions_of_the_notebook_are_used_as_they_are_now(notebook: Any) -> None:
    notebook.run("def f(v):\n    return v + 1.0")
    notebook.run("%%jit\ny = f(x)")
    notebook.run("def f(v):\n    return v + 100.0")
    notebook.run("%%jit\ny = f(x)")
    assert float(notebook["y"][0, 0]) == 101.0


def test_name_makes_the_cell_a_function(notebook: Any) -> None:
    notebook.run("%%jit double\ny = x * 2.0")
    assert notebook["double"](x=jaxlite.numpy.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="missing inputs: x"):
        notebook["double"]()


def test_dry_run_assigns_nothing(notebook: Any) -> None:
    result = notebook.run("%%jit --dry\ndry_y = x * 2.0")
    assert "dry run" in result.out
    assert "dry_y" not in notebook


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("y = x @ w3", ["JL010 NameError: w3 is not defined (line 1)", "    y = x @ w3", "^^"]),
        ("global q\ny = x", ["JL011 global cannot be used in a %%jit cell (line 1)", "Fix: move"]),
        ("y = x\nawait y", ["JL011 await cannot be used", "(line 2)"]),
        ("y = x\n%time y", ["JL011 %time cannot be used in a %%jit cell (line 2)"]),
        ("!ls\ny = x", ["JL011 !ls cannot be used"]),
        ("from math import *", ["JL011 import * cannot be used"]),
        ("y = x + jnp.ones(7)", ["ValueError: Incompatible shapes for broadcasting", "(line 1)"]),
        ("if x.sum() > 3:\n    y = x", ["TracerBoolConversionError", "(line 1)", "argument x"]),
        ("y = cfg", ["JL012 InputError: cfg (Config) cannot be an input", "cfg.lr"]),
    ],
)
def test_errors_show_the_users_line_and_no_frame_of_ours(
    notebook: Any, cell: str, expected: list[str]
) -> None:
    notebook.run("class Config:\n    def __init__(self): self.lr = 0.1\ncfg = Config()")
    result = notebook.run(f"%%jit\n{cell}")
    shown = result.out + result.err
    assert not result.success
    for text in expected:
        assert text in shown
    assert "/jaxlite/" not in shown
    assert "run_cell_magic" not in shown


def test_suggestion_for_a_misspelled_name(notebook: Any) -> None:
    notebook.run("weights = jnp.ones(3)")
    result = notebook.run("%%jit\ny = x @ weight")
    assert "did you mean weights?" in result.out + result.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--bogus", "unrecognized arguments: --bogus"),
        ("--show nothing", "choose from none, trace, grad, kernels, shapes, vmap, text"),
        ("2x", "'2x' is not a name for a function"),
    ],
)
def test_mistakes_on_the_magic_line_are_usage_errors(
    notebook: Any, line: str, message: str
) -> None:
    result = notebook.run(f"%%jit {line}\ny = x")
    assert message in result.out + result.err
    assert "Traceback" not in result.out + result.err


def test_tracebacks_hide_our_frames_unless_asked(notebook: Any) -> None:
    source = "def f(a):\n    return jax.jit(lambda v: v @ a)(jnp.ones(7))\nf(x)"
    shown = notebook.run(source)
    assert "/jaxlite/" not in shown.out + shown.err
    assert "dot_general requires" in shown.out + shown.err
    notebook.run("%jaxlite tb full")
    full = notebook.run(source)
    assert "/jaxlite/" in full.out + full.err
    notebook.run("%jaxlite tb user")


def test_loading_twice_and_unloading(notebook: Any) -> None:
    jaxlite.load_ipython_extension(notebook.shell)
    jaxlite.unload_ipython_extension(notebook.shell)
    assert "jit" not in notebook.shell.magics_manager.magics["cell"]
    jaxlite.load_ipython_extension(notebook.shell)
    assert "jit" in notebook.shell.magics_manager.magics["cell"]
