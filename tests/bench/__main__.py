"""``python -m tests.bench --peers jax [--rows text] [--json FILE]``.

A table of ratios, all from one run.

Each library runs in its own process; processes are taken in turn, three times per row, and the best
median counts, because machines are noisy. A ratio above 1 means jaxlite is faster.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from typing import Any

from tests.bench.rows import ROWS

# Some machines pin OpenBLAS to an old kernel; the benchmark measures today's.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


class Worker:
    """A process that times rows in one library."""

    def __init__(self, library: str) -> None:
        env = {k: v for k, v in os.environ.items() if k not in UNSET}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )

    def ask(self, row: str, seconds: float) -> dict[str, Any]:
        """Time one row."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"row": row, "seconds": seconds}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"process ended with {self.process.wait()}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def agree(a: list[float], b: list[float]) -> bool:
    """Say whether two checksums are the same up to rounding."""
    return len(a) == len(b) and all(
        math.isclose(x, y, rel_tol=2e-3, abs_tol=1e-5) for x, y in zip(a, b, strict=True)
    )


def measure(row: str, workers: dict[str, Worker], rounds: int, seconds: float) -> dict[str, Any]:
    """Time one row in all libraries, taking turns."""
    result: dict[str, Any] = {name: {} for name in workers}
    for _ in range(rounds):
        for name, worker in workers.items():
            answer = worker.ask(row, seconds)
            kept = result[name]
            for key, value in answer.items():
                kept[key] = (
                    min(kept[key], value) if key == "us" and key in kept else kept.get(key, value)
                )
                if key == "us":
                    kept[key] = min(kept[key], value)
    return result


def main() -> int:
    """Run and print the table; the exit status is 1 if values differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--peers", default="jax", help="comma-separated libraries with JAX's API")
    parser.add_argument("--rows", default="", help="only rows whose name contains this text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="time per sample")
    parser.add_argument("--json", help="also write the numbers to this file")
    options = parser.parse_args()
    peers = [p for p in options.peers.split(",") if p]
    workers = {name: Worker(name) for name in ("jaxlite", *peers)}
    rows = [name for name in ROWS if options.rows in name]
    table: dict[str, Any] = {}
    head = (
        "| workload | jaxlite us | first ms | "
        + " | ".join(f"{p} us | first ms | ratio | first ratio" for p in peers)
        + " | values |"
    )
    print(head)
    print("|---|" + "--:|" * (2 + 4 * len(peers)) + "---|")
    status = 0
    ratios: dict[str, list[float]] = {p: [] for p in peers}
    firsts: dict[str, list[float]] = {p: [] for p in peers}
    for name in rows:
        result = table[name] = measure(name, workers, options.rounds, options.seconds)
        ours = result["jaxlite"]
        if "error" in ours:
            print(f"| {name} | {ours['error']} |")
            status = 1
            continue
        cells = [f"{ours['us']:.1f}", f"{ours['first_ms']:.1f}"]
        same = "same"
        for p in peers:
            theirs = result[p]
            if "error" in theirs:
                cells += [theirs["error"], "", "", ""]
                continue
            ratios[p].append(theirs["us"] / ours["us"])
            firsts[p].append(theirs["first_ms"] / ours["first_ms"])
            cells += [
                f"{theirs['us']:.1f}",
                f"{theirs['first_ms']:.1f}",
                f"{ratios[p][-1]:.2f}",
                f"{firsts[p][-1]:.2f}",
            ]
            if not agree(ours["sum"], theirs["sum"]):
                same, status = "DIFFER", 1
        print(f"| {name} | " + " | ".join(cells) + f" | {same} |", flush=True)
    for p in peers:
        if ratios[p]:
            mean = math.exp(sum(map(math.log, ratios[p])) / len(ratios[p]))
            first = math.exp(sum(map(math.log, firsts[p])) / len(firsts[p]))
            print(
                f"\ngeometric mean against {p}: {mean:.2f}x per call, {first:.2f}x on the first "
                "call"
            )
    for worker in workers.values():
        worker.close()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(table, file, indent=1)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
