"""The loops a reduction needs. In: an equation. Out: its iteration shape and reads.

A small matrix product is a reduction too: of ``lhs * rhs`` over the contracted axes.
"""

from __future__ import annotations

from jaxlite.compiler.pull import dot_axes
from jaxlite.language.jaxpr import JaxprEqn, Var

#: Bytes of one row up to which its sweeps share a kernel (half an L2 cache).
MAX_ROW_BYTES = 1 << 18
#: Elements up to which a domain of few rows is one kernel all the same.
SMALL_DOMAIN = 1 << 15
#: Reductions over at most this many elements are written out.
UNROLL = 8


def reduction_domain(eqn: JaxprEqn) -> tuple[list[int], tuple[int, ...]]:
    """Return the iteration shape of a reduction or small product, and its reduced axes.

    Axes of size 1 are left out. A product whose right operand is contiguous along its free axis has
    the contracted axes before that one, so that the innermost loop runs along memory.
    """
    if eqn.primitive.name != "dot_general":
        shape, axes = eqn.invars[0].aval.shape, eqn.params["axes"]
        real = [a for a, n in enumerate(shape) if n != 1]
        return [shape[a] for a in real], tuple(n for n, a in enumerate(real) if a in axes)
    lhs, rhs = (a.aval.shape for a in eqn.invars)
    lb, lf, lc, _, rf, rc = dot_axes(eqn)
    kept = [n for n in (*(lhs[a] for a in (*lb, *lf)), *(rhs[a] for a in rf)) if n != 1]
    inner = [lhs[a] for a in lc if lhs[a] != 1]
    has_free = any(rhs[a] != 1 for a in rf)
    last = next((a for a in range(len(rhs) - 1, -1, -1) if rhs[a] != 1), -1)
    at = len(kept) - 1 if has_free and last not in rc else len(kept)
    return [*kept[:at], *inner, *kept[at:]], tuple(range(at, at + len(inner)))


def reduction_reads(
    eqn: JaxprEqn, shape: list[int], reduced: tuple[int, ...]
) -> list[tuple[Var, tuple[int, ...]]]:
    """Return (operand, axes of the domain it is read along) for a reduction or small product."""
    if eqn.primitive.name != "dot_general":
        operand = eqn.invars[0]
        return [(operand, tuple(range(len(shape))))] if isinstance(operand, Var) else []
    lhs, rhs = (a.aval.shape for a in eqn.invars)
    lb, lf, lc, rb, rf, rc = dot_axes(eqn)
    kept = iter([a for a in range(len(shape)) if a not in reduced])
    batch = {a: next(kept) for a in lb if lhs[a] != 1}
    left = {a: next(kept) for a in lf if lhs[a] != 1} | batch
    right = {a: next(kept) for a in rf if rhs[a] != 1}
    right |= {b: batch[a] for a, b in zip(lb, rb, strict=True) if a in batch}
    inner = iter(reduced)
    for a, b in zip(lc, rc, strict=True):
        if lhs[a] != 1:
            left[a] = right[b] = next(inner)
    reads = []
    for operand, places in zip(eqn.invars, (left, right), strict=True):
        if isinstance(operand, Var):
            reads.append((operand, tuple(places[a] for a in sorted(places))))
    return reads


def is_good_row(shape: list[int], reduced: tuple[int, ...], itemsize: int) -> bool:
    """Say whether several sweeps over one row should share a kernel."""
    row, total = 1, 1
    for axis, n in enumerate(shape):
        total *= n
        row *= n if axis in reduced else 1
    is_trailing = reduced == tuple(range(len(shape) - len(reduced), len(shape)))
    if not is_trailing and row > UNROLL:
        return False
    return total <= SMALL_DOMAIN or (row * itemsize <= MAX_ROW_BYTES and total >= 4 * row)


def reduced_count(shape: list[int], reduced: tuple[int, ...]) -> int:
    """Return how many elements are combined into one."""
    count = 1
    for axis in reduced:
        count *= shape[axis]
    return count
