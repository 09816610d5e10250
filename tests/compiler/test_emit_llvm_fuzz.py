"""Random kernels: machine code computes what the interpreter computes, at every width."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxlite.compiler import llvm_kernel
from jaxlite.kernel_ir import nodes as ir
from jaxlite.settings import override
from tests.compiler.kernel_tools import (
    F32,
    F64,
    I32,
    assert_close,
    both,
    kernel_program,
    with_width,
)

I64 = ir.I64
U8 = np.dtype(np.uint8)
DTYPES = (F32, F64, I32, I64, U8)
#: Empty, single, around the widths of all vectors, and primes.
EXTENTS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 61, 64, 67)
SIZE = 64 * 9 + 16


def clamp(at: ir.Expr, size: int) -> ir.Expr:
    return ir.binary("max", ir.i64(0), ir.binary("min", at, ir.i64(size - 1)))


@st.composite
def addresses(draw: Any, indices: list[tuple[str, int]]) -> ir.Expr:
    """An index in range: affine, reversed, strided, constant, divided, or read from memory."""
    start = draw(st.integers(0, 3))
    total: ir.Expr = ir.i64(start)
    size, highest = 1, start
    for name, extent in reversed(indices):
        i = ir.index(name)
        last = max(extent - 1, 0)
        kind = draw(st.sampled_from(["plain", "plain", "reversed", "skip", "double", "wrapped"]))
        if kind == "reversed":
            i = ir.binary("sub", ir.i64(last), i)
        elif kind == "skip":
            continue
        elif kind == "double":
            i = ir.binary("mul", i, ir.i64(2))
        elif kind == "wrapped":
            i = ir.binary(draw(st.sampled_from(["rem", "div"])), i, ir.i64(draw(st.integers(1, 5))))
        total = ir.binary("add", total, ir.binary("mul", i, ir.i64(size)))
        highest += 2 * last * size
        size *= max(extent, 1)
    if draw(st.integers(0, 4)) == 0:
        return clamp(ir.cast(ir.load("where", clamp(total, SIZE), I32), I64), SIZE)
    return total if highest < SIZE else clamp(total, SIZE)


@st.composite
def values(draw: Any, indices: list[tuple[str, int]], names: list[ir.Expr], depth: int) -> ir.Expr:
    """An expression of a random dtype over inputs, indices and names."""
    dtype = draw(st.sampled_from(DTYPES))
    return draw(typed(dtype, indices, names, depth))


@st.composite
def typed(
    draw: Any, dtype: Any, indices: list[tuple[str, int]], names: list[ir.Expr], depth: int
) -> ir.Expr:
    fitting = [n for n in names if n.dtype == dtype]
    leaf = depth == 0 or draw(st.integers(0, 4)) == 0
    if leaf:
        kind = draw(st.sampled_from(["load", "load", "const", "index", "name"]))
        if kind == "name" and fitting:
            return draw(st.sampled_from(fitting))
        if kind == "index" and indices:
            return ir.cast(ir.index(draw(st.sampled_from(indices))[0]), dtype)
        if kind == "const":
            return ir.const(draw(st.integers(0, 5)), dtype)
        return ir.load(f"in_{dtype.name}", draw(addresses(indices)), dtype)
    kind = draw(st.sampled_from(["binary", "binary", "select", "cast", "unary"]))
    if kind == "cast":
        return ir.cast(draw(values(indices, names, depth - 1)), dtype)
    x = draw(typed(dtype, indices, names, depth - 1))
    if kind == "unary":
        return ir.unary(draw(st.sampled_from(["neg", "abs"])), x)
    y = draw(typed(dtype, indices, names, depth - 1))
    if kind == "select":
        condition = ir.compare(draw(st.sampled_from(sorted(ir.COMPARE_OPS))), x, y)
        return ir.select(condition, draw(typed(dtype, indices, names, depth - 1)), y)
    return ir.binary(draw(st.sampled_from(["add", "sub", "mul", "min", "max"])), x, y)


class Builder:
    """Draws the statements of one kernel."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.names = 0
        self.outs: dict[str, tuple[Any, int]] = {}

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def row_major(self, indices: list[tuple[str, int]]) -> tuple[ir.Expr, int]:
        at: ir.Expr = ir.i64(0)
        size = 1
        for name, extent in reversed(indices):
            at = ir.binary("add", ir.binary("mul", ir.index(name), ir.i64(size)), at)
            size *= max(extent, 1)
        return at, size

    def store(self, value: ir.Expr, indices: list[tuple[str, int]]) -> ir.Stmt:
        name = self.fresh("out")
        at, size = self.row_major(indices)
        if self.draw(st.integers(0, 3)) == 0:
            at = ir.binary("sub", ir.i64(size - 1), at)
        self.outs[name] = (value.dtype, size)
        return ir.Store(name, at, value)

    def let(self, indices: list[tuple[str, int]], names: list[ir.Expr]) -> ir.Stmt:
        value = self.draw(values(indices, names, 2))
        name = self.fresh("t")
        names.append(ir.name(name, value.dtype))
        return ir.Let(name, value)

    def body(
        self, indices: list[tuple[str, int]], names: list[ir.Expr], vector: str, depth: int
    ) -> list[ir.Stmt]:
        """Statements in the loops ``indices``; ``vector`` is the vector loop's index, or empty."""
        names = list(names)
        out: list[ir.Stmt] = []
        for _ in range(self.draw(st.integers(1, 2))):
            kind = self.draw(
                st.sampled_from(["let", "store", "loop", "loop", "reduce", "scan", "if"])
            )
            if kind == "let":
                out.append(self.let(indices, names))
            elif kind == "if":
                x = self.draw(typed(I32, indices, names, 1))
                condition = ir.compare("lt", x, ir.const(2, I32))
                value = self.draw(values(indices, names, 2))
                store = self.store(value, indices)
                other = ir.Store(store.buffer, store.at, ir.const(1, value.dtype))
                out.append(ir.If(condition, (store,), (other,)))
            elif kind == "store" or depth == 0:
                out.append(self.store(self.draw(values(indices, names, 3)), indices))
            elif kind == "loop":
                out.append(self.loop(indices, names, vector, depth))
            else:
                out += self.accumulate(indices, names, vector, kind)
        return out

    def header(self, vector: str, allow_vector: bool = True) -> tuple[str, int, str, str]:
        index = self.fresh("i")
        kinds = ["serial", "parallel"] if vector or not allow_vector else ["vector", "serial"]
        kind = self.draw(st.sampled_from(kinds))
        extent = self.draw(st.sampled_from(EXTENTS if kind == "vector" else (1, 2, 5)))
        return index, extent, kind, index if kind == "vector" else vector

    def loop(
        self, indices: list[tuple[str, int]], names: list[ir.Expr], vector: str, depth: int
    ) -> ir.Stmt:
        index, extent, kind, inner = self.header(vector)
        body = self.body([*indices, (index, extent)], names, inner, depth - 1)
        return ir.For(index, extent, tuple(body), kind)

    def accumulate(
        self, indices: list[tuple[str, int]], names: list[ir.Expr], vector: str, kind: str
    ) -> list[ir.Stmt]:
        """A reduction (any order of combining is exact on integers), or a running value."""
        dtype = self.draw(st.sampled_from([I32, I64, U8]))
        acc = ir.name(self.fresh("acc"), dtype)
        index, extent, how, _ = self.header(vector, allow_vector=kind == "reduce")
        inside = [*indices, (index, extent)]
        value = self.draw(typed(dtype, inside, names, 2))
        if kind == "reduce":
            op = self.draw(st.sampled_from(["add", "min", "max", "xor", "mul", "or"]))
            body: list[ir.Stmt] = [ir.Combine(acc.attrs[0], value)]
            declared = ir.Acc(acc.attrs[0], ir.const(3, dtype), op)
        else:
            following = ir.binary("add", ir.binary("mul", acc, ir.const(3, dtype)), value)
            body = [ir.Set(acc.attrs[0], following), self.store(acc, inside)]
            declared = ir.Acc(acc.attrs[0], ir.const(1, dtype))
            how = "serial"
        return [declared, ir.For(index, extent, tuple(body), how), self.store(acc, indices)]


