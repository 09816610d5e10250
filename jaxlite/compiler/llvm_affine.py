"""Stage 6 of 7, emit: what is known about expressions beforehand. In: Expr. Out: facts.

Three facts, each computed once per node: which changing names an expression depends on (as a bit
mask, to hoist it out of loops), its coefficient in a loop index (to choose contiguous loads), and
the range of an index (to compute vectors of indices in 32 bits). Next: ``llvm_expr.py``.
"""

from __future__ import annotations

from jaxlite.compiler.llvm_text import is_float
from jaxlite.kernel_ir.nodes import I64, Expr, const_value

Range = tuple[int, int]
INT32 = (-(2**31), 2**31 - 1)
_NARROW_BINARY = frozenset({"add", "sub", "mul", "div", "rem", "min", "max"})


class Symbols:
    """Gives every loop index, bound name and stored buffer a bit."""

    def __init__(self, stored_buffers: dict[str, str]) -> None:
        # Buffers that may be the same memory share a bit; buffers that are never stored have none.
        self._stored = stored_buffers
        self._bits: dict[tuple[str, str], int] = {}
        self._masks: dict[Expr, int] = {}

    def bit(self, kind: str, name: str) -> int:
        """Return the bit of an index, of a Let or Acc (kind ``name``) or of a buffer (``load``)."""
        if kind == "load":
            group = self._stored.get(name)
            if group is None:
                return 0
            name = group
        key = (kind, name)
        found = self._bits.get(key)
        if found is None:
            found = self._bits[key] = 1 << len(self._bits)
        return found

    def mask(self, e: Expr) -> int:
        """Return the bits of everything that ``e`` depends on."""
        masks = self._masks
        found = masks.get(e)
        if found is not None:
            return found
        stack = [e]
        while stack:
            node = stack[-1]
            missing = [a for a in node.args if a not in masks]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            total = 0
            for a in node.args:
                total |= masks[a]
            if node.kind in ("index", "name", "load"):
                total |= self.bit(node.kind, node.attrs[0])
            masks[node] = total
        return masks[e]


def coefficient(e: Expr, index: str, memo: dict[Expr, int | None]) -> int | None:
    """Return c if ``e = c * index + rest`` with a rest that is free of ``index``, else None.

    ``memo`` belongs to one index; names are taken as free of it.
    """
    if e in memo:
        return memo[e]
    result: int | None
    if e.kind == "index":
        result = 1 if e.attrs[0] == index else 0
    elif e.kind == "binary" and e.attrs[0] in ("add", "sub", "mul") and e.dtype == I64:
        result = _combined(e, index, memo)
    else:
        # Anything else is affine only if its operands do not vary at all.
        fixed = all(coefficient(a, index, memo) == 0 for a in e.args)
        result = 0 if fixed else None
    memo[e] = result
    return result


def _combined(e: Expr, index: str, memo: dict[Expr, int | None]) -> int | None:
    x, y = (coefficient(a, index, memo) for a in e.args)
    if x is None or y is None:
        return None
    if e.attrs[0] == "add":
        return x + y
    if e.attrs[0] == "sub":
        return x - y
    for factor, scaled in ((e.args[0], y), (e.args[1], x)):
        if factor.kind == "const":
            return int(const_value(factor)) * scaled
    return 0 if x == y == 0 else None


class Ranges:
    """Bounds of integer expressions, given the extents of the loops around them."""

    def __init__(self) -> None:
        self._extents: dict[str, int] = {}
        self._memo: dict[Expr, Range | None] = {}
        self._narrow: dict[Expr, bool] = {}

    def enter(self, index: str, extent: int) -> None:
        """Note that ``index`` runs over ``range(extent)`` from here on."""
        if self._extents.get(index) != extent:
            self._extents[index] = extent
            self._memo.clear()
            self._narrow.clear()

    def of(self, e: Expr) -> Range | None:
        """Return (least, greatest) of an integer or bool expression, None if unknown."""
        if e not in self._memo:
            self._memo[e] = self._compute(e)
        return self._memo[e]

    def _compute(self, e: Expr) -> Range | None:
        if e.kind == "const":
            if is_float(e.dtype) or e.dtype.kind == "c":
                return None
            value = int(const_value(e))
            return value, value
        if e.kind == "index":
            extent = self._extents.get(e.attrs[0])
            return None if extent is None else (0, max(extent - 1, 0))
        if e.kind == "cast" and e.dtype == I64:
            return self._of_cast(e.args[0])
        if e.kind == "select" and e.dtype == I64:
            x, y = self.of(e.args[1]), self.of(e.args[2])
            return (min(x[0], y[0]), max(x[1], y[1])) if x and y else None
        if e.kind == "binary" and e.dtype == I64:
            return self._of_binary(e)
        return None

    def _of_cast(self, source: Expr) -> Range | None:
        if source.dtype.kind == "b":
            return 0, 1
        if source.dtype.kind not in "iu" or source.dtype.itemsize > 4:
            return None
        bits = 8 * source.dtype.itemsize
        if source.dtype.kind == "u":
            return 0, 2**bits - 1
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def _of_binary(self, e: Expr) -> Range | None:
        op = e.attrs[0]
        x, y = self.of(e.args[0]), self.of(e.args[1])
        if op in ("min", "max"):
            return _of_clamp(op, x, y)
        if x is None or y is None:
            return None
        if op == "add":
            return x[0] + y[0], x[1] + y[1]
        if op == "sub":
            return x[0] - y[1], x[1] - y[0]
        if op == "mul":
            corners = [a * b for a in x for b in y]
            return min(corners), max(corners)
        if op in ("div", "rem") and y[0] == y[1] > 0 and x[0] >= 0:
            if op == "div":
                return x[0] // y[0], x[1] // y[0]
            return (0, min(x[1], y[0] - 1))
        return None

    def is_narrow(self, e: Expr) -> bool:
        """Say whether ``e`` (i64) can be computed in 32 bits from 32-bit operands."""
        found = self._narrow.get(e)
        if found is None:
            found = self._narrow[e] = self._find_narrow(e)
        return found

    def _find_narrow(self, e: Expr) -> bool:
        bounds = self.of(e)
        if bounds is None or bounds[0] < INT32[0] or bounds[1] > INT32[1]:
            return False
        if e.kind in ("const", "index", "cast"):
            return True
        if e.kind == "select":
            return all(self.is_narrow(a) for a in e.args[1:])
        return (
            e.kind == "binary"
            and e.attrs[0] in _NARROW_BINARY
            and all(self.is_narrow(a) for a in e.args)
        )


def _of_clamp(op: str, x: Range | None, y: Range | None) -> Range | None:
    """Bound min or max; one known side is enough to bound one end, so both ends need care."""
    full = (-(2**63), 2**63 - 1)
    a, b = x or full, y or full
    pick = min if op == "min" else max
    bounds = pick(a[0], b[0]), pick(a[1], b[1])
    return None if bounds == full else bounds
