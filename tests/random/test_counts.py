"""Counting distributions draw JAX's numbers."""

import numpy as np
import pytest

from tests.random.oracle import check, check_error

pytestmark = pytest.mark.jax_oracle

N = 307
THIRDS = np.ones(3, np.float32) / 3


@pytest.mark.parametrize(
    "lam",
    [3.0, *(pytest.param(lam, marks=pytest.mark.slow) for lam in (0.0, 9.9, 10.0, 30.0, 1e6))],
)
def test_poisson(lam):
    check("poisson", lam, (N,))


@pytest.mark.slow
def test_poisson_of_odd_parameters():
    check("poisson", np.float32([0, np.nan, -1, 5, 50, np.inf]))
    check("poisson", 2.0, dtype=np.uint8)
    check("poisson", 2)
    check("poisson", np.ones((2, 1), np.float32), (2, 3))
    check("poisson", 1.0, (0,))


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 5, 100, 10000])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 0.9, 1.0])
def test_binomial(n, p):
    check("binomial", n, p, (N,))


@pytest.mark.slow
def test_binomial_of_odd_parameters():
    n = np.float32([-1, np.nan, 5, 5, np.inf, 5, 3.7])
    p = np.float32([0.5, 0.5, np.nan, -0.1, 0.5, 1.5, 0.2])
    check("binomial", n, p)
    check("binomial", 10, 0.5, (N,), np.float16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((10, THIRDS), {}),
        ((np.float32([10, 2000]), np.ones((2, 3), np.float32) / 3), {}),
        ((10.0, THIRDS), {"shape": (4, 3)}),
        ((10, np.float32([0.2, 0.3, 0.5])), {"unroll": 2, "dtype": np.int32}),
        ((10, np.zeros(3, np.float32)), {}),
    ],
)
def test_multinomial(args, kwargs):
    check("multinomial", *args, **kwargs)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("poisson", (1.0, (3,), np.float32)),
        ("poisson", (np.ones(2, np.float32), (3,))),
        ("poisson", ([1.0],)),
        ("binomial", (10, 0.5, (3,), np.int32)),
        ("binomial", (10, np.ones(2, np.float32), (3,))),
        ("multinomial", (10, 0.5)),
    ],
)
def test_bad_arguments_raise_as_in_jax(name, args):
    check_error(name, *args)
