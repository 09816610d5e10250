"""``custom_vmap``: functions whose batching rule the user writes. In: functions. Out: callables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.api.arguments import FlatFunction, check_callable, debug_info_of, name_of, to_arrays
from jaxlite.api.custom_derivatives import resolve_arguments
from jaxlite.api.loops import map as sequential_map
from jaxlite.higher_order.custom_vmap import custom_vmap_call_p
from jaxlite.language.pytree import tree_flatten, tree_map, tree_unflatten
from jaxlite.language.trace import get_aval
from jaxlite.transforms.stage_out import hoist_consts, stage_out

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap:
    """Decorator: give a function its own behaviour under ``vmap``.

    Args:
      fun: the function. Forward mode differentiates the function and its rule; for reverse mode
        put ``custom_vjp`` around.

    Raises:
      AttributeError: called without a rule.
      ValueError: the rule returned other structures than the function.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> @jax.custom_batching.custom_vmap
    ... def solve(a, b):
    ...     return b / a
    >>> @solve.def_vmap
    ... def solve_all(axis_size, in_batched, a, b):
    ...     return b * (1.0 / a), True
    >>> jax.vmap(solve, in_axes=(None, 0))(2.0, jnp.array([1.0, 2.0])).tolist()
    [0.5, 1.0]
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable(fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable[..., tuple[Any, Any]] | None = None

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Set the rule ``rule(axis_size, in_batched, *args) -> (out, out_batched)``; returns it.

        ``in_batched`` has one bool per leaf in the structure of ``args``; batched leaves have the
        batch at axis 0. ``out_batched`` says the same of the results.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name_of(self.fun)} using "
                "def_vmap."
            )
        info = debug_info_of(self.fun, args, kwargs)
        args = resolve_arguments("custom_vmap", self.fun, args, kwargs)
        leaves, in_tree = tree_flatten((tuple(args), {}))
        flat = FlatFunction(self.fun, in_tree, info, "custom_vmap")
        arrays = to_arrays(leaves)
        hoisted, consts = hoist_consts(stage_out(flat, [get_aval(x) for x in arrays], info))
        assert flat.out_tree is not None
        rule = _FlatRule(self.vmap_rule, len(consts), in_tree, flat.out_tree)
        outs = custom_vmap_call_p.bind_all(
            *consts, *arrays, call=hoisted, in_tree=in_tree, out_tree=flat.out_tree, rule=rule
        )
        return tree_unflatten(flat.out_tree, outs)


class _FlatRule:
    """The user's rule on flat values; the call's closed-over constants come first."""

    def __init__(
        self, rule: Callable[..., Any], n_consts: int, in_tree: Any, out_tree: Any
    ) -> None:
        self.rule, self.n_consts, self.in_tree, self.out_tree = rule, n_consts, in_tree, out_tree

    def __call__(
        self, axis_size: int, in_batched: Sequence[bool], args: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        values, _ = tree_unflatten(self.in_tree, args[self.n_consts :])
        flags, _ = tree_unflatten(self.in_tree, list(in_batched[self.n_consts :]))
        out, batched = self.rule(axis_size, list(flags), *values)
        outs, out_tree = tree_flatten(out)
        out_flags, flags_tree = tree_flatten(batched)
        name = name_of(self.rule)
        if flags_tree != out_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom "
                f"vmap rule ({name}) do not match.\n"
                f"Output values: {out_tree}\nBatching spec: {flags_tree}"
            )
        if out_tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({name}) does not match that of "
                "original custom-vmapped function.\n"
                f"Original output: {self.out_tree}\nRule output: {out_tree}"
            )
        return to_arrays(outs), [bool(b) for b in out_flags]


def sequential_vmap(fun: Callable[..., Any]) -> custom_vmap:
    """Return ``fun`` such that ``vmap`` runs it on one example after the other, in a loop.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> total = jax.custom_batching.sequential_vmap(lambda x: x.sum())
    >>> jax.vmap(total)(jnp.ones((3, 2))).tolist()
    [2.0, 2.0, 2.0]
    """
    one = custom_vmap(fun)

    def rule(axis_size: int, in_batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        leaves, tree = tree_flatten(args)
        flags = tree_flatten(list(in_batched))[0]
        mapped = [x for x, b in zip(leaves, flags, strict=True) if b]

        def step(values: Sequence[Any]) -> Any:
            given = iter(values)
            full = [next(given) if b else x for x, b in zip(leaves, flags, strict=True)]
            return one(*tree_unflatten(tree, full))

        out = sequential_map(step, mapped)
        return out, tree_map(lambda _: True, out)

    one.def_vmap(rule)
    return one
