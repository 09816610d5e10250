"""``install_as_jax``, names left out on purpose, ``check_grads``, devices."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp
from jaxlite.not_planned import NOT_PLANNED
from jaxlite.test_util import check_grads

PROGRAM = """
import jaxlite
jaxlite.install_as_jax()
jaxlite.install_as_jax()
import jax, jax.numpy as jnp, jax.nn.initializers
from jax.experimental import io_callback
from jax import lax
assert jax is jaxlite and jnp is jaxlite.numpy and lax is jaxlite.lax
assert jnp.__name__ == jnp.__spec__.name == "jaxlite.numpy"
for name, text in (("jax.distributed", "one process"), ("jax.some", "jax.some")):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert text in str(error) and error.name == name
    else:
        raise AssertionError(name)
print(jax.jit(jnp.sin)(0.0))
"""


def test_import_jax_is_jaxlite() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("0.0\n", "")


def test_another_jax_stays() -> None:
    pytest.importorskip("jax")
    with pytest.raises(RuntimeError, match="another jax is imported already"):
        jaxlite.install_as_jax()


def test_names_left_out_say_why() -> None:
    for name, reason in NOT_PLANNED.items():
        with pytest.raises(AttributeError) as raised:
            getattr(jaxlite, name)
        assert reason in str(raised.value)


def test_check_grads() -> None:
    x = np.float32([0.3, 1.2])
    check_grads(lambda a, b: {"p": jnp.sin(a) * b["c"]}, (x, {"c": x + 1}), order=3)
    check_grads(lambda z: z * jnp.exp(z), (np.complex64(0.3 + 0.2j),), order=1)
    wrong = jaxlite.custom_jvp(lambda v: v * 2)
    wrong.defjvps(lambda t, out, v: t * 3)
    with pytest.raises(AssertionError, match="JVP tangent"):
        check_grads(wrong, (1.0,), 1, ["fwd"])
    with pytest.raises(AssertionError, match="VJP cotangent"):
        check_grads(wrong, (1.0,), 1, "rev")
    with pytest.raises(ValueError, match="modes"):
        check_grads(jnp.sin, (1.0,), 1, "sideways")


def test_devices() -> None:
    assert jaxlite.default_backend() == jaxlite.local_devices()[0].platform
    assert jaxlite.device_count() == jaxlite.local_device_count() == len(jaxlite.devices())
    assert (jaxlite.process_count(), jaxlite.process_index()) == (1, 0)
    with pytest.raises(ValueError, match="process_index"):
        jaxlite.local_devices(3)
