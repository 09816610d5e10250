"""The notebooks run from top to bottom and print what they printed when they were committed.

So do the solutions of their exercises, which run after them in the same kernel.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.check import ROOT, environment
from tests.notebooks.lessons import exercises, read, solved

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LESSONS = [path for path in NOTEBOOKS if not path.stem.startswith("00")]
#: A cell with this tag shows one of our messages on purpose; no other cell may.
SHOWS_MESSAGES = "shows-messages"


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_prints_what_it_printed_before(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    nbformat.write(solved(read(path)), copy)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
    ]
    command += ["--nbval-sanitize-with", str(Path(__file__).with_name("sanitize.cfg")), str(copy)]
    # A slow machine must not show lines of progress that a fast one does not.
    env = {**environment(), "CI": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, env=env)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_is_executed_small_and_free_of_warnings(path: Path) -> None:
    assert path.stat().st_size < 400_000
    cells = [c for c in read(path).cells if c.cell_type == "code"]
    assert all(c.execution_count for c in cells)
    unexpected = [
        o.text
        for c in cells
        for o in c.outputs
        if o.output_type == "stream" and o.name == "stderr"
        if SHOWS_MESSAGES not in c.metadata.get("tags", [])
    ]
    assert unexpected == []
    assert [c.source for c in cells if any(o.output_type == "error" for o in c.outputs)] == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_lesson_begins_with_a_prediction_and_ends_with_three_exercises(path: Path) -> None:
    notebook = read(path)
    start = "\n".join(c.source for c in notebook.cells[:4])
    assert "**Prediction.**" in start
    found = exercises(notebook)
    assert [e.name for e in found] == ["Exercise 1", "Exercise 2", "Exercise 3"]
    assert all(e.solution for e in found)
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "code")
    assert "._" not in text.replace("__", ""), "public names only"
