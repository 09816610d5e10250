"""Small programs in files of their own, so that reports can quote and edit them."""

from __future__ import annotations

import contextlib
import io
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxlite

HEADER = "import numpy as np\nimport jaxlite as jax\nimport jaxlite.numpy as jnp\n"
_numbers = itertools.count()


@dataclass
class Program:
    """A program that has run: its names, and the report on the function that cost most."""

    text: str
    names: dict[str, Any]
    report: Any

    @property
    def causes(self) -> str:
        return "".join(e.letters for e in self.report.entries)


def run(folder: Path, body: str, header: str = HEADER) -> Program:
    """Run ``header + body`` from a new file and report on the functions defined there."""
    text = header + body
    file = folder / f"program_{next(_numbers)}.py"
    file.write_text(text, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "program"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, str(file), "exec", dont_inherit=True), names)
    found = [r for r in jaxlite.why_recompiled().reports if r.file == str(file)]
    found.sort(key=lambda r: -len(r.entries))
    return Program(text, names, found[0])


def repaired(folder: Path, program: Program, cause: str) -> Program:
    """Run the program with the first fix for ``cause`` applied."""
    fix = next(f for f in program.report.fixes if f.cause == cause)
    assert fix.diff, f"no edit, only advice: {fix.title}"
    return run(folder, fix.new_source, header="")
