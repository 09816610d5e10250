"""One example beside the batch. In: a function, axes and arguments. Out: ``VmapView``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jaxlite
from jaxlite.api.vmap import mapped_leaves
from jaxlite.diagnose.batching import BatchingTrace, run_batch, trace_batching
from jaxlite_ipython.views.base import View
from jaxlite_ipython.views.canvas import Canvas
from jaxlite_ipython.views.collapse import MAX_LANES, join_ends, join_lanes, one_box_per_line
from jaxlite_ipython.views.column_data import column_data, node_field, partner_field
from jaxlite_ipython.views.column_layout import Column, lay_out_columns
from jaxlite_ipython.views.contract import Field
from jaxlite_ipython.views.dot import LIMIT_S
from jaxlite_ipython.views.lane_dot import lane_dot
from jaxlite_ipython.views.lane_picture import Panel, draw_lanes
from jaxlite_ipython.views.op_graph import Node
from jaxlite_ipython.views.palette import BLUE
from jaxlite_ipython.views.router import LayoutTimeout, route
from jaxlite_ipython.views.source_lines import Lane, find_lanes
from jaxlite_ipython.views.traced import Subject, subject_of
from jaxlite_ipython.views.vmap_data import ExampleValue, VmapPicture, vmap_picture
from jaxlite_ipython.views.vmap_text import vmap_text
from jaxlite_ipython.views.words import count

__all__ = ["VmapView", "vmap_view"]

_SEP = " \N{MIDDLE DOT} "
#: Boxes of both programs up to which a picture shows every operation.
MAX_BOXES = 110
#: Examples whose values are in the data.
MAX_EXAMPLES = 16
#: Examples in the table below the picture.
MAX_ROWS = 8
SIDES = {"": "one example", "batched": "the batch"}
KEY = "blue left side: batch axis \N{MIDDLE DOT} dashed: returned"


class VmapView(View):
    """A function on one example and on the batch. Made by ``jaxlite.vmap_view``."""

    tab = "vmap"

    def __init__(
        self, subject: Subject, picture: VmapPicture, example: int, *, limit_s: float = LIMIT_S
    ) -> None:
        super().__init__()
        self.subject, self.picture, self.example = subject, picture, example
        self._limit_s = limit_s
        self.level = 0
        self.graph = join_ends(picture.graph)
        while not self._fits() and self._coarser():
            pass

    def _fits(self) -> bool:
        return len(self.graph.ops) <= MAX_BOXES and len(self.graph.lanes) <= MAX_LANES

    def _coarser(self) -> bool:
        if self.level >= 2:
            return False
        self.level += 1
        graph = one_box_per_line(self.picture.graph)
        self.graph = join_ends(join_lanes(graph) if self.level == 2 else graph, 7)
        return True

    # --- facts ---

    @property
    def title(self) -> str:
        """One line: what this shows."""
        return f"vmap of {self.subject.title}: {self.summary}"

    @property
    def summary(self) -> str:
        """Examples, operations that are batched, changed and shared."""
        p = self.picture
        facts = [count(p.size, "example"), f"{count(p.n_batched, 'op')} batched"]
        facts.append(f"{len(p.changes)} changed")
        facts.append(f"{p.n_shared} shared")
        if self.level:
            facts.append(f"shown as {count(len(self.graph.lanes), 'line')}")
        return _SEP.join(facts)

    def caption(self, lane: Lane) -> str:
        """Second line of a lane: operations of both programs."""
        facts = [lane.note] if lane.note else []
        facts.append(count(lane.n_ops, "op"))
        n = sum(node.n_ops for node in self.graph.ops if node.side and node.lane is lane)
        facts.append(f"{n} for the batch")
        return _SEP.join(facts)

    @property
    def end_captions(self) -> tuple[str, str]:
        """Second lines of the first and the last band."""
        return "arguments", "what the function returns"

    def example_text(self, example: int | None = None) -> list[str]:
        """Return the named values of one example, a line each.

        Raises:
          IndexError: there is no such example.
        """
        number = self.example if example is None else example
        if not self.picture.values:
            return []
        if not -self.picture.size <= number < self.picture.size:
            raise IndexError(f"example {number} of {self.picture.size}")
        shared = {True: " (the same for every example)", False: ""}
        return [f"{v.name} {v.of(number)}{shared[v.axis is None]}" for v in self.picture.values]

    def example_table(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the values that differ between examples, and a row per example."""
        values = [v for v in self.picture.values if v.axis is not None]
        n = min(self.picture.size, MAX_ROWS) if values else 0
        head = ["example", *[v.name for v in values]]
        return head, [[str(i), *[v.of(i) for v in values]] for i in range(n)]

    def panels(self) -> list[Panel]:
        """The strip below: what became of the arguments, what changed, one example."""
        picture = self.picture
        values = self.example_text() or [f"not run: {picture.why_not or 'no values'}"]
        return [
            Panel("arguments", (), tuple(picture.inputs), BLUE),
            Panel(
                "operations that changed kind",
                (),
                tuple(picture.changes) or ("none: the same operations on larger arrays",),
                BLUE,
            ),
            Panel(f"example {self.example} of {picture.size}", (), tuple(_last(values, 3)), BLUE),
        ]

    # --- forms ---

    def _text(self) -> str:
        return vmap_text(self)

    def data(self) -> dict[str, Any]:
        """Return boxes of both programs with partners, sentences, arrows, values of examples."""
        graph, picture = self.graph, self.picture
        n = min(picture.size, MAX_EXAMPLES)
        head, rows = self.example_table()
        return {
            "view": "vmap_view",
            "function": self.subject.title,
            "n_examples": picture.size,
            "level": self.level,
            "inputs": list(picture.inputs),
            "changes": list(picture.changes),
            "n_batched": picture.n_batched,
            "n_shared": picture.n_shared,
            **column_data(graph, SIDES),
            "details": {node.id: self._details(node) for node in graph.nodes},
            "filters": [{"key": "o", "title": "Hide one example", "css": "jxl-forward"}],
            "actions": [
                {"key": "n", "title": "Next example"},
                {"key": "b", "title": "Example before"},
            ],
            "tables": [{"title": "values by example", "head": head, "rows": rows}] if rows else [],
            "example": self.example,
            "examples": [{v.name: v.of(i) for v in picture.values} for i in range(n)],
        }

    def _details(self, node: Node) -> list[Field]:
        """Return the fields of the widget's strip for one box."""
        fields = [node_field(node, SIDES[node.side])]
        if node.notes:
            fields.append({"title": "what vmap did", "lines": list(node.notes)})
        values = [v for v in self.picture.values if v.name == node.label]
        if values and not node.is_op:
            title = f"example {self.example} of {self.picture.size}"
            fields.append({"title": title, "code": [v.of(self.example) for v in values]})
        partners = partner_field(node, self.graph, SIDES)
        return [*fields, partners] if partners is not None else fields

    def act(self, key: str) -> None:
        """Show the next example, or the one before."""
        self.example = (self.example + (1 if key == "n" else -1)) % max(self.picture.size, 1)
        self._canvas = None

    def dot(self) -> str:
        """Return the lanes of both programs as DOT text, to be laid out by Graphviz."""
        return lane_dot(self.graph)

    def _draw(self) -> Canvas:
        columns = (
            Column("", "one example", widest=480.0),
            Column("batched", f"{count(self.picture.size, 'example')} at once", widest=520.0),
        )
        while True:
            deadline = None if self.level >= 2 else time.perf_counter() + self._limit_s
            layout = lay_out_columns(self.graph, columns)
            try:
                arrows = route(self.graph, layout, deadline)
            except LayoutTimeout:
                self._coarser()
                continue
            break
        ends = self.end_captions
        return draw_lanes(
            self.graph,
            layout,
            arrows,
            title=f"vmap of {self.subject.title}",
            summary=self.summary,
            captions=[
                self.caption(band.lane) if band.lane else ends[band.kind == "outputs"]
                for band in layout.bands
            ],
            panels=self.panels(),
            prefix=self.prefix,
            key=KEY,
        )


