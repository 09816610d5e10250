"""How a lesson is laid out. In: a notebook. Out: its exercises, and itself with them solved.

An exercise is a markdown cell that begins with ``### Exercise 1``, a code cell to complete, a code
cell with ``check("Exercise 1", ...)``, and a markdown cell that folds the solution away::

    <details><summary>Solution of exercise 1</summary>

    ```python
    ...
    ```

    </details>
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

_SOLUTION = re.compile(
    r"<details>\s*<summary>Solution of exercise (\d+)</summary>(.*?)</details>", re.DOTALL
)
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Exercise:
    """One exercise: the text of its task, the code of its solution and of its check."""

    name: str
    task: str
    solution: str
    check: str


def read(path: Path) -> Any:
    """Return a notebook."""
    return nbformat.read(path, as_version=4)


def exercises(notebook: Any) -> list[Exercise]:
    """Return the exercises of a notebook in order; each must have all its parts."""
    cells = notebook.cells
    found = []
    for cell in cells:
        title = re.match(r"### (Exercise \d+)", cell.source)
        if cell.cell_type != "markdown" or not title:
            continue
        name = title[1]
        checks = [c.source for c in cells if c.cell_type == "code" and f'"{name}"' in c.source]
        solutions = [
            "\n".join(_CODE.findall(text)).strip()
            for c in cells
            for number, text in _SOLUTION.findall(c.source)
            if name == f"Exercise {number}"
        ]
        assert len(checks) == len(solutions) == 1, f"{name}: one check and one solution, please"
        found.append(Exercise(name, cell.source, solutions[0], checks[0]))
    return found


def solved(notebook: Any) -> Any:
    """Return the notebook with the solution of each exercise and its check as cells at the end."""
    notebook = nbformat.from_dict(notebook)
    for exercise in exercises(notebook):
        answer = nbformat.v4.new_code_cell(exercise.solution)
        answer.metadata["tags"] = ["nbval-ignore-output"]
        verdict = nbformat.v4.new_output("stream", name="stdout", text=f"{exercise.name}: right.\n")
        check = nbformat.v4.new_code_cell(exercise.check, outputs=[verdict], execution_count=1)
        notebook.cells += [answer, check]
    return notebook
