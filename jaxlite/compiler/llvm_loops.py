"""Stage 6 of 7, emit: how a vector loop is cut. In: For. Out: ``VectorPlan``, ``Facts``.

A loop of n elements runs in pieces of w lanes. Extents are known, so there are no masks: if w does
not divide n, the last piece is moved back to end at n and computes some elements twice. That
changes nothing unless a sum would count them twice (then those lanes are blanked) or the kernel
reads what it has written (then the rest runs as scalars). Next: ``llvm_kernel.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from jaxlite.compiler.llvm_affine import Ranges
from jaxlite.compiler.llvm_math import MATH_UNARY
from jaxlite.compiler.llvm_text import Code, is_half
from jaxlite.kernel_ir.nodes import I64, Acc, Combine, Expr, For, If, Let, Set, Stmt, Store
from jaxlite.kernel_ir.target import Target

_IDEMPOTENT = frozenset({"min", "max", "and", "or"})
#: Loop bodies of at most this many operations get several registers per operand.
_SMALL_BODY = 16


@dataclass(slots=True)
class Facts:
    """What a piece of code does to the world around it."""

    stored: frozenset[str]
    loaded: frozenset[str]
    assigned: tuple[str, ...]  # accumulators, in order of first use
    declared: frozenset[str]
    names: frozenset[str]  # of Let and Acc that are read
    has_set: bool
    has_if: bool
    has_loop: bool
    values: tuple[Expr, ...]  # what it computes, without addresses


def facts_of(body: tuple[Stmt, ...]) -> Facts:
    """Return the facts about ``body``, nested statements included."""
    all_statements = list(_flat(body))
    values: list[Expr] = []
    addresses: list[Expr] = []
    for s in all_statements:
        match s:
            case Let(_, value) | Combine(_, value) | Set(_, value):
                values.append(value)
            case Acc(_, init, _):
                values.append(init)
            case Store(_, at, value):
                values.append(value)
                addresses.append(at)
            case If(condition, _, _):
                values.append(condition)
            case For():
                pass
    nodes = list(_distinct([*values, *addresses]))
    assigned = dict.fromkeys(s.name for s in all_statements if isinstance(s, (Combine, Set)))
    return Facts(
        stored=frozenset(s.buffer for s in all_statements if isinstance(s, Store)),
        loaded=frozenset(e.attrs[0] for e in nodes if e.kind == "load"),
        names=frozenset(e.attrs[0] for e in nodes if e.kind == "name"),
        assigned=tuple(assigned),
        declared=frozenset(s.name for s in all_statements if isinstance(s, Acc)),
        has_set=any(isinstance(s, Set) for s in all_statements),
        has_if=any(isinstance(s, If) for s in all_statements),
        has_loop=any(isinstance(s, For) for s in all_statements),
        values=tuple(values),
    )


def _flat(body: Iterable[Stmt]) -> Iterator[Stmt]:
    for s in body:
        yield s
        if isinstance(s, For):
            yield from _flat(s.body)
        elif isinstance(s, If):
            yield from _flat(s.body)
            yield from _flat(s.orelse)


def _distinct(roots: Iterable[Expr], into_addresses: bool = True) -> Iterator[Expr]:
    """Yield every node under ``roots`` once."""
    seen: set[Expr] = set()
    stack = list(roots)
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        yield e
        if into_addresses or e.kind != "load":
            stack.extend(e.args)


@dataclass(frozen=True, slots=True)
class Span:
    """The indices ``range(start, stop, step)``, at least one; none of them goes beyond ``clamp``.

    Numbers, or registers of a function that gets its range as arguments.
    """

    start: int | str
    stop: int | str
    step: int = 1
    clamp: int | None = None

    @property
    def is_single(self) -> bool:
        """Whether there is one index only, as far as is known now."""
        if isinstance(self.start, str) or isinstance(self.stop, str):
            return False
        return self.stop - self.start <= self.step

    def advance(self, code: Code, i: str) -> tuple[str, str]:
        """Emit the index after ``i``, and whether there is one."""
        following = code.put(f"add nuw nsw i64 {i}, {self.step}")
        more = code.put(f"icmp ult i64 {following}, {self.stop}")
        if self.clamp is not None:
            inside = code.put(f"icmp ult i64 {following}, {self.clamp}")
            following = code.put(f"select i1 {inside}, i64 {following}, i64 {self.clamp}")
        return following, more


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """The first ``main`` of n elements run in pieces of ``lanes``, then there is a tail.

    ``clamped``: the last piece of the main part is moved back to end at n, and there is no tail.
    """

    lanes: int
    main: int
    clamped: bool = False
    tail: Literal["none", "overlap", "narrower"] = "none"


def plan_vector_loop(
    target: Target,
    n: int,
    facts: Facts,
    combiners: AbstractSet[str | None],
    reads_stored: bool,
    ranges: Ranges,
) -> VectorPlan | None:
    """Return how to cut a loop of ``n`` iterations, None if it has to run as scalars."""
    sets_outer = facts.has_set and any(n not in facts.declared for n in facts.assigned)
    if facts.has_if or (sets_outer and None in combiners):
        return None
    lanes = _lanes(target, n, facts, bool(combiners), ranges)
    if lanes < 2:
        return None
    main = n - n % lanes
    if main == n:
        return VectorPlan(lanes, n)
    if reads_stored:
        return VectorPlan(lanes, main, tail="narrower")
    if combiners <= _IDEMPOTENT:
        return VectorPlan(lanes, n, clamped=True)
    return VectorPlan(lanes, main, tail="overlap")


def _lanes(target: Target, n: int, facts: Facts, reduces: bool, ranges: Ranges) -> int:
    """Choose a power of two: registers of the widest element type, several if the body is small."""
    widest, work, calls = 1, 0, 0
    for e in _distinct(facts.values, into_addresses=False):
        widest = max(widest, _element_bytes(e, ranges))
        work += e.kind not in ("const", "index", "name")
        calls += e.kind in ("unary", "binary") and e.attrs[0] in _CALLS
    lanes = target.vector_bits // 8 // widest
    if calls == 0 and work <= _SMALL_BODY:
        factor = 4 if reduces or facts.has_loop else 2
        while factor > 1 and n < 2 * factor * lanes:
            factor //= 2
        lanes *= factor
    while lanes > n:
        lanes //= 2
    return lanes


_CALLS = MATH_UNARY | {"pow", "atan2"}


def _element_bytes(e: Expr, ranges: Ranges) -> int:
    """Return the bytes of one lane of ``e`` in registers."""
    if is_half(e.dtype) or (e.dtype == I64 and ranges.is_narrow(e)):
        return 4
    return e.dtype.itemsize // 2 if e.dtype.kind == "c" else e.dtype.itemsize
