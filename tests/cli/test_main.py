import subprocess
import sys
from pathlib import Path

import pytest

from jaxlite.cli import parts
from jaxlite.cli.console import CommandError
from jaxlite.cli.main import main
from jaxlite.version import __version__
from tests.check import ROOT, environment

HEAVY = ("nbclient", "nbconvert", "nbformat", "jupyter_client", "matplotlib", "sklearn", "IPython")


def command(*arguments: str, python: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *python, "-m", "jaxlite", *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_help_lists_every_command() -> None:
    result = command("--help")
    assert result.returncode == 0
    assert [
        w for w in ("tour", "lab", "course", "doctor") if f"    {w} " not in result.stdout
    ] == []


def test_version_is_the_packages() -> None:
    assert command("--version").stdout == f"jaxlite {__version__}\n"


def test_help_imports_nothing_of_jupyter() -> None:
    result = command("--help", python=("-X", "importtime"))
    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "jaxlite.cli.main" in imported
    assert imported.isdisjoint(HEAVY)


@pytest.mark.parametrize("arguments", [[], ["--bad"], ["sing"], ["course"]])
def test_wrong_arguments_exit_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(arguments)
    except SystemExit as stop:  # argparse leaves this way
        code = stop.code
    assert code == 2
    captured = capsys.readouterr()
    assert "usage: jaxlite" in captured.out + captured.err


@pytest.mark.parametrize(
    ("arguments", "hidden", "message"),
    [
        (["tour"], ["nbclient"], "jaxlite tour needs nbclient, which is not installed.\n"),
        (
            ["tour"],
            ["nbconvert", "sklearn"],
            "jaxlite tour needs nbconvert and scikit-learn, which are not installed.\n",
        ),
        (["lab"], ["jupyterlab"], "jaxlite lab needs jupyterlab, which is not installed.\n"),
    ],
)
def test_a_missing_part_is_one_sentence_with_the_command_that_mends_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: list[str],
    hidden: list[str],
    message: str,
) -> None:
    real = parts.importlib.util.find_spec
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        parts.importlib.util, "find_spec", lambda name: None if name in hidden else real(name)
    )
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"jaxlite: {message}")
    assert captured.err.count("Fix: pip install ") == 1
    assert "jaxlite[lab]" in captured.err
    assert list(tmp_path.iterdir()) == []


def test_only_missing_parts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    parts.need("a test", *parts.PARTS)
    monkeypatch.setitem(parts.PARTS, "gone", parts.Part("gone", "gone", "nothing", "gone"))
    with pytest.raises(CommandError, match=r"^a test needs gone, which is not installed\."):
        parts.need("a test", "ipykernel", "gone")


def test_the_extras_in_the_messages_exist() -> None:
    metadata = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for part in parts.PARTS.values():
        assert part.distribution in metadata or part.distribution == "nbformat"


def test_quotes_suit_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    part = parts.PARTS["nbclient"]
    monkeypatch.setattr(sys, "platform", "linux")
    assert part.mend == "pip install 'jaxlite[lab]'"
    monkeypatch.setattr(sys, "platform", "win32")
    assert part.mend == 'pip install "jaxlite[lab]"'
    assert parts.PARTS["graphviz-pure"].mend == "pip install graphviz-pure"
