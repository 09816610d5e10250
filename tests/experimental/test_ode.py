"""Solutions and gradients of differential equations against exact ones and SciPy's."""

from typing import Any

import numpy as np
import pytest
import scipy.integrate

import jaxlite as jax
from jaxlite import numpy as jnp
from jaxlite.experimental.ode import odeint

T = jnp.linspace(0.0, 2.0, 5)


def pendulum(y: Any, t: Any, friction: Any, gravity: Any) -> Any:
    return jnp.array([y[1], -friction * y[1] - gravity * jnp.sin(y[0])])


def test_a_pendulum_as_scipy_solves_it() -> None:
    start = [np.pi - 0.1, 0.0]

    def field(y: Any, t: float) -> list[float]:
        return [y[1], -0.25 * y[1] - 9.8 * np.sin(y[0])]

    expected = scipy.integrate.odeint(field, start, np.asarray(T), rtol=1e-8)
    with jax.enable_x64(True):
        times = jnp.linspace(0.0, 2.0, 5)
        found = odeint(pendulum, jnp.array(start), times, 0.25, 9.8)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_gradients_are_those_of_the_exact_solution() -> None:
    def last(y0: Any, rate: Any, times: Any) -> Any:
        return odeint(lambda y, t, k: -k * y, y0, times, rate)[-1]

    by_start, by_rate, by_times = jax.grad(last, argnums=(0, 1, 2))(3.0, 0.5, T)
    # y(t) = y0 exp(-k (t1 - t0))
    decay = np.exp(-1.0)
    assert float(by_start) == pytest.approx(decay, rel=1e-4)
    assert float(by_rate) == pytest.approx(-2.0 * 3.0 * decay, rel=1e-4)
    slope = 0.5 * 3.0 * decay
    np.testing.assert_allclose(by_times, [slope, 0, 0, 0, -slope], atol=1e-4)


def test_closures_integers_and_pytrees() -> None:
    def closed_over(rate: Any) -> Any:
        return odeint(lambda y, t: -rate * y, 3.0, T)[-1]

    assert float(jax.grad(closed_over)(0.5)) == pytest.approx(-6.0 * np.exp(-1.0), rel=1e-4)

    def with_integer(y0: Any) -> Any:
        return odeint(lambda y, t, n: -y * n, y0, T, jnp.array(2))[-1]

    assert float(jax.grad(with_integer)(1.0)) == pytest.approx(np.exp(-4.0), rel=1e-3)
    out = odeint(lambda y, t: {"a": y["b"], "b": -y["a"]}, {"a": 0.0, "b": 1.0}, T)
    np.testing.assert_allclose(out["a"], np.sin(T), atol=1e-5)
    assert out["b"].shape == (5,)


def test_it_can_be_compiled_and_batched() -> None:
    def solve(rate: Any) -> Any:
        return odeint(lambda y, t: -rate * y, 1.0, T)

    rates = jnp.array([0.5, 2.0])
    expected = np.exp(-np.outer(rates, T))
    np.testing.assert_allclose(jax.jit(jax.vmap(solve))(rates), expected, atol=1e-5)


def test_complex_and_largest_step() -> None:
    out = odeint(lambda y, t: 1j * y, 1 + 0j, T, hmax=0.1)
    np.testing.assert_allclose(out, np.exp(1j * np.asarray(T)), atol=1e-5)


def test_arguments_must_be_arrays() -> None:
    with pytest.raises(TypeError, match=r"The contents of odeint \*args must be arrays or scalars"):
        odeint(lambda y, t, name: y, 1.0, T, "text")
