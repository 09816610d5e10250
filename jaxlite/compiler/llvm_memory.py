"""Stage 6 of 7, emit: loads and stores. In: addresses. Out: LLVM instructions.

A vector access is contiguous, reversed, or a gather/scatter. All are aligned to one element only.
Bools are one byte in memory, bfloat16 two; both are widened on the way to registers.
Next: ``llvm_expr.py``.
"""

from __future__ import annotations

from jaxlite.compiler.llvm_text import BITS, Lanes, Value, element_type, memory_type, register_type
from jaxlite.kernel_ir.nodes import DType


def address(lanes: Lanes, dtype: DType, base: str, at: str) -> str:
    """Emit the address of element ``at`` (a scalar i64)."""
    if at == "0":
        return base
    return lanes.code.put(f"getelementptr {element_type(dtype)}, ptr {base}, i64 {at}")


def addresses(lanes: Lanes, dtype: DType, base: str, at: str, bits: int) -> str:
    """Emit the vector of addresses of the elements ``at`` (a vector of i32 or i64)."""
    kind = element_type(dtype)
    if dtype.itemsize == 16:
        # LLVM 14 gathers from the wrong places if elements are 16 bytes long (x86 scales by 8).
        kind = memory_type(dtype)
        at = lanes.convert("sext", at, "i32", "i64") if bits == 32 else at
        at, bits = lanes.op("shl", "i64", at, lanes.literal(1, "i64")), 64
    return lanes.code.put(f"getelementptr {kind}, ptr {base}, {lanes.type(f'i{bits}')} {at}")


def _part(lanes: Lanes, dtype: DType, pointers: str, part: int, vector: bool) -> str:
    """Emit the address of the real (0) or imaginary (1) part."""
    if part == 0:
        return pointers
    kind = lanes.type("ptr") if vector else "ptr"
    return lanes.code.put(f"getelementptr {memory_type(dtype)}, {kind} {pointers}, i64 1")


def _size(dtype: DType) -> int:
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def _to_register(lanes: Lanes, dtype: DType, x: str) -> str:
    if dtype.kind == "b":
        return lanes.op("icmp ne", "i8", x, lanes.literal(0, "i8"))
    if dtype.name == "float16":
        return lanes.convert("fpext", x, "half", "float")
    if dtype.name == "bfloat16":
        wide = lanes.convert("zext", x, "i16", "i32")
        high = lanes.op("shl", "i32", wide, lanes.literal(16, "i32"))
        return lanes.convert("bitcast", high, "i32", "float")
    return x


def to_memory(lanes: Lanes, dtype: DType, x: str) -> str:
    """Emit the conversion of one part from its register type to its memory type."""
    if dtype.kind == "b":
        return lanes.convert("zext", x, "i1", "i8")
    if dtype.name == "float16":
        return lanes.convert("fptrunc", x, "float", "half")
    if dtype.name == "bfloat16":
        bits = lanes.convert("bitcast", x, "float", "i32")
        high = lanes.op("lshr", "i32", bits, lanes.literal(16, "i32"))
        return lanes.convert("trunc", high, "i32", "i16")
    return x


def load(lanes: Lanes, dtype: DType, pointer: str) -> Value:
    """Emit a load of ``lanes.count`` consecutive elements."""
    kind, align = memory_type(dtype), _size(dtype)
    put = lanes.code.put
    if dtype.kind != "c":
        x = put(f"load {lanes.type(kind)}, ptr {pointer}, align {align}")
        return _to_register(lanes, dtype, x)
    if lanes.count == 1:
        second = _part(lanes, dtype, pointer, 1, vector=False)
        re, im = (put(f"load {kind}, ptr {p}, align {align}") for p in (pointer, second))
        return re, im
    t = f"<{2 * lanes.count} x {kind}>"
    both = put(f"load {t}, ptr {pointer}, align {align}")
    re, im = (put(f"shufflevector {t} {both}, {t} poison, {_every(lanes, 2, p)}") for p in (0, 1))
    return re, im


def _every(lanes: Lanes, step: int, start: int) -> str:
    items = ", ".join(f"i32 {start + step * i}" for i in range(lanes.count))
    return f"<{lanes.count} x i32> <{items}>"


