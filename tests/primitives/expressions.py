"""A slow reader of ``pull`` rules. In: a jaxpr of fusible primitives. Out: its results.

Index variables are whole NumPy arrays, so one walk over an expression gives all elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import ClosedJaxpr, JaxprEqn, Literal
from jaxlite.primitives.convert import cast_array

BINARY: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "div": lambda x, y: (np.abs(x) // np.abs(y) * np.sign(x) * np.sign(y)).astype(x.dtype),
    "rem": np.fmod,
    "shl": np.left_shift,
    "shr_logical": np.right_shift,
}
COMPARE: dict[str, Any] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


class Reader:
    """Operand of a pull rule backed by the producer equation or by memory."""

    def __init__(self, atom: Any, producers: dict[Any, JaxprEqn], names: dict[Any, str]) -> None:
        self.atom, self.producers, self.names = atom, producers, names
        self.aval = atom.aval

    def __call__(self, index: tuple[ir.Expr, ...]) -> ir.Expr:
        assert len(index) == self.aval.ndim
        dtype = dtypes.storage_dtype(self.aval.dtype)
        if isinstance(self.atom, Literal):
            return ir.const(self.atom.val, dtype)
        eqn = self.producers.get(self.atom)
        if eqn is not None:
            return pull_of(eqn, self.atom, self.producers, self.names, index)
        at = ir.i64(0)
        for i, n in zip(index, self.aval.shape, strict=True):
            at = ir.binary("add", ir.binary("mul", at, ir.i64(n)), i)
        return ir.load(self.names[self.atom], at, dtype)


def pull_of(eqn: JaxprEqn, var: Any, producers: Any, names: Any, index: Any) -> ir.Expr:
    operands = tuple(Reader(a, producers, names) for a in eqn.invars)
    params = dict(eqn.params)
    if len(eqn.outvars) > 1:
        params["result"] = eqn.outvars.index(var)
    out: ir.Expr = eqn.primitive.pull(operands, index, **params)  # type: ignore[attr-defined]
    return out


def can_pull(eqn: JaxprEqn) -> bool:
    primitive: Any = eqn.primitive
    if not hasattr(primitive, "pull"):
        return False
    avals = tuple(a.aval for a in eqn.invars)
    return not hasattr(primitive, "can_lower") or primitive.can_lower(avals, eqn.params)


def pulled(closed: ClosedJaxpr, arrays: list[Any]) -> list[Any] | None:
    """All results of ``closed`` on ``arrays`` through pull rules; None if an equation has none."""
    jaxpr = closed.jaxpr
    if not all(map(can_pull, jaxpr.eqns)):
        return None
    producers = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    variables = [*jaxpr.invars, *jaxpr.constvars]
    names = {v: f"b{k}" for k, v in enumerate(variables)}
    consts = [c._data for c in closed.consts]
    buffers = {
        names[v]: np.asarray(a).reshape(-1)
        for v, a in zip(variables, [*arrays, *consts], strict=True)
    }
    outs = []
    for atom in jaxpr.outvars:
        shape = atom.aval.shape
        dtype = dtypes.storage_dtype(atom.aval.dtype)
        if not atom.aval.size:
            outs.append(np.empty(shape, dtype))
            continue
        index = tuple(ir.index(f"i{d}") for d in range(len(shape)))
        places = np.indices(shape, dtype=np.int64)
        env = {f"i{d}": places[d] for d in range(len(shape))}
        expr = Reader(atom, producers, names)(index)
        assert expr.dtype == dtype
        outs.append(np.broadcast_to(evaluate(expr, env, buffers), shape))
    return outs


def evaluate(expr: ir.Expr, env: dict[str, Any], buffers: dict[str, Any]) -> Any:
    """The value of an expression; loads outside their buffer are an error even if not chosen."""
    values: dict[int, Any] = {}
    with np.errstate(all="ignore"):
        for e in ir.walk(expr):
            args = [values[id(a)] for a in e.args]
            value = np.asarray(_value(e, args, env, buffers))
            assert value.dtype == e.dtype, (e.kind, e.attrs, value.dtype, e.dtype)
            values[id(e)] = value
    return values[id(expr)]


def _value(e: ir.Expr, args: list[Any], env: dict[str, Any], buffers: dict[str, Any]) -> Any:
    match e.kind:
        case "const":
            return ir.const_value(e)
        case "index":
            return env[e.attrs[0]]
        case "load":
            data = buffers[e.attrs[0]]
            assert args[0].min() >= 0
            assert args[0].max() < data.size
            return data[args[0]]
        case "binary":
            return BINARY[e.attrs[0]](*args)
        case "compare":
            return COMPARE[e.attrs[0]](*args)
        case "select":
            return np.where(*args)
        case "cast":
            return cast_array(np, args[0], e.dtype)
    raise AssertionError(e.kind)
