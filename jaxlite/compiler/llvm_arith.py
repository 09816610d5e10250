"""Stage 6 of 7, emit: arithmetic on scalars or vectors. In: operands. Out: LLVM instructions.

Everything here works on ``Lanes``: with one lane it emits scalar code, with more the same on
vectors. Semantics are those of ``kernel_ir/nodes.py``: integers wrap, division and shifts are
total, casts saturate, ``min`` and ``max`` propagate NaN, 16-bit floats are rounded after every
operation. Next: ``llvm_math.py`` (transcendental functions), ``llvm_complex.py``.
"""

from __future__ import annotations

import numpy as np

from jaxlite.compiler.llvm_text import BITS, Lanes, is_float, is_half, register_type
from jaxlite.kernel_ir.nodes import DType

_FLOAT_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "rem": "frem"}
_INT_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_COMPARE = {
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
    "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"),
}
#: Rounding functions: operation -> intrinsic.
_ROUNDINGS = {
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round_half_even": "roundeven",
    "round_half_away": "round",
    "abs": "fabs",
}
#: Unary operations on floats that this module emits itself.
FLOAT_UNARY = frozenset([*_ROUNDINGS, "neg", "sign", "sqrt", "rsqrt", "isfinite", "isnan"])


def is_signed(dtype: DType) -> bool:
    """Say whether ``dtype`` is a signed integer."""
    return dtype.kind == "i"


def round_half(lanes: Lanes, dtype: DType, x: str) -> str:
    """Round the floats ``x`` to the 16-bit ``dtype``, ties to even, and return them as floats."""
    if dtype.name == "float16":
        return lanes.convert("fpext", lanes.convert("fptrunc", x, "float", "half"), "half", "float")
    # bfloat16 is the upper half of a float: add 0x7fff plus the lowest kept bit, then cut.
    bits = lanes.convert("bitcast", x, "float", "i32")
    kept = lanes.op("lshr", "i32", bits, lanes.literal(16, "i32"))
    odd = lanes.op("and", "i32", kept, lanes.literal(1, "i32"))
    bias = lanes.op("add", "i32", odd, lanes.literal(0x7FFF, "i32"))
    rounded = lanes.op("add", "i32", bits, bias)
    # Rounding may carry out of a NaN's payload; a NaN keeps its sign and becomes quiet instead.
    quiet = lanes.op("or", "i32", bits, lanes.literal(0x00400000, "i32"))
    nan = lanes.op("fcmp uno", "float", x, x)
    cut = lanes.select(nan, "i32", quiet, rounded)
    cut = lanes.op("and", "i32", cut, lanes.literal(-65536, "i32"))
    return lanes.convert("bitcast", cut, "i32", "float")


def round_to(lanes: Lanes, dtype: DType, x: str) -> str:
    """Round ``x`` if ``dtype`` is a 16-bit float."""
    return round_half(lanes, dtype, x) if is_half(dtype) else x


def compare(lanes: Lanes, op: str, dtype: DType, x: str, y: str) -> str:
    """Emit ``x op y`` as i1 lanes."""
    ordered, signed, unsigned = _COMPARE[op]
    elem = register_type(dtype)
    if is_float(dtype):
        return lanes.op(f"fcmp {ordered}", elem, x, y)
    return lanes.op(f"icmp {signed if is_signed(dtype) else unsigned}", elem, x, y)


def float_unary(lanes: Lanes, op: str, elem: str, x: str) -> str:
    """Emit a unary operation of ``FLOAT_UNARY`` on floats or doubles."""
    if op in _ROUNDINGS:
        return lanes.intrinsic(_ROUNDINGS[op], elem, x)
    if op == "neg":
        return lanes.code.put(f"fneg {lanes.type(elem)} {x}")
    if op == "sqrt":
        return lanes.intrinsic("sqrt", elem, x)
    if op == "rsqrt":
        return lanes.op("fdiv", elem, lanes.literal(1, elem), lanes.intrinsic("sqrt", elem, x))
    if op == "isnan":
        return lanes.op("fcmp uno", elem, x, x)
    if op == "isfinite":
        size = lanes.intrinsic("fabs", elem, x)
        return lanes.op("fcmp olt", elem, size, lanes.literal(np.inf, elem))
    assert op == "sign", op
    # sign(x) is x for zeros and NaN, else 1 with the sign of x.
    one = lanes.intrinsic("copysign", elem, lanes.literal(1, elem), x)
    nonzero = lanes.op("fcmp one", elem, x, lanes.literal(0, elem))
    return lanes.select(nonzero, elem, one, x)


def float_binary(lanes: Lanes, op: str, elem: str, x: str, y: str) -> str:
    """Emit ``add sub mul div rem min max`` on floats or doubles."""
    if op in _FLOAT_BINARY:
        return lanes.op(_FLOAT_BINARY[op], elem, x, y)
    assert op in ("min", "max"), op
    chosen = lanes.op("fcmp olt" if op == "min" else "fcmp ogt", elem, x, y)
    best = lanes.select(chosen, elem, x, y)  # y if either is NaN: one minps
    return lanes.select(lanes.op("fcmp uno", elem, x, x), elem, x, best)


