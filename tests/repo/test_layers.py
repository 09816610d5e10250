"""The contracts of import-linter hold, and they catch what they are there to catch."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.check import ROOT, environment, steps


def lint(tree: Path) -> "subprocess.CompletedProcess[str]":
    paths = os.pathsep.join([str(tree), str(tree / "extension")])
    return subprocess.run(
        steps(())["lint-imports"],
        cwd=tree,
        env=environment() | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_layers_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    skip = shutil.ignore_patterns("__pycache__", ".*")
    for folder in ("jaxlite", "extension"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


LAYERS = "a module imports from lower layers only"
BACK_ENDS = "cupy and llvmlite are seen by their back ends only"
NO_NOTEBOOK = "the engine knows no notebook"
EXTENSION = "the extension sees the public API, stages, diagnose and events"


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("jaxlite/language/planted.py", "import jaxlite.api", LAYERS),
        ("jaxlite/transforms/planted.py", "import jaxlite.compiler", LAYERS),
        ("jaxlite/planted.py", "", LAYERS),
        ("jaxlite/compiler/planted.py", "import llvmlite.ir", BACK_ENDS),
        ("jaxlite/diagnose/planted.py", "import IPython", NO_NOTEBOOK),
        ("jaxlite/api/planted.py", "def f():\n    import jaxlite_ipython", NO_NOTEBOOK),
        ("extension/jaxlite_ipython/planted.py", "import jaxlite.primitives", EXTENSION),
    ],
)
def test_a_planted_violation_is_caught(
    copied_tree: Path, file: str, line: str, contract: str
) -> None:
    planted = copied_tree / file
    planted.write_text(f'"""Planted by a test."""\n\n{line}\n', encoding="utf-8")
    try:
        result = lint(copied_tree)
    finally:
        planted.unlink()
    assert result.returncode == 1
    assert f"{contract} BROKEN" in result.stdout, result.stdout + result.stderr
    assert "planted" in result.stdout
