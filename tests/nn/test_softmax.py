"""Softmax and its kin equal JAX's, with masks, infinities and their derivatives."""

import numpy as np
import pytest

import jaxlite as jl
from jaxlite import settings
from tests.nn.oracle import check
from tests.random.oracle import slow

pytestmark = pytest.mark.jax_oracle

INF = np.inf
ROWS = np.float32(
    [[1, 2, 3], [-INF, 0, 1], [-INF, -INF, -INF], [INF, 0, 1], [np.nan, 1, 2], [1e30, -1e30, 0]]
)
TAME = np.float32([[1, 2, 3], [0.5, -1, 4], [0, 0, 0], [-3, 1, 2], [7, 7, 9], [1, -1, 0.1]])
MASK = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1], [0, 1, 1]], bool)
NAMES = ["softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"]
AXES = [1, None, *(pytest.param(axis, marks=pytest.mark.slow) for axis in (0, -1, (0, 1)))]


@pytest.mark.parametrize("where", [None, MASK], ids=["all", "some"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", NAMES)
def test_values(name, axis, where):
    for x in (ROWS, TAME.astype(np.int8)):
        if name == "standardize":  # infinities differ by the rounding of inf - inf
            x = TAME.astype(x.dtype)
        # The oracle's rsqrt is an approximation.
        tolerance = 2e-5 if name == "standardize" else None
        check(
            lambda lib, x=x: getattr(lib.nn, name)(lib.numpy.asarray(x), axis=axis, where=where),
            tolerance=tolerance,
        )


@pytest.mark.parametrize("name", NAMES)
def test_values_of_half_precision(name):
    check(lambda lib: getattr(lib.nn, name)(lib.numpy.asarray(TAME, np.float16), axis=1))


@pytest.mark.parametrize("where", [None, *slow(MASK)], ids=["all", "some"])
@pytest.mark.parametrize("axis", [1, *slow(None)])
@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name, axis, where):
    weights = np.float32([[1, 2, 3]])

    def slope(lib, x):
        def loss(x):
            out = getattr(lib.nn, name)(x, axis=axis, where=where)
            return (out * (weights if out.ndim == 2 else 2.0)).sum()

        return lib.grad(loss)(x)

    # The oracle's rsqrt is an approximation.
    check(slope, TAME, tolerance=2e-5 if name == "standardize" else None)
    if (
        name != "standardize"
    ):  # infinite inputs make it NaN in ways that depend on the order of sums
        check(slope, ROWS[:3])


def test_factors_and_signs():
    check(lambda lib: lib.nn.logsumexp(TAME, b=TAME, axis=1, keepdims=True))
    for i in (0, 1):
        check(lambda lib, i=i: lib.nn.logsumexp(TAME, b=-TAME, axis=1, return_sign=True)[i])


def test_complex_exponents():
    z = np.complex64([1 + 1j, 2, -3j])
    check(lambda lib: lib.nn.logsumexp(z))
    for i in (0, 1):
        check(lambda lib, i=i: lib.nn.logsumexp(z, return_sign=True)[i])


def test_standardize_with_given_moments_and_other_formula():
    check(lambda lib: lib.nn.standardize(TAME, mean=1.0, variance=2.0))
    check(lambda lib: lib.nn.standardize(TAME, algorithm="stable"))
    check(lambda lib: lib.nn.standardize(TAME, algorithm="x"))


@pytest.mark.parametrize("name", NAMES)
def test_empty_lists_and_bad_axes(name):
    check(lambda lib: getattr(lib.nn, name)([1.0, 2.0]))
    check(lambda lib: getattr(lib.nn, name)(lib.numpy.zeros(0)))
    with pytest.raises((ValueError, IndexError)):
        getattr(jl.nn, name)(TAME, axis=2)


def test_softmax_with_its_own_rule():
    rows = ROWS[:2]
    with settings.override(softmax_custom_jvp=True):
        slope = jl.grad(lambda x: (jl.nn.softmax(x) * rows[0]).sum())(rows)
    plain = jl.grad(lambda x: (jl.nn.softmax(x) * rows[0]).sum())(rows)
    np.testing.assert_allclose(np.asarray(slope), np.asarray(plain), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((np.int32([0, 3, -1]), 3), {}),
        ((1, 3), {}),
        (([1, 2], 3), {}),
        ((np.int32([0, 1]), 3), {"dtype": np.int8}),
        ((np.int32([0, 1]), 3), {"axis": 0}),
        ((np.int32([0, 1]), 3), {"axis": 2}),
        ((np.float32([0.5, 1]), 3), {}),
        ((np.int32([0, 1]), 2.5), {}),
        ((np.array([True, False]), 3), {}),
    ],
)
def test_one_hot(args, kwargs):
    check(lambda lib: lib.nn.one_hot(*args, **kwargs))


def test_one_hot_needs_a_known_number_of_classes():
    check(lambda lib: lib.jit(lambda n: lib.nn.one_hot(np.int32([0, 1]), n))(3))
