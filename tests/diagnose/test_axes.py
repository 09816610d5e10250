"""Which axes are the same: rules of operations, names that follow, conflicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.diagnose.axes import AxisTrace, trace_axes

A = np.ones((2, 3, 4), np.float32)
M = np.ones((4, 5), np.float32)


def traced(f: Any, *args: Any, **names: str) -> AxisTrace:
    given = {int(k[1:]): [w.strip("_") for w in v.split()] for k, v in names.items()}
    return trace_axes(jax.make_jaxpr(f)(*args), given)


def result(trace: AxisTrace) -> str:
    """Return the names of the first result's axes, '_' for none."""
    atom = trace.forward.jaxpr.outvars[0]
    return " ".join(trace.name(a) or "_" for a in trace.axes_of(atom))


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda a: jnp.sin(a) * 2.0 + a, "a b c"),
        (lambda a: a.sum(1), "a c"),
        (lambda a: a.max(-1, keepdims=True), "a b _"),
        (lambda a: jnp.argmax(a, 0), "b c"),
        (lambda a: a.transpose(2, 0, 1), "c a b"),
        (lambda a: jnp.swapaxes(a, 0, 1), "b a c"),
        (lambda a: a[:, None] + a[:, :, None], "a b b c"),
        (lambda a: a.reshape(2, 12), "a _"),
        (lambda a: a.reshape(6, 4), "_ c"),
        (lambda a: a.reshape(2, 3, 2, 2), "a b _ _"),
        (lambda a: a[0], "b c"),
        (lambda a: a[:, 1:], "a _ c"),
        (lambda a: a[:, ::-1], "a b c"),
        (lambda a: jnp.concatenate([a, a], 1), "a _ c"),
        (lambda a: jnp.cumsum(a, 1), "a b c"),
        (lambda a: jnp.sort(a, -1), "a b c"),
        (lambda a: jnp.where(a > 0, a, 0.0), "a b c"),
        (lambda a: jax.nn.softmax(a, 1), "a b c"),
        (lambda a: jnp.einsum("abc,abd->acd", a, a[..., :2]), "a c _"),
        (lambda a: a[jnp.array([0, 1, 0])], "_ b c"),
        (lambda a: jax.jit(lambda v: v.sum(0))(a), "b c"),
        (lambda a: jax.checkpoint(jnp.sin)(a), "a b c"),
        (lambda a: jax.nn.relu(a), "a b c"),
        (lambda a: lax.fori_loop(0, 3, lambda i, v: v * 2, a), "a b c"),
        (lambda a: lax.while_loop(lambda v: v.sum() < 9, lambda v: v + 1.0, a), "a b c"),
        (lambda a: lax.scan(lambda s, x: (s + x, s), a[0] * 0, a)[0], "b c"),
        (lambda a: lax.scan(lambda s, x: (s + x, x.sum(0)), a[0] * 0, a)[1], "a c"),
        (lambda a: lax.cond(a[0, 0, 0] > 0, jnp.sin, jnp.cos, a), "a b c"),
        (lambda a: jax.vmap(jnp.sum)(a), "a"),
        (lambda a: jax.grad(lambda v: jnp.sum(v**2))(a), "a b c"),
        (lambda a: jnp.zeros(3), "_"),
    ],
)
def test_names_follow_through_operations(f: Any, expected: str) -> None:
    trace = traced(f, A, _0="a b c")
    assert result(trace) == expected
    assert not trace.conflicts


def test_joined_axis_of_a_product_names_the_other_operand() -> None:
    trace = traced(lambda a, m: a @ m, A, M, _0="a b c", _1="_ d")
    assert result(trace) == "a b d"
    m = trace.forward.jaxpr.invars[1]
    assert [trace.name(x) for x in trace.axes_of(m)] == ["c", "d"]
    (joined,) = trace.joined.values()
    assert [trace.name(x) for x in joined] == ["c"]


def test_broadcast_says_along_what_and_reduction_what_goes() -> None:
    trace = traced(lambda m, v: (m + v).sum(0), M, M[0], _0="a b")
    stretched = [trace.name(x) for axes in trace.stretched.values() for x in axes]
    removed = [trace.name(x) for axes in trace.removed.values() for x in axes]
    assert (stretched, removed) == (["a"], ["a"])
    v = trace.forward.jaxpr.invars[1]
    assert trace.name(trace.axes_of(v)[0]) == "b"


def test_two_names_for_one_axis_are_a_conflict_at_the_operation() -> None:
    trace = traced(lambda x, y: jnp.sin(x) + y, M, M, _0="a b", _1="a c")
    (conflict,) = trace.conflicts
    assert {conflict.first, conflict.second} == {"b", "c"}
    assert trace.forward.eqns[conflict.eqn].primitive.name == "add"


@pytest.mark.parametrize("f", [jnp.linalg.inv, jnp.linalg.eigh, jnp.fft.fft, lambda x: x @ x.T])
def test_other_operations_get_axes_of_the_right_number(f: Any) -> None:
    trace = traced(f, np.eye(4, dtype=np.float32))
    for atom in trace.forward.jaxpr.outvars:
        assert len(trace.axes_of(atom)) == len(atom.aval.shape)
