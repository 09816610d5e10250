"""``python -m tests.bench notebook``: what the notebook side costs, beside what it may cost."""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import math
import os
import shutil
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from jaxlite_ipython.views import grad_graph, kernels, shapes, trace, vmap_view

import jaxlite
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.diagnose import call_log, progress

__all__ = ["main"]

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

SETUP = """
import jaxlite as jax, jaxlite.numpy as jnp
x = jnp.ones((64, 32)); w = jnp.ones((32, 128)); b = jnp.ones(128); k = 2.0
def act(v): return jnp.tanh(v) * k
"""
CELL = "h = act(x @ w + b)\nloss = (h**2).mean()"


def median_s(run: Callable[[], Any], times: int) -> float:
    """Return the median time of ``times`` runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def cell_overhead_us(shell: Any) -> float:
    """Return what a cached ``%%jit`` cell costs over the call of its function."""
    magic = shell.magics_manager.magics["cell"]["jit"]
    magic("bench -q", CELL)
    names = shell.user_ns
    values = [names[n] for n in ("x", "w", "b")]
    function = jaxlite.jit(lambda x, w, b: (names["act"](x @ w + b), (names["act"](x) ** 2).mean()))
    function(*values)
    cell = median_s(lambda: magic("-q", CELL), 500)
    return 1e6 * (cell - median_s(lambda: function(*values), 500))


def log_cost_us() -> float:
    """Return what the call log adds to one cached call."""
    function = jaxlite.jit(lambda x: x + 1.0)
    x = jnp.ones(3)

    def calls() -> None:
        for _ in range(10_000):
            function(x)

    function(x)
    plain = min(median_s(calls, 1) for _ in range(5))
    with call_log.recording():
        function(x)
        logged = min(median_s(calls, 1) for _ in range(5))
    return 1e6 * (logged - plain) / 10_000


def lines_of_code(n: int) -> Any:
    """Return a function of ``n`` lines of two operations each."""
    names = ("sin", "cos", "tanh", "exp")
    body = [f"    x = jnp.{names[i % 4]}(x) + {i}.0\n" for i in range(n)]
    source = ["def long(x):\n", *body, "    return x\n"]
    linecache.cache["<bench>"] = (0, None, source, "<bench>")
    scope: dict[str, Any] = {"jnp": jnp}
    exec(compile("".join(source), "<bench>", "exec"), scope)
    return scope["long"]


def view_of(n_lines: int) -> tuple[float, Any]:
    """Return the time to make picture and text of a trace graph in ms, and the view."""
    jitted = jaxlite.jit(lines_of_code(n_lines))
    jitted.trace(1.0)
    start = time.perf_counter()
    view = trace(jitted, 1.0)
    view.svg()
    return 1e3 * (time.perf_counter() - start), view


def other_views_of(n_lines: int) -> dict[str, float]:
    """Return the time to make picture and text of the other views of a function in ms."""
    function = lines_of_code(n_lines)
    jitted = jaxlite.jit(function)
    jitted.trace(1.0)
    scalar = jaxlite.ShapeDtypeStruct((), jnp.float32)
    jitted.trace(scalar).lower()  # what is timed is the view, not the compiler
    makers: dict[str, Any] = {
        "gradient graph": lambda: grad_graph(jitted, 1.0),
        "kernels, not measured": lambda: kernels(jitted, scalar),
        "shapes view": lambda: shapes(jitted, 1.0),
        "vmap view": lambda: vmap_view(function, 0, jnp.ones(4)),
    }
    found = {}
    for name, make in makers.items():
        start = time.perf_counter()
        make().svg()
        found[name] = 1e3 * (time.perf_counter() - start)
    return found


def bundle_of(view: Any) -> tuple[float, float]:
    """Return the ms it takes to make what a notebook stores of a view, and its bytes."""
    start = time.perf_counter()
    data, _ = view._repr_mimebundle_()
    return 1e3 * (time.perf_counter() - start), float(sum(map(len, data.values())))


def first_paint_ms(view: Any) -> float | None:
    """Return the ms from the start of the widget's script to its picture; None without Chromium."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        return None
    playwright = importlib.import_module("playwright.sync_api")
    with tempfile.TemporaryDirectory() as folder, playwright.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(view.save(Path(folder) / "view.html").as_uri())
        page.wait_for_selector(".jxl[data-paint-ms]")
        paint = float(page.locator(".jxl").get_attribute("data-paint-ms"))
        browser.close()
    return paint


def progress_cost_percent() -> float:
    """Return what ``progress=True`` adds to a compiled loop."""

    def body(i: Any, c: Any) -> Any:
        return jnp.sin(c) * 1.0001 + i

    x = jnp.ones(1000)
    plain, shown = (
        jaxlite.jit(lambda x, p=p: lax.fori_loop(0, 200_000, body, x, progress=p))
        for p in (False, "bench")
    )
    plain(x), shown(x)
    time.sleep(1)  # careful code replaces the quick one
    times = [(median_s(lambda: plain(x), 1), median_s(lambda: shown(x), 1)) for _ in range(15)]
    a, b = (min(t) for t in zip(*times, strict=True))
    return 100 * (b / a - 1)


def interrupt_ms() -> float:
    """Return how long Ctrl-C takes to end a native loop."""
    loop = jaxlite.jit(lambda x, n: lax.fori_loop(0, n, lambda i, c: jnp.sin(c) + i, x))
    x = jnp.ones(64)
    loop(x, 1)
    sent = []

    def press() -> None:
        time.sleep(0.3)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    try:
        loop(x, 2**31 - 2)
    except KeyboardInterrupt:
        return 1e3 * (time.perf_counter() - sent[0])
    raise AssertionError("the loop was not interrupted")


def main() -> int:
    """Print the table; the exit status is 1 if a figure is above its limit."""
    shell = InteractiveShell.instance()
    jaxlite.load_ipython_extension(shell)
    with contextlib.redirect_stdout(io.StringIO()):
        shell.run_cell(SETUP)
        overhead = cell_overhead_us(shell)
    jaxlite.unload_ipython_extension(shell)
    progress.close_all()
    view_of(5)
    other_views_of(5)
    small, view = view_of(25)
    large, _ = view_of(1000)
    bundle_ms, bundle_bytes = bundle_of(view)
    rows = [
        ("cached %%jit cell over its function, us", overhead, 200.0),
        ("call log, us per call", log_cost_us(), 0.5),
        ("trace graph of 50 operations, picture and text, ms", small, 30.0),
        ("the same with its PNG, ms", bundle_ms, math.inf),
        ("its bytes in the notebook", bundle_bytes, 150_000.0),
        ("first paint of its widget, ms", first_paint_ms(view), 300.0),
        ("trace graph of 2,000 operations, picture and text, ms", large, 2000.0),
        *[(f"{k} of 20 operations, ms", v, 30.0) for k, v in other_views_of(10).items()],
        *[(f"{k} of 2,000 operations, ms", v, 2000.0) for k, v in other_views_of(1000).items()],
        ("progress=True in a compiled loop, %", progress_cost_percent(), 1.0),
        ("Ctrl-C in a compiled loop, ms", interrupt_ms(), 300.0),
    ]
    print("| figure | measured | limit |\n|---|--:|--:|")
    measured = [(name, value, limit) for name, value, limit in rows if value is not None]
    for name, value, limit in measured:
        print(f"| {name} | {value:,.2f} | {limit:,.1f} |{'' if value <= limit else ' ABOVE'}")
    return 0 if all(value <= limit for _, value, limit in measured) else 1
