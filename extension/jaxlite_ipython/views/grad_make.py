"""From a function to its gradient graph. In: a function and arguments. Out: ``GradView``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jaxlite
from jaxlite.diagnose.check_gradient import GradientCheck, check_gradient, other_value
from jaxlite.diagnose.gradient import trace_gradient
from jaxlite.diagnose.gradient_values import GradientValues, measure_gradient
from jaxlite_ipython.views.grad_data import picture_of
from jaxlite_ipython.views.grad_graph import GradView
from jaxlite_ipython.views.traced import Subject, subject_of

__all__ = ["grad_graph"]


def grad_graph(
    f: Callable[..., Any],
    /,
    *args: Any,
    argnums: int | Sequence[int] | None = None,
    of: str | None = None,
    check_grad: bool = False,
    **kwargs: Any,
) -> GradView:
    """Return both passes of the gradient of ``f``, linked line by line.

    With arrays as arguments both passes are run once, for the norms; with types
    (``ShapeDtypeStruct``) or where the function has effects, nothing is run. Saved values are what
    the forward pass hands to the backward pass; in a jitted gradient the compiler may compute cheap
    ones again instead.

    Args:
      f: a function with a scalar result, or what ``jaxlite.jit`` made of one.
      *args: arrays, numbers and containers of them, or ``ShapeDtypeStruct``.
      argnums: which positional arguments to differentiate, as in ``grad`` (None: every float).
      of: the name of the result to differentiate, where there are several ('loss').
      check_grad: compare with finite differences in float64.
      **kwargs: more arguments, by name.

    Raises:
      TypeError, NotImplementedError, ValueError: as ``jaxlite.grad(f)``.

    >>> import jaxlite, jaxlite.numpy as jnp
    >>> view = jaxlite.grad_graph(lambda x: jnp.sum(jnp.tanh(x) ** 2), jnp.ones(3))
    >>> [n["label"] for n in view.data()["nodes"] if n["side"] == "backward"]
    ['start at 1', 'broadcast', 'mul', 'mul', 'grad x']
    """
    subject = subject_of(f, args, kwargs)
    result = _result_number(subject, of)
    leaves, owners, rebuild = subject.jitted.flat_arguments(*args, **kwargs)
    wanted = None if argnums is None else _wanted(argnums, owners, len(args))
    trace = trace_gradient(subject.traced.jaxpr, result, wanted)
    values: GradientValues | None = None
    checks: dict[int, GradientCheck] = {}
    other: float | None = None
    has_values = not any(isinstance(x, jaxlite.ShapeDtypeStruct) for x in leaves)
    if has_values and not subject.traced.jaxpr.effects:
        values = measure_gradient(trace, leaves)
        if check_grad:
            run = getattr(subject.jitted, "__wrapped__", subject.jitted)

            def scalar(new: Sequence[Any]) -> Any:
                positional, named = rebuild(new)
                return jaxlite.tree_util.tree_leaves(run(*positional, **named))[result]

            other = other_value(scalar, leaves, float(values.value))
            if other is None:
                checks = check_gradient(scalar, leaves, values.gradients)
    picture = picture_of(subject, trace, values, checks)
    if values is not None and other is not None:
        picture.alerts.append(
            f"not checked: the value is {other:.4g} in float64, not {float(values.value):.4g}"
        )
    return GradView(subject, picture)


def _wanted(argnums: int | Sequence[int], owners: Sequence[int | str], n_args: int) -> list[bool]:
    numbers = {argnums} if isinstance(argnums, int) else set(argnums)
    chosen = {n + n_args if n < 0 else n for n in numbers}
    unknown = [n for n in chosen if not 0 <= n < n_args]
    if unknown:
        raise ValueError(
            f"argnums has {unknown[0]}, and the function is called with {n_args} positional "
            "arguments"
        )
    return [owner in chosen for owner in owners]


def _result_number(subject: Subject, of: str | None) -> int:
    """Return which result to differentiate.

    Raises:
      ValueError: there is no result named ``of``.
      TypeError: as ``grad``: no result is a real scalar, or several are.
    """
    avals, names = subject.traced.jaxpr.out_avals, list(subject.result_names)
    if of is not None:
        if of not in names:
            raise ValueError(f"no result is named {of!r}; results: {', '.join(names)}")
        number = names.index(of)
    else:
        good = [i for i, a in enumerate(avals) if _is_scalar(a)]
        named = [i for i in good if names[i] in ("loss", "Out")]
        if len(avals) > 1 and len(good) != 1 and not named:
            scalars = ", ".join(names[i] for i in good) or "none"
            raise TypeError(
                "Gradient only defined for scalar-output functions. Output had "
                f"{len(avals)} parts: {', '.join(names)}.\n  Scalars among them: {scalars}.\n"
                f"  Fix: grad_graph(f, ..., of={names[good[0]] if good else 'loss'!r})"
            )
        number = 0 if len(avals) == 1 else (named or good)[0]
    aval = avals[number]
    if aval.shape != ():
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output had shape: {aval.shape}."
            "\n  Fix: reduce it, e.g. lambda x: f(x).sum()."
        )
    if not _is_scalar(aval):
        raise TypeError(
            "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {aval.dtype}."
        )
    return number


def _is_scalar(aval: Any) -> bool:
    is_float = jaxlite.dtypes.issubdtype(aval.dtype, jaxlite.numpy.floating)
    return aval.shape == () and bool(is_float)
