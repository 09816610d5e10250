"""Comparisons. In: two operands of one dtype. Out: bool, weakly typed if both operands are.

``eq ne lt le gt ge`` compare as IEEE does: NaN equals nothing. ``eq_to le_to lt_to`` use the total
order of bit patterns: -NaN < -inf < ... < -0.0 < 0.0 < ... < inf < NaN.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, not_differentiable
from jaxlite.primitives.families import ANY, REAL_OR_BOOL, Accepts, NaryElementwise, provide, quiet

_ANY_OR_KEY = (*ANY, "key<fry>", "key<rbg>", "key<urbg>")


class _Comparison(NaryElementwise):
    """``ufunc`` is NumPy's name; the kernel IR's is ours (less ``_to``)."""

    accepts: ClassVar[Accepts] = (REAL_OR_BOOL, REAL_OR_BOOL)
    jvp = not_differentiable("boolean result")
    ufunc: ClassVar[str]

    def result_dtype(self, dtype: Any, **params: Any) -> Any:
        return ir.BOOL

    @quiet
    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        return getattr(xp, self.ufunc)(x, y)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        return ir.compare(self.name, x, y)


class Eq(_Comparison):
    """``x == y``."""

    name = "eq"
    ufunc = "equal"
    accepts = (_ANY_OR_KEY, _ANY_OR_KEY)
    lowers_complex = True


class Ne(_Comparison):
    """``x != y``."""

    name = "ne"
    ufunc = "not_equal"
    accepts = (_ANY_OR_KEY, _ANY_OR_KEY)
    lowers_complex = True


class Lt(_Comparison):
    """``x < y``."""

    name = "lt"
    ufunc = "less"


class Le(_Comparison):
    """``x <= y``."""

    name = "le"
    ufunc = "less_equal"


class Gt(_Comparison):
    """``x > y``."""

    name = "gt"
    ufunc = "greater"


class Ge(_Comparison):
    """``x >= y``."""

    name = "ge"
    ufunc = "greater_equal"


class _TotalOrder(_Comparison):
    """Compares the bit patterns, turned so that integers are ordered as the floats are."""

    op: ClassVar[str]
    widens_half = False

    def impl(self, xp: ArrayModule, x: Any, y: Any) -> Any:
        if dtypes.kind_of(x.dtype) == "f":
            x, y = ordered_bits(xp, x), ordered_bits(xp, y)
        return getattr(xp, self.ufunc)(x, y)

    def lower(self, x: ir.Expr, y: ir.Expr) -> ir.Expr:
        if dtypes.kind_of(x.dtype) == "f":
            x, y = _ordered_expr(x), _ordered_expr(y)
        return ir.compare(self.op, x, y)


def ordered_bits(xp: ArrayModule, x: Any) -> Any:
    """Return signed integers ordered as the floats ``x`` in the total order."""
    word = np.dtype(f"i{x.dtype.itemsize}")
    bits = x.view(word)
    return xp.where(bits < 0, bits ^ np.iinfo(word).max, bits)


def _ordered_expr(x: ir.Expr) -> ir.Expr:
    word = np.dtype(f"i{x.dtype.itemsize}")
    bits = ir.bitcast(x, word)
    flipped = ir.binary("xor", bits, ir.const(np.iinfo(word).max, word))
    return ir.select(ir.compare("lt", bits, ir.const(0, word)), flipped, bits)


class EqTo(_TotalOrder):
    """Same place in the total order."""

    name = "eq_to"
    op = "eq"
    ufunc = "equal"
    accepts = (ANY, ANY)

    def can_lower(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> bool:
        return dtypes.kind_of(avals[0].dtype) != "c"


class LeTo(_TotalOrder):
    """Not after in the total order."""

    name = "le_to"
    op = "le"
    ufunc = "less_equal"


class LtTo(_TotalOrder):
    """Before in the total order."""

    name = "lt_to"
    op = "lt"
    ufunc = "less"


eq_p, ne_p, lt_p, le_p, gt_p, ge_p = Eq(), Ne(), Lt(), Le(), Gt(), Ge()
eq_to_p, le_to_p, lt_to_p = EqTo(), LeTo(), LtTo()


def eq(x: Value, y: Value) -> Value:
    """Return ``x == y``: ``T[*s], T[*s] -> bool[*s]``."""
    return eq_p.bind(x, y)


def ne(x: Value, y: Value) -> Value:
    """Return ``x != y``: ``T[*s], T[*s] -> bool[*s]``."""
    return ne_p.bind(x, y)


def lt(x: Value, y: Value) -> Value:
    """Return ``x < y``: ``T[*s], T[*s] -> bool[*s]``."""
    return lt_p.bind(x, y)


def le(x: Value, y: Value) -> Value:
    """Return ``x <= y``: ``T[*s], T[*s] -> bool[*s]``."""
    return le_p.bind(x, y)


def gt(x: Value, y: Value) -> Value:
    """Return ``x > y``: ``T[*s], T[*s] -> bool[*s]``."""
    return gt_p.bind(x, y)


def ge(x: Value, y: Value) -> Value:
    """Return ``x >= y``: ``T[*s], T[*s] -> bool[*s]``."""
    return ge_p.bind(x, y)


def eq_to(x: Value, y: Value) -> Value:
    """Return whether both are at one place of the total order: ``T[*s], T[*s] -> bool[*s]``."""
    return eq_to_p.bind(x, y)


def le_to(x: Value, y: Value) -> Value:
    """Return whether ``x`` is not after ``y`` in the total order: ``T[*s], T[*s] -> bool[*s]``."""
    return le_to_p.bind(x, y)


def lt_to(x: Value, y: Value) -> Value:
    """Return whether ``x`` is before ``y`` in the total order: ``T[*s], T[*s] -> bool[*s]``."""
    return lt_to_p.bind(x, y)


provide(eq=eq, ne=ne, lt=lt, le=le, gt=gt, ge=ge)

__all__ = [
    "eq", "eq_p", "eq_to", "eq_to_p", "ge", "ge_p", "gt", "gt_p", "le", "le_p", "le_to", "le_to_p",
    "lt", "lt_p", "lt_to", "lt_to_p", "ne", "ne_p",
]  # fmt: skip
