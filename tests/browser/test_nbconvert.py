"""A notebook as HTML: the pictures are seen from a file, offline, with and without a front end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_jupyter import CELLS, write_notebook
from tests.check import ROOT

pytestmark = pytest.mark.browser

KNOWN = (
    "https://cdnjs.cloudflare.com/ajax/libs/mathjax/",
    "https://cdnjs.cloudflare.com/ajax/libs/require.js/",
    "https://unpkg.com/@jupyter-widgets/html-manager",
)


def test_pictures_are_seen_offline(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    open_page: Callable[..., Any],
    shot: Callable[..., None],
) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    nbconvert = pytest.importorskip("nbconvert", reason="needs nbconvert")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'extension'}")
    path = tmp_path / "demo.ipynb"
    write_notebook(path, CELLS)
    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    exporter = nbconvert.HTMLExporter()
    exporter.exclude_output_prompt = True
    body, _ = exporter.from_notebook_node(notebook)
    page_path = tmp_path / "demo.html"
    page_path.write_text(body, encoding="utf-8")
    # The template of nbconvert itself asks for these; our pictures need none of them.
    page = open_page(page_path.as_uri(), known=KNOWN)
    pictures = page.locator(".jp-RenderedSVG svg, .jp-RenderedSVG img, .jp-RenderedImage img")
    assert pictures.count() == 3
    for picture in pictures.all():
        assert picture.bounding_box()["width"] > 300
    shot(page, "nbconvert", full_page=True)
