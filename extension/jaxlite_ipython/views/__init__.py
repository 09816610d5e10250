"""Pictures of the stages. In: a function and arguments. Out: views (SVG, PNG, text, data).

Files, in reading order: ``traced`` (from a function to names and a jaxpr), ``costs``,
``source_lines`` and ``op_graph`` (boxes and arrows), ``collapse`` (fewer boxes), ``layout`` and
``router`` (places), ``lane_picture`` and ``lane_text``, ``trace_details``, ``trace_graph`` (the
view); gradients: ``column_layout``, ``grad_names``, ``grad_reasons``, ``grad_data``, ``grad_text``,
``grad_graph``, ``grad_make``; batches: ``vmap_data``, ``vmap_text``, ``vmap_graph``;
shapes: ``axis_names``, ``axis_data``, ``axis_picture``, ``shapes_view``;
``step_values`` and ``step_view`` (the tracer, line by line); kernels: ``kernel_source``,
``kernel_origin``, ``kernel_gaps``, ``kernel_data``, ``kernel_speed``, ``kernel_plot``,
``kernel_picture``, ``kernel_text``, ``kernel_forms``, ``kernel_widget``, ``kernels_graph``;
recompilation: ``recompile_panel``, ``recompile_picture``, ``recompile_view``,
``recompile_overview``, ``recompiles``; below them ``contract`` (what a view hands
to the widget), ``base`` (what all views can do), ``page``, ``explorer`` (the widget), ``canvas``,
``shapes``, ``palette``, ``dot``. Graphviz draws no layout
here: the lanes read like the program because we place them, and the renderer only turns the
finished drawing into PNG.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jaxlite_ipython.views.axis_names import Axes, axes
from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.grad_graph import GradView
from jaxlite_ipython.views.grad_make import grad_graph
from jaxlite_ipython.views.kernels_graph import KernelsView, measure, why_not_measured
from jaxlite_ipython.views.recompile_view import RecompileView
from jaxlite_ipython.views.recompiles import why_recompiled
from jaxlite_ipython.views.shapes_view import ShapesView, shapes
from jaxlite_ipython.views.step_view import StepView, step
from jaxlite_ipython.views.trace_graph import TraceView
from jaxlite_ipython.views.traced import dynamic_leaves, subject_of
from jaxlite_ipython.views.vmap_graph import VmapView, vmap_view

__all__ = [
    "Axes",
    "GradView",
    "KernelsView",
    "RecompileView",
    "ShapesView",
    "StepView",
    "TraceView",
    "View",
    "VmapView",
    "axes",
    "grad_graph",
    "kernels",
    "shapes",
    "step",
    "trace",
    "vmap_view",
    "why_recompiled",
]


def trace(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> TraceView:
    """Return the trace graph of ``f`` for these arguments.

    Nothing is run until ``explore`` or ``save`` as HTML shows the values of a small program.

    Args:
      f: a function, or what ``jaxlite.jit`` made of one.
      *args: arrays, numbers and containers of them, or ``ShapeDtypeStruct``.
      **kwargs: the same, by name.

    Raises:
      TypeError: as a call of ``jaxlite.jit(f)``.

    >>> import jaxlite, jaxlite.numpy as jnp
    >>> view = jaxlite.trace(lambda x: jnp.tanh(x) * 2, jnp.ones(3))
    >>> [box["label"] for box in view.data()["nodes"]]
    ['x', 'tanh', 'mul 2', 'result']
    """
    subject = subject_of(f, args, kwargs)
    return TraceView(subject, leaves=dynamic_leaves(subject, args, kwargs))


def kernels(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> KernelsView:
    """Return the fused kernels of ``f`` for these arguments, and why they are not fewer.

    The function is compiled, and run up to 20 times (0.3 s) to measure a call and as often again
    to measure each kernel, unless an argument is only a type or donated, or the function has
    effects.

    Args:
      f: a function, or what ``jaxlite.jit`` made of one.
      *args: arrays, numbers and containers of them, or ``ShapeDtypeStruct``.
      **kwargs: the same, by name.

    Raises:
      TypeError: as a call of ``jaxlite.jit(f)``.

    >>> import jaxlite, jaxlite.numpy as jnp
    >>> x = jnp.ones((64, 64))
    >>> view = jaxlite.kernels(lambda x, w: jnp.tanh(x @ w) * 2, x, x)
    >>> [kernel["operations"] for kernel in view.data()["kernels"]]
    [['dot'], ['tanh', 'mul']]
    """
    subject = subject_of(f, args, kwargs)
    why_not = why_not_measured(subject, args, kwargs)
    if why_not:
        return KernelsView(subject, None, why_not)
    again = functools.partial(measure, subject.jitted, args, kwargs)
    return KernelsView(subject, again(), again=again)
