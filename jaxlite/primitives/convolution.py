"""Convolutions. In: a batch of arrays and kernels. Out: every kernel's product with every window.

``lhs`` has a batch and a feature axis and spatial axes, ``rhs`` output and input features and the
window; ``ConvDimensionNumbers`` says which axis is what. Bilinear: the derivative in one operand is
a convolution of the cotangent with the other one. ``patches`` is the body.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Dims, TangentMaps, is_linear
from jaxlite.language.trace import get_aval
from jaxlite.primitives.composite import Composite
from jaxlite.primitives.families import move_batch_dim, ops, provide
from jaxlite.primitives.patches import Convolution, convolve
from jaxlite.primitives.shape import reshape

__all__ = ["ConvDimensionNumbers", "conv_general_dilated_p", "output_sizes"]

Pads = tuple[tuple[int, int], ...]


class ConvDimensionNumbers(NamedTuple):
    """Which axis is what: (batch, feature, *spatial), (out feature, in feature, *spatial), out."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def dilated(size: int, dilation: int) -> int:
    """Return the size of an axis with ``dilation - 1`` holes between its elements."""
    return 0 if not size else (size - 1) * dilation + 1


def output_sizes(
    sizes: tuple[int, ...], window: tuple[int, ...], strides: tuple[int, ...], pads: Pads
) -> tuple[int, ...]:
    """Return how many windows fit along each axis; all sizes with their holes."""
    return tuple(
        max((n + low + high - k) // step + 1, 0)
        for n, k, step, (low, high) in zip(sizes, window, strides, pads, strict=True)
    )


class ConvGeneralDilated(Composite):
    """The convolution of machine learning (a cross-correlation), with strides, holes and groups."""

    name = "conv_general_dilated"

    def abstract_eval(
        self,
        lhs: ShapedArray,
        rhs: ShapedArray,
        *,
        window_strides: tuple[int, ...],
        padding: Pads,
        lhs_dilation: tuple[int, ...],
        rhs_dilation: tuple[int, ...],
        dimension_numbers: ConvDimensionNumbers,
        feature_group_count: int,
        batch_group_count: int,
        precision: Any,
        preferred_element_type: Any,
        **params: Any,
    ) -> ShapedArray:
        _check(lhs, rhs, dimension_numbers, feature_group_count, batch_group_count)
        lhs_spec, rhs_spec, out_spec = dimension_numbers
        n_window = lhs.ndim - 2
        if len(window_strides) != n_window:
            raise ValueError(
                f"{self.name} window and window_strides must have the same number of dimensions, "
                f"but got {n_window} and {len(window_strides)}"
            )
        for label, values in (("window_strides", window_strides), ("lhs_dilation", lhs_dilation)):
            if len(values) != n_window or any(v < 1 for v in values):
                raise ValueError(
                    f"{self.name} {label} must be {n_window} positive integers, got {values}."
                )
        if len(rhs_dilation) != n_window:
            raise ValueError(
                f"{self.name} rhs_dilation must be {n_window} positive integers, got "
                f"{rhs_dilation}."
            )
        if len(padding) != n_window:
            raise TypeError(
                f"Wrong number of explicit pads for convolution: expected {n_window}, got "
                f"{len(padding)}."
            )
        sizes = tuple(dilated(lhs.shape[d], f) for d, f in zip(lhs_spec[2:], lhs_dilation))
        if any(n + low < 0 or n + high < 0 for n, (low, high) in zip(sizes, padding)):
            raise ValueError(
                "Negative padding is larger than the size of the corresponding dimension: got "
                f"padding={padding} for lhs_shape[2:]={sizes}"
            )
        window = tuple(dilated(rhs.shape[d], f) for d, f in zip(rhs_spec[2:], rhs_dilation))
        spatial = output_sizes(sizes, window, window_strides, padding)
        logical = (lhs.shape[lhs_spec[0]] // batch_group_count, rhs.shape[rhs_spec[0]], *spatial)
        shape = [0] * lhs.ndim
        for axis, n in zip(out_spec, logical, strict=True):
            shape[axis] = n
        dtype = _result_dtype(lhs.dtype, preferred_element_type)
        return ShapedArray(tuple(shape), dtype, lhs.weak_type and rhs.weak_type)

    def body(
        self,
        lhs: Value,
        rhs: Value,
        *,
        window_strides: tuple[int, ...],
        padding: Pads,
        lhs_dilation: tuple[int, ...],
        rhs_dilation: tuple[int, ...],
        dimension_numbers: ConvDimensionNumbers,
        feature_group_count: int,
        batch_group_count: int,
        precision: Any,
        preferred_element_type: Any,
        **params: Any,
    ) -> Value:
        how = Convolution(
            dimension_numbers,
            window_strides,
            padding,
            lhs_dilation,
            rhs_dilation,
            feature_group_count,
            batch_group_count,
            precision,
            preferred_element_type,
        )
        return convolve(lhs, rhs, how)

    def jvp(self, out: Any, lhs: Value, rhs: Value, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, rhs, **params)), (lambda t: self.bind(lhs, t, **params))

    def transpose(self, ct: Value, lhs: Any, rhs: Any, **params: Any) -> Any:
        if is_linear(lhs):
            return _lhs_cotangent(ct, lhs.aval, rhs, params), None
        return None, _rhs_cotangent(ct, lhs, rhs.aval, params)

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        (lhs, rhs), (lhs_dim, rhs_dim) = args, dims
        lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
        groups = params["batch_group_count"]
        if lhs_dim is not None and rhs_dim is not None:
            # Every example is one more group.
            size = get_aval(lhs).shape[lhs_dim]
            kind = "batch_group_count" if groups > 1 else "feature_group_count"
            axis = lhs_spec[0] if groups > 1 else lhs_spec[1]
            lhs = _merge(move_batch_dim(lhs, lhs_dim, axis), axis)
            rhs = _merge(move_batch_dim(rhs, rhs_dim, rhs_spec[0]), rhs_spec[0])
            out = self.bind(lhs, rhs, **{**params, kind: params[kind] * size})
            return _split(out, out_spec[1], size), out_spec[1]
        if lhs_dim is not None:
            size = get_aval(lhs).shape[lhs_dim]
            lhs = _put_inside(lhs, lhs_dim, lhs_spec[0], groups)
            return _split(self.bind(lhs, rhs, **params), out_spec[0], size), out_spec[0]
        assert rhs_dim is not None
        size = get_aval(rhs).shape[rhs_dim]
        groups = max(groups, params["feature_group_count"])
        rhs = _put_inside(rhs, rhs_dim, rhs_spec[0], groups)
        out = _split(self.bind(lhs, rhs, **params), out_spec[1], groups)
        axis = out_spec[1]
        out = move_batch_dim(_split(out, axis + 1, size), axis + 1, 0)
        return _merge(out, axis + 1), 0


# --- moving axes ---


def _merge(x: Value, axis: int, count: int = 2) -> Value:
    """Return ``x`` with ``count`` axes from ``axis`` on made one."""
    shape = get_aval(x).shape
    size = math.prod(shape[axis : axis + count])
    return reshape(x, (*shape[:axis], size, *shape[axis + count :]))


def _split(x: Value, axis: int, size: int) -> Value:
    """Return ``x`` with ``axis`` made two, the first of ``size``."""
    shape = get_aval(x).shape
    rest = shape[axis] // size if size else 0
    return reshape(x, (*shape[:axis], size, rest, *shape[axis + 1 :]))


def _put_inside(x: Value, dim: int, axis: int, groups: int) -> Value:
    """Return ``x`` with its batch dim inside each of the groups along ``axis``."""
    x = move_batch_dim(x, dim, 0)
    if groups == 1:
        return _merge(move_batch_dim(x, 0, axis), axis)
    x = _split(x, axis + 1, groups)
    return _merge(move_batch_dim(x, 0, axis + 1), axis, 3)


def _group_into(x: Value, source: int, target: int, groups: int) -> Value:
    """Return ``x`` with the groups along ``source`` moved to the front of ``target``."""
    x = _split(x, source, groups)
    return _merge(move_batch_dim(x, source, target), target)


# --- derivatives ---


def _lhs_cotangent(ct: Value, lhs: ShapedArray, rhs: Value, params: dict[str, Any]) -> Value:
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    features, groups = params["feature_group_count"], params["batch_group_count"]
    shape, ct_shape = get_aval(rhs).shape, get_aval(ct).shape
    if features * groups > 1:
        rhs = _group_into(rhs, rhs_spec[0], rhs_spec[1], features * groups)
    pads = []
    rows = zip(
        lhs_spec[2:], rhs_spec[2:], out_spec[2:], params["window_strides"], params["padding"],
        params["lhs_dilation"], params["rhs_dilation"],
    )  # fmt: skip
    for a, b, c, step, (low, _), base, hole in rows:
        window = dilated(shape[b], hole)
        before = window - low - 1
        size = dilated(lhs.shape[a], base) + window - 1
        pads.append((before, size - dilated(ct_shape[c], step) - before))
    out = conv_general_dilated_p.bind(
        ct,
        ops.rev(rhs, tuple(rhs_spec[2:])),
        **{
            **params,
            "window_strides": params["lhs_dilation"],
            "padding": tuple(pads),
            "lhs_dilation": params["window_strides"],
            "dimension_numbers": ConvDimensionNumbers(
                out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec
            ),
            "feature_group_count": features * groups,
            "batch_group_count": 1,
        },
    )
    if groups > 1:
        out = _group_into(out, lhs_spec[1], lhs_spec[0], groups)
    return _cast(out, lhs.dtype)


def _rhs_cotangent(ct: Value, lhs: Value, rhs: ShapedArray, params: dict[str, Any]) -> Value:
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    features, groups = params["feature_group_count"], params["batch_group_count"]
    lhs_shape, ct_shape = get_aval(lhs).shape, get_aval(ct).shape
    pads = []
    rows = zip(
        lhs_spec[2:], rhs_spec[2:], out_spec[2:], params["window_strides"], params["padding"],
        params["lhs_dilation"], params["rhs_dilation"],
    )  # fmt: skip
    for a, b, c, step, (low, _), base, hole in rows:
        size = dilated(lhs_shape[a], base)
        windows = dilated(ct_shape[c], step)
        pads.append((low, windows - size + dilated(rhs.shape[b], hole) - low - 1))
    turned = [(s[1], s[0], *s[2:]) for s in (lhs_spec, out_spec, rhs_spec)]
    out = conv_general_dilated_p.bind(
        lhs,
        ct,
        **{
            **params,
            "window_strides": params["rhs_dilation"],
            "padding": tuple(pads),
            "rhs_dilation": params["window_strides"],
            "dimension_numbers": ConvDimensionNumbers(*turned),
            "feature_group_count": groups,
            "batch_group_count": features,
        },
    )
    return _cast(out, rhs.dtype)


def _cast(x: Value, dtype: Any) -> Value:
    return x if get_aval(x).dtype == dtype else ops.convert_element_type(x, dtype)


# --- checks ---


def _check(
    lhs: ShapedArray, rhs: ShapedArray, numbers: ConvDimensionNumbers, features: int, batches: int
) -> None:
    """Raise in JAX's words unless the operands and the groups fit each other."""
    name = "conv_general_dilated"
    if lhs.ndim != rhs.ndim:
        raise ValueError(
            f"{name} lhs and rhs must have the same number of dimensions, but got {lhs.shape} and "
            f"{rhs.shape}."
        )
    if lhs.ndim < 2:
        raise ValueError(
            f"{name} lhs must have at least 2 dimensions (batch and feature), got {lhs.shape}."
        )
    if lhs.dtype != rhs.dtype:
        found = ", ".join(dtypes.name_of(a.dtype) for a in (lhs, rhs))
        raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got {found}.")
    for label, count in (("feature_group_count", features), ("batch_group_count", batches)):
        if count <= 0:
            raise ValueError(f"{name} {label} must be a positive integer, got {count}.")
    n_batch, n_features = lhs.shape[numbers.lhs_spec[0]], lhs.shape[numbers.lhs_spec[1]]
    n_out, n_in = rhs.shape[numbers.rhs_spec[0]], rhs.shape[numbers.rhs_spec[1]]
    if n_features % features:
        raise ValueError(
            f"{name} feature_group_count must divide lhs feature dimension size, but {features} "
            f"does not divide {n_features}."
        )
    if n_features // features != n_in:
        raise ValueError(
            f"{name} lhs feature dimension size divided by feature_group_count must equal the rhs "
            f"input feature dimension size, but {n_features} // {features} != {n_in}."
        )
    if n_out % features:
        raise ValueError(
            f"{name} rhs output feature dimension size must be a multiple of feature_group_count, "
            f"but {n_out} is not a multiple of {features}."
        )
    if n_batch % batches:
        raise ValueError(
            f"{name} batch_group_count must divide lhs batch dimension size, but {batches} does "
            f"not divide {n_batch}."
        )
    if n_out % batches:
        raise ValueError(
            f"{name} rhs output feature dimension size must be a multiple of batch_group_count, "
            f"but {n_out} is not a multiple of {batches}."
        )
    if batches > 1 and features > 1:
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={batches} and feature_group_count={features}"
        )


_COMPATIBLE = {("iu", "iu"), ("iu", "f"), ("f", "f"), ("c", "c")}


def _result_dtype(dtype: Any, preferred: Any) -> Any:
    if preferred is None:
        return dtype
    kinds = dtypes.kind_of(dtype), dtypes.kind_of(preferred)
    if not any(kinds[0] in a and kinds[1] in b for a, b in _COMPATIBLE):
        raise TypeError(
            "Input type is incompatible with `preferred_element_type`. The compatible combinations "
            "of (input_type, preferred_element_type) are (integral, integral), (integral, "
            "floating), (floating, floating), (complex, complex."
        )
    if kinds[0] not in "iu" and preferred.itemsize < dtype.itemsize:
        raise TypeError("`preferred_element_type` must not be narrower than the original type.")
    return preferred


conv_general_dilated_p = ConvGeneralDilated()

provide(conv_general_dilated=conv_general_dilated_p.bind)
