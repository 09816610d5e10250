"""Names nobody should use, programs nobody should write: still a picture and a text."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from jaxlite_ipython.views import grad_graph, kernels, shapes, step, trace, vmap_view
from jaxlite_ipython.views.base import MAX_BUNDLE_BYTES

import jaxlite
import jaxlite.numpy as jnp
from tests.extension import view_programs as programs

KEY = "<b>boo</b>"
WORD = "ünï日本" * 20


def odd() -> Any:
    """Return a function without a file whose names are long, foreign, markup and broken."""
    source = f"def g(d):\n    {WORD} = d['{KEY}'] * 2  # <script>alert(1)</script>\n"
    source += (
        f"    return {{'<script>alert(1)</script>': {WORD}.sum(), '\\n\\x00 \\ud800': {WORD}[0]}}"
    )
    space: dict[str, Any] = {}
    exec(compile(source, "<b>boo.py", "exec"), space)
    return space["g"]


def deep(x: Any, n: int = 300) -> Any:
    return jnp.sum(x) if n == 0 else deep(x * 1.5, n - 1)


MAKERS: dict[str, Any] = {
    "trace": trace,
    "kernels": kernels,
    "shapes": shapes,
    "step": step,
    "grad": lambda f, x: grad_graph(f if f is deep else lambda d: next(iter(f(d).values())), x),
    "vmap": lambda f, x: vmap_view(f, 0, x),
}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_odd_names_are_shown_and_are_never_markup(name: str) -> None:
    view = MAKERS[name](
        odd(), {KEY: np.ones(4, np.float32)} if name != "vmap" else {KEY: jnp.ones((3, 4))}
    )
    programs.svg_tree(view)
    for form in (view.text(), view.svg(), view.html(), view.json()):
        form.encode()
    assert "<script>alert" not in view.svg() + view.html().replace("\\u003c", "")
    assert "<b>boo" not in view.svg()
    json.loads(view.json())


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_deep_recursion_stays_small(name: str) -> None:
    view = MAKERS[name](deep, np.ones((2, 2), np.float32))
    data, _ = view._repr_mimebundle_()
    assert sum(len(v) for v in data.values()) < MAX_BUNDLE_BYTES
    assert max(map(len, view.text().split("\n"))) < 2000


def test_a_step_with_random_keys_says_so() -> None:
    view = step(lambda k: jaxlite.random.normal(k, (3,)), jaxlite.random.key(0))
    assert "random key" in view.text()
    assert "text/html" in view._repr_mimebundle_()[0]


def test_calls_in_calls_are_indented_no_further_than_twelve() -> None:
    heads = [
        line for line in step(deep, np.ones(2, np.float32)).text().split("\n") if "deep:" in line
    ]
    assert any("(20) deep:" in line for line in heads)
    assert max(line.index("deep:") for line in heads) < 50
