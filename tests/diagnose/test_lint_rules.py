"""Every lint rule: its message, what it leaves alone, and its fix, which makes it go away."""

from __future__ import annotations

import collections
import enum
import random
import time
import types
from typing import Any

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp
from jaxlite.diagnose.cell_history import CellHistory
from jaxlite.diagnose.lint import lint_cell, lint_jit_cell


class Model:
    def __init__(self) -> None:
        self.scale = 2.0

    def predict(self, x: Any) -> Any:
        return x * self.scale


class Kind(enum.Enum):
    A = 1


Pair = collections.namedtuple("Pair", "init update")


def helper_that_reads(v: Any) -> Any:
    return v * scale


def helper_that_draws(v: Any) -> Any:
    return v + np.random.rand()  # noqa: NPY002


scale = 2.0
NAMES: dict[str, Any] = {
    "jax": jaxlite, "jnp": jnp, "np": np, "random": random, "time": time, "jit": jaxlite.jit,
    "scale": 2.0, "w": jnp.ones(3), "cfg": {"lr": 1.0}, "losses": [], "table": np.ones(3),
    "model": Model(), "space": types.SimpleNamespace(lr=0.1), "rng": np.random.default_rng(0),
    "now": time.time, "kind": Kind.A, "dtype": np.dtype("float32"), "opt": Pair(len, len),
    "reads": helper_that_reads, "draws": helper_that_draws, "count": 0,
}  # fmt: skip


def found(source: str, history: CellHistory | None = None, **more: Any) -> list[str]:
    return [str(m) for m in lint_cell(source, {**NAMES, **more}, history or CellHistory())]


def jitted(body: str) -> str:
    lines = body.split("\n")
    return "@jax.jit\ndef f(x):\n" + "\n".join(f"    {line}" for line in lines)


