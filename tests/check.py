"""``python -m tests.check``: all that a change should pass before it is pushed, in about a minute.

Runs every step even if an earlier one fails, so that one run shows everything there is to mend.
Arguments are handed to pytest.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUICK = "not (slow or browser or notebook or cuda or gpu)"


def steps(pytest_args: Sequence[str]) -> dict[str, list[str]]:
    python = sys.executable
    # No cache: it goes by file times, and misses that a folder has become a package.
    lint_imports = "import importlinter.cli as c; c.lint_imports_command(['--no-cache'])"
    return {
        "ruff check": [python, "-m", "ruff", "check"],
        "ruff format": [python, "-m", "ruff", "format", "--check"],
        "mypy": [python, "-m", "mypy"],
        "lint-imports": [python, "-c", lint_imports],
        "pytest": [python, "-m", "pytest", "-q", "-m", QUICK, *pytest_args],
    }


def environment() -> dict[str, str]:
    """Return this environment with the checkout on the path, installed or not."""
    paths = [str(ROOT), str(ROOT / "extension"), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def main(pytest_args: Sequence[str]) -> int:
    results: list[tuple[str, int, float]] = []
    for name, command in steps(pytest_args).items():
        print(f"--- {name}", flush=True)
        start_s = time.perf_counter()
        code = subprocess.run(command, cwd=ROOT, env=environment()).returncode
        results.append((name, code, time.perf_counter() - start_s))
    print()
    for name, code, elapsed_s in results:
        print(f"{'ok    ' if code == 0 else 'FAILED'}  {name:12}  {elapsed_s:6.1f} s")
    return int(any(code for _, code, _ in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
