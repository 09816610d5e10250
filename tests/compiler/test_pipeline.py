"""The spine: every stage is kept, timed, announced, checked and written down if asked."""

from pathlib import Path
from typing import Any

import numpy as np

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import events
from jaxlite.pipeline import compile_jaxpr
from jaxlite.settings import override
from tests.compiler.programs import f32

STAGES = ["optimise", "fuse", "lower", "plan_memory", "emit", "load"]


def f(x: Any) -> Any:
    return jnp.sum(jnp.sin(x) * 2 + jnp.arange(5.0))


def test_every_stage_is_kept_and_timed() -> None:
    x = f32(5)
    record = compile_jaxpr(jax.make_jaxpr(f)(x), name="f")
    (out,) = record.executable.run((x,))
    np.testing.assert_allclose(out, np.sum(np.sin(x) * 2 + np.arange(5)), rtol=1e-5)
    assert list(record.seconds) == STAGES
    assert all(s >= 0 for s in record.seconds.values())
    assert record.n_kernels == 1
    for stage in ("jaxpr", "optimised", "fusion", "kernels", "llvm"):
        assert "reduce_sum" in record.text(stage)


def test_listeners_hear_of_every_stage() -> None:
    seen: list[events.Event] = []
    with events.listen(seen.append):
        compile_jaxpr(jax.make_jaxpr(f)(f32(5)), name="g")
    ended = [e for e in seen if isinstance(e, events.PassEnded)]
    assert [e.stage for e in ended] == STAGES
    assert {e.name for e in ended} == {"g"}


def test_stages_are_written_to_a_folder(tmp_path: Path) -> None:
    with override(dump="jaxpr,kernel", dump_dir=str(tmp_path), check=True):
        record = compile_jaxpr(jax.make_jaxpr(f)(f32(5)), name="<lambda>")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "_lambda_.jaxpr.txt",
        "_lambda_.kernel.txt",
    ]
    assert (tmp_path / "_lambda_.kernel.txt").read_text() == f"{record.program}\n"


def test_constants_of_nested_bodies_come_after_those_of_the_program() -> None:
    table, other = jnp.arange(4.0), jnp.arange(4.0) * 2
    g = lambda p, x: jax.lax.cond(p, lambda v: v + other, lambda v: v * other, x) + table  # noqa: E731
    record = compile_jaxpr(jax.make_jaxpr(g)(True, f32(4)))
    assert len(record.consts) == len(record.program.inputs) - 2
    (out,) = record.executable.run((np.asarray(True), f32(4)))
    np.testing.assert_allclose(out, f32(4) + np.asarray(other) + np.asarray(table), rtol=1e-6)


def test_ten_equations_compile_in_milliseconds() -> None:
    def chain(x: Any) -> Any:
        for _ in range(5):
            x = jnp.sin(x) * 2
        return x

    closed = jax.make_jaxpr(chain)(f32(5))
    best = min(
        sum(
            s for stage, s in compile_jaxpr(closed).seconds.items() if stage not in ("emit", "load")
        )
        for _ in range(5)
    )
    assert best < 0.01, f"{best * 1e3:.1f} ms for ten equations (0.5 ms when measured)"
