"""The way from here into the pipeline, loaded at the first compilation.

In: a jaxpr. Out: ``Compilation``.

The compiler is a third of the package and ``import jaxlite`` needs none of it: a program that only
runs eagerly never loads it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from jaxlite.language.jaxpr import ClosedJaxpr

if TYPE_CHECKING:
    from jaxlite.pipeline import Compilation
    from jaxlite.runtime.cuda import CudaExecutable

__all__ = ["compile_jaxpr", "load_on_gpu"]


def compile_jaxpr(closed: ClosedJaxpr, *, name: str) -> Compilation:
    """Compile ``closed`` (see ``pipeline.compile_jaxpr``).

    Raises:
      ValueError: it contains a ``check`` that nobody would see fail.
    """
    if "check" in closed.effects:
        raise ValueError(
            "Cannot abstractly evaluate a checkify.check which was not functionalized. This "
            "probably means you tried to stage (jit/scan/pmap/...) a `check` without "
            "functionalizing it through `checkify.checkify`."
            "\n  Fix: err, out = checkify.checkify(f)(x); err.throw()"
        )
    pipeline = importlib.import_module("jaxlite.pipeline")
    result: Compilation = pipeline.compile_jaxpr(closed, name=name)
    return result


def load_on_gpu(closed: ClosedJaxpr, name: str, device: int) -> CudaExecutable:
    """Return ``closed`` ready to run on a GPU."""
    pipeline = importlib.import_module("jaxlite.pipeline")
    result: CudaExecutable = pipeline.load_on_gpu(closed, name, device)
    return result
