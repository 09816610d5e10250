"""The gradient graph: text, picture and data say the same, and the numbers are JAX's."""

from __future__ import annotations

import json
import time
import unicodedata
from typing import Any

import numpy as np
import pytest
from jaxlite_ipython.views import GradView, grad_graph

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax
from tests.extension import view_programs as programs

#: Words of the picture that are no facts about the function.
FURNITURE = {"forward ↓", "saved", "backward ↑", "dashed orange: saved for the backward pass"}
LEGEND = {"matmul", "elementwise", "reduction", "indexing", "loop or call", "lines", "other"} | {
    "input",
    "constant",
    "output",
    "kept argument",
}
VECTOR = np.array([0.5, -1.5, 2.0], np.float32)


def view_of(f: Any, *args: Any, **options: Any) -> GradView:
    view = grad_graph(f, *args, **options)
    view.prefix = "v"
    return view


def layer_view() -> GradView:
    f, args = programs.ARGUMENTS["layer"]
    return view_of(f, *args)


def measured_layer() -> tuple[GradView, list[Any]]:
    f, types = programs.ARGUMENTS["layer"]
    rng = np.random.default_rng(0)
    values = [jnp.asarray(rng.normal(size=t.shape) * 0.3, jnp.float32) for t in types]
    return view_of(f, *values, check_grad=True), values


def odd(x: Any, n: Any, scale: Any, unused: Any) -> Any:
    a = jnp.floor(x) + x * x
    b = jax.nn.relu(a) / lax.stop_gradient(scale)
    c = lax.fori_loop(0, 3, lambda i, v: v * jnp.sin(v), b)
    return jnp.sum(jnp.where(x > n, c, 0.0))


def barred(text: str) -> str:
    """Return text with bars and minus signs as the views write them."""
    return unicodedata.normalize("NFD", text).replace("-", "\N{MINUS SIGN}")


def facts(view: GradView) -> dict[str, dict[str, Any]]:
    return {fact["name"]: fact for fact in view.data()["inputs"]}


def test_text_and_picture_of_a_small_function(golden: Any) -> None:
    view = layer_view()
    golden("views/grad_layer", view.text())
    golden("views/grad_layer_svg", view.svg())


def test_text_has_every_fact_of_the_picture() -> None:
    views = [layer_view(), measured_layer()[0], view_of(odd, VECTOR, 0, VECTOR, 1.0)]
    for view in views:
        text = programs.squash(view.text())
        pieces = [p for p in programs.svg_texts(view) if p not in FURNITURE | LEGEND]
        assert len(pieces) > 30
        for piece in pieces:
            for part in piece.split("…"):
                assert programs.squash(part) in text, piece


def test_backward_operations_stand_on_the_line_that_caused_them() -> None:
    data = layer_view().data()
    rules = {n["id"]: (n["line"], n["detail"]) for n in data["nodes"] if n["side"] == "backward"}
    line = data["lanes"][0]["line"]
    assert rules["b5"] == (line + 1, barred("w̄2 = hᵀ @ ȳ"))
    assert rules["b7"] == (line, barred("x̄ = ȳ ⋅ (h + 1) ⋅ (1 - h)"))
    assert rules["b8"] == (line, barred("b̄1 = sum(ȳ, axis 0)"))


def test_partners_have_the_same_mark() -> None:
    nodes = layer_view().data()["nodes"]
    pairs = {n["id"]: n["pair"] for n in nodes}
    assert pairs["op3"] == pairs["b7"] == pairs["s3"] != ""
    assert pairs["op4"] == pairs["b5"] == pairs["b6"]


def test_saved_values_with_bytes_and_what_recomputing_costs() -> None:
    view = layer_view()
    made = {s["value"]: s for s in view.data()["saved"] if not s["is_argument"]}
    assert made["h"]["bytes"] == 64 * 128 * 4
    assert made[barred("(h + 1) ⋅ (1 - h)")]["recompute_flops"] == 3 * 64 * 128
    assert barred("saved for backward: 66.5 KiB, (h + 1) ⋅ (1 - h) is 48 %") in view.title
    assert barred("h: -32.0 KiB, +541 kFLOP (4 ops)") in view.text()