@st.composite
def kernels(draw: Any) -> ir.Kernel:
    builder = Builder(draw)
    body = [builder.loop([], [], "", 2), *builder.body([], [], "", 2)]
    params = [ir.Param(f"in_{d.name}", d, SIZE) for d in DTYPES]
    params.append(ir.Param("where", I32, SIZE))
    params += [ir.Param(n, d, size, is_output=True) for n, (d, size) in builder.outs.items()]
    return ir.Kernel("random", tuple(params), tuple(body))


def inputs_for() -> list[Any]:
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 9, SIZE).astype(d) for d in DTYPES]
    return [*arrays, rng.integers(0, SIZE, SIZE).astype(I32)]


def written(kernel: ir.Kernel) -> ir.Kernel:
    """Return the kernel with its outputs cleared first: loops of no iteration write nothing."""
    clear = tuple(
        ir.For(
            f"z{p.name}", p.size, (ir.Store(p.name, ir.index(f"z{p.name}"), ir.const(0, p.dtype)),)
        )
        for p in kernel.params
        if p.is_output
    )
    return ir.Kernel(kernel.name, kernel.params, clear + kernel.body)


@settings(max_examples=60)
@given(kernel=kernels())
def test_loops_shared_by_threads_compute_the_same(kernel: ir.Kernel) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        override(num_threads=3),
        np.errstate(all="ignore"),
    ):
        patch.setattr(llvm_kernel, "_THREADS_NS", -1.0)
        target = dataclasses.replace(with_width(512), threads=True)
        native, oracle = both(kernel_program(written(kernel)), inputs_for(), target)
    assert_close_or_equal(native, oracle)


@settings(max_examples=60)
@given(kernel=kernels(), bits=st.sampled_from([128, 256, 512]))
def test_machine_code_equals_the_interpreter(kernel: ir.Kernel, bits: int) -> None:
    with np.errstate(all="ignore"):
        native, oracle = both(kernel_program(written(kernel)), inputs_for(), with_width(bits))
    # Products of float64 may leave the integers they can hold exactly, in either order.
    assert_close_or_equal(native, oracle)


def assert_close_or_equal(native: list[Any], oracle: list[Any]) -> None:
    for x, y in zip(native, oracle, strict=True):
        if x.dtype.kind == "f":
            assert_close([x], [y], ulps=16)
        else:
            np.testing.assert_array_equal(x, y)
