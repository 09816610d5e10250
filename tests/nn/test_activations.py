"""Activations and their derivatives equal JAX's, at kinks and infinities too."""

import ml_dtypes
import numpy as np
import pytest

import jaxlite as jl
from tests.nn.oracle import check

pytestmark = pytest.mark.jax_oracle

# fmt: off
VALUES = np.float32([
    -np.inf, -200, -50, -6, -3, -2, -1, -0.7, -0.1, -1e-20, -0.0, 0, 1e-20, 0.1, 0.5, 0.6931472,
    0.7, 1, 2, 3, 6, 7, 50, 200, np.inf, np.nan,
])
# fmt: on
NAMES = [name for name in jl.nn.activations.__all__ if name != "glu"]
WITH_PARAMETER = [
    ("elu", 0.3),
    ("celu", 0.3),
    ("leaky_relu", 0.3),
    ("squareplus", 0.3),
    ("gelu", False),
]


@pytest.mark.parametrize(
    "x",
    [
        VALUES,
        pytest.param(VALUES.astype(np.float16), marks=pytest.mark.slow),
        pytest.param(VALUES.astype(ml_dtypes.bfloat16), marks=pytest.mark.slow),
        np.int32([-2, 0, 3, 6]),
        1.5,
        2,
    ],
    ids=["f32", "f16", "bf16", "i32", "float", "int"],
)
@pytest.mark.parametrize("name", NAMES)
def test_values(name, x):
    # The oracle drops the weak type of some results of integers.
    weak = np.asarray(x).dtype.kind != "i"
    check(lambda lib: getattr(lib.nn, name)(lib.numpy.asarray(x) if np.ndim(x) else x), weak=weak)


@pytest.mark.parametrize("name", NAMES)
def test_first_derivative(name):
    check(lambda lib: lib.vmap(lib.grad(getattr(lib.nn, name)))(VALUES))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_second_derivative(name):
    check(lambda lib: lib.vmap(lib.grad(lib.grad(getattr(lib.nn, name))))(VALUES), tolerance=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_jit_changes_nothing(name):
    function = getattr(jl.nn, name)
    eager, jitted = (np.asarray(f(VALUES)) for f in (function, jl.jit(function)))
    np.testing.assert_allclose(jitted, eager, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("name", "parameter"), WITH_PARAMETER)
def test_parameters(name, parameter):
    check(lambda lib: getattr(lib.nn, name)(VALUES, parameter))
    check(lambda lib: lib.vmap(lib.grad(lambda x: getattr(lib.nn, name)(x, parameter)))(VALUES))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_glu(axis):
    x = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 4, 3)
    check(lambda lib: lib.nn.glu(lib.numpy.asarray(x), axis))


@pytest.mark.parametrize("name", ["relu", "gelu", "celu", "identity", "elu", "selu", "leaky_relu"])
def test_lists_are_refused(name):
    check(lambda lib: getattr(lib.nn, name)([1.0, 2.0]))


def test_derivative_of_relu_at_zero_is_zero():
    assert float(jl.grad(jl.nn.relu)(0.0)) == 0.0
    assert float(jl.grad(jl.nn.relu6)(6.0)) == 0.0
