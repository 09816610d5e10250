"""Initializers give JAX's numbers."""

import jax
import numpy as np
import pytest

import jaxlite as jl
from tests.nn.oracle import check
from tests.random.oracle import full_jax

pytestmark = pytest.mark.jax_oracle

SCALED = [
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "xavier_normal",
    "xavier_uniform",
]
PLAIN = ["normal", "uniform", "truncated_normal"]


def draw(lib, name, shape, *dtype, factory=(), **kwargs):
    initializer = getattr(lib.nn.initializers, name)(*factory, **kwargs)
    return initializer(lib.random.key(3), shape, *dtype)


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 3), (0, 3), (3,)])
@pytest.mark.parametrize(
    "name",
    ["lecun_normal", "glorot_uniform", *PLAIN]
    + [pytest.param(name, marks=pytest.mark.slow) for name in SCALED],
)
def test_numbers(name, shape):
    with full_jax():
        check(lambda lib: draw(lib, name, shape))


@pytest.mark.parametrize("dtype", [np.float16, np.complex64, np.int32])
@pytest.mark.parametrize("name", ["glorot_normal", "glorot_uniform", "normal", "uniform"])
def test_dtypes(name, dtype):
    with full_jax():
        check(lambda lib: draw(lib, name, (4, 3), dtype))


@pytest.mark.parametrize("mode", ["fan_in", "fan_out", "fan_avg", "fan_geo_avg", "x"])
@pytest.mark.parametrize("distribution", ["truncated_normal", "normal", "uniform", "x"])
@pytest.mark.slow
@pytest.mark.parametrize("kwargs", [{}, {"in_axis": (0, 1)}, {"batch_axis": 0}])
def test_variance_scaling(mode, distribution, kwargs):
    factory = (1.7, mode, distribution)
    with full_jax():
        check(lambda lib: draw(lib, "variance_scaling", (3, 4, 5), factory=factory, **kwargs))


def test_constants():
    check(lambda lib: lib.nn.initializers.constant(3)(lib.random.key(0), (2,)))
    check(lambda lib: lib.nn.initializers.ones(lib.random.key(0), (2,), np.int32))
    check(lambda lib: lib.nn.initializers.zeros(lib.random.key(0), (2,)))


def test_truncation_bounds():
    with full_jax():
        check(lambda lib: draw(lib, "truncated_normal", (30,), factory=(0.5,), lower=-1, upper=3.0))


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 4, 5), (3,)])
@pytest.mark.parametrize("kwargs", [{}, {"column_axis": 0}, {"scale": 2.0}])
def test_orthogonal(shape, kwargs):
    check(lambda lib: draw(lib, "orthogonal", shape, **kwargs))


@pytest.mark.parametrize("shape", [(3, 5, 4, 6), (2, 3, 3), (3, 3, 3, 4, 4), (3, 5, 4), (3,)])
def test_delta_orthogonal(shape):
    check(lambda lib: draw(lib, "delta_orthogonal", shape))


def test_initializers_are_initializers():
    assert isinstance(jl.nn.initializers.zeros, jl.nn.initializers.Initializer)
    assert isinstance(jl.nn.initializers.normal(), jl.nn.initializers.Initializer)


def test_every_name_of_jax_is_there():
    for ours, theirs in ((jl.nn, jax.nn), (jl.nn.initializers, jax.nn.initializers)):
        missing = {name for name in dir(theirs) if not name.startswith("_")} - set(dir(ours))
        # Block-scaled products run on GPUs with CUDA 12.8 only.
        assert missing <= {"scaled_matmul", "scaled_dot_general", "get_scaled_dot_general_config"}
    missing = {name for name in dir(jax.random) if not name.startswith("_")} - set(dir(jl.random))
    assert missing <= {"random_gamma_p"}
