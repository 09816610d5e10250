"""Stage 6 of 7, emit: one operator node. In: Expr and its operands as LLVM values. Out: its value.

Dispatches on the node's kind and dtype to ``llvm_arith``, ``llvm_math`` and ``llvm_complex``.
Next: ``llvm_expr.py``.
"""

from __future__ import annotations

import numpy as np

from jaxlite.compiler import llvm_arith as arith
from jaxlite.compiler import llvm_complex, llvm_math, llvm_memory
from jaxlite.compiler.llvm_affine import Ranges
from jaxlite.compiler.llvm_text import Lanes, Value, is_float, is_half, register_type
from jaxlite.kernel_ir.nodes import I64, DType, Expr, const_value

I32: DType = np.dtype(np.int32)
_PART: dict[str, DType] = {"complex64": np.dtype(np.float32), "complex128": np.dtype(np.float64)}
#: Results that a 16-bit float holds exactly.
_EXACT = frozenset(
    {
        "neg", "abs", "sign", "floor", "ceil", "trunc", "round_half_even", "round_half_away",
        "isfinite", "isnan", "min", "max",
    }
)  # fmt: skip


def constant(lanes: Lanes, e: Expr) -> Value:
    """Return the text of a ``const`` node."""
    value = const_value(e)
    elem = register_type(e.dtype)
    if e.dtype.kind == "c":
        return lanes.literal(value.real, elem), lanes.literal(value.imag, elem)
    return lanes.literal(value, elem)


def operation(e: Expr, lanes: Lanes, args: list[Value], ranges: Ranges) -> Value:
    """Emit an operator node whose operands all have ``lanes``."""
    operand = e.args[-1].dtype
    match e.kind:
        case "select":
            return _select(lanes, e, args)
        case "fma":
            # Where the machine has no such instruction LLVM calls the C library's function.
            return lanes.intrinsic("fma", register_type(e.dtype), *map(plain, args))
        case "cast":
            return cast(lanes, args[0], operand, e.dtype)
        case "bitcast":
            return llvm_memory.bitcast(lanes, plain(args[0]), operand, e.dtype)
        case "unary":
            return _unary(lanes, e, args[0])
        case "compare":
            x, y = args
            if isinstance(x, tuple) and isinstance(y, tuple):
                return llvm_complex.compare(lanes, e.attrs[0], register_type(operand), x, y)
            return arith.compare(lanes, e.attrs[0], operand, plain(x), plain(y))
        case _:
            assert e.kind == "binary", e.kind
            return _binary(lanes, e, args, ranges)


def plain(value: Value) -> str:
    """Return a value that is not complex."""
    assert isinstance(value, str), value
    return value


def _select(lanes: Lanes, e: Expr, args: list[Value]) -> Value:
    condition, x, y = args
    elem = register_type(e.dtype)
    if isinstance(x, tuple) and isinstance(y, tuple):
        re, im = (lanes.select(plain(condition), elem, a, b) for a, b in zip(x, y))
        return re, im
    return lanes.select(plain(condition), elem, plain(x), plain(y))


def cast(lanes: Lanes, x: Value, source: DType, target: DType) -> Value:
    """Emit a conversion by value; complex to real keeps the real part, to bool asks for both."""
    if isinstance(x, tuple):
        real = _PART[source.name]
        if target.kind == "c":
            re, im = (arith.cast(lanes, part, real, _PART[target.name]) for part in x)
            return re, im
        if target.kind == "b":
            return lanes.op("or", "i1", *(arith.cast(lanes, part, real, target) for part in x))
        return arith.cast(lanes, x[0], real, target)
    if target.kind == "c":
        real = _PART[target.name]
        return arith.cast(lanes, x, source, real), lanes.literal(0, register_type(real))
    return arith.cast(lanes, x, source, target)


def _unary(lanes: Lanes, e: Expr, x: Value) -> Value:
    op, dtype = e.attrs[0], e.args[0].dtype
    elem = register_type(dtype)
    if isinstance(x, tuple):
        return llvm_complex.unary(lanes, op, elem, x)
    if not is_float(dtype):
        if op in ("isfinite", "isnan"):
            return lanes.literal(op == "isfinite", "i1")
        return arith.int_unary(lanes, op, dtype, x)
    if op in arith.FLOAT_UNARY:
        result = arith.float_unary(lanes, op, elem, x)
    else:
        result = llvm_math.call(lanes, op, elem, x)
    if is_half(dtype) and op not in _EXACT:
        return arith.round_half(lanes, dtype, result)
    return result


