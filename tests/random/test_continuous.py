"""Continuous distributions equal JAX's numbers, but for the last places that a case allows."""

import ml_dtypes
import numpy as np
import pytest

import jaxlite as jl
from tests.random.oracle import N, check, check_error

pytestmark = pytest.mark.jax_oracle

F16, BF16 = np.float16, ml_dtypes.bfloat16
PLAIN = ["exponential", "laplace", "logistic", "gumbel", "cauchy", "maxwell"]
#: JAX keeps some intermediate results of half precision in float32.
HALF = {("logistic", F16): 24, ("gumbel", F16): 16, ("maxwell", BF16): 2}
#: Tangents and powers are not XLA's polynomials; sums of three depend on how XLA splits the array.
OTHER = {"cauchy": 4, "maxwell": 2}


@pytest.mark.parametrize(
    "dtype", [None, *(pytest.param(dtype, marks=pytest.mark.slow) for dtype in (F16, BF16))]
)
@pytest.mark.parametrize("name", PLAIN)
def test_without_parameters(name, dtype):
    check(name, (N,), dtype, within=HALF.get((name, dtype), OTHER.get(name, 0)))


def test_gumbel_of_high_resolution():
    check("gumbel", (N,), mode="high")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "args", "within"),
    [
        ("double_sided_maxwell", (1.0, 2.0), 1000),
        ("weibull_min", (2.0, 3.0), 4),
        ("pareto", (3.0,), 0),
        ("rayleigh", (3.0,), 0),
        ("wald", (3.0,), 0),
        ("triangular", (-1.0, 0.5, 3.0), 0),
        ("lognormal", (0.5,), 0),
    ],
)
def test_with_parameters(name, args, within):
    check(name, *args, (N,), within=within)
    check(name, *map(int, args), (3,), within=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("wald", (np.float32([1, 2]),)),
        ("pareto", (np.float32([[1], [2]]), (2, 3))),
        ("double_sided_maxwell", (np.zeros(3, np.float32), 2.0, (5,))),
        ("double_sided_maxwell", (np.zeros(3, np.float32), 2.0, (5,), F16)),
        ("weibull_min", (np.ones((2, 3), np.float32), 1.0, (3,))),
        ("lognormal", ()),
        ("triangular", (np.float32([0, 1]), 1.5, 2.0)),
        ("exponential", ((2, 0),)),
    ],
)
def test_shapes_and_dtypes(name, args):
    check(name, *args, within=2)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *[(name, ((3,), np.int32)) for name in PLAIN],
        ("gumbel", ((3,), None, "foo")),
        ("double_sided_maxwell", (0.0, 1.0, (3,), np.int32)),
        ("weibull_min", (1.0, 1.0, (3,), np.int32)),
        *[(name, (1.0, (3,), np.int32)) for name in ("pareto", "rayleigh", "wald", "lognormal")],
        *[
            (name, (np.ones(2, np.float32), (3,)))
            for name in ("pareto", "rayleigh", "wald", "lognormal")
        ],
        *[
            (name, (np.ones((2, 3), np.float32), (3,)))
            for name in ("pareto", "rayleigh", "wald", "lognormal")
        ],
        ("triangular", (0.0, 0.5, np.ones(2, np.float32), (3,))),
    ],
)
def test_bad_arguments_raise_as_in_jax(name, args):
    check_error(name, *args)


@pytest.mark.parametrize(
    ("name", "args"),
    [("rayleigh", (2.0,)), ("pareto", (2.0,)), ("lognormal", (0.5,)), ("wald", (2.0,))],
)
def test_parameters_are_differentiable(name, args):
    def sample(p):
        return getattr(jl.random, name)(jl.random.key(3), p)

    (p,) = args
    step = 1e-2
    slope = (sample(p + step) - sample(p - step)) / (2 * step)
    assert jl.grad(sample)(p) == pytest.approx(float(slope), rel=1e-2)
