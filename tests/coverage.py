"""``python -m tests.coverage``: the public names of the installed JAX that jaxlite has and lacks.

For each public module: how many names are present, left out on purpose (``not_planned``) and
missing, which ones are missing, and functions whose parameters differ. Exit status 1 if a name is
missing.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

MODULES = (
    "",
    *("ad_checkpoint", "custom_batching", "custom_derivatives", "debug", "dlpack", "dtypes"),
    *("errors", "experimental.checkify", "experimental.jet", "experimental.ode", "extend.core"),
    *("flatten_util", "image", "lax", "lax.linalg", "nn", "nn.initializers", "numpy", "numpy.fft"),
    *("numpy.linalg", "ops", "profiler", "random", "scipy", "scipy.cluster.vq", "scipy.fft"),
    *("scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize"),
    *("scipy.signal", "scipy.sparse.linalg", "scipy.spatial.transform", "scipy.special"),
    *("scipy.stats", "stages", "test_util", "tree", "tree_util", "typing"),
)


@dataclass
class Report:
    """What one module has of another one's names."""

    present: list[str] = field(default_factory=list)
    planned_absent: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)


def public_names(module: ModuleType) -> list[str]:
    """Return the names without underscore that are no modules from elsewhere."""
    return [
        name
        for name in dir(module)
        if not name.startswith("_")
        and not (
            isinstance(value := getattr(module, name), ModuleType)
            and not value.__name__.startswith(module.__name__.partition(".")[0])
        )
    ]


def parameters(function: Any) -> list[str] | None:
    """Return the names of the parameters of a function, None if it does not tell."""
    if isinstance(function, type) or not callable(function):
        return None
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None


def compare(theirs: ModuleType, ours: ModuleType | None, absent: set[str]) -> Report:
    """Report on the public names of ``theirs``; ``ours`` is None if there is no such module."""
    report = Report()
    for name in public_names(theirs):
        if ours is None or not hasattr(ours, name):
            (report.planned_absent if name in absent else report.missing).append(name)
        else:
            report.present.append(name)
            wanted, given = (parameters(getattr(m, name)) for m in (theirs, ours))
            if wanted is not None and given is not None and wanted != given:
                report.parameters[name] = f"{wanted} against {given}"
    return report


def load(name: str) -> ModuleType | None:
    """Import a module; None if there is none of that name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        return None


def main() -> int:
    """Print the table; return 1 if a name is missing."""
    planned = importlib.import_module("jaxlite.not_planned").NOT_PLANNED
    n_missing = 0
    print(f"{'module':32}{'present':>9}{'absent':>8}{'missing':>9}{'parameters':>12}")
    details = []
    for module in MODULES:
        suffix = f".{module}" if module else ""
        theirs = load(f"jax{suffix}")
        if theirs is None:
            continue
        prefix = f"{module}." if module else ""
        # A plain name is left out of every module that JAX has it in.
        absent = {n[len(prefix) :] for n in planned if n.startswith(prefix)} | set(planned)
        report = compare(theirs, load(f"jaxlite{suffix}"), absent)
        n_missing += len(report.missing)
        counts = [len(x) for x in (report.present, report.planned_absent, report.missing)]
        print(f"jax{suffix:29}{counts[0]:9}{counts[1]:8}{counts[2]:9}{len(report.parameters):12}")
        details += [f"missing: jax{suffix}.{n}" for n in report.missing]
        details += [f"parameters: jax{suffix}.{n}: {t}" for n, t in report.parameters.items()]
    print("\n".join(details))
    return int(n_missing > 0)


if __name__ == "__main__":
    sys.exit(main())
