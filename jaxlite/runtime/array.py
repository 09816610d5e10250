"""Eager evaluation: run a primitive on concrete arrays now. In: a primitive, operands. Out: arrays.

Installed into ``language.trace`` at import (the first of the two inversions). Result types are
predicted by ``abstract_eval``, which also raises the user's errors before anything runs;
predictions are cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.errors import AllocationError
from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl, DeviceArray, check_allocation
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Primitive, as_tuple
from jaxlite.language.trace import Evaluator, install_evaluator, to_concrete
from jaxlite.settings import config

_predicted: dict[Any, tuple[ShapedArray, ...]] = {}
_MAX_PREDICTED = 65536


def predict(
    primitive: Primitive, avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> tuple[ShapedArray, ...]:
    """Return the avals of the results, from the cache where the parameters are hashable."""
    key: Any = (primitive, avals, *params.items()) if params else (primitive, avals)
    try:
        found = _predicted.get(key)
    except TypeError:  # an unhashable parameter (a jaxpr's list, an array): predict anew
        return as_tuple(primitive.abstract_eval(*avals, **params))
    if found is None:
        found = as_tuple(primitive.abstract_eval(*avals, **params))
        if len(_predicted) >= _MAX_PREDICTED:
            _predicted.clear()
        _predicted[key] = found
    return found


class _Elsewhere(Exception):
    """An operand is on an accelerator."""


def _on_host(x: Any) -> ArrayImpl:
    if type(x) is DeviceArray:
        raise _Elsewhere
    return to_concrete(x)


#: Evaluates operations on arrays of accelerators; ``higher_order`` installs it.
elsewhere: Evaluator = Evaluator()


def install_elsewhere(evaluator: Evaluator) -> None:
    """Make ``evaluator`` run eager operations on arrays of accelerators."""
    global elsewhere
    elsewhere = evaluator


class HostEvaluator(Evaluator):
    """Runs ``impl`` on NumPy."""

    def evaluate(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Return the results as arrays of exactly the predicted types."""
        try:
            arrays = [a if type(a) is ArrayImpl else _on_host(a) for a in args]
        except _Elsewhere:
            return elsewhere.evaluate(primitive, args, params)
        avals = predict(primitive, tuple([a.aval for a in arrays]), params)
        if config.frame.max_allocation_bytes is not None:
            check_allocation(primitive.name, avals)
        try:
            outs = as_tuple(primitive.impl(np, *[a._data for a in arrays], **params))
            results = tuple([wrap(o, a) for o, a in zip(outs, avals, strict=True)])
        except MemoryError as error:
            raise out_of_memory(primitive.name, avals, error) from None
        if config.debug_nans or config.debug_infs:
            check_finite(primitive.name, results)
        return results


def out_of_memory(name: str, avals: Sequence[ShapedArray], error: MemoryError) -> AllocationError:
    """Return the error for results that do not fit into memory."""
    if isinstance(error, AllocationError):
        return error
    types = ", ".join(a.str_short() for a in avals)
    return AllocationError(
        f"Out of memory: {name} makes {types}, {sum(a.nbytes for a in avals)} bytes."
        "\n  Fix: work on smaller pieces, or delete arrays that are no longer needed."
    )


def wrap(data: Any, aval: ShapedArray) -> ArrayImpl:
    """Wrap what an ``impl`` returned as an array of type ``aval``."""
    if type(data) is not np.ndarray:
        data = np.asarray(data, dtype=dtypes.storage_dtype(aval.dtype))
    if not data.flags.c_contiguous or not data.flags.aligned:
        data = np.array(data, order="C", copy=True).reshape(data.shape)
    assert data.shape == aval.shape, (data.shape, aval)
    return ArrayImpl(data, aval)


def check_finite(name: str, arrays: Sequence[ArrayImpl]) -> None:
    """Raise FloatingPointError for a NaN (``debug_nans``) or an infinity (``debug_infs``)."""
    for array in arrays:
        if not dtypes.issubdtype(array.dtype, np.inexact):
            continue
        if config.debug_nans and bool(np.isnan(array._data).any()):
            raise FloatingPointError(f"invalid value (nan) encountered in {name}")
        if config.debug_infs and bool(np.isinf(array._data).any()):
            raise FloatingPointError(f"invalid value (inf) encountered in {name}")


def clear_predictions() -> None:
    """Forget the cached result types."""
    _predicted.clear()


install_evaluator(HostEvaluator())
