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
    """Compile ``closed`` (see ``pipeline.compile_jaxpr``)."""
    pipeline = importlib.import_module("jaxlite.pipeline")
    result: Compilation = pipeline.compile_jaxpr(closed, name=name)
    return result


def load_on_gpu(closed: ClosedJaxpr, name: str, device: int) -> CudaExecutable:
    """Return ``closed`` ready to run on a GPU."""
    pipeline = importlib.import_module("jaxlite.pipeline")
    result: CudaExecutable = pipeline.load_on_gpu(closed, name, device)
    return result
