"""Messages about captured globals: before a cell runs (JL101, JL102) and after they changed.

JL202.
"""

from __future__ import annotations

from typing import Any

import jaxlite
from jaxlite.diagnose.hooks import runner_hooks


def test_global_number_is_flagged_and_its_change_is_told_once(notebook: Any) -> None:
    defined = notebook.run("g = 0.\nf = lambda x: x + g\nfast = jax.jit(f)\nprint(fast(4.))")
    assert "JL101 f reads global g (0.0). Better: f(x, g)" in defined.err
    assert "4.0" in defined.out
    changed = notebook.run("g = 10.")
    assert "JL202 <lambda> uses the old value of g (0.0, now 10.0, set in cell" in changed.err
    again = notebook.run("print(fast(5.))")
    assert "5.0" in again.out
    assert again.err == ""
    assert "[14.]" in notebook.run("print(fast(jnp.array([4.])))").out


def test_mutable_global_is_flagged_and_its_content_watched(notebook: Any) -> None:
    cell = "cfg = {'lr': 1.0}\n@jax.jit\ndef k(x):\n    return x * cfg['lr']\nprint(k(2.))"
    assert "JL102 k reads mutable global cfg (dict" in notebook.run(cell).err
    changed = notebook.run("cfg['lr'] = 5.0")
    assert "JL202 k uses the old value of cfg ({'lr': 1.0}, now {'lr': 5.0}" in changed.err
    assert "2.0" in notebook.run("print(k(2.))").out


def test_captured_numpy_array_changed_in_place(notebook: Any) -> None:
    notebook.run("table = np.zeros(3)\n@jax.jit\ndef k(x):\n    return x + table\nk(1.)")
    changed = notebook.run("table[0] = 7.0")
    assert "JL202 k uses the old value of table" in changed.err


def test_helper_that_reads_a_global_counts(notebook: Any) -> None:
    notebook.run(
        "scale = 2.0\ndef helper(v):\n    return v * scale\n@jax.jit\ndef k(x):\n    return "
        "helper(x)\nk(1.)"
    )
    assert "JL202 k uses the old value of scale (2.0, now 3.0" in notebook.run("scale = 3.0").err


def test_redefined_helper_is_told(notebook: Any) -> None:
    notebook.run(
        "def helper(v):\n    return v + 1\n@jax.jit\ndef k(x):\n    return helper(x)\nk(1.)"
    )
    changed = notebook.run("def helper(v):\n    return v + 100")
    assert "JL202 k uses the old value of helper" in changed.err


def test_retrace_uses_the_new_value_and_error_raises(notebook: Any) -> None:
    notebook.run("g = 1.0\n@jax.jit\ndef k(x):\n    return x + g\nk(1.)")
    jaxlite.config.update("stale_globals", "retrace")
    try:
        notebook.run("g = 5.0")
        told = notebook.run("print(k(1.))")
        assert "6.0" in told.out
        jaxlite.config.update("stale_globals", "error")
        notebook.run("g = 9.0")
        failed = notebook.run("k(1.)")
        assert "JL203 StaleGlobalError: g changed since k was traced" in failed.out + failed.err
    finally:
        jaxlite.config.update("stale_globals", "warn")


def test_quiet_about_what_cannot_go_stale(notebook: Any) -> None:
    cells = [
        "RATE = 0.1\n@jax.jit\ndef a(x):\n    return x * RATE",
        "import math\n@jax.jit\ndef b(x):\n    return x * math.pi + jnp.sum(x)",
        "SIZES = (1, 2)\n@jax.jit\ndef c(x):\n    return x * SIZES[0]",
        "def plain(x):\n    return x * n\n",
        "@jax.jit\ndef d(x, scale):\n    y = x * scale\n    return y",
        "q = 3.0\n@jax.jit\ndef e(x):\n    return x * q  # jaxlite: ok JL101",
    ]
    for cell in cells:
        assert notebook.run(cell).err == ""


def test_ignored_codes_are_not_shown(notebook: Any) -> None:
    notebook.run("%jaxlite ignore JL101")
    assert notebook.run("g = 1.0\nf = jax.jit(lambda x: x + g)").err == ""


def test_stale_table_names_function_and_values(notebook: Any) -> None:
    notebook.run("g = 1.0\n@jax.jit\ndef k(x):\n    return x + g\nk(1.)")
    notebook.run("g = 2.0")
    table = notebook.run("%jaxlite stale").out
    assert "2.0 (compiled: 1.0)" in table
    assert table.splitlines()[-1].endswith("k")


def test_plain_scripts_are_not_slowed_or_told() -> None:

    assert runner_hooks == []


def test_function_that_compiles_again_and_again_is_named_once(notebook: Any) -> None:
    notebook.run("@jax.jit\ndef grow(v):\n    return v * 2.0")
    quiet = notebook.run("for n in (3, 4):\n    grow(jnp.ones(n))")
    assert quiet.err == ""
    told = notebook.run("for n in (5, 6, 7):\n    grow(jnp.ones(n))").err
    assert told.count("jaxlite: grow compiled 3 times in 3 calls (") == 1
    assert told.rstrip().endswith("See jaxlite.why_recompiled(grow)")
    assert "grow" in notebook.run("print(jax.why_recompiled(grow))").out


def test_function_that_is_used_often_is_not_named(notebook: Any) -> None:
    notebook.run("@jax.jit\ndef often(v):\n    return v * 2.0")
    cell = "for n in (3, 4, 5):\n    for _ in range(5):\n        often(jnp.ones(n))"
    assert notebook.run(cell).err == ""


def test_status_shows_what_watching_costs(notebook: Any) -> None:
    notebook.run("g = 1.0\n@jax.jit\ndef k(x):\n    return x + g\nk(1.)")
    assert "1 jitted function watched for changed globals, " in notebook.run("%jaxlite").out
