"""Attention equals JAX's: grouped heads, masks, windows, lengths, errors, derivatives."""

import numpy as np
import pytest

import jaxlite as jl
from tests.nn.oracle import check

pytestmark = pytest.mark.jax_oracle

_random = np.random.default_rng(0)


def normal(*shape):
    return _random.standard_normal(shape).astype(np.float32)


Q, K, V = normal(2, 5, 4, 8), normal(2, 6, 2, 8), normal(2, 6, 2, 8)
BIAS, MASK = normal(1, 4, 5, 5), _random.random((2, 1, 5, 5)) > 0.5
LENGTHS = np.int32([3, 5])

GOOD = {
    "grouped heads": ((Q, K, V), {}),
    "causal": ((Q, K, V), {"is_causal": True}),
    "bias, mask and scale": ((Q, Q, Q, BIAS, MASK), {"scale": 0.3}),
    "lengths and window": (
        (Q, Q, Q),
        {
            "query_seq_lengths": LENGTHS,
            "key_value_seq_lengths": np.int32([4, 5]),
            "local_window_size": (2, 1),
        },
    ),
    "window on both sides": ((Q, Q, Q), {"local_window_size": 2}),
    "half precision": ((Q.astype(np.float16),) * 3, {}),
    "no batch": ((Q[0], Q[0], Q[0]), {}),
    "no batch, bias and length": (
        (Q[0], Q[0], Q[0], normal(4, 5, 5)),
        {"query_seq_lengths": np.int32([1])},
    ),
    "small bias": ((Q, Q, Q, normal(5, 5)), {"implementation": "xla"}),
}
BAD = {
    "head sizes": ((Q, K[..., :4], V), {}),
    "value length": ((Q, K, V[:, :3]), {}),
    "number of heads": ((Q, normal(2, 6, 3, 8), normal(2, 6, 3, 8)), {}),
    "cudnn": ((Q, K, V), {"implementation": "cudnn"}),
    "implementation": ((Q, K, V), {"implementation": "foo"}),
    "mask dtype": ((Q, Q, Q, None, np.ones((2, 1, 5, 5), np.float32)), {}),
    "value dtype": ((Q, Q, Q.astype(np.float16)), {}),
    "query rank": ((Q[0, 0], Q, Q), {}),
    "lengths shape": ((Q, Q, Q), {"query_seq_lengths": np.ones(3, np.int32)}),
    "lengths dtype": ((Q, Q, Q), {"query_seq_lengths": np.float32([1, 2])}),
}


@pytest.mark.parametrize("case", [*GOOD, *BAD])
def test_attention(case):
    args, kwargs = {**GOOD, **BAD}[case]
    check(lambda lib: lib.nn.dot_product_attention(*args, **kwargs))


def test_residual():
    for i in (0, 1):
        check(lambda lib, i=i: lib.nn.dot_product_attention(Q, K, V, return_residual=True)[i])


@pytest.mark.parametrize("argument", [0, 1, 2])
def test_derivatives(argument):
    def slope(lib):
        def loss(*qkv):
            return (lib.nn.dot_product_attention(*qkv, is_causal=True) ** 2).sum()

        return lib.grad(loss, argument)(Q, K, V)

    check(slope)


def test_jit_changes_nothing():
    eager = np.asarray(jl.nn.dot_product_attention(Q, K, V, is_causal=True))
    jitted = jl.jit(lambda q, k, v: jl.nn.dot_product_attention(q, k, v, is_causal=True))(Q, K, V)
    np.testing.assert_allclose(np.asarray(jitted), eager, rtol=1e-5, atol=1e-6)
