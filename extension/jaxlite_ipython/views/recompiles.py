"""``jaxlite.why_recompiled`` in a notebook. In: a function or a cell's number. Out: views."""

from __future__ import annotations

from typing import Any

from IPython.core.getipython import get_ipython

from jaxlite.diagnose.misses import all_sites
from jaxlite.diagnose.why_recompiled import AllReports, Report, report_of
from jaxlite.diagnose.why_recompiled import why_recompiled as engine_report
from jaxlite_ipython import cell_files
from jaxlite_ipython.views.recompile_overview import RecompileOverview
from jaxlite_ipython.views.recompile_view import RecompileView

__all__ = ["why_recompiled"]


def why_recompiled(f: Any = None) -> Any:
    """Return why ``f`` was compiled again, as a view: what differed, what it cost, what to change.

    Args:
      f: a jitted function (or a method of one), or the number of a cell that defined or called
        some; without it, all functions of the user's.

    Returns:
      A ``RecompileView``; for several functions a ``RecompileOverview``, the most expensive first.

    Raises:
      TypeError: ``f`` is not a jitted function.
      ValueError: the cell has neither defined nor called one.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> f = jax.jit(lambda x: x * 2.0)
    >>> for n in (4, 8):
    ...     _ = f(jnp.ones(n))
    >>> jax.why_recompiled(f).verdict
    'Trace 2 compiled again: x is f32[8], was f32[4] (against trace 1).'
    """
    shell = get_ipython()
    if isinstance(f, int) and not isinstance(f, bool) and shell is not None:
        return _of_cell(shell, f)
    found = engine_report(f)
    return RecompileView(found) if isinstance(found, Report) else RecompileOverview(found)


def _of_cell(shell: Any, number: int) -> Any:
    """Return the report on the functions that the cell with this number defined or called."""
    history = shell.history_manager
    names = set(cell_files.files_of(number))
    if 0 < number < len(history.input_hist_raw):
        raw, parsed = history.input_hist_raw[number], history.input_hist_parsed[number]
        names |= {
            shell.compile.get_code_name(raw, code, number) for code in (parsed, f"{parsed}\n")
        }
    sites = [
        s
        for s in all_sites()
        if s.misses and ({s.file} | {m.caller.file for m in tuple(s.misses) if m.caller}) & names
    ]
    if not sites:
        raise ValueError(
            f"cell {number} has neither defined nor called a jitted function\n"
            "  Fix: jaxlite.why_recompiled() lists all functions."
        )
    reports = [report_of(s) for s in sites if s.is_user]
    if len(reports) == 1:
        return RecompileView(reports[0])
    return RecompileOverview(AllReports(tuple(reports)))
