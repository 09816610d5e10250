"""Where the notebooks are, and copies of them for people to work in.

In a checkout they lie in ``notebooks/`` beside the package; a wheel carries the same files inside
the package, as ``jaxlite/notebooks``. Either way they are read in place and only copies are edited.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from jaxlite.cli.console import CommandError

TOUR = "00_tour.ipynb"


def folder() -> Path:
    """Return the folder that holds the notebooks of this installation.

    Raises:
        CommandError: neither the wheel's nor a checkout's folder is there.
    """
    package = Path(str(resources.files("jaxlite")))
    for candidate in (package / "notebooks", package.parent / "notebooks"):
        if any(candidate.glob("*.ipynb")):
            return candidate
    raise CommandError(
        f"The notebooks are missing: neither {package / 'notebooks'} nor "
        f"{package.parent / 'notebooks'} holds any.\n"
        "  Fix: pip install --force-reinstall jaxlite"
    )


@dataclass(frozen=True)
class Copied:
    """What ``copy_to`` did: names of files, relative to the folder."""

    new: tuple[str, ...]
    kept: tuple[str, ...]


def copy_to(destination: Path, source: Path | None = None) -> Copied:
    """Copy every notebook, and the files it reads, into ``destination``.

    A file that is already there is kept, since it may hold the reader's own answers.

    Args:
        destination: made if it does not exist.
        source: the folder to copy from; the installed notebooks if None.

    Raises:
        CommandError: ``destination`` is a file, or cannot be written.
    """
    source = source or folder()
    new: list[str] = []
    kept: list[str] = []
    try:
        destination.mkdir(parents=True, exist_ok=True)
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source)
            if path.is_dir() or any(part.startswith((".", "__")) for part in name.parts):
                continue
            target = destination / name
            if target.exists():
                kept.append(name.as_posix())
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            # Contents only: a wheel in a system folder may be read-only, the copy must not be.
            shutil.copyfile(path, target)
            new.append(name.as_posix())
    except OSError as error:
        raise CommandError(f"Cannot write the notebooks to {destination}: {error}") from error
    return Copied(tuple(new), tuple(kept))
