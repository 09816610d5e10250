"""NVIDIA's own compiler takes the generated CUDA C, for several architectures, without spills."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import jaxlite
import jaxlite.numpy as jnp
from jaxlite.compiler.emit_cuda import emit_cuda
from tests.compiler.programs import f32
from tests.cuda import nvrtc
from tests.cuda.test_emit_cuda import FUNCTIONS, lowered

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(nvrtc.library() is None, reason="needs the package nvidia-cuda-nvrtc"),
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_compile_without_spills(name: str) -> None:
    for kernel in emit_cuda(lowered(*FUNCTIONS[name])[0]):
        for usage in nvrtc.compile_source(kernel.source, 90):
            assert usage.spilled_bytes == 0, usage
            assert usage.registers <= 64, usage


GOLDEN = {
    "elementwise": (lambda x: jnp.tanh(x) * jnp.exp(-x * x) + jnp.sin(x), (f32(1000),)),
    "softmax": (jaxlite.nn.softmax, (f32(64, 1024),)),
    "layer_norm": (
        lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
        (f32(64, 4096),),
    ),
    "sum": (lambda x: (x * x).sum(), (f32(200_000),)),
}


@pytest.mark.parametrize("architecture", [75, 80, 86, 90, 100, 120])
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_kernels_compile_for_several_architectures(name: str, architecture: int) -> None:
    for kernel in emit_cuda(lowered(*GOLDEN[name])[0]):
        for usage in nvrtc.compile_source(kernel.source, architecture):
            assert usage.spilled_bytes == 0, usage
            assert usage.registers <= 64, usage


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_text(name: str, golden: Callable[[str, str], None]) -> None:
    kernels = emit_cuda(lowered(*GOLDEN[name])[0])
    golden(f"cuda/{name}", "\n".join(kernel.source for kernel in kernels))


def test_the_stage_has_text_without_a_gpu() -> None:
    text = jaxlite.jit(lambda x: x * 2).lower(np.ones(3, np.float32)).as_text("cuda")
    assert "__global__" in text
