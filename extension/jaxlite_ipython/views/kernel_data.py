"""The kernels of a compiled function as records. In: a ``Compilation`` and names. Out: cards and gaps.

A card is a fusion group: one kernel, library call, call of Python, or loop. A ``Gap`` is why two of
them are not one. Everything is read from ``jaxlite.stages`` data; nothing is compiled here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxlite_ipython.views.costs import family_of, flops_of, label_of, role_of
from jaxlite_ipython.views.op_graph import aval_bytes
from jaxlite_ipython.views.source_lines import Lane, find_lanes
from jaxlite_ipython.views.words import bytes_text

__all__ = ["Card", "Gap", "KernelFacts", "kernel_facts", "loop_nest"]

_TITLES = {
    "loop": "elementwise",
    "reduce": "reduction",
    "row": "row by row",
    "cumulative": "running result",
    "scatter": "scatter",
    "update": "update of a slice",
    "dot": "matrix product",
    "host": "Python (NumPy)",
    "control": "control flow",
}
_FAMILIES = {
    "loop": "elementwise",
    "reduce": "reduction",
    "row": "reduction",
    "cumulative": "reduction",
    "scatter": "indexing",
    "update": "indexing",
    "dot": "matmul",
    "host": "other",
    "control": "loop or call",
}
#: Equations that say nothing about what a kernel does.
_QUIET = frozenset({"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy"})
_WORD = re.compile(r"[A-Za-z_]\w*")
NOTHING = "Nothing to do."


@dataclass(slots=True, eq=False)
class Card:
    """One kernel (or loop). ``source`` is a readable loop nest; ``bytes`` and ``flops`` are modelled."""

    id: str
    title: str
    family: str
    kind: str
    chips: list[tuple[str, str]]
    result: str
    reads: list[tuple[str, str, float]]
    stores: list[tuple[str, str, float]]
    n_bytes: float
    flops: float
    lanes: list[Lane]
    source: str = ""
    n_steps: int = 0
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Gap:
    """Why ``producer`` and ``consumer`` (ids of cards) are two kernels, what it costs, what to do."""

    code: str
    producer: str
    consumer: str
    sentence: str
    cost: str
    fix: str
    n_bytes: float

    @property
    def has_fix(self) -> bool:
        """Whether the user can do something."""
        return self.fix != NOTHING


@dataclass(slots=True)
class KernelFacts:
    """All cards in the order they run, the gaps between them, totals."""

    cards: list[Card]
    gaps: list[Gap]
    n_bytes: float
    n_bytes_unfused: float
    flops: float
    notes: list[str] = field(default_factory=list)

    def before(self, card: Card) -> list[Gap]:
        """Return the gaps that end at ``card``."""
        return [g for g in self.gaps if g.consumer == card.id]


def kernel_facts(
    compilation: Any, arg_names: Sequence[str], result_names: Sequence[str], *, is_cell: bool
) -> KernelFacts:
    """Return the cards and gaps of a compilation."""
    reader = _Reader(is_cell)
    jaxpr = compilation.optimised.jaxpr
    names = dict(zip(jaxpr.invars, arg_names))
    reader.read(
        compilation.plan, list(compilation.program.steps), names, list(result_names), 0, 1.0
    )
    cards = reader.cards
    own = [c for c in cards if c.kind != "control"]
    return KernelFacts(
        cards,
        reader.gaps,
        sum(c.n_bytes for c in own),
        unfused_bytes(compilation.jaxpr.jaxpr),
        sum(c.flops for c in own),
    )


def unfused_bytes(jaxpr: Any) -> float:
    """Return the bytes that go to and from memory if every operation is a kernel of its own."""
    total = 0.0
    for eqn in jaxpr.eqns:
        role = role_of(eqn)
        if not role:
            total += sum(aval_bytes(a.aval) for a in eqn.invars if not hasattr(a, "val"))
            total += sum(aval_bytes(v.aval) for v in eqn.outvars)
            continue
        inner = [unfused_bytes(getattr(j, "jaxpr", j)) for j in _bodies(eqn)]
        times = float(eqn.params["length"]) if role == "scan" else 1.0
        total += times * (max(inner, default=0.0) if role == "cond" else sum(inner))
    return total


def _bodies(eqn: Any) -> list[Any]:
    """Return the jaxprs of an equation that are run (of a call only its body)."""
    if role_of(eqn) == "call":
        return [eqn.params[eqn.primitive.call_param]]
    found = []
    for value in eqn.params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if hasattr(item, "eqns"):
                found.append(item)
    return found


class _Reader:
    def __init__(self, is_cell: bool) -> None:
        self.is_cell = is_cell
        self.cards: list[Card] = []
        self.gaps: list[Gap] = []
        self.buffers: dict[str, str] = {}
        self.n_kernels = 0
        self.n_loops = 0

    def read(
        self,
        plan: Any,
        steps: list[Any],
        names: dict[Any, str],
        result_names: list[str],
        depth: int,
        times: float,
    ) -> None:
        """Add the cards of one plan, those of the bodies of loops behind their loop."""
        jaxpr = plan.closed.jaxpr
        names = {**_value_names(jaxpr, result_names), **names}
        if not depth:
            self.buffers = _buffer_names(jaxpr, names)
        groups = list(plan.groups)
        owned = _assign(groups, steps)
        ids: list[str] = []
        for group, own in zip(groups, owned, strict=True):
            card = self.card(group, own, names, depth, times)
            ids.append(card.id)
            self.cards.append(card)
            if group.kind == "control":
                self.read_inner(group, own, names, depth + 1, times)
        outputs = {v for v in jaxpr.outvars if not hasattr(v, "val")}
        self.gaps += _gaps(plan, ids, names, outputs, self.is_cell)

    def read_inner(
        self, group: Any, steps: list[Any], names: dict[Any, str], depth: int, times: float
    ) -> None:
        """Add the cards of a loop's body or a branch's cases."""
        (eqn,) = group.eqns
        n = times * float(eqn.params["length"]) if role_of(eqn) == "scan" else times
        bodies = _inner_steps(steps, len(group.inner), eqn)
        keys = [k for k in eqn.params if k in ("cond_jaxpr", "body_jaxpr")]
        for k, (plan, body) in enumerate(zip(group.inner, bodies, strict=True)):
            given = _inner_names(eqn, keys[k] if keys else "", names)
            self.read(plan, body, dict(zip(plan.closed.jaxpr.invars, given)), [], depth, n)

    def card(
        self, group: Any, steps: list[Any], names: dict[Any, str], depth: int, times: float
    ) -> Card:
        """Return the card of one group."""
        if group.kind == "control":
            self.n_loops += 1
            number = f"L{self.n_loops - 1}"
        else:
            self.n_kernels += 1
            number = f"K{self.n_kernels - 1}"
        reads = [_value(v, names) for v in group.ins]
        buffers = self.buffers if not depth else {}
        stores = [_value(v, names) for v in group.outs]
        outs = [v.aval for v in group.outs]
        title = _TITLES.get(group.kind, group.kind)
        if group.kind == "control":
            title = label_of(group.eqns[0])
        named = [n for n, _, _ in stores if not n.startswith("(")]
        lanes, _ = find_lanes(e.source for e in group.eqns if e.source is not None)
        is_control = group.kind == "control"
        return Card(
            number,
            f"{', '.join(named)}: {title}" if named else title,
            _FAMILIES.get(group.kind, "other"),
            group.kind,
            _chips(group),
            _result_text(outs),
            reads,
            stores,
            0.0 if is_control else times * sum(b for *_, b in (*reads, *stores)),
            0.0 if is_control else times * sum(map(flops_of, group.eqns)),
            lanes,
            _source_text(steps, buffers),
            sum(hasattr(s, "kernel") or hasattr(s, "routine") for s in steps),
            depth,
        )


def _value(var: Any, names: dict[Any, str]) -> tuple[str, str, float]:
    return names.get(var, "(intermediate)"), var.aval.str_short(), aval_bytes(var.aval)


def _result_text(avals: list[Any]) -> str:
    texts = [a.str_short() for a in avals]
    if not texts:
        return "no result"
    if len(set(texts)) == 1:
        many = f"{len(texts)} \N{MULTIPLICATION SIGN} " if len(texts) > 1 else ""
        return f"{many}{texts[0]}"
    return f"{texts[0]} +{len(texts) - 1}"


def _chips(group: Any) -> list[tuple[str, str]]:
    """Return label and family of the operations in a kernel, runs of the same one once."""
    eqns = [e for e in group.eqns if e.primitive.name not in _QUIET] or list(group.eqns)
    chips: list[tuple[str, str]] = []
    for eqn in eqns:
        chip = (label_of(eqn), family_of(eqn))
        if not chips or chips[-1] != chip:
            chips.append(chip)
    return chips


def _value_names(jaxpr: Any, result_names: list[str]) -> dict[Any, str]:
    """Name values as the user does: by the assignment on their line, or as a result."""
    names: dict[Any, str] = {}
    lanes, places = find_lanes(e.source for e in jaxpr.eqns)
    last = {id(lane): eqn for eqn, lane in zip(jaxpr.eqns, places, strict=True)}
    for lane in lanes:
        eqn = last[id(lane)]
        if lane.target and lane.function != "<lambda>" and len(eqn.outvars) == 1:
            names[eqn.outvars[0]] = lane.target
    for atom, name in zip(jaxpr.outvars, result_names):
        if not hasattr(atom, "val"):
            names.setdefault(atom, name)
    for eqn in jaxpr.eqns:
        for var in eqn.outvars:
            names.setdefault(var, f"({label_of(eqn)})")
    return names


def _inner_names(eqn: Any, which: str, names: dict[Any, str]) -> list[str]:
    """Return names for the arguments of a loop's body, a loop's test or a branch."""

    def outer(atoms: Sequence[Any], form: str = "{}") -> list[str]:
        texts = ["a constant" if hasattr(a, "val") else names.get(a, "(argument)") for a in atoms]
        return [form.format(t) for t in texts]

    params, ins = eqn.params, eqn.invars
    if role_of(eqn) == "while":
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        consts = ins[:n_cond] if which == "cond_jaxpr" else ins[n_cond : n_cond + n_body]
        state = eqn.outvars
        return [*outer(consts), *outer(state, "{} so far")]
    if role_of(eqn) == "scan":
        n_consts, n_carry = params["num_consts"], params["num_carry"]
        state = eqn.outvars[:n_carry]
        rows = ins[n_consts + n_carry :]
        return [*outer(ins[:n_consts]), *outer(state, "{} so far"), *outer(rows, "row of {}")]
    return outer(ins[1:])


# --- which step belongs to which group ---


def _assign(groups: list[Any], steps: list[Any]) -> list[list[Any]]:
    """Return the steps of each group: both lists are in the order in which things run."""
    owned: list[list[Any]] = [[] for _ in groups]
    waiting: list[Any] = []  # preparations, such as packing an operand: they belong to what follows
    at = 0
    for step in steps:
        if hasattr(step, "src"):
            continue  # a copy
        found = next((k for k in range(at, len(groups)) if _fits(groups[k], step)), None)
        if found is None:
            waiting.append(step)
            continue
        owned[found] += [*waiting, step]
        waiting = []
        at = found + 1
    if groups and waiting:
        owned[-1] += waiting
    return owned


def _fits(group: Any, step: Any) -> bool:
    if hasattr(step, "kernel"):
        name, own = step.kernel.name, _identifier(group.name)
        if group.kind in ("dot", "host", "control"):
            return False
        return name == own or (name.startswith(f"{own}_") and name[len(own) + 1 :].isdigit())
    if hasattr(step, "routine"):
        return bool(group.kind == "dot")
    if hasattr(step, "primitive"):
        return bool(group.kind == "host")
    return bool(group.kind == "control")


def _identifier(text: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in text)


def _inner_steps(steps: list[Any], n: int, eqn: Any) -> list[list[Any]]:
    """Return the steps of each body of a loop or branch, in the order of the equation's parameters."""
    step = next((s for s in steps if not hasattr(s, "kernel")), None)
    if step is not None and hasattr(step, "branches"):
        bodies = [list(b) for b in step.branches]
    elif step is not None and hasattr(step, "cond"):
        order = [k for k in eqn.params if k in ("cond_jaxpr", "body_jaxpr")]
        bodies = [list(step.cond if k == "cond_jaxpr" else step.body) for k in order]
    else:
        bodies = [list(getattr(step, "body", ()))]
    return (bodies + [[]] * n)[:n]


