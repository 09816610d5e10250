"""A real kernel: lines of progress, interruption, cells that the front end has deleted."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

TIMEOUT_S = 60


class Kernel:
    """Runs cells in a kernel as a front end does; outputs by kind."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT_S)

    def send(self, source: str, cell_id: str = "", deleted: tuple[str, ...] = ()) -> str:
        content = {
            "code": source, "silent": False, "store_history": True, "user_expressions": {},
            "allow_stdin": False, "stop_on_error": True,
        }  # fmt: skip
        metadata = {"cellId": cell_id, "deletedCells": list(deleted)}
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def outputs(self, parent: str) -> Iterator[dict[str, Any]]:
        """Yield the outputs of a cell until it has ended."""
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != parent:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return
            if message["msg_type"] not in ("status", "execute_input"):
                yield {"type": message["msg_type"], **message["content"]}
        raise TimeoutError

    def run(self, source: str, **more: Any) -> list[dict[str, Any]]:
        return list(self.outputs(self.send(source, **more)))

    def text(self, source: str, **more: Any) -> str:
        """Return what a cell shows, as text."""
        return "".join(map(text_of, self.run(source, **more)))


def text_of(output: dict[str, Any]) -> str:
    data = output.get("data", {}).get("text/plain", "")
    return str(output.get("text", "") or data or "\n".join(output.get("traceback", [])))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    env = {
        **os.environ, "IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder),
        "JAXLITE_ENABLE_COMPILATION_CACHE": "0", "NO_COLOR": "1", "CI": "",
    }  # fmt: skip
    manager = KernelManager()
    manager.start_kernel(env=env)
    found = Kernel(manager)
    found.run(
        "%load_ext jaxlite\n%colors nocolor\nimport jaxlite as jax, jaxlite.numpy as jnp\n"
        "from jaxlite import lax\nx = jnp.ones((8, 8))\ny = 'before'\n"
        "def step(i, c):\n    return jnp.sin(c) + i\n"
        "run = jax.jit(lambda x, n: lax.fori_loop(0, n, step, x, progress='train'))\n"
        "_ = run(x, 1)"
    )
    yield found
    found.client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_compiled_loop_shows_one_line_that_changes(kernel: Kernel) -> None:
    outputs = kernel.run("_ = run(x, 3_000_000)")
    first, *others = outputs
    assert first["type"] == "display_data"
    assert first["data"]["text/plain"].startswith("train ")
    assert others
    assert {o["type"] for o in others} == {"update_display_data"}
    ids = {o["transient"]["display_id"] for o in outputs}
    assert len(ids) == 1
    assert text_of(outputs[-1]).startswith("train 3,000,000 in ")
    assert kernel.run("_ = run(x, 1000)") == []


def interrupt_after(kernel: Kernel, source: str, seconds: float) -> tuple[list[Any], float]:
    parent = kernel.send(source)
    time.sleep(seconds)
    kernel.manager.interrupt_kernel()
    sent = time.perf_counter()
    outputs = list(kernel.outputs(parent))
    return outputs, time.perf_counter() - sent


BIG = (
    "def big(x):\n    for i in range(120):\n"
    "        x = jnp.tanh(x @ x + i) * jnp.sin(x.sum(0)) - x.max(1)[:, None]\n    return x"
)


@pytest.mark.parametrize("cell", ["y = run(x, 2_000_000_000)", "%%jit\ny = run(x, 2_000_000_000)"])
def test_interrupt_ends_a_loop_and_leaves_every_name(kernel: Kernel, cell: str) -> None:
    outputs, seconds = interrupt_after(kernel, cell, 1.2)
    shown = "".join(map(text_of, outputs))
    assert seconds < 1  # 0.3 s, and the way of the messages on a busy machine
    assert "KeyboardInterrupt" in shown
    assert "train stopped after " in shown
    assert "/jaxlite/" not in shown
    assert kernel.text("y") == "'before'"


def test_interrupt_ends_a_compile(kernel: Kernel) -> None:
    kernel.run(BIG)
    outputs, seconds = interrupt_after(kernel, "%%jit\ny = big(x)", 0.8)
    assert seconds < 1
    assert "KeyboardInterrupt" in "".join(map(text_of, outputs))
    assert kernel.text("y") == "'before'"


def test_long_compile_shows_its_stages_and_ends_as_the_report(kernel: Kernel) -> None:
    kernel.run(BIG.replace("120", "121"))
    outputs = kernel.run("%%jit --out z\nz = big(x)")
    assert text_of(outputs[0]).startswith("compiling the cell · ")
    assert text_of(outputs[-1]).startswith("%%jit  1 in, 1 out · ")
    assert outputs[-1]["type"] == "update_display_data"
    assert not any(o["type"] == "stream" for o in outputs)


def test_trace_without_a_compile_shows_no_compile(kernel: Kernel) -> None:
    shown = kernel.run("import time\njax.trace(jnp.sin)(x)\ntime.sleep(0.8)\nNone")
    assert "compiling" not in "".join(text_of(o) for o in shown)


def test_python_loop_that_breaks_says_where(kernel: Kernel) -> None:
    shown = kernel.text(
        "import time\nfor i in jax.progress(range(100)):\n    time.sleep(0.05)\n"
        "    if i == 20:\n        raise ValueError('stop')"
    )
    assert "stopped after 20 of 100" in shown
    assert "ValueError: stop" in shown


def test_name_of_a_deleted_cell_is_told(kernel: Kernel) -> None:
    kernel.run("w8 = jnp.ones(8)", cell_id="a")
    source = "@jax.jit\ndef f8(x):\n    return x @ w8"
    assert kernel.text(source, cell_id="b").startswith("JL101 f8 reads global w8 (f32[8], cell ")
    told = kernel.text(source, cell_id="b", deleted=("a",))
    assert "JL108 w8 has no cell in this notebook any more" in told


def test_reload_and_unload(kernel: Kernel) -> None:
    assert kernel.text("%reload_ext jaxlite") == ""
    assert "cached" not in kernel.text("%%jit\nq = x * 2")
    assert kernel.text("%unload_ext jaxlite") == ""
    assert "UsageError: Cell magic `%%jit` not found" in kernel.text("%%jit\nq = x")
    assert kernel.text("%load_ext jaxlite") == ""
