"""Uniform, normal, integer and truth-valued samples are JAX's, bit for bit."""

import jax
import ml_dtypes
import numpy as np
import pytest

import jaxlite as jl
from tests.random.oracle import N, check, check_error, full_jax, slow, ulps

FLOATS = [None, np.float32, np.float16, ml_dtypes.bfloat16]
INTS = [None, np.uint8, *slow(np.int32, np.uint32, np.int8, np.int16)]

pytestmark = pytest.mark.jax_oracle


@pytest.mark.parametrize("dtype", [*FLOATS, *slow(ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)])
def test_uniform(dtype):
    check("uniform", (N,), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("ends", [(2.3, 7.7), (-5, 7.7), (-1, 1), (0, 3.3), (4, 4), (3, 1)])
def test_uniform_between_ends_rounds_once_as_fused_kernels_do(dtype, ends):
    check("uniform", (N,), dtype, *ends)


def test_uniform_between_huge_ends():
    check("uniform", (N,), None, 1e30, 2e38)


def test_uniform_between_arrays():
    low, high = np.float32([[1], [2]]), np.linspace(3, 9, N, dtype=np.float32)
    check("uniform", (2, N), minval=low, maxval=high)


def test_uniform_of_a_raw_key_and_odd_shapes():
    check("uniform", (N,), raw=True)
    check("uniform")
    check("uniform", 3)
    check("uniform", [2, 3])
    check("uniform", (2, 0))


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype):
    check("normal", (N,), dtype)


def test_normal_of_complex_numbers():
    check("normal", (N,), np.complex64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_truncated_normal(dtype):
    check("truncated_normal", -1, 2.0, (N,), dtype)


def test_truncated_normal_of_arrays():
    check("truncated_normal", np.float32([[-1], [-2]]), np.linspace(0, 2, N, dtype=np.float32))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("ends", [(3, 100), (-2, 300), (10, 0), (0, 1), (5, 6.9)])
def test_randint(dtype, ends):
    check("randint", (N,), *ends, dtype)


def test_randint_over_whole_ranges():
    check("randint", (N,), -(2**31), 2**31 - 1)
    check("randint", (N,), np.uint32(5), np.uint32(2**32 - 1), np.uint32)
    check("randint", (N,), 0, 256, np.uint8)
    check("randint", (N,), -128, 128, np.int8)


def test_randint_between_arrays():
    check("randint", (2, 3), np.arange(3, dtype=np.int32), np.int32([[5], [9]]))


@pytest.mark.parametrize("mode", ["low", *slow("high")])
@pytest.mark.parametrize("p", [0.3, np.float16(0.3), np.float32([0.1, 0.9])])
def test_bernoulli(mode, p):
    check("bernoulli", p, (N, 2), mode)
    check("bernoulli", p, mode=mode)


def test_bernoulli_by_default():
    check("bernoulli")


@pytest.mark.parametrize("dtype", [None, np.float32, *slow(np.complex64, np.bool_, np.int8)])
def test_rademacher(dtype):
    check("rademacher", (N,), dtype)


@pytest.mark.parametrize(
    ("name", "args", "within"),
    [
        ("uniform", ((N,),), 0),
        ("uniform", ((N,), None, -2.3, 7.7), 0),
        ("randint", ((N,), 0, 2**40), 0),
        *slow(
            ("bits", ((N,),), 0),
            ("permutation", (N,), 0),
            ("rademacher", ((N,),), 0),
            ("fold_in", (7,), 0),
            # SciPy's inverse error function is more accurate than the oracle's polynomial.
            ("normal", ((N,),), 64),
        ),
    ],
)
def test_with_64_bit_types(name, args, within):
    seed = 2**40 + 5
    with jl.enable_x64(True), jax.enable_x64(True), full_jax():
        ours = getattr(jl.random, name)(jl.random.key(seed), *args)
        theirs = getattr(jax.random, name)(jax.random.key(seed), *args)
        if name == "fold_in":
            ours, theirs = jl.random.key_data(ours), jax.random.key_data(theirs)
        assert ours.dtype == theirs.dtype
        assert ulps(ours, theirs) <= within


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("uniform", ((2,), np.int32)),
        ("uniform", ((2,), np.complex64)),
        ("uniform", ((2.5,),)),
        ("normal", ((2,), np.int32)),
        ("truncated_normal", (0.0, 1.0, (3,), np.int32)),
        ("truncated_normal", (np.zeros(2, np.float32), 1.0, (3,))),
        ("truncated_normal", (-np.ones((2, 3), np.float32), 1.0, (3,))),
        ("randint", ((2,), 0, 10, np.float32)),
        ("randint", ((2,), 0, 10, np.bool_)),
        ("randint", ((2,), np.zeros(3, np.int32), 10)),
        ("randint", ((3,), np.zeros((2, 3), np.int32), 10)),
        ("bernoulli", (1,)),
        ("bernoulli", (0.5, (), "x")),
        ("bernoulli", (np.float32([0.1, 0.5]), (3,))),
    ],
)
def test_bad_arguments_raise_as_in_jax(name, args):
    check_error(name, *args)


def test_bounds_beyond_the_integer_type_overflow():
    with pytest.raises(OverflowError):
        jl.random.randint(jl.random.key(0), (2,), 0, 2**40)


def test_a_dtype_that_is_not_enabled_warns():
    with pytest.warns(UserWarning, match="dtype float64"):
        out = jl.random.uniform(jl.random.key(0), (2,), np.float64)
    assert out.dtype == np.float32


def test_negative_sizes_and_shardings_are_refused():
    with pytest.raises(ValueError, match="non-negative"):
        jl.random.uniform(jl.random.key(0), (-1,))
    with pytest.raises(NotImplementedError, match="one device"):
        jl.random.uniform(jl.random.key(0), (1,), out_sharding="x")
