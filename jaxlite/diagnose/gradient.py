"""Forward and backward pass of a gradient, linked. In: a closed jaxpr. Out: ``GradientTrace``.

The equations of the function are differentiated one at a time, as ``grad`` does it (linearize, then
transpose), and every equation that this adds is written down with the one that caused it: factors
in the forward pass, rules and sums in the backward pass. What the backward pass reads of the
forward pass are the saved values.

>>> import jaxlite as jax, jaxlite.numpy as jnp
>>> traced = trace_gradient(jax.make_jaxpr(lambda x: jnp.sin(x) * x)(1.0))
>>> [eqn.primitive.name for eqn in traced.forward.eqns]
['sin', 'mul']
>>> [step.kind for step in traced.steps]
['rule', 'rule', 'rule', 'sum']
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxlite.diagnose.flat_program import open_calls
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from jaxlite.language.primitive import Linear, Zero, add_tangents, as_tuple, instantiate
from jaxlite.language.trace import state, use_trace
from jaxlite.transforms.linearize import LinearizeTrace, LinearizeTracer
from jaxlite.transforms.stage_out import JaxprTracer, StagingTrace, stage_out

__all__ = ["GradientTrace", "SavedValue", "Step", "trace_gradient"]

#: Equations up to which it is said what computing a saved value again takes.
MAX_RECOMPUTE = 200


@dataclass(slots=True, eq=False)
class SavedValue:
    """A value of the forward pass that the backward pass reads.

    ``var`` is of ``primal``, ``backward_var`` of ``backward``; ``recompute`` are the equations of
    ``primal`` that would make it again from what else is kept; empty for an argument or constant.
    If there are more than ``MAX_RECOMPUTE`` the last ones are listed and ``is_whole`` is False.
    """

    var: Var
    backward_var: Var
    recompute: tuple[int, ...] = ()
    is_whole: bool = True

    @property
    def n_bytes(self) -> int:
        """Its size."""
        return self.var.aval.size * dtypes.storage_dtype(self.var.aval.dtype).itemsize


@dataclass(slots=True, eq=False)
class Step:
    """Equations of the backward pass that belong together.

    ``kind`` 'rule': what one operation of the forward pass does with the cotangent of its result;
    ``gives`` are the values of ``forward`` it finds a cotangent for, and these. 'sum': cotangents
    of one value from ``n_uses`` uses are added. ``cause`` is an index of ``forward.eqns``.
    """

    kind: str
    cause: int
    eqns: tuple[int, ...]
    gives: tuple[tuple[Var | None, Var], ...]
    n_uses: int = 1


@dataclass(slots=True, eq=False)
class GradientTrace:
    """A differentiated program.

    ``forward`` is the function with its calls opened; ``primal`` is ``forward`` with the factors of
    the rules, and returns the differentiated result and then the saved values; ``backward`` takes
    the saved values and the cotangent of the result, and returns a cotangent for each input that
    has one (``cotangents``: input number to result of ``backward``).
    """

    forward: ClosedJaxpr
    result: int
    primal: ClosedJaxpr
    #: For each equation of ``primal`` the one of ``forward`` that caused it.
    primal_cause: list[int]
    #: What a value of ``primal`` is in ``forward``.
    forward_of: dict[Var, Var]
    backward: ClosedJaxpr
    steps: list[Step]
    saved: list[SavedValue]
    cotangents: dict[int, Var]
    #: For each equation of ``forward``: does a result have a derivative?
    active: list[bool]
    #: Equations of ``forward`` whose operands have a derivative and whose results have none.
    flat: list[int]
    wanted: list[bool]

    @property
    def seed(self) -> Var:
        """The cotangent of the result, which the backward pass starts from."""
        return self.backward.jaxpr.invars[-1]


def trace_gradient(
    closed: ClosedJaxpr, result: int = 0, wanted: Sequence[bool] | None = None
) -> GradientTrace:
    """Return both passes of the derivative of one result.

    Args:
      closed: the function; its result number ``result`` is a scalar of a floating type.
      result: which result.
      wanted: for each input, whether its gradient is wanted (None: of every float).

    Raises:
      NotImplementedError, ValueError: as ``grad``, where an operation has no derivative.
    """
    forward = open_calls(closed)
    has_tangent = [a.to_tangent_aval().dtype != dtypes.float0 for a in forward.in_avals]
    asked = list(has_tangent) if wanted is None else list(wanted)
    first = _Forward(forward, result, [h and a for h, a in zip(has_tangent, asked, strict=True)])
    primal = stage_out(first.run, forward.in_avals, forward.jaxpr.debug_info)
    assert first.linear is not None
    second = _Backward(first, primal.jaxpr.outvars[1:])
    backward = stage_out(second.run, [*second.avals, primal.out_avals[0].to_tangent_aval()])
    saved, places = second.saved_values(primal, backward)
    jaxpr = backward.jaxpr.replace(invars=[*[s.backward_var for s in saved], *places])
    atoms = [primal.jaxpr.outvars[0], *[s.var for s in saved]]
    return GradientTrace(
        forward,
        result,
        ClosedJaxpr(primal.jaxpr.replace(outvars=atoms), primal.consts),
        first.primal_cause,
        first.forward_of,
        ClosedJaxpr(jaxpr, backward.consts),
        second.steps(backward),
        saved,
        dict(zip(second.found, [v for v in jaxpr.outvars if isinstance(v, Var)], strict=True)),
        first.active,
        first.flat,
        asked,
    )


class _Forward:
    """Runs the function equation by equation under ``LinearizeTrace``."""

    def __init__(self, closed: ClosedJaxpr, result: int, nonzero: Sequence[bool]) -> None:
        self.closed, self.result, self.nonzero = closed, result, nonzero
        self.primal_cause: list[int] = []
        self.linear_cause: list[int] = []
        self.forward_of: dict[Var, Var] = {}
        #: For a var of the linear program: whose tangent it is.
        self.tangent_of: dict[Var, Var] = {}
        self.active: list[bool] = []
        self.flat: list[int] = []
        self.linear: ClosedJaxpr | None = None

    def run(self, *args: Any) -> list[Any]:
        below = state.trace
        assert isinstance(below, StagingTrace)
        recorder = StagingTrace()
        trace = LinearizeTrace(below, recorder)
        jaxpr = self.closed.jaxpr
        env: dict[Var, Any] = dict(zip(jaxpr.constvars, self.closed.consts, strict=True))
        for var, arg, nonzero in zip(jaxpr.invars, args, self.nonzero, strict=True):
            tangent = recorder.new_arg(var.aval.to_tangent_aval()) if nonzero else None
            env[var] = arg if tangent is None else LinearizeTracer(trace, arg, tangent)
            self.note(trace, var, env[var])
        try:
            with use_trace(trace):
                for k, eqn in enumerate(jaxpr.eqns):
                    self.step(trace, k, eqn, env)
                    self.primal_cause += [k] * (len(below.eqns) - len(self.primal_cause))
                    self.linear_cause += [k] * (len(recorder.eqns) - len(self.linear_cause))
            primal, tangent = trace.unbox(_read(env, jaxpr.outvars[self.result]))
            with use_trace(recorder):
                self.linear = recorder.to_jaxpr([] if type(tangent) is Zero else [tangent])
        finally:
            trace.is_live = recorder.is_live = False
        return [primal, *self.linear.consts]

    def step(self, trace: LinearizeTrace, k: int, eqn: JaxprEqn, env: dict[Var, Any]) -> None:
        """Run one equation and note what has a derivative."""
        operands = [_read(env, a) for a in eqn.invars]
        outs = eqn.primitive.bind_all(*operands, **eqn.params)
        given = any(isinstance(a, LinearizeTracer) for a in operands)
        alive = [self.note(trace, var, out) for var, out in zip(eqn.outvars, outs, strict=True)]
        env.update(zip(eqn.outvars, outs, strict=True))
        self.active.append(any(alive))
        if given and not any(alive):
            self.flat.append(k)

    def note(self, trace: LinearizeTrace, var: Var, value: Any) -> bool:
        """Remember what the passes call ``var``; say whether it has a tangent."""
        primal, tangent = trace.unbox(value)
        if isinstance(primal, JaxprTracer) and isinstance(primal.atom, Var):
            self.forward_of.setdefault(primal.atom, var)
        if not isinstance(tangent, JaxprTracer):
            return False  # a symbolic zero, or zeros that a rule made
        if isinstance(tangent.atom, Var):
            self.tangent_of.setdefault(tangent.atom, var)
        return True


@dataclass(slots=True)
class _Transposed:
    """One equation of the linear program, walked backwards: the equations of its rule."""

    index: int
    eqns: list[int] = field(default_factory=list)
    gives: list[tuple[Var, Var]] = field(default_factory=list)


class _Backward:
    """Walks the linear program backwards, as ``grad`` does, and notes who made what."""

    def __init__(self, first: _Forward, residuals: Sequence[Any]) -> None:
        assert first.linear is not None
        self.first, self.linear, self.residuals = first, first.linear, list(residuals)
        self.avals: list[ShapedArray] = [r.aval for r in residuals if isinstance(r, Var)]
        self.found: list[int] = []
        self.transposed: list[_Transposed] = []
        #: Equations that need no cotangent, with the linear equation they come from.
        self.known: list[tuple[int, int]] = []
        self.sums: dict[Var, list[int]] = {}
        self.uses: dict[Var, list[int]] = {}
        self.walked: set[int] = set()
        self.read_by: dict[Var, list[int]] | None = None

    def run(self, *values: Any) -> list[Any]:
        *given, seed = values
        trace = state.trace
        assert isinstance(trace, StagingTrace)
        jaxpr = self.linear.jaxpr
        rest = iter(given)
        env = {
            var: next(rest) if isinstance(atom, Var) else atom.array()
            for var, atom in zip(jaxpr.constvars, self.residuals, strict=True)
        }
        linear = set(jaxpr.invars)
        for k, eqn in enumerate(jaxpr.eqns):
            if any(a in linear for a in eqn.invars if isinstance(a, Var)):
                linear.update(eqn.outvars)
                continue
            start = len(trace.eqns)
            outs = eqn.primitive.bind_all(*[_read(env, a) for a in eqn.invars], **eqn.params)
            env.update(zip(eqn.outvars, outs, strict=True))
            self.known += [(k, n) for n in range(start, len(trace.eqns))]
        cts = {atom: seed for atom in jaxpr.outvars if isinstance(atom, Var) and atom in linear}
        for k in reversed(range(len(jaxpr.eqns))):
            if any(v in linear for v in jaxpr.eqns[k].outvars):
                self.transpose(trace, k, env, linear, cts)
        inputs = [i for i, nonzero in enumerate(self.first.nonzero) if nonzero]
        ends = [(i, cts.get(v)) for i, v in zip(inputs, jaxpr.invars, strict=True)]
        live = [(i, ct) for i, ct in ends if ct is not None and type(ct) is not Zero]
        self.found = [i for i, _ in live]
        return [ct for _, ct in live]

    def transpose(
        self, trace: StagingTrace, k: int, env: dict[Var, Any], linear: set[Var], cts: Any
    ) -> None:
        """Find the operands' cotangents of one equation, and add them to those found before."""
        eqn = self.linear.jaxpr.eqns[k]
        given = [cts.pop(v, None) for v in eqn.outvars]
        if all(c is None or type(c) is Zero for c in given):
            return
        is_linear = [isinstance(a, Var) and a in linear for a in eqn.invars]
        operands = [
            Linear(a.aval) if lin else _read(env, a)
            for a, lin in zip(eqn.invars, is_linear, strict=True)
        ]
        full = [Zero(v.aval) if c is None else c for c, v in zip(given, eqn.outvars, strict=True)]
        start = len(trace.eqns)
        ct = full[0] if len(full) == 1 else tuple(full)
        results = as_tuple(eqn.primitive.transpose(ct, *operands, **eqn.params))
        record = _Transposed(k, list(range(start, len(trace.eqns))))
        self.transposed.append(record)
        self.walked.add(k)
        for atom, out, lin in zip(eqn.invars, results, is_linear, strict=True):
            if not lin or out is None or type(out) is Zero:
                continue
            assert isinstance(atom, Var)
            out = trace.lift(instantiate(out))
            if isinstance(out.atom, Var):
                record.gives.append((atom, out.atom))
            self.uses.setdefault(atom, []).append(k)
            start = len(trace.eqns)
            cts[atom] = add_tangents(cts.get(atom), out)
            self.sums.setdefault(atom, []).extend(range(start, len(trace.eqns)))

    def saved_values(
        self, primal: ClosedJaxpr, backward: ClosedJaxpr
    ) -> tuple[list[SavedValue], list[Var]]:
        """Return the residuals that the backward pass reads (each once), and its other inputs."""
        read = {a for e in backward.eqns for a in e.invars if isinstance(a, Var)}
        read.update(v for v in backward.jaxpr.outvars if isinstance(v, Var))
        variables = [r for r in self.residuals if isinstance(r, Var)]
        *mine, seed = backward.jaxpr.invars
        saved = [SavedValue(v, b) for v, b in zip(variables, mine, strict=True) if b in read]
        kept = {s.var for s in saved}
        made = {v: k for k, e in enumerate(primal.eqns) for v in e.outvars}
        for value in saved:
            value.recompute, value.is_whole = _ancestors(value.var, primal, made, kept)
        return saved, [seed]

    # --- who belongs to whom ---

    def steps(self, backward: ClosedJaxpr) -> list[Step]:
        """Return the equations of the backward pass in groups, in the order they run."""
        groups: dict[int, list[_Transposed]] = {}
        for record in self.transposed:
            groups.setdefault(self.root(record.index), []).append(record)
        extra: dict[int, list[int]] = {}
        for linear_index, eqn_index in self.known:
            extra.setdefault(self.reader_of(linear_index), []).append(eqn_index)
        steps = []
        for root, records in groups.items():
            eqns = sorted(
                {n for r in records for n in [*r.eqns, *extra.get(self.root(r.index), ())]}
            )
            if not eqns:
                continue  # the cotangent goes on as it is: no operation
            inner = {v for r in records for v in self.linear.jaxpr.eqns[r.index].outvars}
            gives = tuple(
                (self.first.tangent_of.get(atom), ct)
                for r in records
                for atom, ct in r.gives
                if atom not in inner
            )
            cause = self.first.linear_cause[root]
            steps.append(Step("rule", cause, tuple(eqns), gives))
        for atom, eqns in self.sums.items():
            if eqns:
                total = backward.eqns[eqns[-1]].outvars[0]
                cause = self.first.linear_cause[self.uses[atom][-1]]
                gives = ((self.first.tangent_of.get(atom), total),)
                steps.append(Step("sum", cause, tuple(eqns), gives, len(self.uses[atom])))
        return sorted(steps, key=lambda s: s.eqns[-1])

    def root(self, index: int) -> int:
        """Return the last equation of the chain that ``index`` is part of.

        A rule may be several linear equations one behind the other (``neg (mul dx c)``); one whose
        result is the tangent of a value of the function, or a sum of two branches, ends a chain.
        """
        eqns, causes = self.linear.jaxpr.eqns, self.first.linear_cause
        while True:
            outs = set(eqns[index].outvars)
            if eqns[index].primitive.name == "add_any" or outs & self.first.tangent_of.keys():
                return index
            readers = [k for k in self.readers(index) if causes[k] == causes[index]]
            if len(readers) != 1 or eqns[readers[0]].primitive.name == "add_any":
                return index
            index = readers[0]

    def readers(self, index: int) -> list[int]:
        """Return the linear equations that read a result of equation ``index``."""
        eqns = self.linear.jaxpr.eqns
        if self.read_by is None:
            self.read_by = {}
            for k, eqn in enumerate(eqns):
                for var in dict.fromkeys(_variables(eqn)):
                    self.read_by.setdefault(var, []).append(k)
        found = {k for v in eqns[index].outvars for k in self.read_by.get(v, ())}
        return sorted(found)

    def reader_of(self, index: int) -> int:
        """Return the chain that first reads what equation ``index`` computes."""
        readers = self.readers(index)
        walked = [k for k in readers if k in self.walked]
        if walked:
            return self.root(max(walked))
        return self.reader_of(readers[0]) if readers else self.root(index)


def _variables(eqn: JaxprEqn) -> list[Var]:
    return [a for a in eqn.invars if isinstance(a, Var)]


def _read(env: dict[Var, Any], atom: Any) -> Any:
    return atom.array() if isinstance(atom, Literal) else env[atom]


def _ancestors(
    var: Var, primal: ClosedJaxpr, made: dict[Var, int], kept: set[Var]
) -> tuple[tuple[int, ...], bool]:
    """Return the equations that make ``var`` from other kept values, and whether these are all."""
    wanted, seen = deque([var]), set[int]()
    while wanted and len(seen) < MAX_RECOMPUTE:
        at = wanted.popleft()
        if (at in kept and at is not var) or at not in made or made[at] in seen:
            continue
        seen.add(made[at])
        wanted += _variables(primal.eqns[made[at]])
    return tuple(sorted(seen)), not wanted
