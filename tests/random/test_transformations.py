"""Random functions under jit, vmap and grad: the same numbers as without, and as JAX's."""

import jax
import numpy as np
import pytest

import jaxlite as jl
from tests.random.oracle import full_jax

pytestmark = pytest.mark.jax_oracle

r = jl.random
CASES = {
    "uniform": lambda r, k: r.uniform(k, (5,), minval=-2.3, maxval=7.7),
    "normal": lambda r, k: r.normal(k, (5,)),
    "randint": lambda r, k: r.randint(k, (5,), 0, 10),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (5,)),
    "truncated_normal": lambda r, k: r.truncated_normal(k, -1.0, 2.0, (5,)),
    "exponential": lambda r, k: r.exponential(k, (5,)),
    "gumbel": lambda r, k: r.gumbel(k, (5,)),
    "laplace": lambda r, k: r.laplace(k, (5,)),
    "permutation": lambda r, k: r.permutation(k, 5),
    "choice": lambda r, k: r.choice(k, 7, (5,), replace=False),
    "categorical": lambda r, k: r.categorical(k, np.float32([0, 1, 2]), shape=(5,)),
    "split": lambda r, k: r.key_data(r.split(k, 5)),
    "fold_in": lambda r, k: r.key_data(r.fold_in(k, 5)),
    "bits": lambda r, k: r.bits(k, (5,), "uint8"),
}
SLOW = {
    "poisson": lambda r, k: r.poisson(k, 3.0, (5,)),
    "binomial": lambda r, k: r.binomial(k, 30, 0.5, (5,)),
    "gamma": lambda r, k: r.gamma(k, 2.5, (5,)),
    "beta": lambda r, k: r.beta(k, 2.5, 1.0, (5,)),
    "choice with weights": lambda r, k: r.choice(k, 3, (5,), p=np.float32([0.2, 0.3, 0.5])),
    "multivariate_normal": lambda r, k: r.multivariate_normal(
        k, np.zeros(2, np.float32), np.eye(2, dtype=np.float32), (5,)
    ),
}
ALL = [*CASES, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.mark.parametrize("name", ALL)
def test_jit_changes_no_number(name):
    draw = {**CASES, **SLOW}[name]
    eager = np.asarray(draw(r, r.key(1)))
    jitted = np.asarray(jl.jit(lambda k: draw(r, k))(r.key(1)))
    assert jitted.dtype == eager.dtype
    np.testing.assert_allclose(jitted, eager, rtol=3e-7, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_vmap_over_keys_is_a_loop(name):
    draw = {**CASES, **SLOW}[name]
    keys = r.split(r.key(1), 3)
    mapped = np.asarray(jl.vmap(lambda k: draw(r, k))(keys))
    loop = np.stack([np.asarray(draw(r, keys[i])) for i in range(3)])
    assert mapped.dtype == loop.dtype
    np.testing.assert_allclose(mapped, loop, rtol=3e-7, atol=1e-6)


def test_vmap_over_raw_keys():
    keys = r.split(r.PRNGKey(1), 3)
    mapped = np.asarray(jl.vmap(r.uniform)(keys))
    assert mapped.tolist() == [float(r.uniform(k)) for k in keys]


def test_derivative_of_uniform_by_its_ends():
    def slope(library):
        key = library.random.key(0)
        return library.grad(lambda x: library.random.uniform(key, minval=x, maxval=2 * x))(1.3)

    with full_jax():
        assert float(slope(jl)) == pytest.approx(float(slope(jax)), rel=1e-6)


def test_derivative_of_truncated_normal_by_its_bounds():
    def slope(library):
        key = library.random.key(0)
        return library.grad(lambda x: library.random.truncated_normal(key, -x, x))(1.5)

    with full_jax():
        assert float(slope(jl)) == pytest.approx(float(slope(jax)), rel=1e-5)


def test_keys_carried_by_a_loop():
    def step(carry, _):
        key, total = carry
        key, sub = r.split(key)
        return (key, total + r.normal(sub)), None

    (key, total), _ = jl.lax.scan(step, (r.key(0), 0.0), None, length=4)
    expected_key, expected = r.key(0), 0.0
    for _ in range(4):
        expected_key, sub = r.split(expected_key)
        expected = expected + r.normal(sub)
    assert np.asarray(r.key_data(key)).tolist() == np.asarray(r.key_data(expected_key)).tolist()
    assert float(total) == pytest.approx(float(expected), rel=1e-6)
