"""Taylor mode equals derivatives of the function along the path, order by order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.experimental.jet import jet

M = jnp.array([[2.0, 0.5], [0.3, 1.5]])
V = jnp.array([0.4, 0.7])


@jax.custom_jvp
def tripled(x: Any) -> Any:
    return jnp.sin(x)


@tripled.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return tripled(*primals), 3.0 * jnp.cos(primals[0]) * tangents[0]


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sin": (jnp.sin, (0.5,)),
    "exp of a product": (lambda x, y: jnp.exp(x * y), (0.5, 0.3)),
    "quotient": (lambda x, y: x / (1 + y), (0.5, 0.3)),
    "constant over x": (lambda x: 2.0 / x, (0.5,)),
    "power": (lambda x, y: x**y + x**3, (0.5, 0.3)),
    "log, sqrt": (lambda x: jnp.log(x) * jnp.sqrt(x), (V,)),
    "tanh, logistic": (lambda x: jnp.tanh(x) + jax.nn.sigmoid(x), (V,)),
    "erf, atan2": (lambda x: lax.erf(x) + jnp.arctan2(x, x + 1), (V,)),
    "matrix product": (lambda x: x @ x @ V, (M,)),
    "inverse": (jnp.linalg.inv, (M,)),
    "structure": (lambda x: jnp.concatenate([x[::-1], x.reshape(1, 2)[0], x * 2])[1:], (V,)),
    "where, max": (lambda x: jnp.where(x > 0.5, x * x, -x).max(), (V,)),
    "softmax": (jax.nn.softmax, (V,)),
    "sort, gather": (lambda x: jnp.sort(x * x)[jnp.array([1, 0, 1])], (V,)),
    "reductions": (lambda x: jnp.sum(x * x) * jnp.cumsum(x) + jnp.prod(x), (V,)),
    "scan": (lambda x: lax.scan(lambda c, y: (c * jnp.sin(y), c), x, V)[0], (0.5,)),
    "while": (lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * c + 1, x), (0.5,)),
    "cond": (lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), (0.5,)),
    "jit": (jax.jit(lambda x: jnp.exp(jnp.sin(x))), (0.5,)),
    "grad": (jax.grad(lambda x: jnp.sin(x) * x), (0.5,)),
    "vmap": (jax.vmap(lambda x: jnp.sin(x) * x), (V,)),
    "relu": (jax.nn.relu, (V,)),
    "constant": (lambda x: 3.0, (0.5,)),
    "mixed": (lambda x, y: x + y.astype(jnp.float32).sum() * x, (0.5, V)),
}
ORDER = 3


def by_nested_derivatives(
    f: Callable[..., Any], primals: Any, series: Any, order: int
) -> list[Any]:
    """Differentiate ``f(path(t))`` at 0 one derivative after the other."""
    factorials = [1.0, 2.0, 6.0, 24.0]

    def along(t: Any) -> Any:
        return f(
            *[
                p + sum(c * t ** (k + 1) / factorials[k] for k, c in enumerate(s))
                for p, s in zip(primals, series, strict=True)
            ]
        )

    derivatives = [along]
    for _ in range(order):
        derivatives.append(jax.jacfwd(derivatives[-1]))
    return [d(0.0) for d in derivatives]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_terms_are_the_derivatives_along_the_path(name: str) -> None:
    f, primals = FUNCTIONS[name]
    primals = tuple(jnp.asarray(p) for p in primals)
    rng = np.random.RandomState(0)
    series = [
        [jnp.asarray(rng.uniform(-1, 1, p.shape).astype(np.float32)) for _ in range(ORDER)]
        for p in primals
    ]
    y, terms = jet(f, primals, series)
    found = [y, *terms]
    for k, expected in enumerate(by_nested_derivatives(f, primals, series, ORDER)):
        np.testing.assert_allclose(found[k], expected, rtol=2e-4, atol=2e-4, err_msg=f"order {k}")


def test_a_custom_rule_is_used() -> None:
    _, terms = jet(tripled, (0.0,), ((1.0, 0.0, 0.0),))
    # y' = 3 cos x, y'' = -3 sin x, y''' = -3 cos x.
    np.testing.assert_allclose(terms, [3.0, 0.0, -3.0], atol=1e-6)


def test_pytrees_and_taylor_coefficients() -> None:
    y, terms = jet(lambda t: {"a": t["b"] ** 2}, ({"b": 3.0},), (({"b": 1.0}, {"b": 0.0}),))
    assert float(y["a"]) == 9.0
    assert [float(t) for t in terms["a"]] == [6.0, 2.0]
    _, terms = jet(jnp.exp, (0.0,), ((1.0, 0.0, 0.0),), factorial_scaled=False)
    np.testing.assert_allclose(terms, [1, 1 / 2, 1 / 6], rtol=1e-6)
    assert jet(jnp.sin, (0.0,), ((),)) == (0.0, [])


def test_it_can_be_compiled_and_differentiated() -> None:
    def third(x: Any) -> Any:
        return jet(jnp.sin, (x,), ((1.0, 0.0, 0.0),))[1][2]

    assert float(jax.jit(third)(0.5)) == pytest.approx(-np.cos(0.5), rel=1e-5)
    assert float(jax.grad(third)(0.5)) == pytest.approx(np.sin(0.5), rel=1e-5)
    np.testing.assert_allclose(jax.vmap(third)(V), -np.cos(V), rtol=1e-5)


def test_the_work_grows_slowly_with_the_order() -> None:
    def size(order: int) -> int:
        jaxpr = jax.make_jaxpr(lambda x: jet(jnp.exp, (x,), ([1.0] * order,)))(0.5)
        return len(jaxpr.eqns)

    assert size(10) < 12 * size(5)


def test_bad_series() -> None:
    with pytest.raises(ValueError, match="jet terms have inconsistent lengths"):
        jet(jnp.add, (1.0, 2.0), ((1.0,), (1.0, 2.0)))
    with pytest.raises(ValueError, match="term 0 for argument 0 is not a pytree"):
        jet(lambda t: t["a"], ({"a": 1.0},), ((1.0,),))
    with pytest.raises(ValueError, match="jet takes one series per argument"):
        jet(jnp.sin, (1.0,), ((1.0,), (1.0,)))
