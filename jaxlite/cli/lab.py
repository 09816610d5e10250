"""``jaxlite course`` copies the notebooks; ``jaxlite lab`` also opens JupyterLab on the copy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from jaxlite.cli import notebooks
from jaxlite.cli.parts import need


def course(to: Path) -> int:
    """Copy the notebooks to ``to`` and list them. Returns the exit code."""
    copied = notebooks.copy_to(to)
    for name in copied.new:
        print(f"  new   {to / name}")
    for name in copied.kept:
        print(f"  kept  {to / name}  (was already there)")
    print(f"Read them with: jaxlite lab --to {to}")
    return 0


def lab(to: Path, *, open_page: bool, jupyter_args: Sequence[str] = ()) -> int:
    """Copy the notebooks to ``to`` and run JupyterLab there. Returns JupyterLab's exit code."""
    need("jaxlite lab", "jupyterlab", "ipykernel")
    notebooks.copy_to(to)
    print(f"Your notebooks are in {to.resolve()}. Stop with Ctrl-C.", flush=True)
    command = [sys.executable, "-m", "jupyterlab", str(to), *jupyter_args]
    if not open_page:
        command.append("--no-browser")
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # JupyterLab got the same signal and asks whether to stop: it decides, we wait.
                continue
