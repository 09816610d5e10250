"""What functions of matrices share. In: ``T[*b, m, n]``, float or complex. Out: their rules.

``MatrixPrimitive`` checks the operands, runs one LAPACK call per matrix and batches by moving the
batch dim to the front. The rest are products, triangles and diagonals of matrices that derivative
rules are made of; each is linear in its first operand and transposes.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, as_tuple
from jaxlite.language.trace import get_aval
from jaxlite.primitives.comparison import eq, ge, gt
from jaxlite.primitives.complex import conj
from jaxlite.primitives.convert import convert_element_type
from jaxlite.primitives.dot import dot_general
from jaxlite.primitives.families import (
    INEXACT,
    NOT_LINEAR,
    accepts_text,
    batch_size,
    bdim_at_front,
    full_like,
    is_accepted,
    ops,
    quiet,
)
from jaxlite.primitives.select import select_n
from jaxlite.primitives.shape import broadcast_in_dim, broadcasted_iota, transpose

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
#: Names of the same routine for unitary instead of orthogonal matrices.
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


class MatrixPrimitive(Primitive):
    """A function of matrices (or vectors) on the last axes, mapped over the leading ones.

    ``ranks`` says how many axes of each operand belong to one matrix; ``results`` gives the result
    avals, ``one`` computes them for one matrix (None: no result, which becomes NaN).
    """

    barrier_reason = "extern"
    transpose = NOT_LINEAR
    ranks: tuple[int, ...] = (2,)
    #: Half precision is computed in float32 instead of being an error.
    takes_half = False
    accepts: tuple[str, ...] = INEXACT

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        self.check_operands(avals)
        return self.results(*avals, **params)

    def check_operands(self, avals: tuple[ShapedArray, ...]) -> None:
        """Raise TypeError or ValueError unless dtypes, ranks and batch axes are right."""
        for k, aval in enumerate(avals):
            if not is_accepted(self.accepts, aval.dtype):
                raise TypeError(accepts_text(self.name, self.accepts, aval.dtype, k))
        if len({a.dtype for a in avals}) > 1:
            names = ", ".join(dtypes.name_of(a.dtype) for a in avals)
            raise TypeError(
                f"lax.{self.name} requires arguments to have the same dtypes, got {names}."
            )
        for k, (aval, rank) in enumerate(zip(avals, self.ranks, strict=True)):
            if aval.ndim < rank:
                raise TypeError(
                    f"Input {k} to {self.name} must have rank at least {rank}, "
                    f"but got shape={aval.shape}"
                )
        batches = [a.shape[: a.ndim - r] for a, r in zip(avals, self.ranks, strict=True)]
        if len({len(b) for b in batches}) > 1:
            raise TypeError(
                f"All inputs to {self.name} must have the same number of batch dimensions, "
                f"but got {[len(b) for b in batches]} batch dimensions for the inputs."
            )
        for axis, sizes in enumerate(zip(*batches, strict=True)):
            if len(set(sizes)) > 1:
                one, other = list(dict.fromkeys(sizes))[:2]
                raise ValueError(
                    f"Batching dimension 0_{axis} corresponds to two sizes: {one} and {other}"
                )
        if avals[0].dtype.name not in _LETTERS and not self.takes_half:
            raise NotImplementedError(
                f"Unsupported dtype {dtypes.name_of(avals[0].dtype)}.\n"
                "  Fix: LAPACK has float32, float64, complex64 and complex128; x.astype('float32')."
            )

    def results(self, *avals: Any, **params: Any) -> Any:
        """Return the aval(s) of the result(s); the operands may be arrays too."""
        raise NotImplementedError(self.name)

    def one(self, *matrices: Any, **params: Any) -> Any:
        """Return the result(s) for one matrix, None where the algorithm fails."""
        raise NotImplementedError(self.name)

    @quiet
    def impl(self, xp: ArrayModule, *arrays: Any, **params: Any) -> Any:
        avals = as_tuple(self.results(*arrays, **params))
        outs = self.all_at_once(arrays, avals, **params)
        if outs is None:
            outs = map_matrices(functools.partial(self.one, **params), arrays, self.ranks, avals)
        return outs[0] if len(outs) == 1 else outs

    def all_at_once(self, arrays: Any, avals: Any, **params: Any) -> tuple[Any, ...] | None:
        """Return the results of a stack by one NumPy call, None if there is none or it fails."""
        return None

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        size = batch_size(args, dims)
        moved = [bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        outs = self.bind_all(*moved, **params)
        return (outs[0], 0) if len(outs) == 1 else (outs, (0,) * len(outs))


def check_square(aval: Any, message: str) -> None:
    """Raise ValueError unless the last two axes are equally long."""
    if aval.shape[-1] != aval.shape[-2]:
        raise ValueError(message.format(shape=aval.shape))


def map_matrices(
    function: Callable[..., Any], arrays: Any, ranks: tuple[int, ...], avals: Any
) -> tuple[Any, ...]:
    """Apply ``function`` to each matrix of stacks; a result of None fills NaN."""
    outs = tuple(np.empty(a.shape, a.dtype) for a in avals)
    for i in np.ndindex(arrays[0].shape[: arrays[0].ndim - ranks[0]]):
        found = as_tuple(function(*(a[i] for a in arrays)))
        for out, part in zip(outs, found if len(found) == len(outs) else (None,) * len(outs)):
            out[i] = np.nan if part is None else part
    return outs


@functools.cache
def lapack(routine: str, dtype: Any) -> Callable[..., Any]:
    """Return SciPy's LAPACK (or BLAS) function: ``lapack("getrf", float32)`` is ``sgetrf``."""
    letter = _LETTERS[np.dtype(dtype).name]
    if letter in "cz":
        routine = _COMPLEX_NAMES.get(routine, routine)
    module = "blas" if routine == "trsm" else "lapack"
    function: Callable[..., Any] = getattr(
        importlib.import_module(f"scipy.linalg.{module}"), letter + routine
    )
    return function


