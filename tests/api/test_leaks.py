"""``checking_leaks``: what outlives its trace is found with its holder; nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.errors import TracerLeakError

KEPT: list[Any] = []


class Holder:
    value: Any = None


HOLDER = Holder()


def leaky(x: Any) -> Any:
    KEPT.append(x * 2)
    return x


def leaky_attribute(x: Any) -> Any:
    HOLDER.value = x
    return x


def leaky_closure(x: Any) -> Any:
    y = x * 2

    def inner() -> Any:
        return y

    KEPT.append(inner)
    return x


LEAKS: dict[str, tuple[Callable[[], Any], str]] = {
    "jit": (lambda: jax.jit(leaky)(1.0), "DynamicJaxprTrace"),
    "vmap": (lambda: jax.vmap(leaky)(jnp.ones(3)), "BatchTrace"),
    "scan": (lambda: lax.scan(lambda c, _: (leaky(c), None), 1.0, None, 3), "DynamicJaxprTrace"),
    "while": (
        lambda: lax.while_loop(lambda c: c < 3, lambda c: leaky(c) + 1, 1.0),
        "DynamicJaxprTrace",
    ),
    "cond": (lambda: lax.cond(True, leaky, lambda x: x, 1.0), "DynamicJaxprTrace"),
    "make_jaxpr": (lambda: jax.make_jaxpr(leaky)(1.0), "DynamicJaxprTrace"),
    "checkpoint": (lambda: jax.checkpoint(leaky)(1.0), "DynamicJaxprTrace"),
    "grad of jit": (lambda: jax.grad(jax.jit(leaky))(1.0), "DynamicJaxprTrace"),
}


@pytest.fixture(autouse=True)
def _nothing_kept() -> Any:
    yield
    KEPT.clear()
    HOLDER.value = None


@pytest.mark.parametrize(("call", "trace"), LEAKS.values(), ids=LEAKS.keys())
def test_leaks_are_found(call: Callable[[], Any], trace: str) -> None:
    with jax.checking_leaks(), pytest.raises(TracerLeakError) as caught:
        call()
    text = str(caught.value)
    assert text.startswith(f"Leaked trace {trace}. Leaked tracer(s):")
    assert "Tracer" in text
    assert text.rstrip().endswith("instead of storing it outside.")
    assert f"is referred to by {__name__}.KEPT" in text


@pytest.mark.parametrize(
    ("function", "place"),
    [
        (leaky, "[0]"),
        (leaky_attribute, f"is referred to by {__name__}.HOLDER"),
        (leaky_closure, "(inner) closed-over variable y"),
    ],
)
def test_the_holder_is_named(function: Any, place: str) -> None:
    with jax.checking_leaks(), pytest.raises(TracerLeakError) as caught:
        jax.jit(function)(1.0)
    assert place in str(caught.value)


def test_outside_the_context_nothing_is_checked() -> None:
    assert float(jax.jit(leaky)(1.0)) == 1.0


@jax.custom_vjp
def with_vjp(x: Any) -> Any:
    return jnp.sin(x)


with_vjp.defvjp(lambda x: (jnp.sin(x), x), lambda r, g: (g * jnp.cos(r),))


@jax.custom_jvp
def with_jvp(x: Any) -> Any:
    return jnp.sin(x)


with_jvp.defjvp(lambda p, t: (jnp.sin(p[0]), t[0] * jnp.cos(p[0])))

CLEAN: dict[str, Callable[[Any], Any]] = {
    "custom_vjp": with_vjp,
    "custom_jvp": with_jvp,
    "checkpoint": jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))),
    "softmax": jax.nn.softmax,
    "scan": lambda x: lax.scan(lambda c, a: (c * a, c), x.sum(), x)[1],
    "cond": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "jit": jax.jit(jnp.sin),
    "vmap inside": lambda x: jax.vmap(lambda a: jnp.sin(a) * x)(x).sum(0),
    "grad inside": lambda x: jax.grad(lambda y: (y * x).sum())(x) * x,
    "callback": lambda x: jax.debug.callback(np.sum, x) or x,
}
TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "vmap of grad": lambda f: jax.vmap(jax.grad(lambda x: f(x).sum()))(jnp.ones((2, 3))),
    "jit of grad": lambda f: jax.jit(jax.grad(lambda x: f(x).sum()))(jnp.ones(3)),
}


@pytest.mark.parametrize("transform", TRANSFORMED)
def test_no_false_alarm(transform: str) -> None:
    with jax.checking_leaks():
        for f in CLEAN.values():
            TRANSFORMED[transform](f)
