"""Stage 4: which equations disappear, which must stay, and that results keep every bit."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.compiler.optimise import optimise
from jaxlite.language.check import check_jaxpr
from jaxlite.language.jaxpr import ClosedJaxpr, JaxprEqn
from jaxlite.primitives.arithmetic import add, div, mul, neg, sub
from jaxlite.primitives.convert import convert_element_type
from jaxlite.primitives.dot import dot_general
from jaxlite.primitives.elementwise import exp
from jaxlite.primitives.joining import split
from jaxlite.primitives.reduction import reduce_sum
from jaxlite.primitives.select import select_n
from jaxlite.primitives.shape import broadcast_in_dim, reshape, transpose
from jaxlite.primitives.trigonometric import cos, sin
from tests.compiler.programs import f32, run_eagerly, staged

F32 = np.float32
X = f32(3, 4)
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45], F32)
N = np.arange(6, dtype=np.int32)


def names(closed: ClosedJaxpr) -> list[str]:
    return [e.primitive.name for e in closed.jaxpr.eqns]


def filled(x: Any, value: float) -> Any:
    return broadcast_in_dim(x.aval.dtype.type(value), x.aval.shape, ())


def cast(x: Any, *dtypes: str) -> Any:
    for dtype in dtypes:
        x = convert_element_type(x, np.dtype(dtype))
    return x


EXACT: list[tuple[Any, Callable[[Any], Any], list[str]]] = [
    (SPECIAL, lambda x: mul(x, F32(1)), []),
    (SPECIAL, lambda x: mul(filled(x, 1), x), []),
    (SPECIAL, lambda x: div(x, F32(1)), []),
    (SPECIAL, lambda x: sub(x, F32(0)), []),
    (SPECIAL, lambda x: add(x, F32(-0.0)), []),
    (SPECIAL, lambda x: add(F32(-0.0), x), []),
    (N, lambda x: add(x, np.int32(0)), []),
    (SPECIAL, lambda x: neg(neg(x)), []),
    (SPECIAL, lambda x: cast(x, "float64", "float32"), []),
    (N, lambda x: cast(x, "int64", "int32"), []),
    (X, lambda x: reshape(reshape(x, (2, 6)), (3, 4)), []),
    (X, lambda x: reshape(reshape(x, (2, 6)), (12,)), ["reshape"]),
    (X, lambda x: transpose(transpose(x, (1, 0)), (1, 0)), []),
    (X, lambda x: transpose(x, (0, 1)), []),
    (X, lambda x: broadcast_in_dim(x, (3, 4), (0, 1)), []),
    (
        X,
        lambda x: broadcast_in_dim(broadcast_in_dim(x, (2, 3, 4), (1, 2)), (2, 3, 5, 4), (0, 1, 3)),
        ["broadcast_in_dim"],
    ),
    (X, lambda x: select_n(np.bool_(True), neg(x), x), []),
    (X, lambda x: select_n(filled(x, 0) if False else np.bool_(False), x, neg(x)), []),
    (X, lambda x: reduce_sum(x, ()), []),
]


@pytest.mark.parametrize("case", range(len(EXACT)))
def test_exact_algebra_is_applied(case: int) -> None:
    x, f, expected = EXACT[case]
    closed = staged(lambda a: [f(a)], x)
    better = optimise(closed)
    assert names(better) == expected
    for a, b in zip(run_eagerly(better, [x]), run_eagerly(closed, [x]), strict=True):
        assert a.tobytes() == b.tobytes()


KEPT: list[tuple[Any, Callable[[Any], Any]]] = [
    (SPECIAL, lambda x: add(x, F32(0))),  # -0.0 + 0.0 is 0.0
    (SPECIAL, lambda x: sub(x, F32(-0.0))),
    (SPECIAL, lambda x: mul(x, F32(0))),  # NaN and inf
    (SPECIAL, lambda x: cast(x, "bfloat16", "float32")),
    (N, lambda x: cast(x, "int8", "int32")),
    (N, lambda x: cast(x, "float32", "int64")),
    (X, lambda x: transpose(x, (1, 0))),
]


@pytest.mark.parametrize("case", range(len(KEPT)))
def test_inexact_algebra_is_left_alone(case: int) -> None:
    x, f = KEPT[case]
    closed = staged(lambda a: [f(a)], x)
    assert len(optimise(closed).jaxpr.eqns) == len(closed.jaxpr.eqns)


def test_equal_equations_are_done_once() -> None:
    closed = staged(lambda x: [mul(sin(x), sin(x)), sin(x), cos(x)], X)
    assert names(optimise(closed)) == ["sin", "mul", "cos"]


def test_parameters_tell_equations_apart() -> None:
    closed = staged(lambda x: [reduce_sum(x, (0,)), reduce_sum(x, (1,)), reduce_sum(x, (0,))], X)
    assert names(optimise(closed)) == ["reduce_sum", "reduce_sum"]


def test_zeros_of_different_sign_are_different() -> None:
    closed = staged(lambda x: [mul(x, F32(0.0)), mul(x, F32(-0.0))], X)
    assert names(optimise(closed)) == ["mul", "mul"]


def test_what_nobody_needs_goes() -> None:
    def f(x: Any) -> list[Any]:
        exp(sin(x))
        return [cos(x)]

    assert names(optimise(staged(f, X))) == ["cos"]


def test_effects_stay_and_keep_their_order() -> None:
    closed = staged(lambda x: [sin(x), cos(x), exp(x)], X)
    eqns = [
        JaxprEqn(e.invars, e.outvars, e.primitive, e.params, None, frozenset({"print"}))
        for e in closed.jaxpr.eqns
    ]
    closed = ClosedJaxpr(closed.jaxpr.replace(eqns=eqns, outvars=[]), closed.consts)
    assert names(optimise(closed)) == ["sin", "cos", "exp"]


def test_scalars_are_folded() -> None:
    closed = staged(lambda x: [mul(x, add(sin(F32(1)), F32(2)))], X)
    better = optimise(closed)
    assert names(better) == ["mul"]
    want = run_eagerly(closed, [X])[0]
    assert run_eagerly(better, [X])[0].tobytes() == want.tobytes()


def test_unused_constants_go_and_equal_ones_are_one() -> None:
    table = jnp.arange(5.0)
    closed = jax.make_jaxpr(lambda x: (x + table) * jax.jit(lambda y: y + table)(x))(table)
    better = optimise(closed)
    assert len(better.consts) == 1
    assert names(better) == ["add", "mul"]


def test_calls_are_inlined_with_fresh_names() -> None:
    twice = jax.jit(lambda x: jnp.sin(x) * 2)
    better = optimise(jax.make_jaxpr(lambda x: twice(twice(x)))(X))
    assert names(better) == ["sin", "mul", "sin", "mul"]
    check_jaxpr(better)


def test_recomputation_of_a_checkpoint_is_not_undone() -> None:
    def loss(x: Any, wrap: Any) -> Any:
        return jnp.sum(wrap(lambda y: jnp.sin(jnp.sin(y)))(x))

    plain = optimise(jax.make_jaxpr(jax.grad(lambda x: loss(x, lambda f: f)))(X))
    saved = optimise(jax.make_jaxpr(jax.grad(lambda x: loss(x, jax.checkpoint)))(X))
    assert names(plain).count("sin") == 1  # the forward pass of the outer sin is dead
    assert names(saved).count("sin") == 1
    both = optimise(jax.make_jaxpr(jax.value_and_grad(lambda x: loss(x, jax.checkpoint)))(X))
    assert names(both).count("sin") == 3  # two forwards, one again
    assert "optimization_barrier" not in names(both)


def test_split_becomes_slices() -> None:
    def f(x: Any) -> Sequence[Any]:
        _, b = split(x, (1, 3), 1)
        return [sin(b)]

    assert names(optimise(staged(f, X))) == ["slice", "sin"]


def test_products_read_transposed_operands_in_place() -> None:
    def f(x: Any, y: Any) -> list[Any]:
        return [dot_general(transpose(x, (1, 0)), y, (((1,), (0,)), ((), ())))]

    better = optimise(staged(f, f32(5, 3), f32(5, 4)))
    assert names(better) == ["dot_general"]
    arrays = [f32(5, 3), f32(5, 4)]
    np.testing.assert_allclose(run_eagerly(better, arrays)[0], arrays[0].T @ arrays[1], rtol=1e-5)


def test_products_keep_the_order_of_their_free_axes() -> None:
    def f(x: Any, y: Any) -> list[Any]:
        return [dot_general(transpose(x, (1, 0, 2)), y, (((2,), (0,)), ((), ())))]

    assert names(optimise(staged(f, f32(2, 3, 4), f32(4, 5)))) == ["transpose", "dot_general"]


# --- inside control flow ---


def test_bodies_are_optimised() -> None:
    def f(x: Any) -> Any:
        return jax.lax.fori_loop(
            0, 3, lambda i, v: jnp.negative(-(v * 1.0)) + jnp.sin(v) - jnp.sin(v), x
        )

    (eqn,) = optimise(jax.make_jaxpr(f)(X)).jaxpr.eqns
    body = eqn.params["jaxpr"] if eqn.primitive.name == "scan" else eqn.params["body_jaxpr"]
    assert names(body).count("sin") == 1
    assert "neg" not in names(body)


def test_a_carry_that_serves_only_itself_goes() -> None:
    def step(c: Any, x: Any) -> Any:
        used, unused = c
        return (used + x, jnp.cos(unused) * x), (used, unused)

    def f(xs: Any) -> Any:
        (used, _), (trace, _) = jax.lax.scan(step, (jnp.float32(0), jnp.float32(1)), xs)
        return used, trace

    closed = jax.make_jaxpr(f)(f32(7))
    better = optimise(closed)
    (eqn,) = [e for e in better.jaxpr.eqns if e.primitive.name == "scan"]
    assert eqn.params["num_carry"] == 1
    assert len(eqn.outvars) == 2
    assert "cos" not in names(eqn.params["jaxpr"])
    check_jaxpr(better)


def test_a_while_loop_keeps_what_its_condition_needs() -> None:
    def f(x: Any) -> Any:
        def body(c: Any) -> Any:
            return c[0] + 1, c[1] * 2, jnp.sin(c[2])

        return jax.lax.while_loop(lambda c: c[0] < 5, body, (0, x, x))[1]

    (eqn,) = optimise(jax.make_jaxpr(f)(F32(1))).jaxpr.eqns
    assert len(eqn.outvars) == 2
    assert names(eqn.params["body_jaxpr"]) == ["add", "mul"]


def test_a_cond_loses_unused_results_and_operands() -> None:
    def f(p: Any, x: Any, y: Any) -> Any:
        return jax.lax.cond(p, lambda a, b: (a, b), lambda a, b: (-a, b), x, y)[0]

    better = optimise(jax.make_jaxpr(f)(True, X, X))
    eqn = better.jaxpr.eqns[-1]
    assert (len(eqn.invars), len(eqn.outvars)) == (2, 1)


def test_a_cond_on_a_literal_is_its_branch() -> None:
    closed = jax.make_jaxpr(lambda x: jax.lax.switch(1, [jnp.sin, jnp.cos, jnp.exp], x))(X)
    assert names(optimise(closed)) == ["cos"]
