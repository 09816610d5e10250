"""Equations as one formula. In: equations and names of values. Out: text: ``y * (h + 1)``.

Broadcasts are left out, so a formula reads as the mathematics of one element (or one matrix).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from jaxlite.language.jaxpr import Atom, JaxprEqn, Literal, Var

__all__ = ["bound_formula", "formula"]

DOT = "\N{DOT OPERATOR}"
MINUS = "\N{MINUS SIGN}"
TRANSPOSED = "\N{MODIFIER LETTER CAPITAL T}"
_SQUARED = {2: "\N{SUPERSCRIPT TWO}", 3: "\N{SUPERSCRIPT THREE}"}
#: Primitives that change no number.
_SILENT = frozenset(
    {"broadcast_in_dim", "convert_element_type", "reshape", "squeeze", "copy", "copy_p"}
)
_REDUCED = {"reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod"}
_COMPARED = {"gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!="}
_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4
#: A formula that would be longer is written with dots.
MAX_TERMS = 12


#: Gives the name of a value, or a formula and how strongly it binds, or None.
Namer = Callable[[Var], "str | tuple[str, int] | None"]


def formula(atom: Atom, eqns: Iterable[JaxprEqn], name: Namer, limit: int = MAX_TERMS) -> str:
    """Return how ``atom`` is computed by ``eqns`` from the values that ``name`` knows.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> closed = jax.make_jaxpr(lambda x: (1.0 - x) * jnp.sin(x) ** 2)(1.0)
    >>> (x,), (out,) = closed.jaxpr.invars, closed.jaxpr.outvars
    >>> print(formula(out, closed.eqns, lambda v: "x" if v is x else None))
    (1 − x) ⋅ sin(x)²
    """
    return bound_formula(atom, eqns, name, limit)[0]


def bound_formula(
    atom: Atom, eqns: Iterable[JaxprEqn], name: Namer, limit: int = MAX_TERMS
) -> tuple[str, int]:
    """Return a formula and how strongly it binds, for use as a name in another one."""
    return _Writer({v: e for e in eqns for v in e.outvars}, name, limit).write(atom)


class _Writer:
    def __init__(self, made: dict[Var, JaxprEqn], name: Namer, limit: int) -> None:
        self.made, self.name, self.left = made, name, limit

    def write(self, atom: Atom) -> tuple[str, int]:
        """Return the text of a value and how strongly it binds."""
        if isinstance(atom, Literal):
            text = _number(atom.val)
            return text, _PRODUCT if text.startswith(MINUS) else _ATOM
        known = self.name(atom)
        if known is not None:
            return known if isinstance(known, tuple) else (known, _ATOM)
        eqn = self.made.get(atom)
        if eqn is None or self.left <= 0:
            return "\N{HORIZONTAL ELLIPSIS}", _ATOM
        if eqn.primitive.name not in _SILENT:
            self.left -= 1
        return self.equation(eqn)

    def part(self, atom: Atom, strength: int) -> str:
        """Return the text of an operand, in brackets if it binds less than ``strength``."""
        text, own = self.write(atom)
        return text if own >= strength else f"({text})"

    def equation(self, eqn: JaxprEqn) -> tuple[str, int]:
        name, ins, params = eqn.primitive.name, eqn.invars, eqn.params
        if name in _SILENT:
            return self.write(ins[0])
        if name in ("add", "add_any"):
            return f"{self.part(ins[0], _SUM)} + {self.part(ins[1], _SUM)}", _SUM
        if name == "sub":
            return f"{self.part(ins[0], _SUM)} {MINUS} {self.part(ins[1], _PRODUCT)}", _SUM
        if name == "mul":
            return f"{self.part(ins[0], _PRODUCT)} {DOT} {self.part(ins[1], _PRODUCT)}", _PRODUCT
        if name == "div":
            return f"{self.part(ins[0], _PRODUCT)} / {self.part(ins[1], _POWER)}", _PRODUCT
        if name == "neg":
            return f"{MINUS}{self.part(ins[0], _PRODUCT)}", _PRODUCT
        if name == "integer_pow":
            return self.power(ins[0], int(params["y"]))
        if name in _COMPARED:
            return f"{self.part(ins[0], _SUM)} {_COMPARED[name]} {self.part(ins[1], _SUM)}", 0
        return self.call(eqn, name, ins, params)

    def power(self, base: Atom, exponent: int) -> tuple[str, int]:
        """Return a power; a first power is the base."""
        if exponent == 1:
            return self.write(base)
        if exponent == -1:
            return f"1 / {self.part(base, _POWER)}", _PRODUCT
        mark = _SQUARED.get(exponent, f"^{exponent}")
        return f"{self.part(base, _ATOM)}{mark}", _POWER

    def call(
        self, eqn: JaxprEqn, name: str, ins: Sequence[Atom], params: dict[str, Any]
    ) -> tuple[str, int]:
        """Return an operation that is written as a call."""
        if name == "dot_general":
            return self.product(ins, params["dimension_numbers"])
        if name == "transpose":
            if tuple(params["permutation"]) == (1, 0):
                inner = self.made.get(ins[0]) if isinstance(ins[0], Var) else None
                if inner is not None and inner.primitive.name == "dot_general":
                    swapped = self.swapped_product(inner)
                    if swapped is not None:
                        return swapped
                return f"{self.part(ins[0], _ATOM)}{TRANSPOSED}", _ATOM
            return f"transpose({self.write(ins[0])[0]})", _ATOM
        if name in _REDUCED:
            axes = ",".join(map(str, params["axes"]))
            text = self.write(ins[0])[0]
            if len(params["axes"]) == len(ins[0].aval.shape):
                return f"{_REDUCED[name]}({text})", _ATOM
            return f"{_REDUCED[name]}({text}, axis {axes})", _ATOM
        if name == "select_n" and len(ins) == 3:
            which, no, yes = (self.write(a)[0] for a in ins)
            return f"where({which}, {yes}, {no})", _ATOM
        shown = params.get("name") if name in ("custom_jvp_call", "custom_vjp_call") else None
        short = {"logistic": "sigmoid", "remat2": "checkpoint"}.get(name, name)
        return f"{shown or short}({', '.join(self.write(a)[0] for a in ins)})", _ATOM

    def product(self, ins: Sequence[Atom], numbers: Any) -> tuple[str, int]:
        """Return a matrix product with the transposes that NumPy would need."""
        (left, right), (batch, _) = numbers
        ranks = [len(a.aval.shape) for a in ins]
        if batch or len(left) != 1 or max(ranks) > 2 or min(ranks) == 0:
            if not batch and not left:
                return f"outer({self.write(ins[0])[0]}, {self.write(ins[1])[0]})", _ATOM
            return f"dot({self.write(ins[0])[0]}, {self.write(ins[1])[0]})", _ATOM
        a, b = self.part(ins[0], _ATOM), self.part(ins[1], _ATOM)
        if ranks[0] == 2 and left[0] == 0:
            a += TRANSPOSED
        if ranks[1] == 2 and right[0] == 1:
            b += TRANSPOSED
        return f"{a} @ {b}", _PRODUCT

    def swapped_product(self, eqn: JaxprEqn) -> tuple[str, int] | None:
        """Return (a @ b) transposed as b transposed @ a transposed."""
        ((left, right), (batch, _)) = eqn.params["dimension_numbers"]
        if batch or len(left) != 1 or any(len(a.aval.shape) != 2 for a in eqn.invars):
            return None
        return self.product([eqn.invars[1], eqn.invars[0]], ((right, left), ((), ())))


def _number(value: Any) -> str:
    item = np.asarray(value).item() if np.asarray(value).dtype.kind in "biufc" else float(value)
    if isinstance(item, bool | complex):
        return str(item)
    text = f"{item:.4g}" if isinstance(item, float) else str(item)
    return MINUS + text[1:] if text.startswith("-") else text
