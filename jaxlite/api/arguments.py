"""Functions and their arguments. In: what a user passed.

Out: flat values, trees and names for messages.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, asarray_eager, raise_masked
from jaxlite.language.avals import ShapedArray, ShapeDtypeStruct, aval_of_scalar
from jaxlite.language.jaxpr import DebugInfo
from jaxlite.language.key_paths import keystr
from jaxlite.language.primitive import as_tuple
from jaxlite.language.pytree import tree_flatten, tree_flatten_with_path, tree_unflatten
from jaxlite.language.source import place_of
from jaxlite.language.treedef import PyTreeDef

__all__ = [
    "abstractify",
    "argnums_tuple",
    "as_tuple",
    "check_callable",
    "check_output",
    "debug_info_of",
    "flat_function",
    "is_valid_leaf",
    "name_of",
    "split_argnums",
]


def check_callable(fun: Any) -> None:
    """Raise TypeError if ``fun`` cannot be called or is a generator function."""
    if isinstance(fun, staticmethod):
        raise TypeError(f"staticmethod arguments are not supported, got {fun}")
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}")


def name_of(fun: Any) -> str:
    """Return the name of a function, also of a partial or of an object that is called."""
    while hasattr(fun, "func") and not hasattr(fun, "__name__"):
        fun = fun.func
    return str(getattr(fun, "__name__", type(fun).__name__))


def signature_of(fun: Any) -> inspect.Signature | None:
    """Return the signature, or None where Python knows none (C functions)."""
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):
        return None


def code_of(fun: Any) -> Any:
    """Return the code object behind ``fun`` (through wrappers and partials), or None."""
    for _ in range(20):
        if hasattr(fun, "__code__"):
            return fun.__code__
        inner = getattr(fun, "__wrapped__", None) or getattr(fun, "func", None)
        inner = inner or getattr(fun, "__func__", None)
        if inner is None:
            break
        fun = inner
    return getattr(type(fun).__call__, "__code__", None) if callable(fun) else None


def debug_info_of(fun: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> DebugInfo:
    """Return names for people; ``args``/``kwargs`` are the traced arguments (any leaves)."""
    code = code_of(fun)
    return DebugInfo(
        name_of(fun),
        arg_names_of(fun, args, kwargs),
        (),
        code.co_filename if code else "",
        code.co_firstlineno if code else 0,
    )


def where_defined(info: DebugInfo) -> str:
    """Return ``f at file.py:12``, the form JAX's messages use."""
    if not info.file:
        return info.function
    return f"{info.function} at {place_of(info.file, info.line)}"


def positional_names(fun: Any, n: int) -> list[str]:
    """Return names of the first ``n`` positional parameters (``args[i]`` for a star)."""
    signature = signature_of(fun)
    names: list[str] = []
    if signature is not None:
        for p in signature.parameters.values():
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                names.append(p.name)
            elif p.kind is p.VAR_POSITIONAL:
                names += [f"{p.name}[{i}]" for i in range(n - len(names))]
    names += [f"args[{i}]" for i in range(len(names), n)]
    return names[:n]


def arg_names_of(fun: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[str, ...]:
    """Return the name with key path of every leaf: ``x``, ``params['w1']``."""
    names = positional_names(fun, len(args))
    found: list[str] = []
    for name, arg in (*zip(names, args, strict=True), *sorted(kwargs.items())):
        found += [name + keystr(path) for path, _ in tree_flatten_with_path(arg)[0]]
    return tuple(found)


def is_valid_leaf(x: Any) -> bool:
    """Say whether ``x`` can be an argument of a transformed function."""
    if isinstance(x, Array | bool | int | float | complex):
        return True
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind in "biufc" or x.dtype == dtypes.float0 or dtypes.kind_of(x.dtype) == "f"
    return hasattr(x, "__jax_array__")


def abstractify(x: Any) -> ShapedArray:
    """Return the aval of an argument; ShapeDtypeStructs stand for arrays.

    TypeError for other objects.
    """
    if isinstance(x, Array):
        return x.aval
    if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
        return aval_of_scalar(x)
    if isinstance(x, np.ndarray | np.generic) and is_valid_leaf(x):
        if isinstance(x, np.ma.MaskedArray):
            raise_masked()
        return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype))
    if isinstance(x, ShapeDtypeStruct):
        return ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype, True), bool(x.weak_type))
    if hasattr(x, "__jax_array__"):
        return abstractify(x.__jax_array__())
    if hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, type):
        return ShapedArray(tuple(x.shape), dtypes.canonicalize_dtype(x.dtype, True))
    raise TypeError(f"Value {x!r} with type {type(x)} is not a valid JAX type")


