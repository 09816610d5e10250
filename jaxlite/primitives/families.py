"""What families of primitives share. In: the few facts that tell members apart. Out: their rules.

``Elementwise`` (one result element from one element of each operand) and ``Reduction`` (axes
disappear) supply abstract_eval, batch and pull; a member adds impl, jvp, transpose and lower.

Rules of one module need functions of modules that import it (the transpose of a broadcast is a
sum, that of a sum a broadcast). ``ops`` is the meeting point: every module of this
package puts its strict functions there with ``provide``, rules read them at call time as
``ops.reduce_sum(...)``.
"""

from __future__ import annotations

import contextvars
import functools
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from jaxlite.kernel_ir import nodes as ir
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import (
    Dims,
    Linear,
    Primitive,
    TangentMap,
    Zero,
    absent,
    add_tangents,
)
from jaxlite.language.trace import get_aval

__all__ = [
    "Elementwise",
    "NaryElementwise",
    "Pull",
    "Reduction",
    "accepts_text",
    "bdim_at_front",
    "broadcast_batch",
    "broadcast_to_batch",
    "full_like",
    "move_batch_dim",
    "ops",
    "provide",
    "result_aval",
    "scalar_like",
    "zeros_of",
]

_F32 = np.dtype(np.float32)
#: The dtypes whose arithmetic is done in float32.
HALF = frozenset({np.dtype(np.float16), np.dtype(dtypes.bfloat16)})

#: Strict functions of all modules of this package by name: ``ops.broadcast_in_dim(...)``.
ops: Any = types.SimpleNamespace()


def provide(**functions: Callable[..., Any]) -> None:
    """Put strict functions into ``ops``: ``provide(neg=neg, add=add)`` at the end of a module."""
    vars(ops).update(functions)


class Pull(Protocol):
    """Operand of a ``pull`` rule: call it with one i64 index per axis to get that element."""

    aval: ShapedArray

    def __call__(self, index: tuple[ir.Expr, ...]) -> ir.Expr:
        """Return the kernel IR of element ``index``."""
        ...


# --- running impl without NumPy's warnings ---


class _Quiet(threading.local):
    """A context in which NumPy ignores float errors; entering it costs a tenth of errstate."""

    def __init__(self) -> None:
        self.run = _quiet_context().run


def _quiet_context() -> contextvars.Context:
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")
    return context


_quiet = _Quiet()


