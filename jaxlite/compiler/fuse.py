"""Stage 5 of 7, fuse. In: an optimised jaxpr. Out: ``FusionPlan``. Next: ``lower.py``.

Invariant: every equation is in some group (or an alias); a group reads only inputs and what earlier
groups stored; every value that crosses groups has a ``FusionBarrier``.

Equations are visited from the last to the first, so all readers of a value are known when it is
decided: *inline* (it exists in registers, inside each reader's kernel), *store within a reader* (an
extra result of the same loop) or *store in a kernel of its own*. An expensive value is never
computed more often than it has elements; index maps and cheap arithmetic may be.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxlite.compiler.access import Access, cost_of, free_vars, is_renaming, kind_of, reads_of
from jaxlite.compiler.cluster import MAX_EQNS, MAX_INPUTS, Cluster, Clusters, Opaque, Place, Use
from jaxlite.compiler.domain import is_good_row, reduced_count, reduction_domain, reduction_reads
from jaxlite.compiler.plan import FusionPlan, Group, Reason
from jaxlite.language.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    jaxprs_in_params,
)

#: Position of the operand that is written into the first one, for groups that write in place.
_UPDATES = {"update": 1, "scatter": 2}
#: Extra work per element, in additions, up to which computing again beats a pass through memory.
MAX_EXTRA = 4.0
#: Work per element that costs no more than loading the element would.
CHEAP = 1.5


def fuse(closed: ClosedJaxpr, *, is_on: bool = True) -> FusionPlan:
    """Return the groups of ``closed``; with ``is_on=False`` every equation is its own group.

    Bodies of control flow have plans of their own (``Group.inner``).
    """
    return _Fuser(closed, is_on).run()


@dataclass(slots=True)
class Verdict:
    """Why a value is stored, for the barriers to its readers."""

    reason: Reason
    detail: str


class _Fuser:
    def __init__(self, closed: ClosedJaxpr, is_on: bool) -> None:
        self.closed = closed
        self.is_on = is_on
        self.jaxpr: Jaxpr = closed.jaxpr
        self.eqns = self.jaxpr.eqns
        self.kinds = [kind_of(e) for e in self.eqns]
        self.outputs = {v for v in self.jaxpr.outvars if isinstance(v, Var)}
        self.given = set(self.jaxpr.invars)
        self.weight: dict[Var, float] = {}
        self.reader_count: dict[Var, int] = {}
        self.maker: dict[Var, int] = {}
        self.graph = Clusters()
        self.aliases: dict[Var, Var] = {}
        self.inner: dict[Cluster, tuple[FusionPlan, ...]] = {}
        self.last_effect: Cluster | None = None
        self.kept_pads: set[Var] = set()
        self._weigh()

    def _weigh(self) -> None:
        """Estimate what computing one element costs if everything cheap before it is inlined."""
        for position, (eqn, kind) in enumerate(zip(self.eqns, self.kinds, strict=True)):
            for var in free_vars(eqn):
                self.reader_count[var] = self.reader_count.get(var, 0) + 1
            for var in eqn.outvars:
                self.maker[var] = position
            if kind == "map":
                cost = cost_of(eqn)
                for a in eqn.invars:
                    if not isinstance(a, Literal) and a not in self.outputs:
                        cost += self.weight.get(a, 0.0) if a.aval.size > 1 else 0.0
                self.weight[eqn.outvars[0]] = min(cost, 1000.0)

    def run(self) -> FusionPlan:
        """Visit all equations backwards and return the plan."""
        for position in range(len(self.eqns) - 1, -1, -1):
            eqn, kind = self.eqns[position], self.kinds[position]
            match kind:
                case "map":
                    self.visit_map(position, eqn)
                case "reduction":
                    self.visit_reduction(position, eqn)
                case _:
                    self.visit_other(position, eqn, kind)
        for var in (*self.jaxpr.invars, *self.jaxpr.constvars):
            self.merge_readers(var)
        if self.is_on:
            self.graph.merge_scalars()
        return self.plan()

    def merge_readers(self, var: Var) -> None:
        """Let loops over the same elements of ``var`` be one loop."""
        if self.is_on:
            self.graph.merge_siblings(var)

    # --- maps ---

    def visit_map(self, position: int, eqn: JaxprEqn) -> None:
        """Inline the result of a map, or store it."""
        (var,) = eqn.outvars
        graph = self.graph
        if eqn.primitive.name == "sliding_windows":
            self.keep_padding(eqn)
        self.alias_instead(eqn, var)
        is_output = var in self.outputs and var not in self.aliases
        self.merge_readers(var)
        uses = graph.uses_of(var)
        if not uses and not is_output:
            return
        verdict = self.verdict_of(var, uses, is_output)
        if verdict is None:
            for cluster in graph.readers(uses):
                self.inline(position, eqn, cluster, [u for u in uses if u.cluster is cluster])
            return
        home = self.find_home(var, uses)
        if home is None:
            home = graph.new("nest", [n for n in var.aval.shape if n != 1])
            place: Place = tuple(home.axes)
        else:
            place = next(u.place for u in uses if u.cluster is home)
        assert not isinstance(place, Opaque)
        self.store(home, var, place, uses, verdict)
        self.inline(position, eqn, home, [Use(home, place, False)])

    def alias_instead(self, eqn: JaxprEqn, var: Var) -> None:
        """If ``var`` is another value under a new shape and needs memory, hand its readers on."""
        uses = self.graph.uses_of(var)
        needed = var in self.outputs or any(u.is_memory for u in uses)
        if not needed or not self.is_on or not is_renaming(eqn):
            return
        source = eqn.invars[0]
        assert isinstance(source, Var)
        self.aliases[var] = source
        for use in uses:
            if use.is_memory:
                self.graph.add_use(source, use)
                use.cluster.pending.discard(var)
        self.graph.uses[var] = [u for u in uses if not u.is_memory]
        if var in self.outputs:
            self.outputs.add(source)

    def verdict_of(self, var: Var, uses: list[Use], is_output: bool) -> Verdict | None:
        """Return None to inline ``var`` into all its readers, else why it is stored."""
        if not self.is_on:
            return Verdict("size", "fusion is off.")
        for use in uses:
            if use.is_memory:
                return Verdict(use.cluster.memory_reason, use.cluster.memory_detail(var))
        if is_output:
            return Verdict("output", f"it is an output, so it is stored ({_bytes(var)}).")
        for cluster in self.graph.readers(uses):
            if len(cluster.eqns) >= MAX_EQNS:
                return Verdict("size", f"kernel limit of {MAX_EQNS} equations reached.")
            if len(cluster.pending) >= MAX_INPUTS:
                return Verdict("size", f"kernel limit of {MAX_INPUTS} inputs reached.")
        places = {(u.cluster, u.place) for u in uses}
        evaluations = sum(cluster.count(place) for cluster, place in places)
        extra = evaluations / max(var.aval.size, 1) - 1
        weight = self.weight.get(var, 1.0)
        if extra >= 1 and var in self.kept_pads:
            return Verdict("reuse", "its elements are read by windows that cross its edges.")
        if weight <= CHEAP or extra * weight <= MAX_EXTRA:
            return None
        times = max(round(extra + 1), 2)
        return Verdict("reuse", f"its elements are read {times} times and costly to compute again.")

    def keep_padding(self, eqn: JaxprEqn) -> None:
        """Note the padding under sliding windows: no cut of a loop decides its comparisons."""
        atom = eqn.invars[0]
        while isinstance(atom, Var) and (position := self.maker.get(atom)) is not None:
            maker = self.eqns[position]
            if maker.primitive.name == "pad":
                self.kept_pads.add(atom)
            if maker.primitive.name not in ("reshape", "transpose"):
                return
            atom = maker.invars[0]

    def find_home(self, var: Var, uses: list[Use]) -> Cluster | None:
        """Return the reader whose loop can store ``var`` as it computes it."""
        if not self.is_on:
            return None
        best = None
        readers = self.graph.readers(uses)
        for cluster in readers:
            if cluster.kind != "nest" or len(cluster.eqns) >= MAX_EQNS:
                continue
            if len(cluster.pending) >= MAX_INPUTS:
                continue
            places = {u.place for u in uses if u.cluster is cluster}
            if len(places) != 1 or not cluster.can_store(next(iter(places)), var):
                continue
            if self.graph.can_feed(cluster, readers) and (
                best is None or best.height < cluster.height
            ):
                best = cluster
        return best

    def store(
        self, home: Cluster, var: Var, axes: tuple[int, ...], uses: list[Use], verdict: Verdict
    ) -> None:
        """Make ``home`` store ``var``; everybody else reads it from memory."""
        home.outs[var] = axes
        readers = [c for c in self.graph.readers(uses) if c is not home]
        self.graph.feed(home, readers)
        for reader in readers:
            self.graph.barriers.append((verdict.reason, home, reader, var, verdict.detail))

    def inline(self, position: int, eqn: JaxprEqn, cluster: Cluster, uses: list[Use]) -> None:
        """Compute the equation inside ``cluster`` wherever ``uses`` say."""
        cluster.eqns.append(position)
        cluster.pending.discard(eqn.outvars[0])
        reads = reads_of(eqn)
        n_axes = sum(n != 1 for n in eqn.outvars[0].aval.shape)
        seen: set[tuple[Place, bool]] = set()
        places = cluster.places.setdefault(eqn.outvars[0], [])
        for use in uses:
            if (use.place, use.in_sweep) in seen:
                continue
            seen.add((use.place, use.in_sweep))
            if not isinstance(use.place, Opaque):
                places.append(use.place)
            in_sweep = use.in_sweep or cluster.is_full(use.place)
            for k, read in reads:
                operand = eqn.invars[k]
                assert isinstance(operand, Var)
                place = _place_of(read, use.place, n_axes, cluster)
                self.graph.add_use(operand, Use(cluster, place, in_sweep))

    # --- reductions ---

    def visit_reduction(self, position: int, eqn: JaxprEqn) -> None:
        """Put a reduction into a reader's kernel, as its beginning or as a sweep, or start one."""
        (var,) = eqn.outvars
        graph = self.graph
        self.merge_readers(var)
        uses = graph.uses_of(var)
        shape, reduced = reduction_domain(eqn)
        kept = [a for a in range(len(shape)) if a not in reduced]
        home = self.reduction_home(var, uses, shape, reduced) if self.is_on else None
        if home is None:
            home = graph.new("nest", shape)
            home.reduced = {home.axes[a] for a in reduced}
        elif not home.reduced and len(home.axes) < len(shape):
            graph.grow(home, shape, reduced)
        else:
            home.reduced = {home.axes[a] for a in reduced}
        access = tuple([home.axes[a] for a in kept])
        home.eqns.append(position)
        home.reductions.append(position)
        home.pending.discard(var)
        others = [c for c in graph.readers(uses) if c is not home]
        if others or var in self.outputs or any(u.is_memory for u in uses):
            detail = (
                f"{eqn.primitive.name} needs all {reduced_count(shape, reduced)} elements first."
            )
            self.store(home, var, access, uses, Verdict("reduction", detail))
        for operand, axes in reduction_reads(eqn, shape, reduced):
            place = tuple([home.axes[a] for a in axes])
            graph.add_use(operand, Use(home, place, True))
            if hasattr(eqn.primitive, "select_max"):
                # The second sweep looks for the extremum that the first has found.
                graph.add_use(operand, Use(home, Opaque(home.total), True))

    def reduction_home(
        self, var: Var, uses: list[Use], shape: list[int], reduced: tuple[int, ...]
    ) -> Cluster | None:
        """Return the reader that can hold the reduction."""
        kept = [a for a in range(len(shape)) if a not in reduced]
        readers = self.graph.readers(uses)
        for cluster in readers:
            own = [u for u in uses if u.cluster is cluster]
            if cluster.kind != "nest" or any(u.is_memory for u in own):
                continue
            if len(cluster.eqns) >= MAX_EQNS or not self.graph.can_feed(cluster, readers):
                continue
            place = own[0].place
            if isinstance(place, Opaque) or any(u.place != place for u in own):
                continue
            sizes = self.graph.sizes
            if not cluster.reduced and place == tuple(cluster.axes):
                if len(kept) == len(cluster.axes):
                    return cluster
                continue
            if [sizes[a] for a in cluster.axes] != shape:
                continue
            if place != tuple(cluster.axes[a] for a in kept):
                continue
            if cluster.reduced and cluster.reduced != {cluster.axes[a] for a in reduced}:
                continue
            is_sibling = cluster.reduced and not any(u.in_sweep for u in own)
            if is_sibling or is_good_row(shape, reduced, var.aval.itemsize):
                return cluster
        return None

    # --- everything else ---

    def visit_other(self, position: int, eqn: JaxprEqn, kind: str) -> None:
        """Start a group that is not a loop nest; its results are stored."""
        graph = self.graph
        cluster = graph.new(kind, [])
        cluster.eqns.append(position)
        cluster.label = eqn.primitive.name
        verdict = Verdict(cluster.result_reason, cluster.result_detail())
        for var in eqn.outvars:
            self.merge_readers(var)
            self.store(cluster, var, (), graph.uses_of(var), verdict)
        if eqn.effects:
            # Effects happen in program order: what comes later must be below.
            if self.last_effect is not None:
                graph.feed(cluster, [self.last_effect])
                graph.order.append((cluster, self.last_effect))
            self.last_effect = cluster
        if kind == "control":
            self.inner[cluster] = tuple(
                fuse(_closed(j), is_on=self.is_on) for _, j in jaxprs_in_params(eqn.params)
            )
        for k, operand in enumerate(eqn.invars):
            if isinstance(operand, Var):
                graph.add_use(operand, self.use_by(cluster, eqn, k, operand))

    def use_by(self, cluster: Cluster, eqn: JaxprEqn, k: int, operand: Var) -> Use:
        """Return how a group that is not a nest uses its operand ``k``."""
        reads_elements = cluster.kind in ("cumulative", "concatenate") or (
            cluster.kind in ("scatter", "update") and (k > 0 or self.is_private_map(operand))
        )
        if k == _UPDATES.get(cluster.kind) and self.is_state(eqn.invars[0], operand):
            reads_elements = False
        if reads_elements and self.is_on:
            count = operand.aval.size
            if cluster.kind == "scatter" and k == 1:
                count = max(eqn.invars[2].aval.size, count)
            return Use(cluster, Opaque(max(count, 1)) if operand.aval.size != 1 else (), True)
        return Use(cluster, (), False, is_memory=True)

    def is_state(self, target: Atom, part: Var) -> bool:
        """Say whether ``target`` comes from outside and is much larger than the part written to it.

        In a loop it can then be written in place, if what is written is computed beforehand: its
        computation may read other elements of the target.
        """
        return target in self.given and target.aval.size >= 4 * part.aval.size

    def is_private_map(self, var: Var) -> bool:
        """Say whether ``var`` is made by a map for one reader only."""
        position = self.maker.get(var)
        if position is None or var in self.outputs or self.reader_count[var] > 1:
            return False
        return self.kinds[position] == "map"

    # --- the plan ---

    def plan(self) -> FusionPlan:
        """Return the clusters as groups in an order in which they can run."""
        clusters = self.graph.sorted_clusters()
        number = {c: n for n, c in enumerate(clusters)}
        groups = tuple(self.group_of(c) for c in clusters)
        barriers = self.graph.fusion_barriers(number)
        return FusionPlan(self.closed, groups, barriers, self.aliases)

    def group_of(self, cluster: Cluster) -> Group:
        """Return the cluster as plain data."""
        positions = sorted(cluster.eqns)
        eqns = tuple([self.eqns[p] for p in positions])
        made = {v for e in eqns for v in e.outvars}
        ins = dict.fromkeys(v for e in eqns for v in free_vars(e) if v not in made)
        axis_at = {a: n for n, a in enumerate(cluster.axes)}
        accesses = {v: tuple([axis_at[a] for a in t]) for v, t in cluster.outs.items()}
        places = {
            v: tuple([tuple([axis_at[a] for a in p]) for p in dict.fromkeys(at)])
            for v, at in cluster.places.items()
        }
        axes = tuple(n for n, a in enumerate(cluster.axes) if a in cluster.reduced)
        kind = cluster.kind
        if kind == "nest":
            is_row = axes and any(len(a) == len(cluster.axes) for a in accesses.values())
            kind = "row" if is_row else ("reduce" if cluster.reductions else "loop")
        return Group(
            kind,  # type: ignore[arg-type]
            eqns,
            tuple(ins),
            tuple(v for e in eqns for v in e.outvars if v in cluster.outs),
            tuple(self.graph.sizes[a] for a in cluster.axes),
            axes,
            accesses,
            tuple(self.eqns[p] for p in sorted(cluster.reductions)),
            places,
            self.inner.get(cluster, ()),
        )


def _place_of(read: Access, place: Place, n_axes: int, cluster: Cluster) -> Place:
    """Return where an operand is read whose equation's result is wanted at ``place``."""
    if read == () or (read is not None and not isinstance(place, Opaque)):
        return tuple([place[axis] for axis in read])  # type: ignore[index]
    if read == tuple(range(n_axes)):
        return place
    return Opaque(cluster.count(place))


def _closed(jaxpr: ClosedJaxpr | Jaxpr) -> ClosedJaxpr:
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, [])


def _bytes(var: Var) -> str:
    size = float(var.aval.nbytes)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