def _binary(lanes: Lanes, e: Expr, args: list[Value], ranges: Ranges) -> Value:
    op, dtype = e.attrs[0], e.args[0].dtype
    elem = register_type(dtype)
    x, y = args
    if isinstance(x, tuple) and isinstance(y, tuple):
        return llvm_complex.binary(lanes, op, elem, x, y)
    x, y = plain(x), plain(y)
    if op == "complex":
        return x, y
    if not is_float(dtype):
        return integer_binary(e, lanes, dtype, x, y, ranges)
    if op == "nextafter":
        return arith.nextafter(lanes, dtype, x, y)
    if op in ("pow", "atan2"):
        return arith.round_to(lanes, dtype, llvm_math.call(lanes, op, elem, x, y))
    result = arith.float_binary(lanes, op, elem, x, y)
    return result if op in _EXACT else arith.round_to(lanes, dtype, result)


def integer_binary(e: Expr, lanes: Lanes, dtype: DType, x: str, y: str, ranges: Ranges) -> str:
    """Emit integer arithmetic in ``dtype`` (an index may be narrowed); known scalars are folded."""
    op = e.attrs[0]
    elem = register_type(dtype)
    if e.args[1].kind == "const":
        known = int(const_value(e.args[1]))
        if op in ("div", "rem") and known > 0:
            bounds = ranges.of(e.args[0])
            nonnegative = dtype.kind == "u" or (bounds is not None and bounds[0] >= 0)
            return arith.divide_by_constant(lanes, op, elem, x, known, nonnegative)
        if op in ("shl", "shr_logical", "shr_arithmetic"):
            return arith.shift_by_constant(lanes, op, elem, x, known)
    if dtype == I64 and lanes.count == 1 and x[0] != "%" and y[0] != "%":
        a, b = int(x), int(y)
        folded = {"add": a + b, "sub": a - b, "mul": a * b, "min": min(a, b), "max": max(a, b)}
        if op in folded and abs(folded[op]) < 2**63:
            return str(folded[op])
    return arith.int_binary(lanes, op, dtype, x, y)


def combine(lanes: Lanes, op: str, dtype: DType, x: Value, y: Value) -> Value:
    """Emit ``x op y`` for a combiner of an accumulator."""
    elem = register_type(dtype)
    if isinstance(x, tuple) and isinstance(y, tuple):
        return llvm_complex.binary(lanes, op, elem, x, y)
    a, b = plain(x), plain(y)
    if not is_float(dtype):
        return arith.int_binary(lanes, op, dtype, a, b)
    result = arith.float_binary(lanes, op, elem, a, b)
    return result if op in _EXACT else arith.round_to(lanes, dtype, result)


def identity(lanes: Lanes, op: str, dtype: DType) -> Value:
    """Return the value that leaves an accumulator as it is; for sums of floats that is -0.0."""
    elem = register_type(dtype)
    if dtype.kind == "c":
        zero = lanes.literal(-0.0, elem)
        return (zero, zero) if op == "add" else (lanes.literal(1, elem), lanes.literal(0, elem))
    if is_float(dtype):
        value = {"add": -0.0, "mul": 1.0, "min": np.inf, "max": -np.inf}[op]
        return lanes.literal(value, elem)
    if dtype.kind == "b":
        return lanes.literal(op in ("mul", "min", "and"), elem)
    bounds = np.iinfo(dtype)
    number = {"add": 0, "mul": 1, "or": 0, "xor": 0, "min": bounds.max, "max": bounds.min}
    return lanes.literal(-1 if op == "and" else number[op], elem)


def reduce_lanes(lanes: Lanes, op: str, dtype: DType, x: Value) -> Value:
    """Emit ``x[0] op x[1] op ...`` by halving the vector."""
    elem = register_type(dtype)
    while lanes.count > 1:
        half = Lanes(lanes.code, lanes.count // 2)
        low, high = _half_of(lanes, elem, x, 0), _half_of(lanes, elem, x, half.count)
        x = combine(half, op, dtype, low, high)
        lanes = half
    return x


def _half_of(lanes: Lanes, elem: str, x: Value, start: int) -> Value:
    if isinstance(x, tuple):
        re, im = (plain(_half_of(lanes, elem, part, start)) for part in x)
        return re, im
    t, count, put = lanes.type(elem), lanes.count // 2, lanes.code.put
    if count == 1:
        return put(f"extractelement {t} {x}, i64 {start}")
    mask = ", ".join(f"i32 {start + i}" for i in range(count))
    return put(f"shufflevector {t} {x}, {t} poison, <{count} x i32> <{mask}>")
