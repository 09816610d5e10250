"""Data of stage 5, fuse: which equations become one kernel, and why not more. In: nothing.

A plan prints as a text::

    fusion plan: 2 groups from 4 equations
    group 0: loop f32[4] fused_mul_sin
      c:f32[4] = mul a b
      d:f32[4] = sin c
      reads a b; stores d
    not fused, reduction, 0 -> 1: ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any, Literal, TypeAlias

from jaxlite.language.jaxpr import Atom, ClosedJaxpr, DropVar, JaxprEqn, Var
from jaxlite.language.jaxpr import Literal as JaxprLiteral
from jaxlite.language.pretty import letters, literal_text
from jaxlite.language.source import SourceLine, title_of

GroupKind: TypeAlias = Literal[
    "loop",  # every element of the domain on its own
    "reduce",  # combine along some axes of the domain
    "row",  # several sweeps over a row that stays in cache
    "cumulative",  # running sums along one axis
    "concatenate",  # one loop per operand
    "scatter",  # copy, then update some elements in order
    "update",  # copy, then overwrite one part
    "dot",  # matrix product by BLAS
    "host",  # Python
    "control",  # while, scan, cond
]
Reason: TypeAlias = Literal["reduction", "reuse", "shape", "output", "extern", "size", "order"]


@dataclass(frozen=True, slots=True)
class FusionBarrier:
    """Why ``var`` goes through memory between two groups (numbers in ``FusionPlan.groups``)."""

    reason: Reason
    producer: int
    consumer: int
    var: Var
    detail: str


@dataclass(slots=True, eq=False)
class Group:
    """Equations that become one kernel, library call, host call or control-flow step.

    ``domain`` is the iteration shape and ``axes`` the axes of it that are reduced. ``eqns`` are in
    program order; the result of an equation that is not in ``outs`` exists in registers only.
    ``accesses`` say at which axes of the domain a stored value lives (see ``access``);
    ``reductions`` are the equations whose results are accumulated in this kernel; ``places`` lists
    at which axes each inlined value is computed.
    """

    kind: GroupKind
    eqns: tuple[JaxprEqn, ...]
    ins: tuple[Var, ...]
    outs: tuple[Var, ...]
    domain: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    accesses: dict[Var, tuple[Any, ...]] = field(default_factory=dict)
    reductions: tuple[JaxprEqn, ...] = ()
    places: dict[Var, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    inner: tuple[FusionPlan, ...] = ()

    @property
    def name(self) -> str:
        """What the group does, for example ``fused_mul_sin``."""
        return group_name(self.eqns)


@dataclass(slots=True, eq=False)
class FusionPlan:
    """The groups of a jaxpr in the order they run, and the barriers between them."""

    closed: ClosedJaxpr
    groups: tuple[Group, ...]
    barriers: tuple[FusionBarrier, ...]
    aliases: dict[Var, Var] = field(default_factory=dict)  # same elements, other shape, no copy

    @property
    def n_kernels(self) -> int:
        """Number of groups that do work, bodies of control flow included."""
        own = sum(g.kind != "control" for g in self.groups)
        return own + sum(p.n_kernels for g in self.groups for p in g.inner)

    def __str__(self) -> str:
        return plan_text(self)


#: Equations that say nothing about what a kernel computes.
_QUIET = frozenset(
    {"broadcast_in_dim", "convert_element_type", "reshape", "squeeze", "copy", "mul"}
)


def group_name(eqns: Sequence[JaxprEqn]) -> str:
    """Return a C identifier made of the primitives' names, without quiet ones if there are many."""
    names = list(dict.fromkeys(e.primitive.name for e in eqns))
    if len(names) > 4:
        telling = [n for n in names if n not in _QUIET]
        names = (telling or names)[-4:]
    text = "_".join(n for n in names).replace("-", "_") or "copy"
    return f"fused_{text}" if len(eqns) > 1 else text


def var_names(jaxpr: Any) -> dict[Var, str]:
    """Return the names a, b, ... z, ba, ... of all vars by position, as in the printed jaxpr."""
    names: dict[Var, str] = {}
    for var in (*jaxpr.constvars, *jaxpr.invars):
        names[var] = letters(len(names))
    for eqn in jaxpr.eqns:
        for var in eqn.outvars:
            if not isinstance(var, DropVar):
                names[var] = letters(len(names))
    return names


def atom_text(atom: Atom, names: dict[Var, str]) -> str:
    """Return the var's name, or the literal as in a printed jaxpr."""
    if isinstance(atom, JaxprLiteral):
        return f"{literal_text(atom.val)}:{atom.aval.str_short()}"
    return names.get(atom, "_")


def eqn_text(eqn: JaxprEqn, names: dict[Var, str]) -> str:
    """Return the equation in one line, without long parameters, with the user's line."""
    outs = " ".join(f"{names.get(v, '_')}:{v.aval.str_short()}" for v in eqn.outvars)
    ins = " ".join([atom_text(a, names) for a in eqn.invars])
    where = f"  # {line_of(eqn.source)}" if eqn.source else ""
    return f"{outs} = {eqn.primitive.name} {ins}{where}"


def line_of(source: SourceLine) -> str:
    """Return ``file:line`` (``cell 7, line 2``); quick even for functions of many lines."""
    starts, lines = _line_table(source.code)
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if starts[middle] <= source.lasti else (low, middle)
    line = lines[low] if lines else 0
    title = title_of(source.file)
    if title:
        return f"{title}, line {line}"
    return f"{source.file.rpartition('/')[2].rpartition(chr(92))[2]}:{line}"


@lru_cache(maxsize=64)
def _line_table(code: CodeType) -> tuple[list[int], list[int]]:
    table = [(start, line or 0) for start, _, line in code.co_lines()]
    return [t[0] for t in table], [t[1] for t in table]


def plan_text(plan: FusionPlan, indent: str = "") -> str:
    """Return the plan as text: groups with their equations, then the barriers."""
    names = var_names(plan.closed.jaxpr)
    n_eqns = len(plan.closed.jaxpr.eqns)
    lines = [f"fusion plan: {len(plan.groups)} groups from {n_eqns} equations"]
    for number, group in enumerate(plan.groups):
        where = f" [{','.join(map(str, group.domain))}]" if group.domain else ""
        over = f" over axes {','.join(map(str, group.axes))}" if group.axes else ""
        lines.append(f"group {number}: {group.kind}{where}{over} {group.name}")
        lines.extend(f"  {eqn_text(eqn, names)}" for eqn in group.eqns)
        reads = " ".join(names.get(v, "_") for v in group.ins) or "nothing"
        stores = " ".join(names.get(v, "_") for v in group.outs) or "nothing"
        lines.append(f"  reads {reads}; stores {stores}")
        for position, inner in enumerate(group.inner):
            lines.append(f"  inner {position}:")
            lines.append(plan_text(inner, "    "))
    lines.extend(
        f"alias: {names.get(v, '_')}:{v.aval.str_short()} is {names.get(a, '_')}"
        for v, a in plan.aliases.items()
    )
    lines.extend(
        f"not fused, {b.reason}, {b.producer} -> {b.consumer}, {names.get(b.var, '_')}: {b.detail}"
        for b in plan.barriers
    )
    return "\n".join(indent + line if indent else line for line in "\n".join(lines).split("\n"))
