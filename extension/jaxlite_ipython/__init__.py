"""The notebook side of jaxlite: ``%load_ext jaxlite`` (or ``jaxlite_ipython``).

Files, in reading order: ``options`` (the ``%%jit`` line), ``cell_source``, ``kept``,
``cell_transforms`` and ``cell`` (one cell as a function), ``session`` (what is remembered),
``report`` (the one line), ``check_grad``, ``cell_views`` (what ``--show`` shows), ``magics``,
``notices`` (messages about captured globals), ``progress_lines``, ``tracebacks``, ``views``
(pictures). Reads the engine only through the public names, ``stages``, ``diagnose`` and ``events``.
"""

from __future__ import annotations

from typing import Any

from jaxlite.diagnose import call_log
from jaxlite_ipython import cell_files
from jaxlite_ipython.cell_source import comments_below
from jaxlite_ipython.magics import JaxliteMagics
from jaxlite_ipython.notices import Notices
from jaxlite_ipython.progress_lines import ProgressLines
from jaxlite_ipython.session import CellSession
from jaxlite_ipython.tracebacks import ErrorDisplay

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_KEY = "_jaxlite_extension"
_MAGICS = (("cell", "jit"), ("line", "jit"), ("line", "jaxlite"))


class _Extension:
    """What one shell has of us, and the magics of others that ours hide."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        table = shell.magics_manager.magics
        self.hidden = {(kind, name): table[kind].get(name) for kind, name in _MAGICS}
        self.notices = Notices(shell)
        self.progress = ProgressLines(shell)
        self.magics = JaxliteMagics(shell, CellSession(), self.notices, self.progress)
        self.errors = ErrorDisplay(shell)
        self.unname: Any = None

    def start(self) -> None:
        self.shell.register_magics(self.magics)
        call_log.start()
        self.notices.start()
        self.progress.start()
        self.errors.install()
        self.unname = cell_files.titles_of(self.shell)
        self.shell.input_transformers_cleanup.append(comments_below)

    def stop(self) -> None:
        self.notices.stop()
        call_log.stop()
        self.progress.stop()
        self.errors.uninstall()
        self.unname()
        cell_files.forget()
        self.shell.input_transformers_cleanup.remove(comments_below)
        manager = self.shell.magics_manager
        for (kind, name), before in self.hidden.items():
            manager.magics[kind].pop(name, None)
            if before is not None:
                manager.magics[kind][name] = before
        manager.registry.pop(type(self.magics).__name__, None)


def load_ipython_extension(shell: Any) -> None:
    """Register the magics and the hooks; loading twice does nothing. Prints nothing."""
    if getattr(shell, _KEY, None) is None:
        extension = _Extension(shell)
        extension.start()
        setattr(shell, _KEY, extension)


def unload_ipython_extension(shell: Any) -> None:
    """Remove every hook and magic."""
    extension = getattr(shell, _KEY, None)
    if extension is not None:
        extension.stop()
        setattr(shell, _KEY, None)
