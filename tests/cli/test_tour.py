import json
import re
from pathlib import Path

import pytest

from jaxlite.cli import execute
from jaxlite.cli.main import main
from tests.cli.conftest import MakeNotebook

DIGEST = """
from IPython.display import display
facts = {"accuracy_percent": 97.777, "operations": 42, "kernels": 9, "compile_ms": 61.2}
display({"application/vnd.jaxlite.digest+json": facts, "text/plain": "97.8 %"}, raw=True)
"""
PICTURE = """
from IPython.display import SVG
SVG('<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><circle r="9"/></svg>')
"""
# Anything that makes a browser fetch something: links to click on are not among it.
REMOTE = (
    r"""(?:src\s*=\s*|url\(\s*|@import\s+|from\s+)["']?(?:https?:)?//[^\s"')]+|<link[^>]+href="""
)


@pytest.mark.slow
@pytest.mark.notebook
def test_a_tour_writes_the_notebook_and_a_page_and_prints_the_digest(
    make_notebook: MakeNotebook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = make_notebook("# Start", DIGEST, "# Draw $x^2$", PICTURE, "6 * 7")
    out = tmp_path / "out"
    assert main(["tour", str(notebook), "--out", str(out), "--no-open"]) == 0

    printed = capsys.readouterr().out
    assert re.search(r"cell 3 of 3, [\d.]+ s  Draw \$x\^2\$\n", printed)
    assert re.search(r"accuracy on held-out data +97\.8 %\n", printed)
    assert re.search(r"operations -> kernels +42 -> 9\n", printed)
    assert re.search(r"compile time +61 ms\n", printed)
    assert "run time" not in printed
    assert re.search(rf"page +{re.escape(str(out / 'small.html'))}\n", printed)

    cells = json.loads((out / "small.ipynb").read_text(encoding="utf-8"))["cells"]
    assert cells[-1]["outputs"][0]["data"]["text/plain"] == ["42"]
    assert [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"] == [1, 2, 3]
    page = (out / "small.html").read_text(encoding="utf-8")
    assert re.search(r"<img[^>]*src=.data:image/svg", page)
    assert "97.8 %" in page
    assert re.findall(REMOTE, page) == []
    assert "<script" not in page


@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.parametrize(
    ("code", "message", "line"),
    [
        ("x = 1\nraise ValueError('no good\\n  Fix: this')", "ValueError: no good\n  Fix: this", 2),
        ("x = 1\n\ny = (2", "SyntaxError: ", 3),
        ("import os\nos._exit(3)", "The Python process of the notebook died", None),
    ],
    ids=["exception", "syntax", "dead kernel"],
)
def test_a_failing_cell_is_shown_with_its_error_and_what_ran_before_is_kept(
    make_notebook: MakeNotebook,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    code: str,
    message: str,
    line: int | None,
) -> None:
    notebook = make_notebook("print('before')", code, "print('after')")
    out = tmp_path / "out"
    assert main(["tour", str(notebook), "--out", str(out), "--no-open"]) == 1

    printed = capsys.readouterr().out
    assert "Cell 2 failed." in printed
    assert message in printed
    assert "Traceback" not in printed
    marked = re.findall(r"^ +> +(\d+) \|", printed, flags=re.MULTILINE)
    assert marked == ([] if line is None else [str(line)])
    page = (out / "small.html").read_text(encoding="utf-8")
    assert "before" in page
    assert "cell 3 of 3" not in printed


@pytest.mark.slow
@pytest.mark.notebook
def test_outputs_of_an_earlier_run_do_not_reach_the_digest(make_notebook: MakeNotebook) -> None:
    notebook = execute.read(make_notebook(DIGEST, "1 / 0"))
    folder = Path.cwd()
    assert execute.run(notebook, folder, lambda title: None).digest["kernels"] == 9
    notebook.cells.insert(0, notebook.cells.pop())
    again = execute.run(notebook, folder, lambda title: None)
    assert again.failure is not None
    assert again.failure.cell == 1
    assert again.digest == {}


def test_cells_without_a_heading_are_named_by_their_first_line(make_notebook: MakeNotebook) -> None:
    notebook = execute.read(make_notebook("a = 1\nb = 2", "# One #", "c = 3", "# Two\ntext", "d"))
    assert execute.titles(notebook) == ["a = 1", "One", "Two"]


@pytest.mark.parametrize("content", [None, "no notebook", "{}"])
def test_a_file_that_is_no_notebook_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content)
    assert main(["tour", str(path), "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert error.startswith("jaxlite: ")
    assert str(path) in error
    assert "Traceback" not in error


def test_a_folder_that_cannot_be_written_is_one_sentence(
    make_notebook: MakeNotebook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["tour", str(make_notebook("1")), "--out", str(blocked)]) == 1
    assert f"Cannot write to {blocked}" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.notebook
def test_the_real_tour_learns_the_digits_and_draws_its_graphs_into_one_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["tour", "--out", str(tmp_path), "--no-open"])
    printed = capsys.readouterr().out
    assert code == 0, printed
    accuracy = re.search(r"accuracy on held-out data +([\d.]+) %\n", printed)
    assert accuracy is not None
    assert float(accuracy[1]) >= 97.0
    counts = re.search(r"operations -> kernels +(\d+) -> (\d+)\n", printed)
    assert counts is not None
    assert int(counts[1]) > int(counts[2]) > 0
    assert re.search(r"compile time +[\d.]+ m?s\n", printed)
    assert re.search(r"run time +[\d.]+ ms\n", printed)
    page = (tmp_path / "00_tour.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<img[^>]*src=.data:image/svg", page)) >= 2  # the two graphs
    assert re.findall(REMOTE, page) == []
    assert "<script" not in page
