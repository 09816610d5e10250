"""The widget. In: views. Out: the static picture, then the live one, in the notebook.

The static picture is an output of its own in front of the widget. The widget hides it while it
lives, so whoever opens the notebook later, or does not trust it, sees the picture.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import anywidget
import traitlets
from IPython import get_ipython
from IPython.display import display

from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.page import script, styles

__all__ = ["Explorer", "explore"]

#: Seconds between two looks at a view that is live.
_LIVE_S = 0.4
_NOTE = "Interactive view of the picture above. Run the cell to use it."


class Explorer(anywidget.AnyWidget):
    """The widget of one or more views; each is a tab."""

    _esm = script()
    _css = styles()
    #: What ``View.payload()`` returns, per tab.
    views: Any = traitlets.List().tag(sync=True)

    def __init__(self, views: Sequence[View]) -> None:
        self._shown = tuple(views)
        super().__init__(views=[view.payload() for view in views])
        self.on_msg(self._on_message)

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Do what a button says, and show the view as it is then."""
        content = content if isinstance(content, dict) else {}
        key, place = content.get("act"), content.get("view")
        if not isinstance(key, str) or place not in range(len(self._shown)):
            return
        view = self._shown[place]
        was_live = view.is_live
        view.act(key)
        self._show(place)
        if view.is_live and not was_live:
            threading.Thread(target=self._follow, args=(place,), daemon=True).start()

    def _show(self, place: int) -> None:
        payload = self._shown[place].payload()
        self.views = [*self.views[:place], payload, *self.views[place + 1 :]]

    def _follow(self, place: int) -> None:
        """Show a live view again and again, with a tenth of the time at most."""
        view = self._shown[place]
        while view.is_live and self.comm is not None:
            start = time.perf_counter()
            if view.refresh():
                self._show(place)
            time.sleep(max(_LIVE_S, 10 * (time.perf_counter() - start)))

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """Return the widget, and behind it the picture for places that show no widgets."""
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        static, sizes = self._shown[0]._repr_mimebundle_()
        return {**data, **static}, {**metadata, **sizes}


def explore(views: Sequence[View]) -> None:
    """Display the static form of each view, then one widget with a tab for each.

    Where nobody can show a widget (no IPython, or a terminal) the text is displayed.
    """
    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        print("\n\n".join(view.text() for view in views))
        return
    for view in views:
        display(view)  # type: ignore[no-untyped-call]
    widget = Explorer(views)
    bundle, _ = widget._repr_mimebundle_()
    live = {kind: value for kind, value in bundle.items() if "widget-view" in kind}
    display(live | {"text/plain": _NOTE}, raw=True)  # type: ignore[no-untyped-call]
