"""README is true: its code runs and prints what it shows, its commands and links are real."""

import contextlib
import doctest
import io
import re
import subprocess

import pytest

from jaxlite.cli.main import COMMANDS
from tests.check import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = "python3 -m venv .venv && .venv/bin/pip install -e '.[lab]' && .venv/bin/jaxlite tour"
TEST = "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest"


def blocks() -> list[tuple[str, str]]:
    """All fenced blocks in order, as (language, content)."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def python_blocks() -> list[tuple[str, str | None]]:
    """Each Python block with the text block that follows it at once, which is its output."""
    pattern = r"^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?"
    return re.findall(pattern, README, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("code", "shown"), python_blocks())
def test_python_blocks_print_what_readme_shows(code: str, shown: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "example.py", "exec"), {"__name__": "__main__"})
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(shown, printed.getvalue(), flags), (
        f"README shows:\n{shown}\nThe code prints:\n{printed.getvalue()}"
    )


def test_there_is_code_with_output_to_run() -> None:
    assert any(shown for _, shown in python_blocks())


def test_the_two_commands_stand_in_readme_word_for_word() -> None:
    lines = [
        line
        for language, content in blocks()
        if language == "bash"
        for line in content.splitlines()
    ]
    assert TOUR in lines
    assert TEST in lines


def test_ci_runs_readmes_test_command_and_no_other() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (extraction,) = re.findall(r"^command=\$\((.*)\)$", script, flags=re.MULTILINE)
    found = subprocess.run(["bash", "-c", extraction], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == f"{TEST}\n"
    assert 'bash -c "$command"' in script
    assert script.count("pytest") == 2  # the pattern above and the comment that explains it


def test_relative_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_links_within_the_page_lead_to_a_heading() -> None:
    headings = re.findall(r"^#+ (.+)$", README, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= anchors


def test_readme_names_every_command_and_no_other() -> None:
    code = [content for language, content in blocks() if language == "bash"]
    code += re.findall(r"`([^`\n]+)`", README)
    named = {word for text in code for word in re.findall(r"\bjaxlite ([a-z]+)\b", text)}
    assert named == set(COMMANDS)