def nextafter(lanes: Lanes, dtype: DType, x: str, y: str) -> str:
    """Emit the neighbour of ``x`` towards ``y``: its bits plus one (away from 0) or minus one."""
    elem = register_type(dtype)
    half = dtype.name == "float16"
    width = "i16" if half else f"i{BITS[elem]}"

    def to_bits(value: str) -> str:
        memory = lanes.convert("fptrunc", value, elem, "half") if half else value
        return lanes.convert("bitcast", memory, "half" if half else elem, width)

    def from_bits(bits: str) -> str:
        value = lanes.convert("bitcast", bits, width, "half" if half else elem)
        return lanes.convert("fpext", value, "half", elem) if half else value

    unit = 1 << 16 if dtype.name == "bfloat16" else 1
    zero = lanes.literal(0, elem)
    upwards = lanes.op("fcmp olt", elem, x, y)
    inwards = lanes.op("xor", "i1", upwards, lanes.op("fcmp ogt", elem, x, zero))
    step = lanes.select(inwards, width, lanes.literal(-unit, width), lanes.literal(unit, width))
    moved = from_bits(lanes.op("add", width, to_bits(x), step))
    tiny = lanes.intrinsic("copysign", elem, from_bits(lanes.literal(unit, width)), y)
    result = lanes.select(lanes.op("fcmp oeq", elem, x, zero), elem, tiny, moved)
    result = lanes.select(lanes.op("fcmp oeq", elem, x, y), elem, y, result)
    either_nan = lanes.op("fcmp uno", elem, x, y)
    return lanes.select(either_nan, elem, lanes.op("fadd", elem, x, y), result)


def int_unary(lanes: Lanes, op: str, dtype: DType, x: str) -> str:
    """Emit ``neg not abs sign popcount clz`` on integers or bools."""
    elem = register_type(dtype)
    zero = lanes.literal(0, elem)
    if op == "not":
        return lanes.op("xor", elem, x, lanes.literal(-1 if elem != "i1" else 1, elem))
    if op == "neg":
        return lanes.op("sub", elem, zero, x)
    if op == "popcount":
        return lanes.intrinsic("ctpop", elem, x)
    if op == "clz":
        return lanes.intrinsic("ctlz", elem, x, flags="false")
    if op == "abs":
        return lanes.intrinsic("abs", elem, x, flags="false") if is_signed(dtype) else x
    assert op == "sign", op
    nonzero = lanes.convert("zext", lanes.op("icmp ne", elem, x, zero), "i1", elem)
    if not is_signed(dtype):
        return nonzero
    sign = lanes.op("ashr", elem, x, lanes.literal(BITS[elem] - 1, elem))
    return lanes.op("or", elem, sign, nonzero)


def int_binary(lanes: Lanes, op: str, dtype: DType, x: str, y: str) -> str:
    """Emit a binary operation on integers or bools."""
    elem = register_type(dtype)
    if op in _INT_BINARY:
        if elem == "i1" and op == "add":
            op = "or"  # the sum of bools as a combiner
        return lanes.op(_INT_BINARY[op], elem, x, y)
    if op in ("min", "max"):
        chosen = compare(lanes, "lt" if op == "min" else "gt", dtype, x, y)
        return lanes.select(chosen, elem, x, y)
    if op in ("div", "rem"):
        return _divide(lanes, op, dtype, x, y)
    if op == "mulhi":
        return _mulhi(lanes, dtype, x, y)
    return _shift(lanes, op, elem, x, y)


def _divide(lanes: Lanes, op: str, dtype: DType, x: str, y: str) -> str:
    """Emit a total division: x / 0 is all ones, x % 0 is x, MIN / -1 wraps."""
    elem = register_type(dtype)
    signed = is_signed(dtype)
    name = ("s" if signed else "u") + op
    by_zero = lanes.op("icmp eq", elem, y, lanes.literal(0, elem))
    one = lanes.literal(1, elem)
    safe = lanes.select(by_zero, elem, one, y)
    if signed:
        # MIN / -1 overflows; dividing by 1 instead gives MIN and remainder 0.
        least = lanes.literal(-(1 << (BITS[elem] - 1)), elem)
        at_least = lanes.op("icmp eq", elem, x, least)
        by_minus_one = lanes.op("icmp eq", elem, y, lanes.literal(-1, elem))
        safe = lanes.select(lanes.op("and", "i1", at_least, by_minus_one), elem, one, safe)
    result = lanes.op(name, elem, x, safe)
    return lanes.select(by_zero, elem, lanes.literal(-1, elem) if op == "div" else x, result)


