"""The notebooks run from top to bottom and print what they printed when they were committed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_prints_what_it_printed_before(path: Path) -> None:
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
    command += ["--nbval-sanitize-with", str(Path(__file__).with_name("sanitize.cfg")), str(path)]
    # A slow machine must not show lines of progress that a fast one does not.
    env = {**os.environ, "CI": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, env=env)
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_is_executed_small_and_free_of_warnings(path: Path) -> None:
    assert path.stat().st_size < 400_000
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    assert all(c["execution_count"] for c in cells)
    texts = [
        "".join(o.get("text", []))
        for c in cells
        for o in c["outputs"]
        if o["output_type"] == "stream" and o["name"] == "stderr"
    ]
    # The tour shows one message on purpose: a global that changed after the trace.
    assert [t[:5] for t in texts] == (["JL202"] if path.stem == "00_tour" else [])
