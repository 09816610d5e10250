"""What the views with columns and axes have in common with all others: ASCII, SVG rules, PNG."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jaxlite_ipython.views import View, grad_graph, shapes, vmap_view
from jaxlite_ipython.views.dot import find_renderer, render

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.settings import override
from tests.extension import view_programs as programs


def strange_loss(p: Any, x: Any) -> Any:
    y = p['<script>&"quotes" \\ ünï → 日本'] * x  # a comment that is <b>not</b> drawn
    return jnp.sum(jnp.tanh(y) ** 2)


STRANGE = ({'<script>&"quotes" \\ ünï → 日本': jnp.arange(3.0)}, jnp.arange(3.0) + 0.5)


def gradient() -> View:
    return grad_graph(strange_loss, *STRANGE, check_grad=True)


def batch() -> View:
    view: View = vmap_view(strange_loss, 0, *STRANGE)
    return view


def axes() -> View:
    return shapes(strange_loss, *STRANGE)


@pytest.fixture(params=[gradient, batch, axes])
def view(request: pytest.FixtureRequest) -> View:
    made: View = request.param()
    return made


def test_svg_needs_nothing_but_presentation_attributes_and_is_escaped(view: View) -> None:
    text = view.svg()
    assert not re.search(r"<style|<script|foreignObject|\sstyle=|url\(|href", text)
    root = programs.svg_tree(view)
    assert root[1].text == view.text()
    assert "日本" in view.text()
    assert "<b>" not in text.replace("&lt;b&gt;", "")


def test_ascii_where_asked_for_except_the_users_own(view: View) -> None:
    with override(ascii=True):
        text = view.text()
    assert not set(re.findall(r"[^\x00-\x7f]", text)) - set("ünï日本")
    if isinstance(view, type(gradient())):
        assert "x_bar = y_bar * " in text


def test_png_dot_and_files(view: View, tmp_path: Path) -> None:
    if find_renderer() is None:
        pytest.skip("no graph renderer")
    png = view.png()
    assert png is not None
    assert png.startswith(b"\x89PNG")
    assert render(view.dot(), "svg", engine="dot", limit_s=20) is not None
    for ending in ("html", "json", "txt"):
        assert view.save(tmp_path / f"view.{ending}").stat().st_size > 200


def test_functions_without_source_are_shown() -> None:
    scope: dict[str, Any] = {"jnp": jnp}
    exec("def f(x):\n  y = jnp.sin(x)\n  return jnp.sum(y * x)", scope)
    x = jnp.arange(3.0)
    for view in (
        grad_graph(scope["f"], x),
        shapes(scope["f"], x),
        vmap_view(scope["f"], 0, x[None]),
    ):
        assert "of f (no source)" in view.text()
        programs.svg_tree(view)


def test_names_are_reached_from_the_top() -> None:
    assert jax.grad_graph is grad_graph
    assert jax.shapes is shapes
    assert jax.vmap_view is vmap_view
    assert "no axis has a name" in repr(jax.axes())
