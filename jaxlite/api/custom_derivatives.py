"""``custom_jvp`` and ``custom_vjp``: functions whose derivative the user writes. In: functions.

Out: callables.

The decorated function keeps its pytrees; this module flattens, checks what the rules return, and
hands flat functions to ``higher_order.custom_call``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.api.arguments import check_callable, name_of, signature_of, to_arrays
from jaxlite.errors import UnexpectedTracerError
from jaxlite.higher_order.custom_call import CustomJVP, CustomVJP
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.key_paths import keystr
from jaxlite.language.primitive import Zero, instantiate
from jaxlite.language.pytree import (
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)
from jaxlite.language.trace import Tracer, get_aval, state
from jaxlite.language.treedef import PyTreeDef

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]


def resolve_arguments(
    kind: str, fun: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Bind keyword arguments and defaults to positions, so that rules see all of them in order."""
    signature = signature_of(fun)
    if signature is None:
        if not kwargs:
            return tuple(args)
        raise TypeError(
            f"keyword arguments are not supported for {name_of(fun)}: its signature is unknown"
        )
    try:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                "The following keyword arguments could not be resolved to positions: "
                f"{', '.join(bound.kwargs)}"
            )
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function {name_of(fun)} could not be "
            f"resolved to positional-only arguments. Binding failed with the error:\n{error}"
        ) from None
    return tuple(bound.args)


class _Flat:
    """Flat view of ``fun`` on the differentiable arguments.

    Remembers the structure of its result. Of the arguments only the types are kept: the function
    lives as long as the jaxpr it gets into.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff: tuple[int, ...],
        args: tuple[Any, ...],
    ) -> None:
        self.fun = fun
        self.nondiff = tuple(sorted({n + len(args) if n < 0 else n for n in nondiff}))
        self.static = tuple([args[n] for n in self.nondiff if n < len(args)])
        self.n_args = len(args)
        leaves, self.in_tree = tree_flatten(self.split(args))
        self.avals = [get_aval(x) for x in leaves]
        self.out_tree: PyTreeDef | None = None

    def split(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the differentiable arguments."""
        return tuple([a for i, a in enumerate(args) if i not in self.nondiff])

    def call(self, rule: Any, args: Sequence[Any]) -> Any:
        """Return the function's result under the current trace, which may use ``rule``."""
        outs = state.trace.process_custom(rule, self, to_arrays(tree_flatten(self.split(args))[0]))
        assert self.out_tree is not None
        return tree_unflatten(self.out_tree, outs)

    def merge(self, rest: Sequence[Any]) -> list[Any]:
        """Put the non-differentiable arguments back between the others."""
        values, static = iter(rest), iter(self.static)
        return [next(static) if i in self.nondiff else next(values) for i in range(self.n_args)]

    def __call__(self, *leaves: Any) -> tuple[Any, ...]:
        out = self.fun(*self.merge(tree_unflatten(self.in_tree, leaves)))
        outs, self.out_tree = tree_flatten(out)
        return tuple(to_arrays(outs))


