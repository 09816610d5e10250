"""JL101 to JL111: what is worth a word before a cell runs, and what is not."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import jaxlite.numpy as jnp
from jaxlite.diagnose.cell_history import CellHistory
from jaxlite.diagnose.lint import lint_cell


@dataclasses.dataclass(frozen=True)
class Frozen:
    lr: float = 0.1


class Model:
    scale = 2.0


NAMES: dict[str, Any] = {
    "scale": 2.0,
    "w": jnp.ones(3),
    "cfg": {"lr": 1.0},
    "losses": [],
    "table": np.ones(3),
    "RATE": 0.1,
    "frozen": Frozen(),
    "model": Model(),
    "sizes": (1, 2),
    "math": math,
    "flag": True,
    "name": "a",
    "helper": lambda v: v,
}
CELLS = CellHistory()
CELLS.record("", 3, "a", NAMES)


def codes(source: str) -> list[str]:
    return [f"{m.code} {m.name}" for m in lint_cell(source, NAMES, CELLS)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x * scale", ["JL101 scale"]),
        ("x * w", ["JL101 w"]),
        ("x * cfg['lr']", ["JL102 cfg"]),
        ("x * len(losses)", ["JL102 losses"]),
        ("x * table", ["JL102 table"]),
        ("x * model.scale", ["JL104 model.scale"]),
        ("x * RATE + math.pi + sizes[0] + frozen.lr + helper(x)", []),
        ("x if flag and name else x", []),
        ("[scale for scale in x]", []),
        ("(lambda scale: scale)(x)", []),
    ],
)
def test_reads_of_a_jitted_function(body: str, expected: list[str]) -> None:
    forms = (
        f"@jax.jit\ndef f(x):\n    return {body}",
        f"@jit(static_argnames='n')\ndef f(x):\n    return {body}",
        f"@partial(jax.jit, static_argnums=1)\ndef f(x):\n    return {body}",
        f"def f(x):\n    return {body}\ng = jax.jit(f)",
        f"f = lambda x: {body}\ng = jax.jit(f)",
        f"g = jax.jit(lambda x: {body})",
    )
    for source in forms:
        assert codes(source) == expected


def test_functions_that_are_not_jitted_are_free() -> None:
    assert codes("def f(x):\n    return x * scale") == []


def test_text_names_type_cell_and_a_better_form() -> None:
    (message,) = lint_cell("@jax.jit\ndef f(x):\n    return x * w", NAMES, CELLS)
    assert str(message) == "JL101 f reads global w (f32[3], cell 3). Better: f(x, w)"
    (message,) = lint_cell("@jax.jit\ndef f(x):\n    return x * cfg['lr']", NAMES, CELLS)
    assert str(message) == (
        "JL102 f reads mutable global cfg (dict, cell 3). Changes after the first call may not be "
        "seen. Pass cfg, or freeze it."
    )


def test_large_arrays_are_told_with_their_size() -> None:
    source = "@jax.jit\ndef f(x):\n    return x * big + x * bigger"
    names = {"big": jnp.ones((128, 128)), "bigger": np.ones((128, 128))}
    texts = [m.text for m in lint_cell(source, names, CellHistory())]
    assert texts[0].startswith("f reads global big (f32[128,128], 64.0 KiB). Better: f(x, big)")
    assert "bigger (ndarray float64[128,128], 128.0 KiB)" in texts[1]


def test_capitals_assigned_twice_are_no_constant() -> None:
    history = CellHistory()
    history.record("RATE = 1.0", 1, "a")
    source = "@jax.jit\ndef f(x):\n    return x * RATE"
    assert lint_cell(source, NAMES, history) == []
    history.record("RATE = 2.0", 2, "a")  # the same cell, edited
    assert lint_cell(source, NAMES, history) == []
    history.record("RATE = 3.0", 5, "b")
    messages = lint_cell(source, NAMES, history)
    assert [m.code for m in messages] == ["JL101"]


def test_comments_silence_one_code_or_all() -> None:
    assert codes("@jax.jit\ndef f(x):\n    return x * scale  # jaxlite: ok JL101") == []
    assert codes("@jax.jit\ndef f(x):\n    return x * scale  # jaxlite: ok") == []
    assert codes("@jax.jit\ndef f(x):\n    return x * scale  # jaxlite: ok JL102") == [
        "JL101 scale"
    ]


def test_source_that_does_not_parse_gives_nothing() -> None:
    assert codes("def f(:") == []
