"""Stage 5, fuse: how many kernels programs become, of which kind, and the reasons between them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.compiler.fuse import fuse
from jaxlite.compiler.optimise import optimise
from jaxlite.compiler.plan import FusionPlan
from tests.compiler.programs import f32

X = f32(64, 48)
BIG = f32(512, 4096)


def plan_of(f: Callable[..., Any], *args: Any) -> FusionPlan:
    return fuse(optimise(jax.make_jaxpr(f)(*args)))


def kinds(plan: FusionPlan) -> list[str]:
    return [g.kind for g in plan.groups]


def softmax(x: Any) -> Any:
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: Any) -> Any:
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(v + 1e-5)


def log_sum_exp(x: Any) -> Any:
    m = x.max(-1)
    return jnp.log(jnp.exp(x - m[:, None]).sum(-1)) + m


ONE_KERNEL: dict[str, tuple[str, Callable[..., Any], tuple[Any, ...]]] = {
    "chain": ("loop", lambda x: jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(x), (X,)),
    "broadcast": ("loop", lambda x, b: jnp.maximum(x + b, 0), (X, X[0])),
    "index maps": ("loop", lambda x: jnp.sin(x.T[3:, ::-1]) + 1, (X,)),
    "stencil": ("loop", lambda x: x[1:-1] + 0.5 * (x[2:] + x[:-2]), (X[0],)),
    "padding": ("loop", lambda x: jnp.pad(x, 1) * 2, (X,)),
    "two results": ("loop", lambda x: (jnp.sin(x) * 2, jnp.sin(x) * 3), (X,)),
    "result and reader": ("loop", lambda x: (jnp.sin(x), jnp.sin(x) * 3), (X,)),
    "same input": ("loop", lambda x: (jnp.sin(x), jnp.cos(x)), (X,)),
    "iota": ("loop", lambda x: x + jnp.arange(48.0), (X,)),
    "gather": ("loop", lambda x, i: jnp.exp(x[i]) + 1, (X, np.array([1, 5, 2]))),
    "sum with producer": ("reduce", lambda x: jnp.sum(jnp.exp(x), 1), (X,)),
    "sum with epilogue": ("reduce", lambda x: jnp.sqrt(jnp.sum(x * x, 1)) + 1, (X,)),
    "columns": ("reduce", lambda x: jnp.sqrt(jnp.sum(x * x, 0)), (X,)),
    "sibling sums": ("reduce", lambda x: (x.sum(1), jnp.max(x, 1)), (X,)),
    "sum beside a map": ("row", lambda x: (jnp.sum(x * x), x * 2), (X,)),
    "mean and variance": ("row", lambda x: (x - x.mean(1)[:, None]).sum(1), (X,)),
    "argmax": ("reduce", lambda x: jnp.argmax(x * 2, 1), (X,)),
    "softmax": ("row", softmax, (BIG,)),
    "layer norm": ("row", layer_norm, (BIG,)),
    "log sum exp": ("row", log_sum_exp, (BIG,)),
    "softmax gradient": ("row", jax.grad(lambda x: jnp.sum(softmax(x) ** 2)), (BIG,)),
    "small softmax": ("row", softmax, (f32(5),)),
    "small product": ("reduce", lambda x, w, b: jnp.tanh(x @ w + b), (X[:, :8], X[:8], X[0])),
    "random numbers": ("loop", lambda k: jax.random.uniform(k, (100,)) * 2, (jax.random.key(0),)),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_one_kernel(name: str) -> None:
    kind, f, args = ONE_KERNEL[name]
    plan = plan_of(f, *args)
    found = kinds(plan)
    # The variance of "mean and variance" has no full result: it is a reduction of two sweeps.
    assert found == [kind] or (found == ["reduce"] and name in ("mean and variance", "log sum exp"))
    assert not plan.barriers


def reasons(plan: FusionPlan) -> set[str]:
    return {b.reason for b in plan.barriers}


def test_a_value_read_many_times_is_not_computed_many_times() -> None:
    plan = plan_of(lambda x, b: x * jnp.exp(b), X, X[0])
    assert kinds(plan) == ["loop", "loop"]
    assert reasons(plan) == {"reuse"}
    assert "costly to compute again" in plan.barriers[0].detail


def test_a_value_per_row_is_hoisted_instead() -> None:
    assert kinds(plan_of(lambda x, b: x * jnp.exp(b)[:, None], X, X[:, 0])) == ["loop"]


def test_a_scalar_is_hoisted_instead() -> None:
    assert kinds(plan_of(lambda x, b: x * jnp.exp(b), X, X[0, 0])) == ["loop"]


def test_cheap_values_are_computed_again() -> None:
    plan = plan_of(lambda x: (jnp.sin((x + 1).T), jnp.cumsum(x + 1, 0)), X)
    assert sorted(kinds(plan)) == ["cumulative", "loop"]
    assert not plan.barriers
    assert all("add" in [e.primitive.name for e in g.eqns] for g in plan.groups)


def test_a_product_by_blas_has_its_own_step() -> None:
    w = f32(48, 300)
    plan = plan_of(lambda x: jnp.tanh(jnp.sin(x) @ w), X)
    assert kinds(plan) == ["loop", "dot", "loop"]
    assert reasons(plan) == {"reuse", "extern"}


def test_what_runs_in_python_says_so() -> None:
    plan = plan_of(lambda x: jnp.sort(x * 2) + 1, X)
    assert kinds(plan) == ["loop", "host", "loop"]
    assert reasons(plan) == {"extern"}
    assert all("sort" in b.detail for b in plan.barriers)


def test_a_long_reduction_is_a_barrier() -> None:
    plan = plan_of(lambda x: x / x.sum(), f32(1 << 17))
    assert kinds(plan) == ["reduce", "loop"]
    assert reasons(plan) == {"reduction"}
    assert "131072" in plan.barriers[0].detail


def test_an_output_read_elsewhere_is_a_barrier() -> None:
    def f(x: Any) -> Any:
        h = jnp.sin(x)
        return h, jnp.cumsum(h, 0)

    plan = plan_of(f, X)
    assert kinds(plan) == ["loop", "cumulative"]
    assert reasons(plan) == {"output"}


def test_kernels_have_a_size_limit() -> None:
    def f(x: Any) -> Any:
        for _ in range(120):
            x = jnp.sin(x) * 2
        return x

    plan = plan_of(f, X)
    assert kinds(plan) == ["loop", "loop", "loop"]
    assert reasons(plan) == {"size"}


def test_a_renamed_shape_is_no_kernel() -> None:
    plan = plan_of(lambda x: jnp.tanh(x).reshape(-1), X)
    assert kinds(plan) == ["loop"]
    assert len(plan.aliases) == 1
    assert "alias: c:f32[3072] is b" in str(plan)


def test_no_cycle_through_another_group() -> None:
    def f(x: Any) -> Any:
        h = jnp.tanh(x)
        s = jnp.sort(
            h * 2
        )  # h -> host -> y, so h and y cannot be one loop with the host step between
        return h, h + s

    plan = plan_of(f, X)
    assert kinds(plan) == ["loop", "host", "loop"]


def test_many_readers_of_one_value_stay_linear() -> None:
    def f(x: Any) -> Any:
        return [jnp.sin(x) * float(k) for k in range(1, 400)]

    plan = plan_of(f, X)
    assert len(plan.groups) < 20


def test_fusion_off_is_one_group_per_equation() -> None:
    closed = optimise(jax.make_jaxpr(softmax)(X))
    plan = fuse(closed, is_on=False)
    assert len(plan.groups) == len(closed.jaxpr.eqns)


def test_bodies_have_plans_of_their_own() -> None:
    def f(x: Any) -> Any:
        return jax.lax.scan(lambda c, v: (jnp.sin(c) + v, c * v), x[0], x)

    group = plan_of(f, X).groups[-1]
    assert group.kind == "control"
    assert kinds(group.inner[0]) == ["loop"]


@pytest.mark.parametrize("name", ["softmax", "two results"])
def test_the_text_names_all_equations(name: str) -> None:
    _, f, args = ONE_KERNEL[name]
    plan = plan_of(f, *args)
    text = str(plan)
    for eqn in plan.closed.jaxpr.eqns:
        assert f" = {eqn.primitive.name} " in text
