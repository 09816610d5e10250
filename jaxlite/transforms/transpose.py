"""Reverse mode, second half. In: a linear jaxpr. Out: the map from result to argument cotangents.

Equations that do not touch a linear argument are run forward first; the others are walked
backwards, each adding its operands' cotangents: for ``y = mul x c`` it is ``x_ct += mul y_ct c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlite.language.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jaxlite.language.primitive import Linear, Zero, add_tangents, as_tuple, instantiate
from jaxlite.transforms.stage_out import stage_out


def backward_pass(
    jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cotangents: Sequence[Any]
) -> list[Any]:
    """Return the cotangents of the linear arguments of ``jaxpr`` (``Zero`` where nothing arrives).

    ``args`` hold values for nonlinear arguments and ``Linear`` for the others; the result has one
    entry per argument, None for nonlinear ones. Runs under the current trace.
    """
    env: dict[Var, Any] = {}
    env.update(zip(jaxpr.constvars, consts, strict=True))
    linear: set[Var] = set()
    for var, arg in zip(jaxpr.invars, args, strict=True):
        if isinstance(arg, Linear):
            linear.add(var)
        else:
            env[var] = arg
    linear_eqns = _run_nonlinear(jaxpr, env, linear)
    ct_env: dict[Var, Any] = {}
    for atom, ct in zip(jaxpr.outvars, cotangents, strict=True):
        if isinstance(atom, Var) and atom in linear and ct is not None:
            ct_env[atom] = add_tangents(ct_env.get(atom), ct)
    for eqn in reversed(linear_eqns):
        _transpose_eqn(eqn, env, linear, ct_env)
    result: list[Any] = []
    for var, arg in zip(jaxpr.invars, args, strict=True):
        if not isinstance(arg, Linear):
            result.append(None)
        else:
            ct = ct_env.get(var)
            result.append(Zero(var.aval) if ct is None else ct)
    return result


def _run_nonlinear(jaxpr: Jaxpr, env: dict[Var, Any], linear: set[Var]) -> list[JaxprEqn]:
    """Evaluate what needs no linear argument.

    Return the equations that do, marking their results.
    """
    linear_eqns = []
    for eqn in jaxpr.eqns:
        if any(isinstance(a, Var) and a in linear for a in eqn.invars):
            linear.update(eqn.outvars)
            linear_eqns.append(eqn)
        else:
            outs = eqn.primitive.bind_all(*[_read(env, a) for a in eqn.invars], **eqn.params)
            env.update(zip(eqn.outvars, outs, strict=True))
    return linear_eqns


def _read(env: dict[Var, Any], atom: Any) -> Any:
    return atom.array() if type(atom) is Literal else env[atom]


def _transpose_eqn(
    eqn: JaxprEqn, env: dict[Var, Any], linear: set[Var], ct_env: dict[Var, Any]
) -> None:
    cts = [ct_env.pop(v, None) for v in eqn.outvars]
    if all(c is None or type(c) is Zero for c in cts):
        return
    operands = [
        Linear(a.aval) if isinstance(a, Var) and a in linear else _read(env, a) for a in eqn.invars
    ]
    ct_in: Any
    if len(cts) == 1:
        ct_in = cts[0]
    else:
        ct_in = tuple(
            Zero(v.aval) if c is None else c for c, v in zip(cts, eqn.outvars, strict=True)
        )
    results = as_tuple(eqn.primitive.transpose(ct_in, *operands, **eqn.params))
    assert len(results) == len(eqn.invars), (eqn.primitive, len(results), len(eqn.invars))
    for atom, ct in zip(eqn.invars, results, strict=True):
        if isinstance(atom, Var) and atom in linear and ct is not None and type(ct) is not Zero:
            ct_env[atom] = add_tangents(ct_env.get(atom), ct)


def transpose_jaxpr(
    closed: ClosedJaxpr,
    is_linear_arg: Sequence[bool],
    ct_nonzero: Sequence[bool],
    instantiate_all: bool = True,
) -> tuple[ClosedJaxpr, list[bool]]:
    """Return the jaxpr ``(*nonlinear args, *nonzero cts) -> (*cts of linear args)``.

    With ``instantiate_all`` every linear argument gets an array; otherwise the second result says
    which cotangents are present.
    """
    in_avals = closed.in_avals
    non_avals = [a for a, lin in zip(in_avals, is_linear_arg, strict=True) if not lin]
    ct_avals = [a for a, nz in zip(closed.out_avals, ct_nonzero, strict=True) if nz]
    present: list[bool] = []

    def run(*values: Any) -> list[Any]:
        non, cts = iter(values[: len(non_avals)]), iter(values[len(non_avals) :])
        args = [
            Linear(a) if lin else next(non) for a, lin in zip(in_avals, is_linear_arg, strict=True)
        ]
        full = [
            next(cts) if nz else Zero(a) for a, nz in zip(closed.out_avals, ct_nonzero, strict=True)
        ]
        all_cts = backward_pass(closed.jaxpr, closed.consts, args, full)
        wanted = [ct for ct, lin in zip(all_cts, is_linear_arg, strict=True) if lin]
        present[:] = [instantiate_all or type(ct) is not Zero for ct in wanted]
        return [instantiate(ct) for ct, keep in zip(wanted, present, strict=True) if keep]

    return stage_out(run, [*non_avals, *ct_avals], closed.jaxpr.debug_info), present
