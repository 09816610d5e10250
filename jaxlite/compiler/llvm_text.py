"""Stage 6 of 7, emit: LLVM text under construction. In: lines. Out: blocks and functions.

``Module`` collects what the text needs once (declarations, constants), ``Code`` the blocks of one
function. A block stays open after later blocks have begun, so code found to be loop-invariant can
still be appended before its loop. Next: ``llvm_arith.py``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from jaxlite.kernel_ir.nodes import DType, Kernel
from jaxlite.kernel_ir.target import Target

#: One value in registers: an operand, or a pair of them for a complex number.
Value: TypeAlias = "str | tuple[str, str]"

_REGISTER = {
    "bool": "i1",
    **{f"{u}int{bits}": f"i{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)},
    # 16-bit floats live in registers as floats that are rounded after every operation.
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
    "complex64": "float",
    "complex128": "double",
}
_MEMORY = {"bool": "i8", "float16": "half", "bfloat16": "i16"}
_MANGLED = {"float": "f32", "double": "f64", "half": "f16"}
BITS = {"float": 32, "double": 64, "half": 16, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def register_type(dtype: DType) -> str:
    """Return the LLVM type of one element in registers (of one part, if complex)."""
    return _REGISTER[dtype.name]


def memory_type(dtype: DType) -> str:
    """Return the LLVM type of one element in memory (of one part, if complex)."""
    return _MEMORY.get(dtype.name) or _REGISTER[dtype.name]


def element_type(dtype: DType) -> str:
    """Return the LLVM type that steps from one element in memory to the next."""
    part = memory_type(dtype)
    return f"{{{part}, {part}}}" if dtype.kind == "c" else part


def is_supported(dtype: DType) -> bool:
    """Say whether kernels can hold elements of ``dtype``."""
    return dtype.name in _REGISTER


def is_float(dtype: DType) -> bool:
    """Say whether ``dtype`` is a real floating-point type, bfloat16 included."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def is_half(dtype: DType) -> bool:
    """Say whether ``dtype`` is a 16-bit float."""
    return dtype.itemsize == 2 and is_float(dtype)


def literal(value: Any, elem: str) -> str:
    """Return ``value`` as LLVM text of the register type ``elem``."""
    if elem in ("float", "double"):
        # LLVM writes a float as the double of the same value; a NaN keeps its sign and payload.
        single = np.float32(value) if elem == "float" else np.float64(value)
        if elem == "float" and np.isnan(single):
            bits = int(single.view(np.uint32))
            wide = (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
            return f"0x{wide:016X}"
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(single)))[0]:016X}"
    if elem == "i1":
        return "true" if value else "false"
    return str(int(value))


class Module:
    """Declarations, constants and functions of one LLVM module."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.declarations: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.functions: list[str] = []

    def declare(self, name: str, result: str, *args: str) -> str:
        """Return ``@name``, declared once."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} @{name}({', '.join(args)}) nounwind"
        return f"@{name}"

    def new_code(self, name: str) -> Code:
        """Return the code of a new function ``name``."""
        return Code(self)

    def lines_of(self, kernel: Kernel) -> Mapping[int, int]:
        """Return the line of each statement that is noted; see ``llvm_lines.py``."""
        return {}

    def constant(self, text: str) -> str:
        """Return the name of a private constant holding ``text`` (type and value)."""
        return self.constants.setdefault(text, f"@.c{len(self.constants)}")

    def __str__(self) -> str:
        constants = [
            f"{name} = private unnamed_addr constant {text}"
            for text, name in self.constants.items()
        ]
        parts = ["\n".join(constants), *self.functions, "\n".join(self.declarations.values())]
        return "\n\n".join(part for part in parts if part) + "\n"


class Block:
    """A basic block: a label and its lines so far."""

    __slots__ = ("label", "lines")

    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: list[str] = []


