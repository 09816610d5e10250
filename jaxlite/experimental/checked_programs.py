"""Programs whose checks are values. In: a jaxpr and the state of its checks. Out: both, run.

The state is a code (0, or the number of the first failure) and, for every failure that may have
happened, the arrays its message shows. Calls, branches and loops carry it along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite import numpy as jnp
from jaxlite.experimental.automatic_checks import Found, automatic_checks
from jaxlite.higher_order.check import (
    JaxException,
    check_p,
    failure_of,
    number_of,
)
from jaxlite.higher_order.checkpoint import checkpoint_p
from jaxlite.higher_order.cond import cond_p
from jaxlite.higher_order.custom_call import (
    CustomJVP,
    CustomVJP,
    custom_jvp_call_p,
    custom_vjp_call_p,
)
from jaxlite.higher_order.jit import derived, jit_p
from jaxlite.higher_order.rearrange import reorder, split
from jaxlite.higher_order.scan import scan_p
from jaxlite.higher_order.while_loop import ANY_LANE, while_p
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params
from jaxlite.language.primitive import Zero
from jaxlite.language.trace import get_aval, state
from jaxlite.transforms.stage_out import stage_out

__all__ = ["Categories", "State", "run_checked"]

Categories = frozenset[type[JaxException]]
Numbers = tuple[int, ...]


@dataclass(frozen=True)
class State:
    """The first failure so far: its number (int32, 0 if none), and arrays by number."""

    code: Any
    arrays: dict[int, tuple[Any, ...]]

    @staticmethod
    def empty() -> State:
        """Return the state before anything ran."""
        return State(jnp.int32(0), {})

    @property
    def numbers(self) -> Numbers:
        """The failures that may have happened."""
        return tuple(sorted(self.arrays))

    def flat(self) -> list[Any]:
        """Return code and arrays as a list of values."""
        return [self.code, *[a for n in self.numbers for a in self.arrays[n]]]

    def merged(self, code: Any, arrays: dict[int, tuple[Any, ...]]) -> State:
        """Return the state after failure ``code`` (0: none); an earlier one stays."""
        is_first = self.code == 0
        new = dict(arrays)
        for number, old in self.arrays.items():
            if number in arrays:
                pairs = zip(arrays[number], old, strict=True)
                new[number] = tuple([jnp.where(is_first, v, o) for v, o in pairs])
            else:
                new[number] = old
        return State(jnp.where(is_first, code, self.code), new)

    def with_all(self, numbers: Numbers) -> State:
        """Return the state with arrays of zeros for failures that it does not have yet."""
        full = {
            n: self.arrays.get(n) or tuple([jnp.zeros(a.shape, a.dtype) for a in _avals((n,))])
            for n in numbers
        }
        return State(self.code, full)


def _from_flat(values: Sequence[Any], numbers: Numbers) -> State:
    rest = list(values[1:])
    arrays = {}
    for n in numbers:
        count = len(failure_of(n).avals)
        arrays[n], rest = tuple(rest[:count]), rest[count:]
    return State(values[0], arrays)


def _avals(numbers: Numbers) -> list[ShapedArray]:
    return [a for n in numbers for a in failure_of(n).avals]


_CODE = ShapedArray((), jnp.int32.dtype)


@dataclass(frozen=True)
class CheckedJaxpr:
    """``(state, *args) -> (state, *outs)`` with the failures in its first and last state."""

    closed: ClosedJaxpr
    given: Numbers
    numbers: Numbers


def checked_jaxpr(closed: ClosedJaxpr, given: Numbers, errors: Categories) -> CheckedJaxpr:
    """Return ``closed`` with the state as further arguments and results."""

    def make() -> CheckedJaxpr:
        numbers: list[Numbers] = []
        n = 1 + len(_avals(given))

        def run(*values: Any) -> list[Any]:
            after, outs = run_checked(
                closed.jaxpr, closed.consts, _from_flat(values[:n], given), values[n:], errors
            )
            numbers[:] = [after.numbers]
            return [*after.flat(), *outs]

        avals = [_CODE, *_avals(given), *closed.in_avals]
        staged = stage_out(run, avals, closed.jaxpr.debug_info)
        return CheckedJaxpr(staged, given, numbers[0])

    result: CheckedJaxpr = derived(closed, ("checkify", given, errors), make)
    return result


def closed_under(closed: ClosedJaxpr, given: Numbers, errors: Categories) -> CheckedJaxpr:
    """Return a checked jaxpr whose first and last states have the same failures: a loop's body."""
    while True:
        checked = checked_jaxpr(closed, given, errors)
        if checked.numbers == given:
            return checked
        given = checked.numbers


