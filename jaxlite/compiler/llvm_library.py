"""Stage 6 of 7, emit: library calls. In: LibraryCall and pointers. Out: calls of symbols.

``gemm``: row-major ``out[b] = op(a[b]) @ op(b[b])`` for ``b < batch``, where ``op(a[b])`` is m x k
and ``op(b[b])`` k x n. ``params``:

    batch, m, n, k      sizes
    trans_a, trans_b    the operand is stored transposed: a[b] is k x m, b[b] is n x k
    stride_a, stride_b  optional: elements from one matrix of the batch to the next
                        (default m * k and k * n; 0 uses the same matrix every time)
    accumulate          optional: add to ``out`` instead of overwriting it

The element type is that of ``out``: float32, float64, complex64 or complex128. BLAS is
column-major, so it is asked for the transposed product: ``out.T = op(b).T @ op(a).T``. The symbols
``jaxlite_sgemm`` ... have the Fortran interface and are bound by ``runtime/library.py``. Next:
``runtime/cpu.py``.
"""

from __future__ import annotations

from typing import Any, Final

from jaxlite.compiler.llvm_text import Code, literal
from jaxlite.kernel_ir.nodes import DType
from jaxlite.kernel_ir.program import LibraryCall

LETTERS: Final = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def emit_call(code: Code, step: LibraryCall, dtype: DType, ins: list[str], outs: list[str]) -> None:
    """Append the call of ``step`` to ``code``."""
    assert step.routine == "gemm", f"unknown library routine {step.routine}"
    _gemm(code, dict(step.params), dtype, ins, outs[0])


def _gemm(code: Code, params: dict[str, Any], dtype: DType, ins: list[str], out: str) -> None:
    batch, m, n, k = (int(params[name]) for name in ("batch", "m", "n", "k"))
    if batch == 0 or m == 0 or n == 0:
        return
    strides = (
        int(params.get("stride_a", m * k)),
        int(params.get("stride_b", k * n)),
        m * n,
    )
    pointers = [*ins, out]
    if batch == 1:
        _one_gemm(code, params, dtype, pointers)
        return
    put = code.put
    before, loop, after = code.block, code.new_block("batch"), code.new_block("done")
    code.do(f"br label %{loop.label}")
    code.place(loop)
    i = code.fresh()
    moved = []
    for pointer, stride in zip(pointers, strides):
        offset = put(f"mul i64 {i}, {stride * dtype.itemsize}")
        moved.append(put(f"getelementptr i8, ptr {pointer}, i64 {offset}"))
    _one_gemm(code, params, dtype, moved)
    following = put(f"add nuw nsw i64 {i}, 1")
    more = put(f"icmp ult i64 {following}, {batch}")
    code.do(f"br i1 {more}, label %{loop.label}, label %{after.label}")
    phi = f"  {i} = phi i64 [ 0, %{before.label} ], [ {following}, %{loop.label} ]"
    loop.lines.insert(0, phi)
    code.place(after)


def _one_gemm(code: Code, params: dict[str, Any], dtype: DType, pointers: list[str]) -> None:
    module = code.module
    m, n, k = (int(params[name]) for name in ("m", "n", "k"))
    trans_a, trans_b = bool(params["trans_a"]), bool(params["trans_b"])

    def char(flag: bool) -> str:
        return module.constant(f"i8 {ord('T' if flag else 'N')}")

    def integer(value: int) -> str:
        return module.constant(f"i32 {value}")

    def scalar(value: float) -> str:
        elem = "float" if dtype.name in ("float32", "complex64") else "double"
        one = f"{elem} {literal(value, elem)}"
        if dtype.kind != "c":
            return module.constant(one)
        zero = f"{elem} {literal(0.0, elem)}"
        return module.constant(f"[2 x {elem}] [{one}, {zero}]")

    a, b, c = pointers
    args = [
        *(char(trans_b), char(trans_a), integer(n), integer(m), integer(k), scalar(1.0)),
        *(b, integer(max(k if trans_b else n, 1)), a, integer(max(m if trans_a else k, 1))),
        *(scalar(1.0 if params.get("accumulate") else 0.0), c, integer(n)),
    ]
    name = module.declare(f"jaxlite_{LETTERS[dtype.name]}gemm", "void", *["ptr"] * 13)
    code.do(f"call void {name}({', '.join(f'ptr {x}' for x in args)})")
