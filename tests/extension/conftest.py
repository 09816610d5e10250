"""A fresh IPython shell with the extension loaded, and a way to run cells in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import jaxlite

SETUP = """
import jaxlite as jax, jaxlite.numpy as jnp, numpy as np
from jaxlite.numpy import tanh, mean
x = jnp.ones((4, 3)); w1 = jnp.ones((3, 5)); b1 = jnp.ones(5); n = 3
"""


class Notebook:
    """Runs cells and returns what a user would see."""

    def __init__(self, shell: Any, capsys: Any) -> None:
        self.shell, self.capsys = shell, capsys

    def run(self, source: str) -> Any:
        """Run a cell; returns IPython's result with ``out`` and ``err`` added."""
        result = self.shell.run_cell(source, store_history=True)
        captured = self.capsys.readouterr()
        result.out, result.err = captured.out, captured.err
        return result

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.shell.user_ns


@pytest.fixture
def notebook(capsys: pytest.CaptureFixture[str]) -> Iterator[Notebook]:
    """Return a notebook with the extension loaded and some names defined."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("colors", "nocolor")
    jaxlite.load_ipython_extension(shell)
    notebook = Notebook(shell, capsys)
    notebook.run(SETUP)
    yield notebook
    jaxlite.unload_ipython_extension(shell)
    InteractiveShell.clear_instance()
