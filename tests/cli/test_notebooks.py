from pathlib import Path

import pytest

from jaxlite.cli import notebooks
from jaxlite.cli.console import CommandError
from jaxlite.cli.main import main


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "pictures").mkdir(parents=True)
    (folder / ".ipynb_checkpoints").mkdir()
    for name in ("00_tour.ipynb", "pictures/digit.png", ".ipynb_checkpoints/00_tour.ipynb"):
        (folder / name).write_text(name)
    return folder


def test_the_tour_is_found_in_this_installation() -> None:
    assert (notebooks.folder() / notebooks.TOUR).is_file()


def test_copies_hold_pictures_but_no_checkpoints(source: Path, tmp_path: Path) -> None:
    copied = notebooks.copy_to(tmp_path / "to" / "deep", source)
    assert copied == notebooks.Copied(new=("00_tour.ipynb", "pictures/digit.png"), kept=())
    found = {p.name for p in (tmp_path / "to" / "deep").rglob("*")}
    assert found == {"00_tour.ipynb", "pictures", "digit.png"}


def test_what_the_reader_wrote_is_kept(source: Path, tmp_path: Path) -> None:
    to = tmp_path / "to"
    notebooks.copy_to(to, source)
    (to / "00_tour.ipynb").write_text("my answers")
    (to / "pictures" / "digit.png").unlink()
    copied = notebooks.copy_to(to, source)
    assert copied == notebooks.Copied(new=("pictures/digit.png",), kept=("00_tour.ipynb",))
    assert (to / "00_tour.ipynb").read_text() == "my answers"


def test_a_read_only_installation_gives_copies_that_can_be_edited(
    source: Path, tmp_path: Path
) -> None:
    (source / "00_tour.ipynb").chmod(0o444)
    notebooks.copy_to(tmp_path / "to", source)
    assert (tmp_path / "to" / "00_tour.ipynb").stat().st_mode & 0o200


def test_a_destination_that_is_a_file_is_one_sentence(source: Path) -> None:
    with pytest.raises(CommandError, match="Cannot write the notebooks to"):
        notebooks.copy_to(source / "00_tour.ipynb", source)


def test_course_lists_what_it_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = tmp_path / "course"
    assert main(["course", "--to", str(to)]) == 0
    assert f"new   {to / notebooks.TOUR}" in capsys.readouterr().out
    assert main(["course", "--to", str(to)]) == 0
    assert f"kept  {to / notebooks.TOUR}" in capsys.readouterr().out


def test_no_notebooks_anywhere_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebooks.resources, "files", lambda package: tmp_path / "jaxlite")
    assert main(["course", "--to", str(tmp_path / "to")]) == 1
    assert "The notebooks are missing" in capsys.readouterr().err
