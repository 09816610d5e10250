"""What happens when a package is missing: one clear sentence and the command that mends it."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
sys.modules["llvmlite"] = sys.modules["llvmlite.binding"] = None
import jaxlite as jax, jaxlite.numpy as jnp
assert float(jnp.sin(0.0)) == 0.0
try:
    jax.jit(jnp.sin)(0.0)
except ImportError as error:
    print(error)
with jax.disable_jit():
    print(jax.jit(jnp.cos)(0.0))
"""


def test_without_llvmlite_eager_works_and_jit_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert "jit compiles with llvmlite, which cannot be imported" in done.stdout
    assert "pip install --upgrade llvmlite" in done.stdout
    assert done.stdout.splitlines()[-1] == "1.0"
