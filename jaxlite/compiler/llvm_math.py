"""Stage 6 of 7, emit: transcendental functions. In: operands. Out: calls, or instructions.

glibc's libmvec has vector versions of most functions (at most 4 ulp). Their names follow the vector
ABI: ``_ZGV`` + instruction set (``b`` SSE, ``d`` AVX2, ``e`` AVX-512) + ``N`` + lanes + one ``v``
per argument + ``_`` + libm's name. Wider vectors are cut into registers, narrower ones padded;
scalars, and everything on machines without libmvec, go to libm. Next: ``llvm_expr.py``.
"""

from __future__ import annotations

import numpy as np

from jaxlite.compiler import llvm_inline
from jaxlite.compiler.llvm_text import BITS, Lanes

#: Functions of libm by operation name; those of libmvec are marked.
_LIBM = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh",
    "atanh": "atanh", "erf": "erf", "erfc": "erfc", "cbrt": "cbrt", "pow": "pow",
    "atan2": "atan2", "hypot": "hypot", "lgamma": "lgamma",
}  # fmt: skip
_ONLY_SCALAR = frozenset({"lgamma"})
MATH_UNARY = frozenset(_LIBM) - {"pow", "atan2", "hypot"}
_ISA_BITS = {"e": 512, "d": 256, "b": 128}


def call(lanes: Lanes, op: str, elem: str, *args: str) -> str:
    """Emit ``op(*args)`` on floats or doubles."""
    if elem == "float" and lanes.count > 1 and op in llvm_inline.INLINE and lanes.target.fma:
        return llvm_inline.call(lanes, op, args[0])
    if op in ("log", "log1p") and lanes.count > 1:
        return _guarded_log(lanes, op, elem, args[0])
    return _plain(lanes, op, elem, args)


def _plain(lanes: Lanes, op: str, elem: str, args: tuple[str, ...]) -> str:
    name = _LIBM[op] + ("f" if elem == "float" else "")
    if lanes.count == 1:
        return _scalar(lanes, name, elem, args)
    if not lanes.target.vector_math or op in _ONLY_SCALAR:
        return _lane_by_lane(lanes, name, elem, args)
    return _vector(lanes, name, elem, args)


def _guarded_log(lanes: Lanes, op: str, elem: str, x: str) -> str:
    """Emit a logarithm that never sees x <= 0 (or <= -1): libmvec is ten times slower there."""
    pole = lanes.literal(0 if op == "log" else -1, elem)
    inside = lanes.op("fcmp ogt", elem, x, pole)
    one = lanes.literal(1, elem)
    result = _plain(lanes, op, elem, (lanes.select(inside, elem, x, one),))
    at_pole = lanes.op("fcmp oeq", elem, x, pole)
    nan = lanes.literal(np.nan, elem)
    outside = lanes.select(at_pole, elem, lanes.literal(-np.inf, elem), nan)
    return lanes.select(inside, elem, result, outside)


def _scalar(lanes: Lanes, name: str, elem: str, args: tuple[str, ...]) -> str:
    declared = lanes.code.module.declare(name, elem, *[elem] * len(args))
    return lanes.code.put(f"call {elem} {declared}({', '.join(f'{elem} {a}' for a in args)})")


def _lane_by_lane(lanes: Lanes, name: str, elem: str, args: tuple[str, ...]) -> str:
    put, t = lanes.code.put, lanes.type(elem)
    result = "poison"
    for lane in range(lanes.count):
        parts = tuple(put(f"extractelement {t} {a}, i64 {lane}") for a in args)
        one = _scalar(lanes, name, elem, parts)
        result = put(f"insertelement {t} {result}, {elem} {one}, i64 {lane}")
    return result


def _vector(lanes: Lanes, name: str, elem: str, args: tuple[str, ...]) -> str:
    """Call libmvec on whole registers."""
    sets = lanes.target.vector_math
    isa = next((s for s in sets if _ISA_BITS[s] <= lanes.count * BITS[elem]), sets[-1])
    width = _ISA_BITS[isa] // BITS[elem]
    t = f"<{width} x {elem}>"
    full = f"_ZGV{isa}N{width}{'v' * len(args)}_{name}"
    declared = lanes.code.module.declare(full, t, *[t] * len(args))
    pieces = [
        lanes.code.put(f"call {t} {declared}({', '.join(f'{t} {p}' for p in parts)})")
        for parts in zip(*(_registers(lanes, a, elem, width) for a in args))
    ]
    return _joined(lanes, pieces, elem, width)


def _mask(indices: range | list[int]) -> str:
    items = list(indices)
    return f"<{len(items)} x i32> <" + ", ".join(f"i32 {i}" for i in items) + ">"


def _registers(lanes: Lanes, x: str, elem: str, width: int) -> list[str]:
    """Cut ``x`` into vectors of ``width`` lanes; a shorter one is repeated to fill one vector."""
    t, n = lanes.type(elem), lanes.count
    if n == width:
        return [x]
    starts = range(0, n, width)
    picks = [[(s + i) % n for i in range(width)] for s in starts]
    return [lanes.code.put(f"shufflevector {t} {x}, {t} poison, {_mask(pick)}") for pick in picks]


def _joined(lanes: Lanes, pieces: list[str], elem: str, width: int) -> str:
    """Concatenate vectors of ``width`` lanes and keep the first ``lanes.count`` lanes."""
    put = lanes.code.put
    while len(pieces) > 1:
        t = f"<{width} x {elem}>"
        mask = _mask(range(2 * width))
        pairs = zip(pieces[::2], pieces[1::2])
        pieces = [put(f"shufflevector {t} {a}, {t} {b}, {mask}") for a, b in pairs]
        width *= 2
    if width == lanes.count:
        return pieces[0]
    t = f"<{width} x {elem}>"
    return put(f"shufflevector {t} {pieces[0]}, {t} poison, {_mask(range(lanes.count))}")
