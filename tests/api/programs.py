"""Programs that run unchanged on jaxlite and on JAX.

Each takes a library and returns a function and arguments.

``smooth`` programs are differentiated in every way; the others are only run, jitted and vmapped.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

Program = Callable[[SimpleNamespace], tuple[Callable[..., Any], tuple[Any, ...]]]
SMOOTH: dict[str, Program] = {}
OTHER: dict[str, Program] = {}


def smooth(make: Program) -> Program:
    """Register a differentiable program with a scalar or array result of floats."""
    SMOOTH[make.__name__] = make
    return make


def other(make: Program) -> Program:
    """Register a program that is only run."""
    OTHER[make.__name__] = make
    return make


X = np.array([0.3, -1.2, 2.0], np.float32)
M = np.array([[0.5, -0.2, 0.1], [0.4, 1.3, -0.7], [0.2, 0.6, 0.9]], np.float32)


@smooth
def polynomial(m):
    return (lambda x: x**3 - 2.0 * x + 1.0), (X,)


@smooth
def sin_times_x(m):
    return (lambda x: m.jnp.sin(x) * x), (X,)


@smooth
def softmax_loss(m):
    def f(w, x):
        z = x @ w
        return -(m.jax.nn.log_softmax(z)[..., 0]).mean()

    return f, (M, M.T.copy())


@smooth
def tanh_network(m):
    def f(p, x):
        h = m.jnp.tanh(x @ p["w"] + p["b"])
        return (h**2).sum()

    return f, ({"w": M, "b": X}, M)


@smooth
def where_and_max(m):
    return (lambda x: m.jnp.where(x > 0, x**2, m.jnp.maximum(-x, 0.5))), (X,)


@smooth
def indexing(m):
    return (lambda x: x[1] * x[0:2].sum() + x[::-1] * x[m.jnp.array([0, 2, 2])]), (X,)


@smooth
def at_set_and_add(m):
    return (lambda x: x.at[0].set(x[1] * 2.0).at[m.jnp.array([1, 1])].add(x[2])), (X,)


@smooth
def einsum(m):
    return (lambda a, b: m.jnp.einsum("ij,kj->ik", a, b)), (M, M * 0.5)


@smooth
def reductions(m):
    return (lambda a: a.max(0) + a.min(1) + a.mean() + m.jnp.prod(a, axis=0) + a.std()), (M,)


@smooth
def cumulative(m):
    return (lambda x: m.jnp.cumsum(x) * m.jnp.cumprod(x)), (X,)


@smooth
def sorting(m):
    return (lambda x: m.jnp.sort(x) * m.jnp.arange(3.0)), (X,)


@smooth
def concatenation(m):
    return (lambda x: m.jnp.concatenate([x, x * 2.0]).reshape(2, 3).T), (X,)


@smooth
def padding(m):
    return (lambda x: m.jnp.pad(x, (1, 2)) ** 2), (X,)


@smooth
def inner_jit(m):
    inner = m.jax.jit(lambda x, y: m.jnp.exp(x) * y)
    return (lambda x: inner(x, x) + inner(x, 2.0)), (X,)


@smooth
def closed_over_in_jit(m):
    def f(x):
        y = x * 2.0
        return m.jax.jit(lambda z: z * y)(x)

    return f, (X,)


@smooth
def scan_sum(m):
    def f(c, xs):
        def body(c, x):
            c = m.jnp.sin(c) * x + c
            return c, c * x

        return m.lax.scan(body, c, xs)

    return f, (np.float32(0.5), X)


@smooth
def scan_with_closure(m):
    def f(w, x):
        return m.lax.scan(lambda h, _: (m.jnp.tanh(w @ h), h.sum()), x, None, length=4)

    return f, (M, X)


@smooth
def scan_reverse(m):
    return (lambda xs: m.lax.scan(lambda c, x: (c * x, c), 1.0, xs, reverse=True)[1]), (X,)


@smooth
def scan_with_counter(m):
    def f(x):
        def body(state, _):
            i, c = state
            return (i + 1, c * x + i), i

        (_, c), _ = m.lax.scan(body, (0, x), None, length=3)
        return c

    return f, (X,)


@smooth
def fori_static(m):
    return (lambda x: m.lax.fori_loop(0, 3, lambda i, c: c * x + i, x)), (X,)


@smooth
def cond_branches(m):
    def f(x):
        return m.lax.cond(x.sum() > 0, lambda x: m.jnp.sin(x) * x, lambda x: x**2, x)

    return f, (X,)


@smooth
def switch_branches(m):
    def f(x):
        return m.lax.switch(1, [lambda x: x, lambda x: m.jnp.exp(x), lambda x: -x], x)

    return f, (X,)


@smooth
def associative_products(m):
    return (lambda x: m.lax.associative_scan(m.jnp.multiply, x)), (
        np.arange(1, 8, dtype=np.float32) / 4,
    )


@smooth
def mapped(m):
    return (lambda x: m.lax.map(lambda v: m.jnp.sin(v) * x.sum(), x)), (X,)


@smooth
def checkpointed(m):
    @m.jax.checkpoint
    def g(x):
        return m.jnp.sin(m.jnp.sin(x) * x)

    return (lambda x: g(g(x))), (X,)


@smooth
def checkpointed_with_policy(m):
    policy = m.jax.checkpoint_policies.dots_saveable
    g = m.jax.checkpoint(lambda a, x: m.jnp.sin(m.jnp.sin(a @ x)) * x, policy=policy)
    return (lambda a, x: g(a, g(a, x))), (M, X)


@smooth
def custom_jvp(m):
    @m.jax.custom_jvp
    def g(x):
        return m.jnp.sin(x)

    @g.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return g(x), 3.0 * m.jnp.cos(x) * t

    return (lambda x: g(x) * x), (X,)


@smooth
def stop_gradient(m):
    return (lambda x: m.lax.stop_gradient(x) * x), (X,)


@smooth
def gelu_and_friends(m):
    return (lambda x: m.jax.nn.gelu(x) + m.jax.nn.relu(x) + m.jax.nn.softplus(x)), (X,)


@smooth
def nested_vmap(m):
    return m.jax.vmap(lambda r: m.jax.vmap(lambda v: m.jnp.tanh(v) * r.sum())(r)), (M,)


@smooth
def vmap_of_inner_grad(m):
    return m.jax.vmap(m.jax.grad(lambda v: m.jnp.sin(v) ** 2)), (X,)


@smooth
def matrix_products(m):
    return (lambda a, x: m.jnp.dot(a, x) + a @ a @ x), (M, X)


@smooth
def logsumexp(m):
    return (lambda a: m.jax.nn.logsumexp(a, axis=1)), (M,)


@smooth
def dynamic_slices(m):
    def f(x):
        part = m.lax.dynamic_slice(x, (1,), (2,))
        return m.lax.dynamic_update_slice(x, part * 2.0, (0,))

    return f, (X,)


@smooth
def broadcasting(m):
    return (lambda x: x[:, None] * x[None, :] + m.jnp.ones((3, 1))), (X,)


@other
def custom_vjp(m):
    @m.jax.custom_vjp
    def g(x):
        return m.jnp.sin(x)

    g.defvjp(lambda x: (m.jnp.sin(x), x), lambda x, ct: (5.0 * ct * m.jnp.cos(x),))
    return m.jax.grad(lambda x: (g(x) * x).sum()), (X,)


@other
def custom_vjp_with_function_argument(m):
    def apply(f, x):
        return f(x)

    g = m.jax.custom_vjp(apply, nondiff_argnums=(0,))
    g.defvjp(lambda f, x: (f(x), x), lambda f, x, ct: (7.0 * ct * x,))
    return m.jax.grad(lambda x: g(m.jnp.sin, x).sum()), (X,)


@other
def newton(m):
    def f(x):
        return m.lax.while_loop(
            lambda s: m.jnp.abs(s * s - x) > 1e-3, lambda s: 0.5 * (s + x / s), x
        )

    return (lambda x: m.jax.vmap(f)(m.jnp.abs(x) + 0.1)), (X,)


@other
def while_jvp(m):
    def f(x):
        return m.lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, m.jnp.sin(s[1])), (0, x))[
            1
        ]

    return (lambda x: m.jax.jvp(f, (x,), (x,))), (X,)


@other
def fori_dynamic(m):
    return (lambda n, x: m.lax.fori_loop(0, n, lambda i, c: c + x[i], 0.0)), (np.int32(3), X)


@other
def iterator_is_read_once(m):
    def f(x):
        values = iter(range(10))
        return m.lax.fori_loop(0, 10, lambda i, c: c + next(values), 0) + x

    return f, (np.int32(0),)


@other
def integers(m):
    return (
        lambda x: (x // 3, x % 3, x << 2, x & 5, m.jnp.argmax(x), m.jnp.bincount(x, length=8))
    ), (np.array([5, 2, 7], np.int32),)


@other
def weak_carry(m):
    return (lambda x: m.lax.scan(lambda c, v: (c + v, c), 0, x)), (X,)


@other
def linearized(m):
    return (lambda x: m.jax.linearize(lambda v: m.jnp.sin(v) * v, x)[1](x)), (X,)


@other
def pulled_back_twice(m):
    def f(x):
        y, pull = m.jax.vjp(lambda v: m.jnp.exp(v) * v, x)
        return y, pull(x), pull(2.0 * x)

    return f, (X,)


@other
def jacobians(m):
    f = lambda a, x: m.jnp.tanh(a @ x)  # noqa: E731
    return (lambda a, x: (m.jax.jacfwd(f, 1)(a, x), m.jax.jacrev(f, (0, 1))(a, x))), (M, X)


@other
def aux_values(m):
    f = lambda x: ((x**2).sum(), {"y": x * 2.0})  # noqa: E731
    return m.jax.value_and_grad(f, has_aux=True), (X,)


@other
def random_numbers(m):
    def f(seed):
        key = m.jax.random.key(seed)
        a, b = m.jax.random.split(key)
        return (
            m.jax.random.bits(a, (5,)),
            m.jax.random.uniform(b, (3,)),
            m.jax.random.randint(a, (4,), 0, 10),
        )

    return f, (np.int32(7),)


@other
def complex_numbers(m):
    def f(x):
        z = m.lax.complex(x, x[::-1])
        return m.jnp.real(z * m.jnp.conj(z)), m.jnp.abs(z), m.jnp.angle(z)

    return f, (X,)
