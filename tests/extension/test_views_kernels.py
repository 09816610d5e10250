"""The kernel picture: cards, the reasons between them, source, measured and modelled numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from jaxlite_ipython.views import kernels

import jaxlite
import jaxlite.numpy as jnp
from tests.extension import view_programs as programs

FURNITURE = re.compile(
    r"moved|work|none|\d+|\d+\N{EN DASH}\d+|\+\d+|[KL]\d+ source|loop nest|library call"
    r"|runs in Python"
    r"|.*stripe and number: your line it comes from"
    r"|steps of the program|loop nest, .*|(time is measured; )?moved and work are modelled.*"
    r"|time|roofline|Roofline|dashed: .*|GFLOP/s|FLOP per byte moved|[\d.e+]+"
)


@pytest.mark.parametrize("name", ["layer", "loops"])
def test_table_of_small_functions(name: str, golden: Any) -> None:
    text = programs.kernels_view(name).text()
    table = text.partition("\n\nK0 ")[0].partition("\n\nL0 ")[0]
    golden(f"views/kernels_{name}", re.sub(r"compiled in [\d.]+ ms", "compiled in T ms", table))


@pytest.mark.parametrize("name", sorted(programs.ARGUMENTS))
def test_text_has_every_fact_of_the_picture(name: str) -> None:
    view = programs.kernels_view(name)
    text = programs.squash(view.text())
    pieces = [p for p in programs.svg_texts(view) if not FURNITURE.fullmatch(p)]
    assert len(pieces) > 8
    for piece in pieces:
        assert programs.squash(piece.removesuffix("…")) in text, piece


@pytest.mark.parametrize("name", sorted(programs.ARGUMENTS))
def test_kernels_are_those_of_the_program(name: str) -> None:
    view = programs.kernels_view(name)
    n_cards = sum(c.kind != "control" for c in view.facts.cards)
    assert n_cards <= view.compilation.n_kernels
    assert f"{view.compilation.n_kernels} kernel" in view.summary
    for card in view.facts.cards:
        assert card.source, card.title


def test_every_reason_has_code_sentence_cost_and_advice() -> None:
    gaps = programs.kernels_view("layer").gaps
    assert [(g.producer, g.consumer) for g in gaps] == [("K0", "K1"), ("K1", "K2"), ("K2", "K3")]
    for gap in gaps:
        assert gap.code in {"reduction", "reuse", "shape", "output", "extern", "size", "order"}
        assert gap.sentence.endswith(".")
        assert "stored, then read again" in gap.cost
        assert gap.fix == "Nothing to do."


def test_names_are_the_users() -> None:
    text = programs.kernels_view("layer").text()
    assert "y = gemm(h, w2, batch=1, m=64, n=10, k=128" in text
    assert "dot reads each h 10 times." in text


def test_source_lines_of_a_kernel_are_listed() -> None:
    data = programs.kernels_view("layer").data()
    lines = [k["lines"][0]["text"].split(" ")[0] for k in data["kernels"]]
    assert lines == ["h", "h", "y", "loss"]


def test_bytes_and_flops_are_modelled_from_shapes() -> None:
    data = programs.kernels_view("layer").data()
    product = data["kernels"][0]
    assert product["bytes"] == 4 * (64 * 32 + 32 * 128 + 64 * 128)
    assert product["flops"] == 2 * 64 * 32 * 128
    assert data["bytes_unfused"] > data["bytes"]


def test_loop_bodies_count_as_often_as_they_run() -> None:
    cards = {c.id: c for c in programs.kernels_view("loops").facts.cards}
    assert cards["L0"].kind == "control"
    assert cards["K0"].depth == 1
    assert cards["K0"].n_bytes == 10 * (48 + 4)


def test_time_is_measured_on_values_and_said_to_be_missing_on_types() -> None:
    x = jnp.ones((8, 8))
    measured = kernels(jnp.sin, x)
    assert measured.timing is not None
    assert measured.data()["measured_s"] > 0
    assert "median of" in measured.text()
    assert measured.data()["roofline_s"] > 0
    assert measured.data()["limit"] in ("memory", "arithmetic")
    assert re.search(r"% of roofline +lower bound .*\((memory|arithmetic)\)", measured.text())
    types = kernels(jnp.sin, programs.f32(8, 8))
    assert types.timing is None
    assert "not measured" in types.text()
    assert types.data()["roofline_s"] is None
    assert "of roofline" not in types.text()


def test_measuring_leaves_numpy_arguments_alone() -> None:
    x = np.arange(4, dtype=np.float32)
    kernels(lambda a: a.at[0].set(9.0), x)
    np.testing.assert_array_equal(x, np.arange(4, dtype=np.float32))


def test_output_that_stops_fusion_has_a_fix_that_works() -> None:
    def both(x: Any) -> Any:
        h = jnp.exp(x)
        return h, jnp.sum(h.T + 1.0, axis=0)

    gaps = [g for g in kernels(both, programs.f32(2048, 2048)).gaps if g.code == "output"]
    assert [g.sentence for g in gaps] == ["h is an output, so it is stored (16.0 MiB)."]
    assert gaps[0].fix == "Fix: if nobody needs it, do not return h."
    alone = kernels(lambda x: both(x)[1], programs.f32(2048, 2048))
    assert not [g for g in alone.gaps if g.code == "output"]


def test_captured_arrays_keep_their_names_in_compiled_code() -> None:
    weights = jnp.arange(12.0)
    data = kernels(jaxlite.jit(lambda x: x + weights), jnp.ones(12)).data()
    assert {r["name"] for k in data["kernels"] for r in k["reads"]} == {"x", "weights"}


def test_no_kernel_at_all() -> None:
    view = kernels(lambda x: x, 1.0)
    assert "No kernel" in view.text()
    programs.svg_tree(view)


def test_many_kernels_are_shown_in_brief() -> None:
    def products(x: Any) -> Any:
        for _ in range(30):
            x = jnp.tanh(x @ x)
        return x

    view = kernels(products, programs.f32(64, 64))
    assert view.level == 2
    assert "the 40 that move most" in view.summary
    assert len(view.svg()) < 300_000
    assert "K59" in view.text()


def test_dot_text_of_the_chain() -> None:
    assert "K0 -> K1" in programs.kernels_view("layer").dot()


def test_each_kernel_is_measured_and_held_beside_the_limits() -> None:
    x = np.ones((256, 256), np.float32)
    view = kernels(lambda x, w: jnp.tanh(x @ w) * 2, x, x)
    first, second = view.data()["kernels"]
    assert first["measured_s"] > 0 < second["measured_s"]
    assert first["limit"] in ("memory", "arithmetic")
    assert first["roofline_s"] > 0
    assert view.data()["outside_s"] >= 0
    text = programs.squash(view.text())
    for piece in programs.svg_texts(view):
        if not FURNITURE.fullmatch(piece):
            assert programs.squash(piece.removesuffix("…")) in text, piece
    assert 'class="jxl-part jxl-plot"' in view.svg()
    details = view.data()["details"]["K0"][0]["lines"]
    assert any(line.endswith("measured") for line in details)


def test_loops_are_measured_as_a_whole_and_short_ones_inside_too() -> None:
    x = np.ones(4, np.float32)
    cards = {c.id: c for c in kernels(programs.loops, x, np.int32(5)).facts.cards}
    assert all(cards[k].seconds is not None for k in ("L0", "K0", "L1", "L2"))
    assert cards["L0"].seconds > 0


def test_a_call_that_cannot_be_repeated_is_not_measured() -> None:
    donating = jaxlite.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3)
    assert "arguments are donated" in kernels(donating, x).text()
    assert not x.is_deleted()
    printing = kernels(lambda x: jaxlite.debug.print("{}", x) or x + 1, jnp.ones(3))
    assert "a run would have effects" in printing.text()


def test_generated_lines_name_the_users_line() -> None:
    def f(x: Any, g: Any) -> Any:
        z = (x - jnp.mean(x, 1, keepdims=True)) / jnp.sqrt(jnp.var(x, 1, keepdims=True) + 1e-5)
        h = jnp.tanh(z * g)
        return jnp.sum(h * h, axis=1)

    first = f.__code__.co_firstlineno
    view = kernels(f, programs.f32(64, 32), programs.f32(32))
    source = view.data()["sources"][0]
    assert [u["line"] - first for u in source["user"]] == [1, 2, 3]
    loops = source["forms"][0]
    place = dict(zip((line.strip().partition(" ")[2] for line in loops["lines"]), loops["of"]))
    by_end = {line: k for line, k in place.items() if k is not None}
    assert loops["of"][:2] == [None, None]  # the head and the loop over rows
    assert {k for line, k in by_end.items() if "sqrt(" in line} == {0}
    assert {k for line, k in by_end.items() if line.startswith("= tanh(")} == {1}
    assert {*by_end.values()} == {0, 1, 2}
    cuda = next(form for form in source["forms"] if form["title"] == "CUDA C")
    assert {0, 1} <= {*cuda["of"]}
    for form in source["forms"][2:]:
        assert {*form["of"]} == {None, 0, 1, 2}, form["title"]
    llvm = dict(zip(source["forms"][2]["lines"], source["forms"][2]["of"]))
    assert {k for line, k in llvm.items() if "llvm.sqrt" in line} == {0}
    assert not any("!dbg" in line for line in llvm)


def test_every_form_of_a_kernel_has_a_tab() -> None:
    source = kernels(lambda x: jnp.tanh(x) * 2, programs.f32(1024)).data()["sources"][0]
    forms = {form["title"]: form for form in source["forms"]}
    assert [*forms] == ["Loops", "CUDA C", "LLVM IR", "Assembly"]
    assert any("__global__" in line for line in forms["CUDA C"]["lines"])
    assert any("x[" in line and "tanhf" in line for line in forms["CUDA C"]["lines"])
    assert forms["LLVM IR"]["lines"][0].startswith("define internal void @k0_")
    assert "instruction" in forms["Assembly"]["lines"][0]
    assert any("lanes" in mark for mark in forms["Assembly"]["marks"])
    product = kernels(jnp.dot, programs.f32(99, 99), programs.f32(99, 99)).data()["sources"][0]
    assert [form["title"] for form in product["forms"]] == ["Loops"]


def test_m_measures_again() -> None:
    view = kernels(jnp.sin, jnp.ones(8))
    assert view.data()["actions"] == [{"key": "m", "title": "Measure again"}]
    before, first = view.timing, view.svg()
    view.act("m")
    assert view.timing is not None
    assert view.timing is not before
    assert view.svg().count("<text") == first.count("<text")
    assert kernels(jnp.sin, programs.f32(8)).data()["actions"] == []
