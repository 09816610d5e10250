"""A jaxpr as boxes and arrows. In: a closed jaxpr and names. Out: ``OpGraph``.

Calls are opened. What a reader would not draw is folded into its reader and leaves a note there:
broadcasts, conversions of constants, arithmetic on constants, the division of a mean.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jaxlite_ipython.views.costs import (
    bodies_of,
    call_body,
    count_ops,
    family_of,
    flops_of,
    label_of,
    params_text,
    reduced_count,
    role_of,
)
from jaxlite_ipython.views.source_lines import Lane, find_lanes
from jaxlite_ipython.views.words import count

__all__ = ["Node", "OpGraph", "build_graph"]

_INFIX = {
    "sub": "\N{MINUS SIGN}",
    "div": "\N{DIVISION SIGN}",
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "div": operator.truediv,
    "gt": operator.gt,
    "lt": operator.lt,
    "ge": operator.ge,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
}
_COMMUTES = frozenset({"add", "mul", "max", "min", "eq", "ne", "and", "or", "xor"})


@dataclass(slots=True, eq=False)
class Node:
    """One box. ``reads`` maps each box it reads from to the bytes that go along that arrow."""

    kind: str  # input, constant, op, output
    label: str
    type: str
    family: str
    n_bytes: float
    lane: Lane | None = None
    notes: list[str] = field(default_factory=list)
    reads: dict[Node, float] = field(default_factory=dict)
    id: str = ""
    detail: str = ""
    flops: float = 0.0
    n_ops: int = 1
    times: int = 1
    is_used: bool = True
    eqn: Any = None
    divisor: float | None = None
    #: Equations that this box shows besides ``eqn``.
    folded: list[Any] = field(default_factory=list)
    #: Column of a picture with several: '' is the function itself.
    side: str = ""
    #: Boxes of one cause in different columns have the same (for pages that light them up).
    pair: str = ""
    #: Share of a bar below the box, and what it says.
    gauge: tuple[float, str] | None = None
    is_dim: bool = False
    #: What is wrong here; drawn instead of the notes.
    alert: str = ""
    #: A mark on its left side: the batch axis.
    edge: str = ""

    @property
    def is_op(self) -> bool:
        """Whether this is an operation (not an input, constant or output)."""
        return self.kind == "op"

    @property
    def name(self) -> str:
        """How texts refer to the box: an input by its name, an operation by its number.

        In the second column and the third the number has a letter and a dot before it, so that it
        is no name of a variable.
        """
        if not self.is_op:
            return self.label
        return f"{self.id[0]}.{self.id[1:]}" if self.side else self.id.removeprefix("op")


@dataclass(slots=True, eq=False)
class OpGraph:
    """All boxes in program order, the lanes of the operations, and totals."""

    nodes: list[Node]
    lanes: list[Lane]
    n_ops: int
    flops: float
    #: Lane of each equation, also of those without a box (key: its id).
    places: dict[int, Lane] = field(default_factory=dict)

    def of_kind(self, kind: str) -> list[Node]:
        """Return the boxes of one kind, in order."""
        return [n for n in self.nodes if n.kind == kind]

    @property
    def ops(self) -> list[Node]:
        """The operations, in program order."""
        return self.of_kind("op")


class Value(NamedTuple):
    """What a var stands for: the box that made it (None: a constant), its text, what was folded."""

    node: Node | None
    text: str
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Step:
    """One equation as it was met: what it counts for and the box it became, if any."""

    source: Any
    n_ops: int
    flops: float
    node: Node | None
    eqn: Any


def build_graph(
    closed: Any,
    arg_names: Sequence[str],
    result_names: Sequence[str],
    const_names: Sequence[str] = (),
    *,
    open_calls: bool = True,
    keep_rules: bool = False,
) -> OpGraph:
    """Return the graph of a closed jaxpr.

    ``open_calls=False`` keeps calls with a name as one box, ``keep_rules`` those with a derivative
    of their own.
    """
    builder = _Builder(open_calls, keep_rules)
    jaxpr = closed.jaxpr
    env: dict[Any, Value] = {}
    for var, name in zip(jaxpr.invars, arg_names, strict=True):
        env[var] = builder.given("input", name, var.aval)
    labels = [
        *const_names,
        *[f"constant {k + 1}" for k in range(len(const_names), len(closed.consts))],
    ]
    for var, value, name in zip(jaxpr.constvars, closed.consts, labels, strict=True):
        env[var] = builder.constant(var.aval, value, name)
    outs = builder.run(jaxpr, env, None)
    for k, (value, atom) in enumerate(zip(outs, jaxpr.outvars, strict=True)):
        name = result_names[k] if k < len(result_names) else f"[{k}]"
        builder.result(value, name, atom.aval)
    return builder.finish()


class _Builder:
    def __init__(self, open_calls: bool, keep_rules: bool) -> None:
        self.open_calls, self.keep_rules = open_calls, keep_rules
        self.nodes: list[Node] = []
        self.results: list[Node] = []
        self.steps: list[_Step] = []

    def given(self, kind: str, name: str, aval: Any) -> Value:
        """Add an input or a captured constant."""
        node = Node(kind, name, aval.str_short(), kind, aval_bytes(aval))
        self.nodes.append(node)
        return Value(node, name)

    def constant(self, aval: Any, value: Any, name: str) -> Value:
        """Add a captured array; a single number is written where it is used instead."""
        if math.prod(aval.shape) == 1 and not hasattr(aval.dtype, "key_name"):
            try:
                return Value(None, number_text(np.asarray(value).reshape(())[()]))
            except (TypeError, ValueError):
                pass  # a key or a traced value has no number to show: it gets a box
        return self.given("constant", name, aval)

    def result(self, value: Value, name: str, aval: Any) -> None:
        """Add an output."""
        node = Node("output", name, aval.str_short(), "output", aval_bytes(aval))
        node.notes += value.notes
        if value.node is None:
            node.notes.append(f"constant {value.text}")
        else:
            node.reads[value.node] = node.n_bytes
        self.results.append(node)

    def run(self, jaxpr: Any, env: dict[Any, Value], call_source: Any) -> list[Value]:
        """Add the equations of ``jaxpr``; return the values of its results."""
        for eqn in jaxpr.eqns:
            source = eqn.source or call_source
            values = [self.value(a, env) for a in eqn.invars]
            if role_of(eqn) == "call" and self.is_open(eqn):
                outs = self.open(call_body(eqn), values, source)
            else:
                outs = self.equation(eqn, values, source)
            env.update(zip(eqn.outvars, outs, strict=True))
        return [self.value(a, env) for a in jaxpr.outvars]

    def is_open(self, eqn: Any) -> bool:
        """Say whether a call is shown as what is inside it."""
        is_plain = eqn.primitive.name in ("jit", "pjit")
        if self.keep_rules and not is_plain:
            return False
        return self.open_calls or not (is_plain and eqn.params.get("name"))

    def open(self, body: Any, values: list[Value], source: Any) -> list[Value]:
        """Add the equations of a call in its place."""
        jaxpr = getattr(body, "jaxpr", body)
        env = dict(zip(jaxpr.invars, values, strict=True))
        for k, (var, const) in enumerate(zip(jaxpr.constvars, getattr(body, "consts", ()))):
            env[var] = self.constant(var.aval, const, f"inner constant {k + 1}")
        return self.run(jaxpr, env, source)

    def value(self, atom: Any, env: dict[Any, Value]) -> Value:
        """Return what an atom stands for."""
        if hasattr(atom, "val"):
            return Value(None, number_text(atom.val))
        return env[atom]

    def equation(self, eqn: Any, values: list[Value], source: Any) -> list[Value]:
        """Add one equation, as a box or folded."""
        n_ops, flops = count_ops(eqn), flops_of(eqn)
        folded = self.fold(eqn, values)
        if folded is not None:
            self.steps.append(_Step(source, n_ops, flops, None, eqn))
            return [folded]
        node = self.box(eqn, values)
        node.n_ops, node.flops = n_ops, flops
        self.nodes.append(node)
        self.steps.append(_Step(source, n_ops, flops, node, eqn))
        text = node.label
        return [Value(node, text)] * len(eqn.outvars)

    def fold(self, eqn: Any, values: list[Value]) -> Value | None:
        """Return the value of an equation that gets no box of its own."""
        name = eqn.primitive.name
        if len(eqn.outvars) != 1 or eqn.effects or not values or role_of(eqn):
            return None
        first = values[0]
        if name == "broadcast_in_dim":
            note = _broadcast_note(first, eqn) if first.node is not None else ""
            return first._replace(notes=(*first.notes, note) if note else first.notes)
        if name == "convert_element_type":
            same = eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype
            if same or first.node is None:
                return first
        if all(v.node is None for v in values) and math.prod(eqn.outvars[0].aval.shape) == 1:
            return Value(None, _constant_text(name, label_of(eqn), [v.text for v in values]))
        return None

    def box(self, eqn: Any, values: list[Value]) -> Node:
        """Return the box of an equation."""
        kinds = [v.aval for v in eqn.outvars]
        n_bytes = sum(aval_bytes(a) for a in kinds)
        type_text = max(kinds, key=aval_bytes).str_short() if kinds else "no result"
        if len(kinds) > 1:
            type_text = f"{type_text} +{len(kinds) - 1}"
        node = Node("op", label_of(eqn), type_text, family_of(eqn), n_bytes, eqn=eqn)
        node.detail = params_text(eqn)
        for value, atom in zip(values, eqn.invars, strict=True):
            if value.node is not None:
                size = aval_bytes(atom.aval)
                node.reads[value.node] = max(node.reads.get(value.node, 0.0), size)
                node.notes += [n for n in value.notes if n not in node.notes]
        role = role_of(eqn)
        if not role:
            _name_constants(node, eqn.primitive.name, values)
        elif role != "call":
            node.notes.append(_inside(role, eqn))
        return node

    def finish(self) -> OpGraph:
        """Give lanes, numbers and totals."""
        lanes, places = find_lanes(step.source for step in self.steps)
        for step, lane in zip(self.steps, places, strict=True):
            lane.n_ops += step.n_ops
            lane.flops += step.flops
            if step.node is not None:
                step.node.lane = lane
        self.nodes += self.results
        _fold_means(self.nodes)
        nodes = [n for n in self.nodes if n.kind != "gone"]
        number_nodes(nodes)
        drawn = {id(n.lane) for n in nodes if n.is_op}
        return OpGraph(
            nodes,
            [lane for lane in lanes if id(lane) in drawn or lane.n_ops],
            sum(lane.n_ops for lane in lanes),
            sum(lane.flops for lane in lanes),
            {id(step.eqn): lane for step, lane in zip(self.steps, places, strict=True)},
        )


def aval_bytes(aval: Any) -> float:
    """Return how many bytes a value of this type takes."""
    return float(math.prod(aval.shape)) * getattr(aval.dtype, "itemsize", 8)


def number_text(value: Any) -> str:
    """Return a number in few characters: ``0.5``, ``1e-05``, ``640``, ``inf``."""
    item = value.item() if hasattr(value, "item") else value
    if isinstance(item, bool):
        return str(item)
    if isinstance(item, int):
        return str(item) if abs(item) < 10**9 else f"{float(item):.4g}"
    return f"{item:.5g}" if isinstance(item, float | complex) else str(item)


def _constant_text(primitive: str, label: str, operands: Sequence[str]) -> str:
    """Return what arithmetic on constants gives, or how it is written."""
    compute = _ARITHMETIC.get(primitive)
    if compute is not None:
        try:
            return number_text(compute(*map(float, operands)))
        except (ValueError, ArithmeticError):
            pass  # not numbers that Python can show: the call itself is shown
    return f"{label}({', '.join(operands)})"


def _broadcast_note(value: Value, eqn: Any) -> str:
    """Say how a broadcast stretches its operand; '' if it only adds axes or repeats one number."""
    source, target = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    if math.prod(source) in (1, math.prod(target)):
        return ""
    dims = eqn.params["broadcast_dimensions"]
    kept = [d for axis, d in enumerate(dims) if source[axis] == target[d] != 1]
    name = value.text
    if len(target) == 2 and kept == [1]:
        return f"{name} broadcast over {count(target[0], 'row')}"
    if len(target) == 2 and kept == [0]:
        return f"{name} broadcast over {count(target[1], 'column')}"
    return f"{name} broadcast to [{','.join(map(str, target))}]"


def _name_constants(node: Node, primitive: str, values: Sequence[Value]) -> None:
    """Write the constants among the operands into the label, or into a note."""
    constants = [v.text for v in values if v.node is None]
    if not constants:
        return
    texts = [c if len(c) <= 14 else "constant" for c in constants]
    if len(values) == 2 and len(constants) == 1 and node.family == "elementwise":
        first = values[0].node is None
        if first and primitive not in _COMMUTES:
            node.label = f"{texts[0]} {_INFIX.get(primitive, node.label)} \N{MIDDLE DOT}"
        else:
            node.label = f"{node.label} {texts[0]}"
        if primitive == "div" and not first:
            try:
                node.divisor = float(constants[0])
            except ValueError:
                node.divisor = None
        return
    node.notes.append(f"with {', '.join(dict.fromkeys(texts))}")


def _inside(role: str, eqn: Any) -> str:
    n = [sum(count_ops(e) for e in body.eqns) for body in bodies_of(eqn)]
    if role == "while":
        return f"{count(n[0], 'op')} to test, {count(n[-1], 'op')} a step"
    if role == "cond":
        return f"{count(len(n), 'branch', 'branches')}: {', '.join(count(k, 'op') for k in n)}"
    return f"{count(sum(n), 'op')} a step"


def _fold_means(nodes: Iterable[Node]) -> None:
    """Turn a sum and the division by its number of elements into one box, ``mean``."""
    every = list(nodes)
    readers: dict[int, list[Node]] = {}
    for node in every:
        for source in node.reads:
            readers.setdefault(id(source), []).append(node)
    for node in every:
        if node.divisor is None or len(node.reads) != 1:
            continue
        (total,) = node.reads
        if not total.is_op or total.lane is not node.lane or len(readers[id(total)]) != 1:
            continue
        if total.eqn is None or total.eqn.primitive.name != "reduce_sum":
            continue
        if reduced_count(total.eqn) != node.divisor:
            continue
        _merge_mean(total, node, readers.get(id(node), []))


def _merge_mean(total: Node, division: Node, users: list[Node]) -> None:
    total.label, total.type, total.n_bytes = "mean", division.type, division.n_bytes
    total.notes.append(f"sum \N{DIVISION SIGN} {division.divisor:,.0f}")
    total.n_ops += division.n_ops
    total.flops += division.flops
    total.folded.append(division.eqn)
    division.kind = "gone"
    for user in users:
        label = division.label
        user.reads = {total if s is division else s: b for s, b in user.reads.items()}
        user.notes[:] = [
            "mean" + n.removeprefix(label) if n.startswith(f"{label} broadcast") else n
            for n in user.notes
        ]


def number_nodes(nodes: Sequence[Node]) -> None:
    """Give ids in order, and mark what nobody reads."""
    read = {id(source) for node in nodes for source in node.reads}
    numbers: dict[str, int] = {}
    kinds = {"input": "in", "output": "out", "constant": "const", "op": "op"}
    for node in nodes:
        first = node.side[:1]
        prefix = first if first and node.is_op else first + kinds[node.kind]
        numbers[prefix] = numbers.get(prefix, 0) + 1
        node.id = f"{prefix}{numbers[prefix]}"
        has_effect = node.eqn is not None and bool(node.eqn.effects)
        node.is_used = node.kind == "output" or id(node) in read or has_effect


def flat_eqns(jaxpr: Any) -> Iterator[Any]:
    """Yield the equations of a program with its calls opened."""
    for eqn in jaxpr.eqns:
        if role_of(eqn) == "call":
            body = call_body(eqn)
            yield from flat_eqns(getattr(body, "jaxpr", body))
        else:
            yield eqn
