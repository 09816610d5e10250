"""Index arithmetic in normal form. In: expressions over loop indices. Out: simpler ones.

An index is a sum ``3*i + j + 5`` of terms with integer factors, plus terms that are opaque (a
gathered index, a division that stays). Normalising makes loads comparable ("is this contiguous?"),
folds the ``div``/``rem`` pairs that reshapes leave behind, and decides the comparisons of pads and
concatenates on the part of the domain where they are known::

    (i*12 + j) div 12, j < 12        ->  i
    (x div 7)*7 + x rem 7            ->  x
    select(i < 4, a, b), i in [0,4)  ->  a
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from jaxlite.kernel_ir import nodes as ir

Terms: TypeAlias = dict[ir.Expr, int]
Range: TypeAlias = tuple[int, int]  # inclusive

#: Wider than any i64, so that nothing is ever decided by it.
_UNKNOWN: Range = (-(2**200), 2**200)
_AFFINE = frozenset({"add", "sub", "mul", "div", "rem", "min", "max"})


class Form:
    """``sum(factor * term) + offset``."""

    __slots__ = ("offset", "terms")

    def __init__(self, terms: Terms, offset: int) -> None:
        self.terms = terms
        self.offset = offset

    def __repr__(self) -> str:
        return " + ".join([*(f"{c}*{t}" for t, c in self.terms.items()), str(self.offset)])

    def plus(self, other: Form, factor: int = 1) -> Form:
        """Return ``self + factor * other``."""
        terms = dict(self.terms)
        for term, c in other.terms.items():
            total = terms.get(term, 0) + factor * c
            if total:
                terms[term] = total
            else:
                terms.pop(term, None)
        return Form(terms, self.offset + factor * other.offset)

    def times(self, factor: int) -> Form:
        """Return ``factor * self``."""
        if factor == 0:
            return Form({}, 0)
        return Form({t: c * factor for t, c in self.terms.items()}, self.offset * factor)


class Normaliser:
    """Rewrites expressions under the assumption that each index lies in its range.

    Args:
        ranges: for each loop index (an ``index`` expression), its inclusive range; outer loops
            first.
        substitute: what an index becomes in the result (for loops that start above 0 or are
            collapsed).
    """

    def __init__(
        self, ranges: Mapping[ir.Expr, Range], substitute: Mapping[ir.Expr, Form] | None = None
    ) -> None:
        self.ranges = ranges
        self.order = {index: n for n, index in enumerate(ranges)}
        self.substitute = substitute or {}
        self.memo: dict[ir.Expr, ir.Expr] = {}
        self._forms: dict[ir.Expr, Form] = {}
        #: Forms of results. Apart from ``_forms``: after a substitution the same expression means
        #: another value in a result than in an argument (``i rem 2`` over a loop that starts at 1).
        self._atoms: dict[ir.Expr, Form] = {}
        self._range_memo: dict[ir.Expr, Range] = {}
        #: Every index sum that occurs in the results, for the choice of loops.
        self.used: dict[ir.Expr, Form] = {}
        #: Bounds of an index where a comparison changes: index -> values v of 'index < v'.
        self.splits: dict[ir.Expr, set[int]] = {}

    # --- expressions ---

    def rewrite(self, root: ir.Expr) -> ir.Expr:
        """Return ``root`` in normal form."""
        memo = self.memo
        found = memo.get(root)
        if found is not None:
            return found
        stack = [root]
        while stack:
            e = stack[-1]
            if e in memo:
                stack.pop()
            elif e.dtype is ir.I64 and (
                e.kind == "index" or (e.kind == "binary" and e.attrs[0] in _AFFINE)
            ):
                memo[e] = self.sum_of(self.form(e))
                stack.pop()
            elif e.kind == "select" and (side := self._decided(e.args[0])) is not None:
                chosen = e.args[1] if side else e.args[2]
                if chosen in memo:
                    memo[e] = memo[chosen]
                    stack.pop()
                else:
                    stack.append(chosen)
            else:
                waiting = [a for a in e.args if a not in memo]
                if waiting:
                    stack.extend(waiting)
                else:
                    memo[e] = self._rebuild(e)
                    stack.pop()
        return memo[root]

    def _rebuild(self, e: ir.Expr) -> ir.Expr:
        memo = self.memo
        args = tuple([memo[a] for a in e.args])
        if e.kind == "compare" and (known := self._decided(e)) is not None:
            return ir.const(known, ir.BOOL)
        if e.kind == "binary" and e.dtype == ir.BOOL and e.attrs[0] in ("and", "or"):
            return _fold_logic(e.attrs[0], *args)
        if e.kind == "select":
            return ir.select(*args)
        return e if args == e.args else ir.with_args(e, args)

    def _decided(self, condition: ir.Expr) -> bool | None:
        """Return the value of a comparison of indices, if the ranges decide it."""
        if condition.kind == "const":
            return bool(ir.const_value(condition))
        if (
            condition.kind == "binary"
            and condition.attrs[0] in ("and", "or")
            and condition.dtype == ir.BOOL
        ):
            sides = [self._decided(a) for a in condition.args]
            absorbing: bool = condition.attrs[0] == "or"
            if absorbing in sides:
                return absorbing
            return None if None in sides else not absorbing
        if condition.kind == "unary" and condition.attrs[0] == "not" and condition.dtype == ir.BOOL:
            inner = self._decided(condition.args[0])
            return None if inner is None else not inner
        if condition.kind != "compare" or condition.args[0].dtype is not ir.I64:
            return None
        difference = self.form(condition.args[0]).plus(self.form(condition.args[1]), -1)
        op = condition.attrs[0]
        value = _compare_with_zero(op, self.range_of(difference))
        if value is None:
            self._note_split(op, difference)
        return value

    def _note_split(self, op: str, difference: Form) -> None:
        """Remember where ``factor*i + offset op 0`` changes, if only one loop index is in it."""
        if len(difference.terms) != 1:
            return
        ((index, factor),) = difference.terms.items()
        if index.kind != "index" or op not in ("lt", "le", "gt", "ge"):
            return
        # f*i + o < 0 changes at the first i with f*i + o >= 0, that is ceil(-o / f), for f > 0.
        offset, is_strict = difference.offset, op in ("lt", "ge")
        if factor < 0:
            factor, offset, is_strict = -factor, -offset, not is_strict
        at = -(offset // factor) if is_strict else -offset // factor + 1
        self.splits.setdefault(index, set()).add(at)

    # --- sums ---

    def form(self, e: ir.Expr) -> Form:
        """Return ``e`` (i64) as a sum."""
        found = self._forms.get(e)
        if found is None:
            found = self._forms[e] = _merge_div_rem(self, self._make_form(e))
        return found

    def _make_form(self, e: ir.Expr) -> Form:
        if e.kind == "const":
            return Form({}, int(ir.const_value(e)))
        if e.kind == "index":
            return self.substitute.get(e) or Form({e: 1}, 0)
        if e.kind == "binary" and e.attrs[0] in _AFFINE:
            op = e.attrs[0]
            x, y = self.form(e.args[0]), self.form(e.args[1])
            if op == "add":
                return x.plus(y)
            if op == "sub":
                return x.plus(y, -1)
            if op == "mul":
                if not y.terms:
                    return x.times(y.offset)
                if not x.terms:
                    return y.times(x.offset)
            elif op in ("min", "max"):
                return self._form_of_bound(op, x, y)
            elif not y.terms and y.offset > 0:
                return self._form_of_division(op, x, y.offset)
            return self._atom(ir.binary(op, self.sum_of(x), self.sum_of(y)))
        return self._atom(self.rewrite(e))

    def _atom(self, e: ir.Expr) -> Form:
        if e.kind == "const":
            return Form({}, int(ir.const_value(e)))
        return self._atoms.setdefault(e, Form({e: 1}, 0))

    def _form_of_bound(self, op: str, x: Form, y: Form) -> Form:
        low, high = self.range_of(x.plus(y, -1))
        if high <= 0:
            return x if op == "min" else y
        if low >= 0:
            return y if op == "min" else x
        difference = x.plus(y, -1)
        # Cut where a comparison with the same bound would cut.
        self._note_split("le" if op == "min" else "lt", difference)
        e = ir.binary(op, self.sum_of(x), self.sum_of(y))
        (a, b), (c, d) = self.range_of(x), self.range_of(y)
        pick = min if op == "min" else max
        self._range_memo[e] = (pick(a, c), pick(b, d))
        return self._atom(e)

    def _form_of_division(self, op: str, x: Form, divisor: int) -> Form:
        """Split x into multiples of the divisor and a rest that is smaller than it, if it is."""
        low, high = self.range_of(x)
        if low < 0:
            return self._atom(ir.binary(op, self.sum_of(x), ir.i64(divisor)))
        if high < divisor:
            return x if op == "rem" else Form({}, 0)
        whole = Form(
            {t: c for t, c in x.terms.items() if c % divisor == 0}, x.offset - x.offset % divisor
        )
        rest = x.plus(whole, -1)
        low, high = self.range_of(rest)
        quotient = Form({t: c // divisor for t, c in whole.terms.items()}, whole.offset // divisor)
        if low >= 0 and high < divisor:
            return rest if op == "rem" else quotient
        if low >= 0 and (op == "rem" or whole.terms or whole.offset):
            e = ir.binary(op, self.sum_of(rest), ir.i64(divisor))
            self._range_memo[e] = (
                (0, divisor - 1) if op == "rem" else (low // divisor, high // divisor)
            )
            return self._atom(e) if op == "rem" else quotient.plus(self._atom(e))
        e = ir.binary(op, self.sum_of(x), ir.i64(divisor))
        low, high = self.range_of(x)
        self._range_memo[e] = (0, divisor - 1) if op == "rem" else (low // divisor, high // divisor)
        return self._atom(e)

    def known_form(self, e: ir.Expr) -> Form:
        """Return the sum an expression was made from."""
        return self.used.get(e) or self._atoms.get(e) or Form({e: 1}, 0)

    def range_of(self, form: Form) -> Range:
        """Return bounds of the sum."""
        low = high = form.offset
        for term, factor in form.terms.items():
            a, b = self.ranges.get(term) or self._range_memo.get(term, _UNKNOWN)
            if factor < 0:
                a, b = b, a
            low += factor * a
            high += factor * b
        return low, high

    def sum_of(self, form: Form) -> ir.Expr:
        """Return the expression of a sum: outer indices first, so that parts can be hoisted."""
        order = self.order
        total: ir.Expr | None = None
        terms = sorted(form.terms.items(), key=lambda item: order.get(item[0], -1))
        for term, factor in terms:
            part = term if factor == 1 else ir.binary("mul", term, ir.i64(_wrap(factor)))
            total = part if total is None else ir.binary("add", total, part)
        if total is None:
            e = ir.i64(_wrap(form.offset))
        elif form.offset:
            e = ir.binary("add", total, ir.i64(_wrap(form.offset)))
        else:
            e = total
        self.used[e] = form
        return e


def _merge_div_rem(normaliser: Normaliser, form: Form) -> Form:
    """Replace ``k*c*(x div c) + k*(x rem c)``, which split and joined axes leave, by ``k*x``."""
    for term, factor in tuple(form.terms.items()):
        if term.kind != "binary" or term.attrs[0] != "rem" or term.args[1].kind != "const":
            continue
        x, c = term.args
        divisor = int(ir.const_value(c))
        for other, k in form.terms.items():
            if k == factor * divisor and other.kind == "binary" and other.attrs[0] == "div":
                y = other.args[0]
                # (x rem m) rem c is x rem c if c divides m, so y may also be x rem m.
                if other.args[1] is c and (y is x or _is_rem_of(y, x, divisor)):
                    rest = {t: n for t, n in form.terms.items() if t not in (term, other)}
                    whole = normaliser.known_form(y)
                    return _merge_div_rem(normaliser, Form(rest, form.offset).plus(whole, factor))
    return form


def _is_rem_of(y: ir.Expr, x: ir.Expr, divisor: int) -> bool:
    if y.kind != "binary" or y.attrs[0] != "rem" or y.args[0] is not x:
        return False
    return y.args[1].kind == "const" and int(ir.const_value(y.args[1])) % divisor == 0


def _wrap(value: int) -> int:
    """Return ``value`` modulo 2**64: a user's i64 arithmetic wraps, indices stay small."""
    return (value + 2**63) % 2**64 - 2**63


