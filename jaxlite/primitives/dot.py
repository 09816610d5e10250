"""Products summed over shared axes. In: two arrays. Out: what ``matmul`` and ``einsum`` return.

``dimension_numbers = ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``. The axes of
the result are the batch axes, then the other axes of lhs, then those of rhs. Bilinear: the
transpose in one operand is a product of the cotangent with the other one. float16 and bfloat16 are
summed in float32.
"""

from __future__ import annotations

import enum
from typing import Any, TypeAlias

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, Dims, Primitive, TangentMaps, is_linear
from jaxlite.language.trace import get_aval
from jaxlite.primitives.convert import cast_array
from jaxlite.primitives.dot_algorithms import check_algorithm
from jaxlite.primitives.families import ANY, accepts_text, is_accepted, ops, provide, quiet
from jaxlite.primitives.shape import transpose

Axes: TypeAlias = tuple[int, ...]
DotDimensionNumbers: TypeAlias = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]

_F32 = np.dtype(np.float32)
_HALF = frozenset({np.dtype(np.float16), np.dtype(dtypes.bfloat16)})


class Precision(enum.Enum):
    """How exactly an accelerator may multiply float32 matrices; the CPU always does it fully."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return _PRECISIONS.get(value)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Precision.{self.name}"


_PRECISIONS: dict[Any, Precision] = {
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    None: Precision.DEFAULT,
}


def canonical_precision(precision: Any) -> Any:
    """Return the precisions of both operands that ``precision`` names, an algorithm, or None.

    Raises:
        ValueError: it is neither None, a ``Precision``, one of its names, a pair of these, nor an
            algorithm for the CPU.

    Example:
        >>> canonical_precision("high")
        (Precision.HIGH, Precision.HIGH)
    """
    if precision is None:
        return None
    algorithm = check_algorithm(precision)
    if algorithm is not None:
        return algorithm
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    try:
        lhs, rhs = (Precision(p) for p in pair)
    except (TypeError, ValueError):
        raise ValueError(
            "Precision argument must be one of:\n- None,\n"
            f"- a string in {list(_PRECISIONS)},\n"
            "- a lax.Precision value,\n- a tuple of two lax.Precision values or strings,\n"
            "- a lax.DotAlgorithmPreset, its name, or a lax.DotAlgorithm;\n"
            f"but got {precision}."
        ) from None
    return lhs, rhs


class DotGeneral(Primitive):
    """``out[b, i, j] = sum over k of lhs[b, i, k] * rhs[b, k, j]`` for lists of axes b, i, j, k."""

    name = "dot_general"

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        numbers = tuple(tuple(list(axes) for axes in pair) for pair in params["dimension_numbers"])
        rest = {k: v for k, v in params.items() if v is not None}
        return {**rest, "dimension_numbers": numbers}

    def abstract_eval(
        self,
        lhs: ShapedArray,
        rhs: ShapedArray,
        *,
        dimension_numbers: DotDimensionNumbers,
        precision: Any = None,
        preferred_element_type: Any = None,
        out_sharding: Any = None,
    ) -> ShapedArray:
        for position, aval in enumerate((lhs, rhs)):
            if not is_accepted(ANY, aval.dtype):
                raise TypeError(accepts_text(self.name, ANY, aval.dtype, position))
        _check_axes(lhs, rhs, dimension_numbers)
        (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
        shape = (
            *(lhs.shape[d] for d in lhs_batch),
            *(n for d, n in enumerate(lhs.shape) if d not in (*lhs_batch, *lhs_contracting)),
            *(n for d, n in enumerate(rhs.shape) if d not in (*rhs_batch, *rhs_contracting)),
        )
        dtype = result_dtype(lhs.dtype, rhs.dtype, preferred_element_type)
        return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)

    def impl(
        self,
        xp: ArrayModule,
        lhs: Any,
        rhs: Any,
        *,
        dimension_numbers: DotDimensionNumbers,
        preferred_element_type: Any,
        **params: Any,
    ) -> Any:
        dtype = result_dtype(lhs.dtype, rhs.dtype, preferred_element_type)
        wide = accumulation_dtype(lhs.dtype, rhs.dtype, preferred_element_type)
        if lhs.dtype != rhs.dtype:
            # Operands of different types meet in the result's type first.
            lhs, rhs = cast_array(xp, lhs, dtype), cast_array(xp, rhs, dtype)
        (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
        is_plain = lhs.dtype == dtype == wide and dtype.kind in "fc" and not lhs_batch
        # The usual product of a matrix needs no rearranging.
        if is_plain and rhs.ndim <= 2 and (*lhs_contracting, *rhs_contracting) == (lhs.ndim - 1, 0):
            return xp.dot(lhs, rhs)
        lhs_free = _others(lhs.ndim, lhs_contracting, lhs_batch)
        rhs_free = _others(rhs.ndim, rhs_contracting, rhs_batch)
        batch = tuple(lhs.shape[d] for d in lhs_batch)
        rows = tuple(lhs.shape[d] for d in lhs_free)
        columns = tuple(rhs.shape[d] for d in rhs_free)
        k = _size(lhs.shape[d] for d in lhs_contracting)
        a = lhs.transpose(*lhs_batch, *lhs_free, *lhs_contracting).reshape((*batch, _size(rows), k))
        b = rhs.transpose(*rhs_batch, *rhs_contracting, *rhs_free)
        b = b.reshape((*batch, k, _size(columns)))
        out = _matmul(xp, a, b, wide)
        if out.dtype != dtype:
            out = cast_array(xp, out, dtype)
        return out.reshape((*batch, *rows, *columns))

    def can_lower(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> bool:
        """Say whether casting both operands to the type of the sums first gives the same result."""
        lhs, rhs = (aval.dtype for aval in avals)
        preferred = params["preferred_element_type"]
        dtype = result_dtype(lhs, rhs, preferred)
        if accumulation_dtype(lhs, rhs, preferred) != (_F32 if dtype in _HALF else dtype):
            return False  # fractions (imaginary parts) count until the sum is complete
        # Half precision is where meeting in the result's type first may round.
        return lhs == rhs or dtype not in _HALF

    def jvp(self, out: Any, lhs: Value, rhs: Value, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, rhs, **params)), (lambda t: self.bind(lhs, t, **params))

    def transpose(
        self,
        ct: Value,
        lhs: Any,
        rhs: Any,
        *,
        dimension_numbers: DotDimensionNumbers,
        **params: Any,
    ) -> Any:
        contracting, batch = dimension_numbers
        if is_linear(lhs):
            return _adjoint(ct, lhs.aval, rhs, contracting, batch, False, params), None
        flipped = contracting[::-1], batch[::-1]
        return None, _adjoint(ct, rhs.aval, lhs, *flipped, True, params)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (lhs, rhs), (lhs_dim, rhs_dim) = args, dims
        (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = params["dimension_numbers"]
        lhs_contracting, lhs_batch = _past(lhs_contracting, lhs_dim), _past(lhs_batch, lhs_dim)
        rhs_contracting, rhs_batch = _past(rhs_contracting, rhs_dim), _past(rhs_batch, rhs_dim)
        if lhs_dim is not None and rhs_dim is not None:
            lhs_batch, rhs_batch = (lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch)
            out_dim = 0
        else:
            # The batch dim is one more free axis of its operand: one big product, no copies.
            lhs_free = _others(get_aval(lhs).ndim, lhs_contracting, lhs_batch)
            rhs_free = _others(get_aval(rhs).ndim, rhs_contracting, rhs_batch)
            if lhs_dim is not None:
                out_dim = len(lhs_batch) + lhs_free.index(lhs_dim)
            else:
                assert rhs_dim is not None
                out_dim = len(lhs_batch) + len(lhs_free) + rhs_free.index(rhs_dim)
        numbers = (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)
        return self.bind(lhs, rhs, **{**params, "dimension_numbers": numbers}), out_dim


def _adjoint(
    ct: Value,
    x: ShapedArray,
    y: Value,
    contracting: tuple[Axes, Axes],
    batch: tuple[Axes, Axes],
    is_rhs: bool,
    params: dict[str, Any],
) -> Value:
    """Return the cotangent of operand ``x``: ``ct`` times ``y`` over the axes of ``y`` alone."""
    (x_contracting, y_contracting), (x_batch, y_batch) = contracting, batch
    y_ndim = get_aval(y).ndim
    x_free = _others(x.ndim, x_contracting, x_batch)
    y_free = _others(y_ndim, y_contracting, y_batch)
    n_batch = len(x_batch)
    first = n_batch if is_rhs else n_batch + len(x_free)
    ct_free = tuple(range(first, first + len(y_free)))
    numbers = (ct_free, y_free), (tuple(range(n_batch)), y_batch)
    out = dot_general_p.bind(ct, y, dimension_numbers=numbers, **params)
    if get_aval(out).dtype != x.dtype:
        out = ops.convert_element_type(out, x.dtype)
    # Now the axes are batch, x_free, and those of x that met the contracted axes of y, as y has
    # them.
    met = [
        x_contracting[k] for k in sorted(range(len(y_contracting)), key=y_contracting.__getitem__)
    ]
    order = (*x_batch, *x_free, *met)
    return transpose(out, tuple(sorted(range(len(order)), key=order.__getitem__)))


def _others(ndim: int, *taken: Axes) -> Axes:
    used = {d for axes in taken for d in axes}
    return tuple(d for d in range(ndim) if d not in used)


def _past(axes: Axes, dim: int | None) -> Axes:
    """Return axis numbers of an array that has a batch dim at ``dim`` besides."""
    return axes if dim is None else tuple(d + (d >= dim) for d in axes)


def _size(sizes: Any) -> int:
    n = 1
    for size in sizes:
        n *= size
    return n


def _rank(dtype: Any) -> tuple[int, int, bool]:
    """Order of dtypes in which the later one of two operands' is the result's."""
    kind = dtypes.kind_of(dtype)
    preferred = kind == "i" or dtype == np.dtype(dtypes.bfloat16)
    return {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}[kind], dtype.itemsize, preferred


def result_dtype(lhs: Any, rhs: Any, preferred: Any) -> Any:
    """Return the dtype of a product; TypeError if ``preferred`` cannot hold it."""
    common = lhs if lhs == rhs else max((lhs, rhs), key=_rank)
    if preferred is None:
        return common
    kind = dtypes.kind_of(common)
    if kind in "iuc":
        width = common.itemsize // 2 if kind == "c" else common.itemsize
        narrow = preferred == np.dtype(bool) or preferred.itemsize < width
        if narrow:
            raise TypeError(
                "`preferred_element_type` must not be narrower than the original type, got "
                f"preferred_element_type of {dtypes.name_of(preferred)} for result type of "
                f"{dtypes.name_of(common)}."
            )
    return preferred


def accumulation_dtype(lhs: Any, rhs: Any, preferred: Any) -> Any:
    """Return the dtype that products are computed and summed in."""
    if lhs == rhs and preferred is not None:
        # Integers are widened before they are multiplied, floats keep their fractions until the
        # end.
        wide = preferred if dtypes.kind_of(lhs) in "biu" else max((lhs, preferred), key=_rank)
    else:
        wide = result_dtype(lhs, rhs, preferred)
    return _F32 if wide in _HALF else wide


@quiet
def _matmul(xp: ArrayModule, a: Any, b: Any, dtype: Any) -> Any:
    """Return the stacked matrix products in ``dtype``."""
    kind = dtypes.kind_of(dtype)
    if kind == "b":
        # A sum of products of 0 and 1 is zero only if all of them are.
        return xp.matmul(a.astype(_F32), b.astype(_F32)) != 0
    if kind in "iu":
        return _integer_matmul(xp, a, b, dtype)
    return xp.matmul(cast_array(xp, a, dtype), cast_array(xp, b, dtype))


def _integer_matmul(xp: ArrayModule, a: Any, b: Any, dtype: Any) -> Any:
    """Multiply integers by BLAS in float64 where that is exact, else by NumPy's slow loop."""
    a, b = cast_array(xp, a, dtype), cast_array(xp, b, dtype)
    if a.size and b.size and a.shape[-2] * b.shape[-1] > 16:
        x, y = a.astype(np.float64), b.astype(np.float64)
        bound = float(xp.abs(x).max()) * float(xp.abs(y).max()) * a.shape[-1]
        if bound < 2.0**53:
            return xp.matmul(x, y).astype(np.int64).astype(dtype)
    return xp.matmul(a, b)


