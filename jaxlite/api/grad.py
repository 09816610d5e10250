"""Derivatives. In: a function. Out: its derivative as a function. The maths is in ``transforms``.

``grad`` is ``vjp`` pulled back from 1.0; ``vjp`` is ``linearize`` and a backward pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.api.arguments import (
    FlatFunction,
    abstractify,
    check_callable,
    debug_info_of,
    flat_function,
    name_of,
    split_argnums,
    to_arrays,
)
from jaxlite.api.linear_maps import (
    LinearizedFunction,
    LinearMap,
    TransposedFunction,
    VJPFunction,
    is_float0,
)
from jaxlite.language import dtypes
from jaxlite.language.array import Array
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Zero, instantiate
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.language.trace import get_aval, state
from jaxlite.language.treedef import PyTreeDef
from jaxlite.primitives.families import ops
from jaxlite.transforms.jvp import JVPTracer, jvp_flat
from jaxlite.transforms.linearize import Linearized, LinearizeTracer, linearize_flat
from jaxlite.transforms.stage_out import stage_out

__all__ = ["grad", "jvp", "linear_transpose", "linearize", "value_and_grad", "vjp"]


def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """Return ``fun(*primals)`` and the derivative in the direction ``tangents`` (forward mode).

    Args:
      fun: function of arrays and pytrees.
      primals: where to differentiate, a tuple with one entry per argument.
      tangents: the direction, of the same structure, shapes and dtypes (float0 for integers).
      has_aux: ``fun`` returns ``(out, aux)``; aux is returned as third value.

    Raises:
      TypeError, ValueError: structures, dtypes or shapes of primals and tangents differ.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> y, dy = jax.jvp(lambda x: x**2, (3.0,), (1.0,))
    >>> float(y), float(dy)
    (9.0, 6.0)
    """
    check_callable(fun)
    for x in (primals, tangents):
        if not isinstance(x, tuple | list):
            raise TypeError(
                "primal and tangent arguments to jax.jvp must be tuples or lists; "
                f"found {type(primals).__name__} and {type(tangents).__name__}."
            )
    primal_leaves, tree = tree_flatten(primals)
    tangent_leaves, tangent_tree = tree_flatten(tangents)
    if tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            "have "
            f"tree structure {tree} whereas tangents have tree structure {tangent_tree}."
        )
    for p, t in zip(primal_leaves, tangent_leaves, strict=True):
        _check_tangent(abstractify(p), t)
    _, flat = flat_function(fun, tuple(primals), {}, "jvp")
    flat.in_tree = tree_flatten((tuple(primals), {}))[1]
    given = [
        Zero(get_aval(p).to_tangent_aval()) if is_float0(t) else t
        for p, t in zip(primal_leaves, to_tangents(tangent_leaves), strict=True)
    ]
    aux: list[Any] = []
    run = _with_aux(flat, aux) if has_aux else flat
    outs, out_tangents = jvp_flat(run, to_arrays(primal_leaves), given)
    out_tree = aux[0] if has_aux else flat.out_tree
    assert out_tree is not None
    result = (
        tree_unflatten(out_tree, to_arrays(outs)),
        tree_unflatten(out_tree, [instantiate(t) for t in out_tangents]),
    )
    return (*result, aux[1]()) if has_aux else result


def to_tangents(leaves: Sequence[Any]) -> list[Any]:
    """Return tangents as arrays; float0 arrays stay NumPy arrays."""
    return [x if is_float0(x) or isinstance(x, Array) else to_arrays([x])[0] for x in leaves]


def _check_tangent(primal: ShapedArray, tangent: Any) -> None:
    expected = primal.to_tangent_aval()
    found_dtype = tangent.dtype if is_float0(tangent) else abstractify(tangent).dtype
    if found_dtype != expected.dtype:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in "
            "case of "
            "int/bool primal dtype the tangent dtype must be float0.Got primal dtype "
            f"{primal.dtype} and so expected tangent dtype {expected.dtype}, but got tangent dtype "
            f"{found_dtype} instead."
        )
    if tuple(np.shape(tangent)) != primal.shape:
        raise ValueError(
            "jvp called with different primal and tangent shapes;"
            f"Got primal shape {primal.shape} and tangent shape as {tuple(np.shape(tangent))}"
        )


def _with_aux(flat: FlatFunction, kept: list[Any]) -> Callable[..., list[Any]]:
    """Run ``flat`` and keep its auxiliary output.

    ``kept`` becomes [tree of out, function giving aux].
    """

    def run(*leaves: Any) -> list[Any]:
        outs = flat(*leaves)
        assert flat.out_tree is not None
        pair = tree_unflatten(flat.out_tree, outs)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                "expected function with aux output to return a two-element tuple, but got type "
                f"{type(pair)} with value {pair!r}"
            )
        out, aux = pair
        out_leaves, out_tree = tree_flatten(out)
        aux_leaves, aux_tree = tree_flatten(aux)
        lowered = [_lower_aux(x) for x in aux_leaves]
        kept[:] = [out_tree, lambda: tree_unflatten(aux_tree, lowered)]
        return out_leaves

    return run


def _lower_aux(x: Any) -> Any:
    """Return the value below the differentiating trace, which runs now: aux has no derivative.

    A tracer of a transformation further out keeps what it carries.
    """
    return x.primal if isinstance(x, JVPTracer | LinearizeTracer) and x._trace is state.trace else x


def _linearize(
    fun: Callable[..., Any], primals: Sequence[Any], transform: str, has_aux: bool
) -> tuple[Linearized, list[ShapedArray], PyTreeDef, PyTreeDef, list[Any]]:
    """Linearize ``fun`` at ``primals``.

    Result, argument avals, trees of arguments and results, aux.
    """
    check_callable(fun)
    leaves, in_tree = tree_flatten(tuple(primals))
    flat = FlatFunction(
        lambda *args: fun(*args),
        tree_flatten((tuple(primals), {}))[1],
        debug_info_of(fun, primals, {}),
        transform,
    )
    avals = [abstractify(x) for x in leaves]
    nonzero = [a.to_tangent_aval().dtype != dtypes.float0 for a in avals]
    aux: list[Any] = []
    run: Callable[..., list[Any]] = _with_aux(flat, aux) if has_aux else flat
    result = linearize_flat(run, to_arrays(leaves), nonzero)
    result.outs = to_arrays(result.outs)
    out_tree = aux[0] if has_aux else flat.out_tree
    assert out_tree is not None
    return result, avals, in_tree, out_tree, aux


def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Any = ()
) -> Any:
    """Return ``fun(*primals)`` and the map from result to argument cotangents (reverse mode).

    Args:
      fun: function of arrays and pytrees.
      *primals: where to differentiate.
      has_aux: ``fun`` returns ``(out, aux)``; aux is returned as third value.
      reduce_axes: accepted as in JAX.

    Raises:
      ValueError: (by the returned function) cotangents do not match the results.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> y, pull = jax.vjp(lambda a, b: a * b, 2.0, 5.0)
    >>> [float(ct) for ct in pull(1.0)]
    [5.0, 2.0]
    """
    result, avals, in_tree, out_tree, aux = _linearize(fun, primals, "vjp", has_aux)
    out = tree_unflatten(out_tree, result.outs)
    pullback = VJPFunction(linear_map(result, avals, in_tree, out_tree, name_of(fun)))
    return (out, pullback, aux[1]()) if has_aux else (out, pullback)


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return ``fun(*primals)`` and its derivative there as a linear function of tangents.

    The nonlinear work is done once; the returned function may be called with many tangents.

    Raises:
      ValueError: (by the returned function) tangents do not match the arguments.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> y, f_jvp = jax.linearize(jnp.sin, 0.0)
    >>> float(f_jvp(2.0))
    2.0
    """
    result, avals, in_tree, out_tree, aux = _linearize(fun, primals, "linearize", has_aux)

    f_jvp = LinearizedFunction(linear_map(result, avals, in_tree, out_tree, name_of(fun)))
    out = tree_unflatten(out_tree, result.outs)
    return (out, f_jvp, aux[1]()) if has_aux else (out, f_jvp)


