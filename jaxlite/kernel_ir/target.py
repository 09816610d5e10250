"""What an emitter may assume about the machine, and the entry's calling convention. Plain data.

``runtime/platform.py`` describes the host; tests and golden files use fixed descriptions, so that
the emitted text does not depend on where it was emitted. Next: ``compiler/emit_llvm.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Name of the entry of an emitted module, and what it returns.
ENTRY: Final = "jaxlite_run"
OK: Final = 0
HOST_FAILED: Final = 1
INTERRUPTED: Final = 2


@dataclass(frozen=True, slots=True)
class Target:
    """A CPU as the LLVM emitter sees it.

    Attributes:
        name: for people; part of the text's first comment. vector_bits: width of a vector register:
        512, 256 or 128. vector_math: instruction-set letters of libmvec that exist, widest first
        ("edb" with AVX-512,
            "db" with AVX2, "b" with SSE), or "" without libmvec.
        fma: whether a fused multiply-add is one instruction.
        threads: whether long loops are offered to several threads.
        llvm_version: major version of the LLVM that will read the text.
        tuple_items: byte offset of the first item of a Python tuple, -1 if unknown.
        array_data: byte offset of the data pointer of a NumPy array, -1 if unknown.

    With both offsets the entry takes one tuple of arrays; without them a table of data pointers.
    """

    name: str = "x86-64-v4"
    vector_bits: int = 512
    vector_math: str = "edb"
    fma: bool = True
    threads: bool = False
    llvm_version: int = 20
    tuple_items: int = 24
    array_data: int = 16

    @property
    def reads_python_objects(self) -> bool:
        """Whether the entry may read data pointers out of Python objects."""
        return self.tuple_items >= 0 and self.array_data >= 0
