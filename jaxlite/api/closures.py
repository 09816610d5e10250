"""Functions for custom rules: ``closure_convert`` and ``linear_call``. In: functions.

Out: functions, or results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.api.arguments import FlatFunction, debug_info_of, name_of, to_arrays
from jaxlite.higher_order.linear_call import linear_call_p
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import ClosedJaxpr, Var
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.language.trace import Tracer, get_aval
from jaxlite.transforms.eval_jaxpr import eval_jaxpr
from jaxlite.transforms.stage_out import hoist_consts, stage_out
from jaxlite.transforms.vmap import BatchTracer

__all__ = ["closure_convert", "linear_call"]


def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """Return ``fun`` with the values it closes over as further arguments, and these values.

    Only values that a derivative may be taken of are pulled out: floating-point results of a
    transformation around. A custom rule that gets ``fun`` can then differentiate with respect to
    them.

    Args:
      fun: a pure function.
      example_args: arguments of the types ``fun`` will be called with.

    Returns:
      ``converted(*args, *values) -> fun(*args)`` and the list of values.

    Raises:
      TypeError: the converted function is called with another structure of arguments.

    >>> import jaxlite as jax
    >>> def scaled(a):
    ...     converted, values = jax.closure_convert(lambda x: a * x, 1.0)
    ...     return converted(2.0, *values) * len(values)
    >>> float(jax.grad(scaled)(3.0))
    2.0
    """
    leaves, in_tree = tree_flatten((example_args, {}))
    info = debug_info_of(fun, example_args, {})
    flat = FlatFunction(fun, in_tree, info, "closure_convert")
    closed = stage_out(flat, [get_aval(x) for x in to_arrays(leaves)], info)
    out_tree = flat.out_tree
    assert out_tree is not None
    pulled = [_may_be_perturbed(c) for c in closed.consts]
    n_args = len(example_args)

    def converted(*args: Any) -> Any:
        given, values = args[:n_args], iter(args[n_args:])
        flat_args, tree = tree_flatten((given, {}))
        if tree != in_tree:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree "
                "structure as the example arguments passed when closure_convert was called. "
                f"Expected {_of_args(in_tree)}, but got {_of_args(tree)}"
            )
        consts = [next(values) if p else c for p, c in zip(pulled, closed.consts, strict=True)]
        return tree_unflatten(out_tree, eval_jaxpr(closed.jaxpr, consts, *to_arrays(flat_args)))

    converted.__name__ = name_of(fun)
    return converted, [c for c, p in zip(closed.consts, pulled, strict=True) if p]


def _of_args(tree: Any) -> Any:
    return tree.children()[0]


def _may_be_perturbed(x: Any) -> bool:
    """Say whether a derivative may be taken with respect to ``x``."""
    if not isinstance(x, Tracer) or dtypes.kind_of(x.aval.dtype) not in "fc":
        return False
    return _may_be_perturbed(x.value) if isinstance(x, BatchTracer) else True


def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Return ``fun(residual_args, linear_args)``, with ``fun_transpose`` as its transpose.

    Args:
      fun: linear in its second argument.
      fun_transpose: ``(residual_args, cotangents) -> cotangents of linear_args``.
      residual_args: what both functions know; no derivative is taken of it.
      linear_args: the linear operands (pytrees).

    Raises:
      TypeError: ``fun_transpose`` returns another structure than that of ``linear_args``.
      NotImplementedError: a derivative with respect to ``residual_args`` is asked for.

    >>> import jaxlite as jax
    >>> from jaxlite.custom_derivatives import linear_call
    >>> divide = lambda x, y: linear_call(lambda r, l: l / r, lambda r, t: t / r, y, x)
    >>> float(jax.grad(divide)(2.0, 4.0))
    0.25
    """
    residuals = to_arrays(tree_flatten(residual_args)[0])
    operands, lin_tree = tree_flatten(linear_args)
    operands = to_arrays(operands)
    avals = [[get_aval(x) for x in xs] for xs in (residuals, operands)]

    forward = _flat(fun, residual_args, linear_args)
    callee, consts = hoist_consts(stage_out(forward, [*avals[0], *avals[1]], forward.info))
    assert forward.out_tree is not None
    cts = tree_unflatten(forward.out_tree, [0] * forward.out_tree.num_leaves)
    backward = _flat(fun_transpose, residual_args, cts)
    staged = stage_out(backward, [*avals[0], *callee.out_avals], backward.info)
    transpose, t_consts = hoist_consts(staged)
    if backward.out_tree != lin_tree:
        raise TypeError(
            "transpose output pytree structure must match that of linear inputs, got output "
            f"structure {backward.out_tree} and input structure {lin_tree}."
        )
    outs = linear_call_p.bind_all(
        *consts,
        *t_consts,
        *residuals,
        *operands,
        callee=_with_unused(callee, len(consts), t_consts),
        transpose=_with_unused(transpose, 0, consts),
        num_res=len(consts) + len(t_consts) + len(residuals),
    )
    return tree_unflatten(forward.out_tree, outs)


def _flat(fun: Callable[..., Any], *args: Any) -> FlatFunction:
    _, in_tree = tree_flatten((args, {}))
    return FlatFunction(fun, in_tree, debug_info_of(fun, args, {}), "linear_call")


def _with_unused(closed: ClosedJaxpr, position: int, values: Sequence[Any]) -> ClosedJaxpr:
    """Return the jaxpr with further arguments, which it does not read, at ``position``."""
    jaxpr = closed.jaxpr
    unused = [Var(get_aval(v)) for v in values]
    invars = [*jaxpr.invars[:position], *unused, *jaxpr.invars[position:]]
    return ClosedJaxpr(jaxpr.replace(invars=invars), closed.consts)
