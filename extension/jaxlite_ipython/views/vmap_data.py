"""One example and the batch as boxes. In: a ``BatchingTrace``. Out: ``VmapPicture``.

The sides of the graph are '' (one example) and 'batched'. Boxes of the batch have a mark on their
left side, the batch axis; operations that are the same for every example say ``shared``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.diagnose.batching import BatchingTrace
from jaxlite_ipython.views.costs import label_of
from jaxlite_ipython.views.op_graph import Node, OpGraph, build_graph, number_nodes
from jaxlite_ipython.views.palette import BLUE
from jaxlite_ipython.views.source_lines import Lane
from jaxlite_ipython.views.traced import Subject
from jaxlite_ipython.views.words import count

__all__ = ["ExampleValue", "VmapPicture", "vmap_picture"]

SHARED = "shared \N{MULTIPLICATION SIGN}1"
_ARROW = "\N{RIGHTWARDS ARROW}"
#: Primitives that only move the batch axis about.
_MOVES = frozenset(
    {"broadcast_in_dim", "transpose", "reshape", "convert_element_type", "squeeze", "iota", "copy"}
    | {"concatenate"}
)


@dataclass(frozen=True, slots=True)
class ExampleValue:
    """A named value of the batch: ``data`` is the whole batch, ``axis`` where the examples are."""

    name: str
    data: np.ndarray[Any, Any]
    axis: int | None

    def of(self, example: int) -> str:
        """Return the value of one example in a few characters."""
        one = self.data if self.axis is None else np.take(self.data, example, axis=self.axis)
        return value_text(one)


@dataclass(slots=True)
class VmapPicture:
    """Everything that the view of a vmap shows."""

    graph: OpGraph
    size: int
    #: One sentence per input: mapped axis, or that nothing was done to it.
    inputs: list[str]
    #: One sentence per operation that became another.
    changes: list[str]
    n_batched: int
    n_shared: int
    values: list[ExampleValue]
    #: Why there are no values.
    why_not: str = ""


def vmap_picture(
    subject: Subject,
    trace: BatchingTrace,
    axes: Sequence[int | None],
    values: Sequence[ExampleValue],
) -> VmapPicture:
    """Return the boxes of both programs; ``axes`` has the mapped axis of each input."""
    names = (subject.arg_names, subject.result_names, _const_names(subject, trace))
    one = build_graph(trace.forward, *names, keep_rules=True)
    many = build_graph(trace.batched, *names, keep_rules=True)
    _share_lanes(one, many)
    by_cause = _pair(trace, one, many)
    changes = _mark(trace, one, by_cause)
    inputs = _name_inputs(trace, many, subject.arg_names, axes)
    for node in many.nodes:
        node.side = "batched"
    for node, dim in zip(many.of_kind("output"), trace.out_dims, strict=True):
        node.edge = BLUE if dim is not None else ""
        if dim is None:
            node.notes.append("the same for every example")
    nodes = [*one.nodes, *many.nodes]
    number_nodes(nodes)
    lanes = list(dict.fromkeys([*one.lanes, *many.lanes]))
    graph = OpGraph(nodes, lanes, one.n_ops, one.flops, one.places)
    batched = trace.is_batched
    return VmapPicture(
        graph, trace.size, inputs, changes, sum(batched), len(batched) - sum(batched), list(values)
    )


def _const_names(subject: Subject, trace: BatchingTrace) -> list[str]:
    n = len(trace.forward.consts)
    return [*subject.const_names, *[f"constant {k + 1}" for k in range(n)]][:n]


def _share_lanes(one: OpGraph, many: OpGraph) -> None:
    """Give both graphs the same lane objects."""
    known = {_key(lane): lane for lane in one.lanes}
    image = {id(lane): known.get(_key(lane), lane) for lane in many.lanes}
    many.lanes = list(dict.fromkeys(image[id(lane)] for lane in many.lanes))
    for node in many.ops:
        if node.lane is not None:
            node.lane = image.get(id(node.lane), node.lane)


def _key(lane: Lane) -> tuple[str, str, int]:
    return lane.file, lane.function, lane.first


def _boxes(graph: OpGraph) -> dict[int, Node]:
    return {id(e): n for n in graph.ops for e in (n.eqn, *n.folded)}


def _pair(trace: BatchingTrace, one: OpGraph, many: OpGraph) -> dict[int, list[Node]]:
    """Give boxes of one equation the same mark; return the batched boxes of each equation."""
    left, right = _boxes(one), _boxes(many)
    found: dict[int, list[Node]] = {}
    for eqn, cause in zip(trace.batched.eqns, trace.cause, strict=True):
        node = right.get(id(eqn))
        if node is not None and node not in found.setdefault(cause, []):
            found[cause].append(node)
    for cause, eqn in enumerate(trace.forward.eqns):
        box = left.get(id(eqn))
        if box is None:
            continue
        box.pair = box.pair or f"p{cause + 1}"
        for node in found.get(cause, ()):
            node.pair = box.pair
    return found


def _mark(trace: BatchingTrace, one: OpGraph, by_cause: dict[int, list[Node]]) -> list[str]:
    """Mark the boxes of the batch: batch axis, shared, changed; return the changes in words."""
    changes = []
    batched = trace.is_batched
    groups: dict[int, list[Any]] = {}
    for eqn, cause in zip(trace.batched.eqns, trace.cause, strict=True):
        groups.setdefault(cause, []).append(eqn)
    for cause, eqn in enumerate(trace.forward.eqns):
        nodes = by_cause.get(cause, [])
        if not batched[cause]:
            for node in nodes:
                node.notes.insert(0, SHARED)
            continue
        for node in nodes:
            node.edge = BLUE
        change = _change(eqn, groups.get(cause, []))
        lane = one.places[id(eqn)]
        if change and nodes:
            nodes[-1].notes.insert(0, change)
            changes.append(f"{change} ({lane.where})")
        for node in nodes:
            if node.eqn.primitive.name in _MOVES and node.eqn.primitive is not eqn.primitive:
                node.notes.append("moves the batch axis")
    return list(dict.fromkeys(changes))


def _change(eqn: Any, batched: Sequence[Any]) -> str:
    """Say what an operation became; '' if it is the same operation on larger arrays."""
    name = label_of(eqn)
    main = [e for e in batched if e.primitive.name not in _MOVES]
    if not main:
        return ""
    if eqn.primitive.name == "dot_general":
        before, after = (e.params["dimension_numbers"][1][0] for e in (eqn, main[-1]))
        return f"{name} {_ARROW} batched dot" if len(after) > len(before) else ""
    if any(e.primitive is eqn.primitive for e in main):
        more = [label_of(e) for e in main if e.primitive is not eqn.primitive]
        return f"{name} {_ARROW} {' '.join(dict.fromkeys([name, *more]))}" if more else ""
    if eqn.primitive.name == "cond":
        return f"{name} {_ARROW} where, both branches run"
    return f"{name} {_ARROW} {' '.join(dict.fromkeys(label_of(e) for e in main))}"


def _name_inputs(
    trace: BatchingTrace, many: OpGraph, names: Sequence[str], axes: Sequence[int | None]
) -> list[str]:
    """Mark the inputs of the batch; return a sentence for each."""
    sentences = []
    for node, name, axis in zip(many.of_kind("input"), names, axes, strict=True):
        if axis is None:
            sentences.append(f"vmap did nothing to {name}: in_axes=None")
            node.notes.append("in_axes=None")
        else:
            sentences.append(f"{name}: axis {axis} is {count(trace.size, 'example')}")
            node.edge = BLUE
            if axis:
                node.notes.append(f"examples along axis {axis}")
    constants = [n.label for n in many.of_kind("constant")]
    sentences += [f"vmap did nothing to {name}: captured when traced" for name in constants]
    return sentences


def value_text(value: Any) -> str:
    """Return an array in a few characters: its elements, or its range if there are many."""
    data = np.asarray(value)
    if data.dtype.kind not in "biufc":
        data = data.astype(np.float64)
    if data.size <= 4:
        text = np.array2string(data, precision=3, separator=", ", suppress_small=False)
        return " ".join(text.split())
    if data.dtype.kind == "c":
        data = np.abs(data)
    wide = data.astype(np.float64)
    return f"{wide.min():.3g} \N{HORIZONTAL ELLIPSIS} {wide.max():.3g}, mean {wide.mean():.3g}"
