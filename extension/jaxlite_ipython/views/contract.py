"""What a view hands to the widget. In: nothing. Out: the types of ``View.data()``; ``problems``.

A view is a subclass of ``View`` with ``title``, ``tab``, ``data()``, ``dot()``, ``_text()`` and
``_draw()``. ``data()`` holds its facts in any shape; the widget reads the keys below, all of them
optional. Whatever they hold must be in the text of the view too.

=========  =========================================================================================
nodes      what can be selected, in reading order. ``id``: the picture has a group with the id
           ``f"{prefix}-{id}"``. ``label``, ``type``, ``line`` and ``words`` are what Find looks in.
           Nodes of the same ``pair`` light up together.
edges      ``from`` and ``to`` are ids of nodes: arrow keys go along them, ancestors and descendants
           follow them. In the picture: a group of class ``jxl-edge`` (``Canvas.open_edge``).
lanes      the user's lines: ``line``, ``text``. ``lane`` of a node is an index into them; below
           560 px the widget shows lanes as a list instead of the picture.
details    per node the fields of the strip that opens with Enter (``Field``). Without them the
           widget shows label, type, line, what the node reads and what reads it.
sources    per node the user's lines and forms of generated code; each generated line says from
           which of the user's lines it comes, so the stripe works both ways (``Source``).
panel      fields that stay beside the strip, whatever is selected.
tables     ``title``, ``head``, ``rows``: shown below the picture; ``open``: unfolded at first.
selected   the id of the node that is open at first.
filters    ``key``, ``title``, ``css``: a button (and key) that hides the nodes whose groups have
           this class, and their arrows.
actions    ``key``, ``title``: a button (and key) that calls ``View.act(key)`` in Python and then
           shows the view anew; left out where no kernel runs. ``on``: it is pressed. A view that
           ``is_live`` is shown anew while cells run (``View.refresh``).
=========  =========================================================================================

In the picture, ``Canvas.open_part(kind, y, height)`` marks bands over the whole width that the
widget takes out of the picture: its toolbar replaces the "header", "figures" stay on top, the
"strip" is shown while nothing is selected, a "plot" stays below, the "legend" becomes the footer.
What is right of an "aside" (``x``) gives way to the source of the selected node. A group of the id
``f"{id}-side"`` (class ``jxl-side``) is dimmed and lit with its node. All colours come from
``palette``; the widget swaps them for those of the dark theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

__all__ = ["Field", "Form", "Source", "problems"]

#: Keys that the widget takes for itself; filters and actions use others.
RESERVED_KEYS = frozenset("/?0+-pdce")


class Field(TypedDict, total=False):
    """One field of the detail strip; what is absent is not shown."""

    title: str
    #: The main word.
    big: str
    #: Lines of code or types (one width per letter).
    code: Sequence[str]
    #: Sentences.
    lines: Sequence[str]
    #: A sentence with a warning mark in front.
    warn: str
    #: Label, value in words, share (0 to 1) of the longest bar.
    bars: Sequence[tuple[str, str, float]]
    #: Heights from 0 to 1.
    histogram: Sequence[float]
    #: What its Copy button copies.
    copy: str
    #: A short word in a pill: what a fix saves.
    badge: str
    #: A table, its head first; a list as a cell is text of which every second part is boxed.
    rows: Sequence[Sequence[str | Sequence[str]]]
    #: ``diff`` (lines of code begin with + and -) or ``verdict``.
    tone: str
    #: The number of the cell that its button goes to.
    cell: int


class Form(TypedDict, total=False):
    """One form of generated code (a tab): loops, CUDA C, LLVM IR, assembly."""

    title: str
    lines: Sequence[str]
    #: Per line the ``key`` of the user's line it comes from, or None.
    of: Sequence[int | None]
    #: Per line a short mark such as ``8 lanes`` or ``scalar``; may be absent.
    marks: Sequence[str]


class Source(TypedDict):
    """The code of one node."""

    node: str
    #: Dicts with ``key`` (what ``Form.of`` refers to), ``line`` (number or None) and ``text``.
    user: Sequence[Mapping[str, Any]]
    forms: Sequence[Form]


def problems(data: Mapping[str, Any], svg: str, prefix: str) -> Iterator[str]:
    """Yield a sentence for everything in a view that the widget could not show."""
    drawn = set(re.findall(r'\sid="([^"]+)"', svg))
    known = [n["id"] for n in data.get("nodes", ())]
    if len(set(known)) != len(known):
        yield "two nodes have the same id"
    yield from (f"node {n} is not in the picture" for n in known if f"{prefix}-{n}" not in drawn)
    for edge in data.get("edges", ()):
        yield from (f"an edge ends at {e}" for e in (edge["from"], edge["to"]) if e not in known)
    n_lanes = len(data.get("lanes", ()))
    for node in data.get("nodes", ()):
        if node.get("lane") is not None and not 0 <= node["lane"] < n_lanes:
            yield f"{node['id']} is in lane {node['lane']} of {n_lanes}"
    strangers = [n for n in data.get("details", {}) if n not in known]
    yield from (f"details of {n}, which is no node" for n in strangers)
    for source in data.get("sources", ()):
        yield from _source_problems(source, known)
    for key in [k["key"] for name in ("filters", "actions") for k in data.get(name, ())]:
        if key in RESERVED_KEYS or len(key) != 1:
            yield f"the key {key!r} is taken"


def _source_problems(source: Source, known: Sequence[str]) -> Iterator[str]:
    if source["node"] not in known:
        yield f"source of {source['node']}, which is no node"
    keys = {line["key"] for line in source["user"]} | {None}
    for form in source["forms"]:
        if len(form.get("of", form["lines"])) != len(form["lines"]):
            yield f"{source['node']}, {form['title']}: as many 'of' as lines are needed"
        if not set(form.get("of", ())) <= keys:
            yield f"{source['node']}, {form['title']}: 'of' names a line that is not in 'user'"
