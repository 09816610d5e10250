"""``lax.custom_linear_solve`` and ``lax.custom_root``: derivatives of solutions, as JAX's."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
import pytest

import jaxlite
from tests.nn.oracle import check

pytestmark = pytest.mark.jax_oracle

A = np.float32([[3, 1, 0], [0, 2, 1], [1, 0, 4]])
B = np.float32([1, -2, 3])


def solve_with(lib: Any, a: Any, b: Any, **options: Any) -> Any:
    def by_jacobian(matvec: Any, y: Any) -> Any:
        return lib.lax.stop_gradient(lib.numpy.linalg.solve(lib.jacobian(matvec)(y), y))

    def with_aux(matvec: Any, y: Any) -> Any:
        return by_jacobian(matvec, y), {"steps": lib.numpy.float32(3)}

    solver = with_aux if options.get("has_aux") else by_jacobian
    return lib.lax.custom_linear_solve(lambda x: a @ x, b, solver, solver, **options)


def newton(lib: Any, f: Any, x: Any) -> Any:
    def step(state: Any) -> Any:
        i, x = state
        return i + 1, x - f(x) / lib.grad(f)(x)

    return lib.lax.while_loop(lambda state: state[0] < 12, step, (0, x))[1]


def square_root(lib: Any, a: Any) -> Any:
    return lib.lax.custom_root(
        lambda x: x**2 - a**3, 1.0, functools.partial(newton, lib), lambda g, y: y / g(1.0)
    )


def all_of_solve(lib: Any) -> Any:
    def run(a: Any, b: Any) -> Any:
        def loss(a: Any, b: Any) -> Any:
            return (solve_with(lib, a, b) ** 2).sum()

        symmetric = a + a.T
        return {
            "value": solve_with(lib, a, b, has_aux=True),
            "grad": lib.grad(loss, (0, 1))(a, b),
            "hessian": lib.hessian(loss)(a, b),
            "jacfwd": lib.jacfwd(functools.partial(solve_with, lib), (0, 1))(a, b),
            "symmetric": lib.jacrev(
                lambda b: solve_with(lib, symmetric, b, has_aux=True, symmetric=True)[0]
            )(b),
            "vmap b": lib.vmap(functools.partial(solve_with, lib), (None, 1), 1)(a, a),
            "vmap a": lib.vmap(functools.partial(solve_with, lib), (0, None))(
                lib.numpy.stack([a, 2 * a]), b
            ),
            "vmap grad": lib.vmap(lib.grad(loss), (None, 0))(a, a),
        }

    return lib.jit(run)(A, B)


def all_of_root(lib: Any) -> Any:
    def run(a: Any) -> Any:
        f = functools.partial(square_root, lib)
        return [f(a), lib.grad(f)(a), lib.grad(lib.grad(f))(a), lib.vmap(f)(a + np.arange(3.0))]

    return lib.jit(run)(np.float32(2))


@pytest.mark.parametrize("program", [all_of_solve, all_of_root])
def test_values_and_derivatives_are_those_of_jax(program: Any) -> None:
    ours, theirs = (jax.tree.leaves(program(lib)) for lib in (jaxlite, jax))
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-5)


def test_a_root_may_solve_its_tangents_with_factors_computed_outside() -> None:
    def root(lib: Any, a: Any, b: Any) -> Any:
        inverse = lib.numpy.linalg.inv(a)
        return lib.lax.custom_root(
            lambda x: a @ x - b,
            b,
            lambda f, x: (inverse @ b, lib.numpy.float32(1)),
            lambda g, y: lib.lax.custom_linear_solve(
                g, y, lambda _, y: inverse @ y, lambda _, y: inverse.T @ y
            ),
            has_aux=True,
        )

    for derivative in ("jacrev", "jacfwd"):
        ours, theirs = (
            getattr(lib, derivative)(lambda a, b, lib=lib: root(lib, a, b)[0], (0, 1))(A, B)
            for lib in (jaxlite, jax)
        )
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def same(f: Any, x: Any) -> Any:
    return x


BAD = [
    lambda lib: lib.lax.custom_linear_solve(lambda x: [x], 1.0, same, same),
    lambda lib: lib.lax.custom_linear_solve(lambda x: x, 1.0, lambda f, x: [x], same),
    lambda lib: lib.lax.custom_linear_solve(lambda x: x, 1.0, same, lambda f, x: [x]),
    lambda lib: lib.lax.custom_linear_solve(lambda x: x, 1.0, lambda f, x: B, same),
    lambda lib: lib.lax.custom_linear_solve(lambda x: B, 1.0, same, same),
    lambda lib: lib.grad(lambda b: lib.lax.custom_linear_solve(lambda x: x * 2, b, same))(1.0),
    lambda lib: lib.lax.custom_root(lambda x: (x, x), 0.0, same, same),
    lambda lib: lib.lax.custom_root(lambda x: x, 0.0, lambda f, x: (x, x), same),
    lambda lib: lib.lax.custom_root(lambda x: x, 0.0, same, lambda f, x: (x, x)),
    lambda lib: lib.lax.custom_root(lambda x: x, 0.0, same, same, has_aux=True),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_functions_are_refused_in_the_words_of_jax(case: int) -> None:
    check(BAD[case])
