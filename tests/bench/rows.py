"""The workloads. In: a library (``jax``-like module, its ``numpy``, ``lax``).

Out: a function and its arguments.

Every row is written once, as a notebook user would write it, and runs unchanged on jaxlite and on
JAX.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

Row = Callable[[SimpleNamespace], tuple[Callable[..., Any], tuple[Any, ...]]]
ROWS: dict[str, Row] = {}


def row(name: str) -> Callable[[Row], Row]:
    """Register a workload under ``name``."""

    def register(make: Row) -> Row:
        ROWS[name] = make
        return make

    return register


def data(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normal float32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@row("scalar add (dispatch)")
def scalar_add(lib: SimpleNamespace) -> Any:
    a, b = lib.jnp.float32(1.5), lib.jnp.float32(2.5)
    return (lambda a, b: a + b), (a, b)


@row("20-leaf pytree (dispatch)")
def pytree(lib: SimpleNamespace) -> Any:
    tree = {f"k{i}": lib.jnp.ones(3) * i for i in range(20)}
    return (lambda t: {k: v + 1.0 for k, v in t.items()}), (tree,)


@row("newton while_loop, scalar")
def newton(lib: SimpleNamespace) -> Any:
    def f(a: Any) -> Any:
        return lib.lax.while_loop(
            lambda x: lib.jnp.abs(x * x - a) > 1e-6 * a, lambda x: 0.5 * (x + a / x), a
        )

    return f, (lib.jnp.float32(2.0),)


@row("tanh(x)*exp(-x*x)+sin(x), 1e6")
def transcendental(lib: SimpleNamespace) -> Any:
    jnp = lib.jnp
    return (lambda x: jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(x)), (jnp.asarray(data(1_000_000)),)


@row("grad of its sum, 1e6")
def transcendental_grad(lib: SimpleNamespace) -> Any:
    jnp = lib.jnp
    f = lambda x: (jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(x)).sum()  # noqa: E731
    return lib.jax.grad(f), (jnp.asarray(data(1_000_000)),)


@row("a*x+y, 1e7")
def axpy(lib: SimpleNamespace) -> Any:
    jnp = lib.jnp
    x, y = jnp.asarray(data(10_000_000)), jnp.asarray(data(10_000_000, seed=1))
    return (lambda a, x, y: a * x + y), (jnp.float32(2.0), x, y)


@row("sum, 1e7")
def total(lib: SimpleNamespace) -> Any:
    return (lambda x: x.sum()), (lib.jnp.asarray(data(10_000_000)),)


@row("softmax 4096x1024")
def softmax(lib: SimpleNamespace) -> Any:
    return (lambda x: lib.jax.nn.softmax(x, axis=-1)), (lib.jnp.asarray(data(4096, 1024)),)


@row("layer norm 4096x1024")
def layer_norm(lib: SimpleNamespace) -> Any:
    jnp = lib.jnp

    def f(x: Any, g: Any, b: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        var = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / jnp.sqrt(var + 1e-5) * g + b

    return f, (
        jnp.asarray(data(4096, 1024)),
        jnp.asarray(data(1024)),
        jnp.asarray(data(1024, seed=2)),
    )


@row("gelu 4096x1024")
def gelu(lib: SimpleNamespace) -> Any:
    return lib.jax.nn.gelu, (lib.jnp.asarray(data(4096, 1024)),)


@row("logsumexp over axis 0, 1000x1000")
def logsumexp(lib: SimpleNamespace) -> Any:
    f = lambda x: lib.jax.nn.logsumexp(x, axis=0)  # noqa: E731
    return f, (lib.jnp.asarray(data(1000, 1000)),)


@row("matmul+bias+gelu 512")
def dense(lib: SimpleNamespace) -> Any:
    jnp = lib.jnp
    f = lambda x, w, b: lib.jax.nn.gelu(x @ w + b)  # noqa: E731
    return f, (
        jnp.asarray(data(512, 512)),
        jnp.asarray(data(512, 512, seed=1)),
        jnp.asarray(data(512)),
    )


@row("MLP 784-512-512-10 SGD step, batch 128")
def mlp(lib: SimpleNamespace) -> Any:
    jnp, jax = lib.jnp, lib.jax
    sizes = [784, 512, 512, 10]
    params = [
        (jnp.asarray(data(a, b, seed=i) / np.sqrt(a)), jnp.zeros(b))
        for i, (a, b) in enumerate(itertools.pairwise(sizes))
    ]

    def loss(params: Any, x: Any, t: Any) -> Any:
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        logp = jax.nn.log_softmax(x @ w + b)
        return -(logp * t).sum(1).mean()

    def step(params: Any, x: Any, t: Any) -> Any:
        g = jax.grad(loss)(params, x, t)
        return jax.tree_util.tree_map(lambda p, d: p - 0.1 * d, params, g)

    t = jnp.asarray(np.eye(10, dtype=np.float32)[np.arange(128) % 10])
    return step, (params, jnp.asarray(data(128, 784)), t)


@row("tiny MLP step (8-16-1, batch 32)")
def tiny_mlp(lib: SimpleNamespace) -> Any:
    jnp, jax = lib.jnp, lib.jax
    params = {
        "w1": jnp.asarray(data(8, 16)),
        "b1": jnp.zeros(16),
        "w2": jnp.asarray(data(16, 1)),
        "b2": jnp.zeros(1),
    }

    def loss(p: Any, x: Any, t: Any) -> Any:
        h = jnp.tanh(x @ p["w1"] + p["b1"])
        return ((h @ p["w2"] + p["b2"] - t) ** 2).mean()

    def step(p: Any, x: Any, t: Any) -> Any:
        return jax.tree_util.tree_map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, x, t))

    return step, (params, jnp.asarray(data(32, 8)), jnp.asarray(data(32, 1, seed=5)))


@row("Lorenz RK4, 500 steps of scan, 64 points")
def lorenz(lib: SimpleNamespace) -> Any:
    jnp, lax = lib.jnp, lib.lax

    def deriv(s: Any) -> Any:
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s: Any, _: Any) -> Any:
        dt = 0.005
        k1 = deriv(s)
        k2 = deriv(s + 0.5 * dt * k1)
        k3 = deriv(s + 0.5 * dt * k2)
        k4 = deriv(s + dt * k3)
        return s + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return (lambda s: lax.scan(step, s, None, length=500)[0]), (jnp.asarray(data(3, 64)),)


@row("mandelbrot 512x512, 100 steps")
def mandelbrot(lib: SimpleNamespace) -> Any:
    jnp, lax = lib.jnp, lib.lax
    xs = np.linspace(-2, 1, 512, dtype=np.float32)
    ys = np.linspace(-1.5, 1.5, 512, dtype=np.float32)
    cx, cy = np.meshgrid(xs, ys)

    def f(cx: Any, cy: Any) -> Any:
        def body(_: Any, state: Any) -> Any:
            x, y, n = state
            alive = x * x + y * y < 4.0
            nx = jnp.where(alive, x * x - y * y + cx, x)
            ny = jnp.where(alive, 2.0 * x * y + cy, y)
            return nx, ny, n + alive

        zero = jnp.zeros_like(cx)
        return lax.fori_loop(0, 100, body, (zero, zero, jnp.zeros(cx.shape, jnp.int32)))[2]

    return f, (jnp.asarray(cx), jnp.asarray(cy))


@row("normal 1e6")
def normal(lib: SimpleNamespace) -> Any:
    return (lambda key: lib.jax.random.normal(key, (1_000_000,))), (lib.jax.random.key(0),)


@row("cumsum 1e6")
def cumsum(lib: SimpleNamespace) -> Any:
    return (lambda x: lib.jnp.cumsum(x)), (lib.jnp.asarray(data(1_000_000)),)


@row("sort 1e6")
def sort(lib: SimpleNamespace) -> Any:
    return (lambda x: lib.jnp.sort(x)), (lib.jnp.asarray(data(1_000_000)),)


@row("transpose+1 2048x2048")
def transposed(lib: SimpleNamespace) -> Any:
    return (lambda x: x.T + 1.0), (lib.jnp.asarray(data(2048, 2048)),)
