"""``python -m tests.bench --peers jax [--rows text] [--json FILE]``, or ``... notebook``.

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
        assert self.process.stdin is not None
        assert self.process.stdout is not None
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


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--peers", default="jax", help="comma-separated libraries with JAX's API")
    parser.add_argument("--rows", default="", help="only rows whose name contains this text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="time per sample")
    parser.add_argument("--json", help="also write the numbers to this file")
    return parser.parse_args()


class Table:
    """Prints one line per row and keeps the ratios."""

    def __init__(self, peers: list[str]) -> None:
        self.peers = peers
        self.ratios: dict[str, list[float]] = {p: [] for p in peers}
        self.firsts: dict[str, list[float]] = {p: [] for p in peers}
        self.is_good = True

    def print_head(self) -> None:
        """Print the head of the Markdown table."""
        columns = " | ".join(f"{p} us | first ms | ratio | first ratio" for p in self.peers)
        print(f"| workload | jaxlite us | first ms | {columns} | values |")
        print("|---|" + "--:|" * (2 + 4 * len(self.peers)) + "---|")

    def add(self, name: str, result: dict[str, Any]) -> None:
        """Print one row."""
        ours = result["jaxlite"]
        if "error" in ours:
            self.is_good = False
            print(f"| {name} | {ours['error']} |")
            return
        cells = [f"{ours['us']:.1f}", f"{ours['first_ms']:.1f}"]
        same = "same"
        for p in self.peers:
            theirs = result[p]
            if "error" in theirs:
                cells += [theirs["error"], "", "", ""]
                continue
            ratio, first = theirs["us"] / ours["us"], theirs["first_ms"] / ours["first_ms"]
            self.ratios[p].append(ratio)
            self.firsts[p].append(first)
            cells += [f"{theirs['us']:.1f}", f"{theirs['first_ms']:.1f}", f"{ratio:.2f}"]
            cells.append(f"{first:.2f}")
            if not agree(ours["sum"], theirs["sum"]):
                same, self.is_good = "DIFFER", False
        print(f"| {name} | " + " | ".join(cells) + f" | {same} |", flush=True)

    def print_means(self) -> None:
        """Print the geometric means of the ratios."""
        for p in self.peers:
            if self.ratios[p]:
                mean, first = geometric_mean(self.ratios[p]), geometric_mean(self.firsts[p])
                print(f"\ngeometric mean against {p}: {mean:.2f}x per call, {first:.2f}x at first")


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main() -> int:
    """Run and print the table; the exit status is 1 if values differ or a row fails."""
    options = arguments()
    peers = [p for p in options.peers.split(",") if p]
    workers = {name: Worker(name) for name in ("jaxlite", *peers)}
    table = Table(peers)
    table.print_head()
    results = {}
    for name in [name for name in ROWS if options.rows in name]:
        results[name] = measure(name, workers, options.rounds, options.seconds)
        table.add(name, results[name])
    table.print_means()
    for worker in workers.values():
        worker.close()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0 if table.is_good else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["notebook"]:
        from tests.bench.notebook import main as notebook_main

        raise SystemExit(notebook_main())
    raise SystemExit(main())
