"""The step-through tracer: lines, lessons, values, gradients, batches, forms and bad input."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import numpy as np
import pytest
from jaxlite_ipython.views.contract import problems

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.diagnose.stepping import MAX_STEPS

X = jnp.array([[1.0, -2.0, 0.5], [0.25, 0.0, 3.0]])
W = jnp.ones((3, 3)) * 0.5


def layer(x: Any, w: Any) -> Any:
    y = x @ w
    return jnp.tanh(y)


def lesson(x: Any, ws: Any, n: Any) -> Any:
    total = 0.0
    print("<b>tracing</b>", x)
    for w in ws:
        x = layer(x, w)
        total = total + x.sum()
    if n > 2:
        total = total * n
    while n < 5:
        n = n + 1
    return total


def steps_of(view: Any) -> list[tuple[str, str]]:
    return [(s["text"], s["caption"]) for s in view.data()["steps"]]


def test_captions_say_the_lesson() -> None:
    captions = steps_of(jax.step(lesson, X, [W, W], 3))
    copies = ": 2 copies in the trace"
    assert captions == [
        ("total = 0.0", "Python ran this: it leaves no op"),
        ('print("<b>tracing</b>", x)', "print ran now, while tracing: it leaves no op"),
        ("for w in ws:", "for ran 2 times: 2 copies"),
        ("y = x @ w", "recorded dot_general"),
        ("return jnp.tanh(y)", "recorded tanh"),
        ("x = layer(x, w)", "called layer: what it recorded stands at its lines"),
        ("total = total + x.sum()", "recorded reduce_sum, add"),
        ("for w in ws:", "turn 2 of 2: its operations are recorded once more"),
        ("y = x @ w", "recorded dot_general"),
        ("return jnp.tanh(y)", "recorded tanh"),
        ("x = layer(x, w)", "called layer: what it recorded stands at its lines"),
        ("total = total + x.sum()", "recorded reduce_sum, add"),
        ("for w in ws:", "for is over after 2 turns"),
        (
            "if n > 2:",
            "this if was decided here (n = 3): the other branch is not in the trace",
        ),
        ("total = total * n", "recorded mul"),
        ("while n < 5:", f"this while was decided here (n = 3){copies}"),
        ("n = n + 1", "Python ran this: it leaves no op"),
        ("while n < 5:", f"this while was decided here (n = 4){copies}"),
        ("n = n + 1", "Python ran this: it leaves no op"),
        ("while n < 5:", f"this while was decided here (n = 5){copies}"),
        ("return total", "returned: no op of its own"),
    ]


PACKAGE: dict[str, Any] = {}


def calls_a_package(x: Any) -> Any:
    PACKAGE["show"](x)
    return x


def test_text_that_an_installed_package_runs_is_no_step() -> None:
    source = "from dataclasses import dataclass\n@dataclass\nclass Message:\n    text: str\n"
    source += "def show(x):\n    Message(str(x))\n"
    exec(compile(source, "/lib/site-packages/prints.py", "exec"), PACKAGE)
    texts = [text for text, _ in steps_of(jax.step(calls_a_package, X))]
    assert texts == ['PACKAGE["show"](x)', "return x"]


def test_names_have_types_and_values() -> None:
    (made, _) = jax.step(layer, X, W).data()["steps"]
    names = {n["name"]: n for n in made["names"]}
    value = np.asarray(X @ W)
    assert names["y"]["type"] == "f32[2,3]"
    assert names["y"]["value"] == (
        f"mean {value.mean():.4g}, {value.min():.4g} to {value.max():.4g}"
    )
    assert names["y"]["is_new"]


def test_gradient_mode_has_tangents_and_the_reverse_sweep() -> None:
    view = jax.step(lesson, X, [W, W], 3, mode="grad")
    expected = jax.grad(lambda x: lesson(x, [W, W], 3))(X)
    assert np.allclose(view.cotangents[view.recording.inputs[0][1]], expected, rtol=1e-6)
    _, tangent = jax.jvp(lambda x, ws: lesson(x, ws, 3), (X, [W, W]), (X * 0 + 1, [W * 0 + 1] * 2))
    assert np.allclose(view.tangents[view.recording.outputs[0]], tangent, rtol=1e-6)
    sweep = view.data()["sweep"]
    assert [s["name"] for s in sweep][:3] == ["mul", "add", "reduce_sum"]
    assert sweep[0]["received"] == ["ct [8] += 3"]
    assert "reverse sweep" in view.text()
    assert "tangent" in view.text()


def test_vmap_mode_shows_one_example_and_the_batch() -> None:
    view = jax.step(layer, X, W, mode="vmap", in_axes=(0, None))
    (made, _) = view.data()["steps"]
    names = {n["name"]: (n["type"], n["batch"]) for n in made["names"]}
    assert names == {
        "y": ("f32[3]", "f32[2,3]"), "x": ("f32[3]", "f32[2,3]"), "w": ("f32[3,3]", "same for all"),
    }  # fmt: skip
    assert np.allclose(view.batch[view.recording.outputs[0]], jax.vmap(layer, (0, None))(X, W))


def test_jitted_functions_and_their_insides() -> None:
    inner = jax.jit(lambda v: jnp.sin(v))

    @jax.jit
    def outer(x: Any) -> Any:
        y = inner(x)
        return y + 1.0

    first = [c for _, c in steps_of(jax.step(outer, X))]
    assert first[0] == "recorded in the program of a jitted function: sin"
    again = [c for _, c in steps_of(jax.step(outer, X))]
    assert again[0] == "recorded jit: a jitted function is one op with its own program"


def test_numbers_that_python_needs_stay_numbers() -> None:
    def f(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = x * 2.0
        return x

    captions = [c for _, c in steps_of(jax.step(f, X, 3))]
    assert "for ran 3 times: 3 copies" in captions


def test_function_that_fails_is_shown_up_to_its_error() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        return y @ jnp.ones(7)

    view = jax.step(f, X)
    last = steps_of(view)[-1]
    assert last[0] == "return y @ jnp.ones(7)"
    assert last[1].startswith("TypeError: dot_general requires contracting dimensions")
    assert view.data()["error"]


def test_forms_escape_and_survive_without_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    view = jax.step(lesson, X, [W, W], 3)
    fragment = view.fragment()
    assert "<script" not in fragment
    assert "<b>tracing" not in fragment
    assert "&lt;b&gt;tracing&lt;/b&gt;" in fragment
    n = len(view.data()["steps"])
    assert fragment.count("<details>") == fragment.count("</details>") == n
    plain = html.unescape(re.sub(r"<[^>]+>", " ", fragment))
    text = " ".join(view.text().split())
    for step in view.data()["steps"]:
        for fact in (step["text"], step["caption"]):
            assert fact in plain
            assert fact in view.text()
    assert all(f"[{k}]" in text for k in range(1, 10))
    data, _ = view._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain"}
    assert len(data["text/html"]) < 150_000
    assert json.loads(view.json())["name"] == "lesson"
    assert view.svg().startswith("<svg")
    assert view.dot().startswith("digraph")


def test_long_traces_are_cut() -> None:
    def f(x: Any) -> Any:
        for _ in range(MAX_STEPS):
            x = x + 1.0
        return x

    view = jax.step(f, 1.0)
    assert len(view.data()["steps"]) == MAX_STEPS
    assert f"The rest is left out: {MAX_STEPS} steps are shown." in view.text()


def test_odd_functions_get_an_answer() -> None:
    names: dict[str, Any] = {"jnp": jnp}
    exec("def no_source(x):\n    y = x + 1\n    return y * 2", names)
    captions = [s["caption"] for s in jax.step(names["no_source"], X).data()["steps"]]
    assert captions == ["recorded add", "recorded mul"]
    assert jax.step(jnp.sin, X).data()["operations"] == ["f32[2,3] = sin x"]
    assert jax.step(lambda: 3).text().startswith("<lambda>, step by step")
    assert jax.step(lambda x, how: x if how == "a" else -x, X, "b").recording.eqns
    with pytest.raises(TypeError, match="step expects a function, got int"):
        jax.step(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown mode 'x'"):
        jax.step(layer, X, W, mode="x")


def test_step_option_of_a_cell(notebook: Any) -> None:
    shown: list[Any] = []
    notebook.shell.display_pub.publish = lambda data, **_: shown.append(data)
    notebook.run("%%jit -q --step\nh = tanh(x @ w1 + b1)\nloss = mean(h**2)")
    (data,) = shown
    text = data["text/plain"]
    assert "cell:1  h = tanh(x @ w1 + b1)" in text
    assert text.count("cell:2") == 1
    assert "recorded" in text
    assert "loss" in notebook


def test_widget_gets_steps_that_arrow_keys_go_along() -> None:
    view = jax.step(lesson, X, [W, W], 3)
    payload = view.payload()
    assert list(problems(payload["data"], payload["svg"], view.prefix)) == []
    nodes, details = payload["data"]["nodes"], payload["data"]["details"]
    assert [n["id"] for n in nodes][:2] == ["step1", "step2"]
    assert len(payload["data"]["edges"]) == len(nodes) - 1
    assert details["step4"][1]["code"][0].startswith("* y  f32[2,3]")
    assert details["step4"][2]["code"] == ["[1] f32[2,3] = dot_general x ws[0]"]
    assert len(payload["data"]["lanes"]) == 12


def test_many_steps_stay_small() -> None:
    def f(x: Any) -> Any:
        a = b = c = d = x
        for _ in range(200):
            a, b, c, d = b + 1.0, c * 2.0, d - a, a
        return a

    view = jax.step(f, jnp.ones((16, 16)))
    data, _ = view._repr_mimebundle_()
    assert sum(map(len, data.values())) < 150_000
