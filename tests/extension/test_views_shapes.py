"""The shapes view: axis names down the page, broadcasts aligned, joined axes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from jaxlite_ipython.views import ShapesView, axes, shapes

import jaxlite as jax
import jaxlite.numpy as jnp
from tests.extension import view_programs as programs

FURNITURE = {
    "hatched: repeated · thick frame: joined · crossed: gone",
    "inputs",
    "outputs",
    "arguments",
    "what the function returns",
    "@",
    "see the text",
}


@pytest.fixture(autouse=True)
def _no_names() -> Iterator[None]:
    axes().clear()
    yield
    axes().clear()


def view_of(f: Any, *args: Any) -> ShapesView:
    view = shapes(f, *args)
    view.prefix = "v"
    return view


def layer_view() -> ShapesView:
    f, args = programs.ARGUMENTS["layer"]
    with axes(x="batch feature", w1="_ hidden", w2="hidden class"):
        return view_of(f, *args)


def attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
    scores = jnp.einsum("bqd,bkd->bqk", q, k)
    scores = jnp.where(mask, scores, -1e9)
    weights = jax.nn.softmax(scores, axis=-1)
    return weights @ v


def test_text_and_picture(golden: Any) -> None:
    view = layer_view()
    golden("views/shapes_layer", view.text())
    golden("views/shapes_layer_svg", view.svg())


def attention_view() -> ShapesView:
    with axes(q="batch query depth", k="batch key _"):
        types = (programs.f32(2, 16, 32), programs.f32(2, 20, 32), programs.f32(2, 20, 32))
        return view_of(attention, *types, jax.ShapeDtypeStruct((16, 20), bool))


@pytest.mark.parametrize("make", [layer_view, attention_view])
def test_text_has_every_fact_of_the_picture(make: Any) -> None:
    view = make()
    text = programs.squash(view.text())
    pieces = [p for p in programs.svg_texts(view) if p not in FURNITURE]
    assert len(pieces) > 30
    for piece in pieces:
        for part in piece.split("…"):
            assert programs.squash(part) in text, piece


def test_names_follow_an_axis_and_are_the_same_everywhere() -> None:
    found = {a["name"]: a["arrays"] for a in layer_view().data()["axes"]}
    assert found["batch"] == ["x", "t", "h", "y"]
    assert found["hidden"] == ["w1", "b1", "w2", "h"]
    assert found["class"] == ["w2", "t", "y"]


def test_joined_stretched_and_removed_axes_are_told() -> None:
    text = layer_view().text()
    assert (
        "x [a batch 64, b feature 32] @ w1 [b feature 32, c hidden 128]   b feature is joined"
        in (text)
    )
    assert "a batch and d class are summed" in text
    lines = text.split("\n")
    k = next(i for i, line in enumerate(lines) if "b1 is repeated along a batch" in line)
    above, below = lines[k - 1], lines[k]
    assert above.index("c hidden 128") == below.index("c hidden 128")


def test_boxes_of_one_axis_light_up_together() -> None:
    nodes = layer_view().data()["nodes"]
    batch = {n["pair"] for n in nodes if " batch " in n["label"]}
    assert batch == {"axis-a"}
    assert {n["state"] for n in nodes} == {"", "joined", "absent", "removed"}


def test_axes_without_names_have_letters_and_a_hint() -> None:
    f, args = programs.ARGUMENTS["layer"]
    view = view_of(f, *args)
    assert [a["letter"] for a in view.data()["axes"]] == ["a", "b", "c", "d"]
    assert 'names: jaxlite.axes(x="batch feature")' in view.title


def test_containers_and_variables_can_be_named() -> None:
    def f(params: Any, x: Any) -> Any:
        h = x @ params["w"]
        return h * params["b"][0]

    params = {"w": jnp.ones((3, 4)), "b": [jnp.ones(4)]}
    with axes(params={"b": ["unit"]}, h="row _"):
        view = view_of(f, params, jnp.ones((2, 3)))
    names = {a["name"]: a["arrays"] for a in view.data()["axes"]}
    assert "x" in names["row"]
    assert "params['w']" in names["unit"]


def test_names_last_until_they_are_cleared_or_the_context_ends() -> None:
    x = jnp.ones((2, 3))
    axes(x="row column")
    with axes(x="a b", y="c"):
        assert shapes(lambda x: x, x).data()["axes"][0]["name"] == "a"
    assert shapes(lambda x: x, x).data()["axes"][0]["name"] == "row"
    assert repr(axes()) == "x: row column"
    axes().clear()
    assert "no axis has a name" in repr(axes())


def test_wrong_names_are_errors_with_a_fix_that_works() -> None:
    x = jnp.ones((2, 3))
    axes(x="batch")
    with pytest.raises(ValueError, match=r"names 1 of x \(batch\), but x is f32\[2,3\]") as error:
        shapes(lambda x: x, x)
    fix = str(error.value).partition("Fix: ")[2]
    eval(fix, {"jaxlite": jax})
    assert shapes(lambda x: x, x).data()["axes"][0]["name"] == "batch"
    for wrong in ({"x": "a a"}, {"x": "a-b"}, {"x": 3}):
        with pytest.raises(ValueError, match="axes of x"):
            axes(**wrong)


def test_two_names_for_one_axis_are_told_with_the_line() -> None:
    x = jnp.ones((3, 3))
    with axes(x="time feature"):
        view = view_of(lambda x: x + x.T, x)
    (warning,) = view.data()["warnings"]
    assert "time and feature are one axis here (line" in warning
    assert warning in view.text()


def test_long_functions_are_cut_in_the_picture_and_whole_in_the_text() -> None:
    source = (
        "def f(x):\n" + "".join(f"    x{i} = x * {i}.0\n" for i in range(70)) + "    return x69"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    start = time.perf_counter()
    view = view_of(scope["f"], jnp.ones((2, 2)))
    texts = programs.svg_texts(view)
    assert "30 more lines" in texts
    assert "line 70 of f (no source)" in view.text()
    assert time.perf_counter() - start < 2


def test_strange_names_scalars_and_no_operations() -> None:
    view = view_of(
        lambda p, s: (p["<b>&" + "n" * 60] * s, s), {"<b>&" + "n" * 60: jnp.ones(2)}, 1.0
    )
    assert "<b>" not in view.svg()
    json.loads(view.json())
    assert "one number" in view.text()
    programs.svg_tree(view_of(lambda x: x, 1.0))


def test_errors_are_those_of_the_call() -> None:
    with pytest.raises(TypeError):
        shapes(lambda x: x, "text")
    with pytest.raises(TypeError, match="incompatible shapes for broadcasting"):
        shapes(lambda x, y: x + y, jnp.ones(2), jnp.ones(3))
