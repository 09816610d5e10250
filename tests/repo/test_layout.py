"""The tree stays as README describes it: few names at the top, small documented files."""

import ast
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("jaxlite", "extension")
TOP = {"pyproject.toml", "README.md", "LICENSE", "jaxlite", "extension", "notebooks", "tests"}
MAX_LINES = 600


def python_files(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found, f"no Python file under {folders}"
    return found


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_top_level_holds_exactly_the_promised_names() -> None:
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line]
    names = {
        path.name
        for path in ROOT.iterdir()
        if not path.name.startswith(".") and not any(fnmatch(path.name, rule) for rule in ignored)
    }
    assert names == TOP


def test_no_python_file_is_longer_than_the_limit() -> None:
    sizes = {
        relative(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files(*PACKAGES, "tests")
    }
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}


def test_every_module_of_the_packages_says_what_it_is_for() -> None:
    silent = [
        relative(path)
        for path in python_files(*PACKAGES)
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_every_folder_with_python_in_it_is_a_package() -> None:
    folders = {path.parent for path in python_files(*PACKAGES)}
    assert [relative(f) for f in sorted(folders) if not (f / "__init__.py").exists()] == []


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "X" + "XX"])
def test_nothing_is_left_for_later_in_a_comment(word: str) -> None:
    found = [
        relative(path)
        for path in python_files(*PACKAGES, "tests")
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_the_license_is_apache_2_in_full() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "9. Accepting Warranty or Additional Liability" in text