def _last(lines: Sequence[str], n: int) -> list[str]:
    """Return the last lines (results come last)."""
    return list(lines[-n:])


def vmap_view(
    f: Callable[..., Any], in_axes: Any = 0, /, *args: Any, example: int = 0, **kwargs: Any
) -> Any:
    """Return ``f`` on one example beside ``f`` on the batch, as ``vmap(f, in_axes)`` makes it.

    With arrays as arguments the batch is run once, so that the values of one example can be shown.

    Args:
      f: a function of one example.
      in_axes: which axis of each argument to map, as in ``vmap``.
      *args: arrays, numbers and containers of them, or ``ShapeDtypeStruct``, with the batch axis.
        Without any the result is a function of them that returns the view.
      example: whose values are shown.
      **kwargs: more arguments, by name; mapped along axis 0, as in ``vmap``.

    Raises:
      TypeError, ValueError: as ``vmap(f, in_axes)``.
      IndexError: there is no such example.

    >>> import jaxlite, jaxlite.numpy as jnp
    >>> x, w = jnp.ones((8, 3)), jnp.ones((3, 2))
    >>> view = jaxlite.vmap_view(lambda x, w: jnp.tanh(x @ w), (0, None), x, w)
    >>> view.data()["inputs"]
    ['x: axis 0 is 8 examples', 'vmap did nothing to w: in_axes=None']
    """
    if not args and not kwargs:
        return lambda *later, **named: vmap_view(f, in_axes, *later, example=example, **named)
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f}")
    leaves, in_tree, dims, size = mapped_leaves(f, in_axes, args, kwargs)
    examples = [_example_type(x, d) for x, d in zip(leaves, dims, strict=True)]
    first_args, first_kwargs = jaxlite.tree_util.tree_unflatten(in_tree, examples)
    static = [
        i
        for i, arg in enumerate(first_args)
        if isinstance(arg, bool | int | float | str) or (arg is not None and _is_other(arg))
    ]
    plain = getattr(f, "__wrapped__", f) if hasattr(f, "lower") else f
    subject = subject_of(
        jaxlite.jit(plain, static_argnums=tuple(static) or None), tuple(first_args), first_kwargs
    )
    owners = _owners(args, kwargs)
    kept = [k for k, owner in enumerate(owners) if owner not in static]
    axes = [dims[k] for k in kept]
    trace = trace_batching(subject.traced.jaxpr, axes, size)
    arrays = [leaves[k] for k in kept]
    has_values = not any(isinstance(x, jaxlite.ShapeDtypeStruct) for x in arrays)
    why_not = "" if has_values else "types were given"
    if not size:
        why_not = "there is no example"
    elif subject.traced.jaxpr.effects:
        why_not = "the function has effects"
    values = [] if why_not else _run(trace, arrays, axes, subject)
    picture = vmap_picture(subject, trace, axes, values)
    picture.why_not = why_not
    view = VmapView(subject, picture, example)
    if not -size <= example < max(size, 1):
        raise IndexError(f"example {example} of {size}")
    return view


