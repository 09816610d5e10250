"""Normal vectors and orthogonal matrices are JAX's, up to LAPACK's last places."""

import jax
import numpy as np
import pytest

import jaxlite as jl
from tests.random.oracle import check, check_error

pytestmark = pytest.mark.jax_oracle

COV = np.float32([[2, 0.5, 0.1], [0.5, 1, 0.3], [0.1, 0.3, 0.7]])
MEAN = np.arange(3, dtype=np.float32)


@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_multivariate_normal(method):
    check("multivariate_normal", MEAN, COV, (101,), method=method, near=1e-5)


@pytest.mark.parametrize(
    ("mean", "cov"),
    [(np.zeros((4, 3), np.float32), COV), (np.zeros(3, np.int32), np.stack([COV] * 5))],
)
def test_multivariate_normal_broadcasts(mean, cov):
    check("multivariate_normal", mean, cov, near=1e-5)


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"shape": (2,), "m": 5}, {"shape": (2,), "m": 2}, {"dtype": np.complex64}, {"m": 0}],
)
def test_orthogonal(kwargs):
    check("orthogonal", 3, near=1e-5, **kwargs)


def test_covariance_of_many_samples():
    x = np.asarray(jl.random.multivariate_normal(jl.random.key(0), MEAN, COV, (20_000,)))
    np.testing.assert_allclose(x.mean(0), MEAN, atol=0.05)
    np.testing.assert_allclose(np.cov(x.T), COV, atol=0.1)


@pytest.mark.parametrize(
    "args",
    [
        (0.0, COV),
        (MEAN, MEAN),
        (np.zeros(2, np.float32), COV),
        (np.zeros((4, 3), np.float32), COV, ()),
        (MEAN, COV, None, np.int32),
    ],
)
def test_bad_arguments_raise_as_in_jax(args):
    check_error("multivariate_normal", *args)


def test_an_unknown_method_is_refused():
    for library in (jl, jax):
        with pytest.raises(ValueError, match="method must be one of"):
            library.random.multivariate_normal(library.random.key(0), MEAN, COV, method="foo")
    check_error("orthogonal", 2.0)
