"""The gamma family draws JAX's samples, up to the last places; its derivatives are JAX's too."""

import jax
import numpy as np
import pytest

import jaxlite as jl
from tests.random.oracle import check, check_error, full_jax, slow

pytestmark = pytest.mark.jax_oracle

N = 307


@pytest.mark.parametrize(
    "a", [0.3, *(pytest.param(a, marks=pytest.mark.slow) for a in (0.001, 1.0, 2.5, 100.0))]
)
@pytest.mark.parametrize("name", ["gamma", *slow("loggamma")])
def test_gamma(name, a):
    check(name, a, (N,), near=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_gamma_of_odd_parameters(name):
    check(name, np.float32([0, -1, np.nan, np.inf, 1]), near=2e-6)
    check(name, np.ones((2, 1), np.float32), (2, 3), near=2e-6)
    check(name, 1, (0,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("beta", (0.5, 0.7, (N,))),
        ("beta", (np.float32([1, 2]), 3.0)),
        ("dirichlet", (np.float32([0.1, 0.5, 2]), (N,))),
        ("dirichlet", (np.ones((2, 3), np.float32), (4, 2))),
        ("chisquare", (3.0, (N,))),
        ("t", (3.0, (N,))),
        ("f", (3.0, 4.0, (N,))),
        ("generalized_normal", (1.5, (N,))),
        ("generalized_normal", (2, (N,))),
        ("ball", (3, 2, (N,))),
        ("ball", (3, 1.5, (N,))),
        ("ball", (2, 1)),
    ],
)
def test_family(name, args):
    check(name, *args, near=2e-6)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("gamma", (1.0, (3,), np.int32)),
        ("loggamma", (1.0, (3,), np.int32)),
        ("gamma", (np.ones(2, np.float32), (3,))),
        ("gamma", (np.ones((2, 3), np.float32), (3,))),
        ("beta", (1.0, 1.0, (3,), np.int32)),
        ("beta", (1.0, np.ones(2, np.float32), (3,))),
        ("dirichlet", (1.0,)),
        ("dirichlet", (np.ones(3, np.float32), (2,), np.int32)),
        ("dirichlet", (np.ones((2, 3), np.float32), ())),
        ("chisquare", (1.0, (3,), np.int32)),
        ("t", (np.ones((2, 3), np.float32), (3,))),
        ("f", (1.0, np.ones(2, np.float32), (3,))),
        ("generalized_normal", (1.0, (3,), np.int32)),
        ("ball", (3, 2, (), np.int32)),
    ],
)
def test_bad_arguments_raise_as_in_jax(name, args):
    check_error(name, *args)


@pytest.mark.slow
@pytest.mark.parametrize("a", [0.3, 1.5, 20.0])
@pytest.mark.parametrize("name", ["gamma", "loggamma", "chisquare", "t"])
def test_derivative_of_a_sample_by_its_parameter(name, a):
    with full_jax():
        ours = jl.grad(lambda a: getattr(jl.random, name)(jl.random.key(5), a))(a)
        theirs = jax.grad(lambda a: getattr(jax.random, name)(jax.random.key(5), a))(a)
    assert float(ours) == pytest.approx(float(theirs), rel=1e-4)


@pytest.mark.slow
def test_derivatives_of_beta_and_dirichlet():
    alpha = np.float32([0.5, 1.0, 3.0])

    def slopes(library):
        random, key = library.random, library.random.key(5)
        by_a = library.grad(lambda a: random.beta(key, a, 2.0))(1.5)
        by_alpha = library.grad(lambda a: random.dirichlet(key, a)[0])(alpha)
        return np.append(np.asarray(by_alpha), by_a)

    with full_jax():
        np.testing.assert_allclose(slopes(jl), slopes(jax), rtol=1e-4, atol=1e-6)


def test_samples_do_not_depend_on_their_neighbours():
    many = jl.random.gamma(jl.random.key(1), np.float32([0.1, 5.0, 30.0]))
    with_others = jl.random.gamma(jl.random.key(1), np.float32([0.1, 0.2, 30.0]))
    assert many[0] == with_others[0]
    assert many[2] == with_others[2]
