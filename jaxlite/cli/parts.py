"""Optional parts: packages that a command needs but ``import jaxlite`` does not.

In: the name of a part. Out: its module, or a ``CommandError`` that says in one sentence what is
missing and which command brings it. Nothing here is imported before a command asks for it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from jaxlite.cli.console import CommandError


@dataclass(frozen=True)
class Part:
    """One optional package.

    Attributes:
        module: the name it is imported by; empty for a package that holds a program only.
        distribution: the name pip knows it by.
        purpose: what the user gets from it, for ``jaxlite doctor``.
        requirement: what to hand to pip.
    """

    module: str
    distribution: str
    purpose: str
    requirement: str

    @property
    def mend(self) -> str:
        """The command that brings the part, quoted for a shell of this system."""
        # cmd.exe takes only double quotes, and every other shell takes them too; single quotes are
        # kept elsewhere because they are what people know from README.
        quote = '"' if sys.platform == "win32" else "'"
        bare = self.requirement.replace("-", "").replace("_", "").isalnum()
        return f"pip install {self.requirement if bare else quote + self.requirement + quote}"

    def version(self) -> str | None:
        """Return the installed version, or None if the part is missing."""
        if self.module and importlib.util.find_spec(self.module) is None:
            return None
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None


LAB = "jaxlite[lab]"

PARTS = {
    part.distribution: part
    for part in (
        Part("", "graphviz-pure", "draws graphs (SVG and PNG)", "graphviz-pure"),
        Part("ipykernel", "ipykernel", "runs notebooks", "ipykernel"),
        Part("anywidget", "anywidget", "interactive views", "anywidget"),
        Part("nbclient", "nbclient", "jaxlite tour: runs a notebook", LAB),
        Part("nbconvert", "nbconvert", "jaxlite tour: makes the page", LAB),
        Part("jupyterlab", "jupyterlab", "jaxlite lab", LAB),
        Part("matplotlib", "matplotlib", "curves in the notebooks", LAB),
        Part("sklearn", "scikit-learn", "data sets of the notebooks", LAB),
    )
}


def need(command: str, *names: str) -> None:
    """Check that ``command`` has its parts before it starts, so that it never stops half-way.

    Args:
        command: what the user typed, for the message.
        *names: keys of ``PARTS``.

    Raises:
        CommandError: exit code 2; names every missing part and the commands that mend it.

    Example:
        >>> need("jaxlite tour", "ipykernel")
    """
    missing = [PARTS[name] for name in names if PARTS[name].version() is None]
    if missing:
        listed = " and ".join(part.distribution for part in missing)
        verb = "is" if len(missing) == 1 else "are"
        mends = "\n".join(f"  Fix: {mend}" for mend in dict.fromkeys(p.mend for p in missing))
        raise CommandError(f"{command} needs {listed}, which {verb} not installed.\n{mends}", 2)


def load(module: str) -> Any:
    """Import ``module``, which ``need`` has found, and return it."""
    return importlib.import_module(module)
