"""One element of a value, through its producers. In: equations. Out: a kernel IR expression.

``Puller.element(v, (i, j))`` is element ``[i, j]`` of ``v``: a load if ``v`` lies in memory, a
constant if it is a literal, else what the ``pull`` rule of its equation makes of the operands'
elements. Nothing is computed twice: (var, index) pairs are remembered and expressions are
hash-consed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import Atom, JaxprEqn, Literal, Var
from jaxlite.primitives.families import Pull

Index: TypeAlias = tuple[ir.Expr, ...]
ZERO = ir.i64(0)
_F32 = np.dtype(np.float32)
_HALF = frozenset({np.dtype(np.float16), np.dtype(dtypes.bfloat16)})


class Operand:
    """An operand as ``pull`` rules see it: call it with an index to get that element."""

    __slots__ = ("atom", "aval", "puller")

    def __init__(self, puller: Puller, atom: Atom) -> None:
        self.puller = puller
        self.atom = atom
        self.aval: ShapedArray = atom.aval

    def __call__(self, index: Index) -> ir.Expr:
        """Return element ``index``."""
        return self.puller.element(self.atom, index)


class Puller:
    """Knows, for one kernel, which values are in memory and which are made on the spot.

    ``flat``: the stand-in index of a kernel whose values are all read at the same place; a load
    with it uses the loop index itself as the position (no per-axis arithmetic at all).
    """

    def __init__(self, producers: dict[Var, JaxprEqn], flat: Index | None = None) -> None:
        self.producers = producers
        self.flat = flat
        self.params: dict[Var, ir.Param] = {}
        self.scalars: dict[Var, ir.Expr] = {}  # results of this kernel's own reductions
        self.memo: dict[tuple[Var, Index], ir.Expr] = {}

    def element(self, atom: Atom, index: Index) -> ir.Expr:
        """Return element ``index`` of ``atom``."""
        if isinstance(atom, Literal):
            return literal(atom)
        found = self.memo.get((atom, index))
        if found is None:
            scalar = self.scalars.get(atom)
            if scalar is not None:
                return scalar
            eqn = self.producers.get(atom)
            found = self.load(atom, index) if eqn is None else self.result(eqn, index)
            self.memo[atom, index] = found
        return found

    def result(self, eqn: JaxprEqn, index: Index) -> ir.Expr:
        """Return element ``index`` of the equation's result."""
        operands = tuple([Operand(self, a) for a in eqn.invars])
        primitive: Any = eqn.primitive
        if hasattr(primitive, "pull"):
            return primitive.pull(operands, index, **eqn.params)  # type: ignore[no-any-return]
        if primitive.name == "dot_general":
            return unrolled_dot(eqn, operands, index)
        return unrolled_reduction(eqn, operands[0], index)

    def load(self, var: Var, index: Index) -> ir.Expr:
        """Return a load from the kernel parameter that holds ``var``."""
        param = self.params.get(var)
        if param is None:
            dtype = dtypes.storage_dtype(var.aval.dtype)
            param = ir.Param(f"in{len(self.params)}", dtype, var.aval.size)
            self.params[var] = param
        if param.size == 1:
            at = ZERO
        else:
            at = index[0] if index is self.flat else linear(index, var.aval.shape)
        return ir.load(param.name, at, param.dtype)


def literal(atom: Literal) -> ir.Expr:
    """Return a literal as a constant of its aval's dtype."""
    return ir.const(atom.val, dtypes.storage_dtype(atom.aval.dtype))


def linear(index: Index, shape: Sequence[int]) -> ir.Expr:
    """Return the row-major position of ``index`` in an array of ``shape``."""
    at = ZERO
    stride = 1
    for i, size in zip(reversed(index), reversed(shape), strict=True):
        if size != 1:
            step = i if stride == 1 else ir.binary("mul", i, ir.i64(stride))
            at = step if at is ZERO else ir.binary("add", step, at)
            stride *= size
    return at


