"""``jax.debug``: what runs at every call, under every transformation, and is the same as in JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp
from jaxlite import lax

PROGRAMS: dict[str, Any] = {
    "eager": lambda j, n, f: f(n.ones(2)),
    "jit": lambda j, n, f: (j.jit(f)(n.ones(2)), j.jit(f)(n.zeros(2))),
    "vmap": lambda j, n, f: j.vmap(f)(n.arange(3.0)),
    "vmap of jit": lambda j, n, f: j.vmap(j.jit(f))(n.arange(3.0)),
    "grad": lambda j, n, f: j.grad(lambda x: f(x).sum())(n.ones(2)),
    "jit of grad": lambda j, n, f: j.jit(j.grad(lambda x: f(x).sum()))(n.ones(2)),
    "loop": lambda j, n, f: j.jit(lambda x: j.lax.fori_loop(0, 2, lambda i, c: f(c), x))(n.ones(2)),
    "cond": lambda j, n, f: j.lax.cond(True, f, lambda x: x, n.ones(2)),
}


@pytest.mark.jax_oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_jax_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    jax = pytest.importorskip("jax")
    shown: list[list[str]] = []
    values: list[Any] = []
    for library, numpy in ((jax, jax.numpy), (jaxlite, jnp)):

        def f(x: Any, library: Any = library) -> Any:
            library.debug.print("x={} y={y:}", x, y=x * 2)
            return x + 1

        out = PROGRAMS[name](library, numpy, f)
        getattr(library, "effects_barrier", lambda: None)()
        values.append(np.asarray(out))
        # JAX keeps no order among the examples of a batch.
        shown.append(sorted(capsys.readouterr().out.splitlines()))
    assert shown[0] == shown[1] != []
    np.testing.assert_array_equal(*values)


def test_callback_gets_the_structure_and_plain_values() -> None:
    seen: list[Any] = []
    f = jaxlite.jit(
        lambda p, x: jaxlite.debug.callback(lambda *a, **k: seen.append((a, k)), p, "tag", x=x)
    )
    f({"w": jnp.ones(2)}, 3.0)
    ((args, named),) = seen
    assert args[0]["w"].tolist() == [1.0, 1.0]
    assert args[1] == "tag"
    assert float(named["x"]) == 3.0


def test_error_of_a_callback_is_the_callers() -> None:
    def boom(_: Any) -> None:
        raise ValueError("boom")

    def f(x: Any) -> Any:
        jaxlite.debug.callback(boom, x)
        return x

    with pytest.raises(ValueError, match="boom"):
        jaxlite.jit(f)(1.0)


def test_order_of_the_program_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        jaxlite.debug.print("first")
        x = lax.fori_loop(0, 2, lambda i, c: (jaxlite.debug.print("turn {}", i), c)[1], x)
        jaxlite.debug.print("last {:.1f}", x)
        return x

    jaxlite.jit(f)(1.0)
    assert capsys.readouterr().out.split("\n") == ["first", "turn 0", "turn 1", "last 1.0", ""]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: jaxlite.debug.print(3), TypeError),  # type: ignore[arg-type]
        (lambda: jaxlite.debug.print("{} {}", 1), IndexError),
        (lambda: jaxlite.debug.print("{a}", b=1), KeyError),
        (lambda: jaxlite.debug.callback(3), TypeError),  # type: ignore[arg-type]
    ],
)
def test_mistakes_are_found_at_once(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
