import io
import re

import pytest

from jaxlite.cli.console import Progress, table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_one_line_per_step() -> None:
    log = io.StringIO()
    progress = Progress(3, "cell", log)
    for label in ("Load", "Train", "Look"):
        progress.start(label)
    progress.finish()
    lines = log.getvalue().splitlines()
    assert [line.rpartition("  ")[2] for line in lines] == ["Load", "Train", "Look"]
    assert re.fullmatch(r"cell 2 of 3, \d+\.\d s  Train", lines[1])


def test_a_terminal_gets_one_line_that_fills_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    progress = Progress(2, "cell", terminal)
    progress.start("Load")
    progress.start("Train with a title that is far too long for a narrow terminal")
    progress.finish()
    text = terminal.getvalue()
    assert text.count("\n") == 1
    drawn = text.strip("\r\n").split("\r")
    assert [line.count("#") for line in drawn] == [0, 12, 24]
    assert {len(line) for line in drawn} == {59}


def test_columns_are_aligned_and_lines_have_no_blanks_at_the_end() -> None:
    assert table([("a", "long"), ("long name", "")]) == "  a          long\n  long name"
