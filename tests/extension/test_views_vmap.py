"""One example beside the batch: text, picture and data say the same, and values are ``vmap``'s."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from jaxlite_ipython.views import VmapView, vmap_view
from jaxlite_ipython.views.vmap_data import SHARED

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.diagnose.batching import run_batch, trace_batching
from tests.extension import view_programs as programs

FURNITURE = {"matmul", "elementwise", "reduction", "indexing", "loop or call", "other", "lines"} | {
    "input",
    "constant",
    "output",
    "blue left side: batch axis · dashed: returned",
}
RNG = np.random.default_rng(1)
X = RNG.normal(size=(8, 3)).astype(np.float32)
W = RNG.normal(size=(3, 5)).astype(np.float32)
B = RNG.normal(size=5).astype(np.float32)
K = np.arange(8, dtype=np.int32) % 4


def predict(x: Any, w: Any, b: Any, k: Any) -> Any:
    scale = jnp.exp(b) * 2.0
    h = jnp.tanh(x @ w + b) * scale
    s = lax.cond(k > 1, jnp.sum, jnp.max, h)
    return {"s": s + h[k], "shared": jnp.sum(scale)}


AXES = (0, None, None, 0)


def view_of(f: Any, in_axes: Any, *args: Any, **options: Any) -> VmapView:
    view: VmapView = vmap_view(f, in_axes, *args, **options)
    view.prefix = "v"
    return view


def types_only() -> VmapView:
    types = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (X, W, B, K)]
    return view_of(predict, AXES, *types)


def test_text_and_picture(golden: Any) -> None:
    view = types_only()
    golden("views/vmap_predict", view.text())
    golden("views/vmap_predict_svg", view.svg())


def test_text_has_every_fact_of_the_picture() -> None:
    for view in (types_only(), view_of(predict, AXES, X, W, B, K, example=3)):
        text = programs.squash(view.text())
        pieces = [p for p in programs.svg_texts(view) if p not in FURNITURE]
        assert len(pieces) > 30
        for piece in pieces:
            for part in piece.split("…"):
                assert programs.squash(part) in text, piece


def test_unbatched_inputs_are_told_and_shared_operations_marked() -> None:
    view = view_of(predict, AXES, X, W, B, K)
    assert view.data()["inputs"] == [
        "x: axis 0 is 8 examples",
        "vmap did nothing to w: in_axes=None",
        "vmap did nothing to b: in_axes=None",
        "k: axis 0 is 8 examples",
    ]
    shared = [n["label"] for n in view.data()["nodes"] if SHARED in n["notes"]]
    assert shared == ["exp", "mul 2", "sum"]
    (same,) = [n for n in view.graph.nodes if "the same for every example" in n.notes]
    assert same.label == "shared"


def test_operations_that_changed_kind_are_marked() -> None:
    changes = view_of(predict, AXES, X, W, B, K).data()["changes"]
    words = [c.rpartition(" (line")[0] for c in changes]
    assert words == ["cond → where, both branches run", "dynamic slice → gather"]
    both = view_of(lambda a, b: a @ b, 0, X, X).data()["changes"]
    assert both[0].startswith("dot → batched dot (line")
    assert view_of(lambda a, b: a @ b, (0, None), X, W).data()["changes"] == []
    assert view_of(jnp.sin, 0, X).data()["changes"] == []


def test_partners_have_the_same_mark() -> None:
    nodes = view_of(predict, AXES, X, W, B, K).data()["nodes"]
    pairs = {n["id"]: n["pair"] for n in nodes if n["label"] == "tanh"}
    assert len(pairs) == 2
    assert len(set(pairs.values())) == 1


def test_values_of_an_example_are_those_of_vmap() -> None:
    view = view_of(predict, AXES, X, W, B, K, example=5)
    expected = jax.vmap(predict, AXES)(X, W, B, K)
    assert f"s {float(expected['s'][5]):.3f}" in " ".join(
        line.replace(" (the same for every example)", "") for line in view.example_text()
    )
    assert len(view.data()["examples"]) == 8
    (table,) = view.data()["tables"]
    assert table["head"] == ["example", "x", "k", "h", "s"]
    assert all(cell in view.text() for row in table["rows"] for cell in row)
    assert view.data()["examples"][5]["s"] == view.picture.values[-2].of(5)
    with pytest.raises(IndexError, match="example 8 of 8"):
        view_of(predict, AXES, X, W, B, K, example=8)


@pytest.mark.jax_oracle
def test_batched_program_computes_what_jax_does() -> None:
    oracle = pytest.importorskip("jax")

    def f(x: Any, w: Any) -> Any:
        return oracle.numpy.tanh(x @ w).sum()

    closed = jax.make_jaxpr(lambda x, w: jnp.tanh(x @ w).sum())(X[0], W)
    (out,), _ = run_batch(trace_batching(closed, [0, None], 8), [X, W], [])
    np.testing.assert_allclose(out, oracle.vmap(f, (0, None))(X, W), rtol=1e-5)


@pytest.mark.parametrize(
    ("f", "axes", "args"),
    [
        (lambda x: jax.nn.softmax(x), 0, (X,)),
        (lambda x: lax.fori_loop(0, 3, lambda i, v: v * 2, x), 1, (X,)),
        (lambda x: lax.while_loop(lambda v: v.sum() < 9, lambda v: v + 1.0, x), 0, (X,)),
        (lambda p, x: x @ p["w"] + p["b"], (None, 0), ({"w": W, "b": B}, X)),
        (lambda x: jnp.sort(x)[::-1], 0, (X,)),
        (lambda x: jax.grad(lambda v: jnp.sum(jnp.sin(v)))(x), 0, (X,)),
        (jax.jit(jax.nn.relu), 0, (X,)),
        (lambda x, n: x**n, (0, None), (X, 3)),
        (lambda x, n: jnp.zeros(n) + x[0], (0, None), (X, 3)),
    ],
)
def test_many_kinds_of_functions(f: Any, axes: Any, args: Any) -> None:
    view = view_of(f, axes, *args)
    programs.svg_tree(view)
    json.loads(view.json())
    expected = jax.tree.leaves(jax.vmap(f, axes)(*args))
    found = view.picture.values[-len(expected) :]
    for value, whole in zip(found, expected, strict=True):
        moved = value.data if value.axis is None else np.moveaxis(value.data, value.axis, 0)
        np.testing.assert_allclose(moved, np.asarray(whole), rtol=1e-6)


def test_without_arguments_it_is_a_function_of_them() -> None:
    view = vmap_view(jnp.sin, 0)(X)
    assert isinstance(view, VmapView)


def test_errors_are_those_of_vmap() -> None:
    for axes, args in (((0, 0), (X,)), (0, (X, W)), (None, (X,)), (5, (X,)), ("x", (X,))):
        with pytest.raises((TypeError, ValueError)) as expected:
            jax.vmap(lambda *a: a, axes)(*args)
        with pytest.raises(type(expected.value)) as found:
            vmap_view(lambda *a: a, axes, *args)
        assert str(found.value) == str(expected.value)


def test_large_functions_are_collapsed() -> None:
    def deep(x: Any) -> Any:
        for _ in range(150):
            x = jnp.tanh(x) * 2.0
        return x

    view = view_of(deep, 0, X)
    assert view.level == 1
    assert "shown as" in view.title
    programs.svg_tree(view)


def test_keys_no_examples_and_functions_of_the_library() -> None:
    keys = jax.random.split(jax.random.key(0), 4)
    assert len(view_of(lambda k: jax.random.normal(k, (3,)), 0, keys).example_text()) == 2
    empty = view_of(lambda x: x * 2, 0, jnp.zeros((0, 3)))
    assert "there is no example" in empty.text()
    programs.svg_tree(empty)
    view = view_of(jax.nn.relu, 0, X)
    view.act("n")
    assert view.data()["example"] == 1
    view.act("b")
    view.act("b")
    assert "example 7 of 8" in view.text()


def test_names_are_escaped() -> None:
    key = "<i>&" + "k" * 90
    view = view_of(lambda p: jnp.sin(p[key]), 0, {key: X})
    assert "<i>" not in view.svg()
