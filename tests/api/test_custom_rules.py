"""``custom_vmap``, ``linear_call``, ``closure_convert`` and symbolic zeros, beside JAX."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.jax_oracle

X = np.arange(6.0, dtype=np.float32).reshape(2, 3) / 4


def same(case: Any) -> Any:
    """Compare values and dtypes of ``case(jaxlite)`` and ``case(jax)``; return ours."""
    ours, theirs = case(jaxlite), case(jax)
    leaves, expected = jaxlite.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(leaves) == len(expected)
    for a, b in zip(leaves, expected, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)
    return ours


def scaled_sine(j: Any, seen: list[Any] | None = None) -> Any:
    """Return ``sin(x) * y`` with a rule that multiplies by ten."""

    @j.custom_batching.custom_vmap
    def f(x: Any, y: Any) -> Any:
        return {"out": j.numpy.sin(x) * y}

    def rule(axis_size: int, in_batched: Any, x: Any, y: Any) -> Any:
        if seen is not None:
            seen.append((axis_size, in_batched))
        return {"out": j.numpy.sin(x) * y * 10}, {"out": True}

    f.def_vmap(rule)
    return f


VMAP: dict[str, Any] = {
    "no batch": lambda j: scaled_sine(j)(1.0, 2.0),
    "by keyword": lambda j: scaled_sine(j)(x=1.0, y=2.0),
    "one axis": lambda j: j.vmap(scaled_sine(j), in_axes=(0, None))(X[0], 2.0),
    "other axes": lambda j: j.vmap(scaled_sine(j), in_axes=(1, 1))(X, X),
    "jit": lambda j: j.jit(j.vmap(scaled_sine(j)))(X, X),
    "inside jit": lambda j: j.vmap(j.jit(scaled_sine(j)))(X, X),
    "jvp": lambda j: j.vmap(lambda x: j.jvp(scaled_sine(j), (x, x), (x, 1 + x)))(X[0]),
    "jvp of one": lambda j: j.vmap(lambda x: j.jvp(lambda x: scaled_sine(j)(x, 2.0), (x,), (x,)))(
        X[0]
    ),
    "grad outside": lambda j: j.grad(lambda x: j.vmap(scaled_sine(j))(x, x)["out"].sum())(X[0]),
    "nested": lambda j: j.vmap(j.vmap(scaled_sine(j)))(X, X),
    "in a scan": lambda j: j.lax.scan(
        lambda c, x: (c, j.vmap(scaled_sine(j), in_axes=(0, None))(x, 2.0)), X[0], X
    ),
    "sequential": lambda j: j.vmap(
        j.custom_batching.sequential_vmap(lambda x, y: x @ y), in_axes=(0, None)
    )(X, X[0]),
}


@pytest.mark.parametrize("case", VMAP)
def test_custom_vmap_equals_jax(case: str) -> None:
    same(VMAP[case])


def test_the_rule_hears_what_is_batched() -> None:
    seen: list[Any] = []
    jaxlite.vmap(scaled_sine(jaxlite, seen), in_axes=(None, 0))(1.0, X)
    assert seen == [(2, [False, True])]


def with_rule(j: Any, rule: Any) -> Any:
    """Apply vmap to a function with this rule."""
    f = j.custom_batching.custom_vmap(lambda x, y: {"out": x + y})
    f.def_vmap(rule)
    return j.vmap(f)(X[0], X[0])


def first_tangent(j: Any) -> Any:
    """Return the second derivative of a product whose rule returns the first tangent."""
    f = j.custom_jvp(lambda x, y: x * y)
    f.defjvp(lambda p, t: (p[0] * p[1], t[0]), symbolic_zeros=True)
    return lambda x, y: j.jvp(lambda y: f(x, y), (y,), (y,))


BAD: dict[str, Any] = {
    "no rule": lambda j: j.custom_batching.custom_vmap(abs)(1.0),
    "batched spec": lambda j: with_rule(j, lambda n, b, x, y: ({"out": x}, True)),
    "structure": lambda j: with_rule(j, lambda n, b, x, y: ({"in": x}, {"in": True})),
    "reverse mode": lambda j: j.grad(lambda x: scaled_sine(j)(x, 2.0)["out"])(1.0),
    "closure_convert": lambda j: j.closure_convert(lambda x: x, 1.0)[0]({"b": 1}),
    "shape of a symbolic zero": lambda j: first_tangent(j)(2.0, X),
    "transpose structure": lambda j: j.grad(
        lambda x: j.custom_derivatives.linear_call(lambda r, v: v, lambda r, t: (t, t), 1.0, x)
    )(np.float32(1)),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_equal_jax(case: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever JAX raises
        BAD[case](jax)
    with pytest.raises(theirs.type) as ours:
        BAD[case](jaxlite)
    assert str(ours.value).startswith(str(theirs.value))


def divide(j: Any, x: Any, y: Any) -> Any:
    """Return ``x / y`` with a transpose that is written down."""
    return j.custom_derivatives.linear_call(lambda r, v: v / r, lambda r, t: t / r, y, x)


def test_linear_call_transposes_by_the_given_function() -> None:
    y = np.float32(4.0)
    same(lambda j: (divide(j, X, y), j.linear_transpose(lambda x: divide(j, x, y), X)(X)))
    marked = jaxlite.custom_derivatives.linear_call(
        lambda r, v: v * r, lambda r, t: t * 100.0, 2.0, 3.0
    )
    assert float(marked) == 6.0
    for wrap in (lambda f: f, jaxlite.jit):
        grad = jaxlite.grad(
            wrap(
                lambda x: jaxlite.custom_derivatives.linear_call(
                    lambda r, v: v * r, lambda r, t: t * 100.0, 2.0, x
                )
            )
        )
        assert float(grad(3.0)) == 100.0


def test_linear_call_under_vmap() -> None:
    # JAX has no batching rule for it.
    grads = jaxlite.vmap(jaxlite.grad(lambda x, y: divide(jaxlite, x, y)), in_axes=(0, None))
    np.testing.assert_allclose(grads(X[0], np.float32(2)), np.full(3, 0.5))
    both = jaxlite.vmap(lambda x, y: divide(jaxlite, x, y))
    np.testing.assert_allclose(both(X[0], 1 + X[0]), X[0] / (1 + X[0]), rtol=1e-6)
    outer = jaxlite.grad(lambda x: jaxlite.vmap(lambda y: divide(jaxlite, x, y))(1 + X[0]).sum())
    np.testing.assert_allclose(outer(1.0), (1 / (1 + X[0])).sum(), rtol=1e-6)


def pulled(j: Any, a: Any) -> Any:
    """Count and use what closure_convert pulls out of a function that closes over ``a``."""
    plain, n = j.numpy.arange(3.0), j.numpy.arange(3)
    converted, values = j.closure_convert(lambda x: x * plain * n * a, 1.0)
    return converted(2.0, *values).sum() * (1 + len(values))


def test_closure_convert_pulls_out_what_may_be_differentiated() -> None:
    same(lambda j: (pulled(j, 2.0), j.grad(lambda a: pulled(j, a))(2.0)))
    same(lambda j: (j.jit(lambda a: pulled(j, a))(2.0), j.vmap(lambda a: pulled(j, a))(X[0])))


def test_symbolic_zeros_in_custom_vjp() -> None:
    def case(j: Any) -> Any:
        seen: list[Any] = []
        derivatives = j.custom_derivatives

        @j.custom_vjp
        def f(x: Any, y: Any, z: Any) -> Any:
            return x * y, j.numpy.sin(z["a"])

        def fwd(x: Any, y: Any, z: Any) -> Any:
            seen.append((x.perturbed, y.perturbed, z["a"].perturbed))
            values = derivatives.custom_vjp_primal_tree_values((x, y, z))
            return f(*values), values

        def bwd(values: Any, cts: Any) -> Any:
            seen.append([isinstance(c, derivatives.SymbolicZero) for c in cts])
            return cts[0] * values[1], None, None

        f.defvjp(fwd, bwd, symbolic_zeros=True)
        z = {"a": 3.0}
        grad = j.grad(lambda x: f(x, 2.0, z)[0])
        out = (grad(1.0), j.jit(grad)(1.0), j.vmap(grad)(X[0]))
        assert seen == [(True, False, False), [False, True]] * 3
        return out

    same(case)


def test_symbolic_zeros_in_custom_jvp() -> None:
    def case(j: Any) -> Any:
        zero = j.custom_derivatives.SymbolicZero

        @j.custom_jvp
        def f(x: Any, y: Any) -> Any:
            return x * y

        def rule(primals: Any, tangents: Any) -> Any:
            known = [type(t) is zero for t in tangents]
            return f(*primals), tangents[0] if known[0] else tangents[0] * (2.0 + known[1])

        f.defjvp(rule, symbolic_zeros=True)
        a, b = j.numpy.asarray(X), j.numpy.asarray(1 + X)
        return (
            j.jvp(lambda x: f(x, b), (a,), (b,)),
            j.jvp(lambda x: f(b, x), (a,), (a,))[1],
            j.grad(lambda x: f(x, x))(3.0),
            j.jit(j.grad(lambda x: f(x, 3.0)))(3.0),
        )

    same(case)


def test_the_backward_rule_gets_arrays() -> None:
    @jaxlite.custom_vjp
    def f(x: Any) -> Any:
        return x

    f.defvjp(lambda x: (x, None), lambda _, ct: (ct.at[()].multiply(3.0),))
    assert float(jaxlite.grad(f)(1.0)) == 3.0


def test_zero_from_primal() -> None:
    same(lambda j: j.custom_derivatives.zero_from_primal(j.numpy.ones(3)))
    zero = jaxlite.custom_derivatives.zero_from_primal(X, symbolic_zeros=True)
    assert (repr(zero), zero.shape, zero.dtype) == ("SymbolicZero", (2, 3), np.float32)


def closing_over(j: Any, kind: str, x: Any, w: Any) -> Any:
    """Apply a function with its own rule that closes over ``x``."""
    if kind == "custom_jvp":
        f = j.custom_jvp(lambda y: x * y)
        f.defjvp(lambda p, t: (f(*p), x * 10 * t[0]))
    else:
        f = j.custom_vjp(lambda y: x * y)
        f.defvjp(lambda y: (f(y), None), lambda _, ct: (x * 10 * ct,))
    return f(w)


@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_rules_may_close_over_mapped_values(kind: str) -> None:
    def cases(j: Any) -> Any:
        x = j.numpy.arange(3.0)
        f = functools.partial(closing_over, j, kind)
        return (
            j.vmap(f)(x, x),
            j.vmap(f, (0, None))(x, 2.0),
            j.vmap(lambda x, w: j.grad(lambda w: f(x, w))(w))(x, x),
            j.jit(j.vmap(lambda x, w: j.grad(lambda w: f(x, w))(w)))(x, x),
            j.vmap(j.jit(lambda x: f(x, 2.0)))(x),
            j.vmap(lambda x: j.vmap(lambda w: f(x, w))(j.numpy.arange(2.0)))(x),
        )

    same(cases)


def test_a_forward_rule_that_closes_over_mapped_values_outside() -> None:
    # The backward rule of custom_vjp runs after vmap has ended, so there it cannot work.
    f = functools.partial(closing_over, jaxlite, "custom_jvp")
    x = jaxlite.numpy.arange(3.0)
    assert float(jaxlite.grad(lambda w: jaxlite.vmap(f, (0, None))(x, w).sum())(2.0)) == 30.0


def test_a_derivative_with_respect_to_a_closed_over_value_is_an_error_that_says_so() -> None:
    with pytest.raises(jaxlite.errors.UnexpectedTracerError, match="closes over the value"):
        jaxlite.grad(lambda x: closing_over(jaxlite, "custom_jvp", x, 2.0))(3.0)


def test_linear_functions_are_pytrees() -> None:
    def cases(j: Any) -> Any:
        pull = j.jit(lambda x: j.vjp(j.numpy.sin, x)[1])(X)
        push = j.jit(lambda x: j.linearize(j.numpy.sin, x)[1])(X)
        back = j.jit(lambda x: j.linear_transpose(lambda y: 2 * y * x, x))(X)
        return pull(1 + X), push(1 + X), back(1 + X)

    same(cases)


def test_a_pullback_as_residual() -> None:
    def cases(j: Any) -> Any:
        @j.custom_vjp
        def f(x: Any) -> Any:
            return j.numpy.sin(x)

        f.defvjp(lambda x: j.vjp(j.numpy.sin, x), lambda pull, ct: pull(3 * ct))
        return j.grad(f)(1.0), j.jit(j.vmap(j.grad(f)))(X[0])

    same(cases)
