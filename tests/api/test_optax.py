"""A library written for JAX: optax trains a network under ``install_as_jax``."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

PROGRAM = """
import jaxlite
jaxlite.install_as_jax()
import jax, jax.numpy as jnp, numpy as np, optax
from sklearn.datasets import load_digits
assert optax.apply_updates and jax is jaxlite

images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
he = jax.nn.initializers.he_normal()
first, second = jax.random.split(jax.random.key(0))
params = {"hidden": {"w": he(first, (64, 32)), "b": jnp.zeros(32)},
          "out": {"w": he(second, (32, 10)), "b": jnp.zeros(10)}}

def logits(params, x):
    for name, layer in params.items():
        x = (jax.nn.relu(x) if name == "out" else x) @ layer["w"] + layer["b"]
    return x

def loss(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits(params, x), y).mean()

schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 20, 200)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))

@jax.jit
def step(params, state, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, value

state = optimizer.init(params)
rng = np.random.default_rng(0)
for _ in range(200):
    batch = rng.integers(0, 1500, 128)
    params, state, value = step(params, state, images[batch], labels[batch])
print(float((logits(params, images).argmax(1) == labels).mean()))
"""


@pytest.mark.skipif(
    importlib.util.find_spec("optax") is None, reason="optax is not installed: pip install optax"
)
@pytest.mark.skipif(
    importlib.util.find_spec("jaxlite.scipy.stats") is None, reason="optax imports jax.scipy.stats"
)
def test_optax_trains_the_digits_network() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0.95
