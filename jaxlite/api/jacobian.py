"""Whole Jacobians and Hessians, row by row or column by column, vectorised with ``vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.api.arguments import abstractify, check_callable, split_argnums, to_arrays
from jaxlite.api.grad import jvp, vjp, weaken
from jaxlite.api.vmap import vmap
from jaxlite.language import dtypes
from jaxlite.language.array import from_numpy
from jaxlite.language.pytree import tree_flatten, tree_map, tree_unflatten
from jaxlite.language.trace import get_aval
from jaxlite.primitives.families import ops

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return the Jacobian of ``fun`` by forward mode.

    Cheap when there are fewer inputs than outputs.

    The result has the structure of ``fun``'s result; each leaf of shape ``out.shape + in.shape``.

    Raises:
      TypeError: an argument is no float (or, with ``holomorphic``, not complex).

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.jacfwd(lambda x: x**2)(jnp.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    check_callable(fun)

    @functools.wraps(fun)
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        chosen, values = split_argnums(fun, argnums, args, kwargs)
        leaves, tree = tree_flatten(tuple(values))
        for leaf in leaves:
            _check_input("jacfwd", leaf, holomorphic, allow_complex=False)
        arrays = to_arrays(leaves)
        basis = [_basis(a, arrays) for a in range(len(arrays))]
        kept: list[Any] = []

        def push(*tangents: Any) -> Any:
            given = tree_unflatten(tree, tangents)
            primals = tree_unflatten(tree, arrays)
            if has_aux:
                _, out, aux = jvp(chosen, primals, given, has_aux=True)
                return out, aux
            return jvp(chosen, primals, given)[1]

        if has_aux:
            columns, aux = vmap(push, out_axes=(-1, None))(*basis)
            kept.append(aux)
        else:
            columns = vmap(push, out_axes=-1)(*basis)
        for leaf in tree_flatten(columns)[0]:
            _check_output("jacfwd", leaf, holomorphic)
        result = tree_map(lambda m: _split_columns(m, arrays, tree, argnums), columns)
        return (result, kept[0]) if has_aux else result

    return jacobian_fun


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Return the Jacobian of ``fun`` by reverse mode.

    Cheap when there are fewer outputs than inputs.

    The result has the structure of ``fun``'s result; each leaf of shape ``out.shape + in.shape``.

    Raises:
      TypeError: an argument or result is no float (or, with ``holomorphic``, not complex).

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.jacrev(lambda x: x**2)(jnp.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    check_callable(fun)

    @functools.wraps(fun)
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        chosen, values = split_argnums(fun, argnums, args, kwargs)
        for leaf in tree_flatten(values)[0]:
            _check_input("jacrev", leaf, holomorphic, allow_complex=True, allow_int=allow_int)
        if has_aux:
            out, pullback, aux = vjp(chosen, *values, has_aux=True)
        else:
            out, pullback = vjp(chosen, *values)
        outs, out_tree = tree_flatten(out)
        for leaf in outs:
            _check_output("jacrev", leaf, holomorphic, reverse=True)
        basis = tree_unflatten(out_tree, [_basis(i, outs, first=True) for i in range(len(outs))])
        # Each leaf: [all output elements, *in.shape].
        rows = weaken(vmap(pullback)(basis), tuple(values))
        result = _split_rows(rows, outs, out_tree, argnums)
        return (result, aux) if has_aux else result

    return jacobian_fun


jacobian = jacrev


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return the matrix of second derivatives: forward over reverse mode.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> jax.hessian(lambda x: (x**3).sum())(jnp.array([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )


def _basis(which: int, arrays: Sequence[Any], first: bool = False) -> Any:
    """Return the part for ``arrays[which]`` of the standard basis of all arrays together.

    [n_total, *shape].
    """
    sizes = [int(np.prod(get_aval(a).shape, dtype=np.int64)) for a in arrays]
    total, offset = sum(sizes), sum(sizes[:which])
    aval = get_aval(arrays[which])
    if aval.to_tangent_aval().dtype == dtypes.float0:
        return np.zeros((total, *aval.shape), dtypes.float0)
    matrix = np.zeros((total, sizes[which]), dtypes.storage_dtype(aval.dtype))
    matrix[offset + np.arange(sizes[which]), np.arange(sizes[which])] = 1
    return from_numpy(matrix.reshape(total, *aval.shape), aval.weak_type)


def _split_columns(matrix: Any, arrays: Sequence[Any], tree: Any, argnums: Any) -> Any:
    """Cut the last axis of ``matrix`` into one part per input array and shape each."""
    shape = get_aval(matrix).shape[:-1]
    parts, start = [], 0
    for a in arrays:
        in_shape = get_aval(a).shape
        size = int(np.prod(in_shape, dtype=np.int64))
        piece = ops.slice(matrix, (0,) * len(shape) + (start,), (*shape, start + size))
        parts.append(ops.reshape(piece, (*shape, *in_shape)))
        start += size
    result = tree_unflatten(tree, parts)
    return result[0] if isinstance(argnums, int | np.integer) else result


def _split_rows(rows: Any, outs: Sequence[Any], out_tree: Any, argnums: Any) -> Any:
    """Cut the first axis of every leaf into one part per output array and shape each."""
    sizes = [int(np.prod(o.shape, dtype=np.int64)) for o in outs]

    def cut(leaf: Any) -> list[Any]:
        rest = tuple(leaf.shape[1:])
        pieces, start = [], 0
        for out, size in zip(outs, sizes, strict=True):
            if isinstance(leaf, np.ndarray):
                pieces.append(leaf[start : start + size].reshape(*out.shape, *rest))
            else:
                piece = ops.slice(leaf, (start,) + (0,) * len(rest), (start + size, *rest))
                pieces.append(ops.reshape(piece, (*out.shape, *rest)))
            start += size
        return pieces

    leaves, tree = tree_flatten(rows)
    cuts = [cut(leaf) for leaf in leaves]
    per_output = []
    for i in range(len(outs)):
        whole = tree_unflatten(tree, [c[i] for c in cuts])
        per_output.append(whole[0] if isinstance(argnums, int | np.integer) else whole)
    return tree_unflatten(out_tree, per_output)


def _check_input(
    name: str, x: Any, holomorphic: bool, allow_complex: bool, allow_int: bool = False
) -> None:
    dtype = abstractify(x).dtype
    if holomorphic:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtypes.name_of(dtype)}."
            )
        return
    integral = dtypes.issubdtype(dtype, np.integer) or dtype == np.bool_
    if integral and not allow_int:
        kind = "real- or complex-valued" if allow_complex else "real-valued"
        bound = "np.inexact" if allow_complex else "np.floating"
        tail = (
            "If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to "
            "True."
            if allow_complex
            else "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
            "non-holomorphic functions involving complex inputs or integer inputs, use jax.jvp "
            "directly."
        )
        raise TypeError(
            f"{name} requires {kind} inputs (input dtype that is a sub-dtype of {bound}), but got "
            f"{dtypes.name_of(dtype)}. {tail}"
        )
    if dtypes.issubdtype(dtype, np.complexfloating) and not allow_complex:
        raise TypeError(
            f"{name} requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            "but got "
            f"{dtypes.name_of(dtype)}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of non-holomorphic functions involving complex inputs or integer "
            "inputs, use "
            "jax.jvp directly."
        )


def _check_output(name: str, x: Any, holomorphic: bool, reverse: bool = False) -> None:
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return
    is_complex = dtypes.issubdtype(dtype, np.complexfloating)
    if holomorphic and not is_complex:
        raise TypeError(
            f"{name} with holomorphic=True requires outputs with complex dtype, but got "
            f"{dtypes.name_of(dtype)}."
        )
    if not holomorphic and reverse and (is_complex or not dtypes.issubdtype(dtype, np.floating)):
        tail = (
            "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
            "non-holomorphic functions involving complex outputs, use jax.vjp directly."
            if is_complex
            else "For differentiation of functions with integer outputs, use jax.vjp directly."
        )
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            "np.floating), but "
            f"got {dtypes.name_of(dtype)}. {tail}"
        )
