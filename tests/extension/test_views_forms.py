"""What every view can do: SVG rules, bundle, files, escaping, ASCII, a missing or slow renderer."""

from __future__ import annotations

import base64
import io
import json
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from jaxlite_ipython.views import View, kernels, trace
from jaxlite_ipython.views import dot as dot_module
from jaxlite_ipython.views.dot import (
    JL002,
    RenderTimeout,
    fewer_colours,
    find_renderer,
    render,
)
from PIL import Image

import jaxlite
import jaxlite.numpy as jnp
from jaxlite.settings import override
from tests.extension import view_programs as programs

MAKERS = (programs.trace_view, programs.kernels_view)


@pytest.fixture(params=MAKERS, ids=["trace", "kernels"])
def view(request: pytest.FixtureRequest) -> View:
    made: View = request.param("layer")
    return made


def test_svg_needs_nothing_but_presentation_attributes(view: View) -> None:
    text = view.svg()
    assert not re.search(r"<style|<script|foreignObject|\sstyle=|url\(|href", text)
    root = programs.svg_tree(view)
    assert root.attrib["role"] == "img"
    assert root[0].tag.endswith("title")
    assert root[1].tag.endswith("desc")
    assert root[1].text == view.text()
    # An opaque light background comes first.
    assert root[2].attrib["fill"] == "#ffffff"
    assert root[2].attrib["width"] == root.attrib["width"]


def test_ids_are_unique_in_a_page_of_several_views() -> None:
    x = jnp.ones(3)
    page = trace(jnp.sin, x).svg() + trace(jnp.sin, x).svg() + kernels(jnp.sin, x).svg()
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) > 10
    assert len(set(ids)) == len(ids)


def test_bundle_has_svg_png_and_text(view: View) -> None:
    data, metadata = view._repr_mimebundle_()
    assert set(data) == {"image/svg+xml", "image/png", "text/plain"}
    png = base64.b64decode(data["image/png"])
    assert png.startswith(b"\x89PNG")
    assert len(png) < 200_000
    # 144 dots for each inch of 96 pixels, or fewer if the file would be too large.
    width = int.from_bytes(png[16:20], "big")
    assert width / metadata["image/png"]["width"] in [pytest.approx(k, abs=0.01) for k in (1.5, 1)]
    assert set(view._repr_mimebundle_(include=["text/plain"])[0]) == {"text/plain"}


def test_large_png_is_left_out(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxlite_ipython.views.base.MAX_BUNDLE_BYTES", 10)
    assert set(view._repr_mimebundle_()[0]) == {"image/svg+xml", "text/plain"}


def test_fewer_colours_keeps_those_of_the_palette(view: View) -> None:
    png = view.png(96)
    assert png is not None
    small = fewer_colours(png, 96)
    assert len(small) < 0.6 * len(png)
    colours = []
    for data in (png, small):
        with Image.open(io.BytesIO(data)) as picture:
            counted = picture.convert("RGB").getcolors(1 << 24)
        colours.append({c: n for n, c in counted})
    before, after = colours
    frequent = sorted(before, key=lambda c: -before[c])[:96]
    assert set(after) == set(frequent)


def test_str_is_the_text_and_repr_is_one_line(view: View) -> None:
    assert str(view) == view.text()
    assert "\n" not in repr(view)


def test_files_by_ending(view: View, tmp_path: Path) -> None:
    for ending in ("svg", "html", "txt", "json", "dot", "png"):
        path = view.save(tmp_path / f"view.{ending}")
        assert path.stat().st_size > 100
    page = (tmp_path / "view.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml;base64," in page
    assert "http://" not in page
    assert "https://" not in page
    with pytest.raises(ValueError, match=r"cannot tell the form from '\.pdf'"):
        view.save(tmp_path / "view.pdf")


def test_json_is_data(view: View) -> None:
    assert json.loads(view.json()) == json.loads(json.dumps(view.data()))


def test_graphviz_object_renders() -> None:
    pytest.importorskip("graphviz")
    source = programs.trace_view("layer").to_graphviz().source
    assert render(source, "svg", engine="dot") is not None


def test_names_and_source_are_escaped_everywhere(tmp_path: Path) -> None:
    for maker in MAKERS:
        view = maker("strange")
        svg = view.svg()
        assert "<script>" not in svg
        assert "<b>" not in svg
        programs.svg_tree(view)
        assert view.png() is not None
        page = view.save(tmp_path / "view.html").read_text(encoding="utf-8")
        assert "<script>" not in page
        assert render(view.dot(), "svg", engine="dot") is not None


def test_ascii_where_asked_for(view: View) -> None:
    with override(ascii=True):
        assert view.text().isascii()
    assert "≈" in view.text()


def test_text_has_no_escape_codes(view: View) -> None:
    assert "\x1b" not in view.text()


# --- the renderer ---


@pytest.fixture
def no_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dot_module.shutil, "which", lambda *_, **__: None)


@pytest.mark.usefixtures("no_renderer")
def test_without_a_renderer_text_says_so_and_the_picture_needs_none(
    view: View, tmp_path: Path
) -> None:
    data, _ = view._repr_mimebundle_()
    assert set(data) == {"image/svg+xml", "text/plain"}
    assert data["text/plain"].startswith(f"{JL002}\n")
    assert view.png() is None
    with pytest.raises(RuntimeError, match="JL002"):
        view.save(tmp_path / "x.png")


def test_configured_renderer_wins(tmp_path: Path) -> None:
    program = tmp_path / "mydot"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with override(dot=str(program)):
        assert find_renderer() == str(program)
    with override(dot=str(tmp_path / "missing")):
        assert find_renderer() is None


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in renderers are shell scripts")
def test_broken_renderers_give_no_png(tmp_path: Path, view: View) -> None:
    for k, script in enumerate(("#!/bin/sh\nexit 1\n", "#!/no/such/program\n", "")):
        program = tmp_path / f"dot{k}"
        program.write_text(script)
        program.chmod(0o755)
        with override(dot=str(program)):
            assert view.png() is None
            with pytest.raises(RuntimeError, match="the renderer could not make the PNG"):
                view.save(tmp_path / "x.png")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in renderer is a shell script")
def test_slow_renderer_gives_a_coarser_picture_and_never_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nexec sleep 20\n")
    program.chmod(0o755)
    with override(dot=str(program)):
        with pytest.raises(RenderTimeout):
            render("digraph{}", "png", limit_s=0.05)
        monkeypatch.setattr(
            "jaxlite_ipython.views.base.render",
            lambda *args, **kwargs: render(*args, limit_s=0.05, **kwargs),
        )
        view = programs.trace_view("layer")
        data, _ = view._repr_mimebundle_()
    assert "image/png" not in data
    assert view.level == 4


def test_lazy_names_at_the_top() -> None:
    assert jaxlite.trace is trace
    assert jaxlite.kernels is kernels


def test_cell_shows_views(notebook: Any) -> None:
    result = notebook.run("%%jit --show trace,kernels\ny = tanh(x @ w1 + b1)\nloss = mean(y)")
    assert result.success, result.error_in_exec
    assert "free names, read when the cell runs" in result.out
    assert "not fused" in result.out
    assert "assigned names, written back" in result.out