def quiet(impl: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate an ``impl`` rule: 1/0 and overflow are ordinary results here, not warnings."""

    @functools.wraps(impl)
    def run_quietly(*args: Any, **params: Any) -> Any:
        try:
            return _quiet.run(impl, *args, **params)
        except RuntimeError as error:
            # One impl inside another (also from a finalizer): a context cannot be entered twice.
            if "cannot enter context" not in str(error):
                raise
            return _quiet_context().run(impl, *args, **params)

    return run_quietly


def in_float32(function: Callable[..., Any], *arrays: Any) -> Any:
    """Apply an array function; half precision is computed in float32 and rounded once."""
    dtype = arrays[0].dtype
    if dtype in HALF:
        out = function(*(a.astype(np.float32) if a.dtype == dtype else a for a in arrays))
        return out.astype(dtype) if out.dtype == np.float32 else out
    return function(*arrays)


# --- dtype checks, with JAX's words ---

#: JAX's names for groups of dtypes -> letters of ``dtypes.kind_of``, or dtype names.
_KIND_LETTERS = {
    "bool": "b",
    "integer": "iu",
    "signedinteger": "i",
    "unsignedinteger": "u",
    "number": "iufc",
    "floating": "f",
    "complexfloating": "c",
}

Accepts: TypeAlias = tuple[tuple[str, ...], ...]

FLOAT = ("floating",)
INEXACT = ("floating", "complexfloating")
NUMBER = ("integer", "floating", "complexfloating")
INTEGER = ("integer",)
INT_OR_BOOL = ("integer", "bool")
REAL = ("integer", "floating")
REAL_OR_BOOL = ("integer", "floating", "bool")
ANY = ("integer", "floating", "complexfloating", "bool")

_accepted: dict[tuple[tuple[str, ...], Any], bool] = {}


def is_accepted(accepts: tuple[str, ...], dtype: Any) -> bool:
    """Say whether ``dtype`` belongs to one of the groups (or is one of the dtypes) named."""
    found = _accepted.get((accepts, dtype))
    if found is None:
        kind = dtypes.kind_of(dtype)
        found = any(kind in _KIND_LETTERS.get(a, ()) or dtypes.name_of(dtype) == a for a in accepts)
        _accepted[accepts, dtype] = found
    return found


def accepts_text(name: str, accepts: tuple[str, ...], dtype: Any, position: int | None) -> str:
    """Return the message for an operand of the wrong dtype."""
    where = "" if position is None else f" at position {position}"
    return (
        f"{name} does not accept dtype {dtypes.name_of(dtype)}{where}. "
        f"Accepted dtypes{where} are subtypes of {', '.join(accepts)}."
    )


# --- small tools for rules ---


def scalar_like(x: Any, value: Any) -> Value:
    """Return the number ``value`` as a scalar of ``x``'s dtype and weakness; a jaxpr's literal."""
    aval = x if isinstance(x, ShapedArray) else get_aval(x)
    if aval.weak_type:
        kind = dtypes.scalar_type_of(aval.dtype)
        if kind is not bool and dtypes.default_dtype(kind) == aval.dtype:
            return kind(value)  # a Python number is weak
    return dtypes.storage_dtype(aval.dtype).type(value)


def full_like(x: Any, value: Any) -> Value:
    """Return an array like ``x`` (a value or an aval) filled with ``value``."""
    aval = x if isinstance(x, ShapedArray) else get_aval(x)
    return ops.broadcast_in_dim(scalar_like(aval, value), aval.shape, ())


def zeros_of(aval: ShapedArray) -> Value:
    """Return zeros of ``aval``."""
    return full_like(aval, 0)


# --- batching ---


def move_batch_dim(x: Value, source: int, destination: int) -> Value:
    """Return ``x`` with axis ``source`` moved to ``destination``; the others keep their order."""
    if source == destination:
        return x
    axes = [axis for axis in range(get_aval(x).ndim) if axis != source]
    axes.insert(destination, source)
    return ops.transpose(x, tuple(axes))


def broadcast_to_batch(x: Value, size: int, destination: int = 0) -> Value:
    """Return the unbatched ``x`` repeated ``size`` times along a new axis ``destination``."""
    shape = get_aval(x).shape
    new_shape = (*shape[:destination], size, *shape[destination:])
    kept = tuple(axis for axis in range(len(new_shape)) if axis != destination)
    return ops.broadcast_in_dim(x, new_shape, kept)


def bdim_at_front(x: Value, dim: int | None, size: int) -> Value:
    """Return ``x`` with its batch dim at axis 0, repeated there if it has none."""
    return broadcast_to_batch(x, size) if dim is None else move_batch_dim(x, dim, 0)


def batch_size(args: tuple[Any, ...], dims: Dims) -> int:
    """Return the mapped size (at least one operand has a batch dim)."""
    for x, dim in zip(args, dims, strict=True):
        if dim is not None:
            return int(get_aval(x).shape[dim])
    raise AssertionError("a batch rule is called with at least one batched operand")


def broadcast_batch(
    primitive: Primitive, args: tuple[Any, ...], dims: Dims, **params: Any
) -> tuple[Any, Any]:
    """Batch an elementwise primitive: give every operand a batch dim at one place, then apply it.

    Operands that all carry the batch dim at one axis already stay as they are. Unbatched scalars
    stay scalars, since elementwise primitives accept them beside arrays.
    """
    shapes = [get_aval(x).shape for x in args]
    ranks = [len(s) - (d is not None) for s, d in zip(shapes, dims, strict=True)]
    rank = max(ranks)
    full = [(d, s) for d, s, r in zip(dims, shapes, ranks, strict=True) if r == rank]
    if rank and None in dims:
        scalars_only = all(d is not None or r == 0 for d, r in zip(dims, ranks, strict=True))
    else:
        scalars_only = True
    if (
        scalars_only
        and len(set(full)) == 1
        and all(r == rank or d is None for d, r in zip(dims, ranks, strict=True))
    ):
        return _with_dim(primitive.bind_all(*args, **params), full[0][0])
    size = batch_size(args, dims)
    moved = []
    for x, dim, r in zip(args, dims, ranks, strict=True):
        if dim is None and r == 0:
            moved.append(x)
            continue
        front = bdim_at_front(x, dim, size)
        if r == 0 and rank:
            whole = next(s for s, k in zip(shapes, ranks, strict=True) if k == rank)
            whole_dim = next(d for d, k in zip(dims, ranks, strict=True) if k == rank)
            rest = whole if whole_dim is None else whole[:whole_dim] + whole[whole_dim + 1 :]
            front = ops.broadcast_in_dim(front, (size, *rest), (0,))
        moved.append(front)
    return _with_dim(primitive.bind_all(*moved, **params), 0)


def _with_dim(outs: tuple[Any, ...], dim: int | None) -> tuple[Any, Any]:
    assert dim is not None
    return (outs[0], dim) if len(outs) == 1 else (outs, (dim,) * len(outs))


# --- elementwise ---

NOT_LINEAR = absent("Transpose rule (for reverse-mode differentiation)", "it is not linear")


class Elementwise(Primitive):
    """One element of the result from the same element of every operand.

    ``accepts``: groups of dtypes, one tuple per operand. Operands have equal dtypes and shapes; an
    operand may also be a scalar beside arrays (a literal needs no array of copies). The result is
    weakly typed if all operands are.
    """

    accepts: ClassVar[Accepts] = (ANY,)
    #: float16 and bfloat16 operands are computed in float32 and rounded (exact for + - * / sqrt).
    widens_half: ClassVar[bool] = True
    #: Operands of a complex dtype can be lowered.
    lowers_complex: ClassVar[bool] = False

    def result_dtype(self, dtype: Any, **params: Any) -> Any:
        """Return the dtype of the result for operands of ``dtype``."""
        return dtype

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        first = avals[0]
        for position, aval in enumerate(avals):
            if not is_accepted(self.accepts[position], aval.dtype):
                shown = position if len(self.accepts) > 1 else None
                raise TypeError(accepts_text(self.name, self.accepts[position], aval.dtype, shown))
        shape = first.shape
        if len(avals) > 1:
            shape = self._common_shape(avals)
            if any(aval.dtype != first.dtype for aval in avals[1:]):
                raise TypeError(_dtype_mismatch(self.name, avals))
        weak = all(aval.weak_type for aval in avals)
        return ShapedArray(shape, self.result_dtype(first.dtype, **params), weak)

    def _common_shape(self, avals: tuple[ShapedArray, ...]) -> tuple[int, ...]:
        shapes = {aval.shape for aval in avals if aval.shape}
        if len(shapes) > 1:
            ranks = {len(shape) for shape in shapes}
            if len(ranks) > 1:
                raise TypeError(
                    f"{self.name}: arrays must have the same number of dimensions, got {ranks}"
                )
            listed = ", ".join(str(aval.shape) for aval in avals)
            raise TypeError(f"{self.name} got incompatible shapes for broadcasting: {listed}.")
        return next(iter(shapes), ())

    transpose = NOT_LINEAR

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        if len(args) == 1:
            return _with_dim(self.bind_all(*args, **params), dims[0])
        return broadcast_batch(self, args, dims, **params)

    # --- kernel IR ---

    def lower(self, *args: Any, **params: Any) -> ir.Expr:
        """Return the kernel IR of one element of the result from one element of each operand."""
        raise NotImplementedError(f"Lowering rule for '{self.name}' not implemented")

    def can_lower(self, avals: tuple[ShapedArray, ...], params: dict[str, Any]) -> bool:
        """Say whether ``lower`` exists for these operands."""
        if type(self).lower is Elementwise.lower:
            return False
        return self.lowers_complex or all(dtypes.kind_of(a.dtype) != "c" for a in avals)

    def pull(
        self, operands: tuple[Pull, ...], index: tuple[ir.Expr, ...], **params: Any
    ) -> ir.Expr:
        """Return the kernel IR of element ``index``; scalar operands are read at ()."""
        scalars = [operand(index if operand.aval.shape else ()) for operand in operands]
        return self.lower_scalars(scalars, **params)

    def lower_scalars(self, scalars: list[ir.Expr], **params: Any) -> ir.Expr:
        """Apply ``lower``, computing half precision in float32."""
        dtype = scalars[0].dtype
        if not self.widens_half or dtype not in HALF:
            return self.lower(*scalars, **params)
        out = self.lower(*(ir.cast(s, _F32) if s.dtype == dtype else s for s in scalars), **params)
        return ir.cast(out, dtype) if out.dtype == _F32 else out


class NaryElementwise(Elementwise):
    """An elementwise primitive of several operands.

    A member writes ``partial`` and ``adjoints`` for operands of equal shape; the scalars among the
    operands are dealt with here.
    """

    def partial(self, k: int, out: Value, *primals: Value, **params: Any) -> TangentMap:
        """Return the tangent map of operand ``k``; only asked for operands that have a tangent."""
        raise NotImplementedError(f"Differentiation rule for '{self.name}' not implemented")

    #: ``adjoints(ct, *operands, **params)``: one cotangent per linear operand, shaped as ``ct``.
    adjoints = NOT_LINEAR

    def jvp(self, out: Any, *primals: Any, **params: Any) -> Any:
        return tuple(self._map(k, out, primals, params) for k in range(len(primals)))

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        if type(self).jvp is not NaryElementwise.jvp:
            return super().linearize_rule(primals, nonzero, params)
        # Factors of operands without tangent (the exponent in x**3) are not even computed.
        out = self.bind(*primals, **params)
        maps = [self._map(k, out, primals, params) for k, nz in enumerate(nonzero) if nz]

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            total: Any = Zero(get_aval(out).to_tangent_aval())
            for m, t in zip(maps, tangents, strict=True):
                total = add_tangents(total, None if m is None else m(t))
            return (total,)

        return (out,), tangent_fn

    def _map(
        self, k: int, out: Any, primals: tuple[Any, ...], params: dict[str, Any]
    ) -> TangentMap:
        m, shape = self.partial(k, out, *primals, **params), get_aval(out).shape
        # A scalar's tangent reaches every element; factors broadcast by themselves.
        return m if m is None or get_aval(primals[k]).shape == shape else _after_broadcast(m, shape)

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> Any:
        cts = self.adjoints(ct, *operands, **params)
        return tuple(
            sum_to_scalar(c) if c is not None and not x.aval.shape else c
            for c, x in zip(cts, operands, strict=True)
        )


def _after_broadcast(m: Callable[[Value], Any], shape: tuple[int, ...]) -> Callable[[Value], Any]:
    return lambda t: m(ops.broadcast_in_dim(t, shape, ()))


def sum_to_scalar(ct: Value) -> Value:
    """Sum a cotangent over all axes: the cotangent of a scalar that met every element."""
    rank = get_aval(ct).ndim
    return ops.reduce_sum(ct, tuple(range(rank))) if rank else ct


def _dtype_mismatch(name: str, avals: tuple[ShapedArray, ...]) -> str:
    listed = ", ".join(dtypes.name_of(aval.dtype) for aval in avals)
    tip = _NUMPY_TIPS.get(name)
    if tip is None:
        return f"lax.{name} requires arguments to have the same dtypes, got {listed}."
    return (
        f"lax.{name} requires arguments to have the same dtypes, got {listed}. "
        f"(Tip: jnp.{tip} is a similar function that does automatic type promotion on inputs)."
    )


#: The function of ``jax.numpy`` that JAX's message names.
_NUMPY_TIPS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "atan2": "arctan2",
    "nextafter": "nextafter",
    "eq": "equal",
    "ne": "not_equal",
    "shift_left": "left_shift",
    "shift_right_logical": "right_shift",
    "shift_right_arithmetic": "right_shift",
}


# --- reductions ---


class Reduction(Primitive):
    """Combine the elements along ``axes``, which disappear.

    ``combiner`` is the kernel IR's name of the operation; ``identity(dtype)`` its neutral element.
    """

    combiner: ClassVar[str]
    accepts: ClassVar[tuple[str, ...]] = ANY

    def identity(self, dtype: Any) -> Any:
        """Return the neutral element as a NumPy scalar of ``dtype``."""
        raise NotImplementedError(f"'{self.name}' has no identity")

    def abstract_eval(
        self, operand: ShapedArray, *, axes: tuple[int, ...], **params: Any
    ) -> ShapedArray:
        if not is_accepted(self.accepts, operand.dtype):
            raise TypeError(accepts_text(self.name, self.accepts, operand.dtype, None))
        return result_aval(self.name, operand, axes, operand.dtype)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (x,), (dim,) = args, dims
        assert dim is not None
        axes = tuple(axis + (axis >= dim) for axis in params["axes"])
        out = self.bind(x, **{**params, "axes": axes})
        return out, dim - sum(axis < dim for axis in axes)


def result_aval(name: str, operand: ShapedArray, axes: tuple[int, ...], dtype: Any) -> ShapedArray:
    """Return the aval of a reduction over ``axes``, checked as JAX does."""
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
    if not all(0 <= axis < operand.ndim for axis in axes):
        raise ValueError(f"reduction axes {axes} contains out-of-bounds indices for {operand}.")
    shape = tuple(size for axis, size in enumerate(operand.shape) if axis not in axes)
    return ShapedArray(shape, dtype, operand.weak_type)


def is_linear_operand(x: Any) -> bool:
    """Say whether ``x`` is the linear operand of a transpose rule."""
    return isinstance(x, Linear)
