"""Results of loops and branches that are their arguments; examples of other branches; bounds."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import jaxlite
import jaxlite.numpy

pytestmark = pytest.mark.jax_oracle

X = np.arange(3, dtype=np.float32)


def ready_scan(j: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        return (c[0] + 1, c[1]), (x, c[1])

    return lambda y, x: j.lax.scan(step, (y, y), x)


def ready_while(j: Any) -> Any:
    return lambda w, x: j.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + c[1], c[1]), (x, w))


def ready_cond(j: Any) -> Any:
    return lambda x, y: j.lax.cond(x < 3, lambda x, y: (x * 2, y), lambda x, y: (x * 3, y), x, y)


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "scan": (ready_scan, (1.0, X)),
    "while": (ready_while, (1.0, 2.0)),
    "cond": (ready_cond, (1.0, 2.0)),
    "index": (lambda j: lambda x: j.lax.fori_loop(0, 3, lambda i, x: x * (i + 1), x), (1.0,)),
    "float bounds": (
        lambda j: lambda x: j.lax.fori_loop(x, x + 2.0, lambda i, c: c * i, x), (1.0,)
    ),
    "vmapped cond": (
        lambda j: j.vmap(
            lambda x, y: j.lax.cond(
                x < 2, lambda x, y: j.numpy.sin(x) * y, lambda x, y: j.numpy.cos(x), x, y
            ),
            in_axes=(0, None),
        ),
        (X, np.float32(2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_results(name: str) -> None:
    make, args = PROGRAMS[name]
    for a, b in zip(
        jaxlite.tree.leaves(make(jaxlite)(*args)), jax.tree.leaves(make(jax)(*args)), strict=True
    ):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)
    if name in ("scan", "while", "cond"):
        texts = [str(j.make_jaxpr(make(j))(*args)).split() for j in (jaxlite, jax)]
        assert texts[0] == texts[1]


def test_what_is_forwarded_keeps_its_batch() -> None:
    y = jaxlite.numpy.ones(())
    _, same = jaxlite.vmap(ready_cond(jaxlite), in_axes=(0, None), out_axes=(0, None))(X, y)
    assert same is y

    def scan_in_cond(x: Any, y: Any) -> Any:
        def keep(_: Any, y: Any) -> Any:
            return jaxlite.lax.scan(lambda y, _: (y, None), y, None, length=1)[0]

        return jaxlite.lax.cond(x < 0, keep, keep, x, y)

    assert jaxlite.vmap(scan_in_cond, (0, None), None)(X, y) is y
    w, _ = jaxlite.vmap(
        lambda w, x, n: jaxlite.lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] @ c[2], c[2]), (0, x, w)
        )[::-1][:2],
        in_axes=(None, 0, 0), out_axes=(None, 0),
    )(np.eye(2, dtype=np.float32), np.ones((4, 2), np.float32), np.arange(4))  # fmt: skip
    np.testing.assert_array_equal(np.asarray(w), np.eye(2))


def test_branches_not_taken_spoil_no_gradient() -> None:
    def run(j: Any) -> Any:
        def safe(x: Any) -> Any:
            return j.lax.cond(x < 1e-3, lambda: 1e-3, lambda: j.numpy.sqrt(x))

        return j.grad(lambda x: j.vmap(safe)(x).sum())(np.zeros(4, np.float32))

    np.testing.assert_array_equal(np.asarray(run(jaxlite)), np.asarray(run(jax)))
    assert not np.isnan(np.asarray(run(jaxlite))).any()


def test_disable_jit_with_tracers_and_numpy_arrays() -> None:
    with jaxlite.disable_jit():
        out = jaxlite.vmap(lambda x: jaxlite.lax.cond(x > 1, lambda: 0, lambda: 1))(X)
        assert out.tolist() == [1, 1, 0]

    def grow(carry: Any) -> Any:
        x, y = carry
        x += 1
        return x, y + x

    start = np.array(1.0, np.float32)
    results = []
    for without in (False, True):
        with jaxlite.disable_jit(without):
            results.append(
                float(jaxlite.lax.while_loop(lambda c: c[0] < 10, grow, (start, start))[1])
            )
    assert results[0] == results[1]


def test_strict_promotion_knows_the_index_is_weak() -> None:
    with jaxlite.numpy_dtype_promotion("strict"):
        out = jaxlite.lax.fori_loop(0, 3, lambda i, x: x * (i + 1), np.float32(2))
    assert float(out) == 12.0


BAD: dict[str, Any] = {
    "no predicate": lambda j: j.lax.cond(None, abs, abs, 1.0),
    "word": lambda j: j.lax.cond("foo", abs, abs, 1.0),
    "pair": lambda j: j.lax.cond((1.0, 1.0), abs, abs, 1.0),
    "index word": lambda j: j.lax.switch("foo", [abs, abs], 1.0),
    "index pair": lambda j: j.lax.switch((1.0, 1.0), [abs, abs], 1.0),
    "no pair": lambda j: j.lax.scan(lambda x, _: x, np.float32(0), None, length=1),
    "keys": lambda j: j.lax.scan(lambda x, _: ({"a": x["a"], "b": 1}, None), {"a": 1}, None, 1),
    "other keys": lambda j: j.lax.fori_loop(0, 1, lambda i, x: {"T": 1.0}, {"t": 1.0}),
    "types": lambda j: j.lax.scan(
        lambda x, _: ((x[0].astype("float32"), x[1].astype("float32").reshape(1, 1)), None),
        (j.numpy.int32(0),) * 2, None, length=1,
    ),
    "unroll": lambda j: j.lax.scan(lambda x, _: (x, None), 1.0, None, length=3, unroll=-1),
    "traced length": lambda j: j.jit(
        lambda n: j.lax.scan(lambda x, _: (x, None), 1.0, None, length=n)
    )(3),
    "traced unroll": lambda j: j.jit(
        lambda n: j.lax.scan(lambda x, _: (x, None), 1.0, None, length=3, unroll=n)
    )(3),
    "bounds": lambda j: j.lax.fori_loop(np.int16(0), np.int32(9), lambda i, c: c, 1.0),
    "mixed bounds": lambda j: j.lax.fori_loop(0, 3.5, lambda i, c: c, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_messages(name: str) -> None:
    with pytest.raises((TypeError, ValueError)) as theirs:
        BAD[name](jax)
    with pytest.raises((TypeError, ValueError)) as ours:
        BAD[name](jaxlite)
    assert type(ours.value).__name__ == type(theirs.value).__name__
    first = [str(e.value).split("\n\n") for e in (ours, theirs)]
    n = 2 if len(first[1]) > 2 else 1
    assert [p.split("\n")[:2] for p in first[0][:n]] == [p.split("\n")[:2] for p in first[1][:n]]
