"""How an equation reads its operands. In: an equation. Out: which result axes each read follows.

A read is a tuple with one entry per operand axis of size other than 1: the result axis (counted
among those of size other than 1) whose index it uses. ``OPAQUE`` stands for everything else
(reversed, split, gathered). ``broadcast_in_dim`` from ``[4]`` to ``[3,4]`` reads ``(1,)``; a sum
reads nothing this way.

Also here: what an equation costs, and what kind of group it starts.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from jaxlite.compiler.pull import ZERO, dot_axes, unrolled_dot, unrolled_reduction
from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.jaxpr import JaxprEqn, Literal, Var
from jaxlite.primitives.families import Elementwise, Reduction

Access: TypeAlias = "tuple[int, ...] | None"
OPAQUE: Access = None

_KERNEL_DTYPES = frozenset(
    [np.dtype(t) for t in ("bool", "float16", "float32", "float64", "complex64", "complex128")]
    + [np.dtype(f"{u}int{bits}") for u in ("", "u") for bits in (8, 16, 32, 64)]
    + [np.dtype(dtypes.bfloat16)]
)
_BLAS_DTYPES = frozenset(np.dtype(t) for t in ("float32", "float64", "complex64", "complex128"))
#: Multiply-adds up to which a matrix product is a loop nest of ours: a BLAS call costs the same.
SMALL_DOT = 8192
#: Products of at most this many terms are written out, and stay ours for longer.
SHORT_DOT = 8

#: Arrays joined by choosing among them, element by element; more are written one after another.
MAX_JOINED = 8

#: Cost of one element relative to an addition; 1 if not listed.
COST: dict[str, float] = {
    **dict.fromkeys(("exp", "exp2", "log", "log1p", "expm1", "logistic", "pow", "cbrt"), 12.0),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2"), 12.0),
    **dict.fromkeys(("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), 12.0),
    **dict.fromkeys(("erf", "erfc", "erf_inv", "lgamma", "digamma"), 15.0),
    **dict.fromkeys(("div", "sqrt", "rsqrt", "rem", "integer_pow"), 3.0),
    **dict.fromkeys(("broadcast_in_dim", "reshape", "squeeze", "transpose"), 0.1),
    **dict.fromkeys(("slice", "rev", "copy"), 0.1),
    **dict.fromkeys(("convert_element_type", "bitcast_convert_type"), 0.3),
    **dict.fromkeys(("neg", "iota", "real", "imag"), 0.3),
    **dict.fromkeys(("gather", "dynamic_slice", "concatenate", "pad"), 2.0),
    **dict.fromkeys(("random_bits", "threefry2x32", "random_fold_in", "random_split"), 60.0),
}


def cost_of(eqn: JaxprEqn) -> float:
    """Return what one element costs relative to an addition, operands not counted."""
    name = eqn.primitive.name
    if name == "pad" and not any(inner for *_, inner in eqn.params["padding_config"]):
        return 0.1  # its comparisons are decided by cutting the loop
    if name == "concatenate":
        return 0.1 * len(eqn.invars)
    return COST.get(name, 1.0)


def is_supported(aval: Any) -> bool:
    """Say whether the kernel IR has the element type."""
    return dtypes.storage_dtype(aval.dtype) in _KERNEL_DTYPES


def is_elementwise(eqn: JaxprEqn) -> bool:
    """Say whether the rule hands the index through unchanged."""
    return getattr(type(eqn.primitive), "pull", None) is Elementwise.pull


def is_pointwise(eqn: JaxprEqn) -> bool:
    """Say whether every operand is read at the index of the result, or is a single element."""
    if is_elementwise(eqn):
        shape = eqn.outvars[0].aval.shape
        return all(a.aval.shape == shape or a.aval.size == 1 for a in eqn.invars)
    return eqn.primitive.name == "broadcast_in_dim" and not eqn.invars[0].aval.shape


def kind_of(eqn: JaxprEqn) -> str:
    """Return what the equation is to the fuser: a map, or the kind of group it starts."""
    primitive: Any = eqn.primitive
    if getattr(primitive, "role", ""):
        return "control"
    avals = tuple([a.aval for a in eqn.invars])
    if _runs_in_python(eqn, avals):
        return "host"
    name = primitive.name
    if name == "dot_general":
        return _kind_of_dot(eqn)
    if isinstance(primitive, Reduction) or hasattr(primitive, "select_max"):
        return "reduction" if _is_long(avals[0].shape, eqn.params["axes"]) else "map"
    if hasattr(primitive, "combiner"):
        return "cumulative" if primitive.combiner in ir.COMBINERS else "host"
    if hasattr(primitive, "combine_name"):
        return "scatter"
    if name == "dynamic_update_slice":
        return "update"
    if name == "concatenate" and len(avals) > MAX_JOINED:
        return "concatenate"
    return "map" if hasattr(primitive, "pull") else "host"


def _runs_in_python(eqn: JaxprEqn, avals: tuple[Any, ...]) -> bool:
    """Say whether the kernel IR cannot express the equation, whatever its primitive is."""
    primitive: Any = eqn.primitive
    if len(eqn.outvars) != 1 or eqn.effects:
        return True
    if not all(map(is_supported, avals)) or not is_supported(eqn.outvars[0].aval):
        return True
    combiner = getattr(primitive, "combiner", None) or getattr(primitive, "combine_name", None)
    if combiner in ("min", "max") and dtypes.kind_of(avals[0].dtype) == "c":
        return True
    can_lower = getattr(primitive, "can_lower", None)
    return can_lower is not None and not can_lower(avals, eqn.params)


def _is_long(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    return any(shape[a] != 1 for a in axes)


def _kind_of_dot(eqn: JaxprEqn) -> str:
    lhs, rhs = (a.aval for a in eqn.invars)
    out = eqn.outvars[0].aval
    _, free, contracted, _, rhs_free, _ = dot_axes(eqn)
    depth = math.prod(lhs.shape[a] for a in contracted)
    if depth == 1:
        return "map"
    has_vector = all(lhs.shape[a] == 1 for a in free) or all(rhs.shape[a] == 1 for a in rhs_free)
    limit = SMALL_DOT * 128 if depth <= SHORT_DOT else SMALL_DOT
    if out.size * depth <= limit or has_vector:
        return "reduction"  # memory bound, or too small to be worth a call
    is_blas = out.dtype in _BLAS_DTYPES and lhs.dtype == rhs.dtype == out.dtype
    return "dot" if is_blas else "reduction"


class _Probe:
    """Stands for an operand of a ``pull`` rule and notes the index it is asked for."""

    __slots__ = ("aval", "constant", "reads")

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.reads: list[tuple[ir.Expr, ...]] = []

    def __call__(self, index: tuple[ir.Expr, ...]) -> ir.Expr:
        self.reads.append(index)
        at = ZERO
        for i in index:
            if i is not ZERO:
                at = ir.binary("add", at, i)
        return ir.load("probe", at, dtypes.storage_dtype(self.aval.dtype))


_PROBES = tuple([ir.index(f"probe{n}") for n in range(32)])
_AXIS_OF = {e: n for n, e in enumerate(_PROBES)}


def reads_of(eqn: JaxprEqn) -> list[tuple[int, Access]]:
    """Return the reads (operand number, access) of one element of a map's result."""
    shape = eqn.outvars[0].aval.shape
    identity = tuple(range(sum(n != 1 for n in shape)))
    if is_elementwise(eqn):
        return [
            (k, identity if a.aval.shape == shape else ())
            for k, a in enumerate(eqn.invars)
            if not isinstance(a, Literal)
        ]
    primitive: Any = eqn.primitive
    probes = tuple([_Probe(a.aval) for a in eqn.invars])
    real = [n for n in shape if n != 1]
    rest = iter(_PROBES)
    index = tuple([ZERO if n == 1 else next(rest) for n in shape])
    if 0 in shape:
        return [(k, OPAQUE) for k, a in enumerate(eqn.invars) if not isinstance(a, Literal)]
    if hasattr(primitive, "pull"):
        primitive.pull(probes, index, **eqn.params)
    elif primitive.name == "dot_general":
        unrolled_dot(eqn, probes, index)
    else:
        unrolled_reduction(eqn, probes[0], index)
    found: list[tuple[int, Access]] = []
    for k, probe in enumerate(probes):
        if not isinstance(eqn.invars[k], Literal):
            reads = dict.fromkeys(probe.reads)
            found.extend((k, _access(read, probe.aval.shape, real)) for read in reads)
    return found


