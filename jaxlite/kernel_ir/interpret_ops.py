"""One operation of the loop language on NumPy scalars. In: op and operands. Out: a scalar.

The semantics of ``nodes.py``, written for clarity. Next: ``interpret.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from jaxlite.kernel_ir.nodes import DType


def operation(kind: str, op: str, dtype: DType, args: list[Any]) -> Any:
    """Return the result, of ``dtype``, of a node that is an operation."""
    match kind:
        case "select":
            return args[1] if args[0] else args[2]
        case "fma":
            return _fma(args, dtype)
        case "cast":
            return _cast(args[0], dtype)
        case "bitcast":
            return np.frombuffer(np.asarray(args[0]).tobytes(), dtype)[0]
        case "compare":
            return np.bool_(_COMPARE[op](*args))
        case "unary":
            return _unary(op, args[0], dtype)
        case _:
            assert kind == "binary", kind
            return _binary(op, args[0], args[1], dtype)


def _fma(args: list[Any], dtype: DType) -> Any:
    x, y, z = args
    if not np.isfinite([x, y, z]).all():
        return x * y + z
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if exact == 0:
        return x * y + z  # which has the sign
    # Python rounds a fraction once to float64; from there float32 is one rounding more, which
    # matters for one sum in 2**29.
    with np.errstate(over="ignore", under="ignore"):
        return dtype.type(_rounded(exact))


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def _is_float(dtype: Any) -> bool:
    return bool(dtype.kind == "f") or dtype.name == "bfloat16"


def _as(value: Any, dtype: DType) -> Any:
    """Return ``value`` rounded or wrapped to ``dtype``."""
    return np.asarray(value).astype(dtype)[()]


_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def _cast(x: Any, dtype: DType) -> Any:
    if dtype.kind == "b":
        return np.bool_(x != 0)
    source = np.asarray(x).dtype
    if source.kind == "c" and dtype.kind != "c":
        x = x.real
        source = np.asarray(x).dtype
    if _is_float(source) and dtype.kind in "iu":
        value = float(x)
        if math.isnan(value):
            return dtype.type(0)
        bounds = np.iinfo(dtype)
        if math.isinf(value):
            return dtype.type(bounds.max if value > 0 else bounds.min)
        return dtype.type(min(max(math.trunc(value), int(bounds.min)), int(bounds.max)))
    return _as(x, dtype)


# Floats


def _nan_on_error(f: Callable[[float], float]) -> Callable[[float], float]:
    def safe(x: float) -> float:
        try:
            return f(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return safe


def _round_half_away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + 0.5), x) if abs(x) < 2.0**52 else x


def _lgamma(x: float) -> float:
    # A pole at 0, -1, -2, ...
    return math.inf if x <= 0 and x % 1 == 0 else math.lgamma(x)


#: Functions computed in float64 and rounded once.
_FLOAT64: Final[dict[str, Callable[[Any], Any]]] = {
    **{
        op: getattr(np, op)
        for op in ["floor", "ceil", "trunc", "sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p"]
    },
    **{op: getattr(np, op) for op in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]},
    **{
        op: getattr(np, "arc" + op[1:])
        for op in ["asin", "acos", "atan", "asinh", "acosh", "atanh"]
    },
    "round_half_even": np.rint,
    "round_half_away": _round_half_away,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": math.erf,
    "erfc": math.erfc,
    "lgamma": _nan_on_error(_lgamma),
}


def _unary(op: str, x: Any, dtype: DType) -> Any:
    source = np.asarray(x).dtype
    if op in ("isfinite", "isnan"):
        return np.bool_(getattr(np, op)(x))
    if op == "neg":
        return _wrapped(-int(x), dtype) if source.kind in "iu" else _as(-x, dtype)
    if op == "abs":
        return _as(np.abs(x), dtype)
    if op in ("real", "imag", "conj"):
        return _as(getattr(np, op)(x), dtype)
    if op == "sign":
        return _sign(x, source, dtype)
    if _is_float(source):
        return _as(_FLOAT64[op](np.float64(x)), dtype)
    bits = 8 * source.itemsize
    if op == "not":
        return _as(~x, dtype)
    unsigned = int(x) % 2**bits
    assert op in ("popcount", "clz"), (op, source)
    return dtype.type(unsigned.bit_count() if op == "popcount" else bits - unsigned.bit_length())


def _sign(x: Any, source: DType, dtype: DType) -> Any:
    if source.kind == "c":
        return _as(x / np.abs(x), dtype) if x != 0 else dtype.type(0)
    if x == 0 or x != x:
        return x
    return _as(1 if x > 0 else -1, dtype)


# Two operands


def _binary(op: str, x: Any, y: Any, dtype: DType) -> Any:
    source = np.asarray(x).dtype
    if op == "complex":
        result = np.empty(1, dtype)
        result.real, result.imag = x, y
        return result[0]
    if _is_float(source):
        return _float_binary(op, x, y, dtype)
    if source.kind == "c":
        functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
        return _as(functions[op](x, y), dtype)
    if source.kind == "b":
        x, y = bool(x), bool(y)
        return np.bool_({"and": x and y, "or": x or y, "xor": x != y, "min": x and y, "max": x or y,
                         "mul": x and y, "add": x or y}[op])  # fmt: skip
    return _wrapped(_int_binary(op, int(x), int(y), source), dtype)


def _float_binary(op: str, x: Any, y: Any, dtype: DType) -> Any:
    simple = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    if op in simple:
        return _as(simple[op](x, y), dtype)
    if op in ("min", "max"):
        if x != x or y != y:
            return x if x != x else y
        return (min if op == "min" else max)(x, y)
    if op == "nextafter":
        return _as(np.nextafter(x, y), dtype)
    function = {"rem": np.fmod, "pow": np.power, "atan2": np.arctan2}[op]
    return _as(function(np.float64(x), np.float64(y)), dtype)


def _wrapped(value: int, dtype: DType) -> Any:
    bits = 8 * dtype.itemsize
    value %= 2**bits
    if dtype.kind == "i" and value >= 2 ** (bits - 1):
        value -= 2**bits
    return dtype.type(value)


def _int_binary(op: str, x: int, y: int, dtype: DType) -> int:
    """Return the mathematical result; the caller wraps it."""
    bits = 8 * dtype.itemsize
    if op.startswith("sh"):
        return _shifted(op, x, y, bits)
    if op == "div":
        return -1 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if op == "rem":
        return x if y == 0 else abs(x) % abs(y) * (-1 if x < 0 else 1)
    if op == "pow":
        return pow(x, y, 2**bits) if y >= 0 else 0
    if op == "mulhi":
        return x * y >> bits
    functions: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "min": min,
        "max": max,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }
    return functions[op](x, y)


def _shifted(op: str, x: int, y: int, bits: int) -> int:
    inside = 0 <= y < bits
    if op == "shr_arithmetic":
        # The emitters read the bits as signed, whatever the dtype.
        signed = x - 2**bits if x >= 2 ** (bits - 1) else x
        return signed >> (y if inside else bits - 1)
    if not inside:
        return 0
    return x << y if op == "shl" else (x % 2**bits) >> y
