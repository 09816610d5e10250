"""Kernels and programs for tests, by hand: one loop, its buffers, and a run on both sides."""

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np

from jaxlite.compiler.emit_llvm import emit_llvm
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.check import check_program
from jaxlite.kernel_ir.interpret import interpret_program
from jaxlite.kernel_ir.program import Buffer, Launch, Program, View
from jaxlite.kernel_ir.target import Target
from jaxlite.runtime import cpu

I = ir.index("i")
F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
F16 = np.dtype(np.float16)
BF16 = np.dtype(ml_dtypes.bfloat16)
I32 = np.dtype(np.int32)
INTS = tuple(np.dtype(f"{u}int{bits}") for u in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = (F16, BF16, F32, F64)
COMPLEXES = (np.dtype(np.complex64), np.dtype(np.complex128))
ALL = (np.dtype(np.bool_), *INTS, *FLOATS, *COMPLEXES)
#: Relative error allowed per dtype, in units of its last place.
ULPS = 4
EPS = {F16: 2.0**-10, BF16: 2.0**-7, F32: 2.0**-23, F64: 2.0**-52}


def loop_program(
    n: int,
    ins: dict[str, tuple[np.dtype[Any], int]],
    outs: dict[str, tuple[np.dtype[Any], int]],
    body: tuple[ir.Stmt, ...],
    name: str = "kernel",
    loop: str | None = "vector",
) -> Program:
    """Return a program of one kernel ``for i in n: body``; buffers are name -> (dtype, size)."""
    params = [ir.Param(b, d, size) for b, (d, size) in ins.items()]
    params += [ir.Param(b, d, size, is_output=True) for b, (d, size) in outs.items()]
    statements = (ir.For("i", n, body, loop),) if loop else body  # type: ignore[arg-type]
    return kernel_program(ir.Kernel(name, tuple(params), statements))


def kernel_program(kernel: ir.Kernel) -> Program:
    """Return a program that runs ``kernel`` once on its own inputs and outputs."""
    buffers = tuple(
        Buffer(p.name, p.dtype, (p.size,), "output" if p.is_output else "input")
        for p in kernel.params
    )
    launch = Launch(kernel, tuple(View(b.name, b.shape) for b in buffers))
    names = {kind: tuple(b.name for b in buffers if b.kind == kind) for kind in ("input", "output")}
    return Program(kernel.name, buffers, names["input"], names["output"], (launch,))


def with_width(bits: int, math: bool = True) -> Target:
    """Return this machine's target with vectors of ``bits``, with or without libmvec."""
    host = cpu.host_target()
    bits = min(bits, host.vector_bits)
    letters = {512: "edb", 256: "db", 128: "b"}[bits] if math and host.vector_math else ""
    return dataclasses.replace(host, vector_bits=bits, vector_math=letters)


def run_native(program: Program, inputs: list[Any], target: Target | None = None) -> list[Any]:
    """Compile and run ``program``."""
    target = target or cpu.host_target()
    text = emit_llvm(program, target)
    return list(cpu.load(text, program, target=target).run(tuple(inputs)))


def both(program: Program, inputs: list[Any], target: Target | None = None) -> tuple[Any, Any]:
    """Return the results of the machine code and of the interpreter."""
    check_program(program)
    native = run_native(program, inputs, target)
    return native, list(interpret_program(program, inputs))


def assert_same(native: list[Any], oracle: list[Any]) -> None:
    """Assert equal bits, any NaN being equal to any other."""
    for x, y in zip(native, oracle, strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        if x.dtype.kind in "fc":
            np.testing.assert_array_equal(x, y)
        elif x.dtype == BF16:
            np.testing.assert_array_equal(x.astype(F32), y.astype(F32))
        else:
            assert np.array_equal(x, y), (x, y)


def assert_close(native: list[Any], oracle: list[Any], ulps: float = ULPS) -> None:
    """Assert a relative error of at most ``ulps`` units in the last place."""
    for x, y in zip(native, oracle, strict=True):
        assert x.dtype == y.dtype
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        part = {8: F32, 16: F64}.get(x.dtype.itemsize, F64) if x.dtype.kind == "c" else x.dtype
        np.testing.assert_allclose(
            x.astype(wide), y.astype(wide), rtol=ulps * EPS[part], atol=_tiny(part)
        )


def _tiny(dtype: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(dtype).smallest_normal)


def values_of(dtype: np.dtype[Any], n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return ``n`` values of ``dtype``, special ones among them."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(dtype)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        special = np.array([0, 1, 2, 3, bounds.max, bounds.min, bounds.max - 1], dtype)
        anywhere = rng.integers(bounds.min, bounds.max, n, dtype, endpoint=True)
        small = rng.integers(0, 12, n).astype(dtype)
        pick = rng.integers(0, 3, n)
        chosen = np.where(pick == 0, anywhere, np.where(pick == 1, small, special[pick]))
        return np.where(rng.random(n) < 0.2, rng.choice(special, n), chosen).astype(dtype)
    if dtype.kind == "c":
        part = F32 if dtype.itemsize == 8 else F64
        pairs = np.stack([values_of(part, n, seed), values_of(part, n, seed + 1)], axis=-1)
        return pairs.reshape(-1).view(dtype)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 2.5, -3.5])
    ordinary = rng.standard_normal(n) * np.exp(rng.standard_normal(n) * 2)
    return np.where(rng.random(n) < 0.25, rng.choice(special, n), ordinary).astype(dtype)
