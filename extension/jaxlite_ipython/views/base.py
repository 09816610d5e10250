"""What every view can do. In: a subclass with text, data and a drawing. Out: SVG, PNG, HTML, files.

The static picture is the product: ``display(view)`` gives SVG, PNG (shown where a notebook is not
trusted) and text that has every fact of the picture. ``view.explore()`` and the page that
``view.save("x.html")`` writes add the widget. What a subclass supplies for it: ``contract``.
Nothing is fetched from anywhere.
"""

from __future__ import annotations

import base64
import importlib
import itertools
import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jaxlite_ipython.views.canvas import Canvas
from jaxlite_ipython.views.dot import JL002, RenderTimeout, fewer_colours, find_renderer, render
from jaxlite_ipython.views.page import page
from jaxlite_ipython.views.words import ascii_if_asked, without_halves

__all__ = ["MAX_BUNDLE_BYTES", "View"]

#: What a view may add to a notebook; a PNG that does not fit is left out.
MAX_BUNDLE_BYTES = 150_000
#: Dots per inch, number of colours, and the least that this leaves of a PNG with 144 and all.
_SMALLER = ((144, 96, 0.35), (96, 96, 0.22), (72, 32, 0.12))
#: Characters of the text that go into the SVG as its description.
MAX_DESCRIPTION = 20_000
_numbers = itertools.count(1)