def linear_transpose(
    fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()
) -> Callable[..., Any]:
    """Return the transpose of a linear function.

    From result cotangents to a tuple of argument cotangents.

    ``primals`` only give shapes and dtypes (``ShapeDtypeStruct`` will do).

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> float(jax.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)[0])
    6.0
    """
    check_callable(fun)
    leaves, in_tree = tree_flatten(tuple(primals))
    flat = FlatFunction(
        fun,
        tree_flatten((tuple(primals), {}))[1],
        debug_info_of(fun, primals, {}),
        "linear_transpose",
    )
    avals = [abstractify(x) for x in leaves]
    closed = stage_out(flat, avals, flat.info)

    assert flat.out_tree is not None
    out_avals = tuple(closed.out_avals)
    every = (True,) * len(out_avals)
    shape = LinearMap(
        closed.jaxpr, tuple(avals), out_avals, every, in_tree, flat.out_tree, name_of(fun)
    )
    return TransposedFunction((shape, closed.consts))


def linear_map(
    result: Linearized,
    in_avals: Sequence[ShapedArray],
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    name: str,
) -> tuple[LinearMap, list[Any]]:
    """Return the linear part of a linearization and its residuals."""
    linear = result.linear
    out_avals = tuple([get_aval(o) for o in result.outs])
    shape = LinearMap(
        linear.jaxpr, tuple(in_avals), out_avals, tuple(result.out_nonzero), in_tree, out_tree, name
    )
    return shape, list(linear.consts)


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """Return a function that gives ``fun``'s value and its gradient.

    Args:
      fun: function with a scalar result (or ``(scalar, aux)`` with ``has_aux``).
      argnums: which positional argument(s) to differentiate; a sequence gives a tuple of gradients.
      has_aux: the second result of ``fun`` is passed through.
      holomorphic: differentiate a complex function of complex arguments.
      allow_int: allow integer arguments (their gradient is float0).
      reduce_axes: accepted as in JAX.

    Raises:
      TypeError: the result is no real scalar, or an argument is no float.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> value, gradient = jax.value_and_grad(lambda x: (x**2).sum())(jnp.array([1.0, 2.0]))
    >>> float(value), gradient.tolist()
    (5.0, [2.0, 4.0])
    """
    check_callable(fun)

    @functools.wraps(fun)
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> Any:
        chosen, values = split_argnums(fun, argnums, args, kwargs)
        for leaf in tree_flatten(values)[0]:
            _check_grad_input(leaf, holomorphic, allow_int)
        if has_aux:
            out, pullback, aux = vjp(chosen, *values, has_aux=True)
        else:
            out, pullback = vjp(chosen, *values)
        _check_grad_output(out, holomorphic)
        gradients = weaken(pullback(one_like(out)), tuple(values))
        gradient = gradients[0] if isinstance(argnums, int | np.integer) else gradients
        return ((out, aux), gradient) if has_aux else (out, gradient)

    return value_and_grad_fun