# --- products, triangles and diagonals ---


def dot(x: Value, y: Value) -> Value:
    """Return ``x @ y`` over equal leading axes."""
    ndim = get_aval(x).ndim
    batch = tuple(range(ndim - 2))
    numbers = (((ndim - 1,), (ndim - 2,)), (batch, batch))
    return dot_general(x, y, numbers, preferred_element_type=get_aval(x).dtype)


def swapped(x: Value) -> Value:
    """Return the transpose of each matrix."""
    ndim = get_aval(x).ndim
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def conjugate(x: Value) -> Value:
    """Return the complex conjugate, real arrays as they are."""
    return conj(x) if is_complex(x) else x


def adjoint(x: Value) -> Value:
    """Return the conjugate transpose of each matrix."""
    return conjugate(swapped(x))


def is_complex(x: Value) -> bool:
    """Say whether ``x`` has a complex dtype."""
    return dtypes.kind_of(get_aval(x).dtype) == "c"


def like_rows(v: Value, like: Value) -> Value:
    """Return ``T[*b, n]`` repeated as the rows of ``like``, in its dtype: ``T[*b, m, n]``."""
    aval = get_aval(like)
    kept = (*range(aval.ndim - 2), aval.ndim - 1)
    return broadcast_in_dim(convert_element_type(v, aval.dtype), aval.shape, kept)


def like_columns(v: Value, like: Value) -> Value:
    """Return ``T[*b, m]`` repeated as the columns of ``like``, in its dtype: ``T[*b, m, n]``."""
    aval = get_aval(like)
    kept = tuple(range(aval.ndim - 1))
    return broadcast_in_dim(convert_element_type(v, aval.dtype), aval.shape, kept)


def rows_and_columns(like: Value) -> tuple[Value, Value]:
    """Return the row and the column number of each element."""
    aval = get_aval(like)
    rows = broadcasted_iota(np.int32, aval.shape, aval.ndim - 2)
    return rows, broadcasted_iota(np.int32, aval.shape, aval.ndim - 1)


def on_diagonal(like: Value) -> Value:
    """Return where the diagonal of each matrix is."""
    return eq(*rows_and_columns(like))


def keep(where: Value, x: Value) -> Value:
    """Return ``x`` with zeros where ``where`` is False."""
    return select_n(where, full_like(x, 0), x)


def lower_triangle(x: Value, strict: bool = False) -> Value:
    """Return ``x`` with zeros above the diagonal; ``strict``: on it, too."""
    return keep((gt if strict else ge)(*rows_and_columns(x)), x)


def upper_triangle(x: Value, strict: bool = False) -> Value:
    """Return ``x`` with zeros below the diagonal; ``strict``: on it, too."""
    rows, columns = rows_and_columns(x)
    return keep((gt if strict else ge)(columns, rows), x)


def identity_like(x: Value) -> Value:
    """Return identity matrices of ``x``'s shape and dtype."""
    return select_n(on_diagonal(x), full_like(x, 0), full_like(x, 1))


def diagonal(x: Value) -> Value:
    """Return the diagonal of square matrices: ``T[*b, n, n] -> T[*b, n]``."""
    return ops.reduce_sum(keep(on_diagonal(x), x), (get_aval(x).ndim - 1,))


def block(x: Value, rows: slice, columns: slice) -> Value:
    """Return a block of each matrix."""
    shape = get_aval(x).shape
    r, c = rows.indices(shape[-2])[:2], columns.indices(shape[-1])[:2]
    starts = (0,) * (len(shape) - 2)
    return ops.slice(x, (*starts, r[0], c[0]), (*shape[:-2], r[1], c[1]))


__all__ = [
    "MatrixPrimitive", "adjoint", "block", "check_square", "conjugate", "diagonal", "dot",
    "identity_like", "is_complex", "keep", "lapack", "like_columns", "like_rows", "lower_triangle",
    "map_matrices", "on_diagonal", "rows_and_columns", "swapped", "upper_triangle",
]  # fmt: skip