def run_checked(
    jaxpr: Jaxpr, consts: Sequence[Any], before: State, args: Sequence[Any], errors: Categories
) -> tuple[State, list[Any]]:
    """Evaluate ``jaxpr`` under the current trace; return the state afterwards and the results."""
    env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return atom.array() if type(atom) is Literal else env[atom]

    after = before
    for eqn in jaxpr.eqns:
        values = [read(a) for a in eqn.invars]
        after, outs = _run_equation(eqn, after, values, errors)
        env.update(zip(eqn.outvars, outs, strict=True))
    return after, [read(a) for a in jaxpr.outvars]


def _run_equation(
    eqn: JaxprEqn, before: State, values: list[Any], errors: Categories
) -> tuple[State, Sequence[Any]]:
    if eqn.primitive is check_p:
        return _run_check(before, values, eqn.params, errors), ()
    rule = _RULES.get(eqn.primitive, _inlined if _is_call(eqn) else None)
    if rule is not None and _inside_may_fail(eqn, errors):
        return rule(eqn.params, before, values, errors)
    outs = eqn.primitive.bind_all(*values, **eqn.params)
    return _with_found(before, automatic_checks(eqn, values, outs, errors)), outs


def _is_call(eqn: JaxprEqn) -> bool:
    return getattr(eqn.primitive, "role", "") == "call"


def _inlined(
    params: dict[str, Any], before: State, values: list[Any], errors: Categories
) -> tuple[State, Sequence[Any]]:
    """A call of another kind: its body is run here."""
    ((_, closed),) = [(k, j) for k, j in jaxprs_in_params(params) if isinstance(j, ClosedJaxpr)]
    return run_checked(closed.jaxpr, closed.consts, before, values, errors)


def _inside_may_fail(eqn: JaxprEqn, errors: Categories) -> bool:
    # What the derivative of a custom function checks is only known when somebody differentiates.
    return eqn.primitive in (custom_jvp_call_p, custom_vjp_call_p) or any(
        _may_fail(_open(j), errors) for _, j in jaxprs_in_params(eqn.params)
    )


def _open(jaxpr: ClosedJaxpr | Jaxpr) -> Jaxpr:
    return jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr


def _may_fail(jaxpr: Jaxpr, errors: Categories) -> bool:
    """Say whether a checked version would differ."""
    return any(
        eqn.primitive is check_p
        or automatic_checks.applies(eqn, errors)
        or ((_is_call(eqn) or eqn.primitive in _RULES) and _inside_may_fail(eqn, errors))
        for eqn in jaxpr.eqns
    )


def _with_found(before: State, found: Found | None) -> State:
    if found is None:
        return before
    number = number_of(found.failure)
    return before.merged(jnp.where(found.failed, number, 0), {number: tuple(found.arrays)})


def _run_check(
    before: State, values: list[Any], params: dict[str, Any], errors: Categories
) -> State:
    numbers = params["numbers"]
    given = _from_flat(values, numbers)
    if not all(issubclass(failure_of(n).category, tuple(errors)) for n in numbers):
        kept = [n for n in numbers if failure_of(n).category in errors]
        is_kept = jnp.isin(given.code, jnp.array(kept, jnp.int32)) if kept else False
        code = jnp.where(is_kept, given.code, 0)
        return before.merged(code, {n: given.arrays[n] for n in kept}) if kept else before
    return before.merged(given.code, given.arrays)


# --- calls, branches, loops: the state goes in with the operands and comes out with the results ---


def _call(primitive: Any) -> Callable[..., tuple[State, Sequence[Any]]]:
    def rule(
        params: dict[str, Any], before: State, values: list[Any], errors: Categories
    ) -> tuple[State, Sequence[Any]]:
        checked = checked_jaxpr(params["jaxpr"], before.numbers, errors)
        changes: dict[str, Any] = {"jaxpr": checked.closed}
        if "donated_invars" in params:
            donated = (False,) * len(before.flat()) + params["donated_invars"]
            changes["donated_invars"] = donated
        outs = primitive.bind_all(*before.flat(), *values, **{**params, **changes})
        return _unpack(outs, checked.numbers)

    return rule


