"""Times rows in one library, in this process. In: JSON lines on stdin.

Out: JSON lines on stdout.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.bench.rows import ROWS


def library(name: str) -> SimpleNamespace:
    """Import a library and return the names that rows use."""
    jax = importlib.import_module(name)
    jnp = importlib.import_module(f"{name}.numpy")
    lax = importlib.import_module(f"{name}.lax")
    for part in ("nn", "random", "tree_util"):
        importlib.import_module(f"{name}.{part}")
    return SimpleNamespace(jax=jax, jnp=jnp, lax=lax)


def median_s(call: Any, budget_s: float) -> float:
    """Return the median time of one call; several calls per sample when one is short."""
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    n = max(1, int(2e-3 / max(once, 1e-7)))
    samples = []
    deadline = time.perf_counter() + budget_s
    while time.perf_counter() < deadline or len(samples) < 5:
        start = time.perf_counter()
        for _ in range(n):
            call()
        samples.append((time.perf_counter() - start) / n)
    return float(np.median(samples))


def run_and_wait(lib: SimpleNamespace, jitted: Any, args: Any) -> None:
    """Call ``jitted`` and wait for its result."""
    lib.jax.block_until_ready(jitted(*args))


def checksum(lib: SimpleNamespace, out: Any) -> list[float]:
    """Return numbers that tell whether two libraries computed the same."""
    leaves = lib.jax.tree_util.tree_leaves(out)
    result = []
    for leaf in leaves:
        array = np.asarray(leaf, dtype=np.float64)
        result += [float(np.abs(array).mean()), float(array.reshape(-1)[array.size // 3])]
    return result


def main() -> None:
    """Serve requests: {"row": name, "seconds": s} -> {"first_ms": .., "us": .., "sum": [..]}."""
    lib = library(sys.argv[1])
    kept: dict[str, Any] = {}
    warm = lib.jax.jit(lambda x: x + 1.0)
    lib.jax.block_until_ready(warm(lib.jnp.ones(3)))
    for line in sys.stdin:
        request = json.loads(line)
        name = request["row"]
        answer: dict[str, Any] = {}
        try:
            if name not in kept:
                fun, args = ROWS[name](lib)
                jitted = lib.jax.jit(fun)
                start = time.perf_counter()
                out = lib.jax.block_until_ready(jitted(*args))
                answer["first_ms"] = (time.perf_counter() - start) * 1e3
                kept[name] = (jitted, args)
                answer["sum"] = checksum(lib, out)
            jitted, args = kept[name]
            call = functools.partial(run_and_wait, lib, jitted, args)
            answer["us"] = median_s(call, request["seconds"]) * 1e6
        except Exception as error:  # a row that fails is a result of the benchmark, printed as such
            answer["error"] = f"{type(error).__name__}: {error}"[:300]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
