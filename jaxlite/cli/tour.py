"""``jaxlite tour``: run the tour, keep what it made, and say in a few lines what came out.

In: a notebook. Out: ``00_tour.ipynb`` with outputs and ``00_tour.html`` in a folder, and the digest
on the terminal. A cell that fails is shown with its error, and the exit code is 1.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxlite.cli import notebooks
from jaxlite.cli.console import CommandError, Progress, table
from jaxlite.cli.execute import Executed, read, run, titles
from jaxlite.cli.page import to_html
from jaxlite.cli.parts import load, need


def tour(out: Path, *, notebook: Path | None = None, open_page: bool = True) -> int:
    """Run ``notebook`` (the tour if None), write it and its page into ``out``.

    Returns:
        The exit code: 0, or 1 if a cell failed.

    Raises:
        CommandError: a package is missing, or a file cannot be read or written.
    """
    need("jaxlite tour", "ipykernel", "nbclient", "nbconvert", "matplotlib", "scikit-learn")
    path = notebook or notebooks.folder() / notebooks.TOUR
    content = read(path)
    _prepare(out, path)
    start_s = time.perf_counter()
    progress = Progress(len(titles(content)), "cell", sys.stdout)
    try:
        executed = run(content, out.resolve(), progress.start)
    except KeyboardInterrupt:
        progress.abandon()
        print(f"Stopped in cell {progress.done} of {progress.total}.")
        raise
    if executed.failure is None:
        progress.finish()
    else:
        progress.abandon()
    total_s = time.perf_counter() - start_s
    page = _write(executed, out, path.stem)
    if executed.failure is not None:
        print(f"\n{executed.failure}\n\nEverything up to that cell: {page}")
        return 1
    print(f"\n{describe(executed.digest, total_s, page)}")
    if open_page and can_show_a_page():
        webbrowser.open(page.as_uri())
    return 0


def describe(digest: Mapping[str, Any], total_s: float, page: Path) -> str:
    """Return the digest as a small table; facts that no cell reported are left out.

    Example:
        >>> facts = {"accuracy_percent": 97.777, "operations": 42, "kernels": 9,
        ...          "compile_ms": 61.2, "run_ms": 0.094, "held_out_digits": 450}
        >>> print(describe(facts, 21.5, Path("tour.html")))
          accuracy on held-out data  97.8 %
          operations -> kernels      42 -> 9
          compile time               61 ms
          run time                   0.094 ms
          held out digits            450
          whole tour                 21.5 s
          page                       tour.html
    """
    facts = dict(digest)
    rows: list[tuple[str, ...]] = []
    if "accuracy_percent" in facts:
        rows.append(("accuracy on held-out data", f"{facts.pop('accuracy_percent'):.1f} %"))
    if {"operations", "kernels"} <= facts.keys():
        counts = f"{facts.pop('operations')} -> {facts.pop('kernels')}"
        rows.append(("operations -> kernels", counts))
    for key, label in (("compile_ms", "compile time"), ("run_ms", "run time")):
        if key in facts:
            rows.append((label, _milliseconds(facts.pop(key))))
    rows += [(key.replace("_", " "), str(value)) for key, value in facts.items()]
    rows.append(("whole tour", f"{total_s:.1f} s"))
    rows.append(("page", str(page)))
    return table(rows)


def can_show_a_page() -> bool:
    """Return whether a browser window is likely to appear and somebody to see it.

    Without a desktop, ``webbrowser`` may start a text browser that takes over the terminal.
    """
    if not sys.stdout.isatty() or os.environ.get("CI"):
        return False
    if sys.platform in ("win32", "darwin"):
        return not os.environ.get("SSH_CONNECTION")
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _prepare(out: Path, notebook: Path) -> None:
    """Make ``out``, with the pictures and data that lie beside the notebook."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for extra in notebook.parent.iterdir():
            if extra.is_file() and extra.suffix != ".ipynb" and not extra.name.startswith("."):
                shutil.copyfile(extra, out / extra.name)
    except shutil.SameFileError:
        return  # the notebook lies in `out` itself, and so does what it reads
    except OSError as error:
        raise CommandError(f"Cannot write to {out}: {error}") from error


def _write(executed: Executed, out: Path, stem: str) -> Path:
    """Write the notebook and its page; return the page's full path."""
    page = out.resolve() / f"{stem}.html"
    try:
        load("nbformat").write(executed.notebook, page.with_suffix(".ipynb"))
        page.write_text(to_html(executed.notebook, stem, str(out.resolve())), encoding="utf-8")
    except OSError as error:
        raise CommandError(f"Cannot write to {out}: {error}") from error
    return page


def _milliseconds(value: float) -> str:
    """Two significant digits: what is measured once is known no better.

    Example:
        >>> _milliseconds(61.2), _milliseconds(0.0941), _milliseconds(1234)
        ('61 ms', '0.094 ms', '1200 ms')
    """
    return f"{float(f'{value:.2g}'):g} ms"
