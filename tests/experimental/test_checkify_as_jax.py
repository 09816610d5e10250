"""``checkify`` against JAX: which error comes first, its text, and that results stay the same."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp
from jaxlite.experimental import checkify

jax = pytest.importorskip("jax")

F, I = np.float32, np.int32
NAN = F("nan")
A3 = np.arange(3, dtype=F)
A32 = np.ones((3, 2), F)


def log_of(j: Any, x: Any) -> Any:
    c = importlib.import_module(f"{j.__name__}.experimental.checkify")
    c.check(x > 0, "must be positive {} is {x:}", x * 2, x=x)
    return j.numpy.log(x)


def two_checks(j: Any, x: Any) -> Any:
    c = importlib.import_module(f"{j.__name__}.experimental.checkify")
    c.check(x > 0, "first")
    c.check(x > -5, "second")
    return x


def rechecked(j: Any, x: Any) -> Any:
    c = importlib.import_module(f"{j.__name__}.experimental.checkify")
    err, out = j.jit(c.checkify(lambda v: two_checks(j, v)))(x)
    c.check_error(err)
    return out


#: Name -> (function of module and arguments, arguments).
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "sin of inf": (lambda j, x: j.numpy.sin(x), (F("inf"),)),
    "nan in": (lambda j, x: x + 1, (NAN,)),
    "nan through neg": (lambda j, x: -x, (NAN,)),
    "nan through shape": (lambda j, x: x.reshape(1, 1)[0], (NAN,)),
    "nan through max": (lambda j, x: x.max(), (np.array([NAN, 1], F),)),
    "nan through where": (lambda j, x: j.numpy.where(x > 0, x, NAN), (F(-1),)),
    "nan of a sum": (lambda j, x: x.sum(), (np.array([NAN, 1], F),)),
    "nan of one element": (lambda j, x: j.numpy.log(x), (np.array([-1, 1], F),)),
    "nan of power": (lambda j, x: x**2, (NAN,)),
    "nan of cumsum": (lambda j, x: j.numpy.cumsum(x), (np.array([np.inf, -np.inf], F),)),
    "nan of a product": (lambda j, x: x @ x, (np.full((2, 2), NAN),)),
    "no error": (lambda j, x: j.numpy.log(x), (F(2),)),
    "1/0": (lambda j, x, y: x / y, (F(1), F(0))),
    "0/0": (lambda j, x, y: x / y, (F(0), F(0))),
    "1//0": (lambda j, x, y: x // y, (I(1), I(0))),
    "a zero among divisors": (lambda j, x: 1 / x, (np.array([1, 0, 1], F),)),
    "index": (lambda j, x, i: x[i], (A3, I(5))),
    "negative index": (lambda j, x, i: x[i, 0], (A32, I(-7))),
    "second axis": (lambda j, x, i: x[:, i], (A32, I(9))),
    "indices": (lambda j, x, i: x[i], (A3, np.array([0, 1, 7, 9], I))),
    "two indices": (lambda j, x, a, b: x[a, b], (A32, np.array([0, 5], I), np.array([0, 7], I))),
    "inside": (lambda j, x, i: x[i], (A3, np.array([0, -1], I))),
    "set": (lambda j, x, i: x.at[i].set(1.0), (A3, I(5))),
    "add": (lambda j, x, i: x.at[i].add(1.0), (A3, np.array([1, 4], I))),
    "add of a row": (lambda j, x, i: x.at[0, i].add(1.0), (A32, I(5))),
    "dynamic_slice": (lambda j, x, i: j.lax.dynamic_slice(x, (i,), (2,)), (A3, I(2))),
    "dynamic_update_slice": (
        lambda j, x, i: j.lax.dynamic_update_slice(x, np.ones(2, F), (i,)),
        (A3, I(2)),
    ),
    "take": (lambda j, x, i: j.numpy.take(x, i), (A3, I(5))),
    "take_along_axis": (lambda j, x, i: j.numpy.take_along_axis(x, i, 0), (A3, np.array([5], I))),
    "vmapped index": (
        lambda j, x, i: j.vmap(lambda a, k: a[k])(x, i),
        (np.ones((2, 3), F), np.array([1, 5], I)),
    ),
    "check": (log_of, (F(-1),)),
    "check holds": (log_of, (F(1),)),
    "the first of two": (two_checks, (F(-7),)),
    "inner jit": (lambda j, x: j.jit(lambda v: log_of(j, v))(x), (F(-1),)),
    "grad": (lambda j, x: j.grad(lambda v: log_of(j, v))(x), (F(-1),)),
    "vmap": (lambda j, x: j.vmap(lambda v: log_of(j, v))(x), (np.array([1, -1, -2], F),)),
    "vmap, last": (lambda j, x: j.vmap(lambda v: log_of(j, v))(x), (np.array([1, -2, 4], F),)),
    "checkpoint": (lambda j, x: j.checkpoint(lambda v: log_of(j, v))(x), (F(-1),)),
    "cond": (
        lambda j, x: j.lax.cond(x > 0, lambda v: log_of(j, v), lambda v: v / 0.0, x),
        (F(-1),),
    ),
    "cond, other branch": (
        lambda j, x: j.lax.cond(x < 0, lambda v: log_of(j, v), lambda v: v / 0.0, x),
        (F(-1),),
    ),
    "scan": (
        lambda j, x: j.lax.scan(lambda c, i: (log_of(j, c - i), c), x, A3),
        (F(1),),
    ),
    "while": (
        lambda j, x: j.lax.while_loop(lambda c: c < 3, lambda c: log_of(j, c) * 0 + c + 1, x),
        (F(-1),),
    ),
    "condition of while": (
        lambda j, x: j.lax.while_loop(lambda c: log_of(j, c) < 3, lambda c: c + 1, x),
        (F(-1),),
    ),
    "fori": (lambda j, x: j.lax.fori_loop(0, 3, lambda i, c: log_of(j, c - 1), x), (F(1),)),
    "map": (
        lambda j, x: j.lax.map(lambda v: log_of(j, v), x),
        (np.array([1, -1, -2], F),),
    ),
    "check_error": (rechecked, (F(-1),)),
}


def outcome(j: Any, name: str, jitted: bool) -> Any:
    c = importlib.import_module(f"{j.__name__}.experimental.checkify")
    function, args = CASES[name]
    f = c.checkify(lambda *xs: function(j, *xs), errors=c.all_checks)
    err, out = (j.jit(f) if jitted else f)(*[j.numpy.asarray(a) for a in args])
    exception = err.get_exception()
    kind = None if exception is None else type(exception).__name__
    return err.get(), kind, [np.asarray(x) for x in j.tree.leaves(out)]


@pytest.mark.jax_oracle
@pytest.mark.parametrize("name", CASES)
def test_first_error_as_in_jax(name: str) -> None:
    theirs = outcome(jax, name, jitted=True)
    for jitted in (False, True):
        ours = outcome(jaxlite, name, jitted)
        assert ours[:2] == theirs[:2]
        for a, b in zip(ours[2], theirs[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.jax_oracle
@pytest.mark.parametrize("kinds", ["user_checks", "nan_checks", "div_checks", "index_checks"])
def test_only_the_wanted_kinds_count(kinds: str) -> None:
    told = []
    for j in (jax, jaxlite):
        c = importlib.import_module(f"{j.__name__}.experimental.checkify")

        def f(x: Any, i: Any, j: Any = j) -> Any:
            return log_of(j, x[i]) / (x[0] * 0)

        checked = j.jit(c.checkify(f, errors=getattr(c, kinds)))
        told.append(checked(j.numpy.asarray(-A3 - 1), j.numpy.asarray(I(5)))[0].get())
    assert told[0] == told[1] is not None


@pytest.mark.jax_oracle
@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_a_batch_of_errors(shape: tuple[int, ...]) -> None:
    told = []
    x = np.where(np.arange(np.prod(shape)).reshape(shape) % 2, -1, 1).astype(F)
    for j in (jax, jaxlite):
        c = importlib.import_module(f"{j.__name__}.experimental.checkify")
        f = c.checkify(lambda v, j=j: log_of(j, v))
        for _ in shape:
            f = j.vmap(f)
        told.append(f(j.numpy.asarray(x))[0].get())
    assert told[0] == told[1]
    assert "at mapped index" in told[1]


STAGED = {
    "jit": lambda f: jaxlite.jit(f)(jnp.float32(1)),
    "scan": lambda f: jaxlite.lax.scan(lambda c, _: (f(c), None), jnp.float32(1), None, 2),
    "cond": lambda f: jaxlite.lax.cond(True, f, lambda x: x, jnp.float32(1)),
}


@pytest.mark.parametrize("stage", STAGED.values(), ids=STAGED.keys())
def test_checks_that_nobody_looks_at_cannot_be_compiled(stage: Any) -> None:
    with pytest.raises(ValueError, match=r"Cannot abstractly evaluate a checkify\.check"):
        stage(lambda x: log_of(jaxlite, x))


def test_run_at_once_a_check_raises() -> None:
    assert float(log_of(jaxlite, jnp.float32(1))) == 0.0
    message = r"must be positive -2.0 is -1.0 \(`check` failed\)"
    for f in (lambda x: log_of(jaxlite, x), jaxlite.grad(lambda x: log_of(jaxlite, x))):
        with pytest.raises(checkify.JaxRuntimeError, match=message):
            f(jnp.float32(-1))
    err, _ = checkify.checkify(lambda: log_of(jaxlite, jnp.float32(-1)))()
    with pytest.raises(checkify.JaxRuntimeError, match=message):
        err.throw()
    assert issubclass(checkify.JaxRuntimeError, ValueError)


def test_debug_checks_count_under_checkify_only() -> None:
    def f(x: Any) -> Any:
        checkify.debug_check(x > 0, "x is {}", x)
        return x * 2

    x = jnp.float32(-1)
    assert float(f(x)) == float(jaxlite.jit(f)(x)) == -2.0
    assert checkify.checkify(f)(x)[0].get() == "x is -1.0 (`check` failed)"


def test_no_error_has_nothing_to_tell() -> None:
    none = checkify.init_error
    assert (none.get(), none.get_exception(), none.throw()) == (None, None, None)
    assert jaxlite.tree.leaves(none) == []
    assert repr(jaxlite.jit(lambda e: e)(none)) == "Error(None)"


def test_a_batch_of_errors_is_checked_again_as_one() -> None:
    def again(x: Any) -> Any:
        err, out = jaxlite.vmap(checkify.checkify(lambda v: log_of(jaxlite, v)))(x)
        checkify.check_error(err)
        return out

    err, _ = checkify.checkify(jaxlite.jit(again))(jnp.array([1.0, -1.0, -2.0, 3.0]))
    assert err.get() == "must be positive -4.0 is -2.0 (`check` failed)"


def test_checks_broadcast_where_users_may_not() -> None:
    with jaxlite.numpy_rank_promotion("raise"):
        indices = jnp.array([[0, 5], [1, 1]])
        f = checkify.checkify(lambda x: x[indices, 0], errors=checkify.index_checks)
        assert "index 5 is out of bounds" in str(f(jnp.ones((3, 2)))[0].get())


@pytest.mark.jax_oracle
@pytest.mark.parametrize(
    "call",
    [
        lambda c, n: c.check(n.ones(3) > 0, "x"),
        lambda c, n: c.check(1.0, "x"),
        lambda c, n: c.check("a", "x"),
        lambda c, n: c.check(False, "{} {}", 1),
        lambda c, n: c.check(False, "{a}", a="b"),
        lambda c, n: c.debug_check(n.ones(3) > 0, "x"),
    ],
)
def test_mistakes_are_refused_as_in_jax(call: Any) -> None:
    with pytest.raises(TypeError) as theirs:
        call(importlib.import_module("jax.experimental.checkify"), jax.numpy)
    with pytest.raises(TypeError) as ours:
        call(checkify, jnp)
    assert str(ours.value).split("\n")[0] == str(theirs.value).split("\n")[0]
