"""Large graphs in fewer boxes. In: an ``OpGraph``. Out: an ``OpGraph`` of the wanted level.

Levels: 0 every operation, 1 repeated blocks once with their count, 2 the same with calls as one box
(the graph is built that way), 3 one box per line, 4 one box per run of lines. Inputs (and outputs)
that are leaves of one container become one box when there are many.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from jaxlite_ipython.views.costs import label_of
from jaxlite_ipython.views.op_graph import Node, OpGraph, number_nodes
from jaxlite_ipython.views.source_lines import Lane
from jaxlite_ipython.views.words import bytes_text, count

__all__ = ["LEVELS", "MAX_BOXES", "collapse"]

LEVELS = 5
#: Boxes up to which a picture shows every operation.
MAX_BOXES = 60
#: Lanes and runs of lanes up to which a picture can be read.
MAX_LANES = 40
#: Parts into which the lines of a very long program are joined.
MAX_PARTS = 24
MAX_ENDS = 14
#: Rules that the box of a line tells.
MAX_DETAILS = 6


def collapse(graph: OpGraph, level: int) -> OpGraph:
    """Return the graph at ``level`` (0 to 4)."""
    if level >= 1:
        graph = fold_repeats(graph)
    if level >= 3:
        graph = one_box_per_line(graph)
    if level >= 4:
        graph = join_lanes(graph)
    return join_ends(graph, MAX_ENDS if level < 3 else MAX_ENDS // 2)


def fits(graph: OpGraph) -> bool:
    """Say whether a reader can take in the graph at once."""
    n = len(graph.ops)
    return n <= MAX_BOXES and len(graph.lanes) <= MAX_LANES


def _rebuild(
    graph: OpGraph, nodes: list[Node], lanes: list[Lane], image: dict[int, Node]
) -> OpGraph:
    """Return a graph of ``nodes``; ``image`` says which box stands for each old one (by id)."""
    for old in graph.nodes:
        new = image.get(id(old), old)
        for source, n_bytes in old.reads.items():
            target = image.get(id(source), source)
            if target is not new:
                new.reads[target] = max(new.reads.get(target, 0.0), n_bytes)
    number_nodes(nodes)
    return OpGraph(nodes, lanes, graph.n_ops, graph.flops, graph.places)


def _copy(node: Node) -> Node:
    return replace(node, reads={}, notes=list(node.notes))


# --- level 1: repeats ---


def fold_repeats(graph: OpGraph) -> OpGraph:
    """Show a block that a lane does several times once: ``block x12``."""
    by_lane: dict[int, list[Node]] = {}
    for node in graph.ops:
        by_lane.setdefault(id(node.lane), []).append(node)
    image: dict[int, Node] = {}
    repeats: dict[int, int] = {}
    for key, members in by_lane.items():
        period = _period([(n.label, n.type, n.family) for n in members])
        repeats[key] = len(members) // period
        for k, node in enumerate(members):
            if k < period:
                image[id(node)] = replace(_copy(node), times=repeats[key])
            else:
                first = image[id(node)] = image[id(members[k % period])]
                first.n_ops += node.n_ops
                first.flops += node.flops
    lanes = []
    for lane in graph.lanes:
        times = repeats.get(id(lane), 1)
        lanes.append(replace(lane, repeats=times) if times > 1 else lane)
    same = dict(zip(map(id, graph.lanes), lanes, strict=True))
    nodes: list[Node] = []
    for node in graph.nodes:
        new = image.get(id(node))
        if new is None:
            new = image[id(node)] = _copy(node)
        nodes.append(new)
        if new.lane is not None:
            new.lane = same.get(id(new.lane), new.lane)
    return _rebuild(graph, _distinct(nodes), lanes, image)


def _distinct(nodes: Iterable[Node]) -> list[Node]:
    return list({id(n): n for n in nodes}.values())


def _period(items: list[tuple[str, str, str]]) -> int:
    """Return the length of the shortest block whose repetition is ``items``."""
    n = len(items)
    # Knuth-Morris-Pratt: n minus the longest proper border is the shortest period.
    border = [0] * n
    k = 0
    for i in range(1, n):
        while k and items[i] != items[k]:
            k = border[k - 1]
        k += items[i] == items[k]
        border[i] = k
    period = n - border[-1] if n else 1
    return period if n % period == 0 else n


# --- levels 2 and 3: lines ---


def one_box_per_line(graph: OpGraph) -> OpGraph:
    """Show each lane as one box."""
    return _group(graph, graph.lanes, {id(lane): lane for lane in graph.lanes}, _line_label)


def join_lanes(graph: OpGraph) -> OpGraph:
    """Join neighbouring lanes until few are left."""
    size = -(-len(graph.lanes) // MAX_PARTS)
    if size <= 1:
        return graph
    joined: list[Lane] = []
    target: dict[int, Lane] = {}
    for start in range(0, len(graph.lanes), size):
        run = graph.lanes[start : start + size]
        lane = _join(run)
        joined.append(lane)
        target.update((id(member), lane) for member in run)
    return _group(graph, joined, target, _line_label)


def _join(run: list[Lane]) -> Lane:
    first, last = run[0], run[-1]
    if len(run) == 1:
        return first
    dots = "\N{HORIZONTAL ELLIPSIS}"
    same = all(lane.function == first.function for lane in run)
    return Lane(
        first.file,
        first.function if same else "",
        min(lane.first for lane in run),
        max(lane.last for lane in run),
        f"{first.text} {dots} {last.text}",
        note=count(len(run), "line"),
        n_ops=sum(lane.n_ops for lane in run),
        flops=sum(lane.flops for lane in run),
    )


def _group(
    graph: OpGraph,
    lanes: list[Lane],
    target: dict[int, Lane],
    label: Callable[[list[Node]], str],
) -> OpGraph:
    """Return the graph with the operations of each lane as one box."""
    members: dict[tuple[int, str], list[Node]] = {}
    for node in graph.ops:
        assert node.lane is not None
        members.setdefault((id(target[id(node.lane)]), node.side), []).append(node)
    sides = list(dict.fromkeys(side for _, side in members))
    image: dict[int, Node] = {}
    ends: list[Node] = []
    for node in graph.nodes:
        if not node.is_op:
            image[id(node)] = _copy(node)
            ends.append(image[id(node)])
    shared = _read_elsewhere(graph, target)
    boxes = []
    for side, lane in ((side, lane) for side in sides for lane in lanes):
        group = members.get((id(lane), side), [])
        if not group:
            continue
        box = group[0] if len(group) == 1 else _line_box(group, lane, label(group), shared)
        box = replace(_copy(box), lane=lane)
        boxes.append(box)
        image.update((id(node), box) for node in group)
    given = [n for n in ends if n.kind != "output"]
    outputs = [n for n in ends if n.kind == "output"]
    return _rebuild(graph, [*given, *boxes, *outputs], lanes, image)


def _read_elsewhere(graph: OpGraph, target: dict[int, Lane]) -> set[int]:
    """Return the ids of the operations that another lane (or an output) reads."""
    return {
        id(source)
        for node in graph.nodes
        for source in node.reads
        if source.is_op
        and (
            node.lane is None
            or node.side != source.side
            or target[id(node.lane)] is not target[id(source.lane)]
        )
    }


def _line_box(group: list[Node], lane: Lane, label: str, shared: set[int]) -> Node:
    """Return the box of a line; its type is that of the largest value that others read."""
    read = [n for n in reversed(group) if id(n) in shared]
    last = max(read, key=lambda n: n.n_bytes) if read else group[-1]
    box = Node(
        "op",
        label,
        last.type,
        "lines",
        last.n_bytes,
        lane,
        flops=sum(n.flops for n in group),
        n_ops=sum(n.n_ops for n in group),
        side=last.side,
    )
    box.alert = next((n.alert for n in group if n.alert), "")
    gauges = [n.gauge for n in group if n.gauge is not None]
    box.gauge = max(gauges, key=lambda g: g[0]) if gauges else None
    details = list(dict.fromkeys(n.detail for n in group if n.side and n.detail))
    more = [f"{len(details) - MAX_DETAILS} more"] if len(details) > MAX_DETAILS else []
    box.detail = "; ".join([*details[:MAX_DETAILS], *more])
    if {n.family for n in group} <= {"saved", "kept argument"}:
        box.n_bytes = sum(n.n_bytes for n in group)
        box.family = "saved" if any(n.family == "saved" for n in group) else "kept argument"
        box.label, box.type = count(len(group), "value"), bytes_text(box.n_bytes)
    return box


def _line_label(group: list[Node]) -> str:
    """Return the kinds of operations of a line, most telling first, each once."""
    order = {"matmul": 0, "loop or call": 1, "reduction": 2, "elementwise": 3}
    labels: dict[str, int] = {}
    for node in sorted(group, key=lambda n: order.get(n.family, 4)):
        base = label_of(node.eqn) if node.eqn is not None else node.label
        label = base if node.label.startswith(f"{base} ") else node.label  # without constants
        labels.setdefault(label, 0)
        labels[label] += node.times
    text = " ".join(list(labels)[:3])
    return text if len(labels) <= 3 else f"{text} +{len(labels) - 3}"


# --- inputs and outputs ---


def join_ends(graph: OpGraph, limit: int = MAX_ENDS) -> OpGraph:
    """Join leaves of one container if there are too many inputs (or outputs) to show."""
    ends: dict[tuple[str, str], list[Node]] = {}
    for node in graph.nodes:
        if not node.is_op:
            ends.setdefault((node.kind, node.side), []).append(node)
    too_many = {key: members for key, members in ends.items() if len(members) > limit}
    if not too_many:
        return graph
    groups: dict[tuple[str, str, str], list[Node]] = {}
    for (kind, side), members in sorted(too_many.items()):
        by_root: dict[str, list[Node]] = {}
        for node in members:
            by_root.setdefault(_root(node.label), []).append(node)
        if len(by_root) > limit:
            by_root = _chunks(members)
        groups.update({(kind, side, root): group for root, group in by_root.items()})
    image: dict[int, Node] = {}
    for (kind, side, root), group in groups.items():
        box = group[0]
        if len(group) > 1:
            n_bytes = sum(n.n_bytes for n in group)
            box = Node(kind, root, count(len(group), "array"), kind, n_bytes, side=side)
            box.detail = ", ".join(f"{n.label} {n.type}" for n in group)
        image.update((id(n), box if len(group) > 1 else _copy(n)) for n in group)
    nodes = []
    for node in graph.nodes:
        new = image.get(id(node))
        if new is None:
            new = image[id(node)] = _copy(node)
        nodes.append(new)
    return _rebuild(graph, _distinct(nodes), graph.lanes, image)


def _root(name: str) -> str:
    """Return the container's name: ``params`` of ``params['w1'][0]``."""
    found = re.match(r"[^\[.]+", name)
    return found.group(0) if found else "results"


def _chunks(members: list[Node]) -> dict[str, list[Node]]:
    """Group by position where names say nothing."""
    size = -(-len(members) // MAX_ENDS)
    groups: dict[str, list[Node]] = {}
    for start in range(0, len(members), size):
        part = members[start : start + size]
        dots = "\N{HORIZONTAL ELLIPSIS}"
        name = f"{part[0].label} {dots} {part[-1].label}" if len(part) > 1 else part[0].label
        groups[name] = part
    return groups