def _buffer_names(jaxpr: Any, names: dict[Any, str]) -> dict[str, str]:
    """Return the user's name (or ``tmp_f``) of each buffer; buffers are called like printed vars."""
    result: dict[str, str] = {}
    variables = [*jaxpr.constvars, *jaxpr.invars]
    variables += [v for e in jaxpr.eqns for v in e.outvars if type(v).__name__ != "DropVar"]
    used: set[str] = set()
    for k, var in enumerate(variables):
        letter = _letters(k)
        name = _as_identifier(names.get(var, ""))
        if not name or name in used:
            name = f"{name or 'tmp'}_{letter}"
        used.add(name)
        result[letter] = name
    return result


def _as_identifier(name: str) -> str:
    """Return ``params_0_w`` for ``params[0]['w']``; '' for a value without a name."""
    if name.isidentifier():
        return name
    text = re.sub(r"\W+", "_", name).strip("_")
    if not text or name.startswith("("):
        return ""
    return text if text.isidentifier() else f"result_{text}"


def _letters(n: int) -> str:
    text = ""
    while True:
        n, digit = divmod(n, 26)
        text = chr(97 + digit) + text
        if not n:
            return text


def _source_text(steps: list[Any], buffers: dict[str, str]) -> str:
    parts = []
    for step in steps:
        if hasattr(step, "kernel"):
            parts.append(_kernel_text(step, buffers))
        elif hasattr(step, "routine"):
            parts.append(_call_text(step.routine, step, buffers))
        elif hasattr(step, "primitive"):
            name = f"numpy {getattr(step.primitive, 'name', '')}"
            parts.append(_call_text(name, step, buffers))
        elif hasattr(step, "trip"):
            parts.append(f"for {step.counter} in {step.trip}{', reverse' * step.reverse}: ...")
        elif hasattr(step, "branches"):
            parts.append(f"one of {len(step.branches)} branches, by {step.index.buffer}")
        else:
            parts.append("while the test holds: ...")
    return "\n".join(parts)


