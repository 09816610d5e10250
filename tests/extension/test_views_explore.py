"""``view.explore()``: what is displayed, what a button does, what there is without a notebook."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jaxlite_ipython.views import View, explorer
from jaxlite_ipython.views.explorer import Explorer, explore

from tests.extension import view_programs as programs


class Counter(View):
    """A view with a button."""

    tab = "Counter"

    def __init__(self) -> None:
        super().__init__()
        self.view = programs.trace_view("layer")
        self.pressed: list[str] = []

    @property
    def title(self) -> str:
        return f"pressed {len(self.pressed)}"

    def data(self) -> dict[str, Any]:
        return {"actions": [{"key": "m", "title": "More"}]}

    def dot(self) -> str:
        return self.view.dot()

    def act(self, key: str) -> None:
        self.pressed.append(key)

    def _text(self) -> str:
        return self.title

    def _draw(self) -> Any:
        return self.view._draw()


class Kernel:
    """Stands for a shell with a front end."""

    kernel = object()


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a notebook is asked to display."""
    shown: list[Any] = []
    monkeypatch.setattr(explorer, "get_ipython", Kernel)
    monkeypatch.setattr(explorer, "display", lambda data, **_: shown.append(data))
    return shown


def test_static_pictures_come_first_and_the_widget_repeats_none(displayed: list[Any]) -> None:
    views = [programs.trace_view("layer"), programs.kernels_view("layer")]
    explore(views)
    assert displayed[:2] == views
    (live,) = displayed[2:]
    assert set(live) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert "Run the cell" in live["text/plain"]
    assert len(json.dumps(live)) < 400


def test_a_widget_displayed_by_itself_has_the_picture_behind_it() -> None:
    data, _ = Explorer([programs.trace_view("layer")])._repr_mimebundle_()
    assert {"image/svg+xml", "image/png", "text/plain"} < set(data)
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_button_acts_and_the_view_is_shown_anew() -> None:
    counter = Counter()
    widget = Explorer([programs.trace_view("layer"), counter])
    assert [v["tab"] for v in widget.views] == ["Trace", "Counter"]
    widget._on_message(widget, {"act": "m", "view": 1}, [])
    assert counter.pressed == ["m"]
    assert widget.views[1]["title"] == "pressed 1"


@pytest.mark.parametrize(
    "message", ["", None, {}, {"act": "m"}, {"act": "m", "view": 7}, {"act": 1, "view": "x"}]
)
def test_messages_of_others_are_left_alone(message: Any) -> None:
    counter = Counter()
    widget = Explorer([counter])
    widget._on_message(widget, message, [])
    assert counter.pressed == []


def test_without_a_front_end_there_is_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    view = programs.trace_view("layer")
    view.explore()
    assert capsys.readouterr().out == f"{view.text()}\n"
    monkeypatch.setattr(explorer, "get_ipython", lambda: object())  # a terminal
    view.explore()
    assert capsys.readouterr().out == f"{view.text()}\n"