class custom_jvp:
    """Decorator.

    Give a function its forward-mode rule (from which reverse mode follows by transposition).

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that are no arrays (functions, shapes); they come
        first in the rule.

    Raises:
      AttributeError: called without a rule. TypeError: the rule returns something else than a pair
        of equal structures and types.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> @jax.custom_jvp
    ... def f(x):
    ...     return jnp.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     return f(*primals), 10.0 * tangents[0]
    >>> float(jax.grad(f)(0.0))
    10.0
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        check_callable(fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = _with_names(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Set the rule ``jvp(*nondiff, primals, tangents) -> (out, out_tangent)``; returns it."""
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule per argument: ``jvp_i(tangent_i, out, *primals) -> out tangent``.

        None means zero.
        """
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            out = self(*primals)
            parts = [rule(t, out, *primals) for rule, t in zip(jvps, tangents, strict=True) if rule]
            leaves = [tree_flatten(p)[0] for p in parts]
            tree = tree_structure(out)
            if not parts:
                return out, tree_unflatten(tree, [0.0 * x for x in tree_flatten(out)[0]])
            total = [
                functools.reduce(lambda a, b: a + b, column) for column in zip(*leaves, strict=True)
            ]
            return out, tree_unflatten(tree, total)

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name_of(self.fun)} using defjvp."
            )
        resolved = resolve_arguments("custom_jvp", self.fun, args, kwargs)
        flat = _Flat(self.fun, self.nondiff_argnums, resolved)
        rule = CustomJVP(self._flat_rule(flat), name_of(self.fun), self.symbolic_zeros)
        return flat.call(rule, resolved)

    def _flat_rule(self, flat: _Flat) -> Callable[[Sequence[Any], Sequence[Any]], Any]:
        jvp, name = self.jvp, name_of(self.fun)
        assert jvp is not None

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            given = tangents
            if self.symbolic_zeros:
                given = [symbolic_zero(t) for t in tangents]
            p = tuple(tree_unflatten(flat.in_tree, primals))
            t = tuple(tree_unflatten(flat.in_tree, given))
            pair = jvp(*flat.static, p, t)
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"Custom JVP rule {name_of(jvp)} for function {name} must produce a pair (list "
                    "or tuple of "
                    f"length two) representing primal and tangent outputs, but got {pair}."
                )
            outs, out_tree = tree_flatten(pair[0])
            out_ts, t_tree = tree_flatten(pair[1])
            if out_tree != t_tree:
                raise TypeError(
                    f"Custom JVP rule {name_of(jvp)} for function {name} must produce primal and "
                    "tangent outputs "
                    f"with equal container (pytree) structures, but got {out_tree} and {t_tree} "
                    "respectively."
                )
            flat.out_tree = out_tree
            outs = to_arrays(outs)
            checked = [_check_out_tangent(o, t) for o, t in zip(outs, out_ts, strict=True)]
            return outs, checked

        return rule


class SymbolicZero:
    """A tangent that is known to be zero, as rules defined with ``symbolic_zeros=True`` see it."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.shape, self.dtype = aval.shape, aval.dtype

    def __repr__(self) -> str:
        return "SymbolicZero"

    @staticmethod
    def from_primal_value(value: Any) -> SymbolicZero:
        """Return the zero tangent of ``value``."""
        return SymbolicZero(get_aval(value).to_tangent_aval())


def _as_array(ct: Any) -> Any:
    """Return a cotangent as an array with methods; a seed may be a NumPy scalar."""
    is_seed = isinstance(ct, np.generic | int | float | complex)
    return to_arrays([ct])[0] if is_seed else ct


def symbolic_zero(tangent: Any) -> Any:
    """Return ``tangent`` as a user's rule sees it."""
    return SymbolicZero(tangent.aval) if type(tangent) is Zero else tangent


@dataclass(frozen=True)
class CustomVJPPrimal:
    """An argument of a forward rule: its value, and whether a derivative is asked for."""

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """Return ``tree`` with each ``CustomVJPPrimal`` replaced by its value.

    >>> custom_vjp_primal_tree_values({"a": CustomVJPPrimal(2.0, True)})
    {'a': 2.0}
    """
    is_record = functools.partial(_is_instance, CustomVJPPrimal)
    leaves, treedef = tree_flatten(tree, is_leaf=is_record)
    for leaf in leaves:
        if not is_record(leaf):
            raise TypeError(f"unexpected leaf of type {type(leaf)}")
    return tree_unflatten(treedef, [leaf.value for leaf in leaves])


