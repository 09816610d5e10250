"""Donated arguments are deleted exactly where JAX deletes them; deleted arrays say so."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp
from jaxlite.errors import ConcretizationTypeError, JaxRuntimeError

jax = pytest.importorskip("jax")


def tree(n: Any) -> Any:
    return {"w": n.ones(2), "b": n.zeros(3)}


#: Name -> (module, numpy) -> (function, options of jit, arguments, keyword arguments).
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "same size": lambda j, n: (
        lambda a, b: (a + b, b * 2),
        {"donate_argnums": 0},
        [n.ones(3), n.zeros(3)],
        {},
    ),
    "other dtype": lambda j, n: (
        lambda a: a.astype(n.float32),
        {"donate_argnums": 0},
        [n.arange(4)],
        {},
    ),
    "other shape": lambda j, n: (
        lambda a: a.reshape(2, 2),
        {"donate_argnums": 0},
        [n.arange(4.0)],
        {},
    ),
    "no result of its size": lambda j, n: (
        lambda a: a.sum(),
        {"donate_argnums": 0},
        [n.arange(4.0)],
        {},
    ),
    "not read": lambda j, n: (lambda a: n.ones(4), {"donate_argnums": 0}, [n.arange(4.0)], {}),
    "result itself": lambda j, n: (lambda a: a, {"donate_argnums": 0}, [n.arange(4.0)], {}),
    "two for one result": lambda j, n: (
        lambda a, b: a + b,
        {"donate_argnums": (0, 1)},
        [n.arange(4.0), n.ones(4)],
        {},
    ),
    "tree": lambda j, n: (
        lambda p, x: {"w": p["w"] + x, "b": p["b"]},
        {"donate_argnums": 0},
        [tree(n), 1.0],
        {},
    ),
    "by name": lambda j, n: (
        lambda p, x: {"w": p["w"] + x, "b": p["b"]},
        {"donate_argnames": "p"},
        [tree(n), 1.0],
        {},
    ),
    "position passed by name": lambda j, n: (
        lambda p, x: {"w": p["w"] + x, "b": p["b"]},
        {"donate_argnums": 0},
        [],
        {"p": tree(n), "x": 1.0},
    ),
    "from the end": lambda j, n: (lambda x, a: a * x, {"donate_argnums": -1}, [2.0, n.ones(3)], {}),
    "with static": lambda j, n: (
        lambda k, a: a * k,
        {"donate_argnums": 1, "static_argnums": 0},
        [2, n.ones(3)],
        {},
    ),
    "key": lambda j, n: (
        lambda k: j.random.fold_in(k, 1),
        {"donate_argnums": 0},
        [j.random.key(0)],
        {},
    ),
    "unused is kept": lambda j, n: (
        lambda a: n.ones(4),
        {"donate_argnums": 0, "keep_unused": True},
        [n.arange(4.0)],
        {},
    ),
}


def deleted(j: Any, value: Any) -> list[bool]:
    return [x.is_deleted() for x in j.tree.leaves(value) if isinstance(x, j.Array)]


def outcome(j: Any, n: Any, name: str) -> Any:
    function, options, args, kwargs = CALLS[name](j, n)
    jitted = j.jit(function, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = jitted(*args, **kwargs)
    flags = deleted(j, (args, kwargs))
    again = CALLS[name](j, n)
    jitted(*again[2], **again[3])  # the short way of a second call does the same
    assert deleted(j, (again[2], again[3])) == flags
    told = [str(w.message).split("\n")[0] for w in caught]
    return flags, told, [np.asarray(x) for x in j.tree.leaves(out) if name != "key"]


@pytest.mark.jax_oracle
@pytest.mark.parametrize("name", CALLS)
def test_deletes_what_jax_deletes(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = outcome(jaxlite, jnp, name), outcome(jax, jax.numpy, name)
    assert ours[:2] == theirs[:2]
    for a, b in zip(ours[2], theirs[2], strict=True):
        np.testing.assert_array_equal(a, b)


def test_numpy_arguments_and_inner_calls_delete_nothing() -> None:
    f = jaxlite.jit(lambda a: a + 1, donate_argnums=0)
    x = np.ones(3, np.float32)
    f(x)
    assert x.tolist() == [1.0, 1.0, 1.0]
    y = jnp.ones(3)
    jaxlite.jit(lambda v: f(v) + v)(y)
    with jaxlite.disable_jit():
        f(y)
    assert not y.is_deleted()


USES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + 1,
    "repr": repr,
    "NumPy": np.asarray,
    "index": lambda x: x[0],
    "copy": copy.deepcopy,
    "pickle": pickle.dumps,
    "jit": lambda x: jaxlite.jit(lambda v: v * 2)(x),
    "grad": lambda x: jaxlite.grad(lambda v: v.sum())(x),
    "device_put": jaxlite.device_put,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_deleted_array_says_so(use: Callable[[Any], Any]) -> None:
    x = jnp.arange(3.0)
    x.delete()
    x.delete()
    assert x.is_deleted()
    assert (x.shape, len(x), x.nbytes) == ((3,), 3, 12)
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]\."):
        use(x)


@pytest.mark.parametrize("both", [False, True])
def test_one_array_passed_twice(both: bool) -> None:
    f = jaxlite.jit(lambda a, b: (a + b, a - b), donate_argnums=(0, 1) if both else 0)
    x = jnp.ones(3)
    with pytest.raises(JaxRuntimeError, match="INVALID_ARGUMENT: Attempt to"):
        f(x, x)
    assert not x.is_deleted()


def test_tracers_have_no_data_to_delete() -> None:
    for method in ("delete", "is_deleted"):
        with pytest.raises(ConcretizationTypeError, match=rf"The {method}\(\) method was called"):
            jaxlite.jit(lambda v, m=method: getattr(v, m)())(1.0)


@pytest.mark.jax_oracle
@pytest.mark.parametrize(
    ("function", "options"),
    [
        (lambda x: x, {"donate_argnums": 1}),
        (lambda x: x, {"donate_argnames": "y"}),
        (lambda x: x, {"donate_argnums": 0, "static_argnums": 0}),
        (lambda x: x, {"donate_argnames": "x", "static_argnames": "x"}),
    ],
)
def test_bad_donation_is_refused_as_in_jax(function: Any, options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as theirs:
        jax.jit(function, **options)
    with pytest.raises(theirs.type) as ours:
        jaxlite.jit(function, **options)
    assert str(ours.value).split(".")[0] == str(theirs.value).split(".")[0]


def test_stages_show_what_is_donated() -> None:
    f = jaxlite.jit(lambda a, b: a + b, donate_argnums=0)
    traced = f.trace(jnp.ones(3), jnp.ones(3))
    assert traced.donate_argnums == (0,)
    ((a, b), _) = traced.lower().args_info
    assert (a.shape, a.donated, b.donated) == ((3,), True, False)
    assert "donated_invars=(True, False)" in str(jaxlite.make_jaxpr(f)(1.0, 2.0))


def test_live_arrays_are_those_with_memory() -> None:
    x = jnp.arange(4321.0)

    def is_live() -> bool:
        return any(a is x for a in jaxlite.live_arrays())

    assert is_live()
    x.delete()
    assert not is_live()
