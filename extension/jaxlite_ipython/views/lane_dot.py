"""A trace graph as DOT text with lanes, for Graphviz to lay out. In: an ``OpGraph``. Out: text."""

from __future__ import annotations

import math
from html import escape

from jaxlite_ipython.views.canvas import clean
from jaxlite_ipython.views.op_graph import Node, OpGraph
from jaxlite_ipython.views.palette import DIM, EDGE, FAMILIES

__all__ = ["lane_dot", "quote"]

_SHAPES = {
    "square": ("box", "filled"),
    "round": ("box", "rounded,filled"),
    "trapezoid": ("invtrapezium", "filled"),
    "slanted": ("parallelogram", "filled"),
    "double": ("box", "filled"),
    "hexagon": ("hexagon", "filled"),
    "pill": ("box", "rounded,filled"),
    "note": ("note", "filled"),
    "arrow": ("cds", "filled"),
    "dashed": ("box", "dashed,filled"),
}


def quote(text: str) -> str:
    """Return ``text`` as a DOT string."""
    return '"' + clean(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def lane_dot(graph: OpGraph) -> str:
    """Return the graph: one rank per line, the line's text as the first node of its rank."""
    lines = [
        "digraph jaxlite {",
        'graph [bgcolor=white nodesep=0.35 ranksep=0.5 fontname="Arial" outputorder=edgesfirst]',
        'node [fontname="Arial" fontsize=12 height=0.5 penwidth=1.4]',
        f'edge [color="{EDGE}" arrowsize=0.6]',
    ]
    ends = ("input", "constant")
    lanes = [("inputs", [n for n in graph.nodes if n.kind in ends])]
    by_lane: dict[int, list[Node]] = {}
    for node in graph.ops:
        by_lane.setdefault(id(node.lane), []).append(node)
    lanes += [(lane.text, by_lane.get(id(lane), [])) for lane in graph.lanes]
    lanes.append(("outputs", graph.of_kind("output")))
    for k, (text, members) in enumerate(lanes):
        label = f'<<FONT FACE="Courier New">{escape(clean(text)) or " "}</FONT>>'
        lines.append(f'lane{k} [shape=plaintext id="lane{k}" label={label}]')
        lines += [_node(n) for n in members]
        lines.append(f"{{rank=same; {'; '.join([f'lane{k}', *[n.id for n in members]])}}}")
        if members:
            lines.append(f"lane{k} -> {members[0].id} [style=invis]")
        if k:
            lines.append(f"lane{k - 1} -> lane{k} [style=invis weight=100]")
    for node in graph.nodes:
        for source, n_bytes in node.reads.items():
            style = " style=dashed" if node.kind == "output" else ""
            width = 1.2 + 0.17 * math.log2(max(n_bytes, 4) / 4)
            lines.append(f"{source.id} -> {node.id} [penwidth={width:.1f}{style}]")
    return "\n".join([*lines, "}", ""])


def _node(node: Node) -> str:
    family = FAMILIES[node.family]
    shape, style = _SHAPES[family.shape]
    more = " peripheries=2" if family.shape == "double" else ""
    kind = f'<FONT FACE="Courier New" POINT-SIZE="9" COLOR="{DIM}">{escape(node.type)}</FONT>'
    label = f"<<B>{escape(clean(node.label)) or ' '}</B><BR/>{kind}>"
    return (
        f'{node.id} [shape={shape} style="{style}" fillcolor="{family.fill}" '
        f'color="{family.stroke}"{more} tooltip={quote(", ".join(node.notes) or node.label)} '
        f"label={label}]"
    )
