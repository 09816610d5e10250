"""A view that comes out of a pickle. In: the forms of a view. Out: the same, without the function.

What a view was made from, code and functions, cannot be saved; its forms can.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.canvas import Canvas

__all__ = ["SavedView"]


class SavedView(View):
    """The forms of a view that was pickled; ``kind`` is the class that it had."""

    def __init__(self, kind: str, forms: dict[str, Any]) -> None:
        super().__init__()
        self.kind = kind
        self.tab = forms["tab"]
        self.prefix = forms["prefix"]
        self._forms = forms
        size = [float(n) for n in forms["svg"].partition('viewBox="')[2].split('"')[0].split()]
        self._canvas = Canvas(size[2])
        self._canvas.height = size[3]

    @property
    def title(self) -> str:
        """One line: what this shows."""
        return str(self._forms["title"])

    def data(self) -> dict[str, Any]:
        """Return the facts; what needs the running function is left out."""
        data: dict[str, Any] = self._forms["data"]
        return {k: v for k, v in data.items() if k != "actions"}

    def dot(self) -> str:
        """Return the graph as DOT text."""
        return str(self._forms["dot"])

    def svg(self) -> str:
        """Return the picture as one SVG element."""
        return str(self._forms["picture"])

    def png(self, dpi: int = 144) -> bytes | None:
        """Return the PNG that was saved; it has one resolution."""
        png: bytes | None = self._forms["png"]
        return png

    def payload(self) -> dict[str, Any]:
        """Return what the widget shows."""
        names = ("tab", "title", "prefix", "svg", "text")
        return {**{n: self._forms[n] for n in names}, "data": self.data()}

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = self._forms["bundle"]
        kinds = [k for k in data if (not include or k in include) and k not in (exclude or ())]
        return {k: data[k] for k in kinds}, metadata

    def _text(self) -> str:
        return str(self._forms["text"])

    def __reduce__(self) -> Any:
        return SavedView, (self.kind, self._forms)

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.title} (saved)>"
