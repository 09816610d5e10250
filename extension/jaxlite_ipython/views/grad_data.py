"""Both passes of a gradient as boxes. In: a ``GradientTrace`` and what was measured.

Out: ``GradientPicture``: one graph with the sides '' (forward), 'saved' and 'backward', and the
facts about inputs and saved values. A box of the backward pass stands on the line of the operation
that caused it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from jaxlite.diagnose.check_gradient import GradientCheck
from jaxlite.diagnose.gradient import GradientTrace, Step
from jaxlite.diagnose.gradient_values import VANISHES, GradientValues
from jaxlite_ipython.views.costs import family_of, flops_of, label_of, role_of
from jaxlite_ipython.views.grad_names import Names
from jaxlite_ipython.views.grad_reasons import missing_reasons
from jaxlite_ipython.views.op_graph import Node, OpGraph, aval_bytes, build_graph, number_nodes
from jaxlite_ipython.views.source_lines import Lane
from jaxlite_ipython.views.traced import Subject
from jaxlite_ipython.views.words import bytes_text, short

__all__ = ["GradientPicture", "InputFact", "SavedFact", "picture_of"]

_FIRST = {"matmul": 0, "loop or call": 0, "reduction": 1, "elementwise": 2, "other": 3}


@dataclass(slots=True)
class SavedFact:
    """A value kept for the backward pass. ``is_given``: an argument or constant, kept anyway."""

    text: str
    type: str
    n_bytes: float
    lane: Lane | None
    is_given: bool
    recompute_flops: float
    n_recompute: int
    #: Whether it takes no more than that.
    is_whole: bool = True
    read_by: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class InputFact:
    """An input and its gradient: a norm and a check where measured, or why there is none."""

    name: str
    type: str
    reason: str = ""
    norm: float | None = None
    check: GradientCheck | None = None

    @property
    def check_text(self) -> str:
        """Badge of the comparison with finite differences."""
        check = self.check
        if check is None:
            return ""
        if check.is_good:
            return f"\N{CHECK MARK} {_short_number(check.error)}"
        place = f" at [{','.join(map(str, check.index))}]" if check.index else ""
        return f"\N{BALLOT X} {_short_number(check.error)}{place}"


@dataclass(slots=True)
class GradientPicture:
    """Everything that the view of a gradient shows."""

    graph: OpGraph
    result: str
    inputs: list[InputFact]
    saved: list[SavedFact]
    n_backward: int
    backward_flops: float
    alerts: list[str]
    #: What an operation without backward operation does with a cotangent (key: ``Node.pair``).
    without: dict[str, str]


def picture_of(
    subject: Subject,
    trace: GradientTrace,
    values: GradientValues | None,
    checks: dict[int, GradientCheck],
) -> GradientPicture:
    """Return the boxes and facts of both passes."""
    return _Builder(subject, trace, values, checks).build()


class _Builder:
    def __init__(
        self,
        subject: Subject,
        trace: GradientTrace,
        values: GradientValues | None,
        checks: dict[int, GradientCheck],
    ) -> None:
        self.subject, self.trace, self.values, self.checks = subject, trace, values, checks
        n_consts = len(trace.forward.consts)
        consts = [*subject.const_names, *[f"constant {k + 1}" for k in range(n_consts)]][:n_consts]
        self.graph = build_graph(
            trace.forward, subject.arg_names, subject.result_names, consts, keep_rules=True
        )
        self.names = Names(trace, self.graph, subject.arg_names, consts)
        self.node_of = self._nodes_of_equations()
        for k, box in enumerate(dict.fromkeys(self.node_of)):
            if box is not None:
                box.pair = f"p{k + 1}"
        self.primal_flops = [flops_of(e) for e in trace.primal.eqns]
        self.made_by: dict[Any, Node] = {}
        self.tags: dict[Any, Node] = {}
        self.facts: dict[Any, SavedFact] = {}
        self.loop_tags: dict[int, Node] = {}
        self.alerts: list[str] = []
        #: Logarithms of the smallest and the largest norm.
        self.scale: tuple[float, float] | None = None
        self.result = subject.result_names[trace.result]

    def _nodes_of_equations(self) -> list[Node | None]:
        """Return for each equation its box; a folded one belongs to the box of its reader."""
        boxes: dict[int, Node] = {}
        for box in self.graph.ops:
            boxes.update((id(e), box) for e in (box.eqn, *box.folded))
        eqns = self.trace.forward.eqns
        reader: dict[Any, Node] = {}
        found: list[Node | None] = []
        for eqn in reversed(eqns):
            node = boxes.get(id(eqn))
            if node is None:
                node = next((reader[v] for v in eqn.outvars if v in reader), None)
            if node is not None:
                reader.update((a, node) for a in eqn.invars if not hasattr(a, "val"))
            found.append(node)
        return found[::-1]

    def build(self) -> GradientPicture:
        trace, graph = self.trace, self.graph
        seed = Node("input", "start at 1", trace.seed.aval.str_short(), "input", 4.0)
        seed.side = "backward"
        seed.n_bytes = aval_bytes(trace.seed.aval)
        self.made_by[trace.seed] = seed
        tags = list(dict.fromkeys(self.tag(s) for s in trace.saved))
        steps = [self.step(s) for s in trace.steps]
        for step, node in zip(trace.steps, steps, strict=True):
            self.connect(step, node)
        inputs = self.inputs()
        ends = [self.gradient(number, inputs[number]) for number in trace.cotangents]
        self.alert_bad_values(steps)
        graph.nodes += [*tags, seed, *steps, *ends]
        number_nodes(graph.nodes)
        seed.is_used = True
        for var, fact in self.facts.items():
            if fact.is_given and fact.read_by:  # an argument stands where it is first read
                fact.lane = self.tags[var].lane = fact.read_by[0].lane
        return GradientPicture(
            graph,
            self.result,
            inputs,
            list(self.facts.values()),
            sum(n.n_ops for n in steps),
            sum(n.flops for n in steps),
            self.alerts,
            self.without(),
        )

    def without(self) -> dict[str, str]:
        """Say of each operation what becomes of a cotangent that arrives there."""
        words: dict[str, str] = {}
        flat = set(self.trace.flat)
        for k, node in enumerate(self.node_of):
            if node is None:
                continue
            word = "passes it on" if self.trace.active[k] else "no gradient"
            if k in flat:
                word = "stops it" if node.eqn.primitive.name == "stop_gradient" else "is flat"
            words[node.pair] = word
        return words

    # --- saved values ---

    def tag(self, saved: Any) -> Node:
        """Return the box of a saved value; the values that a loop saves are one box."""
        is_given = not saved.recompute
        cause = None if is_given else self.trace.primal_cause[saved.recompute[-1]]
        text, size = self.names.saved(saved.var), float(saved.n_bytes)
        flops = sum(self.primal_flops[k] for k in saved.recompute)
        fact = SavedFact(
            text,
            saved.var.aval.str_short(),
            size,
            None if cause is None else self.lane_of(cause),
            is_given,
            flops,
            len(saved.recompute),
            saved.is_whole,
        )
        self.facts[saved.backward_var] = fact
        node = self.loop_tags.get(cause) if cause is not None else None
        if node is None:
            family = "kept argument" if is_given else "saved"
            node = Node("op", short(text, 24), "", family, 0.0, fact.lane, side="saved")
        if cause is not None:
            self.join_loop_tag(node, cause)
            maker = self.node_of[cause]
            if maker is not None:
                node.reads[maker] = node.reads.get(maker, 0.0) + size
                node.pair = maker.pair
        node.n_bytes += size
        node.type = bytes_text(node.n_bytes)
        self.tags[saved.backward_var] = node
        return node

    def join_loop_tag(self, node: Node, cause: int) -> None:
        """Count a value in the one box of a loop."""
        eqn = self.trace.forward.eqns[cause]
        if role_of(eqn) not in ("scan", "cond"):
            return
        node.times = node.times + 1 if cause in self.loop_tags else 1
        self.loop_tags[cause] = node
        if node.times > 1:
            node.label = label_of(eqn) + (" each step" if role_of(eqn) == "scan" else "")

    def lane_of(self, cause: int) -> Lane:
        """Return the line of an equation of the function."""
        return self.graph.places[id(self.trace.forward.eqns[cause])]

    # --- backward operations ---

    def step(self, step: Step) -> Node:
        """Return the box of a group of backward equations."""
        eqns = [self.trace.backward.eqns[k] for k in step.eqns]
        main = min(eqns, key=_rank)
        avals = [cotangent.aval for _, cotangent in step.gives] or [main.outvars[0].aval]
        label = "+" if step.kind == "sum" else label_of(main)
        node = Node(
            "op",
            label,
            avals[0].str_short(),
            family_of(main),
            sum(map(aval_bytes, avals)),
            self.lane_of(step.cause),
            flops=sum(map(flops_of, eqns)),
            n_ops=len(eqns),
            eqn=main,
            side="backward",
        )
        cause = self.node_of[step.cause]
        node.pair = cause.pair if cause is not None else ""
        made = (v for e in eqns for v in e.outvars)
        self.made_by.update((v, node) for v in made)
        return node

    def connect(self, step: Step, node: Node) -> None:
        """Set what a backward box reads, its rule and its norm."""
        eqns = [self.trace.backward.eqns[k] for k in step.eqns]
        incoming = []
        for atom in dict.fromkeys(a for e in eqns for a in e.invars if not hasattr(a, "val")):
            tag, maker = self.tags.get(atom), self.made_by.get(atom)
            source = tag if tag is not None else maker
            if source is None or source is node:
                continue
            node.reads[source] = max(node.reads.get(source, 0.0), aval_bytes(atom.aval))
            if tag is not None:
                self.facts[atom].read_by.append(node)
            else:
                incoming.append(atom)
        rules = self.names.rules(step, incoming)
        node.notes = [short(rules[0], 44)] if rules else []
        if len(rules) > 1:
            node.notes[0] = short("; ".join(rules), 44)
        node.detail = "; ".join(rules)
        self.measure(node, [cotangent for _, cotangent in step.gives])

    def measure(self, node: Node, cotangents: list[Any]) -> None:
        """Set the bar of a backward box."""
        if self.values is None:
            return
        norms = [self.values.norms.get(c) for c in cotangents]
        squares = [n * n for n in norms if n is not None]
        if not squares:
            return
        norm = math.sqrt(sum(squares))
        node.gauge = (self.share(norm), f"norm {_short_number(norm)}")
        before = [s for s in node.reads if s.side == "backward" and s.gauge is not None]
        was_small = any(_is_small(s) for s in before)
        if norm < VANISHES and not was_small:
            node.alert = "vanishes here"
            self.alerts.append(f"the gradient vanishes at {node.label} ({_where(node)})")

    def share(self, norm: float) -> float:
        """Return the length of the bar of a norm, on a logarithmic scale over all norms."""
        if norm <= 0 or not math.isfinite(norm):
            return 0.0
        if self.scale is None:
            assert self.values is not None
            every = [c for s in self.trace.steps for _, c in s.gives]
            norms = [self.values.norms.get(c, 0.0) for c in every]
            usable = [n for n in norms if n > 0 and math.isfinite(n)] or [1.0]
            self.scale = math.log10(min(usable)), math.log10(max(usable))
        low, high = self.scale
        if high - low < 1e-9:
            return 1.0
        return min(max(0.08 + 0.92 * (math.log10(norm) - low) / (high - low), 0.03), 1.0)

    # --- inputs and results ---

    def inputs(self) -> list[InputFact]:
        """Return the facts about every input; the ones without gradient become pale."""
        nodes = self.graph.of_kind("input")
        reasons = missing_reasons(self.trace, self.graph, self.result)
        facts = []
        for number, name in enumerate(self.subject.arg_names):
            aval = self.trace.forward.in_avals[number]
            fact = InputFact(name, aval.str_short(), reasons.get(number, ""))
            cotangent = self.trace.cotangents.get(number)
            if cotangent is not None and self.values is not None:
                fact.norm = self.values.norms.get(cotangent)
            fact.check = self.checks.get(number)
            if fact.reason:
                nodes[number].is_dim = True
                nodes[number].notes.append(f"no gradient: {fact.reason}")
            facts.append(fact)
        return facts

    def gradient(self, number: int, fact: InputFact) -> Node:
        """Return the box of an input's gradient."""
        cotangent = self.trace.cotangents[number]
        node = Node("output", f"grad {fact.name}", fact.type, "output", 0.0, side="backward")
        node.n_bytes = aval_bytes(cotangent.aval)
        node.reads[self.made_by[cotangent]] = node.n_bytes
        if fact.norm is not None:
            node.gauge = (self.share(fact.norm), f"norm {_short_number(fact.norm)}")
        if fact.check_text:
            if fact.check is not None and not fact.check.is_good:
                node.alert = fact.check_text
                self.alerts.append(f"grad {fact.name} differs from finite differences")
            else:
                node.notes.append(fact.check_text)
        return node

    # --- NaN and Inf ---

    def alert_bad_values(self, steps: list[Node]) -> None:
        """Mark the operation that makes the first NaN (or, without any, the first Inf)."""
        if self.values is None or not self.values.bad:
            return
        for saved in self.trace.saved:
            kind = self.values.bad.get(saved.var)
            if kind:
                self.tags[saved.backward_var].alert = f"has {kind}"
        gradients_are_fine = all(v not in self.values.bad for v in self.trace.cotangents.values())
        for wanted in ("NaN",) if gradients_are_fine else ("NaN", "Inf"):
            for var, kind in self.values.bad.items():
                node = self.maker_of_bad(var) if kind == wanted else None
                if node is not None:
                    node.alert = f"{kind} starts here"
                    self.alerts.append(f"{kind} starts at {node.label} ({_where(node)})")
                    return

    def maker_of_bad(self, var: Any) -> Node | None:
        """Return the box that made a bad value: a value of the function, or of the backward pass.

        Factors of the rules are no operations of either: what reads them is marked.
        """
        same = self.trace.forward_of.get(var)
        if same is not None:
            jaxpr = self.trace.forward.jaxpr
            for number, given in enumerate(jaxpr.invars):
                if given is same:
                    return self.graph.of_kind("input")[number]
            for k, eqn in enumerate(jaxpr.eqns):
                if same in eqn.outvars:
                    return self.node_of[k]
        made = self.made_by.get(var)
        return made if made is not None and made.kind == "op" else None


def _rank(eqn: Any) -> tuple[bool, int, float]:
    """Order equations by how much they say about what a group of them does."""
    is_silent = eqn.primitive.name in ("broadcast_in_dim", "convert_element_type", "reshape")
    return is_silent, _FIRST.get(family_of(eqn), 4), -flops_of(eqn)


def _where(node: Node) -> str:
    side = "backward pass, " if node.side else ""
    return side + (node.lane.where if node.lane is not None else "an input")


def _is_small(node: Node) -> bool:
    assert node.gauge is not None
    return float(node.gauge[1].removeprefix("norm ")) < VANISHES


def _short_number(value: float) -> str:
    return f"{value:.2g}".replace("e-0", "e-").replace("e+0", "e+")