def _access(read: tuple[ir.Expr, ...], shape: tuple[int, ...], result: list[int]) -> Access:
    axes = []
    for i, n in zip(read, shape, strict=True):
        if n != 1:
            axis = _AXIS_OF.get(i)
            # The first half of an axis has the same indices, but is not the whole.
            if axis is None or result[axis] != n:
                return OPAQUE
            axes.append(axis)
    return tuple(axes)


def free_vars(eqn: JaxprEqn) -> list[Var]:
    """Return the distinct vars an equation reads."""
    return list(dict.fromkeys(a for a in eqn.invars if not isinstance(a, Literal)))


def is_renaming(eqn: JaxprEqn) -> bool:
    """Say whether the result is the operand's memory under another shape."""
    name = eqn.primitive.name
    operand = eqn.invars[0] if eqn.invars else None
    if not isinstance(operand, Var) or operand.aval.dtype != eqn.outvars[0].aval.dtype:
        return False
    if name == "reshape":
        return eqn.params.get("dimensions") is None
    if name == "squeeze":
        return True
    if name == "broadcast_in_dim" and operand.aval.size == eqn.outvars[0].aval.size:
        dims = eqn.params["broadcast_dimensions"]
        real = [d for d, n in zip(dims, operand.aval.shape, strict=True) if n != 1]
        return real == sorted(real)
    return False