def bad_argument(fun: Any, leaf: Any, path: str) -> TypeError:
    """Return JAX's error for an argument that is no array."""
    return TypeError(
        f"Error interpreting argument to {fun} as an abstract array. The problematic value is of "
        "type "
        f"{type(leaf)} and was passed to the function at path {path}.\n"
        "This typically means that a jit-wrapped function was called with a non-array argument, "
        "and this "
        "argument was not marked as static using the static_argnums or static_argnames parameters "
        "of "
        f"jax.jit.\n  Fix: jaxlite.jit(..., static_argnames={_base_name(path)!r}), or pass an "
        "array."
    )


def _base_name(path: str) -> str:
    for i, c in enumerate(path):
        if c in "[.":
            return path[:i]
    return path


def check_output(leaf: Any, path: Any, info: DebugInfo, transform: str) -> None:
    """Raise TypeError if a traced function returned something that is no array."""
    if is_valid_leaf(leaf):
        return
    where = keystr(path)
    at = f" at output component {where}" if where else ""
    raise TypeError(
        f"function {where_defined(info)} traced for {transform} returned a value of type "
        f"{type(leaf)}{at}, "
        "which is not a valid JAX type"
    )


class FlatFunction:
    """A function on flat values. After a run ``out_tree`` is the structure of what it returned.

    ``static`` puts the static arguments back in their places: ``fill(args, kwargs) -> (args,
    kwargs)``.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: PyTreeDef,
        info: DebugInfo,
        transform: str,
        fill: Callable[[Any, Any], tuple[Any, Any]] | None = None,
    ) -> None:
        self.fun, self.in_tree, self.info, self.transform, self.fill = (
            fun,
            in_tree,
            info,
            transform,
            fill,
        )
        self.out_tree: PyTreeDef | None = None

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        if self.fill is not None:
            args, kwargs = self.fill(args, kwargs)
        out = self.fun(*args, **kwargs)
        outs, self.out_tree = tree_flatten(out)
        if not all(isinstance(o, Array) for o in outs):
            for path, leaf in tree_flatten_with_path(out)[0]:
                check_output(leaf, path, self.info, self.transform)
            outs = [o.__jax_array__() if hasattr(o, "__jax_array__") else o for o in outs]
        return outs


def flat_function(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], transform: str
) -> tuple[list[Any], FlatFunction]:
    """Return the leaves of the arguments and ``fun`` on such leaves."""
    leaves, in_tree = tree_flatten((tuple(args), kwargs))
    return leaves, FlatFunction(fun, in_tree, debug_info_of(fun, args, kwargs), transform)


def argnums_tuple(argnums: int | Sequence[int], n_args: int, what: str) -> tuple[int, ...]:
    """Return ``argnums`` as non-negative positions, checked against the number of arguments."""
    nums = (argnums,) if isinstance(argnums, int | np.integer) else tuple(argnums)
    result = []
    for n in nums:
        position = int(n) + n_args if n < 0 else int(n)
        if not 0 <= position < n_args:
            needed = int(n) + 1 if n >= 0 else -int(n)
            raise TypeError(
                f"differentiating with respect to argnums={argnums} requires at least {needed} "
                "positional "
                f"arguments to be passed by the caller, but got only {n_args} positional arguments."
            )
        result.append(position)
    if len(set(result)) != len(result):
        raise ValueError(f"argnums must be unique, got {what}={argnums}")
    return tuple(result)


def split_argnums(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> tuple[Callable[..., Any], list[Any]]:
    """Return ``fun`` as a function of the chosen arguments only, and these arguments."""
    nums = argnums_tuple(argnums, len(args), "argnums")

    def partial(*chosen: Any) -> Any:
        full = list(args)
        for n, value in zip(nums, chosen, strict=True):
            full[n] = value
        return fun(*full, **kwargs)

    partial.__name__ = name_of(fun)
    code = code_of(fun)
    if code is not None:
        partial.__wrapped__ = fun  # type: ignore[attr-defined]
    return partial, [args[n] for n in nums]


def to_arrays(leaves: Iterable[Any]) -> list[Any]:
    """Return the leaves with Python and NumPy values converted to arrays (tracers stay)."""
    return [x if isinstance(x, Array) else asarray_eager(x) for x in leaves]