def store(lanes: Lanes, dtype: DType, pointer: str, value: Value) -> None:
    """Emit a store of ``lanes.count`` consecutive elements."""
    kind, align, do = memory_type(dtype), _size(dtype), lanes.code.do
    if isinstance(value, str):
        x = to_memory(lanes, dtype, value)
        do(f"store {lanes.type(kind)} {x}, ptr {pointer}, align {align}")
        return
    if lanes.count == 1:
        do(f"store {kind} {value[0]}, ptr {pointer}, align {align}")
        second = _part(lanes, dtype, pointer, 1, vector=False)
        do(f"store {kind} {value[1]}, ptr {second}, align {align}")
        return
    n, t = lanes.count, lanes.type(kind)
    zipped = ", ".join(f"i32 {i + part * n}" for i in range(n) for part in (0, 1))
    mask = f"<{2 * n} x i32> <{zipped}>"
    both = lanes.code.put(f"shufflevector {t} {value[0]}, {t} {value[1]}, {mask}")
    do(f"store <{2 * n} x {kind}> {both}, ptr {pointer}, align {align}")


def reverse(lanes: Lanes, dtype: DType, value: Value) -> Value:
    """Emit the lanes of ``value`` in reverse order."""
    if not isinstance(value, str):
        re, im = (_reverse_part(lanes, register_type(dtype), v) for v in value)
        return re, im
    return _reverse_part(lanes, register_type(dtype), value)


def _reverse_part(lanes: Lanes, elem: str, x: str) -> str:
    t = lanes.type(elem)
    mask = _every(lanes, -1, lanes.count - 1)
    return lanes.code.put(f"shufflevector {t} {x}, {t} poison, {mask}")


def gather(lanes: Lanes, dtype: DType, pointers: str) -> Value:
    """Emit a load of one element per lane."""
    if dtype.kind != "c":
        return _to_register(lanes, dtype, _gather_part(lanes, dtype, pointers))
    second = _part(lanes, dtype, pointers, 1, vector=True)
    return _gather_part(lanes, dtype, pointers), _gather_part(lanes, dtype, second)


def _gather_part(lanes: Lanes, dtype: DType, pointers: str) -> str:
    kind = memory_type(dtype)
    t, n = lanes.type(kind), lanes.count
    name = f"llvm.masked.gather.{lanes.mangled(kind)}.v{n}p0"
    if lanes.target.llvm_version >= 22:
        # The alignment is an attribute of the pointers from LLVM 22 on.
        declared = lanes.code.module.declare(name, t, lanes.type("ptr"), lanes.type("i1"), t)
        where = f"{lanes.type('ptr')} align {_size(dtype)} {pointers}"
    else:
        declared = lanes.code.module.declare(name, t, lanes.type("ptr"), "i32", lanes.type("i1"), t)
        where = f"{lanes.type('ptr')} {pointers}, i32 {_size(dtype)}"
    mask = f"{lanes.type('i1')} {lanes.repeat('true', 'i1')}"
    return lanes.code.put(f"call {t} {declared}({where}, {mask}, {t} poison)")


def scatter(lanes: Lanes, dtype: DType, pointers: str, value: Value) -> None:
    """Emit a store of one element per lane, in lane order."""
    parts = value if isinstance(value, tuple) else (to_memory(lanes, dtype, value),)
    kind = memory_type(dtype)
    t, vector_of_pointers = lanes.type(kind), lanes.type("ptr")
    put, do = lanes.code.put, lanes.code.do
    for lane in range(lanes.count):
        pointer = put(f"extractelement {vector_of_pointers} {pointers}, i64 {lane}")
        for number, part in enumerate(parts):
            at = _part(lanes, dtype, pointer, number, vector=False)
            one = put(f"extractelement {t} {part}, i64 {lane}")
            do(f"store {kind} {one}, ptr {at}, align {_size(dtype)}")


def first_lane(lanes: Lanes, dtype: DType, value: Value) -> Value:
    """Emit lane 0 of ``value``."""
    return pick_lane(lanes, dtype, value, 0)


def pick_lane(lanes: Lanes, dtype: DType, value: Value, lane: int) -> Value:
    """Emit one lane of ``value`` as a scalar."""
    t, put = lanes.type(register_type(dtype)), lanes.code.put
    if isinstance(value, tuple):
        re, im = (put(f"extractelement {t} {part}, i64 {lane}") for part in value)
        return re, im
    return put(f"extractelement {t} {value}, i64 {lane}")


def splat(lanes: Lanes, dtype: DType, value: Value) -> Value:
    """Emit the scalar ``value`` in every lane."""
    elem = register_type(dtype)
    if isinstance(value, tuple):
        return lanes.splat(value[0], elem), lanes.splat(value[1], elem)
    return lanes.splat(value, elem)


def bitcast(lanes: Lanes, x: str, source: DType, target: DType) -> str:
    """Emit the bits of ``x`` read as ``target`` of the same width."""
    memory = to_memory(lanes, source, x)
    a, b = memory_type(source), memory_type(target)
    if a != b:
        assert BITS[a] == BITS[b], (source, target)
        memory = lanes.convert("bitcast", memory, a, b)
    return _to_register(lanes, target, memory)
