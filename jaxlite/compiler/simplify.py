"""Exact algebra on single equations. In: an equation. Out: a value, another equation, or None.

Only rules that keep every bit are here: ``x * 1`` is ``x`` also for NaN and -0.0, ``x + 0`` is not
(-0.0 + 0.0 is 0.0) except for integers or when the zero is -0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import Atom, JaxprEqn, Literal, Var


class Rewrite(NamedTuple):
    """Another equation with the same result."""

    primitive: Any
    ins: list[Atom]
    params: dict[str, Any]


class Case(NamedTuple):
    """One equation as the rules see it."""

    primitive: Any
    ins: Sequence[Atom]
    params: dict[str, Any]
    out: ShapedArray
    makers: dict[Var, JaxprEqn]

    def maker(self, k: int, name: str) -> JaxprEqn | None:
        """Return the equation that made operand ``k`` if it is a ``name``."""
        atom = self.ins[k]
        if isinstance(atom, Literal):
            return None
        eqn = self.makers.get(atom)
        return eqn if eqn is not None and eqn.primitive.name == name else None

    def fits(self, k: int) -> bool:
        """Say whether operand ``k`` has the shape and dtype of the result."""
        aval = self.ins[k].aval
        return bool(aval.shape == self.out.shape and aval.dtype == self.out.dtype)


Outcome = Atom | Rewrite | None


def simplify(
    primitive: Any,
    ins: Sequence[Atom],
    params: dict[str, Any],
    out: ShapedArray,
    makers: dict[Var, JaxprEqn],
) -> Outcome:
    """Return what the equation can be replaced by, or None."""
    rule = RULES.get(primitive.name)
    return None if rule is None else rule(Case(primitive, ins, params, out, makers))


def constant_of(case: Case, k: int) -> Any:
    """Return the value of operand ``k`` if all its elements are one literal, else None."""
    atom = case.ins[k]
    if isinstance(atom, Literal):
        return atom.array()._data[()]
    filled = case.maker(k, "broadcast_in_dim")
    if filled is not None and isinstance(filled.invars[0], Literal):
        return filled.invars[0].array()._data[()]
    return None


def _is_one(value: Any) -> bool:
    return value is not None and bool(value == 1)


def _mul(case: Case) -> Outcome:
    for one, other in ((1, 0), (0, 1)):
        if case.fits(other) and _is_one(constant_of(case, one)):
            return case.ins[other]
    return None


def _div(case: Case) -> Outcome:
    return case.ins[0] if case.fits(0) and _is_one(constant_of(case, 1)) else None


def _is_neutral(value: Any, sign: bool) -> bool:
    """Say whether adding ``value`` changes nothing: 0, or a float zero with this sign bit."""
    if value is None or value != 0 or dtypes.kind_of(value.dtype) == "c":
        return False
    return dtypes.kind_of(value.dtype) in "iu" or bool(np.signbit(np.float64(value))) == sign


def _add(case: Case) -> Outcome:
    for zero, other in ((1, 0), (0, 1)):
        if case.fits(other) and _is_neutral(constant_of(case, zero), True):
            return case.ins[other]
    return None


def _sub(case: Case) -> Outcome:
    return case.ins[0] if case.fits(0) and _is_neutral(constant_of(case, 1), False) else None


def _neg(case: Case) -> Outcome:
    inner = case.maker(0, "neg")
    return inner.invars[0] if inner is not None else None


#: What each dtype holds without loss; a conversion there and on is one conversion.
_WIDER: dict[str, str] = {
    "bool": "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64",
    "int8": "int16 int32 int64 float16 bfloat16 float32 float64",
    "uint8": "int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64",
    "int16": "int32 int64 float32 float64",
    "uint16": "int32 uint32 int64 uint64 float32 float64",
    "int32": "int64 float64",
    "uint32": "int64 uint64 float64",
    "float16": "float32 float64",
    "bfloat16": "float32 float64",
    "float32": "float64",
}
_LOSSLESS = frozenset((a, b) for a, wider in _WIDER.items() for b in wider.split())


def _convert(case: Case) -> Outcome:
    if case.fits(0):
        return case.ins[0]
    inner = case.maker(0, "convert_element_type")
    if inner is not None:
        source = inner.invars[0]
        names = dtypes.name_of(source.aval.dtype), dtypes.name_of(case.ins[0].aval.dtype)
        if names in _LOSSLESS:
            return Rewrite(case.primitive, [source], case.params)
    return None


def _reshape(case: Case) -> Outcome:
    if case.params.get("dimensions") is not None:
        return None
    if case.fits(0):
        return case.ins[0]
    inner = case.maker(0, "reshape")
    if inner is not None and inner.params.get("dimensions") is None:
        return Rewrite(case.primitive, [inner.invars[0]], case.params)
    return None


def _transpose(case: Case) -> Outcome:
    permutation = case.params["permutation"]
    if permutation == tuple(range(len(permutation))):
        return case.ins[0]
    inner = case.maker(0, "transpose")
    if inner is not None:
        composed = tuple([inner.params["permutation"][k] for k in permutation])
        return Rewrite(case.primitive, [inner.invars[0]], {**case.params, "permutation": composed})
    return None


def _broadcast(case: Case) -> Outcome:
    dims = case.params["broadcast_dimensions"]
    if case.fits(0) and dims == tuple(range(len(dims))):
        return case.ins[0]
    inner = case.maker(0, "broadcast_in_dim")
    if inner is not None:
        composed = tuple([dims[d] for d in inner.params["broadcast_dimensions"]])
        return Rewrite(
            case.primitive, [inner.invars[0]], {**case.params, "broadcast_dimensions": composed}
        )
    return None


def _select(case: Case) -> Outcome:
    cases = case.ins[1:]
    if all(c is cases[0] for c in cases[1:]):
        return cases[0]
    which = constant_of(case, 0)
    if which is None:
        return None
    chosen = 1 + int(which)
    return case.ins[chosen] if chosen < len(case.ins) and case.fits(chosen) else None


def _reduction(case: Case) -> Outcome:
    return case.ins[0] if case.params["axes"] == () and case.fits(0) else None


def _same(case: Case) -> Outcome:
    return case.ins[0]


def _integer_pow(case: Case) -> Outcome:
    return case.ins[0] if case.params["y"] == 1 else None


def _dot(case: Case) -> Outcome:
    """Read a transposed operand as it lies in memory."""
    contracting, batch = case.params["dimension_numbers"]
    for k in (0, 1):
        inner = case.maker(k, "transpose")
        if inner is None:
            continue
        permutation = inner.params["permutation"]
        bound = (*contracting[k], *batch[k])
        free = [permutation[a] for a in range(len(permutation)) if a not in bound]
        if free != sorted(free):
            continue  # the result's axes would come in another order
        new_contracting, new_batch = list(contracting), list(batch)
        new_contracting[k] = tuple([permutation[a] for a in contracting[k]])
        new_batch[k] = tuple([permutation[a] for a in batch[k]])
        ins = list(case.ins)
        ins[k] = inner.invars[0]
        numbers = (tuple(new_contracting), tuple(new_batch))
        return Rewrite(case.primitive, ins, {**case.params, "dimension_numbers": numbers})
    return None


RULES: dict[str, Callable[[Case], Outcome]] = {
    "mul": _mul,
    "div": _div,
    "add": _add,
    "add_any": _add,
    "sub": _sub,
    "neg": _neg,
    "convert_element_type": _convert,
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "select_n": _select,
    "integer_pow": _integer_pow,
    "copy": _same,
    "copy_p": _same,
    "stop_gradient": _same,
    "dot_general": _dot,
    **dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"), _reduction),
    **dict.fromkeys(("reduce_and", "reduce_or", "reduce_xor"), _reduction),
}
