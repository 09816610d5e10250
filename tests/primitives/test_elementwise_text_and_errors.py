"""Messages and printed equations of elementwise primitives and reductions are JAX's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import jaxlite
from jaxlite.language.primitive import Primitive
from jaxlite.primitives import (
    argreduce,
    arithmetic,
    bitwise,
    comparison,
    convert,
    cumulative,
    elementwise,
    reduction,
    rounding,
    select,
)
from jaxlite.primitives import complex as complex_parts

pytestmark = pytest.mark.jax_oracle

F3, F4 = np.zeros(3, "float32"), np.zeros(4, "float32")
F34, I3 = np.zeros((3, 4), "float32"), np.zeros(3, "int32")
B3, B4, C3 = np.zeros(3, "bool"), np.zeros(4, "bool"), np.zeros(3, "complex64")
EMPTY = np.zeros((0, 2), "float32")

Call = tuple[Primitive, tuple[Any, ...], dict[str, Any]]

BAD: list[Call] = [
    (arithmetic.add_p, (F3, F4), {}),
    (arithmetic.add_p, (F3, F34), {}),
    (arithmetic.add_p, (F3, I3), {}),
    (arithmetic.mul_p, (B3, B3), {}),
    (arithmetic.rem_p, (C3, C3), {}),
    (arithmetic.rem_p, (F3, I3), {}),
    (arithmetic.neg_p, (B3,), {}),
    (arithmetic.abs_p, (B3,), {}),
    (arithmetic.pow_p, (I3, F3), {}),
    (arithmetic.pow_p, (F3, np.zeros(3, "float16")), {}),
    (arithmetic.integer_pow_p, (I3,), {"y": -1}),
    (elementwise.exp_p, (I3,), {}),
    (elementwise.cbrt_p, (C3,), {}),
    (rounding.floor_p, (C3,), {}),
    (rounding.is_finite_p, (I3,), {}),
    (rounding.reduce_precision_p, (F3,), {"exponent_bits": 0, "mantissa_bits": 3}),
    (rounding.reduce_precision_p, (F3,), {"exponent_bits": 3, "mantissa_bits": -1}),
    (bitwise.and_p, (F3, F3), {}),
    (bitwise.clz_p, (B3,), {}),
    (comparison.lt_p, (C3, C3), {}),
    (comparison.eq_p, (F3, I3), {}),
    (complex_parts.real_p, (F3,), {}),
    (complex_parts.complex_p, (F3, C3), {}),
    (select.select_n_p, (B3, F3, F4), {}),
    (select.select_n_p, (B3, F3, I3), {}),
    (select.select_n_p, (F3, F3, F3), {}),
    (select.select_n_p, (B4, F3, F3), {}),
    (select.select_n_p, (B3, F3, F3, F3), {}),
    (select.clamp_p, (F4, F3, F3), {}),
    (select.clamp_p, (I3, F3, F3), {}),
    (select.clamp_p, (F3, F3, F4), {}),
    (convert.bitcast_convert_type_p, (F3,), {"new_dtype": np.dtype("bool")}),
    (
        convert.bitcast_convert_type_p,
        (np.zeros(3, "float16"),),
        {"new_dtype": np.dtype("float32")},
    ),
    (reduction.reduce_sum_p, (F3,), {"axes": (0, 0), "out_sharding": None}),
    (reduction.reduce_sum_p, (F3,), {"axes": (1,), "out_sharding": None}),
    (reduction.reduce_sum_p, (B3,), {"axes": (0,), "out_sharding": None}),
    (reduction.reduce_and_p, (F3,), {"axes": (0,)}),
    (argreduce.argmax_p, (EMPTY,), {"axes": (0,), "index_dtype": np.dtype("int32")}),
    (argreduce.argmax_p, (F34,), {"axes": (2,), "index_dtype": np.dtype("int32")}),
    (argreduce.argmax_p, (F34,), {"axes": (0,), "index_dtype": np.dtype("float32")}),
    (cumulative.cumsum_p, (F3,), {"axis": 1, "reverse": False}),
    (cumulative.cummax_p, (B3,), {"axis": 0, "reverse": False}),
]


def theirs(primitive: Primitive) -> Callable[..., Any]:
    bind = getattr(jax.lax, f"{primitive.name}_p").bind
    accurate = primitive.name in ("exp", "cbrt", "sin", "tanh", "log")
    return lambda *args, **params: bind(*args, **params, **({"accuracy": None} if accurate else {}))


def message_of(call: Callable[[], Any]) -> tuple[type, str]:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    return caught.type, str(caught.value).splitlines()[0]


@pytest.mark.parametrize("call", BAD, ids=lambda c: c[0].name)
def test_error_is_the_one_of_jax(call: Call) -> None:
    primitive, args, params = call
    mine = message_of(lambda: jaxlite.eval_shape(lambda *a: primitive.bind(*a, **params), *args))
    other = message_of(lambda: jax.eval_shape(lambda *a: theirs(primitive)(*a, **params), *args))
    assert mine == other


GOOD: list[Call] = [
    (arithmetic.neg_p, (F3,), {}),
    (arithmetic.integer_pow_p, (F3,), {"y": 3}),
    (elementwise.exp_p, (F3,), {}),
    (arithmetic.add_p, (F3, np.float32(1)), {}),
    (arithmetic.max_p, (I3, I3), {}),
    (rounding.reduce_precision_p, (F3,), {"exponent_bits": 5, "mantissa_bits": 3}),
    (complex_parts.conj_p, (C3,), {"input_dtype": np.dtype("complex64")}),
    (select.select_n_p, (B3, F3, F3), {}),
    (select.clamp_p, (np.float32(0), F3, np.float32(1)), {}),
    (
        convert.convert_element_type_p,
        (F3,),
        {"new_dtype": np.dtype("int32"), "weak_type": False, "sharding": None},
    ),
    (convert.bitcast_convert_type_p, (F3,), {"new_dtype": np.dtype("int32")}),
    (reduction.reduce_sum_p, (F34,), {"axes": (0,), "out_sharding": None}),
    (reduction.reduce_max_p, (F34,), {"axes": (0, 1)}),
    (argreduce.argmax_p, (F34,), {"axes": (0,), "index_dtype": np.dtype("int32")}),
    (cumulative.cumsum_p, (F34,), {"axis": 1, "reverse": True}),
]


@pytest.mark.parametrize("call", GOOD, ids=lambda c: c[0].name)
def test_jaxpr_is_printed_as_in_jax(call: Call) -> None:
    primitive, args, params = call
    mine = str(jaxlite.make_jaxpr(lambda *a: primitive.bind(*a, **params))(*args))
    other = str(jax.make_jaxpr(lambda *a: theirs(primitive)(*a, **params))(*args))
    assert re.sub(r"\s+", " ", mine) == re.sub(r"\s+", " ", other)
