"""What every test shares: the golden files, hypothesis' settings, and skips that say why."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from jaxlite.cli.doctor import check_cuda

GOLDEN = Path(__file__).parent / "golden"

# The same examples in every run: a failure can be repeated, and CI does not fail by luck.
hypothesis.settings.register_profile("jaxlite", derandomize=True, deadline=None, database=None)
# JAXLITE_HYPOTHESIS=explore looks for new examples and takes longer.
hypothesis.settings.register_profile("explore", deadline=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("JAXLITE_HYPOTHESIS", "jaxlite"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite tests/golden/*.txt, for review as a diff",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reasons = {"gpu": missing_gpu, "browser": missing_browser}
    for mark, find_reason in reasons.items():
        marked = [item for item in items if item.get_closest_marker(mark)]
        if marked and (reason := find_reason()):
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


def missing_gpu() -> str:
    finding = check_cuda()
    return "" if finding.ok else f"needs a GPU: {finding.fact}"


def missing_browser() -> str:
    found = any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    return "" if found else "needs Chromium"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: text must equal ``tests/golden/<name>.txt``."""
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        text = text.rstrip("\n") + "\n"
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.exists(), f"{path} does not exist; write it with pytest --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare
