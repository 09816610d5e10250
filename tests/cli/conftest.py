"""Small notebooks to run, so that the commands are tested apart from the real tour."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

MakeNotebook = Callable[..., Path]


@pytest.fixture
def make_notebook(tmp_path: Path) -> MakeNotebook:
    """``make_notebook("# Heading", "code", ...)``: text starts with # and a blank."""

    def make(*cells: str, name: str = "small.ipynb") -> Path:
        v4 = nbformat.v4
        new = [
            v4.new_markdown_cell(cell) if cell.startswith("# ") else v4.new_code_cell(cell)
            for cell in cells
        ]
        path = tmp_path / "source" / name
        path.parent.mkdir(exist_ok=True)
        nbformat.write(v4.new_notebook(cells=new), path)
        return path

    return make
