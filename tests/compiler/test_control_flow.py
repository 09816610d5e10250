"""Loops and branches as steps: state in memory, rows through views, no copy that is not needed."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.compiler.optimise import optimise
from jaxlite.kernel_ir.interpret import interpret_program
from jaxlite.kernel_ir.program import Branch, Copy, HostCall, Launch, Loop, Program, Step, While
from tests.compiler.programs import assert_same, f32, make_program, run_natively

X = f32(10, 4)
lax = jax.lax


def steps_of(steps: tuple[Step, ...]) -> Iterator[Step]:
    for s in steps:
        yield s
        match s:
            case Loop(_, _, body, _):
                yield from steps_of(body)
            case While(cond, _, body):
                yield from steps_of((*cond, *body))
            case Branch(_, branches):
                for b in branches:
                    yield from steps_of(b)


def check(f: Callable[..., Any], *args: Any, expected: Any) -> Program:
    """Run ``f`` fused and unfused, natively and interpreted; return the fused program."""
    closed = jax.make_jaxpr(f)(*args)
    leaves = [np.asarray(a) for a in jax.tree.leaves(args)]
    want = [np.asarray(v) for v in jax.tree.leaves(expected)]
    programs = []
    for is_on, jaxpr in ((True, optimise(closed)), (False, closed)):
        _, program, consts = make_program(jaxpr, is_on)
        assert_same(interpret_program(program, [*leaves, *consts]), want)
        assert_same(run_natively(program, consts, leaves), want)
        programs.append(program)
    return programs[0]


def test_scan_with_carry_and_results() -> None:
    w = f32(4, 4)

    def f(w: Any, x: Any) -> Any:
        def step(h: Any, v: Any) -> Any:
            h = jnp.tanh(h @ w + v)
            return h, h * 2

        return lax.scan(step, x[0], x)

    h, ys = X[0], []
    for v in X:
        h = np.tanh(h @ w + v)
        ys.append(h * 2)
    program = check(f, w, X, expected=(h, np.stack(ys)))
    (loop,) = [s for s in program.steps if isinstance(s, Loop)]
    assert sum(isinstance(s, Launch) for s in loop.body) == 1


def test_scan_backwards() -> None:
    def f(x: Any) -> Any:
        return lax.scan(lambda c, v: (c + v, c), jnp.float32(0), x, reverse=True)

    x = X[:, 0]
    sums = np.cumsum(x[::-1])[::-1]
    check(f, x, expected=(sums[0], np.append(sums[1:], F0)))


F0 = np.float32(0)


def test_scan_of_no_steps() -> None:
    f = lambda c, x: lax.scan(lambda c, v: (c + v, c * v), c, x)  # noqa: E731
    check(f, np.float32(3), f32(0), expected=(np.float32(3), f32(0)))


def test_state_of_scalars_is_updated_in_place() -> None:
    def f(n: Any) -> Any:
        return lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, s[2], s[1] + s[2]), (0, 0, 1)
        )

    program = check(f, np.int32(10), expected=(np.int32(10), np.int32(55), np.int32(89)))
    (loop,) = [s for s in program.steps if isinstance(s, While)]
    # The three scalars are one kernel; b = c must wait until b + c is computed.
    assert sum(isinstance(s, Launch) for s in loop.body) == 1
    assert len(loop.body) <= 3


def test_newton() -> None:
    def f(a: Any) -> Any:
        return lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-3, lambda x: 0.5 * (x + a / x), a)

    x = a = np.float32(2)
    while abs(x * x - a) > 1e-3:
        x = np.float32(0.5) * (x + a / x)
    program = check(f, a, expected=x)
    (loop,) = [s for s in program.steps if isinstance(s, While)]
    assert [type(s) for s in loop.body] == [Launch]


def test_swapping_and_turning_states() -> None:
    f = lambda a, b: lax.fori_loop(0, 5, lambda i, s: (s[1], s[0]), (a, b))  # noqa: E731
    check(f, X, X + 1, expected=(X + 1, X))
    g = lambda a: lax.fori_loop(0, 3, lambda i, v: jnp.concatenate([v[1:], v[:1]]), a)  # noqa: E731
    check(g, X[:, 0], expected=np.roll(X[:, 0], -3))


def test_an_array_is_filled_in_place() -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 10, lambda i, v: v.at[i].set(v[i] * 3 + i), x)

    program = check(f, X, expected=X * 3 + np.arange(10, dtype=np.float32)[:, None])
    loop = next(s for s in program.steps if isinstance(s, Loop | While))
    assert not any(isinstance(s, Copy) and s.src.shape == (10, 4) for s in steps_of((loop,)))


def test_a_read_of_the_old_array_forbids_in_place() -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 10, lambda i, v: v.at[i].set(v.sum() - v[::-1][i]), x)

    want = X.copy()
    for i in range(10):
        want[i] = want.sum() - want[::-1][i]
    check(f, X, expected=want)


def test_stencil_state_is_double_buffered() -> None:
    f = lambda x: lax.fori_loop(0, 4, lambda i, v: v + jnp.roll(v, 1), x)  # noqa: E731
    want = X[:, 0]
    for _ in range(4):
        want = want + np.roll(want, 1)
    check(f, X[:, 0], expected=want)


def test_loops_in_loops() -> None:
    def f(x: Any) -> Any:
        def outer(c: Any, v: Any) -> Any:
            s = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 0.5 + 1), (0, v))[1]
            return c + s, s

        return lax.scan(outer, jnp.zeros(4), x)

    ys = ((X * 0.5 + 1) * 0.5 + 1) * 0.5 + 1
    check(f, X, expected=(ys.sum(0), ys))


def test_results_of_a_loop_live_through_it() -> None:
    # The stacked results are written in the loop and read after it: nothing may share their memory.
    def f(w: Any, x: Any) -> Any:
        def step(h: Any, v: Any) -> Any:
            z = jnp.concatenate([v, h], 1) @ w
            a, b = jnp.split(z, 2, 1)
            h = jnp.tanh(a) * jnp.sin(b)
            return h, h

        return jnp.sum(lax.scan(step, jnp.zeros((16, 64)), x)[1] ** 2)

    w, x = f32(128, 128) * np.float32(0.1), f32(5, 16, 64)
    h, total = np.zeros((16, 64), np.float32), 0.0
    for v in x:
        a, b = np.split(np.concatenate([v, h], 1) @ w, 2, 1)
        h = np.tanh(a) * np.sin(b)
        total += float((h**2).sum())
    check(f, w, x, expected=np.float32(total))


@pytest.mark.parametrize("index", [0, 1, 2])
def test_switch(index: int) -> None:
    def f(i: Any, x: Any) -> Any:
        y = jnp.exp(x)
        return lax.switch(i, [jnp.sin, lambda v: v * v, lambda v: v], y) * 2

    y = np.exp(X)
    check(f, np.int32(index), X, expected=2 * (np.sin(y), y * y, y)[index])


def test_cond_with_constants_of_its_own() -> None:
    table = jnp.arange(4.0)
    f = lambda p, x: lax.cond(p, lambda v: v + table, lambda v: v * table, x)  # noqa: E731
    check(f, np.bool_(True), X, expected=X + np.arange(4, dtype=np.float32))
    check(f, np.bool_(False), X, expected=X * np.arange(4, dtype=np.float32))


def test_host_calls_in_loops() -> None:
    f = lambda x: lax.scan(lambda c, v: (c + jnp.sort(v)[0], jnp.sort(v)), jnp.float32(0), x)  # noqa: E731
    want = np.sort(X, 1)
    closed = optimise(jax.make_jaxpr(f)(X))
    _, program, consts = make_program(closed)
    assert_same(interpret_program(program, [X, *consts]), [want[:, 0].sum(), want])
    assert sum(isinstance(s, HostCall) for s in steps_of(program.steps)) == 1


def test_gradient_of_a_scan() -> None:
    def loss(w: Any, x: Any) -> Any:
        def step(h: Any, v: Any) -> Any:
            h = jnp.tanh(h @ w + v)
            return h, h

        return jnp.sum(lax.scan(step, jnp.zeros(4), x)[1] ** 2)

    w = f32(4, 4)
    grad = jax.grad(loss)(w, X)
    eps = np.float32(1e-2)
    for at in ((0, 0), (2, 3)):
        d = np.zeros_like(w)
        d[at] = eps
        slope = (loss(w + d, X) - loss(w - d, X)) / (2 * eps)
        np.testing.assert_allclose(slope, grad[at], rtol=2e-2, atol=2e-2)
    check(jax.grad(loss), w, X, expected=np.asarray(grad))
