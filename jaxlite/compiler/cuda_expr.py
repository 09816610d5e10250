"""CUDA C, expressions. In: kernel IR expressions. Out: C text. Next: ``cuda_parts.py``.

An index is a C ``int`` if every buffer of the kernel has fewer than 2^31 elements, which is cheaper
on a GPU; a value that depends on data is always as wide as its dtype says.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from jaxlite.compiler.cuda_types import (
    is_float,
    is_half,
    literal,
    memory_type,
    part_dtype,
    register_type,
    unsigned_type,
)
from jaxlite.kernel_ir.nodes import I64, DType, Expr, const_value

#: Functions of the C library by operation; float32 has the name with an f.
_FUNCTIONS: Final = {
    **{op: op for op in ("floor", "ceil", "trunc", "sqrt", "cbrt", "exp", "exp2", "expm1")},
    **{op: op for op in ("log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan")},
    **{op: op for op in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc")},
    "round_half_even": "rint",
    "round_half_away": "round",
    "rsqrt": "rsqrt",
    "abs": "fabs",
}
_BINARY_FUNCTIONS: Final = {
    "rem": "fmod",
    "pow": "pow",
    "atan2": "atan2",
    "nextafter": "nextafter",
}
_INFIX: Final = {"add": "+", "sub": "-", "mul": "*", "div": "/", "and": "&", "or": "|", "xor": "^"}
_COMPARE: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INT_MAX: Final = 2**31 - 1


class Expressions:
    """Writes expressions of one kernel; ``used`` collects the helpers they call."""

    def __init__(self, narrow: bool) -> None:
        self.narrow = narrow
        self.used: set[str] = set()
        #: Names of ``Let`` and ``Acc`` -> what they are called in C.
        self.names: dict[str, str] = {}
        #: Names of ``Let`` that are positions only, of the index type.
        self.positions: set[str] = set()

    @property
    def index_type(self) -> str:
        """The C type of loop variables and positions."""
        return "int" if self.narrow else "long long"

    # --- values ---

    def value(self, e: Expr) -> str:
        """Return ``e`` as a C expression of its register type."""
        match e.kind:
            case "const":
                if e.dtype.kind == "c":
                    self.used.add("complex")
                text = literal(e)
                if "from_bits" in text:
                    self.used.add("from_bits")
                return text
            case "index":
                return f"(long long){e.attrs[0]}" if self.narrow else str(e.attrs[0])
            case "name":
                return self.names.get(e.attrs[0], str(e.attrs[0]))
            case "load":
                return self.load(e.attrs[0], e.args[0], e.dtype)
            case "select" | "fma":
                return self._ternary(e)
            case "compare":
                return self._compare(e)
            case "cast":
                return self._cast(e.args[0], e.dtype)
            case "bitcast":
                return self._bitcast(e.args[0], e.dtype)
            case "unary":
                return self._unary(e)
            case _:
                return self._binary(e)

    def _ternary(self, e: Expr) -> str:
        a, b, c = (self.value(x) for x in e.args)
        if e.kind == "select":
            return f"({a} ? {b} : {c})"
        return f"{'fmaf' if e.dtype.itemsize == 4 else 'fma'}({a}, {b}, {c})"

    def position(self, e: Expr) -> str:
        """Return an index expression as a C expression of the index type."""
        if not self.narrow:
            return self.value(e)
        if is_narrow(e):
            return self._narrow(e)
        return f"(int)({self.value(e)})"

    def _narrow(self, e: Expr) -> str:
        match e.kind:
            case "const":
                return str(int(const_value(e)))
            case "index":
                return str(e.attrs[0])
            case "name":
                name = str(e.attrs[0])
                return name if name in self.positions else f"(int){name}"
        a, b = (self._narrow(x) for x in e.args)
        op = {**_INFIX, "rem": "%"}[e.attrs[0]]
        return f"({a} {op} {b})"

    # --- memory ---

    def load(self, buffer: str, at: Expr, dtype: DType) -> str:
        """Return the element ``at`` of ``buffer`` in a register."""
        element = f"{buffer}[{_bare(self.position(at))}]"
        if dtype.name == "float16":
            self.used.add("half")
            return f"half_to_float({element})"
        if dtype.name == "bfloat16":
            self.used.add("bfloat16")
            return f"bf16_to_float({element})"
        if dtype.kind == "c":
            self.used.add("complex")
        return element

    def to_memory(self, text: str, dtype: DType) -> str:
        """Return a value as it is stored."""
        if dtype.name == "float16":
            self.used.add("half")
            return f"float_to_half({text})"
        if dtype.name == "bfloat16":
            self.used.add("bfloat16")
            return f"float_to_bf16({text})"
        return text

    def type_of(self, dtype: DType) -> str:
        """Return the register type, noting what it needs."""
        if dtype.kind == "c":
            self.used.add("complex")
        return register_type(dtype)

    # --- operations ---

    def _compare(self, e: Expr) -> str:
        op, (x, y) = e.attrs[0], e.args
        a, b = self.value(x), self.value(y)
        if x.dtype.kind == "c":
            self.used.add("complex_ops")
            return f"c_eq({a}, {b})" if op == "eq" else f"!c_eq({a}, {b})"
        return f"({a} {_COMPARE[op]} {b})"

    def _rounded(self, text: str, dtype: DType) -> str:
        """Return a float expression rounded to half precision if that is the dtype."""
        if dtype.name == "float16":
            self.used.add("half")
            return f"round_half({text})"
        if dtype.name == "bfloat16":
            self.used.add("bfloat16")
            return f"round_bf16({text})"
        return text

    def _cast(self, x: Expr, dtype: DType) -> str:
        source, text = x.dtype, self.value(x)
        if source.kind == "c":
            if dtype.kind == "c":
                t = self.type_of(dtype)
                part = register_type(part_dtype(dtype))
                self.used.add("complex_cast")
                return f"complex_cast<{t}, {part}>({text})"
            if dtype.kind == "b":
                self.used.add("complex_ops")
                return f"!c_eq({text}, {self.type_of(source)}{{0, 0}})"
            return self._cast_real(f"({text}).re", part_dtype(source), dtype)
        return self._cast_real(text, source, dtype)

    def _cast_real(self, text: str, source: DType, dtype: DType) -> str:
        if dtype.kind == "b":
            return f"({text} != 0)"
        if dtype.kind == "c":
            part = register_type(part_dtype(dtype))
            return f"{self.type_of(dtype)}{{({part})({text}), 0}}"
        if is_float(source) and dtype.kind in "iu":
            return self._to_int(text, source, dtype)
        converted = f"({register_type(dtype)})({_bare(text)})"
        if is_half(dtype):
            # A double is rounded to float first only if that cannot round twice: NumPy does.
            return self._rounded(f"(float)({_bare(text)})", dtype)
        return converted

    def _to_int(self, text: str, source: DType, dtype: DType) -> str:
        self.used.add("to_int")
        info = np.iinfo(dtype)
        real = "double" if source.itemsize == 8 else "float"
        suffix = "" if real == "double" else "f"
        c = register_type(dtype)
        low = f"{float(info.min)!r}{suffix}"
        above = f"{float(int(info.max) + 1)!r}{suffix}"
        bounds = [f"({c}){_integer(int(b), dtype)}" for b in (info.min, info.max)]
        return f"to_int<{c}, {real}>({_bare(text)}, {low}, {above}, {bounds[0]}, {bounds[1]})"

    def _bitcast(self, x: Expr, dtype: DType) -> str:
        self.used.add("from_bits")
        bits = self.to_memory(self.value(x), x.dtype)
        text = f"from_bits<{memory_type(dtype)}>(({memory_type(x.dtype)})({_bare(bits)}))"
        if dtype.name == "float16":
            self.used.add("half")
            return f"half_to_float({text})"
        if dtype.name == "bfloat16":
            self.used.add("bfloat16")
            return f"bf16_to_float({text})"
        return text

    def _unary(self, e: Expr) -> str:
        op, x = e.attrs[0], e.args[0]
        text = self.value(x)
        if x.dtype.kind == "c":
            return self._complex_unary(op, text, x.dtype)
        if is_float(x.dtype):
            return self._rounded(self._float_unary(op, text, x.dtype), e.dtype)
        return self._int_unary(op, text, x.dtype, e.dtype)

    def _float_unary(self, op: str, text: str, dtype: DType) -> str:
        suffix = "" if dtype.itemsize == 8 else "f"
        match op:
            case "neg":
                return f"(-{text})"
            case "isnan":
                self.used.add("is_nan")
                return f"is_nan({_bare(text)})"
            case "isfinite":
                self.used.add("is_finite")
                return f"is_finite({_bare(text)})"
            case "sign":
                self.used.add("sign")
                return f"sign_of({_bare(text)})"
            case "lgamma":
                self.used.add("lgamma")
                return f"lgamma_of({_bare(text)})"
            case "real" | "conj":
                return text
            case _:
                return f"{_FUNCTIONS[op]}{suffix}({_bare(text)})"

    def _int_unary(self, op: str, text: str, dtype: DType, result: DType) -> str:
        c, unsigned = register_type(dtype), unsigned_type(dtype)
        match op:
            case "not":
                return f"(!{text})" if dtype.kind == "b" else f"(({c})~{text})"
            case "neg":
                return f"(({c})(0 - ({unsigned}){text}))"
            case "abs" if dtype.kind == "i":
                self.used.add("abs")
                return f"int_abs<{c}, {unsigned}>({_bare(text)})"
            case "sign":
                self.used.add("sign")
                return f"int_sign_of({_bare(text)})"
            case "popcount" if dtype.itemsize == 8:
                return f"({c})__popcll({_bare(text)})"
            case "popcount":
                return f"({c})__popc(({unsigned}){text})"
            case "clz" if dtype.itemsize == 8:
                return f"({c})__clzll((long long)({_bare(text)}))"
            case "clz":
                return f"({c})(__clz((int)({unsigned}){text}) - {32 - 8 * dtype.itemsize})"
            case "isfinite":
                return "true"
            case "isnan":
                return "false"
            case _:  # abs of an unsigned number, real, conj
                return text

    def _complex_unary(self, op: str, text: str, dtype: DType) -> str:
        self.used.add("complex_ops")
        suffix = "" if dtype.itemsize == 16 else "f"
        match op:
            case "real":
                return f"({text}).re"
            case "imag":
                return f"({text}).im"
            case "neg":
                return f"c_neg({_bare(text)})"
            case "conj":
                return f"c_conj({_bare(text)})"
            case "abs":
                return f"hypot{suffix}(({text}).re, ({text}).im)"
            case _:
                raise NotImplementedError(f"{op} of complex numbers in CUDA C")

    def _binary(self, e: Expr) -> str:
        op, (x, y) = e.attrs[0], e.args
        a, b = self.value(x), self.value(y)
        if op == "complex":
            return f"{self.type_of(e.dtype)}{{{_bare(a)}, {_bare(b)}}}"
        if x.dtype.kind == "c":
            self.used.add("complex_ops")
            return f"c_{op}({_bare(a)}, {_bare(b)})"
        return self.combine(op, a, b, x.dtype)

    def combine(self, op: str, a: str, b: str, dtype: DType) -> str:
        """Return ``a op b`` for two C expressions of one dtype."""
        if dtype.kind == "c":
            self.used.add("complex_ops")
            return f"c_{op}({a}, {b})"
        if op in ("min", "max") and dtype.kind != "b":
            self.used.add("min_max")
            return f"{op}_{'nan' if is_float(dtype) else 'of'}({_bare(a)}, {_bare(b)})"
        if dtype.kind == "b":
            infix = {"and": "&&", "mul": "&&", "min": "&&", "or": "||", "add": "||", "max": "||"}
            return f"({a} {infix.get(op, '!=')} {b})"
        if is_float(dtype):
            if op in _INFIX:
                return self._rounded(f"({a} {_INFIX[op]} {b})", dtype)
            suffix = "" if dtype.itemsize == 8 else "f"
            text = f"{_BINARY_FUNCTIONS[op]}{suffix}({_bare(a)}, {_bare(b)})"
            return self._rounded(text, dtype)
        return self._int_binary(op, a, b, dtype)

    def _int_binary(self, op: str, a: str, b: str, dtype: DType) -> str:
        c, u = register_type(dtype), unsigned_type(dtype)
        signed = dtype.kind == "i"
        if op in ("add", "sub", "mul"):
            # Unsigned, so that overflow wraps; small types are ints while C computes.
            wide = u if dtype.itemsize >= 4 else "unsigned int"
            return f"({c})(({wide}){a} {_INFIX[op]} ({wide}){b})"
        if op in ("and", "or", "xor"):
            return f"({c})({a} {_INFIX[op]} {b})"
        if op in ("div", "rem"):
            divisor = b.rstrip("ul")
            if dtype == I64 and divisor.isdigit() and int(divisor) > 0:
                return f"({a} {'/' if op == 'div' else '%'} {b})"
            self.used.add(op)
            if signed and op == "div":
                return f"div_signed<{c}, {u}>({_bare(a)}, {_bare(b)})"
            return f"{op}_{'signed' if signed else 'unsigned'}<{c}>({_bare(a)}, {_bare(b)})"
        if op in ("shl", "shr_logical", "shr_arithmetic"):
            self.used.add("shift")
            if op == "shr_arithmetic":
                signed_c = c if signed else _signed(dtype)
                return f"({c})shift_sign<{signed_c}, {u}>(({signed_c}){a}, ({u}){b})"
            name = "shift_left" if op == "shl" else "shift_right"
            return f"({c}){name}<{u}>(({u}){a}, ({u}){b})"
        if op == "pow":
            self.used.add("int_pow")
            return f"int_pow<{c}, {u}>({_bare(a)}, {_bare(b)})"
        assert op == "mulhi", op
        if dtype.itemsize == 8:
            return f"({c})__umul64hi({_bare(a)}, {_bare(b)})"
        return f"({c})__umulhi({_bare(a)}, {_bare(b)})"


def is_narrow(e: Expr) -> bool:
    """Say whether an index expression is made of loop indices and small constants only."""
    match e.kind:
        case "const":
            return abs(int(const_value(e))) <= _INT_MAX
        case "index" | "name":
            return e.dtype == I64
        case "binary":
            known = e.attrs[0] in ("add", "sub", "mul", "div", "rem")
            return known and all(is_narrow(a) for a in e.args)
    return False


def _integer(value: int, dtype: DType) -> str:
    if value == -(2**63):
        return f"({value + 1}ll - 1)"
    return f"({value}{'ull' if dtype.kind == 'u' else 'll'})"


def _signed(dtype: DType) -> str:
    return register_type(np.dtype(f"int{8 * dtype.itemsize}"))


def _bare(text: str) -> str:
    """Return ``text`` without a pair of parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]
