"""``import jaxlite`` is quick and brings nothing that only a notebook or a back end needs."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import pytest

from tests.check import ROOT, environment

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]
LIMIT_S = 0.2
# llvmlite and SciPy load at the first compilation; the rest belongs to notebooks or GPUs.
UNWANTED = ("IPython", "ipywidgets", "anywidget", "jaxlite_ipython", "cupy", "llvmlite", "scipy")

MEASURE = """
import json, sys, time
start = time.process_time()
import numpy
numpy_s = time.process_time() - start
import jaxlite
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "numpy_s": numpy_s, "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def run_python(tmp_path_factory: pytest.TempPathFactory) -> RunPython:
    """A fresh Python with its bytecode in a folder of its own, already written by a first import.

    Compiling the sources is no part of an import once installed, and this process may have been
    told not to keep bytecode (PYTHONDONTWRITEBYTECODE).
    """
    env = environment() | {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("bytecode"))}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    run = partial(
        subprocess.run,
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    run([sys.executable, "-c", "import jaxlite"])
    return lambda *arguments: run([sys.executable, *arguments])


def import_tree(run_python: RunPython) -> str:
    """The slow lines of ``-X importtime``: microseconds of a module alone, and with its imports."""
    lines = run_python("-X", "importtime", "-c", "import jaxlite").stderr.splitlines()
    slow = [line for line in lines if line.split("|")[1].strip().isdigit()]
    return "\n".join(line for line in slow if int(line.split("|")[1]) > 2000)


def test_import_takes_less_than_a_fifth_of_a_second(run_python: RunPython) -> None:
    # Processor time, best of several: waiting for other programs does not count. On a slow machine
    # or a busy one, where two programs share one core's caches, NumPy alone takes more than 0.08 s.
    runs = []
    for _ in range(8):
        runs.append(json.loads(run_python("-c", MEASURE).stdout))
        if runs[-1]["seconds"] < LIMIT_S:
            return
    seconds = min(run["seconds"] for run in runs)
    limit_s = max(LIMIT_S, 2.5 * min(run["numpy_s"] for run in runs))
    assert seconds < limit_s, f"{seconds} s\n{import_tree(run_python)}"


def test_import_does_not_bring_notebook_or_back_end_packages(run_python: RunPython) -> None:
    modules = json.loads(run_python("-c", MEASURE).stdout)["modules"]
    roots = {name.partition(".")[0] for name in modules}
    assert roots.isdisjoint(UNWANTED), f"{sorted(roots & set(UNWANTED))}\n{import_tree(run_python)}"
