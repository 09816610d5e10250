"""The ``jaxlite`` command. In: arguments. Out: an exit code, and at worst one clear sentence."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from jaxlite.cli.console import CommandError
from jaxlite.cli.doctor import doctor
from jaxlite.cli.lab import course, lab
from jaxlite.cli.tour import tour
from jaxlite.version import __version__

COMMANDS = ("tour", "lab", "course", "doctor")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: without the program's name; those of this process if None.

    Returns:
        0 done; 1 a notebook or a device failed; 2 wrong arguments or a missing package;
        130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        # An error message may hold any character; a terminal that cannot show it gets "?".
        with contextlib.suppress(AttributeError):  # a replaced stream, as in tests
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    options = parser().parse_args(arguments)
    try:
        return run(options)
    except CommandError as error:
        print(f"jaxlite: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("jaxlite: interrupted", file=sys.stderr)
        return 130


def run(options: argparse.Namespace) -> int:
    """Call the command that ``options`` names."""
    match options.command:
        case "tour":
            return tour(options.out, notebook=options.notebook, open_page=options.open_page)
        case "lab":
            return lab(options.to, open_page=options.open_page, jupyter_args=options.jupyter_args)
        case "course":
            return course(options.to)
        case "doctor":
            return doctor()
        case _:
            parser().print_help()
            return 2


def parser() -> argparse.ArgumentParser:
    """Return the parser, which is the source of every help text."""
    top = argparse.ArgumentParser(
        prog="jaxlite",
        description="NumPy code with grad, vmap and jit, and a look at every stage in between.",
    )
    top.add_argument("--version", action="version", version=f"jaxlite {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")

    tour_options = commands.add_parser(
        "tour",
        help="run the tour notebook and show what came out",
        description="Run the tour from top to bottom, write the executed notebook and one "
        "self-contained page, and print a digest.",
    )
    tour_options.add_argument(
        "notebook", nargs="?", type=Path, help="another notebook to run in its place"
    )
    tour_options.add_argument(
        "--out",
        type=Path,
        default=Path("jaxlite-tour"),
        metavar="DIR",
        help="folder for what it writes (default: %(default)s)",
    )
    _add_no_open(tour_options, "do not open the page in a browser")

    lab_options = commands.add_parser(
        "lab",
        help="open JupyterLab on a copy of the notebooks",
        description="Copy the notebooks to a folder of yours, keeping what is there, and open "
        "JupyterLab on it. Arguments after -- go to JupyterLab.",
    )
    lab_options.add_argument(
        "--to",
        type=Path,
        default=Path("jaxlite-notebooks"),
        metavar="DIR",
        help="folder for the copy (default: %(default)s)",
    )
    _add_no_open(lab_options, "start the server only; it prints its address")
    lab_options.add_argument("jupyter_args", nargs="*", metavar="-- ARG", help="for JupyterLab")

    course_options = commands.add_parser(
        "course",
        help="copy the notebooks to a folder",
        description="Copy the notebooks to a folder, keeping every file that is already there.",
    )
    course_options.add_argument("--to", type=Path, required=True, metavar="DIR")

    commands.add_parser(
        "doctor",
        help="say what works here, what does not, and the command that mends it",
        description="Show devices, versions, the cache folder and missing parts.",
    )
    return top


def _add_no_open(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--no-open", dest="open_page", action="store_false", help=text)