def _kernel_text(step: Any, buffers: dict[str, str]) -> str:
    """Return the loop nest with the user's names for its buffers."""
    text = _without_comments(str(step.kernel))
    own = set(_WORD.findall(text))
    table: dict[str, str] = {}
    for param, view in zip(step.kernel.params, step.args, strict=True):
        name = buffers.get(view.buffer)
        if name is not None and name not in table.values():
            table[param.name] = f"{name}_" if name in own else name
    return _WORD.sub(lambda m: table.get(m.group(), m.group()), text)


def _call_text(name: str, step: Any, buffers: dict[str, str]) -> str:
    outs = ", ".join(buffers.get(v.buffer, v.buffer) for v in step.outs)
    values = [buffers.get(v.buffer, v.buffer) for v in step.ins]
    values += [f"{k}={v}" for k, v in step.params if isinstance(v, int | bool | str)]
    return f"{outs} = {name}({', '.join(values)})"


def loop_nest(card: Card) -> list[str]:
    """Return the lines of the source."""
    return card.source.split("\n") if card.source else ["(no kernel of its own)"]


def _without_comments(source: str) -> str:
    lines = source.split("\n")
    return "\n".join(line for line in lines if not line.lstrip().startswith("# "))


# --- why not fused ---


def _gaps(
    plan: Any, ids: list[str], names: dict[Any, str], outputs: set[Any], is_cell: bool
) -> Iterator[Gap]:
    """Yield one gap per reason between two groups; values with the same reason share it."""
    grouped: dict[tuple[str, int, int, str], list[Any]] = {}
    for b in plan.barriers:
        grouped.setdefault((b.reason, b.producer, b.consumer, b.detail), []).append(b.var)
    for (reason, producer, consumer, detail), members in grouped.items():
        values = [names.get(v, "") for v in members]
        named = ", ".join(dict.fromkeys(n for n in values if n and not n.startswith("(")))
        if plan.groups[producer].kind == "control":
            detail = f"{label_of(plan.groups[producer].eqns[0])} leaves its results in memory."
        n_bytes = sum(aval_bytes(v.aval) for v in members)
        size = bytes_text(n_bytes)
        free = [v for v in members if v in outputs]
        yield Gap(
            reason,
            ids[producer],
            ids[consumer],
            f"{named}: {_plain(detail)}" if named else _plain(detail),
            f"{size} stored, then read again.",
            _fix(reason, [names.get(v, "it") for v in free], is_cell),
            n_bytes,
        )


def _plain(detail: str) -> str:
    """Return the engine's sentence with operations named as on the chips."""
    words = detail.split(" ")
    first = {"dot_general": "dot", "select_n": "where"}.get(words[0], words[0])
    first = first.removeprefix("reduce_") if first.startswith("reduce_") else first
    text = " ".join([first, *words[1:]])
    return text if text.endswith(".") else f"{text}."


def _fix(reason: str, outputs: list[str], is_cell: bool) -> str:
    """Return an edit that makes the reason go away, if the user can make one."""
    if reason != "output" or not outputs:
        return NOTHING
    name = outputs[0]
    if is_cell and name.isidentifier():
        return f"Fix: if nobody needs it, name it _{name}."
    return f"Fix: if nobody needs it, do not return {name}."