def _unpack(outs: Sequence[Any], numbers: Numbers) -> tuple[State, Sequence[Any]]:
    n = 1 + len(_avals(numbers))
    return _from_flat(outs[:n], numbers), outs[n:]


def _cond(
    params: dict[str, Any], before: State, values: list[Any], errors: Categories
) -> tuple[State, Sequence[Any]]:
    branches = params["branches"]
    found = [checked_jaxpr(b, before.numbers, errors).numbers for b in branches]
    numbers = tuple(sorted(set().union(*found)))
    checked = tuple([checked_jaxpr(b, numbers, errors).closed for b in branches])
    full = before.with_all(numbers)
    index, *operands = values
    outs = cond_p.bind_all(index, *full.flat(), *operands, **{**params, "branches": checked})
    return _unpack(outs, numbers)


def _scan(
    params: dict[str, Any], before: State, values: list[Any], errors: Categories
) -> tuple[State, Sequence[Any]]:
    n_consts, n_carry = params["num_consts"], params["num_carry"]
    body = closed_under(params["jaxpr"], before.numbers, errors)
    full = before.with_all(body.numbers).flat()
    n = len(full)
    places = range(n, n + n_consts)
    rest = range(n + n_consts, len(body.closed.in_avals))
    changes = {
        "jaxpr": reorder(body.closed, [*places, *range(n), *rest]),
        "num_carry": n + n_carry,
    }
    consts, others = split(values, n_consts)
    outs = scan_p.bind_all(*consts, *full, *others, **{**params, **changes})
    return _unpack(outs, body.numbers)


def _while(
    params: dict[str, Any], before: State, values: list[Any], errors: Categories
) -> tuple[State, Sequence[Any]]:
    """The condition is checked where it is computed: before the loop and at the end of a step."""
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    if cond.jaxpr.debug_info is ANY_LANE:
        raise ValueError(
            "Checkify does not support batched while-loops (checkify-of-vmap-of-while). \nHint: if "
            "possible, move the vmap to the outer level to get vmap-of-checkify-of-while."
        )
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts, carry = split(values, n_cond, n_body)
    numbers = before.numbers
    while True:
        after_body = closed_under(body, numbers, errors)
        after_cond = closed_under(cond, after_body.numbers, errors)
        if after_cond.numbers == numbers:
            break
        numbers = after_cond.numbers
    n = 1 + len(_avals(numbers))

    def step(*xs: Any) -> list[Any]:
        consts, body_xs, rest = split(xs, n_cond, n_body)
        status, old = rest[: n + 1], rest[n + 1 :]
        outs = jit_p.bind_all(*status[1:], *body_xs, *old, jaxpr=after_body.closed, name="body_fun")
        tested = jit_p.bind_all(
            *outs[:n], *consts, *outs[n:], jaxpr=after_cond.closed, name="cond_fun"
        )
        return [tested[n], *tested[:n], *outs[n:]]

    first = jit_p.bind_all(
        *before.with_all(numbers).flat(),
        *cond_consts,
        *carry,
        jaxpr=after_cond.closed,
        name="cond_fun",
    )
    start = [first[n], *first[:n], *carry]
    avals = [get_aval(x) for x in (*cond_consts, *body_consts)]
    carried = [get_aval(first[n]), _CODE, *_avals(numbers), *body.out_avals]
    outs = while_p.bind_all(
        *cond_consts,
        *body_consts,
        *start,
        **{
            **params,
            "cond_nconsts": 0,
            "cond_jaxpr": stage_out(lambda *xs: [xs[0]], carried),
            "body_nconsts": n_cond + n_body,
            "body_jaxpr": stage_out(step, [*avals, *carried]),
        },
    )
    return _unpack(outs[1:], numbers)


# --- functions with their own derivative: the derivative is checked where it is taken ---


def _checked_function(
    closed: ClosedJaxpr, numbers: Numbers, errors: Categories, kept: list[Numbers]
) -> Callable[..., tuple[Any, ...]]:
    """Return ``closed`` on values that begin with a state; ``kept`` gets the failures after it."""
    n = 1 + len(_avals(numbers))

    def run(*values: Any) -> tuple[Any, ...]:
        before = _from_flat(values[:n], numbers)
        after, outs = run_checked(closed.jaxpr, closed.consts, before, values[n:], errors)
        kept[:] = [after.numbers]
        return (*after.flat(), *outs)

    return run


