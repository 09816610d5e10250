"""The CUDA back end driven through a double of CuPy: what users do with a GPU, without one."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.cli.doctor import check_cuda
from jaxlite.language.array import DeviceArray
from jaxlite.runtime import cuda
from tests.cuda import cupy_double, simulator

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not simulator.is_available, reason="needs g++ on x86-64 Linux"),
]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The first of two simulated GPUs."""
    cupy_double.install(monkeypatch)
    yield jax.devices("gpu")[0]
    cuda.array_module.cache_clear()
    cuda.modules_of.cache_clear()
    jax.clear_caches()


X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_devices_and_transfers(gpu: Any) -> None:
    assert repr(jax.devices("cuda")) == "[CudaDevice(id=0), CudaDevice(id=1)]"
    assert gpu.device_kind == "Simulated GPU"
    x = jax.device_put(X, gpu)
    assert type(x) is DeviceArray
    assert x.devices() == {gpu}
    np.testing.assert_array_equal(np.asarray(x), X)
    back = jax.device_put(x, jax.devices("cpu")[0])
    assert back.devices() == set(jax.devices("cpu"))
    assert repr(x) == repr(jnp.asarray(X))
    assert (float(x[1, 2]), x.tolist()) == (6.0, X.tolist())


def test_jit_runs_where_its_arguments_are(gpu: Any) -> None:
    f = jax.jit(lambda x, y: jnp.tanh(x) @ y.T + 1.0)
    x = jax.device_put(X, gpu)
    out = f(x, X)
    assert out.devices() == {gpu}
    np.testing.assert_allclose(out, f(X, X), rtol=1e-6)
    assert f(X, X).devices() == set(jax.devices("cpu"))
    assert f.n_traces == 1


def test_single_operations_run_on_the_gpu(gpu: Any) -> None:
    x = jax.device_put(X, gpu)
    out = x * 2.0 + jnp.ones(4)
    assert out.devices() == {gpu}
    np.testing.assert_array_equal(out, X * 2 + 1)


def test_a_constant_on_the_gpu_takes_the_computation_there(gpu: Any) -> None:
    x = jax.device_put(X, gpu)
    out = jax.jit(lambda s: x.sum() * s)(2.0)
    assert out.devices() == {gpu}
    assert float(out) == X.sum() * 2


def test_a_training_step(gpu: Any) -> None:
    rng = np.random.default_rng(0)
    params = {
        "w": rng.normal(size=(4, 8)).astype(np.float32),
        "b": np.zeros(8, np.float32),
        "out": rng.normal(size=(8, 3)).astype(np.float32),
    }
    labels = np.arange(3)

    @jax.jit
    def step(params: Any, x: Any) -> Any:
        def loss(p: Any) -> Any:
            logits = jax.nn.relu(x @ p["w"] + p["b"]) @ p["out"]
            return -jax.nn.log_softmax(logits)[jnp.arange(3), labels].mean()

        value, grads = jax.value_and_grad(loss)(params)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    here = step(params, X)
    there = step(jax.device_put(params, gpu), jax.device_put(X, gpu))
    for a, b in zip(jax.tree.leaves(there), jax.tree.leaves(here), strict=True):
        assert a.devices() == {gpu}
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_loops_branches_and_host_calls(gpu: Any) -> None:
    def f(x: Any) -> Any:
        doubled = lax.while_loop(lambda c: c.sum() < 1000, lambda c: c * 2, x)
        total, rows = lax.scan(lambda c, row: (c + row, c.sum()), x[0], x)
        chosen = lax.cond(x[0, 0] > 0, lambda: x.sum(), lambda: -x.sum())
        return doubled, total, rows, chosen, jnp.sort(x, axis=0)

    here, there = jax.jit(f)(X), jax.jit(f)(jax.device_put(X, gpu))
    for a, b in zip(there, here, strict=True):
        assert a.devices() == {gpu}
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_gradients_and_vmap_of_single_operations(gpu: Any) -> None:
    x = jax.device_put(X, gpu)
    grads = jax.vmap(jax.grad(lambda row: (row**2).sum()))(x)
    assert grads.devices() == {gpu}
    np.testing.assert_array_equal(grads, 2 * X)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "bool", "complex64"])
def test_every_dtype_reaches_the_gpu_and_returns(gpu: Any, dtype: str) -> None:
    x = jnp.asarray(X).astype(dtype)
    there = jax.device_put(x, gpu)
    assert there.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(there), np.asarray(x))
    out = jax.jit(lambda v: jnp.concatenate([v, v]))(there)
    np.testing.assert_array_equal(np.asarray(out), np.concatenate([np.asarray(x)] * 2))


def test_random_keys_on_the_gpu(gpu: Any) -> None:
    key = jax.device_put(jax.random.key(3), gpu)
    draw = jax.jit(lambda k: jax.random.uniform(k, (5,)))
    assert draw(key).devices() == {gpu}
    np.testing.assert_array_equal(draw(key), draw(jax.random.key(3)))


