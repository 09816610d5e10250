"""One line per primitive: operands on which the laws of ``test_laws.py`` are checked.

A ``Sample`` names the dtypes, the interval in which each operand lies (smooth and defined there)
and the parameters. ``SAMPLES`` is the table; ``operands`` makes the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.primitive import Primitive
from jaxlite.primitives import (
    argreduce,
    arithmetic,
    bitwise,
    comparison,
    convert,
    cumulative,
    elementwise,
    identity,
    reduction,
    rounding,
    scipy_special,
    select,
    special,
    trigonometric,
)
from jaxlite.primitives import (
    complex as complex_parts,
)

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEXES = ("complex64", "complex128")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
INEXACT = (*FLOATS, *COMPLEXES)
NUMBERS = (*INTEGERS, *INEXACT)
ALL = ("bool", *NUMBERS)
REAL_OR_BOOL = ("bool", *INTEGERS, *FLOATS)
BITS = ("bool", *INTEGERS)
#: What every quick run checks; the other dtypes are marked slow.
QUICK = frozenset({"bool", "int32", "float32", "complex64"})

#: Largest relative error of one operation by result dtype.
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 5e-6,
    "float64": 1e-11,
    "complex64": 2e-5,
    "complex128": 1e-11,
}

Interval = tuple[float, float]
Operand = Interval | Callable[[str], Any]


@dataclass(frozen=True)
class Sample:
    """A primitive with parameters.

    ``operands[k]`` is an interval, or makes an array for a dtype.
    """

    primitive: Primitive
    operands: tuple[Operand, ...] = ((-3.0, 3.0),)
    dtypes: tuple[str, ...] = INEXACT
    params: dict[str, Any] | Callable[[str], dict[str, Any]] = field(default_factory=dict)
    shape: tuple[int, ...] = (3, 4)
    label: str = ""
    #: Operands by which JAX has a derivative; None: all floats and complexes.
    differentiable: tuple[int, ...] | None = None
    has_second_order: bool = True

    @property
    def name(self) -> str:
        return self.primitive.name + (f"-{self.label}" if self.label else "")

    def params_for(self, dtype: str) -> dict[str, Any]:
        return self.params(dtype) if callable(self.params) else self.params


def values(dtype: str, interval: Interval, shape: tuple[int, ...], rng: Any) -> Any:
    """Random values of ``dtype`` in the interval, no two alike where that is possible."""
    low, high = interval
    dt = dtypes.as_dtype(dtype)
    kind = dtypes.kind_of(dt)
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        low = max(low, 0.0) if kind == "u" else low
        return rng.integers(int(np.floor(low)), int(np.ceil(high)) + 1, shape).astype(dt)
    size = int(np.prod(shape))
    spread = (np.arange(size) + rng.uniform(0.2, 0.8, size)) / max(size, 1)
    x = rng.permutation(low + (high - low) * spread).reshape(shape)
    return (x + 1j * rng.uniform(-1, 1, shape)).astype(dt) if kind == "c" else x.astype(dt)


def operands(sample: Sample, dtype: str, seed: int = 0) -> list[Any]:
    """The operands of one law's check, always the same for one seed."""
    rng = np.random.default_rng(seed)
    return [
        o(dtype) if callable(o) else values(dtype, o, sample.shape, rng) for o in sample.operands
    ]


def differentiable(sample: Sample, dtype: str) -> tuple[int, ...]:
    if sample.differentiable is not None:
        return sample.differentiable
    arrays = operands(sample, dtype)
    return tuple(k for k, a in enumerate(arrays) if dtypes.kind_of(a.dtype) in "fc")


ANYWHERE: Interval = (-3.0, 3.0)
POSITIVE: Interval = (0.3, 4.0)
INSIDE: Interval = (-0.9, 0.9)
SMALL: Interval = (0.0, 5.0)


def _which(dtype: str) -> Any:
    return np.arange(12).reshape(3, 4) % 3 == 0


def _index(dtype: str) -> Any:
    return (np.arange(12).reshape(3, 4) - 2).astype("int32")


def _orders(dtype: str) -> Any:
    return (np.arange(12).reshape(3, 4) % 4).astype(dtypes.as_dtype(dtype))


def _scalar(value: float) -> Callable[[str], Any]:
    return lambda dtype: np.asarray(value).astype(dtypes.as_dtype(dtype))


def _to(new: str) -> Callable[[str], dict[str, Any]]:
    dtype = dtypes.as_dtype(new)
    return lambda old: {"new_dtype": dtype, "weak_type": False, "sharding": None}


def _conj(dtype: str) -> dict[str, Any]:
    return {"input_dtype": dtypes.as_dtype(dtype)}


def _unary(primitives: list[Primitive], interval: Interval, dtypes_: Any) -> list[Sample]:
    return [Sample(p, (interval,), dtypes_) for p in primitives]


def _binary(primitives: list[Primitive], first: Any, second: Any, dtypes_: Any) -> list[Sample]:
    return [Sample(p, (first, second), dtypes_) for p in primitives]


