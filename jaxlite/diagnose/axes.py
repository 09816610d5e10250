"""Which axes of a program are the same axis. In: a closed jaxpr and names. Out: ``AxisTrace``.

Axes that an operation runs along together are one axis: those of the operands of an addition, the
joined axes of a matrix product, an axis and what a transpose made of it. A name given to one is the
name of all.

>>> import jaxlite as jax, jaxlite.numpy as jnp
>>> closed = jax.make_jaxpr(lambda x, w: jnp.tanh(x @ w))(jnp.ones((4, 3)), jnp.ones((3, 2)))
>>> traced = trace_axes(closed, {0: ("batch", "feature")})
>>> [traced.name(axis) for axis in traced.axes_of(closed.jaxpr.invars[1])]
['feature', '']
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxlite.diagnose.flat_program import open_calls
from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

__all__ = ["AxisTrace", "Conflict", "trace_axes"]

Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two names that turned out to be one axis, at equation ``eqn`` of the opened program."""

    first: str
    second: str
    eqn: int


@dataclass(slots=True, eq=False)
class AxisTrace:
    """A program (calls opened) and the axes of its values.

    An axis is a number; ``axes_of`` gives those of a value, ``name`` the name of one ('' if it has
    none). ``joined`` has the axes that a matrix product sums over, ``stretched`` those that a
    broadcast repeats along, ``removed`` those that a reduction takes away (key: the number of the
    equation in ``forward.eqns``).
    """

    forward: ClosedJaxpr
    joined: dict[int, Axes] = field(default_factory=dict)
    stretched: dict[int, Axes] = field(default_factory=dict)
    removed: dict[int, Axes] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)
    _of: dict[Var, Axes] = field(default_factory=dict)
    _parent: list[int] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)

    def axes_of(self, atom: Any) -> Axes:
        """Return the axes of a value, as representatives of what is the same axis."""
        if isinstance(atom, Literal):
            return ()
        return tuple([self.find(a) for a in self._of.get(atom, ())])

    def name(self, axis: int) -> str:
        """Return the name of an axis."""
        return self._names.get(self.find(axis), "")

    def find(self, axis: int) -> int:
        """Return the representative of an axis."""
        while self._parent[axis] != axis:
            self._parent[axis] = self._parent[self._parent[axis]]
            axis = self._parent[axis]
        return axis

    # --- while walking ---

    def fresh(self) -> int:
        """Return a new axis."""
        self._parent.append(len(self._parent))
        return len(self._parent) - 1

    def bind(self, var: Var, axes: Sequence[int | None]) -> None:
        """Give ``var`` its axes (None: a new one); what it had already is the same."""
        new = tuple([self.fresh() if a is None else a for a in axes])
        old = self._of.get(var)
        if old is None:
            self._of[var] = new
        else:
            for a, b in zip(old, new, strict=True):
                self.same(a, b, -1)

    def same(self, a: int, b: int, eqn: int) -> None:
        """Say that two axes are one."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return
        first, second = self._names.get(a, ""), self._names.get(b, "")
        if first and second and first != second:
            self.conflicts.append(Conflict(first, second, eqn))
        self._parent[max(a, b)] = min(a, b)
        if first or second:
            self._names[min(a, b)] = first or second

    def call(self, axis: int, name: str) -> None:
        """Name an axis."""
        self._names.setdefault(self.find(axis), name)


def trace_axes(
    closed: ClosedJaxpr,
    names: Mapping[int, Sequence[str]],
    later: Mapping[Var, Sequence[str]] | None = None,
) -> AxisTrace:
    """Find which axes are the same, and name them.

    Args:
      closed: the program.
      names: for the number of an input the names of its axes ('' for an axis without one).
      later: the same for other values of the opened program.
    """
    forward = open_calls(closed)
    trace = AxisTrace(forward)
    for var in (*forward.jaxpr.constvars, *forward.jaxpr.invars):
        trace.bind(var, [None] * len(var.aval.shape))
    for number, given in names.items():
        _name_all(trace, forward.jaxpr.invars[number], given)
    for k, eqn in enumerate(forward.eqns):
        _Rules(trace, k).equation(eqn)
        for var in eqn.outvars:
            if later is not None and var in later:
                _name_all(trace, var, later[var])
    return trace


def _name_all(trace: AxisTrace, var: Var, names: Sequence[str]) -> None:
    for axis, name in zip(trace.axes_of(var), names, strict=True):
        if name:
            trace.call(axis, name)


class _Rules:
    """What one equation says about axes."""

    def __init__(self, trace: AxisTrace, number: int) -> None:
        self.trace, self.number = trace, number

    def equation(self, eqn: JaxprEqn) -> None:
        """Bind the axes of an equation's results."""
        rule = getattr(self, f"_{eqn.primitive.name}", None)
        name = eqn.primitive.name
        if rule is not None:
            rule(eqn)
        elif (name.startswith("reduce_") and "axes" in eqn.params) or name in ("argmax", "argmin"):
            self._reduce(eqn, eqn.params["axes"])
        elif getattr(eqn.primitive, "call_param", None):
            self._call(eqn)
        else:
            self._alike(eqn)

    def axes(self, atom: Any) -> Axes:
        return self.trace.axes_of(atom)

    def same(self, a: int, b: int) -> None:
        self.trace.same(a, b, self.number)

    def _alike(self, eqn: JaxprEqn) -> None:
        """Operands of the result's shape run along with it; other axes are new."""
        for var in eqn.outvars:
            shape = var.aval.shape
            out: list[int | None] = [None] * len(shape)
            for atom in eqn.invars:
                if len(atom.aval.shape) != len(shape):
                    continue
                whole = atom.aval.shape == shape
                sizes = zip(self.axes(atom), atom.aval.shape, shape)
                for k, (axis, size, wanted) in enumerate(sizes):
                    if size != wanted or not (whole or atom is eqn.invars[0]):
                        continue
                    if out[k] is None:
                        out[k] = axis
                    elif whole:
                        self.same(out[k], axis)  # type: ignore[arg-type]
            self.trace.bind(var, out)

    def _reduce(self, eqn: JaxprEqn, removed: Sequence[int]) -> None:
        for var in eqn.outvars:
            axes = self.axes(eqn.invars[0])
            gone = {a % max(len(axes), 1) for a in removed}
            self.trace.removed[self.number] = tuple([axes[i] for i in sorted(gone)])
            self.trace.bind(var, [a for i, a in enumerate(axes) if i not in gone])

    def _broadcast_in_dim(self, eqn: JaxprEqn) -> None:
        source, shape = eqn.invars[0], eqn.outvars[0].aval.shape
        out: list[int | None] = [None] * len(shape)
        for k, d in enumerate(eqn.params["broadcast_dimensions"]):
            if source.aval.shape[k] == shape[d]:
                out[d] = self.axes(source)[k]
        self.trace.bind(eqn.outvars[0], out)
        axes = self.axes(eqn.outvars[0])
        new = [a for a, old, size in zip(axes, out, shape) if old is None and size != 1]
        self.trace.stretched[self.number] = tuple(new)

    def _dot_general(self, eqn: JaxprEqn) -> None:
        (left, right), (left_batch, right_batch) = eqn.params["dimension_numbers"]
        a, b = (self.axes(x) for x in eqn.invars[:2])
        for i, j in (*zip(left, right), *zip(left_batch, right_batch)):
            self.same(a[i], b[j])
        self.trace.joined[self.number] = tuple([a[i] for i in left])
        free = [a[i] for i in left_batch]
        free += [x for i, x in enumerate(a) if i not in (*left, *left_batch)]
        free += [x for i, x in enumerate(b) if i not in (*right, *right_batch)]
        self.trace.bind(eqn.outvars[0], free)

    def _transpose(self, eqn: JaxprEqn) -> None:
        axes = self.axes(eqn.invars[0])
        self.trace.bind(eqn.outvars[0], [axes[i] for i in eqn.params["permutation"]])

    def _squeeze(self, eqn: JaxprEqn) -> None:
        axes = self.axes(eqn.invars[0])
        gone = {d % len(axes) for d in eqn.params["dimensions"]}
        self.trace.bind(eqn.outvars[0], [a for i, a in enumerate(axes) if i not in gone])

    def _reshape(self, eqn: JaxprEqn) -> None:
        """Axes that stand alone between the same products before and after are the same."""
        old, new = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
        axes = self.axes(eqn.invars[0])
        ends = {math.prod(old[: i + 1]): i for i in range(len(old)) if old[i] != 1}
        out: list[int | None] = []
        for j, size in enumerate(new):
            before, after = math.prod(new[:j]), math.prod(new[: j + 1])
            i = ends.get(after)
            is_same = size != 1 and i is not None and old[i] == size
            is_same = is_same and math.prod(old[: i or 0]) == before
            out.append(axes[i] if is_same and i is not None else None)
        self.trace.bind(eqn.outvars[0], out)

    def _concatenate(self, eqn: JaxprEqn) -> None:
        along = eqn.params["dimension"]
        first = self.axes(eqn.invars[0])
        for atom in eqn.invars[1:]:
            for i, axis in enumerate(self.axes(atom)):
                if i != along:
                    self.same(first[i], axis)
        out = [None if i == along else a for i, a in enumerate(first)]
        self.trace.bind(eqn.outvars[0], out)

    def _gather(self, eqn: JaxprEqn) -> None:
        """Whole slices keep the operand's axes, positions those of the indices."""
        operand, indices = eqn.invars[:2]
        numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
        gone = set(numbers.collapsed_slice_dims) | set(
            getattr(numbers, "operand_batching_dims", ())
        )
        window = [
            a if sizes[i] == operand.aval.shape[i] else None
            for i, a in enumerate(self.axes(operand))
            if i not in gone
        ]
        batch = list(self.axes(indices)[:-1])
        out: list[int | None] = []
        for d in range(len(eqn.outvars[0].aval.shape)):
            source: list[Any] = window if d in numbers.offset_dims else batch
            out.append(source.pop(0) if source else None)
        self.trace.bind(eqn.outvars[0], out)

    # --- programs inside ---

    def _call(self, eqn: JaxprEqn) -> None:
        body = eqn.params[eqn.primitive.call_param]  # type: ignore[attr-defined]
        self._inside(body, [self.axes(a) for a in eqn.invars], eqn)

    def _cond(self, eqn: JaxprEqn) -> None:
        for branch in eqn.params["branches"]:
            self._inside(branch, [self.axes(a) for a in eqn.invars[1:]], eqn)

    def _while(self, eqn: JaxprEqn) -> None:
        skip = eqn.params["cond_nconsts"]
        body = eqn.params["body_jaxpr"]
        self._inside(body, [self.axes(a) for a in eqn.invars[skip:]], eqn)
        for var, atom in zip(eqn.outvars, eqn.invars[-len(eqn.outvars) :]):
            self._join(var, self.axes(atom))

    def _scan(self, eqn: JaxprEqn) -> None:
        n_consts, n_carry = eqn.params["num_consts"], eqn.params["num_carry"]
        whole = [self.axes(a) for a in eqn.invars]
        n_kept = n_consts + n_carry
        inner = [axes if i < n_kept else axes[1:] for i, axes in enumerate(whole)]
        outs = self._run(eqn.params["jaxpr"], inner)
        steps = next((axes[0] for axes in whole[n_kept:] if axes), None)
        for axes in whole[n_kept:]:
            if axes and steps is not None:
                self.same(steps, axes[0])
        for k, (var, axes) in enumerate(zip(eqn.outvars, outs)):
            if k < n_carry:
                self.trace.bind(var, whole[n_consts + k])
                self._join(var, axes)
            else:
                self.trace.bind(var, [steps, *axes])

    def _inside(self, body: Any, given: Sequence[Axes], eqn: JaxprEqn) -> None:
        for var, axes in zip(eqn.outvars, self._run(body, given)):
            self._join(var, axes)

    def _join(self, var: Var, axes: Axes) -> None:
        if len(axes) == len(var.aval.shape):
            self.trace.bind(var, axes)

    def _run(self, body: Any, given: Sequence[Axes]) -> list[Axes]:
        """Walk a program inside an equation; return the axes of its results."""
        jaxpr: Jaxpr = getattr(body, "jaxpr", body)
        inner = AxisTrace(self.trace.forward, conflicts=self.trace.conflicts)
        inner._parent, inner._names = self.trace._parent, self.trace._names
        for var in jaxpr.constvars:
            inner.bind(var, [None] * len(var.aval.shape))
        for var, axes in zip(jaxpr.invars, given):
            inner.bind(var, axes)
        for eqn in jaxpr.eqns:
            _Rules(inner, self.number).equation(eqn)
        return [inner.axes_of(a) for a in jaxpr.outvars]
