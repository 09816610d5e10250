"""``install_as_jax``: ``import jax`` means jaxlite in this process. In: nothing. Out: nothing."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from jaxlite.not_planned import NOT_PLANNED

__all__ = ["install_as_jax"]


# Neither class inherits from importlib.abc: that takes long to import.
class _Loader:
    """Hands out a module that is loaded already, and leaves what it says of itself unchanged."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: Any) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _Finder:
    """Finds ``jax.a.b`` as ``jaxlite.a.b``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        if root != "jax":
            return None
        if rest in NOT_PLANNED:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: {NOT_PLANNED[rest]}", name=fullname
            )
        ours = f"jaxlite.{rest}" if rest else "jaxlite"
        if importlib.util.find_spec(ours) is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: jaxlite has no {ours!r}", name=fullname
            )
        loader: Any = _Loader(importlib.import_module(ours))
        return importlib.machinery.ModuleSpec(fullname, loader, is_package=True)


_finder = _Finder()


def install_as_jax() -> None:
    """Make ``import jax`` (and ``import jax.numpy``, ...) mean jaxlite in this process.

    Raises:
      RuntimeError: another ``jax`` is imported already.

    >>> import jaxlite
    >>> jaxlite.install_as_jax()  # doctest: +SKIP
    >>> import jax.numpy as jnp  # doctest: +SKIP
    """
    present = sys.modules.get("jax")
    if present is not None and present is not sys.modules["jaxlite"]:
        raise RuntimeError(
            "install_as_jax: another jax is imported already in this process\n"
            f"  it comes from {present.__file__}\n"
            "  Fix: call jaxlite.install_as_jax() before the first `import jax`"
        )
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
