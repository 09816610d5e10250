"""``checkpoint`` (``remat``): trade memory for recomputation. In: a function.

Out: it, saving less for reverse mode.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.api.arguments import (
    FlatFunction,
    abstractify,
    check_callable,
    debug_info_of,
    signature_of,
)
from jaxlite.api.static_arguments import StaticSpec
from jaxlite.higher_order.checkpoint import checkpoint_p
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.transforms.stage_out import hoist_consts, stage_out

__all__ = ["checkpoint", "checkpoint_policies", "remat"]


class checkpoint_policies:
    """What a checkpointed function may save.

    Functions ``(primitive, *avals, **params) -> bool``.
    """

    @staticmethod
    def everything_saveable(*_: Any, **__: Any) -> bool:
        """Save everything: as if there were no checkpoint."""
        return True

    @staticmethod
    def nothing_saveable(*_: Any, **__: Any) -> bool:
        """Save only the arguments (the default)."""
        return False

    @staticmethod
    def dots_saveable(primitive: Any, *_: Any, **__: Any) -> bool:
        """Save the results of matrix products."""
        return str(primitive) == "dot_general"

    @staticmethod
    def dots_with_no_batch_dims_saveable(primitive: Any, *_: Any, **params: Any) -> bool:
        """Save the results of matrix products without batch dimensions."""
        if str(primitive) != "dot_general":
            return False
        _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
        return not lhs_batch and not rhs_batch

    @staticmethod
    def save_from_both_policies(*policies: Callable[..., bool]) -> Callable[..., bool]:
        """Save what any of ``policies`` saves."""
        return lambda *args, **params: any(p(*args, **params) for p in policies)

    checkpoint_dots = dots_saveable
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | Sequence[int] = (),
    concrete: bool = False,
) -> Callable[..., Any]:
    """Return ``fun`` such that reverse mode recomputes its inner values instead of keeping them.

    Args:
      fun: the function.
      prevent_cse: keep the compiler from undoing it.
      policy: which values may be saved after all (see ``checkpoint_policies``).
      static_argnums: arguments that are Python constants.
      concrete: no longer supported, as in JAX.

    Raises:
      NotImplementedError: ``concrete`` is true.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> float(jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))(0.0))
    1.0
    """
    if concrete:
        raise NotImplementedError("The 'concrete' option to jax.checkpoint has been removed")
    check_callable(fun)
    spec = StaticSpec.of(fun, signature_of(fun), static_argnums or None, None)

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        dynamic, static = spec.split(args, kwargs)
        info = debug_info_of(fun, *spec.without_static(args, kwargs))
        leaves, in_tree = tree_flatten(dynamic)
        flat = FlatFunction(fun, in_tree, info, "checkpoint", spec.filler(static))
        closed = stage_out(flat, [abstractify(x) for x in leaves], info)
        hoisted, consts = hoist_consts(closed)
        outs = checkpoint_p.bind_all(
            *consts,
            *leaves,
            jaxpr=hoisted,
            prevent_cse=prevent_cse,
            differentiated=False,
            policy=policy,
        )
        assert flat.out_tree is not None
        return tree_unflatten(flat.out_tree, outs)

    return checkpointed


remat = checkpoint
