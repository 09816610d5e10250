"""Generated CUDA C, run unchanged in the simulator and compared with the primitives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxlite as jax
import jaxlite.numpy as jnp
from jaxlite import lax
from jaxlite.compiler.block import consts_of
from jaxlite.compiler.emit_cuda import emit_cuda, emit_kernel
from jaxlite.compiler.fuse import fuse
from jaxlite.compiler.lower import lower
from jaxlite.compiler.optimise import optimise
from jaxlite.compiler.plan_memory import plan_memory
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.program import Program
from tests.compiler import test_lower
from tests.compiler.programs import assert_same, f32, make_program, run_eagerly, staged
from tests.cuda import simulator
from tests.cuda.programs import Run, compile_programs

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not simulator.is_available, reason="needs g++ on x86-64 Linux"),
]

SMALL = {**test_lower.ALL, **test_lower.LARGE}


@functools.cache
def small_programs() -> Any:
    """Compile the kernels of all small programs in one go."""
    staged_cases = {name: (staged(f, *arrays), arrays) for name, (f, arrays) in SMALL.items()}
    made = {name: make_program(optimise(closed)) for name, (closed, _) in staged_cases.items()}
    return staged_cases, made, compile_programs([program for _, program, _ in made.values()])


@pytest.mark.parametrize("name", SMALL)
def test_kernels_compute_what_primitives_do(name: str) -> None:
    cases, made, (module, kernels) = small_programs()
    (closed, arrays), (_, program, consts) = cases[name], made[name]
    run = Run(program, module, kernels, [*map(np.asarray, arrays), *consts])
    assert_same(run.results(), run_eagerly(closed, arrays))


def rows(j: Any) -> Any:
    """Return rows normalised as in a layer."""
    return (j - j.mean(-1, keepdims=True)) / jnp.sqrt(j.var(-1, keepdims=True) + 1e-5)


X, LONG = f32(40, 70), f32(300, 200, seed=1)
INT = np.arange(-50, 50, dtype=np.int32)
DIVISOR = np.arange(100, dtype=np.int32) % 7 - 3
Z = (X + 1j * f32(40, 70, seed=2)).astype(np.complex64)

#: Whole functions, among them what needs several launches, scratch memory, loops.
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax of long rows": (jax.nn.softmax, (f32(3, 3000),)),
    "softmax of rows": (jax.nn.softmax, (LONG,)),
    "gradient of layer norm": (
        jax.grad(lambda x: (rows(x) ** 2 * jnp.arange(70.0)).sum()),
        (X,),
    ),
    "column sums": (lambda x: (x.sum(0), x - x.mean(0)), (LONG,)),
    "column variance": (lambda x: x.var(0), (LONG,)),
    "logsumexp of columns": (lambda x: jax.nn.logsumexp(x, 0), (LONG,)),
    "divided by the sum": (lambda x: (x / x.sum(), x.max()), (LONG,)),
    "running sums": (lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x, 1)), (LONG,)),
    "argmax": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), (LONG,)),
    "scatter": (lambda x: x.at[jnp.array([1, 1, 2])].add(1.0), (X,)),
    "transposed": (lambda x: x.T + 1.0, (LONG,)),
    "product and relu": (lambda x: jax.nn.relu(x @ x.T + 1.0), (X,)),
    "while loop": (lambda x: lax.while_loop(lambda c: c < 10.0, lambda c: c * c + 1, x), (1.1,)),
    "scan": (lambda x: lax.scan(lambda c, y: (c + y, c * y), x[0], x), (X,)),
    "iteration of complex numbers": (
        lambda c: lax.fori_loop(0, 5, lambda i, z: z * z + c, c * 0),
        (Z,),
    ),
    "random numbers": (lambda: jax.random.normal(jax.random.key(3), (5000,)), ()),
    "half precision": (
        lambda x: (x.astype(jnp.float16) * 3 + x.astype(jnp.float16)).sum(1),
        (X,),
    ),
    "bfloat16": (lambda x: jnp.tanh(x.astype(jnp.bfloat16)) * 3, (X,)),
    "integers": (
        lambda a, b: (a // b, a % b, a << b, a >> b, a**2, jnp.maximum(a, b), abs(a), ~a),
        (INT, DIVISOR),
    ),
    "small integers": (
        lambda a, b: (a // b, a % b, a * b, a - b, jnp.sign(a)),
        (INT.astype(np.int8), DIVISOR.astype(np.int8)),
    ),
    "truncating division": (lambda a, b: (lax.div(a, b), lax.rem(a, b)), (INT, DIVISOR)),
    "complex numbers": (lambda z: (z * z / (z + 1), abs(z), z.conj(), z.imag, z.sum()), (Z,)),
    "conversions": (
        lambda x: (
            (x * 1e10).astype(jnp.int32),
            (x * 300).astype(jnp.uint8),
            x.astype(bool),
            (x * jnp.nan).astype(jnp.int32),
        ),
        (X,),
    ),
    "functions": (
        lambda x: (lax.lgamma(x), lax.erf(x), jnp.arctan2(x, 1.0), jnp.exp(-x), jnp.round(x)),
        (X,),
    ),
}


def lowered(f: Callable[..., Any], arrays: tuple[Any, ...]) -> tuple[Program, list[Any]]:
    """Return the program of a jitted function and its constants."""
    closed = jax.jit(f).trace(*arrays).jaxpr
    program, values = lower(fuse(optimise(closed)))
    return plan_memory(program), [consts_of(v) for v in values]


@functools.cache
def function_programs() -> Any:
    """Compile the kernels of all functions in one go."""
    made = {name: lowered(*case) for name, case in FUNCTIONS.items()}
    return made, compile_programs([program for program, _ in made.values()])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_compute_what_they_do_on_the_cpu(name: str) -> None:
    f, arrays = FUNCTIONS[name]
    made, (module, kernels) = function_programs()
    program, consts = made[name]
    inputs = [np.asarray(a, x.dtype) for a, x in zip(arrays, run_inputs(program), strict=False)]
    run = Run(program, module, kernels, [*inputs, *consts])
    want = [np.asarray(x) for x in jax.tree.leaves(jax.jit(f)(*arrays))]
    assert_same(run.results(), want)


def run_inputs(program: Program) -> list[Any]:
    """Return the input buffers of a program in call order."""
    buffers = {b.name: b for b in program.buffers}
    return [buffers[n] for n in program.inputs]


@pytest.mark.parametrize("dtype", [*test_lower.DTYPES, "bfloat16"])
def test_every_dtype_moves_and_converts(dtype: str) -> None:
    x = (np.arange(40).reshape(5, 8) % 3).astype(np.dtype(dtype))

    def f(a: Any) -> Any:
        real = jnp.real(a) if a.dtype.kind == "c" else a
        return jnp.pad(a.T, ((1, 0), (0, 1))), real.astype(jnp.int32), a.astype(jnp.complex64)

    with jax.enable_x64(True):
        program, consts = lowered(f, (x,))
        module, kernels = compile_programs([program])
        want = [np.asarray(v) for v in jax.jit(f)(x)]
    assert_same(Run(program, module, kernels, [x, *consts]).results(), want)


# --- what the text looks like ---


def test_a_row_is_shared_by_a_warp_and_a_long_row_by_a_block() -> None:
    (short,) = emit_cuda(lowered(jax.nn.softmax, (f32(300, 200),))[0])
    (long,) = emit_cuda(lowered(jax.nn.softmax, (f32(3, 3000),))[0])
    assert "threadIdx.x % 32" in short.source
    assert "__syncthreads" not in short.source
    assert "__shared__ float acc0_warps[8]" in long.source


def test_a_column_sum_has_one_thread_per_column() -> None:
    (kernel,) = emit_cuda(lowered(lambda x: x.sum(0), (LONG,))[0])
    assert [launch.blocks for launch in kernel.launches] == [1, 1]
    assert "__sync" not in kernel.source


def test_equal_kernels_are_one() -> None:
    program, _ = lowered(lambda x, y: (jnp.cumsum(x, 1), jnp.cumsum(y, 1)), (X, X))
    assert len(emit_cuda(program)) == 1


def test_names_and_equations_are_in_the_text() -> None:
    (kernel,) = emit_cuda(lowered(lambda x: jnp.sin(x) * 2.0, (X,))[0])
    assert kernel.launches[0].entry == "fused_sin_mul_0"
    assert "// b:f32[40,70] = sin a" in kernel.source
    assert "test_emit_cuda.py" in kernel.source


def test_positions_are_wide_only_if_a_buffer_is_huge() -> None:
    i = ir.index("i")

    def copy(n: int) -> ir.Kernel:
        params = (
            ir.Param("in0", np.dtype(np.int8), n),
            ir.Param("out0", np.dtype(np.int8), n, is_output=True),
        )
        store = ir.Store("out0", i, ir.load("in0", i, np.int8))
        return ir.Kernel("copy", params, (ir.For("i", n, (store,), "vector"),))

    assert "for (int task" in emit_kernel(copy(2**30)).source
    assert "for (long long task" in emit_kernel(copy(2**32)).source


# --- the simulator sees mistakes ---

PLANTED = {
    "outside of every buffer": ("out0[i]", "out0[i + 1]"),
    "write to an input": ("out0[i] =", "((float*)in0)[i] ="),
    "race with block": ("out0[i] =", "out0[0] ="),
    "a barrier that thread": ("const int i = task;", "const int i = task; __syncthreads();"),
}


@pytest.mark.parametrize("problem", PLANTED)
def test_the_simulator_finds_planted_mistakes(problem: str) -> None:
    (kernel,) = emit_cuda(lowered(lambda x: x * 2.0, (np.ones(5000, np.float32),))[0])
    right, wrong = PLANTED[problem]
    assert right in kernel.source
    broken = type(kernel)(
        kernel.kernel, kernel.source.replace(right, wrong), kernel.launches, kernel.scratch_bytes
    )
    module = simulator.Module([broken])
    with pytest.raises(simulator.SimulationError, match=problem):
        module.run(broken, [np.ones(5000, np.float32), np.ones(5000, np.float32)])
