"""Groups while they grow. In: decisions of ``fuse``. Out: clusters in an order without cycles.

``height`` is a cluster's distance from the results: higher than all clusters that read from it. It
answers "may these be one?" without searching for paths: clusters of equal height do not depend on
each other, and a cluster that reads nobody's results can be raised freely.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from jaxlite.compiler.plan import FusionBarrier, Reason
from jaxlite.language.jaxpr import Var

#: Limits of one kernel; they keep compile time linear in the number of equations.
MAX_EQNS = 100
MAX_INPUTS = 48


class Opaque:
    """An index that is not just a choice of loop axes; equal ones are the same object."""

    __slots__ = ("evaluations",)

    def __init__(self, evaluations: int) -> None:
        self.evaluations = evaluations


#: Axis ids of the loops whose indices a value is read at, or some other index.
Place: TypeAlias = "tuple[int, ...] | Opaque"


class Use(NamedTuple):
    """A reader of a value: where it reads, inside a sweep or not, or from memory."""

    cluster: Cluster
    place: Place
    in_sweep: bool
    is_memory: bool = False


class Cluster:
    """A group in the making. ``axes`` are ids of loop axes, ``reduced`` those that are combined."""

    __slots__ = (
        *("axes", "eqns", "has_producers", "height", "kind", "label", "merged_into", "outs"),
        *("pending", "places", "reduced", "reductions", "renamed", "sizes"),
    )

    def __init__(self, kind: str, axes: list[int], sizes: list[int]) -> None:
        self.kind = kind
        self.axes = axes
        self.sizes = sizes  # of all axes there are, shared
        self.reduced: set[int] = set()
        self.eqns: list[int] = []
        self.reductions: list[int] = []
        self.outs: dict[Var, tuple[int, ...]] = {}
        self.places: dict[Var, list[tuple[int, ...]]] = {}  # where inlined values are computed
        self.pending: set[Var] = set()  # read here and not computed here (so far)
        self.height = 0
        self.has_producers = False
        self.merged_into: Cluster | None = None
        self.renamed: dict[
            int, int
        ] = {}  # axes of this cluster as axes of the one it was merged into
        self.label = ""

    @property
    def total(self) -> int:
        """Number of visited elements."""
        return math.prod(self.sizes[a] for a in self.axes)

    def count(self, place: Place) -> int:
        """Return how often a value read there is computed, once hoisted out of inner loops."""
        if isinstance(place, Opaque):
            return place.evaluations
        if len(place) == len(self.axes):
            return self.total
        if not place:
            return 1
        order = self.axes
        if self.reduced:
            order = [a for a in order if a not in self.reduced] + [
                a for a in order if a in self.reduced
            ]
        last = max(order.index(a) for a in place)
        return math.prod(self.sizes[a] for a in order[: last + 1])

    def is_full(self, place: Place) -> bool:
        """Say whether a value read there lives inside the sweep over reduced axes."""
        return isinstance(place, Opaque) or any(a in self.reduced for a in place)

    def can_store(self, place: Place, var: Var) -> bool:
        """Say whether a value read there can be stored from the loops of this cluster."""
        if isinstance(place, Opaque) or len(place) != sum(n != 1 for n in var.aval.shape):
            return False
        if place == tuple(self.axes):
            return True
        return bool(self.reduced) and place == tuple(a for a in self.axes if a not in self.reduced)

    @property
    def memory_reason(self) -> Reason:
        """Reason code of values this cluster reads from memory."""
        if self.kind == "dot":
            return "reuse"
        return "order" if self.kind in ("update", "scatter") else "extern"

    def memory_detail(self, var: Var) -> str:
        """Say why this cluster reads ``var`` from memory."""
        if self.kind == "dot":
            return "a matrix product reads every element many times."
        if self.kind == "control":
            return f"{self.label} carries its operands in memory."
        if self.kind in ("update", "scatter"):
            return f"{self.label} changes a copy of it in place."
        return f"{self.label} runs outside generated code; everything before it must finish."

    @property
    def result_reason(self) -> Reason:
        """Reason code of values this cluster writes."""
        if self.kind == "concatenate":
            return "size"
        return "order" if self.kind in ("cumulative", "update", "scatter") else "extern"

    def result_detail(self) -> str:
        """Say why readers of this cluster's results are other kernels."""
        match self.kind:
            case "dot":
                return f"{self.label} is a library call, its result is in memory."
            case "cumulative":
                return f"{self.label} makes its elements in order."
            case "concatenate":
                return f"{self.label} of many arrays writes one after another."
            case "scatter" | "update":
                return f"{self.label} must have written everything before it is read."
            case _:
                return f"{self.label} runs outside generated code."


