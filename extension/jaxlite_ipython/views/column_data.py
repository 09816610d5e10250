"""A picture with columns as data for the widget. In: an ``OpGraph``. Out: parts of ``View.data()``.

See ``contract`` for what the keys mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxlite_ipython.views.contract import Field
from jaxlite_ipython.views.lane_text import op_data
from jaxlite_ipython.views.op_graph import Node, OpGraph
from jaxlite_ipython.views.words import bytes_text, flops_text

__all__ = ["column_data", "node_field", "partner_field"]


def column_data(graph: OpGraph, sides: Mapping[str, str]) -> dict[str, Any]:
    """Return lanes, nodes and edges; ``sides`` names the columns."""
    places = {id(lane): k for k, lane in enumerate(graph.lanes)}
    return {
        "lanes": [
            {"line": x.first, "last_line": x.last, "file": x.file, "text": x.text}
            for x in graph.lanes
        ],
        "nodes": [
            {
                **op_data(n),
                "lane": places.get(id(n.lane)),
                "side": sides[n.side],
                "pair": n.pair,
                "alert": n.alert,
                "is_batched": bool(n.edge),
                "norm": n.gauge[1].removeprefix("norm ") if n.gauge else None,
            }
            for n in graph.nodes
        ],
        "edges": [
            {"from": s.id, "to": n.id, "bytes": b} for n in graph.nodes for s, b in n.reads.items()
        ],
    }


def node_field(node: Node, side: str) -> Field:
    """Return the first field of the detail strip: what a box is."""
    where = f" \N{MIDDLE DOT} {node.lane.where}" if node.lane is not None else ""
    lines = [bytes_text(node.n_bytes)]
    if node.flops:
        lines.append(f"\N{ALMOST EQUAL TO} {flops_text(node.flops)}")
    reads = ", ".join(s.name for s in node.reads)
    lines += [f"reads {reads}"] if reads else []
    field: Field = {"title": side + where, "big": node.label, "code": [node.type], "lines": lines}
    if node.alert:
        field["warn"] = node.alert
    return field


def partner_field(node: Node, graph: OpGraph, sides: Mapping[str, str]) -> Field | None:
    """Return the boxes of the same cause in other columns."""
    others = [n for n in graph.ops if node.pair and n.pair == node.pair and n is not node]
    if not others:
        return None
    lines = [f"{sides[n.side]}: {n.label} {n.type}" for n in others]
    return {"title": "belongs to", "lines": lines}
