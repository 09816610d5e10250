"""Einstein summation. In: subscripts and arrays. Out: sums of products.

``opt_einsum`` chooses the order of pairs; each pair is one ``dot_general`` with axes summed before
it where only one operand has them, and a transpose after it where the order of axes asks for one.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.lax import elementwise, shapes
from jaxlite.lax.linear_algebra import dot_general
from jaxlite.lax.operands import constant, shape_of
from jaxlite.numpy.choosing import choose_between
from jaxlite.numpy.promotion import check_arraylike, promote_all, retype
from jaxlite.primitives.reduction import reduce_sum

_INT32 = np.dtype(np.int32)


def _opt_einsum() -> Any:
    # A tenth of the time that importing jaxlite takes, for those who need it.
    return importlib.import_module("opt_einsum")


class _Shape:
    """What ``opt_einsum`` needs to know of an operand."""

    def __init__(self, array: Any) -> None:
        self.shape = shape_of(array)
        self.ndim = len(self.shape)


def _split_arguments(operands: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """Return (subscripts or None, arrays); the other form is ``a, [0, 1], b, [1, 2], [0, 2]``."""
    if isinstance(operands[0], str):
        return operands[0], list(operands[1:])
    return None, list(operands[: len(operands) // 2 * 2 : 2])


def _contractions(
    operands: tuple[Any, ...], optimize: Any
) -> tuple[list[Any], list[tuple[tuple[int, ...], str]]]:
    """Return (arrays, [(positions, subscripts) of each contraction])."""
    subscripts, arrays = _split_arguments(operands)
    stand_ins = [_Shape(a) for a in arrays]
    if subscripts is None:
        # Interleaved: arrays and index lists alternate; a last list names the result's axes.
        rest = [
            _Shape(o) if k % 2 == 0 and k // 2 < len(arrays) else o for k, o in enumerate(operands)
        ]
        call: list[Any] = rest
    else:
        call = [subscripts, *stand_ins]
    options: dict[str, Any] = {"einsum_call": True, "use_blas": True}
    if optimize is False:
        options["optimize"] = [tuple(range(len(arrays)))]
    else:
        options["optimize"] = "optimal" if optimize is True else optimize
    _, steps = _opt_einsum().contract_path(*call, **options)
    return arrays, [(tuple(step[0]), step[2]) for step in steps]


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
    _dot_general: Any = dot_general,
) -> Value:
    """Return the sum of products that ``subscripts`` describe, such as "ij,jk->ik".

    Args:
        subscripts: a letter per axis of each operand, and after the arrow of the result.
        operands: arrays.
        out: only None.
        optimize: "auto", "optimal", "greedy", a path, or False.
        precision: accepted; the CPU is exact.
        preferred_element_type: dtype of the sums.
        out_sharding: only None (one device).

    Raises:
        ValueError: a letter that stands for different lengths, or malformed subscripts.

    Example:
        >>> einsum("ij,j->i", np.ones((2, 3)), np.arange(3))
        Array([3., 3.], dtype=float32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.einsum is not supported.")
    arrays, steps = _contractions((subscripts, *operands), optimize)
    check_arraylike("einsum", *arrays)
    values = promote_all("einsum", *arrays)
    weak = values[0].aval.weak_type
    wanted = (
        None
        if preferred_element_type is None
        else dtypes.requested_dtype(preferred_element_type, "einsum")
    )
    for positions, names in steps:
        inputs, result = names.split("->")
        terms = inputs.split(",")
        chosen = [values[p] for p in positions]
        values = [v for k, v in enumerate(values) if k not in positions]
        values.append(_contract(chosen, terms, result, precision, wanted, _dot_general))
    (value,) = values
    return retype(value, value.dtype if wanted is None else wanted, weak)


def _contract(
    operands: list[Value],
    terms: list[str],
    result: str,
    precision: Any,
    wanted: Any,
    product: Any,
) -> Value:
    """Contract one group of operands to the axes ``result``."""
    while len(operands) > 2:
        # No path was asked for: pair from the left, keeping what is still needed.
        needed = set(result).union(*terms[2:])
        middle = "".join(dict.fromkeys(c for c in terms[0] + terms[1] if c in needed))
        joined = _contract(operands[:2], terms[:2], middle, precision, wanted, product)
        operands, terms = [joined, *operands[2:]], [middle, *terms[2:]]
    cleaned = []
    for k, (x, term) in enumerate(zip(operands, terms, strict=True)):
        others = set(result).union(*(t for j, t in enumerate(terms) if j != k))
        cleaned.append(_simplified(x, term, others))
    if len(cleaned) == 1:
        x, names = cleaned[0]
        return shapes.transpose(x, [names.index(c) for c in result])
    (x, xs), (y, ys) = cleaned
    return _pair(x, xs, y, ys, result, precision, wanted, product)


def _simplified(x: Value, names: str, needed: set[str]) -> tuple[Value, str]:
    """Sum what nobody else needs and take diagonals of repeated letters."""
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            x = _diagonal_kept(x, first, second)
            names = names[:first] + names[first + 1 :]
    gone = tuple(k for k, name in enumerate(names) if name not in needed)
    if gone:
        x = reduce_sum(x, gone)
    return x, "".join(n for n in names if n in needed)


def _diagonal_kept(x: Value, first: int, second: int) -> Value:
    """Return ``x`` with two axes tied: zero off the diagonal, then sum the first."""
    rows = shapes.broadcasted_iota(_INT32, x.shape, first)
    on = elementwise.eq(rows, shapes.broadcasted_iota(_INT32, x.shape, second))
    return reduce_sum(choose_between(on, x, constant(0, x.dtype)), (first,))


def _pair(
    x: Value, xs: str, y: Value, ys: str, result: str, precision: Any, wanted: Any, product: Any
) -> Value:
    shared = [c for c in xs if c in ys]
    batch = [c for c in shared if c in result]
    contracted = [c for c in shared if c not in result]
    # The operand whose own axes come first in the result goes first: often no transpose is needed.
    own_x = [c for c in xs if c not in shared]
    own_y = [c for c in ys if c not in shared]
    free = [c for c in result if c not in batch]
    if free and own_y and free[0] in own_y and (not own_x or free == [*own_y, *own_x]):
        x, xs, y, ys, own_x, own_y = y, ys, x, xs, own_y, own_x
    numbers = (
        (tuple(xs.index(c) for c in contracted), tuple(ys.index(c) for c in contracted)),
        (tuple(xs.index(c) for c in batch), tuple(ys.index(c) for c in batch)),
    )
    out = product(x, y, numbers, precision, x.dtype if wanted is None else wanted)
    names = [*batch, *own_x, *own_y]
    return shapes.transpose(out, [names.index(c) for c in result])


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[Any, Any]:
    """Return the order of contractions that ``einsum`` would use, and a description of it."""
    if isinstance(optimize, bool):
        optimize = "optimal" if optimize else [tuple(range(len(operands)))]
    stand_ins: Sequence[Any] = [
        _Shape(o) if isinstance(o, Array | np.ndarray) else o for o in operands
    ]
    path, info = _opt_einsum().contract_path(subscripts, *stand_ins, optimize=optimize)
    return path, info


__all__ = ["einsum", "einsum_path"]
