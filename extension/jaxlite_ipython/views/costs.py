"""What an equation is and how much arithmetic it is. In: an equation. Out: family, label, FLOP.

Amounts are modelled: one for each element of an elementwise operation, two for each product of a
matrix multiplication. Only names and shapes are read, so user-defined primitives work too.
"""

from __future__ import annotations

import math
from typing import Any

from jaxlite_ipython.views.words import printable

__all__ = ["family_of", "flops_of", "label_of", "params_text"]

#: Elementwise operations that are no arithmetic.
_VALUE_CASTS = frozenset(
    ("convert_element_type", "bitcast_convert_type", "reduce_precision", "real", "imag")
)
_INDEXING = frozenset(
    (
        *("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "rev", "slice"),
        *("dynamic_slice", "dynamic_update_slice", "concatenate", "pad", "iota", "gather"),
        *("copy", "copy_p", "split", "sort", "top_k"),
    )
)
_SHOWN_PARAMS = (
    *("axes", "axis", "start_indices", "limit_indices", "permutation", "dimensions"),
    *("new_dtype", "reverse"),
)
_MATMUL = frozenset({"dot_general", "conv_general_dilated", "ragged_dot", "ragged_dot_general"})
_RANDOM = ("random_", "threefry", "rng_")
_LABELS = {
    "dot_general": "dot",
    "conv_general_dilated": "conv",
    "select_n": "where",
    "convert_element_type": "cast",
    "bitcast_convert_type": "bitcast",
    "logistic": "sigmoid",
    "broadcast_in_dim": "broadcast",
    "custom_jvp_call": "custom_jvp",
    "custom_vjp_call": "custom_vjp",
    "dynamic_update_slice": "update slice",
    "dynamic_slice": "dynamic slice",
}
_REDUCE = {"reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min"}


def role_of(eqn: Any) -> str:
    """Return 'call', 'while', 'scan', 'cond', or '' for an equation without a program inside."""
    return getattr(eqn.primitive, "role", "") or ""


def family_of(eqn: Any) -> str:
    """Return the name of the equation's family (see ``palette``)."""
    name = eqn.primitive.name
    if role_of(eqn):
        return "loop or call"
    if name in _MATMUL:
        return "matmul"
    if name.startswith(("reduce_", "arg", "cum")) and name != "reduce_precision":
        return "reduction"
    if name in _INDEXING or name.startswith("scatter"):
        return "indexing"
    if name.startswith(_RANDOM) or len(eqn.outvars) != 1 or eqn.effects:
        return "other"
    shape = eqn.outvars[0].aval.shape
    same = all(a.aval.shape in (shape, ()) for a in eqn.invars)
    return "elementwise" if same and eqn.invars else "other"


def label_of(eqn: Any) -> str:
    """Return the short name of what the equation does, as a NumPy user would say it."""
    name: str = eqn.primitive.name
    role = role_of(eqn)
    if role == "call":
        return printable(str(eqn.params.get("name") or _LABELS.get(name, name)))
    if role == "scan":
        return f"scan \N{MULTIPLICATION SIGN}{eqn.params['length']}"
    if name == "integer_pow":
        power = eqn.params["y"]
        return {2: "square", -1: "reciprocal"}.get(power, f"power {power}")
    if name in _REDUCE:
        return _REDUCE[name]
    if name == "convert_element_type":
        return "cast"
    return _LABELS.get(name, name.removeprefix("reduce_").replace("_", " "))


def reduced_count(eqn: Any) -> int:
    """Return how many elements each result of a reduction combines."""
    shape = eqn.invars[0].aval.shape
    return math.prod(shape[a] for a in eqn.params["axes"])


def bodies_of(eqn: Any) -> list[Any]:
    """Return the programs inside an equation (open jaxprs)."""
    bodies = []
    for value in eqn.params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            item = getattr(item, "jaxpr", item)
            if hasattr(item, "eqns") and hasattr(item, "invars"):
                bodies.append(item)
    return bodies


def call_body(eqn: Any) -> Any:
    """Return the closed program that a call runs."""
    return eqn.params[eqn.primitive.call_param]


def count_ops(eqn: Any) -> int:
    """Return how many operations an equation is: a call as its body, a loop as 1 and its body."""
    inner = bodies_of(eqn)
    if not inner:
        return 1
    return (role_of(eqn) != "call") + sum(count_ops(e) for body in inner for e in body.eqns)


def flops_of(eqn: Any) -> float:
    """Return the modelled amount of arithmetic of one run of the equation.

    A ``while`` counts one step (nobody knows how many there will be), a ``cond`` its dearest
    branch.
    """
    role = role_of(eqn)
    if role:
        inner = [sum(flops_of(e) for e in body.eqns) for body in bodies_of(eqn)]
        if role == "scan":
            return float(eqn.params["length"]) * sum(inner)
        return max(inner, default=0.0) if role == "cond" else sum(inner)
    if not eqn.outvars:
        return 0.0
    name = eqn.primitive.name
    size = float(math.prod(eqn.outvars[0].aval.shape))
    if name == "dot_general":
        (left, _), _ = eqn.params["dimension_numbers"]
        shape = eqn.invars[0].aval.shape
        return 2.0 * size * float(math.prod(shape[a] for a in left))
    family = family_of(eqn)
    if family == "reduction":
        return float(math.prod(eqn.invars[0].aval.shape))
    is_free = name in _VALUE_CASTS or name in ("stop_gradient", "optimization_barrier")
    return size if family == "elementwise" and not is_free else 0.0


def params_text(eqn: Any) -> str:
    """Return the parameters that a reader of the text wants: axes, slices, sizes."""
    shown = []
    for key in _SHOWN_PARAMS:
        value = eqn.params.get(key)
        if value is not None and value is not False:
            shown.append(f"{key}={value}".replace(" ", ""))
    return " ".join(shown)