def _compare_with_zero(op: str, bounds: Range) -> bool | None:
    """Return the value of ``x op 0`` for x within the bounds, if it is the same for all of them."""
    low, high = bounds
    if op in ("ge", "gt", "ne"):
        inverse = _compare_with_zero({"ge": "lt", "gt": "le", "ne": "eq"}[op], bounds)
        return None if inverse is None else not inverse
    if op == "lt":
        return True if high < 0 else (False if low >= 0 else None)
    if op == "le":
        return True if high <= 0 else (False if low > 0 else None)
    if low == high == 0:
        return True
    return False if low > 0 or high < 0 else None


def _fold_logic(op: str, x: ir.Expr, y: ir.Expr) -> ir.Expr:
    neutral = op == "and"
    for a, b in ((x, y), (y, x)):
        if a.kind == "const":
            return b if bool(ir.const_value(a)) == neutral else a
    return ir.binary(op, x, y)


class Renamer:
    """Gives the loops of a nest new indices: loops that every sum runs through in one go are one.

    ``i*4 + j`` with ``j < 4`` is ``f`` with one loop over ``f``.
    """

    def __init__(self, normaliser: Normaliser, groups: list[list[tuple[ir.Expr, int]]]) -> None:
        self.used = normaliser.used
        self.new_of = {group[-1][0]: group[0][0] for group in groups}
        self.dropped = {index for group in groups for index, _ in group[:-1]}
        ranges: dict[ir.Expr, Range] = {}
        for group in groups:
            extent = 1
            for _, n in group:
                extent *= n
            ranges[group[0][0]] = (0, extent - 1)
        self.sums = Normaliser(ranges)
        self.memo: dict[ir.Expr, ir.Expr] = {}

    def rename(self, root: ir.Expr) -> ir.Expr:
        """Return ``root`` over the new indices."""
        memo = self.memo
        stack = [root]
        while stack:
            e = stack[-1]
            if e in memo:
                stack.pop()
                continue
            form = self.used.get(e)
            if form is not None and (e not in form.terms or e.kind == "index"):
                memo[e] = self._sum(form)
                stack.pop()
                continue
            waiting = [a for a in e.args if a not in memo]
            if waiting:
                stack.extend(waiting)
                continue
            args = tuple([memo[a] for a in e.args])
            memo[e] = e if args == e.args else ir.with_args(e, args)
            stack.pop()
        return memo[root]

    def _sum(self, form: Form) -> ir.Expr:
        terms: Terms = {}
        for term, factor in form.terms.items():
            if term in self.new_of:
                terms[self.new_of[term]] = factor
            elif term not in self.dropped:
                terms[self.rename(term) if term.args else term] = factor
        return self.sums.sum_of(Form(terms, form.offset))


def collapsible(
    normaliser: Normaliser, loops: list[tuple[ir.Expr, int]]
) -> list[list[tuple[ir.Expr, int]]]:
    """Group adjacent loops (index, extent; outermost first) that can be one loop."""
    groups: list[list[tuple[ir.Expr, int]]] = []
    forms = normaliser.used.values()
    for index, extent in loops:
        if groups:
            previous = groups[-1][-1][0]
            if all(f.terms.get(previous, 0) == extent * f.terms.get(index, 0) for f in forms):
                groups[-1].append((index, extent))
                continue
        groups.append([(index, extent)])
    return groups
