"""Matrix products by BLAS. In: dot_general. Out: a ``gemm`` call, and copies where BLAS needs them.

``dot_general`` is a batch of matrix products if the axes of each operand lie in memory as (batch,
free, contracted) or (batch, contracted, free); an operand that does not is copied into that order
first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlite.compiler.block import Block
from jaxlite.compiler.plan import Group
from jaxlite.compiler.pull import dot_axes, linear
from jaxlite.compiler.schedule import LoopSpec, Scope, schedule
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import Launch, LibraryCall, View


def lower_dot(block: Block, group: Group) -> None:
    """Append the steps of a matrix product."""
    (eqn,) = group.eqns
    lhs, rhs = (block.view(a) for a in eqn.invars)
    lb, lf, lc, rb, rf, rc = dot_axes(eqn)
    order = _contraction_order(lhs.shape, rhs.shape, (lb, lf, lc), (rb, rf, rc))
    lc, rc = tuple(lc[k] for k in order), tuple(rc[k] for k in order)
    batch = math.prod(lhs.shape[a] for a in lb)
    m = math.prod(lhs.shape[a] for a in lf)
    n = math.prod(rhs.shape[a] for a in rf)
    k = math.prod(lhs.shape[a] for a in lc)
    a, a_is_free_first = _matrix(block, lhs, (lb, lf, lc))
    b, b_is_free_first = _matrix(block, rhs, (rb, rf, rc))
    (out,) = block.out_views(eqn)
    params = (
        *(("batch", batch), ("m", m), ("n", n), ("k", k)),
        *(("trans_a", not a_is_free_first), ("trans_b", b_is_free_first)),
    )
    call = LibraryCall("gemm", (a, b), (out,), params, block.comments(group.eqns))
    block.steps.append(call)


Axes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _contraction_order(
    lhs: Sequence[int], rhs: Sequence[int], left: Axes, right: Axes
) -> list[int]:
    """Return the order of the contracted pairs that lets most operands stay as they are."""
    pairs = range(len(left[2]))
    orders = [
        sorted(pairs, key=lambda k: left[2][k]),
        sorted(pairs, key=lambda k: right[2][k]),
    ]

    def n_fitting(order: list[int]) -> int:
        fits = 0
        for shape, (batch, free, contracted) in ((lhs, left), (rhs, right)):
            inner = tuple(contracted[k] for k in order)
            fits += any(
                _is_sorted(shape, axes)
                for axes in ((*batch, *free, *inner), (*batch, *inner, *free))
            )
        return fits

    return max(orders, key=n_fitting)


def _is_sorted(shape: Sequence[int], axes: Sequence[int]) -> bool:
    real = [a for a in axes if shape[a] != 1]
    return real == sorted(real)


def _matrix(block: Block, view: View, axes: Axes) -> tuple[View, bool]:
    """Return the operand in an order BLAS can read, and whether its free axes come first."""
    batch, free, contracted = axes
    if _is_sorted(view.shape, (*batch, *free, *contracted)):
        return view, True
    if _is_sorted(view.shape, (*batch, *contracted, *free)):
        return view, False
    order = (*batch, *free, *contracted)
    dtype = block.builder.buffers[view.buffer].dtype
    target = block.temp("packed", dtype, [view.shape[a] for a in order])
    index = [ir.index(f"i{a}") for a in order]
    source_index = tuple([index[order.index(a)] for a in range(len(order))])
    value = ir.load("in0", linear(source_index, view.shape), dtype)
    store = ir.Store("out0", linear(tuple(index), target.shape), value)
    loops = [LoopSpec(i, n) for i, n in zip(index, target.shape, strict=True) if n != 1]
    loops[-1].kind = "vector"
    size = math.prod(view.shape)
    params = (ir.Param("in0", dtype, size), ir.Param("out0", dtype, size, is_output=True))
    kernel = block.builder.kernel(
        "transpose",
        params,
        tuple(schedule(loops, [store], Scope())),
        ("operand of a matrix product",),
    )
    block.steps.append(Launch(kernel, (view, target)))
    return target, True