class View:
    """A picture of one stage, with the same facts as text and as data.

    Made by functions such as ``jaxlite.trace``; what it shows is fixed when it is made.
    """

    #: One word: the tab of the widget that shows this kind of view.
    tab = "View"

    def __init__(self) -> None:
        #: Prefix of all ids in the SVG: two views in one page never share an id.
        self.prefix = f"v{next(_numbers)}"
        self._canvas: Canvas | None = None
        self._png: bytes | None = None
        self._has_png = False

    # --- what a subclass says ---

    @property
    def title(self) -> str:
        """One line: what this shows."""
        raise NotImplementedError

    def data(self) -> dict[str, Any]:
        """Return the facts as plain dicts, lists, numbers and strings; see ``contract``."""
        raise NotImplementedError

    def dot(self) -> str:
        """Return the graph as DOT text, to be laid out by Graphviz."""
        raise NotImplementedError

    def _text(self) -> str:
        raise NotImplementedError

    def _draw(self) -> Canvas:
        raise NotImplementedError

    def _coarser(self) -> bool:
        """Go to a level with less detail; False if there is none."""
        return False

    #: Whether the widget is to show again what ``refresh`` finds, while cells run.
    is_live = False

    def refresh(self) -> bool:
        """Take in what has changed since the view was made; False if nothing has."""
        return False

    def act(self, key: str) -> None:
        """Do what the widget's button ``key`` of ``data()["actions"]`` says."""

    # --- the forms ---

    def text(self) -> str:
        """Return every fact of the picture as aligned text (no colours)."""
        return without_halves(ascii_if_asked(self._text()))

    def svg(self) -> str:
        """Return the picture as one SVG element that needs nothing else."""
        if self._canvas is None:
            self._canvas = self._draw()
        text = self.text()
        if len(text) > MAX_DESCRIPTION:
            text = f"{text[:MAX_DESCRIPTION]}\n(The rest is in the text of the view.)"
        return self._canvas.svg(self.prefix, self.title, text)

    def png(self, dpi: int = 144) -> bytes | None:
        """Return the picture as PNG, or None if there is no renderer.

        A renderer that is too slow gets a picture with less detail.
        """
        while True:
            if self._canvas is None:
                self._canvas = self._draw()
            try:
                # A pixel of the picture is 1/96 inch; Graphviz takes it for 1/72.
                return render(self._canvas.dot(), "png", dpi=dpi * 72 // 96)
            except RenderTimeout:
                if not self._coarser():
                    return None
                self._canvas = None

    def html(self) -> str:
        """Return a page that needs nothing else: the widget, the picture where no script runs."""
        return page([self.payload()], self.title, self.svg(), self.text())

    def payload(self) -> dict[str, Any]:
        """Return what the widget shows: names, the picture without its description, facts, text."""
        self.svg()  # may go to less detail, which changes the facts
        assert self._canvas is not None, "svg() draws"
        return {
            "tab": self.tab,
            "title": self.title,
            "prefix": self.prefix,
            "svg": self._canvas.svg(self.prefix, self.title, ""),
            "data": self.data(),
            "text": self.text(),
        }

    def explore(self, *others: View) -> None:
        """Display the static picture, then the widget, which hides the picture while it lives.

        ``others`` become tabs of the same widget; ``d`` there compares two views of the same kind.
        Without a front end, or in a terminal, the text is displayed.
        """
        importlib.import_module("jaxlite_ipython.views.explorer").explore([self, *others])

    def json(self) -> str:
        """Return the facts as JSON."""
        return without_halves(json.dumps(self.data(), indent=1, ensure_ascii=False))

    def to_graphviz(self) -> Any:
        """Return a ``graphviz.Source`` of the graph, for people who work with that package."""
        return importlib.import_module("graphviz").Source(self.dot())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the view to ``path`` in the form that the ending names; return the path.

        Raises:
          ValueError: the ending is none of svg, png, html, txt, json, dot.
          RuntimeError: PNG was asked for and there is no renderer.
        """
        target = Path(path)
        writers = {
            ".svg": self.svg,
            ".html": self.html,
            ".txt": self.text,
            ".json": self.json,
            ".dot": self.dot,
        }
        if target.suffix == ".png":
            png = self.png()
            if png is None:
                has_one = find_renderer() is not None
                raise RuntimeError("the renderer could not make the PNG" if has_one else JL002)
            target.write_bytes(png)
        elif target.suffix in writers:
            target.write_text(writers[target.suffix](), encoding="utf-8")
        else:
            endings = ", ".join(e[1:] for e in (*writers, ".png"))
            raise ValueError(
                f"cannot tell the form from {target.suffix!r}\n  Fix: end the name with one of "
                f"{endings}."
            )
        return target

    # --- notebooks and terminals ---

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return SVG, PNG (if small) and text; the PNG knows the size at which it is shown."""
        while len(self.svg()) + len(self.text()) > MAX_BUNDLE_BYTES and self._coarser():
            self._canvas = None
        png = self._small_png()  # first: a slow renderer makes all forms coarser
        text = self.text()
        if find_renderer() is None:
            text = f"{JL002}\n\n{text}"
        data: dict[str, Any] = {"image/svg+xml": self.svg(), "text/plain": text}
        metadata: dict[str, Any] = {}
        if png is not None and self._canvas is not None:
            data["image/png"] = base64.b64encode(png).decode()
            size = {"width": round(self._canvas.width), "height": round(self._canvas.height)}
            metadata["image/png"] = size
        for kind in tuple(data):
            if (include and kind not in include) or (exclude and kind in exclude):
                del data[kind]
        return data, metadata

    def _small_png(self) -> bytes | None:
        """Return the best PNG that is small enough for a notebook, with the other forms."""
        if not self._has_png:
            self._has_png = True
            self._png = self._best_png()
        return self._png

    def _best_png(self) -> bytes | None:
        full = self.png(144)
        if full is None:
            return None
        others = json.dumps([self.svg(), self.text()], ensure_ascii=False).encode()
        room = (MAX_BUNDLE_BYTES - 1000 - len(others)) * 3 / 4  # base64
        if len(full) < room:
            return full
        for dpi, n_colours, least in _SMALLER:
            if least * len(full) < room:  # else trying is a waste of time
                png = full if dpi == 144 else self.png(dpi)
                small = fewer_colours(png, n_colours) if png else None
                if small is not None and len(small) < room:
                    return small
        return None

    def __reduce__(self) -> Any:
        """Pickle the forms: what a view was made of (code, functions) cannot be saved."""
        bundle = self._repr_mimebundle_()
        png = self._small_png()
        forms = {**self.payload(), "picture": self.svg(), "dot": self.dot(), "png": png}
        forms["bundle"] = bundle
        restore = importlib.import_module("jaxlite_ipython.views.saved").SavedView
        return restore, (type(self).__name__, forms)

    def __copy__(self) -> View:
        return self  # what a view shows is fixed

    def __deepcopy__(self, memo: Any) -> View:
        return self

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {ascii_if_asked(self.title)}>"