def _check_axes(lhs: ShapedArray, rhs: ShapedArray, numbers: DotDimensionNumbers) -> None:
    """Raise TypeError in JAX's words unless the dimension numbers fit the operands."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    sides = (("lhs", lhs, lhs_batch, lhs_contracting), ("rhs", rhs, rhs_batch, rhs_contracting))
    for name, aval, batch, contracting in sides:
        if not all(0 <= d < aval.ndim for d in (*batch, *contracting)):
            raise TypeError(
                f"dot_general requires {name} dimension numbers to be nonnegative and less than "
                f"the number of axes of the {name} value, got {name}_batch of {batch} and "
                f"{name}_contracting of {contracting} for {name} of rank {aval.ndim}"
            )
    if len(lhs_batch) != len(rhs_batch):
        raise TypeError(
            "dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, "
            f"got lhs_batch {lhs_batch} and rhs_batch {rhs_batch}."
        )
    for name, _, batch, contracting in sides:
        for kind, axes in (("batch", batch), ("contracting", contracting)):
            if len(set(axes)) != len(axes):
                raise TypeError(
                    f"dot_general requires {name} {kind} dimensions to be distinct, "
                    f"got {name}_{kind} {axes}."
                )
        if set(batch) & set(contracting):
            raise TypeError(
                f"dot_general requires {name} batch dimensions to be disjoint from contracting "
                f"dimensions, got {name}_batch {batch} and {name}_contracting {contracting}."
            )
    lhs_sizes = tuple(lhs.shape[d] for d in lhs_batch)
    rhs_sizes = tuple(rhs.shape[d] for d in rhs_batch)
    if lhs_sizes != rhs_sizes:
        raise TypeError(
            "dot_general requires lhs batch dimensions and rhs batch dimensions to have the same "
            f"shape, got {lhs_sizes} and {rhs_sizes}."
        )
    lhs_sizes = tuple(lhs.shape[d] for d in lhs_contracting)
    rhs_sizes = tuple(rhs.shape[d] for d in rhs_contracting)
    if lhs_sizes != rhs_sizes:
        raise TypeError(
            "dot_general requires contracting dimensions to have the same shape, "
            f"got {lhs_sizes} and {rhs_sizes}.\n"
            f"  The operands are {lhs.str_short()} and {rhs.str_short()}; axes "
            f"{lhs_contracting} of the first meet axes {rhs_contracting} of the second."
        )


dot_general_p = DotGeneral()


def dot_general(
    lhs: Value,
    rhs: Value,
    dimension_numbers: DotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the products of ``lhs`` and ``rhs`` summed over the contracting axes.

    Args:
        lhs: an array.
        rhs: an array.
        dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
        precision: see ``canonical_precision``.
        preferred_element_type: dtype of the result and of the sums; None is that of the operands.

    Raises:
        TypeError: the axes do not fit.

    Example:
        >>> dot_general_p.abstract_eval(
        ...     ShapedArray((2, 3), "float32"), ShapedArray((3, 4), "float32"),
        ...     dimension_numbers=(((1,), (0,)), ((), ())))
        ShapedArray(float32[2,4])
    """
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    numbers = (
        (tuple(lhs_contracting), tuple(rhs_contracting)),
        (tuple(lhs_batch), tuple(rhs_batch)),
    )
    dtype = preferred_element_type
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=numbers,
        precision=canonical_precision(precision),
        preferred_element_type=None if dtype is None else dtypes.as_dtype(dtype),
        out_sharding=None,
    )


provide(dot_general=dot_general)

__all__ = [
    "DotDimensionNumbers",
    "Precision",
    "accumulation_dtype",
    "canonical_precision",
    "dot_general",
    "dot_general_p",
    "result_dtype",
]
