"""Stage 6 of 7, emit: complex numbers as pairs of floats. In: pairs. Out: LLVM instructions.

``x`` is ``(re, im)``. Products are plain; quotients scale by the larger part of the divisor
(Smith 1962), so that they do not overflow early. Next: ``llvm_expr.py``.
"""

from __future__ import annotations

from jaxlite.compiler import llvm_arith as arith
from jaxlite.compiler import llvm_math
from jaxlite.compiler.llvm_text import Lanes

Pair = tuple[str, str]


def unary(lanes: Lanes, op: str, elem: str, x: Pair) -> str | Pair:
    """Emit ``neg conj real imag abs sign isfinite isnan`` of a complex number."""
    re, im = x
    match op:
        case "real":
            return re
        case "imag":
            return im
        case "neg":
            return arith.float_unary(lanes, "neg", elem, re), arith.float_unary(
                lanes, "neg", elem, im
            )
        case "conj":
            return re, arith.float_unary(lanes, "neg", elem, im)
        case "abs":
            return llvm_math.call(lanes, "hypot", elem, re, im)
        case "sign":
            return _sign(lanes, elem, x)
        case _:
            assert op in ("isfinite", "isnan"), op
            both = [arith.float_unary(lanes, op, elem, part) for part in x]
            return lanes.op("and" if op == "isfinite" else "or", "i1", *both)


def binary(lanes: Lanes, op: str, elem: str, x: Pair, y: Pair) -> Pair:
    """Emit ``add sub mul div`` of two complex numbers."""
    if op in ("add", "sub"):
        name = "f" + op
        return lanes.op(name, elem, x[0], y[0]), lanes.op(name, elem, x[1], y[1])
    if op == "mul":
        # (a + bi)(c + di) = (ac - bd) + (ad + bc)i
        ac, bd = lanes.op("fmul", elem, x[0], y[0]), lanes.op("fmul", elem, x[1], y[1])
        ad, bc = lanes.op("fmul", elem, x[0], y[1]), lanes.op("fmul", elem, x[1], y[0])
        return lanes.op("fsub", elem, ac, bd), lanes.op("fadd", elem, ad, bc)
    assert op == "div", op
    return _divide(lanes, elem, x, y)


def _divide(lanes: Lanes, elem: str, x: Pair, y: Pair) -> Pair:
    """Emit x / y. With |c| >= |d|: r = d/c, t = c + dr, ((a + br)/t, (b - ar)/t); else mirrored."""
    big_real = lanes.op(
        "fcmp oge",
        elem,
        arith.float_unary(lanes, "abs", elem, y[0]),
        arith.float_unary(lanes, "abs", elem, y[1]),
    )
    large = lanes.select(big_real, elem, y[0], y[1])
    small = lanes.select(big_real, elem, y[1], y[0])
    ratio = lanes.op("fdiv", elem, small, large)
    scale = lanes.op("fadd", elem, large, lanes.op("fmul", elem, small, ratio))
    # Mirrored case: x / (c + di) = (-i x) / (d - ci), so the parts of x swap as well.
    a = lanes.select(big_real, elem, x[0], x[1])
    b = lanes.select(big_real, elem, x[1], x[0])
    re = lanes.op("fdiv", elem, lanes.op("fadd", elem, a, lanes.op("fmul", elem, b, ratio)), scale)
    im = lanes.op("fdiv", elem, lanes.op("fsub", elem, b, lanes.op("fmul", elem, a, ratio)), scale)
    im = lanes.select(big_real, elem, im, arith.float_unary(lanes, "neg", elem, im))
    # A zero divisor gives x / 0 part by part.
    zero = lanes.op("fcmp oeq", elem, large, lanes.literal(0, elem))
    re0, im0 = lanes.op("fdiv", elem, x[0], large), lanes.op("fdiv", elem, x[1], large)
    return lanes.select(zero, elem, re0, re), lanes.select(zero, elem, im0, im)


def _sign(lanes: Lanes, elem: str, x: Pair) -> Pair:
    """Emit x / |x|, or 0 for 0."""
    size = llvm_math.call(lanes, "hypot", elem, *x)
    zero = lanes.op("fcmp oeq", elem, size, lanes.literal(0, elem))
    safe = lanes.select(zero, elem, lanes.literal(1, elem), size)
    return lanes.op("fdiv", elem, x[0], safe), lanes.op("fdiv", elem, x[1], safe)


def compare(lanes: Lanes, op: str, elem: str, x: Pair, y: Pair) -> str:
    """Emit ``eq`` or ``ne``."""
    kind = "fcmp oeq" if op == "eq" else "fcmp une"
    parts = [lanes.op(kind, elem, a, b) for a, b in zip(x, y)]
    return lanes.op("and" if op == "eq" else "or", "i1", *parts)
