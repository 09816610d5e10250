"""Run a notebook from top to bottom.

In: a notebook file. Out: the same notebook with its outputs, the digest that its cells reported,
and the first failure, if any.

**The digest.** A cell reports facts by displaying a bundle of type
``application/vnd.jaxlite.digest+json``, a flat mapping; later cells add to it::

    display({"application/vnd.jaxlite.digest+json": {"accuracy_percent": 97.8},
             "text/plain": "97.8 % of the held-out digits are right"}, raw=True)

The command line knows ``accuracy_percent``, ``operations``, ``kernels``, ``compile_ms`` and
``run_ms`` (see ``tour.py``) and shows any other key under its own name. So a number in
the digest is one that a cell measured; the command line computes none itself.

The kernel is always this Python, whatever kernels the user has installed under the name python3.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxlite.cli.console import CommandError
from jaxlite.cli.parts import load

DIGEST_TYPE = "application/vnd.jaxlite.digest+json"

DIED = "The Python process of the notebook died in this cell (out of memory, or a crash)."

Notebook = Any  # an nbformat.NotebookNode: a dict whose keys are attributes too
OnCell = Callable[[str], None]


@dataclass(frozen=True)
class Failure:
    """A cell that stopped the run.

    Attributes:
        cell: its position among the code cells, from 1.
        source: its code.
        line: the line of ``source`` that raised, from 1, or None if unknown.
        message: what went wrong, as the user of the cell would see it, without a traceback.
    """

    cell: int
    source: str
    line: int | None
    message: str

    def __str__(self) -> str:
        shown = "\n".join(
            f"  {'>' if number == self.line else ' '} {number:3} | {text}"
            for number, text in enumerate(self.source.splitlines(), start=1)
        )
        return f"Cell {self.cell} failed.\n{shown}\n{self.message}"


@dataclass(frozen=True)
class Executed:
    """A notebook after its run, complete unless ``failure`` is set."""

    notebook: Notebook
    digest: Mapping[str, Any]
    failure: Failure | None


def read(path: Path) -> Notebook:
    """Read a notebook file.

    Raises:
        CommandError: the file is missing or is no notebook.
    """
    nbformat = load("nbformat")
    try:
        return nbformat.read(path, as_version=4)
    except OSError as error:
        raise CommandError(f"Cannot read {path}: {error.strerror or error}") from error
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise CommandError(f"{path} is not a notebook: {error}") from error


def titles(notebook: Notebook) -> list[str]:
    r"""Return one label per code cell: the last heading above it, else its first line.

    Example:
        >>> from types import SimpleNamespace as Cell
        >>> titles(Cell(cells=[Cell(cell_type="markdown", source="## Train\nIt learns."),
        ...                    Cell(cell_type="code", source="for i in range(3): step()")]))
        ['Train']
    """
    heading = ""
    found: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            headings = re.findall(r"^#+[ \t]+(.*?)[ \t#]*$", cell.source, flags=re.MULTILINE)
            heading = headings[-1] if headings else heading
        elif cell.cell_type == "code":
            found.append(heading or cell.source.strip().partition("\n")[0])
    return found


def run(notebook: Notebook, work_dir: Path, on_cell: OnCell) -> Executed:
    """Run every code cell of ``notebook`` in a fresh kernel, in order, until one fails.

    Args:
        notebook: changed in place: outputs of an earlier run are dropped.
        work_dir: the folder the cells run in.
        on_cell: called with the title of each code cell before it runs.

    Raises:
        CommandError: no kernel could be started.
    """
    nbclient, jupyter_client = load("nbclient"), load("jupyter_client")
    drop_outputs(notebook)
    labels = iter(titles(notebook))
    number, cell = 0, None
    failure: Failure | None = None
    with tempfile.TemporaryDirectory(prefix="jaxlite-kernel-") as specs:
        manager = jupyter_client.AsyncKernelManager(
            kernel_name="python3",
            kernel_spec_manager=jupyter_client.kernelspec.KernelSpecManager(
                kernel_dirs=[_own_kernel(Path(specs))], ensure_native_kernel=False
            ),
        )
        client = nbclient.NotebookClient(
            notebook,
            km=manager,
            timeout=None,
            record_timing=False,
            resources={"metadata": {"path": str(work_dir)}},
        )
        try:
            # One cell at a time: `client.execute()` would take Ctrl-C for itself. The view state
            # that it saves at the end would only make a page that is blank without a network.
            with client.setup_kernel(cleanup_kc=True):
                for index, cell in enumerate(notebook.cells):
                    if cell.cell_type == "code":
                        number += 1
                        on_cell(next(labels))
                        client.execute_cell(cell, index)
        except nbclient.exceptions.CellExecutionError as error:
            failure = _raised(cell, number, error)
        except nbclient.exceptions.DeadKernelError as error:
            if cell is None:
                raise CommandError(
                    f"The notebook's Python process did not start: {error}"
                ) from error
            failure = Failure(number, cell.source, None, DIED)
    notebook.metadata.setdefault("language_info", {"name": "python"})
    return Executed(notebook, digest(notebook.cells), failure)


def drop_outputs(notebook: Notebook) -> None:
    """Remove the outputs of an earlier run, so that what is left afterwards is of this one."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    notebook.metadata.pop("widgets", None)


def digest(cells: Iterable[Any]) -> dict[str, Any]:
    """Return the facts that the cells reported, later ones winning.

    Example:
        >>> digest([{"outputs": [{"data": {DIGEST_TYPE: {"kernels": 4}}}]}, {"outputs": []}])
        {'kernels': 4}
    """
    facts: dict[str, Any] = {}
    for cell in cells:
        for output in cell.get("outputs", ()):
            facts.update(output.get("data", {}).get(DIGEST_TYPE, {}))
    return facts


def _own_kernel(folder: Path) -> str:
    """Write a kernel description that starts this very Python; return the folder to search."""
    launcher = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {
        # Newer kernels warn at each start that loopback is not encrypted, and log an interrupt.
        "argv": [*launcher, "--log-level=CRITICAL"],
        "display_name": "Python 3 (jaxlite)",
        "language": "python",
    }
    (folder / "python3").mkdir()
    (folder / "python3" / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    return str(folder)


def _raised(cell: Any, number: int, error: Any) -> Failure:
    """Describe an exception; nbclient keeps its name and text apart from the traceback."""
    tracebacks = [out.traceback for out in cell.outputs if out.output_type == "error"]
    traceback = _plain("\n".join(tracebacks[-1])) if tracebacks else ""
    # The first frame is the cell's own. A SyntaxError has no frames; its place is indented.
    lines = re.findall(r"^ *Cell In\[\d+\], line (\d+)", traceback, flags=re.MULTILINE)
    message = f"{error.ename}: {_plain(error.evalue)}".rstrip()
    return Failure(number, cell.source, int(lines[0]) if lines else None, message)


def _plain(text: str) -> str:
    """Remove the terminal colours that IPython puts into tracebacks."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
