"""A wheel holds both packages and the notebooks, and works from any folder."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.check import ROOT


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of a wheel of this tree, laid out as pip would install it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.slow
def test_a_wheel_holds_what_the_checkout_has(unpacked: Path) -> None:
    (info,) = unpacked.glob("*.dist-info")
    assert {path.name for path in unpacked.iterdir()} == {"jaxlite", "jaxlite_ipython", info.name}
    notebooks = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {path.name for path in (unpacked / "jaxlite" / "notebooks").glob("*.ipynb")} == notebooks
    assert (unpacked / "jaxlite" / "py.typed").exists()
    assert (info / "licenses" / "LICENSE").exists()
    static = unpacked / "jaxlite_ipython" / "static"
    assert {path.name for path in static.iterdir()} == {"view.css", "view.js"}


@pytest.mark.slow
def test_the_command_line_finds_the_notebooks_of_a_wheel(unpacked: Path, tmp_path: Path) -> None:
    script = f"""
import sys
sys.path[:0] = [{str(unpacked)!r}]
import jaxlite.cli.main
assert jaxlite.__file__.startswith({str(unpacked)!r}), jaxlite.__file__
sys.exit(jaxlite.cli.main.main(["course", "--to", "mine"]))
"""
    run = [sys.executable, "-c", script]
    result = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "mine" / "00_tour.ipynb").is_file()