def test_recompute_figure_is_what_checkpoint_gives() -> None:
    def plain(x: Any) -> Any:
        return jnp.sum(jnp.sin(jnp.tanh(x)))

    saved = grad_graph(plain, VECTOR).data()["saved"]
    with_it = grad_graph(lambda x: jax.checkpoint(plain)(x), VECTOR).data()["saved"]
    assert sum(s["bytes"] for s in saved if not s["is_argument"]) > 0
    assert sum(s["bytes"] for s in with_it if not s["is_argument"]) == 0


@pytest.mark.jax_oracle
def test_norms_are_those_of_jax() -> None:
    jaxlib = pytest.importorskip("jax")
    view, values = measured_layer()

    def loss(x: Any, w1: Any, b1: Any, w2: Any, t: Any) -> Any:
        return jaxlib.numpy.mean((jaxlib.numpy.tanh(x @ w1 + b1) @ w2 - t) ** 2)

    expected = jaxlib.grad(loss, argnums=(0, 1, 2, 3, 4))(*[np.asarray(v) for v in values])
    found = [f["norm"] for f in view.data()["inputs"]]
    norms = [float(np.linalg.norm(np.asarray(g, np.float64))) for g in expected]
    np.testing.assert_allclose(found, norms, rtol=1e-5)


def test_inputs_without_gradient_say_why() -> None:
    view = view_of(odd, VECTOR, 0, VECTOR, 1.0)
    found = facts(view)
    assert found["x"]["no_gradient"] == ""
    assert found["n"]["no_gradient"] == "i32 is no float"
    assert found["scale"]["no_gradient"].startswith("stop gradient (line ")
    assert found["unused"]["no_gradient"] == "not used by result"
    flat = facts(view_of(lambda x, y: jnp.floor(x) + y, 1.0, 2.0))
    assert "floor (line" in flat["x"]["no_gradient"]
    assert flat["x"]["no_gradient"].endswith("is flat")
    cast = facts(view_of(lambda x, y: x.astype(int).astype(float) * y, 1.0, 2.0))
    assert cast["x"]["no_gradient"].startswith("the cast to int32 (line")
    assert facts(view_of(lambda x, y: x * y, 1.0, 2.0, argnums=1))["x"]["no_gradient"] == (
        "not asked for"
    )


def test_function_without_any_gradient_is_an_answer() -> None:
    view = view_of(lambda x: jnp.floor(x), 1.0)
    assert "0 backward" in view.title
    assert "nothing saved for backward" in view.text()
    programs.svg_tree(view)


def test_sums_say_how_many_uses() -> None:
    text = view_of(lambda x: jnp.sin(x) * x + x, 2.0).text()
    assert "+ from 3 uses" in text


def test_loops_rules_of_the_user_and_checkpoints_are_one_box() -> None:
    view = view_of(odd, VECTOR, 0, VECTOR, 1.0)
    assert barred("b̄ = the 3 steps backwards") in view.text()
    assert barred("x̄ = where(a > 0, ȳ, 0)") in view.text()
    text = view_of(lambda x: jnp.sum(jax.checkpoint(jnp.sin)(x)), VECTOR).text()
    assert barred("x̄ = the body again, then backwards") in text
    branch = view_of(lambda x: lax.cond(x[0] > 0, jnp.sum, jnp.prod, x), VECTOR)
    assert "the branch that ran, backwards" in branch.text()


def test_first_nan_is_marked_where_it_starts() -> None:
    backward = view_of(lambda x: jnp.sqrt(x * 0.0) * 3.0, 1.0)
    (bad,) = [n for n in backward.data()["nodes"] if n["alert"].startswith("NaN")]
    assert (bad["side"], bad["alert"]) == ("backward", "NaN starts here")
    assert any(n["alert"] == "has Inf" for n in backward.data()["nodes"])
    forward = view_of(lambda x: jnp.log(x) * 2.0, -1.0)
    (bad,) = [n for n in forward.data()["nodes"] if n["alert"].startswith("NaN")]
    assert (bad["side"], bad["label"]) == ("forward", "log")
    assert "NaN starts at log" in forward.title
    masked = view_of(lambda x: jnp.sum(jax.nn.softmax(jnp.where(x > 0, x, -jnp.inf))[0]), VECTOR)
    assert not masked.picture.alerts


def test_vanishing_gradient_is_marked_once() -> None:
    def f(x: Any) -> Any:
        return jnp.sum(jnp.tanh(x * 100.0) * 2.0)

    marks = [n["alert"] for n in view_of(f, VECTOR).data()["nodes"] if n["alert"]]
    assert marks == ["vanishes here"]


@jax.custom_vjp
def wrong(x: Any) -> Any:
    return x * x


wrong.defvjp(lambda x: (x * x, x), lambda x, ct: (ct * x * 2.1,))


def test_badges_of_finite_differences() -> None:
    good = facts(view_of(lambda x: jnp.sum(x**3), VECTOR, check_grad=True))["x"]["check"]
    assert good.startswith("✓")
    bad = view_of(lambda x: jnp.sum(wrong(x)), VECTOR, check_grad=True)
    assert facts(bad)["x"]["check"] == "✗ 0.05 at [2]"
    assert "✗ 0.05 at [2]" in bad.svg()
    assert "grad x differs from finite differences" in bad.text()
    assert "(4.2, expected 4)" in bad.text()


def test_check_says_when_float64_is_another_function() -> None:
    def noisy(key: Any, x: Any) -> Any:
        return jnp.sum(jax.random.normal(key, (3,)) * x)

    view = view_of(noisy, jax.random.key(0), VECTOR, check_grad=True)
    assert facts(view)["x"]["check"] == ""
    assert "not checked: the value is" in view.text()
    assert facts(view)["key"]["no_gradient"] == "key<fry> is no float"


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.linalg.slogdet(jnp.outer(x, x) + 2 * jnp.eye(3))[1],
        lambda x: jnp.sum(jnp.linalg.solve(jnp.outer(x, x) + 2 * jnp.eye(3), x)),
        lambda x: jnp.sum(x.at[0].set(5.0).at[1].add(x[2])),
        lambda x: jnp.sum(jnp.abs(jnp.fft.fft(x))),
        lambda x: lax.switch(1, [jnp.sum, jnp.prod], x),
        lambda x: jnp.sum(lax.map(lambda v: lax.fori_loop(0, 2, lambda i, u: u * 2, v), x)),
        lambda x: jnp.median(x) * jnp.sort(x)[0],
        lambda x: jnp.sum(jnp.tanh(x.astype(jnp.bfloat16))).astype(jnp.float32),
    ],
)
def test_many_kinds_of_functions(f: Any) -> None:
    view = view_of(f, VECTOR, check_grad=True)
    assert facts(view)["x"]["check"].startswith("✓") or "bfloat16" in view.text()
    json.dumps(view.payload())


def test_types_alone_and_functions_with_effects_are_not_run() -> None:
    calls: list[Any] = []

    def noisy(x: Any) -> Any:
        y = jnp.sin(x)
        lax.cond(True, lambda: None, lambda: None)
        return jnp.sum(y)

    assert "norm" not in programs.squash("".join(programs.svg_texts(layer_view())))
    assert facts(view_of(noisy, programs.f32(3)))["x"]["norm"] is None
    assert calls == []


