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

__all__ = ["compile_jaxpr"]


def compile_jaxpr(closed: ClosedJaxpr, *, name: str) -> Compilation:
    """Compile ``closed`` (see ``pipeline.compile_jaxpr``)."""
    pipeline = importlib.import_module("jaxlite.pipeline")
    result: Compilation = pipeline.compile_jaxpr(closed, name=name)
    return result
