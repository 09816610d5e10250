"""The step-through tracer. In: a recorded trace. Out: a view with one fold-out per line.

Three things per step: the line, what Python sees (names with types and values), and what was
recorded. In mode ``grad`` tangents stand beside values and the reverse sweep follows; in mode
``vmap`` each name has one example's type and the batch's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from html import escape
from typing import Any

import jaxlite
from jaxlite import tree_util
from jaxlite.diagnose.stepping import MAX_STEPS, Held, Recording, Step, record
from jaxlite_ipython.views.base import MAX_BUNDLE_BYTES, View
from jaxlite_ipython.views.canvas import Canvas, Pen, text_width
from jaxlite_ipython.views.palette import BLUE, DIM, GREEN, INK, LANE, LINE, PAPER, PURPLE
from jaxlite_ipython.views.step_values import (
    Sweep,
    batched,
    cotangents,
    summary,
    tangents,
    thumbnail,
)
from jaxlite_ipython.views.words import columns

__all__ = ["StepView", "step"]

#: Calls inside calls that are indented; deeper ones say how deep.
MAX_INDENT = 12


class StepView(View):
    """Every line of a trace in the order in which Python ran them."""

    tab = "Steps"

    def __init__(self, recording: Recording, mode: str, batch: dict[Any, Any] | None) -> None:
        super().__init__()
        self.recording, self.mode = recording, mode
        self._detail = 2
        self._summaries: dict[int, str] = {}  # per atom; the recording keeps atoms alive
        self.numbers = {id(e): k + 1 for k, e in enumerate(recording.eqns)}
        self._labels = {v: name for name, v in recording.inputs}
        for number, eqn in enumerate(recording.eqns, 1):
            self._labels.update(dict.fromkeys(eqn.outvars, f"[{number}]"))
        self.tangents: dict[Any, Any] = {}
        self.cotangents: dict[Any, Any] = {}
        self.sweep: list[Sweep] = []
        self.batch: dict[Any, Any] = {}
        if mode == "grad":
            self.tangents = tangents(recording)
            self.cotangents, self.sweep = cotangents(recording)
        if mode == "vmap":
            self.batch = batched(recording, batch or {})

    @property
    def title(self) -> str:
        """One line: what this shows."""
        r = self.recording
        more = f" (cut at {MAX_STEPS})" if r.was_cut else ""
        return f"{r.name}, step by step: {len(r.steps)} steps{more}, {len(r.eqns)} operations"

    # --- data ---

    def data(self) -> dict[str, Any]:
        """Return the steps, the operations and the reverse sweep as plain data."""
        return {
            "name": self.recording.name,
            "mode": self.mode,
            "cut": self.recording.was_cut,
            "error": str(self.recording.error or ""),
            "steps": [self._step_data(s) for s in self.recording.steps],
            "operations": [self.operation(e) for e in self.recording.eqns],
            "sweep": [self._sweep_data(s) for s in self.sweep],
            **self._for_widget(),
        }

    def _for_widget(self) -> dict[str, Any]:
        """Return steps as what the widget selects; the arrow keys go to the next and back."""
        steps = self.recording.steps
        places: dict[tuple[str, int], Step] = {}
        for s in steps:
            places.setdefault((s.file, s.line), s)
        lanes = list(places)
        return {
            "nodes": [
                {
                    "id": f"step{s.number}",
                    "label": s.text.strip(),
                    "type": s.caption,
                    "line": s.line,
                    "lane": lanes.index((s.file, s.line)),
                    "words": " ".join(h.name for h in s.names),
                }
                for s in steps
            ],
            "edges": [{"from": f"step{s.number}", "to": f"step{s.number + 1}"} for s in steps[:-1]],
            "lanes": [{"line": s.line, "text": s.text.strip()} for s in places.values()],
            "details": {f"step{s.number}": self._fields(s) for s in steps},
            "selected": "step1" if steps else None,
        }

    def _fields(self, step: Step) -> list[dict[str, Any]]:
        """Return the three panes of a step: the lesson, what Python sees, what was recorded."""
        names = [
            f"{'* ' if h.is_new else '  '}{'  '.join(filter(None, self._row(h)))}"
            for h in step.names
        ]
        recorded = [
            f"[{self.numbers[id(e)]}] {self.operation(e)}"
            for e in step.eqns
            if id(e) in self.numbers
        ]
        fields: list[dict[str, Any]] = [
            {"title": f"step {step.number}", "code": [step.text.strip()], "lines": [step.caption]}
        ]
        if names:
            fields.append({"title": "what Python sees (* new)", "code": names})
        if recorded:
            fields.append({"title": "what was recorded", "code": recorded})
        return fields

    def _step_data(self, step: Step) -> dict[str, Any]:
        return {
            "number": step.number,
            "function": step.function,
            "line": step.line,
            "text": step.text.strip(),
            "depth": step.depth,
            "caption": step.caption,
            "operations": [self.numbers[id(e)] for e in step.eqns if id(e) in self.numbers],
            "names": [self._name_data(h) for h in step.names],
        }

    def _name_data(self, held: Held) -> dict[str, Any]:
        found = {"name": held.name, "type": held.type, "is_new": held.is_new}
        found["value"] = held.text if held.atom is None else self._summary(held.atom)
        if self.mode == "grad" and held.atom in self.tangents:
            found["tangent"] = summary(self.tangents[held.atom])
        if self.mode == "vmap" and held.atom is not None:
            whole = self.batch.get(held.atom)
            found["batch"] = "same for all" if whole is None else _type_of(whole)
        return found

    def _summary(self, atom: Any) -> str:
        key = id(atom)
        if key not in self._summaries:
            self._summaries[key] = summary_or_unknown(self.recording.value(atom))
        return self._summaries[key]

    def _sweep_data(self, sweep: Sweep) -> dict[str, Any]:
        eqn = self.recording.eqns[sweep.position]
        received = [f"ct {self.label(v)} += {summary(ct)}" for v, ct in sweep.received]
        given = f"ct {self.label(eqn.outvars[0])} = {summary_or_unknown(sweep.given)}"
        source = eqn.source
        return {
            "operation": sweep.position + 1,
            "name": eqn.primitive.name,
            "line": source.line if source is not None else 0,
            "given": given,
            "received": received,
        }

    def operation(self, eqn: Any) -> str:
        """Return one recorded operation: ``3  f32[4,3] = tanh [2]``."""
        operands = " ".join(self.label(a) for a in eqn.invars)
        types = " ".join(v.aval.str_short() for v in eqn.outvars)
        inner = eqn.params.get("name", "") if eqn.primitive.name == "jit" else ""
        name = f"jit {inner}" if inner else eqn.primitive.name
        return f"{types} = {name} {operands}".rstrip()

    def label(self, atom: Any) -> str:
        """Return a var as the input's name or the number of its operation; a literal as it is."""
        return self._labels.get(atom, "constant") if hasattr(atom, "count") else str(atom.val)

    # --- text ---

    def _text(self) -> str:
        parts = [self.title]
        for step in self.recording.steps:
            lines = [f"{step.number:>3}  {self._head(step)}", f"     {step.caption}"]
            rows = [self._row(h) for h in step.names if h.is_new]
            if rows:
                lines += [f"     {line}" for line in columns(rows).split("\n")]
            lines += [
                f"     [{self.numbers[id(e)]}] {self.operation(e)}"
                for e in step.eqns
                if id(e) in self.numbers
            ]
            parts.append("\n".join(lines))
        if self.sweep:
            rows = []
            for s in map(self._sweep_data, self.sweep):
                where = f"[{s['operation']}] {s['name']}"
                rows.append((where, f"line {s['line']}", s["given"], "; ".join(s["received"])))
            parts.append("reverse sweep\n" + columns(rows))
        if self.recording.was_cut:
            parts.append(f"The rest is left out: {MAX_STEPS} steps are shown.")
        return "\n\n".join(parts)

    def _head(self, step: Step) -> str:
        indent = "  " * min(step.depth - 1, MAX_INDENT)
        if step.depth - 1 > MAX_INDENT:
            indent += f"({step.depth - 1}) "
        text = step.text.strip() or "(no source)"
        return f"{indent}{step.function}:{step.line}  {text}"

    def _row(self, held: Held) -> tuple[str, ...]:
        data = self._name_data(held)
        row = [held.name, held.type, data["value"]]
        if "tangent" in data:
            row.append(f"tangent {data['tangent']}")
        if "batch" in data:
            row.append(f"batch {data['batch']}")
        return tuple(row)

    # --- fold-outs: they need no script and print ---

    def fragment(self) -> str:
        """Return the fold-outs as HTML that survives the sanitisers of notebooks.

        Pictures of values, then names that have not changed, then all names are left out where all
        together would be more than a view may add to a notebook.
        """
        found = ""
        for self._detail in (2, 1, 0, -1):
            found = self._fragment()
            if len(found) < MAX_BUNDLE_BYTES // 2:
                return found
        cut = found.rfind("<details>", 0, MAX_BUNDLE_BYTES // 2)
        return f"{found[:cut]}<p>The other steps are in the text of the view.</p>"

    def _fragment(self) -> str:
        parts = [f"<p><b>{escape(self.title)}</b></p>", *map(self._fold, self.recording.steps)]
        if self.sweep:
            rows = "".join(
                f"<tr><td>[{s['operation']}] {escape(s['name'])}</td><td>line {s['line']}</td>"
                f"<td>{escape(s['given'])}</td><td>{escape('; '.join(s['received']))}</td></tr>"
                for s in map(self._sweep_data, self.sweep)
            )
            parts.append(
                f"<details><summary><b>reverse sweep</b></summary><table>{rows}</table></details>"
            )
        return "\n".join(parts)

    def _fold(self, step: Step) -> str:
        count = len([e for e in step.eqns if id(e) in self.numbers])
        mark = f" +{count} op{'' if count == 1 else 's'}" if count else ""
        head = escape(f"{step.number:>3}  {self._head(step)}")
        summary_text = (
            f'<summary><code style="white-space:pre">{head}</code>'
            f" <b>{mark}</b> <i>{escape(step.caption)}</i></summary>"
        )
        shown = [h for h in step.names if self._detail > 0 or (h.is_new and not self._detail)]
        names = "".join(map(self._name_html, shown))
        if names:
            more = {"grad": ["tangent"], "vmap": ["batch"]}.get(self.mode, [])
            titles = "".join(f"<th>{t}</th>" for t in ("name", "type", "value", *more))
            names = f"<tr>{titles}</tr>{names}"
        ops = "".join(
            f"<li><code>[{self.numbers[id(e)]}] {escape(self.operation(e))}</code></li>"
            for e in step.eqns
            if id(e) in self.numbers and self._detail >= 0
        )
        recorded = f"<ul>{ops}</ul>" if ops else ""
        return f"<details>{summary_text}<table>{names}</table>{recorded}</details>"

    def _name_html(self, held: Held) -> str:
        data = self._name_data(held)
        has_picture = held.atom is not None and held.is_new and self._detail == 2
        value = self.recording.value(held.atom) if has_picture else None
        cells = [f"<b>{escape(held.name)}</b>" if held.is_new else escape(held.name)]
        cells += [f"<code>{escape(held.type)}</code>", _picture(value) + escape(data["value"])]
        if self.mode == "grad":
            tangent = self.tangents.get(held.atom) if has_picture else None
            cells.append(_picture(tangent) + escape(data.get("tangent", "")))
        if self.mode == "vmap":
            cells.append(escape(data.get("batch", "")))
        return f"<tr>{''.join(f'<td>{c}</td>' for c in cells)}</tr>"

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return fold-outs and text; the fold-outs are the picture."""
        text = self.text()
        if len(text) > MAX_BUNDLE_BYTES // 3:
            text = f"{text[: MAX_BUNDLE_BYTES // 3]}\n(The rest is in the text of the view.)"
        data = {"text/html": self.fragment(), "text/plain": text}
        for kind in tuple(data):
            if (include and kind not in include) or (exclude and kind in exclude):
                del data[kind]
        return data, {}

    # --- picture ---

    def dot(self) -> str:
        """Return the steps as a chain."""
        rows = []
        for step in self.recording.steps:
            label = f"{self._head(step)}\n{step.caption}".replace("\\", "\\\\").replace('"', '\\"')
            rows.append(f'  s{step.number} [shape=box, fontname="monospace", label="{label}"];')
        chain = " -> ".join(f"s{s.number}" for s in self.recording.steps)
        return "\n".join(["digraph steps {", *rows, f"  {chain};" if chain else "", "}"])

    def _draw(self) -> Canvas:
        """Draw the lines as a listing with what each recorded."""
        canvas = Canvas()
        steps = self.recording.steps
        heads = [self._head(s) for s in steps]
        left = 60 + max([text_width(h, 13, mono=True) for h in heads], default=0)
        left = min(left, 700)
        width = left + 40 + max([text_width(s.caption, 12) for s in steps], default=200)
        canvas.width, canvas.height = width + 20, 60 + 26 * len(steps)
        canvas.text((20, 28), self.title, 15, bold=True)
        for k, step in enumerate(steps):
            y = 48 + 26 * k
            canvas.open_group(f"{self.prefix}-step{step.number}", "jxl-step", step.caption)
            canvas.rect(10, y, width, 26, Pen(fill=PAPER if k % 2 else LANE))
            canvas.text((16, y + 18), str(step.number), 11, fill=DIM)
            canvas.text((44, y + 18), heads[k][:100], 13, fill=INK, mono=True)
            colour = GREEN if step.eqns else PURPLE if "decided" in step.caption else BLUE
            canvas.text((left + 20, y + 18), step.caption, 12, fill=colour)
            canvas.line((10, y + 26), (10 + width, y + 26), Pen(stroke=LINE))
            canvas.close_group()
        return canvas


def step(
    f: Callable[..., Any],
    /,
    *args: Any,
    mode: str = "trace",
    in_axes: int | Sequence[int | None] | None = 0,
    **kwargs: Any,
) -> StepView:
    """Trace ``f`` line by line and show what each line did.

    The function runs once on tracers, as under ``jit``, and its operations once on the arguments.

    Args:
      f: a function, or what ``jaxlite.jit`` made of one.
      *args: arrays, numbers and containers of them; other values are given as they are.
      mode: ``trace``; ``grad`` adds tangents and the reverse sweep of the first result; ``vmap``
        traces the first example and shows the batch beside it.
      in_axes: for ``vmap``, the axis of each positional argument along which examples lie.
      **kwargs: further arguments of ``f``.

    Raises:
      TypeError: ``f`` is not callable. ValueError: an unknown mode.

    >>> import jaxlite, jaxlite.numpy as jnp
    >>> view = jaxlite.step(lambda x: jnp.tanh(x) * 2, jnp.ones(3))
    >>> [s["caption"] for s in view.data()["steps"]]
    ['recorded tanh, mul']
    """
    if not callable(f):
        raise TypeError(f"step expects a function, got {type(f).__name__}")
    if mode not in ("trace", "grad", "vmap"):
        raise ValueError(f"unknown mode {mode!r}\n  Fix: trace, grad or vmap.")
    is_jitted = hasattr(f, "trace") and hasattr(f, "__wrapped__")
    function = f.__wrapped__ if is_jitted else f  # type: ignore[attr-defined]
    if mode != "vmap":
        return StepView(record(function, args, kwargs), mode, None)
    axes = tuple(in_axes) if isinstance(in_axes, Sequence) else (in_axes,) * len(args)
    whole = [_moved(a, axis) for a, axis in zip(args, axes, strict=True)]
    one = [a if axis is None else _first(a) for a, axis in zip(whole, axes, strict=True)]
    recording = record(function, one, kwargs)
    names = dict(recording.inputs)
    flags = [
        tree_util.tree_map(lambda _, axis=axis: axis is not None, a)
        for a, axis in zip(one, axes, strict=True)
    ]
    leaves = zip(tree_util.tree_leaves(whole), tree_util.tree_leaves(flags), strict=True)
    batch = {v: x for v, (x, is_batched) in zip(names.values(), leaves) if is_batched}
    return StepView(recording, mode, batch)


def _moved(value: Any, axis: int | None) -> Any:
    """Return ``value`` with the axis of examples in front."""
    if axis is None:
        return value
    return tree_util.tree_map(
        lambda x: jaxlite.numpy.moveaxis(jaxlite.numpy.asarray(x), axis, 0), value
    )


def _first(value: Any) -> Any:
    return tree_util.tree_map(lambda x: x[0], value)


def summary_or_unknown(value: Any) -> str:
    """Return the summary of a value, or that it is not known."""
    return "not known" if value is None else summary(value)


def _type_of(value: Any) -> str:
    return str(value.aval.str_short()) if hasattr(value, "aval") else str(type(value).__name__)


def _picture(value: Any) -> str:
    address = "" if value is None or getattr(value, "size", 1) < 2 else thumbnail(value)
    if not address:
        return ""
    style = "image-rendering:pixelated;vertical-align:middle"
    return f'<img src="{address}" width="40" height="40" alt="" style="{style}"> '
