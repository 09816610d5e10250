"""Every cause of a recompile is named, and the fix that is offered makes it go away."""

from __future__ import annotations

import functools
import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite.diagnose.misses import all_sites
from jaxlite.diagnose.places import question
from tests.diagnose.programs import repaired, run

# cause, program, letters of all traces, traces after the fix
FIXED = {
    "growing axis": (
        "S",
        "f = jax.jit(lambda x, y: x * 2 + y)\nfor n in (5, 6, 7):\n    f(jnp.ones((n, 3)), 1.0)\n",
        ("1SS", 1),
    ),
    "short last batch": (
        "S",
        "@jax.jit\ndef f(x, y):\n    return x.sum() + y.sum()\n"
        "for n in (8, 8, 5):\n    x, y = jnp.ones((n, 3)), jnp.ones(n)\n    r = f(x, y)\n"
        "out = float(r)\n",
        ("1S", 1),
    ),
    "powers of two": (
        "S",
        "f = jax.jit(lambda x: x * 2)\nr = [f(jnp.ones(n)) for n in (4, 8, 16)]\n",
        ("1SS", 1),
    ),
    "second axis": (
        "S",
        "f = jax.jit(lambda x: x * 2)\nfor n in (5, 6, 7):\n    x = jnp.ones((2, n))\n    f(x=x)\n",
        ("1SS", 1),
    ),
    "integers from NumPy": (
        "D",
        "f = jax.jit(lambda x: x * 2)\nf(np.ones(3, np.float32))\nf(np.arange(3))\n",
        ("1D", 1),
    ),
    "float64 from NumPy under x64": (
        "D",
        "f = jax.jit(lambda x: x * 2)\n"
        "with jax.enable_x64():\n    f(np.ones(3, np.float32))\n    f(np.ones(3) / 2)\n",
        ("1D", 1),
    ),
    "int and float": ("D", "f = jax.jit(lambda x: x * 2)\nf(1.0)\nf(2)\n", ("1D", 1)),
    "weak type": (
        "W",
        "f = jax.jit(lambda x, lr: x * lr)\nx = jnp.ones(3)\n"
        "for lr in (np.float32(0.5), 0.25):\n    f(x, lr)\n",
        ("1W", 1),
    ),
    "list and tuple": (
        "T",
        "f = jax.jit(lambda p: p[0] + p[1])\nf([1.0, 2.0])\nf((1.0, 2.0))\n",
        ("1T", 1),
    ),
    "by keyword": (
        "T",
        "@jax.jit\ndef f(x, y):\n    return x + y\n"
        "out = [float(f(1.0, 2.0)), float(f(1.0, y=3.0)), float(f(y=4.0, x=1.0))]\n",
        ("1TT", 1),
    ),
    "static number": (
        "V",
        "from functools import partial\n"
        "@partial(jax.jit, static_argnames=('lr', 'n'))\ndef f(x, lr, n):\n    return x * lr * n\n"
        "out = []\n"
        "for lr in (0.1, 0.2, 0.3):\n    out.append(float(f(1.0, lr, 2)))\n",
        ("1VV", 1),
    ),
    "static position": (
        "V",
        "f = jax.jit(lambda x, lr: x * lr, static_argnums=1)\nf(1.0, 0.1)\nf(1.0, 0.2)\n",
        ("1V", 1),
    ),
    "static object by identity": (
        "V",
        "class Config:\n    def __init__(self, n):\n        self.n = n\n"
        "f = jax.jit(lambda x, c: x * c.n, static_argnums=1)\n"
        "f(1.0, Config(2))\nf(1.0, Config(2))\n",
        ("1V", 1),
    ),
    "static object with fields": (
        "V",
        "class Config:\n    n: int = 2\n    def twice(self):\n        return 2 * self.n\n"
        "f = jax.jit(lambda x, c: x * c.twice(), static_argnums=1)\n"
        "f(1.0, Config())\nf(1.0, Config())\n",
        ("1V", 1),
    ),
    "statements on one line, made in a loop": (
        "F",
        "out = []\nfor i in range(3):\n"
        "    g = jax.jit(lambda x: x * i); out.append(float(g(1.0)))  # both here\n",
        ("1FF", 1),
    ),
    "a loop on one line": (
        "F",
        "out = []\nfor i in range(3): g = jax.jit(lambda x: x * 2); out.append(float(g(1.0)))\n",
        ("1FF", 1),
    ),
    "cache emptied between calls on one line": (
        "X",
        "f = jax.jit(lambda x: x + 1)\nout = []\n"
        "out.append(float(f(1.0))); jax.clear_caches(); out.append(float(f(1.0)))\n",
        ("1X", 1),
    ),
    "lambda in a loop": (
        "F",
        "for i in range(3):\n    jax.jit(lambda x: x * 2)(1.0)\n",
        ("1FF", 1),
    ),
    "lambda in a loop that captures": (
        "F",
        "out = []\n"
        "for i in range(3):\n    f = jax.jit(lambda x: x * i)\n    out += [float(f(1.0))]\n",
        ("1FF", 1),
    ),
    "def in a loop": (
        "F",
        "def main():\n    for i in range(3):\n        @jax.jit\n        def f(x):\n"
        "            return x * i\n        out.append(float(f(1.0)))\nout = []\nmain()\n",
        ("1FF", 1),
    ),
    "jit in a function": (
        "F",
        "def step(x):\n    return jax.jit(lambda y: y * 2)(x)\nstep(1.0)\nstep(2.0)\n",
        ("1F", 1),
    ),
    "partial in a loop": (
        "F",
        "from functools import partial\ndef g(a, x):\n    return a * x\n"
        "for i in range(3):\n    jax.jit(partial(g, 2.0))(1.0)\n",
        ("1FF", 1),
    ),
    "bound method of a value-hashed object": (
        "F",
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass M:\n    k: float\n"
        "    def f(self, x):\n        return x * self.k\nm = M(2.0)\n"
        "for i in range(3):\n    jax.jit(m.f)(1.0)\n",
        ("1FF", 1),
    ),
    "jit of grad in a loop": (
        "F",
        "def loss(x):\n    return x * x\nfor i in range(3):\n    jax.jit(jax.grad(loss))(1.0)\n",
        ("1FF", 1),
    ),
    "captured global": (
        "G",
        "lr = 0.1\n@jax.jit\ndef f(x):\n    return x * lr\n"
        "out = [float(f(1.0))]\nlr = 0.2\nf.retrace()\nout += [float(f(1.0))]\n",
        ("1G", 1),
    ),
    "cleared": (
        "X",
        "f = jax.jit(lambda x: x * 2)\nfor i in range(3):\n    f(1.0)\n    f.clear_cache()\n",
        ("1XX", 1),
    ),
    "all caches cleared": (
        "X",
        "f = jax.jit(lambda x: x * 2)\nf(1.0)\njax.clear_caches()\nf(1.0)\n",
        ("1X", 1),
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_cause_is_named_and_its_fix_works(name: str, tmp_path: Path) -> None:
    cause, body, (letters, after) = FIXED[name]
    program = run(tmp_path, body)
    assert program.causes == letters, program.report
    better = repaired(tmp_path, program, cause)
    assert len(better.report.entries) == after, better.text
    assert better.names.get("out") == program.names.get("out")


ADVICE = {
    "rank": ("S", "f = jax.jit(lambda x: x * 2)\nf(jnp.ones(3))\nf(jnp.ones((3, 3)))\n", "1S"),
    "keys of a dict": (
        "T",
        "f = jax.jit(lambda p: p['a'])\nf({'a': 1.0})\nf({'a': 1.0, 'b': 2.0})\n",
        "1T",
    ),
    "None": ("T", "f = jax.jit(lambda x, y: x)\nf(1.0, None)\nf(1.0, 2.0)\n", "1T"),
    "static shape": (
        "V",
        "f = jax.jit(lambda x, n: x + jnp.zeros(n), static_argnums=1)\nf(1.0, 2)\nf(1.0, 3)\n",
        "1V",
    ),
    "static values that hash alike": (
        "V",
        "f = jax.jit(lambda x, n: x * int(n), static_argnums=1)\n"
        "f(1.0, True)\nf(1.0, 1)\nf(1.0, 1.0)\n",
        "1VV",
    ),
    "static lambda": (
        "V",
        "f = jax.jit(lambda x, g: g(x), static_argnums=1)\n"
        "for i in range(2):\n    f(1.0, lambda x: x * 2)\n",
        "1V",
    ),
    "static object changed in place": (
        "V",
        "class C:\n    def __init__(self, n):\n        self.n = n\n"
        "    def __eq__(self, other):\n        return self.n == other.n\n"
        "    def __hash__(self):\n        return hash(self.n)\n"
        "    def __repr__(self):\n        return f'C({self.n})'\n"
        "f = jax.jit(lambda x, c: x * c.n, static_argnums=1)\n"
        "c = C(2)\nf(1.0, c)\nc.n = 3\nf(1.0, c)\n",
        "1V",
    ),
    "config": (
        "C",
        "f = jax.jit(lambda x: x * 2)\nf(1)\nwith jax.numpy_rank_promotion('raise'):\n    f(1)\n",
        "1C",
    ),
    "methods of two objects": (
        "F",
        "class M:\n    def f(self, x):\n        return x\na, b = M(), M()\n"
        "jax.jit(a.f)(1.0)\njax.jit(b.f)(1.0)\n",
        "1F",
    ),
    "attribute of a global": (
        "G",
        "class C:\n    lr = 0.1\nc = C()\nf = jax.jit(lambda x: x * c.lr)\n"
        "f(1.0)\nc.lr = 0.2\nf.retrace()\nf(1.0)\n",
        "1G",
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_cause_without_a_safe_edit_has_advice(name: str, tmp_path: Path) -> None:
    cause, body, letters = ADVICE[name]
    program = run(tmp_path, body)
    assert program.causes == letters, program.report
    (fix,) = program.report.fixes
    assert (fix.cause, fix.diff) == (cause, "")
    assert fix.title in program.report.text()


def test_two_causes_at_once_are_both_named(tmp_path: Path) -> None:
    program = run(tmp_path, "f = jax.jit(lambda x: x)\nf(jnp.ones(3))\nf(jnp.ones(4, jnp.int32))\n")
    assert program.causes == "1SD"
    assert {f.cause for f in program.report.fixes} == {"S", "D"}


def test_nearest_is_the_one_with_fewest_differences(tmp_path: Path) -> None:
    program = run(
        tmp_path,
        "f = jax.jit(lambda x, y: x.sum() + y.sum())\n"
        "f(jnp.ones(3), jnp.ones(3))\nf(jnp.ones(4), jnp.ones(4))\nf(jnp.ones(3), jnp.ones(5))\n",
    )
    last = program.report.entries[-1]
    assert last.nearest.number == 1
    assert [str(d) for d in last.causes] == ["y is f32[5], was f32[3]"]
    assert last.second.number == 2
    assert "Next nearest: trace 2, where" in str(program.report)


def test_report_has_every_fact_in_its_text(tmp_path: Path) -> None:
    program = run(
        tmp_path,
        "@jax.jit\ndef f(params, x):\n    return x @ params['w1']\n"
        "for n in (64, 64, 57):\n    f({'w1': jnp.ones((32, 8))}, jnp.ones((n, 32)))\n",
    )
    report = program.report
    text = str(report)
    assert repr(report) == text == report.text()
    assert "Trace 2 compiled again: x is f32[57,32], was f32[64,32] (against trace 1)." in text
    assert "params['w1']  f32[32,8]" in text
    assert "x axis 0 took values 64, 57; the other axes never changed." in text
    assert f"{program.report.file}:4" in text
    assert "never reused: 2" in text
    assert report.seconds == pytest.approx(report.trace_s + report.compile_s)
    assert report.seconds > 0
    assert report.causes == {"1": 1, "S": 1}
    assert report.fixes[0].saves_ms == pytest.approx(1e3 * report.entries[1].miss.seconds)
    assert "pad_batch" in report.fixes[0].diff
    assert "@@" in report.fixes[0].diff
    assert "@@" not in text


def test_static_object_that_is_stale_is_noted(tmp_path: Path) -> None:
    program = run(
        tmp_path,
        "class C:\n    def __init__(self, n):\n        self.n = n\n"
        "f = jax.jit(lambda x, c: x * c.n, static_argnums=1)\n"
        "c = C(2)\nf(1.0, c)\nc.n = 3\nr = f(1.0, c)\n",
    )
    assert (program.causes, float(program.names["r"])) == ("1", 2.0)
    assert "static c was changed in place after trace 1" in str(program.report)


def test_retrace_by_stale_globals_is_cause_g(tmp_path: Path) -> None:
    program = run(
        tmp_path,
        "from jaxlite.diagnose.stale import StaleWatch\nfrom jaxlite.settings import override\n"
        "w = StaleWatch(print)\nw.start()\nlr = 0.5\nf = jax.jit(lambda x: x * lr)\n"
        "with override(stale_globals='retrace'):\n"
        "    f(1.0)\n    lr = 0.25\n    r = f(1.0)\nw.stop()\n",
    )
    assert (program.causes, float(program.names["r"])) == ("1G", 0.25)
    assert "lr is 0.25, was 0.5" in program.report.verdict


def test_config_names_the_setting(tmp_path: Path) -> None:
    program = run(
        tmp_path, "f = jax.jit(lambda x: x)\nf(True)\nwith jax.enable_x64():\n    f(True)\n"
    )
    assert "config enable_x64 is True, was False" in program.report.verdict


def test_hash_alike_values_are_told_apart(tmp_path: Path) -> None:
    _, body, _ = ADVICE["static values that hash alike"]
    report = run(tmp_path, body).report
    assert [str(e.causes[0]) for e in report.entries[1:]] == [
        "static n is 1, was True",
        "static n is 1.0, was 1",
    ]


def test_values_that_hash_and_print_alike_are_told_apart(tmp_path: Path) -> None:
    body = (
        "class Same:\n    def __init__(self, k):\n        self.k = k\n"
        "    def __eq__(self, other):\n        return self.k == other.k\n"
        "    def __hash__(self):\n        return 1\n    def __repr__(self):\n        return 'S'\n"
        "f = jax.jit(lambda x, c: x * c.k, static_argnums=1)\n"
        "for k in (1, 2, 1):\n    f(1.0, Same(k))\n"
    )
    program = run(tmp_path, body)
    assert program.causes == "1V"
    assert "static c is another Same that prints alike, was S" in program.report.verdict


def test_what_is_no_argument_has_a_row_of_its_own(tmp_path: Path) -> None:
    body = "f = jax.jit(lambda p: p[0])\nf([1.0])\nf((1.0,))\n"
    assert "p         a tuple of 1           a list of 1            pytree" in str(
        run(tmp_path, body).report
    )


def test_question_names_what_the_user_can_write() -> None:
    class Model:
        @functools.partial(jax.jit, static_argnums=0)
        def step(self, x: Any) -> Any:
            return x

        def plain(self, x: Any) -> Any:
            return x

    assert question(Model.step) == "jaxlite.why_recompiled(Model.step)"
    assert question(jax.jit(Model().plain)) == "jaxlite.why_recompiled()"
    assert question(jax.jit(lambda x: x)) == "jaxlite.why_recompiled()"


def test_object_without_repr_says_that_it_is_another(tmp_path: Path) -> None:
    program = run(
        tmp_path,
        "class C:\n    def __repr__(self):\n        return 'C'\n"
        "f = jax.jit(lambda x, c: x, static_argnums=1)\nf(1.0, C())\nf(1.0, C())\n",
    )
    assert "static c is another C that prints alike, was C" in program.report.verdict


def test_without_argument_lists_the_users_functions_by_cost() -> None:
    f = jax.jit(lambda x: x + 1.0)
    f(1.0)
    reports = jax.why_recompiled()
    seconds = [r.seconds for r in reports.reports]
    assert seconds == sorted(seconds, reverse=True)
    assert __file__ in {r.file for r in reports.reports}
    assert not any(f"jaxlite{sep}numpy" in r.file for r in reports.reports for sep in "/\\")
    assert len(reports) == len(reports.reports)
    assert reports[0].report is reports.reports[0]
    assert "1 first call" in reports.text() == str(reports)


def test_methods_and_functions_not_traced_yet() -> None:
    class Model:
        @jax.jit
        def step(self: Any, x: Any) -> Any:
            return x

    jax.tree_util.register_pytree_node(Model, lambda m: ((), None), lambda _, __: Model())
    assert "has not been traced yet" in str(jax.why_recompiled(Model().step))
    Model().step(1.0)
    assert str(jax.why_recompiled(Model().step)).count("step") >= 1
    with pytest.raises(TypeError, match="why_recompiled expects a jitted function, got 3"):
        jax.why_recompiled(3)


def test_functions_without_source_are_reported_in_text() -> None:
    names: dict[str, Any] = {"jax": jax, "np": np}
    exec("f = jax.jit(lambda x: x)\nfor n in (3, 4, 5):\n    f(np.ones(n))", names)
    report = jax.why_recompiled(names["f"])
    assert "x axis 0 took values 3, 4, 5" in str(report)
    assert [f.diff for f in report.fixes] == [""]


def test_records_keep_neither_functions_nor_static_values_alive() -> None:
    class Config:
        n = 2

    def make() -> tuple[Any, Any]:
        c = Config()
        f = jax.jit(lambda x, c: x * c.n, static_argnums=1)
        f(1.0, c)
        return weakref.ref(f), weakref.ref(c)

    refs = make()
    gc.collect()
    assert [r() for r in refs] == [None, None]
    assert any(s.file == __file__ and s.misses for s in all_sites())


def test_user_repr_that_raises_is_survived() -> None:
    class Bad:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    f = jax.jit(lambda x, c: x, static_argnums=1)
    f(1.0, Bad())
    f(1.0, Bad())
    assert "<Bad>" in str(jax.why_recompiled(f))


def test_many_shapes_stay_short() -> None:
    f = jax.jit(lambda x: x)
    for n in range(1, 41):
        f.trace(jnp.ones(n))
    text = str(jax.why_recompiled(f))
    assert "(40 values)" in text
    assert "and 24 earlier ones" in text
    assert len(text.splitlines()) < 40
