"""The views that ``%%jit --show`` asks for. In: a cell. Out: displayed views, or a line of why not.

A gradient needs a scalar: that of ``--grad``, else the last expression, else the only scalar output
of the cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from IPython.display import display

import jaxlite
from jaxlite_ipython import views
from jaxlite_ipython.cell_transforms import CellOptions
from jaxlite_ipython.session import PreparedCell
from jaxlite_ipython.views.explorer import explore

__all__ = ["show_views"]

#: View -> the function of ``views`` that makes it.
_MAKERS = {
    "trace": "trace",
    "grad": "grad_graph",
    "kernels": "kernels",
    "shapes": "shapes",
    "vmap": "vmap_view",
    "text": "trace",
    "step": "step",
}


def show_views(
    prepared: PreparedCell,
    arguments: list[Any],
    wanted: tuple[str, ...],
    options: CellOptions,
    *,
    is_widget: bool = False,
) -> None:
    """Display each wanted view as an output of its own, or all as one widget."""
    made: list[Any] = []
    with prepared.settings():
        for name in wanted:
            view = _view(name, prepared, arguments, options, len(wanted) > 1)
            if view is None:
                continue
            if name == "text":
                print(view.text())
            elif is_widget:
                made.append(view)
            else:
                display(view)  # type: ignore[no-untyped-call]
    if made:
        explore(made)


def _view(
    name: str, prepared: PreparedCell, arguments: list[Any], options: CellOptions, is_one_of: bool
) -> Any:
    """Return the view of a name; None, and a line of why, if the cell has none."""
    if _MAKERS[name] not in views.__all__:
        if not is_one_of:
            print(f"       --show {name}: this version has no such view")
        return None
    maker: Callable[..., Any] = getattr(views, _MAKERS[name])
    function: Any = prepared.jitted
    if name == "grad":
        loss = loss_name(prepared, arguments, options)
        if loss is None:
            why = "the gradient is of one example: leave --vmap out"
            if not options.vmap:
                why = "no scalar to differentiate; use --grad LOSS"
            print(f"       --show grad: {why}")
            return None
        cell = prepared.cell
        function = jaxlite.jit(cell.plain, static_argnames=cell.static or None)
        return maker(function, *arguments, of=loss)
    if name == "vmap":
        axes = dict(options.vmap)
        if not axes:
            if not is_one_of:
                print("       --show vmap: say which axes with --vmap x:0")
            return None
        in_axes = tuple(axes.get(n) for n in prepared.cell.inputs)
        return maker(prepared.cell.plain, in_axes, *arguments)
    return maker(function, *arguments)


def loss_name(prepared: PreparedCell, arguments: list[Any], options: CellOptions) -> str | None:
    """Return the output of the cell that is differentiated ('Out': its last expression)."""
    if options.vmap:
        return None
    if options.grad:
        return options.grad[0]
    outs, value = prepared.jitted.eval_shape(*arguments)
    if getattr(value, "shape", None) == ():
        return "Out"
    scalars = [n for n, v in outs.items() if getattr(v, "shape", None) == ()]
    return scalars[0] if len(scalars) == 1 else None