def _example_type(leaf: Any, dim: int | None) -> Any:
    """Return the type of one example (an argument that is not mapped stays as it is)."""
    if dim is None:
        return leaf
    shape = tuple(leaf.shape)
    return jaxlite.ShapeDtypeStruct(shape[:dim] + shape[dim + 1 :], leaf.dtype)


def _is_other(arg: Any) -> bool:
    """Say whether an argument is no container of arrays: it is a constant of the function."""
    return not any(hasattr(x, "dtype") for x in jaxlite.tree_util.tree_leaves(arg))


def _owners(args: Sequence[Any], kwargs: dict[str, Any]) -> list[int | str]:
    """Return the argument that each leaf is in."""
    leaves = jaxlite.tree_util.tree_leaves
    owners: list[int | str] = [i for i, arg in enumerate(args) for _ in leaves(arg)]
    return owners + [name for name in sorted(kwargs) for _ in leaves(kwargs[name])]


def _numbers(value: Any) -> np.ndarray[Any, Any]:
    """Return an array as numbers: a key as its words."""
    is_key = jaxlite.dtypes.issubdtype(getattr(value, "dtype", float), jaxlite.dtypes.prng_key)
    return np.asarray(jaxlite.random.key_data(value) if is_key else value)


def _run(
    trace: BatchingTrace, arrays: Sequence[Any], axes: Sequence[int | None], subject: Subject
) -> list[ExampleValue]:
    """Run the batch; return inputs, variables and results by name."""
    jaxpr = trace.forward.jaxpr
    given_vars = set(jaxpr.invars)
    eqns = [e for e in jaxpr.eqns if e.outvars]
    _, places = find_lanes(e.source for e in eqns)
    targets = {id(p): (p.target, e.outvars[0]) for e, p in zip(eqns, places) if p.target}
    wanted = [(name, v) for name, v in targets.values() if v in trace.image and v not in given_vars]
    outs, found = run_batch(trace, arrays, [v for _, v in wanted])
    given = [
        ExampleValue(name, _numbers(x), axis)
        for name, x, axis in zip(subject.arg_names, arrays, axes, strict=True)
    ]
    middle = [
        ExampleValue(name, _numbers(data), trace.dims[v])
        for (name, v), data in zip(wanted, found, strict=True)
        if name not in subject.result_names
    ]
    results = [
        ExampleValue(name, _numbers(data), dim)
        for name, data, dim in zip(subject.result_names, outs, trace.out_dims, strict=True)
    ]
    return [*given, *middle, *results]