_a, _e, _t, _c, _s = arithmetic, elementwise, trigonometric, comparison, special
_SIGNED_OR_INEXACT = ("int8", "int16", "int32", "int64", *INEXACT)

ELEMENTWISE = [
    *_unary([_a.neg_p, _a.square_p, _a.sign_p], ANYWHERE, NUMBERS),
    Sample(_a.abs_p, dtypes=_SIGNED_OR_INEXACT),
    *[Sample(_a.integer_pow_p, (POSITIVE,), NUMBERS, {"y": y}, label=str(y)) for y in (0, 1, 3)],
    *[Sample(_a.integer_pow_p, (POSITIVE,), INEXACT, {"y": y}, label=str(y)) for y in (-1, -3)],
    *_unary([_e.exp_p, _e.exp2_p, _e.expm1_p, _e.tanh_p, _e.logistic_p], ANYWHERE, INEXACT),
    *_unary([_e.log_p, _e.log1p_p, _e.sqrt_p, _e.rsqrt_p], POSITIVE, INEXACT),
    Sample(_e.cbrt_p, (POSITIVE,), FLOATS),
    *_unary([_t.sin_p, _t.cos_p, _t.sinh_p, _t.cosh_p, _t.asinh_p], ANYWHERE, INEXACT),
    *_unary([_t.tan_p, _t.asin_p, _t.acos_p, _t.atan_p, _t.atanh_p], INSIDE, INEXACT),
    Sample(_t.acosh_p, ((1.2, 5.0),)),
    *_binary([_a.add_p, _a.add_any_p, _a.sub_p, _a.mul_p], ANYWHERE, ANYWHERE, NUMBERS),
    Sample(_a.div_p, (ANYWHERE, POSITIVE), NUMBERS),
    Sample(_a.rem_p, ((-9.0, 9.0), (0.7, 3.0)), (*INTEGERS, *FLOATS)),
    *_binary([_a.max_p, _a.min_p], ANYWHERE, (-3.1, 2.9), ALL),
    Sample(_a.pow_p, (POSITIVE, ANYWHERE)),
    Sample(_a.pow_p, (POSITIVE, _index), label="int32"),
    Sample(_a.nextafter_p, (ANYWHERE, ANYWHERE), FLOATS, differentiable=()),
    Sample(_a.mul_p, (_scalar(1.5), ANYWHERE), FLOATS, label="scalar"),
    Sample(_a.sub_p, (ANYWHERE, _scalar(1.5)), FLOATS, label="scalar"),
    Sample(_t.atan2_p, (POSITIVE, ANYWHERE)),
    *_unary([bitwise.not_p], ANYWHERE, BITS),
    *_unary([bitwise.population_count_p, bitwise.clz_p], (-9.0, 90.0), INTEGERS),
    *_binary([bitwise.and_p, bitwise.or_p, bitwise.xor_p], ANYWHERE, (0.0, 9.0), BITS),
    *_binary(
        [bitwise.shift_left_p, bitwise.shift_right_logical_p, bitwise.shift_right_arithmetic_p],
        (-99.0, 99.0),
        (0.0, 9.0),
        INTEGERS,
    ),
    Sample(bitwise.mulhi_p, ((-99.0, 99.0), (-99.0, 99.0)), INTEGERS),
    *_binary([_c.eq_p, _c.ne_p], (0.0, 2.0), (0.0, 2.0), ALL),
    *_binary([_c.lt_p, _c.le_p, _c.gt_p, _c.ge_p], (0.0, 2.0), (0.0, 2.0), REAL_OR_BOOL),
    *_binary([_c.eq_to_p, _c.le_to_p, _c.lt_to_p], ANYWHERE, ANYWHERE, REAL_OR_BOOL),
    *_unary([rounding.floor_p, rounding.ceil_p, rounding.is_finite_p], ANYWHERE, FLOATS),
    *[
        Sample(rounding.round_p, dtypes=FLOATS, params={"rounding_method": m}, label=m.name)
        for m in rounding.RoundingMethod
    ],
    *[
        Sample(
            rounding.reduce_precision_p,
            dtypes=FLOATS,
            params={"exponent_bits": e, "mantissa_bits": m},
            label=f"{e}-{m}",
        )
        for e, m in ((5, 10), (8, 7), (4, 3))
    ],
    *_unary([complex_parts.real_p, complex_parts.imag_p], ANYWHERE, COMPLEXES),
    Sample(complex_parts.conj_p, (ANYWHERE,), ("float32", "float64", *COMPLEXES), _conj),
    Sample(complex_parts.complex_p, (ANYWHERE, ANYWHERE), ("float32", "float64")),
]

