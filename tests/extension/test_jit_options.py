"""Every option of ``%%jit``, ``%jit``, ``%jaxlite``, the table of inputs, loading and unloading."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import jaxlite
from jaxlite.diagnose.hooks import runner_hooks

LOSS = "h = tanh(x @ w1 + b1)\nloss = mean(h**2)"
INDENTED = LOSS.replace("\n", "\n    ")


def test_grad_assigns_the_gradients_of_the_loss(notebook: Any) -> None:
    report = notebook.run(f"%%jit --grad loss:w1,b1\n{LOSS}").out
    assert report.startswith("%%jit  3 in, 2 out")
    notebook.run(
        f"def f(x, w1, b1):\n    {LOSS.replace(chr(10), chr(10) + '    ')}\n    return loss"
    )
    notebook.run("e1, e2 = jax.grad(f, (1, 2))(x, w1, b1)")
    assert np.allclose(notebook["dw1"], notebook["e1"])
    assert np.allclose(notebook["db1"], notebook["e2"])
    assert "dx" not in notebook
    notebook.run(f"%%jit --grad loss\n{LOSS}")
    assert notebook["dx"].shape == (4, 3)
    notebook.run("params = {'w': w1, 'name': 'layer'}")
    notebook.run("%%jit -q --grad s --out s\ns = (x @ params['w']).sum()\nname = params['name']")
    assert notebook["dparams"]["w"].shape == (3, 5)
    assert "name" not in notebook


def test_vmap_runs_the_cell_per_example(notebook: Any) -> None:
    notebook.run("%%jit -q --vmap x:0\ny = jnp.dot(x, x)")
    assert notebook["y"].tolist() == [3.0, 3.0, 3.0, 3.0]
    notebook.run("%%jit -q --vmap x:0 --grad l:w1\nl = (x @ w1).sum()")
    assert notebook["dw1"].shape == (4, 3, 5)
    notebook.run("%%jit -q --vmap x:1\ny = x.sum()")
    assert notebook["y"].shape == (3,)


def test_check_grad_passes_a_right_gradient_and_finds_a_wrong_one(notebook: Any) -> None:
    right = notebook.run(f"%%jit --grad loss:w1,b1 --check-grad\n{LOSS}").out
    assert re.search(r"check dw1: ✓ \de-\d+", right)
    assert re.search(r"check db1: ✓ \de-\d+", right)
    notebook.run(
        "@jax.custom_jvp\ndef cube(v):\n    return v**3\n"
        "@cube.defjvp\ndef rule(p, t):\n    return cube(*p), 2 * p[0]**2 * t[0]"
    )
    wrong = notebook.run("%%jit --grad s:x --check-grad\ns = cube(x).sum()").out
    assert re.search(r"check dx: ✗ 0\.33 at \[0,0\]: 2, finite differences say 3", wrong)


def test_fuse_off_makes_a_kernel_per_operation(notebook: Any) -> None:
    body = "y = jnp.tanh(x) * 2.0 + 1.0"

    def kernels(line: str) -> int:
        found = re.search(r"(\d+) kernels?", notebook.run(f"{line}\n{body}").out)
        assert found
        return int(found[1])

    assert kernels("%%jit") == kernels("%%jit --fuse rows") == 1
    assert kernels("%%jit --fuse off") == 3


def test_max_traces_stops_the_next_compile(notebook: Any) -> None:
    notebook.run("%%jit --max-traces 1\ny = x * 2.0")
    notebook.run("x = jnp.ones(7)")
    stopped = notebook.run("%%jit --max-traces 1\ny = x * 2.0")
    assert "JL031 RecompileError" in stopped.out + stopped.err
    assert notebook["y"].shape == (4, 3)


@pytest.mark.parametrize(
    ("policy", "expected", "message"),
    [
        ("retrace", 3.0, "JL201 lr changed since the cell (through step) was traced (2.0 -> 3.0"),
        ("warn", 2.0, "JL202 the cell (through step) uses the old value of lr (2.0, now 3.0"),
        ("error", 2.0, "JL203 StaleGlobalError: lr changed since the cell (through step)"),
    ],
)
def test_stale_global_of_a_helper(
    notebook: Any, policy: str, expected: float, message: str
) -> None:
    notebook.run("lr = 2.0\ndef step(v):\n    return v * lr")
    cell = f"%%jit --stale {policy}\ny = step(jnp.ones(2))"
    notebook.run(cell)
    notebook.run("lr = 3.0")
    again = notebook.run(cell)
    assert notebook["y"].tolist() == [expected] * 2
    assert message in again.out + again.err
    assert message not in (notebook.run("1").err)


def test_names_in_and_out_and_static(notebook: Any) -> None:
    notebook.run("s = 2.0\nsize = 3")
    assert notebook.run("%%jit --in x\ny = x * s").out.startswith("%%jit  1 in, 1 out")
    notebook.run("s = 5.0")
    again = notebook.run("%%jit --in x\ny = x * s").out
    assert "compiled again: s is another object" in again
    assert float(notebook["y"][0, 0]) == 5.0
    notebook.run("%%jit -q --static size\nz = jnp.zeros(size)")
    assert notebook["z"].shape == (3,)


def test_name_is_bound_except_in_a_dry_run(notebook: Any) -> None:
    dry = notebook.run("%%jit double --dry\ny = x * 2.0")
    assert "dry run" in dry.out
    assert "double" not in notebook
    notebook.run("%%jit double --time\ny = x * 2.0")
    assert notebook["double"](jaxlite.numpy.ones(2)).tolist() == [2.0, 2.0]
    assert notebook["double"](x=jaxlite.numpy.ones(2)).tolist() == [2.0, 2.0]


def test_show_text_and_views(notebook: Any) -> None:
    shown = notebook.run(f"%%jit --show text\n{LOSS}").out
    assert "h = tanh(x @ w1 + b1)" in shown
    assert notebook.run(f"%%jit --show\n{LOSS}").success


def test_one_line(notebook: Any) -> None:
    result = notebook.run("%jit y = x * 3.0")
    assert result.out.startswith("%%jit  1 in, 1 out")
    assert float(notebook["y"][0, 0]) == 3.0
    assert float(notebook.run("%jit x.sum()").result) == 12.0
    assert "give a line" in notebook.run("%jit").err


# name: value, a cell that uses it, what the report begins with on the second run with another value
INPUTS = {
    "array": ("x2 = jnp.ones(2)", "x2 = jnp.zeros(2)", "y = x2 + 1", "cached"),
    "ndarray": ("x2 = np.ones(2)", "x2 = np.zeros(2)", "y = x2 + 1", "cached"),
    "number": ("k = 2", "k = 3", "y = x * k", "cached"),
    "list": ("k = [1.0, 2.0]", "k = [1.0, 3.0]", "y = x * k[1]", "cached"),
    "dict": ("k = {'a': 1.0}", "k = {'a': 3.0}", "y = x * k['a']", "cached"),
    "shape": ("k = 2", "k = 3", "y = jnp.zeros(k)", "compiled again: static k is 3, was 2"),
    "bool": ("k = True", "k = False", "y = x if k else -x", "compiled again: static k is False"),
    "text": ("k = 'a'", "k = 'b'", "y = x * len(k)", "compiled again"),
    "none": ("k = None", "k = 1", "y = x if k is None else -x", "compiled again: k is int now"),
    "mixed": (
        "k = {'a': 1.0, 'kind': 'sin'}", "k = {'a': 1.0, 'kind': 'cos'}",
        "y = getattr(jnp, k['kind'])(x) * k['a']", "compiled again",
    ),
    "enum": (
        "import enum\nclass K(enum.Enum):\n    A = 1\n    B = 2\nk = K.A", "k = K.B",
        "y = x if k is K.A else -x", "compiled again",
    ),
    "dtype": (
        "k = np.dtype('float32')", "k = np.dtype('int32')", "y = x.astype(k)", "compiled again",
    ),
    "function": (
        "def k(v): return v + 1", "def k(v): return v + 2", "y = k(x)",
        "compiled again: k is another function",
    ),
    "same function": ("def k(v): return v + 1", "def k(v): return v + 1", "y = k(x)", "cached"),
}  # fmt: skip


@pytest.mark.parametrize("case", INPUTS)
def test_what_an_input_is_treated_as(notebook: Any, case: str) -> None:
    first, second, body, report = INPUTS[case]
    notebook.run(first)
    assert notebook.run(f"%%jit\n{body}").success
    notebook.run(second)
    out = notebook.run(f"%%jit\n{body}").out
    assert out.startswith(f"%%jit  {report}"), out


def test_python_values_of_a_cell_stay_python(notebook: Any) -> None:
    notebook.run(
        "%%jit -q\nn2 = 3\nword = 'a' + 'b'\nboth = [x, 'tag']\n"
        "def helper(v):\n    return v + n2 + w1[0, 0]\nimport math as m2\n"
        "short = lambda v: v * w1[0, 0]\n"
        "for i in range(3):\n    y = helper(x) * i"
    )
    assert notebook["n2"] == 3
    assert notebook["word"] == "ab"
    assert notebook["both"][1] == "tag"
    assert notebook["m2"].pi > 3
    assert notebook["i"] == 2
    assert float(notebook["y"][0, 0]) == 10.0
    assert float(notebook.run("helper(1.0)").result) == 5.0  # reads the user's w1, no tracer
    assert float(notebook.run("short(3.0)").result) == 3.0


def test_container_changed_in_a_cell_is_the_users_only_afterwards(notebook: Any) -> None:
    notebook.run("p = {'w': 1.0}\nq = p")
    assert not notebook.run("%%jit\np['w'] = x\nz = x @ jnp.ones(9)").success
    assert notebook["p"] == {"w": 1.0}
    notebook.run("%%jit -q\np['w'] = x * 2.0")
    assert float(notebook["p"]["w"][0, 0]) == 2.0
    assert notebook["q"] == {"w": 1.0}


def test_failing_definition_leaves_every_name(notebook: Any) -> None:
    notebook.run("y = 1\ncalls = []")
    notebook.run("def once(f):\n    calls.append(1)\n    assert len(calls) == 1\n    return f")
    assert not notebook.run("%%jit\ny = x * 2\n@once\ndef g2(v):\n    return v").success
    assert notebook["y"] == 1
    assert "g2" not in notebook


@pytest.mark.parametrize(
    ("line", "cell", "message"),
    [
        ("--grad nothing", "y = x", "JL013 --grad nothing: the cell does not assign nothing"),
        ("--grad y:q", "y = x.sum()", "JL013 --grad y:q: q is no traced input of the cell"),
        ("--grad y", "y = x * 2", "Gradient only defined for scalar-output functions"),
        ("--grad y", "y = 1.0", "JL013 --grad y: the cell has no input of floating point"),
        ("--vmap q:0", "y = x", "JL013 --vmap q: q is no traced input of the cell"),
        ("--vmap x:a", "y = x", "'a' is no axis; write --vmap x:0,y:0"),
        ("--vmap x:5", "y = x", "vmap"),
        ("--check-grad", "y = x", "--check-grad needs --grad LOSS"),
        ("--out q", "y = x", "JL013 --out q: the cell does not assign q"),
        ("--in q7", "y = x", "JL010 --in q7: NameError: q7 is not defined"),
        ("--max-traces 0", "y = x", "give at least 1"),
        ("--max-traces z", "y = x", "invalid int value: 'z'"),
        ("--in a-b", "y = x", "'a-b' is not a name"),
        ("'", "y = x", "No closing quotation"),
        ("--static cfg2", "y = x * cfg2['a']", "JL012 InputError: static cfg2 (dict) is not hash"),
        ("", "y = words", "JL012 InputError: words (array of <U1) cannot be an input"),
        ("", "y = (", "SyntaxError"),
        ("", "o = object()\ny = x", "JL014 OutputError: o (object) cannot be an output"),
        ("", "g = jax.grad(lambda w: (x @ w).sum())", "g cannot leave the cell: it holds x,"),
        ("", "def f(v):\n    return f(v)\ny = f(x)", "RecursionError"),
        ("", "y = x\nraise KeyError('k')", "KeyError: 'k' (line 2)"),
        ("", "déjà = x @ w1\nż = déjà + jnp.ones(7)", "    ż = déjà + jnp.ones(7)\n        ^^^^"),
        ("", "y = helper2(x)", "    in helper2, line 4: return v @ v"),
        ("", "h = x + jnp.ones((4, 7))", "      [4, 7]      last axes differ: 3 and 7"),
        ("", "h = x + jnp.ones(7)", "      [4, 3]\n      [   7]      last axes differ: 3 and 7"),
    ],
)  # fmt: skip
def test_mistakes_get_an_answer(notebook: Any, line: str, cell: str, message: str) -> None:
    notebook.run("cfg2 = {'a': 1}\nwords = np.array(['a'])\ndef helper2(v):\n    return v @ v")
    result = notebook.run(f"%%jit {line}\n{cell}")
    shown = result.out + result.err
    assert not result.success
    assert message in shown, shown
    assert "/jaxlite" not in shown
    assert "Traceback" not in shown or "SyntaxError" in shown


def test_edited_cell_that_has_failed_is_told(notebook: Any) -> None:
    shell = notebook.shell
    shell.run_cell("w9 = jnp.ones((3, 2))", store_history=True, cell_id="a")
    number = shell.execution_count - 1
    shell.run_cell("w9 = jnp.ones((3, 3)) @ oops", store_history=True, cell_id="a")
    notebook.capsys.readouterr()
    told = notebook.run("%%jit\ny = x @ w9").err
    assert told == (
        f"JL204 this cell ran with w9 from cell {number}, which has been edited since. "
        f"Re-run cell {number}.\n"
    )
    shell.run_cell("w9 = jnp.ones((3, 4))", store_history=True, cell_id="a")
    assert notebook.run("%%jit\nz = x @ w9").err == ""


def test_large_constants_are_named_with_their_size(notebook: Any) -> None:
    notebook.run("table9 = jnp.ones((100, 200))\ndef look(i):\n    return table9[i]")
    out = notebook.run("%%jit\ny = look(3)").out
    assert "holds table9 (78.1 KiB) as a constant" in out
    assert "78.1 KiB" in notebook.run("%jaxlite stale").out


def test_jaxlite_line_magic(notebook: Any) -> None:
    assert "device" in notebook.run("%jaxlite").out
    notebook.run("%jaxlite config stale_globals=error")
    assert "stale globals: error" in notebook.run("%jaxlite status").out
    assert "stale_globals='error'" in notebook.run("%jaxlite config").out
    notebook.run("%jaxlite config stale_globals=warn")
    assert "stale_globals = 'warn'" in notebook.run("%jaxlite config stale_globals").out
    for line, message in {
        "bogus": "unknown command 'bogus'",
        "config nothing=1": "Unrecognized config option: nothing",
        "config stale_globals=maybe": "new enum value must be in",
        "tb": "choose full or user",
        "ignore": "give a code",
    }.items():
        shown = notebook.run(f"%jaxlite {line}")
        assert message in shown.err
        assert "Traceback" not in shown.out + shown.err
    assert "--check-grad" in notebook.run("%jaxlite help").out
    figures = notebook.run("%jaxlite machine").out
    assert re.search(r"memory +[\d.]+ GB/s", figures)
    assert re.search(r"arithmetic +\d+ GFLOP/s", figures)


def test_unloading_removes_every_trace_of_us(notebook: Any) -> None:
    shell = notebook.shell
    jaxlite.unload_ipython_extension(shell)
    tables = shell.magics_manager.magics

    def state() -> Any:
        return (
            set(tables["cell"]), set(tables["line"]), set(shell.magics_manager.registry),
            shell.custom_exceptions, len(runner_hooks),
            {k: list(v) for k, v in shell.events.callbacks.items()},
        )  # fmt: skip

    mine = lambda line, cell: "mine"  # noqa: E731
    shell.register_magic_function(mine, "cell", "jit")
    before = state()
    for _ in range(2):
        jaxlite.load_ipython_extension(shell)
        jaxlite.load_ipython_extension(shell)
    assert "jaxlite" in tables["line"]
    jaxlite.unload_ipython_extension(shell)
    jaxlite.unload_ipython_extension(shell)
    assert state() == before
    assert tables["cell"]["jit"] is mine
    jaxlite.load_ipython_extension(shell)


def test_operations_outside_the_cells_lines_have_no_line(notebook: Any) -> None:
    text = notebook.run(f"%%jit --show text --grad loss:w1\n{LOSS}").out
    assert "h = tanh(x @ w1 + b1)" in text
    assert "run_cell_magic" not in text
    assert "(no source)" in text


def test_advice_about_print_prints_at_every_run(notebook: Any) -> None:
    told = notebook.run("%%jit -q\ny = x.sum()\nprint(y)")
    assert told.err == 'JL111 print runs once, at trace time. Use jaxlite.debug.print("{}", y).\n'
    cell = '%%jit -q\ny = x.sum()\njax.debug.print("{}", y)'
    for _ in range(2):
        fixed = notebook.run(cell)
        assert (fixed.out, fixed.err) == ("12.0\n", "")