class Code:
    """The blocks of one function. ``block`` is where the next line goes.

    ``line`` and ``suffix`` (what ends the function's head) are for ``llvm_lines.py``.
    """

    line = 0
    suffix = ""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._names = 0
        self._labels = 0
        self.block = Block("entry")
        self.blocks = [self.block]

    def fresh(self) -> str:
        """Return a new register name."""
        self._names += 1
        return f"%.{self._names}"

    def put(self, text: str) -> str:
        """Append ``%new = text`` and return ``%new``."""
        self._names += 1
        name = f"%.{self._names}"
        self.block.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.block.lines.append(f"  {text}")

    def new_block(self, hint: str) -> Block:
        """Return a new block, not yet placed."""
        self._labels += 1
        return Block(f"{hint}.{self._labels}")

    def place(self, block: Block) -> None:
        """Put ``block`` after the blocks so far and make it the current one."""
        self.blocks.append(block)
        self.block = block

    def body(self) -> str:
        """Return the text of all blocks."""
        return "\n".join(f"{b.label}:\n" + "\n".join(b.lines) for b in self.blocks)


class Lanes:
    """``count`` equal computations side by side: type names and instructions of that width."""

    __slots__ = ("code", "count", "target")

    def __init__(self, code: Code, count: int) -> None:
        self.code = code
        self.count = count
        self.target = code.module.target

    def type(self, elem: str) -> str:
        """Return ``elem`` or the vector of it."""
        return elem if self.count == 1 else f"<{self.count} x {elem}>"

    def mangled(self, elem: str) -> str:
        """Return the suffix of an overloaded intrinsic."""
        plain = _MANGLED.get(elem, elem)
        return plain if self.count == 1 else f"v{self.count}{plain}"

    def literal(self, value: Any, elem: str) -> str:
        """Return the constant ``value`` in every lane."""
        return self.repeat(literal(value, elem), elem)

    def repeat(self, text: str, elem: str) -> str:
        """Return the constant ``text`` in every lane."""
        if self.count == 1:
            return text
        if self.target.llvm_version >= 19:
            return f"splat ({elem} {text})"
        return "<" + ", ".join([f"{elem} {text}"] * self.count) + ">"

    def steps(self, elem: str, step: int = 1) -> str:
        """Return the constant ``0, step, 2 * step, ...``."""
        return "<" + ", ".join(f"{elem} {i * step}" for i in range(self.count)) + ">"

    def op(self, name: str, elem: str, *args: str) -> str:
        """Emit an instruction whose operands and result have the type ``elem``."""
        return self.code.put(f"{name} {self.type(elem)} {', '.join(args)}")

    def convert(self, name: str, x: str, source: str, target: str) -> str:
        """Emit a conversion instruction."""
        return self.code.put(f"{name} {self.type(source)} {x} to {self.type(target)}")

    def select(self, condition: str, elem: str, x: str, y: str) -> str:
        """Emit a choice by the i1 ``condition`` of each lane."""
        t = self.type(elem)
        return self.code.put(f"select {self.type('i1')} {condition}, {t} {x}, {t} {y}")

    def intrinsic(self, name: str, elem: str, *args: str, flags: str = "") -> str:
        """Call ``@llvm.<name>`` overloaded on ``elem``; ``flags`` are trailing i1 constants."""
        t = self.type(elem)
        types = [t] * len(args) + ["i1"] * bool(flags)
        full = self.code.module.declare(f"llvm.{name}.{self.mangled(elem)}", t, *types)
        values = [f"{t} {a}" for a in args] + [f"i1 {flags}"] * bool(flags)
        return self.code.put(f"call {t} {full}({', '.join(values)})")

    def splat(self, x: str, elem: str) -> str:
        """Return the scalar ``x`` in every lane."""
        if self.count == 1:
            return x
        if not x.startswith("%"):
            return self.repeat(x, elem)
        t = self.type(elem)
        one = self.code.put(f"insertelement {t} poison, {elem} {x}, i64 0")
        zeros = f"<{self.count} x i32> zeroinitializer"
        return self.code.put(f"shufflevector {t} {one}, {t} poison, {zeros}")
