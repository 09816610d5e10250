"""Nodes of the loop language. In: nothing. Out: immutable, hash-consed data. Next: ``program.py``.

A kernel is a list of statements over named flat buffers. For ``y = x * 2`` on ``f32[4]``::

    For i in 4 (vector):
      Store y[i] = x[i] * 2.0

Expressions never have side effects. ``Load`` reads what was stored before it in statement order.
Semantics are JAX's: integer arithmetic wraps, ``div`` and ``rem`` on integers truncate like C but
are total (x / 0 = -1 for signed and all ones for unsigned, x % 0 = x, MIN / -1 = MIN), shifts by
the bit width or more give 0 (arithmetic right shift: the sign), float to int casts saturate with
NaN -> 0, ``min``/``max`` propagate NaN.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

DType: TypeAlias = np.dtype[Any]
I64: DType = np.dtype(np.int64)
BOOL: DType = np.dtype(np.bool_)

#: One operand, result of the same dtype (``abs`` of complex and the predicates differ, see
#: ``unary``).
UNARY_OPS = frozenset(
    {
        "neg", "not", "abs", "sign", "floor", "ceil", "round_half_even", "round_half_away", "trunc",
        "sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan",
        "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc",
        "lgamma", "isfinite", "isnan", "popcount", "clz", "real", "imag", "conj",
    }
)  # fmt: skip
#: Two operands of one dtype, result of the same dtype (``complex`` builds a complex from two
#: floats).
BINARY_OPS = frozenset(
    {
        "add", "sub", "mul", "div", "rem", "pow", "min", "max", "and", "or", "xor", "shl",
        "shr_logical", "shr_arithmetic", "atan2", "nextafter", "complex", "mulhi",
    }
)  # fmt: skip
COMPARE_OPS = frozenset(["eq", "ne", "lt", "le", "gt", "ge"])
#: Combiners of an accumulator; all are associative and commutative, so lanes may be combined later.
COMBINERS = frozenset(["add", "mul", "min", "max", "and", "or", "xor"])


class Expr:
    """A scalar value of ``dtype``. Interned: structurally equal expressions are the same object."""

    __slots__ = ("__weakref__", "args", "attrs", "dtype", "kind")

    # kind: const, index, name, load, unary, binary, compare, select, fma, cast or bitcast.
    # attrs: ('add',) for binary; (name,) for index and name; (buffer,) for load; ...
    kind: str
    args: tuple[Expr, ...]
    attrs: tuple[Any, ...]
    dtype: DType

    def __repr__(self) -> str:
        inner = ", ".join([*(str(a) for a in self.attrs), *(repr(a) for a in self.args)])
        return f"{self.kind}({inner}: {self.dtype})"


_table: dict[tuple[Any, ...], Expr] = {}
_lock = threading.Lock()


def _make(kind: str, attrs: tuple[Any, ...], args: tuple[Expr, ...], dtype: DType) -> Expr:
    # Arguments are interned already, so identity is enough to tell them apart.
    key = (kind, attrs, args, dtype)
    found = _table.get(key)
    if found is not None:
        return found
    with _lock:
        found = _table.get(key)
        if found is None:
            found = object.__new__(Expr)
            found.kind, found.attrs, found.args, found.dtype = kind, attrs, args, dtype
            _table[key] = found
        return found


def clear_expressions() -> None:
    """Forget all interned expressions (called by ``clear_caches``; live kernels keep theirs)."""
    with _lock:
        _table.clear()


def const(value: Any, dtype: Any) -> Expr:
    """Return the constant ``value`` of ``dtype``; NaNs and signed zeros keep their bits."""
    dt = np.dtype(dtype)
    scalar = np.asarray(value).astype(dt)
    # The bits are the identity: 0.0 and -0.0 differ, NaN equals itself.
    return _make("const", (scalar.tobytes(),), (), dt)


def const_value(e: Expr) -> Any:
    """Return the NumPy scalar of a ``const`` expression."""
    return np.frombuffer(e.attrs[0], e.dtype)[0]


def index(name: str) -> Expr:
    """Return the loop index ``name`` (i64)."""
    return _make("index", (name,), (), I64)


def name(text: str, dtype: Any) -> Expr:
    """Return the value bound by ``Let`` or ``Acc`` under ``text``."""
    return _make("name", (text,), (), np.dtype(dtype))


def load(buffer: str, at: Expr, dtype: Any) -> Expr:
    """Return element ``at`` (i64, flat) of ``buffer``."""
    return _make("load", (buffer,), (at,), np.dtype(dtype))


def unary(op: str, x: Expr, dtype: Any = None) -> Expr:
    """Return ``op(x)``.

    ``dtype`` defaults to that of ``x``, to bool for predicates, to the part's for real, imag, abs.
    """
    assert op in UNARY_OPS, op
    if dtype is None:
        dt = x.dtype
        if op in ("isfinite", "isnan"):
            dt = BOOL
        elif dt.kind == "c" and op in ("abs", "real", "imag"):
            dt = np.dtype(np.float32 if dt.itemsize == 8 else np.float64)
    else:
        dt = np.dtype(dtype)
    return _make("unary", (op,), (x,), dt)


def binary(op: str, x: Expr, y: Expr, dtype: Any = None) -> Expr:
    """Return ``x op y`` for operands of one dtype. i64 index arithmetic on constants is folded."""
    assert op in BINARY_OPS, op
    assert x.dtype == y.dtype, (op, x, y)
    if x.dtype == I64 and op in ("add", "sub", "mul", "div", "rem"):
        folded = _fold_index(op, x, y)
        if folded is not None:
            return folded
    dt = x.dtype if dtype is None else np.dtype(dtype)
    if op == "complex" and dtype is None:
        dt = np.dtype(np.complex64 if x.dtype.itemsize == 4 else np.complex128)
    return _make("binary", (op,), (x, y), dt)


def _fold_index(op: str, x: Expr, y: Expr) -> Expr | None:
    """Simplify index arithmetic; exact because i64 indices never overflow."""
    cx = int(const_value(x)) if x.kind == "const" else None
    cy = int(const_value(y)) if y.kind == "const" else None
    if cx is not None and cy is not None and not (op in ("div", "rem") and (cx < 0 or cy <= 0)):
        value = {
            "add": lambda: cx + cy,
            "sub": lambda: cx - cy,
            "mul": lambda: cx * cy,
            "div": lambda: cx // cy,
            "rem": lambda: cx % cy,
        }[op]()
        return const(value, I64) if -(2**63) <= value < 2**63 else None
    if op == "add" and cx == 0:
        return y
    if op in ("add", "sub") and cy == 0:
        return x
    if op == "mul" and (cx == 0 or cy == 0):
        return const(0, I64)
    if op == "mul" and cx == 1:
        return y
    if op in ("mul", "div") and cy == 1:
        return x
    if op == "rem" and cy == 1:
        return const(0, I64)
    return None


def compare(op: str, x: Expr, y: Expr) -> Expr:
    """Return the bool ``x op y``; comparisons with NaN are false except ``ne``."""
    assert op in COMPARE_OPS, op
    assert x.dtype == y.dtype, (op, x, y)
    return _make("compare", (op,), (x, y), BOOL)


def select(condition: Expr, if_true: Expr, if_false: Expr) -> Expr:
    """Return ``if_true`` where ``condition`` holds, else ``if_false``; both are computed."""
    assert condition.dtype == BOOL, condition
    assert if_true.dtype == if_false.dtype, (if_true, if_false)
    if if_true is if_false:
        return if_true
    return _make("select", (), (condition, if_true, if_false), if_true.dtype)


def fma(x: Expr, y: Expr, z: Expr) -> Expr:
    """Return ``x * y + z`` of float32 or float64, rounded once."""
    assert x.dtype == y.dtype == z.dtype, (x, y, z)
    assert x.dtype.kind == "f", x
    return _make("fma", (), (x, y, z), x.dtype)


def cast(x: Expr, dtype: Any) -> Expr:
    """Return ``x`` converted by value (``lax.convert_element_type``); to bool means ``x != 0``."""
    dt = np.dtype(dtype)
    return x if dt == x.dtype else _make("cast", (), (x,), dt)


def bitcast(x: Expr, dtype: Any) -> Expr:
    """Return the bits of ``x`` read as ``dtype`` of the same width."""
    dt = np.dtype(dtype)
    assert dt.itemsize == x.dtype.itemsize, (x, dt)
    return x if dt == x.dtype else _make("bitcast", (), (x,), dt)


def with_args(e: Expr, args: tuple[Expr, ...]) -> Expr:
    """Return ``e`` with other operands (of the same dtypes)."""
    return _make(e.kind, e.attrs, args, e.dtype)


def i64(value: int) -> Expr:
    """Return an index constant."""
    return const(value, I64)


LoopKind: TypeAlias = Literal["serial", "parallel", "vector"]


@dataclass(frozen=True, slots=True)
class Let:
    """Bind ``name``; visible in the statements after it in this block and in nested ones.

    Names of ``Let`` and ``Acc`` are bound once in a kernel; loop indices may be used again by a
    later loop.
    """

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Store:
    """``buffer[at] = value``."""

    buffer: str
    at: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Acc:
    """Declare a mutable scalar. One with a ``combiner`` is updated by ``Combine`` only."""

    name: str
    init: Expr
    combiner: str | None = None


@dataclass(frozen=True, slots=True)
class Combine:
    """``name = combiner(name, value)`` for an ``Acc`` that has a combiner."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Set:
    """``name = value`` for an ``Acc`` without combiner; makes the enclosing loop serial."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class If:
    """Run ``body`` if ``condition`` holds, else ``orelse``."""

    condition: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """``for index in range(extent)``.

    ``serial``: in order. ``parallel``: iterations are independent, however few (whether threads pay
    is the emitter's decision). ``vector``: independent up to ``Combine``, so the emitter may run
    several iterations at once, and some twice. It may contain serial loops and ``If``; an ``Acc``
    declared inside exists once per iteration, and only such a one may be ``Set``. It contains no
    other vector loop.
    """

    index: str
    extent: int
    body: tuple[Stmt, ...]
    kind: LoopKind = "serial"


Stmt: TypeAlias = Let | Store | Acc | Combine | Set | If | For


@dataclass(frozen=True, slots=True)
class Param:
    """A flat C-contiguous buffer of ``size`` elements that a kernel reads or writes."""

    name: str
    dtype: DType
    size: int
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """One unit of generated code.

    ``name`` says what it does (``fused_mul_sin``), ``comments`` are the jaxpr equations it came
    from (with user lines).
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    comments: tuple[str, ...] = ()

    def __str__(self) -> str:
        from_text = PRINTER.get("kernel")
        return from_text(self) if from_text else repr(self)


#: ``pretty.py`` puts its printers here, so that data does not import the code that prints it.
PRINTER: dict[str, Any] = {}


def walk(e: Expr) -> Iterable[Expr]:
    """Yield each distinct sub-expression of ``e`` once, operands before users."""
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(e, False)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args))


def nested_names(kernel: Kernel) -> dict[str, DType]:
    """Return the dtype of every name that ``Let`` or ``Acc`` binds in ``kernel``."""
    found: dict[str, DType] = {}
    waiting: list[Stmt] = list(kernel.body)
    while waiting:
        match waiting.pop():
            case Let(text, value):
                found[text] = value.dtype
            case Acc(text, init, _):
                found[text] = init.dtype
            case For(_, _, body, _):
                waiting += body
            case If(_, body, orelse):
                waiting += [*body, *orelse]
    return found
