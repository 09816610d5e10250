"""Special functions: where SciPy and JAX differ, the bits of normal numbers, the limits."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxlite
from jaxlite.primitives import cumulative, incomplete, reduction, special


@pytest.fixture
def _wide_types() -> Any:
    with jaxlite.enable_x64(True), jax.enable_x64(True):
        yield


@pytest.fixture
def _optimising_jax() -> Any:
    # Other tests of this session may have switched it off; the bits are those of the usual setting.
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.mark.jax_oracle
@pytest.mark.usefixtures("_optimising_jax")
def test_inverse_error_function_has_the_bits_of_jax() -> None:
    x = np.linspace(-1, 1, 20001, dtype=np.float32)
    mine = np.asarray(special.erf_inv(jaxlite.numpy.asarray(x))._data)
    other = np.asarray(jax.lax.erf_inv(x))
    np.testing.assert_array_equal(mine.view("int32"), other.view("int32"))


@pytest.mark.jax_oracle
@pytest.mark.usefixtures("_wide_types")
def test_gamma_gradients_equal_jax() -> None:
    # (For a = 400 JAX has three digits only.)
    a, x = (v.ravel() for v in np.meshgrid([0.3, 1.0, 2.5, 30.0], [0.2, 1.1, 7.0, 35.0]))
    np.testing.assert_allclose(
        special.random_gamma_grad(*map(jaxlite.numpy.asarray, (a, x)))._data,
        jax.lax.random_gamma_grad(*map(jax.numpy.asarray, (a, x))),
        rtol=1e-9,
    )


def test_gamma_gradient_equals_the_difference_of_gamma() -> None:
    a, x = (v.ravel() for v in np.meshgrid([0.3, 2.5, 30.0], [0.2, 3.0, 35.0]))
    step = 1e-6
    numeric = (incomplete.lower_gamma(a + step, x) - incomplete.lower_gamma(a - step, x)) / (
        2 * step
    )
    np.testing.assert_allclose(incomplete.lower_gamma_grad(a, x), numeric, rtol=1e-5, atol=1e-9)


def test_limits() -> None:
    inf, nan = np.inf, np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            incomplete.lower_gamma(*np.array([[2, inf], [inf, inf], [0, 1], [1, -1], [nan, 1]]).T),
            [1, 1, nan, nan, nan],
        )
        np.testing.assert_array_equal(
            incomplete.upper_gamma(*np.array([[2, inf], [2, 0]]).T), [0, 1]
        )
        np.testing.assert_array_equal(
            incomplete.hurwitz_zeta(*np.array([[1, 3.0], [2, -1], [3, -1], [2, inf]]).T),
            [inf, inf, nan, nan],
        )
        np.testing.assert_array_equal(
            incomplete.polygamma(*np.array([[-1, 1.0], [0.5, 1], [0, 0]]).T), [nan, nan, nan]
        )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: special.polygamma(x, x), ValueError, "respect to m is not supported"),
        (
            jaxlite.grad(lambda x: special.zeta(x, 2 * x)),
            NotImplementedError,
            "rule for 'zeta_slope_0' not implemented: it is a numerical derivative",
        ),
        (
            lambda x: special.igamma_grad_a(x, x),
            NotImplementedError,
            "Differentiation rule for 'igamma_grad_a' not implemented",
        ),
        (
            lambda x: special.regularized_incomplete_beta(x, x, x / 4),
            ValueError,
            "Betainc gradient with respect to a and b not supported.",
        ),
    ],
)
def test_unknown_derivatives_say_so(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        jaxlite.grad(call)(2.0)


@pytest.mark.jax_oracle
@pytest.mark.usefixtures("_wide_types")
@pytest.mark.parametrize("name", ["reduce_prod", "reduce_max", "cumprod", "cummax", "cummin"])
def test_derivatives_at_zeros_and_ties_equal_jax(name: str) -> None:
    x = np.array([[0.0, 2, 0], [0, 2, 3], [2, 2, 2], [1, 3, 3], [5, 2, 7]])
    if name.startswith("reduce"):
        mine = lambda x: getattr(reduction, name)(x, (1,)).sum()  # noqa: E731
        other = lambda x: getattr(jax.lax, f"{name}")(x, (1,)).sum()  # noqa: E731
    else:
        mine = lambda x: (getattr(cumulative, name)(x, 1) * weights).sum()  # noqa: E731
        other = lambda x: (getattr(jax.lax, name)(x, axis=1) * weights).sum()  # noqa: E731
    weights = np.arange(1.0, 16).reshape(5, 3)
    np.testing.assert_allclose(jaxlite.grad(mine)(x)._data, jax.grad(other)(x), rtol=1e-12)
