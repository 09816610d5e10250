"""Which of the user's lines a generated line computes. In: a loop nest, operations. Out: places.

A line of a loop nest is one statement; what it computes last is one operation of the program. That
is the first one of its kind behind all operations whose results it reads. Arithmetic on positions
belongs to no line, and a statement that fits nothing stays without.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Op", "Origins", "ops_of", "origins"]

_LINE = re.compile(r"(acc )?(\w+)(?: \((\w+)\))?(\[.*\])? (=|<-) (.*)")
_LOOP = re.compile(r"for (\w+) in ")
_INFIX = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Mod: "rem",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shift_left",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.USub: "neg",
    ast.Invert: "not",
    ast.RShift: "shift_right_arithmetic",
}
#: What a composite primitive may end with in a loop nest.
_ALSO = {
    "integer_pow": ("mul", "div"),
    "square": ("mul",),
    "logistic": ("div",),
    "select_n": ("select",),
    "rsqrt": ("div",),
    "clamp": ("min", "max"),
    "dot_general": ("gemm",),
    "convert_element_type": ("f16", "bf16", "f32", "f64", "i32", "i64", "u32", "u8", "bool"),
}
#: Primitives that no statement ends with.
_QUIET = frozenset({"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "copy"})


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of a kernel: how its statement may end, its line, and what it reduces with."""

    ends: frozenset[str]
    line: int
    combiner: str = ""


@dataclass(slots=True)
class Origins:
    """The place of the user's line for every generated line, and for every name they assign."""

    lines: list[int | None] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)


def ops_of(eqns: Sequence[Any], line_of: Sequence[int]) -> list[Op]:
    """Return the operations of a kernel in order; ``line_of`` has the user's line of each."""
    found = []
    for eqn, line in zip(eqns, line_of, strict=True):
        name = eqn.primitive.name
        if name in _QUIET:
            continue
        combiner = getattr(eqn.primitive, "combiner", "") or ""
        ends = frozenset({name, *_ALSO.get(name, ())})
        found.append(Op(ends, line, combiner if isinstance(combiner, str) else ""))
    return found


def origins(lines: Sequence[str], ops: Sequence[Op]) -> Origins:
    """Return the origins of a loop nest's lines."""
    reader = _Reader(ops)
    result = Origins()
    for number, line in enumerate(lines):
        result.lines.append(reader.place(number, line.strip()))
    for number, acc in () if reader.is_one_line else reader.accumulators.items():
        place = reader.after.get(acc)
        result.lines[number] = None if place is None else ops[place].line
    result.names = {n: ops[k].line for n, k in reader.after.items() if k is not None}
    result.names |= dict.fromkeys(reader.own, ops[0].line) if reader.is_one_line else {}
    return result


class _Reader:
    def __init__(self, ops: Sequence[Op]) -> None:
        self.ops = ops
        self.is_one_line = len({op.line for op in ops}) == 1
        self.positions: set[str] = set()  # loop counters, and what is computed from them
        #: Name -> the operation that makes it; accumulators by the line that declares them.
        self.after: dict[str, int | None] = {}
        self.combiners: dict[str, str] = {}
        self.accumulators: dict[int, str] = {}
        self.reduced: set[int] = set()
        self.own: set[str] = set()  # names that are assigned, if all is one line

    def place(self, number: int, line: str) -> int | None:
        """Return the user's line of one generated line, and remember what it assigns."""
        loop = _LOOP.match(line)
        if loop:
            self.positions.add(loop[1])
            return None
        found = _LINE.fullmatch(line)
        if not found:
            return None
        is_acc, name, combiner, index, sign, text = found.groups()
        if is_acc:
            self.combiners[name] = combiner or ""
            self.accumulators[number] = name
            return self.ops[0].line if self.is_one_line else None
        try:
            value = ast.parse(text, mode="eval").body
        except SyntaxError:  # a form that Python does not have
            return None
        if not index and sign == "=" and self.is_position(value):
            self.positions.add(name)
            return None
        if self.is_one_line:
            self.own.add(name)
            return self.ops[0].line
        place = self.operation(value, self.combiners.get(name, "") if sign == "<-" else "")
        if sign == "<-" and place is not None:
            self.reduced.add(place)
        self.after[name] = place
        return None if place is None else self.ops[place].line

    def is_position(self, value: ast.expr) -> bool:
        """Say whether an expression is made of loop counters and whole numbers only."""
        names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        numbers = [n.value for n in ast.walk(value) if isinstance(n, ast.Constant)]
        is_known = names <= self.positions and all(type(n) is int for n in numbers)
        return is_known and bool(names) and not any(map(_is_load, ast.walk(value)))

    def operation(self, value: ast.expr, combiner: str) -> int | None:
        """Return the first operation of a kind behind everything the expression reads."""
        read = [self.after[n] for n in _names(value) if n in self.after]
        start = max([k for k in read if k is not None], default=-1)
        if combiner:
            for k in range(start + 1, len(self.ops)):
                if self.ops[k].combiner == combiner and k not in self.reduced:
                    return k
            return None
        kind = _kind(value)
        if kind is None:  # a bare name or a load
            return start if start >= 0 else None
        for k in range(start + 1, len(self.ops)):
            if kind in self.ops[k].ends and not self.ops[k].combiner:
                return k
        return None


def _names(value: ast.expr) -> Iterator[str]:
    return (n.id for n in ast.walk(value) if isinstance(n, ast.Name))


def _is_load(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript | ast.Call)


def _kind(value: ast.expr) -> str | None:
    """Return what an expression does last."""
    match value:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op):
            if isinstance(op, ast.USub) and isinstance(getattr(value, "operand", 0), ast.Constant):
                return None
            return _INFIX.get(type(op), "")
        case ast.Compare(ops=[op]):
            return _INFIX.get(type(op), "")
        case ast.Call(func=ast.Name(id=name)):
            return name
        case _:
            return None