def test_arrays_on_two_gpus_do_not_mix(gpu: Any) -> None:
    x, y = (jax.device_put(X, d) for d in jax.devices("gpu"))
    with pytest.raises(ValueError, match=r"CudaDevice\(id=0\) and on CudaDevice\(id=1\)"):
        x + y
    with pytest.raises(ValueError, match="incompatible devices"):
        jax.jit(lambda a, b: a + b)(x, y)


def test_kernels_are_compiled_once(gpu: Any) -> None:
    x = jax.device_put(X, gpu)
    f = jax.jit(lambda v: v * 3.5 - 1.0)
    f(x)
    before = cupy_double.Nvrtc.n_compiled
    f(x + 1.0)
    f(x)
    assert cupy_double.Nvrtc.n_compiled <= before + 1  # the sum is another kernel


def test_out_of_memory_says_how_much(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = jax.device_put(X, gpu)
    f = jax.jit(lambda v: jnp.broadcast_to(v, (100, 3, 4)) * 2)
    monkeypatch.setattr(cupy_double.MEMORY, "limit_bytes", 1000)
    freed = cupy_double.MEMORY.n_freed
    with pytest.raises(jax.errors.AllocationError, match="4800 bytes for results"):
        f(x)
    assert cupy_double.MEMORY.n_freed == freed + 1
    monkeypatch.setattr(cupy_double.MEMORY, "limit_bytes", None)
    assert f(x).shape == (100, 3, 4)


def test_a_failing_launch_names_the_equations(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(cupy_double.Function, "__call__", fail)
    with pytest.raises(jax.errors.JaxRuntimeError, match="ILLEGAL_ADDRESS") as caught:
        jax.jit(lambda v: jnp.cos(v) * 2)(jax.device_put(X, gpu))
    assert "cos a" in str(caught.value)
    assert "restart the kernel" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "reason"), [(35, "driver was found, or it is too old"), (100, "sees no GPU")]
)
def test_without_a_gpu_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch, status: int, reason: str
) -> None:
    cupy_double.install(monkeypatch, status=status)
    with pytest.raises(RuntimeError, match=reason):
        jax.devices("gpu")
    assert jax.devices() == jax.devices("cpu")
    assert not check_cuda().ok
    cuda.array_module.cache_clear()


def test_without_cupy_the_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    cuda.array_module.cache_clear()
    with pytest.raises(RuntimeError, match=r"pip install 'jaxlite\[cuda12\]'"):
        jax.devices("cuda")


def test_an_unknown_backend() -> None:
    with pytest.raises(RuntimeError, match="Unknown backend tpu"):
        jax.devices("tpu")


def test_arrays_of_other_libraries_are_shared(gpu: Any) -> None:
    theirs = sys.modules["cupy"].asarray(X)
    for ours in (jnp.asarray(theirs), jnp.from_dlpack(theirs)):
        assert ours.devices() == {gpu}
        assert ours._data is theirs
        np.testing.assert_array_equal(ours + 1, X + 1)
    turned = jnp.asarray(theirs.transpose(1, 0))
    np.testing.assert_array_equal(turned, X.T)
    back = (jnp.asarray(theirs) * 2).__cuda_array_interface__
    assert (back["shape"], back["typestr"]) == ((3, 4), "<f4")
    assert jax.device_put(jnp.ones(2, "bfloat16"), gpu).__dlpack_device__() == (2, 0)
    assert not hasattr(jax.device_put(jnp.ones(2, "bfloat16"), gpu), "__cuda_array_interface__")


def test_pickles_and_copies(gpu: Any) -> None:
    x = jax.device_put(X, gpu)
    again = pickle.loads(pickle.dumps(x))
    np.testing.assert_array_equal(again, X)
    assert again.devices() == set(jax.devices("cpu"))
    assert copy.copy(x).devices() == copy.deepcopy(x).devices() == x.copy().devices() == {gpu}
    assert jax.block_until_ready(x) is x
    assert (x.device, x.platform(), f"{x[0, 1]:.2f}") == (gpu, "gpu", "1.00")
    assert x.to_device(jax.devices("cpu")[0]).devices() == set(jax.devices("cpu"))


def test_default_device(gpu: Any) -> None:
    f = jax.jit(lambda x: x + 1)
    assert f(X).devices() == set(jax.devices("cpu"))
    with jax.default_device(gpu):
        assert f(X).devices() == jax.device_put(X).devices() == {gpu}
        assert f(jnp.asarray(X)).devices() == {gpu}
    assert f(X).devices() == set(jax.devices("cpu"))


def test_cached_calls_mix_host_and_gpu_arguments(gpu: Any) -> None:
    w = jnp.ones(4)
    f = jax.jit(lambda x, y: {"a": x * y + w, "b": y})
    x = jax.device_put(X, gpu)
    for _ in range(5):
        for a, b in ((x, w), (jnp.asarray(X), w), (x, x[0])):
            out = f(a, b)
            np.testing.assert_array_equal(out["a"], X * np.asarray(b) + 1)
            expected = {gpu} if a is x else set(jax.devices("cpu"))
            assert out["a"].devices() == out["b"].devices() == expected
    assert f.n_traces == 1
