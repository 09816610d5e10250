"""Ten ordinary notebooks run without a single warning, and again from the top in the same kernel.

And the messages at call time: what they advise makes them go away.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.extension.teaching_notebooks import NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_ordinary_notebook_is_left_alone(notebook: Any, name: str) -> None:
    for _ in range(2):  # the second time every name has values of the first run
        for number, cell in enumerate(NOTEBOOKS[name]):
            result = notebook.shell.run_cell(cell, store_history=True, cell_id=str(number))
            shown = notebook.capsys.readouterr()
            assert result.success, shown.out
            assert shown.err == "", f"{cell}\n{shown.err}"


# What leads to a message at call time: cells, the message, and the cells that follow its advice.
ADVICE = {
    "JL202 pass it": (
        ["g = 1.0\n@jax.jit\ndef k(x):\n    return x + g\nk(1.0)", "g = 2.0"],
        "Pass g as an argument, or call k.retrace().",
        ["@jax.jit\ndef k(x, g):\n    return x + g\nk(1.0, g)", "g = 3.0", "k(1.0, g)"],
        4.0,
    ),
    "JL202 retrace": (
        ["g = 1.0\n@jax.jit\ndef k(x):\n    return x + g\nk(1.0)", "g = 2.0"],
        "Pass g as an argument, or call k.retrace().",
        ["k.retrace()", "k(1.0)"],
        3.0,
    ),
    "JL202 of an attribute": (
        [
            "class M:\n    def __init__(self): self.s = 2.0\n"
            "    def __call__(self, x): return x * self.s",
            "m = M()\n@jax.jit\ndef k(x):\n    return m(x)\nk(1.0)", "m.s = 5.0",
        ],
        "JL202 k uses the old value of m.s (2.0, now 5.0, set in cell",
        ["k.retrace()", "k(1.0)"],
        5.0,
    ),
    "JL201 pass it": (
        [
            "lr = 2.0\ndef step(v):\n    return v * lr", "%%jit -q\ny = step(jnp.ones(()))",
            "lr = 3.0", "%%jit -q\ny = step(jnp.ones(()))",
        ],
        "Pass lr as an argument to avoid this.",
        ["def step(v, lr):\n    return v * lr", "%%jit -q\ny = step(jnp.ones(()), lr)", "lr = 4.0",
         "%%jit -q\ny = step(jnp.ones(()), lr)", "y"],
        4.0,
    ),
    "JL203 retrace": (
        [
            "%jaxlite config stale_globals=error",
            "g = 1.0\n@jax.jit\ndef k(x):\n    return x + g\nk(1.0)", "g = 2.0", "k(1.0)",
        ],
        "Pass g as an argument, or call k.retrace().",
        ["k.retrace()", "v = k(1.0)", "%jaxlite config stale_globals=warn", "v"],
        3.0,
    ),
    "JL202 in a cell": (
        [
            "lr = 2.0\ndef step(v):\n    return v * lr",
            "%%jit -q --stale warn\ny = step(jnp.ones(()))",
            "lr = 3.0", "%%jit -q --stale warn\ny = step(jnp.ones(()))",
        ],
        "run it with --stale retrace.",
        ["%%jit -q --stale retrace\ny = step(jnp.ones(()))", "y"],
        3.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ADVICE)
def test_advice_makes_the_message_go_away(notebook: Any, case: str) -> None:
    cells, message, fixed, value = ADVICE[case]
    results = [notebook.run(cell) for cell in cells]
    said = "".join([r.out + r.err for r in results])
    assert message in said
    result = None
    for cell in fixed:
        result = notebook.run(cell)
        assert case.split()[0] not in result.err
    assert result is not None
    assert float(result.result) == value