SPECIAL = [
    *_unary([_s.erf_p, _s.erfc_p, _s.bessel_i0e_p, _s.bessel_i1e_p], ANYWHERE, FLOATS),
    Sample(_s.erf_inv_p, (INSIDE,), FLOATS),
    *_unary([_s.lgamma_p, _s.digamma_p], (0.3, 9.0), FLOATS),
    Sample(_s.polygamma_p, (_orders, POSITIVE), FLOATS, differentiable=(1,)),
    Sample(_s.zeta_p, ((1.5, 5.0), POSITIVE), FLOATS, differentiable=()),
    *[
        Sample(p, (POSITIVE, (0.3, 7.0)), FLOATS, has_second_order=False)
        for p in (_s.igamma_p, _s.igammac_p)
    ],
    Sample(_s.igamma_grad_a_p, (POSITIVE, (0.3, 7.0)), FLOATS, differentiable=()),
    Sample(
        _s.regularized_incomplete_beta_p,
        (POSITIVE, POSITIVE, (0.1, 0.9)),
        FLOATS,
        differentiable=(2,),
    ),
]

_y = scipy_special
#: Computed on the host in float64.
SCIPY = [
    *_unary([_y.erfcx_p, _y.dawsn_p, _y.log_ndtr_p, _y.fresnel_sin_p], ANYWHERE, FLOATS),
    *_unary([_y.fresnel_cos_p, _y.sici_sin_p], ANYWHERE, FLOATS),
    *_unary([_y.exp1_p, _y.expi_p, _y.sici_cos_p, _y.spence_p], POSITIVE, FLOATS),
    Sample(_y.ndtri_p, ((0.1, 0.9),), FLOATS),
    Sample(_y.owens_t_p, (ANYWHERE, ANYWHERE), FLOATS),
    Sample(_y.expn_p, (_orders, POSITIVE), FLOATS, differentiable=(1,)),
    Sample(_y.hyp1f1_p, (POSITIVE, POSITIVE, INSIDE), FLOATS, differentiable=(2,)),
    Sample(_y.hyp2f1_p, (POSITIVE, POSITIVE, POSITIVE, (-0.6, 0.6)), FLOATS, differentiable=(3,)),
]

OTHERS = [
    *[Sample(convert.convert_element_type_p, dtypes=ALL, params=_to(d), label=d) for d in ALL],
    Sample(
        convert.bitcast_convert_type_p,
        dtypes=("float32", "uint32", "int32"),
        params={"new_dtype": np.dtype("int32")},
        label="same-width",
    ),
    Sample(
        convert.bitcast_convert_type_p,
        dtypes=("float32", "float64", "int64"),
        params={"new_dtype": np.dtype("uint8")},
        label="narrower",
    ),
    Sample(select.select_n_p, (_which, ANYWHERE, ANYWHERE), ALL),
    Sample(select.select_n_p, (_index, ANYWHERE, ANYWHERE, ANYWHERE), ALL, label="index"),
    Sample(select.clamp_p, ((-2.0, -0.5), ANYWHERE, (0.5, 2.0)), (*INTEGERS, *FLOATS)),
    Sample(select.clamp_p, (_scalar(0), ANYWHERE, _scalar(1)), FLOATS, label="scalar"),
    Sample(identity.stop_gradient_p, dtypes=ALL),
    Sample(identity.optimization_barrier_p, dtypes=ALL),
]


def _reductions() -> list[Sample]:
    rows: list[Sample] = []
    r = reduction
    table = [
        (r.reduce_sum_p, NUMBERS),
        (r.reduce_prod_p, NUMBERS),
        (r.reduce_max_p, ALL),
        (r.reduce_min_p, ALL),
        (r.reduce_and_p, BITS),
        (r.reduce_or_p, BITS),
        (r.reduce_xor_p, BITS),
    ]
    for primitive, dts in table:
        for axes in ((0,), (0, 2), ()):
            params: dict[str, Any] = {"axes": axes}
            if primitive is r.reduce_sum_p:
                params["out_sharding"] = None
            label = "".join(map(str, axes)) or "none"
            rows.append(Sample(primitive, (ANYWHERE,), dts, params, (3, 2, 3), label))
    for primitive in (argreduce.argmax_p, argreduce.argmin_p):
        params = {"axes": (1,), "index_dtype": np.dtype("int32")}
        rows.append(Sample(primitive, (SMALL,), REAL_OR_BOOL, params, (3, 4)))
    c = cumulative
    for primitive in (c.cumsum_p, c.cumprod_p, c.cummax_p, c.cummin_p, c.cumlogsumexp_p):
        dts = INEXACT if primitive is c.cumlogsumexp_p else NUMBERS
        for reverse, length in ((False, 5), (True, 4), (False, 1)):
            params = {"axis": 1, "reverse": reverse}
            label = f"{length}{'-reverse' if reverse else ''}"
            rows.append(Sample(primitive, (ANYWHERE,), dts, params, (2, length), label))
    return rows


REDUCTIONS = _reductions()
#: Those that are one operation of JAX too; tests/scipy compares the others with JAX's functions.
IN_JAX = [*ELEMENTWISE, *SPECIAL, *OTHERS, *REDUCTIONS]
SAMPLES = [*IN_JAX, *SCIPY]
