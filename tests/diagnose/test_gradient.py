"""Both passes of a gradient: what belongs to what, and that it is what ``grad`` computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.diagnose.check_gradient import check_gradient
from jaxlite.diagnose.formulas import formula
from jaxlite.diagnose.gradient import GradientTrace, trace_gradient
from jaxlite.diagnose.gradient_values import measure_gradient

X = np.array([0.3, -0.7, 1.2, 0.5], np.float32)
W = np.arange(12, dtype=np.float32).reshape(4, 3) / 10 - 0.4


@jax.custom_vjp
def scaled(x: Any) -> Any:
    return x * x


scaled.defvjp(lambda x: (x * x, x), lambda x, ct: (ct * x * 3.0,))

PROGRAMS: dict[str, Any] = {
    "chain": lambda x, w: jnp.sum(jnp.tanh(x @ w) ** 2),
    "several uses": lambda x, w: jnp.sum(x * x / (1.0 + x) - x * jnp.sin(x)),
    "quotient": lambda x, w: jnp.sum(w[:, 0] / (x + 2.0) ** 3),
    "softmax": lambda x, w: jax.nn.softmax(x @ w)[0] * jax.nn.logsumexp(w),
    "indexing": lambda x, w: jnp.sum(x[::2]) + jnp.sort(x)[1] * w[1, 2],
    "joined": lambda x, w: jnp.sum(jnp.concatenate([x, x * 2.0]).reshape(2, 4) @ w),
    "loop": lambda x, w: jnp.sum(lax.fori_loop(0, 3, lambda i, v: v * jnp.sin(v), x)),
    "branch": lambda x, w: lax.cond(x[0] > 0, lambda v: v.sum(), lambda v: v.prod(), x),
    "checkpoint": lambda x, w: jnp.sum(jax.checkpoint(lambda v: jnp.sin(v) * v)(x)),
    "own rule": lambda x, w: jnp.sum(scaled(x)) + jnp.sum(jax.nn.relu(w)),
    "inner jit": lambda x, w: jax.jit(lambda v: jnp.exp(v).sum())(x * 2.0) + jnp.sum(jnp.abs(x)),
    "constant": lambda x, w: jnp.sum(jnp.floor(x)),
    "extremes": lambda x, w: jnp.max(x) * jnp.min(w) + jnp.prod(x),
}


def traced(name: str) -> GradientTrace:
    return trace_gradient(jax.make_jaxpr(PROGRAMS[name])(X, W))


@pytest.mark.parametrize("name", PROGRAMS)
def test_backward_pass_computes_what_grad_does(name: str) -> None:
    trace = traced(name)
    found = measure_gradient(trace, [X, W])
    expected = jax.grad(PROGRAMS[name], argnums=(0, 1))(X, W)
    assert float(found.value) == pytest.approx(float(PROGRAMS[name](X, W)), rel=1e-5)
    for number, gradient in enumerate(expected):
        mine = found.gradients.get(number, np.zeros_like((X, W)[number]))
        np.testing.assert_allclose(mine, np.asarray(gradient), rtol=2e-5, atol=1e-6)
        if number in trace.cotangents:
            norm = np.linalg.norm(np.asarray(gradient, np.float64))
            assert found.norms[trace.cotangents[number]] == pytest.approx(norm, rel=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_equation_of_the_backward_pass_belongs_to_one_step(name: str) -> None:
    trace = traced(name)
    owned = [k for step in trace.steps for k in step.eqns]
    assert len(set(owned)) == len(owned)
    read = {a for e in trace.backward.eqns for a in e.invars if not hasattr(a, "val")}
    read |= {v for v in trace.backward.jaxpr.outvars if not hasattr(v, "val")}
    used = {k for k, e in enumerate(trace.backward.eqns) if any(v in read for v in e.outvars)}
    assert used <= set(owned)
    assert all(0 <= s.cause < len(trace.forward.eqns) for s in trace.steps)
    assert len(trace.primal_cause) == len(trace.primal.eqns)


@pytest.mark.parametrize("name", PROGRAMS)
def test_saved_values_are_read_and_can_be_computed_again(name: str) -> None:
    trace = traced(name)
    read = {a for e in trace.backward.eqns for a in e.invars if not hasattr(a, "val")}
    read |= {v for v in trace.backward.jaxpr.outvars if not hasattr(v, "val")}
    for saved in trace.saved:
        assert saved.backward_var in read
        assert saved.n_bytes > 0
        made = [v for k in saved.recompute for v in trace.primal.eqns[k].outvars]
        assert (saved.var in made) == bool(saved.recompute)


def test_step_of_a_rule_has_the_cause_and_sums_say_how_many_uses() -> None:
    trace = trace_gradient(jax.make_jaxpr(lambda x: jnp.sin(x) * x + x)(1.0))
    names = [trace.forward.eqns[s.cause].primitive.name for s in trace.steps]
    assert [(n, s.kind) for n, s in zip(names, trace.steps, strict=True)] == [
        ("mul", "rule"),
        ("mul", "rule"),
        ("sin", "rule"),
        ("sin", "sum"),
    ]
    assert trace.steps[-1].n_uses == 3


def test_only_wanted_inputs_are_differentiated() -> None:
    closed = jax.make_jaxpr(PROGRAMS["chain"])(X, W)
    trace = trace_gradient(closed, wanted=[False, True])
    assert list(trace.cotangents) == [1]
    assert len(trace.steps) < len(trace_gradient(closed).steps)


def test_flat_operations_are_listed() -> None:
    trace = trace_gradient(jax.make_jaxpr(lambda x: jnp.floor(x) + lax.stop_gradient(x))(1.0))
    assert [trace.forward.eqns[k].primitive.name for k in trace.flat] == ["floor", "stop_gradient"]
    assert not trace.cotangents
    assert not trace.steps


def test_first_bad_value_comes_first() -> None:
    trace = trace_gradient(jax.make_jaxpr(lambda x: jnp.sqrt(x - x) * 1.0)(1.0))
    bad = list(measure_gradient(trace, [1.0]).bad.values())
    assert bad[0] == "Inf"
    assert "NaN" in bad


def test_loop_without_reverse_mode_is_the_error_of_grad() -> None:
    closed = jax.make_jaxpr(lambda x: lax.while_loop(lambda v: v < 3, lambda v: v * 2, x))(1.0)
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        trace_gradient(closed)


def test_check_finds_a_wrong_rule_and_where() -> None:
    def function(leaves: Any) -> Any:
        return jnp.sum(jnp.asarray(leaves[0]) ** 2)

    good = check_gradient(function, [W], {0: 2 * W})
    assert good[0].is_good
    assert good[0].error < 1e-6
    wrong = 2 * W
    wrong[3, 1] += 0.5
    bad = check_gradient(function, [W], {0: wrong})[0]
    assert not bad.is_good
    assert bad.index == (3, 1)
    assert bad.found - bad.expected == pytest.approx(0.5, abs=1e-5)


def test_check_looks_at_some_elements_of_a_large_argument_and_stops_in_time() -> None:
    x = np.ones(5000, np.float32)
    check = check_gradient(lambda v: jnp.sum(jnp.asarray(v[0])), [x], {0: x})[0]
    assert check.n_checked < check.n_elements == 5000
    assert check_gradient(lambda v: jnp.sum(jnp.asarray(v[0])), [x], {0: x}, limit_s=0.0) == {}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, w: (1.0 - x) * jnp.sin(x) ** 2, "(1 - x) ⋅ sin(x)²"),
        (lambda x, w: -(x + x) / (x * 2.0), "-(x + x) / (x ⋅ 2)"),
        (lambda x, w: x - (x - 1.0), "x - (x - 1)"),
        (lambda x, w: x @ w, "x @ w"),
        (lambda x, w: w.T @ w, "wᵀ @ w"),
        (lambda x, w: jnp.sum(w, axis=0), "sum(w, axis 0)"),
        (lambda x, w: jnp.max(w), "max(w)"),
        (lambda x, w: lax.select(x > 0, x, x * 2), "where(x > 0, x, x ⋅ 2)"),
        (lambda x, w: jax.nn.relu(x), "relu(x)"),
        (lambda x, w: 1.0 / x**3, "1 / x³"),
    ],
)
def test_formulas(function: Any, expected: str) -> None:
    closed = jax.make_jaxpr(function)(X, W)
    names = dict(zip(closed.jaxpr.invars, ("x", "w"), strict=True))
    (out,) = closed.jaxpr.outvars
    found = formula(out, closed.eqns, names.get)
    assert found.replace("\N{MINUS SIGN}", "-") == expected


def test_long_formula_is_cut() -> None:
    def long(x: Any) -> Any:
        for _ in range(30):
            x = jnp.sin(x) + 1.0
        return x

    closed = jax.make_jaxpr(long)(1.0)
    text = formula(closed.jaxpr.outvars[0], closed.eqns, lambda v: None, 6)
    assert "…" in text
    assert len(text) < 60
