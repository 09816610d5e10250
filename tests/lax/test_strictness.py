"""What ``lax`` refuses, wraps and regroups as JAX does: one row per call."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jaxlite
from tests.nn.oracle import check

pytestmark = pytest.mark.jax_oracle

X = np.ones((3, 4), np.float32)
BYTES = (np.arange(6, dtype=np.uint8) * 17 + 1).reshape(2, 3)

CALLS = [
    # indices of one type
    lambda lib: lib.lax.dynamic_slice(X, (np.int32(1), np.int16(2)), (2, 2)),
    lambda lib: lib.lax.dynamic_slice(X, (1, lib.numpy.int16(2)), (2, 2)),
    lambda lib: lib.lax.dynamic_slice_in_dim(X, np.int16(1), 2),
    lambda lib: lib.lax.dynamic_slice_in_dim(X, lib.numpy.uint8(1), 2, axis=1),
    lambda lib: lib.jit(lambda i: lib.lax.dynamic_slice_in_dim(X, i, 2))(np.int16(2)),
    lambda lib: lib.lax.dynamic_update_slice_in_dim(X, 2 * X[:1], lib.numpy.uint8(2), 0),
    # reductions by a function of the user's
    lambda lib: lib.lax.reduce(X[0], X[0], lambda x, y: x + y, [0]),
    lambda lib: lib.lax.reduce_window(X[0], 0.0, lambda x, y: [x + y], (1,), (1,), "VALID"),
    # Python numbers that wrap, and that fit nowhere
    lambda lib: lib.lax.convert_element_type(2**32, "int32"),
    lambda lib: lib.lax.convert_element_type(2**31, int),
    lambda lib: lib.lax.convert_element_type(2**32, "float32"),
    lambda lib: lib.lax.convert_element_type(2**64, "int32"),
    # shapes
    lambda lib: lib.lax.broadcast_in_dim(X[:2, :2], (2, 3), (0, 0)),
    lambda lib: lib.lax.broadcast_in_dim(X[:3, :2], (2, 3), (0, 0)),
    lambda lib: lib.eval_shape(
        lambda x: lib.lax.top_k(x, 100), lib.ShapeDtypeStruct((2**31 + 1,), np.float16)
    ),
    # elements of less than a byte
    lambda lib: lib.lax.bitcast_convert_type(BYTES, "uint4").astype(int),
    lambda lib: lib.lax.bitcast_convert_type(BYTES, "int4").astype(int),
    lambda lib: lib.lax.bitcast_convert_type(lib.numpy.ones((3, 2), "uint4"), "uint8"),
    lambda lib: lib.jit(lambda x: lib.lax.bitcast_convert_type(x, "uint4").astype(int))(BYTES),
]


@pytest.mark.parametrize("case", range(len(CALLS)))
def test_lax_is_as_strict_as_that_of_jax(case: int) -> None:
    check(CALLS[case])


def test_padding_is_made_of_python_integers() -> None:
    sizes = np.int64([[5], [2], [1]])
    check(lambda lib: lib.numpy.asarray(lib.lax.padtype_to_pads(*sizes, "SAME")))


def test_primitives_have_the_names_of_jax() -> None:
    for name in ("add_p", "dot_general_p", "convert_element_type_p", "gather_p", "while_p"):
        primitive = getattr(jaxlite.lax, name)
        assert primitive.name == getattr(jax.lax, name).name
    jaxpr = jaxlite.make_jaxpr(lambda x: x + 1)(1.0)
    assert jaxpr.jaxpr.eqns[0].primitive is jaxlite.lax.add_p
    with pytest.raises(AttributeError, match="has no attribute 'nothing_p'"):
        jaxlite.lax.nothing_p  # noqa: B018
