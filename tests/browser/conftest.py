"""A headless Chromium in which every request to another place than this machine fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.check import ROOT

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",
]
#: Where screenshots go: a folder that git ignores.
SHOTS = Path(os.environ.get("JAXLITE_SCREENSHOTS", ROOT / "build" / "screenshots"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Return one browser for all tests of this process."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """``open_page(url, allowed)``: a page; other addresses and errors in scripts fail the test.

    No request to another address is answered; one that begins as in ``known`` does not fail.
    """
    contexts: list[Any] = []
    outside: list[str] = []
    errors: list[str] = []

    def open_(
        url: str,
        allowed: str = "file:",
        headers: Any = None,
        known: tuple[str, ...] = (),
        **options: Any,
    ) -> Any:
        viewport = {"width": 1200, "height": 900}
        context = chromium.new_context(**({"viewport": viewport} | options))
        contexts.append(context)
        if headers:
            context.set_extra_http_headers(headers)
        inside = (allowed, "data:", "blob:")

        def stop(route: Any) -> None:
            if not route.request.url.startswith(known):
                outside.append(route.request.url)
            route.abort()

        context.route(lambda u: not u.startswith(inside), stop)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        return page

    open_.outside, open_.errors = outside, errors  # type: ignore[attr-defined]
    yield open_
    for context in contexts:
        context.close()
    assert outside == []
    assert errors == []


@pytest.fixture
def shot() -> Callable[..., None]:
    """``shot(page, name)`` keeps a picture of a page or an element for people to look at."""
    SHOTS.mkdir(parents=True, exist_ok=True)

    def take(target: Any, name: str, **options: Any) -> None:
        target.screenshot(path=str(SHOTS / f"{name}.png"), **options)

    return take
