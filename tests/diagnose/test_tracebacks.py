"""What a plain script prints when it fails: the user's lines, and all lines if asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import threading
import jaxlite as jax
import jaxlite.numpy as jnp

def model(x):
    return jax.jit(lambda v: v @ jnp.ones(4))(x)

thread = threading.Thread(target=model, args=(jnp.ones(3),))
thread.start()
thread.join()
model(jnp.ones(3))
"""


def run(tmp_path: Path, **env: str) -> str:
    """Run the script and return what it printed to stderr."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, env=os.environ | env
    )
    assert done.returncode == 1
    return done.stderr


def test_uncaught_errors_show_no_frame_of_ours(tmp_path: Path) -> None:
    shown = run(tmp_path)
    assert "script.py" in shown
    assert "return jax.jit(lambda v: v @ jnp.ones(4))(x)" in shown
    # Once in a thread, once in the script.
    assert shown.count("TypeError: dot_general requires contracting dimensions") == 2
    assert f"{os.sep}jaxlite{os.sep}" not in shown


def test_full_tracebacks_on_request(tmp_path: Path) -> None:
    assert f"{os.sep}jaxlite{os.sep}api{os.sep}jit.py" in run(tmp_path, JAXLITE_TRACEBACK="full")