def accumulator_dtype(dtype: Any, combiner: str) -> np.dtype[Any]:
    """Return the dtype sums and products of ``dtype`` are accumulated in."""
    return _F32 if dtype in _HALF and combiner in ("add", "mul") else np.dtype(dtype)


def combine(combiner: str, x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """Return ``combiner(x, y)``."""
    return ir.binary(combiner, x, y)


def unrolled_reduction(eqn: JaxprEqn, x: Pull, index: Index) -> ir.Expr:
    """Return element ``index`` of a reduction over few elements, written out."""
    primitive: Any = eqn.primitive
    if hasattr(primitive, "select_max"):
        return ir.const(0, eqn.outvars[0].aval.dtype)  # the place of the only element
    axes = eqn.params["axes"]
    shape = x.aval.shape
    dtype = dtypes.storage_dtype(x.aval.dtype)
    wide = accumulator_dtype(dtype, primitive.combiner)
    terms = []
    for point in product(*(range(shape[a]) for a in axes)):
        full = list(index)
        for axis, i in sorted(zip(axes, point, strict=True)):
            full.insert(axis, ir.i64(i))
        terms.append(ir.cast(x(tuple(full)), wide))
    if not terms:
        return ir.const(primitive.identity(dtype), dtype)
    return ir.cast(reduce(lambda a, b: combine(primitive.combiner, a, b), terms), dtype)


def dot_axes(eqn: JaxprEqn) -> tuple[tuple[int, ...], ...]:
    """Return the batch, free and contracted axes of lhs, then those of rhs."""
    (lc, rc), (lb, rb) = eqn.params["dimension_numbers"]
    lc, rc, lb, rb = tuple(lc), tuple(rc), tuple(lb), tuple(rb)
    lf = tuple(a for a in range(eqn.invars[0].aval.ndim) if a not in lc and a not in lb)
    rf = tuple(a for a in range(eqn.invars[1].aval.ndim) if a not in rc and a not in rb)
    return lb, lf, lc, rb, rf, rc


def dot_term(
    eqn: JaxprEqn,
    operands: tuple[Pull, ...],
    index: Index,
    contracted: Index,
    wide: np.dtype[Any],
) -> ir.Expr:
    """Return the product ``lhs[...] * rhs[...]`` that contributes to element ``index``."""
    lb, lf, lc, rb, rf, rc = dot_axes(eqn)
    batch, rest = index[: len(lb)], index[len(lb) :]
    lhs_at = dict(zip((*lb, *lf, *lc), (*batch, *rest[: len(lf)], *contracted), strict=True))
    rhs_at = dict(zip((*rb, *rf, *rc), (*batch, *rest[len(lf) :], *contracted), strict=True))
    x = operands[0](tuple([lhs_at[a] for a in range(len(lhs_at))]))
    y = operands[1](tuple([rhs_at[a] for a in range(len(rhs_at))]))
    return ir.binary("mul", ir.cast(x, wide), ir.cast(y, wide))


def dot_dtypes(eqn: JaxprEqn) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtype a product is accumulated in and the dtype of its result."""
    out = np.dtype(eqn.outvars[0].aval.dtype)
    return accumulator_dtype(out, "add"), out


def unrolled_dot(eqn: JaxprEqn, operands: tuple[Pull, ...], index: Index) -> ir.Expr:
    """Return element ``index`` of a product with a short contraction, written out."""
    wide, out = dot_dtypes(eqn)
    lc = dot_axes(eqn)[2]
    sizes = [eqn.invars[0].aval.shape[a] for a in lc]
    total: ir.Expr | None = None
    for point in product(*map(range, sizes)):
        term = dot_term(eqn, operands, index, tuple(map(ir.i64, point)), wide)
        total = term if total is None else ir.binary("add", total, term)
    return ir.cast(ir.const(0, wide) if total is None else total, out)