ONCE = "runs once, while tracing, not per call"
# The body of a jitted f(x), the message, and the fixed cell.
RULES = {
    "JL101": (
        "return x * scale",
        "JL101 f reads global scale (2.0). Better: f(x, scale)",
        "@jax.jit\ndef f(x, scale):\n    return x * scale",
    ),
    "JL101 through a helper": (
        "return reads(x)",
        "JL101 f (through reads) reads global scale (2.0). Better: helper_that_reads(v, scale)",
        "def reads(v, scale):\n    return v * scale\n@jax.jit\ndef f(x, scale):\n"
        "    return reads(x, scale)",
    ),
    "JL102": (
        "return x * cfg['lr']",
        "JL102 f reads mutable global cfg (dict). Changes after the first call may not be seen. "
        "Pass cfg, or freeze it.",
        "@jax.jit\ndef f(x, cfg):\n    return x * cfg['lr']",
    ),
    "JL104": (
        "return x * model.scale",
        "JL104 f reads model.scale. Pass model as an argument.",
        "@jax.jit\ndef f(x, model):\n    return x * model.scale",
    ),
    "JL104 through a method": (
        "return model.predict(x)",
        "JL104 f (through model.predict) reads model.scale. Pass model as an argument.",
        "@jax.jit\ndef f(x, model):\n    return model.predict(x)",
    ),
    "JL104 of a namespace": (
        "return x * space.lr",
        "JL104 f reads space.lr. Pass space as an argument.",
        "@jax.jit\ndef f(x, space):\n    return x * space.lr",
    ),
    "JL105": (
        "y = x + 1\nlosses.append(y)\nreturn y",
        f"JL105 losses.append {ONCE}. Return the value instead.",
        jitted("y = x + 1\nreturn y, y") + "\nlosses = [f(1.0)[1]]",
    ),
    "JL105 of an item": (
        "table[0] = 1\nreturn x",
        f"JL105 table[...] = ... {ONCE}. Return the value instead.",
        jitted("return x, 1"),
    ),
    "JL105 of a global": (
        "global count\ncount = 1\nreturn x",
        f"JL105 count = ... {ONCE}. Return the value instead.",
        jitted("return x, 1"),
    ),
    "JL107": (
        "return x + np.random.rand(3)",
        "JL107 np.random.rand runs once, at trace time: every call gets the same numbers. Use "
        "jaxlite.random with a key.",
        "@jax.jit\ndef f(x, key):\n    return x + jax.random.uniform(key, (3,))",
    ),
    "JL107 of a generator": (
        "return x + rng.normal()",
        "JL107 rng.normal runs once, at trace time: every call gets the same numbers. Use "
        "jaxlite.random with a key.",
        "@jax.jit\ndef f(x, key):\n    return x + jax.random.normal(key)",
    ),
    "JL107 of the clock": (
        "start = now()\nreturn x + start",
        "JL107 now runs once, at trace time: every call gets the same time. Measure outside the "
        "function.",
        jitted("return x") + "\nstart = now()\nf(1.0)",
    ),
    "JL107 through a helper": (
        "return draws(x)",
        "JL107 np.random.rand runs once, at trace time, in draws: every call gets the same "
        "numbers. Use jaxlite.random with a key.",
        "def draws(v, key):\n    return v + jax.random.uniform(key)\n"
        "@jax.jit\ndef f(x, key):\n    return draws(x, key)",
    ),
    "JL111": (
        "y = x * 2\nprint('y is', y)\nreturn y",
        'JL111 print runs once, at trace time. Use jaxlite.debug.print("{}", y).',
        jitted('y = x * 2\njax.debug.print("{}", y)\nreturn y'),
    ),
    "JL111 of a format string": (
        "name = f'{x + 1}'\nreturn x",
        'JL111 the f-string runs once, at trace time. Use jaxlite.debug.print("{}", x + 1).',
        jitted('jax.debug.print("{}", x + 1)\nreturn x'),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_rule_says_what_and_its_fix_is_quiet(rule: str) -> None:
    body, message, fixed = RULES[rule]
    code = rule.split()[0]
    assert message in [m for m in found(jitted(body)) if m.startswith(code)]
    assert found(fixed) == []
    assert found(f"# jaxlite: ok {code}\n{jitted(body)}") == [
        m for m in found(jitted(body)) if not m.startswith(code)
    ]


def test_change_in_another_cell_is_named() -> None:
    history = CellHistory()
    history.record("cfg = {}\ncfg['lr'] = 1.0", 2, "a")
    source = jitted("return x * cfg['lr']")
    assert [m[:5] for m in found(source, history)] == ["JL102"]  # filling it where it is made
    history.record("def reset():\n    cfg['lr'] = 0.0", 4, "b")
    assert found(source, history) == [
        "JL103 cfg is changed in cell 4, line 2, and f depends on it. Pass cfg as an argument."
    ]
    history.record("cfg.update(lr=2.0)", 5, "c")
    assert "in cell 5, line 1" in found(source, history)[0]
    history.record("print(cfg)", 6, "c")  # edited
    history.record("pass", 7, "b")
    assert [m[:5] for m in found(source, history)] == ["JL102"]


def test_global_statement_in_another_function_is_a_change() -> None:
    history = CellHistory()
    history.record("scale = 2.0", 1, "a")
    history.record("def set_scale(s):\n    global scale\n    scale = s", 2, "b")
    codes = [m[:5] for m in found(jitted("return x * scale"), history)]
    assert codes == ["JL101", "JL103"]


@pytest.mark.parametrize(
    "source",
    [
        "fs = []\nfor i in range(3):\n    @jax.jit\n    def f(x):\n        return x + i\n"
        "    fs.append(f)",
        "fs = [jax.jit(lambda x: x + i) for i in range(3)]",
        "def make():\n    fs = []\n    for i in range(3):\n"
        "        fs.append(jit(lambda x: x + i))\n    return fs",
    ],
)
def test_loop_variable_that_a_closure_captures(source: str) -> None:
    (message,) = [m for m in found(source) if m.startswith("JL106")]
    assert "captures loop variable i. It keeps the value of the first trace. Pass i." in message
    fixed = source.replace("def f(x):", "def f(x, i):").replace("lambda x:", "lambda x, i:")
    assert found(fixed) == []


def test_name_whose_cell_is_gone() -> None:
    history = CellHistory()
    history.record("w = jnp.ones(3)", 1, "a")
    source = jitted("return x @ w")
    assert [m[:5] for m in found(source, history)] == ["JL101"]
    history.delete(["a"])
    gone = (
        "JL108 w has no cell in this notebook any more, and f reads it. Restart and run all would "
        "fail. Assign w in a cell."
    )
    assert gone in found(source, history)
    history.record("w = jnp.ones(3)", 3, "c")
    assert [m[:5] for m in found(source, history)] == ["JL101"]
    history.record("v = jnp.ones(3)", 4, "c")  # renamed: w lives on without a cell
    assert gone in found(source, history)


def test_static_self_of_a_method() -> None:
    source = (
        "class Layer:\n    @partial(jax.jit, static_argnums=0)\n    def __call__(self, x):\n"
        "        return self.mix(x * self.scale)\n    def mix(self, x):\n        return x"
    )
    assert found(source) == [
        "JL104 __call__ reads self.scale. Pass self.scale as an argument, or make the class a "
        "frozen dataclass."
    ]
    fixed = (
        "class Layer:\n    @partial(jax.jit, static_argnums=0)\n    def __call__(self, x, scale):\n"
        "        return self.mix(x * scale)\n    def mix(self, x):\n        return x"
    )
    assert found(fixed) == []


@pytest.mark.parametrize(
    "source",
    [
        jitted("print('tracing', x.shape, len(x))\nreturn x"),
        jitted("if x.ndim != 1:\n    raise ValueError(f'bad {x}')\nreturn x"),
        jitted("out = []\nout.append(x)\nd = {}\nd['a'] = x\nreturn out, d"),
        jitted("y = np.zeros(3)\ny[0] = 1\nreturn x + y"),
        jitted("return opt.update(x), dtype.itemsize * x, kind"),
        jitted("for i, v in enumerate(x):\n    print(i)\nreturn x"),
        jitted("@jax.vmap\ndef g(scale):\n    return scale * x\nreturn g(x)"),
        jitted("return jax.random.normal(jax.random.PRNGKey(0)) + x"),
        "def make(scale):\n    @jax.jit\n    def f(x):\n        return x * scale\n    return f",
        "def make(scale):\n    def f(x):\n        return x * scale\n    return jax.jit(f)",
        "for n in range(3):\n    jax.jit(lambda x: x + n)(1.0)",
        "for n in range(3):\n    @jax.jit\n    def f(x, n=n):\n        return x + n",
        "import numba\n@numba.jit\ndef f(x):\n    return x * scale",
        "from jax import jit\n@jit\ndef f(x, y):\n    return x * y",
        "losses.append(1)\ncfg['lr'] = 2.0\nprint(scale, time.time(), np.random.rand())\njit",
        "class A:\n    @jax.jit\n    def f(x):\n        return x",
    ],
)
def test_ordinary_code_is_left_alone(source: str) -> None:
    numba = types.ModuleType("numba")
    numba.jit = lambda f: f  # type: ignore[attr-defined]
    assert found(source, numba=numba) == []


def test_values_that_the_cell_itself_makes_are_judged_after_it() -> None:
    source = "g = jnp.ones(3)\n" + jitted("return x + g")
    assert found(source) == []  # nobody knows yet what g will be
    messages = lint_cell(source, {**NAMES, "g": jnp.ones(3)}, CellHistory(), has_run=True)
    assert [str(m) for m in messages] == ["JL101 f reads global g (f32[3]). Better: f(x, g)"]


def test_functions_of_earlier_cells_are_judged_where_they_are_jitted() -> None:
    names = dict(NAMES)
    source = "def loss(p):\n    return p * scale\n"
    exec(compile(source, __file__, "exec"), names)
    assert [m.code for m in lint_cell("g = jax.jit(jax.grad(reads))", names, CellHistory())] == [
        "JL101"
    ]


def test_jit_cells_are_told_what_happens_once() -> None:
    source = "y = x * 2\nlosses.append(y)\nprint(y)\nz = y + np.random.rand()\nd = {}\nd['a'] = y"
    found = [str(m)[:5] for m in lint_jit_cell(source, NAMES, ("x",))]
    assert sorted(found) == ["JL105", "JL107", "JL111"]
    assert lint_jit_cell("y = x * scale\ncfg['lr'] = y\nlosses2 = [y]", NAMES, ("x", "cfg")) == []


@pytest.mark.parametrize(
    "source",
    ["def f(:", "jit(\0)", "jit(" * 500, "@jax.jit\ndef f():\n    yield", "jit()", "jax.jit(3)",
     "@jit(**kw)\ndef f(x): return x", "jit(jit)", "déf = jit(lambda ξ: ξ)"],
)  # fmt: skip
def test_odd_sources_get_an_answer(source: str) -> None:
    assert isinstance(found(source), list)
