"""Text of stages 4 and 5 for small programs: read it to see what the compiler does."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.compiler.fuse import fuse
from jaxlite.compiler.lower import lower
from jaxlite.compiler.optimise import optimise
from jaxlite.compiler.plan_memory import plan_memory
from tests.compiler.programs import f32


def chain(x: Any) -> Any:
    return jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(x)


def softmax(x: Any) -> Any:
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def laplace(u: Any) -> Any:
    p = jnp.pad(u, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u


def layer(w: Any, b: Any, x: Any) -> Any:
    return jnp.tanh(x @ w + b)


def loss_gradient(w: Any, x: Any, y: Any) -> Any:
    return jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)


def histogram(bins: Any, values: Any) -> Any:
    return bins.at[(values * 4).astype(int)].add(1)


def running_mean(x: Any) -> Any:
    def step(mean: Any, v: Any) -> Any:
        mean = 0.9 * mean + 0.1 * v
        return mean, mean

    return jax.lax.scan(step, x[0], x)


def newton(a: Any) -> Any:
    return jax.lax.while_loop(
        lambda x: jnp.abs(x * x - a) > 1e-3, lambda x: 0.5 * (x + a / x), jnp.float32(1)
    )


def column_norms(x: Any) -> Any:
    return x / jnp.sqrt(jnp.sum(x * x, 0))


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "chain": (chain, (f32(100, 10),)),
    "softmax": (softmax, (f32(8, 100),)),
    "laplace": (laplace, (f32(30, 40),)),
    "layer": (layer, (f32(100, 50), f32(50), f32(20, 100))),
    "loss_gradient": (loss_gradient, (f32(5), f32(20, 5), f32(20))),
    "histogram": (histogram, (np.zeros(8, np.int32), f32(100))),
    "running_mean": (running_mean, (f32(30, 4),)),
    "newton": (newton, (np.float32(2),)),
    "column_norms": (column_norms, (f32(50, 600),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_stages(name: str, golden: Callable[[str, str], None]) -> None:
    f, args = PROGRAMS[name]
    closed = jax.make_jaxpr(f)(*args)
    better = optimise(closed)
    plan = fuse(better)
    program = plan_memory(lower(plan, name)[0])
    parts = {
        "Stage 3, jaxpr": closed,
        "Stage 4, optimise": better,
        "Stage 5, fuse": plan,
        "Stage 5, lower": program,
    }
    text = "\n\n".join(f"# {title}\n\n{part}" for title, part in parts.items())
    # Line numbers would change with every edit above.
    golden(f"compiler/{name}", re.sub(r"(test_golden\.py):\d+", r"\1", text))
