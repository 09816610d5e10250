"""``cond`` and ``switch``. In: a predicate or index, branches, operands.

Out: the chosen branch's result.

Branches are traced exactly once each, also outside ``jit``, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.api.arguments import FlatFunction, abstractify, debug_info_of, to_arrays, where_defined
from jaxlite.api.differences import differing_parts, kinds, listed, mismatch, type_text
from jaxlite.api.forwarding import forward_branches, merge
from jaxlite.higher_order.cond import cond_p
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import ClosedJaxpr, Var
from jaxlite.language.key_paths import keystr
from jaxlite.language.pytree import tree_flatten, tree_flatten_with_path, tree_unflatten
from jaxlite.language.trace import get_aval, is_concrete
from jaxlite.language.treedef import PyTreeDef
from jaxlite.primitives.families import ops
from jaxlite.primitives.select import clamp
from jaxlite.settings import config
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.stage_out import stage_out

__all__ = ["cond", "stage_branches", "switch"]


def cond(
    pred: Any,
    true_fun: Any,
    false_fun: Any,
    *operands: Any,
    operand: Any = None,
    linear: Any = None,
) -> Any:
    """Return ``true_fun(*operands)`` if ``pred`` holds, else ``false_fun(*operands)``.

    Only one runs.

    Args:
      pred: scalar, bool or number (nonzero is true).
      true_fun: runs if ``pred`` holds.
      false_fun: runs otherwise; result structure and types are those of ``true_fun``.
      *operands: arguments of both.
      operand: old form with one operand by keyword.
      linear: accepted as in JAX.

    Raises:
      TypeError: the predicate is no scalar, or the branches return different structures or types.

    >>> from jaxlite import lax
    >>> float(lax.cond(True, lambda x: x + 1.0, lambda x: x - 1.0, 3.0))
    4.0
    """
    if operand is not None:
        operands = (operand,)
    if not (callable(true_fun) and callable(false_fun)):
        # The form with one operand per branch that early JAX had.
        if len(operands) == 2 and callable(false_fun) is False and callable(operands[0]):
            return _cond_two_operands(pred, true_fun, false_fun, *operands)
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    _check_predicate(pred)
    (index,) = to_arrays([pred])
    if config.frame.disable_jit and is_concrete(index):
        return true_fun(*operands) if bool(index) else false_fun(*operands)
    if index.dtype != np.bool_:
        index = ops.ne(index, np.zeros((), index.dtype)[()])
    index = ops.convert_element_type(index, np.dtype(np.int32), False)
    leaves = to_arrays(tree_flatten(tuple(operands))[0])
    branches, out_tree = stage_branches(
        [false_fun, true_fun], operands, leaves, ("false_fun", "true_fun")
    )
    return tree_unflatten(out_tree, _bind_branches(index, branches, leaves))


def _bind_branches(index: Any, branches: Sequence[ClosedJaxpr], leaves: Sequence[Any]) -> Any:
    consts, closed = _merge_consts(branches)
    operands = [*consts, *leaves]
    closed, forwarded = forward_branches(closed, operands)
    return merge(forwarded, cond_p.bind_all(index, *operands, branches=closed))


def _cond_two_operands(
    pred: Any, true_op: Any, true_fun: Any, false_fun: Any, false_op: Any
) -> Any:
    return cond(
        pred, lambda ops_: true_fun(ops_[0]), lambda ops_: false_fun(ops_[1]), (true_op, false_op)
    )


def _check_predicate(pred: Any) -> None:
    if pred is None:
        raise TypeError("cond predicate is None")
    if callable(pred) and not hasattr(pred, "dtype"):
        raise TypeError(f"Pred type must be either boolean or number, got {pred}.")
    try:
        aval = abstractify(pred)
    except TypeError:
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}") from None
    if aval.shape:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}.")
    if dtypes.kind_of(aval.dtype) not in "biuf":
        raise TypeError(f"Pred type must be either boolean or number, got {aval.dtype}.")


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = None
) -> Any:
    """Return ``branches[clamp(index)](*operands)``; only one branch runs.

    Args:
      index: integer scalar, clamped to the number of branches.
      branches: functions with equal result structures and types.
      *operands: arguments of every branch.
      operand: old form with one operand by keyword.

    Raises:
      TypeError: the index is no integer scalar, or the branches return different structures or
        types.
      ValueError: there are no branches.

    >>> from jaxlite import lax
    >>> int(lax.switch(7, [lambda x: x, lambda x: x * 10], 3))
    30
    """
    if operand is not None:
        operands = (operand,)
    if not all(callable(b) for b in branches):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    if not isinstance(index, tuple | list):
        try:
            aval = abstractify(index)
        except TypeError:
            raise TypeError(f"Index type must be an integer, got {index}.") from None
    else:
        shape = np.shape(index)
        raise TypeError(f"Branch index must be scalar, got {index} of shape {shape}.")
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(
            f"Index type must be an integer, got {index} as {dtypes.name_of(aval.dtype)}"
        )
    branches = tuple(branches)
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    (index,) = to_arrays([index])
    if config.frame.disable_jit and is_concrete(index):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    index = ops.convert_element_type(index, np.dtype(np.int32), False)
    index = clamp(np.int32(0), index, np.int32(len(branches) - 1))
    leaves = to_arrays(tree_flatten(tuple(operands))[0])
    labels = ("branch 0", *[f"branch{i}" for i in range(1, len(branches))])
    staged, out_tree = stage_branches(branches, operands, leaves, labels)
    return tree_unflatten(out_tree, _bind_branches(index, staged, leaves))


def stage_branches(
    funs: Sequence[Callable[..., Any]],
    operands: Sequence[Any],
    leaves: Sequence[Any],
    labels: Sequence[str],
) -> tuple[list[ClosedJaxpr], PyTreeDef]:
    """Trace every branch on the same operand types; check that structures and types agree."""
    in_tree = tree_flatten((tuple(operands), {}))[1]
    avals = [get_aval(x) for x in leaves]
    staged, flats = [], []
    for fun in funs:
        flat = FlatFunction(fun, in_tree, debug_info_of(fun, operands, {}), "cond")
        staged.append(stage_out(flat, avals, flat.info))
        flats.append(flat)
    _check_branches(staged, flats, labels)
    staged = _join_weak_types(staged)
    out_tree = flats[0].out_tree
    assert out_tree is not None
    return staged, out_tree


def _check_branches(
    staged: Sequence[ClosedJaxpr], flats: Sequence[FlatFunction], labels: Sequence[str]
) -> None:
    # JAX compares with the true branch (or branch 0) as the reference.
    is_cond = labels[-1] == "true_fun"
    ref, what = (1, "cond") if is_cond else (0, "switch")
    for i in range(len(staged)):
        if i == ref:
            continue
        who = "\n".join(f"{labels[k]} is {where_defined(flats[k].info)}" for k in (ref, i))
        both = f"{labels[ref]} and/or {labels[i]}"
        a_tree, b_tree = flats[ref].out_tree, flats[i].out_tree
        assert a_tree is not None
        assert b_tree is not None
        if a_tree != b_tree:
            lines = []
            for path, a, b in differing_parts(a_tree, b_tree):
                left, right, why = kinds(a, b)
                at = f" at path {path}" if path else ""
                lines.append(
                    f"{labels[ref]} output{at} is {left} but {labels[i]} output{at} is {right}, so "
                    f"{why}"
                )
            raise TypeError(
                f"{what} branch outputs must have the same pytree structure, but they differ:\n\n"
                f"{who}\n\n{listed(lines, '')}\n\n"
                f"Revise {both} so that they have the same pytree structure."
            )
        lines = []
        for x, y, path in zip(
            staged[ref].out_avals, staged[i].out_avals, _paths(flats[ref]), strict=True
        ):
            if mismatch(x, y):
                at = f" at path {path}" if path else ""
                lines.append(
                    f"output of {labels[ref]}{at} has type {type_text(x)} but the corresponding "
                    f"output of {labels[i]} has type {type_text(y)}, so {mismatch(x, y)}"
                )
        if lines:
            raise TypeError(
                f"{what} branches must have equal output types but they differ.\n\n"
                f"{who}\n\n{listed(lines)}\n\n"
                f"Revise {both} so that all output types match."
            )


def _paths(flat: FlatFunction) -> list[str]:
    assert flat.out_tree is not None
    marks = tree_unflatten(flat.out_tree, list(range(flat.out_tree.num_leaves)))
    return [keystr(p) for p, _ in tree_flatten_with_path(marks)[0]]


def _join_weak_types(staged: list[ClosedJaxpr]) -> list[ClosedJaxpr]:
    """Make a result weakly typed only if it is so in every branch."""
    weak = [
        all(a.weak_type for a in column)
        for column in zip(*(s.out_avals for s in staged), strict=True)
    ]
    return [strengthen(s, weak) for s in staged]


def strengthen(closed: ClosedJaxpr, weak: Sequence[bool]) -> ClosedJaxpr:
    """Return ``closed`` with results converted to strong types where ``weak`` is false."""
    if all(
        a.weak_type == w or not a.weak_type for a, w in zip(closed.out_avals, weak, strict=True)
    ):
        return closed
    jaxpr = closed.jaxpr

    def run(*args: Any) -> list[Any]:
        outs = eval_closed(closed, *args)
        return [
            o
            if w or not get_aval(o).weak_type
            else ops.convert_element_type(o, get_aval(o).dtype, False)
            for o, w in zip(outs, weak, strict=True)
        ]

    return stage_out(run, closed.in_avals, jaxpr.debug_info)


def _merge_consts(staged: Sequence[ClosedJaxpr]) -> tuple[list[Any], tuple[ClosedJaxpr, ...]]:
    """Turn what the branches closed over into shared leading operands."""
    consts: list[Any] = []
    position: dict[int, int] = {}
    for s in staged:
        for c in s.consts:
            if id(c) not in position:
                position[id(c)] = len(consts)
                consts.append(c)
    avals = [get_aval(c) for c in consts]
    merged = []
    for s in staged:
        heads: list[Any] = [Var(a) for a in avals]
        for var, c in zip(s.jaxpr.constvars, s.consts, strict=True):
            heads[position[id(c)]] = var
        jaxpr = s.jaxpr.replace(constvars=[], invars=[*heads, *s.jaxpr.invars])
        merged.append(ClosedJaxpr(jaxpr, []))
    return consts, tuple(merged)