def weaken(gradients: Any, values: Any) -> Any:
    """Return gradients as weakly typed as their values: Python numbers stay numbers."""
    leaves, tree = tree_flatten(values)
    flat = tree.flatten_up_to(gradients)
    return tree_unflatten(tree, [_weak_as(g, v) for g, v in zip(flat, leaves, strict=True)])


def _weak_as(gradient: Any, value: Any) -> Any:
    if not isinstance(gradient, Array) or gradient.weak_type or not abstractify(value).weak_type:
        return gradient
    return ops.convert_element_type(gradient, gradient.dtype, True)


def one_like(x: Any) -> Any:
    """Return the scalar 1 of ``x``'s type (a literal).

    The cotangent that a gradient starts from.
    """
    return np.asarray(1, get_aval(x).dtype)[()]


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """Return the gradient of a scalar-valued function, as a function.

    Arguments as ``value_and_grad``.

    Raises:
      TypeError: the result is no real scalar, or an argument is no float.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> float(jax.grad(jnp.tanh)(0.0))
    1.0
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @functools.wraps(fun)
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_fun


def _check_grad_input(x: Any, holomorphic: bool, allow_int: bool) -> None:
    dtype = abstractify(x).dtype
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(
                "grad with holomorphic=True requires inputs with complex dtype, "
                f"but got {dtypes.name_of(dtype)}."
            )
        return
    if not allow_int and dtypes.kind_of(dtype) not in "fc":
        raise TypeError(
            "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
            f"np.inexact), but got {dtypes.name_of(dtype)}. If you want to use Boolean- or "
            "integer-valued inputs, use vjp or set allow_int to True."
            "\n  Fix: pass a float, e.g. 3.0 instead of 3, or x.astype(float)."
        )


def _check_grad_output(out: Any, holomorphic: bool) -> None:
    if not isinstance(out, Array):
        raise TypeError(f"Gradient only defined for scalar-output functions. Output was {out}.")
    if out.shape != ():
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output had shape: {out.shape}."
            "\n  Fix: reduce it, e.g. lambda x: f(x).sum(), or use jaxlite.jacobian(f) for all "
            "rows."
        )
    dtype = out.dtype
    if holomorphic and not dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            "grad with holomorphic=True requires outputs with complex dtype, but got "
            f"{dtypes.name_of(dtype)}."
        )
    if not holomorphic and dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            "but got "
            f"{dtypes.name_of(dtype)}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of non-holomorphic functions involving complex outputs, use jax.vjp "
            "directly."
        )
    if not dtypes.issubdtype(dtype, np.inexact):
        raise TypeError(
            "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            "but got "
            f"{dtypes.name_of(dtype)}. For differentiation of functions with integer outputs, use "
            "jax.vjp "
            "directly."
        )
