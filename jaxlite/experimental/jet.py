"""``jet``: Taylor-mode differentiation, all derivatives along a path at once. In: a function.

Out: its value and derivatives. The maths is in ``transforms/jet.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.api.arguments import check_callable, flat_function, to_arrays
from jaxlite.language import dtypes
from jaxlite.language.pytree import tree_flatten, tree_structure, tree_unflatten
from jaxlite.transforms.jet import jet_flat

__all__ = ["jet"]


def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Any],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Return ``fun(*primals)`` and its derivatives along a path through ``primals``.

    Args:
      fun: function of arrays and pytrees.
      primals: where the path is, a tuple with one entry per argument.
      series: for each argument the derivatives of the path there, ``[x', x'', ...]``, all of the
        same length.
      factorial_scaled: whether the k-th term is the k-th derivative; if false it is the k-th Taylor
        coefficient, ``k!`` times smaller.

    Returns:
      The value, and in the place of each of its leaves the list of its derivatives.

    Raises:
      ValueError: terms of different number, or of another structure than the argument.

    >>> import jaxlite.numpy as jnp
    >>> from jaxlite.experimental.jet import jet
    >>> y, (dy, d2y) = jet(lambda x: x**3, (2.0,), ((1.0, 0.0),))
    >>> float(y), float(dy), float(d2y)
    (8.0, 12.0, 12.0)
    """
    check_callable(fun)
    lengths = {len(terms) for terms in series}
    if len(lengths) > 1:
        raise ValueError("jet terms have inconsistent lengths for different arguments")
    if len(series) != len(primals):
        raise ValueError(f"jet takes one series per argument: got {len(primals)} and {len(series)}")
    order = lengths.pop() if lengths else 0
    leaves, flat = flat_function(fun, tuple(primals), {}, "jet")
    arrays = [_floating(x) for x in to_arrays(leaves)]
    columns: list[list[Any]] = []
    for i, (primal, terms) in enumerate(zip(primals, series, strict=True)):
        tree = tree_structure(primal)
        parts = []
        for j, term in enumerate(terms):
            found, term_tree = tree_flatten(term)
            if term_tree != tree:
                raise ValueError(f"term {j} for argument {i} is not a pytree like the argument")
            parts.append(found)
        columns += [list(c) for c in zip(*parts, strict=True)] if parts else [[]] * tree.num_leaves
    scale = [1 if factorial_scaled else math.factorial(k + 1) for k in range(order)]
    given = [
        [_as(x, t) * s if s != 1 else _as(x, t) for t, s in zip(terms, scale)]
        for x, terms in zip(arrays, columns, strict=True)
    ]
    if order == 0:
        outs: list[Any] = flat(*arrays)
        out_series: list[list[Any]] = [[] for _ in outs]
    else:
        outs, out_series = jet_flat(flat, arrays, given)
    results = [[t if s == 1 else t / s for t, s in zip(terms, scale)] for terms in out_series]
    assert flat.out_tree is not None
    return tree_unflatten(flat.out_tree, to_arrays(outs)), tree_unflatten(flat.out_tree, results)


def _floating(x: Any) -> Any:
    """Return an integer as a float: the path goes through all real numbers."""
    return x if dtypes.issubdtype(x.dtype, np.inexact) else x.astype(dtypes.default_dtype(float))


def _as(primal: Any, term: Any) -> Any:
    """Return a term as an array of its argument's type."""
    array = to_arrays([term])[0]
    return array if array.dtype == primal.dtype else array.astype(primal.dtype)