def divide_by_constant(
    lanes: Lanes, op: str, elem: str, x: str, divisor: int, nonnegative: bool
) -> str:
    """Emit ``div`` or ``rem`` by a positive constant."""
    name = ("u" if nonnegative else "s") + op
    return lanes.op(name, elem, x, lanes.literal(divisor, elem))


def _shift(lanes: Lanes, op: str, elem: str, x: str, y: str) -> str:
    """Emit a shift; by the width or more (or a negative amount) it gives 0, or the sign."""
    width = lanes.literal(BITS[elem], elem)
    inside = lanes.op("icmp ult", elem, y, width)
    last = lanes.literal(BITS[elem] - 1, elem)
    amount = lanes.select(inside, elem, y, last)
    if op == "shr_arithmetic":
        return lanes.op("ashr", elem, x, amount)
    shifted = lanes.op("shl" if op == "shl" else "lshr", elem, x, amount)
    return lanes.select(inside, elem, shifted, lanes.literal(0, elem))


def shift_by_constant(lanes: Lanes, op: str, elem: str, x: str, amount: int) -> str:
    """Emit a shift by a known amount."""
    bits = BITS[elem]
    if not 0 <= amount < bits:
        if op != "shr_arithmetic":
            return lanes.literal(0, elem)
        amount = bits - 1
    name = {"shl": "shl", "shr_logical": "lshr", "shr_arithmetic": "ashr"}[op]
    return lanes.op(name, elem, x, lanes.literal(amount, elem))


def _mulhi(lanes: Lanes, dtype: DType, x: str, y: str) -> str:
    """Emit the upper half of the double-width product."""
    elem = register_type(dtype)
    wide = f"i{2 * BITS[elem]}"
    extend = "sext" if is_signed(dtype) else "zext"
    product = lanes.op(
        "mul", wide, lanes.convert(extend, x, elem, wide), lanes.convert(extend, y, elem, wide)
    )
    shift = lanes.repeat(str(BITS[elem]), wide)
    return lanes.convert("trunc", lanes.op("lshr", wide, product, shift), wide, elem)


def cast(lanes: Lanes, x: str, source: DType, target: DType) -> str:
    """Emit a conversion by value between real dtypes; float to int saturates, NaN becomes 0."""
    s, t = register_type(source), register_type(target)
    if target.kind == "b":
        zero = lanes.literal(0, s)
        return lanes.op("fcmp une" if is_float(source) else "icmp ne", s, x, zero)
    if is_float(target):
        if is_float(source):
            return _float_to_float(lanes, x, source, target)
        signed = is_signed(source)
        return round_to(lanes, target, lanes.convert("sitofp" if signed else "uitofp", x, s, t))
    if is_float(source):
        return _float_to_int(lanes, x, s, target)
    if BITS[s] == BITS[t]:
        return x
    if BITS[s] > BITS[t]:
        return lanes.convert("trunc", x, s, t)
    return lanes.convert("sext" if is_signed(source) else "zext", x, s, t)


def _float_to_float(lanes: Lanes, x: str, source: DType, target: DType) -> str:
    s, t = register_type(source), register_type(target)
    if s == t:
        exact = not is_half(target) or source == target
        return x if exact else round_half(lanes, target, x)
    if s == "float":
        return lanes.convert("fpext", x, s, t)
    if target.name == "float16":
        return round_half(lanes, target, _round_to_odd(lanes, x))
    return round_to(lanes, target, lanes.convert("fptrunc", x, s, t))


def _round_to_odd(lanes: Lanes, x: str) -> str:
    """Emit a float for the double ``x`` that may be rounded again without rounding twice.

    Cut, and set the last bit if anything was lost: a tie of the next rounding cannot appear by
    accident.
    """
    near = lanes.convert("fptrunc", x, "double", "float")
    back = lanes.convert("fpext", near, "float", "double")
    inexact = lanes.op("fcmp one", "double", back, x)
    sizes = (lanes.intrinsic("fabs", "double", v) for v in (back, x))
    too_far = lanes.op("fcmp ogt", "double", *sizes)
    bits = lanes.convert("bitcast", near, "float", "i32")
    cut = lanes.op("add", "i32", bits, lanes.literal(-1, "i32"))
    cut = lanes.select(too_far, "i32", cut, bits)
    odd = lanes.op("or", "i32", cut, lanes.literal(1, "i32"))
    return lanes.convert("bitcast", lanes.select(inexact, "i32", odd, bits), "i32", "float")


def _float_to_int(lanes: Lanes, x: str, source: str, target: DType) -> str:
    t = register_type(target)
    name = f"llvm.fpto{'s' if is_signed(target) else 'u'}i.sat"
    full = f"{name}.{lanes.mangled(t)}.{lanes.mangled(source)}"
    declared = lanes.code.module.declare(full, lanes.type(t), lanes.type(source))
    return lanes.code.put(f"call {lanes.type(t)} {declared}({lanes.type(source)} {x})")