def _is_instance(kind: type, x: Any) -> bool:
    return isinstance(x, kind)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of ``val``: zeros of its tangent type, or a ``SymbolicZero``.

    >>> zero_from_primal(1.5)
    Array(0., dtype=float32, weak_type=True)
    """
    if symbolic_zeros:
        return SymbolicZero.from_primal_value(val)
    return instantiate(Zero(get_aval(val).to_tangent_aval()))


def _check_out_tangent(out: Any, tangent: Any) -> Any:
    expected = get_aval(out).to_tangent_aval()
    if expected.dtype == dtypes.float0:
        return Zero(expected)
    is_zero = isinstance(tangent, SymbolicZero)
    array = Zero(expected) if is_zero else to_arrays([tangent])[0]
    found = tangent.aval if is_zero else get_aval(array)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise TypeError(
            "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and "
            "dtypes. "
            f"Expected {_short(expected)} (tangent type of {_short(get_aval(out))}) but got "
            f"{_short(found)}."
        )
    return array


def _short(aval: Any) -> str:
    return f"{dtypes.name_of(aval.dtype)}[{','.join(map(str, aval.shape))}]"


class custom_vjp:
    """Decorator: give a function its reverse-mode rule as a pair of functions.

    ``f.defvjp(fwd, bwd)``: ``fwd(*args) -> (out, residuals)``, ``bwd(*nondiff, residuals, ct) ->
    cts`` with one cotangent per differentiable argument (None for zero).

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that are no arrays; they come first in ``bwd``.

    Raises:
      AttributeError: called without rules. TypeError, ValueError: the rules return wrong structures
        or types.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> @jax.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))
    >>> float(jax.grad(lambda x: 5.0 * clip_gradient(x))(2.0))
    1.0
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        check_callable(fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = _with_names(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the two rules.

        With ``symbolic_zeros`` each leaf of ``fwd``'s arguments is a ``CustomVJPPrimal`` that says
        whether a derivative is asked for, and ``bwd`` gets ``SymbolicZero`` for cotangents known to
        be zero.
        """
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name_of(self.fun)} using defvjp."
            )
        resolved = resolve_arguments("custom_vjp", self.fun, args, kwargs)
        flat = _Flat(self.fun, self.nondiff_argnums, resolved)
        if any(isinstance(x, Tracer) for x in tree_flatten(flat.static)[0]):
            raise UnexpectedTracerError(
                "Found a JAX Tracer object passed as an argument to a custom_vjp function in a "
                "position indicated by nondiff_argnums as non-differentiable. Tracers cannot be "
                "passed as non-differentiable arguments to custom_vjp functions; instead, "
                "nondiff_argnums should only be used for arguments that can't be or contain JAX "
                "tracers, e.g. function-valued arguments. In particular, array-valued arguments "
                "should typically not be indicated as nondiff_argnums."
            )
        residual_tree: list[PyTreeDef] = []
        rule = CustomVJP(
            self._flat_fwd(flat, residual_tree),
            self._flat_bwd(flat, residual_tree),
            name_of(self.fun),
            self.symbolic_zeros,
        )
        return flat.call(rule, resolved)

    def _flat_fwd(self, flat: _Flat, residual_tree: list[PyTreeDef]) -> Callable[..., Any]:
        fwd, name = self.fwd, name_of(self.fun)
        assert fwd is not None

        def run(perturbed: Sequence[bool], *leaves: Any) -> tuple[list[Any], list[Any]]:
            if self.symbolic_zeros:
                leaves = tuple([CustomVJPPrimal(*x) for x in zip(leaves, perturbed, strict=True)])
            pair = fwd(*flat.merge(tree_unflatten(flat.in_tree, leaves)))
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"Custom VJP fwd rule {name_of(fwd)} for function {name} must produce a pair "
                    "(list or tuple of "
                    "length two) where the first element represents the primal output (equal to "
                    "those of the "
                    f"custom_vjp-decorated function {name}) and the second element represents "
                    "residuals (i.e. "
                    "values stored from the forward pass for use on the backward pass), but "
                    "instead of a pair "
                    f"the fwd rule {name_of(fwd)} produced {pair}."
                )
            outs, flat.out_tree = tree_flatten(pair[0])
            residuals, tree = tree_flatten(pair[1])
            residual_tree[:] = [tree]
            return to_arrays(outs), to_arrays(residuals)

        return run

    def _flat_bwd(self, flat: _Flat, residual_tree: list[PyTreeDef]) -> Callable[..., Any]:
        bwd = self.bwd
        assert bwd is not None

        def run(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            assert flat.out_tree is not None
            show = symbolic_zero if self.symbolic_zeros else instantiate
            ct = tree_unflatten(flat.out_tree, [show(_as_array(c)) for c in cts])
            out = bwd(*flat.static, tree_unflatten(residual_tree[0], residuals), ct)
            return _check_bwd(out, flat)

        return run


def _check_bwd(out: Any, flat: _Flat) -> list[Any]:
    """Return one flat cotangent per leaf of the primal arguments.

    None stands for zeros of a subtree.
    """
    args = tree_unflatten(flat.in_tree, flat.avals)
    mismatch = not isinstance(out, tuple | list) or len(out) != len(args)
    leaves: list[Any] = []
    if not mismatch:
        for ct, arg in zip(out, args, strict=True):
            found = _with_zeros(ct, arg)
            if found is None:
                mismatch = True
                break
            leaves += found
    if mismatch:
        raise TypeError(
            "Custom VJP bwd rule must produce an output with the same container (pytree) structure "
            "as the args "
            "tuple of the primal function, and in particular must produce a tuple of length equal "
            "to the number "
            "of arguments to the primal function, but got bwd output structure "
            f"{tree_structure(out)} for "
            f"primal input structure {tree_structure(args)}."
        )
    paths = [p for p, _ in tree_flatten_with_path(args)[0]]
    return [_check_ct(c, x, p) for c, x, p in zip(leaves, flat.avals, paths, strict=True)]


def _with_zeros(ct: Any, arg: Any) -> list[Any] | None:
    """Return one cotangent per leaf (an aval) of ``arg``; None anywhere in ``ct`` stands for zeros.

    The result is None if the structures do not fit.
    """
    parts, tree = tree_flatten(ct, is_leaf=lambda x: x is None)
    try:
        subtrees = tree.flatten_up_to(arg)
    except (TypeError, ValueError):
        return None
    leaves: list[Any] = []
    for part, subtree in zip(parts, subtrees, strict=True):
        below, subtree_tree = tree_flatten(subtree, is_leaf=lambda x: x is None)
        if part is None:
            present = [x for x in below if x is not None]
            leaves += [Zero(x.to_tangent_aval()) for x in present]
        elif subtree_tree.num_nodes != 1:
            return None
        else:
            leaves.append(part)
    return leaves


def _check_ct(ct: Any, primal: ShapedArray, path: Any) -> Any:
    expected = primal.to_tangent_aval()
    if type(ct) is Zero or expected.dtype == dtypes.float0:
        return Zero(expected)
    is_zero = isinstance(ct, SymbolicZero)
    array = Zero(expected) if is_zero else to_arrays([ct])[0]
    found = ct.aval if is_zero else get_aval(array)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        what = "shapes" if found.shape != expected.shape else "dtypes"
        raise ValueError(
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of "
            "the primal "
            f"function, but at output{keystr(path)} the bwd rule produced an output of type "
            f"{_short(found)} "
            f"corresponding to an input of type {_short(primal)}, so the {what} do not "
            "match"
        )
    return array


def _with_names(fun: Any, nums: Sequence[int], names: Sequence[str]) -> tuple[int, ...]:
    if isinstance(nums, int):
        nums = (nums,)
    if not names:
        return tuple(nums)
    if isinstance(names, str):
        names = (names,)
    parameters = list(inspect.signature(fun).parameters)
    return tuple(sorted({*nums, *(parameters.index(n) for n in names)}))


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with ``fun(*args) -> (out, vjp_fun)`` as value and reverse-mode rule.

    >>> import jaxlite as jax
    >>> @jax.custom_gradient
    ... def f(x):
    ...     return x**2, lambda ct: (ct * 100.0,)
    >>> float(jax.grad(f)(3.0))
    100.0
    """

    @functools.wraps(fun)
    def wrapped(*args: Any) -> Any:
        return fun(*args)[0]

    inner = custom_vjp(wrapped)

    def bwd(args: Any, ct: Any) -> Any:
        cts = fun(*args)[1](ct)
        return tuple(cts) if isinstance(cts, tuple | list) else (cts,)

    inner.defvjp(lambda *args: (fun(*args)[0], args), bwd)
    return inner
