"""Every view hands the widget what it can show; pages and bundles are small and name no address."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

import pytest
from jaxlite_ipython.views import View, grad_graph, kernels, shapes, trace, vmap_view
from jaxlite_ipython.views.contract import problems
from jaxlite_ipython.views.page import script, styles
from jaxlite_ipython.views.palette import DARK

import jaxlite.numpy as jnp
from tests.extension import view_programs as programs


def gradient_view(name: str) -> View:
    f, args = programs.ARGUMENTS[name]
    return grad_graph(lambda *a: f(*a)["loss"], *args)


def shapes_view(name: str) -> View:
    f, args = programs.ARGUMENTS[name]
    return shapes(f, *args)


def batch_view(name: str) -> View:
    f, args = programs.ARGUMENTS[name]
    view: View = vmap_view(f, (0, None, None, None, 0), *args)
    return view


VIEWS: dict[str, Any] = {
    f"{kind}-{name}": (maker, name)
    for kind, maker in (("trace", programs.trace_view), ("kernels", programs.kernels_view))
    for name in programs.ARGUMENTS
} | {
    "gradient-layer": (gradient_view, "layer"),
    "shapes-layer": (shapes_view, "layer"),
    "vmap-layer": (batch_view, "layer"),
}


@pytest.fixture(params=VIEWS)
def view(request: pytest.FixtureRequest) -> View:
    maker, name = VIEWS[request.param]
    made: View = maker(name)
    return made


def test_nodes_edges_details_and_sources_fit_the_picture(view: View) -> None:
    payload = view.payload()
    assert payload["data"]["nodes"]
    assert list(problems(payload["data"], payload["svg"], view.prefix)) == []
    json.dumps(payload)


def test_problems_are_found() -> None:
    data = {
        "nodes": [{"id": "a", "lane": 3}, {"id": "b"}, {"id": "b"}],
        "edges": [{"from": "a", "to": "q"}],
        "details": {"x": []},
        "sources": [
            {"node": "y", "user": [], "forms": [{"title": "C", "lines": ["1"], "of": [7, 7]}]}
        ],
        "filters": [{"key": "/", "title": "", "css": ""}],
    }
    assert len(list(problems(data, '<g id="v-a">', "v"))) == 10


def test_every_colour_has_one_for_the_dark_theme(view: View) -> None:
    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', view.svg()))
    assert used <= set(DARK)


def test_what_the_widget_moves_is_marked_once(view: View) -> None:
    kinds = re.findall(r'class="jxl-part jxl-(\w+)"', view.svg())
    assert kinds.count("header") == kinds.count("legend") == 1
    assert set(kinds) <= {"header", "figures", "strip", "legend", "aside"}


def test_page_is_one_file_without_addresses(view: View) -> None:
    page = view.html()
    assert not re.search(r"https?:|url\(|@import|<link", page)
    assert len(re.findall(r"<script", page)) == 2
    assert script().split("export default")[0] in page
    assert escape(view.text().split("\n")[0])[:20] in page


def test_script_is_small_and_plain() -> None:
    assert len(script().encode()) + len(styles().encode()) < 60_000
    assert len(script().encode()) < 40_000
    assert not re.search(r"\bimport\b|\brequire\b|\bfetch\(|innerHTML\s*\+=|\beval\(", script())


def test_bundle_adds_less_than_150_kb(view: View) -> None:
    data, metadata = view._repr_mimebundle_()
    assert "image/png" in data
    assert len(json.dumps([data, metadata], ensure_ascii=False).encode()) < 150_000


def test_two_views_share_no_id_in_a_page() -> None:
    x = jnp.ones(3)
    payloads = [trace(jnp.sin, x).payload(), kernels(jnp.sin, x).payload()]
    ids = [i for p in payloads for i in re.findall(r'\sid="([^"]+)"', p["svg"])]
    assert len(set(ids)) == len(ids)