def _custom_jvp(
    params: dict[str, Any], before: State, values: list[Any], errors: Categories
) -> tuple[State, Sequence[Any]]:
    call: CustomJVP = params["jvp"]
    closed: ClosedJaxpr = params["call_jaxpr"]
    consts, args = split(values, params["num_consts"])
    numbers, flat = before.numbers, before.flat()
    kept: list[Numbers] = []
    run = _checked_function(closed, numbers, errors, kept)
    n = len(flat)

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        given = [i for i, t in enumerate(tangents) if i >= n and type(t) is not Zero]
        zeros: list[list[Zero]] = []

        def derivative(*xs: Any) -> list[Any]:
            ts = iter(xs[len(primals) - n :])
            full = [next(ts) if i in given else t for i, t in enumerate(tangents)][n:]
            outs, out_ts = call.jvp(xs[: len(primals) - n], full)
            zeros[:] = [[t for t in out_ts if type(t) is Zero]]
            marks = [type(t) is Zero for t in out_ts]
            zeros.append(marks)  # type: ignore[arg-type]
            return [*outs, *(t for t in out_ts if type(t) is not Zero)]

        active = [*primals[n:], *[tangents[i] for i in given]]
        staged = stage_out(derivative, [get_aval(x) for x in active])
        checked = _checked_function(staged, numbers, errors, kept)
        outs = checked(*primals[:n], *active)
        m = 1 + len(_avals(kept[0]))
        marks: Any = zeros[1]
        n_out = len(marks)
        results = list(outs[: m + n_out])
        ts, blank = iter(outs[m + n_out :]), iter(zeros[0])
        out_ts = [next(blank) if z else next(ts) for z in marks]
        return results, [*[Zero(get_aval(x).to_tangent_aval()) for x in outs[:m]], *out_ts]

    def fun(*xs: Any) -> tuple[Any, ...]:
        return run(*xs[:n], *consts, *xs[n:])

    outs = state.trace.process_custom(CustomJVP(rule, call.name, True), fun, [*flat, *args])
    return _unpack(outs, kept[0])


def _custom_vjp(
    params: dict[str, Any], before: State, values: list[Any], errors: Categories
) -> tuple[State, Sequence[Any]]:
    call: CustomVJP = params["fwd"]
    closed: ClosedJaxpr = params["call_jaxpr"]
    consts, args = split(values, params["num_consts"])
    numbers, flat = before.numbers, before.flat()
    kept: list[Numbers] = []
    run = _checked_function(closed, numbers, errors, kept)
    n = len(flat)

    def fwd(perturbed: Sequence[bool], *primals: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        counts: list[int] = []

        def forward(*xs: Any) -> list[Any]:
            outs, residuals = call.fwd(tuple(perturbed[n:]), *xs)
            counts[:] = [len(outs)]
            return [*outs, *residuals]

        staged = stage_out(forward, [get_aval(x) for x in primals[n:]])
        outs = _checked_function(staged, numbers, errors, kept)(*primals)
        m = 1 + len(_avals(kept[0])) + counts[0]
        return outs[:m], outs[m:]

    def bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> Sequence[Any]:
        m = 1 + len(_avals(kept[0]))
        zeros = [Zero(get_aval(x).to_tangent_aval()) for x in flat]
        return [*zeros, *call.bwd(residuals, cts[m:])]

    def fun(*xs: Any) -> tuple[Any, ...]:
        return run(*xs[:n], *consts, *xs[n:])

    new = CustomVJP(fwd, bwd, call.name, call.symbolic_zeros)
    outs = state.trace.process_custom(new, fun, [*flat, *args])
    return _unpack(outs, kept[0])


_RULES: dict[Any, Callable[..., tuple[State, Sequence[Any]]]] = {
    jit_p: _call(jit_p),
    checkpoint_p: _call(checkpoint_p),
    cond_p: _cond,
    scan_p: _scan,
    while_p: _while,
    custom_jvp_call_p: _custom_jvp,
    custom_vjp_call_p: _custom_vjp,
}
