"""The page that ``view.save("x.html")`` writes, used with keys and mouse, from a file, offline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxlite_ipython.views import grad_graph
from jaxlite_ipython.views.page import page as page_of

import jaxlite
from jaxlite.diagnose import call_log
from tests.extension import view_programs as programs

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with a trace, a gradient and kernels of the same function."""
    f, types = programs.ARGUMENTS["layer"]
    gradient = grad_graph(lambda x, w1, b1, w2, t: f(x, w1, b1, w2, t)["loss"], *types)
    views = [programs.trace_view("layer"), gradient, programs.kernels_view("layer")]
    for number, view in enumerate(views):
        view.prefix = f"v{number}"
    payloads = [view.payload() for view in views]
    path = tmp_path_factory.mktemp("page") / "layer.html"
    text = page_of(payloads, views[0].title, views[0].svg(), views[0].text())
    path.write_text(text, encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(layer: str, open_page: Callable[..., Any]) -> Any:
    return open_page(layer)


def said(page: Any) -> str:
    text: str = page.locator(".jxl-live").inner_text()
    return text


def opacity(page: Any, name: str) -> float:
    return float(page.locator(name).evaluate("e => getComputedStyle(e).opacity"))


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_keys_move_along_edges_and_are_announced(page: Any) -> None:
    page.locator(".jxl").focus()
    press(page, "ArrowRight")
    assert said(page) == "x, f32[64,32], 1 of 15, feeds dot"
    press(page, "ArrowDown", "ArrowRight", "ArrowRight")
    assert said(page).startswith("tanh, f32[64,128], line 21")
    press(page, "ArrowDown")
    assert "line 22" in said(page)
    press(page, "ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert said(page).split(",")[0] in ("x", "w1")
    press(page, "ArrowUp")
    assert said(page) == "this reads nothing"


def test_enter_opens_details_p_pins_escape_closes_and_leaves(page: Any) -> None:
    page.locator(".jxl").focus()
    press(page, "End", "Enter")
    fields = page.locator(".jxl-fields")
    assert "f32[64,10]" in fields.inner_text()
    assert "path to here" in fields.inner_text()
    press(page, "p", "Home")
    assert fields.count() == 2
    assert page.locator(".jxl-ring").count() == 2
    page.get_by_role("button", name="unpin y").click()
    assert fields.count() == 1
    press(page, "Escape")
    assert fields.count() == 0
    assert page.locator(".jxl-ring").count() == 0
    assert page.evaluate("document.activeElement.className") == "jxl"
    press(page, "Escape")
    assert page.evaluate("document.activeElement.tagName") == "BODY"


def test_find_by_name_shape_and_line(page: Any) -> None:
    page.locator(".jxl").focus()
    for query, n in (("tanh", 3), ("f32[64,10]", 5), (":22", 1), ("no such thing", 0)):
        press(page, "/")
        page.keyboard.type(query)
        assert said(page) == f"{n} found", query
        assert page.locator(".jxl-node.jxl-dim").count() == 15 - n
        press(page, "Escape")
    assert page.locator(".jxl-dim").count() == 0
    press(page, "/")
    page.keyboard.type("dot")
    press(page, "Enter", "Enter")
    assert page.locator(".jxl-count").inner_text() == "2 of 2"
    press(page, "Shift+Enter")
    assert page.locator(".jxl-count").inner_text() == "1 of 2"


def test_question_mark_lists_the_keys(page: Any) -> None:
    page.locator(".jxl").focus()
    help_ = page.get_by_role("dialog", name="keys")
    press(page, "?")
    assert "move along the arrows" in help_.inner_text()
    assert page.evaluate("document.activeElement.textContent") == "Close"
    press(page, "Escape")
    assert not help_.is_visible()


def test_hover_dims_the_rest(page: Any) -> None:
    page.locator("#v0-op3").hover()
    page.wait_for_timeout(200)
    assert opacity(page, "#v0-op3") == opacity(page, "#v0-op2") == 1
    assert opacity(page, "#v0-op1") == opacity(page, "#v0-op6") == pytest.approx(0.2)
    page.mouse.move(2, 2)
    page.wait_for_timeout(200)
    assert opacity(page, "#v0-op1") == 1


def test_selection_shows_ancestors_and_descendants(page: Any) -> None:
    page.locator("#v0-op1").click()
    hot = page.locator(".jxl-hot").evaluate_all("es => es.map(e => e.dataset.a + e.dataset.b)")
    assert "v0-in1v0-op1" in hot
    assert "v0-op3v0-op4" in hot
    assert not any(edge.startswith("v0-in5") for edge in hot)


def test_gradient_partners_light_up_and_sides_hide(page: Any, shot: Callable[..., None]) -> None:
    page.get_by_role("tab", name="Gradient").click()
    box = page.locator(".jxl-backward[class~=p2]").first
    box.hover()
    page.wait_for_timeout(200)
    partners = page.locator(".jxl-forward[class~=p2]")
    assert partners.count() > 0
    assert partners.first.evaluate("e => getComputedStyle(e).opacity") == "1"
    assert page.locator(".jxl-node.jxl-dim").count() > 10
    shot(page.locator(".jxl"), "page-gradient-hover")
    page.locator(".jxl").focus()
    press(page, "b")
    assert not box.is_visible()
    assert page.get_by_role("button", name="Hide backward").get_attribute("aria-pressed") == "true"
    press(page, "b")
    assert box.is_visible()


def test_stripes_of_kernels_work_both_ways(page: Any) -> None:
    page.get_by_role("tab", name="Kernels").click()
    page.locator("#v2-K3").click()
    source = page.locator(".jxl-source")
    assert "jnp.mean" in source.inner_text()
    user = source.locator(".jxl-user .jxl-src")
    generated = source.locator(":scope > .jxl-src")
    lit = "es => es.map(e => e.classList.contains('jxl-lit'))"
    user.hover()
    assert generated.evaluate_all(lit) == [False, True, False, True, True, True]
    generated.last.hover()
    assert user.evaluate_all(lit) == [True]
    generated.first.hover()
    assert user.evaluate_all(lit) == [False]
    page.get_by_role("button", name="Copy").click()
    page.wait_for_function("document.querySelector('.jxl-live').textContent === 'copied'")
    for form, word in (("CUDA C", "__global__"), ("LLVM IR", "define internal"), ("Assembly", ";")):
        page.get_by_role("tab", name=form).click()
        assert word in source.inner_text()
        user.hover()
        assert any(generated.evaluate_all(lit)), form


def test_wheel_scrolls_the_page_until_the_view_is_clicked(page: Any) -> None:
    svg = page.locator(".jxl-canvas svg")
    before = svg.get_attribute("viewBox")
    page.locator("#v0-op3").hover()
    page.mouse.wheel(0, -200)
    page.wait_for_timeout(50)
    assert svg.get_attribute("viewBox") == before
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(
        "v => document.querySelector('.jxl-canvas svg').getAttribute('viewBox') !== v", arg=before
    )
    page.locator(".jxl").focus()
    press(page, "0")
    fitted = svg.get_attribute("viewBox")
    assert [float(v) for v in fitted.split()] == pytest.approx([float(v) for v in before.split()])
    page.locator("#v0-op3").click()
    page.mouse.wheel(0, -200)
    page.wait_for_function(
        "v => document.querySelector('.jxl-canvas svg').getAttribute('viewBox') !== v", arg=fitted
    )


def test_tabs_by_arrow_keys_and_the_text(page: Any) -> None:
    page.get_by_role("tab", name="Trace").focus()
    press(page, "ArrowLeft")
    assert page.get_by_role("tab", name="Text").get_attribute("aria-selected") == "true"
    assert page.locator(".jxl-text").inner_text() == programs.trace_view("layer").text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_themes_and_first_paint(
    layer: str, open_page: Callable[..., Any], shot: Callable[..., None], scheme: str
) -> None:
    page = open_page(layer, color_scheme=scheme)
    times = []
    for _ in range(3):  # the best of three: other tests run on the same cores
        page.reload()
        page.wait_for_selector(".jxl[data-paint-ms]")
        times.append(float(page.locator(".jxl").get_attribute("data-paint-ms")))
    assert min(times) < 300
    colour = page.locator(".jxl").evaluate("e => getComputedStyle(e).backgroundColor")
    assert colour == {"light": "rgb(255, 255, 255)", "dark": "rgb(24, 29, 35)"}[scheme]
    page.locator("#v0-op3").click()
    page.mouse.move(2, 2)
    page.wait_for_timeout(200)
    for tab in ("Trace", "Gradient", "Kernels"):
        page.get_by_role("tab", name=tab).click()
        shot(page.locator(".jxl"), f"page-{tab.lower()}-{scheme}")
    # The picture's own colours are swapped, not only those around it.
    fill = page.locator(".jxl-band rect, .jxl-canvas svg > rect").first
    assert fill.evaluate("e => getComputedStyle(e).fill") == colour


def test_other_places_say_their_theme(page: Any) -> None:
    is_dark = "document.querySelector('.jxl').classList.contains('jxl-dark')"
    for change, expected in (
        ("document.body.className = 'vscode-dark'", True),
        ("document.body.className = 'vscode-high-contrast-light'", False),
        (
            "document.body.className = ''; document.documentElement.setAttribute('theme', 'dark')",
            True,
        ),
        ("document.body.dataset.jpThemeLight = 'true'", False),
        ("document.body.dataset.jpThemeLight = 'false'", True),
    ):
        page.evaluate(change)
        page.wait_for_function(f"{is_dark} === {str(expected).lower()}")


@pytest.mark.parametrize(("name", "width", "scale"), [("420", 420, 1), ("zoom200", 600, 2)])
def test_narrow_and_enlarged(
    layer: str,
    open_page: Callable[..., Any],
    shot: Callable[..., None],
    name: str,
    width: int,
    scale: int,
) -> None:
    page = open_page(layer, viewport={"width": width, "height": 800}, device_scale_factor=scale)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    small = page.locator(".jxl button:visible, .jxl input:visible, .jxl summary:visible")
    for box in (element.bounding_box() for element in small.all()):
        assert box["width"] >= 24
        assert box["height"] >= 24
    if width < 560:
        page.locator(".jxl-chip", has_text="tanh").click()
        assert "h = jnp.tanh(x @ w1 + b1)" in page.locator(".jxl-fields").inner_text()
    shot(page, f"page-trace-{name}", full_page=True)
    page.get_by_role("tab", name="Kernels").click()
    shot(page, f"page-kernels-{name}", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_focus_is_seen_and_nothing_moves_for_those_who_ask(
    layer: str, open_page: Callable[..., Any]
) -> None:
    page = open_page(layer, reduced_motion="reduce")
    press(page, "Tab")
    style = page.evaluate(
        "(e => [e.outlineStyle, e.outlineWidth])(getComputedStyle(document.activeElement))"
    )
    assert style == ["solid", "3px"]
    moving = "es => es.map(e => getComputedStyle(e).transitionDuration)"
    assert set(page.locator(".jxl-node").evaluate_all(moving)) == {"0s"}


def test_names_from_elsewhere_are_text(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    path = programs.trace_view("strange").save(tmp_path / "strange.html")
    page = open_page(path.as_uri())
    assert page.locator("b", has_text="not").count() == 0
    page.locator(".jxl").focus()
    press(page, "End", "Enter")
    assert "<b>&'z'" in page.locator(".jxl-fields").inner_text()


def test_without_scripts_the_picture_and_its_text_are_there(
    layer: str, open_page: Callable[..., Any]
) -> None:
    page = open_page(layer, java_script_enabled=False)
    image = page.locator("img")
    assert image.bounding_box()["width"] > 300
    assert page.locator("summary").is_visible()


def test_two_traces_are_compared(
    tmp_path: Path, open_page: Callable[..., Any], shot: Callable[..., None]
) -> None:
    f, types = programs.ARGUMENTS["layer"]
    first = programs.timeless(f, *types)
    second = programs.timeless(lambda x, w1, b1, w2, t: f(x * 2.0, w1, b1, w2, t), *types)
    second.prefix = "w"
    path = tmp_path / "two.html"
    payloads = [second.payload(), first.payload()]
    path.write_text(page_of(payloads, "two", first.svg(), first.text()), encoding="utf-8")
    page = open_page(path.as_uri())
    page.locator(".jxl").focus()
    press(page, "d")
    assert said(page) == "1 added, 0 removed"
    assert "+ mul 2" in page.get_by_role("group", name="differences").inner_text()
    shot(page.locator(".jxl"), "page-compared")
    press(page, "d")
    assert said(page) == "no comparison"
    assert page.locator(".jxl-ring").count() == 0


def test_tab_leaves_the_view(page: Any) -> None:
    page.locator(".jxl").focus()
    for _ in range(30):
        press(page, "Tab")
        if page.evaluate("document.activeElement.closest('.jxl') === null"):
            return
    raise AssertionError("the focus is caught in the view")


def test_recompilation_explorer(
    tmp_path: Path, open_page: Callable[..., Any], shot: Callable[..., None]
) -> None:
    step = jaxlite.jit(lambda x, lr: x * lr, static_argnames="lr")
    with call_log.recording():
        for lr in (0.1, 0.05):
            for n in (64, 64, 57):
                step(np.ones(n, np.float32), lr=lr)
    page = open_page(jaxlite.why_recompiled(step).save(tmp_path / "r.html").as_uri())
    verdict = page.locator(".jxl-verdict")
    assert "Call 6 compiled again: x is f32[57]" in verdict.inner_text()
    page.locator(".jxl").focus()
    for key, expected in (
        ("ArrowLeft", "Call 4"),
        ("ArrowLeft", "Call 3"),
        ("ArrowRight", "Call 4"),
    ):
        page.keyboard.press(key)
        assert verdict.inner_text().splitlines()[1].startswith(expected)
    assert page.locator(".jxl-rows mark").all_inner_texts() == ["0.05", "0.1"]
    assert page.locator(".jxl-save").count() == len(jaxlite.why_recompiled(step).fixes)
    fix = page.locator(".jxl-diff").first
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    fix.get_by_role("button", name="Copy").click()
    fix.get_by_role("button", name="Copied").wait_for()
    added = [line[2:] for line in fix.locator(".jxl-add").all_inner_texts()]
    copied = page.evaluate("navigator.clipboard.readText()")
    assert [line.strip() for line in copied.splitlines()] == [line.strip() for line in added]
    assert page.locator(".jxl-table").first.locator("tr").count() == 5
    page.set_viewport_size({"width": 420, "height": 900})
    shot(page, "recompiles-420px", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_tall_pictures_scroll_and_keep_their_details_in_sight(
    layer: str, open_page: Callable[..., Any]
) -> None:
    page = open_page(layer, viewport={"width": 1200, "height": 500})
    page.get_by_role("tab", name="Gradient").click()
    canvas = page.locator(".jxl-canvas")
    assert canvas.bounding_box()["height"] <= 480
    page.locator(".jxl").focus()
    press(page, "Home", *["ArrowDown"] * 6, "Enter")
    assert canvas.evaluate("e => e.scrollTop") > 0
    box, seen = page.locator(".jxl-ring").bounding_box(), canvas.bounding_box()
    assert seen["y"] <= box["y"] <= seen["y"] + seen["height"]


FORMS = [
    {"title": "Loops", "lines": ["for i:", "  h[i] = x[i] + 1"], "of": [None, 0]},
    {
        "title": "LLVM IR",
        "lines": ["%1 = fadd", "%2 = fmul"],
        "of": [0, 1],
        "marks": ["8 lanes", ""],
    },
]


def test_forms_of_code_are_tabs_with_stripes_and_marks(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    view = programs.kernels_view("layer")
    payload = view.payload()
    user = [{"key": 0, "line": 7, "text": "h = x + 1"}, {"key": 1, "line": 8, "text": "y = h * 2"}]
    payload["data"]["sources"] = [{"node": "K1", "user": user, "forms": FORMS}]
    path = tmp_path / "forms.html"
    path.write_text(page_of([payload], "forms", view.svg(), view.text()), encoding="utf-8")
    page = open_page(path.as_uri())
    assert "h[i] = x[i] + 1" in page.locator(".jxl-source").inner_text()
    page.get_by_role("tab", name="Loops").focus()
    press(page, "ArrowRight")
    assert page.get_by_role("tab", name="LLVM IR").get_attribute("aria-selected") == "true"
    rows = page.locator(".jxl-source > .jxl-src")
    assert rows.locator("i").all_inner_texts() == ["8 lanes", "8"]
    assert [c.split()[-1] for c in rows.evaluate_all("es => es.map(e => e.className)")] == [
        "jxl-s0",
        "jxl-s1",
    ]