class Clusters:
    """All clusters of one jaxpr, who reads what, and the barriers found so far."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.all: list[Cluster] = []
        self.uses: dict[Var, list[Use]] = {}
        self.barriers: list[tuple[Reason, Cluster, Cluster, Var, str]] = []
        self.order: list[tuple[Cluster, Cluster]] = []

    def new(self, kind: str, shape: Iterable[int]) -> Cluster:
        """Start a cluster with fresh axes of these sizes."""
        cluster = Cluster(kind, self._new_axes(shape), self.sizes)
        self.all.append(cluster)
        return cluster

    def _new_axes(self, shape: Iterable[int]) -> list[int]:
        first = len(self.sizes)
        self.sizes.extend(shape)
        return list(range(first, len(self.sizes)))

    def grow(self, cluster: Cluster, shape: list[int], reduced: tuple[int, ...]) -> None:
        """Add reduced axes to the domain of a cluster whose axes are the kept ones."""
        kept = iter(cluster.axes)
        fresh = iter(self._new_axes(shape[a] for a in reduced))
        cluster.axes = [next(fresh) if a in reduced else next(kept) for a in range(len(shape))]
        cluster.reduced = {cluster.axes[a] for a in reduced}

    def add_use(self, var: Var, use: Use) -> None:
        """Note a reader of ``var``."""
        self.uses.setdefault(var, []).append(use)
        use.cluster.pending.add(var)

    def uses_of(self, var: Var) -> list[Use]:
        """Return the readers of ``var``, merged clusters resolved."""
        uses = self.uses.get(var)
        if uses is None:
            return []
        if any(u.cluster.merged_into is not None for u in uses):
            uses = self.uses[var] = [self._resolved(u) for u in uses]
        return uses

    def _resolved(self, use: Use) -> Use:
        cluster, place = use.cluster, use.place
        while cluster.merged_into is not None:
            if not isinstance(place, Opaque):
                place = tuple([cluster.renamed[a] for a in place])
            cluster = cluster.merged_into
        return use._replace(cluster=cluster, place=place)

    def readers(self, uses: list[Use]) -> list[Cluster]:
        """Return the distinct clusters of some uses."""
        return list(dict.fromkeys(u.cluster for u in uses))

    # --- order ---

    def can_feed(self, home: Cluster, readers: list[Cluster]) -> bool:
        """Say whether ``home`` may store something that the other readers need, without a cycle."""
        if not home.has_producers:
            return True
        return all(r.height < home.height for r in readers if r is not home)

    def feed(self, home: Cluster, readers: list[Cluster]) -> None:
        """Note that ``readers`` need something that ``home`` stores."""
        for reader in readers:
            reader.has_producers = True
            home.height = max(home.height, reader.height + 1)

    # --- merging ---

    def merge_siblings(self, var: Var) -> None:
        """Merge nests that visit the same elements of ``var``."""
        uses = self.uses_of(var)
        whole = {
            u.cluster for u in uses if u.cluster.kind == "nest" and u.place == tuple(u.cluster.axes)
        }
        if len(whole) < 2:
            return
        readers = [c for c in self.readers(uses) if c in whole and c.axes]
        recent: dict[tuple[int, ...], list[Cluster]] = {}
        for cluster in sorted(readers, key=lambda c: -c.height):
            shape = tuple([self.sizes[a] for a in cluster.axes])
            kept = recent.setdefault(shape, [])
            # Only the last few: a value with thousands of readers must not cost their square.
            target = next((k for k in kept[-4:] if self._can_merge(k, cluster)), None)
            if target is None:
                kept.append(cluster)
            else:
                self._merge(target, cluster)

    def merge_scalars(self) -> None:
        """Merge kernels of single elements: the state of a scalar loop is one kernel."""
        by_height: dict[int, Cluster] = {}
        for cluster in self.all:
            if cluster.merged_into is None and cluster.kind == "nest" and not cluster.axes:
                first = by_height.setdefault(cluster.height, cluster)
                if first is not cluster and self._fits(first, cluster):
                    self._merge(first, cluster)

    def _fits(self, a: Cluster, b: Cluster) -> bool:
        """Say whether both together stay within the limits of one kernel."""
        return len(a.eqns) + len(b.eqns) <= MAX_EQNS and len(a.pending | b.pending) <= MAX_INPUTS

    def _can_merge(self, a: Cluster, b: Cluster) -> bool:
        """Say whether two nests of one shape, both reading some value everywhere, may be one."""
        if a.reduced and b.reduced:
            places = [n for n, x in enumerate(a.axes) if x in a.reduced]
            if places != [n for n, y in enumerate(b.axes) if y in b.reduced]:
                return False
        low = a if a.height < b.height else b
        if a.height != b.height and low.has_producers:
            return False
        return self._fits(a, b)

    def _merge(self, a: Cluster, b: Cluster) -> None:
        """Put everything of ``b`` into ``a``."""
        rename = b.renamed = dict(zip(b.axes, a.axes, strict=True))
        a.reduced |= {rename[x] for x in b.reduced}
        a.eqns = list(dict.fromkeys([*a.eqns, *b.eqns]))
        a.reductions += b.reductions
        a.pending |= b.pending
        for var, access in b.outs.items():
            a.outs[var] = tuple([rename[x] for x in access])
        for var, places in b.places.items():
            known = a.places.setdefault(var, [])
            moved = [tuple([rename[x] for x in place]) for place in places]
            known += [place for place in moved if place not in known]
        a.height = max(a.height, b.height)
        a.has_producers = a.has_producers or b.has_producers
        b.merged_into = a

    # --- results ---

    def sorted_clusters(self) -> list[Cluster]:
        """Return the clusters in an order in which they can run, close to program order."""
        alive = [c for c in self.all if c.merged_into is None]
        storer = {v: c for c in alive for v in c.outs}
        effects: dict[Cluster, list[Cluster]] = {}
        for first, second in self.order:
            effects.setdefault(root(second), []).append(root(first))
        waiting: dict[Cluster, set[Cluster]] = {}
        readers: dict[Cluster, list[Cluster]] = {c: [] for c in alive}
        for cluster in alive:
            before = {storer[v] for v in cluster.pending if v in storer}
            before.update(effects.get(cluster, ()))
            before.discard(cluster)
            waiting[cluster] = before
            for producer in before:
                readers[producer].append(cluster)
        place = {c: max(c.eqns) for c in alive}
        heap = [(place[c], n, c) for n, c in enumerate(alive) if not waiting[c]]
        heapq.heapify(heap)
        done: list[Cluster] = []
        while heap:
            *_, cluster = heapq.heappop(heap)
            done.append(cluster)
            for reader in readers[cluster]:
                waiting[reader].discard(cluster)
                if not waiting[reader]:
                    heapq.heappush(heap, (place[reader], len(alive) + len(done), reader))
        assert len(done) == len(alive), "fusion groups depend on each other in a cycle"
        return done

    def fusion_barriers(self, number: dict[Cluster, int]) -> tuple[FusionBarrier, ...]:
        """Return the barriers between clusters that are still two."""
        found: dict[tuple[int, int, Var], FusionBarrier] = {}
        for reason, producer, consumer, var, detail in self.barriers:
            a, b = number[root(producer)], number[root(consumer)]
            if a != b:
                found.setdefault((a, b, var), FusionBarrier(reason, a, b, var, detail))
        return tuple(sorted(found.values(), key=lambda f: (f.producer, f.consumer)))


def root(cluster: Cluster) -> Cluster:
    """Return the cluster that holds this one's equations now."""
    while cluster.merged_into is not None:
        cluster = cluster.merged_into
    return cluster
