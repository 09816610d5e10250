"""The notebook side of jaxlite: ``%load_ext jaxlite`` (or ``jaxlite_ipython``).

Files, in reading order: ``options`` (the ``%%jit`` line), ``cell`` (one cell as a function),
``session`` (what is remembered), ``report`` (the one line), ``magics``, ``notices`` (messages about
captured globals), ``tracebacks``, ``views`` (pictures). Reads the engine only through the public
names, ``stages``, ``diagnose`` and ``events``.
"""

from __future__ import annotations

from typing import Any

from jaxlite_ipython import tracebacks
from jaxlite_ipython.magics import JaxliteMagics
from jaxlite_ipython.notices import Notices
from jaxlite_ipython.session import CellSession

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_KEY = "_jaxlite_extension"


def load_ipython_extension(shell: Any) -> None:
    """Register the magics and the hooks; loading twice does nothing. Prints nothing."""
    if getattr(shell, _KEY, None) is not None:
        return
    notices = Notices(shell)
    magics = JaxliteMagics(shell, CellSession(), notices)
    shell.register_magics(magics)
    notices.start()
    tracebacks.install(shell)
    setattr(shell, _KEY, magics)


def unload_ipython_extension(shell: Any) -> None:
    """Remove every hook and magic."""
    magics = getattr(shell, _KEY, None)
    if magics is None:
        return
    magics.notices.stop()
    tracebacks.uninstall(shell)
    shell.magics_manager.magics["cell"].pop("jit", None)
    shell.magics_manager.magics["line"].pop("jaxlite", None)
    setattr(shell, _KEY, None)