def test_result_is_chosen_by_name() -> None:
    def two(x: Any) -> Any:
        return {"a": jnp.sum(x), "b": jnp.prod(x)}

    assert view_of(two, VECTOR, of="b").picture.result == "b"
    with pytest.raises(TypeError, match="Gradient only defined for scalar-output functions"):
        view_of(two, VECTOR)
    with pytest.raises(ValueError, match="no result is named 'c'; results: a, b"):
        view_of(two, VECTOR, of="c")


def test_errors_are_those_of_grad() -> None:
    for f in (lambda x: x, lambda x: jnp.sum(x > 0)):
        with pytest.raises(TypeError) as expected:
            jax.grad(f)(VECTOR)
        with pytest.raises(TypeError) as found:
            view_of(f, VECTOR)
        assert (
            str(found.value).split("\n")[0].split(", but got")[0]
            == (str(expected.value).split("\n")[0].split(", but got")[0])
        )
    with pytest.raises(ValueError, match="Reverse-mode"):
        view_of(lambda x: lax.while_loop(lambda v: v < 3, lambda v: v * 2, x), 1.0)
    with pytest.raises(ValueError, match="argnums has 3"):
        view_of(lambda x: x, 1.0, argnums=3)


def test_names_are_escaped_and_long_names_cut() -> None:
    key = "<b>&'z'" + "w" * 100
    view = view_of(lambda p: jnp.sum(jnp.sin(p[key])), {key: VECTOR})
    assert "<b>" not in view.svg().replace("&lt;b&gt;", "")
    programs.svg_tree(view)
    json.loads(view.json())


def test_static_arguments_and_jitted_functions() -> None:
    power = jax.jit(lambda x, n: jnp.sum(x**n), static_argnums=1)
    view = view_of(power, VECTOR, 3, check_grad=True)
    assert list(facts(view)) == ["x"]
    assert facts(view)["x"]["check"].startswith("✓")


def test_large_functions_are_collapsed_in_time() -> None:
    def deep(x: Any, w: Any) -> Any:
        for _ in range(200):
            x = jnp.tanh(x @ w)
            x = x * 0.5 + jnp.sin(x)
        return jnp.sum(x)

    x = jnp.ones((4, 4))
    jax.make_jaxpr(deep)(x, x)
    start = time.perf_counter()
    view = view_of(deep, x, x * 0.1)
    assert view.level == 1
    assert "1,001 ops forward" in view.title
    assert len(view.svg()) + len(view.text()) < 150_000
    # The budget is 2 s; machines that run tests are slower and busy.
    assert time.perf_counter() - start < 6
    sides = {n.side for n in view.graph.ops}
    assert sides == {"", "saved", "backward"}


def test_many_parameters_are_one_box_and_all_in_the_text() -> None:
    p = [{"w": jnp.ones((2, 2)) * 0.1, "b": jnp.ones(2)} for _ in range(12)]

    def net(p: Any, x: Any) -> Any:
        for layer in p:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        return jnp.sum(x)

    view = view_of(net, p, jnp.ones(2))
    labels = [n["label"] for n in view.data()["nodes"]]
    assert "grad p" in labels
    assert "p[11]['w']" in view.text()
    programs.svg_tree(view)


def test_sixty_boxes_take_less_than_a_blink() -> None:
    f, args = programs.ARGUMENTS["layer"]
    times = []
    for _ in range(4):
        start = time.perf_counter()
        grad_graph(f, *args).svg()
        times.append(time.perf_counter() - start)
    # The budget is 30 ms; machines that run tests are slower and busy.
    assert min(times) < 0.15


def test_cells_show_the_views_of_their_scalar_and_their_static_names(notebook: Any) -> None:
    cell = "%%jit --show grad,shapes --static n\nh = tanh(x @ w1 + b1)\nloss = mean(h ** n)\n"
    out = notebook.run(cell).out
    assert "Gradient of cell" in out
    assert "d loss" in out
    assert "no gradient" not in out
    assert "Shapes of cell" in out
    last = notebook.run("%%jit --show grad --grad loss:w1\nloss = mean(x @ w1)\nloss * 2\n").out
    assert "backward starts at loss" in last
