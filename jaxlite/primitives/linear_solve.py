"""Triangles and linear equations by LAPACK. In: ``T[*b, n, n]`` and right-hand sides. Out: ``x``.

``lu`` factors, ``triangular_solve`` substitutes, ``linear_solve`` does both substitutions for a
factored matrix (its derivative goes through the matrix itself, never through the factors).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import (
    ArrayModule,
    Dims,
    Primitive,
    TangentMaps,
    not_differentiable,
)
from jaxlite.language.trace import get_aval
from jaxlite.primitives.arithmetic import add, mul, neg
from jaxlite.primitives.families import (
    NOT_LINEAR,
    accepts_text,
    is_linear_operand,
    move_batch_dim,
    ops,
    quiet,
)
from jaxlite.primitives.gather import GatherDimensionNumbers, gather
from jaxlite.primitives.matrices import (
    MatrixPrimitive,
    block,
    check_square,
    conjugate,
    dot,
    identity_like,
    lapack,
    like_columns,
    lower_triangle,
    map_matrices,
    swapped,
    upper_triangle,
)
from jaxlite.primitives.shape import reshape

_I32 = np.dtype(np.int32)


def _with_columns(primitive: Primitive, args: Any, dims: Dims, params: Any) -> Any:
    """Batch a solver of which only the right-hand sides are batched: they become more columns."""
    *fixed, b = args
    front = move_batch_dim(b, dims[-1] or 0, 0)
    size, m, n = get_aval(front).shape
    if params.get("left_side", True):
        joined = reshape(move_batch_dim(front, 0, 1), (m, size * n))
        out = reshape(primitive.bind(*fixed, joined, **params), (m, size, n))
        return out, 1
    out = primitive.bind(*fixed, reshape(front, (size * m, n)), **params)
    return reshape(out, (size, m, n)), 0


def _is_only_last_batched(args: Any, dims: Dims) -> bool:
    return all(d is None for d in dims[:-1]) and get_aval(args[-1]).ndim == 3


class TriangularSolve(MatrixPrimitive):
    """X with ``op(A) @ X = B`` (left side) or ``X @ op(A) = B``; one triangle of A is read."""

    name = "triangular_solve"
    ranks = (2, 2)
    takes_half = True

    def results(self, a: Any, b: Any, *, left_side: bool, **params: Any) -> ShapedArray:
        check_square(
            a, "The first input to triangular_solve must be a square matrix. Got shape {shape}."
        )
        if a.shape[-1] != b.shape[-2 if left_side else -1]:
            raise ValueError(
                f"Incompatible shapes for arguments to triangular_solve: {a.shape} and {b.shape}."
            )
        return ShapedArray(b.shape, b.dtype)

    @quiet
    def impl(self, xp: ArrayModule, a: Any, b: Any, **params: Any) -> Any:
        wide = np.float32 if a.dtype.itemsize == 2 else a.dtype

        def solve(a: Any, b: Any) -> Any:
            return _substitute(a, b, **params)

        avals = (ShapedArray(b.shape, wide),)
        operands = (a.astype(wide, copy=False), b.astype(wide, copy=False))
        return map_matrices(solve, operands, (2, 2), avals)[0].astype(b.dtype, copy=False)

    def jvp(self, out: Value, a: Value, b: Value, **params: Any) -> TangentMaps:
        # op(A) X = B:  dX = op(A)^-1 (dB - op(dA) X), and dA counts in the triangle only.
        def matrix_tangent(t: Value) -> Value:
            strict = params["unit_diagonal"]
            t = lower_triangle(t, strict) if params["lower"] else upper_triangle(t, strict)
            t = swapped(t) if params["transpose_a"] else t
            t = neg(conjugate(t) if params["conjugate_a"] else t)
            product = dot(t, out) if params["left_side"] else dot(out, t)
            return self.bind(a, product, **params)

        return matrix_tangent, lambda t: self.bind(a, t, **params)

    def transpose(self, ct: Value, a: Value, b: Value, **params: Any) -> Any:
        assert is_linear_operand(b)
        return None, self.bind(a, ct, **{**params, "transpose_a": not params["transpose_a"]})

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        if _is_only_last_batched(args, dims):
            return _with_columns(self, args, dims, params)
        return super().batch(args, dims, **params)


def _substitute(
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    """Solve with one triangular matrix."""
    if b.size == 0:
        return b
    if conjugate_a and not transpose_a:
        a = a.conj()
    return lapack("trsm", a.dtype)(
        1,
        a,
        b,
        side=int(not left_side),
        lower=int(lower),
        trans_a=(2 if conjugate_a else 1) if transpose_a else 0,
        diag=int(unit_diagonal),
    )


class LU(MatrixPrimitive):
    """L and U in one matrix, the row swaps, and the permutation: ``x[permutation] = L @ U``."""

    name = "lu"

    def results(self, x: Any, **params: Any) -> tuple[ShapedArray, ...]:
        *batch, m, n = x.shape
        return (
            ShapedArray(x.shape, x.dtype),
            ShapedArray((*batch, min(m, n)), _I32),
            ShapedArray((*batch, m), _I32),
        )

    def one(self, x: Any) -> Any:
        if x.size == 0:
            pivots = np.zeros(min(x.shape), _I32)
            return x, pivots, np.arange(x.shape[0], dtype=_I32)
        factors, pivots, _ = lapack("getrf", x.dtype)(x)
        return factors, pivots, _permutations(pivots, x.shape[0])

    def jvp(self, out: Any, x: Value) -> TangentMaps:
        # With M = L^-1 P dA U^-1:  dL = L tril(M, -1),  dU = triu(M) U. A tall L is completed by
        # unit columns, a wide U by unit rows, so that both are invertible.
        factors, _, permutation = out
        m, n = get_aval(x).shape[-2:]
        k = min(m, n)
        lower = lower_triangle(block(factors, slice(m), slice(k)), True)
        lower = _padded(lower, m, m)
        lower = add(lower, identity_like(lower))
        square = _padded(upper_triangle(block(factors, slice(k), slice(n))), n, n)
        upper = add(square, _after(identity_like(square), k)) if n > k else square

        def tangent(t: Value) -> tuple[Value, None, None]:
            left = triangular_solve(
                lower, take_rows(t, permutation), left_side=True, lower=True, unit_diagonal=True
            )
            inner = triangular_solve(upper, left)
            d_lower = dot(lower, lower_triangle(inner, True))
            d_upper = dot(upper_triangle(inner), upper)
            return add(d_lower, d_upper), None, None

        return (tangent,)


def _padded(x: Value, rows: int, columns: int) -> Value:
    """Return matrices with zeros below and to the right, up to a size."""
    aval = get_aval(x)
    m, n = aval.shape[-2:]
    config = (*[(0, 0, 0)] * (aval.ndim - 2), (0, rows - m, 0), (0, columns - n, 0))
    return x if (m, n) == (rows, columns) else ops.pad(x, aval.dtype.type(0), config)


def _after(x: Value, k: int) -> Value:
    """Return matrices with their first ``k`` columns zero."""
    aval = get_aval(x)
    rest = block(x, slice(None), slice(k, None))
    config = (*[(0, 0, 0)] * (aval.ndim - 1), (k, 0, 0))
    return ops.pad(rest, aval.dtype.type(0), config)


def take_rows(x: Value, rows: Value) -> Value:
    """Return ``x[rows]`` for each matrix: ``T[*b, m, n], int32[*b, k] -> T[*b, k, n]``."""
    aval = get_aval(x)
    last = aval.ndim - 1
    batch = tuple(range(aval.ndim - 2))
    numbers = GatherDimensionNumbers((last,), (last - 1,), (last - 1,), batch, batch)
    sizes = (*[1] * (last), aval.shape[-1])
    index = reshape(rows, (*get_aval(rows).shape, 1))
    return gather(x, index, numbers, sizes)


class PivotsToPermutation(Primitive):
    """The permutation that a sequence of row swaps makes."""

    name = "lu_pivots_to_permutation"
    barrier_reason = "extern"
    jvp = not_differentiable("integer result")
    transpose = NOT_LINEAR

    def abstract_eval(self, pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
        if pivots.dtype != _I32:
            raise TypeError(accepts_text(self.name, ("int32",), pivots.dtype, 0))
        if pivots.ndim < 1:
            raise TypeError(
                "Input 0 to lu_pivots_to_permutation must have rank at least 1, "
                f"but got shape={pivots.shape}"
            )
        if permutation_size < pivots.shape[-1]:
            raise ValueError(
                f"Output permutation size {permutation_size} has to exceed the trailing dimension "
                f"of the pivots. Got pivots size {pivots.shape[-1]}"
            )
        return ShapedArray((*pivots.shape[:-1], permutation_size), _I32)

    def impl(self, xp: ArrayModule, pivots: Any, *, permutation_size: int) -> Any:
        return _permutations(pivots, permutation_size)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        return self.bind(move_batch_dim(args[0], dims[0] or 0, 0), **params), 0


def _permutations(pivots: Any, size: int) -> Any:
    """Return the permutation made by swapping row ``i`` with row ``pivots[..., i]`` in order."""
    out = np.empty((*pivots.shape[:-1], size), _I32)
    out[...] = np.arange(size, dtype=_I32)
    for i in range(pivots.shape[-1]):
        j = pivots[..., i : i + 1]
        if j.size and (j.min() < 0 or j.max() >= size):
            continue
        here = out[..., i : i + 1].copy()
        out[..., i : i + 1] = np.take_along_axis(out, j, -1)
        np.put_along_axis(out, j, here, -1)
    return out


class LinearSolve(MatrixPrimitive):
    """X with ``A @ X = B`` (or ``A.T @ X = B``) for a factored A; NaN or inf if A is singular.

    Operands: A, its LU factors and permutation (both only used to compute), B. The derivative is
    that of X as a function of A and B.
    """

    name = "linear_solve"
    ranks = (2, 2, 1, 2)

    def check_operands(self, avals: tuple[ShapedArray, ...]) -> None:
        a, factors, permutation, b = avals
        assert permutation.dtype == _I32
        assert a.shape == factors.shape
        super().check_operands((a, factors, permutation.update(dtype=a.dtype), b))

    def results(self, a: Any, factors: Any, permutation: Any, b: Any, **params: Any) -> ShapedArray:
        assert a.shape[-1] == a.shape[-2] == b.shape[-2], "solve has checked the shapes"
        return ShapedArray(b.shape, b.dtype)

    def one(self, a: Any, factors: Any, permutation: Any, b: Any, *, transpose_a: bool) -> Any:
        common = {"left_side": True, "transpose_a": transpose_a, "conjugate_a": False}
        lower = {**common, "lower": True, "unit_diagonal": True}
        upper = {**common, "lower": False, "unit_diagonal": False}
        if not transpose_a:
            return _substitute(factors, _substitute(factors, b[permutation], **lower), **upper)
        out = np.empty_like(b)
        out[permutation] = _substitute(factors, _substitute(factors, b, **upper), **lower)
        return out

    def jvp(self, out: Value, *operands: Value, transpose_a: bool) -> TangentMaps:
        # A X = B:  dX = A^-1 (dB - dA X)
        fixed = operands[:3]

        def matrix_tangent(t: Value) -> Value:
            product = dot(swapped(t) if transpose_a else t, out)
            return self.bind(*fixed, neg(product), transpose_a=transpose_a)

        def side_tangent(t: Value) -> Value:
            return self.bind(*fixed, t, transpose_a=transpose_a)

        return matrix_tangent, None, None, side_tangent

    def transpose(self, ct: Value, *operands: Value, transpose_a: bool) -> Any:
        assert not any(is_linear_operand(x) for x in operands[:3])
        out = self.bind(*operands[:3], ct, transpose_a=not transpose_a)
        return None, None, None, out

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        if _is_only_last_batched(args, dims):
            return _with_columns(self, args, dims, params)
        return super().batch(args, dims, **params)


class TridiagonalSolve(MatrixPrimitive):
    """X with ``A @ X = B`` where A has three diagonals; NaN if A is singular."""

    name = "tridiagonal_solve"
    ranks = (1, 1, 1, 2)

    def results(self, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> ShapedArray:
        if not dl.shape == d.shape == du.shape:
            raise TypeError(
                "tridiagonal_solve requires that all diagonal arguments have the same shape."
            )
        if b.shape[-2] != d.shape[-1]:
            raise TypeError(
                "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the "
                "dimensions of the diagonal arguments."
            )
        return ShapedArray(b.shape, b.dtype)

    def one(self, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> Any:
        if b.size == 0:
            return b
        if d.shape[0] == 1:
            return b / d if d[0] != 0 else None
        *_, x, info = lapack("gtsv", d.dtype)(dl[1:], d, du[:-1], b)
        return x if info == 0 else None

    def jvp(self, out: Value, *operands: Value, **params: Any) -> TangentMaps:
        # dX = A^-1 (dB - dA X): row i of dA X is ddl[i] x[i-1] + dd[i] x[i] + ddu[i] x[i+1].
        fixed = operands[:3]

        def diagonal_tangent(shift: int) -> Any:
            neighbour = _shifted(out, shift, get_aval(out).ndim - 2)
            return lambda t: self.bind(*fixed, neg(mul(like_columns(t, out), neighbour)), **params)

        diagonals = [diagonal_tangent(shift) for shift in (1, 0, -1)]
        return (*diagonals, lambda t: self.bind(*fixed, t, **params))

    def transpose(self, ct: Value, *operands: Value, **params: Any) -> Any:
        assert not any(is_linear_operand(x) for x in operands[:3])
        dl, d, du, _ = operands
        axis = get_aval(d).ndim - 1
        out = self.bind(_shifted(du, 1, axis), d, _shifted(dl, -1, axis), ct, **params)
        return None, None, None, out


def _shifted(x: Value, by: int, axis: int) -> Value:
    """Return ``x`` moved along an axis, with zeros coming in."""
    if by == 0:
        return x
    aval = get_aval(x)
    config = [(0, 0, 0)] * aval.ndim
    config[axis] = (by, -by, 0)
    return ops.pad(x, dtypes.storage_dtype(aval.dtype).type(0), tuple(config))


lu_p, triangular_solve_p, linear_solve_p = LU(), TriangularSolve(), LinearSolve()
lu_pivots_to_permutation_p, tridiagonal_solve_p = PivotsToPermutation(), TridiagonalSolve()


def lu(x: Value) -> tuple[Value, Value, Value]:
    """Return (LU, pivots, permutation): ``T[*b, m, n] -> T[*b, m, n], int32[*b, k], int32[*b, m]``.

    Raises:
        TypeError: fewer than two axes, or no floats.
    """
    factors, pivots, permutation = lu_p.bind_all(x)
    return factors, pivots, permutation


def triangular_solve(
    a: Value,
    b: Value,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Value:
    """Return X with ``op(a) @ X = b`` or ``X @ op(a) = b``: ``T[*b, n, n], T[*b, m, k]``.

    Raises:
        TypeError: fewer than two axes, or different dtypes.
        ValueError: shapes that do not fit.
    """
    return triangular_solve_p.bind(
        a,
        b,
        conjugate_a=conjugate_a,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        unit_diagonal=unit_diagonal,
    )


def linear_solve(a: Value, b: Value, fixed: Value, transpose_a: bool = False) -> Value:
    """Return X with ``a @ X = b``: ``T[*b, n, n], T[*b, n, k] -> T[*b, n, k]``.

    ``fixed`` is ``a`` without a tangent (``stop_gradient(a)``), which is factored.
    """
    factors, _, permutation = lu(fixed)
    return linear_solve_p.bind(a, factors, permutation, b, transpose_a=transpose_a)


__all__ = [
    "linear_solve", "linear_solve_p", "lu", "lu_p", "lu_pivots_to_permutation_p", "take_rows",
    "triangular_solve", "triangular_solve_p", "tridiagonal_solve_p",
]  # fmt: skip
